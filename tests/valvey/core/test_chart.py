"""The chart against SAFETY §4, typed again by hand from the page: what leads where, and what each step demands."""

import pytest

from fieldkit.chart import dead_ends, hidden, twins, unknown_states, unreachable
from valvey.core.chart import (
    CHART,
    DEMANDED_OPEN,
    FIRST_STEP,
    OPENING_WORK,
    OUTPUTS,
    PERMIT_ON,
    PROVEN_SHUT_STATES,
    STROKED,
    Demand,
    Event,
    Guard,
    State,
    Step,
    Throttle,
)
from valvey.core.invariants import BY_REPAIR_AND_PEOPLE, i12_states_without_a_way_back
from valvey.core.latching import URGENCY
from valvey.core.limits import Limits
from valvey.core.machine import ROWS, advance
from valvey.core.memory import Effect
from valvey.core.policy import DEFAULT_POLICY
from valvey.core.procedures import STEPS
from valvey.core.requests import REQUESTS
from valvey.core.trips import Trip, rows_for

#: State by state: after trip_isolate, after trip_dark, after esd. "a|b" = with the guard | without it.
TRIPS = """
    STARTUP    ISOLATING     COOLDOWN|ISOLATING  ESD
    OPENING    ISOLATING     COOLDOWN|ISOLATING  ESD
    FLOWING    ISOLATING     COOLDOWN            ESD
    UNLOADING  ISOLATING     COOLDOWN            ESD
    COOLDOWN   ISOLATING     COOLDOWN            ESD
    ISOLATING  ISOLATING     ISOLATING           ESD
    ISOLATED   ISOLATED      ISOLATED            ESD
    DRAINING   DRAINING|ESD  DRAINING            ESD
    DRAINED    DRAINED       DRAINED             ESD
    FILLING    ISOLATING     ISOLATING           ESD
    TESTING    ISOLATING     ISOLATING           ESD
    ESD        ESD           ESD                 ESD
"""
#: The guard of each guarded row.
GUARDS = {
    ("trip_dark", "STARTUP"): "field_open",
    ("trip_dark", "OPENING"): "both_open",
    ("trip_isolate", "DRAINING"): "both_shut",
    ("proven_shut", "ISOLATING"): "empty",
}
#: Every other row: event, the states it leaves, the state it leads to ("=" stays).
ROWS_BY_HAND = """
    open_lost        FLOWING UNLOADING COOLDOWN            ISOLATING
    permit_lost      FLOWING UNLOADING                     COOLDOWN
    proof_lost       ISOLATED DRAINING DRAINED TESTING     ESD
    step_failed      OPENING FILLING TESTING DRAINING      ISOLATING
    lease_lost       OPENING FILLING TESTING DRAINING      ISOLATING
    late             STARTUP OPENING FLOWING UNLOADING COOLDOWN ISOLATING ISOLATED DRAINING DRAINED FILLING TESTING ESD STARTUP
    flow_proven      OPENING                               FLOWING
    unloaded         UNLOADING                             COOLDOWN
    unload_overdue   UNLOADING                             FLOWING
    cooled           COOLDOWN                              ISOLATING
    proven_shut      ISOLATING                             DRAINED|ISOLATED
    drained          DRAINING                              DRAINED
    filled           FILLING                               TESTING
    tested           TESTING                               ISOLATED
    latches_clear    ESD                                   ISOLATING
    adopt_esd        STARTUP                               ESD
    adopt_isolating  STARTUP                               ISOLATING
    adopt_drained    STARTUP                               DRAINED
    adopt_flowing    STARTUP                               FLOWING
    adopt_cooldown   STARTUP                               COOLDOWN
    open             ISOLATED COOLDOWN                     OPENING
    isolate          FLOWING                               UNLOADING
    isolate          OPENING FILLING TESTING               ISOLATING
    isolate          COOLDOWN                              COOLDOWN
    drain            ISOLATED                              DRAINING
    fill             ISOLATED DRAINED                      FILLING
    test             ISOLATED                              TESTING
    cancel           UNLOADING                             FLOWING
    cancel           COOLDOWN                              COOLDOWN
    cancel           OPENING DRAINING FILLING TESTING      ISOLATING
    arm              ISOLATED DRAINED                      STARTUP
"""
#: State, step, XS-101, XV-101, XV-102, XV-103, XV-104, FCV-101; "-" = nothing is written.
OUTPUTS_BY_HAND = """
    STARTUP    adopt       -
    OPENING    throttle    0 0 0 0 0 low
    OPENING    return      0 0 1 0 0 low
    OPENING    supply      0 1 1 0 0 low
    OPENING    prove       0 1 1 0 0 keep
    FLOWING    serve       1 1 1 0 0 keep
    UNLOADING  unload      1 1 1 0 0 keep
    UNLOADING  ask         1 1 1 0 0 keep
    COOLDOWN   cool        0 1 1 0 0 keep
    COOLDOWN   ramp        0 1 1 0 0 keep
    ISOLATING  supply      0 0 1 0 0 shut
    ISOLATING  return      0 0 0 0 0 shut
    ISOLATING  prove       0 0 0 0 0 shut
    ISOLATED   hold        0 0 0 0 0 shut
    DRAINING   vent        0 0 0 0 1 shut
    DRAINING   watch       0 0 0 0 0 shut
    DRAINING   drain       0 0 0 1 1 shut
    DRAINING   sump        0 0 0 0 0 shut
    DRAINED    hold        0 0 0 0 0 shut
    FILLING    crack       0 1 0 0 1 fill
    FILLING    bleed       0 1 0 0 1 fill
    FILLING    top         0 1 0 0 1 fill
    TESTING    pressure    0 0 0 0 0 shut
    TESTING    settle      0 0 0 0 0 shut
    TESTING    stroke_101  0 1 0 0 0 shut
    TESTING    reseat_101  0 0 0 0 0 shut
    TESTING    stroke_102  0 0 1 0 0 shut
    TESTING    reseat_102  0 0 0 0 0 shut
    ESD        hold        0 0 0 0 0 shut
"""


