"""Shelves, batteries and the room sensor in a rack: what the bus bar, the feeder and the load feel of them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from fieldkit.errors import ConfigError
from fieldkit.yamlfile import check, parse
from firmware_sim.bank import Bank
from firmware_sim.bench_config import demo_bench
from firmware_sim.bench_file import BenchFile, load_bench
from firmware_sim.fault_book import FaultRefusedError
from firmware_sim.faults import TABLE, Family
from firmware_sim.parts.battery_shelf import BatteryShelf
from firmware_sim.parts.orv3_mailbox import BOOT_MODE, BOOT_WORD, KEY, UNLOCK
from firmware_sim.parts.power_shelf import PowerShelf
from firmware_sim.plant_config import Start
from firmware_sim.power_rig import PowerRig, PowerSetting
from firmware_sim.snapshot import snapshot_of

FOREVER_S = 1e6
SIM = Path(__file__).parents[2] / "configs" / "sim"
POWER = PowerSetting(shelves_kw=(40.0,) * 4, batteries_kwh=(4.0,), room=True)


def bank(**changes: Any) -> Bank:
    config = demo_bench(1, attended_s=FOREVER_S)
    b = Bank(replace(config, racks=(replace(config.racks[0], power=POWER, **changes),)))
    b.advance(1.0)
    return b


def power(b: Bank) -> PowerRig:
    found = b.rigs["r01"].power
    assert found is not None
    return found


def shelf(b: Bank, number: int = 1) -> PowerShelf:
    return power(b).shelves[f"power_shelf_{number}"]


def battery(b: Bank) -> BatteryShelf:
    return power(b).batteries["battery_shelf_1"]


def true(b: Bank) -> dict[str, float]:
    return dict(snapshot_of(b)["racks"]["r01"]["true"])


def command(b: Bank, device: str, value: int) -> None:
    """Over the wire's own door, so that it is stamped too."""
    b.endpoints[f"r01/{device}"].serve(bytes((6, 0, 0, 0, value)), 1, 1)


def permit(b: Bank, value: int) -> None:
    b.rigs["r01"].valves.write_registers(8, [value], b.now_s)


def shelves_off(b: Bank) -> None:
    for number in range(1, 5):
        command(b, f"power_shelf_{number}", 0)


# -- the bus bar ------------------------------------------------------------------------------------------------------


def test_four_shelves_carry_the_rack_and_share_it() -> None:
    b = bank()
    assert true(b)["busbar_kw"] == 132.0
    assert true(b)["feeder_kw"] == pytest.approx(132.0 / 0.975, abs=1e-3)
    assert [b.channels("r01")[f"JT-11{n}"].shown for n in range(1, 5)] == pytest.approx([33.0] * 4, abs=0.3)
    assert shelf(b).input.get_u16(0) == 0b011


def test_a_rack_with_shelves_starts_as_one_without_and_its_temperatures_agree() -> None:
    plain, b = Bank(demo_bench(1, attended_s=FOREVER_S)), bank()
    plain.advance(1.0)
    keys = ("flow_supply_lpm", "t_return_c", "busbar_kw", "busbar_v", "feeder_kw")
    without = snapshot_of(plain)["racks"]["r01"]
    assert [true(b)[key] for key in keys] == [without["true"][key] for key in keys]
    assert "power" not in without


def test_a_shelf_that_is_switched_off_takes_its_share_of_the_load_with_it() -> None:
    b = bank()
    command(b, "power_shelf_4", 0)
    b.advance(0.5)
    assert true(b)["busbar_kw"] == 120.0
    assert shelf(b).input.get_u16(0) == 0b111  # at its limit
    command(b, "power_shelf_4", 1)
    b.advance(1.0)
    assert true(b)["busbar_kw"] == 132.0
    assert [(s.what, s.value) for s in b.stamps.find(what="XI-114")] == [("XI-114", 0.0), ("XI-114", 1.0)]


