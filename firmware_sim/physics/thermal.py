"""Heat: two nodes of a rack (solid with cold plates; coolant), outlet temperature, mixing, plugs, lags, dew point."""

import math
from collections import deque
from collections.abc import Sequence

from firmware_sim.physics import coolant


def two_node_rates(
    power_w: float,
    solid_j_k: float,
    coolant_j_k: float,
    ua_w_k: float,
    flow_w_k: float,
    solid_c: float,
    coolant_c: float,
    inlet_c: float,
) -> tuple[float, float]:
    """Rates of the two nodes in K/s: ``C₁·Ṫ₁ = P − UA·(T₁−T₂)``, ``C₂·Ṫ₂ = UA·(T₁−T₂) − W·(T₂−T_in)``."""
    exchanged_w = ua_w_k * (solid_c - coolant_c)
    return (power_w - exchanged_w) / solid_j_k, (exchanged_w - flow_w_k * (coolant_c - inlet_c)) / coolant_j_k


def two_node_eigenvalues(solid_j_k: float, coolant_j_k: float, ua_w_k: float, flow_w_k: float) -> tuple[float, float]:
    """The slow and the fast rate of decay, 1/s, both ≤ 0. Without flow the slow one is 0."""
    a, b, g = ua_w_k / solid_j_k, ua_w_k / coolant_j_k, flow_w_k / coolant_j_k
    trace = a + b + g
    fast = -0.5 * (trace + math.sqrt((a - b - g) ** 2 + 4.0 * a * b))
    return (a * g / fast if fast < 0.0 else 0.0), fast


STILL_PER_S = 1e-15
"""A rate so slow is none: dividing by it loses every digit."""


def two_node_step(
    power_w: float,
    solid_j_k: float,
    coolant_j_k: float,
    ua_w_k: float,
    flow_w_k: float,
    solid_c: float,
    coolant_c: float,
    inlet_c: float,
    dt_s: float,
) -> tuple[float, float]:
    """Temperatures of solid and coolant after ``dt_s`` of constant power, flow and inlet temperature, °C.

    Exact for any ``dt_s`` (matrix exponential by Cayley-Hamilton), so the step size never shows.
    """
    rate_1, rate_2 = two_node_rates(power_w, solid_j_k, coolant_j_k, ua_w_k, flow_w_k, solid_c, coolant_c, inlet_c)
    slow, fast = two_node_eigenvalues(solid_j_k, coolant_j_k, ua_w_k, flow_w_k)
    f_slow = math.expm1(slow * dt_s) / slow if slow < -STILL_PER_S else dt_s
    f_fast = math.expm1(fast * dt_s) / fast if fast < -STILL_PER_S else dt_s
    beta = (f_slow - f_fast) / (slow - fast) if slow - fast > STILL_PER_S else 0.0
    alpha = f_slow - beta * slow
    # beta multiplies the matrix times the rates: the rates of the rates, with nothing driving them.
    exchanged = ua_w_k * (rate_1 - rate_2)
    return (
        solid_c + alpha * rate_1 - beta * exchanged / solid_j_k,
        coolant_c + alpha * rate_2 + beta * (exchanged - flow_w_k * rate_2) / coolant_j_k,
    )


def steady_temperatures_c(power_w: float, ua_w_k: float, flow_w_k: float, inlet_c: float) -> tuple[float, float]:
    """Steady solid and coolant temperature with flow, °C."""
    coolant_c = inlet_c + power_w / flow_w_k
    return coolant_c + power_w / ua_w_k, coolant_c


def stagnant_slope_k_s(power_w: float, solid_j_k: float, coolant_j_k: float) -> float:
    """Rate at which both nodes end up rising without flow, K/s."""
    return power_w / (solid_j_k + coolant_j_k)


def conductance_w_k(design_w_k: float, flow_ratio: float, exponent: float, least_ratio: float) -> float:
    """UA of the cold plates at a share of their design flow: ``UA·ratio^exponent``, no lower than at ``least_ratio``."""
    return design_w_k * math.pow(max(flow_ratio, least_ratio), exponent)


def outlet_c(power_w: float, flow_lpm: float, inlet_c: float) -> float:
    """Outlet temperature of a flow metered at the inlet, cp taken at the mean temperature, °C."""
    out_c = inlet_c
    for _ in range(6):  # contracts by about 3e-3 a round
        out_c = inlet_c + power_w / coolant.capacity_rate_w_k(flow_lpm, inlet_c, 0.5 * (inlet_c + out_c))
    return out_c


def mixed_c(flows_and_temperatures: Sequence[tuple[float, float]], default_c: float) -> float:
    """Temperature of mixed streams ``(mass or volume flow, °C)``, weighted by flow; ``default_c`` when nothing flows."""
    total = weighted = 0.0
    for flow, t_c in flows_and_temperatures:
        if flow > 0.0:
            total += flow
            weighted += flow * t_c
    return weighted / total if total > 0.0 else default_c


def lag(value: float, target: float, dt_s: float, tau_s: float) -> float:
    """First-order lag, exact for a constant target."""
    return target + (value - target) * math.exp(-dt_s / tau_s) if tau_s > 0.0 else target


def dew_point_c(air_c: float, humidity_pct: float) -> float:
    """Dew point of room air (Magnus, WMO coefficients), °C."""
    gamma = math.log(max(humidity_pct, 0.1) / 100.0) + 17.62 * air_c / (243.12 + air_c)
    return 243.12 * gamma / (17.62 - gamma)


class Plug:
    """A pipe without mixing: what enters leaves unchanged after one volume has passed."""

    __slots__ = ("_parcels", "_volume_l", "out_c")

    def __init__(self, volume_l: float, t_c: float) -> None:
        self._volume_l = volume_l
        self._parcels: deque[list[float]] = deque([[volume_l, t_c]])
        self.out_c = t_c

    def push(self, litres: float, t_c: float) -> float:
        """Let ``litres`` enter at ``t_c``; return the mean temperature of what left (what waits at the end, without flow)."""
        if litres <= 0.0:
            return self.out_c
        parcels = self._parcels
        if litres >= self._volume_l:
            parcels.clear()
            parcels.append([self._volume_l, t_c])
            self.out_c = t_c
            return t_c
        newest = parcels[0]
        if abs(newest[1] - t_c) < 0.002 and newest[0] < 0.05 * self._volume_l:
            newest[1] += (t_c - newest[1]) * litres / (newest[0] + litres)
            newest[0] += litres
        else:
            parcels.appendleft([litres, t_c])
        left, heat = litres, 0.0
        while True:
            oldest = parcels[-1]
            if oldest[0] > left:
                oldest[0] -= left
                heat += left * oldest[1]
                break
            heat += oldest[0] * oldest[1]
            left -= oldest[0]
            parcels.pop()
            if left <= 1e-12 or not parcels:
                break
        self.out_c = heat / litres
        return self.out_c
