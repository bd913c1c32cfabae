"""PG25 (25 % propylene glycol in water): density, the heat that a flow carries, and the dew point of the air around it.

Fits to CoolProp's ``INCOMP::APG[0.25]``, 15..65 °C. Only arithmetic, so arrays of temperatures go through as well as one.
"""

from math import log


def density_kg_m3(t_c: float) -> float:
    """Density of PG25 in kg/m³."""
    return 1031.24 - 0.317671 * t_c - 0.00253732 * t_c * t_c


def heat_kw(flow_lpm: float, inlet_c: float, outlet_c: float) -> float:
    """Heat that ``flow_lpm``, metered at ``inlet_c``, carries from inlet to outlet, kW."""
    mean_c = 0.5 * (inlet_c + outlet_c)
    cp_j_kgk = 3863.52 + 2.4676 * mean_c + 7.239e-6 * mean_c * mean_c
    return flow_lpm / 6.0e7 * density_kg_m3(inlet_c) * cp_j_kgk * (outlet_c - inlet_c)


def dew_point_c(air_c: float, humidity_pct: float) -> float:
    """Dew point of room air by Magnus with the coefficients of the WMO, °C. Humidity is taken as 0.1 % at least."""
    gamma = log(max(humidity_pct, 0.1) / 100.0) + 17.62 * air_c / (243.12 + air_c)
    return 243.12 * gamma / (17.62 - gamma)
