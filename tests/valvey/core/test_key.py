"""The lock-out key HS-102: nothing opens while it is turned, and no running rack is shut by it."""

import pytest

from tests.plant import flowing, isolated
from tests.valvey.core.bench import alarms
from valvey.core.chart import State


def test_the_key_turned_while_a_rack_opens_shuts_it_before_the_permit_rises() -> None:
    rack = isolated()
    rack.ask("open")
    rack.run(4.0)
    assert str(rack.state) == "OPENING"
    rack.values["HS-102"] = 1.0
    rack.scan()
    assert (rack.state, rack.memory.failed, rack.writes["XS-101"]) == (State.ISOLATING, "key_turned", 0.0)
    assert rack.latched == ()
    rack.run(15.0)
    assert rack.state is State.ISOLATED
    assert [lock.owner for lock in rack.memory.locks] == ["HS-102"]


@pytest.mark.parametrize("value", [0.0, None])
def test_a_key_that_stands_still_or_cannot_be_read_ends_nothing(value: float | None) -> None:
    rack = isolated()
    rack.ask("open")
    rack.values["HS-102"] = value
    rack.run(8.0)
    rack.values.update({"FT-101": 198.0, "FT-102": 198.0})
    rack.run(8.0)
    assert rack.state is State.FLOWING
    assert rack.memory.locks == ()


def test_the_key_turned_in_a_running_rack_is_told_and_moves_nothing() -> None:
    rack = flowing()
    rack.values["HS-102"] = 1.0
    rack.run(5.0)
    assert (rack.state, rack.memory.locks, rack.writes["XS-101"]) == (State.FLOWING, (), 1.0)
    assert "key-locked" in alarms(rack)


def test_a_dark_rack_is_not_opened_again_while_the_key_is_turned() -> None:
    rack = flowing()
    rack.ask("isolate")  # planned: it goes dark by itself and latches nothing
    rack.values.update({"JT-101": 2.0, "ET-101": 2.0})
    rack.run(4.0)
    assert rack.state is State.COOLDOWN
    rack.values["HS-102"] = 1.0
    rack.scan()
    answer = rack.ask("open").fields
    assert (answer["status"], answer["code"]) == ("refused", "no_lock")
    assert rack.state is State.COOLDOWN
