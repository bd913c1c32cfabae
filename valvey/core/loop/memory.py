"""All that one step of the coordinator hands to the next; what must survive a restart is in here.

Times ending in ``_s`` are boot-time seconds. A start believes no time of an earlier process (see ``leases.begin``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fieldkit.alarm import AlarmState
from valvey.core.loop.limits import Mode

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Held:
    """A lease that a rack holds.

    replied_s   when it was answered last; it is freed ttl + grace after that
    adopted     presented by the rack after a start of ours
    """

    rack: str
    id: str
    epoch: int
    work: str
    since_s: float
    replied_s: float
    adopted: bool = False


@dataclass(frozen=True, slots=True)
class LoopLatch:
    """A loop event that stands until a person resets it.

    racks    those concerned
    reached  those that have got where the site's policy wants them for this event: they are asked no more
    """

    name: str
    at_s: float
    cause: str
    racks: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """A person has asked for the pumps to be stopped. Not resumed by a restart: pumps that run are the safer end.

    dark_since_s  since when every rack is proven dark
    """

    id: str
    client: str
    role: str
    by: str
    why: str
    since_s: float
    dark_since_s: float | None = None


@dataclass(frozen=True, slots=True)
class AskedOf:
    """What is being asked of one rack, since when, and when it was said last."""

    request: str
    since_s: float
    said_s: float


@dataclass(frozen=True, slots=True)
class Learned:
    """What telemetry has taught of one rack.

    rest      conductance of all but FCV-101, L/min per √kPa
    flow_lpm  its flow, smoothed
    head_kpa  the header dP that it feels, worked out from flow and valve position, smoothed
    at_s      snapshot that was learned last
    """

    rest: float
    flow_lpm: float
    head_kpa: float
    at_s: float


@dataclass(frozen=True, slots=True)
class Deviation:
    """What work did to one neighbour, in % of the flow it would have at a valve that stood still: 10 s means."""

    now_pct: float = 0.0
    worst_pct: float = 0.0


@dataclass(frozen=True, slots=True)
class Hold:
    """While work moves a rack's flow: where everything stood when it began, and how far it was corrected since.

    anchor      the set-point then, in the mode's unit
    flow_lpm    total flow then;  dp_kpa  header dP then
    flows       flow of each worked rack when its work began
    asked       what each neighbour asked for then
    heads       head that each neighbour felt then
    fast        correction of header dP, as a natural logarithm of dP
    slow        correction by what the neighbours feel, as a share of dP
    quiet_s     since when nothing moves
    granted     every rack that moved did so under a lease
    """

    mode: Mode
    since_s: float
    anchor: float
    flow_lpm: float
    dp_kpa: float
    flows: Mapping[str, float]
    heads: Mapping[str, float]
    asked: Mapping[str, float] = field(default_factory=dict)
    felt_s: Mapping[str, float] = field(default_factory=dict)
    fast: float = 0.0
    slow: float = 0.0
    quiet_s: float | None = None
    granted: bool = True
    deviations: Mapping[str, Deviation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Home:
    """The set-point at which all of ``racks`` were in service, before work moved it."""

    mode: Mode
    set_point: float
    racks: frozenset[str]


@dataclass(frozen=True, slots=True)
class Written:
    """The last set-point that was demanded."""

    mode: Mode
    value: float
    at_s: float


@dataclass(frozen=True, slots=True)
class Raised:
    """The supply set-point while it stands raised above a dew point, °C.

    home_c     where it stood before;  before_c, written_c  around the last write;  at_s  when that was
    """

    home_c: float
    before_c: float
    written_c: float
    at_s: float


@dataclass(frozen=True, slots=True)
class Sample:
    """Level (%) and static pressure (kPa) at one moment; None where not believed."""

    at_s: float
    level_pct: float | None
    static_kpa: float | None


@dataclass(frozen=True, slots=True)
class LoopMemory:
    """The coordinator as it knows itself."""

    format: int = FORMAT
    epoch: int = 0
    number: int = 0
    """Leases ever granted; part of their ids."""
    state_seq: int = 0
    begun_s: float = 0.0
    """Begin of the time in which nothing is granted: the last start, or a higher epoch that was seen."""
    now_s: float = 0.0
    leases: Mapping[str, Held] = field(default_factory=dict)
    latches: tuple[LoopLatch, ...] = ()
    sumps_l: Mapping[str, float] = field(default_factory=dict)
    """What has been drained into each sump since it was last said to be empty."""
    learned: Mapping[str, Learned] = field(default_factory=dict)
    droop: float | None = None
    """Header dP that the pumps lose with flow, kPa per (L/min)², learned."""
    hold: Hold | None = None
    home: Home | None = None
    written: Written | None = None
    asked: Mapping[str, float] = field(default_factory=dict)
    """Flow that each rack in service asks for, smoothed, L/min."""
    theirs: bool = False
    """Somebody else has set the set-point: it is not followed while header dP stays in its band."""
    raised: Raised | None = None
    """After a start nobody knows where home was: what is raised then stays until somebody sets it."""
    short_since_s: float | None = None
    enough_since_s: float | None = None
    short: bool = False
    ceilings: Mapping[str, float] = field(default_factory=dict)
    """Flow that each rack may take while it is short, L/min; empty when there is enough."""
    samples: tuple[Sample, ...] = ()
    since_s: Mapping[str, float] = field(default_factory=dict)
    """Since when each condition of a loop event holds."""
    isolated_s: Mapping[str, float] = field(default_factory=dict)
    """Since when each leaking rack is proven isolated."""
    alarms: Mapping[str, AlarmState] = field(default_factory=dict)
    stop: Stop | None = None
    asked_of: Mapping[str, AskedOf] = field(default_factory=dict)

    def latched(self, name: str) -> bool:
        return any(latch.name == name for latch in self.latches)
