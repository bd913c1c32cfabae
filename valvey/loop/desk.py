"""The coordinator's desk: contract 1 (MQTT). It tells of each step and hands over what came in.

A granted lease is told once the memory that knows of it is on disk, or not at all: the rack then asks again.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from fieldkit import envelope
from fieldkit.envelope_parts import PointMeta
from fieldkit.letters import Sender
from fieldkit.mqtt_types import Settings
from fieldkit.outbox import Keep, Outgoing
from fieldkit.post import JSON, Post
from fieldkit.reading import Reading
from fieldkit.request import Request
from fieldkit.topics import Kind
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.leases import Reply
from valvey.core.loop.limits import LoopLimits
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.step import LoopScan, state_of
from valvey.loop import sender as payloads
from valvey.loop.hearing import Hearing

if TYPE_CHECKING:
    from fieldkit.mqtt import MqttSession

TELEMETRY_BYTES = 262_144
"""Longest message that is taken: a rack's snapshot of some 2 000 points."""
REPLY_S = 2.0
"""How long a granted lease waits for the disk before it is not told at all."""
REASSERT_S = 5.0
CEILING_FRACTION = 0.01
"""Ceilings are told again when one moved by more than this."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    ticket: int
    at_s: float
    reply: Reply


class LoopDesk(Post):
    """Tells of one loop and takes its messages.

    is_kept    whether the memory of a ticket is on disk; set by whoever keeps it
    client     our name in the topics of racks' requests: the user that the broker knows us by
    now_s      boot time
    """

    def __init__(
        self,
        sender: Sender,
        racks: tuple[str, ...],
        readings: dict[str, Reading],
        limits: LoopLimits,
        points: dict[str, PointMeta],
        memory: LoopMemory,
        *,
        event_seq: int,
        telemetry_s: float,
        now_s: Callable[[], float],
        client: str,
    ) -> None:
        super().__init__(sender, now_s, memory.alarms, lambda: self._memory.state_seq)
        self.event_seq = event_seq
        self.hearing = Hearing(
            sender.site,
            sender.node,
            racks,
            (sender.boot_id, sender.since_wall_s),
            self._inbox(Request, ()),
            now_s,
        )
        self._readings, self._limits, self._points = readings, limits, points
        self._memory, self._telemetry_s = memory, telemetry_s
        self.is_kept: Callable[[int], bool] = lambda _ticket: False
        self._client = client
        self._waiting: deque[_Waiting] = deque()
        self._told_key: tuple[object, ...] = ()
        self._told_ceilings: dict[str, float] = {}
        self._state, self._state_s = state_of(memory, limits, False), memory.now_s
        self._snapshot_s = self._reasserted_s = float("-inf")
        self._telemetry_seq = 0

    @property
    def others(self) -> bool:
        """Whether another coordinator is on the bus, or uses our client id."""
        taken_over = self.session is not None and self.session.status.taken_over
        return taken_over or self.hearing.others

    @property
    def waits(self) -> bool:
        """Whether a granted lease waits for the disk."""
        return bool(self._waiting)

    def connect(self, settings: Settings, notice: Callable[[str, dict[str, object]], None]) -> "MqttSession":
        """Make the session; whoever supervises runs it."""
        settings = replace(settings, max_payload=TELEMETRY_BYTES)
        return self._connect(settings, self.hearing.filters(), self.snapshot, self.hearing.message, notice)

    def tell(self, scan: LoopScan, ticket: int) -> None:
        """Tell of one step whose memory has ``ticket``. Never blocks."""
        self._memory = memory = scan.memory
        now_s = memory.now_s
        for fact in scan.facts:
            self._tell(fact)
        for reply in scan.replies:
            if reply.granted:
                self._waiting.append(_Waiting(ticket, now_s, reply))
            else:
                self._put(self._outgoing(Kind.GRANT, payloads.grant(self._sender, reply), reply.rack, keep=Keep.EVERY))
        for asked in scan.asked:
            where, request = payloads.rack_request(self._sender, self._client, asked, str(uuid4()))
            self._put(Outgoing(where, request.model_dump_json(exclude_none=True).encode(), 1, False, Keep.EVERY, JSON))
        self.release(now_s)
        state = state_of(memory, self._limits, self.others)
        if state is not self._state:
            self._state, self._state_s = state, now_s
        key = (memory.state_seq, state, memory.hold is None, tuple(memory.asked_of))
        if key != self._told_key or self._ceilings_moved(memory):
            self._told_key, self._told_ceilings = key, dict(memory.ceilings)
            self._put(self._outgoing(Kind.STATE, self._state_letter()))
        if self.hearing.reassert and now_s - self._reasserted_s >= REASSERT_S:
            self.hearing.reassert, self._reasserted_s = False, now_s
            self._put(self._availability("online"))
        self._snapshot(now_s)

    def release(self, now_s: float) -> None:
        """Tell the leases that are on disk by now; forget those that did not get there in time."""
        while self._waiting:
            first = self._waiting[0]
            kept = self.is_kept(first.ticket)
            if not kept and now_s - first.at_s < REPLY_S:
                return
            self._waiting.popleft()
            if kept:
                grant = payloads.grant(self._sender, first.reply)
                self._put(self._outgoing(Kind.GRANT, grant, first.reply.rack, keep=Keep.EVERY))

    def snapshot(self) -> Iterable[Outgoing]:
        """What a newcomer must know."""
        yield from self._whole(self._points, self._state_letter(), self._memory.alarms)

    def _state_letter(self) -> envelope.State:
        return payloads.state(self._sender, self._memory, self._limits, self._state_s, self.others)

    def _ceilings_moved(self, memory: LoopMemory) -> bool:
        told = self._told_ceilings
        if memory.ceilings.keys() != told.keys():
            return True
        return any(abs(flow - told[rack]) > CEILING_FRACTION * told[rack] for rack, flow in memory.ceilings.items())

    def _tell(self, fact: LoopFact) -> None:
        self._put(self._outgoing(Kind.EVENT, payloads.event(self._sender, fact, self.event_seq), keep=Keep.EVERY))
        self.event_seq += 1
        if fact.kind is LoopFactKind.ALARM:
            name = str(fact.fields["alarm"])
            self._put(self._alarm(name, self._memory.alarms.get(name)))
        elif fact.kind in {LoopFactKind.ANSWER, LoopFactKind.ENDED}:
            response = payloads.response(self._sender, fact, self._memory.state_seq)
            client, request_id = str(fact.fields["client"]), str(fact.fields["id"])
            self._respond(client, response, self.hearing.inbox.properties_of(client, request_id))

    def _snapshot(self, now_s: float) -> None:
        if now_s - self._snapshot_s < self._telemetry_s:
            return
        self._snapshot_s = now_s
        self._telemetry_seq += 1
        if self.connected:
            told = payloads.telemetry(self._sender, self._readings, self._limits, now_s, self._telemetry_seq)
            self._put(self._outgoing(Kind.TELEMETRY, told))
