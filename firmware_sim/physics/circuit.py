"""What a network is asked and what it answers: the circuit, what its pumps hold, and the solution. Flows m³/h, pressures bar."""

import math
from dataclasses import dataclass

from firmware_sim.physics.branch import Branch


class NetworkError(ValueError):
    """A question that has no answer, such as a constant flow with every path shut."""


@dataclass(frozen=True, slots=True)
class Loop:
    """The hydraulic circuit at one moment.

    branches       racks in the order of the header, nearest first
    kv_segments    header segment before each rack (supply and return alike); ``inf`` for none, 0 for a blocked header
    kv_cdu         everything inside the CDU between pump and header
    sg             density / 1000 kg/m³
    static_bar     gauge pressure of the return header at the CDU
    leak_header    opening of the supply header at the CDU, m³/h per √bar
    leak_cdu       opening at the pump's suction
    """

    branches: tuple[Branch, ...]
    kv_segments: tuple[float, ...]
    kv_cdu: float
    sg: float
    static_bar: float = 0.0
    leak_header: float = 0.0
    leak_cdu: float = 0.0


@dataclass(frozen=True, slots=True)
class FixedSpeed:
    """Pumps at given speeds (0..1)."""

    speeds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ConstantDp:
    """Pumps hold a header pressure difference at node ``node`` (0 = the CDU, n = rack n), limited by ``max_speed``."""

    dp_bar: float
    node: int = 0
    max_speed: float = math.inf
    count: int = 1


@dataclass(frozen=True, slots=True)
class ConstantFlow:
    """Pumps hold the total flow, limited by ``max_speed``."""

    flow_m3h: float
    max_speed: float = math.inf
    count: int = 1


Drive = FixedSpeed | ConstantDp | ConstantFlow


@dataclass(frozen=True, slots=True)
class Curve:
    """One pump: ``dp = s²·dp0_bar − a·Q²``."""

    dp0_bar: float
    a: float


@dataclass(slots=True)
class Solution:
    """What the network does. Lists are by rack, ``node_dp`` and pressures by node with the CDU first.

    inner    gauge pressures (inlet, tray, outlet) of each rack; NaN where it is cut off
    lost     flows out of each rack's openings, m³/h
    speed    pump speed that does it (of the fastest pump in fixed speed)
    far_dp   the unknown, to start the next solution from
    """

    flow_in: list[float]
    flow_out: list[float]
    node_dp: list[float]
    supply_bar: list[float]
    return_bar: list[float]
    inner: list[tuple[float, float, float]]
    lost: list[tuple[float, float, float]]
    total_m3h: float
    pump_dp_bar: float
    speed: float
    leak_header_m3h: float
    leak_cdu_m3h: float
    far_dp: float

    @property
    def leaked_m3h(self) -> float:
        """All that leaves the circuit through openings: the make-up flow that holds the static pressure."""
        return sum(map(sum, self.lost)) + self.leak_header_m3h + self.leak_cdu_m3h
