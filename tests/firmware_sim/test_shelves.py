"""The shelves and the room sensor alone: commands, outputs, supplies, charge, and what their registers say."""

import math

import pytest

from firmware_sim.parts.battery_shelf import BatteryShelf, BatteryTruth
from firmware_sim.parts.maps_power import PSU_AT, PSU_STRIDE
from firmware_sim.parts.power_shelf import SOFT_START_S, PowerShelf, ShelfTruth
from firmware_sim.parts.registers import Answer
from firmware_sim.parts.room import RoomSensor

SHARE_KW = 33.0


def in_service() -> PowerShelf:
    shelf = PowerShelf(rating_kw=40.0)
    shelf.begin()
    settle(shelf)
    return shelf


def settle(shelf: PowerShelf, seconds: float = 5.0, *, ac: bool = True) -> None:
    for n in range(round(seconds / 0.1)):
        shelf.drive(ac=ac, now_s=0.1 * n, dt_s=0.1)
        shelf.show(ShelfTruth(ac, SHARE_KW, 50.0, 27.0), 0.1 * n, 0.1)


def psu(shelf: PowerShelf, number: int, offset: int) -> int:
    return shelf.input.get_u16(PSU_AT + PSU_STRIDE * number + offset)


def kw(shelf: PowerShelf, number: int) -> float:
    return shelf.input.get_f32(PSU_AT + PSU_STRIDE * number)


def test_a_shelf_in_service_shows_its_output_and_six_equal_shares() -> None:
    shelf = in_service()
    assert shelf.input.get_u16(0) == 0b011
    assert shelf.input.get_f32(2) == pytest.approx(SHARE_KW, abs=0.3)
    assert (shelf.input.get_f32(4), shelf.input.get_f32(6)) == (50.0, 660.0)
    assert [kw(shelf, n) for n in range(6)] == [5.5] * 6
    assert [psu(shelf, n, 6) for n in range(6)] == [0] * 6
    assert psu(shelf, 0, 4) == 300  # 27 degC and 3 K
    assert psu(shelf, 0, 7) == 2400


def test_an_output_comes_on_after_its_soft_start_and_goes_off_at_once() -> None:
    shelf = PowerShelf()
    assert shelf.write_registers(0, [1], 0.0) == Answer.OK
    shelf.drive(ac=True, now_s=0.0, dt_s=SOFT_START_S - 0.02)
    assert not shelf.on
    shelf.drive(ac=True, now_s=0.5, dt_s=0.02)
    assert shelf.on
    assert shelf.capacity_kw == 33.0
    shelf.write_registers(0, [0], 1.0)
    shelf.drive(ac=True, now_s=1.0, dt_s=0.02)
    assert not shelf.on
    assert shelf.capacity_kw == 0.0


def test_without_ac_nothing_comes_on_and_a_standing_command_brings_it_back_with_ac() -> None:
    shelf = in_service()
    settle(shelf, 1.0, ac=False)
    assert not shelf.on
    assert shelf.input.get_u16(0) == 0
    assert [psu(shelf, n, 6) for n in range(6)] == [0b100] * 6
    assert [psu(shelf, n, 7) for n in range(6)] == [0] * 6
    settle(shelf, 1.0)
    assert shelf.on


@pytest.mark.parametrize(
    ("address", "values", "said"),
    [(0, [2], 3), (0, [1, 1], 2), (1, [1], 2), (900, [1], 2), (0x302, [0], 2)],
)
def test_a_wrong_command_is_refused_and_changes_nothing(address: int, values: list[int], said: int) -> None:
    for shelf in (PowerShelf(), BatteryShelf()):
        assert shelf.write_registers(address, values, 0.0) == said
        assert shelf.holding.get_u16(0) == 0
        assert not shelf.has_facts


def test_a_loss_of_its_24_v_forgets_the_command_and_silences_it_until_it_has_started() -> None:
    shelf = in_service()
    shelf.stop(10.0)
    shelf.drive(ac=True, now_s=10.0, dt_s=0.02)
    assert (shelf.on, shelf.answers) == (False, False)
    shelf.start(20.0)
    shelf.drive(ac=True, now_s=24.9, dt_s=0.02)
    assert not shelf.answers
    shelf.drive(ac=True, now_s=25.0, dt_s=0.02)
    assert (shelf.on, shelf.answers, shelf.holding.get_u16(0)) == (False, True, 0)


def test_a_broken_supply_leaves_its_share_to_the_others() -> None:
    shelf = in_service()
    shelf.supplies[2].broken = True
    settle(shelf)
    assert [kw(shelf, n) for n in range(6)] == pytest.approx([6.6, 6.6, 0.0, 6.6, 6.6, 6.6])
    assert psu(shelf, 2, 6) == 0b0001
    assert shelf.capacity_kw == pytest.approx(40.0 * 5 / 6)


