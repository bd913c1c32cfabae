"""What may stand in a loop's file: its sections, the bounds of each value, and its unit in the key."""

from typing import Annotated, Literal

from pydantic import Field

from fieldkit.config_bus import Bus
from fieldkit.config_parts import Id, Journal, Memory, Model, Mqtt, Text
from valvey.core.loop.limits import Action

LoopTag = Annotated[str, Field(pattern=r"^[A-Z]{1,4}-[1-9][0-9]{2}[A-Z]?$")]
EventName = Literal["racks-leak", "cdu-leak", "not-proven", "leak-upstream", "static-lost"]
Positive = Annotated[float, Field(gt=0, le=1e6)]
NotNegative = Annotated[float, Field(ge=0, le=1e6)]


class Scan(Model):
    """How often the CDU is read and everything is decided."""

    period_s: Annotated[float, Field(ge=0.05, le=0.5)] = 0.2


class SetPoint(Model):
    """One set-point of the CDU: where it is written, and how far it may be moved (%, kPa or L/min by its mode)."""

    point: Text
    low: Positive
    """Never below it: no set-point may stop the flow."""
    high: Positive


class SetPoints(Model):
    """By what the pumps hold. A mode that is left out is never written."""

    fixed_speed: SetPoint | None = None
    constant_dp: SetPoint | None = None
    constant_flow: SetPoint | None = None


class SupplySetPoint(Model):
    """The set-point of the supply temperature: where it is written, and between what it may stand, °C."""

    point: Text
    low: Annotated[float, Field(ge=5, le=60)]
    """What was raised never comes back below it."""
    high: Annotated[float, Field(ge=5, le=60)]
    """However damp the air is."""


class ModeNumbers(Model):
    """What the mode register shows."""

    point: Text
    fixed_speed: Annotated[int, Field(ge=0, le=65535)] = 0
    constant_dp: Annotated[int, Field(ge=0, le=65535)] = 1
    constant_flow: Annotated[int, Field(ge=0, le=65535)] = 2


class Cdu(Bus):
    """The CDU: one Modbus device, read and, when the coordinator is armed, told its set-point."""

    timeout_s: Annotated[float, Field(gt=0, le=0.3)]
    """For a connection attempt and for a reply: the leases wait for it, and the watchdog."""
    points: dict[LoopTag, Text]
    """Tag → point of the profile. Needed: PT-201, PT-202, FT-201, TT-201. Used when there: TT-202, LT-201, LDT-201."""
    mode: ModeNumbers
    speed: Text
    """Point that shows the speed of the pumps that run, %."""
    pump_trip: Text | None = None
    """Point that is 1 while a pump has tripped."""
    run: Text | None = None
    """Point that holds the pumps' own command: 1 run, 0 stop. Read; written 0 only with ``policy.pump_stop``."""
    set_points: SetPoints
    supply: SupplySetPoint | None = None
    """Kept 2 K above the highest dew point of the racks' rooms. Left out = never written."""
    detectors: tuple[LoopTag, ...] = ("LDT-201",)
    """Leak detectors of the CDU among ``points``."""


class Pumps(Model):
    """From the pumps' sheet, all pumps running at full speed."""

    dead_head_kpa: Positive
    """Header dP at no flow."""
    rated_lpm: Positive
    """Flow that all racks need together at their ratings."""
    design_dp_kpa: Positive
    """Header dP at which every rack can have its nominal flow."""
    least_lpm: NotNegative = 0.0
    """Minimum flow of the pumps."""
    bypass_fitted: bool = False
    """A minimum-flow bypass is there: the last rack may be isolated too."""


class Header(Model):
    """The pipes between CDU and racks."""

    loss_kpa: NotNegative = 0.0
    """dP lost between CDU and racks at ``pumps.rated_lpm``."""
    dp_remote: bool = False
    """Constant dP is measured at the racks' end, not at the CDU."""


class Vessel(Model):
    """The expansion vessel."""

    gas_l: Positive
    """Gas in it at ``at_kpa``."""
    at_kpa: NotNegative
    """Static pressure (gauge) at which it holds that gas."""


class Makeup(Model):
    """What replaces lost coolant. Zeros: nothing does, and filling a rack costs pressure."""

    flow_lpm: NotNegative = 0.0
    reservoir_l: NotNegative = 0.0


class Sump(Model):
    """A drain sump."""

    capacity_l: Positive
    """Litres from empty to LSH-203."""


