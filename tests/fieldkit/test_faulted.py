"""A value whose fault bit stands elsewhere in the device."""

import pytest

from fieldkit.bus import LinkError
from fieldkit.clock import SteppedClock
from fieldkit.device import Device
from fieldkit.point import Table
from fieldkit.reading import Quality, Reading, Reason
from tests.fieldkit.paper_bus import PaperBus
from tests.fieldkit.points import contact, number
from tests.fieldkit.test_profile import COMMAND, profile

PROFILE = profile({
    "xv": COMMAND,
    "xy": contact(1),
    "flow": number(5, faulted_by=("flow_fault", "comm_fault")),
    "flow_fault": contact(200, 4),
    "comm_fault": contact(200, 5),
    "level": number(6),
})


def device(bus: PaperBus, readings: dict[str, Reading]) -> Device:
    tags = {"FT-1": ("flow", "fast"), "LT-1": ("level", "fast")}
    return Device("cdu", 1, PROFILE, bus, tags, readings, SteppedClock())


@pytest.mark.parametrize(("word", "reason"), [(0, None), (1 << 4, Reason.FAULT), (1 << 5, Reason.FAULT), (1, None)])
async def test_a_value_is_bad_while_one_of_its_bits_is_set_and_the_bits_are_read_first(
    word: int, reason: Reason | None
) -> None:
    bus, readings = PaperBus({(Table.INPUT, 5): 7, (Table.INPUT, 6): 3, (Table.INPUT, 200): word}), dict[str, Reading]()
    await device(bus, readings).poll("fast")
    assert bus.asked[0] == (Table.INPUT, 200, 1)
    assert (readings["FT-1"].reason, readings["LT-1"].value) == (reason, 3.0)
    assert (readings["FT-1"].value is None) == (reason is not None)
    assert set(readings) == {"FT-1", "LT-1"}


async def test_a_value_whose_bit_cannot_be_read_is_not_believed() -> None:
    bus, readings = PaperBus(), dict[str, Reading]()
    rig = device(bus, readings)
    await rig.poll("fast")
    bus.fail[200] = LinkError(Reason.EXCEPTION, "illegal data address", 2)
    await rig.poll("fast")
    assert (readings["FT-1"].quality, readings["FT-1"].reason) == (Quality.BAD, Reason.EXCEPTION)
    assert readings["LT-1"].quality is Quality.GOOD


async def test_a_value_read_by_hand_is_judged_by_its_bits_too() -> None:
    bus = PaperBus({(Table.INPUT, 5): 7, (Table.INPUT, 6): 3, (Table.INPUT, 200): 1 << 4})
    found = await device(bus, {}).read_now(["flow", "level"])
    assert {name: r.reason for name, r in found.items()} == {"flow": Reason.FAULT, "level": None}
    bus.registers[Table.INPUT, 200] = 0
    assert (await device(bus, {}).read_now(["flow"]))["flow"].value == 7.0


def test_before_the_first_reply_nothing_is_known() -> None:
    readings: dict[str, Reading] = {}
    device(PaperBus(), readings)
    assert readings["FT-1"].reason is Reason.NEVER_READ


@pytest.mark.parametrize("bit", ["nobody", "level", "flow"])
def test_a_fault_bit_that_is_none_is_refused(bit: str) -> None:
    with pytest.raises(ValueError, match="faulted_by: no bit"):
        profile({"xv": COMMAND, "xy": contact(1), "flow": number(5, faulted_by=(bit,)), "level": number(6)})
