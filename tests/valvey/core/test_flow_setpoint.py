"""The flow that is wanted: fed forward from power, trimmed by the temperature rise, bounded, ramped between requests."""

from dataclasses import replace
from math import exp

import pytest

from valvey.core.flow_burst import Burst
from valvey.core.flow_control import begin
from valvey.core.flow_setpoint import ask, bounds, lpm_per_kw, set_point
from valvey.core.flow_state import Control, Demand, Mode, Seen, Tuning

TUNING = Tuning()
FULL = 1.05 * 1.49 * 120.0
"""L/min for 120 kW at 10 K with the margin."""
STEADY = Seen(load_kw=120.0, flow_lpm=FULL, header_kpa=200.0, position_pct=70.0, rise_k=10.0)


def following(load_kw: float = 120.0, trim: float = 0.0, **changes: object) -> Control:
    """A control that has followed ``load_kw`` for long."""
    need = 1.05 * 1.49 * load_kw
    state = begin(70.0, TUNING, need)
    return replace(state, demand=Demand(need, need, trim, load_kw), **changes)  # type: ignore[arg-type]


def after(state: Control, seen: Seen, seconds: float, tuning: Tuning = TUNING) -> Demand:
    for _ in range(round(seconds / 0.2)):
        state = replace(state, demand=set_point(state, seen, tuning, 0.2))
    return state.demand


def later(state: Control, seen: Seen, half_seconds: int) -> Control:
    """The control after so many scans of half a second."""
    for _ in range(half_seconds):
        state = replace(state, demand=set_point(state, seen, TUNING, 0.5))
    return state


