"""What the flow control of a rack remembers, sees and is tuned by. Frozen, plain data; survives a restart."""

from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from valvey.core.flow_burst import Burst
from valvey.core.limits import Limits


class Mode(StrEnum):
    """What is asked for, and what ``Control.asked`` means then."""

    POSITION = "position"
    """An opening of FCV-101, in percent."""
    FLOW = "flow"
    """A flow, in L/min."""
    DELTA_T = "delta_t"
    """A temperature rise, in K: the flow that the present power needs for it."""
    POWER_LIMITED = "power_limited"
    """As DELTA_T at the tuned rise, but no more flow than so many kW need."""


class Source(StrEnum):
    """Where the pressure difference between the headers comes from, best first."""

    HEADER = "header"
    """Measured: PT-201 − PT-202."""
    RACK = "rack"
    """Worked out from PT-101 − PT-102, the valve's position and the Kv learned for both."""
    METER = "meter"
    """Worked out from the flow meter and the valve's position."""
    HELD = "held"
    """None of these can be believed: the last one known."""


class Trouble(StrEnum):
    """What a person should be told about the flow control."""

    NO_POWER = "no_power"
    """The set-point stands on the temperature rise alone."""
    NO_NEED = "no_need"
    """Neither power nor temperature rise: the nominal flow is taken."""
    NO_HEADER = "no_header"
    """The pressure difference between the headers is worked out or held, not measured."""
    SHORT = "short"
    """The valve stands open and the header cannot give the flow."""
    BRANCH = "branch"
    """What is learned about the branch is at its bound: a blocked strainer, a wrong valve, a meter or a position that lies."""
    HUNTING = "hunting"
    """The loop was found hunting and is calmed."""
    HELD = "held"
    """It was found hunting three times: the valve only opens, and only when the flow is short by a tenth."""


@dataclass(frozen=True)  # no slots, see fieldkit.frozen
class Tuning:
    """The control law's numbers. Times in seconds, openings and travel in percent, rates per second.

    flow_nominal_lpm, minimum_lpm   the set-point lies between max(half of nominal, minimum) and 1.25 times nominal
    ceiling_lpm   what the loop's coordinator leaves the rack; ``minimum_lpm`` stands above it, half of nominal does not
    kvs_m3_h, rangeability          FCV-101, equal-percentage
    kv_rest_m3_h                    everything in the rack's branch but FCV-101, as commissioned; ±30 %
    stroke_s                        full travel of FCV-101
    delta_k, margin                 wanted temperature rise; 5 % more than it needs, until the trim knows better
    rise_s, fall_s                  filter of the need: quick up, slow down (60..120)
    trim_s, trim_most               integral on the rise (120..180), and how far it may correct the flow
    still_per_s                     a load that moves faster than this share of itself freezes the trim
    ramp_per_s                      share of the nominal flow per second at which a request takes effect
    command_band_pct, error_band    smaller changes of the opening (0.5..1), smaller errors of the flow are left alone
    slew_band_pct                   further than this from its command the valve is on its way
    least_pct                       the valve is never asked for less while it controls
    meter_lag_s, meter_dead_s       of FT-101: first-order lag and dead time
    meter_noise                     of FT-101, a share of the flow, averaged over a second
    kv_doubt, bias_doubt_pct        one deviation: of Kv_rest as commissioned (ln), of the valve's characteristic
    kv_memory_s, bias_memory_s      how long what was learned about each stays worth more than that
    kv_bound, bias_most_pct         learned values beyond these are not believed: factor on Kv_rest, travel
    misfit_most                     a steady mismatch of model and meter beyond this share makes both learn anew
    """

    flow_nominal_lpm: float = 198.0
    minimum_lpm: float = 0.0
    ceiling_lpm: float = inf
    kvs_m3_h: float = 30.4
    rangeability: float = 50.0
    kv_rest_m3_h: float = 12.5
    stroke_s: float = 90.0
    delta_k: float = 10.0
    margin: float = 1.05
    rise_s: float = 2.0
    fall_s: float = 90.0
    trim_s: float = 150.0
    trim_most: float = 0.20
    still_per_s: float = 0.02
    ramp_per_s: float = 0.05
    command_band_pct: float = 0.7
    error_band: float = 0.01
    slew_band_pct: float = 1.5
    least_pct: float = 10.0
    meter_lag_s: float = 2.0
    meter_dead_s: float = 1.0
    meter_noise: float = 0.005
    kv_doubt: float = 0.15
    bias_doubt_pct: float = 1.5
    kv_memory_s: float = 86400.0
    bias_memory_s: float = 7200.0
    kv_bound: float = 1.6
    bias_most_pct: float = 15.0
    misfit_most: float = 0.04

    @property
    def low_lpm(self) -> float:
        """The least flow while the permit is on."""
        return max(min(0.5 * self.flow_nominal_lpm, self.ceiling_lpm), self.minimum_lpm)

    @property
    def high_lpm(self) -> float:
        return max(min(1.25 * self.flow_nominal_lpm, self.ceiling_lpm), self.low_lpm)


def tuning_for(limits: Limits) -> Tuning:
    """The tuning of a rack with these limits."""
    return Tuning(
        flow_nominal_lpm=limits.flow_nominal_lpm,
        kvs_m3_h=limits.fcv_kvs,
        rangeability=limits.fcv_rangeability,
        kv_rest_m3_h=limits.kv_branch,
        stroke_s=limits.fcv_stroke_s,
        least_pct=limits.fcv_low_pct,
        meter_lag_s=limits.flow_tau_s,
        meter_dead_s=limits.flow_dead_s,
    )


