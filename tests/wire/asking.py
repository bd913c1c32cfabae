"""Asking a guarded rack over its broker, and hearing what it says."""

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.wire.broker import Broker, Listener, broker
from tests.wire.guarded import SITE, Guarded, guarded, payload

BASE = f"racky/v1/{SITE}/r01/valvey"


@asynccontextmanager
async def flowing(folder: Path) -> AsyncGenerator[tuple[Guarded, Broker]]:
    with broker(folder) as mosquitto, guarded(folder, broker_port=mosquitto.port) as rack:
        await asyncio.to_thread(rack.start)
        await asyncio.to_thread(rack.until_state, "FLOWING", 5.0)
        yield rack, mosquitto


def a_request(name: str, **more: Any) -> dict[str, Any]:
    return {"v": 1, "id": str(uuid.uuid4()), "request": name, "by": "a test", "why": "a test", **more}


async def answer(
    listener: Listener,
    body: dict[str, Any] | bytes,
    *,
    role: str = "operator",
    client: str = "ann",
    retain: bool = False,
) -> dict[str, Any]:
    """Send one request and return the first response that comes after it, to its id where it has one."""
    topic = f"{BASE}/response/{client}"
    await listener.wait_for(f"{BASE}/availability")  # it has subscribed by then
    before = len(listener.texts(topic))
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    await listener.client.publish(f"{BASE}/request/{role}/{client}", data, 1, retain)
    while True:
        texts = await listener.wait_for(topic, before + 1)
        for text in texts[before:]:
            found = json.loads(text)
            assert isinstance(found, dict)
            if not isinstance(body, dict) or found["id"] == body["id"]:
                return found
        before = len(texts)


async def online(listener: Listener) -> None:
    """Wait until a daemon that was started anew is there, and has told its state."""
    topic, count = f"{BASE}/availability", 1
    while json.loads((await listener.wait_for(topic, count))[-1])["status"] != "online":
        count = len(listener.texts(topic)) + 1
    await asyncio.sleep(0.2)


async def state(listener: Listener) -> dict[str, Any]:
    found = json.loads((await listener.wait_for(f"{BASE}/state"))[-1])
    assert isinstance(found, dict)
    return found


async def until(rack: Guarded, done: Callable[[], bool], timeout_s: float, what: str) -> None:
    """``rack.until``, while the loop goes on."""
    await asyncio.to_thread(rack.until, done, timeout_s, what)


def trips(rack: Guarded) -> list[dict[str, Any]]:
    """The trips in the log; the first is waited for: it is told after its write."""
    rack.until(lambda: bool(rack.lines("trip")), 2.0, "a trip told")
    return rack.lines("trip")


def facts(listener: Listener, fact: str) -> list[dict[str, Any]]:
    """The events of one kind that were heard so far."""
    events = [payload(one) for one in listener.heard if str(one.topic) == f"{BASE}/event"]
    return [one for one in events if one["fact"] == fact]
