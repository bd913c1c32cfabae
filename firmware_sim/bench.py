"""The bench in real time: one asyncio loop steps the plant, answers every device's wire, and listens at a control port."""

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from firmware_sim.bank import Bank
from firmware_sim.bench_config import BenchConfig
from firmware_sim.control import ControlServer
from firmware_sim.wire import Endpoint

MAX_CATCH_UP_S = 0.5  # real time; a longer pause (a stopped process) is not made up for, but counted
BEAT_S = 0.1


class Bench:
    """A running bench; use it as ``async with Bench(config) as bench``.

    bank     the plant and its devices
    speed    simulated seconds per real second; may be changed while running
    ports    as written to the ports file
    lost_s   real seconds that were not simulated, because the machine was too slow
    """

    def __init__(self, config: BenchConfig, beat: Callable[[], None] | None = None) -> None:
        self.config = config
        self.bank = Bank(config, time.monotonic_ns)
        self.bank.wire_now_s = self.wire_now_s
        self.speed = config.speed
        self.lost_s = 0.0
        self.ports: dict[str, object] = {}
        self.stopping = asyncio.Event()
        self._beat = beat
        self._control = ControlServer(self)
        self._task: asyncio.Task[None] | None = None
        self._real_s = time.monotonic()

    def wire_now_s(self) -> float:
        """Simulated time between two steps of the plant."""
        since_s = min(time.monotonic() - self._real_s, MAX_CATCH_UP_S)
        return self.bank.now_s + since_s * self.speed

    async def start(self) -> None:
        """Open every port, then let time run. Raises OSError when a port is taken."""
        base = self.config.base_port
        for number, endpoint in enumerate(self._served().values()):
            await endpoint.listen(self.config.host, base + number if base else 0)
        for line in self.bank.lines.values():
            await line.open(self.config.host)
        control = await self._control.listen(self.config.host, self.config.control_port)
        self.ports = self._ports_document(control)
        self._real_s = time.monotonic()
        self._task = asyncio.create_task(self._run(), name="bench")

    async def wait(self) -> None:
        """Return when asked to stop. Raises what ended the simulation, if anything did."""
        assert self._task is not None  # ruff: ignore[assert] - start() came first
        stopped = asyncio.create_task(self.stopping.wait())
        await asyncio.wait({self._task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if self._task.done():
            self._task.result()

    async def close(self) -> None:
        """Close every port and end the simulation."""
        self.stopping.set()
        for endpoint in self.bank.endpoints.values():
            endpoint.close()
        for line in self.bank.lines.values():
            line.close()
        self._control.close()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await asyncio.sleep(0)  # lets the aborted connections end

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def _served(self) -> dict[str, Endpoint]:
        """The endpoints that listen."""
        wanted = self.config.serve
        return {name: one for name, one in self.bank.endpoints.items() if not wanted or name in wanted}

    def address(self, name: str) -> tuple[str, int]:
        """Host and port of an endpoint, e.g. ``r02/leak_panel`` or ``cdu``."""
        return self.config.host, self.bank.endpoints[name].port

    def write_ports(self, path: Path) -> None:
        """Write the ports file whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(path.suffix + ".new")
        fresh.write_text(json.dumps(self.ports, indent=1) + "\n", encoding="utf-8")
        fresh.replace(path)

    async def _run(self) -> None:
        tick_s = self.config.tick_s
        due_s = beat_s = time.monotonic()
        while not self.stopping.is_set():
            due_s += tick_s
            now_s = time.monotonic()
            if due_s > now_s:
                await asyncio.sleep(due_s - now_s)
            else:
                due_s = now_s
                await asyncio.sleep(0)
            now_s = time.monotonic()
            dt_s = now_s - self._real_s
            if dt_s > MAX_CATCH_UP_S:
                self.lost_s += dt_s - MAX_CATCH_UP_S
                dt_s = MAX_CATCH_UP_S
            self.bank.advance(dt_s * self.speed)
            self._real_s = now_s
            if self._beat is not None and now_s - beat_s >= BEAT_S:
                beat_s = now_s
                self._beat()

    def _ports_document(self, control: int) -> dict[str, object]:
        host = self.config.host
        places = {name: f"{host}:{endpoint.port}" for name, endpoint in self._served().items()}
        racks = {
            name: {device: places[f"{name}/{device}"] for device in rig.devices() if f"{name}/{device}" in places}
            for name, rig in self.bank.rigs.items()
        }
        return {
            "simulated": True,
            "pid": os.getpid(),
            "seed": self.config.seed,
            "speed": self.speed,
            "control": f"{host}:{control}",
            "cdu": places.get("cdu"),
            "racks": racks,
            **({"lines": {name: line.document() for name, line in self.bank.lines.items()}} if self.bank.lines else {}),
        }
