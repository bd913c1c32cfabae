#!/usr/bin/env python3
"""Every check of this project, in one order, on a machine with Python 3.11 or newer, make and git.

Prints what the stages print, then a table; writes build/ci/stages.json; ends non-zero when a stage failed.
A failed stage does not stop the others (only `setup` does): one run tells everything that is wrong.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "build" / "ci" / "stages.json"
TOTAL_S = (
    75 * 60.0
)  # whatever hangs, an answer comes well within the time that CI allows; a quiet machine needs a quarter of it
BIN = ".venv/bin/"
CLOSING = re.compile(r"^=+ .*\b(passed|failed|error).* in [\d.]+s.* =+$")

#: stage, command, the seconds after which it has failed
STAGES = (
    ("setup", "make setup", 600.0),
    ("format", BIN + "ruff format --check .", 90.0),
    ("lint", BIN + "ruff check .", 90.0),
    ("types", "make types", 300.0),
    ("imports", BIN + "lint-imports", 180.0),
    ("test", "make test", 3000.0),
    ("hil", "make hil", 300.0),
    ("fuzz", "make fuzz RUNS=200000", 900.0),
    ("docs", "make docs-check", 120.0),
    ("config", "make check-config", 120.0),
    ("systemd", BIN + "python -m pytest -qq tests/test_systemd_units.py", 120.0),
)


def run_stage(command, timeout_s):
    """Run one command, its output passed on as it comes; return (succeeded, pytest's closing line or None)."""
    env = {**os.environ, "CI": "true", "PYTHONUNBUFFERED": "1"}
    late, closing = threading.Event(), None

    def give_up():
        late.set()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    with subprocess.Popen(
        command,
        shell=True,
        cwd=ROOT,
        env=env,
        text=True,
        errors="replace",
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        timer = threading.Timer(timeout_s, give_up)
        timer.start()
        for line in process.stdout:
            print(line, end="", flush=True)
            if CLOSING.match(line.strip()):
                closing = line.strip()
    timer.cancel()
    if late.is_set():
        print(f"stopped after {timeout_s:.0f} s", flush=True)
    return process.returncode == 0, closing


def run_stages(stages, report, total_s):
    """Run all stages, the report rewritten after each; return (its rows, pytest's closing lines)."""
    began_s = time.monotonic()
    rows, closings = [], []
    report.parent.mkdir(parents=True, exist_ok=True)
    for name, command, timeout_s in stages:
        print(f"\n--- {name}: {command}", flush=True)
        start_s = time.monotonic()
        ok, closing = run_stage(command, max(1.0, min(timeout_s, began_s + total_s - start_s)))
        rows.append({"stage": name, "seconds": round(time.monotonic() - start_s, 2), "ok": ok})
        report.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        closings += [closing] if closing else []
        if name == "setup" and not ok:
            break
    return rows, closings


def main():
    rows, closings = run_stages(STAGES, REPORT, TOTAL_S)
    print()
    for row in rows:
        print(f"{'ok    ' if row['ok'] else 'FAILED'} {row['seconds']:7.1f} s  {row['stage']}")
    for closing in closings:
        print(closing)
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
