"""What racks are asked for a loop event: nothing by default; by a site's policy dark at once, or isolation one by one."""

import pytest

from tests.stored import reread
from tests.valvey.core.loop.paper import PaperLoop, limits
from valvey.core.chart import State
from valvey.core.loop.events import EVENTS
from valvey.core.loop.facts import LoopFactKind
from valvey.core.loop.limits import Action


def with_policy(event: str, action: Action, **changes: object) -> PaperLoop:
    return PaperLoop(limits(actions={event: action}, **changes)).settled()


def lose_static(loop: PaperLoop) -> None:
    for name in ("r1", "r2"):
        loop.put(name, state=State.COOLDOWN, latches=("SIF-6",))


def asked(loop: PaperLoop, since: int = 0) -> list[tuple[str, str]]:
    return [(one.rack, one.request) for scan in loop.scans[since:] for one in scan.asked]


def test_by_default_no_event_asks_anything_of_a_rack() -> None:
    loop = PaperLoop().settled()
    loop.cdu |= {"LDT-201": 1.0, "P-201-RUN": 0.0}
    for name in ("r1", "r2"):
        loop.put(name, state=State.ISOLATED, latches=("SIF-1", "SIF-6", "SIF-9"), points={"LDT-101": 1.0})
    for _ in range(300):
        loop.cdu |= {"LT-201": (loop.cdu["LT-201"] or 0.0) - 0.02}
        loop.scan(dt_s=1.0)
    assert {latch.name for latch in loop.memory.latches} == {row.name for row in EVENTS}
    assert asked(loop) == []


def test_static_pressure_lost_at_two_racks_isolates_the_others_one_by_one_last_in_rank_first() -> None:
    loop = with_policy("static-lost", Action.ISOLATE)
    lose_static(loop)
    loop.scan()
    assert [latch.name for latch in loop.memory.latches] == ["static-lost"]
    loop.scan()
    assert set(asked(loop)) == {("r4", "isolate")}
    loop.put("r4", state=State.ISOLATED)
    since = len(loop.scans)
    loop.scan()
    assert asked(loop, since) == [("r3", "isolate")]
    loop.run(29.5)
    assert {rack for rack, _ in asked(loop, since)} == {"r3"}
    loop.scan()  # it had its 30 s
    assert asked(loop, len(loop.scans) - 1) == [("r3", "isolate"), ("r2", "isolate")]
    for name in ("r1", "r2", "r3"):
        loop.put(name, state=State.ESD)
    loop.scan()
    since = len(loop.scans)
    loop.run(20.0)
    assert asked(loop, since) == []
    assert loop.memory.latches[0].reached == ("r4", "r1", "r2", "r3")
    told = [(f.fields["rack"], f.fields["request"], f.fields["event"]) for f in loop.told(LoopFactKind.REACHED)]
    assert told[0] == ("r4", "isolate", "static-lost")
    assert [fact.fields["rack"] for fact in loop.told(LoopFactKind.ASKED)] == ["r4", "r3", "r2"]


def test_the_rack_is_told_why_and_asked_again_until_it_got_there() -> None:
    loop = with_policy("static-lost", Action.ISOLATE)
    lose_static(loop)
    loop.run(1.0)
    first = next(one for scan in loop.scans for one in scan.asked)
    assert first.why == "static-lost: static pressure is lost at r1, r2"
    since = len(loop.scans)
    loop.run(4.0)
    assert asked(loop, since) == []
    loop.run(0.5)
    assert asked(loop, since) == [("r4", "isolate")]
    fact = loop.told(LoopFactKind.ASKED)[0].fields
    assert fact == {"rack": "r4", "request": "isolate", "why": first.why}


def test_a_rack_that_got_there_once_is_left_to_people_from_then_on() -> None:
    loop = with_policy("cdu-leak", Action.DARK, detectors=("LDT-201", "LDT-202"))
    loop.cdu |= {"LDT-201": 1.0, "LDT-202": 1.0}
    loop.run(3.0)
    assert set(asked(loop)) == {(name, "dark") for name in ("r1", "r2", "r3", "r4")}  # dark is not staggered
    seq = loop.memory.state_seq
    loop.put("r2", state=State.COOLDOWN, points={"XI-101": 0.0, "ET-101": 0.0})
    loop.scan()
    assert loop.memory.state_seq == seq + 1
    loop.put("r2", state=State.FLOWING, points={"XI-101": 1.0, "ET-101": 100.0})
    since = len(loop.scans)
    loop.run(12.0)
    assert {rack for rack, _ in asked(loop, since)} == {"r1", "r3", "r4"}


