"""Hurried time is the same time: stepped, accelerated and real runs of one story show the same plant, and the same guard.

Only when something is *told* to the plant depends on the machine: a write arrives when it arrives. The stepped run is
told everything at the simulated moment at which the run on the wire was, and is then compared sample by sample.
"""

import asyncio
import struct
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bench.rig import RackPlan
from firmware_sim.bank import Bank
from firmware_sim.bench import Bench
from firmware_sim.bench_config import BenchConfig, demo_bench
from firmware_sim.snapshot import snapshot_of
from firmware_sim.stamps import StampKind
from tests.wire.broker import needs_mosquitto
from tests.wire.rig import racks_in_service, seconds

TOLERANCE, WITHIN_S = 0.005, 0.1
"""Share of the greatest value that a quantity takes in the story; and simulated time: the network is solved so often, and
not at the same moments in two runs, which shows while a valve strokes."""
EVERY_S, ENDS_S = 0.25, 19.5
VALVES = [1, 1, 0, 0, 4000]
"""XV-101 and XV-102 open, drain and vent shut, FCV-101 to 40 %: it also arms their expiry anew."""


def bench_config(speed: float = 1.0) -> BenchConfig:
    return demo_bench(2, speed=speed, attended_s=0.0)


@dataclass
class Run:
    """What one run showed, and when it was told what."""

    told: list[tuple[float, str]] = field(default_factory=list)
    shown: list[tuple[float, dict[str, float]]] = field(default_factory=list)


def truth(bank: Bank) -> dict[str, float]:
    snapshot = snapshot_of(bank)
    out = {f"cdu {key}": value for key, value in snapshot["cdu"]["true"].items() if isinstance(value, int | float)}
    for name, rack in snapshot["racks"].items():
        true = rack["true"]
        out |= {f"{name} {key}": float(value) for key, value in true.items() if isinstance(value, int | float)}
        out |= {f"{name} {tag}": value for tag, value in true["valves_pct"].items()}
    return out


# The story: a load that falls, one valve block written, a pump that trips; nobody attends, so the permits lapse after
# 8 s, r01's valves after 15 s, and those of r02, which were written once, 15 s after that.
STORY: tuple[tuple[float, str], ...] = ((2.0, "load"), (3.0, "write"), (5.0, "trip"))


def tell(bank: Bank, what: str) -> None:
    if what == "load":
        bank.set_load("r01", 60.0)
    elif what == "trip":
        bank.book.add("pump_trip", value=1.0)
    else:
        bank.rigs["r02"].valves.write_registers(0, VALVES, bank.now_s)


def stepped(told: list[tuple[float, str]], times_s: list[float]) -> Run:
    """Play the story as it was told on the wire, in stepped time, and look at these times."""
    bank, run, left = Bank(bench_config()), Run(), list(told)
    for at_s in times_s:
        while left and left[0][0] <= at_s:
            due_s, what = left.pop(0)
            bank.advance(max(due_s - bank.now_s, 1e-6))
            tell(bank, what)
        if at_s > bank.now_s:
            bank.advance(at_s - bank.now_s)
        run.shown.append((at_s, truth(bank)))
    return run


async def write_valves(bench: Bench) -> None:
    """One write of r02's valve block over Modbus TCP."""
    reader, writer = await asyncio.open_connection(*bench.address("r02/valve_controller"))
    body = struct.pack(">BBHHB", 1, 16, 0, len(VALVES), 2 * len(VALVES)) + struct.pack(f">{len(VALVES)}H", *VALVES)
    writer.write(struct.pack(">HHH", 1, 0, len(body)) + body)
    assert (await reader.readexactly(12))[7] == 16
    writer.close()
    await writer.wait_closed()


async def on_the_wire(speed: float) -> Run:
    run, left = Run(), list(STORY)
    async with Bench(bench_config(speed)) as bench:
        bank = bench.bank
        while bank.now_s < ENDS_S:
            while left and bank.now_s >= left[0][0]:
                _, what = left.pop(0)
                if what == "write":
                    await write_valves(bench)
                    (stamp,) = bank.stamps.find(kinds=[StampKind.WRITE])
                    run.told.append((stamp.sim_s, what))
                else:
                    tell(bank, what)
                    run.told.append((bank.now_s, what))
            run.shown.append((bank.now_s, truth(bank)))
            await asyncio.sleep(EVERY_S / speed)
    return run


@pytest.mark.parametrize("speed", [1.0, 4.0, 10.0])
async def test_a_run_on_the_wire_shows_what_the_stepped_run_shows(speed: float) -> None:
    run = await on_the_wire(speed)
    assert [what for _, what in run.told] == [what for _, what in STORY]
    around = {at_s: [max(0.0, at_s - WITHIN_S), at_s, at_s + WITHIN_S] for at_s, _ in run.shown}
    reference = dict(stepped(run.told, sorted({one for times in around.values() for one in times})).shown)
    most = {key: max(abs(shown[key]) for shown in reference.values()) for key in run.shown[0][1]}
    off = dict.fromkeys(most, 0.0)
    for at_s, shown in run.shown:
        for key, value in shown.items():
            near = [reference[one][key] for one in around[at_s]]
            off[key] = max(off[key], min(near) - value, value - max(near))
    shares = {key: off[key] / max(most[key], 1.0) for key in most}
    print(f"speed {speed:g}: {len(run.shown)} samples, worst {max(shares.values()):.5f}")
    assert {key: share for key, share in shares.items() if share > TOLERANCE} == {}
    end = run.shown[-1][1]
    assert [end[f"{rack} permit_closed"] for rack in ("r01", "r02")] == [0.0, 0.0]
    assert end["r01 XV-101"] == end["r01 XV-102"] == 0.0
    assert 0.0 < end["r02 XV-101"] < 100.0  # still on its way: its expiry began anew with the write


LEAK = (("LDT-101", 1.0), ("XS-101 command", 0.0), ("XV-101 command", 0.0), ("ZSC-101", 1.0), ("ZSC-102", 1.0))


@needs_mosquitto
@pytest.mark.timeout(120)
def test_a_hurried_guard_shuts_a_leaking_rack_in_the_same_order_and_the_same_simulated_times(tmp_path: Path) -> None:
    took = {speed: leak_of(tmp_path / f"{speed:g}", speed) for speed in (1.0, 4.0)}
    print(took)
    real, hurried = took[1.0], took[4.0]
    # two scans of 50 ms, and what a machine of two cores may be late, four times as long in hurried time
    assert hurried == pytest.approx(real, abs=0.5)
    assert real[0] == pytest.approx(0.5, abs=0.3)


def leak_of(folder: Path, speed: float) -> list[float]:
    """Simulated seconds from the hole to each event of ``LEAK``."""
    rack, plan = "r01", RackPlan("r01", changes={"scan": {"fast_s": 0.05}})
    with racks_in_service(folder, [plan], speed=speed) as (rig, bus, _):
        since = rig.mark()
        rig.ask("fault_add", kind="leak", rack=rack, place="manifold", value=3.0)
        found: list[dict[str, Any]] = [rig.await_stamp(since, rack, what, value, 30.0) for what, value in LEAK]
        bus.await_state(rack, "ISOLATED")
        assert all(before["seq"] < after["seq"] for before, after in pairwise(found))
        return [seconds(before, after) for before, after in pairwise(found)]
