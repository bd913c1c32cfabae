"""Memory: all that one scan hands to the next, and all of it survives a restart.

Times ending in ``_s`` are boot-time seconds (they go on counting while suspended, and start again with a new
boot); ``boot_id`` says which boot they belong to.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fieldkit.alarm import AlarmState
from fieldkit.request import Answered
from valvey.core.chart import State, Step
from valvey.core.flow_state import Steering
from valvey.core.leasing import Leasing
from valvey.core.verdict import Timer
from valvey.core.virtual_sensors import VirtualSensors

FORMAT = 2


class Effect(StrEnum):
    """What a trip does. NONE latches and tells only."""

    NONE = "NONE"
    DARK = "DARK"
    ISOLATE = "ISOLATE"
    ESD = "ESD"


class Inventory(StrEnum):
    """How much coolant the rack holds, as far as is known."""

    FULL = "full"
    PART = "part"
    EMPTY = "empty"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Latch:
    """A trip that stands until a person resets it.

    sif     what must be named in the reset: ``SIF-4``, ``OPEN_LOST``, ``ADOPTED`` …
    row     the row of the trip table, where it differs: ``SIF-4/low``
    at_s    when it latched;  sample_s  the sample time of its evidence (orders the first-out)
    tag, value, limit, held_s  the evidence
    """

    sif: str
    row: str
    effect: Effect
    at_s: float
    sample_s: float
    tag: str = ""
    value: float | None = None
    limit: float | None = None
    held_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Lock:
    """An administrative lock: forbids opening, filling and a rise of the permit."""

    owner: str
    why: str
    since_s: float
    client: str = ""
    """Client that placed it; it may also remove it."""


@dataclass(frozen=True, slots=True)
class Bypass:
    """A bounded bypass of one SIF or detector."""

    name: str
    by: str
    why: str
    since_s: float
    until_s: float


@dataclass(frozen=True, slots=True)
class Pending:
    """An accepted request whose end is still to come."""

    id: str
    client: str
    request: str
    since_s: float
    told: str = ""
    """The step and the tenth of the way that were told last."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that is answered once the coordinator has said whether its work may begin. Fields as in ``Request``."""

    id: str
    name: str
    role: str
    client: str
    args: Mapping[str, bool | int | float | str]
    by: str
    why: str
    expect_seq: int | None
    since_s: float


@dataclass(frozen=True, slots=True)
class Sighting:
    """How often a tag has been seen good since STARTUP began (adoption needs two samples)."""

    at_s: float
    count: int


@dataclass(frozen=True, slots=True)
class Work:
    """What a drain, a fill or a test has seen. Litres, kPa (gauge), degC, L/min.

    at_s        when it was last looked at
    full        the rack was known to be full when the work began
    litres      passed so far: out through FT-103, in through FT-101
    over_l      of these, those that passed after the rack was seen to be full
    flowed      liquid has run out
    waited_s    spent waiting for the sump
    kpa         PT-101 and PT-102, smoothed
    celsius     mean of supply and return temperature, smoothed
    mark_s      since when the present watch counts; the values that it began with stand beside it
    flow        the present block of flow samples: seconds, mean, sum of squares about it
    noise       standard deviation of the last full block of flow, as a share of its mean
    since_s     since when each sign of failure has held, by name
    """

    at_s: float
    full: bool = False
    litres: float = 0.0
    over_l: float = 0.0
    flowed: bool = False
    waited_s: float = 0.0
    kpa: tuple[float | None, float | None] = (None, None)
    celsius: float | None = None
    mark_s: float | None = None
    mark_kpa: tuple[float | None, float | None] = (None, None)
    mark_c: float | None = None
    flow: tuple[float, float, float] = (0.0, 0.0, 0.0)
    noise: float | None = None
    since_s: Mapping[str, float] = field(default_factory=dict)


#: A partial stroke is over by then: the device's 1.5 s, and the age of what is read of it.
STROKE_S = 2.0
#: Outcome of a stroke that the rack left FLOWING in; its device goes on with it.
INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Stroke:
    """A partial stroke in service, the last one or the present one.

    valve     "101" or "102"
    since_s   when it was commanded
    begun     something was seen of it;  left  the valve's open limit was seen to break
    outcome   a name of ``stroking.OUTCOMES``; None while it runs
    """

    valve: str
    since_s: float
    begun: bool = False
    left: bool = False
    outcome: str | None = None