def expected() -> dict[tuple[str, str], str]:
    """(event, state) → "dest" or "guarded|else", from both tables."""
    out: dict[tuple[str, str], str] = {}
    for line in TRIPS.strip().splitlines():
        state, *dests = line.split()
        out |= {(event, state): dest for event, dest in zip(("trip_isolate", "trip_dark", "esd"), dests, strict=True)}
    for line in ROWS_BY_HAND.strip().splitlines():
        event, *sources, dest = line.split()
        out |= {(event, source): dest for source in sources}
    return out


EXPECTED = expected()


def none_but(guard: str | None) -> dict[Guard, bool]:
    return {name: name == guard for name in Guard}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("event", Event)
def test_every_event_in_every_state_leads_where_the_page_says(event: Event, state: State) -> None:
    dest = EXPECTED.get((event, state))
    assert ((event, state) in ROWS) is (dest is not None)
    if dest is None:
        return
    guarded, _, plain = dest.partition("|")
    guard = GUARDS.get((event, state))
    assert (guard is not None) is bool(plain)
    assert advance(state, event, none_but(guard)) == guarded
    if plain:
        others = {name: name != guard for name in none_but(None)}
        assert advance(state, event, none_but(None)) == plain
        assert advance(state, event, others) == plain


def test_the_chart_has_no_row_that_the_page_has_not() -> None:
    rows = {(str(row.event), str(row.source)) for row in CHART}
    assert rows == set(EXPECTED)
    assert len(CHART) == len(EXPECTED) + len(GUARDS)


def test_no_two_rows_are_twins_and_none_is_hidden() -> None:
    assert twins(CHART) == ()
    assert hidden(CHART) == ()
    assert unknown_states(CHART, State) == ()


def test_every_state_is_reached_and_none_is_a_dead_end() -> None:
    assert unreachable(CHART, State, State.STARTUP) == ()
    assert dead_ends(CHART, State) == ()


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("event", [Event.ESD, Event.TRIP_ISOLATE, Event.TRIP_DARK, Event.LATE])
def test_a_trip_is_defined_in_every_state_and_cannot_be_refused(event: Event, state: State) -> None:
    guards = [row.guard for row in CHART if (row.event, row.source) == (event, state)]
    assert guards[-1] is None
    assert len(guards) <= 2
    assert None not in guards[:-1]


SHUT = frozenset({State.ISOLATING, State.ISOLATED, State.DRAINING, State.DRAINED, State.ESD})


def test_a_shut_rack_is_opened_by_requests_of_people_only() -> None:
    assert set(State) - DEMANDED_OPEN - {State.STARTUP} == SHUT
    asked = {Event.OPEN, Event.FILL, Event.TEST}
    assert {row.event for row in CHART if row.source in SHUT and row.dest in DEMANDED_OPEN} == asked


def test_a_stroke_moves_one_isolation_valve_and_a_fill_never_the_return_valve() -> None:
    moved = {step: out for (state, step), out in OUTPUTS.items() if state is State.TESTING and out is not None}
    for number in ("101", "102"):
        opened = {step for step, out in moved.items() if (out.xv_101, out.xv_102)[number == "102"]}
        assert opened == {Step(f"stroke_{number}")}
        assert {STROKED[step] for step in opened} == {number}
    assert not [step for step, out in moved.items() if out.xv_101 and out.xv_102]
    filling = [out for (state, _step), out in OUTPUTS.items() if state is State.FILLING and out is not None]
    assert not [out for out in filling if out.xv_102 or not out.xv_104]


def test_the_permit_comes_on_by_proven_flow_or_as_it_was_found_on() -> None:
    rising = {row.event for row in CHART if row.source not in PERMIT_ON and row.dest in PERMIT_ON}
    assert rising == {Event.FLOW_PROVEN, Event.ADOPT_FLOWING}


def test_startup_is_entered_by_a_late_scan_or_by_arming_and_writes_nothing() -> None:
    assert {row.event for row in CHART if row.dest is State.STARTUP} == {Event.LATE, Event.ARM}
    assert [step for (state, step), demand in OUTPUTS.items() if demand is None] == [Step.ADOPT]


