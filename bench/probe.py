"""How late this machine and the simulator's wire are by themselves: what a latency has to be compared with.

A process of its own, scheduled like a Valvey where the machine allows it: what delays it would delay a Valvey too.
"""

import contextlib
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bench.supervisor import PRIORITY, real_time

PERIOD_S = 0.005
_READ = bytes.fromhex("0001 0000 0006 01 04 0000 0001")
_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Sample:
    """Until ``at_ns`` (CLOCK_MONOTONIC): how much too late a 5 ms sleep ended, how long the simulator took to answer."""

    at_ns: int
    overslept_ms: float
    answered_ms: float


class Probe:
    """Sleeps, and reads one register of a simulated device, every 5 ms; use it as ``with Probe(file, address)``."""

    def __init__(self, file: Path, address: str) -> None:
        self._file, self._address = file, address
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self._file.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.probe", self._address], stdout=out, cwd=_ROOT
            )
        real_time(self._process.pid, PRIORITY)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def samples(self) -> list[Sample]:
        """All that was sampled so far, oldest first."""
        rows = [line.split() for line in self._file.read_text().splitlines()]
        return [Sample(int(row[0]), float(row[1]), float(row[2])) for row in rows if len(row) == 3]


def worst(samples: list[Sample], begun_ns: int, ended_ns: int) -> Sample:
    """The worst of both kinds among the samples that touch a window; zeros when there are none."""
    inside = [
        one
        for one in samples
        if one.at_ns >= begun_ns and one.at_ns - (one.overslept_ms + one.answered_ms) * 1e6 <= ended_ns
    ]
    return Sample(
        begun_ns,
        max((one.overslept_ms for one in inside), default=0.0),
        max((one.answered_ms for one in inside), default=0.0),
    )


def main(address: str) -> None:
    """Print one sample a line until killed, or until the device is gone."""
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 5.0) as wire:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            due_ns = time.monotonic_ns() + int(PERIOD_S * 1e9)
            time.sleep(PERIOD_S)
            woken_ns = time.monotonic_ns()
            wire.sendall(_READ)
            if not wire.recv(64):
                return
            back_ns = time.monotonic_ns()
            print(back_ns, f"{(woken_ns - due_ns) / 1e6:.3f} {(back_ns - woken_ns) / 1e6:.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
