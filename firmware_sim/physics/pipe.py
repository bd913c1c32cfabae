"""Pipes: volume, velocity, plug flow, water hammer, inertia, draining by gravity.

Water hammer and inertia pass within about a second and are not part of the quasi-steady plant; they stand here for sizing (valve
strokes, start-up), as do the closed forms of transit and draining, against which the stepped plant is tested.
"""

import math

GRAVITY_M_S2 = 9.80665
LPM_TO_M3S = 1.0 / 60_000.0
M3H_TO_LPM = 1000.0 / 60.0


def pipe_area_m2(inner_m: float) -> float:
    """Cross-section of a round pipe."""
    return math.pi * inner_m * inner_m / 4.0


def pipe_volume_l(inner_m: float, length_m: float) -> float:
    """Liquid in a pipe, litres."""
    return pipe_area_m2(inner_m) * length_m * 1000.0


def velocity_m_s(flow_lpm: float, inner_m: float) -> float:
    """Mean velocity in a pipe."""
    return flow_lpm * LPM_TO_M3S / pipe_area_m2(inner_m)


def transit_s(volume_l: float, flow_lpm: float) -> float:
    """Time a plug takes through ``volume_l`` litres; infinite without flow."""
    return volume_l / flow_lpm * 60.0 if flow_lpm > 0.0 else math.inf


def wave_speed_m_s(bulk_modulus_pa: float, density: float, inner_m: float, wall_m: float, youngs_pa: float) -> float:
    """Speed of a pressure wave in an elastic pipe (Korteweg)."""
    return math.sqrt(bulk_modulus_pa / density) / math.sqrt(1.0 + bulk_modulus_pa * inner_m / (youngs_pa * wall_m))


def joukowsky_bar(density: float, wave_m_s: float, velocity: float) -> float:
    """Surge of a sudden stop, bar: ``ρ·a·v``."""
    return density * wave_m_s * velocity * 1e-5


def critical_time_s(length_m: float, wave_m_s: float) -> float:
    """Time of the wave there and back; a faster closure is sudden."""
    return 2.0 * length_m / wave_m_s


def closure_surge_bar(density: float, wave_m_s: float, velocity: float, length_m: float, closure_s: float) -> float:
    """Surge of a closure that slows the liquid linearly in ``closure_s``, bar, frictionless."""
    if closure_s <= critical_time_s(length_m, wave_m_s):
        return joukowsky_bar(density, wave_m_s, velocity)
    return 2.0 * density * length_m * velocity / closure_s * 1e-5


def closure_time_s(density: float, velocity: float, length_m: float, surge_bar: float) -> float:
    """Closure time that keeps the surge at ``surge_bar``, by the slow-closure law."""
    return 2.0 * density * length_m * velocity / (surge_bar * 1e5)


def inertance_bar_s_per_m3h(density: float, length_m: float, inner_m: float) -> float:
    """Pressure, bar, that speeds the liquid of a pipe up by 1 m³/h each second: ``ρL/A``."""
    return density * length_m / pipe_area_m2(inner_m) / 3600.0 * 1e-5


def start_time_constant_s(inertance: float, steady_m3h: float, dp0_bar: float) -> float:
    """Time constant of the flow's build-up after a sudden pump start."""
    return inertance * steady_m3h / dp0_bar


def starting_flow_m3h(t_s: float, steady_m3h: float, tau_s: float) -> float:
    """Flow ``t_s`` after the start."""
    return steady_m3h * math.tanh(t_s / tau_s)


def coasting_flow_m3h(t_s: float, initial_m3h: float, system_r: float, inertance: float) -> float:
    """Flow ``t_s`` after the pump's pressure vanished, braked by ``system_r·Q²`` bar alone."""
    return initial_m3h / (1.0 + system_r * initial_m3h * t_s / inertance)


def gravity_flow_m3h(kv: float, density: float, height_m: float, gauge_bar: float = 0.0) -> float:
    """Flow out of a drain of ``kv`` under ``height_m`` of liquid and ``gauge_bar`` above it; never inwards."""
    driving_bar = gauge_bar + density * GRAVITY_M_S2 * height_m * 1e-5
    return kv * math.sqrt(driving_bar / (density / 1000.0)) if driving_bar > 0.0 else 0.0


def drain_time_s(area_m2: float, kv: float, density: float, from_m: float, to_m: float) -> float:
    """Time in which a vented vessel of uniform cross-section falls from one level to another (Torricelli)."""
    k = gravity_flow_m3h(kv, density, from_m) / 3600.0 / math.sqrt(from_m)
    return 2.0 * area_m2 / k * (math.sqrt(from_m) - math.sqrt(to_m))
