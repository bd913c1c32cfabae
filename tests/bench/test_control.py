"""The benchmark of the flow control: its plant, its limit and its report say what they claim to."""

from math import sqrt

import pytest

from bench.control.energy import DAYS, RATED_KW, Day, load_kw
from bench.control.plant import STEP_S, Branch, Plant, position_for
from bench.control.report import document, spread
from bench.control.runs import SUBJECTS, dp_run, step_run
from bench.control.series import FASTEST_RAMP_S, REFERENCE, Series
from valvey.core.flow_state import Tuning

LIMITS = {"into_s": 15.0, "overshoot_pct": 4.0, "reversals_per_h": 50.0, "worst_pct": 8.5, "beyond_5pct_s": 1.0}


def test_the_plant_gives_the_flow_that_its_opening_was_worked_out_for() -> None:
    plant = Plant(Branch(), 150.0, 1)
    assert plant.flow_lpm == pytest.approx(150.0)
    assert plant.seen().flow_lpm == pytest.approx(150.0, rel=0.03)


def test_the_plants_meter_tells_late() -> None:
    plant = Plant(Branch(noise=0.0), 120.0, 1)
    for _ in range(10):
        plant.advance(80.0)
    assert plant.seen().flow_lpm == pytest.approx(120.0)  # a second of dead time
    assert plant.flow_lpm > 121.5


def test_a_command_within_the_drives_dead_band_moves_nothing() -> None:
    plant = Plant(Branch(), 150.0, 1)
    before = plant.position_pct
    plant.advance(before + 0.9)
    assert plant.position_pct == before
    plant.advance(before + 1.1)
    assert plant.position_pct == pytest.approx(before + STEP_S * 100.0 / 90.0)
    assert plant.reversals == 0
    for _ in range(20):
        plant.advance(before - 5.0)
    assert plant.reversals == 1


def test_nothing_can_be_faster_than_the_motor() -> None:
    branch = Branch()
    figures = step_run("limit", branch, Tuning(), 1)
    motor_s = 90.0 * (position_for(branch, 190.0) - position_for(branch, 120.0))
    assert figures["into_s"] == pytest.approx(motor_s, abs=2 * STEP_S)
    assert figures["overshoot_pct"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("share", [0.2, -0.2])
def test_a_header_that_jumps_moves_the_flow_before_any_valve_can(share: float) -> None:
    jump_pct = 100.0 * abs(sqrt(1.0 + share) - 1.0)
    figures = dp_run("limit", Branch(), Tuning(), 1, share, 0.0)
    assert jump_pct - 0.5 < figures["worst_pct"] < jump_pct
    assert dp_run("limit", Branch(), Tuning(), 1, share, 10.0)["worst_pct"] < 2.0


def test_spread_is_median_ninth_decile_and_greatest() -> None:
    assert spread([float(n) for n in range(1, 11)]) == {"median": 5.5, "p90": 9.0, "max": 10.0}
    assert spread([3.0]) == {"median": 3.0, "p90": 3.0, "max": 3.0}


def results(factor: float) -> list[Series]:
    """Every figure that has a target, at ``factor`` times its limit."""
    out = []
    for subject in SUBJECTS:
        for name, metrics in (
            ("control.step", ("into_s", "overshoot_pct")),
            ("control.reversals", ("reversals_per_h",)),
        ):
            out.append(
                Series(name, subject, {"plant": REFERENCE}, {metric: [factor * LIMITS[metric]] for metric in metrics})
            )
        for step_pct in (20.0, -20.0):
            params = {"plant": REFERENCE, "step_pct": step_pct, "ramp_s": FASTEST_RAMP_S}
            runs = {metric: [factor * LIMITS[metric]] for metric in ("worst_pct", "beyond_5pct_s")}
            out.append(Series("control.dp_step", subject, params, runs))
    return out


def test_the_report_judges_every_target_by_its_limit() -> None:
    good = document(results(1.0), quick=True, seed=1, duration_s=1.0)
    assert (good["schema"], good["part"], good["ok"], len(good["targets"])) == ("bench-report/1", "control", True, 7)
    assert {row["id"] for row in good["results"]} == {"control.step", "control.reversals", "control.dp_step"}
    bad = document(results(1.01), quick=True, seed=1, duration_s=1.0)
    assert not bad["ok"]
    assert not any(target["ok"] for target in bad["targets"])
    assert [ratio["median"] for ratio in good["ratios"]] == [1.0] * (len(SUBJECTS) - 1)


@pytest.mark.parametrize("day", DAYS, ids=[day.name for day in DAYS])
def test_a_days_load_stays_within_the_rated_power_and_is_the_seeds(day: Day) -> None:
    one = load_kw(day, 1, 6.0)
    assert len(one) == 6 * 1800
    assert 0.2 * RATED_KW < min(one) < max(one) <= RATED_KW
    assert one == load_kw(day, 1, 6.0)
    assert one != load_kw(day, 2, 6.0)
