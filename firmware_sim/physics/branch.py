"""One rack as the header sees it: three resistances in a row with openings to the air between them.

    supply header ── kv_in ──●── kv_rack ──●── kv_out ── return header
                           inlet   (tray)  outlet

Flows are m³/h and positive from supply to return, pressures bar.
"""

import math
from dataclasses import dataclass

from firmware_sim.physics.valve import pressure_drop_bar

HALF = math.sqrt(2.0)
"""Two resistances of Kv·√2 in a row make one of Kv."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A rack's conductances (m³/h) and its openings to the air.

    kv_in, kv_rack, kv_out        0 is shut, ``inf`` no resistance; at least one of the three is finite
    leak_in, leak_mid, leak_out   opening at inlet, tray (half-way through kv_rack) and outlet: k of ``Q = k·√p``, m³/h per √bar
    draw_supply, draw_return      known flows that leave the supply and the return header at this rack without passing it, m³/h
    """

    kv_in: float
    kv_rack: float
    kv_out: float
    leak_in: float = 0.0
    leak_mid: float = 0.0
    leak_out: float = 0.0
    draw_supply: float = 0.0
    draw_return: float = 0.0

    @property
    def leaks(self) -> tuple[float, float, float]:
        """The three openings in the order of the flow."""
        return self.leak_in, self.leak_mid, self.leak_out


def resistance(kv: float, sg: float) -> float:
    """R of ``dp = R·Q·|Q|``, bar/(m³/h)²; infinite when shut."""
    return sg / (kv * kv) if kv > 0.0 else math.inf


def branch_flow_m3h(dp_bar: float, parts: tuple[float, float, float, float], lost: tuple[float, float, float]) -> float:
    """Flow entering a branch of which ``lost`` leaves on the way, m³/h.

    parts   resistances before the inlet, to the tray, to the outlet, after the outlet; all finite
    lost    flows that leave at inlet, tray and outlet

    Solves ``Σ Rₖ·(q−cₖ)·|q−cₖ| = dp`` with cₖ the flow lost before part k: a quadratic when nothing flows backwards.
    """
    cuts = (0.0, lost[0], lost[0] + lost[1], lost[0] + lost[1] + lost[2])
    total = linear = constant = 0.0
    for r, c in zip(parts, cuts, strict=True):
        total += r
        linear += r * c
        constant += r * c * c
    inside = linear * linear - total * (constant - dp_bar)
    if inside >= 0.0:
        flow = (linear + math.sqrt(inside)) / total
        if flow >= cuts[3]:
            return flow
    # Some part flows backwards: the drop still rises with q, so halve between bounds that enclose it.
    reach = math.sqrt(abs(dp_bar) / total) + cuts[3] + 1e-9
    low, high = -reach, cuts[3] + reach
    for _ in range(80):
        middle = 0.5 * (low + high)
        drop = sum(r * (middle - c) * abs(middle - c) for r, c in zip(parts, cuts, strict=True))
        low, high = (middle, high) if drop < dp_bar else (low, middle)
    return 0.5 * (low + high)


def inner_pressures_bar(
    branch: Branch, sg: float, supply_bar: float, return_bar: float, flow_in: float, lost: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Gauge pressure at inlet, tray and outlet, given both headers and the flow; NaN for a branch shut at both ends."""
    half = branch.kv_rack * HALF
    if branch.kv_out > 0.0:
        flow_out = flow_in - lost[0] - lost[1] - lost[2]
        outlet = return_bar + pressure_drop_bar(flow_out, branch.kv_out, sg)
        if branch.kv_rack <= 0.0:
            inlet = supply_bar - pressure_drop_bar(flow_in, branch.kv_in, sg) if branch.kv_in > 0.0 else math.nan
            return inlet, math.nan, outlet
        tray = outlet + pressure_drop_bar(flow_in - lost[0] - lost[1], half, sg)
        return tray + pressure_drop_bar(flow_in - lost[0], half, sg), tray, outlet
    if branch.kv_in > 0.0:
        inlet = supply_bar - pressure_drop_bar(flow_in, branch.kv_in, sg)
        if branch.kv_rack <= 0.0:
            return inlet, math.nan, math.nan
        tray = inlet - pressure_drop_bar(flow_in - lost[0], half, sg)
        return inlet, tray, tray - pressure_drop_bar(flow_in - lost[0] - lost[1], half, sg)
    return math.nan, math.nan, math.nan
