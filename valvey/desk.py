"""The desk: contract 1 (MQTT), on the loop and never in the scan's way.

Told of each scan by the guard. Facts wait until the memory that knows of them is on disk, at most two seconds; then
they are told all the same, and the storage alarm with them. Publishing is a put into the session's bounded box.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fieldkit import envelope
from fieldkit.envelope_parts import PointMeta
from fieldkit.letters import Sender
from fieldkit.mqtt_types import Incoming, Settings
from fieldkit.outbox import Keep, Outgoing
from fieldkit.post import Post
from fieldkit.reading import Quality, Reading
from fieldkit.request import Kind as Class
from fieldkit.topics import Daemon, Kind, request_filter
from fieldkit.units import Unit
from valvey import letters
from valvey.ceiling_box import CeilingBox
from valvey.core.facts import Fact, FactKind
from valvey.core.leasing import Ask
from valvey.core.limits import Limits
from valvey.core.memory import Memory
from valvey.core.requests import REQUESTS, Request
from valvey.derived import derived
from valvey.done import Done
from valvey.keeper import Keeper, matters
from valvey.lease_box import LeaseBox

if TYPE_CHECKING:
    from fieldkit.mqtt import MqttSession

PATIENCE_S = 2.0
"""How long telling waits for the memory."""
SOONEST_S = 0.1
"""Telemetry on a change of a contact or a quality goes out at most this often."""
LOOK_AGAIN_S = 0.004


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Facts of one scan, and what it asks of the coordinator, to be told once the memory of ``ticket`` is on the disk."""

    ticket: int
    at_s: float
    facts: tuple[Fact, ...]
    memory: Memory
    asks: tuple[Ask, ...]


SAFER = tuple(row.name for row in REQUESTS.values() if row.kind is Class.SAFER)
"""Requests that make things safer: heard first."""


@dataclass(slots=True)
class DeskCounters:
    """Totals since start."""

    events: int = 0
    snapshots: int = 0
    told_before_kept: int = 0
    """Facts that were told although their memory was not on disk in time."""


