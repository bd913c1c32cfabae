"""What the memory keeps when the chart moves."""

from dataclasses import replace
from typing import Any

import pytest

from tests.attack.bench import Node, rack, scan, standing, view_of
from valvey.core.chart import FIRST_STEP, Event, State, Step
from valvey.core.enter import enter
from valvey.core.leasing import Leasing
from valvey.core.memory import Effect, Inventory, Latch, Memory, Work
from valvey.core.procedures import first_step
from valvey.core.step import setup

RACK = rack()
S, E = State, Event


def entered(
    state: State, event: Event, after: State, node: Node | None = None, first: Step | None = None, **changes: Any
) -> Memory:
    node = node or standing(state, **changes)
    later = replace(node, now_s=node.now_s + 7.0)
    return enter(view_of(RACK, later), event, after, first or FIRST_STEP[after])


def test_a_new_state_begins_now_with_its_first_step_and_a_new_sequence_number() -> None:
    memory = entered(S.FLOWING, E.TRIP_DARK, S.COOLDOWN, steady_since_s=3.0)
    assert (memory.state, memory.step, memory.since_s, memory.step_since_s) == (S.COOLDOWN, Step.COOL, 1007.0, 1007.0)
    assert (memory.state_seq, memory.steady_since_s) == (11, None)


@pytest.mark.parametrize(
    ("state", "event", "after"),
    [
        (S.OPENING, E.FLOW_PROVEN, S.FLOWING),
        (S.UNLOADING, E.UNLOAD_OVERDUE, S.FLOWING),
        (S.UNLOADING, E.CANCEL, S.FLOWING),
        (S.STARTUP, E.ADOPT_FLOWING, S.FLOWING),
    ],
)
def test_the_permit_rises_by_proven_flow_only(state: State, event: Event, after: State) -> None:
    memory = entered(state, event, after, permit_rise_s=4.0)
    assert memory.permit_rise_s == (1007.0 if event is E.FLOW_PROVEN else None)


@pytest.mark.parametrize("event", [E.ESD, E.TRIP_ISOLATE, E.TRIP_DARK, E.OPEN_LOST, E.PROOF_LOST])
def test_a_trip_makes_an_isolation_an_emergency(event: Event) -> None:
    assert entered(S.FLOWING, event, S.ISOLATING).emergency


@pytest.mark.parametrize("event", [E.COOLED, E.STEP_FAILED, E.CANCEL, E.LATCHES_CLEAR, E.PERMIT_LOST])
def test_planned_work_is_no_emergency(event: Event) -> None:
    assert not entered(S.OPENING, event, S.ISOLATING, emergency=True).emergency


@pytest.mark.parametrize("effect", [Effect.DARK, Effect.ISOLATE, Effect.ESD])
def test_an_isolation_that_is_adopted_is_an_emergency_under_a_latch_that_acts(effect: Effect) -> None:
    latch = Latch("SIF-1", "SIF-1", effect, 1.0, 1.0)
    assert entered(S.STARTUP, E.ADOPT_ISOLATING, S.ISOLATING, latches=(latch,)).emergency
    only_told = replace(latch, effect=Effect.NONE)
    assert not entered(S.STARTUP, E.ADOPT_ISOLATING, S.ISOLATING, latches=(only_told,), emergency=True).emergency


def test_a_trip_during_a_planned_isolation_makes_it_an_emergency_and_moves_nothing_else() -> None:
    before = standing(S.ISOLATING)
    memory = entered(S.ISOLATING, E.TRIP_ISOLATE, S.ISOLATING, before)
    assert memory == replace(before.memory, emergency=True)
    assert entered(S.ISOLATED, E.TRIP_ISOLATE, S.ISOLATED) == standing(S.ISOLATED).memory
    assert entered(S.ISOLATING, E.TRIP_DARK, S.ISOLATING) == standing(S.ISOLATING).memory


