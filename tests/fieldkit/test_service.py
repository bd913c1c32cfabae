"""Living under systemd: against a real notify socket."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fieldkit.service import AlreadyRunningError, InstanceLock, Watchdog, notify, one_line, stop_on_signals


class Manager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, address: str) -> None:
        self.wire = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.wire.bind(address)
        self.wire.setblocking(False)

    def told(self) -> list[str]:
        out = []
        while True:
            try:
                out.append(self.wire.recv(4096).decode())
            except BlockingIOError:
                return out


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    path = tmp_path / "notify"
    manager = Manager(str(path))
    monkeypatch.setenv("NOTIFY_SOCKET", str(path))
    yield manager
    manager.wire.close()


@pytest.fixture(autouse=True)
def _nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"):
        monkeypatch.delenv(name, raising=False)


def test_lines_reach_the_manager_as_one_message(manager: Manager) -> None:
    assert notify("READY=1", "STATUS=scan 1")
    assert manager.told() == ["READY=1\nSTATUS=scan 1"]


def test_an_abstract_socket_is_reached_too(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"fieldkit-test-{os.getpid()}"
    manager = Manager("\0" + name)
    monkeypatch.setenv("NOTIFY_SOCKET", "@" + name)
    assert notify("READY=1")
    assert manager.told() == ["READY=1"]
    manager.wire.close()


@pytest.mark.parametrize("path", ["", "relative", "/nowhere/notify"])
def test_without_a_manager_nothing_is_told_and_nothing_fails(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", path)
    assert not notify("READY=1")


def test_a_manager_that_takes_nothing_does_not_hold_up_the_loop(manager: Manager) -> None:
    results = [notify("WATCHDOG=1", "STATUS=" + "x" * 1000) for _ in range(5000)]
    assert results[0]
    assert not results[-1]


def test_the_watchdog_is_fed_at_a_third_of_its_period(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "600000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    watchdog = Watchdog()
    assert watchdog.interval_s == pytest.approx(0.2)
    fed = [n for n in range(9) if watchdog.feed(50.0 + n * 0.125, "scan\nREADY=0")]
    assert fed == [0, 2, 4, 6, 8]
    assert manager.told()[0] == "WATCHDOG=1\nSTATUS=scan READY=0"


@pytest.mark.parametrize(("usec", "pid"), [("600000", "1"), ("0", None), ("nonsense", None), ("", None)])
def test_a_watchdog_that_is_not_ours_is_not_fed(usec: str, pid: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", usec)
    if pid is not None:
        monkeypatch.setenv("WATCHDOG_PID", pid)
    watchdog = Watchdog()
    assert watchdog.interval_s is None
    assert not watchdog.feed(1.0)


def test_a_status_is_one_line() -> None:
    assert one_line("a\nb\r\n  c") == "a b c"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_stop_signal_sets_the_event_and_nothing_else(number: signal.Signals) -> None:
    with stop_on_signals() as stop:
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stop.wait(), 1.0)


HOLDER = """
import sys, time
from pathlib import Path
from fieldkit.service import InstanceLock
with InstanceLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_rack_has_one_instance_and_the_kernel_frees_the_lock_of_a_killed_one(tmp_path: Path) -> None:
    path = tmp_path / "run" / "r01.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(AlreadyRunningError, match=f"process {holder.pid} holds it"), InstanceLock(path):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    holder.stdin.close()
    with InstanceLock(path):
        assert path.read_text() == f"{os.getpid()}\n"
    with InstanceLock(path):
        pass