class LoopRack(Model):
    """One rack on the loop."""

    rating_kw: Annotated[float, Field(ge=5, le=1000)]
    flow_nominal_lpm: Annotated[float, Field(ge=5, le=2000)]
    fcv_kvs_m3_h: Annotated[float, Field(ge=1, le=400)]
    fcv_rangeability: Annotated[float, Field(ge=10, le=200)] = 50.0
    volume_l: Positive
    priority: Annotated[int, Field(ge=1, le=99)] = 5
    """1 is served first when flow is short."""
    sump: Id | None = None
    """Left out = this rack cannot be drained."""


class LoopPolicy(Model):
    """How far the coordinator may go beyond set-points. Left out: it never stops pumps, and asks nothing of racks."""

    pump_stop: Literal["never", "when_all_dark"] = "never"
    """``when_all_dark``: role safety or supervisor may ask for it; every rack goes dark first, proven."""
    events: dict[EventName, Action] = Field(default_factory=dict)
    """What every rack is asked when a loop event is latched: tell (nothing), dark (all at once), isolate (one by one)."""
    stagger_s: Annotated[float, Field(ge=10, le=600)] = 30.0
    """How long one isolation is waited for before the next rack is asked."""
    stop_most_s: Annotated[float, Field(ge=10, le=600)] = 60.0
    """After this a stop of the pumps is given up: they run on."""


class LoopTuning(Model):
    """What a site may tune; what is left out keeps the design's estimate."""

    works_at_once: Annotated[int, Field(ge=1, le=8)] = 1
    supply_hh_kpa: Annotated[float, Field(ge=100, le=1500)] = 540.0
    """PT-101 high-high of the racks. A mode in which two racks that shut at once bring another there is refused."""
    static_ll_kpa: Annotated[float, Field(ge=5, le=300)] = 30.0
    fill_margin_kpa: Annotated[float, Field(ge=20, le=300)] = 50.0
    """PT-202 must stay this much above ``static_ll_kpa`` while a rack is filled."""
    neighbour_loss_pct: Annotated[float, Field(ge=0.5, le=5)] = 2.0
    fill_lpm: Annotated[float, Field(ge=1, le=100)] = 15.0
    drain_lpm: Annotated[float, Field(ge=1, le=200)] = 20.0
    supply_h_c: Annotated[float, Field(ge=20, le=60)] = 47.0
    """Nothing is opened above it."""
    level_l_pct: Annotated[float, Field(ge=5, le=80)] = 20.0
    level_fall_pct: Annotated[float, Field(ge=0.1, le=10)] = 0.3
    """LT-201 falling by this within ``watch_s`` is a loss of coolant."""
    pressure_fall_kpa: Annotated[float, Field(ge=1, le=100)] = 5.0
    watch_s: Annotated[float, Field(ge=30, le=600)] = 60.0
    leak_hold_s: Annotated[float, Field(ge=0.5, le=60)] = 2.0
    least_share: Annotated[float, Field(ge=0.3, le=0.9)] = 0.5
    """Of what it needs: every rack gets this before priority counts."""
    short_on_s: Annotated[float, Field(ge=0.5, le=30)] = 2.0
    short_off_s: Annotated[float, Field(ge=5, le=600)] = 30.0
    respond_s: Annotated[float, Field(ge=0.5, le=60)] = 2.0
    """How fast header dP is corrected; slower than the CDU's own controller."""
    trim_s: Annotated[float, Field(ge=10, le=600)] = 30.0
    """Integral time of the trim on the neighbours' flows."""
    write_s: Annotated[float, Field(ge=0.2, le=60)] = 0.4
    """Least time between two writes."""
    settle_s: Annotated[float, Field(ge=10, le=600)] = 30.0
    home_pct_per_min: Annotated[float, Field(ge=0.1, le=5)] = 0.5


class LoopFile(Model):
    """One loop's file."""

    site: Id
    loop: Id
    simulated: bool = False
    """True on a bench: every surface and payload says so."""
    armed: bool = False
    """False: it reads, judges, grants and tells, and writes no set-point."""
    speed: Annotated[float, Field(gt=0, le=1000)] | None = None
    """How much faster time runs; only with ``simulated: true``."""
    profiles_dir: Text = "profiles"
    scan: Scan = Scan()
    cdu: Cdu
    pumps: Pumps
    header: Header = Header()
    vessel: Vessel
    makeup: Makeup = Makeup()
    sumps: dict[Id, Sump] = Field(default_factory=dict)
    racks: dict[Id, LoopRack]
    limits: LoopTuning = LoopTuning()
    policy: LoopPolicy = LoopPolicy()
    mqtt: Mqtt
    memory: Memory
    journal: Journal | None = None
