"""The model of a rack's branch: the valve's characteristic, the header's pressure difference, and what is learned."""

from dataclasses import replace
from math import exp, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_sim.physics import valve
from valvey.core import flow_model as model
from valvey.core.flow_state import Header, Learned, Seen, Source, Tuning

TUNING = Tuning()
LEARNED = Learned(12.5, 0.0, 0.0225, 0.0, 2.25)
SEEN = Seen(flow_lpm=150.0, header_kpa=200.0, position_pct=65.0)


def flow_at(position_pct: float, dp_kpa: float, kv_rest: float = 12.5, bias_pct: float = 0.0) -> float:
    """The simulator's answer, L/min."""
    kv = valve.series_kv(valve.equal_percentage_kv((position_pct - bias_pct) / 100.0, 30.4, 50.0), kv_rest)
    return valve.flow_m3h(dp_kpa / 100.0, kv, 1.0145) * 1000.0 / 60.0


@pytest.mark.parametrize("position_pct", [-1.0, 0.0, 2.5, 4.9, 5.0, 5.1, 40.0, 99.0, 100.0, 104.0])
def test_the_valve_has_the_kv_that_the_simulators_valve_has(position_pct: float) -> None:
    expected = valve.equal_percentage_kv(position_pct / 100.0, 30.4, 50.0)
    assert model.valve_kv(position_pct, TUNING) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(st.floats(0.0, 100.0))
def test_the_opening_for_a_valves_kv_is_where_it_stands(position_pct: float) -> None:
    assert model.opening_pct(model.valve_kv(position_pct, TUNING), TUNING) == pytest.approx(position_pct, abs=1e-9)


def test_a_kv_beyond_the_valve_has_no_opening() -> None:
    assert model.opening_pct(-1.0, TUNING) == 0.0
    assert model.opening_pct(30.4 * 50.0**0.01, TUNING) == pytest.approx(101.0)


@given(st.floats(40.0, 200.0), st.floats(160.0, 500.0))
def test_the_opening_asked_for_lets_the_flow_pass_in_the_simulators_branch(flow: float, dp_kpa: float) -> None:
    opening = model.opening_for(flow, dp_kpa, LEARNED, TUNING)
    if opening is None:
        assert flow_at(100.0, dp_kpa) < flow * 1.000001
    else:
        assert flow_at(opening, dp_kpa) == pytest.approx(flow, rel=1e-9)


def test_a_header_too_weak_for_the_flow_gives_no_opening() -> None:
    assert model.opening_for(12.5 * 1000.0 / 60.0, 101.45, LEARNED, TUNING) is None  # all of it is lost in the rest
    assert model.opening_for(200.0, 105.0, LEARNED, TUNING) is None  # the valve would have to be larger
    assert model.opening_for(flow_at(100.0, 200.0) - 0.001, 200.0, LEARNED, TUNING) == pytest.approx(100.0, abs=0.01)


def test_the_learned_bias_shifts_the_opening_and_may_not_push_it_past_the_end() -> None:
    plain = model.opening_for(200.0, 200.0, LEARNED, TUNING)
    assert plain is not None
    assert model.opening_for(200.0, 200.0, replace(LEARNED, bias_pct=3.0), TUNING) == pytest.approx(plain + 3.0)
    assert model.opening_for(200.0, 200.0, replace(LEARNED, bias_pct=99.99 - plain), TUNING) == pytest.approx(99.99)
    assert model.opening_for(200.0, 200.0, replace(LEARNED, bias_pct=100.0 - plain), TUNING) == 100.0
    assert model.opening_for(200.0, 200.0, replace(LEARNED, bias_pct=100.01 - plain), TUNING) is None


def test_flow_and_pressure_difference_belong_together() -> None:
    assert model.flow_lpm(12.5, 200.0) == pytest.approx(flow_at(100.0, 200.0, 12.5) * sqrt(1 + (12.5 / 30.4) ** 2))
    assert model.flow_lpm(12.5, -1.0) == 0.0
    assert model.dp_for(model.flow_lpm(9.0, 137.0), 9.0) == pytest.approx(137.0)


@pytest.mark.parametrize(
    ("position", "slewing"), [(50.0, False), (51.5, False), (48.5, False), (51.6, True), (48.4, True), (None, True)]
)
def test_a_valve_away_from_its_command_or_unseen_is_on_its_way(position: float | None, slewing: bool) -> None:
    assert model.slewing(50.0, Seen(position_pct=position), TUNING) is slewing


