"""What health is made of: causes, what they block, and the field's words for it."""

from dataclasses import dataclass
from enum import StrEnum


class Blocks(StrEnum):
    """What a cause forbids."""

    ALLOCATION = "allocation"
    """No new jobs on this rack."""
    POWER_ON = "power_on"
    SERVICE = "service"
    """The rack cannot do its work now."""


class Classification(StrEnum):
    """The field's words (NVIDIA infra-controller): what others shall do about it."""

    PREVENT_ALLOCATIONS = "PreventAllocations"
    PREVENT_HOST_STATE_CHANGES = "PreventHostStateChanges"
    SUPPRESS_EXTERNAL_ALERTING = "SuppressExternalAlerting"
    EXCLUDE_FROM_STATE_MACHINE_SLA = "ExcludeFromStateMachineSla"
    STOP_REBOOT = "StopRebootForAutomaticRecoveryFromStateMachine"
    HARDWARE = "Hardware"
    SENSOR_WARNING = "SensorWarning"
    SENSOR_CRITICAL = "SensorCritical"
    SENSOR_FAILURE = "SensorFailure"


C = Classification
MAINTENANCE = frozenset({C.PREVENT_ALLOCATIONS, C.SUPPRESS_EXTERNAL_ALERTING, C.EXCLUDE_FROM_STATE_MACHINE_SLA})


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that is wrong now.

    name      fills the ``*`` of the row's id; empty where the row has none
    evidence  what was seen, for people
    since_s   since when, where that is told; None: since Racky saw it
    hidden    somebody has shelved its alarm
    explains  what stands behind this one, besides what its row says
    on_s      how long it must be there before it counts; None: as its row says
    """

    name: str = ""
    evidence: str = ""
    since_s: float | None = None
    hidden: bool = False
    explains: tuple[str, ...] = ()
    on_s: float | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause that holds now. ``behind``: id of the cause that explains it, None for a root."""

    id: str
    text: str
    action: str
    evidence: str
    since_s: float
    blocks: frozenset[Blocks]
    classifications: frozenset[Classification]
    behind: str | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Health:
    """The roll-up. ``causes``: roots first, then those behind them; healthy exactly when there is none.

    maintenance  somebody works at the rack: no allocations, no calls outside
    """

    causes: tuple[Cause, ...] = ()
    maintenance: bool = False

    @property
    def healthy(self) -> bool:
        return not self.causes

    @property
    def roots(self) -> tuple[Cause, ...]:
        return tuple(cause for cause in self.causes if cause.behind is None)

    @property
    def blocks(self) -> frozenset[Blocks]:
        """What is forbidden now, by any cause or by maintenance."""
        own = frozenset({Blocks.ALLOCATION} if self.maintenance else ())
        return own.union(*(cause.blocks for cause in self.causes))

    @property
    def classifications(self) -> frozenset[Classification]:
        """The field's words for all that stands; maintenance sets three of them together, as there."""
        own = MAINTENANCE if self.maintenance else frozenset[Classification]()
        return own.union(*(cause.classifications for cause in self.causes))


NOT_JUDGED = Health(
    (
        Cause(
            "not-judged", "health was not judged yet", "wait for the first step", "", 0.0, frozenset(Blocks),
            frozenset({Classification.PREVENT_ALLOCATIONS, Classification.SENSOR_FAILURE}),
        ),
    )
)  # fmt: skip
"""Health before anything was looked at: unknown is never healthy."""