def test_an_isolation_of_a_cooling_rack_begins_its_steps_anew_once() -> None:
    begun: dict[str, Any] = {"step": Step.RAMP, "step_since_s": 5.0, "steady_since_s": 5.0, "cool_overdue": True}
    node = standing(S.COOLDOWN)
    node = replace(node, memory=replace(node.memory, **begun))
    memory = entered(S.COOLDOWN, E.ISOLATE, S.COOLDOWN, node)
    assert (memory.isolate_wanted, memory.step, memory.step_since_s) == (True, Step.COOL, 1007.0)
    assert (memory.steady_since_s, memory.cool_overdue, memory.state_seq) == (None, False, 10)
    wanted = replace(node, memory=replace(node.memory, isolate_wanted=True))
    assert entered(S.COOLDOWN, E.ISOLATE, S.COOLDOWN, wanted) is wanted.memory
    memory = entered(S.COOLDOWN, E.CANCEL, S.COOLDOWN, wanted)
    assert (memory.isolate_wanted, memory.step, memory.step_since_s) == (False, Step.COOL, 1007.0)
    assert entered(S.COOLDOWN, E.TRIP_DARK, S.COOLDOWN, wanted) is wanted.memory


@pytest.mark.parametrize(
    ("state", "event", "after", "before", "wanted"),
    [
        (S.UNLOADING, E.UNLOADED, S.COOLDOWN, False, True),
        (S.FLOWING, E.TRIP_DARK, S.COOLDOWN, False, False),
        (S.FLOWING, E.TRIP_DARK, S.COOLDOWN, True, True),
        (S.FLOWING, E.PERMIT_LOST, S.COOLDOWN, True, True),
        (S.STARTUP, E.ADOPT_COOLDOWN, S.COOLDOWN, True, True),
        (S.STARTUP, E.ADOPT_COOLDOWN, S.COOLDOWN, False, False),
        (S.STARTUP, E.TRIP_DARK, S.COOLDOWN, True, True),
        (S.STARTUP, E.ADOPT_FLOWING, S.FLOWING, True, False),
        (S.COOLDOWN, E.COOLED, S.ISOLATING, True, False),
        (S.COOLDOWN, E.OPEN, S.OPENING, True, False),
        (S.UNLOADING, E.CANCEL, S.FLOWING, True, False),
    ],
)
def test_an_accepted_isolation_goes_on_where_the_rack_still_flows_dark(
    state: State, event: Event, after: State, before: bool, wanted: bool
) -> None:
    assert entered(state, event, after, isolate_wanted=before).isolate_wanted is wanted


def test_an_isolation_asked_for_in_startup_is_begun_by_a_rack_adopted_in_service() -> None:
    memory = entered(S.STARTUP, E.ADOPT_FLOWING, S.FLOWING, isolate_wanted=True, asked_in_startup=True)
    assert memory.isolate_wanted
    assert not memory.asked_in_startup
    assert not entered(S.STARTUP, E.ADOPT_FLOWING, S.FLOWING, asked_in_startup=True).isolate_wanted


def test_a_given_up_unloading_is_remembered_until_the_next_move() -> None:
    assert entered(S.UNLOADING, E.UNLOAD_OVERDUE, S.FLOWING).unload_overdue
    assert not entered(S.FLOWING, E.ISOLATE, S.UNLOADING, unload_overdue=True).unload_overdue
    assert not entered(S.COOLDOWN, E.COOLED, S.ISOLATING, cool_overdue=True).cool_overdue


@pytest.mark.parametrize("event", [E.LATE, E.ARM])
def test_startup_is_begun_with_the_state_before_it(event: Event) -> None:
    memory = entered(S.ISOLATED, event, S.STARTUP, armed=event is E.LATE, starts_s=(1000.0,))
    assert (memory.state, memory.was, memory.armed, memory.state_seq) == (S.STARTUP, S.ISOLATED, True, 11)
    assert memory.starts_s == ((1000.0, 1007.0) if event is E.LATE else (1000.0,))


def test_a_late_scan_in_startup_remembers_what_was_before_it() -> None:
    node = standing(S.STARTUP)
    node = replace(node, memory=replace(node.memory, was=S.FLOWING))
    assert entered(S.STARTUP, E.LATE, S.STARTUP, node).was is S.FLOWING


