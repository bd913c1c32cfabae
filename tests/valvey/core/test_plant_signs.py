"""Heat against power, resistance, pressure decay, passing valves, dew point."""

import pytest

from fieldkit.coolant import density_kg_m3, dew_point_c, heat_kw
from valvey.core.plant_signs import (
    Decay,
    Heat,
    Resistance,
    balance_heat,
    dew_low,
    passing_s,
    resist,
    watch_decay,
)


def heat_after(seconds: int, load_kw: float | None, return_c: float, state: Heat | None = None, flow: float = 198.0) -> Heat:  # fmt: skip
    state = Heat() if state is None else state
    for _ in range(seconds):
        state = balance_heat(state, load_kw, flow, 40.0, return_c, 132.0, 198.0, 1.0)
    return state


def test_heat_of_the_reference_flow() -> None:
    assert heat_kw(1.49, 40.0, 50.0) == pytest.approx(1.0, rel=0.004)
    assert density_kg_m3(40.0) == pytest.approx(1014.5, abs=0.1)


def test_power_that_the_coolant_does_not_carry_off_is_told_after_its_times() -> None:
    state = heat_after(1 + 149, 130.0, 47.0)
    assert state.off_s == 0.0
    state = heat_after(119, 130.0, 47.0, state)
    assert not state.disagrees
    assert heat_after(1, 130.0, 47.0, state).disagrees


@pytest.mark.parametrize(("load_kw", "return_c"), [(130.0, 49.0), (130.0, 50.5), (20.0, 41.2)])
def test_what_agrees_within_fifteen_percent_or_five_kilowatts_is_healthy(load_kw: float, return_c: float) -> None:
    assert not heat_after(1000, load_kw, return_c).disagrees


def test_a_load_step_and_a_flow_step_begin_the_steady_time_anew() -> None:
    state = heat_after(400, 130.0, 47.0)
    assert state.disagrees
    assert heat_after(1, 110.0, 47.0, state).steady_s == 0.0
    assert heat_after(1, 130.0, 47.0, state, flow=150.0).steady_s == 0.0


def test_the_time_off_counts_down_when_heat_agrees_again() -> None:
    state = heat_after(400, 130.0, 47.0)
    assert heat_after(1, 130.0, 50.0, state).off_s == 119.0
    assert heat_after(200, 130.0, 50.0, state).off_s == 0.0


def test_without_a_reading_or_without_flow_heat_says_nothing() -> None:
    assert heat_after(400, None, 47.0) == Heat()
    assert heat_after(400, 130.0, 47.0, flow=10.0) == Heat()


def resisted(state: Resistance, dp_kpa: float, seconds: int, flow: float = 198.0) -> Resistance:
    for _ in range(seconds):
        state = resist(state, dp_kpa, flow, True, 1.0)
    return state


def test_resistance_is_compared_with_its_first_hour_whatever_the_flow() -> None:
    state = resisted(Resistance(), 94.0, 3600)
    assert state.ratio == pytest.approx(1.0)
    assert resisted(state, 94.0 / 4.0, 3600, flow=99.0).ratio == pytest.approx(1.0)
    fouled = resisted(state, 130.0, 3600)
    assert fouled.ratio == pytest.approx(130.0 / 94.0, rel=1e-3)
    assert fouled.reference == state.reference


def test_resistance_says_nothing_until_it_was_learned() -> None:
    assert resisted(Resistance(), 94.0, 3599).ratio is None
    assert Resistance().flow_lpm(94.0) is None
    assert Resistance(0.0, 0.0, 3600.0, 300.0).ratio is None
    assert Resistance(0.0, 0.0, 3600.0, 300.0).flow_lpm(94.0) is None
    assert Resistance(0.05, 0.05, 3600.0, 300.0).flow_lpm(20.0) == pytest.approx(2000.0)
    assert Resistance(0.05, 0.05, 3600.0, 300.0).flow_lpm(-20.0) == 0.0


