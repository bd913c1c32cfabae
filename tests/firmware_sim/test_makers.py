"""Makers' devices: their quirks, their faults, and that the plant is felt and moved by them."""

import json
import struct
from collections.abc import Callable
from dataclasses import replace

import pytest

from firmware_sim.bank import Bank
from firmware_sim.bench_config import demo_bench
from firmware_sim.fault_book import FaultRefusedError
from firmware_sim.parts.makers.catalogue import MAKERS, MAKERS_MAPS
from firmware_sim.parts.makers.device import DeviceFault, MakersDevice
from firmware_sim.parts.makers.inputs_outputs import RelayBoard
from firmware_sim.parts.makers.rle import SeaHawk10K
from firmware_sim.parts.makers.surroundings import Surroundings
from firmware_sim.parts.pdu import answer
from firmware_sim.parts.registers import DeviceMap, Table

SERVICE = Surroundings()
DEVICES = sorted(MAKERS)


def made(name: str, seen: Surroundings = SERVICE) -> MakersDevice:
    device = MAKERS[name]("T-1")
    device.show(seen, 1.0, 0.0)
    return device


def ask(device: MakersDevice, request: str, now_s: float = 1.0) -> str:
    return answer(device, bytes.fromhex(request.replace(" ", "")), now_s).hex(" ")


def bank(*names: str) -> Bank:
    config = demo_bench(1)
    return Bank(replace(config, racks=(replace(config.racks[0], also=names),)))


@pytest.mark.parametrize("device_map", MAKERS_MAPS.values(), ids=lambda m: m.device)
@pytest.mark.parametrize("table", list(Table))
def test_no_two_rows_share_a_register_and_each_has_a_name_of_its_own(device_map: DeviceMap, table: Table) -> None:
    taken = [row.address + word for row in device_map.table(table) for word in range(row.words)]
    assert len(taken) == len(set(taken))
    assert len({row.name for row in device_map.rows}) == len(device_map.rows)
    assert json.loads(json.dumps(device_map.document()))["functions"]


@pytest.mark.parametrize("name", DEVICES)
def test_a_function_that_the_device_has_not_is_refused(name: str) -> None:
    device = made(name)
    for function in {1, 2, 3, 4, 5, 6, 15, 16, 0x2B} - device.map.functions:
        assert ask(device, f"{function:02X} 0000 0001") == f"{function | 0x80:02x} 01"


@pytest.mark.parametrize("name", DEVICES)
def test_every_value_that_is_written_within_its_bounds_is_read_back_unless_it_clears_itself(name: str) -> None:
    device = made(name)
    if not {6, 16} & device.map.functions:
        return
    for row in device.map.table(Table.HOLDING):
        if row.writable and row.words == 1:
            value = row.high if row.high is not None else 1
            assert device.write_registers(row.address, (value,), 2.0) == 0
            assert device.holding.get_u16(row.address) == (0 if row.clears else value)
            if row.high is not None and row.high < 0xFFFF:
                assert device.write_registers(row.address, (row.high + 1,), 2.0) == 3
        elif not row.writable:
            assert device.write_registers(row.address, (0,) * row.words, 2.0) == 2


# -- faults: what a device shows with one, and that it is well again after it -------------------------------------------


def words(address: int, count: int = 1, table: str = "03") -> Callable[[MakersDevice], str]:
    return lambda device: ask(device, f"{table} {address:04X} {count:04X}", 100.0)[6:]


