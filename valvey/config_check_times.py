"""What the numbers of a rack's file say together: set-points in order, inside their instruments, and the ladder of times."""

from fieldkit.config_draft import Draft
from fieldkit.errors import nearest
from valvey.config_models import RackFile, TripTimes
from valvey.config_rack import FCV_SIZES, SIF_1_HOLD_S, RackConfig, rows_named, to_limits, usual_fcv_kvs
from valvey.core.flow_model import KPA_PER_BAR, LPM_PER_M3_H, SG, dp_for
from valvey.core.limits import LPM_PER_KW
from valvey.core.trips import Trip, rows_for
from valvey.ladder import rungs
from valvey.needs import senses_of

HOLD_FACTOR = 2.0
"""A site may wait for at most twice the design's own hold or blind time."""
RULE_HOLD_MOST_S = 86400.0
MAY_BE_SHADOW = "SIF-11"
FLOW_SHARE = 0.95
MOST_NOMINAL = 1.25
"""The flow control asks for up to so much of the nominal flow."""
FCV_MOST_KPA = 40.0
"""FCV-101 wide open may take so much of the header's pressure then."""
FCV_MOST_SHARE = 5.0
"""Kvs of FCV-101 beyond so many times the branch's Kv has no authority: the first third of its travel does all."""
KV_BRANCH_LEAST = 0.5

# fmt: off
ORDER: tuple[tuple[str, str, str], ...] = (
    ("flow_ll_fraction",  "flow_l_fraction",     "LL < L"),
    ("flow_l_fraction",   "prove_flow_fraction", "L < proven"),
    ("static_ll_kpa",     "supply_hh_kpa",       "LL < HH"),
    ("return_h_c",        "return_hh_c",         "H < HH"),
    ("supply_h_c",        "supply_hh_c",         "H < HH"),
    ("supply_hh_c",       "return_h_c",          "supply < return"),
    ("unloaded_fraction", "armed_load_fraction", "unloaded < armed"),
)
INSTRUMENTS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("supply_hh_kpa",    ("PT-101",),                       1.0),
    ("static_ll_kpa",    ("PT-101", "PT-102"),              1.0),
    ("return_hh_c",      ("TT-102A", "TT-102B", "TT-102C"), 1.0),
    ("return_h_c",       ("TT-102A", "TT-102B", "TT-102C"), 1.0),
    ("supply_hh_c",      ("TT-101",),                       1.0),
    ("supply_h_c",       ("TT-101",),                       1.0),
    ("flow_nominal_lpm", ("FT-101", "FT-102"),              1.25),
    ("rating_kw",        ("JT-101", "ET-101"),              1.0),
    ("dead_busbar_v",    ("EV-101",),                       1.0),
)
# fmt: on


def check_times(draft: Draft[RackFile], config: RackConfig) -> None:
    """Add to the draft every fault of set-points and times."""
    _set_points(draft, config)
    _throttle(draft, config)
    _instruments(draft, config)
    limits = to_limits(config)
    rows = rows_for(limits)
    for key, times in config.data.trips.items():
        _trip(draft, config, key, times, rows)
    _scan(draft, config)
    for rung in rungs(config, limits):
        if not rung.holds and not any(path[: len(gone)] == gone for path in rung.inputs for gone in draft.gone):
            at = next((path for path in rung.inputs if draft.has(path)), rung.inputs[0])
            sign = "below" if rung.below else "at most"
            message = f"the ladder is broken: {rung.name} is {rung.value_s:.4g} s ({rung.because})"
            draft.add(at, message, f"{sign} {rung.limit_s:.4g} s")


def _scan(draft: Draft[RackFile], config: RackConfig) -> None:
    scan = config.data.scan
    if not scan.fast_s <= scan.normal_s <= scan.slow_s:
        draft.add(("scan",), "the lanes are not in order", "fast_s <= normal_s <= slow_s")


def _set_points(draft: Draft[RackFile], config: RackConfig) -> None:
    points = config.data.limits
    for low, high, words in ORDER:
        a, b = getattr(points, low), getattr(points, high)
        if a >= b:
            at = ("limits", low) if draft.has(("limits", low)) else ("limits", high)
            draft.add(at, f"{words} is broken: {low} is {a:g}, {high} is {b:g}", f"{low} below {high}")
    need_lpm = FLOW_SHARE * LPM_PER_KW * points.rating_kw
    if points.flow_nominal_lpm < need_lpm and ("limits", "rating_kw") not in draft.gone:
        message = f"{points.flow_nominal_lpm:g} L/min cannot carry {points.rating_kw:g} kW ({LPM_PER_KW} L/min per kW)"
        draft.add(("limits", "flow_nominal_lpm"), message, f"at least {need_lpm:.4g}")


