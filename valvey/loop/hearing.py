"""What comes from the bus: racks' states and snapshots, their asks, people's requests, and other coordinators."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from fieldkit import envelope
from fieldkit.errors import Refusal
from fieldkit.inbox import Inbox
from fieldkit.mqtt_types import Incoming
from fieldkit.reading import Quality
from fieldkit.request import Request
from fieldkit.topics import Daemon, Kind, Topic, parse_topic
from valvey.core.chart import State
from valvey.core.leasing import Act
from valvey.core.loop.dew import AIR_TAG, HUMIDITY_TAG
from valvey.core.loop.leases import Asked
from valvey.core.loop.seen import GrantSeen, RackSeen

ROOM = frozenset({AIR_TAG, HUMIDITY_TAG})
ROOM_S = 10.0
"""How long the air at a rack is believed: it changes slowly."""
MOST_WAITING = 256
"""Asks that wait for one step."""
OTHERS_S = 20.0
"""How long another coordinator counts as alive after its last sign of life: the two answer each other every 5 s."""
_TOLD: dict[Kind, type[envelope.State | envelope.Telemetry | envelope.Availability]] = {
    Kind.STATE: envelope.State,
    Kind.TELEMETRY: envelope.Telemetry,
    Kind.AVAILABILITY: envelope.Availability,
}


@dataclass(slots=True)
class HeardCounters:
    """Totals since start."""

    snapshots: int = 0
    asks: int = 0
    strange: int = 0
    """Messages that could not be believed, and retained ones where none may be."""


class Hearing:
    """Takes every message of one loop's subscriptions.

    me     boot id and start of this process, as its own birth message tells them
    inbox  takes people's requests
    """

    def __init__(
        self,
        site: str,
        loop: str,
        racks: tuple[str, ...],
        me: tuple[str, float],
        inbox: Inbox[Request],
        now_s: Callable[[], float],
    ) -> None:
        self.racks: dict[str, RackSeen] = {name: RackSeen() for name in racks}
        self.counters = HeardCounters()
        self.reassert = False
        """Another coordinator was heard: say again that we are here."""
        self._site, self._loop, self._me = site, loop, me
        self.inbox, self._now_s = inbox, now_s
        self._asks: deque[Asked] = deque(maxlen=MOST_WAITING)
        self._rooms: dict[str, tuple[float, dict[str, float]]] = {}
        self._others_until_s = float("-inf")

    @property
    def others(self) -> bool:
        """Whether another coordinator of this loop is alive on the bus."""
        return self._now_s() < self._others_until_s

    def filters(self) -> list[str]:
        """The subscriptions that bring all of it."""
        base = f"racky/v1/{self._site}"
        racks = [
            f"{base}/{rack}/valvey/{kind}" for rack in self.racks for kind in ("state", "telemetry", "availability")
        ]
        rooms = [f"{base}/{rack}/racky/telemetry" for rack in self.racks]
        own = f"{base}/{self._loop}/loop"
        return [*racks, *rooms, f"{own}/lease/+", f"{own}/request/+/+", f"{own}/availability"]

    def take_asks(self) -> tuple[Asked, ...]:
        asks = tuple(self._asks)
        self._asks.clear()
        return asks

    def message(self, incoming: Incoming) -> None:
        """Take one message. Never raises for what is in it."""
        topic = parse_topic(incoming.topic)
        if topic is None or topic.site != self._site:
            self.counters.strange += 1
        elif topic.daemon is Daemon.VALVEY and topic.node in self.racks:
            self._rack(topic, incoming)
        elif topic.daemon is Daemon.RACKY and topic.node in self.racks and topic.kind is Kind.TELEMETRY:
            self._room(topic.node, incoming)
        elif topic.daemon is Daemon.LOOP and topic.node == self._loop:
            self._own(topic, incoming)
        else:
            self.counters.strange += 1

    def _rack(self, topic: Topic, incoming: Incoming) -> None:
        if not incoming.payload:
            return  # a retained message that was cleared
        seen = self.racks[topic.node]
        model = _TOLD.get(topic.kind)
        told = None if model is None else envelope.parse(model, incoming.payload)
        if isinstance(told, envelope.Telemetry):
            self.counters.snapshots += 1
            now_s = self._now_s()
            heard_s, room = self._rooms.get(topic.node, (float("-inf"), {}))
            seen = replace(seen, points={**(room if now_s - heard_s <= ROOM_S else {}), **_good(told)}, at_s=now_s)
        elif isinstance(told, envelope.State):
            seen = _as_told(seen, told)
        elif isinstance(told, envelope.Availability):
            seen = replace(seen, online=told.status == "online")
        else:
            self.counters.strange += 1
        self.racks[topic.node] = seen

    def _room(self, rack: str, incoming: Incoming) -> None:
        """Keep what a rack's Racky reads of the room's air: it stands among the rack's points from its next snapshot on."""
        told = envelope.parse(envelope.Telemetry, incoming.payload)
        if isinstance(told, Refusal):
            self.counters.strange += 1
        else:
            self._rooms[rack] = self._now_s(), {tag: value for tag, value in _good(told).items() if tag in ROOM}

    def _own(self, topic: Topic, incoming: Incoming) -> None:
        if topic.kind is Kind.LEASE:
            self._lease(topic.rest[0], incoming)
        elif topic.kind is Kind.REQUEST:
            self.inbox.message(incoming)
        elif topic.kind is Kind.AVAILABILITY:
            self._availability(incoming)

    def _lease(self, rack: str, incoming: Incoming) -> None:
        told = envelope.parse(envelope.Lease, incoming.payload)
        if isinstance(told, Refusal) or incoming.retain:
            self.counters.strange += 1
            return
        self.counters.asks += 1
        self._asks.append(Asked(rack, told.ask_id, Act(told.act), told.work, told.grant_id, told.epoch))

    def _availability(self, incoming: Incoming) -> None:
        """Our own birth comes back here too. A retained one of another process may be long dead: only live ones count."""
        told = envelope.parse(envelope.Availability, incoming.payload)
        if isinstance(told, Refusal) or incoming.retain or (told.boot_id, told.since_wall_s) == self._me:
            return
        self.reassert = True  # its message has taken the place of ours
        self._others_until_s = self._now_s() + OTHERS_S if told.status == "online" else float("-inf")


def _good(told: envelope.Telemetry) -> dict[str, float]:
    return {t: p.value for t, p in told.points.items() if p.quality is Quality.GOOD and p.value is not None}


def _as_told(seen: RackSeen, told: envelope.State) -> RackSeen:
    known = told.state in set(State)
    return replace(
        seen,
        state=State(told.state) if known else None,
        isolate_wanted=told.detail.get("isolate_wanted") is True,
        emergency=told.detail.get("emergency") is True,
        latches=tuple(latch.sif for latch in told.latches),
        grants=tuple(GrantSeen(one.id, one.epoch, one.work) for one in told.grants),
    )