def test_each_step_demands_what_the_page_says() -> None:
    flags = {"0": False, "1": True}
    table: dict[tuple[State, Step], Demand | None] = {}
    for line in OUTPUTS_BY_HAND.strip().splitlines():
        state, step, *out = line.split()
        if out == ["-"]:
            table[State(state), Step(step)] = None
            continue
        xs_101, xv_101, xv_102, xv_103, xv_104 = (flags[word] for word in out[:-1])
        table[State(state), Step(step)] = Demand(xs_101, xv_101, xv_102, xv_103, xv_104, Throttle(out[-1]))
    assert table == OUTPUTS


def test_a_state_begins_with_the_first_of_its_steps() -> None:
    first: dict[str, str] = {}
    for line in OUTPUTS_BY_HAND.strip().splitlines():
        state, step, *_out = line.split()
        first.setdefault(state, step)
    assert first == FIRST_STEP


def test_the_sets_of_states_say_what_the_outputs_say() -> None:
    rows = [(state, demand) for (state, _step), demand in OUTPUTS.items() if demand is not None]
    assert {state for state, demand in rows if demand.xs_101} == PERMIT_ON
    # ISOLATING holds the return valve for as long as the supply valve shuts; nothing is opened there
    opened = {state for state, demand in rows if demand.xv_101 or demand.xv_102}
    assert opened - {State.ISOLATING} == DEMANDED_OPEN
    assert {State.OPENING, State.FILLING, State.TESTING} == OPENING_WORK
    assert {State.ISOLATED, State.DRAINING, State.DRAINED, State.TESTING} == PROVEN_SHUT_STATES


def test_no_step_demands_the_drain_and_an_isolation_valve_together() -> None:
    demands = [demand for demand in OUTPUTS.values() if demand is not None]
    assert not [demand for demand in demands if demand.xv_103 and (demand.xv_101 or demand.xv_102)]
    assert not [demand for demand in demands if demand.xs_101 and not (demand.xv_101 and demand.xv_102)]
    assert not [demand for demand in demands if demand.xv_104 and demand.xs_101]


@pytest.mark.parametrize("trip", rows_for(Limits(policy=DEFAULT_POLICY)), ids=lambda trip: trip.key)
def test_what_a_trip_row_raises_has_a_row_in_every_state_where_it_acts(trip: Trip) -> None:
    acting = {effect: states for effect, _event, states in URGENCY}
    plain = {Effect.ESD: Event.ESD, Effect.ISOLATE: Event.TRIP_ISOLATE, Effect.DARK: Event.TRIP_DARK}
    for effect in {trip.effect, trip.blind_effect} - {None, Effect.NONE}:
        assert effect is not None
        event = trip.event or plain[effect]
        states = trip.armed & acting[effect]
        assert {state for state in states if (event, state) not in ROWS} == set()


def test_sif_9_has_a_row_where_it_takes_the_proof_away() -> None:
    assert {state for state in PROVEN_SHUT_STATES if (Event.PROOF_LOST, state) not in ROWS} == set()


def test_every_end_and_deadline_of_a_step_has_a_row() -> None:
    events = [(end, row.state) for row in STEPS for end in (row.then, row.overdue) if isinstance(end, Event)]
    assert [one for one in events if one not in ROWS] == []
    steps = [(row.state, end) for row in STEPS for end in (row.then, row.overdue) if isinstance(end, Step)]
    assert [one for one in steps if one not in OUTPUTS] == []


@pytest.mark.parametrize("name", [name for name, row in REQUESTS.items() if row.event is not None])
def test_a_request_that_applies_has_a_row_to_follow(name: str) -> None:
    row = REQUESTS[name]
    # in STARTUP an isolation waits for the adoption
    assert {state for state in row.states - {State.STARTUP} if (row.event, state) not in ROWS} == set()


def test_every_state_has_a_way_back_to_service_by_repair_and_people() -> None:
    assert i12_states_without_a_way_back(CHART) == ()


def test_without_the_sequences_still_to_be_built_only_a_drained_rack_has_no_way_back() -> None:
    """DRAINED needs 'fill'. What needs no more than a record is helped by 'commission' in ISOLATED."""
    later = frozenset({Event.DRAIN, Event.FILL, Event.TEST, Event.DRAINED, Event.FILLED, Event.TESTED})
    rows = [row for row in CHART if row.guard != "empty"]
    assert i12_states_without_a_way_back(rows, later) == (State.DRAINED,)


def test_a_chart_without_a_way_out_of_isolated_is_found_out() -> None:
    rows = [row for row in CHART if row.event not in {Event.OPEN, Event.FILL}]
    stuck = i12_states_without_a_way_back(rows)
    assert State.ISOLATED in stuck
    assert State.FLOWING not in stuck


def test_repair_and_people_raise_everything_but_losses_and_trips() -> None:
    losses = {Event.OPEN_LOST, Event.PERMIT_LOST, Event.PROOF_LOST, Event.STEP_FAILED, Event.LEASE_LOST}
    others = {Event.ESD, Event.TRIP_ISOLATE, Event.TRIP_DARK, Event.LATE, Event.ARM}
    assert set(Event) - losses - others == BY_REPAIR_AND_PEOPLE