def test_a_lost_supply_is_borne_and_a_lost_shelf_is_felt() -> None:
    b = bank()
    b.book.add("psu_fault", rack="r01", tag="XA-111B")
    b.advance(0.5)
    assert true(b)["busbar_kw"] == 132.0
    b.book.add("ac_lost", rack="r01", device="power_shelf_2")
    b.advance(0.5)
    assert true(b)["busbar_kw"] == pytest.approx(40.0 * (2 + 5 / 6))


def test_the_battery_takes_the_rack_over_when_all_shelves_go_and_gives_it_back() -> None:
    b = bank()
    shelves_off(b)
    b.advance(2.0)
    assert (true(b)["busbar_kw"], true(b)["busbar_v"], true(b)["feeder_kw"]) == (132.0, 48.0, 0.0)
    assert battery(b).input.get_u16(0) == 0b000011
    assert battery(b).input.get_f32(4) == 132.0
    assert battery(b).charge_pct == pytest.approx(100.0 - 100.0 * 132.0 * 2.0 / 3600.0 / 4.0, abs=0.1)
    for number in range(1, 5):
        command(b, f"power_shelf_{number}", 1)
    b.advance(2.0)
    assert true(b)["busbar_v"] == 50.0
    assert battery(b).input.get_u16(0) == 0b000101
    assert true(b)["feeder_kw"] == pytest.approx((132.0 + 2.0) / 0.975, abs=1e-3)


def test_a_lost_feed_is_bridged_by_the_battery_until_the_24_v_are_gone_too() -> None:
    b = bank()
    b.book.add("power_loss", rack="r01")
    b.advance(5.0)
    assert true(b)["busbar_kw"] == 132.0
    assert b.channels("r01")["EV-101"].shown == pytest.approx(48.0, abs=0.1)
    assert [shelf(b).input.get_u16(14 + 8 * k) for k in range(6)] == [0b100] * 6
    b.advance(20.0)
    assert true(b)["busbar_kw"] == 0.0
    assert not any(b.endpoints[f"r01/{name}"].powered for name in ("power_shelf_1", "battery_shelf_1", "room"))
    b.book.clear()
    b.advance(10.0)
    assert b.endpoints["r01/power_shelf_1"].powered
    assert shelf(b).holding.get_u16(0) == 0


def test_an_empty_battery_lets_the_bus_bar_fall() -> None:
    b = bank()
    b.book.add("battery_empty", rack="r01", tag="QT-121", value=1.0)
    shelves_off(b)
    b.advance(1.0)
    assert true(b)["busbar_v"] == 48.0
    b.advance(4.0)
    assert true(b)["busbar_v"] < 10.0
    assert battery(b).input.get_u16(0) == 0b010000


def test_w6_a_withdrawn_permit_takes_feed_and_battery() -> None:
    b = bank()
    permit(b, 0)
    b.advance(1.0)
    assert true(b)["busbar_kw"] == pytest.approx(0.0, abs=0.01)
    assert true(b)["feeder_kw"] == 0.0
    assert battery(b).input.get_u16(0) == 0b001000
    assert shelf(b).input.get_u16(0) == 0
    permit(b, 1)
    b.advance(2.0)
    assert true(b)["busbar_kw"] == 132.0
    assert battery(b).input.get_u16(0) == 0b000001


def test_a_battery_that_w6_does_not_reach_keeps_the_rack_alive_until_its_output_is_switched_off() -> None:
    b = bank()
    b.book.add("battery_not_inhibited", rack="r01", device="battery_shelf_1")
    permit(b, 0)
    b.advance(2.0)
    assert (true(b)["busbar_kw"], true(b)["busbar_v"]) == (132.0, 48.0)
    command(b, "battery_shelf_1", 0)
    b.advance(4.0)
    assert true(b)["busbar_kw"] == 0.0
    assert true(b)["busbar_v"] < 10.0


