"""One rack as the header sees it: three resistances in a row with openings to the air between them.

    supply header ── kv_in ──●── kv_rack ──●── kv_out ── return header
                           inlet   (tray)  outlet

Flows are m³/h and positive from supply to return, pressures bar.
"""

import math
from dataclasses import dataclass

from firmware_sim.physics.roots import rising_root

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


@dataclass(frozen=True, slots=True)
class RackFlow:
    """What one rack does between two header pressures: flows in and out, gauge pressure and loss at inlet, tray and outlet."""

    flow_in: float
    flow_out: float
    inner: tuple[float, float, float]
    lost: tuple[float, float, float]


LEAST_KV = 1e-6
"""A rack blocked inside: still finite, so that both its ends have a pressure."""


def resistance(kv: float, sg: float) -> float:
    """R of ``dp = R·Q·|Q|``, bar/(m³/h)²; infinite when shut."""
    return sg / (kv * kv) if kv > 0.0 else math.inf


def rack_flow(branch: Branch, sg: float, supply_bar: float, return_bar: float, guess: float = 0.0) -> RackFlow:
    """Solve one rack between its headers, openings included.

    Walks from an open end to the other with one unknown, the flow at that end; what is left over at the other end rises with it.
    A rack shut at both ends has no flow and no pressure (NaN). ``guess`` is a flow at the open end to start from.
    """
    r_in, r_out = resistance(branch.kv_in, sg), resistance(branch.kv_out, sg)
    r_half = resistance(max(branch.kv_rack, LEAST_KV) * HALF, sg)
    k_in, k_mid, k_out = branch.leaks

    def forwards(flow: float) -> tuple[RackFlow, float]:
        inlet = supply_bar - r_in * flow * abs(flow)
        lost_in = k_in * math.sqrt(inlet) if inlet > 0.0 else 0.0
        q = flow - lost_in
        tray = inlet - r_half * q * abs(q)
        lost_mid = k_mid * math.sqrt(tray) if tray > 0.0 else 0.0
        q -= lost_mid
        outlet = tray - r_half * q * abs(q)
        lost_out = k_out * math.sqrt(outlet) if outlet > 0.0 else 0.0
        q -= lost_out
        over = q if math.isinf(r_out) else return_bar + r_out * q * abs(q) - outlet
        return RackFlow(flow, q, (inlet, tray, outlet), (lost_in, lost_mid, lost_out)), over

    def backwards(flow_out: float) -> tuple[RackFlow, float]:
        outlet = return_bar + r_out * flow_out * abs(flow_out)
        lost_out = k_out * math.sqrt(outlet) if outlet > 0.0 else 0.0
        q = flow_out + lost_out
        tray = outlet + r_half * q * abs(q)
        lost_mid = k_mid * math.sqrt(tray) if tray > 0.0 else 0.0
        q += lost_mid
        inlet = tray + r_half * q * abs(q)
        lost_in = k_in * math.sqrt(inlet) if inlet > 0.0 else 0.0
        return RackFlow(0.0, flow_out, (inlet, tray, outlet), (lost_in, lost_mid, lost_out)), q + lost_in

    if not math.isinf(r_in):
        if any(branch.leaks):
            flow = rising_root(lambda q: forwards(q)[1], guess, -math.inf, step=1e-2)
        else:
            dp, whole = supply_bar - return_bar, r_in + 2.0 * r_half + r_out
            flow = 0.0 if math.isinf(whole) else math.copysign(math.sqrt(abs(dp) / whole), dp)
        return forwards(flow)[0]
    if not math.isinf(r_out):
        flow = rising_root(lambda q: backwards(q)[1], guess, -math.inf, step=1e-2) if any(branch.leaks) else 0.0
        return backwards(flow)[0]
    nowhere = (math.nan, math.nan, math.nan)
    return RackFlow(0.0, 0.0, nowhere, (0.0, 0.0, 0.0))
