"""What the coordinator sees: each rack as its messages tell, the CDU as it is read, both only as far as believed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fieldkit.reading import Readings
from valvey.core.chart import State
from valvey.core.loop.limits import LoopLimits, Mode, RackRow
from valvey.core.loop.memory import LoopMemory

#: Tags of the CDU that name its set-points, by the mode that obeys them.
SET_POINT_TAGS: dict[Mode, str] = {
    Mode.FIXED_SPEED: "SP-SPEED",
    Mode.CONSTANT_DP: "SP-DP",
    Mode.CONSTANT_FLOW: "SP-FLOW",
}
SUPPLY_TAG = "SP-SUPPLY"
MODE_TAG = "CDU-MODE"
SPEED_TAG = "P-201"
TRIP_TAG = "P-201-TRIP"
RUN_TAG = "P-201-RUN"
"""The pumps' own command as the CDU holds it: 1 run, 0 stop."""
SHUT = frozenset({State.ISOLATED, State.DRAINING, State.DRAINED, State.TESTING, State.ESD})
"""States of a rack that takes no flow."""
MOVING = frozenset({State.OPENING, State.UNLOADING, State.ISOLATING, State.FILLING})
"""States in which a rack's flow changes by work on it; COOLDOWN too, on its way to an isolation."""
SERVED = frozenset({State.FLOWING, State.UNLOADING})
#: Below this share of its nominal flow a rack counts as still.
STILL_FRACTION = 0.05


@dataclass(frozen=True, slots=True)
class GrantSeen:
    """A lease that a rack's retained state shows."""

    id: str
    epoch: int
    work: str


@dataclass(frozen=True, slots=True)
class RackSeen:
    """One rack as its retained state and its last snapshot tell.

    state     None before the first state message, or when it is of a chart this version does not know
    points    tag → value, only those that the rack itself calls GOOD
    at_s      when the snapshot came, our clock; -inf before the first
    """

    state: State | None = None
    isolate_wanted: bool = False
    emergency: bool = False
    latches: tuple[str, ...] = ()
    grants: tuple[GrantSeen, ...] = ()
    online: bool = False
    points: Mapping[str, float] = field(default_factory=dict)
    at_s: float = float("-inf")


NOT_SEEN = RackSeen()


@dataclass(frozen=True, slots=True)
class LoopView:
    """One step's inputs. ``others`` is True while another coordinator of this loop is heard on the bus."""

    readings: Readings
    racks: Mapping[str, RackSeen]
    memory: LoopMemory
    limits: LoopLimits
    now_s: float
    others: bool = False

    def cdu(self, tag: str) -> float | None:
        """A value of the CDU, when GOOD and fresh."""
        reading = self.readings.get(tag)
        return None if reading is None else reading.usable_value(self.now_s, self.limits.max_age_s)

    def mode(self) -> Mode | None:
        number = self.cdu(MODE_TAG)
        return None if number is None else self.limits.modes.get(round(number))

    def dp_kpa(self) -> float | None:
        """Header difference at the CDU."""
        supply, back = self.cdu("PT-201"), self.cdu("PT-202")
        return None if supply is None or back is None else supply - back

    def set_point(self) -> float | None:
        """The set-point that the present mode obeys, as the CDU's registers hold it."""
        mode = self.mode()
        return None if mode is None else self.cdu(SET_POINT_TAGS[mode])

    def stopped(self) -> bool:
        """Whether the pumps have been told to stand still, by whomever."""
        run = self.cdu(RUN_TAG)
        return run is not None and run < 0.5

    def rack(self, name: str) -> RackSeen:
        return self.racks.get(name, NOT_SEEN)

    def fresh(self, name: str) -> bool:
        """Whether the rack's last snapshot is young enough to be believed."""
        return self.now_s - self.rack(name).at_s <= self.limits.telemetry_age_s

    def point(self, name: str, tag: str) -> float | None:
        """A rack's value, when GOOD there and its snapshot fresh here."""
        return self.rack(name).points.get(tag) if self.fresh(name) else None

    def flow_lpm(self, name: str) -> float | None:
        """Flow through a rack: the mean of its two meters, or the one that is good."""
        flows = [flow for tag in ("FT-101", "FT-102") if (flow := self.point(name, tag)) is not None]
        return sum(flows) / len(flows) if flows else None

    def load_kw(self, name: str) -> float:
        """What the rack draws: the greater of its two meters, its rating when neither is good."""
        loads = [load for tag in ("JT-101", "ET-101") if (load := self.point(name, tag)) is not None]
        return max(loads) if loads else self.limits.racks[name].rating_kw

    def moving(self, name: str) -> bool:
        """Whether work on the rack changes its flow now."""
        seen = self.rack(name)
        if seen.state is State.ISOLATING:
            flow = self.flow_lpm(name)
            return flow is None or flow > STILL_FRACTION * self.limits.racks[name].flow_nominal_lpm
        return seen.state in MOVING or (seen.state is State.COOLDOWN and seen.isolate_wanted)

    def neighbours(self) -> tuple[RackRow, ...]:
        """The racks that are in service and not worked on."""
        return tuple(row for name, row in self.limits.racks.items() if self.rack(name).state is State.FLOWING)
