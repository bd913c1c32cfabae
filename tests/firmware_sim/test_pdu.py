"""Requests against a firmware: every function, every exception, and nothing that can make it raise."""

from hypothesis import given
from hypothesis import strategies as st

from firmware_sim.parts.battery_shelf import BatteryShelf
from firmware_sim.parts.cdu import CduController
from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.leak_panel import LeakPanel
from firmware_sim.parts.meters import BusbarMeter, FeederMeter
from firmware_sim.parts.pdu import answer, freeze, written
from firmware_sim.parts.power_shelf import PowerShelf
from firmware_sim.parts.registers import Answer, DeviceMap, Kind, Row, Table
from firmware_sim.parts.room import RoomSensor
from firmware_sim.parts.transmitters import Transmitters
from firmware_sim.parts.valve_controller import ValveController


class RelayBoard(Firmware):
    """Eight relay coils and four inputs: the bit functions have no other user among the reference devices."""

    def __init__(self) -> None:
        rows = (Row(Table.COIL, 0, "relays", Kind.BIT, words=8), Row(Table.DISCRETE, 0, "inputs", Kind.BIT, words=4))
        super().__init__(DeviceMap("relay", "ACME", "R8", "1", rows), "1")

    def write_coils(self, address: int, values: object, now_s: float) -> Answer:
        bits = list(values)  # type: ignore[call-overload]
        if address + len(bits) > len(self.coils):
            return Answer.ILLEGAL_ADDRESS
        self.coils[address : address + len(bits)] = bits
        return Answer.OK


def ask(device: Firmware, text: str) -> str:
    return answer(device, bytes.fromhex(text), 1.0).hex(" ")


def test_reads_and_writes_are_answered_as_the_specification_shows_them() -> None:
    device = ValveController()
    assert ask(device, "10 0000 0002 04 0001 0001") == "10 00 00 00 02"
    assert ask(device, "06 0008 0001") == "06 00 08 00 01"
    assert ask(device, "03 0000 0005") == "03 0a 00 01 00 01 00 00 00 00 00 00"
    assert ask(device, "04 0007 0001") == "04 02 00 02"


def test_addresses_outside_the_map_answer_exception_2_and_counts_out_of_range_exception_3() -> None:
    device = ValveController()
    assert ask(device, "03 0004 0002") == "83 02"
    assert ask(device, "04 000a 0001") == "84 02"
    assert ask(device, "04 ffff 0001") == "84 02"
    assert ask(device, "04 0000 0000") == "84 03"
    assert ask(device, "04 0000 007e") == "84 03"
    assert ask(device, "06 0000 0002") == "86 03"
    assert ask(device, "10 0000 0002 04 0001") == "90 03"
    assert ask(device, "10 0000 0002 02 0001") == "90 03"


def test_a_function_without_a_table_behind_it_answers_exception_1() -> None:
    assert ask(Transmitters(), "03 0000 0001") == "83 01"
    assert ask(Transmitters(), "06 0000 0001") == "86 01"
    assert ask(ValveController(), "01 0000 0001") == "81 01"
    assert ask(ValveController(), "05 0000 ff00") == "85 01"
    assert ask(ValveController(), "63") == "e3 01"


def test_bits_are_read_and_written_least_significant_first() -> None:
    board = RelayBoard()
    assert ask(board, "05 0002 ff00") == "05 00 02 ff 00"
    assert ask(board, "0f 0004 0003 01 05") == "0f 00 04 00 03"
    assert ask(board, "01 0000 0008") == "01 01 54"
    assert ask(board, "02 0000 0004") == "02 01 00"
    assert ask(board, "05 0002 1234") == "85 03"
    assert ask(board, "0f 0006 0003 01 05") == "8f 02"
    assert ask(board, "01 0006 0003") == "81 02"


def test_identity_tells_vendor_product_and_revision() -> None:
    reply = answer(ValveController(), bytes.fromhex("2b0e0100"), 0.0)
    assert reply.startswith(bytes.fromhex("2b0e01810000 03"))
    assert b"racky-valve-ctrl" in reply
    assert ask(ValveController(), "2b 0e 04 02").endswith(b"1.0.0".hex(" "))
    assert ask(ValveController(), "2b 0e 04 09") == "ab 02"
    assert ask(ValveController(), "2b 0d 01 00") == "ab 01"


def test_the_identity_registers_hold_model_version_and_serial() -> None:
    device = ValveController(serial="VC-7")
    device.before_read(70_000.0)
    assert device.input.read(900, 8) == b"racky-valve-ctrl"
    assert device.input.read(908, 4) == b"1.0.0\0\0\0"
    assert device.input.read(912, 8).rstrip(b"\0") == b"VC-7"
    assert device.input.get_u16(920) == 70_000 - 65_536


def test_a_frozen_copy_answers_reads_while_writes_reach_the_device() -> None:
    device = ValveController()
    copy = freeze(device, 1.0)
    write = bytes.fromhex("060000 0001")
    assert answer(device, write, 2.0, copy) == write
    assert answer(device, bytes.fromhex("03 0000 0001"), 2.0, copy).hex() == "03020000"
    assert answer(device, bytes.fromhex("03 0000 0001"), 2.0).hex() == "03020001"


def test_what_was_written_is_told_from_the_request() -> None:
    assert written(bytes.fromhex("10 0000 0002 04 0001 0000")) == (0, (1, 0))
    assert written(bytes.fromhex("06 0008 0001")) == (8, (1,))
    assert written(bytes.fromhex("05 0003 ff00")) == (3, (1,))
    assert written(bytes.fromhex("0f 0004 0003 01 05")) == (4, (1, 0, 1))


def everything() -> list[Firmware]:
    return [
        ValveController(),
        Transmitters(),
        LeakPanel(),
        BusbarMeter(),
        FeederMeter(),
        CduController(),
        RelayBoard(),
        PowerShelf(),
        BatteryShelf(),
        RoomSensor(),
    ]


@given(st.binary(min_size=1, max_size=253), st.integers(0, 9))
def test_no_request_makes_a_device_raise_and_every_reply_fits_a_frame(pdu: bytes, which: int) -> None:
    reply = answer(everything()[which], pdu, 1.0)
    assert 2 <= len(reply) <= 253
    assert reply[0] in {pdu[0], pdu[0] | 0x80}


@given(st.sampled_from([3, 4, 6, 16]), st.integers(0, 1100), st.lists(st.integers(0, 0xFFFF), min_size=1, max_size=123))
def test_well_formed_requests_never_make_a_device_raise(function: int, address: int, values: list[int]) -> None:
    head = bytes((function,)) + address.to_bytes(2)
    bodies = {
        6: values[0].to_bytes(2),
        16: len(values).to_bytes(2) + bytes((2 * len(values),)) + b"".join(value.to_bytes(2) for value in values),
    }
    pdu = head + bodies.get(function, len(values).to_bytes(2))
    for device in everything():
        reply = answer(device, pdu, 1.0)
        assert reply[0] in {function, function | 0x80}
