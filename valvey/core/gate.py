"""The last door before the bus: a whitelist, ignorant of intentions, written "only if".

Everything that Valvey may ever write is named here. What is not named, or not allowed in the present state and
the field's present position, does not pass: its de-energised value goes instead, or nothing at all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from valvey.core.chart import OPENING_WORK, State

STROKE = "XK-101"


@dataclass(frozen=True, slots=True)
class Outputs:
    """One whole demand. None in every field = write nothing (STARTUP, disarmed)."""

    xs_101: bool | None = None
    xv_101: bool | None = None
    xv_102: bool | None = None
    xv_103: bool | None = None
    xv_104: bool | None = None
    fcv_101_pct: float | None = None
    xk_101: float | None = None
    """Partial stroke that the valve controller times: 1 of XV-101, 2 of XV-102. Written once, in one scan."""

    def items(self) -> tuple[tuple[str, float | None], ...]:
        """The demand by output tag, contacts as 0.0 and 1.0."""
        return (
            ("XS-101", _number(self.xs_101)),
            ("XV-101", _number(self.xv_101)),
            ("XV-102", _number(self.xv_102)),
            ("XV-103", _number(self.xv_103)),
            ("XV-104", _number(self.xv_104)),
            ("FCV-101", self.fcv_101_pct),
            (STROKE, self.xk_101),
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
    stroking    tag of the isolation valve that the valve controller strokes now: its coil falls and rises by itself
    """

    coil: Mapping[str, bool | None]
    shut: Mapping[str, bool | None]
    entering: bool
    valves_acknowledged_s: float | None
    locked: bool
    stroking: str | None = None


_S = State
_HOLD_STATES = frozenset({_S.FLOWING, _S.UNLOADING, _S.COOLDOWN})
_OPEN_STATES = OPENING_WORK | _HOLD_STATES | {_S.ISOLATING}
_PERMIT_STATES = frozenset({_S.FLOWING, _S.UNLOADING})
_THROTTLE_STATES = _HOLD_STATES | {_S.OPENING}
#: Longest age of an acknowledged valve write at which the permit is still refreshed: it never outlives the valves.
PERMIT_REFRESH_S = 2.0
#: FILLING may throttle to at most this opening (make-up rate).
FILLING_MAX_PCT = 12.0


class Admission(StrEnum):
    """PASS: write it. SAFE: write the de-energised value instead. WITHHOLD: write nothing, let the expiry decide."""

    PASS = "pass"  # ruff: ignore[hardcoded-password-string] - not a password
    SAFE = "safe"
    WITHHOLD = "withhold"


def _isolation_valve(tag: str, state: State, field: Evidence) -> Admission:
    """XV-101/102: held while read back energised; raised only by opening work, unlocked, with the drain proven shut.

    The one that the valve controller strokes is held too: the command stays, the device drops and raises the coil.

    A coil that cannot be read back is neither raised nor dropped in service: nothing is written, SIF-8 counts.
    """
    coil = field.coil.get(tag)
    if coil is True and state in _OPEN_STATES:
        return Admission.PASS
    if coil is False and tag == field.stroking and state in _HOLD_STATES:
        return Admission.PASS
    if state in OPENING_WORK and not field.locked and field.shut.get("XV-103") is True:
        return Admission.PASS
    return Admission.WITHHOLD if coil is None and state in _HOLD_STATES else Admission.SAFE


def _permit(tag: str, state: State, field: Evidence) -> Admission:
    """XS-101: refreshed only in service behind acknowledged valve writes; raised only by the entry into FLOWING."""
    age_s, coil = field.valves_acknowledged_s, field.coil.get(tag)
    if state not in _PERMIT_STATES:
        return Admission.SAFE
    if age_s is None or age_s >= PERMIT_REFRESH_S:
        return Admission.WITHHOLD
    if coil is True or (state is _S.FLOWING and field.entering and not field.locked):
        return Admission.PASS
    return Admission.WITHHOLD if coil is None else Admission.SAFE


def _drain(_tag: str, state: State, field: Evidence) -> Admission:
    """XV-103: only in DRAINING with both isolation valves proven shut."""
    proven = field.shut.get("XV-101") is True and field.shut.get("XV-102") is True
    return Admission.PASS if state is _S.DRAINING and proven else Admission.SAFE


def _vent(_tag: str, state: State, _field: Evidence) -> Admission:
    """XV-104: only while draining or filling."""
    return Admission.PASS if state in {_S.DRAINING, _S.FILLING} else Admission.SAFE


def _stroke(value: float, state: State, field: Evidence) -> Admission:
    """XK-101: one valve's number, in service and unlocked, with both isolation valves held and neither shut."""
    valves = ("XV-101", "XV-102")
    held = all(field.coil.get(tag) is True and field.shut.get(tag) is False for tag in valves)
    fits = value in {1.0, 2.0} and state is _S.FLOWING and held and not field.locked
    return Admission.PASS if fits else Admission.WITHHOLD


#: Every contact that Valvey may ever energise, and the rule that lets it.
ENERGISE: dict[str, Callable[[str, State, Evidence], Admission]] = {
    "XS-101": _permit,
    "XV-101": _isolation_valve,
    "XV-102": _isolation_valve,
    "XV-103": _drain,
    "XV-104": _vent,
}


#: Writes of their own, beside the valves' block.
_APART = ("XS-101", STROKE)


def admit(tag: str, value: float, state: State, field: Evidence) -> Admission:
    """Judge one write. A tag that is not listed, or a value that no output has, never passes."""
    if state is _S.STARTUP:
        return Admission.WITHHOLD
    if tag == "FCV-101":
        top_pct = 100.0 if state in _THROTTLE_STATES else FILLING_MAX_PCT if state is _S.FILLING else 0.0
        return Admission.PASS if 0.0 <= value <= top_pct else Admission.SAFE
    if tag == STROKE:
        return _stroke(value, state, field)
    if tag not in ENERGISE or value not in {0.0, 1.0}:
        return Admission.WITHHOLD
    return ENERGISE[tag](tag, state, field) if value else Admission.PASS


def pass_through(outputs: Outputs, state: State, field: Evidence) -> tuple[dict[str, float], dict[str, Admission]]:
    """Return what may be written, by tag, and what was not passed as demanded, with the gate's answer.

    The valve outputs are one write block: when one of them is withheld, so is the block. That happens only in
    states that hold both valves open, so no closing demand ever waits for it.
    """
    demands = {tag: value for tag, value in outputs.items() if value is not None}
    answers = {tag: admit(tag, value, state, field) for tag, value in demands.items()}
    stopped: dict[str, Admission] = {tag: answer for tag, answer in answers.items() if answer is not Admission.PASS}
    writes = {tag: value if answers[tag] is Admission.PASS else 0.0 for tag, value in demands.items()}
    for tag in _APART:
        if answers.get(tag) is Admission.WITHHOLD:
            del writes[tag]
    if Admission.WITHHOLD in {answer for tag, answer in answers.items() if tag not in _APART}:
        writes = {tag: value for tag, value in writes.items() if tag in _APART}
    return writes, stopped
