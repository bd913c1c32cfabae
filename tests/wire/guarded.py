"""A guarded rack for wire tests: the simulator, a broker and `valvey run`, each a process of its own.

Times that are compared come from the simulator's stamps and from CLOCK_MONOTONIC of this machine.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiomqtt
import yaml

from firmware_sim.client import ask, find_control
from valvey.config import load
from valvey.seeding import record

ROOT = Path(__file__).resolve().parent.parent.parent
DEVICES = ("valve_controller", "transmitters", "leak_panel", "busbar_meter", "feeder_meter")
SITE = "bench"
READY_S = 15.0


class Manager:
    """A service manager's socket; remembers what it was told, and when."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "notify"
        self.path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.path))
        self._socket.settimeout(0.2)
        self.told: list[tuple[float, str]] = []
        self._closing = False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def ready_s(self) -> float | None:
        """CLOCK_MONOTONIC at which READY was heard last."""
        return next((at_s for at_s, text in reversed(self.told) if text.startswith("READY=1")), None)

    def count(self, start: str) -> int:
        return sum(text.startswith(start) for _, text in self.told)

    def close(self) -> None:
        self._closing = True
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while not self._closing:
            try:
                text = self._socket.recv(2000).decode()
            except TimeoutError:
                continue
            self.told.append((time.monotonic(), text))


class Guarded:
    """One rack's files and its daemon."""

    def __init__(self, bench: "Bench", rack: str, broker_port: int | None, **changes: Any) -> None:
        self.bench, self.rack = bench, rack
        self.folder = bench.folder / rack
        self.folder.mkdir(exist_ok=True)
        self.config = self._write(broker_port, changes)
        self.process: subprocess.Popen[bytes] | None = None
        self.manager = Manager(self.folder)
        self.log = self.folder / "log"

    def _write(self, broker_port: int | None, changes: dict[str, Any]) -> Path:
        config = yaml.safe_load((ROOT / "configs" / "rack.yaml").read_text(encoding="utf-8"))
        config |= {"site": SITE, "rack": self.rack, "simulated": True, "armed": True}
        for bus in DEVICES:
            config["buses"][bus]["tcp"] = self.bench.ports["racks"][self.rack][bus]
        config["buses"]["cdu"]["tcp"] = self.bench.ports["cdu"]
        rated_kw = self.bench.ratings[self.rack]
        config["limits"] |= {"rating_kw": rated_kw, "flow_nominal_lpm": round(1.49 * rated_kw, 1)}
        config["profiles_dir"] = str(ROOT / "configs" / "profiles")
        config["policy"] = str(ROOT / "configs" / config["policy"])
        config["memory"] = {
            "directory": str(self.folder / "memory"), "runtime_directory": str(self.folder / "run")
        }  # fmt: skip
        config["mqtt"] = None if broker_port is None else {"host": "127.0.0.1", "port": broker_port}
        config |= changes
        path = self.folder / "rack.yaml"
        path.write_text(yaml.safe_dump({k: v for k, v in config.items() if v is not None}), encoding="utf-8")
        return path

    def valvey(self, *arguments: str, timeout_s: float = 20.0) -> subprocess.CompletedProcess[str]:
        """Run one command of valvey to its end."""
        command = [sys.executable, "-m", "valvey", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False, cwd=ROOT)

    def commission(self, state: str = "FLOWING") -> None:
        with ThreadPoolExecutor(1) as aside:  # it runs a loop of its own, and the test may have one
            aside.submit(record, load(self.config), state, "a test bench").result()

    def start(self, *, wait: bool = True, preexec: Callable[[], None] | None = None) -> float:
        """Start the daemon and wait until its first scan is judged; return when that was heard."""
        before = self.manager.count("READY=1")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "valvey", "run", str(self.config)],
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=os.environ | {"NOTIFY_SOCKET": str(self.manager.path), "WATCHDOG_USEC": "600000"},
                preexec_fn=preexec,
            )
        if not wait:
            return 0.0
        self.until(lambda: self.manager.count("READY=1") > before, READY_S, "READY")
        ready_s = self.manager.ready_s()
        assert ready_s is not None
        return ready_s

    def until(self, done: Callable[[], bool], timeout_s: float, what: str) -> None:
        end_s = time.monotonic() + timeout_s
        while not done():
            if time.monotonic() > end_s:
                raise AssertionError(f"{what} expected within {timeout_s:g} s; the log says:\n{self.tail()}")
            time.sleep(0.01)

    def tail(self) -> str:
        return "\n".join(self.log.read_text(encoding="utf-8").splitlines()[-25:]) if self.log.exists() else ""

    def lines(self, event: str) -> list[dict[str, Any]]:
        """The log lines of one event."""
        found = []
        for line in self.log.read_text(encoding="utf-8").splitlines():
            if line.startswith("{") and (fields := json.loads(line)).get("event") == event:
                found.append(fields)
        return found

    def states(self) -> list[str]:
        """Where the chart went."""
        return [line["to"] for line in self.lines("transition")]

    def until_state(self, state: str, timeout_s: float = 10.0) -> None:
        self.until(lambda: self.states()[-1:] == [state], timeout_s, state)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(10.0)

    def stop(self, timeout_s: float = 6.0) -> tuple[int, float]:
        """SIGTERM; return the exit code and how long the end took."""
        assert self.process is not None
        begun_s = time.monotonic()
        self.process.terminate()
        return self.process.wait(timeout_s), time.monotonic() - begun_s

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.manager.close()

    # -- what the simulator saw of this rack -------------------------------------------------------------------------

    def stamps(self, *kinds: str, since: int = 0, what: str | None = None) -> list[dict[str, Any]]:
        found = self.bench.ask("stamps", rack=self.rack, kinds=list(kinds), since=since, what=what)
        return list(found["stamps"])

    def measured(self, tag: str) -> float:
        """What the simulator's instrument shows."""
        return float(self.bench.ask("snapshot")["racks"][self.rack]["measured"][tag])

    def last_seq(self) -> int:
        return int(self.bench.ask("stamps")["last_seq"])

    def moves(self, since: int) -> list[str]:
        """Isolation valves, permit and coils that changed since: nothing of it may follow a restart."""
        watched = ("ZSO", "ZSC", "XI", "XY", "XSY", "XV", "XS")
        found = self.stamps("register", "command", since=since)
        return [f"{one['what']}={one['value']}" for one in found if one["what"].startswith(watched)]

    def latency_ms(self, cause: str, effect: str, since: int, timeout_s: float = 8.0) -> float:
        """From the register ``cause`` that changed to the command ``effect`` that arrived."""
        self.until(lambda: bool(self.stamps("command", since=since, what=effect)), timeout_s, f"{effect} after {cause}")
        first = self.stamps("register", since=since, what=cause)[0]
        then = self.stamps("command", since=since, what=effect)[0]
        return float(then["mono_ns"] - first["mono_ns"]) / 1e6