LEAK_WAIT_S = 20.0
# fmt: off
CASES: list[tuple[str, DeviceFault, float, Callable[[MakersDevice], str], str]] = [
    ("belimo-energy-valve-v4", DeviceFault.NOT_AVAILABLE, 1, words(19), "ff ff"),
    ("belimo-energy-valve-v4", DeviceFault.NOT_AVAILABLE, 1, words(27, 2), "ff ff ff ff"),
    ("belimo-energy-valve-v4", DeviceFault.SENSOR, 1, words(157), "01 00"),
    ("belimo-energy-valve-v4", DeviceFault.SENSOR, 2, words(21), "ff ff"),
    ("belimo-energy-valve-v4", DeviceFault.FLOW_SENSOR, 1, words(157), "04 80"),
    ("belimo-energy-valve-v4", DeviceFault.BLOCKED, 1, words(157), "00 04"),
    ("belimo-energy-valve-v4", DeviceFault.ALL_ONES, 1, words(3), "ff ff"),
    ("danfoss-novocon-m", DeviceFault.NOT_AVAILABLE, 1, words(0x860E, 2), "7f c0 00 00"),
    ("danfoss-novocon-m", DeviceFault.SENSOR, 1, words(0x8300), "00 01"),
    ("danfoss-novocon-m", DeviceFault.BLOCKED, 1, words(0x8301), "00 02"),
    ("danfoss-novocon-m", DeviceFault.ALL_ONES, 1, words(0x8160), "ff ff"),
    ("rle-seahawk-ld2100", DeviceFault.LEAK, 1, words(0, 3, "04"), "00 09 00 07 00 00"),
    ("rle-seahawk-ld2100", DeviceFault.CABLE_BREAK, 1, words(0, 4, "04"), "00 0a 00 00 00 00 00 00"),
    ("rle-seahawk-ld2100", DeviceFault.CONTAMINATION, 1, words(3, 1, "04"), "00 28"),
    ("rle-seahawk-ld2100", DeviceFault.ALL_ONES, 1, words(0, 1, "04"), "ff ff"),
    ("rle-seahawk-10k", DeviceFault.LEAK, 1, words(1, 1, "04"), "00 46"),
    ("rle-seahawk-10k", DeviceFault.LEAK, 1, words(8000, 2, "04"), "00 00 40 e0"),
    ("rle-ldra6", DeviceFault.LEAK, 6, words(0, 1, "04"), "00 20"),
    ("rle-ldra6", DeviceFault.CABLE_BREAK, 2, words(0, 1, "04"), "02 00"),
    ("rle-ldra6", DeviceFault.CONTAMINATION, 4, words(4, 1, "04"), "00 28"),
    ("delta-orv3-rpu", DeviceFault.SENSOR, 1, words(0x9200), "00 01"),
    ("delta-orv3-rpu", DeviceFault.SENSOR, 2, words(0x9001), "00 00"),
    ("delta-orv3-rpu", DeviceFault.FLOW_SENSOR, 1, words(0x9200), "00 10"),
    ("delta-orv3-rpu", DeviceFault.BLOCKED, 2, words(0x900A, 2), "12 c0 00 00"),
    ("delta-orv3-rpu", DeviceFault.LEAK, 1, words(0x9202), "00 10"),
    ("delta-orv3-rpu", DeviceFault.CABLE_BREAK, 1, words(0x9202), "10 00"),
    ("delta-orv3-rpu", DeviceFault.SATURATED, 1, words(0x9005), "ff ff"),
    ("orv3-psu", DeviceFault.SENSOR, 1, words(63), "00 02"),
    ("orv3-psu", DeviceFault.BLOCKED, 1, words(60), "08 00"),
    ("orv3-psu", DeviceFault.INPUT_LOST, 1, words(61), "01 01"),
    ("orv3-psu", DeviceFault.SATURATED, 1, words(82), "ff ff"),
    ("orv3-hpr-psu", DeviceFault.INPUT_LOST, 1, words(65), "00 00"),
    ("delta-power-shelf", DeviceFault.INPUT_LOST, 2, words(0x111), "00 00"),
    ("delta-pmm", DeviceFault.INPUT_LOST, 3, words(0x5D), "00 04"),
    ("delta-pmm", DeviceFault.SENSOR, 1, words(0x59), "04 00"),
    ("raritan-xerus-pdu", DeviceFault.NOT_AVAILABLE, 1, words(0x3012, 2), "7f c0 00 00"),
    ("raritan-xerus-pdu", DeviceFault.INPUT_LOST, 1, words(0x3008, 2), "00 00 00 00"),
    ("schneider-pm5560", DeviceFault.INPUT_LOST, 1, words(3109, 2), "7f c0 00 00"),
    ("schneider-pm5560", DeviceFault.NOT_AVAILABLE, 1, words(3059, 2), "7f c0 00 00"),
    ("moxa-iologik-e1242", DeviceFault.LOOP_OPEN, 2, words(0x240, 4, "04"), "00 00 00 01 00 00 00 00"),
    ("moxa-iologik-e1242", DeviceFault.LOOP_FAILED, 3, words(0x240, 4, "04"), "00 00 00 00 00 02 00 00"),
    ("current-loops-8ch", DeviceFault.LOOP_OPEN, 8, words(7, 1, "04"), "00 00"),
    ("current-loops-8ch", DeviceFault.LOOP_FAILED, 1, words(0, 1, "04"), "53 fc"),
]
# fmt: on


