"""The statistics of the mass balance: a short run always, the whole one among the long tests."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.mass_balance import (
    NOISE,
    Quiet,
    as_document,
    false_alarms,
    found_after_s,
    fresh,
    main,
    report,
    upper_95,
)
from bench.mass_balance_plant import Many, One, Racks, np
from valvey.core.mass_balance import Second, tick

needs_numpy = pytest.mark.skipif(np is None, reason="numpy is not installed: thousands of racks at once need it")


@pytest.mark.parametrize(("events", "bound"), [(0, 2.996), (1, 4.744), (3, 7.754), (10, 16.962)])
def test_the_bound_is_that_of_poisson(events: int, bound: float) -> None:
    assert upper_95(events) == pytest.approx(bound, abs=0.001)


@pytest.mark.parametrize("noise", ["shipped", "reading"])
def test_two_litres_a_minute_are_found_within_twenty_seconds(noise: str) -> None:
    found_s = found_after_s(31, NOISE[noise], seed=7, racks=1)
    assert found_s[15] <= 20.0
    assert found_s[-1] < 120.0, "every one is found"
    assert found_s[0] > 3.0, "noise found it, not the leak"


def test_half_a_litre_a_minute_is_below_what_is_called_a_leak() -> None:
    assert set(found_after_s(5, NOISE["shipped"], seed=3, leak_lpm=0.5, racks=1)) == {120.0}


def test_a_rack_at_work_raises_no_alarm_in_an_hour_and_is_judged_most_of_it() -> None:
    quiet = false_alarms(1.5 / 24.0, NOISE["second"], seed=5, racks=1)
    assert quiet.alarms == 0
    assert 0.2 < quiet.judged < 1.0
    assert quiet.rack_days == pytest.approx(1.5 / 24.0)


def test_racks_at_work_step_their_load_move_their_flow_and_stroke_their_valves() -> None:
    racks = Racks(One(1, 4), NOISE["shipped"])
    racks.valve_s = 50.0
    seconds = [racks.second() for _ in range(4000)]
    assert max(one.load_share for one in seconds) - min(one.load_share for one in seconds) > 0.2
    assert max(one.supply_lpm for one in seconds) - min(one.supply_lpm for one in seconds) > 20.0
    assert sum(not one.still for one in seconds) > 0
    assert len({round(one.return_c, 1) for one in seconds}) > 10


def test_alarms_and_slow_finding_make_the_figures_bad() -> None:
    enough = Quiet(25_600.0, 0, 0, 0.6)
    assert report(enough, [15.0] * 9, 0.002)["ok"]
    assert not report(enough, [21.0] * 9, 0.002)["ok"]
    assert not report(replace(enough, alarms=1), [15.0] * 9, 0.002)["ok"]
    assert not report(replace(enough, rack_days=10_000.0), [15.0] * 9, 0.002)["ok"]
    both = enough.plus(Quiet(25_600.0, 2, 3, 0.8))
    assert (both.rack_days, both.alarms, both.baseline_alarms) == (51_200.0, 2, 3)
    assert both.judged == pytest.approx(0.7)


def test_a_quick_run_asks_for_silence_and_a_whole_one_for_a_rate() -> None:
    found = report(Quiet(400.0, 1, 9, 0.9), [15.0] * 9, 0.002) | {"took_s": 3.0}
    quick, whole = (as_document(found, quick=quick, seed=1) for quick in (True, False))
    assert quick["targets"][0]["id"] == "mass_balance.alarms_quick"
    assert (quick["ok"], whole["ok"], quick["part"]) == (False, False, "mass_balance")
    assert whole["targets"][0]["measured"] == found["alarms_per_20_rack_years_at_95"]
    assert [row["median"] for row in whole["results"] if row["subject"] == "ewma"] == [9]
    silent = report(Quiet(1.0, 0, 0, 0.9), [15.0] * 9, 0.002) | {"took_s": 3.0}
    assert as_document(silent, quick=True, seed=1)["ok"]
    assert not as_document(silent, quick=False, seed=1)["ok"]


@needs_numpy
def test_arrays_of_racks_and_single_racks_are_judged_alike() -> None:
    many = Many(3, 1)
    balance, one = fresh(many), fresh(One(1, 1))
    plant = Racks(many, NOISE["second"])
    for _ in range(2000):
        second = plant.second()
        balance = tick(balance, second, many.ops)
        values: list[Any] = list(second)
        supply, ret, supply_c, return_c, load = (float(value[1]) for value in values[:5])
        single = Second(supply, ret, supply_c, return_c, load, still=bool(values[5][1]))
        one = tick(one, single)
    arrays: Any = balance
    assert float(arrays.excess_lpm[1]) == pytest.approx(one.excess_lpm, abs=2e-3)
    assert float(arrays.zero[1]) == pytest.approx(one.zero, abs=1e-5)
    assert float(arrays.settled_s[1]) == one.settled_s
    assert bool(arrays.leaking[1]) is one.leaking


@needs_numpy
@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
def test_at_most_one_false_alarm_in_twenty_rack_years_and_leaks_found_in_twenty_seconds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["--json", "--out", str(tmp_path / "report.json")]) == 0, capsys.readouterr().out
