"""Which request says a command, by the functions that the device serves."""

from typing import Any

import pytest

from fieldkit.clock import SteppedClock
from fieldkit.device import Device
from fieldkit.point import PointType, Table
from fieldkit.profile import Profile
from fieldkit.write_block import block_of
from tests.fieldkit.paper_bus import PaperBus
from tests.fieldkit.points import contact, number
from tests.fieldkit.test_profile import profile


def writable(functions: tuple[int, ...], **more: Any) -> Profile:
    points = {
        "a": number(0, table=Table.HOLDING, writable=True),
        "b": number(1, table=Table.HOLDING, writable=True, momentary=True),
        **more,
    }
    return profile(points, functions=functions, expiries={}, outputs={})


async def test_a_device_without_function_6_gets_a_single_register_by_16() -> None:
    for functions, multiple in (((3, 16), 1), ((3, 6, 16), 0), ((3, 6), 0)):
        bus = PaperBus()
        await Device("d", 1, writable(functions), bus, {}, {}, SteppedClock()).write({"a": 5.0})
        assert (bus.wrote, bus.multiple) == ([("holding", 0, [5])], multiple)


def test_a_device_without_function_16_takes_one_register_a_request() -> None:
    with pytest.raises(ValueError, match="one holding register or coil a request: write a, b apart"):
        block_of(writable((3, 6)), "d", {"a": 1.0, "b": 2.0})
    assert block_of(writable((3, 6)), "d", {"b": 2.0}) == (Table.HOLDING, 1, [2])


async def test_a_momentary_command_is_not_read_back() -> None:
    bus = PaperBus()
    await Device("d", 1, writable((3, 6)), bus, {}, {}, SteppedClock()).write({"b": 1.0})
    assert bus.asked == []
    await Device("d", 1, writable((3, 6)), bus, {}, {}, SteppedClock()).write({"a": 1.0})
    assert bus.asked == [("holding", 0, 1)]


@pytest.mark.parametrize(
    ("functions", "more", "why"),
    [
        ((6,), {}, "no function 3"),
        ((3,), {}, "no function of the device writes 1 of holding"),
        ((3, 6), {"f": number(2, PointType.F32, table=Table.HOLDING, writable=True)}, "writes 2 of holding"),
        ((3, 6), {"c": contact(0, None, table=Table.COIL)}, "no function 1"),
        ((3, 6), {"c": contact(0, None, table=Table.DISCRETE)}, "no function 2"),
        ((3, 6), {"c": number(0)}, "no function 4"),
        ((1, 3, 6), {"c": contact(0, None, table=Table.COIL, writable=True)}, "writes 1 of coil"),
    ],
)
def test_a_point_that_no_function_of_the_device_reaches_is_refused(
    functions: tuple[int, ...], more: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        writable(functions, **more)


def test_a_coil_may_be_written_by_5_or_15() -> None:
    for functions in ((1, 3, 6, 5), (1, 3, 6, 15)):
        assert writable(functions, c=contact(0, None, table=Table.COIL, writable=True)).may_write(Table.COIL, 1)
