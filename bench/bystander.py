"""Somebody on the bus who hears everything and may ask for something: contract 1 as any client has it, on a thread."""

import asyncio
import contextlib
import json
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import aiomqtt

from fieldkit.topics import Kind, Topic, parse_topic

CLIENT = "bystander"
_AGAIN_S = 0.01
"""Between attempts to connect: sooner than any daemon, so that nothing is told before somebody listens."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One message of a rack's daemon; ``at_s`` is CLOCK_MONOTONIC, ``body`` None where the payload was empty."""

    at_s: float
    topic: Topic
    body: dict[str, Any] | None


class Bystander:
    """Use it as ``with Bystander(host, port, site) as bus``. It comes back whenever the broker does."""

    def __init__(self, host: str, port: int, site: str) -> None:
        self.heard: list[Heard] = []
        self.connections = 0
        self._host, self._port, self._site = host, port, site
        self._news = threading.Condition()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: aiomqtt.Client | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="bystander", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait(lambda: self._client, 10.0, "no broker")
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(5.0)

    # -- what was heard ---------------------------------------------------------------------------------------------

    def all(self, rack: str, kind: Kind, since: int = 0) -> list[Heard]:
        """Everything of one kind from one rack, in order, from the ``since``-th message on."""
        return [one for one in self.heard[since:] if one.topic.node == rack and one.topic.kind is kind]

    def state(self, rack: str) -> dict[str, Any]:
        """The newest state; {} before the first."""
        states = self.all(rack, Kind.STATE)
        return (states[-1].body or {}) if states else {}

    def events(self, rack: str, since: int = 0) -> list[dict[str, Any]]:
        return [one.body for one in self.all(rack, Kind.EVENT, since) if one.body is not None]

    def await_back(self, rack: str, since: int, within_s: float = 10.0) -> dict[str, Any]:
        """Wait until the rack's daemon says after the ``since``-th message that it is online; return its state then."""

        def back() -> dict[str, Any]:
            said = [one.body["status"] for one in self.all(rack, Kind.AVAILABILITY, since) if one.body is not None]
            states = self.all(rack, Kind.STATE, since)
            return (states[-1].body or {}) if said and said[-1] == "online" and states else {}

        return dict(self.wait(back, within_s, f"{rack}: not back on the bus"))

    def wait(self, sought: Callable[[], Any], within_s: float, failure: str) -> Any:
        """Wait until ``sought`` returns something true, and return that. Raises TimeoutError with ``failure``."""
        until_s = time.monotonic() + within_s
        with self._news:
            while not (found := sought()):
                left_s = until_s - time.monotonic()
                if left_s <= 0.0:
                    raise TimeoutError(f"{failure} within {within_s:g} s")
                self._news.wait(min(left_s, 0.1))
        return found

    def await_state(self, rack: str, name: str, within_s: float = 10.0) -> dict[str, Any]:
        """Wait until the rack says that it is in a state. Raises TimeoutError naming the one it is in."""

        def there() -> dict[str, Any]:
            state = self.state(rack)
            return state if state.get("state") == name else {}

        try:
            return dict(self.wait(there, within_s, "no"))
        except TimeoutError:
            raise TimeoutError(f"{rack} is {self.state(rack)}, not {name}, after {within_s:g} s") from None

    # -- asking -----------------------------------------------------------------------------------------------------

    def request(
        self,
        rack: str,
        name: str,
        *,
        role: str = "operator",
        why: str | None = None,
        request_id: str | None = None,
        expect_seq: int | None = None,
        within_s: float = 5.0,
        args: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Ask, and return the answer (accepted or refused). Raises TimeoutError."""
        ident, since = request_id or str(uuid.uuid4()), len(self.heard)
        body = {
            "v": 1,
            "id": ident,
            "request": name,
            "args": dict(args or {}),
            "why": why,
            "expect_seq": self.state(rack).get("state_seq") if expect_seq is None else expect_seq,
        }
        topic = f"racky/v1/{self._site}/{rack}/valvey/request/{role}/{CLIENT}"
        loop, client = self._loop, self._client
        assert loop is not None
        assert client is not None
        asyncio.run_coroutine_threadsafe(client.publish(topic, json.dumps(body), qos=1), loop).result(within_s)

        def answer() -> dict[str, Any]:
            for one in self.all(rack, Kind.RESPONSE, since):
                if one.body is not None and one.body["id"] == ident:
                    return one.body
            return {}

        return dict(self.wait(answer, within_s, f"{rack}: no answer to {name}"))

    # -- the thread ---------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.ensure_future(self._listen())
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _listen(self) -> None:
        while not self._stop.is_set():
            client = aiomqtt.Client(
                self._host, self._port, protocol=aiomqtt.ProtocolVersion.V5, max_queued_incoming_messages=100_000
            )
            try:
                async with client:
                    await client.subscribe(f"racky/v1/{self._site}/#", qos=1)
                    self.connections += 1
                    with self._news:
                        self._client = client
                        self._news.notify_all()
                    async for message in client.messages:
                        self._take(str(message.topic), bytes(message.payload or b""))
            except aiomqtt.MqttError:
                self._client = None
                await asyncio.sleep(_AGAIN_S)

    def _take(self, name: str, payload: bytes) -> None:
        topic = parse_topic(name)
        if topic is None or topic.kind in {Kind.REQUEST, Kind.CANARY, Kind.META}:
            return
        body = json.loads(payload) if payload else None
        with self._news:
            self.heard.append(Heard(time.monotonic(), topic, body))
            self._news.notify_all()