@pytest.mark.parametrize(("name", "fault", "number", "read", "shown"), CASES)
def test_a_fault_of_a_device_shows_and_passes(
    name: str, fault: DeviceFault, number: float, read: Callable[[MakersDevice], str], shown: str
) -> None:
    device = made(name)
    well = read(device)
    assert well != shown
    device.set_fault(fault, number)
    for second in range(int(LEAK_WAIT_S)):
        device.show(SERVICE, 2.0 + second, 1.0)
    assert read(device) == shown
    device.clear_fault(fault)
    device.show(SERVICE, 50.0, 1.0)
    assert read(device) == well


def test_every_fault_that_a_device_can_have_is_tried_on_one() -> None:
    tried = {fault for _, fault, *_ in CASES} | {DeviceFault.WORN}
    assert tried == set(DeviceFault) == set().union(*(made(name).supports for name in DEVICES))


@pytest.mark.parametrize("name", [name for name in DEVICES if DeviceFault.WORN in made(name).supports])
def test_worn_memory_fails_the_write_and_leaves_the_others(name: str) -> None:
    device = made(name)
    device.set_fault(DeviceFault.WORN, 1.0)
    row = next(row for row in device.map.table(Table.HOLDING) if row.persistent)
    value = (row.low or 1,) * row.words
    assert device.write_registers(row.address, value, 1.0) == 4
    assert device.persistent_writes == 0
    device.clear_fault(DeviceFault.WORN)
    assert device.write_registers(row.address, value, 1.0) == 0
    assert device.persistent_writes == 1


# -- quirks ---------------------------------------------------------------------------------------------------------------


def test_the_energy_valve_reads_65535_where_it_has_nothing_and_has_an_end() -> None:
    valve = made("belimo-energy-valve-v4")
    assert ask(valve, "03 0009 0002") == "03 04 ff ff ff ff"
    assert ask(valve, "04 0003 0001") == ask(valve, "03 0003 0001").replace("03 02", "04 02", 1)
    assert ask(valve, "03 00A7 0002") == "83 02"
    assert ask(valve, "02 0680 0010") == "02 02 00 00"
    assert ask(valve, "02 0000 0010") == "82 02"


def test_the_energy_valves_watchdog_is_off_until_an_action_is_set_and_only_two_writes_re_arm_it() -> None:
    valve = made("belimo-energy-valve-v4")
    ask(valve, "10 0000 0001 02 0BB8", 0.0)
    valve.show(SERVICE, 1000.0, 1.0)
    assert valve.fcv_command_pct == 30.0
    ask(valve, "10 006C 0001 02 0002", 1000.0)
    ask(valve, "10 0000 0001 02 0BB8", 1000.0)
    ask(valve, "03 0000 0009", 1119.0)
    ask(valve, "10 0002 0001 02 0003", 1119.0)
    valve.show(SERVICE, 1119.9, 1.0)
    assert valve.fcv_command_pct == 30.0
    valve.show(SERVICE, 1120.0, 1.0)
    assert valve.fcv_command_pct == 0.0
    assert ask(valve, "03 009D 0001") == "03 02 80 00"
    ask(valve, "10 0001 0001 02 0000", 1130.0)
    valve.show(SERVICE, 1130.1, 1.0)
    assert valve.fcv_command_pct == 30.0
    valve.start(1200.0)
    assert valve.fcv_command_pct is None


