"""From due rows to latches, to what is told, and to the one event that matters most."""

from dataclasses import replace

import pytest

from fieldkit.reading import Quality, Reading, Readings
from fieldkit.units import Unit
from tests.plant import PaperRack, commissioned, flowing, isolated, limits
from tests.valvey.core.bench import last, rows, transitions
from valvey.core import latching
from valvey.core.chart import FIRST_STEP, Event, State, Step
from valvey.core.facts import FactKind
from valvey.core.judging import Due, Judged
from valvey.core.memory import Effect, Inventory, Memory
from valvey.core.trips import TRIPS, Trip
from valvey.core.verdict import D, Judgement
from valvey.core.view import View

NOW_S = 1000.0
BY_KEY = {row.key: row for row in TRIPS}
S = State


def due(key: str, *, at_s: float = NOW_S, held_s: float = 0.0, effect: Effect | None = None) -> Due:
    trip: Trip = BY_KEY[key]
    return Due(trip, Judgement(D, f"tag of {key}", 1.0, 2.0, at_s), effect or trip.effect, held_s, blind=False)


def judged(
    *dues: Due, shadows: tuple[Due, ...] = (), caps: tuple[str, ...] = (), bypassed: tuple[Due, ...] = ()
) -> Judged:
    return Judged({}, {}, dues, shadows, (), caps, demand=bool(dues), bypassed=bypassed)


def in_state(state: State, **changes: object) -> Memory:
    return replace(commissioned(), state=state, step=FIRST_STEP[state], **changes)  # type: ignore[arg-type]


def urgent(memory: Memory, *dues: Due, readings: Readings | None = None) -> Event | None:
    return latching.most_urgent(View(readings or {}, memory, limits(), NOW_S), judged(*dues))


# --- latches ---------------------------------------------------------------------------------------------------------


def test_the_first_out_is_the_demand_that_began_first_by_its_samples() -> None:
    memory, facts = latching.latch(
        commissioned(),
        judged(due("SIF-2", at_s=999.9, held_s=1.0), due("SIF-7"), due("SIF-3", at_s=999.8, held_s=3.0)),
        NOW_S,
    )
    assert [one.sif for one in memory.latches] == ["SIF-3", "SIF-2", "SIF-7"]
    assert [fact.fields["first_out"] for fact in facts] == ["SIF-3"] * 3


def test_the_sample_time_decides_between_equal_holds() -> None:
    memory, _facts = latching.latch(
        commissioned(), judged(due("SIF-2", at_s=999.9, held_s=1.0), due("SIF-3", at_s=999.8, held_s=1.0)), NOW_S
    )
    assert [one.sif for one in memory.latches] == ["SIF-3", "SIF-2"]


def test_a_first_out_that_stands_stays_first() -> None:
    memory, _facts = latching.latch(commissioned(), judged(due("SIF-2")), NOW_S)
    memory, facts = latching.latch(memory, judged(due("SIF-2"), due("SIF-3", at_s=900.0)), NOW_S + 1.0)
    assert [one.sif for one in memory.latches] == ["SIF-2", "SIF-3"]
    assert [fact.fields["first_out"] for fact in facts] == ["SIF-2"]


def test_a_row_latches_once_and_each_latch_raises_the_sequence_number() -> None:
    memory, facts = latching.latch(commissioned(), judged(due("SIF-2"), due("SIF-3")), NOW_S)
    again, silence = latching.latch(memory, judged(due("SIF-2"), due("SIF-3")), NOW_S)
    assert (memory.state_seq, len(facts)) == (2, 2)
    assert (again, silence) == (memory, [])
    assert [fact.fields["state_seq"] for fact in facts] == [1, 2]


def test_two_rows_of_one_function_latch_both() -> None:
    memory, _facts = latching.latch(commissioned(), judged(due("SIF-4"), due("SIF-4/low")), NOW_S)
    assert [one.row for one in memory.latches] == ["SIF-4", "SIF-4/low"]


