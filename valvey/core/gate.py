"""The last door before the bus: a whitelist, ignorant of intentions, written "only if".

Everything that Valvey may ever write is named here. What is not named, or not allowed in the present state and
the field's present position, does not pass; its de-energised value, which every state allows, goes instead.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from valvey.core.chart import State


@dataclass(frozen=True, slots=True)
class Outputs:
    """One whole demand. None in every field = write nothing (STARTUP, disarmed)."""

    xs_101: bool | None = None
    xv_101: bool | None = None
    xv_102: bool | None = None
    xv_103: bool | None = None
    xv_104: bool | None = None
    fcv_101_pct: float | None = None

    def items(self) -> tuple[tuple[str, float | None], ...]:
        """The demand by output tag, contacts as 0.0 and 1.0."""
        return (
            ("XS-101", _number(self.xs_101)),
            ("XV-101", _number(self.xv_101)),
            ("XV-102", _number(self.xv_102)),
            ("XV-103", _number(self.xv_103)),
            ("XV-104", _number(self.xv_104)),
            ("FCV-101", self.fcv_101_pct),
        )


def _number(value: bool | None) -> float | None:
    return None if value is None else float(value)


NO_WRITE = Outputs()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the gate knows of the field: fresh and good read-backs, None where there is none.

    coil        XY-101..104 and XSY-101 by output tag
    shut        ZSC-101, ZSC-102, ZSC-103 by valve tag
    entering    True only in the scan that has just entered FLOWING, until its permit is read back (≤ 0.5 s)
    valves_acknowledged_s  age of the last acknowledged valve write since start, None = none yet
    locked      a lock or a latch stands
    """

    coil: Mapping[str, bool | None]
    shut: Mapping[str, bool | None]
    entering: bool
    valves_acknowledged_s: float | None
    locked: bool


_S = State
_OPENING_WORK = frozenset({_S.OPENING, _S.FILLING, _S.TESTING})
_OPEN_STATES = frozenset({_S.OPENING, _S.FLOWING, _S.UNLOADING, _S.COOLDOWN, _S.ISOLATING, _S.FILLING, _S.TESTING})
_PERMIT_STATES = frozenset({_S.FLOWING, _S.UNLOADING})
_THROTTLE_STATES = frozenset({_S.OPENING, _S.FLOWING, _S.UNLOADING, _S.COOLDOWN})
#: Longest age of an acknowledged valve write at which the permit is still refreshed (SAFETY §2: the permit never outlives the valves).
PERMIT_REFRESH_S = 2.0
#: FILLING may throttle to at most this opening (make-up rate).
FILLING_MAX_PCT = 12.0


def _isolation_valve(tag: str, state: State, field: Evidence) -> bool:
    """XV-101/102 are energised only with the drain proven shut, and raised only by opening work without a lock."""
    if state not in _OPEN_STATES or field.shut.get("XV-103") is False:
        return False
    if field.coil.get(tag) is True:
        return True
    return state in _OPENING_WORK and not field.locked and field.shut.get("XV-103") is True


def _permit(_tag: str, state: State, field: Evidence) -> bool:
    """XS-101 is energised only in service, raised only on entry, and refreshed only behind acknowledged valve writes."""
    age_s = field.valves_acknowledged_s
    if state not in _PERMIT_STATES or age_s is None or age_s >= PERMIT_REFRESH_S:
        return False
    if field.coil.get("XS-101") is True:
        return True
    return state is _S.FLOWING and field.entering and not field.locked


def _drain(_tag: str, state: State, field: Evidence) -> bool:
    """XV-103 is energised only in DRAINING with both isolation valves proven shut."""
    return state is _S.DRAINING and field.shut.get("XV-101") is True and field.shut.get("XV-102") is True


def _vent(_tag: str, state: State, _field: Evidence) -> bool:
    """XV-104 is energised only while draining or filling."""
    return state in {_S.DRAINING, _S.FILLING}


_ENERGISE: dict[str, Callable[[str, State, Evidence], bool]] = {
    "XS-101": _permit,
    "XV-101": _isolation_valve,
    "XV-102": _isolation_valve,
    "XV-103": _drain,
    "XV-104": _vent,
}


def admit(tag: str, value: float, state: State, field: Evidence) -> bool:
    """Whether ``value`` may be written to ``tag`` in ``state``. A tag that is not listed never may."""
    if tag == "FCV-101":
        if state in _THROTTLE_STATES:
            return 0.0 <= value <= 100.0
        return value == 0.0 or (state is _S.FILLING and 0.0 <= value <= FILLING_MAX_PCT)
    energise = _ENERGISE.get(tag)
    if energise is None or state is _S.STARTUP:
        return False
    return value == 0.0 or (value == 1.0 and energise(tag, state, field))


def pass_through(outputs: Outputs, state: State, field: Evidence) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return what may be written, by tag, and which demands were refused (written de-energised instead).

    Nothing at all is returned for STARTUP or a disarmed rack.
    """
    writes: dict[str, float] = {}
    refused: list[str] = []
    if outputs == NO_WRITE or state is _S.STARTUP:
        return writes, ()
    for tag, value in outputs.items():
        if value is None or not admit(tag, value, state, field):
            refused.append(tag)
            writes[tag] = 0.0
        else:
            writes[tag] = value
    return writes, tuple(refused)
