"""Alarms by ISA-18.2: one alarm's life as a table of transitions over plain, frozen data.

A condition becomes active after ``on_delay_s`` and inactive after ``off_delay_s``; what the operator sees then follows
``TABLE``. Times are the caller's monotonic seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from fieldkit.chart import Row
from fieldkit.errors import Refusal

MOST_SHELVED_S: Final = 8 * 3600.0
"""Longest shelf: one shift, so that whoever shelved it is still there when it comes back."""


class Phase(StrEnum):
    """What the operator sees."""

    NORMAL = "NORMAL"
    UNACK = "UNACK"
    ACK = "ACK"
    RTN_UNACK = "RTN_UNACK"
    LATCHED_UNACK = "LATCHED_UNACK"
    LATCHED_ACK = "LATCHED_ACK"
    SHELVED = "SHELVED"
    SUPPRESSED = "SUPPRESSED"
    OUT_OF_SERVICE = "OUT_OF_SERVICE"


class Priority(StrEnum):
    """From consequence and time to respond, worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


_P = Phase
_SEEN = (_P.NORMAL, _P.UNACK, _P.ACK, _P.RTN_UNACK, _P.LATCHED_UNACK, _P.LATCHED_ACK)
HIDDEN: Final = frozenset({_P.SHELVED, _P.SUPPRESSED, _P.OUT_OF_SERVICE})


def _back(event: str, source: Phase) -> tuple[Row, ...]:
    """Out of hiding an alarm shows what holds by now: levels, not edges."""
    return (
        Row(event, source, _P.UNACK, guard="active"),
        Row(event, source, _P.LATCHED_UNACK, guard="latched"),
        Row(event, source, _P.NORMAL),
    )


# fmt: off
TABLE: Final[tuple[Row, ...]] = (
    Row("raise",   _P.NORMAL,        _P.UNACK),
    Row("raise",   _P.RTN_UNACK,     _P.UNACK),
    Row("raise",   _P.LATCHED_UNACK, _P.UNACK),
    Row("raise",   _P.LATCHED_ACK,   _P.UNACK),
    Row("clear",   _P.UNACK,         _P.LATCHED_UNACK, guard="latching"),
    Row("clear",   _P.UNACK,         _P.RTN_UNACK),
    Row("clear",   _P.ACK,           _P.LATCHED_ACK,   guard="latching"),
    Row("clear",   _P.ACK,           _P.NORMAL),
    Row("ack",     _P.UNACK,         _P.ACK),
    Row("ack",     _P.RTN_UNACK,     _P.NORMAL),
    Row("ack",     _P.LATCHED_UNACK, _P.LATCHED_ACK),
    Row("reset",   _P.LATCHED_UNACK, _P.RTN_UNACK),
    Row("reset",   _P.LATCHED_ACK,   _P.NORMAL),
    *(Row("raise", source, source) for source in sorted(HIDDEN)),
    *(Row("clear", source, source) for source in sorted(HIDDEN)),
    *(Row("shelve",   source, _P.SHELVED)        for source in _SEEN),
    *(Row("suppress", source, _P.SUPPRESSED)     for source in _SEEN),
    *(Row("remove",   source, _P.OUT_OF_SERVICE) for source in (*_SEEN, _P.SHELVED, _P.SUPPRESSED)),
    *_back("unshelve",   _P.SHELVED),
    *_back("unsuppress", _P.SUPPRESSED),
    *_back("restore",    _P.OUT_OF_SERVICE),
)
# fmt: on


@dataclass(frozen=True, slots=True)
class AlarmRow:
    """What one alarm is.

    id           id as in a topic, ``[a-z0-9_-]+``
    cause, consequence, action   one sentence each, for whoever reads it at night
    respond_s    time the operator has before the consequence
    on_delay_s, off_delay_s      how long the condition has to hold, or be gone, before it counts
    latching     stays until a person resets it, cause gone or not
    trip         tells of a protective trip: can never be shelved, suppressed or put out of service
    runbook      path of the page that helps
    """

    id: str
    priority: Priority
    cause: str
    consequence: str
    action: str
    respond_s: float
    on_delay_s: float
    off_delay_s: float
    latching: bool
    trip: bool
    runbook: str


