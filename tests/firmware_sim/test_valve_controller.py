"""The valve controller: expiries, seal-out, refusals, limit switches and partial strokes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_sim.parts.registers import Answer
from firmware_sim.parts.valve_controller import ValveController

XY_101, XY_102, XY_103, XY_104, XSY_101 = 1, 2, 4, 8, 16
OPEN = {"zso_101": True, "zsc_101": False, "zso_102": True, "zsc_102": False}


def controller(**contacts: bool) -> ValveController:
    """A controller with both isolation valves open, unless told otherwise."""
    device = ValveController()
    see(device, **(OPEN | contacts))
    return device


def see(device: ValveController, **contacts: bool) -> None:
    for name, value in contacts.items():
        setattr(device.contacts, name, value)
    device.contacts_changed()


def flowing(**contacts: bool) -> ValveController:
    device = controller(**contacts)
    assert device.write_registers(0, [1, 1, 0, 0, 6000], 0.0) is Answer.OK
    assert device.write_registers(8, [1], 0.0) is Answer.OK
    return device


def coils(device: ValveController) -> int:
    return device.input.get_u16(1)


def status(device: ValveController) -> int:
    return device.input.get_u16(4)


def run(device: ValveController, start_s: float, end_s: float) -> None:
    for n in range(round((end_s - start_s) / 0.01)):
        device.step(start_s + (n + 1) * 0.01, 0.01)


def test_after_power_up_all_commands_and_coils_are_off() -> None:
    device = controller()
    assert [device.holding.get_u16(n) for n in (0, 1, 2, 3, 4, 8, 16)] == [0] * 7
    assert coils(device) == 0
    assert status(device) == 0


def test_a_write_energises_its_coils_before_its_reply() -> None:
    assert coils(flowing()) == XY_101 | XY_102 | XSY_101


def test_the_permit_lapses_at_8_s_and_the_valves_at_15_s() -> None:
    device = flowing()
    run(device, 0.0, 7.99)
    assert coils(device) == XY_101 | XY_102 | XSY_101
    run(device, 7.99, 8.0)
    assert coils(device) == XY_101 | XY_102
    assert status(device) == 0b10
    run(device, 8.0, 14.99)
    assert coils(device) == XY_101 | XY_102
    run(device, 14.99, 15.0)
    assert coils(device) == 0
    assert status(device) == 0b11


def test_reads_re_arm_nothing() -> None:
    device = flowing()
    for tenth in range(160):
        device.before_read(tenth / 10)
    assert coils(device) == 0


def test_a_read_after_the_expiry_shows_it_even_between_two_steps() -> None:
    device = flowing()
    device.before_read(8.0)
    assert not coils(device) & XSY_101


@pytest.mark.parametrize("address", [0, 1, 2, 3])
def test_a_write_of_any_valve_command_re_arms_all_valves_and_not_the_permit(address: int) -> None:
    device = flowing()
    command = device.holding.get_u16(address)
    device.write_registers(address, [command], 7.0)
    run(device, 7.0, 16.0)
    assert coils(device) == XY_101 | XY_102


@pytest.mark.parametrize("address", [4, 16, 100, 102])
def test_other_writes_re_arm_nothing(address: int) -> None:
    device = flowing()
    device.write_registers(address, [0 if address < 100 else 150], 7.0)
    run(device, 7.0, 15.01)
    assert coils(device) == 0


def test_a_write_of_the_permit_re_arms_it_and_not_the_valves() -> None:
    device = flowing()
    device.write_registers(8, [1], 7.0)
    run(device, 7.0, 14.99)
    assert coils(device) == XY_101 | XY_102 | XSY_101
    run(device, 14.99, 15.01)
    assert coils(device) == 0


def test_a_lapsed_coil_stays_off_until_its_command_was_off_once() -> None:
    device = flowing()
    run(device, 0.0, 15.0)
    device.write_registers(0, [1, 1, 0, 0], 15.1)
    device.write_registers(8, [1], 15.1)
    assert coils(device) == 0
    device.write_registers(1, [0], 15.2)
    device.write_registers(1, [1], 15.3)
    assert coils(device) == XY_102
    assert status(device) == 0b11
    device.write_registers(0, [0], 15.4)
    device.write_registers(0, [1], 15.5)
    device.write_registers(8, [0], 15.5)
    device.write_registers(8, [1], 15.6)
    assert coils(device) == XY_101 | XY_102 | XSY_101
    assert status(device) == 0


def test_a_write_that_comes_after_the_expiry_does_not_undo_it() -> None:
    device = flowing()
    device.write_registers(8, [1], 8.0)
    assert not coils(device) & XSY_101


def test_the_time_left_is_shown_in_hundredths_of_a_second() -> None:
    device = flowing()
    device.before_read(3.5)
    assert (device.input.get_u16(5), device.input.get_u16(6)) == (1150, 450)


def test_the_persistent_expiries_can_be_set_and_outlive_a_power_loss() -> None:
    device = controller()
    assert device.write_registers(100, [100, 50], 0.0) is Answer.OK
    device.start(1.0)
    see(device)
    device.write_registers(0, [1, 1], 1.0)
    run(device, 1.0, 11.01)
    assert coils(device) == 0
    assert (device.holding.get_u16(100), device.holding.get_u16(101)) == (100, 50)


@pytest.mark.parametrize(
    ("address", "values", "said"),
    [
        (0, [2], Answer.ILLEGAL_VALUE),
        (0, [1, 1, 0, 0xFFFF], Answer.ILLEGAL_VALUE),
        (4, [10_001], Answer.ILLEGAL_VALUE),
        (8, [2], Answer.ILLEGAL_VALUE),
        (16, [3], Answer.ILLEGAL_VALUE),
        (100, [0], Answer.ILLEGAL_VALUE),
        (3, [0, 0, 0], Answer.ILLEGAL_ADDRESS),
        (5, [0], Answer.ILLEGAL_ADDRESS),
        (9, [0], Answer.ILLEGAL_ADDRESS),
        (104, [1], Answer.ILLEGAL_ADDRESS),
    ],
)
def test_a_refused_write_changes_and_re_arms_nothing(address: int, values: list[int], said: Answer) -> None:
    device = flowing()
    before = bytes(device.holding.data)
    assert device.write_registers(address, values, 7.0) is said
    assert bytes(device.holding.data) == before
    assert device.input.get_u16(7) == 2
    run(device, 7.0, 8.0)
    assert not coils(device) & XSY_101


def test_the_heartbeat_counts_every_10_ms_and_wraps() -> None:
    device = controller()
    device.before_read(1.234)
    assert device.input.get_u16(8) == 123
    device.before_read(655.37)
    assert device.input.get_u16(8) == 1


def test_the_motor_valve_keeps_its_command_when_everything_lapses() -> None:
    device = flowing()
    run(device, 0.0, 20.0)
    assert device.fcv_command_pct == pytest.approx(60.0)


def test_a_partial_stroke_drops_the_coil_until_the_open_limit_breaks_and_passes_when_it_re_makes() -> None:
    device = flowing()
    device.write_registers(16, [1], 1.0)
    assert coils(device) == XY_102 | XSY_101
    assert device.holding.get_u16(16) == 1
    see(device, zso_101=False)
    device.step(1.05, 0.05)
    assert coils(device) == XY_101 | XY_102 | XSY_101
    see(device, zso_101=True)
    device.step(1.1, 0.05)
    assert device.holding.get_u16(16) == 0
    assert status(device) == 0b010000


@pytest.mark.parametrize("breaks", [False, True])
def test_a_partial_stroke_that_does_not_come_back_fails_within_1_5_s_with_the_coil_on(breaks: bool) -> None:
    device = flowing()
    device.write_registers(16, [2], 1.0)
    see(device, zso_102=not breaks)
    run(device, 1.0, 2.51)
    assert device.holding.get_u16(16) == 0
    assert status(device) == 0b100000
    assert coils(device) == XY_101 | XY_102 | XSY_101


def test_a_partial_stroke_of_a_valve_that_is_not_open_fails_at_once_and_moves_nothing() -> None:
    device = flowing(zso_101=False)
    device.write_registers(16, [1], 1.0)
    assert coils(device) == XY_101 | XY_102 | XSY_101
    assert status(device) == 0b100000


def test_a_shut_command_wins_over_a_partial_stroke() -> None:
    device = flowing()
    device.write_registers(16, [1], 1.0)
    device.write_registers(0, [0], 1.1)
    run(device, 1.1, 1.2)
    assert not coils(device) & XY_101
    assert status(device) == 0b100000


def test_the_limit_switches_and_contacts_are_shown_bit_by_bit() -> None:
    device = controller()
    assert device.input.get_u16(0) == 0b110101
    assert device.input.get_u16(2) == 0b1010
    see(device, zso_101=False, zsc_101=True, permit_closed=True, stop_healthy=False, key_locked=True)
    assert device.input.get_u16(0) == 0b110110
    assert device.input.get_u16(2) == 0b1101
    see(device, sump_not_high=False)
    assert device.input.get_u16(2) == 0b0101


def test_every_change_of_a_register_is_noted_once() -> None:
    device = flowing()
    device.take_facts()
    device.write_registers(0, [0, 1, 0, 0], 1.0)
    assert [tuple(fact) for fact in device.take_facts()] == [("XV-101 command", 0.0), ("XY-101", 0.0)]
    device.write_registers(0, [0, 1, 0, 0], 1.1)
    assert device.take_facts() == []


writes = st.lists(
    st.tuples(
        st.floats(0.0, 9.0),
        st.sampled_from([0, 1, 2, 3, 4, 8, 16]),
        st.lists(st.integers(0, 1), min_size=1, max_size=5),
    ),
    max_size=20,
)


@given(writes)
def test_whatever_is_written_no_coil_outlives_its_expiry(history: list[tuple[float, int, list[int]]]) -> None:
    device = controller()
    now_s = 0.0
    for pause_s, address, values in history:
        now_s += pause_s
        device.write_registers(address, values, now_s)
    device.step(now_s + 8.0, 0.01)
    assert not coils(device) & XSY_101
    device.step(now_s + 15.0, 0.01)
    assert coils(device) == 0