class TestHeader:
    """The pressure difference between the headers."""

    def test_a_measured_one_is_taken_as_it_is(self) -> None:
        header, _ = model.observe(Header(), LEARNED, SEEN, TUNING, 0.2, 1.0)
        assert (header.dp_kpa, header.source, header.slow_kpa) == (200.0, Source.HEADER, 200.0)
        assert header.dead == header.lag == (65.0, 200.0)

    def test_its_trend_is_kept_over_a_second(self) -> None:
        header = Header(200.0, Source.HEADER, 200.0)
        header, _ = model.observe(header, LEARNED, replace(SEEN, header_kpa=240.0), TUNING, 0.2, 1.0)
        assert header.slow_kpa == pytest.approx(200.0 + 40.0 * (1.0 - exp(-0.2)))

    def test_the_least_that_counts_as_a_header_is_two_kilopascal(self) -> None:
        assert (
            model.observe(Header(), LEARNED, replace(SEEN, header_kpa=2.0), TUNING, 0.2, 1.0)[0].source is Source.HEADER
        )
        assert (
            model.observe(Header(), LEARNED, replace(SEEN, header_kpa=1.9), TUNING, 0.2, 1.0)[0].source is Source.METER
        )

    def test_what_the_meter_sees_lags_by_its_dead_time_and_its_lag(self) -> None:
        header = Header(200.0, Source.HEADER, 200.0, (60.0, 180.0), (55.0, 170.0))
        header, _ = model.observe(header, LEARNED, SEEN, TUNING, 0.2, 1.0)
        dead = (60.0 + 5.0 * (1.0 - exp(-0.2)), 180.0 + 20.0 * (1.0 - exp(-0.2)))
        assert header.dead == pytest.approx(dead)
        assert header.lag == pytest.approx((
            55.0 + (dead[0] - 55.0) * (1.0 - exp(-0.1)),
            170.0 + (dead[1] - 170.0) * (1.0 - exp(-0.1)),
        ))

    def test_a_meter_without_dead_time_or_lag_sees_the_present(self) -> None:
        header = Header(200.0, Source.HEADER, 200.0, (60.0, 180.0), (55.0, 170.0))
        header, _ = model.observe(header, LEARNED, SEEN, replace(TUNING, meter_dead_s=0.0, meter_lag_s=0.0), 0.2, 1.0)
        assert header.dead == header.lag == (65.0, 200.0)

    def test_a_lag_of_a_twentieth_of_a_second_is_one(self) -> None:
        header = Header(200.0, Source.HEADER, 200.0, (60.0, 200.0), (60.0, 200.0))
        header, _ = model.observe(header, LEARNED, SEEN, replace(TUNING, meter_dead_s=0.05, meter_lag_s=0.0), 0.05, 1.0)
        assert header.dead == header.lag == pytest.approx((60.0 + 5.0 * (1.0 - exp(-1.0)), 200.0))

    def test_without_a_position_what_belongs_to_the_meters_reading_is_forgotten(self) -> None:
        header = Header(200.0, Source.HEADER, 200.0, (60.0, 180.0), (55.0, 170.0))
        header, learned = model.observe(header, LEARNED, replace(SEEN, position_pct=None), TUNING, 0.2, 1.0)
        assert (header.dead, header.lag, header.dp_kpa) == (None, None, 200.0)
        assert learned is LEARNED

    def test_not_measured_it_follows_from_flow_and_position(self) -> None:
        seen = Seen(flow_lpm=flow_at(65.0, 170.0), position_pct=65.0)
        header, learned = model.observe(Header(), LEARNED, seen, TUNING, 0.2, 1.0)
        assert header.dp_kpa == pytest.approx(170.0)
        assert (header.source, header.slow_kpa) == (Source.METER, None)
        assert learned is LEARNED  # nothing can be learned from what the model itself gave

    def test_the_meters_reading_goes_with_the_position_of_its_time_and_the_learned_bias(self) -> None:
        old = Header(150.0, Source.METER, None, (60.0, 150.0), (60.0, 150.0))
        seen = Seen(flow_lpm=flow_at(60.0, 170.0, bias_pct=2.0), position_pct=65.0)
        header, _ = model.observe(old, replace(LEARNED, bias_pct=2.0), seen, TUNING, 0.2, 1.0)
        assert header.dp_kpa == pytest.approx(150.0 + 20.0 * (1.0 - exp(-0.1)))

    def test_the_racks_own_pressure_difference_comes_before_the_meter(self) -> None:
        through = flow_at(65.0, 170.0, bias_pct=2.0)
        seen = Seen(flow_lpm=90.0, rack_kpa=model.dp_for(through, 13.0), position_pct=65.0)
        old = Header(lag=(40.0, 200.0))
        header, _ = model.observe(old, replace(LEARNED, kv_rack_m3_h=13.0, bias_pct=2.0), seen, TUNING, 0.2, 1.0)
        assert header.dp_kpa == pytest.approx(170.0)
        assert header.source is Source.RACK

    def test_the_racks_pressure_difference_must_be_one_and_its_kv_known(self) -> None:
        known = replace(LEARNED, kv_rack_m3_h=13.0)
        for rack_kpa, learned, source in (
            (2.0, known, Source.RACK),
            (1.9, known, Source.METER),
            (None, known, Source.METER),
            (50.0, LEARNED, Source.METER),
        ):
            seen = Seen(flow_lpm=100.0, rack_kpa=rack_kpa, position_pct=65.0)
            assert model.observe(Header(), learned, seen, TUNING, 0.2, 1.0)[0].source is source

    @pytest.mark.parametrize(
        "seen",
        [
            Seen(position_pct=65.0),
            Seen(flow_lpm=100.0),
            Seen(flow_lpm=0.0, position_pct=65.0),
            Seen(flow_lpm=100.0, position_pct=4.9),
        ],
    )
    def test_the_last_one_is_held_when_nothing_tells(self, seen: Seen) -> None:
        header, learned = model.observe(Header(150.0, Source.METER), LEARNED, seen, TUNING, 0.2, 1.0)
        assert (header.dp_kpa, header.source) == (150.0, Source.HELD)
        assert learned is LEARNED

    def test_the_linear_end_of_the_valve_counts_from_its_bias(self) -> None:
        seen = Seen(flow_lpm=20.0, position_pct=7.0)
        for bias_pct, source in ((2.0, Source.METER), (2.1, Source.HELD)):
            learned = replace(LEARNED, bias_pct=bias_pct)
            assert model.observe(Header(150.0), learned, seen, TUNING, 0.2, 1.0)[0].source is source

    def test_the_smallest_flow_is_a_flow(self) -> None:
        seen = Seen(flow_lpm=0.05, position_pct=65.0)
        assert model.observe(Header(150.0), LEARNED, seen, TUNING, 0.2, 1.0)[0].source is Source.METER

    def test_never_known_stays_unknown(self) -> None:
        header, _ = model.observe(Header(), LEARNED, Seen(position_pct=65.0), TUNING, 0.2, 1.0)
        assert (header.dp_kpa, header.lag) == (None, None)

    def test_a_difference_that_moves_is_looked_ahead_of(self) -> None:
        assert model.dp_ahead_kpa(Header(210.0, Source.HEADER, 200.0)) == pytest.approx(225.0)
        assert model.dp_ahead_kpa(Header(190.0, Source.HEADER, 200.0)) == pytest.approx(175.0)

    def test_one_that_only_shivers_is_averaged(self) -> None:
        assert model.dp_ahead_kpa(Header(253.0, Source.HEADER, 250.0)) == 250.0
        assert model.dp_ahead_kpa(Header(247.0, Source.HEADER, 250.0)) == 250.0
        assert model.dp_ahead_kpa(Header(253.001, Source.HEADER, 250.0)) != 250.0
        assert model.dp_ahead_kpa(Header(246.999, Source.HEADER, 250.0)) != 250.0

    def test_a_collapse_is_looked_ahead_of_by_half_at_most(self) -> None:
        assert model.dp_ahead_kpa(Header(100.0, Source.HEADER, 200.0)) == 50.0

    def test_one_that_is_worked_out_has_no_trend(self) -> None:
        assert model.dp_ahead_kpa(Header(150.0, Source.METER)) == 150.0
        assert model.dp_ahead_kpa(Header(None, Source.HELD, 10.0)) is None


