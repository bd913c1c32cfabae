"""The last door before the CDU: a whitelist, ignorant of intentions, written "only if".

Three set-points may be written, each only in the mode that obeys it, within the site's bounds, in small steps from
where it stands now; no bound reaches down to a stop. That of the supply temperature may be where the site has bounds for it, likewise. The pumps' stop passes only where the site allows it and while
every rack is proven dark. Their start, the mode and all else never pass.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from valvey.core.loop.limits import Bounds, Mode

STEP_FRACTION = 0.05
"""Largest single step, of the present set-point."""

#: Every point that may ever be written, by the one mode in which it may.
ALLOWED: dict[str, Mode] = {
    "speed_sp": Mode.FIXED_SPEED,
    "dp_sp": Mode.CONSTANT_DP,
    "flow_sp": Mode.CONSTANT_FLOW,
}
#: Below these no bound of a site may lie: a lower set-point stops the flow, whatever it is called.
FLOORS: dict[Mode, float] = {Mode.FIXED_SPEED: 20.0, Mode.CONSTANT_DP: 20.0, Mode.CONSTANT_FLOW: 20.0}
POINTS: dict[Mode, str] = {mode: point for point, mode in ALLOWED.items()}
SUPPLY = "supply_sp"
SUPPLY_STEP_C = 0.5
"""The set-point of the supply temperature, and its largest single step."""
RUN = "pumps_run"
"""The pumps' own command: only its 0 may ever be written."""


@dataclass(frozen=True, slots=True)
class CduEvidence:
    """What the gate knows of the CDU, fresh and good, None where there is nothing.

    mode       as the CDU shows it;  present  the set-point as its register holds it
    armed      the site lets the coordinator write
    alone      no other coordinator is on the bus
    may_stop   the site lets the pumps be stopped
    dark       every rack is proven dark
    supply_c   set-point of the supply temperature as its register holds it;  supply  its bounds
    """

    mode: Mode | None
    present: float | None
    armed: bool
    alone: bool
    may_stop: bool
    dark: bool
    supply_c: float | None = None
    supply: Bounds | None = None


def admit(point: str, value: float, bounds: Mapping[Mode, Bounds], cdu: CduEvidence) -> bool:
    """Whether one write may leave."""
    if point == RUN:
        return value == 0.0 and cdu.armed and cdu.alone and cdu.may_stop and cdu.dark  # ruff: ignore[float-equality-comparison] - the one command
    if point == SUPPLY:
        return _supply(value, cdu)
    mode = ALLOWED.get(point)
    if mode is None or mode is not cdu.mode or cdu.present is None or not isfinite(cdu.present):
        return False
    bound = bounds.get(mode)
    if not (cdu.armed and cdu.alone) or bound is None or not max(bound.low, FLOORS[mode]) <= value <= bound.high:
        return False
    return abs(value - cdu.present) <= STEP_FRACTION * max(abs(cdu.present), FLOORS[mode])


def _supply(value: float, cdu: CduEvidence) -> bool:
    bound, present = cdu.supply, cdu.supply_c
    if not (cdu.armed and cdu.alone) or bound is None or present is None:
        return False
    return bound.low <= value <= bound.high and abs(value - present) <= SUPPLY_STEP_C


def pass_through(writes: Mapping[str, float], bounds: Mapping[Mode, Bounds], cdu: CduEvidence) -> dict[str, float]:
    """Return what may be written."""
    return {point: value for point, value in writes.items() if admit(point, value, bounds, cdu)}
