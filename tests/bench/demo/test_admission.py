"""Act 4 on paper: what a site's files say of a newcomer, and what is claimed of its way."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.demo.acts import ACTS
from bench.demo.admission_report import NEW, Course, Place, outcome_of
from bench.demo.broker import Broker
from bench.demo.newcomers import BEHIND, WEAK, plant_of
from bench.demo.options import Options
from bench.demo.processes import Children
from bench.demo.sampling import OF_CDU, OF_RACK, Samples
from bench.demo.site import (
    DEVICES,
    memory_of,
    write_bench_file,
    write_gates_file,
    write_loop_file,
    write_rack_file,
    write_racky_file,
)
from bench.demo.stage import Stage
from firmware_sim.bench_file import load_bench
from firmware_sim.plant_config import Start
from racky.config import load as load_racky
from racky.lifecycle_file import read_gates
from valvey.config import load
from valvey.loop.config import load as load_loop
from valvey.paths import Paths

POWER = (*(f"power_shelf_{n}" for n in range(1, 5)), "battery_shelf_1", "room")
BROKER = Broker("127.0.0.1", 1883, "mosquitto")


def options(folder: Path) -> Options:
    act = ACTS["4"]
    return replace(
        Options(), out=folder, speed=act.speed, fast_s=0.05, racks=act.racks, coordinator=True, newcomers=act.newcomers
    )


def ports(made: Options) -> dict[str, Any]:
    numbers = iter(range(2000, 9000))
    racks = {
        rack.name: {device: f"127.0.0.1:{next(numbers)}" for device in (*DEVICES, *POWER)}
        for rack in plant_of(made).racks
    }
    return {"control": "127.0.0.1:9", "cdu": "127.0.0.1:1999", "racks": racks}


def test_newcomers_stand_on_the_header_dry_one_firmware_behind_and_one_has_a_weak_hose(tmp_path: Path) -> None:
    bench = load_bench(write_bench_file(options(tmp_path)))
    new = [rack for rack in bench.racks if rack.start is Start.DRAINED]
    assert [rack.name for rack in new] == [NEW, WEAK]
    assert [[fault.kind for fault in rack.faults] for rack in new] == [[], ["weak_hose"]]
    assert [rack.power is not None and rack.power.firmware == BEHIND for rack in new] == [True, False]
    assert [rack.name for rack in bench.racks if rack.start is Start.FLOWING] == ["r01", "r02"]


def test_every_file_of_the_site_is_sound_and_newcomers_have_every_shipped_gate(tmp_path: Path) -> None:
    made = options(tmp_path)
    racks, found = plant_of(made).racks, ports(made)
    write_gates_file(made)
    for rack in racks:
        kept = Paths.of(load(write_rack_file(made, BROKER, found, rack)))
        assert kept.journal == memory_of(made, rack.name) / "journal"  # as run.json names it
        racky = load_racky(write_racky_file(made, BROKER, found, rack))
        assert [gate.id for gate in racky.gates] == (
            [gate.id for gate in read_gates(Path("configs/lifecycle/gates.yaml"))]
            if rack.name in made.newcomers
            else []
        )
    loop = load_loop(write_loop_file(made, BROKER, found, racks[:3]))
    assert list(loop.data.racks) == ["r01", "r02", NEW]


def gate(name: str, ok: bool = True, detail: str = "d") -> dict[str, Any]:
    return {"gate": name, "stage": "COOLING", "text": name, "measured": 1.0, "low": 1.0, "high": None, "unit": "-", "ok": ok, "detail": detail}  # fmt: skip


def course(rack: str, state: str, *gates: dict[str, Any]) -> Course:
    return Course(rack, 20.0, 90.0, [Place(21.0, "IDENTIFIED", "wait"), Place(80.0, state, "hold")], list(gates))


def claims(
    tmp_path: Path, *courses: Course, weak_kw: float = 0.0, trips: int = 0, job_kw: float = 132.0, flow: float = 1.0
) -> dict[str, bool]:
    made, samples = options(tmp_path), Samples()
    racks = plant_of(made).racks
    samples.t_s = [float(second) for second in range(100)]
    samples.cdu = {key: [1.0] * 100 for key in OF_CDU}
    for rack in racks:
        samples.racks[rack.name] = {key: [1.0] * 100 for key in OF_RACK}
        samples.asked[rack.name] = [None] * 100
    samples.racks[NEW]["busbar_kw"] = [job_kw] * 100
    samples.racks[WEAK]["busbar_kw"] = [weak_kw] * 100
    samples.asked["r01"] = [1.0] * 100
    samples.racks["r01"]["flow_supply_lpm"] = [1.0] * 60 + [flow] * 40
    stage = Stage(made, Children(tmp_path / "logs"), BROKER, "", {}, racks[:2], racks[2:])
    outcome = outcome_of(stage, samples, courses, {"r01": trips}, 20.0)
    assert outcome.act["ok"] is all(claim.ok for claim in outcome.claims)
    assert len(outcome.tables) == len(courses) + 1
    return {claim.id: claim.ok for claim in outcome.claims}


GOOD = course(NEW, "PRODUCTION", gate("devices"), gate("tightness"))
REFUSED = course(
    WEAK,
    "QUARANTINED",
    gate("devices"),
    gate("work", ok=False, detail="'fill' failed: the rack does not hold its pressure"),
)


def test_a_good_rack_admitted_and_a_weak_one_refused_is_what_is_claimed(tmp_path: Path) -> None:
    assert all(claims(tmp_path, GOOD, REFUSED).values())


@pytest.mark.parametrize(
    ("courses", "changes", "lost"),
    [
        ((course(NEW, "QUARANTINED", gate("work", ok=False)), REFUSED), {}, {"admit.r05", "admit.power"}),
        ((course(NEW, "VALIDATION", gate("work")), REFUSED), {}, {"admit.r05", "admit.power"}),
        ((GOOD, course(WEAK, "PRODUCTION", gate("work"))), {}, {"refuse.weak_hose"}),
        ((GOOD, course(WEAK, "QUARANTINED", gate("inlet", ok=False))), {}, {"refuse.weak_hose"}),
        (
            (GOOD, course(WEAK, "QUARANTINED", gate("work", ok=False, detail="'fill' was given up"))),
            {},
            {"refuse.weak_hose"},
        ),
        ((GOOD,), {}, {"refuse.weak_hose", "refuse.unpowered"}),
        ((), {}, {"admit.r05", "admit.power", "refuse.weak_hose", "refuse.unpowered"}),
        ((GOOD, REFUSED), {"weak_kw": 5.0}, {"refuse.unpowered"}),
        ((GOOD, REFUSED), {"flow": 0.969}, {"admit.neighbours"}),
        ((GOOD, REFUSED), {"flow": 0.971}, set()),
        ((GOOD, REFUSED), {"trips": 1}, {"admit.trips"}),
        ((GOOD, REFUSED), {"job_kw": 100.0}, {"admit.power"}),
    ],
)
def test_a_claim_that_does_not_hold_is_said(
    courses: tuple[Course, ...], changes: dict[str, Any], lost: set[str], tmp_path: Path
) -> None:
    assert {name for name, ok in claims(tmp_path, *courses, **changes).items() if not ok} == lost
