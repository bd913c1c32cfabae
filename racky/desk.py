"""Racky's desk: contract 1 (MQTT). It tells of each step, sends what is asked of Valvey, and hands over what came in."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from fieldkit import envelope, letters
from fieldkit.envelope_parts import PointMeta
from fieldkit.letters import Sender
from fieldkit.mqtt_types import Settings
from fieldkit.outbox import Keep, Outgoing
from fieldkit.post import JSON, Post
from fieldkit.reading import Reading
from fieldkit.request import Request
from fieldkit.topics import Kind
from racky import sender as payloads
from racky.asker import Asker
from racky.core.causes import NOT_JUDGED
from racky.core.facts import Fact, FactKind
from racky.core.lifecycle_progress import Progress
from racky.core.memory import Memory
from racky.core.setup import Setup
from racky.core.step import Scan
from racky.hearing import Hearing

if TYPE_CHECKING:
    from fieldkit.mqtt import MqttSession

_TOLD = frozenset({FactKind.ANSWER, FactKind.ENDED})
SAFER = ("power_off", "cap", "quarantine")
"""Heard first; whether a cap is one that makes things safer is judged by what it would change."""
_GONE = frozenset({"mqtt_unreachable", "mqtt_refused"})


class Desk(Post):
    """Tells of one rack and takes its messages.

    max_age_s  by tag: how old a reading may be
    client     our name in Valvey's topics: the user that the broker knows us by
    loop       name of the coordinator; None = the rack has none
    now_s      boot time
    """

    def __init__(
        self,
        sender: Sender,
        readings: dict[str, Reading],
        max_age_s: dict[str, float],
        setup: Setup,
        points: dict[str, PointMeta],
        memory: Memory,
        *,
        event_seq: int,
        telemetry_s: float,
        now_s: Callable[[], float],
        client: str,
        loop: str | None,
    ) -> None:
        super().__init__(sender, now_s, memory.alarms, lambda: self._memory.state_seq)
        self.event_seq = event_seq
        self.hearing = Hearing(
            sender.site,
            sender.node,
            loop,
            Asker(sender.site, sender.node, client),
            client,
            self._inbox(Request, SAFER),
            now_s,
        )
        self._readings, self._max_age_s, self._setup, self._points = readings, max_age_s, setup, points
        self._memory, self._health = memory, NOT_JUDGED
        self._progress: Progress | None = None
        self._telemetry_s = telemetry_s
        self._told_key: tuple[object, ...] = ()
        self._snapshot_s = float("-inf")
        self._telemetry_seq = 0

    def connect(self, settings: Settings, notice: Callable[[str, dict[str, object]], None]) -> "MqttSession":
        """Make the session; whoever supervises runs it."""

        def noticed(event: str, fields: dict[str, object]) -> None:
            if event in _GONE:
                self.hearing.forget_alarms()
            notice(event, fields)

        settings = replace(settings, max_payload=envelope.MESSAGE_BYTES)
        return self._connect(settings, self.hearing.filters(), self.snapshot, self.hearing.message, noticed)

    def tell(self, scan: Scan) -> None:
        """Tell of one step. Never blocks."""
        self._memory, self._health = memory, health = scan.memory, scan.health
        self._progress = scan.progress
        now_s = memory.now_s
        for fact in scan.facts:
            self._tell(fact)
        for where, request in self.hearing.asker.send(scan.asks, now_s):
            payload = request.model_dump_json(exclude_none=True).encode()
            self._put(Outgoing(where, payload, 1, False, Keep.EVERY, JSON))
        key = payloads.state_key(memory, health, scan.progress)
        if key != self._told_key:
            self._told_key = key
            self._put(self._outgoing(Kind.STATE, self._state()))
        self._snapshot(now_s)

    def snapshot(self) -> Iterable[Outgoing]:
        """What a newcomer must know."""
        yield from self._whole(self._points, self._state(), self._memory.alarms)

    def _state(self) -> envelope.State:
        return payloads.state(self._sender, self._memory, self._health, self._setup, self._progress)

    def _tell(self, fact: Fact) -> None:
        self._put(self._outgoing(Kind.EVENT, payloads.event(self._sender, fact, self.event_seq), keep=Keep.EVERY))
        self.event_seq += 1
        if fact.kind is FactKind.ALARM:
            name = str(fact.fields["alarm"])
            self._put(self._alarm(name, self._memory.alarms.get(name)))
        elif fact.kind in _TOLD:
            client, request_id = str(fact.fields["client"]), str(fact.fields["id"])
            pending = any(one.id == request_id for one in self._memory.pending)
            asked = self.hearing.inbox.properties_of(client, request_id)
            for response in payloads.responses(self._sender, fact, pending):
                self._respond(client, response, asked)

    def _snapshot(self, now_s: float) -> None:
        if now_s - self._snapshot_s < self._telemetry_s:
            return
        self._snapshot_s = now_s
        self._telemetry_seq += 1
        if self.connected:
            ages = self._max_age_s
            told = letters.telemetry(
                self._sender, self._readings, lambda tag: ages.get(tag, float("inf")), now_s, self._telemetry_seq
            )
            self._put(self._outgoing(Kind.TELEMETRY, told))
