"""All alarms of one daemon: how they advance together, what people do to one of them, and what is told of a change."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from fieldkit import alarm
from fieldkit.alarm import AlarmRow, AlarmState, Phase
from fieldkit.errors import Refusal
from fieldkit.request import Request

RowOf = Callable[[str], AlarmRow | None]
"""The row of an alarm by its id; None for an id that the daemon's table does not have."""


def advance(
    states: Mapping[str, AlarmState], active: Collection[str], row_of: RowOf, now_s: float
) -> tuple[dict[str, AlarmState], list[AlarmState]]:
    """Return the states after a look at which conditions hold, by id, and those that changed their phase.

    ``active``: ids whose condition holds. Raises KeyError for one without a row. What is normal again is not kept.
    """
    after, changed = dict(states), list[AlarmState]()
    for name in sorted({*active, *states}):
        state = states.get(name)
        if state is None:
            row = row_of(name)
            if row is None:
                raise KeyError(f"there is no row for alarm '{name}'")
            state = AlarmState(row, since_s=now_s)
        now = _released(alarm.advance(state, name in active, now_s), name in active, now_s)
        if now.phase is not state.phase:
            changed.append(now)
        if now.phase is Phase.NORMAL and now.turning_s is None and name not in active:
            after.pop(name, None)
        else:
            after[name] = now
    return after, changed


def _released(state: AlarmState, active: bool, now_s: float) -> AlarmState:
    """A trip's alarm stands as long as its latch; the reset of the latch is the reset of the alarm."""
    if state.row.latching and not active and state.phase in {Phase.LATCHED_UNACK, Phase.LATCHED_ACK}:
        after = alarm.reset(state, now_s, "reset", "its latch was reset")
        return state if isinstance(after, Refusal) else after
    return state


def note(states: Mapping[str, AlarmState], request: Request, now_s: float) -> AlarmState | Refusal:
    """Acknowledge (``ack``) or shelve (any other name) the alarm that ``request`` names; its arguments are checked already."""
    name = str(request.args["alarm"])
    state = states.get(name)
    if state is None:
        return Refusal("unknown", f"no alarm '{name}' stands", f"standing: {', '.join(sorted(states)) or 'none'}")
    if request.name == "ack":
        return alarm.acknowledge(state, now_s, request.who)
    return alarm.shelve(state, now_s, now_s + float(request.args["for_s"]), request.who, request.why)


def fields(state: AlarmState) -> dict[str, Any]:
    """What the fact of a change of phase tells."""
    row = state.row
    return {
        "alarm": row.id, "phase": state.phase, "priority": row.priority, "active": state.active, "cause": row.cause,
        "consequence": row.consequence, "action": row.action, "respond_s": row.respond_s, "count": state.count, "runbook": row.runbook,
    }  # fmt: skip
