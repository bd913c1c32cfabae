"""The virtual sensors on the simulated rack: its hydraulics, its heat, its transmitters with their lags and noise."""

import pytest

from firmware_sim.demo_plant import demo_config
from firmware_sim.parts.channel import Channel, SensorFault
from firmware_sim.parts.noise import Noise, seed_of
from firmware_sim.parts.transmitters import CHANNELS
from firmware_sim.physics.coolant import density_kg_m3
from firmware_sim.plant import Plant
from valvey.core.virtual_sensors import Seen, VirtualSensors, conditions, observe

STEP_S = 0.5


class Bench:
    """One of two racks under full load, read every half second."""

    def __init__(self) -> None:
        self.plant = Plant(demo_config(2), seed=3)
        self.rack = self.plant.racks["r01"]
        self.channels = {spec.tag: Channel(spec, Noise(seed_of(3, spec.tag))) for spec in CHANNELS}
        self.state = VirtualSensors()

    def run(self, for_s: float) -> None:
        for _ in range(round(for_s / STEP_S)):
            self.plant.advance(STEP_S)
            self.state = observe(self.state, self.read(), STEP_S)

    def seconds_to(self, name: str, most_s: float) -> float:
        start_s = self.plant.now_s
        while self.plant.now_s - start_s < most_s:
            self.run(STEP_S)
            if name in conditions(self.state):
                return self.plant.now_s - start_s
        return float("inf")

    def read(self) -> Seen:
        rack = self.rack
        # The meter in the return stands in warm liquid, which takes more room.
        out_lpm = rack.flow_return_lpm * density_kg_m3(rack.t_supply_c) / density_kg_m3(rack.t_return_c)
        true = (rack.flow_supply_lpm, out_lpm, 0.0, rack.t_supply_c, *(rack.t_return_c,) * 3, rack.p_supply_kpa, rack.p_return_kpa)  # fmt: skip
        for channel, value in zip(self.channels.values(), true, strict=True):
            channel.step(value, self.plant.now_s, STEP_S)
        shown = {tag: channel.shown for tag, channel in self.channels.items()}
        position_pct = 100.0 * rack.fcv.feedback
        return Seen(
            rating_kw=132.0,
            nominal_lpm=198.0,
            valves_open=rack.xv_101.open_limit and rack.xv_102.open_limit,
            shut_101=rack.xv_101.shut_limit,
            shut_102=rack.xv_102.shut_limit,
            supply_lpm=shown["FT-101"],
            return_lpm=shown["FT-102"],
            supply_c=shown["TT-101"],
            returns_c=(shown["TT-102A"], shown["TT-102B"], shown["TT-102C"]),
            supply_kpa=shown["PT-101"],
            return_kpa=shown["PT-102"],
            load_kw=rack.busbar_kw,
            level_pct=self.plant.cdu.level_pct,
            dew_c=14.0,
            values={**shown, "ET-101": rack.busbar_kw, "JT-101": rack.feeder_kw, "ZT-101": position_pct},
        )


@pytest.fixture(scope="module")
def warm() -> Bench:
    """A quarter of an hour in service."""
    bench = Bench()
    bench.run(900.0)
    return bench


def test_load_steps_and_valve_moves_raise_nothing_and_a_small_leak_after_them_is_found(warm: Bench) -> None:
    assert conditions(warm.state) == ()
    for load_kw, position_pct in ((40.0, 60.0), (132.0, 75.0), (90.0, 65.0)):
        warm.rack.load_kw = load_kw
        warm.rack.fcv_command_pct = position_pct
        for _ in range(240):
            warm.run(STEP_S)
            assert conditions(warm.state) == ()
    warm.rack.leak_mm = {"tray": 1.9}
    found_s = warm.seconds_to("mass-balance", 60.0)
    assert 1.8 < warm.rack.leak_lpm < 2.2
    assert found_s <= 20.0
    warm.rack.leak_mm = {}
    warm.run(60.0)
    assert conditions(warm.state) == ()


@pytest.mark.parametrize("place", ["tray", "manifold", "return_manifold"])
def test_a_burst_is_found_in_seconds_wherever_it_is_and_its_symptoms_are_there(warm: Bench, place: str) -> None:
    warm.rack.leak_mm = {place: 7.0}
    found_s = warm.seconds_to("mass-balance", 30.0)
    motion = warm.state.motion
    warm.rack.leak_mm = {}
    warm.run(200.0)
    assert found_s <= 7.0
    assert motion.changing_lpm(0.0, 0.0) is not None
    assert motion.kpa_falling or motion.level_falling


def test_a_sensor_that_drifts_off_is_dropped_and_the_others_go_on(warm: Bench) -> None:
    warm.channels["TT-102B"].set_fault(SensorFault.BIAS, 3.0)
    warm.run(40.0)
    told = conditions(warm.state)
    warm.channels["TT-102B"].clear_fault(SensorFault.BIAS)
    warm.run(90.0)
    assert told == ("off-tt-102b",)
    assert conditions(warm.state) == ()


def test_a_frozen_copy_is_seen_once_the_load_steps(warm: Bench) -> None:
    warm.channels["TT-102A"].set_fault(SensorFault.STUCK, None)
    warm.run(300.0)
    before = conditions(warm.state)
    warm.rack.load_kw = 30.0
    warm.run(130.0)
    assert before == ()
    assert "stuck-tt-102a" in conditions(warm.state)
