"""A cold start: nobody guards the rack until the first judged scan, so nothing stands before it that could come after."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wire.guarded import ROOT, Guarded, guarded

pytestmark = pytest.mark.timeout(120)

RUN_PATH = "import valvey.cli, valvey.start, valvey.config, valvey.run"
NEEDED = """
from fieldkit.without import without
with without("rich"):
    import structlog
import asyncio, importlib.metadata, sqlite3, pydantic.main, pymodbus.client, transitions, yaml
"""
"""What no start can do without: the libraries that read a file, poll a device, run the chart and keep a log."""


def cpu_s(pid: int) -> float:
    """CPU time of a living process, all its threads, without the steps of 10 ms that ``times`` has."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text(encoding="ascii").split()[0]) for thread in threads) / 1e9


def start_cpu_s(rack: Guarded) -> float:
    """Start the daemon, return what it took until its first scan was judged, and stop it again."""
    rack.start()
    assert rack.process is not None
    took_s = cpu_s(rack.process.pid)
    rack.stop()
    return took_s


def imports_cpu_s() -> float:
    """What a process takes that only imports the libraries."""
    before = os.times()
    subprocess.run([sys.executable, "-c", NEEDED], check=True, cwd=ROOT)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def test_what_draws_asks_or_talks_to_a_broker_is_not_imported_before_the_first_scan() -> None:
    tell = "import sys; print([name for name in ('aiomqtt', 'click', 'paho', 'rich', 'typer') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{RUN_PATH}\n{tell}"], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"


def test_a_start_takes_little_more_than_the_libraries_it_needs(tmp_path: Path) -> None:
    """Within one run, alternating: 1.4 to 1.7 times theirs; with typer, rich and an MQTT client before it, 2.8."""
    with guarded(tmp_path) as rack:
        rounds = [(start_cpu_s(rack), imports_cpu_s()) for _ in range(3)]
        ours_s, theirs_s = (min(times) for times in zip(*rounds, strict=True))
        assert ours_s <= 2.3 * theirs_s, rounds
        assert rack.lines("task_ended") == []
