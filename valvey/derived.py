"""What is worked out instead of read, as points of the telemetry: tags ending their letters in ``Y``, as ISA-5.1 has it.

A value of which an input cannot be believed is BAD with the reason ``stale``, one that waits for a rack at rest is
UNCERTAIN with the same reason.
"""

from dataclasses import dataclass

from fieldkit.envelope_parts import PointMeta
from fieldkit.point import Verified
from fieldkit.reading import Quality, Reading, Readings, Reason
from fieldkit.units import Unit
from valvey.core import mass_balance
from valvey.core.limits import Limits
from valvey.core.memory import Memory
from valvey.core.sensing import dew_margin_k, dp_flow_lpm
from valvey.core.view import View

PROFILE = "valvey"
"""Stands in the meta message where a device's profile would."""


@dataclass(frozen=True, slots=True)
class Point:
    """One value that is worked out."""

    tag: str
    unit: Unit
    description: str


# fmt: off
POINTS: tuple[Point, ...] = (
    Point("JY-101",  Unit.KW,      "heat that the coolant carries off"),
    Point("FDY-101", Unit.L_MIN,   "leak estimate: supply above return over 18 s, density-corrected, learned zero taken off"),
    Point("FDY-102", Unit.L_MIN,   "uncertainty of FDY-101: the smallest lasting leak that is told from chance now"),
    Point("FY-101",  Unit.L_MIN,   "flow set-point: what the flow control asks for while it has FCV-101"),
    Point("FY-102",  Unit.L_MIN,   "flow by PT-101 less PT-102 and the rack's learned resistance"),
    Point("TY-102",  Unit.DEG_C,   "return temperature, voted of three"),
    Point("TDY-101", Unit.DELTA_K, "supply temperature above the dew point of the room, or of the floor that stands for it"),
)
# fmt: on


def metas() -> dict[str, PointMeta]:
    """Return what each point is, for the meta message."""
    return {
        one.tag: PointMeta(
            unit=one.unit,
            range=None,
            limits={"L": 2.0} if one.tag == "TDY-101" else {},
            profile=PROFILE,
            point=one.tag.lower().replace("-", "_"),
            description=one.description,
            verified=Verified.NONE,
        )
        for one in POINTS
    }


def derived(readings: Readings, memory: Memory, limits: Limits, now_s: float) -> dict[str, Reading]:
    """Return every point as it stands at ``now_s``."""
    view, sensors = View(readings, memory, limits, now_s), memory.sensors
    balance = sensors.balance
    learned = balance.learned_s >= mass_balance.WARM_UP_S
    open_now = view.open_proven()
    values: dict[str, float | None] = {
        "JY-101": sensors.heat.carried_kw,
        "FDY-101": balance.excess_lpm if learned and open_now else None,
        "FDY-102": mass_balance.threshold_lpm(balance) if learned and open_now else None,
        "FY-101": _setpoint_lpm(memory),
        "FY-102": dp_flow_lpm(view),
        "TY-102": view.return_c(),
        "TDY-101": dew_margin_k(view),
    }
    resting = {"FDY-101"} if balance.settled_s < mass_balance.LONG_S else set()
    return {one.tag: _reading(one, values[one.tag], one.tag in resting, now_s) for one in POINTS}


def _setpoint_lpm(memory: Memory) -> float | None:
    steering = memory.steering
    return None if steering is None or not steering.active else steering.control.demand.setpoint_lpm


def _reading(point: Point, value: float | None, waits: bool, now_s: float) -> Reading:
    if value is None:
        return Reading(point.tag, None, point.unit, Quality.BAD, now_s, Reason.STALE)
    quality = Quality.UNCERTAIN if waits else Quality.GOOD
    return Reading(point.tag, value, point.unit, quality, now_s, Reason.STALE if waits else None)