def _throttle(draft: Draft[RackFile], config: RackConfig) -> None:
    """What the flow control is told of FCV-101 and of the branch fits the rack."""
    points = config.data.limits
    kvs, flow = points.fcv_kvs_m3_h or usual_fcv_kvs(points.rating_kw), MOST_NOMINAL * points.flow_nominal_lpm
    at = ("limits", "fcv_kvs_m3_h")
    branch = points.kv_branch_m3_h or points.kv_rack_m3_h
    if not KV_BRANCH_LEAST * points.kv_rack_m3_h <= branch <= points.kv_rack_m3_h:
        draft.add(
            ("limits", "kv_branch_m3_h"),
            f"{branch:g} m3/h does not fit kv_rack_m3_h: valves and hoses in series with the rack lower its Kv a little",
            f"{KV_BRANCH_LEAST * points.kv_rack_m3_h:g}..{points.kv_rack_m3_h:g}",
        )
    if kvs is None:
        draft.add(
            at, f"is missing: there is no usual size above {FCV_SIZES[-1][0]:g} kW", "Kvs of FCV-101, m3/h at 1 bar"
        )
        return
    least = flow / LPM_PER_M3_H * (SG * KPA_PER_BAR / FCV_MOST_KPA) ** 0.5
    most = FCV_MOST_SHARE * branch
    if kvs < least:
        message = f"FCV-101 is too small: wide open, {kvs:g} m3/h takes {dp_for(flow, kvs):.0f} kPa at {flow:.0f} L/min"
        draft.add(at, message, f"{least:.4g}..{most:.4g}")
    elif kvs > most:
        message = f"FCV-101 is too large: {kvs:g} m3/h hardly throttles a branch of {branch:g} m3/h"
        draft.add(at, message, f"{least:.4g}..{most:.4g}")


def _instruments(draft: Draft[RackFile], config: RackConfig) -> None:
    for name, tags, factor in INSTRUMENTS:
        value = factor * getattr(config.data.limits, name)
        for tag in tags:
            place = config.data.tags.get(tag)
            profile = None if place is None else config.profiles.get(place.bus)
            point = None if place is None or profile is None else profile.points.get(place.point)
            if point is None or point.range is None:
                continue
            low, high = point.range
            if not low <= value <= high:
                message = f"{value:g} {point.reading_unit} is outside of what {tag} can show; set-points are in its unit, never raw counts"
                draft.add(("limits", name), message, f"{low / factor:g}..{high / factor:g}")
                break


def _trip(draft: Draft[RackFile], config: RackConfig, key: str, times: TripTimes, rows: tuple[Trip, ...]) -> None:
    at = ("trips", key)
    named = rows_named(key, rows)
    if not named:
        names = list(dict.fromkeys(name for row in rows for name in (row.sif, row.key)))
        draft.add(at, f"no safety function is called {key}", ", ".join(names), nearest(key, names))
        return
    if times.hold_s is not None and times.at_once:
        draft.add((*at, "hold_s"), "stands beside at_once", "one of the two")
    elif times.hold_s is not None:
        _hold(draft, config, key, times.hold_s, named)
    if times.blind_s is not None:
        _blind(draft, config, key, times.blind_s, named)
    if times.shadow and key != MAY_BE_SHADOW:
        message = f"{key} acts: no site may have it told only; bypass it for a bounded time"
        draft.add((*at, "shadow"), message, f"{MAY_BE_SHADOW} only; a rule of the leak policy says it in its action")


def _hold(draft: Draft[RackFile], config: RackConfig, key: str, hold_s: float, rows: tuple[Trip, ...]) -> None:
    at, least_s = ("trips", key, "hold_s"), 2.0 * config.data.scan.fast_s
    most_s = HOLD_FACTOR * max(row.hold_s for row in rows)
    if rows[0].sif == "SIF-1":
        most_s = RULE_HOLD_MOST_S if key != "SIF-1" else HOLD_FACTOR * SIF_1_HOLD_S
    if most_s <= 0.0:
        draft.add(at, f"{key} acts at once", "at_once: true")
    elif hold_s < least_s:
        draft.add(at, f"{hold_s:g} s is shorter than two fast scans", f"{least_s:g}..{most_s:g}, or at_once: true")
    elif hold_s > most_s:
        draft.add(at, f"{hold_s:g} s is too long for {key}", f"{least_s:g}..{most_s:g}, or at_once: true")


def _blind(draft: Draft[RackFile], config: RackConfig, key: str, blind_s: float, rows: tuple[Trip, ...]) -> None:
    at = ("trips", key, "blind_s")
    own_s = [row.blind_s for row in rows if row.blind_s is not None]
    if not own_s:
        draft.add(at, f"{key} has no blind time", "leave it out")
        return
    tags = {tag for row in rows for tag in senses_of(row, config.policy) if tag in config.data.tags}
    least_s = 2.0 * max((config.max_age_s(tag) for tag in tags), default=0.0)
    most_s = HOLD_FACTOR * max(own_s)
    if not least_s <= blind_s <= most_s:
        why = "less than twice the age at which its readings are stale" if blind_s < least_s else "too long"
        draft.add(at, f"{blind_s:g} s is {why}", f"{least_s:g}..{most_s:g}")
