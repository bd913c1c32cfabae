"""A plant sized by rule from the number of racks, as the demo and most tests use it."""

import math
from collections.abc import Sequence
from itertools import pairwise

from firmware_sim.physics import coolant, valve
from firmware_sim.plant_config import CduConfig, CduMode, PlantConfig, RackConfig

LPM_PER_KW = 1.49
"""Design flow for a rise of 10 K at 40 °C."""

HEADER_DP_BAR = 2.0
CDU_DROP_BAR = 0.5
DESIGN_SPEED = 0.85
LEAST_SEGMENT_KV = 300.0
SEGMENT_KV_PER_M3H = 8.0
"""A header segment's Kv for each m³/h of design flow: it then loses 0.016 bar at full flow, as a main pipe at 1.5 m/s does."""

# Kv by rating; between the rows in a straight line, as a maker's list would step.
# fmt: off
SIZES: tuple[tuple[float, float, float], ...] = (
    # kW   kv_rack  fcv_kvs
    (120.0, 12.0,   30.4),
    (132.0, 12.5,   30.4),
    (190.0, 17.0,   50.0),
    (230.0, 20.0,   50.0),
)
# fmt: on


def rack_config(name: str, rated_kw: float, load_kw: float | None = None) -> RackConfig:
    """A rack sized for ``rated_kw``, loaded with that unless told otherwise."""
    kv_rack, fcv_kvs = SIZES[0][1], SIZES[0][2]
    for (kw_a, kv_a, _), (kw_b, kv_b, kvs_b) in pairwise(SIZES):
        if rated_kw > kw_a:
            kv_rack, fcv_kvs = kv_a + (kv_b - kv_a) * min(1.0, (rated_kw - kw_a) / (kw_b - kw_a)), kvs_b
    return RackConfig(
        name=name,
        rated_kw=rated_kw,
        load_kw=rated_kw if load_kw is None else load_kw,
        design_flow_lpm=LPM_PER_KW * rated_kw,
        kv_rack=kv_rack,
        fcv_kvs=fcv_kvs,
        ua_kw_k=rated_kw * 0.05,  # 6.6 kW/K at 132 kW: solids stand 20 K above the coolant at any rating
    )


def cdu_config(racks: Sequence[RackConfig], mode: CduMode, kv_segment: float | None = None) -> CduConfig:
    """A CDU whose two pumps give ``racks`` their design flow at 85 % speed, the farthest at a header dP of 2 bar.

    kv_segment   header between two racks; None: sized for the design flow, at least 300
    """
    sg = coolant.density_kg_m3(40.0) / 1000.0
    if kv_segment is None:
        kv_segment = max(LEAST_SEGMENT_KV, SEGMENT_KV_PER_M3H * 0.06 * sum(rack.design_flow_lpm for rack in racks))
    beyond, dp_bar = 0.0, HEADER_DP_BAR
    for rack in reversed(racks):
        beyond += rack.design_flow_lpm * 0.06
        dp_bar += 2.0 * valve.pressure_drop_bar(beyond, kv_segment, sg)
    head_bar = dp_bar + CDU_DROP_BAR
    dp0_bar = head_bar * 1.25 / DESIGN_SPEED**2
    return CduConfig(
        pumps=2,
        pump_dp0_bar=dp0_bar,
        pump_a=head_bar * 0.25 * 4.0 / beyond**2,
        kv_cdu=beyond * math.sqrt(sg / CDU_DROP_BAR),
        mode=mode,
        dp_setpoint_kpa=HEADER_DP_BAR * 100.0,
        flow_setpoint_lpm=sum(rack.design_flow_lpm for rack in racks),
        speed_setpoint_pct=DESIGN_SPEED * 100.0,
        ua_kw_k=0.16 * beyond / 0.06,
        facility_max_lpm=1.1 * beyond / 0.06,
        kv_segment=kv_segment,
        dp_node=len(racks),
        reservoir_l=200.0,
    )


def demo_config(
    n_racks: int = 4, mode: CduMode | str = CduMode.CONSTANT_DP, kv_segment: float | None = None
) -> PlantConfig:
    """Racks r01, r02, … rated and loaded from 132 to 230 kW in even steps, on one CDU.

    With the header sized for its flow (``kv_segment`` None: 518 for four racks) and dP measured at the last rack, isolating any one
    rack moves no neighbour's settled flow by more than 1 % in constant dP. Narrower headers, or dP held at the CDU, couple racks: 1.8 %
    at Kv 300; 3..14 % between four racks of 132 kW at Kv 100..60 with dP held at the CDU.
    """
    if not 1 <= n_racks <= 64:
        raise ValueError(f"{n_racks} racks on one CDU: allowed are 1 to 64")
    ratings = [132.0 + 98.0 * i / max(1, n_racks - 1) for i in range(n_racks)]
    racks = tuple(rack_config(f"r{i + 1:02d}", round(kw)) for i, kw in enumerate(ratings))
    return PlantConfig(cdu=cdu_config(racks, CduMode(mode), kv_segment), racks=racks)
