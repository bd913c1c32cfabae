"""Racks to hurt: plant, Valveys and what restarts them, each a real process, for measurements and tests on the wire.

Use it as ``with Rig(folder, racks, broker=...) as rig``. Every port is free and on loopback, every file is in ``folder``,
and every process ends with the ``with`` block, however that ends.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from bench.demo.broker import Broker
from bench.demo.processes import Children
from bench.demo.stage import Options, Stage, write_rack_file
from bench.supervisor import PRIORITY, Guard, Service, real_time
from firmware_sim.client import ask
from firmware_sim.demo_plant import rack_config
from valvey.config import load
from valvey.seeding import record

ROOT = Path(__file__).resolve().parents[1]
START_S = 20.0
"""Longest wait for a process to be ready: a busy machine imports slowly."""
Stamp = dict[str, Any]


class RigError(RuntimeError):
    """The rig does not stand, or something did not come in time; the message has the last lines of the log concerned."""


@dataclass(frozen=True, slots=True)
class RackPlan:
    """One rack of the rig.

    start    how the plant and the rack's record stand: FLOWING or ISOLATED
    changes  laid over the rack's file, section by section; ``@device`` in it becomes that device's host and port
    also     makers' devices in the rack beside the reference devices
    power    its power shelves, battery shelves and room sensor, as a bench file has them; None: the bus bar lives with the permit
    """

    name: str
    rated_kw: float = 132.0
    start: str = "FLOWING"
    changes: Mapping[str, Any] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    power: Mapping[str, Any] | None = None


class Rig:
    """N simulated racks, one Valvey each.

    broker   where Valvey finds MQTT; None: no broker in its file
    speed    simulated seconds per real second, of plant and Valveys alike
    real_time  whether plant and Valveys are scheduled as their units have it; without it a busy machine makes them late
    state    directory of the Valveys' memories and journals, when it shall be on a disk of its own
    lines    serial lines and gateways of the simulator, as its bench file has them
    """

    def __init__(
        self,
        folder: Path,
        racks: Sequence[RackPlan],
        *,
        broker: tuple[str, int] | None = None,
        speed: float = 1.0,
        state: Path | None = None,
        lines: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._lines = [dict(line) for line in lines]
        self.folder, self.racks, self.speed = folder, {rack.name: rack for rack in racks}, speed
        self.state = state or folder / "state"
        self.service = Service(folder / "logs")
        self._children = Children(folder / "logs")
        self._broker = broker
        self._stage: Stage | None = None
        self._control = ""

    def __enter__(self) -> Self:
        try:
            self._start_plant()
            for plan in self.racks.values():
                self._configure(plan)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process: the Valveys first, so that none of them looks for a plant that is gone."""
        self.service.close()
        self._children.stop()

    # -- the plant ------------------------------------------------------------------------------------------------

    def ask(self, do: str, **arguments: Any) -> Any:
        """One command to the simulator's control port. Raises ControlError."""
        return ask(self._control, do, timeout_s=10.0, **arguments)

    def mark(self) -> int:
        """Number of the last stamp: what comes later is news."""
        return int(self.ask("stamps", limit=1)["last_seq"])

    def stamps(self, since: int, rack: str, *kinds: str, what: str | None = None) -> list[Stamp]:
        """The simulator's stamps of a rack after ``since``, oldest first; kinds register and command unless named."""
        wanted = list(kinds or ("register", "command"))
        found = self.ask("stamps", since=since, rack=rack, kinds=wanted, what=what)["stamps"]
        return [dict(stamp) for stamp in found]

    def await_stamp(self, since: int, rack: str, what: str, value: float, within_s: float = 5.0) -> Stamp:
        """Wait for a register or command to become ``value``. Raises RigError."""
        until_s = time.monotonic() + within_s
        while True:
            for stamp in self.stamps(since, rack, what=what):
                if stamp["value"] == value:
                    return stamp
            if time.monotonic() > until_s:
                raise RigError(f"{rack}: {what} did not become {value:g} in {within_s:g} s\n{self.tail(rack)}")
            time.sleep(0.01)

    def true(self, rack: str) -> dict[str, Any]:
        """What is true of a rack now."""
        return dict(self.ask("snapshot")["racks"][rack]["true"])

    # -- the Valveys ------------------------------------------------------------------------------------------------

    def config(self, rack: str) -> Path:
        return self.folder / "config" / f"{rack}.yaml"

    def guard(self, rack: str) -> Guard:
        return self.service.guards[rack]

    def start(self, *racks: str, restart: bool = True) -> None:
        """Start the Valveys of these racks (of all) and wait until each has scanned once. Raises RigError."""
        names = racks or tuple(self.racks)
        for name in names:
            command = [sys.executable, "-m", "valvey", "run", str(self.config(name))]
            self.service.start(name, command, restart=restart)
        until_s = time.monotonic() + START_S
        for name in names:
            guard = self.guard(name)
            if not guard.await_life(len(guard.lives), until_s - time.monotonic()):
                raise RigError(f"the Valvey of {name} did not get ready:\n{self.tail(name)}")

    def await_adopted(self, since: int, *racks: str, within_s: float = 5.0) -> dict[str, Stamp]:
        """Wait until these racks (all) are guarded again: their first write of valves since the stamp ``since``."""
        until_s, first = time.monotonic() + within_s, dict[str, Stamp]()
        names = racks or tuple(self.racks)
        while True:
            for name in names:
                if name not in first and (writes := self.stamps(since, name, "write", what="0")):
                    first[name] = writes[0]
            if len(first) == len(names):
                return first
            if time.monotonic() > until_s:
                late = [name for name in names if name not in first]
                raise RigError(f"{', '.join(late)}: no write in {within_s:g} s\n{self.tail(late[0])}")
            time.sleep(0.02)

    def tail(self, rack: str, lines: int = 15) -> str:
        return self.service.tail(rack, lines)

    @property
    def devices(self) -> Mapping[str, Mapping[str, str]]:
        """Where each device of each rack is, host and port."""
        assert self._stage is not None
        return dict(self._stage.ports["racks"])

    # -- building it --------------------------------------------------------------------------------------------------

    def _start_plant(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        rows = [
            {"name": rack.name, "rated_kw": rack.rated_kw, "start": rack.start.lower(), "also": list(rack.also)}
            | ({} if rack.power is None else {"power": dict(rack.power)})
            for rack in self.racks.values()
        ]
        bench, ports = self.folder / "bench.yaml", self.folder / "ports.json"
        document = {"racks": rows, "speed": self.speed, "attended_s": 60.0, "lines": self._lines}
        bench.write_text(yaml.safe_dump(document))
        command = [sys.executable, "-m", "firmware_sim", "run", str(bench), "--ports-file", str(ports)]
        plant = self._children.start("firmware-sim", command)
        self.real_time = real_time(plant.pid, PRIORITY + 1)
        until_s = time.monotonic() + START_S
        while not ports.exists():
            if self._children.ended() or time.monotonic() > until_s:
                raise RigError(f"the simulator did not start:\n{self._children.tail('firmware-sim')}")
            time.sleep(0.02)
        places = yaml.safe_load(ports.read_text())
        self._control = places["control"]
        host, port = self._broker or ("127.0.0.1", 1)
        self._stage = Stage(
            Options(speed=self.speed, racky=False, out=self.folder),
            self._children,
            Broker(host, port, "mosquitto"),
            self._control,
            places,
            tuple(rack_config(plan.name, plan.rated_kw) for plan in self.racks.values()),
        )

    def _configure(self, plan: RackPlan) -> None:
        assert self._stage is not None
        stage = self._stage
        path = write_rack_file(stage.options, stage.broker, stage.ports, rack_config(plan.name, plan.rated_kw))
        document = yaml.safe_load(path.read_text())
        document["memory"]["directory"] = str(self.state / plan.name)
        if self._broker is None:
            del document["mqtt"]
        for section, change in _placed(plan.changes, stage.ports["racks"][plan.name]).items():
            merged = isinstance(change, Mapping) and isinstance(document.get(section), dict)
            document[section] = {**document[section], **change} if merged else change
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        record(load(path), plan.start, "the rig's racks are commissioned")


def _placed(value: Any, places: Mapping[str, str]) -> Any:
    """Return ``value`` with each ``@device`` in it as that device's host and port."""
    if isinstance(value, Mapping):
        return {key: _placed(one, places) for key, one in value.items()}
    return places[value[1:]] if isinstance(value, str) and value.startswith("@") else value


def freeze(pid: int) -> None:
    """Stop a process in its tracks; ``thaw`` lets it go on."""
    os.kill(pid, signal.SIGSTOP)


def thaw(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
