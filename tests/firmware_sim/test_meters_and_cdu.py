"""The meters and the CDU's controller."""

import math
import struct
from dataclasses import replace

import pytest

from firmware_sim.parts.cdu import CduController, CduMode, CduTruth
from firmware_sim.parts.meters import BusbarMeter, FeederMeter
from firmware_sim.parts.registers import Answer


def truth(level_pct: float = 80.0, makeup_lpm: float = 0.0, *, trip: bool = False, leak: bool = False) -> CduTruth:
    return CduTruth(
        (370.0, 150.0, 1078.0, 40.0, 49.7, level_pct),
        (85.0, 84.0),
        7.8,
        makeup_lpm,
        trip,
        leak,
        CduMode.CONSTANT_DP,
    )


def words(value: float) -> list[int]:
    return list(struct.unpack(">HH", struct.pack(">f", value)))


def test_the_bus_bar_meter_shows_volts_kilowatts_and_amperes() -> None:
    meter = BusbarMeter()
    meter.step(50.0, 132.0, 0.0, 0.0)
    assert meter.input.get_f32(0) == pytest.approx(50.0, abs=0.1)
    assert meter.input.get_f32(2) == pytest.approx(132.0, rel=0.01)
    assert meter.input.get_f32(4) == pytest.approx(2640.0, rel=0.01)


def test_a_dead_bus_bar_has_no_current() -> None:
    meter = BusbarMeter()
    meter.step(0.0, 0.0, 0.0, 0.0)
    assert meter.input.get_f32(4) == 0


def test_the_feeder_meter_updates_once_a_second_at_its_odd_addresses() -> None:
    meter = FeederMeter()
    meter.step(135.0, True, 0.0, 0.0)
    assert meter.holding.get_f32(3059) == pytest.approx(135.0, rel=0.01)
    meter.step(50.0, True, 0.5, 0.5)
    assert meter.holding.get_f32(3059) == pytest.approx(135.0, rel=0.01)
    meter.step(50.0, True, 1.0, 0.5)
    assert meter.holding.get_f32(3059) == pytest.approx(50.0, rel=0.01)
    assert meter.holding.get_f32(3019) == pytest.approx(415.0)


def test_without_mains_the_frequency_is_not_available() -> None:
    meter = FeederMeter()
    meter.step(0.0, False, 0.0, 0.0)
    assert math.isnan(meter.holding.get_f32(3109))
    assert meter.write_registers(3059, [0, 0], 0.0) is Answer.ILLEGAL_ADDRESS


@pytest.mark.parametrize(
    ("seen", "bits"),
    [
        (truth(), 0b0000),
        (truth(trip=True), 0b0001),
        (truth(level_pct=10.0), 0b0010),
        (truth(leak=True), 0b0100),
        (truth(makeup_lpm=3.0), 0b1000),
    ],
)
def test_the_cdu_shows_its_status_bit_by_bit(seen: CduTruth, bits: int) -> None:
    cdu = CduController()
    cdu.step(seen, 0.0, 0.0)
    assert cdu.input.get_u16(22) == bits
    assert cdu.input.get_u16(23) == 1
    assert cdu.input.get_f32(12) == pytest.approx(85.0)


def test_set_points_are_taken_as_whole_values_within_their_bounds() -> None:
    cdu = CduController()
    cdu.show_set_points(CduMode.CONSTANT_DP, 200.0, 1000.0, 85.0)
    assert cdu.write_registers(2, words(150.0) + words(900.0), 0.0) is Answer.OK
    assert cdu.write_registers(0, [2], 0.0) is Answer.OK
    assert cdu.take_request()
    assert not cdu.take_request()
    assert cdu.set_points() == (CduMode.CONSTANT_FLOW, 150.0, 900.0, 85.0)


def test_the_supply_temperature_has_a_set_point_of_its_own() -> None:
    cdu = CduController()
    cdu.show_supply(40.0)
    assert cdu.write_registers(8, words(21.5), 0.0) is Answer.OK
    assert cdu.take_request()
    assert cdu.supply_c == pytest.approx(21.5)


@pytest.mark.parametrize(
    ("address", "values", "said"),
    [
        (0, [3], Answer.ILLEGAL_VALUE),
        (0, [1, 0], Answer.ILLEGAL_VALUE),
        (1, [2], Answer.ILLEGAL_VALUE),
        (2, [0], Answer.ILLEGAL_VALUE),
        (3, [0, 0], Answer.ILLEGAL_VALUE),
        (2, words(math.nan), Answer.ILLEGAL_VALUE),
        (2, words(10_000.0), Answer.ILLEGAL_VALUE),
        (2, words(150.0) + words(-1.0), Answer.ILLEGAL_VALUE),
        (6, [*words(50.0), 0, 0], Answer.ILLEGAL_VALUE),
        (8, words(60.5), Answer.ILLEGAL_VALUE),
        (8, [*words(50.0), 0, 0], Answer.ILLEGAL_ADDRESS),
    ],
)
def test_a_bad_set_point_changes_nothing(address: int, values: list[int], said: Answer) -> None:
    cdu = CduController()
    cdu.show_set_points(CduMode.CONSTANT_DP, 200.0, 1000.0, 85.0)
    before = bytes(cdu.holding.data)
    assert cdu.write_registers(address, values, 0.0) is said
    assert bytes(cdu.holding.data) == before
    assert not cdu.take_request()


@pytest.mark.parametrize(
    ("sump_pct", "register"), [(None, 0xFFFF), (0.0, 0), (45.678, 4568), (100.0, 10_000), (130.0, 10_000)]
)
def test_the_cdu_shows_the_level_of_its_drain_sump(sump_pct: float | None, register: int) -> None:
    cdu = CduController()
    cdu.step(replace(truth(), sump_pct=sump_pct), 0.1, 0.1)
    assert cdu.input.get_u16(25) == register