def textbook(
    learned: Learned, flow: float, now: tuple[float, float], then: tuple[float, float], dt_s: float
) -> Learned:
    """One step of a Kalman filter in matrices, its sensitivities taken as differences of the simulator's own flow."""
    keep = (exp(-dt_s / 86400.0), exp(-dt_s / 7200.0))
    p = [
        [0.0225 + (learned.kv_var - 0.0225) * keep[0], learned.both_var * sqrt(keep[0] * keep[1])],
        [learned.both_var * sqrt(keep[0] * keep[1]), 2.25 + (learned.bias_var - 2.25) * keep[1]],
    ]

    def ln_flow(kv_ln: float, bias: float, at: tuple[float, float] = then) -> float:
        return log(flow_at(at[0], at[1], exp(kv_ln), bias))

    kv_ln, bias = log(learned.kv_rest_m3_h), learned.bias_pct
    h = [
        (ln_flow(kv_ln + 1e-5, bias) - ln_flow(kv_ln - 1e-5, bias)) / 2e-5,
        (ln_flow(kv_ln, bias + 1e-4) - ln_flow(kv_ln, bias - 1e-4)) / 2e-4,
    ]
    moved = ln_flow(kv_ln, bias, now) - ln_flow(kv_ln, bias)
    r = (0.005**2 + 2.0 * (0.5 * moved) ** 2) / dt_s
    ph = [p[0][0] * h[0] + p[0][1] * h[1], p[1][0] * h[0] + p[1][1] * h[1]]
    s = h[0] * ph[0] + h[1] * ph[1] + r
    k = [ph[0] / s, ph[1] / s]
    error = log(flow) - ln_flow(kv_ln, bias)
    return Learned(
        exp(kv_ln + k[0] * error),
        bias + k[1] * error,
        p[0][0] - k[0] * ph[0],
        p[0][1] - k[0] * ph[1],
        p[1][1] - k[1] * ph[1],
    )