class Desk(Post):
    """Tells of one rack and takes its requests.

    readings    the shared readings, looked at when a snapshot is due; get what the coordinator leaves the rack
    event_seq   number of the first event
    now_s       boot time
    loop        name of the loop's coordinator; None = the rack has none
    """

    def __init__(
        self,
        sender: Sender,
        readings: dict[str, Reading],
        limits: Limits,
        points: dict[str, PointMeta],
        memory: Memory,
        *,
        event_seq: int,
        telemetry_s: float,
        now_s: Callable[[], float],
        loop: str | None = None,
    ) -> None:
        super().__init__(sender, now_s, memory.alarms, lambda: self._memory.state_seq)
        self.counters = DeskCounters()
        self.event_seq = event_seq
        self.keeper: Keeper | None = None
        self.inbox = self._inbox(Request, SAFER)
        self.leases = LeaseBox(sender.site, loop, sender.node, sender.simulated)
        boxes = (self.leases, CeilingBox(sender.site, loop, sender.node, readings, now_s))
        self._boxes = {topic: box for box in boxes for topic in box.filters()}
        self._readings, self._limits, self._points = readings, limits, points
        self._memory, self._told_key = memory, _state_key(memory)
        self._telemetry_s = telemetry_s
        self._waiting: deque[_Waiting] = deque()
        self._snapshot_s = self._looked_s = float("-inf")
        self._shown: dict[str, tuple[Quality, float | None]] = {}
        self._telemetry_seq = 0
        self._look_again: asyncio.TimerHandle | None = None

    def connect(self, settings: Settings, notice: Callable[[str, dict[str, object]], None]) -> "MqttSession":
        """Make the session; whoever supervises runs it."""
        if self._boxes:
            settings = replace(settings, max_payload=envelope.MESSAGE_BYTES)
        topics = [request_filter(self._sender.site, self._sender.node, Daemon.VALVEY), *self._boxes]
        return self._connect(settings, topics, self.snapshot, self.message, notice)

    def message(self, incoming: Incoming) -> None:
        """Take one message. Never raises for what is in it."""
        self._boxes.get(incoming.topic, self.inbox).message(incoming)

    def __call__(self, done: Done) -> None:
        """Take note of one scan."""
        memory, facts, asks = done.scan.memory, done.scan.facts, done.scan.asks
        self._memory = memory
        if facts or asks:
            self.event_seq += len(facts)
            ticket = self.keeper.ticket if self.keeper is not None else 0
            self._waiting.append(_Waiting(ticket, done.now_s, facts, memory, asks))
        if self._waiting:
            self.release(done.now_s)
        if _state_key(memory) != self._told_key and not self._waiting:
            self._tell_state()
        self._look(done.now_s)

    @property
    def has_news(self) -> bool:
        """Whether facts wait for their memory."""
        return bool(self._waiting)

    def release(self, now_s: float) -> None:
        """Tell the facts whose memory is on disk, or has not got there in time; in order."""
        told = False
        while self._waiting:
            first = self._waiting[0]
            if self.keeper is not None and not self.keeper.is_kept(first.ticket):
                if now_s - first.at_s < PATIENCE_S:
                    break
                self.counters.told_before_kept += len(first.facts)
            seq = self.event_seq - sum(len(one.facts) for one in self._waiting)
            self._waiting.popleft()
            for number, fact in enumerate(first.facts):
                self._tell(fact, first.memory, seq + number)
            if self.connected:
                for letter in self.leases.letters(first.asks):
                    self._put(letter)
            told = True
        if told and not self._waiting:
            self._tell_state()
        if self._waiting and self._look_again is None:
            self._look_again = asyncio.get_running_loop().call_later(LOOK_AGAIN_S, self._again)

    def _again(self) -> None:
        """Between two scans: an answer does not wait for the next one when the disk was quick."""
        self._look_again = None
        self.release(self._now_s())

    def snapshot(self) -> Iterable[Outgoing]:
        """What a newcomer must know: meta, state, every standing alarm, and which of those told have ended."""
        yield from self._whole(self._points, letters.state(self._sender, self._memory), self._memory.alarms)

    def _tell(self, fact: Fact, memory: Memory, seq: int) -> None:
        self.counters.events += 1
        self._put(self._outgoing(Kind.EVENT, letters.event(self._sender, fact, seq), keep=Keep.EVERY))
        if fact.kind is FactKind.ALARM:
            name = str(fact.fields["alarm"])
            self._put(self._alarm(name, memory.alarms.get(name)))
        if fact.kind in {FactKind.ANSWER, FactKind.PROGRESS, FactKind.ENDED}:
            client, request_id = str(fact.fields["client"]), str(fact.fields["id"])
            pending = any(one.id == request_id for one in memory.pending)
            for response in letters.responses(self._sender, fact, pending):
                self._respond(client, response, self.inbox.properties_of(client, request_id))

    def _tell_state(self) -> None:
        self._told_key = _state_key(self._memory)
        self._put(self._outgoing(Kind.STATE, letters.state(self._sender, self._memory)))

    def _look(self, now_s: float) -> None:
        """Send a snapshot when it is due, or soon after a contact or a quality has changed."""
        due = now_s - self._snapshot_s >= self._telemetry_s
        if not due and now_s - self._looked_s < SOONEST_S:
            return
        self._looked_s = now_s
        if not (self._changed() or due):
            return
        self._snapshot_s = now_s
        self._telemetry_seq += 1
        self.counters.snapshots += 1
        if self.connected:
            shown = self._readings | derived(self._readings, self._memory, self._limits, now_s)
            payload = letters.telemetry(self._sender, shown, self._limits, now_s, self._telemetry_seq)
            self._put(self._outgoing(Kind.TELEMETRY, payload))

    def _changed(self) -> bool:
        """Whether a contact has switched or a quality has changed since the last look."""
        shown = {
            tag: (reading.quality, reading.value if reading.unit is Unit.NONE else None)
            for tag, reading in self._readings.items()
        }
        if shown == self._shown:
            return False
        self._shown = shown
        return True


def _state_key(memory: Memory) -> tuple[object, ...]:
    """What of the memory the state message shows."""
    lease = (memory.leasing.until_s, memory.leasing.refusal)
    return (matters(memory), memory.would_trip, memory.readable, letters.flow_key(memory), lease)
