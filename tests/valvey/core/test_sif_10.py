"""SIF-10: somebody outside who is entitled to it demands that the rack goes dark or shuts. Silence is never a demand."""

from dataclasses import replace

import pytest

from tests.plant import PaperRack, flowing, isolated, starting
from tests.valvey.core.bench import alarms, coarse, lose_link, rows, run_frozen, spoil, swap_words, transitions, verdict
from valvey.core.chart import FIRST_STEP, State, Step
from valvey.core.limits import TripTiming
from valvey.core.memory import Effect
from valvey.core.requests import Request
from valvey.core.trips import TRIPS
from valvey.core.verdict import Verdict


@pytest.mark.parametrize("role", ["operator", "coordinator", "integration", "racky"])
def test_a_dark_goes_dark_in_its_scan(rack: PaperRack, role: str) -> None:
    answer = rack.ask("dark", role=role)
    assert (answer.fields["status"], rack.state, rows(rack)) == ("accepted", State.COOLDOWN, ("SIF-10/dark",))
    assert (rack.writes["XS-101"], rack.writes["XV-101"]) == (0.0, 1.0)
    latch = rack.memory.latches[0]
    assert (latch.effect, latch.tag, latch.value, latch.sample_s) == (Effect.DARK, "request", 1.0, rack.now_s)


def test_an_isolate_of_trip_class_from_a_trip_source_shuts_at_once(rack: PaperRack) -> None:
    answer = rack.ask("isolate", role="coordinator", trip=True)
    assert (answer.fields["status"], rack.state, rows(rack)) == ("accepted", State.ISOLATING, ("SIF-10/isolate",))
    assert rack.memory.latches[0].effect is Effect.ISOLATE
    assert (rack.writes["XS-101"], rack.writes["XV-101"]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("role", "trip"), [("operator", True), ("operator", None), ("coordinator", None), ("coordinator", False)]
)
def test_any_other_isolate_is_planned(rack: PaperRack, role: str, trip: bool | None) -> None:
    rack.ask("isolate", role=role, trip=trip)
    assert (rack.state, rack.latched) == (State.UNLOADING, ())


def test_trip_sources_are_the_sites() -> None:
    rack = flowing(trip_sources=frozenset({"integration"}))
    assert rack.ask("isolate", role="coordinator", trip=True).fields["state"] is State.UNLOADING
    assert rack.ask("isolate", role="integration", trip=True).fields["state"] is State.ISOLATING


@pytest.mark.parametrize("state", [State.UNLOADING, State.COOLDOWN, State.STARTUP])
def test_a_trip_class_isolate_shuts_a_rack_that_is_half_way_to_it(state: State) -> None:
    rack = flowing()
    rack.memory = replace(rack.memory, state=state, step=FIRST_STEP[state])
    rack.ask("isolate", role="coordinator", trip=True)
    assert (rack.state, rack.latched) == (State.ISOLATING, ("SIF-10",))


def test_a_trip_class_isolate_hurries_a_planned_one() -> None:
    rack = flowing()
    rack.memory = replace(rack.memory, state=State.ISOLATING, step=Step.SUPPLY, emergency=False)
    rack.ask("isolate", role="coordinator", trip=True)
    assert (rack.state, rack.memory.emergency, rack.latched) == (State.ISOLATING, True, ("SIF-10",))


@pytest.mark.parametrize("state", [State.ISOLATED, State.DRAINED])
def test_in_a_shut_rack_it_is_not_armed_and_the_answer_is_already_safer(state: State) -> None:
    rack = isolated()
    rack.memory = replace(rack.memory, state=state)
    for name in ("dark", "isolate"):
        answer = rack.ask(name, role="coordinator", trip=True)
        assert (answer.fields["status"], answer.fields["reason"]) == ("accepted", "already safer")
    assert (rack.state, rack.latched) == (state, ())
    assert {verdict(rack, "SIF-10/dark"), verdict(rack, "SIF-10/isolate")} == {Verdict.NOT_ARMED}


def test_it_is_armed_while_the_permit_or_a_valve_may_be_on() -> None:
    expected = frozenset(State) - {State.ISOLATED, State.DRAINED, State.DRAINING, State.ESD}
    assert [row.armed for row in TRIPS if row.sif == "SIF-10"] == [expected, expected]


