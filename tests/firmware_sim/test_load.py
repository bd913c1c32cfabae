"""Loads that move by themselves: exact in simulated time, refused with the reason when they make no sense."""

import pytest

from firmware_sim.bank import Bank
from firmware_sim.bench_config import demo_bench
from firmware_sim.load import SquareWave


def test_a_square_wave_is_high_in_the_first_half_of_each_period_and_low_in_the_second() -> None:
    wave = SquareWave(100.0, 60.0, 8.0, begins_s=2.0)
    assert [wave.at(at_s) for at_s in (2.0, 5.9, 6.1, 9.9, 10.1)] == [100.0, 100.0, 60.0, 60.0, 100.0]


@pytest.mark.parametrize(
    ("values", "told"),
    [((100.0, 60.0, 0.1), "0.2 to 600"), ((100.0, 60.0, 601.0), "600"), ((60.0, 100.0, 5.0), "from 0 to kw")],
)
def test_a_wave_that_makes_no_sense_is_refused_with_what_is_allowed(
    values: tuple[float, float, float], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        SquareWave(*values)


def test_a_racks_load_follows_its_wave_until_a_constant_one_is_set() -> None:
    bank = Bank(demo_bench(1, attended_s=1e6))
    bank.set_load("r01", 120.0, 40.0, 2.0)
    seen = []
    for _ in range(8):
        bank.advance(0.5)
        seen.append(bank.rigs["r01"].plant.busbar_kw)
    # what was set is drawn from the next step on; half a second later the wave stands at a flank, so look between them
    assert seen[0] == seen[4] == pytest.approx(120.0)
    assert seen[2] == seen[6] == pytest.approx(40.0)
    bank.set_load("r01", 80.0)
    bank.advance(3.0)
    assert bank.rigs["r01"].plant.busbar_kw == pytest.approx(80.0)


@pytest.mark.parametrize("given", [{"low_kw": 5.0}, {"period_s": 5.0}])
def test_half_a_wave_is_refused(given: dict[str, float]) -> None:
    bank = Bank(demo_bench(1))
    with pytest.raises(ValueError, match="needs low_kw and period_s"):
        bank.set_load("r01", 80.0, **given)
