"""The demo's acts as a user plays them: each ends with every claim held, and leaves nothing running."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.demo.acts import ACTS
from bench.demo.options import ROOT
from tests.wire.broker import needs_mosquitto

pytestmark = [needs_mosquitto, pytest.mark.long, pytest.mark.timeout(900)]


def played(folder: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.demo", "--out", str(folder), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    report: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return report


@pytest.mark.parametrize("act", ACTS)
def test_every_claim_of_an_act_holds_and_nothing_is_left_running(act: str, tmp_path: Path) -> None:
    report = played(tmp_path, "--act", act)
    assert report["ok"]
    assert [one["id"] for one in report["acts"]] == [ACTS[act].id]
    assert report["acts"][0]["speed"] == ACTS[act].speed
    assert "SIMULATED" in (tmp_path / "report.html").read_text(encoding="utf-8")
    run = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert sorted(run["rackies"]) == sorted(run["racks"])
    assert all(list(Path(one["journal"]).glob("*.jsonl")) for one in run["racks"].values())
    for one in (*run["racks"].values(), *run["loops"].values(), *run["rackies"].values()):
        with pytest.raises(ProcessLookupError):
            os.kill(one["pid"], 0)


@pytest.mark.parametrize(("mode", "rackies"), [("fixed_speed", ["--no-racky"]), ("constant_flow", [])])
def test_a_leak_is_no_trouble_for_the_neighbours_in_any_mode_of_the_pumps(
    mode: str, rackies: list[str], tmp_path: Path
) -> None:
    report = played(tmp_path, "--mode", mode, *rackies)
    assert (report["ok"], report["cdu_mode"]) == (True, mode)
    run = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert len(run["rackies"]) == (0 if rackies else 4)