def test_a_welded_contactor_under_a_stuck_shelf_is_what_only_the_shelf_could_have_cut() -> None:
    b = bank()
    b.book.add("contactor_welded", rack="r01")
    permit(b, 0)
    b.advance(1.0)
    assert true(b)["busbar_kw"] == 132.0
    b.book.add("shelf_stuck_on", rack="r01", tag="XS-111")
    shelves_off(b)
    b.advance(1.0)
    assert true(b)["busbar_kw"] == 40.0
    b.book.clear(kind="shelf_stuck_on")
    b.advance(1.0)
    assert true(b)["busbar_kw"] == pytest.approx(0.0, abs=0.01)


def test_a_shelf_is_silent_without_power_and_while_it_starts() -> None:
    b = bank()
    endpoint = b.endpoints["r01/power_shelf_1"]
    b.book.add("device_off", rack="r01", device="power_shelf_1", for_s=1.0)
    b.advance(0.5)
    assert not endpoint.powered
    assert not shelf(b).on
    b.advance(3.0)
    assert not endpoint.powered
    b.advance(3.0)
    assert endpoint.powered
    assert shelf(b).holding.get_u16(0) == 0


def test_the_reply_to_exit_is_the_last_before_the_start() -> None:
    b = bank(start=Start.DRAINED)
    endpoint = b.endpoints["r01/power_shelf_2"]
    device = shelf(b, 2)
    device.write_registers(UNLOCK, [KEY], b.now_s)
    device.write_registers(BOOT_MODE, [BOOT_WORD], b.now_s)
    b.advance(11.0)
    assert endpoint.powered
    assert endpoint.serve(bytes.fromhex("06 0304 55aa"), 1, 1).hex() == "06030455aa"
    assert not endpoint.powered
    b.advance(6.0)
    assert endpoint.powered


def test_an_update_cut_by_a_device_that_loses_its_power_boots_the_old_firmware() -> None:
    b = bank(start=Start.DRAINED)
    b.book.add("old_firmware", rack="r01", device="power_shelf_2")
    device = shelf(b, 2)
    assert device.write_registers(UNLOCK, [KEY], b.now_s) == 0
    assert device.write_registers(BOOT_MODE, [BOOT_WORD], b.now_s) == 0
    b.advance(3.0)
    assert device.mailbox.updating
    b.book.add("device_off", rack="r01", device="power_shelf_2", for_s=1.0)
    b.advance(8.0)
    assert device.mailbox.running == "1.0.0"
    assert b.endpoints["r01/power_shelf_2"].powered


# -- faults -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """While the fault lasts ``read`` gives ``value``; before, and after it has ended, it does not."""

    read: Callable[[Bank], float]
    value: float
    aim: dict[str, Any] = field(default_factory=dict)
    act: Callable[[Bank], None] = lambda b: None
    wait_s: float = 1.5
    heals: bool = True


R01 = {"rack": "r01"}
ONE = R01 | {"device": "power_shelf_1"}
BATTERY = R01 | {"device": "battery_shelf_1"}


def word(address: int) -> Callable[[Bank], float]:
    return lambda b: shelf(b).input.get_u16(address)


def shown(tag: str) -> Callable[[Bank], float]:
    return lambda b: round(b.channels("r01")[tag].shown)


def one_off(b: Bank) -> None:
    command(b, "power_shelf_1", 0)


def off_and_on(b: Bank) -> None:
    command(b, "power_shelf_1", 0)
    b.advance(0.1)
    command(b, "power_shelf_1", 1)


def permit_off(b: Bank) -> None:
    permit(b, 0)


def battery_word(b: Bank) -> float:
    return battery(b).input.get_u16(0)