def same(one: Learned, other: Learned) -> None:
    for name in ("kv_rest_m3_h", "bias_pct", "kv_var", "both_var", "bias_var"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-5, abs=1e-9), name


def learn(
    learned: Learned, flow: float, header: Header, seen: Seen = SEEN, dt_s: float = 0.2, gain: float = 1.0
) -> Learned:
    return model.observe(header, learned, replace(seen, flow_lpm=flow), TUNING, dt_s, gain)[1]


class TestLearning:
    """Kv of the rest and the valve's bias, from position, pressure difference and flow."""

    RESTING = Header(200.0, Source.HEADER, 200.0, (65.0, 200.0), (65.0, 200.0))

    def test_it_is_the_textbooks_filter_at_rest(self) -> None:
        known = Learned(11.0, 1.0, 0.01, 0.02, 1.5)
        flow = 1.02 * flow_at(65.0, 200.0, 11.0, 1.0)
        same(learn(known, flow, self.RESTING), textbook(known, flow, (65.0, 200.0), (65.0, 200.0), 0.2))

    def test_it_is_the_textbooks_filter_while_the_valve_moves(self) -> None:
        known = Learned(14.0, -1.0, 0.02, -0.03, 2.0)
        moving = Header(200.0, Source.HEADER, 200.0, (62.0, 190.0), (60.0, 180.0))
        header, _ = model.observe(moving, known, SEEN, TUNING, 0.5, 1.0)
        assert header.lag is not None
        flow = 0.97 * flow_at(*header.lag, 14.0, -1.0)
        same(learn(known, flow, moving, dt_s=0.5), textbook(known, flow, (65.0, 200.0), header.lag, 0.5))

    def test_a_reading_while_the_valve_moves_weighs_less(self) -> None:
        moving = Header(200.0, Source.HEADER, 200.0, (60.0, 200.0), (60.0, 200.0))
        resting = learn(LEARNED, 1.02 * flow_at(65.0, 200.0), self.RESTING)
        header, _ = model.observe(moving, LEARNED, SEEN, TUNING, 0.2, 1.0)
        assert header.lag is not None
        assert resting.bias_pct < 0.5 * learn(LEARNED, 1.02 * flow_at(*header.lag), moving).bias_pct < 0.0

    def test_a_halved_gain_learns_half_as_much(self) -> None:
        flow = 1.02 * flow_at(65.0, 200.0)
        whole, half = learn(LEARNED, flow, self.RESTING), learn(LEARNED, flow, self.RESTING, gain=0.5)
        assert half.bias_pct == pytest.approx(0.5 * whole.bias_pct)
        assert log(half.kv_rest_m3_h / 12.5) == pytest.approx(0.5 * log(whole.kv_rest_m3_h / 12.5))
        assert half.kv_var == whole.kv_var

    def test_one_wild_reading_counts_as_a_tenth_off(self) -> None:
        usual = flow_at(65.0, 200.0)
        assert learn(LEARNED, 3.0 * usual, self.RESTING).bias_pct == pytest.approx(
            learn(LEARNED, exp(0.1) * usual, self.RESTING).bias_pct
        )
        assert learn(LEARNED, 0.2 * usual, self.RESTING).bias_pct == pytest.approx(
            learn(LEARNED, exp(-0.1) * usual, self.RESTING).bias_pct
        )

    def test_what_is_learned_stays_within_its_bounds(self) -> None:
        loose = Learned(19.9, 14.9, 10.0, 0.0, 1000.0)
        up = learn(replace(loose, bias_pct=0.0, bias_var=0.0), 250.0, self.RESTING)
        assert up.kv_rest_m3_h == pytest.approx(20.0)
        assert learn(
            replace(loose, kv_rest_m3_h=7.9, bias_pct=0.0, bias_var=0.0), 60.0, self.RESTING
        ).kv_rest_m3_h == pytest.approx(12.5 / 1.6)
        assert learn(replace(loose, kv_var=0.0), 60.0, self.RESTING).bias_pct == 15.0
        assert learn(replace(loose, bias_pct=-14.9, kv_var=0.0), 350.0, self.RESTING).bias_pct == -15.0

    def test_a_gap_between_scans_counts_for_two_seconds_at_most(self) -> None:
        flow = 1.02 * flow_at(65.0, 200.0)
        same(learn(LEARNED, flow, self.RESTING, dt_s=50.0), learn(LEARNED, flow, self.RESTING, dt_s=2.0))
        assert learn(LEARNED, flow, self.RESTING, dt_s=1.9) != learn(LEARNED, flow, self.RESTING, dt_s=2.0)

    @pytest.mark.parametrize("flow", [None, 0.0, -3.0])
    def test_nothing_is_learned_without_a_flow(self, flow: float | None) -> None:
        assert model.observe(self.RESTING, LEARNED, replace(SEEN, flow_lpm=flow), TUNING, 0.2, 1.0)[1] is LEARNED

    def test_the_smallest_flow_is_learned_from(self) -> None:
        assert learn(LEARNED, 0.05, self.RESTING) != LEARNED

    def test_nothing_is_learned_in_no_time_or_from_the_linear_end_of_the_valve(self) -> None:
        assert learn(LEARNED, 150.0, self.RESTING, dt_s=0.0) == LEARNED
        low = Header(200.0, Source.HEADER, 200.0, (7.0, 200.0), (7.0, 200.0))
        seen = replace(SEEN, position_pct=7.0)
        assert learn(replace(LEARNED, bias_pct=2.1), 20.0, low, seen) == replace(LEARNED, bias_pct=2.1)
        assert learn(replace(LEARNED, bias_pct=2.0), 20.0, low, seen) != replace(LEARNED, bias_pct=2.0)

    def test_kv_and_bias_are_told_apart_at_two_operating_points(self) -> None:
        learned = LEARNED
        for number in range(1500):
            position = 56.0 if number % 2 else 78.0
            at = Header(200.0, Source.HEADER, 200.0, (position, 200.0), (position, 200.0))
            learned = learn(learned, flow_at(position, 200.0, 10.5, 2.0), at, replace(SEEN, position_pct=position))
        assert learned.kv_rest_m3_h == pytest.approx(10.5, rel=0.01)
        assert learned.bias_pct == pytest.approx(2.0, abs=0.15)

    def test_a_mismatch_at_rest_is_averaged_over_ten_seconds(self) -> None:
        flow = 1.03 * flow_at(65.0, 200.0)
        expected = log(1.03) * (1.0 - exp(-0.02))
        assert learn(LEARNED, flow, self.RESTING).misfit == pytest.approx(expected)

    def test_a_mismatch_while_the_valve_moves_counts_as_none(self) -> None:
        moving = Header(200.0, Source.HEADER, 200.0, (64.0, 200.0), (64.0, 200.0))
        slow = Header(200.0, Source.HEADER, 200.0, (64.9, 200.0), (64.9, 200.0))
        assert learn(replace(LEARNED, misfit=0.02), 200.0, moving).misfit == pytest.approx(0.02 * exp(-0.02))
        assert learn(replace(LEARNED, misfit=0.02), 200.0, slow).misfit > 0.02

    def test_a_motion_as_great_as_the_meters_noise_is_one(self) -> None:
        tuning = replace(TUNING, meter_noise=0.0)
        seen = replace(SEEN, flow_lpm=200.0)
        learned = model.observe(self.RESTING, replace(LEARNED, misfit=0.02), seen, tuning, 0.2, 1.0)[1]
        assert learned.misfit == pytest.approx(0.02 * exp(-0.02))

    def test_a_mismatch_as_great_as_the_most_is_none_yet(self) -> None:
        moving = Header(200.0, Source.HEADER, 200.0, (64.0, 200.0), (64.0, 200.0))
        learned = model.observe(moving, LEARNED, SEEN, replace(TUNING, misfit_most=0.0), 0.2, 1.0)[1]
        assert learned.misfit == 0.0
        assert learned.both_var != 0.0

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_a_lasting_mismatch_makes_both_be_learned_anew(self, sign: float) -> None:
        sure = Learned(12.5, 0.0, 1e-4, 0.0, 1e-3, sign * 0.0395, 13.0)
        flow = exp(0.1 * sign) * flow_at(65.0, 200.0)
        for dt_s, anew in ((0.01, False), (0.2, True)):
            learned = learn(sure, flow, self.RESTING, dt_s=dt_s)
            assert (learned.kv_var, learned.both_var, learned.bias_var, learned.misfit) == (
                0.15**2,
                0.0,
                1.5**2,
                0.0,
            ) or not anew
            assert (learned.kv_var > 0.01) is anew
            assert learned.kv_rack_m3_h == 13.0
            assert learned.kv_rest_m3_h != 12.5
            assert learned.bias_pct != 0.0


