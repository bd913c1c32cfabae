"""What may stand in a rack's file: its sections, the bounds of each value, and its unit in the key.

Only what one value alone can get wrong is judged here; ``config_check`` judges what they say together.
"""

from typing import Annotated, Literal

from pydantic import Field

from fieldkit.config_bus import Bus as Bus
from fieldkit.config_parts import LANES as LANES
from fieldkit.config_parts import Id, Journal, Memory, Model, Mqtt, Person, TagName, Text
from fieldkit.config_parts import Lane as Lane
from fieldkit.config_parts import Tls as Tls

Fraction = Annotated[float, Field(gt=0, lt=1)]
Wire = Literal["W1", "W2", "W3", "W4", "W5", "W6"]


class Scan(Model):
    """Periods of the three lanes."""

    fast_s: Annotated[float, Field(gt=0, le=1)]
    """Leak, flow, pressure, valve feedback; also the period of the safety logic."""
    normal_s: Annotated[float, Field(gt=0, le=10)]
    """Temperatures, power."""
    slow_s: Annotated[float, Field(gt=0, le=3600)]
    """Identity, counters."""


class TagPlace(Model):
    """Where one tag is found."""

    bus: Text
    point: Text
    """Name of a point of the bus's profile."""
    lane: Lane | None = None
    """How often it is read; an output has none, it is written."""
    lag_s: Annotated[float, Field(ge=0, le=60)] | None = None
    """Time constant of the sensor, for the response-time sheet."""
    delay_s: Annotated[float, Field(ge=0, le=1000)] | None = None
    """Delay that the device itself adds (a leak panel's), for the response-time sheet."""
    norm: tuple[float, float] | None = None
    """Normal band in the tag's unit: believed at once after a reconnect. Left out = every value is."""