def test_the_energy_valves_override_goes_before_its_set_point() -> None:
    valve = made("belimo-energy-valve-v4")
    for override, wanted in ((1, 100.0), (2, 0.0), (4, 50.0), (0, 30.0)):
        ask(valve, f"10 0000 0002 04 0BB8 {override:04X}")
        assert valve.fcv_command_pct == wanted


def test_a_blocked_energy_valve_stays_where_it_is() -> None:
    valve = made("belimo-energy-valve-v4")
    ask(valve, "10 0000 0001 02 0BB8")
    valve.set_fault(DeviceFault.BLOCKED, 1.0)
    assert valve.fcv_command_pct == SERVICE.fcv_open_pct


def test_half_a_wide_value_cannot_be_written() -> None:
    actuator = made("danfoss-novocon-m")
    assert ask(actuator, "06 801E 463B") == "86 03"
    assert ask(actuator, "10 801E 0002 04 463B8000") == "10 80 1e 00 02"
    assert actuator.value("design flow") == 12_000.0


def test_a_leak_is_told_after_the_panels_delay_and_stays_when_latching_is_on() -> None:
    panel = made("rle-seahawk-ld2100")
    ask(panel, "06 000F 0005")
    ask(panel, "06 0003 0001")
    wet = replace(SERVICE, wet={"LDT-102": True})
    panel.show(wet, 5.0, 4.9)
    assert ask(panel, "04 0000 0001") == "04 02 00 00"
    panel.show(wet, 6.0, 0.2)
    panel.show(SERVICE, 7.0, 1.0)
    assert ask(panel, "04 0000 0001") == "04 02 00 09"
    assert ask(panel, "06 0005 0001") == "06 00 05 00 01"
    assert ask(panel, "03 0005 0001") == "03 02 00 00"
    panel.show(SERVICE, 8.0, 1.0)
    assert ask(panel, "04 0000 0001") == "04 02 00 00"


def test_a_leak_panel_in_feet_says_so() -> None:
    panel = SeaHawk10K()
    panel.metric = False
    panel.set_fault(DeviceFault.LEAK, 1.0)
    panel.show(SERVICE, 60.0, 60.0)
    assert ask(panel, "04 0001 0004") == "04 08 00 17 00 01 00 b4 00 62"


def test_a_relay_pulse_ends_by_itself_and_a_command_ends_it() -> None:
    board = RelayBoard()
    assert ask(board, "05 0202 001E", 10.0) == "05 02 02 00 1e"
    assert ask(board, "01 0000 0008", 12.9) == "01 01 04"
    assert ask(board, "01 0000 0008", 13.0) == "01 01 00"
    ask(board, "05 0202 001E", 20.0)
    ask(board, "05 0202 001E", 22.0)
    assert ask(board, "01 0000 0008", 24.9) == "01 01 04"
    ask(board, "05 0002 FF00", 24.9)
    assert ask(board, "01 0000 0008", 1000.0) == "01 01 04"
    ask(board, "05 0400 000A", 1000.0)
    assert ask(board, "01 0000 0008", 1001.0) == "01 01 05"


def test_relays_toggle_one_or_all_and_hold_for_ever_unless_welded() -> None:
    board = RelayBoard()
    ask(board, "05 0000 5500")
    ask(board, "05 00FF 5500")
    assert ask(board, "01 0000 0008", 1e6) == "01 01 fe"
    board.set_fault(DeviceFault.BLOCKED, 8.0)
    ask(board, "05 00FF 0000")
    assert ask(board, "01 0000 0008") == "01 01 80"
    board.clear_fault(DeviceFault.BLOCKED)
    ask(board, "0F 0000 0008 01 03")
    assert ask(board, "01 0000 0008") == "01 01 03"
    assert ask(board, "05 0000 1234") == "85 03"
    assert ask(board, "0F 0004 0008 01 00") == "8f 02"
    board.start(5.0)
    assert ask(board, "01 0000 0008") == "01 01 00"


