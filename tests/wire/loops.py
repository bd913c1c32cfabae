"""A coordinated loop for wire tests: a broker, `valvey loop run` in processes of its own, and racks made of messages.

The coordinators run at ``SPEED``: a lease of 30 s lasts 3 s of a test.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from fieldkit import envelope
from fieldkit.envelope_parts import GrantHeld, Latch, PointValue
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Properties
from fieldkit.reading import Quality
from fieldkit.units import Unit
from tests.wire.broker import Broker, Listener, broker, free_port
from tests.wire.guarded import Manager
from valvey import lease_letters
from valvey.core.leasing import Act, Ask

ROOT = Path(__file__).resolve().parent.parent.parent
SITE, LOOP, SPEED = "bench", "cdu1", 10.0
BASE = f"racky/v1/{SITE}/{LOOP}/loop"
READY_S = 60.0


class Coordinator:
    """One coordinator's files and its process."""

    def __init__(self, folder: Path, cdu: str, broker_port: int, name: str = "loop", **changes: Any) -> None:
        self.folder = folder / name
        self.folder.mkdir(exist_ok=True)
        config = yaml.safe_load((ROOT / "configs" / "loop.yaml").read_text(encoding="utf-8"))
        config |= {"site": SITE, "loop": LOOP, "simulated": True, "armed": True, "speed": SPEED}
        config |= {
            "profiles_dir": str(ROOT / "configs" / "profiles"),
            "mqtt": {"host": "127.0.0.1", "port": broker_port},
        }
        config |= {"memory": {"directory": str(self.folder / "memory"), "runtime_directory": str(self.folder / "run")}}
        config["cdu"]["tcp"] = cdu
        config["scan"] = {"period_s": 0.5}
        config |= changes
        self.config = self.folder / "loop.yaml"
        self.config.write_text(yaml.safe_dump(config), encoding="utf-8")
        self.manager = Manager(self.folder)
        self.log = self.folder / "log"
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start it and wait until its first step is done."""
        before = self.manager.count("READY=1")
        self.spawn()
        until_s = time.monotonic() + READY_S
        while self.manager.count("READY=1") == before:
            assert self.process is not None
            if self.process.poll() is not None or time.monotonic() > until_s:
                raise AssertionError(f"it did not come up: {self.log.read_text(encoding='utf-8')[-2000:]}")
            await asyncio.sleep(0.02)

    def spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "valvey", "loop", "run", str(self.config)],
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=os.environ | {"NOTIFY_SOCKET": str(self.manager.path), "WATCHDOG_USEC": "6000000"},
            )
        return self.process

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return await asyncio.to_thread(self.process.wait, 15.0)

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.manager.close()


class Rack:
    """A rack that is nothing but messages."""

    def __init__(self, listener: Listener, name: str) -> None:
        self.listener, self.name = listener, name
        self.topic = f"racky/v1/{SITE}/{name}/valvey"
        self.seq = 0

    async def say(self, act: Act, work: str, grant_id: str | None = None, epoch: int = 0) -> envelope.Grant:
        """Say something about a lease and return the answer."""
        ask = Ask(str(uuid.uuid4()), act, work, grant_id, epoch, {}, 0.0)
        payload = envelope.dump(lease_letters.letter(ask, True))
        await self.listener.client.publish(lease_letters.ask_topic(SITE, LOOP, self.name), payload, 1)
        where = lease_letters.answer_topic(SITE, LOOP, self.name)
        until_s = time.monotonic() + 20.0
        while time.monotonic() < until_s:
            for text in self.listener.texts(where):
                message = Incoming(where, text.encode(), False, Properties())
                answer = lease_letters.answer_in(message)
                if answer is not None and answer.ask_id == ask.ask_id:
                    return envelope.Grant.model_validate_json(text)
            await asyncio.sleep(0.01)
        raise AssertionError(f"{self.name}: {act} {work} was not answered")

    async def until_granted(self, work: str, timeout_s: float = 30.0) -> envelope.Grant:
        until_s = time.monotonic() + timeout_s
        while True:
            answer = await self.say(Act.ASK, work)
            if answer.granted:
                return answer
            if time.monotonic() > until_s:
                raise AssertionError(f"{self.name}: {work} is refused: {answer.reason}")
            await asyncio.sleep(0.2)

    async def tell_state(
        self, state: str, grants: tuple[GrantHeld, ...] = (), latches: tuple[str, ...] = (), **detail: Any
    ) -> None:
        told = envelope.State(
            simulated=True, boot_id="b", wall_s=0.0, state=state, step=None, since_wall_s=0.0, state_seq=1,
            latches=tuple(Latch(sif=sif, since_wall_s=0.0, cause="x") for sif in latches), locks=(), bypasses=(), armed=True,
            inventory="full", tested=True, grants=grants, config_digest="d", detail=detail,
        )  # fmt: skip
        await self.listener.client.publish(f"{self.topic}/state", envelope.dump(told), 1, True)

    async def tell_online(self) -> None:
        here = envelope.Availability(simulated=True, status="online", version="0", boot_id="b", since_wall_s=0.0)
        await self.listener.client.publish(f"{self.topic}/availability", envelope.dump(here), 1, True)

    async def tell_points(self, **points: float) -> None:
        self.seq += 1
        values = {
            tag.replace("_", "-"): PointValue(value=value, unit=Unit.NONE, quality=Quality.GOOD, reason=None, age_s=0.0)
            for tag, value in points.items()
        }
        told = envelope.Telemetry(
            simulated=True, boot_id="b", seq=self.seq, wall_s=0.0, wall_synced=True, mono_s=0.0, points=values
        )
        await self.listener.client.publish(f"{self.topic}/telemetry", envelope.dump(told), 0)


async def until(true: Callable[[], bool], timeout_s: float = 30.0, why: Callable[[], str] = lambda: "") -> None:
    until_s = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > until_s:
            raise AssertionError(f"it did not happen: {why()}")
        await asyncio.sleep(0.02)


class Ring:
    """A broker, coordinators, and whoever listens. ``cdu`` is where the CDU answers; a closed port = it is away."""

    def __init__(self, folder: Path, mosquitto: Broker, cdu: str | None = None) -> None:
        self.folder, self.mosquitto = folder, mosquitto
        self.cdu = cdu if cdu is not None else f"127.0.0.1:{free_port()}"
        self.made: list[Coordinator] = []

    def coordinator(self, name: str = "loop", **changes: Any) -> Coordinator:
        made = Coordinator(self.folder, self.cdu, self.mosquitto.port, name, **changes)
        self.made.append(made)
        return made

    def close(self) -> None:
        for one in self.made:
            one.close()


@contextmanager
def ring(folder: Path, cdu: str | None = None) -> Generator[Ring]:
    with broker(folder) as mosquitto:
        made = Ring(folder, mosquitto, cdu)
        try:
            yield made
        finally:
            made.close()


def last(listener: Listener, topic: str) -> dict[str, Any]:
    """The last message of one of the coordinator's topics; {} when there is none or it was cleared."""
    texts = listener.texts(f"{BASE}/{topic}")
    found: dict[str, Any] = json.loads(texts[-1]) if texts and texts[-1] else {}
    return found


def facts(listener: Listener) -> list[str]:
    return [json.loads(text)["fact"] for text in listener.texts(f"{BASE}/event")]