# fmt: off
CASES: dict[str, list[Case]] = {
    "psu_fault":       [Case(word(14), 1, ONE), Case(word(54), 1, R01 | {"tag": "JT-111F"}), Case(word(22), 1, ONE | {"value": 2.0})],
    "psu_fan_bad":     [Case(word(14), 2, ONE), Case(word(29), 0, R01 | {"tag": "SA-111C"})],
    "psu_sensor":      [Case(word(12), 0x8000, ONE)],
    "ac_lost":         [Case(word(0), 0, ONE), Case(word(30), 4, R01 | {"tag": "EA-111C"})],
    "shelf_stuck_on":  [Case(lambda b: shelf(b).on and not shelf(b).commanded, 1, ONE, act=one_off)],
    "shelf_stuck_off": [Case(word(0), 0b010, ONE, act=off_and_on)],
    "old_firmware":    [Case(lambda b: shelf(b).input.read(908, 3) == b"1.0.0\0", 1, ONE)],
    "battery_empty":   [Case(shown("QT-121"), 40, BATTERY | {"value": 40.0}, heals=False)],
    "battery_fault":   [Case(battery_word, 0b100000, BATTERY)],
    "battery_not_inhibited": [Case(battery_word, 0b000011, BATTERY, act=permit_off)],
    "door_open":       [Case(lambda b: power(b).devices()["room"].input.get_u16(4), 1, R01)],
    "humid_room":      [Case(lambda b: shown("MT-110")(b) >= 79, 1, R01, wait_s=40.0)],
    "hot_room":        [Case(shown("TT-110"), 38, R01, wait_s=40.0), Case(word(12), 410, R01, wait_s=1.5)],
}
# fmt: on


def test_every_fault_of_shelves_and_room_has_a_case() -> None:
    assert set(CASES) == {kind.name for kind in TABLE if kind.family is Family.POWER}


@pytest.mark.parametrize(("kind", "case"), [(kind, case) for kind, cases in CASES.items() for case in cases])
def test_a_fault_changes_what_it_should_and_only_while_it_lasts(kind: str, case: Case) -> None:
    b = bank()
    assert case.read(b) != case.value
    fault = b.book.add(kind, **case.aim)
    case.act(b)
    b.advance(case.wait_s)
    assert case.read(b) == case.value
    b.book.clear(ident=fault.id)
    b.advance(case.wait_s)
    assert (case.read(b) != case.value) is case.heals


@pytest.mark.parametrize(
    ("kind", "aim", "told"),
    [
        ("psu_fault", {"device": "room"}, "power_shelf_1, power_shelf_2"),
        ("psu_fault", {"device": "power_shelf_1", "value": 7.0}, "one of 1 to 6"),
        ("psu_fault", {"device": "power_shelf_1", "value": 1.5}, "one of 1 to 6"),
        ("psu_fault", {"device": "power_shelf_1", "value": 0.0}, "one of 1 to 6"),
        ("ac_lost", {"device": "battery_shelf_1"}, "power_shelf_4"),
        ("battery_fault", {"device": "power_shelf_1"}, "one of battery_shelf_1"),
        ("shelf_stuck_on", {"tag": "XS-115"}, "battery_shelf_1"),
        ("swapped_sensors", {"value": 3.0}, "one of 0"),
        ("wrong_serial", {"device": "toaster"}, "power_shelf_1"),
        ("door_open", {"rack": "r02"}, "one of r01"),
    ],
)
def test_a_wrong_aim_is_told_with_the_right_ones(kind: str, aim: dict[str, Any], told: str) -> None:
    with pytest.raises(FaultRefusedError, match=told):
        bank().book.add(kind, **R01 | aim)


@pytest.mark.parametrize("kind", ["psu_fault", "battery_fault", "shelf_stuck_on", "door_open"])
def test_a_rack_without_such_devices_says_so(kind: str) -> None:
    with pytest.raises(FaultRefusedError, match=r"none in this rack|no rack of this bench"):
        Bank(demo_bench(1)).book.add(kind, rack="r01")


def test_a_sensor_fault_and_a_wire_fault_find_a_shelf_by_its_tag() -> None:
    b = bank()
    b.book.add("stuck", rack="r01", tag="JT-112", value=1.0)
    b.book.add("no_reply", rack="r01", tag="EA-113B")
    b.book.add("garbage", rack="r01", tag="MT-110")
    b.advance(1.0)
    assert b.channels("r01")["JT-112"].shown == 1.0
    assert [name for name, endpoint in b.endpoints.items() if endpoint.faults] == ["r01/power_shelf_3", "r01/room"]


