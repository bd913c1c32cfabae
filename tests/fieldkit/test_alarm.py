"""The life of an alarm."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.alarm import (
    HIDDEN,
    MOST_SHELVED_S,
    TABLE,
    AlarmRow,
    AlarmState,
    Phase,
    Priority,
    acknowledge,
    advance,
    crossed,
    from_dict,
    rebased,
    remove,
    reset,
    restore,
    shelve,
    suppress,
    to_dict,
    unshelve,
    unsuppress,
)
from fieldkit.chart import hidden, twins, unknown_states, unreachable
from fieldkit.errors import Refusal


def row(**more: Any) -> AlarmRow:
    given: dict[str, Any] = {
        "id": "flow_low",
        "priority": Priority.HIGH,
        "cause": "low flow",
        "consequence": "heat",
        "action": "look at the strainer",
        "respond_s": 300.0,
        "on_delay_s": 2.0,
        "off_delay_s": 5.0,
        "latching": False,
        "trip": False,
        "runbook": "docs/operations/flow.md",
    }
    return AlarmRow(**{**given, **more})


def run(state: AlarmState, *looks: tuple[float, bool]) -> AlarmState:
    for now_s, active in looks:
        state = advance(state, active, now_s)
    return state


def done(result: AlarmState | Refusal) -> AlarmState:
    assert isinstance(result, AlarmState), result
    return result


def refused(result: AlarmState | Refusal) -> str:
    assert isinstance(result, Refusal), result
    assert result.reason
    assert result.would_allow
    return result.code


UNACK = run(AlarmState(row()), (0.0, True), (2.0, True))
ACK = done(acknowledge(UNACK, 3.0, "A"))
LATCHED = run(AlarmState(row(latching=True)), (0.0, True), (2.0, True), (3.0, False), (8.0, False))


def test_the_table_has_no_twins_hides_no_row_and_reaches_every_phase() -> None:
    assert twins(TABLE) == ()
    assert hidden(TABLE) == ()
    assert unknown_states(TABLE, Phase) == ()
    assert unreachable(TABLE, Phase, Phase.NORMAL) == ()


def test_a_condition_counts_after_its_delay() -> None:
    waiting = run(AlarmState(row()), (10.0, True), (11.9, True))
    assert waiting.phase is Phase.NORMAL
    raised = advance(waiting, True, 12.0)
    assert (raised.phase, raised.active, raised.raised_s, raised.count) == (Phase.UNACK, True, 12.0, 1)


def test_a_condition_that_goes_away_within_the_delay_starts_it_again() -> None:
    state = run(AlarmState(row()), (0.0, True), (1.9, True), (2.0, False), (2.1, True), (4.0, True))
    assert state.phase is Phase.NORMAL
    assert advance(state, True, 4.2).phase is Phase.UNACK


def test_without_a_delay_a_condition_counts_at_once() -> None:
    state = AlarmState(row(on_delay_s=0.0, off_delay_s=0.0))
    assert advance(state, True, 0.0).phase is Phase.UNACK
    assert run(state, (0.0, True), (0.1, False)).phase is Phase.RTN_UNACK


def test_the_end_of_a_condition_counts_after_its_own_delay() -> None:
    assert run(UNACK, (3.0, False), (7.9, False)).phase is Phase.UNACK
    assert run(UNACK, (3.0, False), (8.0, False)).phase is Phase.RTN_UNACK


def test_a_quiet_look_changes_nothing_and_makes_nothing() -> None:
    quiet = AlarmState(row())
    assert advance(quiet, False, 100.0) is quiet
    assert advance(ACK, True, 100.0) is ACK
    waiting = advance(quiet, True, 100.0)
    assert advance(waiting, True, 101.0) is waiting


def test_an_alarm_is_acknowledged_by_a_named_person() -> None:
    assert (ACK.phase, ACK.by, ACK.since_s) == (Phase.ACK, "A", 3.0)
    assert run(ACK, (4.0, False), (9.0, False)).phase is Phase.NORMAL
    gone = run(UNACK, (4.0, False), (9.0, False))
    assert done(acknowledge(gone, 10.0, "A")).phase is Phase.NORMAL


def test_there_is_nothing_to_acknowledge_twice() -> None:
    assert refused(acknowledge(ACK, 4.0, "A")) == "wrong_state"
    assert refused(acknowledge(AlarmState(row()), 4.0, "A")) == "wrong_state"


def test_an_alarm_that_comes_back_before_it_was_seen_is_raised_again() -> None:
    gone = run(UNACK, (3.0, False), (8.0, False))
    again = run(gone, (9.0, True), (11.0, True))
    assert (again.phase, again.count) == (Phase.UNACK, 2)


def test_a_latched_alarm_waits_for_a_reset() -> None:
    assert LATCHED.phase is Phase.LATCHED_UNACK
    seen = done(acknowledge(LATCHED, 9.0, "A"))
    assert seen.phase is Phase.LATCHED_ACK
    assert done(reset(seen, 10.0, "A", "dried")).phase is Phase.NORMAL
    assert done(reset(LATCHED, 10.0, "A", "dried")).phase is Phase.RTN_UNACK
    assert not done(reset(LATCHED, 10.0, "A", "dried")).latched


def test_a_latched_alarm_acknowledged_while_active_latches_all_the_same() -> None:
    active = run(AlarmState(row(latching=True)), (0.0, True), (2.0, True))
    assert run(done(acknowledge(active, 3.0, "A")), (4.0, False), (9.0, False)).phase is Phase.LATCHED_ACK


@pytest.mark.parametrize("seen", [False, True])
def test_a_latched_alarm_that_comes_back_is_unseen_again(seen: bool) -> None:
    before = done(acknowledge(LATCHED, 9.0, "A")) if seen else LATCHED
    assert run(before, (20.0, True), (22.0, True)).phase is Phase.UNACK


def test_a_reset_is_refused_while_the_cause_is_there_and_when_nothing_is_latched() -> None:
    active = run(AlarmState(row(latching=True)), (0.0, True), (2.0, True))
    assert refused(reset(active, 3.0, "A", "dried")) == "still_active"
    assert refused(reset(AlarmState(row()), 3.0, "A", "dried")) == "wrong_state"


def test_a_shelf_ends_by_itself_and_shows_what_holds_then() -> None:
    shelved = done(shelve(UNACK, 10.0, 70.0, "A", "known, part ordered"))
    assert (shelved.phase, shelved.by, shelved.why, shelved.until_s) == (
        Phase.SHELVED,
        "A",
        "known, part ordered",
        70.0,
    )
    assert advance(shelved, True, 69.9).phase is Phase.SHELVED
    assert advance(shelved, True, 70.0).phase is Phase.UNACK
    gone = run(shelved, (20.0, False), (25.0, False))
    assert gone.phase is Phase.SHELVED
    assert advance(gone, False, 70.0).phase is Phase.NORMAL


def test_a_shelf_hides_a_condition_that_comes_meanwhile_but_counts_it() -> None:
    shelved = done(shelve(AlarmState(row()), 0.0, 60.0, "A", "works on it"))
    raised = run(shelved, (10.0, True), (12.0, True))
    assert (raised.phase, raised.count) == (Phase.SHELVED, 1)
    assert advance(raised, True, 60.0).phase is Phase.UNACK


def test_a_latch_outlives_its_shelf() -> None:
    shelved = done(shelve(LATCHED, 10.0, 70.0, "A", "works on it"))
    assert advance(shelved, False, 70.0).phase is Phase.LATCHED_UNACK


def test_a_shelf_can_be_ended_early() -> None:
    shelved = done(shelve(UNACK, 10.0, 70.0, "A", "known"))
    early = done(unshelve(shelved, 20.0, "B"))
    assert (early.phase, early.by, early.until_s) == (Phase.UNACK, "B", None)
    assert refused(unshelve(early, 21.0, "B")) == "wrong_state"


@pytest.mark.parametrize("until_s", [10.0, 9.0, 10.1 + MOST_SHELVED_S, float("inf"), float("nan")])
def test_a_shelf_without_a_sensible_end_is_refused(until_s: float) -> None:
    assert refused(shelve(UNACK, 10.0, until_s, "A", "known")) == "bad_time"


def test_a_shelf_of_a_whole_shift_is_allowed() -> None:
    assert done(shelve(UNACK, 10.0, 10.0 + MOST_SHELVED_S, "A", "known")).phase is Phase.SHELVED


@pytest.mark.parametrize(("who", "why"), [("", "known"), ("A", " "), (" ", "")])
def test_nothing_is_hidden_without_a_name_and_a_reason(who: str, why: str) -> None:
    assert refused(shelve(UNACK, 10.0, 70.0, who, why)) == "no_reason"
    assert refused(remove(UNACK, 10.0, who, why)) == "no_reason"


def test_a_trip_is_never_hidden() -> None:
    trip = run(AlarmState(row(trip=True)), (0.0, True), (2.0, True))
    assert refused(shelve(trip, 10.0, 70.0, "A", "known")) == "trip"
    assert refused(suppress(trip, 10.0, "rack off")) == "trip"
    assert refused(remove(trip, 10.0, "A", "sensor out")) == "trip"


def test_suppression_and_removal_end_only_when_told() -> None:
    suppressed = done(suppress(UNACK, 10.0, "rack off"))
    assert (suppressed.phase, suppressed.by) == (Phase.SUPPRESSED, "design")
    assert advance(suppressed, True, 1e6).phase is Phase.SUPPRESSED
    assert done(unsuppress(suppressed, 20.0)).phase is Phase.UNACK
    removed = done(remove(suppressed, 20.0, "A", "sensor out"))
    assert removed.phase is Phase.OUT_OF_SERVICE
    assert done(restore(removed, 30.0, "A")).phase is Phase.UNACK
    assert refused(restore(UNACK, 30.0, "A")) == "wrong_state"
    assert refused(unsuppress(UNACK, 30.0)) == "wrong_state"


def test_what_is_out_of_service_is_not_shelved_over() -> None:
    removed = done(remove(UNACK, 10.0, "A", "sensor out"))
    assert refused(shelve(removed, 20.0, 80.0, "A", "known")) == "wrong_state"


@pytest.mark.parametrize("state", [AlarmState(row()), UNACK, ACK, done(shelve(UNACK, 10.0, 70.0, "A", "known"))])
def test_a_state_survives_as_plain_data(state: AlarmState) -> None:
    assert from_dict(state.row, json.loads(json.dumps(to_dict(state)))) == state


@pytest.mark.parametrize(
    "data",
    [{}, {"id": "other"}, {"id": "flow_low"}, {**to_dict(UNACK), "phase": "LOUD"}, {**to_dict(UNACK), "colour": 1}],
)
def test_plain_data_that_is_not_this_alarms_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"flow_low|LOUD"):
        from_dict(row(), data)


def test_times_move_with_the_clock_of_the_new_process() -> None:
    shelved = done(shelve(UNACK, 10.0, 70.0, "A", "known"))
    moved = rebased(shelved, -8.0)
    assert (moved.since_s, moved.raised_s, moved.until_s, moved.turning_s) == (2.0, -6.0, 62.0, None)


@pytest.mark.parametrize(
    ("value", "high", "was", "expected"),
    [
        (65.1, True, False, True),
        (65.0, True, False, False),
        (64.5, True, True, True),
        (64.0, True, True, False),
        (29.9, False, False, True),
        (30.0, False, False, False),
        (30.5, False, True, True),
        (31.0, False, True, False),
    ],
)
def test_a_limit_is_left_only_by_the_dead_band(value: float, high: bool, was: bool, expected: bool) -> None:
    assert crossed(value, 65.0 if high else 30.0, 1.0, high=high, was=was) is expected


ACTIONS = st.sampled_from([
    "on",
    "off",
    "ack",
    "reset",
    "shelve",
    "unshelve",
    "suppress",
    "unsuppress",
    "remove",
    "restore",
])


def act(state: AlarmState, action: str, now_s: float) -> AlarmState | Refusal:
    if action in {"on", "off"}:
        return advance(state, action == "on", now_s)
    return {
        "ack": lambda: acknowledge(state, now_s, "A"),
        "reset": lambda: reset(state, now_s, "A", "w"),
        "shelve": lambda: shelve(state, now_s, now_s + 30.0, "A", "w"),
        "unshelve": lambda: unshelve(state, now_s, "A"),
        "suppress": lambda: suppress(state, now_s, "w"),
        "unsuppress": lambda: unsuppress(state, now_s),
        "remove": lambda: remove(state, now_s, "A", "w"),
        "restore": lambda: restore(state, now_s, "A"),
    }[action]()


@given(st.booleans(), st.booleans(), st.lists(st.tuples(st.floats(0.0, 20.0), ACTIONS), max_size=40))
def test_whatever_happens_an_alarm_tells_the_truth(latching: bool, trip: bool, story: list[tuple[float, str]]) -> None:
    state, now_s = AlarmState(row(latching=latching, trip=trip)), 0.0
    for wait_s, action in story:
        now_s += wait_s
        result = act(state, action, now_s)
        state = state if isinstance(result, Refusal) else result
        assert from_dict(state.row, to_dict(state)) == state
        assert (state.until_s is not None) == (state.phase is Phase.SHELVED)
        if trip:
            assert state.phase not in HIDDEN
        if state.active and state.phase not in HIDDEN:
            assert state.phase in {Phase.UNACK, Phase.ACK}
        if state.phase in {Phase.LATCHED_UNACK, Phase.LATCHED_ACK}:
            assert latching
            assert state.latched
        if state.phase is Phase.NORMAL:
            assert not state.latched