def test_a_trip_is_told_with_everything_that_a_person_needs() -> None:
    _memory, (fact,) = latching.latch(commissioned(), judged(due("SIF-2", at_s=999.9, held_s=1.00004)), NOW_S)
    assert fact.kind is FactKind.TRIP
    assert fact.at_s == pytest.approx(NOW_S)
    assert fact.fields == {
        "sif": "SIF-2", "row": "SIF-2", "title": "over-pressure", "effect": Effect.ISOLATE, "tag": "tag of SIF-2", "value": 1.0,
        "limit": 2.0, "held_s": 1.0, "sample_s": 999.9, "state": S.FLOWING, "first_out": "SIF-2", "state_seq": 1,
    }  # fmt: skip


@pytest.mark.parametrize(("key", "lost"), [("SIF-1/blind", True), ("SIF-6", True), ("SIF-2", False), ("SIF-9", False)])
def test_some_latches_lose_the_count_of_the_coolant(key: str, lost: bool) -> None:
    memory, _facts = latching.latch(commissioned(), judged(due(key)), NOW_S)
    assert (memory.inventory is Inventory.UNKNOWN, memory.tested) == (lost, not lost)
    assert sorted(latching.LOSES_COOLANT) == ["SIF-1", "SIF-11", "SIF-6"]


@pytest.mark.parametrize(
    ("key", "kind", "what"),
    [
        ("SIF-6", FactKind.LOOP_EVENT, "static pressure lost"),
        ("SIF-9", FactKind.LOOP_EVENT, "isolation not proven"),
        ("SIF-13", FactKind.SECOND_TRIP_PATH, "power not proven off"),
    ],
)
def test_some_latches_are_told_to_others(key: str, kind: FactKind, what: str) -> None:
    _memory, facts = latching.latch(commissioned(), judged(due(key)), NOW_S)
    assert (facts[1].kind, facts[1].fields) == (kind, {"what": what, "sif": key, "tag": f"tag of {key}"})


def test_the_others_are_told_nothing() -> None:
    _memory, facts = latching.latch(commissioned(), judged(due("SIF-2")), NOW_S)
    assert len(facts) == 1


@pytest.mark.parametrize(
    ("state", "emergency", "latches"),
    [(S.ISOLATING, False, False), (S.ISOLATING, True, True), (S.ESD, False, True), (S.ISOLATED, False, True)],
)
def test_unproven_valves_latch_except_in_planned_work(state: State, emergency: bool, latches: bool) -> None:
    memory, _facts = latching.latch(in_state(state, emergency=emergency), judged(due("SIF-9")), NOW_S)
    assert memory.latched("SIF-9") is latches


def test_another_function_latches_in_planned_work_as_everywhere() -> None:
    memory, _facts = latching.latch(in_state(S.ISOLATING), judged(due("SIF-13")), NOW_S)
    assert memory.latched("SIF-13")


# --- what is only told -----------------------------------------------------------------------------------------------


def test_a_cap_is_told_when_it_changes_and_only_then() -> None:
    memory, facts = latching.note(commissioned(), judged(caps=("SIF-3/cap",)), NOW_S)
    assert (facts[0].kind, facts[0].fields) == (FactKind.POWER_CAP, {"rows": ["SIF-3/cap"]})
    assert latching.note(memory, judged(caps=("SIF-3/cap",)), NOW_S) == (memory, [])
    after, (fact,) = latching.note(memory, judged(), NOW_S)
    assert (after.power_cap, fact.fields) == ((), {"rows": []})


def test_a_shadow_row_is_told_once_while_it_stands() -> None:
    shadows = (due("SIF-11"),)
    memory, (fact,) = latching.note(commissioned(), judged(shadows=shadows), NOW_S)
    assert fact.fields == {
        "row": "SIF-11", "effect": Effect.ISOLATE, "tag": "tag of SIF-11", "value": 1.0, "limit": 2.0, "bypassed": False,
    }  # fmt: skip
    assert latching.note(memory, judged(shadows=shadows), NOW_S) == (memory, [])
    after, facts = latching.note(memory, judged(), NOW_S)
    assert (after.would_trip, facts) == ((), [])


def test_another_shadow_row_beside_one_that_stands_is_told_alone() -> None:
    memory, _facts = latching.note(commissioned(), judged(shadows=(due("SIF-11"),)), NOW_S)
    memory, (fact,) = latching.note(memory, judged(shadows=(due("SIF-11"), due("SIF-2"))), NOW_S)
    assert (fact.fields["row"], memory.would_trip) == ("SIF-2", ("SIF-11", "SIF-2"))


