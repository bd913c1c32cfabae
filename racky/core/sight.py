"""What Racky sees at one moment: its own readings, and what the rack's Valvey and the loop's coordinator tell.

Times are boot-time seconds of Racky's own node. What others tell carries their own clocks; here it has the time at which
it was heard.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fieldkit.alarm import HIDDEN, Phase, Priority
from fieldkit.reading import Readings
from racky.core.firmware import Reply
from racky.core.inventory import Identity
from racky.core.life import RunTold

TOLD_S = 5.0
"""A daemon whose snapshot comes every second, and that has told nothing for so long, is not heard any more."""
ENDED = frozenset({"refused", "succeeded", "failed", "cancelled", "expired"})
"""The statuses after which a request is told of no more."""


@dataclass(frozen=True, slots=True)
class AlarmTold:
    """One standing alarm of another daemon.

    active   its condition holds now; a latched or unacknowledged alarm may stand without
    since_s  since when its condition has held (``raised_wall_s``), not when somebody acknowledged it
    """

    id: str
    active: bool
    phase: Phase
    priority: Priority
    cause: str
    action: str
    since_s: float
    runbook: str = ""

    @property
    def hidden(self) -> bool:
        """Shelved, suppressed or out of service: somebody knows of it, and it is not shown."""
        return self.phase in HIDDEN


@dataclass(frozen=True, slots=True)
class LatchTold:
    """One latch of a Valvey, in first-out order. ``cause`` is its evidence in words."""

    sif: str
    cause: str
    since_s: float


@dataclass(frozen=True, slots=True)
class DaemonTold:
    """What another daemon has told last. An empty one has never been heard.

    online     False: its last will or its goodbye came; None: nothing was heard of it
    offset_s   our boot time less its wall clock; None until it has told one
    heard_s    when a snapshot of its points came last
    state_s    when its state came last
    points     readings by tag, with their age counted back from when they were heard
    locks, bypasses   owners of locks, names of what is bypassed
    power_cap  rows of Valvey's trip table that ask for less power, e.g. ``SIF-3/cap``
    cap_kw     power that the coordinator's flow ceiling of this rack can carry away; None = no ceiling
    """

    online: bool | None = None
    heard_s: float | None = None
    state_s: float | None = None
    state: str | None = None
    step: str | None = None
    since_s: float = 0.0
    state_seq: int = 0
    armed: bool | None = None
    inventory: str | None = None
    tested: bool | None = None
    latches: tuple[LatchTold, ...] = ()
    locks: tuple[str, ...] = ()
    bypasses: tuple[str, ...] = ()
    power_cap: tuple[str, ...] = ()
    cap_kw: float | None = None
    failed: str | None = None
    alarms: Mapping[str, AlarmTold] = field(default_factory=dict)
    points: Readings = field(default_factory=dict)
    offset_s: float | None = None

    def latched(self, sif: str) -> bool:
        return any(one.sif == sif for one in self.latches)

    def active(self, alarm: str) -> bool:
        """Whether the condition of ``alarm`` holds now, hidden or not."""
        one = self.alarms.get(alarm)
        return one is not None and one.active


@dataclass(frozen=True, slots=True)
class AskTold:
    """What came back of something that was asked of Valvey: a response of contract 1.

    key      as in the ``Ask``;  status  as in the envelope, ``expired`` also when nothing came back in time
    """

    key: str
    status: str
    at_s: float
    reason: str = ""
    would_allow: str = ""
    step: str | None = None
    percent: float | None = None
    proof: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        return self.status in ENDED


@dataclass(frozen=True, slots=True)
class Sight:
    """One moment.

    readings   Racky's own field devices, by tag
    max_age_s  by tag: how old a reading may be; the tags of it are all that are configured
    valvey     the rack's guard;  loop: the coordinator, an empty one where the rack has none
    has_loop   whether the configuration names a coordinator
    told       what came back of asks since the last step, in order
    identities what the rack's devices say of themselves, by device;  replies  what came back of orders since the last step
    runs       how the site's diagnostics stand, by key
    """

    now_s: float
    valvey: DaemonTold
    loop: DaemonTold = DaemonTold()
    has_loop: bool = False
    readings: Readings = field(default_factory=dict)
    max_age_s: Mapping[str, float] = field(default_factory=dict)
    told: tuple[AskTold, ...] = ()
    identities: Mapping[str, Identity] = field(default_factory=dict)
    replies: tuple[Reply, ...] = ()
    runs: Mapping[str, RunTold] = field(default_factory=dict)

    def number(self, tag: str) -> float | None:
        """Racky's own reading when it is good and fresh, else None."""
        reading = self.readings.get(tag)
        return None if reading is None else reading.usable_value(self.now_s, self.max_age_s.get(tag, 0.0))

    def on(self, tag: str) -> bool | None:
        """The same of a contact."""
        value = self.number(tag)
        return None if value is None else value >= 0.5

    def guarded(self, tag: str) -> float | None:
        """A reading that Valvey tells, when it is good and Valvey is heard, else None."""
        return self._told(self.valvey, tag)

    def looped(self, tag: str) -> float | None:
        """The same of a reading that the coordinator tells."""
        return self._told(self.loop, tag)

    def _told(self, one: DaemonTold, tag: str) -> float | None:
        reading = one.points.get(tag)
        return None if reading is None or not _heard(one, self.now_s) else reading.usable_value(self.now_s, TOLD_S)

    @property
    def hears_valvey(self) -> bool:
        """Whether Valvey is there and its points are news."""
        return _heard(self.valvey, self.now_s)

    @property
    def hears_loop(self) -> bool:
        return _heard(self.loop, self.now_s)

    def lost(self) -> tuple[str, ...]:
        """Configured tags of Racky's own that cannot be used now."""
        return tuple(tag for tag in self.max_age_s if self.number(tag) is None)


def _heard(one: DaemonTold, now_s: float) -> bool:
    return one.online is True and one.state_s is not None and one.heard_s is not None and now_s - one.heard_s <= TOLD_S
