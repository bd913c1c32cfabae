"""Faults of the simulator, played on the stepped bench: the right cause comes first, and unknown is never healthy."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from firmware_sim.faults import KINDS
from racky.core.memory import Phase
from tests.racky.health_bench import RACK, SETUP, HealthBench

FILE = Path(__file__).resolve().parents[1] / "data" / "health_faults.yaml"
ROWS: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
SETTLED_S = 8.0


def name_of(row: dict[str, Any]) -> str:
    fault = row.get("fault", {})
    words = [fault.get(key) for key in ("kind", "tag", "device", "place", "value")]
    return "-".join(str(word) for word in (row.get("does"), *words, row.get("then"), row["for_s"]) if word is not None)


def begin(bench: HealthBench, row: dict[str, Any]) -> None:
    if "does" in row:
        bench.does(row["does"])
        return
    fault = {"rack": RACK, **row["fault"]}
    bench.bank.book.add(fault.pop("kind"), **fault)
    if "then" in row:
        bench.run(1.0).ask(row["then"])


def test_at_least_forty_faults_of_the_simulator_are_played() -> None:
    kinds = [row["fault"]["kind"] for row in ROWS if "fault" in row]
    assert len(kinds) >= 40
    assert set(kinds) <= KINDS.keys()
    assert len(set(kinds)) >= 25


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_the_right_cause_comes_first(row: dict[str, Any]) -> None:
    bench = HealthBench().run(SETTLED_S)
    assert bench.health.healthy, bench.causes
    begin(bench, row)
    bench.run(float(row["for_s"]))
    found = {cause.id: cause for cause in bench.health.causes}
    assert bench.causes[:1] == [row["first"]], bench.causes
    assert found[row["first"]].behind is None
    assert sorted(bench.health.blocks) == sorted(row["blocks"])
    for name in row.get("behind", ()):
        assert found[name].behind is not None, name


def test_a_rack_is_well_again_when_its_fault_is_gone() -> None:
    bench = HealthBench().run(SETTLED_S)
    bench.bank.book.add("no_reply", rack=RACK, device="leak_panel")
    assert bench.run(3.0).causes == ["device-silent-leak-panel"]
    bench.bank.book.clear()
    assert bench.run(8.0).health.healthy, bench.causes


def test_a_rack_that_runs_on_its_battery_without_a_permit_is_shut_off_by_the_second_path() -> None:
    """Racky is away when the permit goes, so that nothing but the battery's own inhibit, which is broken, is in the way."""
    bench = HealthBench().run(SETTLED_S)
    bench.bank.book.add("battery_not_inhibited", rack=RACK, device="battery_shelf_1")
    bench.racky_dead = True
    bench.ask("dark")
    while not bench.memory.latched("SIF-13"):
        bench.scan()
        assert bench.now_s < 1030.0
    seen_s = bench.now_s
    assert bench.bank.plant.racks[RACK].busbar_kw > 100.0
    bench.racky_dead = False
    while bench.bank.plant.racks[RACK].busbar_kw > 1.0:
        bench.scan()
        assert bench.now_s - seen_s < 5.0
    bench.run(1.0)
    assert bench.causes[0] == "power-not-off"
    assert bench.racky.power.phase is Phase.TRIPPED
    assert {bench.own[output.feedback].value for output in SETUP.outputs} == {0.0}


def test_with_racky_there_its_orderly_switching_off_leaves_the_second_path_nothing_to_do() -> None:
    bench = HealthBench().run(SETTLED_S)
    bench.bank.book.add("battery_not_inhibited", rack=RACK, device="battery_shelf_1")
    bench.ask("dark")
    bench.run(12.0)
    assert not bench.memory.latched("SIF-13")
    assert bench.bank.plant.racks[RACK].busbar_kw < 1.0
    assert bench.causes == ["asked-dark", "not-in-service", "power-off"]