def test_the_cdus_wired_contact_goes_dark_in_its_scan_and_holds_the_latch_until_it_opens(rack: PaperRack) -> None:
    rack.values["US-201"] = 0.0
    assert rack.run(1.0).latched == ()
    rack.values["US-201"] = 1.0
    rack.scan()
    latch = rack.memory.latches[0]
    assert (rack.state, rows(rack), latch.tag) == (State.COOLDOWN, ("SIF-10/dark",), "US-201")
    assert (rack.writes["XS-101"], rack.writes["XV-101"]) == (0.0, 1.0)
    assert rack.ask("reset", sif=["SIF-10"]).fields["status"] == "refused"
    rack.values["US-201"] = 0.0
    rack.scan()
    assert rack.ask("reset", sif=["SIF-10"]).fields["status"] == "accepted"
    assert rack.state is State.COOLDOWN


def test_a_wired_contact_that_is_lost_or_frozen_open_is_silent(rack: PaperRack) -> None:
    rack.values["US-201"] = None
    rack.run(5.0)
    assert (rack.state, verdict(rack, "SIF-10/dark")) == (State.FLOWING, Verdict.HEALTHY)
    rack.values["US-201"] = 1.0
    spoil(rack, "US-201")
    rack.run(1.0)
    assert rack.state is State.FLOWING


def test_a_request_beside_the_contact_is_the_evidence(rack: PaperRack) -> None:
    rack.values["US-201"] = 1.0
    rack.ask("dark", role="coordinator")
    assert rack.memory.latches[0].tag == "request"


def test_silence_is_never_a_demand(rack: PaperRack) -> None:
    coarse(rack, 60.0)
    assert (rack.state, verdict(rack, "SIF-10/dark"), verdict(rack, "SIF-10/isolate")) == (
        State.FLOWING,
        Verdict.HEALTHY,
        Verdict.HEALTHY,
    )


def test_it_has_no_hold_and_no_blind_time() -> None:
    ours = [row for row in TRIPS if row.sif == "SIF-10"]
    assert [(row.hold_s, row.blind_s, row.blind_effect) for row in ours] == [(0.0, None, None)] * 2
    rack = flowing(timing={"SIF-10/dark": TripTiming(30.0)})
    rack.ask("dark")
    assert rack.state is State.COOLDOWN


def test_isolate_is_more_urgent_than_dark_and_both_latch(rack: PaperRack) -> None:
    rack.scan(
        Request("a", "dark", "operator", "desk", {}, "x", "y"),
        Request("b", "isolate", "coordinator", "loop", {"trip": True}, "x", "y"),
    )
    assert (rack.state, set(rows(rack))) == (State.ISOLATING, {"SIF-10/dark", "SIF-10/isolate"})
    assert transitions(rack) == [("trip_isolate", "FLOWING", "ISOLATING")]


def test_it_latches_until_a_person_resets_it_and_never_reopens(rack: PaperRack) -> None:
    rack.ask("dark", role="coordinator")
    assert rack.run(1.0).latched == ("SIF-10",)
    assert rack.ask("reset", sif=["SIF-10"]).fields["status"] == "accepted"
    assert rack.run(1.0).latched == ()
    assert rack.state is State.COOLDOWN


def test_it_is_heard_in_startup() -> None:
    rack = starting(State.FLOWING)
    rack.scan()
    rack.ask("dark", role="coordinator")
    assert rack.latched == ("SIF-10",)
    assert rack.state in {State.COOLDOWN, State.ISOLATING}


def test_an_observer_is_not_heard(rack: PaperRack) -> None:
    assert rack.ask("dark", role="observer").fields["code"] == "role"
    assert rack.state is State.FLOWING


def test_the_same_demand_twice_is_harmless(rack: PaperRack) -> None:
    rack.ask("dark", role="coordinator")
    answer = rack.ask("dark", role="coordinator")
    assert (answer.fields["status"], rack.state, rack.latched) == ("accepted", State.COOLDOWN, ("SIF-10",))


def test_neither_lost_nor_frozen_nor_swapped_readings_make_or_stop_a_demand(rack: PaperRack) -> None:
    lose_link(rack, "leak_panel")
    swap_words(rack, "FT-103")
    run_frozen(rack, 1.0, "TT-101")
    assert (rack.latched, "link-leak-panel" in alarms(rack)) == ((), True)
    spoil(rack, *rack.values)
    rack.ask("isolate", role="coordinator", trip=True)
    assert rack.latched == ("SIF-10",)


def test_it_is_never_bypassed_because_an_accepted_demand_must_act(rack: PaperRack) -> None:
    assert rack.ask("bypass", name="SIF-10", for_s=60.0).fields["code"] == "never"
    assert rack.ask("bypass", name="SIF-10/dark", for_s=60.0).fields["code"] == "never"