RUNBOOKS: Final = "docs/operations/runbooks.md"


def alarm_row(
    name: str,
    priority: Priority,
    cause: str,
    consequence: str,
    action: str,
    respond_s: float,
    on_s: float = 0.0,
    off_s: float = 1.0,
    *,
    trip: bool = False,
    book: str = "",
) -> AlarmRow:
    """One row of an alarm table; a trip latches. Its runbook's section is named like it, after ``book``; ``x-*`` is ``x``."""
    where = f"{RUNBOOKS}#{book}{name.removesuffix('-*')}"
    return AlarmRow(name, priority, cause, consequence, action, respond_s, on_s, off_s, trip, trip, where)


@dataclass(frozen=True, slots=True)
class AlarmState:
    """Where one alarm stands.

    active      the condition after its delays
    latched     a latching alarm that has been active since its last reset
    since_s     when ``phase`` began
    turning_s   since when the bare condition differs from ``active``; None while it agrees
    raised_s    when it last became active; None if never
    count       how often it became active
    by, why     who brought it into its phase, and why; None when nobody did
    until_s     end of a shelf
    """

    row: AlarmRow
    phase: Phase = Phase.NORMAL
    active: bool = False
    latched: bool = False
    since_s: float = 0.0
    turning_s: float | None = None
    raised_s: float | None = None
    count: int = 0
    by: str | None = None
    why: str | None = None
    until_s: float | None = None


_BY_EVENT: Final[dict[tuple[str, str], tuple[Row, ...]]] = {
    (row.event, row.source): tuple(r for r in TABLE if (r.event, r.source) == (row.event, row.source)) for row in TABLE
}


def advance(state: AlarmState, active: bool, now_s: float) -> AlarmState:
    """Return the alarm after one look at its bare condition; the same object when nothing changed."""
    if state.until_s is not None and now_s >= state.until_s:
        state = _moved(state, "unshelve", now_s)
    if active == state.active:
        return state if state.turning_s is None else replace(state, turning_s=None)
    turning_s = now_s if state.turning_s is None else state.turning_s
    delay_s = state.row.on_delay_s if active else state.row.off_delay_s
    if now_s - turning_s < delay_s:
        return state if state.turning_s is not None else replace(state, turning_s=turning_s)
    if not active:
        return _moved(replace(state, active=False, turning_s=None), "clear", now_s)
    raised = replace(
        state, active=True, turning_s=None, raised_s=now_s, count=state.count + 1, latched=state.row.latching
    )
    return _moved(raised, "raise", now_s)


def acknowledge(state: AlarmState, now_s: float, who: str) -> AlarmState | Refusal:
    """Return the alarm as seen by ``who``; refused when there is nothing to acknowledge."""
    return _asked(state, "ack", now_s, who, None)


def reset(state: AlarmState, now_s: float, who: str, why: str) -> AlarmState | Refusal:
    """Return a latched alarm released; refused while its condition is active or when it is not latched."""
    if state.active:
        return Refusal("still_active", f"the cause of alarm {state.row.id} is still there", "remove the cause first")
    after = _asked(state, "reset", now_s, who, why)
    return after if isinstance(after, Refusal) else replace(after, latched=False)


def shelve(state: AlarmState, now_s: float, until_s: float, who: str, why: str) -> AlarmState | Refusal:
    """Return the alarm put aside until ``until_s``; refused for trips, without name and reason, or for too long."""
    if not 0.0 < until_s - now_s <= MOST_SHELVED_S:
        limit = f"an end within {MOST_SHELVED_S / 3600:g} h from now"
        return Refusal("bad_time", f"a shelf of {until_s - now_s:g} s is not allowed", limit)
    after = _hidden(state, "shelve", now_s, who, why)
    return after if isinstance(after, Refusal) else replace(after, until_s=until_s)


def unshelve(state: AlarmState, now_s: float, who: str) -> AlarmState | Refusal:
    """Return the alarm as it stands by now; refused when it is not shelved."""
    return _asked(state, "unshelve", now_s, who, None)


