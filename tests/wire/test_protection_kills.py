"""SIGKILL at random moments around a trip: whatever was written stays, and somebody has to be asked before it is undone."""

import os
import random
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from bench.bystander import Bystander
from bench.demands import DETECTORS, HOLD_S, POLICY
from bench.rig import RackPlan, Rig, Stamp
from tests.wire.broker import needs_mosquitto
from tests.wire.rig import COMMANDS, OUTPUTS, changes, racks_in_service, wet

pytestmark = [needs_mosquitto, pytest.mark.timeout(120)]

RACKS = 6
TRIP_MEMORY_S = 0.1
BEFORE_S, AFTER_S = 0.05, 0.2
"""The kill comes between so long before the hold is over and so long after."""


class DiskProbe:
    """Appends and syncs 4 KB every 10 ms beside the Valveys' memories: what the disk itself, or the machine, takes."""

    def __init__(self, file: Path) -> None:
        self.waits: list[tuple[float, float]] = []
        self._file = file
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="disk probe", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10.0)

    def worst_s(self, begun_s: float, ended_s: float) -> float:
        """The longest wait that touches a window."""
        waits = [(a, b) for a, b in self.waits if b >= begun_s and a <= ended_s]
        return max((b - a for a, b in waits), default=0.0)

    def _work(self) -> None:
        with self._file.open("ab", buffering=0) as file:
            while not self._stop.wait(0.01):
                begun_s = time.monotonic()
                file.write(bytes(4096))
                os.fsync(file.fileno())
                self.waits.append((begun_s, time.monotonic()))


@dataclass(frozen=True, slots=True)
class Kill:
    """``mended``: the leak was gone when the next process looked; times are CLOCK_MONOTONIC seconds."""

    rack: str
    since: int
    heard: int
    killed_s: float
    mended: bool


def kill_around_a_trip(rig: Rig, bus: Bystander, rack: str, detector: str, mended: bool, chance: random.Random) -> Kill:
    heard, since = len(bus.heard), wet(rig, rack, detector)
    leak_s = rig.await_stamp(since, rack, detector, 1.0)["mono_ns"] / 1e9
    due_s = leak_s + HOLD_S + chance.uniform(-BEFORE_S, AFTER_S)
    time.sleep(max(0.0, due_s - time.monotonic()))
    killed_s = rig.service.kill(rack)
    if mended:
        rig.ask("fault_clear", kind="wet", rack=rack)
    return Kill(rack, since, heard, killed_s, mended)


def judge(kill: Kill, stamps: list[Stamp], state: dict[str, Any], restarted_s: float, disk: DiskProbe) -> str:
    """Assert what must hold after this kill; return the kind of moment it was, for people.

    The trip is remembered 100 ms after its write, if the disk takes a record in half of that; ADOPTED stands in for it.
    """
    latches = [latch["sif"] for latch in state["latches"]]
    moved = [stamp for stamp in stamps if stamp["what"] in COMMANDS]
    acted = [stamp for stamp in moved if stamp["mono_ns"] / 1e9 < restarted_s]
    told = f"{kill}, {changes(moved, COMMANDS)}, {state['state']}, {latches}"
    assert not [change for change in changes(stamps, (*COMMANDS, *OUTPUTS)) if change[1]], f"something rose: {told}"
    if not acted:
        if kill.mended:
            assert (state["state"], latches, moved) == ("FLOWING", [], []), told
            return "before the trip, mended: flows on"
        return "before the trip, wet: trips after the restart"
    after_ms = (kill.killed_s - acted[0]["mono_ns"] / 1e9) * 1e3
    assert state["state"] != "FLOWING", told
    slow_s = disk.worst_s(kill.killed_s - after_ms / 1e3, kill.killed_s)
    if after_ms >= TRIP_MEMORY_S * 1e3 and slow_s < TRIP_MEMORY_S / 2:
        assert "SIF-1" in latches, told
    assert {"SIF-1", "ADOPTED"} & set(latches), told
    return f"{after_ms:.0f} ms after the trip: {', '.join(latches)} (the disk took {slow_s * 1e3:.0f} ms)"


@pytest.mark.parametrize("rounds", [1, pytest.param(4, marks=[pytest.mark.long, pytest.mark.timeout(300)])])
def test_a_kill_around_a_trip_forgets_nothing_and_opens_nothing(tmp_path: Path, rounds: int) -> None:
    chance = random.Random(rounds)
    policy = tmp_path / "policy.yaml"
    policy.write_text(yaml.safe_dump(POLICY))
    for number in range(rounds):
        plans = [RackPlan(f"r{n:02d}", changes={"policy": str(policy)}) for n in range(1, RACKS + 1)]
        with (
            racks_in_service(tmp_path / str(number), plans) as (rig, bus, _),
            DiskProbe(tmp_path / "probe") as disk,
        ):
            detectors = list(DETECTORS)
            kills = [
                kill_around_a_trip(rig, bus, plan.name, detectors[n % 2], n % 3 < 2, chance)
                for n, plan in enumerate(plans)
            ]
            for kill in kills:
                assert rig.guard(kill.rack).await_life(2, 20.0), rig.tail(kill.rack)
                if not kill.mended:
                    rig.await_stamp(kill.since, kill.rack, "XS-101 command", 0.0)
                bus.await_back(kill.rack, kill.heard)
            time.sleep(1.0)  # what was adopted is told by now
            for kill in kills:
                state, restarted_s = bus.state(kill.rack), rig.guard(kill.rack).lives[1].started_s
                if not kill.mended:
                    assert "SIF-1" in [latch["sif"] for latch in state["latches"]]
                print(kill.rack, judge(kill, rig.stamps(kill.since, kill.rack), state, restarted_s, disk))