class TestFeedForward:
    def test_at_rest_the_flow_is_what_the_power_needs_and_five_percent(self) -> None:
        demand = set_point(following(), STEADY, TUNING, 0.2)
        assert (demand.setpoint_lpm, demand.need_lpm, demand.load_kw) == pytest.approx((FULL, FULL, 120.0))
        assert (demand.trim, demand.offset_lpm, demand.blind, demand.lost) == (0.0, 0.0, False, False)

    def test_more_power_is_answered_in_two_seconds(self) -> None:
        demand = after(following(80.0), replace(STEADY, load_kw=120.0), 2.0)
        assert demand.setpoint_lpm == pytest.approx(FULL * (1.0 - exp(-1.0) / 3.0))

    def test_less_power_lowers_the_flow_slowly(self) -> None:
        demand = after(following(120.0), replace(STEADY, load_kw=80.0), 90.0)
        assert demand.setpoint_lpm == pytest.approx(FULL * (2.0 + exp(-1.0)) / 3.0)

    @pytest.mark.parametrize("half_s", [1.0, 5.0, 15.0, 30.0])
    def test_the_square_wave_of_a_training_job_leaves_the_set_point_where_its_bursts_need_it(
        self, half_s: float
    ) -> None:
        state, lowest = following(120.0), FULL
        for n in range(round(180.0 / 0.5)):
            load_kw = 120.0 if n * 0.5 % (2.0 * half_s) < half_s else 70.0
            state = replace(state, demand=set_point(state, replace(STEADY, load_kw=load_kw), TUNING, 0.5))
            lowest = min(lowest, state.demand.need_lpm)
        assert lowest == pytest.approx(FULL)

    def test_a_load_that_stays_low_is_followed_after_half_a_minute_to_a_minute(self) -> None:
        low = replace(STEADY, load_kw=80.0)
        state = later(later(following(120.0), STEADY, 59), low, 60)
        assert state.demand.need_lpm == pytest.approx(FULL)  # it was high in the stretch before the present one
        assert later(state, low, 1).demand.need_lpm == pytest.approx(FULL * (2.0 + exp(-0.5 / 90.0)) / 3.0)
        state = later(later(following(120.0), STEADY, 1), low, 118)
        assert state.demand.need_lpm == pytest.approx(FULL)  # at most a minute
        assert later(state, low, 1).demand.need_lpm < FULL

    def test_what_was_needed_of_late_is_kept_by_stretches_of_half_a_minute(self) -> None:
        high, low = FULL, 80.0 * 1.05 * 1.49
        state = replace(following(120.0), demand=replace(following(120.0).demand, burst=Burst(high, low, 29.7)))
        demand = set_point(state, replace(STEADY, load_kw=80.0), TUNING, 0.2)
        assert (demand.burst.most_lpm, demand.burst.before_lpm) == (high, low)
        assert demand.burst.age_s == pytest.approx(29.9)
        state = replace(state, demand=replace(demand, burst=Burst(high, low, 29.5)))
        assert set_point(state, replace(STEADY, load_kw=80.0), TUNING, 0.5).burst == Burst(low, high, 0.0)

    def test_without_a_power_reading_what_was_needed_fades_by_the_same_stretches(self) -> None:
        blind = replace(STEADY, load_kw=None)
        state = later(following(120.0), STEADY, 10)
        assert later(state, blind, 1).demand.burst == Burst(FULL, 0.0, 5.5)
        assert later(state, blind, 50).demand.burst == Burst(0.0, FULL, 0.0)
        assert later(state, blind, 110).demand.burst == Burst(0.0, 0.0, 0.0)

    @pytest.mark.parametrize("lost_at_s", [3.0, 17.0, 22.0, 29.5])
    def test_a_power_reading_that_is_lost_for_a_moment_does_not_turn_the_valve_of_a_training_job(
        self, lost_at_s: float
    ) -> None:
        state, lowest = later(following(120.0), STEADY, 60), FULL
        for n in range(240):
            load_kw = 120.0 if n * 0.5 % 30.0 < 15.0 else 70.0
            seen = replace(STEADY, load_kw=None if n * 0.5 % 30.0 == lost_at_s else load_kw)
            state = replace(state, demand=set_point(state, seen, TUNING, 0.5))
            lowest = min(lowest, state.demand.need_lpm)
        assert lowest == pytest.approx(FULL)

    def test_the_power_of_some_seconds_ago_is_kept(self) -> None:
        demand = set_point(following(80.0), replace(STEADY, load_kw=120.0), TUNING, 0.2)
        assert demand.load_kw == pytest.approx(80.0 + 40.0 * (1.0 - exp(-0.04)))
        fresh = replace(following(), demand=Demand(FULL, FULL))
        assert set_point(fresh, STEADY, TUNING, 0.2).load_kw == 120.0

    @pytest.mark.parametrize(("load_kw", "flow"), [(0.0, 99.0), (132.0, 1.05 * 1.49 * 132.0), (500.0, 247.5)])
    def test_the_flow_stays_between_half_and_one_and_a_quarter_of_nominal(self, load_kw: float, flow: float) -> None:
        assert set_point(
            following(load_kw), replace(STEADY, load_kw=load_kw), TUNING, 0.2
        ).setpoint_lpm == pytest.approx(flow)

    def test_a_minimum_above_half_of_nominal_counts(self) -> None:
        tuning = replace(TUNING, minimum_lpm=120.0)
        assert set_point(following(10.0), replace(STEADY, load_kw=10.0), tuning, 0.2).setpoint_lpm == 120.0
        assert replace(TUNING, minimum_lpm=300.0).high_lpm == 300.0