def test_an_opening_begins_throttled_and_one_from_the_cooling_keeps_its_flow() -> None:
    assert entered(S.ISOLATED, E.OPEN, S.OPENING).fcv_pct == RACK.limits.fcv_low_pct
    assert entered(S.COOLDOWN, E.OPEN, S.OPENING, first=Step.PROVE).fcv_pct == standing(S.COOLDOWN).memory.fcv_pct


@pytest.mark.parametrize(
    ("position", "kept"), [(60.0, 60.0), (62.0, 60.0), (58.0, 60.0), (62.1, 62.1), (57.9, 57.9), (0.0, 0.0)]
)
def test_a_rack_is_adopted_with_the_opening_found_unless_it_is_about_the_one_remembered(
    position: float, kept: float
) -> None:
    node = standing(S.STARTUP)
    node = replace(node, field=replace(node.field, fcv_pct=position))
    memory = entered(S.STARTUP, E.ADOPT_FLOWING, S.FLOWING, node)
    assert memory.fcv_pct == pytest.approx(kept)
    assert (memory.adopted_s, memory.was) == (1007.0, S.FLOWING)


def test_an_opening_that_cannot_be_read_is_kept_as_remembered() -> None:
    node = replace(standing(S.STARTUP), faults=frozenset({"everything lost"}))
    assert entered(S.STARTUP, E.ADOPT_ISOLATING, S.ISOLATING, node).fcv_pct == pytest.approx(60.0)


@pytest.mark.parametrize(
    ("event", "after", "fcv_pct"), [(E.ADOPT_FLOWING, S.FLOWING, 100.0), (E.ADOPT_ISOLATING, S.ISOLATING, 0.0)]
)
def test_a_rack_in_service_whose_opening_nobody_knows_is_given_all_of_its_flow_and_no_other(
    event: Event, after: State, fcv_pct: float
) -> None:
    node = replace(standing(S.STARTUP), faults=frozenset({"everything lost"}))
    node = replace(node, memory=replace(node.memory, fcv_pct=0.0))
    assert entered(S.STARTUP, event, after, node).fcv_pct == pytest.approx(fcv_pct)


@pytest.mark.parametrize(
    ("was", "readable", "latched"),
    [(S.FLOWING, True, True), (S.UNLOADING, True, True), (S.COOLDOWN, True, False), (None, False, True)],
)
def test_a_rack_found_dark_that_had_been_in_service_is_latched(
    was: State | None, readable: bool, latched: bool
) -> None:
    node = standing(S.STARTUP)
    node = replace(node, memory=replace(node.memory, was=was, readable=readable))
    memory = entered(S.STARTUP, E.ADOPT_COOLDOWN, S.COOLDOWN, node)
    assert [latch.sif for latch in memory.latches] == (["ADOPTED"] if latched else [])
    memory = entered(S.STARTUP, E.ADOPT_ISOLATING, S.ISOLATING, node)  # also where a trip's own latch came too late
    assert [latch.sif for latch in memory.latches] == (["ADOPTED"] if latched and readable else [])
    memory = entered(S.STARTUP, E.ADOPT_FLOWING, S.FLOWING, node)
    assert memory.latches == ()


@pytest.mark.parametrize(
    ("state", "event", "after", "inventory", "tested"),
    [
        (S.ISOLATED, E.DRAIN, S.DRAINING, Inventory.PART, False),
        (S.DRAINED, E.FILL, S.FILLING, Inventory.PART, False),
        (S.DRAINING, E.DRAINED, S.DRAINED, Inventory.EMPTY, True),
        (S.FILLING, E.FILLED, S.TESTING, Inventory.FULL, True),
        (S.FILLING, E.STEP_FAILED, S.ISOLATING, Inventory.UNKNOWN, True),
        (S.TESTING, E.TESTED, S.ISOLATED, Inventory.UNKNOWN, True),
        (S.TESTING, E.STEP_FAILED, S.ISOLATING, Inventory.UNKNOWN, True),
        (S.STARTUP, E.ADOPT_DRAINED, S.DRAINED, Inventory.UNKNOWN, True),
    ],
)
def test_what_is_known_of_the_coolant_follows_the_work_on_it(
    state: State, event: Event, after: State, inventory: Inventory, tested: bool
) -> None:
    memory = entered(state, event, after, inventory=Inventory.UNKNOWN, tested=True)
    assert (memory.inventory, memory.tested) == (inventory, tested)
    assert entered(S.TESTING, E.TESTED, S.ISOLATED, tested=False).tested
    assert not entered(S.TESTING, E.STEP_FAILED, S.ISOLATING, tested=False).tested


