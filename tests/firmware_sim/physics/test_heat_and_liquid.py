"""Heat, vessels, actuators and noise behave as their docstrings promise."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_sim.physics import coolant, exchanger, pipe, pump, rtu, thermal, trapped, valve, vessel
from firmware_sim.physics.actuator import Actuator, MotorActuator
from firmware_sim.physics.noise import Noise

SPACE = trapped.Space(45.0, 2.0, 0.02)
RHO = 1014.0


@given(st.floats(0.0, 100.0), st.floats(0.0, 1e4), st.floats(0.0, 2e4), st.floats(0.1, 60.0), st.integers(2, 20))
def test_one_step_is_as_good_as_many(power_kw: float, ua: float, rate: float, dt: float, parts: int) -> None:
    once = thermal.two_node_step(power_kw * 1e3, 55e3, 60e3, ua, rate, 70.0, 50.0, 40.0, dt)
    solid, liquid = 70.0, 50.0
    for _ in range(parts):
        solid, liquid = thermal.two_node_step(power_kw * 1e3, 55e3, 60e3, ua, rate, solid, liquid, 40.0, dt / parts)
    assert (solid, liquid) == pytest.approx(once, abs=1e-6)


@given(st.floats(1.0, 250.0), st.floats(0.1, 100.0))
def test_without_flow_all_heat_stays_in_the_two_nodes(power_kw: float, dt: float) -> None:
    solid, liquid = thermal.two_node_step(power_kw * 1e3, 55e3, 60e3, 6.6e3, 0.0, 70.0, 50.0, 40.0, dt)
    assert 55.0 * (solid - 70.0) + 60.0 * (liquid - 50.0) == pytest.approx(power_kw * dt, rel=1e-9)


def test_the_two_nodes_settle_at_the_heat_balance() -> None:
    assert thermal.two_node_step(132e3, 55e3, 60e3, 6.6e3, 13.2e3, 20.0, 20.0, 40.0, 1e5) == pytest.approx((70.0, 50.0))


@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.floats(20.0, 60.0)), min_size=1, max_size=60))
def test_a_plug_gives_out_the_heat_that_went_in(pushes: list[tuple[float, float]]) -> None:
    plug, given_out = thermal.Plug(7.0, 40.0), 0.0
    for litres, t_c in pushes:
        given_out += litres * plug.push(litres, t_c)
    for _ in range(70):  # rinse
        given_out += 0.1 * plug.push(0.1, 40.0)
    assert given_out == pytest.approx(7.0 * 40.0 + sum(litres * t_c for litres, t_c in pushes), rel=1e-6)


def test_a_plug_keeps_a_step_sharp_and_late_by_its_volume() -> None:
    plug = thermal.Plug(10.0, 40.0)
    assert [plug.push(1.0, 50.0) for _ in range(12)] == [40.0] * 10 + [50.0] * 2
    assert plug.push(0.0, 90.0) == pytest.approx(50.0)
    assert plug.push(25.0, 30.0) == pytest.approx(30.0)


@given(st.floats(0.01, 20.0), st.floats(0.0, 1.0))
def test_an_exchanger_moves_no_more_than_there_is(ntu: float, ratio: float) -> None:
    eps = exchanger.effectiveness(ntu, ratio)
    assert 0.0 < eps < 1.0
    assert exchanger.effectiveness(ntu * 1.1, ratio) >= eps
    assert exchanger.effectiveness(ntu, 1.0) <= eps + 1e-9


def test_an_exchanger_without_flow_moves_nothing() -> None:
    assert exchanger.heat_w(1e5, 0.0, 1e5, 50.0, 30.0) == pytest.approx(0.0)
    assert exchanger.effectiveness(0.0, 0.5) == pytest.approx(0.0)
    assert exchanger.cold_rate_for_heat_w_k(-1.0, 1e5, 1e5, 1e5, 50.0, 30.0) == pytest.approx(0.0)
    assert exchanger.cold_rate_for_heat_w_k(1e9, 1e5, 1e5, 2e5, 50.0, 30.0) == pytest.approx(2e5)


@given(st.floats(30.0, 60.0), st.floats(0.0, 12.0), st.floats(0.005, 0.1), st.floats(0.02, 5.0))
def test_trapped_pressure_and_liquid_are_each_others_inverse(
    volume: float, gauge: float, compliance: float, gas: float
) -> None:
    liquid = vessel.trapped_liquid_l(gauge, volume, compliance, gas)
    assert vessel.trapped_pressure_bar(liquid, volume, compliance, gas) == pytest.approx(gauge, abs=1e-6)


@pytest.mark.parametrize(("compliance", "low", "high"), [(0.1, 0.2, 0.3), (0.0045, 4.5, 5.5)])
def test_a_warming_shut_rack_rises_within_the_known_bounds(compliance: float, low: float, high: float) -> None:
    liquid = vessel.trapped_liquid_l(1.5, 50.0, compliance, 0.02)
    warm = liquid + vessel.expansion_l(liquid, 45.0, 46.0)
    assert low < vessel.trapped_pressure_bar(warm, 50.0, compliance, 0.02) - 1.5 < high


def test_the_relief_valve_holds_a_warming_rack_a_crack_above_the_return_header() -> None:
    ports = trapped.Ports(supply_bar=3.6, return_bar=1.5, relief_kv=0.1, crack_bar=0.4, psv_kv=1.0, psv_bar=6.0)
    state = trapped.Trapped(vessel.trapped_liquid_l(2.6, 45.0, 0.02, 0.02), 0.02, 2.6)
    highest = 0.0
    for _ in range(600):
        state, _ = trapped.trapped_step(state, SPACE, ports, RHO, 0.0004, 0.1)
        highest = max(highest, state.gauge_bar)
    assert state.gauge_bar == pytest.approx(1.9, abs=0.1)
    assert highest <= 2.7


def test_without_the_relief_valve_the_safety_valve_holds() -> None:
    ports = trapped.Ports(supply_bar=3.6, return_bar=1.5, psv_kv=1.0, psv_bar=6.0)
    state = trapped.Trapped(vessel.trapped_liquid_l(2.6, 45.0, 0.02, 0.02), 0.02, 2.6)
    for _ in range(600):
        state, _ = trapped.trapped_step(state, SPACE, ports, RHO, 0.002, 0.1)
    assert 6.0 < state.gauge_bar < 6.6


@given(
    liquid=st.floats(0.0, 45.0), supply=st.floats(0.0, 5.0), back=st.floats(0.0, 3.0), kv_in=st.floats(0.0, 20.0), kv_out=st.floats(0.0, 20.0),
    vent=st.sampled_from([0.0, 0.6]), drain=st.sampled_from([0.0, 1.6]), leak=st.floats(0.0, 1.0),
)  # fmt: skip
def test_a_shut_rack_keeps_account_of_its_liquid(
    liquid: float, supply: float, back: float, kv_in: float, kv_out: float, vent: float, drain: float, leak: float
) -> None:
    gas = max(0.02, (45.0 - liquid) * vessel.ATMOSPHERE_BAR)
    state = trapped.Trapped(liquid, gas, vessel.trapped_pressure_bar(liquid, 45.0, 0.02, gas))
    ports = trapped.Ports(supply, back, kv_in, kv_out, 0.1, 0.4, 1.0, 6.0, leak, 1.0, vent, drain)
    for _ in range(5):
        after, flows = trapped.trapped_step(state, SPACE, ports, RHO, 0.0, 0.1)
        expected = state.liquid_l + flows.net / 36.0
        assert after.liquid_l == pytest.approx(max(0.0, expected), abs=1e-6)
        assert -1.02 < after.gauge_bar < max(supply, back, state.gauge_bar, 0.0) + 0.01
        state = after


def test_a_vented_rack_drains_empty_and_an_unvented_one_does_not() -> None:
    def left(vent_kv: float) -> float:
        state = trapped.Trapped(44.99, 0.02, 0.0)
        for _ in range(9000):
            state, _ = trapped.trapped_step(
                state, SPACE, trapped.Ports(0.0, 0.0, vent_kv=vent_kv, drain_kv=1.6), RHO, 0.0, 0.1
            )
        return state.liquid_l

    assert left(0.6) < 0.05
    assert left(0.0) > 44.0


@given(st.lists(st.floats(0.001, 1.0), min_size=1, max_size=30))
def test_a_valve_travels_the_same_however_time_is_cut(cuts: list[float]) -> None:
    whole, cut = Actuator(5.0, 3.5, 1.0), Actuator(5.0, 3.5, 1.0)
    whole.coil = cut.coil = False
    whole.advance(sum(cuts))
    for dt in cuts:
        cut.advance(dt)
    assert cut.position == pytest.approx(whole.position, abs=1e-9)


def test_a_spring_valve_shuts_in_its_stroke_and_makes_its_limits() -> None:
    xv = Actuator(5.0, 3.5, 1.0)
    assert (xv.open_limit, xv.shut_limit) == (True, False)
    xv.coil = False
    xv.advance(1.75)
    assert xv.position == pytest.approx(0.5)
    assert (xv.open_limit, xv.shut_limit) == (False, False)
    xv.advance(1.75)
    assert xv.shut_limit
    xv.coil = True
    xv.advance(5.0)
    assert xv.open_limit


def test_a_faulty_valve_sticks_crawls_or_stays_open() -> None:
    stuck, slow, broken, partial = (Actuator(5.0, 4.0, 1.0) for _ in range(4))
    stuck.stuck, slow.slow, broken.spring_broken, partial.lowest = True, 3.0, True, 0.3
    for xv in (stuck, slow, broken, partial):
        xv.coil = False
        xv.advance(4.0)
    assert [xv.position for xv in (stuck, slow, broken, partial)] == pytest.approx([1.0, 2 / 3, 1.0, 0.3])


def test_a_motor_valve_ignores_commands_inside_its_dead_band_and_holds_without_one() -> None:
    fcv = MotorActuator(90.0, 0.5)
    fcv.command = 0.504
    fcv.advance(60.0)
    assert fcv.position == pytest.approx(0.5)
    fcv.command = 0.52
    fcv.advance(60.0)
    assert fcv.position == pytest.approx(0.52)
    fcv.command = None
    fcv.advance(60.0)
    assert fcv.position == pytest.approx(0.52)
    fcv.command = 0.0
    fcv.advance(45.0)
    assert fcv.position == pytest.approx(0.02)
    fcv.advance(45.0)
    assert fcv.shut_limit


def test_a_motor_valve_reports_in_steps_and_hides_its_play() -> None:
    fcv = MotorActuator(90.0, 0.5, backlash=0.02)
    fcv.command = 0.5333
    fcv.advance(90.0)
    assert fcv.feedback == pytest.approx(0.533)
    assert fcv.position == pytest.approx(0.5233)
    fcv.command = 0.52
    fcv.advance(90.0)
    assert fcv.position == pytest.approx(0.5233)


@given(st.floats(0.0, 1.0), st.sampled_from([30.0, 50.0]))
def test_a_valve_position_is_found_back_from_its_kv(position: float, rangeability: float) -> None:
    kv = valve.equal_percentage_kv(position, 30.4, rangeability)
    assert valve.equal_percentage_position(kv, 30.4, rangeability) == pytest.approx(position, abs=1e-9)


def test_the_equal_percentage_law_meets_its_straight_low_end() -> None:
    assert valve.equal_percentage_kv(0.05 - 1e-12, 1.0, 50.0) == pytest.approx(
        valve.equal_percentage_kv(0.05, 1.0, 50.0)
    )
    assert valve.equal_percentage_kv(0.0, 1.0, 50.0) == pytest.approx(0.0)


def test_a_drive_ramps_and_an_unpowered_pump_coasts_to_rest() -> None:
    assert pump.ramp_speed(0.5, 1.0, 1.0, 5.0, 2.0, driven=True) == pytest.approx(0.7)
    speed = 1.0
    for _ in range(40):
        speed = pump.ramp_speed(speed, 1.0, 0.1, 5.0, 2.0, driven=False)
    assert speed == pytest.approx(0.0)


def test_coolant_is_what_a_rack_needs() -> None:
    assert coolant.flow_per_kw_lpm(40.0, 10.0) == pytest.approx(1.493, abs=0.001)
    assert all(coolant.volumetric_heat_mj_m3k(t) == pytest.approx(4.015, rel=0.004) for t in (15.0, 30.0, 45.0, 65.0))


def test_a_room_is_moist_by_its_dew_point() -> None:
    assert thermal.dew_point_c(27.0, 100.0) == pytest.approx(27.0)
    assert thermal.dew_point_c(27.0, 45.0) < 15.0


def test_serial_silence_is_fixed_above_19200_baud() -> None:
    assert rtu.silence_s(19_200, 11) == pytest.approx(3.5 * 11 / 19_200)
    assert rtu.silence_s(38_400, 11) == pytest.approx(0.00175)


def test_a_slow_closure_surges_less_than_a_sudden_one() -> None:
    wave = pipe.wave_speed_m_s(2.3e9, 1010.0, 0.0548, 0.00277, 193e9)
    surges = [pipe.closure_surge_bar(1010.0, wave, 1.6, 25.0, t) for t in (0.001, 0.03, 0.1, 1.0, 5.0)]
    assert surges == sorted(surges, reverse=True)
    assert pipe.transit_s(10.0, 0.0) == math.inf


def test_noise_is_the_same_for_the_same_seed_and_name_and_centred() -> None:
    assert [Noise(1, "FT-101").uniform() for _ in range(3)] == [Noise(1, "FT-101").uniform()] * 3
    assert Noise(1, "FT-101").uniform() != Noise(1, "FT-102").uniform() != Noise(2, "FT-102").uniform()
    noise = Noise(7, "x")
    values = [noise.normal() for _ in range(4000)]
    assert abs(sum(values) / 4000) < 0.06
    assert sum(v * v for v in values) / 4000 == pytest.approx(1.0, abs=0.1)
