"""Centrifugal pumps: quadratic curve, affinity laws, a bank of equal pumps behind check valves, drives that ramp.

One pump gives ``dp = s²·dp0 − a·Q²`` (bar, m³/h, speed s = 0..1 of the speed whose curve is given).
"""

import math
from collections.abc import Sequence

M3H_BAR_TO_KW = 1.0 / 36.0
"""1 m³/h lifted by 1 bar is 1/36 kW."""


def pump_dp_bar(flow_m3h: float, speed: float, dp0_bar: float, a: float, count: int = 1) -> float:
    """Pressure rise of ``count`` equal pumps in parallel at one speed; negative where the flow is forced through them."""
    return speed * speed * dp0_bar - a * flow_m3h * flow_m3h / (count * count)


def bank_dp_bar(flow_m3h: float, speeds: Sequence[float], dp0_bar: float, a: float) -> float:
    """Pressure rise of pumps in parallel, each at its own speed and behind its own check valve.

    A pump too slow for the common pressure is shut off by its check valve. With every pump at rest the flow is dragged through all
    of them. Never rises with the flow.
    """
    top = max(speeds)
    running = [s for s in speeds if s > 0.0] or list(speeds)
    if min(running) == top:
        return pump_dp_bar(flow_m3h, top, dp0_bar, a, len(running))
    high = pump_dp_bar(0.0, top, dp0_bar, a)
    low = pump_dp_bar(flow_m3h, min(speeds), dp0_bar, a, 1)
    for _ in range(60):
        middle = 0.5 * (high + low)
        given = sum(math.sqrt(max(0.0, pump_dp_bar(0.0, s, dp0_bar, a) - middle) / a) for s in speeds)
        high, low = (high, middle) if given > flow_m3h else (middle, low)
    return 0.5 * (high + low)


def speed_for_head(head_bar: float, flow_m3h: float, dp0_bar: float, a: float, count: int = 1) -> float:
    """Speed at which ``count`` equal pumps give ``head_bar`` at ``flow_m3h``."""
    return math.sqrt(max(0.0, head_bar + a * flow_m3h * flow_m3h / (count * count)) / dp0_bar)


def operating_flow_m3h(speed: float, dp0_bar: float, a: float, system_r: float, count: int = 1) -> float:
    """Flow, m³/h, of ``count`` equal pumps on a system that loses ``system_r·Q²`` bar."""
    return speed * math.sqrt(dp0_bar / (system_r + a / (count * count)))


def hydraulic_power_kw(flow_m3h: float, dp_bar: float) -> float:
    """Power given to the liquid, kW."""
    return flow_m3h * dp_bar * M3H_BAR_TO_KW


def shaft_power_kw(flow_m3h: float, dp_bar: float, efficiency: float) -> float:
    """Power at the shaft, kW."""
    return hydraulic_power_kw(flow_m3h, dp_bar) / efficiency


def ramp_speed(speed: float, target: float, dt_s: float, ramp_s: float, coast_s: float, driven: bool) -> float:
    """Speed after ``dt_s``: a drive moves at most 1/``ramp_s`` per second; undriven, the pump coasts down.

    coast_s   time in which a pump without power loses its speed: friction and the liquid brake it, to 5 % in ``coast_s``
    """
    if driven:
        step = dt_s / ramp_s
        return min(max(target, speed - step), speed + step)
    slower = speed * math.exp(-3.0 * dt_s / coast_s)
    return slower if slower > 0.01 else 0.0