class TestTrim:
    WARM = replace(STEADY, rise_k=11.0)

    def test_a_rise_too_great_by_a_tenth_adds_a_tenth_in_the_integral_time(self) -> None:
        demand = after(following(), self.WARM, 15.0)
        assert demand.trim == pytest.approx(0.01)
        assert demand.setpoint_lpm == pytest.approx(FULL * 1.01)

    def test_a_rise_too_small_takes_away(self) -> None:
        assert after(following(), replace(STEADY, rise_k=9.0), 15.0).trim == pytest.approx(-0.01)

    def test_it_corrects_by_a_fifth_at_most(self) -> None:
        tuning = replace(TUNING, flow_nominal_lpm=188.0)  # so that no bound comes first
        assert set_point(following(trim=0.1999), replace(STEADY, rise_k=20.0), tuning, 0.2).trim == 0.2
        assert set_point(following(trim=-0.1999), replace(STEADY, rise_k=2.0), tuning, 0.2).trim == -0.2

    @pytest.mark.parametrize(
        "seen",
        [
            replace(WARM, rise_k=None), replace(WARM, flow_lpm=None), replace(WARM, position_pct=None),
            replace(WARM, position_pct=72.0), replace(WARM, load_kw=133.5), replace(WARM, load_kw=106.5),
        ],
    )  # fmt: skip
    def test_it_is_frozen_while_the_load_moves_the_valve_slews_or_a_sensor_is_lost(self, seen: Seen) -> None:
        assert set_point(following(trim=0.05), seen, TUNING, 0.2).trim == 0.05

    def test_a_load_that_moves_by_less_than_two_percent_a_second_lets_it_work(self) -> None:
        for load_kw in (131.5, 108.5):
            assert set_point(following(trim=0.05), replace(self.WARM, load_kw=load_kw), TUNING, 0.2).trim > 0.05

    def test_a_load_seen_for_the_first_time_stands_still(self) -> None:
        state = replace(following(), demand=Demand(FULL, FULL))
        assert set_point(state, self.WARM, replace(TUNING, still_per_s=0.0), 0.2).trim > 0.0

    def test_a_bound_winds_nothing_up(self) -> None:
        high, low = following(170.0), following(30.0)
        seen = replace(self.WARM, load_kw=170.0)
        assert set_point(high, seen, TUNING, 0.2).trim == 0.0
        assert set_point(high, replace(seen, rise_k=9.0), TUNING, 0.2).trim < 0.0
        seen = replace(self.WARM, load_kw=30.0)
        assert set_point(low, seen, TUNING, 0.2).trim > 0.0
        assert set_point(low, replace(seen, rise_k=9.0), TUNING, 0.2).trim == 0.0

    def test_a_header_that_cannot_give_more_winds_nothing_up(self) -> None:
        assert set_point(following(short=True), self.WARM, TUNING, 0.2).trim == 0.0
        assert set_point(following(short=True), replace(STEADY, rise_k=9.0), TUNING, 0.2).trim < 0.0

    @pytest.mark.parametrize(("mode", "asked"), [(Mode.FLOW, 180.0), (Mode.POSITION, 70.0)])
    def test_it_rests_while_something_else_decides(self, mode: Mode, asked: float) -> None:
        for rise_k in (9.0, 11.0):
            seen = replace(STEADY, rise_k=rise_k)
            assert set_point(following(mode=mode, asked=asked, trim=0.05), seen, TUNING, 0.2).trim == 0.05

    def test_it_works_with_a_power_limit_that_does_not_bind(self) -> None:
        assert set_point(following(mode=Mode.POWER_LIMITED, asked=130.0), self.WARM, TUNING, 0.2).trim > 0.0
        assert set_point(following(mode=Mode.POWER_LIMITED, asked=100.0), self.WARM, TUNING, 0.2).trim == 0.0

    def test_it_aims_at_the_rise_that_was_asked_for(self) -> None:
        state = following(mode=Mode.DELTA_T, asked=12.0)
        assert set_point(state, replace(STEADY, rise_k=12.0), TUNING, 0.2).trim == pytest.approx(0.0)
        assert set_point(state, replace(STEADY, rise_k=13.2), TUNING, 0.2).trim == pytest.approx(0.1 * 0.2 / 150.0)