# -- the bench --------------------------------------------------------------------------------------------------------


def test_the_new_rack_stands_dry_shut_dark_and_one_firmware_behind() -> None:
    b = Bank(load_bench(SIM / "new_rack.yaml"))
    b.advance(1.0)
    rig = b.rigs["r05"]
    assert rig.plant.inventory_l == 0.0
    assert rig.valves.input.get_u16(0) == 0b111010
    assert rig.power is not None
    assert {one.mailbox.running for one in rig.power.all_shelves().values()} == {"1.0.0"}
    assert not any(one.on or one.commanded for one in rig.power.all_shelves().values())
    others = [one for name in ("r01", "r04") for one in (b.rigs[name].power or rig.power).all_shelves().values()]
    assert {(one.mailbox.running, one.on) for one in others} == {("1.1.0", True)}


def test_every_defect_that_the_new_racks_file_offers_can_be_delivered() -> None:
    text = (SIM / "new_rack.yaml").read_text(encoding="utf-8")
    offered = text.replace("faults: []", "faults:").replace("    #  - {", "      - {")
    b = Bank(check(parse(offered.encode(), "bench.yaml"), BenchFile).config())
    kinds = [fault.kind.name for fault in b.book.faults]
    assert kinds == ["weak_hose", "strainer_blocked", "swapped_sensors", "short_travel", "gain", "psu_fan_bad", "wrong_serial"]  # fmt: skip
    assert all(fault.active and fault.rack == "r05" for fault in b.book.faults)
    b.advance(1.0)
    assert b.rigs["r05"].plant.strainer_blockage == 0.15


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("power: {shelves_kw: [0]}", "each above 0 to 200"),
        ("power: {shelves_kw: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}", "at most 9"),
        ("power: {batteries_kwh: [4]}", "battery shelves need power shelves"),
        ("power: {firmware: 1.0.0-beta1}", "firmware"),
        ("faults: [{kind: weak_hoses}]", "no fault 'weak_hoses'"),
        ("faults: [{kind: leak, size: 3}]", "size"),
    ],
)
def test_a_rack_that_cannot_be_is_refused_with_its_line(line: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        check(parse(f"racks:\n  - name: r01\n    {line}\n".encode(), "bench.yaml"), BenchFile)


def test_a_delivered_fault_without_its_aim_ends_the_start_and_names_the_rack() -> None:
    text = b"racks:\n  - name: r01\n    faults: [{kind: short_travel, tag: FT-101}]\n"
    with pytest.raises(ValueError, match=r"rack r01: short_travel: tag is 'FT-101'; one of XV-101"):
        Bank(check(parse(text, "bench.yaml"), BenchFile).config())


def test_the_usual_power_bears_a_lost_supply_at_the_rating_of_every_demo_rack() -> None:
    for setting in demo_bench(4, power=True).racks:
        assert setting.power is not None
        rating_kw = sum(setting.power.shelves_kw)
        assert rating_kw - setting.power.shelves_kw[0] / 6 >= setting.rated_kw
        assert rating_kw - setting.power.shelves_kw[0] < setting.rated_kw


def test_a_weak_hose_leaks_under_pressure_and_lets_a_shut_rack_down_to_its_own_limit() -> None:
    b = bank()
    b.book.add("weak_hose", rack="r01")
    b.advance(1.0)
    plant = b.rigs["r01"].plant
    assert plant.leak_lpm == pytest.approx(0.055, abs=0.01)
    b.rigs["r01"].valves.write_registers(0, [0, 0, 0, 0], b.now_s)
    b.advance(6.0)
    shut_kpa = plant.p_return_kpa
    b.advance(25.0)
    assert shut_kpa - plant.p_return_kpa > 15.0
    b.advance(25.0)
    assert 119.0 < plant.p_return_kpa < 130.0
