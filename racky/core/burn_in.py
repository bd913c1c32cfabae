"""What the thermal and hydraulic gates measure, out of windows: the rack wide open, at nominal flow, and under load.

Each measure is one number with a name; limits are the gates' (``configs/lifecycle``). What they can and cannot tell apart
stands in docs/decisions.
"""

from fieldkit.coolant import density_kg_m3, heat_kw
from racky.core.gates import Measured
from racky.core.shown import ALARMS, LATCHES, LOAD, NOMINAL, NOTHING, RETURNS, WIDE, Measure, Shown, level, lost
from racky.core.supplies import shelves_apart_pct, supply_faults, weakest

HEADERS = ("PT-201", "PT-202", "FT-201")
"""Read from the rack's Valvey where it has them, else from the coordinator."""
GUARDED = ("FT-101", "FT-102", "TT-101", *RETURNS, "PT-101", "PT-102", "ZT-101", "ET-101", "JT-101")
M3H = 0.06
"""m³/h in a L/min."""


def inlet_resistance_pct(shown: Shown) -> Measured:
    """Resistance of strainer, XV-101 and FCV-101 where it stands, as a share of what their sheets say."""
    design, gravity = shown.design, shown.specific_gravity(WIDE)
    header, own, zt = shown.level(WIDE, "PT-201"), shown.level(WIDE, "PT-101"), shown.level(WIDE, "ZT-101")
    flow, loop = shown.level(WIDE, "FT-101"), shown.level(WIDE, "FT-201") if design.header_kpa else 0.0
    if gravity is None or header is None or own is None or zt is None or flow is None or loop is None:
        return lost(WIDE, TT_101=gravity, PT_201=header, PT_101=own, ZT_101=zt, FT_101=flow, FT_201=loop)
    if flow <= 0.0:
        return Measured(None, f"FT-101 shows {flow:.1f} L/min")
    lost_kpa = header - design.header_kpa * (loop / design.header_lpm) ** 2 - own
    fcv_kv = design.fcv_kvs * design.fcv_rangeability ** (min(zt, 100.0) / 100.0 - 1.0)
    expected = 1.0 / fcv_kv**2 + 1.0 / design.xv_kvs**2
    found = lost_kpa / 100.0 / gravity / (flow * M3H) ** 2
    return Measured(100.0 * found / expected, f"{lost_kpa:.1f} kPa at {flow:.1f} L/min, FCV-101 at {zt:.1f} %")


def rack_kv_pct(shown: Shown) -> Measured:
    """Conductance from inlet to outlet manifold, as a share of the design's."""
    flow, gravity = shown.level(WIDE, "FT-101"), shown.specific_gravity(WIDE)
    supply, ret = shown.level(WIDE, "PT-101"), shown.level(WIDE, "PT-102")
    if flow is None or gravity is None or supply is None or ret is None:
        return lost(WIDE, FT_101=flow, TT_101=gravity, PT_101=supply, PT_102=ret)
    if supply <= ret:
        return Measured(0.0, f"PT-101 shows {supply:.1f} kPa, PT-102 {ret:.1f} kPa: are they swapped?")
    kv = flow * M3H * (gravity / ((supply - ret) / 100.0)) ** 0.5
    return Measured(100.0 * kv / shown.design.kv_rack, f"Kv {kv:.2f} by {supply - ret:.1f} kPa at {flow:.1f} L/min")


def _meters_apart(window: str) -> Measure:
    def meters_apart_pct(shown: Shown) -> Measured:
        """FT-101 less FT-102, both as mass, in % of their mean."""
        supply, ret = shown.level(window, "FT-101"), shown.level(window, "FT-102")
        inlet, outlet = shown.level(window, "TT-101"), shown.return_c(window)
        if supply is None or ret is None or inlet is None or outlet is None:
            return lost(window, FT_101=supply, FT_102=ret, TT_101=inlet, TT_102=outlet)
        back = ret * density_kg_m3(outlet) / density_kg_m3(inlet)
        if supply + back <= 0.0:
            return Measured(None, "nothing flows")
        return Measured(200.0 * (supply - back) / (supply + back), f"{supply:.1f} against {back:.1f} L/min")

    return meters_apart_pct


def flow_nominal_pct(shown: Shown) -> Measured:
    flow, wanted = shown.level(NOMINAL, "FT-101"), shown.design.flow_nominal_lpm
    return NOTHING if flow is None else Measured(100.0 * flow / wanted, f"{flow:.1f} of {wanted:.1f} L/min")


def load_pct(shown: Shown) -> Measured:
    load, rating = shown.level(LOAD, "ET-101"), shown.design.rating_kw
    return NOTHING if load is None else Measured(100.0 * load / rating, f"{load:.1f} of {rating:.1f} kW")


def delta_k(shown: Shown) -> Measured:
    """Return less supply temperature."""
    inlet, outlet = shown.level(LOAD, "TT-101"), shown.return_c(LOAD)
    if inlet is None or outlet is None:
        return lost(LOAD, TT_101=inlet, TT_102=outlet)
    swapped = ": are the sensors swapped?" if outlet < inlet else ""
    return Measured(outlet - inlet, f"supply {inlet:.2f} °C, return {outlet:.2f} °C{swapped}")