def test_a_bypassed_row_is_told_as_such_once_while_it_stands() -> None:
    memory, facts = latching.note(commissioned(), judged(shadows=(due("SIF-11"),), bypassed=(due("SIF-2"),)), NOW_S)
    assert [(fact.fields["row"], fact.fields["bypassed"]) for fact in facts] == [("SIF-11", False), ("SIF-2", True)]
    assert latching.note(memory, judged(shadows=(due("SIF-11"),), bypassed=(due("SIF-2"),)), NOW_S) == (memory, [])


def test_an_armed_rack_does_not_tell_of_what_it_does() -> None:
    assert latching.note(commissioned(), judged(due("SIF-2")), NOW_S)[1] == []


def test_a_disarmed_rack_tells_of_every_row_that_would_have_acted() -> None:
    disarmed = replace(commissioned(), armed=False)
    memory, facts = latching.note(disarmed, judged(due("SIF-2"), shadows=(due("SIF-11"),)), NOW_S)
    assert {fact.fields["row"] for fact in facts} == {"SIF-2", "SIF-11"}
    assert memory.would_trip == ("SIF-11", "SIF-2")


# --- the most urgent event -------------------------------------------------------------------------------------------


def test_nothing_due_is_no_event() -> None:
    assert urgent(commissioned()) is None


def test_esd_goes_before_isolate_and_isolate_before_dark() -> None:
    assert urgent(commissioned(), due("SIF-4"), due("SIF-2"), due("SIF-7")) is Event.ESD
    assert urgent(commissioned(), due("SIF-4"), due("SIF-2")) is Event.TRIP_ISOLATE
    assert urgent(commissioned(), due("SIF-4")) is Event.TRIP_DARK


def test_a_row_that_only_tells_moves_nothing() -> None:
    assert urgent(commissioned(), due("SIF-13")) is None


#: trips of SAFETY's chart that move something: (trip_isolate, trip_dark)
MOVES: dict[State, tuple[bool, bool]] = {
    S.STARTUP:   (True, True),
    S.OPENING:   (True, True),
    S.FLOWING:   (True, True),
    S.UNLOADING: (True, True),
    S.COOLDOWN:  (True, False),
    S.ISOLATING: (True, False),
    S.ISOLATED:  (False, False),
    S.DRAINING:  (True, False),
    S.DRAINED:   (False, False),
    S.FILLING:   (True, True),
    S.TESTING:   (True, True),
    S.ESD:       (False, False),
}  # fmt: skip


@pytest.mark.parametrize("state", list(State))
def test_a_trip_is_an_event_where_it_has_something_to_do(state: State) -> None:
    isolate, dark = MOVES[state]
    assert urgent(in_state(state), due("SIF-2")) is (Event.TRIP_ISOLATE if isolate else None)
    assert urgent(in_state(state), due("SIF-4")) is (Event.TRIP_DARK if dark else None)
    assert urgent(in_state(state), due("SIF-7")) is (None if state is S.ESD else Event.ESD)


def test_a_rack_that_shuts_in_an_emergency_has_nothing_more_to_isolate() -> None:
    assert urgent(in_state(S.ISOLATING, emergency=True), due("SIF-2")) is None
    assert urgent(in_state(S.ISOLATING, emergency=True), due("SIF-2"), due("SIF-7")) is Event.ESD
    assert urgent(in_state(S.FLOWING, emergency=True), due("SIF-2")) is Event.TRIP_ISOLATE


@pytest.mark.parametrize(("made", "event"), [(1.0, None), (0.0, Event.TRIP_ISOLATE)])
def test_a_leaking_rack_goes_on_draining_while_it_is_proven_shut(made: float, event: Event | None) -> None:
    readings = {tag: Reading(tag, made, Unit.NONE, Quality.GOOD, NOW_S) for tag in ("ZSC-101", "ZSC-102")}
    assert urgent(in_state(S.DRAINING), due("SIF-2"), readings=readings) is event
    assert urgent(in_state(S.FLOWING), due("SIF-2"), readings=readings) is Event.TRIP_ISOLATE


