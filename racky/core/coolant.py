"""PG25 as heat balance and hydraulics need it: density, and the heat that a flow carries.

Fits to CoolProp's ``INCOMP::APG[0.25]``, 15..65 °C.
"""


def density_kg_m3(t_c: float) -> float:
    """Density in kg/m³."""
    return 1031.24 - 0.317671 * t_c - 0.00253732 * t_c * t_c


def heat_kw(flow_lpm: float, inlet_c: float, outlet_c: float) -> float:
    """Heat that ``flow_lpm``, metered at ``inlet_c``, carries from inlet to outlet, kW."""
    mean_c = 0.5 * (inlet_c + outlet_c)
    cp_j_kgk = 3863.52 + 2.4676 * mean_c + 7.239e-6 * mean_c * mean_c
    return flow_lpm / 6.0e7 * density_kg_m3(inlet_c) * cp_j_kgk * (outlet_c - inlet_c)