@dataclass(frozen=True)  # no slots: it is copied a dozen times in a scan, see fieldkit.frozen
class Memory:
    """The rack as Valvey knows it. See the module docstring for times."""

    format: int = FORMAT
    boot_id: str = ""
    state: State = State.STARTUP
    step: Step = Step.ADOPT
    since_s: float = 0.0
    step_since_s: float = 0.0
    now_s: float = 0.0
    state_seq: int = 0
    was: State | None = None
    """State before the last STARTUP; None when it could not be read."""
    readable: bool = True
    """Whether this start could read its memory."""
    armed: bool = False
    armed_since_s: float = 0.0
    timers: Mapping[str, Timer] = field(default_factory=dict)
    latches: tuple[Latch, ...] = ()
    locks: tuple[Lock, ...] = ()
    bypasses: tuple[Bypass, ...] = ()
    inventory: Inventory = Inventory.UNKNOWN
    tested: bool = False
    emergency: bool = False
    """The present isolation was a trip, not planned work: the return valve does not wait for the flow to stop."""
    isolate_wanted: bool = False
    """COOLDOWN goes on to ISOLATING by its steps."""
    asked_in_startup: bool = False
    """``isolate_wanted`` was asked for while the rack was being adopted."""
    unload_overdue: bool = False
    """The last unloading was given up."""
    cool_overdue: bool = False
    """The last cooling before an isolation took too long."""
    forced: bool = False
    """UNLOADING goes on although the power is not known: somebody said so."""
    fcv_pct: float = 0.0
    """The position that Throttle.KEEP asks of FCV-101."""
    steering: Steering | None = None
    """The flow control, once the rack has been in service; it has FCV-101 while the permit is on."""
    fcv_from_pct: float = 0.0
    """Where the ramp of COOLDOWN began."""
    shut_since_s: float | None = None
    """Since when XV-101 and XV-102 have both been demanded shut."""
    permit_off_since_s: float | None = None
    """Since when the permit has been demanded off."""
    steady_since_s: float | None = None
    """Since when the condition that ends the present step has held."""
    adopted_s: float | None = None
    """When adoption ended; holds are short for the first 5 s after it."""
    permit_rise_s: float | None = None
    """When FLOWING was entered by a rise of the permit; None after an adoption."""
    header_ref_kpa: tuple[float, float] | None = None
    """(PT-101, PT-201) when the valves had to be shut; SIF-9 watches whether the rack still follows the header."""
    return_ref_kpa: tuple[float, float] | None = None
    """The same with the return header: (PT-101, PT-202)."""
    sightings: Mapping[str, Sighting] = field(default_factory=dict)
    starts_s: tuple[float, ...] = ()
    """Times of recent starts that 60 s of FLOWING have not made good."""
    power_cap: tuple[str, ...] = ()
    """Rows that ask for a power cap now."""
    evidence_s: Mapping[str, float] = field(default_factory=dict)
    """Tray leak flags from IT: until when each counts as wet."""
    leasing: Leasing = field(default_factory=Leasing)
    """What was asked of the loop's coordinator, and what it answered."""
    grant: str | None = None
    """The lease that counts now: ``leasing.grant_id`` until it runs out."""
    waiting: Waiting | None = None
    uncoordinated: bool = False
    """The present planned isolation goes on without a lease."""
    leased: bool = False
    """The present work began under a grant and ends with it."""
    work: Work | None = None
    """What the present drain, fill or test has seen."""
    failed: str | None = None
    """What ended the last planned work, by its name in ``failures.FAILURES``; None once new work begins."""
    stroke: Stroke | None = None
    """The last partial stroke."""
    would_trip: tuple[str, ...] = ()
    """Rows that would have tripped, but only tell: shadow rows, and every row of a disarmed rack."""
    sensors: VirtualSensors = field(default_factory=VirtualSensors)
    """What the virtual sensors have learned and suspect."""
    sensors_s: float = 0.0
    """When they looked last."""
    lost_s: Mapping[str, float] = field(default_factory=dict)
    """Since when each tag that cannot be believed is lost."""
    alarms_s: float = 0.0
    """When the alarms' conditions were last looked at."""
    answered: tuple[Answered, ...] = ()
    pending: tuple[Pending, ...] = ()
    alarms: Mapping[str, AlarmState] = field(default_factory=dict)

    def stroking(self, now_s: float) -> str | None:
        """Number of the isolation valve that the valve controller strokes now, whatever became of the test; None = neither."""
        stroke = self.stroke
        if stroke is None or stroke.outcome not in {None, INTERRUPTED}:
            return None
        return stroke.valve if 0.0 <= now_s - stroke.since_s <= STROKE_S else None

    def latched(self, sif: str) -> bool:
        return any(latch.sif == sif for latch in self.latches)

    def has(self, *effects: Effect) -> bool:
        """Whether a latch of one of these classes stands."""
        return any(latch.effect in effects for latch in self.latches)
