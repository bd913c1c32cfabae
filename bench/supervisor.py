"""What systemd does for a Valvey, as far as a test needs it: restart it, hear that it is ready, end it."""

import contextlib
import ctypes
import os
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

RESTART_S = 0.5
"""RestartSec of valvey@.service."""
PRIORITY = 10
"""CPUSchedulingPriority of valvey@.service."""
CACHE = Path(__file__).resolve().parents[1] / "build" / "pycache"
_LOOK_S = 0.01
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)
_ROOT = Path(__file__).resolve().parents[1]


def real_time(pid: int, priority: int) -> bool:
    """Schedule a process as the units do (round robin, before all other work); False when this machine does not let us."""
    try:
        os.sched_setscheduler(pid, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
    except OSError:
        return False
    return True


def bytecode(cache: Path) -> dict[str, str]:
    """The environment of children that find compiled modules in ``cache``, as installed ones find theirs."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(cache)}


def _become_a_service() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    real_time(0, PRIORITY)


@dataclass
class Life:
    """One process from start to end; CLOCK_MONOTONIC seconds. ``code`` as subprocess has it: -9 = ended by SIGKILL."""

    started_s: float
    ready_s: float | None = None
    ended_s: float | None = None
    code: int | None = None


@dataclass
class Guard:
    """One supervised Valvey and its lives so far."""

    name: str
    command: list[str]
    restart: bool
    lives: list[Life] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None
    notify: socket.socket | None = None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def await_life(self, count: int, within_s: float) -> bool:
        """Wait until the ``count``-th life, the first being 1, is ready; False when it is not in time."""
        return _await(lambda: len(self.lives) >= count and self.lives[count - 1].ready_s is not None, within_s)

    def await_end(self, within_s: float) -> bool:
        """Wait until the present life has ended; False when it has not in time."""
        return _await(lambda: self.lives[-1].ended_s is not None, within_s)


def _await(holds: Callable[[], bool], within_s: float) -> bool:
    until_s = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > until_s:
            return False
        time.sleep(0.005)
    return True


class Service:
    """Starts guards, and starts again what ended without being told to."""

    def __init__(self, logs: Path, restart_s: float = RESTART_S) -> None:
        self.guards: dict[str, Guard] = {}
        logs.mkdir(parents=True, exist_ok=True)
        self._logs, self._restart_s = logs, restart_s
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="supervisor", daemon=True)
        self._thread.start()

    def start(self, name: str, command: list[str], *, restart: bool) -> Guard:
        """Start a process under ``name``; one that ended before may be started again."""
        with self._lock:
            guard = self.guards.get(name)
            if guard is None:
                guard = self.guards[name] = Guard(name, command, restart)
                guard.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                guard.notify.bind(self._address(guard).replace("@", "\0", 1))
                guard.notify.setblocking(False)
                self._selector.register(guard.notify, selectors.EVENT_READ, guard)
            guard.restart = restart
            self._spawn(guard)
        return guard

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL, *, restart: bool = True) -> float:
        """Send a signal; return when (CLOCK_MONOTONIC seconds). Whether it is started again is said here."""
        guard = self.guards[name]
        guard.restart = restart
        at_s = time.monotonic()
        os.kill(guard.pid, number)
        return at_s

    def tail(self, name: str, lines: int) -> str:
        path = self._logs / f"valvey-{name}.log"
        text = path.read_text(errors="replace") if path.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def close(self) -> None:
        """End all of them, bounded: asked first, then killed."""
        self._stop.set()
        self._thread.join()
        running = [guard.process for guard in self.guards.values() if guard.process is not None]
        for number, grace_s in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0)):
            until_s = time.monotonic() + grace_s
            for process in running:
                if process.poll() is None:
                    process.send_signal(signal.SIGCONT)
                    process.send_signal(number)
            for process in running:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, until_s - time.monotonic()))
        for guard in self.guards.values():
            if guard.notify is not None:
                guard.notify.close()
        self._selector.close()

    def _address(self, guard: Guard) -> str:
        return f"@racky-rig-{os.getpid()}-{id(self)}-{guard.name}"

    def _spawn(self, guard: Guard) -> None:
        environment = {**bytecode(CACHE), "NOTIFY_SOCKET": self._address(guard), "PYTHONFAULTHANDLER": "1"}
        with (self._logs / f"valvey-{guard.name}.log").open("ab") as log:
            guard.lives.append(Life(time.monotonic()))
            guard.process = subprocess.Popen(
                guard.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=_ROOT, env=environment,
                start_new_session=True, preexec_fn=_become_a_service,
            )  # fmt: skip

    def _work(self) -> None:
        while not self._stop.is_set():
            for key, _ in self._selector.select(_LOOK_S) if self._selector.get_map() else ():
                guard, told = key.data, b""
                with contextlib.suppress(BlockingIOError):
                    told = guard.notify.recv(4096)
                if told.startswith(b"READY=1"):
                    guard.lives[-1].ready_s = time.monotonic()
            with self._lock:
                for guard in self.guards.values():
                    self._look_after(guard)
            self._stop.wait(_LOOK_S / 2)

    def _look_after(self, guard: Guard) -> None:
        process = guard.process
        if process is None or process.poll() is None:
            return
        life = guard.lives[-1]
        if life.ended_s is None:
            life.ended_s, life.code = time.monotonic(), process.returncode
        elif guard.restart and time.monotonic() >= life.ended_s + self._restart_s:
            self._spawn(guard)