def test_resistance_gives_a_flow_for_a_pressure_difference() -> None:
    state = resisted(Resistance(), 94.0, 300)
    assert state.flow_lpm(94.0) == pytest.approx(198.0)
    assert state.flow_lpm(-1.0) == 0.0


@pytest.mark.parametrize(("dp", "flow", "calm"), [(None, 198.0, True), (94.0, None, True), (94.0, 0.0, True), (94.0, 198.0, False)])  # fmt: skip
def test_resistance_learns_only_from_a_calm_rack(dp: float | None, flow: float | None, calm: bool) -> None:
    assert resist(Resistance(), dp, flow, calm, 1.0) == Resistance()


def decayed(state: Decay, kpa: float | None, seconds: int, celsius: float | None = 40.0, shut: bool = True) -> Decay:
    for _ in range(seconds):
        state = watch_decay(state, shut, kpa, celsius, 1.0)
    return state


def test_a_shut_rack_that_loses_pressure_is_told_and_stays_told() -> None:
    state = decayed(Decay(), 200.0, 61)
    assert state.kpa == 200.0
    state = decayed(state, 170.0, 1)
    assert state.lost
    assert decayed(state, 170.0, 2000).lost
    assert not decayed(state, 170.0, 1, shut=False).lost


def test_what_the_temperature_explains_is_no_decay() -> None:
    state = decayed(Decay(), 200.0, 61)
    assert not decayed(state, 100.0, 500, celsius=39.8).lost
    assert decayed(state, 60.0, 500, celsius=39.8).lost


def test_a_slow_fall_within_one_window_is_nothing_and_each_window_begins_anew() -> None:
    state = decayed(Decay(), 200.0, 61)
    for step in range(1, 6):
        state = decayed(state, 200.0 - 4.0 * step, 600)
    assert not state.lost
    assert state.kpa == pytest.approx(180.0)


@pytest.mark.parametrize(("start", "healthy", "lost"), [(60.0, 50.0, 49.9), (100.0, 90.0, 89.9), (200.0, 180.0, 179.9)])
def test_a_tenth_of_the_pressure_and_at_least_ten_kpa_must_be_gone(start: float, healthy: float, lost: float) -> None:
    state = decayed(Decay(), start, 61)
    assert not decayed(state, healthy, 1).lost
    assert decayed(state, lost, 1).lost


def test_without_pressure_at_the_start_there_is_none_to_lose() -> None:
    assert not decayed(decayed(Decay(), 15.0, 61), 0.0, 100).lost


def test_a_reading_that_cannot_be_believed_is_passed_over() -> None:
    state = decayed(Decay(), 200.0, 61)
    assert decayed(state, None, 100) == state
    assert decayed(state, 100.0, 100, celsius=None) == state


def test_a_valve_proven_shut_that_lets_flow_pass_is_told_after_ten_seconds() -> None:
    held_s = 0.0
    for _ in range(9):
        held_s = passing_s(held_s, True, 4.5, 198.0, 1.0)
    assert held_s < 10.0
    assert passing_s(held_s, True, 4.5, 198.0, 1.0) == 10.0
    assert passing_s(10.0, True, 3.9, 198.0, 1.0) == 0.0
    assert passing_s(10.0, False, 198.0, 198.0, 1.0) == 0.0
    assert passing_s(7.0, None, 4.5, 198.0, 1.0) == 7.0
    assert passing_s(7.0, True, None, 198.0, 1.0) == 7.0


def test_the_dew_point_of_a_hall() -> None:
    assert dew_point_c(27.0, 45.0) == pytest.approx(14.05, abs=0.05)
    assert dew_point_c(20.0, 100.0) == pytest.approx(20.0)
    assert dew_point_c(20.0, 0.0) == dew_point_c(20.0, 0.1)


def test_the_margin_has_half_a_kelvin_of_hysteresis_and_unknown_changes_nothing() -> None:
    assert dew_low(False, 1.9)
    assert not dew_low(False, 2.1)
    assert dew_low(True, 2.4)
    assert not dew_low(True, 2.6)
    assert dew_low(True, None)
    assert not dew_low(False, None)