class TestWithoutPower:
    BLIND = replace(STEADY, load_kw=None)

    def test_the_need_follows_the_rise_and_is_told(self) -> None:
        demand = after(following(), replace(self.BLIND, rise_k=9.0), 15.0)
        assert demand.setpoint_lpm == pytest.approx(FULL * (1.0 - 0.1 * 0.2 / 150.0) ** 75)
        assert (demand.blind, demand.lost, demand.load_kw) == (True, False, None)

    def test_it_rises_three_times_as_fast(self) -> None:
        demand = after(following(), replace(self.BLIND, rise_k=11.0), 15.0)
        assert demand.need_lpm == pytest.approx(FULL * (1.0 + 0.3 * 0.2 / 150.0) ** 75)

    def test_a_rise_hardly_too_great_is_too_great(self) -> None:
        demand = set_point(following(), replace(self.BLIND, rise_k=10.5), TUNING, 0.2)
        assert demand.need_lpm == pytest.approx(FULL * (1.0 + 0.15 * 0.2 / 150.0))

    def test_it_stays_within_the_bounds(self) -> None:
        assert after(following(), replace(self.BLIND, rise_k=40.0), 60.0).need_lpm == 247.5
        assert after(following(), replace(self.BLIND, rise_k=0.0), 150.0).need_lpm == 99.0

    def test_while_the_valve_slews_it_only_rises(self) -> None:
        slewing = replace(self.BLIND, position_pct=60.0)
        assert set_point(following(), replace(slewing, rise_k=9.0), TUNING, 0.2).need_lpm == FULL
        assert set_point(following(), replace(slewing, rise_k=11.0), TUNING, 0.2).need_lpm > FULL
        assert set_point(following(), replace(self.BLIND, rise_k=10.0), TUNING, 0.2).need_lpm == FULL

    def test_what_was_trimmed_stays(self) -> None:
        assert set_point(following(trim=0.05), self.BLIND, TUNING, 0.2).setpoint_lpm == pytest.approx(FULL * 1.05)
        for rise_k in (9.0, 11.0):
            assert set_point(following(trim=0.05), replace(self.BLIND, rise_k=rise_k), TUNING, 0.2).trim == 0.05

    def test_knowing_neither_power_nor_rise_the_rack_gets_its_nominal_flow(self) -> None:
        seen = replace(self.BLIND, rise_k=None)
        demand = after(following(80.0), seen, 2.0)
        assert demand.need_lpm == pytest.approx(207.9 + (1.05 * 1.49 * 80.0 - 207.9) * exp(-1.0))
        assert (demand.blind, demand.lost) == (True, True)
        assert set_point(following(150.0), seen, TUNING, 0.2).need_lpm == pytest.approx(1.05 * 1.49 * 150.0)

    def test_a_lost_rise_alone_is_no_matter(self) -> None:
        demand = set_point(following(), replace(STEADY, rise_k=None), TUNING, 0.2)
        assert (demand.blind, demand.lost) == (False, False)


