"""The machine: rows in, the next state out, and nothing by the back door."""

import pytest
from transitions import MachineError

from valvey.core.chart import CHART, Event, Guard, State
from valvey.core.machine import _MACHINE, ROWS, advance

NO_GUARD = dict.fromkeys(Guard, False)


def test_an_event_without_a_row_is_an_error_that_says_so() -> None:
    with pytest.raises(MachineError, match="flow_proven"):
        advance(State.ISOLATED, Event.FLOW_PROVEN, NO_GUARD)


def test_an_error_leaves_nothing_behind() -> None:
    for _ in range(3):
        with pytest.raises(MachineError):
            advance(State.ESD, Event.OPEN, NO_GUARD)
    assert advance(State.ESD, Event.LATCHES_CLEAR, NO_GUARD) is State.ISOLATING


@pytest.mark.parametrize("guard", Guard)
def test_each_guard_speaks_for_its_own_rows_only(guard: Guard) -> None:
    rows = [row for row in CHART if row.guard == guard]
    assert rows
    for row in rows:
        after = advance(State(row.source), Event(row.event), {**NO_GUARD, guard: True})
        assert after == row.dest
        assert advance(State(row.source), Event(row.event), NO_GUARD) != row.dest


def test_a_state_comes_back_as_a_member_of_the_enumeration() -> None:
    assert type(advance(State.FLOWING, Event.ESD, NO_GUARD)) is State


def test_the_rows_that_can_be_asked_for_are_those_of_the_chart() -> None:
    assert frozenset((row.event, row.source) for row in CHART) == ROWS
    assert (Event.OPEN, State.ESD) not in ROWS


def test_the_machine_knows_the_events_of_the_chart_and_has_no_back_door() -> None:
    assert set(_MACHINE.events) == set(Event)
