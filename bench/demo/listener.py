"""On the bus: remembers what racks and loops say, checks every message against the contract, and asks when told to."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiomqtt

from fieldkit.envelope import PAYLOADS, parse
from fieldkit.errors import Refusal
from fieldkit.topics import Daemon, Kind, parse_topic


@dataclass
class News:
    """What one daemon, a rack's or a loop's, has said so far."""

    state: dict[str, Any] = field(default_factory=dict)
    points: dict[str, dict[str, Any]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    alarms: dict[str, dict[str, Any]] = field(default_factory=dict)
    raised: list[str] = field(default_factory=list)
    """Ids of alarms that became active, in order."""
    online: bool = False

    def facts(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["fact"] == name]


class Listener:
    """Subscribes to the whole tree of one site."""

    def __init__(self, host: str, port: int, site: str, on_event: Callable[[str, dict[str, Any]], None]) -> None:
        self._host, self._port, self._site, self._on_event = host, port, site, on_event
        self.racks: dict[str, News] = {}
        self.loops: dict[str, News] = {}
        self.rackies: dict[str, News] = {}
        """What each rack's Racky says, beside its Valvey in ``racks``."""
        self._nodes = {Daemon.VALVEY: self.racks, Daemon.LOOP: self.loops, Daemon.RACKY: self.rackies}
        self.responses: dict[str, list[dict[str, Any]]] = {}
        """By the request's id, in the order they came."""
        self.observed = 0
        self.invalid = 0
        self.faults: list[str] = []
        self._first: dict[tuple[str, str, str], int] = {}
        self._last: dict[tuple[str, str, str], int] = {}
        self.changed = asyncio.Event()
        self._client: aiomqtt.Client | None = None

    @property
    def published(self) -> int:
        """Messages sent: those seen, and those whose sequence numbers say that they were missed."""
        seen = sum(1 for _ in self._numbered)
        spans = sum(last - self._first[key] + 1 for key, last in self._last.items())
        return self.observed + max(0, spans - seen)

    async def run(self) -> None:
        """Listen until cancelled. Raises aiomqtt.MqttError when the broker goes away."""
        self._numbered: set[tuple[tuple[str, str, str], int]] = set()
        client = aiomqtt.Client(
            self._host, self._port, protocol=aiomqtt.ProtocolVersion.V5, max_queued_incoming_messages=100_000
        )
        async with client:
            self._client = client
            await client.subscribe(f"racky/v1/{self._site}/#", qos=1)
            self.changed.set()
            async for message in client.messages:
                self._take(str(message.topic), bytes(message.payload or b""))

    def _take(self, name: str, payload: bytes) -> None:
        topic = parse_topic(name)
        self.observed += 1
        if topic is None or topic.kind in {Kind.REQUEST, Kind.LEASE}:
            return  # what others ask is theirs to get right; the daemons' own messages are what is judged here
        news = self._nodes[topic.daemon].setdefault(topic.node, News())
        if topic.kind is Kind.ALARM and not payload:
            news.alarms.pop(topic.rest[0], None)
            return
        judged = parse(PAYLOADS[topic.kind], payload)
        if isinstance(judged, Refusal):
            self.invalid += 1
            self.faults.append(f"{name}: {judged.reason}")
            return
        self._note(topic.daemon, topic.node, news, topic.kind, json.loads(payload))
        self.changed.set()

    def _note(self, daemon: Daemon, rack: str, news: News, kind: Kind, document: dict[str, Any]) -> None:
        if kind in {Kind.TELEMETRY, Kind.EVENT}:
            key = (f"{daemon}/{rack}", str(kind), document["boot_id"])
            self._first.setdefault(key, document["seq"])
            self._last[key] = max(self._last.get(key, 0), document["seq"])
            self._numbered.add((key, document["seq"]))
        if kind is Kind.STATE:
            news.state = document
        elif kind is Kind.TELEMETRY:
            news.points = document["points"]
        elif kind is Kind.AVAILABILITY:
            news.online = document["status"] == "online"
        elif kind is Kind.EVENT:
            news.events.append(document)
            self._on_event(f"{rack} Racky" if daemon is Daemon.RACKY else rack, document)
        elif kind is Kind.RESPONSE:
            self.responses.setdefault(str(document["id"]), []).append(document)
        elif kind is Kind.ALARM:
            was = news.alarms.get(document["id"], {}).get("active", False)
            news.alarms[document["id"]] = document
            if document["active"] and not was:
                news.raised.append(document["id"])

    async def publish(self, topic: str, payload: bytes) -> None:
        """Send one message, as any client may. Raises aiomqtt.MqttError while there is no connection."""
        if self._client is None:
            raise aiomqtt.MqttError("not connected")
        await self._client.publish(topic, payload, qos=1)

    async def wait_for(self, holds: Callable[[], bool], within_s: float) -> bool:
        """Wait until ``holds``, looked at with each message; return whether it came true in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                for _ in itertools.count():
                    if holds():
                        return True
                    self.changed.clear()
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(0.1):
                            await self.changed.wait()
        return holds()
