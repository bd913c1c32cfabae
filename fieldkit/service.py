"""Living under systemd (or without it): readiness, watchdog, signals, and one instance per rack."""

import asyncio
import fcntl
import os
import signal
import socket
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def notify(*lines: str) -> bool:
    """Tell the service manager, e.g. ``notify("READY=1", "STATUS=scan 1")``; False when there is none to be told.

    A manager that does not take it (a full socket, one that is gone) is no reason to stop guarding a rack.
    """
    path = os.environ.get("NOTIFY_SOCKET")
    if not path or path[0] not in "/@":
        return False
    address = "\0" + path[1:] if path[0] == "@" else path
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
            manager.setblocking(False)
            manager.connect(address)
            manager.sendall("\n".join(lines).encode())
    except OSError:
        return False
    return True


def one_line(text: str) -> str:
    """``text`` fit for ``STATUS=``: a line break in it would be read as another assignment."""
    return " ".join(text.split())


class Watchdog:
    """Feeds the manager's watchdog at a third of its period, from the loop that must not hang.

    The period comes from WATCHDOG_USEC and counts only for the process that WATCHDOG_PID names. ``interval_s`` is
    None when nobody watches.
    """

    def __init__(self) -> None:
        usec = os.environ.get("WATCHDOG_USEC", "")
        pid = os.environ.get("WATCHDOG_PID")
        mine = pid is None or pid == str(os.getpid())
        self.interval_s = int(usec) / 3e6 if usec.isdecimal() and int(usec) > 0 and mine else None
        self._next_s = 0.0

    def feed(self, now_s: float, status: str = "") -> bool:
        """Call after each completed scan, ``now_s`` monotonic; sends when a third of the period has passed."""
        if self.interval_s is None or now_s < self._next_s:
            return False
        self._next_s = now_s + self.interval_s
        return notify("WATCHDOG=1", f"STATUS={one_line(status)}") if status else notify("WATCHDOG=1")


@contextmanager
def stop_on_signals(numbers: Sequence[signal.Signals] = STOP_SIGNALS) -> Generator[asyncio.Event, None, None]:
    """Yield an event that SIGTERM and SIGINT set, or ``numbers``; the former handlers come back at the end."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in numbers:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


class AlreadyRunningError(RuntimeError):
    """Another instance guards this rack on this machine."""


class InstanceLock:
    """A lock file that one process holds; the kernel frees it when that process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(file, 32).decode(errors="replace").strip() or "unknown"
            os.close(file)
            raise AlreadyRunningError(
                f"{self._path}: process {owner} holds it; two instances for one rack would write against each other. "
                "Stop that one first"
            ) from None
        os.ftruncate(file, 0)
        os.write(file, f"{os.getpid()}\n".encode())
        self._file = file
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The file stays: removing it would let two processes lock two different files of one name.
        if self._file is not None:
            os.close(self._file)
            self._file = None
