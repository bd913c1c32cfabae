"""Child processes that cannot outlive the demo, whatever ends it."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Children:
    """Started in order, ended in reverse order: first asked, then killed."""

    def __init__(self, log_dir: Path) -> None:
        self.log_dir = log_dir
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        log_dir.mkdir(parents=True, exist_ok=True)

    def start(self, name: str, command: list[str], *, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start ``command``; its output goes to ``<log_dir>/<name>.log``."""
        with (self.log_dir / f"{name}.log").open("wb") as log:
            child = subprocess.Popen(
                command, stdin=stdin, stdout=log, stderr=log, start_new_session=True, preexec_fn=_die_with_parent
            )
        self._running[name] = child
        return child

    def __contains__(self, name: str) -> bool:
        return name in self._running

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def ended(self) -> list[str]:
        """Names of children that are gone although nobody asked them to go."""
        return [name for name, child in self._running.items() if child.poll() is not None]

    def tail(self, name: str, lines: int = 12) -> str:
        path = self.log_dir / f"{name}.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])

    def end(self, name: str, grace_s: float = 5.0) -> None:
        """End one of them, as its service manager would."""
        child = self._running.pop(name)
        child.terminate()
        _reap(child, time.monotonic() + grace_s)

    def stop(self, grace_s: float = 5.0) -> None:
        """End all of them, the newest first and each before what it depends on; nothing is left behind."""
        end_s = time.monotonic() + grace_s
        for children in (self._guards(), list(self._running.values())):
            for child in children:
                with contextlib.suppress(ProcessLookupError):
                    child.terminate()
            for child in children:
                _reap(child, end_s)
        self._running.clear()

    def _guards(self) -> list[subprocess.Popen[bytes]]:
        return [child for name, child in self._running.items() if name.startswith(("valvey-", "racky-"))]


def _reap(child: subprocess.Popen[bytes], end_s: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(max(0.0, end_s - time.monotonic()))
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