@dataclass(frozen=True, slots=True)
class Seen:
    """One scan's measurements; None where one cannot be believed.

    load_kw       electrical power of the rack
    flow_lpm      FT-101
    header_kpa    PT-201 − PT-202
    rack_kpa      PT-101 − PT-102
    position_pct  ZT-101
    rise_k        return less supply temperature
    """

    load_kw: float | None = None
    flow_lpm: float | None = None
    header_kpa: float | None = None
    rack_kpa: float | None = None
    position_pct: float | None = None
    rise_k: float | None = None


@dataclass(frozen=True)  # no slots, see fieldkit.frozen
class Learned:
    """What the rack's branch is found to be, with how sure that is (a Kalman filter's state).

    kv_rest_m3_h   everything but FCV-101
    bias_pct       travel by which FCV-101 stands off its characteristic
    kv_var, both_var, bias_var   variances of ln Kv_rest and of the bias, and their covariance; None in the first: unknown yet
    misfit         model against meter, ln, averaged over ten seconds without motion
    kv_rack_m3_h   between PT-101 and PT-102; None until it was seen
    """

    kv_rest_m3_h: float
    bias_pct: float = 0.0
    kv_var: float = 0.0
    both_var: float = 0.0
    bias_var: float = 0.0
    misfit: float = 0.0
    kv_rack_m3_h: float | None = None


@dataclass(frozen=True, slots=True)
class Hunt:
    """What the hunting detector counts. Ages are seconds ago, oldest first.

    side, swings_s       side of the set-point on which the flow last was by 2 %, and when it changed over
    turn_pct, heading, turns_s   where the valve last turned, which way it goes since, and when it turned
    events, quiet_s      how often hunting was found, and for how long it was not since
    """

    side: int = 0
    swings_s: tuple[float, ...] = ()
    turn_pct: float | None = None
    heading: int = 0
    turns_s: tuple[float, ...] = ()
    events: int = 0
    quiet_s: float = 0.0

    @property
    def held(self) -> bool:
        """Found three times: the valve stays where it is, and a person is told."""
        return self.events >= 3


@dataclass(frozen=True, slots=True)
class Header:
    """The pressure difference between the headers, and what the flow meter's reading of now goes with.

    dp_kpa, source  the difference, and where it comes from; None = not known yet
    slow_kpa        the measured one a second ago or so, for its trend
    dead, lag       position and difference delayed by the meter's dead time, and then lagged as the meter lags
    """

    dp_kpa: float | None = None
    source: Source = Source.HELD
    slow_kpa: float | None = None
    dead: tuple[float, float] | None = None
    lag: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Demand:
    """What flow is wanted, and why.

    setpoint_lpm    flow wanted now
    need_lpm        flow that the power needs at a rise of 10 K, filtered
    trim            share by which the temperature rise corrects it
    load_kw         power as it was some seconds ago, to tell whether it moves
    offset_lpm      what is left of the way from the last request to the present one; 0 = arrived
    blind           no power reading: the need follows the temperature rise alone
    lost            neither power nor rise: the nominal flow is taken
    burst           what the power needed most of late
    """

    setpoint_lpm: float
    need_lpm: float
    trim: float = 0.0
    load_kw: float | None = None
    offset_lpm: float = 0.0
    blind: bool = False
    lost: bool = False
    burst: Burst = field(default_factory=Burst)


@dataclass(frozen=True)  # no slots, see fieldkit.frozen
class Control:
    """All that the flow control hands from one scan to the next. Begin with ``flow_control.begin``.

    mode, asked     what is asked for, and its value in the mode's unit; None = as tuned
    command_pct     opening asked of FCV-101
    short           the valve stands open and the header still cannot give the flow
    """

    mode: Mode
    asked: float | None
    command_pct: float
    demand: Demand
    learned: Learned
    header: Header = Header()
    hunt: Hunt = Hunt()
    short: bool = False


class Bound(StrEnum):
    """What keeps the flow from being what was asked for, or what the load alone would ask for."""

    OWN_NEED = "own_need"
    """The rack's own cooling: less would be too little for the present load."""
    LEAST = "least"
    """Half of the nominal flow."""
    MOST = "most"
    """Five quarters of the nominal flow."""
    CEILING = "ceiling"
    """What the loop's coordinator leaves the rack while flow is short."""
    VALVE = "valve"
    """FCV-101 stands open and the header gives no more."""
    HUNTING = "hunting"
    """FCV-101 is held because the loop hunted."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the coordinator leaves the rack: L/min, and when it was last heard (boot time)."""

    flow_lpm: float
    heard_s: float


@dataclass(frozen=True, slots=True)
class Steering:
    """The flow control as one scan hands it to the next; what was learned outlives the state.

    active      it has FCV-101 now
    at_s        when it looked last;  since_s  when it took FCV-101 over
    flow_lpm    the flow it went by then; None = no meter could be believed
    ceiling     None = the coordinator leaves the rack as much as it wants
    bound       what limits the flow now
    """

    control: Control
    active: bool = False
    at_s: float = 0.0
    since_s: float = 0.0
    flow_lpm: float | None = None
    ceiling: Ceiling | None = None
    bound: Bound | None = None