WORK = {S.OPENING, S.DRAINING, S.FILLING, S.TESTING}


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("after", [state for state in S if state is not S.STARTUP])
def test_a_state_of_work_keeps_its_own_record_forgets_the_last_failure_and_ends_with_its_grant(
    after: State, full: bool
) -> None:
    before = S.ISOLATED if after is not S.ISOLATED else S.TESTING
    known: dict[str, Any] = {"failed": "passing", "inventory": Inventory.FULL if full else Inventory.UNKNOWN}
    asked = Leasing(work="test")
    memory = entered(before, E.CANCEL, after, grant="id-1", leasing=asked, **known)
    assert memory.leased is (after in WORK)
    assert memory.work == (Work(1007.0, full=full) if after in WORK - {S.OPENING} else None)
    assert memory.failed == (None if after in WORK | {S.FLOWING} else "passing")
    assert not entered(before, E.CANCEL, after, grant=None, leasing=asked).leased
    assert not entered(before, E.CANCEL, after, grant="id-1", leasing=Leasing(work="isolate")).leased


@pytest.mark.parametrize(("event", "failed"), [(E.ISOLATE, None), (E.CANCEL, "passing")])
def test_a_cooling_rack_forgets_its_last_failure_when_an_isolation_is_wanted(event: Event, failed: str | None) -> None:
    node = standing(S.COOLDOWN)
    node = replace(node, memory=replace(node.memory, failed="passing"))
    assert entered(S.COOLDOWN, event, S.COOLDOWN, node).failed == failed


def test_a_latch_that_only_tells_ends_opening_work() -> None:
    told = Latch("SIF-13", "SIF-13", Effect.NONE, 1.0, 1.0)
    after, passage = scan(RACK, standing(S.OPENING, latches=(told,)), (), 0.05)
    assert (after.memory.state, passage.events()) == (S.ISOLATING, [E.TRIP_DARK])
    for state in (S.FILLING, S.TESTING):
        after, _passage = scan(RACK, standing(state, latches=(told,)), (), 0.05)
        assert after.memory.state is S.ISOLATING


def test_an_opening_rack_whose_drain_leaves_its_shut_limit_is_shut() -> None:
    for state in (S.OPENING, S.FILLING, S.TESTING):
        leaking = replace(standing(state), faults=frozenset({"drain not shut"}))
        after, passage = scan(RACK, leaking, (), 0.05)
        assert (after.memory.state, passage.events()) == (S.ISOLATING, [E.STEP_FAILED])
        lost = replace(standing(state), faults=frozenset({"drain limit lost"}))
        assert scan(RACK, lost, (), 0.05)[0].memory.state is state


@pytest.mark.parametrize("before", S)
def test_a_state_begins_with_the_step_that_the_field_has_already_come_to(before: State) -> None:
    node = standing(before)
    for coordinator in (False, True):
        with_one = setup(replace(RACK.limits, coordinator=coordinator))
        for coils_on in (True, False):
            coils = {**node.field.coils, "XV-101": coils_on, "XV-102": coils_on}
            view = view_of(with_one, replace(node, field=replace(node.field, coils=coils)))
            begun = dict(FIRST_STEP) | {
                S.OPENING: Step.PROVE if before is S.COOLDOWN else Step.THROTTLE,
                S.ISOLATING: Step.SUPPLY if coils_on else Step.RETURN,
                S.UNLOADING: Step.ASK if coordinator else Step.UNLOAD,
                S.TESTING: Step.SETTLE if before is S.FILLING else Step.PRESSURE,
            }
            assert {after: first_step(after, FIRST_STEP[after], view) for after in S} == begun
