"""The chart run by ``transitions``: no callbacks, nothing but "which state is next"."""

from collections.abc import Mapping

from transitions import Machine

from valvey.core.chart import CHART, Event, Guard, State

_MACHINE = Machine(
    model=None,
    states=State,
    initial=State.STARTUP,
    transitions=[
        {"trigger": row.event, "source": row.source, "dest": row.dest, "conditions": [row.guard] if row.guard else []}
        for row in CHART
    ],
    auto_transitions=False,  # no to_<state>() back doors
    ignore_invalid_triggers=False,  # an event with no row is a bug, say so
)

#: (event, source) pairs that have a row; asking for any other is a bug of the asker.
ROWS = frozenset((row.event, row.source) for row in CHART)


class _Cursor:
    """A throw-away model: one state, and the guards by name."""

    state: State

    def __init__(self, guards: Mapping[Guard, bool]) -> None:
        self._guards = guards

    def field_open(self) -> bool:
        return self._guards[Guard.FIELD_OPEN]

    def both_open(self) -> bool:
        return self._guards[Guard.BOTH_OPEN]

    def both_shut(self) -> bool:
        return self._guards[Guard.BOTH_SHUT]

    def empty(self) -> bool:
        return self._guards[Guard.EMPTY]


def advance(state: State, event: Event, guards: Mapping[Guard, bool]) -> State:
    """Return the state after ``event``. Raises ``transitions.MachineError`` when the chart has no such row."""
    cursor = _Cursor(guards)
    _MACHINE.add_model(cursor, initial=state)
    try:
        _MACHINE.events[event].trigger(cursor)
        return cursor.state
    finally:
        _MACHINE.remove_model(cursor)