class Bench:
    """The simulator as a process."""

    def __init__(self, folder: Path, racks: int, *options: str) -> None:
        self.folder = folder
        ports = folder / "ports.json"
        command = [sys.executable, "-m", "firmware_sim", "run", "--racks", str(racks), "--attended", "60", *options]
        self._log = (folder / "bench.log").open("wb")
        self.process = subprocess.Popen(
            [*command, "--ports-file", str(ports)], stdout=self._log, stderr=self._log, cwd=ROOT
        )
        end_s = time.monotonic() + READY_S
        while not ports.exists():
            assert self.process.poll() is None, (folder / "bench.log").read_text()
            assert time.monotonic() < end_s, "the simulator did not come up"
            time.sleep(0.02)
        self.ports: dict[str, Any] = json.loads(ports.read_text(encoding="utf-8"))
        self._control = find_control(None, ports)
        steps = max(1, racks - 1)
        self.ratings = {name: float(round(132 + 98 * i / steps)) for i, name in enumerate(self.ports["racks"])}

    def ask(self, do: str, **arguments: Any) -> Any:
        return ask(self._control, do, **arguments)

    def fault(self, kind: str, rack: str | None = "r01", **aim: Any) -> int:
        return int(self.ask("fault_add", kind=kind, rack=rack, **aim)["id"])

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._log.close()


@contextmanager
def bench(folder: Path, racks: int = 1, *options: str) -> Generator[Bench, None, None]:
    """The simulator, with more ``options`` of its command line."""
    one = Bench(folder, racks, *options)
    try:
        yield one
    finally:
        one.close()


@contextmanager
def guarded(
    folder: Path, *, broker_port: int | None = None, commissioned: str | None = "FLOWING", **changes: Any
) -> Generator[Guarded, None, None]:
    """One rack on its own bench, not started yet; ``changes`` are laid over its file, and a ``speed`` is the bench's too."""
    with bench(folder, 1, "--speed", str(changes.get("speed", 1.0))) as one:
        rack = Guarded(one, "r01", broker_port, **changes)
        try:
            if commissioned is not None:
                rack.commission(commissioned)
            yield rack
        finally:
            rack.close()


def payload(message: aiomqtt.Message) -> dict[str, Any]:
    assert isinstance(message.payload, bytes)
    found = json.loads(message.payload)
    assert isinstance(found, dict)
    return found
