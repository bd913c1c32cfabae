"""A Racky for wire tests: its file, its process, and what it says on the bus."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from bench.demo.stage import SITE
from tests.wire.guarded import Manager

ROOT = Path(__file__).resolve().parent.parent.parent
READY_S = 30.0
SHELVES_KW, BATTERIES_KWH = (36.0, 36.0, 36.0, 36.0), (4.0,)
POWER = {"shelves_kw": list(SHELVES_KW), "batteries_kwh": list(BATTERIES_KWH), "room": True}


def racky_file(folder: Path, rack: str, devices: Mapping[str, str], broker_port: int, **changes: Any) -> Path:
    """Write the shipped example for one simulated rack; ``changes`` are laid over it."""
    config = yaml.safe_load((ROOT / "configs" / "racky.yaml").read_text(encoding="utf-8"))
    config |= {"site": SITE, "rack": rack, "loop": "none", "simulated": True, "armed": True}
    config["profiles_dir"] = str(ROOT / "configs" / "profiles")
    for bus in config["buses"]:
        config["buses"][bus]["tcp"] = devices[bus]
    config["mqtt"] = {"host": "127.0.0.1", "port": broker_port}
    config["memory"] = {"directory": str(folder / "memory"), "runtime_directory": str(folder / "run")}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "racky.yaml"
    path.write_text(yaml.safe_dump(config | changes, sort_keys=False), encoding="utf-8")
    return path


class RackyProcess:
    """One Racky. Use it as ``with RackyProcess(file) as racky``."""

    def __init__(self, file: Path) -> None:
        self.file, self.log = file, file.parent / "log"
        self.manager = Manager(file.parent)
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "RackyProcess":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.manager.close()

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        """Start it and wait until its first step is done."""
        before = self.manager.count("READY=1")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "racky", "run", str(self.file)],
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=os.environ | {"NOTIFY_SOCKET": str(self.manager.path), "WATCHDOG_USEC": "2000000"},
            )
        self.until(lambda: self.manager.count("READY=1") > before, READY_S, "READY")

    def until(self, done: Callable[[], bool], timeout_s: float, what: str) -> None:
        until_s = time.monotonic() + timeout_s
        while not done():
            assert self.process is not None
            if time.monotonic() > until_s or (self.process.poll() is not None and what == "READY"):
                raise AssertionError(f"{what} expected within {timeout_s:g} s; the log says:\n{self.tail()}")
            time.sleep(0.02)

    def tail(self) -> str:
        return "\n".join(self.log.read_text(encoding="utf-8").splitlines()[-25:]) if self.log.exists() else ""

    def racky(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one command of racky to its end."""
        command = [sys.executable, "-m", "racky", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60.0, check=False, cwd=ROOT)

    def health(self) -> dict[str, Any]:
        """What ``racky health -o json`` says."""
        done = self.racky("health", str(self.file), "-o", "json")
        assert done.stdout, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found
