"""What a site says of one loop: its racks, its CDU, and how far the coordinator may go. Fixed while running."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Mode(StrEnum):
    """What the CDU's pumps hold; which of the set-points the coordinator may move follows from it."""

    FIXED_SPEED = "fixed_speed"
    CONSTANT_DP = "constant_dp"
    CONSTANT_FLOW = "constant_flow"


class Action(StrEnum):
    """What a site lets the coordinator ask of all its racks, through their request doors, when a loop event is latched."""

    TELL = "tell"
    """Nothing: racks protect themselves, people are told."""
    DARK = "dark"
    """All at once."""
    ISOLATE = "isolate"
    """One after the other, those of the lowest rank first."""


@dataclass(frozen=True, slots=True)
class RackRow:
    """One rack on the loop.

    priority       1 is served first when flow is short
    fcv_kvs, rangeability   FCV-101, equal percentage: m³/h at 1 bar
    volume_l       coolant that it holds
    sump           where it drains to; None = it cannot be drained
    """

    name: str
    rating_kw: float
    flow_nominal_lpm: float
    priority: int = 5
    fcv_kvs: float = 30.4
    rangeability: float = 50.0
    volume_l: float = 45.0
    sump: str | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a set-point may stand, in its own unit (%, kPa, L/min)."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Set-points and times of one loop. Pressures kPa, flows L/min.

    bounds            by mode: the set-point that this mode obeys; a mode that is missing is never written
    modes             by the number that the CDU's own register shows
    dead_head_kpa     header dP at full speed and no flow, from the pumps' sheet
    design_dp_kpa     header dP at which every rack can have its nominal flow
    header_loss_kpa   header dP lost between CDU and the racks at ``rated_lpm``; 0 = little
    dp_remote         constant dP is measured at the racks' end of the header, not at the CDU
    pump_least_lpm    below it the pumps need their minimum-flow bypass
    bypass_fitted     they have one: a loop may then be shut down rack by rack to the last
    vessel_gas_l      gas in the expansion vessel at ``vessel_kpa`` (gauge)
    supply_hh_kpa     PT-101 high-high of the racks (their SIF-2): two racks that shut at once must not bring another there
    fill_lpm, drain_lpm   how fast a rack fills and drains, at most
    supply_h_c        supply temperature above which nothing is opened
    respond_s         how fast the header dP is corrected; slower than the CDU's own controller
    trim_s            integral time of the trim on the neighbours' flows
    home_pct_per_min  how fast a set-point goes home once every rack is back
    pump_stop         a person may have the pumps stopped once every rack is proven dark; otherwise nobody may, ever
    stop_most_s       how long the racks may take to be proven dark, and the pumps to stop, before it is given up
    actions           by loop event: what is asked of the racks; TELL for those that are missing
    supply            where the set-point of the supply temperature may stand, °C; None: it is never written
    stagger_s         how long a rack may take to be proven shut before the next is asked to isolate all the same
    """

    racks: Mapping[str, RackRow]
    bounds: Mapping[Mode, Bounds]
    dead_head_kpa: float
    design_dp_kpa: float
    rated_lpm: float
    armed: bool = False
    simulated: bool = False
    sumps_l: Mapping[str, float] = field(default_factory=dict)
    modes: Mapping[int, Mode] = field(default_factory=lambda: dict(enumerate(Mode)))
    header_loss_kpa: float = 0.0
    dp_remote: bool = True
    pump_least_lpm: float = 0.0
    bypass_fitted: bool = False
    vessel_gas_l: float = 60.0
    vessel_kpa: float = 150.0
    makeup_lpm: float = 0.0
    reservoir_l: float = 0.0
    supply_hh_kpa: float = 540.0
    static_ll_kpa: float = 30.0
    fill_margin_kpa: float = 50.0
    neighbour_loss_pct: float = 2.0
    fill_lpm: float = 15.0
    drain_lpm: float = 20.0
    supply_h_c: float = 47.0
    level_l_pct: float = 20.0
    level_fall_pct: float = 0.3
    pressure_fall_kpa: float = 5.0
    watch_s: float = 60.0
    leak_hold_s: float = 2.0
    detectors: tuple[str, ...] = ("LDT-201",)
    ttl_s: float = 30.0
    grace_s: float = 5.0
    works_at_once: int = 1
    least_share: float = 0.5
    short_on_s: float = 2.0
    short_off_s: float = 30.0
    respond_s: float = 2.0
    trim_s: float = 30.0
    write_s: float = 0.4
    settle_s: float = 30.0
    home_pct_per_min: float = 0.5
    pump_stop: bool = False
    stop_most_s: float = 60.0
    actions: Mapping[str, Action] = field(default_factory=dict)
    supply: Bounds | None = None
    stagger_s: float = 30.0
    max_age_s: float = 1.0
    """Oldest reading of the CDU that is believed."""
    telemetry_age_s: float = 3.0
    """Oldest snapshot of a rack that is believed."""
