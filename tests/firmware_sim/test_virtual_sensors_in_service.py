"""The virtual sensors in the guarded rack on the simulated plant: silent while all is well, heard when it is not."""

from functools import cache

import pytest

from firmware_sim.load import SquareWave
from firmware_sim.plant_config import CduMode
from tests.firmware_sim.procedures_bench import Bench
from valvey.core.alarm_rows import ALARM_ROWS
from valvey.core.chart import State
from valvey.core.facts import FactKind

LOOK_S = 0.25
OURS = tuple(
    row.id.removesuffix("*")
    for row in ALARM_ROWS
    if row.id.removesuffix("-*")
    in {
        "mass-balance", "mass-balance-blind", "meters-apart", "heat-balance", "fouling", "bypass-flow", "pressure-decay", "dew-margin",
        "valve-passing", "returns-apart", "off", "stuck", "current",
    }
)  # fmt: skip


def raised(bench: Bench) -> list[str]:
    """Every alarm of the virtual sensors that was ever active."""
    names = {fact.fields["alarm"] for fact in bench.told(FactKind.ALARM) if fact.fields["active"]}
    return sorted(name for name in names if name.startswith(OURS))


@cache
def _warm() -> Bench:
    """A quarter of an hour in service: the meters' zero is learned."""
    return Bench().run(900.0, LOOK_S)


def drive(bench: Bench, load: SquareWave, for_s: float) -> None:
    end_s = bench.plant.now_s + for_s
    while bench.plant.now_s < end_s:
        bench.rack.load_kw = load.at(bench.plant.now_s)
        bench.scan(dt_s=LOOK_S)


def isolate_neighbour(bench: Bench, shut: bool) -> Bench:
    neighbour = bench.plant.racks["r02"]
    neighbour.xv_101_coil = neighbour.xv_102_coil = not shut
    return bench.run(45.0, LOOK_S)


def test_their_names_are_those_of_the_table() -> None:
    assert len(OURS) == 13


@pytest.mark.parametrize("period_s", [2.0, 12.0, 30.0])
def test_load_steps_and_training_jobs_raise_none(period_s: float) -> None:
    bench = _warm().copy()
    for load_kw in (60.0, 132.0, 40.0, 110.0):
        bench.rack.load_kw = load_kw
        bench.run(75.0, LOOK_S)
    drive(bench, SquareWave(132.0, 80.0, period_s, bench.plant.now_s), 240.0)
    assert (raised(bench), bench.latched, bench.state) == ([], (), State.FLOWING)


@pytest.mark.parametrize("mode", list(CduMode))
def test_neighbours_that_isolate_and_return_and_a_cdu_that_changes_raise_none(mode: CduMode) -> None:
    bench = _warm().copy()
    bench.plant.cdu.mode = mode
    bench.run(60.0, LOOK_S)
    isolate_neighbour(bench, shut=True)
    isolate_neighbour(bench, shut=False)
    bench.plant.cdu.pump_enabled[1] = False
    bench.run(45.0, LOOK_S)
    bench.plant.cdu.pump_enabled[1] = True
    bench.plant.cdu.dp_setpoint_kpa *= 1.2
    bench.plant.cdu.t_supply_set_c -= 4.0
    bench.run(120.0, LOOK_S)
    assert (raised(bench), bench.latched, bench.state) == ([], (), State.FLOWING)


def test_a_rack_that_is_isolated_drained_filled_tested_and_returned_raises_none() -> None:
    bench = _warm().copy().accepted("isolate").run(2.0)
    bench.rack.load_kw = 0.0
    bench.until(State.ISOLATED).run(120.0, LOOK_S)
    bench.accepted("lock", owner="anna").accepted("drain").until(State.DRAINED).run(3.0)
    bench.accepted("unlock", owner="anna").accepted("fill").until(State.TESTING).until(State.ISOLATED)
    bench.run(1.0).accepted("open").until(State.FLOWING)
    bench.rack.load_kw = 120.0
    bench.run(150.0, LOOK_S).restart(after_s=3.0).run(60.0, LOOK_S)
    assert (raised(bench), bench.latched, bench.state) == ([], (), State.FLOWING)


def test_a_small_leak_is_an_alarm_within_twenty_seconds_and_isolates_nothing_by_itself() -> None:
    bench = _warm().copy()
    bench.lost |= {"LDT-101", "LDT-102", "LDT-103"}
    bench.rack.leak_mm["manifold"] = 2.2
    begun_s = bench.now_s
    while "mass-balance" not in bench.alarms:
        assert bench.now_s - begun_s < 20.0
        bench.scan(dt_s=LOOK_S)
    assert 2.0 < bench.rack.leak_lpm < 4.0
    bench.run(120.0, LOOK_S)
    assert (bench.state, bench.latched) == (State.FLOWING, ())
    assert "mass-balance" in bench.alarms


@pytest.mark.parametrize("place", ["tray", "manifold", "hose"])
@pytest.mark.parametrize("hole_mm", [12.0, 20.0, 30.0])
def test_a_burst_isolates_in_three_seconds_though_every_detector_is_lost(place: str, hole_mm: float) -> None:
    bench = _warm().copy()
    bench.lost |= {"LDT-101", "LDT-102", "LDT-103"}
    bench.run(5.0)
    bench.rack.leak_mm[place] = hole_mm
    bench.run(3.0)
    assert "SIF-11" in bench.latched
    assert bench.state is State.ISOLATING
