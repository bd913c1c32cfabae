"""A reading: one value from one tag, with the evidence for believing it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from fieldkit.units import Unit


class Quality(StrEnum):
    """How far a value may be believed. Stale is judged from age by whoever uses the reading."""

    GOOD = "GOOD"
    UNCERTAIN = "UNCERTAIN"
    BAD = "BAD"


class Reason(StrEnum):
    """Why a reading is not GOOD."""

    TIMEOUT = "timeout"
    EXCEPTION = "exception"
    SHORT_REPLY = "short_reply"
    WRONG_ID = "wrong_id"
    ECHO = "echo"
    SENTINEL = "sentinel"
    RANGE = "range"
    RATE = "rate"
    STUCK = "stuck"
    STALE = "stale"
    NAN = "nan"
    DENORMAL = "denormal"
    LINK_DOWN = "link_down"
    FAULT = "fault"
    """The device itself says that this sensor is faulty (a cable break, a burnt-out loop)."""
    NEVER_READ = "never_read"


@dataclass(frozen=True, slots=True)
class Reading:
    """One value from one tag.

    tag      ISA-5.1 tag, e.g. ``FT-101``
    value    in ``unit``; None exactly when quality is BAD. Contacts and bits are 0.0 or 1.0
    unit     unit of ``value``, never the raw register's
    quality  GOOD, UNCERTAIN or BAD
    at_s     monotonic seconds at which the reply arrived (for a BAD reading: when it was judged bad)
    reason   None exactly when quality is GOOD
    """

    tag: str
    value: float | None
    unit: Unit
    quality: Quality
    at_s: float
    reason: Reason | None = None

    def usable_value(self, now_s: float, max_age_s: float) -> float | None:
        """The value when GOOD and no older than ``max_age_s`` seconds, else None."""
        if self.quality is Quality.GOOD and now_s - self.at_s <= max_age_s:
            return self.value
        return None


Readings = Mapping[str, Reading]


def bad(tag: str, unit: Unit, at_s: float, reason: Reason) -> Reading:
    """Return a reading without a value."""
    return Reading(tag, None, unit, Quality.BAD, at_s, reason)