def test_a_still_fan_is_told_at_once_and_its_supply_gets_hot_under_load() -> None:
    shelf = in_service()
    shelf.supplies[5].fan_share = 0.0
    settle(shelf, 0.1)
    assert (psu(shelf, 5, 5), psu(shelf, 5, 6)) == (0, 0b0010)
    settle(shelf, 200.0)
    assert psu(shelf, 5, 6) == 0b1010
    assert psu(shelf, 5, 4) > 550
    assert psu(shelf, 4, 4) == 300
    shelf.supplies[5].fan_share = 1.0
    settle(shelf, 200.0)
    assert psu(shelf, 5, 6) == 0


def test_a_broken_inlet_sensor_shows_the_sentinel() -> None:
    shelf = in_service()
    shelf.supplies[0].sensor_broken = True
    settle(shelf, 0.1)
    assert psu(shelf, 0, 4) == 0x8000


def test_a_stuck_output_obeys_no_command_in_either_direction() -> None:
    shelf = in_service()
    shelf.stuck_on = True
    shelf.write_registers(0, [0], 1.0)
    settle(shelf, 1.0)
    assert shelf.on
    shelf.stuck_on, shelf.stuck_off = False, True
    shelf.write_registers(0, [1], 1.0)
    settle(shelf, 1.0)
    assert not shelf.on


def test_loops_are_numbered_from_111_and_121_and_stamps_carry_the_tags() -> None:
    shelf, battery = PowerShelf(number=3), BatteryShelf(number=2)
    assert (shelf.loop, battery.loop) == (113, 122)
    assert list(shelf.channels) == ["JT-113"]
    shelf.write_registers(0, [1], 0.0)
    settle(shelf, 1.0)
    told = {what for what, _ in shelf.take_facts()}
    assert {"XS-113 command", "XI-113", "AC at 113"} <= told


def test_a_battery_takes_over_only_after_a_shelf_has_fed_the_bus_bar() -> None:
    battery = BatteryShelf()
    battery.write_registers(0, [1], 0.0)
    battery.drive(permit=True, shelves_feed=False, now_s=0.0)
    assert (battery.on, battery.can_feed) == (True, False)
    battery.drive(permit=True, shelves_feed=True, now_s=0.1)
    battery.drive(permit=True, shelves_feed=False, now_s=0.2)
    assert battery.can_feed
    battery.drive(permit=False, shelves_feed=False, now_s=0.3)
    assert (battery.on, battery.inhibited) == (False, True)
    battery.drive(permit=True, shelves_feed=False, now_s=0.4)
    assert (battery.on, battery.can_feed) == (True, False)


def test_a_battery_loses_what_it_feeds_and_goes_off_when_empty() -> None:
    battery = BatteryShelf(capacity_kwh=2.0)
    battery.begin()
    battery.move(120.0, 30.0)  # 1 kWh
    assert battery.charge_pct == pytest.approx(50.0)
    battery.move(120.0, 31.0)
    assert battery.charge_pct == 0.0
    battery.drive(permit=True, shelves_feed=False, now_s=61.0)
    battery.show(BatteryTruth(0.0, 0.0, 27.0), 61.0, 0.2)
    assert battery.input.get_u16(0) == 0b010000
    battery.move(-1.0, 36.0)
    assert battery.charge_pct == pytest.approx(0.5)


def test_a_battery_shows_what_it_feels() -> None:
    battery = BatteryShelf()
    battery.begin()
    battery.drive(permit=True, shelves_feed=True, now_s=0.0)
    battery.show(BatteryTruth(-1.5, 50.0, 20.0), 0.0, 0.2)
    assert battery.input.get_u16(0) == 0b000101
    assert (battery.input.get_f32(4), battery.input.get_f32(8)) == (-1.5, -30.0)
    battery.show(BatteryTruth(96.0, 48.0, 20.0), 1.0, 0.2)
    assert battery.input.get_u16(0) == 0b000011
    assert (battery.input.get_f32(2), battery.input.get_f32(8), battery.input.get_u16(10)) == (100.0, 2000.0, 270)


def test_the_room_sensor_follows_the_air_and_tells_the_door() -> None:
    room = RoomSensor()
    room.step(27.0, 45.0, 0.0, 0.0)
    assert room.input.get_f32(0) == pytest.approx(27.0, abs=0.2)
    assert room.input.get_f32(2) == pytest.approx(45.0, abs=0.6)
    room.door_open = True
    for second in range(60):
        room.step(33.0, 70.0, float(second), 1.0)
    assert room.input.get_f32(0) == pytest.approx(33.0, abs=0.2)
    assert room.input.get_f32(2) == pytest.approx(70.0, abs=0.6)
    assert room.input.get_u16(4) == 1
    assert [what for what, _ in room.take_facts()] == ["ZS-110"]
    assert math.isfinite(room.input.get_f32(0))