def suppress(state: AlarmState, now_s: float, why: str) -> AlarmState | Refusal:
    """Return the alarm hidden by design (its plant part is off); refused for trips."""
    return _hidden(state, "suppress", now_s, "design", why)


def unsuppress(state: AlarmState, now_s: float) -> AlarmState | Refusal:
    """Return the alarm shown again; refused when it is not suppressed."""
    return _asked(state, "unsuppress", now_s, None, None)


def remove(state: AlarmState, now_s: float, who: str, why: str) -> AlarmState | Refusal:
    """Return the alarm out of service for repair; refused for trips."""
    return _hidden(state, "remove", now_s, who, why)


def restore(state: AlarmState, now_s: float, who: str) -> AlarmState | Refusal:
    """Return the alarm to service; refused when it is not out of service."""
    return _asked(state, "restore", now_s, who, None)


def crossed(value: float, limit: float, deadband: float, *, high: bool, was: bool) -> bool:
    """Tell whether ``value`` is beyond ``limit``; once it ``was``, only coming back by ``deadband`` ends it."""
    if high:
        return value > (limit - deadband if was else limit)
    return value < (limit + deadband if was else limit)


def to_dict(state: AlarmState) -> dict[str, Any]:
    """Return ``state`` as plain data; its row is named by id only."""
    return {
        "id": state.row.id,
        "phase": str(state.phase),
        "active": state.active,
        "latched": state.latched,
        "since_s": state.since_s,
        "turning_s": state.turning_s,
        "raised_s": state.raised_s,
        "count": state.count,
        "by": state.by,
        "why": state.why,
        "until_s": state.until_s,
    }


def from_dict(row: AlarmRow, data: Mapping[str, Any]) -> AlarmState:
    """Return the state that ``to_dict`` wrote. Raises ValueError when it is another alarm's or not whole."""
    fields = dict(data)
    if fields.pop("id", None) != row.id:
        raise ValueError(f"this is no state of alarm {row.id}: {data!r}")
    try:
        return AlarmState(row, **{**fields, "phase": Phase(fields["phase"])})
    except (KeyError, TypeError) as error:
        raise ValueError(f"the state of alarm {row.id} is not whole: {data!r}") from error


def rebased(state: AlarmState, shift_s: float) -> AlarmState:
    """Return ``state`` with all its times moved by ``shift_s``: from the clock of the last process to this one's."""

    def moved(time_s: float | None) -> float | None:
        return None if time_s is None else time_s + shift_s

    return replace(
        state,
        since_s=state.since_s + shift_s,
        turning_s=moved(state.turning_s),
        raised_s=moved(state.raised_s),
        until_s=moved(state.until_s),
    )


def _hidden(state: AlarmState, event: str, now_s: float, who: str, why: str) -> AlarmState | Refusal:
    if state.row.trip:
        return Refusal("trip", f"alarm {state.row.id} tells of a trip and is never hidden", "reset the trip")
    if not who.strip() or not why.strip():
        return Refusal("no_reason", f"hiding alarm {state.row.id} needs a name and a reason", "say who and why")
    return _asked(state, event, now_s, who, why)


def _asked(state: AlarmState, event: str, now_s: float, who: str | None, why: str | None) -> AlarmState | Refusal:
    if (event, state.phase) not in _BY_EVENT:
        sources = ", ".join(sorted({row.source for row in TABLE if row.event == event}))
        return Refusal("wrong_state", f"{event}: alarm {state.row.id} is {state.phase}", f"an alarm in {sources}")
    return replace(_moved(state, event, now_s), by=who, why=why)


def _moved(state: AlarmState, event: str, now_s: float) -> AlarmState:
    holds = {None: True, "active": state.active, "latched": state.latched, "latching": state.row.latching}
    dest = next(Phase(row.dest) for row in _BY_EVENT[event, state.phase] if holds[row.guard])
    if dest is state.phase:
        return state
    return replace(state, phase=dest, since_s=now_s, by=None, why=None, until_s=None)
