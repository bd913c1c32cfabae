"""The one gate before every write of Racky."""

from racky.core.firmware import Order
from racky.core.mailbox import BOOT_MODE, DATA, STATUS, UNLOCK
from racky.whitelist import Whitelist


def gate(*, armed: bool = True) -> Whitelist:
    return Whitelist({"XS-111", "XS-121"}, {"power_shelf_1"}, armed)


def test_only_outputs_of_shelves_leave_and_only_as_on_or_off() -> None:
    one = gate()
    asked = {"XS-111": 1.0, "XS-121": 0.0, "XV-101": 1.0, "XS-101": 1.0, "FCV-101": 50.0}
    assert one.passed(asked) == {"XS-111": 1.0, "XS-121": 0.0}
    assert one.passed({"XS-111": 0.5}) == {}
    assert one.stopped == 4


def test_a_disarmed_racky_writes_nothing_at_all() -> None:
    one = gate(armed=False)
    assert one.passed({"XS-111": 1.0}) == {}
    assert not one.order(Order(1, "power_shelf_1", UNLOCK, (0x55AA,)))
    assert one.order(Order(2, "power_shelf_1", STATUS, count=1))


def test_an_update_writes_its_device_s_mailbox_and_nothing_else() -> None:
    one = gate()
    assert one.order(Order(1, "power_shelf_1", BOOT_MODE, (0xA5A5,)))
    assert one.order(Order(2, "power_shelf_1", DATA, tuple(range(32))))
    assert not one.order(Order(3, "power_shelf_1", 0, (1,)))
    assert not one.order(Order(4, "power_shelf_1", DATA, tuple(range(49))))
    assert not one.order(Order(5, "power_shelf_1", UNLOCK, (1, 2)))
    assert not one.order(Order(6, "room", UNLOCK, (0x55AA,)))
    assert not one.order(Order(7, "power_shelf_1", STATUS))
    assert one.stopped == 5
