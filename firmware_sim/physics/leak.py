"""Holes: how much leaves through one, and what an opening to the air is worth as a discharge coefficient."""

import math

CD_SHARP_HOLE = 0.62
"""Discharge coefficient of a sharp-edged hole."""


def orifice_flow_lpm(hole_mm: float, gauge_bar: float, density_kg_m3: float, cd: float = CD_SHARP_HOLE) -> float:
    """Leak through a sharp hole to the air, L/min: ``Cd·A·√(2p/ρ)``; nothing below atmospheric pressure."""
    if gauge_bar <= 0.0 or hole_mm <= 0.0:
        return 0.0
    area_m2 = math.pi * (hole_mm * 1e-3) ** 2 / 4.0
    return cd * area_m2 * math.sqrt(2.0 * gauge_bar * 1e5 / density_kg_m3) * 60_000.0


def discharge_m3h_per_root_bar(hole_mm: float, density_kg_m3: float, cd: float = CD_SHARP_HOLE) -> float:
    """The same hole as a coefficient k of ``Q[m³/h] = k·√p[bar]``, as the network takes its openings."""
    return orifice_flow_lpm(hole_mm, 1.0, density_kg_m3, cd) * 0.06