def test_an_isolation_counts_for_more_than_a_dark() -> None:
    loop = PaperLoop(limits(actions={"static-lost": Action.ISOLATE, "not-proven": Action.DARK})).settled()
    loop.put("r1", state=State.ISOLATING, latches=("SIF-9", "SIF-6"))
    loop.put("r2", state=State.ISOLATING, latches=("SIF-6",))
    loop.run(1.0)
    assert dict(asked(loop)) == {"r1": "dark", "r2": "dark", "r3": "dark", "r4": "isolate"}


def test_a_dark_that_becomes_an_isolation_is_said_at_once() -> None:
    loop = PaperLoop(limits(actions={"static-lost": Action.ISOLATE, "not-proven": Action.DARK})).settled()
    loop.put("r1", latches=("SIF-9",))
    loop.run(1.0)
    assert dict(asked(loop))["r4"] == "dark"
    loop.put("r1", latches=("SIF-9", "SIF-6"))
    loop.put("r2", latches=("SIF-6",))
    loop.run(1.0)
    assert dict(asked(loop))["r4"] == "isolate"


def test_a_dark_that_is_long_asked_for_gives_no_head_start_to_the_next_isolation() -> None:
    loop = PaperLoop(limits(actions={"static-lost": Action.ISOLATE, "not-proven": Action.DARK})).settled()
    loop.put("r1", latches=("SIF-9",))
    loop.run(40.0)
    since = len(loop.scans)
    loop.put("r1", latches=("SIF-9", "SIF-6"))
    loop.put("r2", latches=("SIF-6",))
    loop.run(20.0)
    assert {rack for rack, request in asked(loop, since) if request == "isolate"} == {"r4"}


def test_a_reset_of_the_event_ends_the_asking() -> None:
    loop = with_policy("static-lost", Action.ISOLATE)
    lose_static(loop)
    loop.run(1.0)
    for name in ("r1", "r2"):
        loop.put(name, latches=())
    loop.run(1.0)
    assert loop.request("reset", event="static-lost").fields["status"] == "succeeded"
    since = len(loop.scans)
    loop.run(10.0)
    assert asked(loop, since) == []
    assert dict(loop.memory.asked_of) == {}


def test_a_disarmed_coordinator_asks_nothing() -> None:
    loop = with_policy("static-lost", Action.ISOLATE, armed=False)
    lose_static(loop)
    loop.run(10.0)
    assert [latch.name for latch in loop.memory.latches] == ["static-lost"]
    assert asked(loop) == []


def test_a_restart_asks_only_those_that_had_not_got_there() -> None:
    loop = with_policy("static-lost", Action.ISOLATE)
    lose_static(loop)
    loop.run(1.0)
    loop.put("r4", state=State.ISOLATED)
    loop.run(1.0)
    stored = reread(loop.memory)
    again = PaperLoop(loop.limits, stored, racks={**loop.racks})
    again.put("r4", state=State.FLOWING)
    again.run(1.0)
    assert asked(again)[0] == ("r3", "isolate")
    assert "r4" not in dict(asked(again))


@pytest.mark.parametrize(
    ("latched", "pt_202", "lost"),
    [
        (("r1",), 150.0, False),
        (("r1",), 30.0, False),
        (("r1",), 29.9, True),
        (("r1",), None, False),
        (("r1", "r3"), 150.0, True),
        ((), 10.0, False),
    ],
)
def test_static_pressure_is_lost_when_two_witnesses_say_so(
    latched: tuple[str, ...], pt_202: float | None, lost: bool
) -> None:
    loop = PaperLoop().settled()
    for name in latched:
        loop.put(name, state=State.COOLDOWN, latches=("SIF-6",))
    loop.cdu["PT-202"] = pt_202
    loop.scan()
    assert ("static-lost" in {latch.name for latch in loop.memory.latches}) is lost
    if lost:
        assert loop.memory.latches[0].racks == latched
        assert "static-lost" in loop.alarms()