def returns_apart_k(shown: Shown) -> Measured:
    known = {tag: shown.level(LOAD, tag) for tag in RETURNS}
    levels = [level for level in known.values() if level is not None]
    if len(levels) < len(RETURNS):
        return Measured(None, f"only {len(levels)} of {len(RETURNS)} return temperatures have a level")
    return Measured(max(levels) - min(levels), ", ".join(f"{tag} {level:.2f}" for tag, level in known.items()))


def return_c(shown: Shown) -> Measured:
    """The hottest single sample of the hottest sensor."""
    one = shown.windows.get(LOAD)
    known = [] if one is None else [most for tag in RETURNS if (most := one.highest(tag)) is not None]
    return Measured(max(known)) if known else NOTHING


def supply_spread_k(shown: Shown) -> Measured:
    one = shown.windows.get(LOAD)
    return NOTHING if one is None else Measured(one.spread("TT-101"))


def heat_balance_pct(shown: Shown) -> Measured:
    """Heat that the coolant carries off, as a share of what the load puts into it."""
    flow, load = shown.level(LOAD, "FT-101"), shown.level(LOAD, "ET-101")
    inlet, outlet = shown.level(LOAD, "TT-101"), shown.return_c(LOAD)
    if flow is None or load is None or inlet is None or outlet is None:
        return lost(LOAD, FT_101=flow, ET_101=load, TT_101=inlet, TT_102=outlet)
    into_kw = load * shown.design.liquid_fraction
    if into_kw <= 0.0:
        return Measured(None, "there is no load")
    carried = heat_kw(flow, inlet, outlet)
    return Measured(100.0 * carried / into_kw, f"{carried:.1f} kW carried, {into_kw:.1f} kW put in")


def pressure_drop_kpa(shown: Shown) -> Measured:
    """PT-101 less PT-102 under load, taken to nominal flow."""
    flow, supply, ret = (shown.level(LOAD, tag) for tag in ("FT-101", "PT-101", "PT-102"))
    if flow is None or supply is None or ret is None or flow <= 0.0:
        return lost(LOAD, FT_101=flow, PT_101=supply, PT_102=ret)
    drop = supply - ret
    return Measured(drop * (shown.design.flow_nominal_lpm / flow) ** 2, f"{drop:.1f} kPa at {flow:.1f} L/min")


def feeder_pct(shown: Shown) -> Measured:
    """Power behind the shelves as a share of the feeder's."""
    before, behind = shown.level(LOAD, "JT-101"), shown.level(LOAD, "ET-101")
    if before is None or behind is None or before <= 0.0:
        return lost(LOAD, JT_101=before, ET_101=behind)
    return Measured(100.0 * behind / before, f"{behind:.1f} of {before:.1f} kW")


def leaks(shown: Shown) -> Measured:
    """Detectors that were wet or contaminated in any sample of any window; one that cannot be believed measures nothing."""
    wet: set[str] = set()
    for name, one in shown.windows.items():
        for tag in shown.design.detectors:
            most = one.highest(tag)
            if most is None:
                return Measured(None, f"{tag} had no level in the {name} window")
            if most >= 0.5:
                wet.add(tag)
    return Measured(float(len(wet)), ", ".join(sorted(wet))) if shown.windows else NOTHING


def _most(pseudo: str) -> Measure:
    def measure(shown: Shown) -> Measured:
        """The most that stood at once in any window; every window must have seen."""
        most = [one.highest(pseudo) for one in shown.windows.values()]
        known = [one for one in most if one is not None]
        return Measured(max(known)) if known and len(known) == len(most) else NOTHING

    return measure


def readings_pct(shown: Shown) -> Measured:
    """Share of good samples in the worst window."""
    return Measured(100.0 * min(one.good_share for one in shown.windows.values())) if shown.windows else NOTHING


# fmt: off
MEASURES: dict[str, Measure] = {
    "inlet_resistance_pct":   inlet_resistance_pct,
    "fcv_reach_pct":          level(WIDE, "ZT-101"),
    "flow_wide_lpm":          level(WIDE, "FT-101"),
    "rack_kv_pct":            rack_kv_pct,
    "meters_apart_wide_pct":  _meters_apart(WIDE),
    "flow_nominal_pct":       flow_nominal_pct,
    "fcv_nominal_pct":        level(NOMINAL, "ZT-101"),
    "load_pct":               load_pct,
    "delta_k":                delta_k,
    "returns_apart_k":        returns_apart_k,
    "return_c":               return_c,
    "supply_c":               level(LOAD, "TT-101"),
    "supply_spread_k":        supply_spread_k,
    "heat_balance_pct":       heat_balance_pct,
    "meters_apart_load_pct":  _meters_apart(LOAD),
    "pressure_drop_kpa":      pressure_drop_kpa,
    "feeder_pct":             feeder_pct,
    "leaks":                  leaks,
    "latches":                _most(LATCHES),
    "alarms":                 _most(ALARMS),
    "readings_pct":           readings_pct,
    "supply_faults":          supply_faults,
    "fan_pct":                weakest("ST"),
    "supply_share_pct":       weakest("JT"),
    "shelves_apart_pct":      shelves_apart_pct,
}
# fmt: on