def test_coils_and_the_word_of_all_outputs_are_the_same() -> None:
    io = made("moxa-iologik-e1242")
    ask(io, "05 0002 FF00")
    assert ask(io, "03 0020 0001") == "03 02 00 04"
    ask(io, "06 0020 0009")
    assert ask(io, "01 0000 0004") == "01 01 09"
    assert ask(io, "05 1010 FF00") == "85 02"
    assert ask(io, "01 0004 0001") == "81 02"


def test_a_maker_without_faults_says_what_it_can_have() -> None:
    b = bank("rle-ldra6")
    with pytest.raises(FaultRefusedError, match="rle-ldra6 has device_all_ones, device_cable_break"):
        b.book.add("device_blocked", rack="r01", device="rle-ldra6")
    with pytest.raises(FaultRefusedError, match="one of --rack r01 --device rle-ldra6"):
        b.book.add("device_leak", rack="r01", device="leak_panel")


# -- on the plant ------------------------------------------------------------------------------------------------------------


def f32(device: MakersDevice, address: int) -> float:
    return float(struct.unpack(">f", device.holding.read(address, 2))[0])


def test_an_energy_valve_moves_the_racks_flow_and_tells_it() -> None:
    b = bank("belimo-energy-valve-v4", "schneider-pm5560", "current-loops-8ch")
    rig = b.rigs["r01"]
    valve, meter, loops = rig.makers.values()
    b.advance(1.0)
    before_lpm = rig.plant.flow_supply_lpm
    assert valve.value("flow L/s") * 60.0 == pytest.approx(before_lpm, abs=0.4)
    assert f32(meter, 3059) == pytest.approx(rig.plant.feeder_kw, rel=1e-3)
    valve.write_registers(0, (2000,), b.now_s)
    b.advance(90.0)
    assert valve.value("position") == pytest.approx(20.0, abs=1.0)
    assert rig.plant.flow_supply_lpm < 0.6 * before_lpm
    assert loops.value("loop 1") == pytest.approx(4000.0 + 16000.0 * rig.plant.flow_supply_lpm / 500.0, abs=60.0)


def test_a_leak_of_the_plant_wets_a_makers_panel_and_power_loss_silences_only_what_hangs_on_it() -> None:
    b = bank("rle-seahawk-10k", "raritan-xerus-pdu", "orv3-psu")
    rig = b.rigs["r01"]
    panel, pdu, supply = rig.makers.values()
    b.book.add("leak", rack="r01", place="manifold", value=5.0)
    b.advance(60.0)
    assert int(panel.value("status")) & 1
    assert supply.value("output power") == pytest.approx(1000.0 * rig.plant.busbar_kw / 48.0, abs=1.0)
    b.book.add("power_loss", rack="r01")
    b.advance(30.0)
    assert pdu.value("inlet V") == 0.0
    assert not b.endpoints["r01/rle-seahawk-10k"].powered
    assert b.endpoints["r01/raritan-xerus-pdu"].powered
    b.book.clear(kind="power_loss")
    b.advance(5.0)
    assert b.endpoints["r01/rle-seahawk-10k"].powered


def test_a_fault_of_a_device_is_in_the_list_and_ends_by_itself() -> None:
    b = bank("rle-ldra6")
    b.book.add("device_cable_break", rack="r01", device="rle-ldra6", value=3.0, for_s=2.0)
    panel = b.rigs["r01"].makers["rle-ldra6"]
    b.advance(1.0)
    assert [fault.document()["device"] for fault in b.book.faults] == ["rle-ldra6"]
    assert int(panel.value("status")) == 1 << 10
    b.advance(2.0)
    assert b.book.faults == []
    assert int(panel.value("status")) == 0