def test_a_field_event_stands_for_its_class_unless_a_plain_trip_of_the_class_is_due_too() -> None:
    assert urgent(commissioned(), due("OPEN_LOST/coil")) is Event.OPEN_LOST
    assert urgent(commissioned(), due("OPEN_LOST/coil"), due("SIF-2")) is Event.TRIP_ISOLATE
    assert urgent(commissioned(), due("PERMIT_LOST")) is Event.PERMIT_LOST
    assert urgent(commissioned(), due("PERMIT_LOST"), due("SIF-4")) is Event.TRIP_DARK
    assert urgent(commissioned(), due("PERMIT_LOST"), due("OPEN_LOST/shut")) is Event.OPEN_LOST
    assert urgent(in_state(S.ISOLATED), due("PROOF_LOST")) is Event.PROOF_LOST
    assert urgent(in_state(S.ISOLATED), due("PROOF_LOST"), due("SIF-7")) is Event.ESD


@pytest.mark.parametrize("state", [S.ISOLATED, S.DRAINING, S.DRAINED, S.TESTING])
def test_unproven_valves_end_what_stands_on_them(state: State) -> None:
    assert urgent(in_state(state), due("SIF-9")) is Event.PROOF_LOST


@pytest.mark.parametrize("state", [S.ISOLATING, S.ESD])
def test_unproven_valves_move_nothing_elsewhere(state: State) -> None:
    assert urgent(in_state(state), due("SIF-9")) is None


def test_another_function_proves_nothing_lost() -> None:
    assert urgent(in_state(S.ISOLATED), due("SIF-13")) is None


# --- in a rack -------------------------------------------------------------------------------------------------------


def test_several_trips_of_one_scan_all_latch_and_the_most_urgent_moves(rack: PaperRack) -> None:
    rack.values.update({"LDT-101": 1.0, "PT-101": 600.0})
    rack.run(0.5)
    rack.values.update({"HS-101": 1.0, "ET-101": 130.0})
    rack.scan()
    assert rack.state is S.ESD
    assert rows(rack) == ("SIF-1/rack-detector-wet", "SIF-7")


def test_a_latch_stands_until_a_person_resets_it_by_name_with_a_reason(rack: PaperRack) -> None:
    rack.ask("dark")
    rack.run(1.0)
    assert rack.ask("reset", sif=["SIF-4"]).fields["code"] == "not_latched"
    assert rack.ask("reset", why="", sif=["SIF-10"]).fields["code"] == "why"
    assert rack.ask("reset", sif=["SIF-10"]).fields["status"] == "accepted"
    assert rack.latched == ()


def test_a_leak_of_a_draining_rack_lets_it_drain() -> None:
    rack = isolated()
    rack.memory = replace(rack.memory, state=S.DRAINING, step=Step.WATCH)
    rack.values["LDT-101"] = 1.0
    rack.run(2.0)
    assert (rack.state, rack.latched, transitions(rack)) == (S.DRAINING, ("SIF-1",), [])
    assert rack.ask("cancel").fields["reason"] == ""
    assert rack.state in {S.ISOLATING, S.ISOLATED}


def test_a_leak_of_a_draining_rack_that_is_not_proven_shut_stops_everything() -> None:
    rack = isolated()
    rack.memory = replace(rack.memory, state=S.DRAINING, step=Step.WATCH)
    rack.follow = False
    rack.values.update({"LDT-101": 1.0, "ZSC-101": 0.0})
    rack.run(0.55)
    assert rack.state is S.ESD


def test_a_trip_hurries_a_planned_isolation_and_is_told_as_a_transition() -> None:
    rack = flowing()
    rack.memory = replace(rack.memory, state=S.ISOLATING, step=Step.SUPPLY, emergency=False)
    rack.values["LDT-101"] = 1.0
    rack.run(0.6)
    assert last(rack, FactKind.TRIP).fields["state"] is S.ISOLATING
    assert rack.memory.emergency
    assert transitions(rack)[0] == ("trip_isolate", "ISOLATING", "ISOLATING")
    assert len([one for one in transitions(rack) if one[0] == "trip_isolate"]) == 1


def test_a_transition_names_the_first_out(rack: PaperRack) -> None:
    rack.ask("dark")
    fields = last(rack, FactKind.TRANSITION).fields
    assert (fields["first_out"], fields["step"], fields["emergency"]) == ("SIF-10", "cool", True)
    assert fields["state_seq"] == rack.memory.state_seq
