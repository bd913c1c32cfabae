"""The lifecycle's memory, and what passes between it and the shell beside readings. Frozen data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from racky.core.firmware import Order, Update
from racky.core.gates import Evidence
from racky.core.inventory import Identity
from racky.core.lifecycle_chart import State, Step
from racky.core.windows import Window


@dataclass(frozen=True, slots=True)
class Run:
    """A diagnostic that shall run now; one that is wanted no more is stopped. ``key`` is new for every attempt."""

    key: str
    diagnostic: str
    timeout_s: float


class RunStatus(StrEnum):
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class RunTold:
    """How a run stands. ``detail``: its last line, or why it could not start."""

    key: str
    status: RunStatus
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Asking:
    """What is being asked of Valvey, and since when it is accepted."""

    key: str
    request: str
    since_s: float
    accepted_s: float | None = None


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The rack's life as it is remembered.

    since_s, step_s  when the state and the step began
    run              number of the present or last run;  began_s  when it began
    by, why          who asked for it;  boot_id  in which boot of the node: opening work is done in no other; a trip ends it
    refused_at       the state whose gate refused the rack; None while it is not refused
    was              the state before MAINTENANCE;  opened  the coolant was opened meanwhile
    report           the newest evidence of each gate
    admitted         the devices as they were when they were last found right
    updated          device → revision that an update has brought and read back;  update  the one under way
    orders           the last id of an order of any update
    asking           what is asked of Valvey;  asked  how often anything was;  quiet_s  until when nothing is
    set_point        the last one that Valvey accepted of this run; "" = the flow control has FCV-101; "lost" = nobody knows
    windows          what was seen, by name
    diagnosed        diagnostics that have ended: key → (passed, detail)
    remark           what it waits for, for people
    """

    state: State = State.DISCOVERED
    step: Step = Step.IDENTIFY
    since_s: float = 0.0
    step_s: float = 0.0
    run: int = 0
    began_s: float = 0.0
    by: str = ""
    why: str = ""
    boot_id: str = ""
    refused_at: State | None = None
    was: State | None = None
    opened: bool = False
    report: tuple[Evidence, ...] = ()
    admitted: tuple[Identity, ...] = ()
    updated: Mapping[str, str] = field(default_factory=dict)
    update: Update | None = None
    orders: int = 0
    asking: Asking | None = None
    asked: int = 0
    quiet_s: float = 0.0
    set_point: str = ""
    windows: Mapping[str, Window] = field(default_factory=dict)
    diagnosed: Mapping[str, tuple[bool, str]] = field(default_factory=dict)
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the lifecycle wants of the shell: registers of devices that are updated, and commands that run."""

    orders: tuple[Order, ...] = ()
    runs: tuple[Run, ...] = ()
