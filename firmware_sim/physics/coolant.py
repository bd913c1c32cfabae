"""What the coolant is: PG25 (25 % propylene glycol by volume, inhibited) from 15 to 65 °C, and facility water.

The PG25 polynomials are fits to CoolProp's ``INCOMP::APG[0.25]`` (ASHRAE data); the water one is a fit to steam tables, good to 1e-4.
Temperatures are in °C everywhere; outside 15..65 °C the polynomials are extrapolated, which is good to 1 % from 5 to 85 °C.
"""

import math


def density_kg_m3(t_c: float) -> float:
    """Density of PG25 in kg/m³."""
    return 1031.24 - 0.317671 * t_c - 0.00253732 * t_c * t_c


def heat_capacity_j_kgk(t_c: float) -> float:
    """Specific heat of PG25 in J/(kg·K)."""
    return 3863.52 + 2.4676 * t_c + 7.239e-6 * t_c * t_c


def viscosity_mpas(t_c: float) -> float:
    """Dynamic viscosity of PG25 in mPa·s."""
    return math.exp(1.68982 - 0.045099 * t_c + 3.07117e-4 * t_c**2 - 1.00182e-6 * t_c**3)


def volumetric_heat_mj_m3k(t_c: float) -> float:
    """Heat held by a cubic metre of PG25 per kelvin, MJ/(m³·K)."""
    return density_kg_m3(t_c) * heat_capacity_j_kgk(t_c) * 1e-6


def flow_per_kw_lpm(t_c: float, rise_k: float) -> float:
    """Flow that carries one kilowatt with a rise of ``rise_k`` kelvin, L/min per kW."""
    return 60.0 / (volumetric_heat_mj_m3k(t_c) * rise_k)


def expansion_per_k(t_c: float) -> float:
    """Volumetric expansion coefficient of PG25, 1/K."""
    return (0.317671 + 2.0 * 0.00253732 * t_c) / density_kg_m3(t_c)


def water_volumetric_heat_mj_m3k(t_c: float) -> float:
    """Heat held by a cubic metre of facility water per kelvin, MJ/(m³·K), 5..60 °C."""
    return 4.215997 - 2.38879e-3 * t_c + 2.622526e-5 * t_c * t_c - 2.426501e-7 * t_c**3


def capacity_rate_w_k(flow_lpm: float, t_in_c: float, t_mean_c: float) -> float:
    """Heat carried per kelvin, W/K, by ``flow_lpm`` L/min metered at ``t_in_c`` and warmed to a mean of ``t_mean_c``."""
    return flow_lpm / 60_000.0 * density_kg_m3(t_in_c) * heat_capacity_j_kgk(t_mean_c)
