"""The loop as a network of conductances: what racks teach of themselves, and how flow divides when one of them changes.

Conductance C in L/min per √kPa: flow = C·√dP, in series 1/C² add. The specific gravity is in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, sqrt

from valvey.core.loop.limits import LoopLimits, Mode, RackRow
from valvey.core.loop.memory import Learned
from valvey.core.view import SG

C_OF_KV = 1000.0 / 60.0 / sqrt(100.0 * SG)
"""Kv (m³/h at 1 bar) to L/min per √kPa."""
LEAST_PCT = 5.0
"""Below this opening an equal-percentage valve goes linearly to zero."""
LEARN_S, SMOOTH_S = 60.0, 5.0
"""Time constants: of what is learned of a rack, and of the flow and head that it shows."""


def valve_c(row: RackRow, open_pct: float) -> float:
    """Conductance of FCV-101 at ``open_pct``: equal percentage."""
    share = max(open_pct, LEAST_PCT) / 100.0
    c: float = C_OF_KV * row.fcv_kvs * row.rangeability ** (share - 1.0)
    return c if open_pct >= LEAST_PCT else c * max(open_pct, 0.0) / LEAST_PCT


def series(first: float, second: float) -> float:
    """Two conductances one after the other."""
    if first <= 0.0 or second <= 0.0:
        return 0.0
    return 1.0 / sqrt(1.0 / first**2 + 1.0 / second**2)


def learn(known: Learned | None, row: RackRow, flow_lpm: float, open_pct: float, dp_kpa: float, at_s: float) -> Learned:
    """Return what is known of a rack in service after one snapshot; the rest of its branch follows the valve's curve.

    flow_lpm, dp_kpa   both above 0
    """
    valve, whole = valve_c(row, open_pct), flow_lpm / sqrt(dp_kpa)
    # A valve that lets less through than the whole branch does is not as its sheet says: the rest then counts as wide.
    rest = 1.0 / sqrt(max(1.0 / whole**2 - 1.0 / valve**2, 0.01 / whole**2))
    if known is None:
        return Learned(rest, flow_lpm, _head(rest, valve, flow_lpm), at_s)
    dt_s = min(max(at_s - known.at_s, 0.0), SMOOTH_S)
    rest = known.rest + (1.0 - exp(-dt_s / LEARN_S)) * (rest - known.rest)
    return smoothed(replace(known, rest=rest), row, flow_lpm, open_pct, at_s)


def smoothed(known: Learned, row: RackRow, flow_lpm: float, open_pct: float, at_s: float) -> Learned:
    """Return the rack's flow and felt head after one snapshot, what was learned of its branch left alone."""
    dt_s = min(max(at_s - known.at_s, 0.0), SMOOTH_S)
    weight = 1.0 - exp(-dt_s / SMOOTH_S)
    head = felt_kpa(known, row, flow_lpm, open_pct)
    return replace(
        known,
        flow_lpm=known.flow_lpm + weight * (flow_lpm - known.flow_lpm),
        head_kpa=known.head_kpa + weight * (head - known.head_kpa),
        at_s=at_s,
    )


def felt_kpa(known: Learned, row: RackRow, flow_lpm: float, open_pct: float) -> float:
    """The header dP that a rack must feel to take ``flow_lpm`` through its valve at ``open_pct``."""
    return _head(known.rest, valve_c(row, open_pct), flow_lpm)


def _head(rest: float, valve: float, flow_lpm: float) -> float:
    c = series(rest, valve)
    return (flow_lpm / c) ** 2 if c > 0.0 else 0.0


def learn_droop(
    known: float | None, dead_kpa: float, speed_pct: float, dp_kpa: float, flow_lpm: float, dt_s: float
) -> float:
    """Return how much header dP the pumps lose with flow, kPa per (L/min)²: dP = dead·s² − droop·Q². ``flow_lpm`` > 0."""
    now = max(0.0, (dead_kpa * (speed_pct / 100.0) ** 2 - dp_kpa) / flow_lpm**2)
    return now if known is None else known + (1.0 - exp(-dt_s / SMOOTH_S)) * (now - known)


@dataclass(frozen=True, slots=True)
class Circuit:
    """The loop at one moment: conductance of each rack's branch, and what the CDU holds."""

    mode: Mode
    branches: Mapping[str, float]
    droop: float
    header: float
    dp_remote: bool

    def stretch(self, total: float) -> float:
        """A number that every branch's flow is proportional to, given the sum of the conductances."""
        if self.mode is Mode.CONSTANT_FLOW:
            return 1.0 / total if total > 0.0 else 0.0
        if self.mode is Mode.FIXED_SPEED:
            return 1.0 / sqrt(1.0 + (self.droop + self.header) * total**2)
        return 1.0 if self.dp_remote else 1.0 / sqrt(1.0 + self.header * total**2)

    def change_pct(self, rack: str, conductance: float) -> float:
        """How the flow of every other branch changes when ``rack``'s becomes ``conductance``, left to the CDU."""
        before = sum(self.branches.values())
        after = before - self.branches.get(rack, 0.0) + conductance
        was = self.stretch(before)
        return 100.0 * (self.stretch(after) / was - 1.0) if was > 0.0 else 0.0


def header_loss(limits: LoopLimits) -> float:
    """Header loss between CDU and racks, kPa per (L/min)²."""
    return limits.header_loss_kpa / limits.rated_lpm**2


def capacity_lpm(limits: LoopLimits, droop: float | None) -> float | None:
    """The total flow that the CDU can give at the design dP with its speed at the bound; None while not known."""
    if droop is None or droop <= 0.0:
        return None
    top = limits.bounds.get(Mode.FIXED_SPEED)
    speed = 1.0 if top is None else top.high / 100.0
    return sqrt(max(0.0, limits.dead_head_kpa * speed**2 - limits.design_dp_kpa) / droop)
