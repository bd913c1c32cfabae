"""All alarms of one daemon: they come with their conditions, go with them, and people note them one by one."""

from dataclasses import replace
from functools import partial

import pytest

from fieldkit import alarms
from fieldkit.alarm import AlarmState, Phase, Priority, alarm_row
from fieldkit.errors import Refusal
from fieldkit.request import Request

_row = partial(alarm_row, book="")
ROWS = {
    row.id: row
    for row in (
        _row("late", Priority.LOW, "c", "q", "a", 60.0, on_s=2.0, off_s=3.0),
        _row("plain", Priority.HIGH, "it leaks", "it gets wet", "mop", 60.0),
        replace(_row("trip-1", Priority.CRITICAL, "c", "q", "a", 60.0), latching=True),
    )
}
ASKED = Request("a", "ack", "operator", "desk", {"alarm": "plain"}, by="anna", why="known")


def looked(states: dict[str, AlarmState], *active: str, at_s: float = 10.0) -> tuple[dict[str, AlarmState], list[str]]:
    after, changed = alarms.advance(states, active, ROWS.get, at_s)
    return after, [f"{state.row.id} {state.phase}" for state in changed]


def test_a_condition_raises_its_alarm_once_and_a_normal_one_is_not_kept() -> None:
    states, changed = looked({}, "plain")
    assert (changed, states["plain"].since_s) == (["plain UNACK"], 10.0)
    states, changed = looked(states, "plain", at_s=11.0)
    assert changed == []
    states["plain"] = replace(states["plain"], phase=Phase.ACK)
    assert looked(looked(states, at_s=12.0)[0], at_s=13.0) == ({}, ["plain NORMAL"])


def test_what_still_waits_for_its_delay_is_kept_and_untold() -> None:
    states, changed = looked({}, "late", at_s=10.0)
    assert (set(states), changed) == ({"late"}, [])
    assert looked(states, "late", at_s=12.0)[1] == ["late UNACK"]
    assert looked(states, at_s=11.0) == ({}, [])


def test_the_reset_of_a_latch_is_the_reset_of_its_alarm() -> None:
    states, changed = looked({}, "trip-1")
    assert changed == ["trip-1 UNACK"]
    assert looked(looked(states, at_s=11.0)[0], at_s=12.0)[1] == ["trip-1 RTN_UNACK"]


def test_a_condition_without_a_row_is_a_bug() -> None:
    with pytest.raises(KeyError, match="there is no row for alarm 'rain'"):
        looked({}, "rain")


def test_changes_are_told_in_the_order_of_their_names() -> None:
    assert looked({}, "trip-1", "plain")[1] == ["plain UNACK", "trip-1 UNACK"]


def test_an_alarm_is_acknowledged_or_shelved_in_the_name_of_who_asked() -> None:
    states, _ = looked({}, "plain")
    after = alarms.note(states, ASKED, 11.0)
    assert isinstance(after, AlarmState)
    assert (after.phase, after.by) == (Phase.ACK, "anna")
    shelved = alarms.note(states, replace(ASKED, name="shelve", args={"alarm": "plain", "for_s": 60.0}), 11.0)
    assert isinstance(shelved, AlarmState)
    assert (shelved.phase, shelved.until_s, shelved.why) == (Phase.SHELVED, 71.0, "known")


def test_an_alarm_that_does_not_stand_is_answered_with_those_that_do() -> None:
    assert alarms.note({}, ASKED, 1.0) == Refusal("unknown", "no alarm 'plain' stands", "standing: none")
    states, _ = looked({}, "plain", "trip-1")
    no = alarms.note(states, replace(ASKED, args={"alarm": "late"}), 1.0)
    assert no == Refusal("unknown", "no alarm 'late' stands", "standing: plain, trip-1")


def test_a_change_is_told_with_cause_consequence_and_action() -> None:
    states, _ = looked({}, "plain")
    told = alarms.fields(states["plain"])
    assert (told["alarm"], told["phase"], told["active"], told["count"]) == ("plain", Phase.UNACK, True, 1)
    assert (told["cause"], told["consequence"], told["action"]) == ("it leaks", "it gets wet", "mop")
    assert (told["priority"], told["respond_s"], told["runbook"]) == (Priority.HIGH, 60.0, ROWS["plain"].runbook)
