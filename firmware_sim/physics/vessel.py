"""Gas-charged vessels and trapped liquid: how pressure follows volume and temperature.

Gas is ideal and isothermal. Pressures named ``_abs`` are absolute; the rest is gauge.
"""

import math

from firmware_sim.physics import coolant, leak

ATMOSPHERE_BAR = 1.01325


def gas_pressure_bar_abs(pressure_bar_abs: float, gas_l: float, new_gas_l: float) -> float:
    """Pressure of a gas cushion after its volume changed: ``P·V = const``."""
    return pressure_bar_abs * gas_l / new_gas_l


def gas_volume_l(pressure_bar_abs: float, gas_l: float, new_pressure_bar_abs: float) -> float:
    """Volume of a gas cushion after its pressure changed."""
    return pressure_bar_abs * gas_l / new_pressure_bar_abs


def expansion_l(volume_l: float, from_c: float, to_c: float) -> float:
    """Volume that ``volume_l`` litres of PG25 gain when warmed: ``V·(ρ₁/ρ₂ − 1)``."""
    return volume_l * (coolant.density_kg_m3(from_c) / coolant.density_kg_m3(to_c) - 1.0)


def pressure_slope_bar_s(pressure_bar_abs: float, gas_l: float, outflow_lpm: float) -> float:
    """Rate of a cushion's pressure, bar/s, while ``outflow_lpm`` of liquid leaves: ``−P·q/V``."""
    return -pressure_bar_abs * outflow_lpm / 60.0 / gas_l


def decay_time_s(
    gas_l: float,
    from_bar_abs: float,
    to_bar_abs: float,
    hole_mm: float,
    density: float,
    cd: float,
    atmosphere_bar: float,
) -> float:
    """Time in which an isolated, filled branch with a gas cushion loses its pressure through a hole.

    Simpson's rule over ``dt = dV/q`` (64 panels: better than 1e-8 unless the end is near atmospheric pressure). Infinite when the
    end lies at or below it.
    """
    if to_bar_abs <= atmosphere_bar:
        return math.inf
    panels = 64
    first, last = gas_l, gas_volume_l(from_bar_abs, gas_l, to_bar_abs)
    width = (last - first) / panels
    total = 0.0
    for i in range(panels + 1):
        gauge = gas_pressure_bar_abs(from_bar_abs, gas_l, first + i * width) - atmosphere_bar
        weight = 1.0 if i in {0, panels} else 4.0 if i % 2 else 2.0
        total += weight / (leak.orifice_flow_lpm(hole_mm, gauge, density, cd) / 60.0)
    return total * width / 3.0


def trapped_pressure_bar(liquid_l: float, empty_l: float, compliance_l_per_bar: float, gas_bar_l: float) -> float:
    """Gauge pressure, bar, of liquid shut in an elastic space that also holds a little gas.

    liquid_l              liquid at its present temperature
    empty_l               the space's volume at atmospheric pressure
    compliance_l_per_bar  what hoses, plates and the liquid itself give way per bar
    gas_bar_l             the gas as P_abs·V, bar·L; more than zero

    Solves ``liquid + gas/P = empty + compliance·(P − P_atm)`` for the absolute pressure P: the larger root of a quadratic.
    """
    spare_l = empty_l - compliance_l_per_bar * ATMOSPHERE_BAR - liquid_l
    root = math.sqrt(spare_l * spare_l + 4.0 * compliance_l_per_bar * gas_bar_l)
    if spare_l >= 0.0:  # the form without cancellation
        return 2.0 * gas_bar_l / (root + spare_l) - ATMOSPHERE_BAR
    return (root - spare_l) / (2.0 * compliance_l_per_bar) - ATMOSPHERE_BAR


def trapped_liquid_l(gauge_bar: float, empty_l: float, compliance_l_per_bar: float, gas_bar_l: float) -> float:
    """Liquid that stands at ``gauge_bar`` in such a space; the inverse of `trapped_pressure_bar`."""
    return empty_l + compliance_l_per_bar * gauge_bar - gas_bar_l / (gauge_bar + ATMOSPHERE_BAR)
