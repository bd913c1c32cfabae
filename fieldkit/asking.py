"""A client of contract 1 for the command line: look at what is kept of a daemon, ask it for something, hear the end."""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from fieldkit import envelope
from fieldkit.errors import Refusal
from fieldkit.mqtt import MqttSession
from fieldkit.mqtt_types import Incoming, Settings
from fieldkit.outbox import Keep
from fieldkit.topics import Daemon, Kind, Role, topic

CONNECT_S = 5.0
RETAINED_S = 2.0
"""How long the broker gets to hand over what it has kept."""
_ENDS = frozenset({
    envelope.Status.REFUSED,
    envelope.Status.SUCCEEDED,
    envelope.Status.FAILED,
    envelope.Status.CANCELLED,
    envelope.Status.EXPIRED,
})  # fmt: skip


class UnreachableError(Exception):
    """There is no broker, or nothing of this daemon on it."""


class NoAnswerError(Exception):
    """The answer did not come in time."""


@dataclass(slots=True)
class Seen:
    """What the broker keeps of a daemon."""

    state: envelope.State | None = None
    availability: envelope.Availability | None = None
    alarms: dict[str, envelope.Alarm] = field(default_factory=dict)

    @property
    def online(self) -> bool:
        return self.availability is not None and self.availability.status == "online"


class Conversation:
    """One client's talk with one daemon; make it with ``talking``."""

    def __init__(self, site: str, node: str, daemon: Daemon, client: str) -> None:
        self.seen = Seen()
        self.session: MqttSession | None = None
        self._site, self._node, self._daemon, self._client = site, node, daemon, client
        self._responses: list[envelope.Response] = []
        self._news = asyncio.Event()

    def heard(self, incoming: Incoming) -> None:
        """Take one message; what is no valid payload of its topic is not believed."""
        kind = incoming.topic.split("/")[5]
        if kind == Kind.STATE:
            self.seen.state = _believed(envelope.State, incoming.payload) or self.seen.state
        elif kind == Kind.AVAILABILITY:
            self.seen.availability = _believed(envelope.Availability, incoming.payload) or self.seen.availability
        elif kind == Kind.ALARM:
            name = incoming.topic.rpartition("/")[2]
            alarm = _believed(envelope.Alarm, incoming.payload) if incoming.payload else None
            if alarm is None:
                self.seen.alarms.pop(name, None)
            else:
                self.seen.alarms[name] = alarm
        elif kind == Kind.RESPONSE and (response := _believed(envelope.Response, incoming.payload)) is not None:
            self._responses.append(response)
        self._news.set()

    async def look(self) -> Seen:
        """Return what the broker keeps of it. Raises UnreachableError when it keeps no state."""
        await until(lambda: self.seen.state is not None and self.seen.availability is not None, self._news, RETAINED_S)
        await asyncio.sleep(0.05)  # retained alarms come with the same subscription
        if self.seen.state is None:
            name = f"{self._site}/{self._node}"
            raise UnreachableError(
                f"the broker keeps no state of {name}, {self._daemon}: it never ran, or it has another name"
            )
        return self.seen

    async def ask(
        self,
        name: str,
        args: dict[str, Any],
        *,
        role: str,
        by: str,
        why: str,
        expect_seq: int | None,
        wait_end: bool,
        timeout_s: float,
        told: Callable[[envelope.Response], None] = lambda _response: None,
    ) -> list[envelope.Response]:
        """Send one request and return its responses: up to the answer, or with ``wait_end`` to its end.

        told  called with each response as it comes. Raises NoAnswerError.
        """
        request = envelope.Request(
            v=1, id=str(uuid.uuid4()), request=name, args=args, by=by or None, why=why or None, expect_seq=expect_seq
        )
        where = str(topic(self._site, self._node, self._daemon, Kind.REQUEST, Role(role), self._client))
        payload = request.model_dump_json(exclude_none=True).encode()
        if self.session is None:
            raise UnreachableError("there is no session")
        self.session.tell_nowait(where, payload, qos=1, keep=Keep.EVERY)
        mine: list[envelope.Response] = []

        def complete() -> bool:
            for response in self._responses[len(mine) :]:
                mine.append(response)
                if response.id == request.id:
                    told(response)
            ours = [one for one in mine if one.id == request.id]
            last = ours[-1].status if ours else None
            answered = last is not None and last is not envelope.Status.PROGRESS  # it may wait for the coordinator
            return last in _ENDS or (answered and not wait_end)

        if not await until(complete, self._news, timeout_s):
            got = next((one.status for one in reversed(mine) if one.id == request.id), None)
            raise NoAnswerError(f"{'no answer' if got is None else f'{got}, and no end'} in {timeout_s:g} s")
        return [one for one in mine if one.id == request.id]


async def until(done: Callable[[], bool], news: asyncio.Event, timeout_s: float) -> bool:
    """Wait until ``done``, looked at whenever there is ``news``; return whether it came true in time."""
    end_s = time.monotonic() + timeout_s
    while not done():
        news.clear()
        left_s = end_s - time.monotonic()
        if left_s <= 0.0:
            return False
        try:
            async with asyncio.timeout(left_s):
                await news.wait()
        except TimeoutError:
            return done()
    return True


@asynccontextmanager
async def talking(
    settings: Settings, site: str, node: str, daemon: Daemon, client: str
) -> AsyncGenerator[Conversation, None]:
    """Yield a conversation over a connection that stands. Raises UnreachableError."""
    base = f"racky/v1/{site}/{node}/{daemon}"
    filters = [f"{base}/state", f"{base}/availability", f"{base}/alarm/+", f"{base}/response/{client}"]
    talk = Conversation(site, node, daemon, client)
    async with connected(settings, filters, talk.heard) as session:
        talk.session = session
        yield talk


@asynccontextmanager
async def connected(
    settings: Settings, filters: list[str], heard: Callable[[Incoming], None]
) -> AsyncGenerator[MqttSession, None]:
    """Yield a session that stands, listens to ``filters`` and says nothing of itself. Raises UnreachableError."""
    trouble: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def notice(event: str, fields: dict[str, object]) -> None:
        if event == "mqtt_connected" and not trouble.done():
            trouble.set_result("")
        elif event in {"mqtt_unreachable", "mqtt_refused"} and not trouble.done():
            trouble.set_result(f"{event.removeprefix('mqtt_')}: {fields['broker']}: {fields['detail']}")

    session = MqttSession(
        replace(settings, max_payload=envelope.MESSAGE_BYTES),
        subscriptions=filters,
        birth=None,
        offline=None,
        snapshot=lambda: (),
        on_message=heard,
        notice=notice,
    )
    running = asyncio.create_task(session.run())
    try:
        await asyncio.wait({trouble}, timeout=CONNECT_S)
        if not trouble.done() or trouble.result():
            raise UnreachableError(trouble.result() if trouble.done() else f"no connection in {CONNECT_S:g} s")
        yield session
    finally:
        session.stop()
        await asyncio.wait({running}, timeout=1.5)
        running.cancel()
        trouble.cancel()


def _believed(model: type[Any], payload: bytes) -> Any:
    parsed = envelope.parse(model, payload)
    return None if isinstance(parsed, Refusal) else model.model_validate(_in_lines(parsed.model_dump()))


def _in_lines(value: Any) -> Any:
    """``value`` with every text of it on one line: who can write to a broker cannot forge lines, nor steer a terminal."""
    if isinstance(value, str):
        return value if value.isprintable() else "".join(c if c.isprintable() else " " for c in value)
    if isinstance(value, Mapping):
        return {_in_lines(name): _in_lines(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_in_lines(one) for one in value)
    return value