class TestRackKv:
    """Kv between PT-101 and PT-102, for the day when the header's pressures are lost."""

    def test_the_first_reading_is_taken_as_it_is(self) -> None:
        seen = replace(SEEN, rack_kpa=model.dp_for(150.0, 13.0))
        assert model.observe(Header(), LEARNED, seen, TUNING, 0.2, 1.0)[1].kv_rack_m3_h == pytest.approx(13.0)

    def test_later_ones_count_slowly(self) -> None:
        seen = replace(SEEN, rack_kpa=model.dp_for(150.0, 13.0))
        known = replace(LEARNED, kv_rack_m3_h=12.0)
        expected = 12.0 + (1.0 - exp(-0.2 / 60.0))
        assert model.observe(Header(), known, seen, TUNING, 0.2, 1.0)[1].kv_rack_m3_h == pytest.approx(expected)

    def test_it_is_learned_without_the_headers_pressures_too(self) -> None:
        seen = Seen(flow_lpm=150.0, rack_kpa=model.dp_for(150.0, 13.0), position_pct=65.0)
        learned = model.observe(Header(), LEARNED, seen, TUNING, 0.2, 1.0)[1]
        assert learned == replace(LEARNED, kv_rack_m3_h=learned.kv_rack_m3_h)
        assert learned.kv_rack_m3_h == pytest.approx(13.0)

    @pytest.mark.parametrize(
        ("rack_kpa", "lag_pct", "learns"),
        [
            (2.0, 65.0, True),
            (1.9, 65.0, False),
            (50.0, 65.25, False),
            (50.0, 64.75, False),
            (50.0, 65.125, True),
            (50.0, 64.875, True),
        ],
    )
    def test_it_is_learned_at_rest_and_with_a_pressure_difference_only(
        self, rack_kpa: float, lag_pct: float, learns: bool
    ) -> None:
        header = Header(200.0, Source.HEADER, 200.0, (lag_pct, 200.0), (lag_pct, 200.0))
        tuning = replace(TUNING, meter_lag_s=1e9, meter_dead_s=1e9)
        learned = model.observe(header, LEARNED, replace(SEEN, rack_kpa=rack_kpa), tuning, 0.2, 1.0)[1]
        assert (learned.kv_rack_m3_h is not None) is learns

    def test_it_is_kept_when_nothing_else_can_be_learned(self) -> None:
        known = replace(LEARNED, kv_rack_m3_h=13.0)
        assert learn(known, 150.0, TestLearning.RESTING).kv_rack_m3_h == 13.0
        assert learn(known, 150.0, TestLearning.RESTING, dt_s=0.0).kv_rack_m3_h == 13.0


def test_what_is_not_said_about_a_branch_is_nil() -> None:
    assert Learned(12.5) == Learned(12.5, 0.0, 0.0, 0.0, 0.0, 0.0, None)


def test_a_rack_just_commissioned_is_known_within_its_doubts() -> None:
    assert model.unsure(11.0, 2.0, None, TUNING) == Learned(11.0, 2.0, 0.15**2, 0.0, 1.5**2, 0.0, None)
