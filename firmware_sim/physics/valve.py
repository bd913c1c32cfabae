"""Valves: how much conductance a position gives, and what that does to the flow of a branch.

Kv is in m³/h at 1 bar with water; positions are 0 (shut) to 1 (open). Conductances in series add as 1/Kv².
"""

import math

LOW_END = 0.05
"""Below this position the equal-percentage law gives way to a line through zero."""


def equal_percentage_kv(position: float, kvs: float, rangeability: float) -> float:
    """Kv of an equal-percentage valve: ``Kvs·R^(x−1)``, below 5 % travel linear to zero."""
    if position <= 0.0:
        return 0.0
    if position < LOW_END:
        return kvs * math.pow(rangeability, LOW_END - 1.0) * position / LOW_END
    return kvs * math.pow(rangeability, min(position, 1.0) - 1.0)


def equal_percentage_position(kv: float, kvs: float, rangeability: float) -> float:
    """Position that gives ``kv``; the inverse of `equal_percentage_kv`, 0 and 1 at its ends."""
    if kv <= 0.0:
        return 0.0
    low_kv = equal_percentage_kv(LOW_END, kvs, rangeability)
    if kv < low_kv:
        return LOW_END * kv / low_kv
    return min(1.0, 1.0 + math.log(kv / kvs) / math.log(rangeability))


def linear_kv(position: float, kvs: float) -> float:
    """Kv of a linear valve: ``Kvs·x``."""
    return kvs * min(max(position, 0.0), 1.0)


def series_kv(*kvs: float) -> float:
    """Kv of several resistances in a row; 0 as soon as one is 0, infinite resistances count as none (``inf``)."""
    total = 0.0
    for kv in kvs:
        if kv <= 0.0:
            return 0.0
        total += 1.0 / (kv * kv)
    return 1.0 / math.sqrt(total) if total > 0.0 else math.inf


def installed_flow_ratio(kv: float, kvs: float, authority: float) -> float:
    """Flow relative to the open valve at a constant total pressure difference.

    authority   the open valve's share N of that difference, 0..1
    """
    if kv <= 0.0:
        return 0.0
    return 1.0 / math.sqrt(1.0 + authority * ((kvs / kv) ** 2 - 1.0))


def pressure_drop_bar(flow_m3h: float, kv: float, sg: float) -> float:
    """Pressure lost over ``kv``, bar, with the sign of the flow: ``SG·(Q/Kv)²``."""
    return sg * flow_m3h * abs(flow_m3h) / (kv * kv)


def flow_m3h(dp_bar: float, kv: float, sg: float) -> float:
    """Flow through ``kv``, m³/h, with the sign of the pressure difference."""
    return math.copysign(kv * math.sqrt(abs(dp_bar) / sg), dp_bar)


def kv_for_flow(flow: float, dp_bar: float, sg: float) -> float:
    """Kv that passes ``flow`` m³/h at ``dp_bar``; 0 without flow, infinite without a pressure difference."""
    if flow <= 0.0:
        return 0.0
    return flow * math.sqrt(sg / dp_bar) if dp_bar > 0.0 else math.inf


def controlled_flow_m3h(
    flow_set_m3h: float, header_dp_bar: float, kvs: float, kv_rest: float, sg: float
) -> tuple[float, float]:
    """Flow of a branch whose valve holds a flow set-point, and the Kv the valve takes: ``(m³/h, m³/h)``.

    kvs       the valve wide open; below the pressure difference it then needs, it stands open and the flow falls
    kv_rest   the rest of the branch in series with it
    """
    left_bar = header_dp_bar - pressure_drop_bar(flow_set_m3h, kv_rest, sg)
    kv = kv_for_flow(flow_set_m3h, left_bar, sg)
    if kv <= kvs:
        return flow_set_m3h, kv
    return flow_m3h(max(header_dp_bar, 0.0), series_kv(kvs, kv_rest), sg), kvs
