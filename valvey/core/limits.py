"""What a site may tune: set-points, times and the policy, checked by the configuration, never changed while running."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from valvey.core.policy import PolicyRule

#: L/min per kW at a 10 K rise with PG25 at 40 °C (reference case PUB-01).
LPM_PER_KW = 1.49
#: SIF-11 and the leak policy's second symptom: supply and return flow apart by more than this.
IMBALANCE_LPM = 30.0
IMBALANCE_FRACTION = 0.10


def tolerated_lpm(supply_lpm: float) -> float:
    """How far supply and return flow may differ before it is a gross imbalance."""
    return max(IMBALANCE_LPM, IMBALANCE_FRACTION * supply_lpm)


@dataclass(frozen=True, slots=True)
class TripTiming:
    """Times of one safety function.

    hold_s   how long a demand must last; 0.0 means "at once" and is written so in the file
    blind_s  how long it may be without one believable vote before its blind action; None = never by time
    """

    hold_s: float
    blind_s: float | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Set-points in their tags' units, and times in seconds. Defaults are the design's estimates (SAFETY.md)."""

    rating_kw: float = 132.0
    flow_nominal_lpm: float = 198.0
    kv_rack: float = 12.5
    kv_branch: float = 12.5
    """Kv of everything in the rack's branch but FCV-101: rack, XV-101, XV-102 and pipes, m3/h at 1 bar."""
    fcv_kvs: float = 30.4
    """FCV-101, equal-percentage."""
    fcv_rangeability: float = 50.0
    flow_dead_s: float = 0.5
    """Dead time of FT-101, beside its lag."""
    supply_hh_kpa: float = 540.0
    """PT-101 high-high: the relief valve PSV-101 less 10 %."""
    static_ll_kpa: float = 30.0
    return_hh_c: float = 65.0
    return_h_c: float = 60.0
    supply_hh_c: float = 50.0
    supply_h_c: float = 47.0
    flow_ll_fraction: float = 0.25
    flow_l_fraction: float = 0.45
    armed_load_fraction: float = 0.20
    unloaded_fraction: float = 0.05
    closed_flow_fraction: float = 0.05
    stroke_101_s: float = 3.5
    stroke_102_s: float = 3.5
    flow_tau_s: float = 1.0
    fcv_low_pct: float = 10.0
    fcv_band_pct: float = 2.0
    fcv_ramp_s: float = 120.0
    fcv_stroke_s: float = 90.0
    cool_delta_k: float = 3.0
    cool_hold_s: float = 30.0
    cool_overdue_s: float = 600.0
    prove_flow_fraction: float = 0.90
    prove_hold_s: float = 5.0
    prove_overdue_s: float = 300.0
    unload_overdue_s: float = 600.0
    planned_flow_wait_s: float = 30.0
    volume_l: float = 45.0
    """Coolant that the full rack holds, between XV-101 and XV-102."""
    vent_s: float = 10.0
    watch_s: float = 60.0
    watch_kpa: float = 5.0
    """Before a drain: more pressure than this in the vented rack, and a shut valve passes."""
    watch_rise_kpa: float = 2.0
    """The same for a rise within ``watch_s``."""
    drain_blocked_s: float = 30.0
    drain_overdue_s: float = 1800.0
    """For the whole drain, waiting for the sump included."""
    sump_wait_s: float = 600.0
    fcv_fill_pct: float = 10.0
    """FCV-101 while filling: no more than the loop's make-up gives."""
    full_kpa: float = 50.0
    """While filling with the vent open: the vent passes liquid, so the rack is full."""
    fill_overdue_s: float = 1800.0
    relief_crack_kpa: float = 40.0
    """Opening pressure of CV-102 above the return header."""
    test_hold_s: float = 120.0
    test_decay_kpa: float = 5.0
    test_overdue_s: float = 1800.0
    adopt_s: float = 3.0
    late_s: float = 2.0
    restart_window_s: float = 600.0
    settled_flowing_s: float = 60.0
    write_alarm_s: float = 2.0
    write_dark_s: float = 6.0
    permit_off_volt_s: float = 10.0
    dead_volt: float = 10.0
    dead_load_fraction: float = 0.02
    bypass_max_s: float = 4 * 3600.0
    bypasses_at_once: int = 1
    armed_in_file: bool = True
    """The configuration's ``armed``."""
    coordinator: bool = False
    """Whether a loop coordinator is configured; opening work then needs its grant."""
    name: str = ""
    """The rack's, and its site's: the ids of what it says to the coordinator are made of it."""
    timing: Mapping[str, TripTiming] = field(default_factory=dict)
    """By row key of ``trips.TRIPS``; a row without an entry uses its own times."""
    policy: tuple[PolicyRule, ...] = ()
    shadows: frozenset[str] = frozenset()
    """Rows of the trip table that this site has judge and tell only; none but SIF-11 may be."""
    stroke_tags: frozenset[str] = frozenset()
    """Those of ``stroking.TAGS`` that the rack has: all of them, and its valve controller times a partial stroke."""
    trip_sources: frozenset[str] = frozenset({"coordinator"})
    """Roles whose ``dark`` and ``isolate`` with ``trip: true`` act as a trip (SIF-10)."""
    max_age_s: Mapping[str, float] = field(default_factory=dict)
    """By tag: older than this is stale. max(3 periods of its lane, 0.5 s)."""
    link_of: Mapping[str, str] = field(default_factory=dict)
    """By tag: the bus it is read from."""
    default_max_age_s: float = 0.5
