"""A rack and its coordinator as processes, on a real broker and the simulator's devices: leave to work, and its loss."""

import asyncio
import json
import signal
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.wire.broker import Listener, broker, listening, needs_mosquitto
from tests.wire.guarded import SITE, Guarded, guarded
from tests.wire.loops import LOOP, Coordinator, until
from valvey.core.awaiting import ANSWER_S
from valvey.core.lending import ALONE, SILENT, WAIT_S, WAITS

pytestmark = [needs_mosquitto, pytest.mark.timeout(240)]

BASE, LOOP_BASE = f"racky/v1/{SITE}/r01/valvey", f"racky/v1/{SITE}/{LOOP}/loop"
SPEED = 4.0
"""Of the plant, the rack and the coordinator, where leases are learned and lapse: half a minute each."""
HURRIED = {"speed": SPEED, "scan": {"fast_s": 0.05, "normal_s": 0.2, "slow_s": 60.0}}
R01 = {"rating_kw": 132.0, "flow_nominal_lpm": 197.0, "fcv_kvs_m3_h": 30.4, "volume_l": 45.0}


class Site:
    """A rack, the coordinator of its loop, and whoever listens."""

    def __init__(self, rack: Guarded, coordinator: Coordinator, listener: Listener) -> None:
        self.rack, self.coordinator, self.listener = rack, coordinator, listener

    def state(self, base: str = BASE) -> dict[str, Any]:
        texts = self.listener.texts(f"{base}/state")
        return dict(json.loads(texts[-1])) if texts else {}

    def facts(self, fact: str) -> list[dict[str, Any]]:
        told = [json.loads(text) for text in self.listener.texts(f"{BASE}/event")]
        return [one["fields"] for one in told if one["fact"] == fact]

    def leases(self) -> list[str]:
        return [one["what"] for one in self.facts("lease")]

    async def ask(self, name: str) -> str:
        """Ask the rack for something; return the id."""
        body = {"v": 1, "id": str(uuid.uuid4()), "request": name, "by": "a test", "why": "a test"}
        body["expect_seq"] = self.state()["state_seq"]
        await self.listener.client.publish(f"{BASE}/request/operator/ann", json.dumps(body), 1)
        return str(body["id"])

    def told(self, request_id: str) -> list[dict[str, Any]]:
        told = [json.loads(text) for text in self.listener.texts(f"{BASE}/response/ann")]
        return [one for one in told if one["id"] == request_id]

    async def answer(self, request_id: str) -> dict[str, Any]:
        """What the rack said to it, once it is accepted or refused."""

        def found() -> list[dict[str, Any]]:
            return [one for one in self.told(request_id) if one["status"] in {"accepted", "refused"}]

        await until(lambda: found() != [], 20.0)
        return found()[0]

    async def guards(self, state: str) -> None:
        """Start the rack, and wait until it stands there and says so."""
        await asyncio.to_thread(self.rack.start)
        await until(lambda: self.state().get("state") == state, 60.0)

    async def serving(self) -> None:
        """Wait until the coordinator has learned what is under way, and sees the rack."""
        await until(lambda: self.state(LOOP_BASE).get("state") == "SERVING", 50.0)


async def status(here: Site) -> str:
    """What `valvey status` says of the rack."""
    return (await asyncio.to_thread(here.rack.valvey, "status", str(here.rack.config))).stdout


@asynccontextmanager
async def site(folder: Path, state: str, **changes: Any) -> AsyncGenerator[Site]:
    with (
        broker(folder) as mosquitto,
        guarded(folder, broker_port=mosquitto.port, commissioned=state, loop=LOOP, **changes) as rack,
    ):
        speed = changes.get("speed", 1.0)
        coordinator = Coordinator(
            folder, rack.bench.ports["cdu"], mosquitto.port, speed=speed, racks={"r01": R01}, sumps={}, armed=False
        )
        try:
            async with listening(mosquitto.port, "racky/#") as listener:
                yield Site(rack, coordinator, listener)
        finally:
            coordinator.close()


