"""Stopping the pumps: never by default; where a site allows it, every rack dark first, proven, then the stop."""

import pytest

from tests.valvey.core.loop.paper import PaperLoop, limits
from valvey.core.chart import State
from valvey.core.loop.facts import LoopFactKind
from valvey.core.loop.step import LoopState, state_of
from valvey.core.loop.stopping import dark

RACKS = ("r1", "r2", "r3", "r4")
HOLD_S = 2.0


def allowed(**changes: object) -> PaperLoop:
    return PaperLoop(limits(pump_stop=True, **changes)).settled()


@pytest.fixture
def loop() -> PaperLoop:
    return allowed()


def darken(loop: PaperLoop, *names: str) -> None:
    for name in names:
        loop.put(name, state=State.COOLDOWN, points={"XI-101": 0.0, "ET-101": 0.0, "JT-101": 0.0})


def ask(loop: PaperLoop, role: str = "safety") -> dict[str, object]:
    return dict(loop.request("stop_pumps", role=role).fields)


def ends(loop: PaperLoop) -> list[tuple[str, str]]:
    return [(fact.fields["status"], fact.fields["reason"]) for fact in loop.told(LoopFactKind.ENDED)]


def asked(loop: PaperLoop) -> list[tuple[str, str]]:
    return [(one.rack, one.request) for one in loop.scans[-1].asked]


def stops(loop: PaperLoop) -> list[float]:
    return [scan.writes["pumps_run"] for scan in loop.scans if "pumps_run" in scan.writes]


def test_a_site_that_says_nothing_never_stops_its_pumps() -> None:
    loop = PaperLoop().settled()
    darken(loop, *RACKS)
    assert (ask(loop)["status"], ask(loop)["code"]) == ("refused", "policy")
    loop.run(10.0)
    assert stops(loop) == []
    assert loop.memory.stop is None


def test_every_rack_goes_dark_first_and_only_then_the_pumps_stop(loop: PaperLoop) -> None:
    assert ask(loop)["status"] == "accepted"
    assert asked(loop) == [(name, "dark") for name in RACKS]
    assert {one.why for one in loop.scans[-1].asked} == {"the pumps are to be stopped: a test"}
    assert state_of(loop.memory, loop.limits, False) is LoopState.STOPPING
    assert "pumps-stopping" in loop.alarms()
    darken(loop, "r1", "r2", "r4")
    loop.run(20.0)
    assert stops(loop) == []
    darken(loop, "r3")
    loop.run(HOLD_S)
    assert stops(loop) == []
    loop.scan()
    assert stops(loop) == [0.0]
    loop.run(1.0)
    assert ends(loop) == [("succeeded", "")]
    assert loop.memory.stop is None
    assert [latch.name for latch in loop.memory.latches] == ["pumps-stopped"]
    assert stops(loop) == [0.0]
    end = loop.told(LoopFactKind.ENDED)[0].fields
    assert (end["request"], end["by"], end["why"], end["client"], end["role"]) == (
        "stop_pumps", "Edda", "a test", "edda", "safety",
    )  # fmt: skip
    assert end["took_s"] == pytest.approx(23.0, abs=0.6)
    begun = loop.told(LoopFactKind.STOP)[0].fields
    assert (begun["id"], begun["by"], begun["why"], begun["racks"]) == (end["id"], "Edda", "a test", list(RACKS))


def test_a_rack_that_lights_up_again_before_the_stop_begins_the_proof_anew(loop: PaperLoop) -> None:
    ask(loop)
    darken(loop, *RACKS)
    loop.run(1.5)
    loop.put("r2", points={"XI-101": 1.0})
    loop.scan()
    darken(loop, "r2")
    loop.run(HOLD_S)
    assert stops(loop) == []
    loop.scan()
    assert stops(loop) == [0.0]


@pytest.mark.parametrize(
    ("points", "state", "proven"),
    [
        ({}, State.COOLDOWN, True),
        ({"ET-101": 0.02 * 132.0}, State.COOLDOWN, True),
        ({"ET-101": 0.021 * 132.0}, State.COOLDOWN, False),
        ({"XI-101": 1.0}, State.COOLDOWN, False),
        ({"XI-101": 0.5}, State.COOLDOWN, False),
        ({}, State.FLOWING, False),
        ({}, State.UNLOADING, False),
        ({}, State.OPENING, False),
        ({}, State.STARTUP, False),
        ({}, State.ISOLATED, True),
        ({}, State.ESD, True),
    ],
)
def test_dark_is_what_contactor_busbar_and_chart_prove(
    loop: PaperLoop, points: dict[str, float], state: State, proven: bool
) -> None:
    loop.put("r1", state=state, points={"XI-101": 0.0, "ET-101": 0.0, **points})
    assert dark(loop.view(), "r1") is proven


@pytest.mark.parametrize("tag", ["XI-101", "ET-101"])
def test_what_is_not_told_is_not_proven(loop: PaperLoop, tag: str) -> None:
    darken(loop, "r1")
    loop.lose("r1", tag)
    assert not dark(loop.view(), "r1")


def test_a_silent_rack_is_not_proven(loop: PaperLoop) -> None:
    darken(loop, "r1")
    assert dark(loop.view(now_s=loop.now_s + 3.0), "r1")
    assert not dark(loop.view(now_s=loop.now_s + 3.1), "r1")