class SetPoints(Model):
    """The core's limits that a site may tune. What is left out keeps the design's estimate (SAFETY.md)."""

    rating_kw: Annotated[float, Field(ge=5, le=1000)]
    """What the rack may draw."""
    flow_nominal_lpm: Annotated[float, Field(ge=5, le=2000)]
    """Coolant flow at the rating."""
    kv_rack_m3_h: Annotated[float, Field(ge=0.5, le=200)]
    """Kv of the rack between PT-101 and PT-102: m3/h at 1 bar."""
    supply_hh_kpa: Annotated[float, Field(ge=100, le=1500)]
    """PT-101 high-high: the relief valve PSV-101 less 10 %."""
    stroke_101_s: Annotated[float, Field(ge=1, le=30)]
    """Full stroke of XV-101; shutting faster than 10·rho·L·v/dP makes water hammer."""
    stroke_102_s: Annotated[float, Field(ge=1, le=30)]
    static_ll_kpa: Annotated[float, Field(ge=5, le=300)] = 30.0
    return_hh_c: Annotated[float, Field(ge=40, le=80)] = 65.0
    return_h_c: Annotated[float, Field(ge=35, le=80)] = 60.0
    supply_hh_c: Annotated[float, Field(ge=25, le=60)] = 50.0
    supply_h_c: Annotated[float, Field(ge=20, le=60)] = 47.0
    flow_ll_fraction: Fraction = 0.25
    """SIF-4, of what the load needs."""
    flow_l_fraction: Fraction = 0.45
    """SIF-4's second stage, of what the load needs."""
    armed_load_fraction: Annotated[float, Field(ge=0.02, le=0.20)] = 0.20
    """SIF-4 is armed above this fraction of the rating."""
    unloaded_fraction: Annotated[float, Field(ge=0.01, le=0.10)] = 0.05
    closed_flow_fraction: Annotated[float, Field(ge=0.01, le=0.10)] = 0.05
    """Of the nominal flow: above it, shut valves are in doubt."""
    kv_branch_m3_h: Annotated[float, Field(ge=0.5, le=200)] | None = None
    """Kv of everything between the headers but FCV-101: rack, XV-101, XV-102, hoses. Within 30 % is enough, the rest is
    learned. Left out = ``kv_rack_m3_h``."""
    fcv_kvs_m3_h: Annotated[float, Field(ge=1, le=500)] | None = None
    """Kvs of FCV-101, equal-percentage. Left out = by the rating: 30.4 (DN50) up to 132 kW, 50 (DN65) up to 238 kW."""
    fcv_rangeability: Annotated[float, Field(ge=10, le=200)] = 50.0
    """Kvs of FCV-101 to the least Kv that still follows its characteristic."""
    flow_dead_s: Annotated[float, Field(ge=0, le=3)] = 0.5
    """Dead time of FT-101 beside its ``lag_s``, for the flow control."""
    fcv_low_pct: Annotated[float, Field(ge=2, le=10)] = 10.0
    fcv_band_pct: Annotated[float, Field(ge=0.5, le=5)] = 2.0
    fcv_ramp_s: Annotated[float, Field(ge=120, le=1800)] = 120.0
    fcv_stroke_s: Annotated[float, Field(ge=10, le=300)] = 90.0
    cool_delta_k: Annotated[float, Field(ge=1, le=10)] = 3.0
    cool_hold_s: Annotated[float, Field(ge=5, le=600)] = 30.0
    cool_overdue_s: Annotated[float, Field(ge=60, le=7200)] = 600.0
    prove_flow_fraction: Annotated[float, Field(ge=0.5, le=1)] = 0.90
    prove_hold_s: Annotated[float, Field(ge=1, le=60)] = 5.0
    prove_overdue_s: Annotated[float, Field(ge=30, le=1800)] = 300.0
    unload_overdue_s: Annotated[float, Field(ge=10, le=7200)] = 600.0
    planned_flow_wait_s: Annotated[float, Field(ge=1, le=30)] = 30.0
    volume_l: Annotated[float, Field(ge=1, le=500)] = 45.0
    """Coolant that the full rack holds between its isolation valves; a drain or fill that passes 110 % of it fails."""
    vent_s: Annotated[float, Field(ge=5, le=60)] = 10.0
    watch_s: Annotated[float, Field(ge=60, le=600)] = 60.0
    watch_kpa: Annotated[float, Field(ge=0.5, le=5)] = 5.0
    """Before a drain: more pressure than this in the vented rack, and a shut valve passes."""
    watch_rise_kpa: Annotated[float, Field(ge=0.5, le=2)] = 2.0
    drain_blocked_s: Annotated[float, Field(ge=15, le=30)] = 30.0
    """Longer than the ten seconds after which a drain that has stopped counts as empty."""
    drain_overdue_s: Annotated[float, Field(ge=120, le=7200)] = 1800.0
    sump_wait_s: Annotated[float, Field(ge=10, le=3600)] = 600.0
    fcv_fill_pct: Annotated[float, Field(ge=5, le=12)] = 10.0
    """FCV-101 while filling: no more than the loop's make-up gives."""
    full_kpa: Annotated[float, Field(ge=5, le=200)] = 50.0
    """PT-101 or PT-102 with the vent open: it passes liquid, so the rack is full."""
    fill_overdue_s: Annotated[float, Field(ge=120, le=7200)] = 1800.0
    relief_crack_kpa: Annotated[float, Field(ge=5, le=50)] = 40.0
    """CV-102's opening pressure above the return header (W5)."""
    test_hold_s: Annotated[float, Field(ge=60, le=3600)] = 120.0
    test_decay_kpa: Annotated[float, Field(ge=1, le=20)] = 5.0
    test_overdue_s: Annotated[float, Field(ge=180, le=7200)] = 1800.0
    adopt_s: Annotated[float, Field(ge=0.5, le=3)] = 3.0
    late_s: Annotated[float, Field(ge=0.5, le=2)] = 2.0
    """A scan that comes later than this makes the rack begin at STARTUP again."""
    restart_window_s: Annotated[float, Field(ge=600, le=3600)] = 600.0
    settled_flowing_s: Annotated[float, Field(ge=60, le=600)] = 60.0
    write_alarm_s: Annotated[float, Field(ge=0.5, le=60)] = 2.0
    write_dark_s: Annotated[float, Field(ge=1, le=60)] = 6.0
    """SIF-8: age of the last acknowledged write."""
    permit_off_volt_s: Annotated[float, Field(ge=1, le=60)] = 10.0
    dead_busbar_v: Annotated[float, Field(ge=1, le=60)] = 10.0
    dead_load_fraction: Annotated[float, Field(ge=0.005, le=0.05)] = 0.02
    bypass_max_s: Annotated[float, Field(ge=60, le=14400)] = 14400.0
    bypasses_at_once: Annotated[int, Field(ge=0, le=3)] = 1