class TestRequests:
    @pytest.mark.parametrize(
        ("mode", "low", "high"),
        [
            (Mode.POSITION, 10.0, 100.0),
            (Mode.FLOW, 99.0, 247.5),
            (Mode.DELTA_T, 5.0, 20.0),
            (Mode.POWER_LIMITED, 0.0, 247.5 / (1.05 * 1.49)),
        ],
    )
    def test_every_request_has_bounds_and_is_taken_into_them(self, mode: Mode, low: float, high: float) -> None:
        assert bounds(mode, TUNING) == pytest.approx((low, high))
        assert ask(following(), mode, -1.0, TUNING).asked == pytest.approx(low)
        assert ask(following(), mode, 1e6, TUNING).asked == pytest.approx(high)
        middle = 0.5 * (low + high)
        assert ask(following(), mode, middle, TUNING).asked == middle

    def test_without_a_value_things_stay_as_they_are_or_were_tuned(self) -> None:
        assert ask(following(), Mode.POSITION, None, TUNING).asked == 70.0
        assert ask(following(), Mode.FLOW, None, TUNING).asked == FULL
        assert ask(following(10.0), Mode.FLOW, None, TUNING).asked == 99.0
        for mode in (Mode.DELTA_T, Mode.POWER_LIMITED):
            state = ask(following(), mode, None, TUNING)
            assert (state.mode, state.asked) == (mode, None)
            assert set_point(state, STEADY, TUNING, 0.2).setpoint_lpm == pytest.approx(FULL)

    def test_a_flow_is_reached_on_a_ramp_of_five_percent_of_nominal_a_second(self) -> None:
        state = ask(following(), Mode.FLOW, 240.0, TUNING)
        assert state.demand.offset_lpm == pytest.approx(FULL - 240.0)
        assert after(state, STEADY, 2.0).setpoint_lpm == pytest.approx(FULL + 2.0 * 9.9)
        assert after(state, STEADY, 20.0).setpoint_lpm == pytest.approx(240.0)
        state = ask(following(), Mode.FLOW, 150.0, TUNING)
        assert after(state, STEADY, 2.0).setpoint_lpm == pytest.approx(FULL - 2.0 * 9.9)
        demand = after(state, STEADY, 20.0)
        assert (demand.setpoint_lpm, demand.offset_lpm) == (150.0, 0.0)

    def test_a_greater_rise_asks_for_less_flow(self) -> None:
        state = ask(following(), Mode.DELTA_T, 12.5, TUNING)
        assert after(state, replace(STEADY, rise_k=12.5), 20.0).setpoint_lpm == pytest.approx(FULL * 0.8)

    def test_a_load_that_rises_is_not_held_back_by_a_ramp(self) -> None:
        state = ask(following(80.0), Mode.DELTA_T, 10.0, TUNING)
        assert after(state, STEADY, 20.0).setpoint_lpm == pytest.approx(FULL, rel=1e-4)

    def test_a_power_limit_caps_the_flow_and_not_more(self) -> None:
        state = ask(following(), Mode.POWER_LIMITED, 90.0, TUNING)
        assert after(state, STEADY, 20.0).setpoint_lpm == pytest.approx(90.0 * 1.05 * 1.49)
        state = ask(following(), Mode.POWER_LIMITED, 10.0, TUNING)
        assert after(state, STEADY, 20.0).setpoint_lpm == 99.0
        state = ask(following(), Mode.POWER_LIMITED, 130.0, TUNING)
        assert after(state, STEADY, 20.0).setpoint_lpm == pytest.approx(FULL)

    def test_at_a_fixed_opening_the_set_point_goes_along_with_the_flow(self) -> None:
        state = ask(following(), Mode.POSITION, 80.0, TUNING)
        assert state.demand.offset_lpm == 0.0
        demand = set_point(state, replace(STEADY, flow_lpm=222.0), TUNING, 0.2)
        assert (demand.setpoint_lpm, demand.offset_lpm) == (222.0, 0.0)
        assert demand.need_lpm == pytest.approx(FULL)
        assert set_point(state, replace(STEADY, flow_lpm=None), TUNING, 0.2).setpoint_lpm == FULL
        stale = replace(state, demand=replace(state.demand, offset_lpm=30.0, trim=0.05))
        burst = Burst(FULL, 0.0, 0.2)
        assert set_point(stale, STEADY, TUNING, 0.2) == Demand(FULL, FULL, 0.05, 120.0, 0.0, False, False, burst)

    def test_leaving_a_fixed_opening_begins_from_the_flow_there(self) -> None:
        state = replace(following(mode=Mode.POSITION, asked=80.0), demand=Demand(222.0, FULL, 0.0, 120.0))
        back = ask(state, Mode.DELTA_T, None, TUNING)
        assert set_point(back, STEADY, TUNING, 0.2).setpoint_lpm == pytest.approx(222.0 - 0.2 * 9.9)

    def test_a_limit_or_flow_without_a_value_is_none(self) -> None:
        for mode in (Mode.FLOW, Mode.POWER_LIMITED):
            state = following(mode=mode, asked=None)
            assert set_point(state, STEADY, TUNING, 0.2).setpoint_lpm == pytest.approx(FULL)

    def test_a_position_is_no_rise(self) -> None:
        state = following(mode=Mode.POWER_LIMITED, asked=130.0)
        assert set_point(state, STEADY, TUNING, 0.2).trim == 0.0  # judged against 10 K, not against 130

    def test_blind_the_rise_that_was_asked_for_counts(self) -> None:
        state = following(mode=Mode.DELTA_T, asked=12.0)
        assert set_point(state, replace(STEADY, load_kw=None, rise_k=12.0), TUNING, 0.2).need_lpm == FULL


def test_what_is_not_said_about_a_demand_is_nil() -> None:
    assert Demand(150.0, 160.0) == Demand(150.0, 160.0, 0.0, None, 0.0, False, False)


def test_the_flow_per_kilowatt_goes_with_the_inverse_of_the_rise() -> None:
    assert lpm_per_kw(10.0, TUNING) == pytest.approx(1.5645)
    assert lpm_per_kw(5.0, TUNING) == pytest.approx(3.129)
