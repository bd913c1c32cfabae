"""Requests as they come in: judged by topic, retained flag, size and schema, then handed to the next scan.

Whatever has an address gets an answer; nothing in here acts. Which request may do what is the core's matter.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from fieldkit import envelope
from fieldkit.errors import Refusal
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Properties
from fieldkit.topics import Daemon, Kind, Topic, parse_topic

MOST_WAITING = 64
"""Requests of each class that wait for one scan; more are refused as busy. A SAFER one is taken all the same unless its
like waits already, which does what it wants."""
MOST_A_SCAN = 64
"""Messages that are read between two scans. What comes on top of them is not looked into, unless it names something
SAFER that nobody has asked for yet: a flood must not take the time of the scan."""
MOST_REMEMBERED = 512
FUTURE_S = 5.0
"""A request may be dated this far ahead of our clock."""


@dataclass(slots=True)
class InboxCounters:
    """Totals since start."""

    taken: int = 0
    refused: int = 0
    strange: int = 0
    """Messages without an address to answer to."""
    flooded: int = 0
    """Messages that were not looked into."""


class Named(Protocol):
    """A request as the daemon's core has it."""

    @property
    def name(self) -> str: ...


R = TypeVar("R", bound=Named)


class Inbox(Generic[R]):
    """Takes messages of one daemon's request topics and keeps what the next scan has to hear.

    make         makes the core's own request; called with id, name, role, client, args, by, why, expect_seq, expired
    safer        names of requests that make things safer: they are heard first
    refuse       sends an answer: client, refusal, and the properties of the message
    wall_s       wall time; ``synced`` says whether it may be believed
    """

    def __init__(
        self,
        site: str,
        node: str,
        daemon: Daemon,
        *,
        make: Callable[..., R],
        safer: Iterable[str],
        refuse: Callable[[str, Refusal, Properties], None],
        wall_s: Callable[[], float],
        synced: Callable[[], bool],
    ) -> None:
        self.counters = InboxCounters()
        self._place = (Kind.REQUEST, site, node, daemon)
        self._make, self._marks = make, {name: f'"{name}"'.encode() for name in safer}
        self._refuse, self._wall_s, self._synced = refuse, wall_s, synced
        self._safer: deque[R] = deque()
        self._others: deque[R] = deque()
        self._heard = 0
        self._told_busy: set[str] = set()
        self._properties: OrderedDict[tuple[str, str], Properties] = OrderedDict()

    def take(self) -> tuple[R, ...]:
        """What was asked since the last call, SAFER first."""
        if self._heard:
            self._heard = 0
            self._told_busy.clear()
        if not self._safer and not self._others:
            return ()
        requests = (*self._safer, *self._others)
        self._safer.clear()
        self._others.clear()
        return requests

    def put(self, request: R) -> None:
        """Take a request of this process' own making."""
        self._safer.append(request)

    def properties_of(self, client: str, request_id: str) -> Properties | None:
        """The MQTT 5 properties that a recent request came with."""
        return self._properties.get((client, request_id))

    def message(self, incoming: Incoming) -> None:
        """Judge one message of a request topic. Never raises for what is in it."""
        topic = parse_topic(incoming.topic)
        if topic is None or not self._ours(topic):
            self.counters.strange += 1
            return
        role, client = topic.rest
        self._heard += 1
        if self._heard > MOST_A_SCAN and not self._urgent(incoming.payload):
            self._flooded(client, incoming.properties)
            return
        problem, request = self._read(incoming)
        if request is None:
            self._no(client, problem, incoming.properties)
            return
        self._remember(client, request.id, incoming.properties)
        queue = self._safer if request.request in self._marks else self._others
        alone = queue is self._safer and all(waiting.name != request.request for waiting in queue)
        if len(queue) >= MOST_WAITING and not alone:
            busy = f"{MOST_WAITING} requests wait for the next scan already"
            self._no(client, Refusal("busy", busy, "ask again a little later", request.id), incoming.properties)
            return
        self.counters.taken += 1
        queue.append(
            self._make(
                id=request.id,
                name=request.request,
                role=role,
                client=client,
                args=request.args,
                by=request.by or "",
                why=request.why or "",
                expect_seq=request.expect_seq,
                expired=self._expired(request),
            )
        )

    def _urgent(self, payload: bytes) -> bool:
        waiting = {request.name for request in self._safer}
        return any(mark in payload for name, mark in self._marks.items() if name not in waiting)

    def _flooded(self, client: str, properties: Properties) -> None:
        """Count it, and answer each client once between two scans."""
        self.counters.flooded += 1
        if client not in self._told_busy:
            self._told_busy.add(client)
            busy = f"more than {MOST_A_SCAN} messages came between two scans"
            self._no(client, Refusal("busy", busy, "fewer requests a second"), properties)

    def _ours(self, topic: Topic) -> bool:
        return (topic.kind, topic.site, topic.node, topic.daemon) == self._place

    def _read(self, incoming: Incoming) -> tuple[Refusal, envelope.Request | None]:
        if incoming.too_long:
            length = f"the payload has {incoming.too_long} bytes"
            return Refusal("too_long", length, f"at most {envelope.REQUEST_BYTES} bytes"), None
        parsed = envelope.parse_request(incoming.payload)
        if isinstance(parsed, Refusal):
            return parsed, None
        if incoming.retain:
            reason = "the request is a retained message: nobody asks for it now"
            return Refusal("retained", reason, "the same, sent without the retain flag", parsed.id), None
        return Refusal("", "", ""), parsed

    def _expired(self, request: envelope.Request) -> bool | None:
        """Whether it is too old or from the future; None when the clock cannot say."""
        issued_s, expires_s = request.issued_at, request.expires_at
        if issued_s is None and expires_s is None:
            return False
        if not self._synced():
            return None
        now_s = self._wall_s()
        future = issued_s is not None and _seconds(issued_s) > now_s + FUTURE_S
        return future or (expires_s is not None and _seconds(expires_s) < now_s)

    def _remember(self, client: str, request_id: str, properties: Properties) -> None:
        self._properties[client, request_id] = properties
        if len(self._properties) > MOST_REMEMBERED:
            self._properties.popitem(last=False)

    def _no(self, client: str, refusal: Refusal, properties: Properties) -> None:
        self.counters.refused += 1
        self._refuse(client, refusal, properties)


def _seconds(time: object) -> float:
    if not isinstance(time, int | float):
        raise TypeError(f"the schema turns times into seconds, not {type(time).__name__}")
    return float(time)