def test_what_is_not_dark_in_time_is_given_up_and_the_pumps_run_on(loop: PaperLoop) -> None:
    ask(loop)
    darken(loop, "r1", "r3")
    loop.run(59.0)
    assert ends(loop) == []
    loop.run(1.0)
    assert ends(loop) == [("failed", "r2, r4 not proven dark in 60 s: the pumps run on")]
    assert loop.memory.stop is None
    darken(loop, *RACKS)
    loop.run(10.0)
    assert stops(loop) == []
    assert asked(loop) == []
    assert "pumps-stopping" not in loop.alarms()


def test_a_cdu_that_does_not_take_the_stop_is_told(loop: PaperLoop) -> None:
    loop.obey = False
    ask(loop)
    darken(loop, *RACKS)
    loop.run(61.0)
    assert ends(loop) == [("failed", "the CDU did not take the stop in 60 s: the pumps run on")]
    assert len(stops(loop)) > 10


def test_it_can_be_cancelled_until_it_is_done(loop: PaperLoop) -> None:
    assert loop.request("cancel", role="operator").fields["code"] == "nothing"
    first = ask(loop)
    seq = loop.memory.state_seq
    told = loop.request("cancel", role="operator", why="").fields
    assert (told["status"], told["proof"]) == ("succeeded", {"cancelled": first["id"]})
    assert ends(loop) == [("cancelled", "cancelled by Edda")]
    assert loop.memory.state_seq == seq + 1
    darken(loop, *RACKS)
    loop.run(10.0)
    assert stops(loop) == []


def test_how_long_it_took_is_told_in_tenths_of_a_second(loop: PaperLoop) -> None:
    ask(loop)
    loop.scan(dt_s=0.26)
    loop.request("cancel", role="operator")
    assert loop.told(LoopFactKind.ENDED)[0].fields["took_s"] == 0.8


@pytest.mark.parametrize("role", ["operator", "engineer", "coordinator", "racky", "integration", "observer"])
def test_who_may_not_ask_for_it(loop: PaperLoop, role: str) -> None:
    assert ask(loop, role)["code"] == "role"


def test_what_could_not_be_proven_is_refused_before_any_rack_goes_dark() -> None:
    loop = allowed()
    loop.put("r3", online=False)
    told = ask(loop)
    assert (told["code"], told["reason"]) == ("not_seen", "nothing is heard of r3: it cannot be proven dark")
    assert asked(loop) == []
    loop.put("r3", online=True)
    loop.others = True
    assert ask(loop)["code"] == "two_coordinators"
    loop.others = False
    loop.cdu["P-201-RUN"] = None
    assert ask(loop)["code"] == "cdu_unknown"
    loop.cdu["P-201-RUN"] = 0.0
    loop.run(1.0)
    assert ask(loop)["code"] == "stopping"
    loop.cdu["P-201-RUN"] = 1.0
    loop.run(1.0)
    assert ask(loop)["status"] == "accepted"
    assert ask(loop)["code"] == "stopping"
    disarmed = allowed(armed=False)
    assert ask(disarmed)["code"] == "disarmed"
    silent = allowed()
    silent.telling = False
    silent.now_s += 10.0
    assert ask(silent)["code"] == "not_seen"


def test_meanwhile_nothing_is_opened_and_closing_work_goes_on(loop: PaperLoop) -> None:
    loop.put("r4", state=State.ISOLATED)
    ask(loop)
    refused = loop.say("r4", "open")
    assert (refused.granted, refused.reason) == (False, "the pumps are about to be stopped")
    assert loop.say("r1", "isolate").granted


def test_while_the_pumps_stand_still_no_set_point_is_moved() -> None:
    loop = PaperLoop().settled()
    loop.say("r1", "isolate")
    loop.put("r1", state=State.ISOLATING, points={"FT-101": 0.0, "FT-102": 0.0})
    loop.scan()
    assert loop.memory.hold is not None
    loop.cdu["P-201-RUN"] = 0.0
    count = sum(bool(scan.writes) for scan in loop.scans)
    loop.run(5.0)
    assert loop.memory.hold is None
    assert sum(bool(scan.writes) for scan in loop.scans) == count
    assert "pumps-stopped" in loop.alarms()
    assert loop.say("r2", "fill").reason == "latched on this loop: pumps-stopped"


def test_a_stop_takes_the_place_of_a_set_point_that_is_due(loop: PaperLoop) -> None:
    ask(loop)
    darken(loop, *RACKS)
    loop.put("r1", state=State.ISOLATING, points={"FT-101": 0.0, "FT-102": 0.0})
    loop.run(HOLD_S + 0.5)
    assert [scan.writes for scan in loop.scans if "pumps_run" in scan.writes] == [{"pumps_run": 0.0}]


def test_beside_another_coordinator_the_stop_is_held_back(loop: PaperLoop) -> None:
    ask(loop)
    darken(loop, *RACKS)
    loop.others = True
    loop.run(5.0)
    assert stops(loop) == []
    assert loop.scans[-1].stopped == {"pumps_run": 0.0}


def test_a_restart_lets_the_pumps_run_on(loop: PaperLoop) -> None:
    ask(loop)
    darken(loop, *RACKS)
    again = PaperLoop(loop.limits, loop.memory, racks=loop.racks).settled()
    again.run(10.0)
    assert again.memory.stop is None
    assert stops(again) == []
