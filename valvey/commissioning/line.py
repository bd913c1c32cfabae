"""One line of a commissioning, and the numbers by which lines are judged. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fieldkit.point import PointType

Facts = Mapping[str, Any]
"""What a line expects, or what was measured: plain data, as it stands in the record."""


class Kind(StrEnum):
    """What a line is about; the order in which they are done."""

    DEVICE = "device"
    POINT = "point"
    ORDER = "order"
    CONTACT = "contact"
    LEAK = "leak"
    VALVE = "valve"
    THROTTLE = "throttle"
    PERMIT = "permit"
    INTERLOCK = "interlock"
    EXPIRY = "expiry"
    CDU = "cdu"


WAIVABLE = frozenset({Kind.POINT, Kind.ORDER, Kind.CDU})
"""A person may answer for doing without these. Nothing that protects is among them."""
MOVING = frozenset({Kind.VALVE, Kind.THROTTLE, Kind.PERMIT, Kind.INTERLOCK, Kind.EXPIRY})
"""Lines that write."""
TWO_WORDS = frozenset({PointType.F32, PointType.U32, PointType.S32})

SMALL_VALVE_S = 10.0
"""XV-103 and XV-104 have no stroke in the file: longer than this is no movement."""
THROTTLE_PCT = 10.0
"""How far FCV-101 is moved: what the gate lets through while the rack is shut."""
COIL_S = 1.0
"""From a command to its coil."""
CONTACTOR_S = 1.0
"""From the coil of XS-101 to its contactor."""
EXPIRY_SLACK_S, EXPIRY_SLACK = 0.6, 0.10
"""How far an output's expiry may be off what is declared: seconds, or this share of it where that is more."""
DRY_S = 10.0
"""Beside its delay, what a dried detector may take to say so is the person's time; this is the panel's."""

# fmt: off
TOLERANCES: dict[str, tuple[float, float]] = {
    "L/min": (2.0,  0.03),
    "degC":  (1.0,  0.0),
    "kPa":   (10.0, 0.02),
    "kW":    (0.5,  0.02),
    "V":     (1.0,  0.02),
    "%":     (2.0,  0.0),
    "%open": (2.0,  0.0),
    "m":     (0.3,  0.02),
}
# fmt: on
"""By unit: how far a reading may be from what a person reads off the device: at least, and as a share of it."""


def is_on(value: float | None) -> bool:
    """Whether a contact is seen made; what is not known is neither on nor off."""
    return value is not None and value >= 0.5


def is_off(value: float | None) -> bool:
    return value is not None and value < 0.5


@dataclass(frozen=True, slots=True)
class Line:
    """One thing to be shown.

    id        ``kind/subject``, the same for ever: by it a record is resumed and demanded
    subject   tag, bus or output
    what      for people: what will happen, or what they are asked
    expected  what counts as shown
    tags      every tag that it speaks for
    buses     every device that takes part: when one is exchanged, it is done again
    """

    id: str
    kind: Kind
    subject: str
    what: str
    expected: Facts
    tags: tuple[str, ...] = ()
    buses: frozenset[str] = frozenset()


def tolerance(unit: str, value: float) -> float:
    """How far a reading in ``unit`` may be from ``value``."""
    least, share = TOLERANCES.get(unit, (0.0, 0.02))
    return round(max(least, share * abs(value)), 6)