async def test_a_rack_is_isolated_under_a_lease_and_goes_on_uncoordinated_when_the_coordinator_dies(
    tmp_path: Path,
) -> None:
    async with site(tmp_path, "FLOWING", **HURRIED) as here:
        await here.coordinator.start()
        await here.guards("FLOWING")
        await here.serving()
        request = await here.ask("isolate")
        await until(lambda: here.state()["grants"] != [])
        (grant,) = here.state()["grants"]
        assert (grant["work"], grant["epoch"]) == ("isolate", 1)
        assert 20.0 < grant["left_s"] <= 30.0
        await until(lambda: here.state(LOOP_BASE)["detail"]["leases"].get("r01", {}).get("id") == grant["id"])
        await until(lambda: (here.state()["state"], here.state()["step"]) == ("UNLOADING", "unload"))
        assert not here.state()["detail"]["uncoordinated"]
        steps = [(one.get("step"), one["reason"]) for one in here.told(request) if one["status"] == "progress"]
        assert steps[:2] == [("ask", WAITS), ("unload", None)]

        await asyncio.sleep(12.0 / SPEED)  # it has been renewed by then
        (renewed,) = here.state()["grants"]
        assert renewed["id"] == grant["id"]
        assert renewed["left_s"] > 15.0
        assert f"lease      {grant['id']} for isolate, " in await status(here)
        await here.coordinator.stop(signal.SIGKILL)
        await until(lambda: here.state()["grants"] == [], 45.0)
        assert here.leases() == ["granted", "lapsed"]
        await until(lambda: bool(here.state()["detail"]["uncoordinated"]))
        assert here.state()["state"] == "UNLOADING"
        assert here.told(request)[-1]["reason"] == ALONE
        assert "lease      none: the isolation goes on uncoordinated" in await status(here)
        await asyncio.to_thread(here.rack.bench.ask, "load", rack="r01", kw=0.0)
        await until(lambda: here.state()["state"] == "COOLDOWN")
        assert here.state()["detail"]["uncoordinated"]


async def test_with_the_coordinator_killed_an_isolation_waits_ten_seconds_and_goes_on(tmp_path: Path) -> None:
    async with site(tmp_path, "FLOWING") as here:
        await here.coordinator.start()
        await here.coordinator.stop(signal.SIGKILL)
        await here.guards("FLOWING")
        request = await here.ask("isolate")
        assert (await here.answer(request))["status"] == "accepted"
        began_s = time.monotonic()
        await until(lambda: here.state()["step"] == "ask")
        for payload in (b"", b"{", b"\xff\x00", b'{"v":1,"granted":true}', b"[" * 4000):
            await here.listener.client.publish(f"{LOOP_BASE}/grant/r01", payload, 1)
        await until(lambda: here.state()["step"] == "unload")
        assert time.monotonic() - began_s == pytest.approx(WAIT_S, abs=1.5)
        assert here.state()["detail"]["uncoordinated"]
        assert here.facts("uncoordinated") == [{"work": "isolate", "reason": SILENT[0], "allow": SILENT[1]}]
        asks = [json.loads(text) for text in here.listener.texts(f"{LOOP_BASE}/lease/r01")]
        assert {(one["act"], one["work"]) for one in asks} == {("ask", "isolate")}
        assert len({one["ask_id"] for one in asks}) == len(asks) >= 4


async def test_nothing_opens_without_a_coordinator_and_an_opening_ends_when_it_dies(tmp_path: Path) -> None:
    async with site(tmp_path, "ISOLATED", **HURRIED) as here:
        await asyncio.to_thread(here.rack.bench.ask, "load", rack="r01", kw=0.0)
        await here.guards("ISOLATED")
        request = await here.ask("open")
        refused = await here.answer(request)
        assert (refused["status"], refused["code"], refused["reason"], refused["would_allow"]) == (
            "refused",
            "granted",
            *SILENT,
        )
        waiting = here.told(request)[0]
        assert (waiting["status"], waiting["reason"]) == ("progress", WAITS)
        assert (refused["wall_s"] - waiting["wall_s"]) * SPEED == pytest.approx(ANSWER_S, abs=1.5)

        await here.coordinator.start()
        starting = await here.answer(await here.ask("open"))
        assert (starting["status"], starting["code"]) == ("refused", "granted")
        assert starting["reason"] == "the coordinator has just started and learns what is under way"
        await here.serving()
        await asyncio.sleep(1.5)  # a snapshot of the rack
        opening = await here.ask("open")
        granted = await here.answer(opening)
        assert granted["status"] == "accepted", granted
        await until(lambda: here.state()["state"] == "OPENING")
        assert [one["work"] for one in here.state()["grants"]] == ["open"]
        await here.coordinator.stop(signal.SIGKILL)
        await until(lambda: here.told(opening)[-1]["status"] == "failed", 45.0)
        assert here.told(opening)[-1]["reason"] == "the coordinator's lease was lost or ran out; the rack is ISOLATING"
        await until(lambda: here.state()["state"] == "ISOLATED", 60.0)
        asked = await asyncio.to_thread(here.rack.valvey, "request", "open", str(here.rack.config), "--why", "a test")
        assert asked.returncode == 3, asked.stdout + asked.stderr
        assert asked.stdout.splitlines()[0] == f"open: progress {WAITS}"
        again = await here.answer(await here.ask("open"))
        assert (again["status"], again["reason"]) == ("refused", SILENT[0])
