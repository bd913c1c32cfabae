"""MQTT: the only place that knows aiomqtt. A session that is never given up and never in anybody's way.

Publishing is a put into a bounded box; one task empties it. A new client is made for each attempt (one that failed
never connects again), subscriptions are made once per connection, then the birth message, then a full snapshot.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress

import aiomqtt
from paho.mqtt.client import MQTTv5
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties as PahoProperties
from paho.mqtt.reasoncodes import ReasonCode

from fieldkit.backoff import Backoff
from fieldkit.canary import Canary, CanaryWatch
from fieldkit.drain import WINDOW, drain
from fieldkit.flush import PromptWriter
from fieldkit.mqtt_types import Incoming, Quarrel, Settings, Status
from fieldkit.outbox import Keep, Outbox, Outgoing, Properties

_AUTH_CODES, _TAKEN_OVER = frozenset({0x86, 0x87, 0x8A, 0x8C}), 0x8E
_STABLE_S = 10.0
"""A connection that lived so long is no part of a quarrel: the next attempt starts from the shortest wait."""
_GOODBYE_S = 1.0
_NODELAY = ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),)

# Its warnings (a full queue, many pending calls) come at message rate; what matters is told through ``notice``.
_QUIET = logging.getLogger("fieldkit.mqtt.aiomqtt")
_QUIET.setLevel(logging.CRITICAL)


class MqttSession:
    """One standing session with a broker.

    subscriptions   topic filters, QoS 1, clean session
    birth, offline  retained messages of one topic: said once the subscriptions stand and every ``reassert_s`` after;
                    said by the broker when we vanish, or by ourselves at ``stop``; None for a tool that comes and goes
    snapshot        everything that a newcomer must know, asked for after each connect
    on_message      called on the loop with each message; must hand over and return. What it raises is counted and told
    notice          called with an event name and fields at each change of state, not at each failure
    """

    def __init__(
        self,
        settings: Settings,
        *,
        subscriptions: Iterable[str],
        birth: Callable[[], Outgoing] | None,
        offline: Outgoing | None,
        snapshot: Callable[[], Iterable[Outgoing]],
        on_message: Callable[[Incoming], None],
        notice: Callable[[str, dict[str, object]], None],
        canary: Canary | None = None,
        outbox: Outbox | None = None,
    ) -> None:
        self.settings, self.status = settings, Status()
        self._filters = (*subscriptions, *((canary.topic,) if canary is not None else ()))
        self._birth, self._offline, self._snapshot = birth, offline, snapshot
        self._on_message, self._notice = on_message, notice
        self.canary = CanaryWatch(canary, self._path_told) if canary is not None else None
        self._outbox = outbox if outbox is not None else Outbox()
        self._wake, self._stopping = asyncio.Event(), asyncio.Event()
        self._backoff, self._auth_backoff = Backoff(0.5, 10.0), Backoff(30.0, 300.0)
        self._connected_s, self._quarrel = 0.0, Quarrel()

    def tell_nowait(
        self,
        topic: str,
        payload: bytes,
        *,
        qos: int = 0,
        retain: bool = False,
        keep: Keep = Keep.LATEST,
        properties: Properties | None = None,
    ) -> None:
        """Put a message into the box. Never blocks, never raises for a broker's sake."""
        box = self._outbox
        box.put(Outgoing(topic, payload, qos, retain, keep, properties))
        self.status.dropped_latest, self.status.dropped_every = box.dropped_latest, box.dropped_every
        self._wake.set()

    async def run(self) -> None:
        """Connect, and connect again, until ``stop``. Returns only then."""
        while not self._stopping.is_set():
            client, wait_s = self._client(), 0.0
            try:
                async with client:
                    await self._serve(client)
            except aiomqtt.MqttError as error:
                wait_s = self._lost(error, asyncio.get_running_loop().time())
            finally:
                _discard(client)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._stopping.wait()
        self._become("stopped", "")

    def stop(self) -> None:
        """Ask ``run`` to say goodbye: what waits is sent and ``offline`` published, within a second."""
        self._stopping.set()

    def _client(self) -> aiomqtt.Client:
        session, settings, v5 = self, self.settings, self.settings.protocol == "5"

        class Inbox(asyncio.Queue[aiomqtt.Message]):
            """Hands each message over where aiomqtt would queue it: no task and no wait per message."""

            def put_nowait(self, item: aiomqtt.Message) -> None:
                session._received(item)

        connect = None
        if v5:
            connect = PahoProperties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            connect.MaximumPacketSize = 16 * settings.max_payload  # longer ones stay at the broker
        client = aiomqtt.Client(
            settings.host,
            settings.port,
            username=settings.username,
            password=settings.password.reveal() if settings.password is not None else None,
            identifier=settings.client_id,
            protocol=aiomqtt.ProtocolVersion.V5 if v5 else aiomqtt.ProtocolVersion.V311,
            clean_session=None if v5 else True,  # over 5 a client's first connection starts clean by default
            will=None if (o := self._offline) is None else aiomqtt.Will(o.topic, o.payload, o.qos, o.retain),
            keepalive=settings.keepalive_s,
            timeout=settings.timeout_s,
            properties=connect,
            tls_context=settings.tls,
            socket_options=_NODELAY,
            queue_type=Inbox,
            logger=_QUIET,
        )
        client.pending_calls_threshold = 10 * WINDOW
        paho, ended = client._client, client._disconnected  # ruff: ignore[private-member-access]
        paho.connect_timeout = settings.timeout_s
        writer = PromptWriter(lambda error: None if ended.done() else ended.set_exception(error))
        paho.on_socket_register_write, paho.on_socket_unregister_write = writer.wanted, writer.written
        return client

    async def _serve(self, client: aiomqtt.Client) -> None:
        """One connection from its first subscription to its end."""
        timeout_s = self.settings.timeout_s
        await self._subscribe(client)
        if self._birth is not None:
            await _publish(client, self._birth(), timeout_s)
        self._outbox.forget_latest()
        for message in self._snapshot():
            self._outbox.put(message)
        self.status.connects += 1
        self._connected_s = asyncio.get_running_loop().time()
        self._auth_backoff.succeeded()
        self._become("connected", "")
        work = [
            _until_lost(client),
            drain(self._outbox, self._wake, lambda message: _publish(client, message, timeout_s), self._note_sent),
            *([] if self._birth is None else [self._say_birth_again(self._birth)]),
        ]
        if self.canary is not None:
            topic = self.canary.canary.topic
            work.append(self.canary.run(lambda payload: self.tell_nowait(topic, payload, qos=1)))
        tasks = [asyncio.create_task(w) for w in work]
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set():
                await self._say_goodbye(client)
            else:
                next(task for task in tasks if task.done()).result()
        except asyncio.CancelledError:
            # A clean disconnect follows, and it would hush our will.
            if (gone := self._offline) is not None:
                client._client.publish(gone.topic, gone.payload, 0, gone.retain)  # ruff: ignore[private-member-access]
            raise
        finally:
            for task in (*tasks, stopping):
                task.cancel()
            await asyncio.gather(*tasks, stopping, return_exceptions=True)

    async def _subscribe(self, client: aiomqtt.Client) -> None:
        if not self._filters:
            return
        codes = await client.subscribe([(topic, 1) for topic in self._filters])
        values = (code if isinstance(code, int) else code.value for code in codes)
        refused = tuple(t for t, v in zip(self._filters, values, strict=True) if v >= 0x80)
        if refused and refused != self.status.refused_topics:
            self._notice("mqtt_subscriptions_refused", {"topics": list(refused)})
        self.status.refused_topics = refused

    async def _say_birth_again(self, birth: Callable[[], Outgoing]) -> None:
        while True:
            await asyncio.sleep(self.settings.reassert_s)
            self._outbox.put(birth())
            self._wake.set()

    async def _say_goodbye(self, client: aiomqtt.Client) -> None:
        loop = asyncio.get_running_loop()
        until_s = loop.time() + _GOODBYE_S
        while len(self._outbox) and loop.time() < until_s - _GOODBYE_S / 2:  # ruff: ignore[async-busy-wait]
            await asyncio.sleep(0.005)
        try:
            if self._offline is not None:
                await _publish(client, self._offline, until_s - loop.time())
        except aiomqtt.MqttError:
            _discard(client)  # a broker that does not answer now will not answer a disconnect either

    def _received(self, message: aiomqtt.Message) -> None:
        self.status.received += 1
        topic, payload = str(message.topic), message.payload
        if not isinstance(payload, bytes):
            payload = str(payload).encode()
        if self.canary is not None and self.canary.heard(topic, payload):
            return
        too_long = len(payload) if len(payload) > self.settings.max_payload else 0
        if too_long:
            self.status.too_long += 1
            payload = b""
        try:
            self._on_message(Incoming(topic, payload, message.retain, _properties_of(message), too_long))
        except Exception as error:
            self.status.handler_errors += 1
            cause = f"{type(error).__name__}: {error}"
            self._notice("mqtt_handler_failed", {"topic": topic, "error": cause, "payload": payload[:64].hex()})

    def _lost(self, error: aiomqtt.MqttError, now_s: float) -> float:
        """Account for the end of an attempt or a connection; return the wait before the next."""
        code = _code_of(error)
        if code in _AUTH_CODES:
            self._become("refused", str(error))
            return self._auth_backoff.failed(now_s)
        if self.status.state == "connected":
            self.status.drops += 1
            if now_s - self._connected_s >= _STABLE_S:
                self._backoff.succeeded()
            taken_over = self._quarrel.dropped(now_s) or code == _TAKEN_OVER
            if taken_over and not self.status.taken_over:
                self._notice("mqtt_taken_over", {"client_id": self.settings.client_id, "detail": str(error)})
            self.status.taken_over = taken_over
        self._become("unreachable", str(error.__cause__ or error))
        return self._backoff.failed(now_s)

    def _note_sent(self) -> None:
        self.status.sent += 1

    def _path_told(self, proven: bool) -> None:
        self._notice("mqtt_path_proven" if proven else "mqtt_path_not_proven", {"client_id": self.settings.client_id})

    def _become(self, state: str, detail: str) -> None:
        self.status.detail = detail
        if state != self.status.state:
            self.status.state = state
            where = f"{self.settings.host}:{self.settings.port}"
            self._notice(f"mqtt_{state}", {"broker": where, "detail": detail})


