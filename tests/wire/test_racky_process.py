"""`racky run` as a process beside a Valvey, on the simulator's shelves and a real broker: what it does, and what its end does not."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.bystander import Bystander
from bench.rig import RackPlan, Rig, freeze, thaw
from tests.wire.broker import Broker, needs_mosquitto
from tests.wire.racky import POWER, ROOT, RackyProcess, racky_file
from tests.wire.rig import COMMANDS, FEEDBACK, OUTPUTS, changes, racks_in_service, wet

pytestmark = [needs_mosquitto, pytest.mark.timeout(180)]
RACK = "r01"


@dataclass
class Beside:
    """A guarded rack in service, and a Racky beside its Valvey that is not started yet."""

    rig: Rig
    bus: Bystander
    mosquitto: Broker
    racky: RackyProcess

    def power_phase(self) -> str:
        return str(self.racky.health()["power"]["phase"])

    def until_phase(self, phase: str) -> None:
        self.racky.until(lambda: self.power_phase() == phase, 30.0, phase)

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.racky.racky("request", *words, str(self.racky.file), "--why", "a test", "-o", "json")


@contextmanager
def rack_beside(folder: Path, **changes: Any) -> Generator[Beside]:
    """A rack in service; ``changes`` are laid over its Valvey's file."""
    with racks_in_service(folder, [RackPlan(RACK, power=POWER, changes=changes)]) as (rig, bus, mosquitto):
        file = racky_file(folder / "racky", RACK, rig.devices[RACK], mosquitto.port)
        with RackyProcess(file) as racky:
            yield Beside(rig, bus, mosquitto, racky)


@pytest.fixture
def beside(tmp_path: Path) -> Generator[Beside]:
    with rack_beside(tmp_path) as one:
        yield one


def test_nothing_moves_and_nothing_is_decided_when_racky_starts_hangs_dies_and_comes_back(beside: Beside) -> None:
    rig, racky = beside.rig, beside.racky
    since = rig.mark()
    racky.start()
    beside.until_phase("ON")
    freeze(racky.pid)
    time.sleep(3.0)
    thaw(racky.pid)
    for _ in range(2):
        assert racky.process is not None
        racky.process.send_signal(signal.SIGKILL)
        racky.process.wait(10.0)
        racky.start()
    beside.until_phase("ON")
    moved = changes(rig.stamps(since, RACK), (*COMMANDS, *OUTPUTS, *FEEDBACK))
    assert moved == []
    assert len(rig.guard(RACK).lives) == 1
    freeze(racky.pid)  # and a trip beside a hung Racky is as quick as ever
    since = wet(rig, RACK)
    dark = rig.await_stamp(since, RACK, "XS-101 command", 0.0)
    shut = rig.await_stamp(since, RACK, "XV-101 command", 0.0)
    first = rig.stamps(since, RACK, "register", what="LDT-101")[0]
    assert (dark["mono_ns"] - first["mono_ns"]) / 1e9 < 2.0
    assert (shut["mono_ns"] - first["mono_ns"]) / 1e9 < 2.0
    thaw(racky.pid)


def test_power_goes_off_and_on_in_sequence_and_is_refused_while_a_latch_stands(beside: Beside) -> None:
    beside.racky.start()
    beside.until_phase("ON")
    off = beside.ask("power_off", "--wait")
    assert (off.returncode, json.loads(off.stdout)["status"]) == (0, "succeeded")
    assert beside.rig.true(RACK)["busbar_kw"] < 1.0
    on = beside.ask("power_on", "--wait")
    assert (on.returncode, json.loads(on.stdout)["status"]) == (0, "succeeded")
    assert beside.rig.true(RACK)["busbar_kw"] > 100.0
    wet(beside.rig, RACK)
    beside.racky.until(lambda: beside.racky.health()["causes"] != [], 20.0, "a cause")
    beside.racky.until(lambda: "allocation" in beside.racky.health()["blocks"], 20.0, "no jobs")
    refused = beside.ask("power_on")
    assert refused.returncode == 3
    answer = json.loads(refused.stdout)["responses"][0]
    assert "SIF-1" in answer["reason"]
    assert answer["would_allow"]


def test_a_rack_whose_racky_is_gone_is_not_healthy(beside: Beside) -> None:
    racky = beside.racky
    racky.start()
    racky.until(lambda: racky.health()["healthy"], 20.0, "healthy")
    assert racky.racky("health", str(racky.file), "--check").returncode == 0
    assert racky.process is not None
    racky.process.send_signal(signal.SIGKILL)
    racky.process.wait(10.0)
    racky.until(lambda: not racky.health()["online"], 20.0, "its last will")
    gone = racky.health()
    assert (gone["healthy"], gone["causes"][0]["id"]) == (False, "racky-silent")
    assert racky.racky("health", str(racky.file)).returncode == 5
    assert beside.ask("power_off").returncode == 5


def test_a_tray_s_leak_flag_is_handed_to_valvey_in_racky_s_name(tmp_path: Path) -> None:
    policy = str(ROOT / "configs" / "policies" / "tiers.yaml")
    with rack_beside(tmp_path, trays=["t3", "t4"], policy=policy) as one:
        one.racky.start()
        wet_t3 = ("--role", "integration", "--arg", "tray=t3", "--arg", "wet=true", "--arg", "for_s=60")
        told = one.ask("leak_evidence", *wet_t3)
        assert told.returncode == 0, told.stdout + told.stderr

        def accepted() -> bool:
            logs = [path for path in (one.rig.folder / "logs").rglob("*") if path.is_file()]
            lines = [line for path in logs for line in path.read_text(errors="replace").splitlines()]
            rows = [json.loads(line) for line in lines if line.startswith("{") and "leak_evidence" in line]
            return any((row.get("role"), row.get("status")) == ("racky", "accepted") for row in rows)

        one.racky.until(accepted, 10.0, "Valvey's answer")


def test_it_ends_when_it_is_told_with_all_outputs_as_they_are_and_a_second_one_is_refused(beside: Beside) -> None:
    racky, rig = beside.racky, beside.rig
    racky.start()
    beside.until_phase("ON")
    second = subprocess.run(
        [sys.executable, "-m", "racky", "run", str(racky.file)],
        capture_output=True,
        text=True,
        timeout=30.0,
        check=False,
    )
    assert (second.returncode, "holds it" in second.stderr) == (3, True)
    load_kw = rig.true(RACK)["busbar_kw"]
    assert racky.process is not None
    racky.process.terminate()
    assert racky.process.wait(6.0) == 0
    assert racky.manager.count("STOPPING=1") == 1
    assert rig.true(RACK)["busbar_kw"] == pytest.approx(load_kw, abs=2.0)
    assert not racky.health()["online"]