class TripTimes(Model):
    """Times of one safety function; what is left out keeps the table's own."""

    hold_s: Annotated[float, Field(ge=0, le=3600)] | None = None
    """How long its demand must last."""
    at_once: Literal[True] | None = None
    """Instead of ``hold_s``: the first scan that sees the demand acts."""
    blind_s: Annotated[float, Field(gt=0, le=7200)] | None = None
    """Without one believable vote for so long, its blind action follows."""
    shadow: Literal[True] | None = None
    """Judged and told, never acted on; SIF-11 only."""


class Expiries(Model):
    """What the devices' output expiries are set to, where that is not their profile's default."""

    permit_s: Annotated[float, Field(gt=0, le=60)] | None = None
    valves_s: Annotated[float, Field(gt=0, le=120)] | None = None


class Waived(Model):
    """A wiring that this rack does without, and who answers for that."""

    waived_by: Person


class Accepted(Model):
    """Somebody who answers for a risk that the design refuses by default."""

    accepted_by: Person


class RackFile(Model):
    """One rack's file."""

    site: Id
    rack: Id
    simulated: bool = False
    """True on a bench: every surface and payload says so."""
    armed: bool = False
    """False: everything is read, judged and told, nothing is written."""
    speed: Annotated[float, Field(gt=0, le=1000)] | None = None
    """How much faster time runs; only with ``simulated: true``."""
    loop: Id | None = None
    """The coordinator whose grants planned opening work needs, or the word ``none``: nobody shares this rack's loop. An armed
    rack that is not simulated has to say which."""
    trip_sources: tuple[Literal["coordinator", "integration", "racky"], ...] = ("coordinator",)
    """Roles whose ``dark`` and ``isolate`` with ``trip: true`` act as a trip (SIF-10)."""
    profiles_dir: Text = "profiles"
    """Directory of the device profiles, seen from this file."""
    scan: Scan
    buses: dict[Id, Bus]
    shared_path: Accepted | None = None
    """Needed when fast-lane points of two devices share a gateway."""
    tags: dict[TagName, TagPlace]
    trays: tuple[Id, ...] = ()
    """Trays whose own leak flags come over MQTT; the policy calls them ``TRAY-<name>``."""
    limits: SetPoints
    expiries: Expiries = Expiries()
    trips: dict[Text, TripTimes] = Field(default_factory=dict)
    """By safety function (SIF-4) or by row of its table (SIF-4/low)."""
    policy: Text | None = None
    """The leak policy's file, seen from this file; left out = the policy in SAFETY.md."""
    mqtt: Mqtt | None = None
    memory: Memory
    journal: Journal | None = None
    wiring: dict[Wire, Literal["wired"] | Waived] = Field(default_factory=dict)
    """What SAFETY.md wants wired: each ``wired`` or ``waived_by`` a person."""

    @property
    def coordinator(self) -> str | None:
        """Name of the loop's coordinator; None for a rack that needs none."""
        return None if self.loop == "none" else self.loop