async def _publish(client: aiomqtt.Client, message: Outgoing, timeout_s: float) -> None:
    properties = None
    if message.properties is not None and client._client.protocol == MQTTv5:  # ruff: ignore[private-member-access]
        properties = _to_paho(message.properties)
    await client.publish(message.topic, message.payload, message.qos, message.retain, properties, timeout=timeout_s)


async def _until_lost(client: aiomqtt.Client) -> None:
    """Raise MqttError when the connection ends; messages do not pass here."""
    async for _ in client.messages:
        pass


def _discard(client: aiomqtt.Client) -> None:
    """Close what a failed attempt leaves open: without this each one keeps a socket and a task."""
    client._client._sock_close()  # ruff: ignore[private-member-access]
    if client._disconnected.done():  # ruff: ignore[private-member-access]
        client._disconnected.exception()  # ruff: ignore[private-member-access] - taken note of
    else:
        client._disconnected.set_result(None)  # ruff: ignore[private-member-access]


def _code_of(error: BaseException) -> int | None:
    """The broker's reason code behind an error; None when there is none (paho's own error numbers are no codes)."""
    codes = (getattr(one, "rc", None) for one in (error, error.__cause__))
    return next((code.value for code in codes if isinstance(code, ReasonCode)), None)


_PAHO_NAMES = ("ResponseTopic", "CorrelationData", "ContentType", "MessageExpiryInterval")


def _to_paho(properties: Properties) -> PahoProperties:
    given = (properties.response_topic, properties.correlation, properties.content_type, properties.expiry_s)
    out = PahoProperties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    for name, value in zip(_PAHO_NAMES, given, strict=True):
        if value is not None:
            setattr(out, name, value)
    return out


def _properties_of(message: aiomqtt.Message) -> Properties:
    return Properties(*(getattr(message.properties, name, None) for name in _PAHO_NAMES))
