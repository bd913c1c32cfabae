"""A partial stroke over the real wire: asked on the bus, timed by the valve controller's firmware, seen by everybody."""

import asyncio
import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.wire.broker import Listener, broker, listening, needs_mosquitto
from tests.wire.guarded import SITE, Guarded, guarded

pytestmark = [needs_mosquitto, pytest.mark.timeout(60)]

BASE = f"racky/v1/{SITE}/r01/valvey"


async def stroke(listener: Listener, valve: str) -> list[dict[str, Any]]:
    """Ask for it with the present sequence number; return every response to it until its end."""
    seq = json.loads((await listener.wait_for(f"{BASE}/state"))[-1])["state_seq"]
    body = {"v": 1, "id": str(uuid.uuid4()), "request": "stroke", "args": {"valve": valve}, "expect_seq": seq}
    await listener.client.publish(f"{BASE}/request/engineer/ann", json.dumps(body).encode(), 1, False)
    count = 1
    while True:
        texts = await listener.wait_for(f"{BASE}/response/ann", count)
        told = [one for one in map(json.loads, texts) if one["id"] == body["id"]]
        if told and told[-1]["status"] in {"succeeded", "failed", "refused"}:
            return told
        count = len(texts) + 1


def switched(rack: Guarded, since: int, tag: str) -> list[float]:
    return [one["value"] for one in rack.stamps("register", since=since, what=tag)]


@pytest.mark.parametrize("number", ["101", "102"])
async def test_a_valve_in_service_leaves_its_open_limit_and_comes_back(tmp_path: Path, number: str) -> None:
    with broker(tmp_path) as mosquitto, guarded(tmp_path, broker_port=mosquitto.port) as rack:
        await asyncio.to_thread(rack.start)
        await asyncio.to_thread(rack.until_state, "FLOWING", 5.0)
        async with listening(mosquitto.port, f"{BASE}/#") as listener:
            since = rack.last_seq()
            told = await stroke(listener, f"XV-{number}")
            assert [one["status"] for one in told] == ["accepted", "started", "succeeded"]
            assert switched(rack, since, f"ZSO-{number}") == [0.0, 1.0]
            assert switched(rack, since, f"XY-{number}") == [0.0, 1.0]
            await asyncio.sleep(2.5)
            assert rack.states() == ["FLOWING"]  # no trip, and no other move
            commands = rack.stamps("command", since=since, what=f"XV-{number} command")
            assert commands == []
            last = json.loads((await listener.wait_for(f"{BASE}/state"))[-1])
            assert (last["detail"]["stroke"], last["latches"]) == ({"valve": f"XV-{number}", "outcome": "passed"}, [])


async def test_a_valve_that_is_stuck_fails_and_is_alarmed_and_the_rack_stays_in_service(tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto, guarded(tmp_path, broker_port=mosquitto.port) as rack:
        await asyncio.to_thread(rack.start)
        await asyncio.to_thread(rack.until_state, "FLOWING", 5.0)
        rack.bench.fault("stuck", tag="XV-101")
        async with listening(mosquitto.port, f"{BASE}/#") as listener:
            told = await stroke(listener, "XV-101")
            assert told[-1]["status"] == "failed"
            alarm = json.loads((await listener.wait_for(f"{BASE}/alarm/stroke-failed"))[-1])
            assert alarm["active"]
            assert rack.states() == ["FLOWING"]
