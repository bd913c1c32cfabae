"""Three return temperatures, readings that must move, and loops of 4 to 20 mA."""

import pytest

from valvey.core import plausible
from valvey.core.plausible import RETURNS, Mover, Returns, Still, burnt_out_s, vote, watch

ROW = (Mover("TT-102A", 0.02, "ET-101", 13.2),)
Values = tuple[float | None, float | None, float | None]


def voted(values: Values, for_s: float, state: Returns | None = None) -> Returns:
    state = Returns() if state is None else state
    for _ in range(round(for_s)):
        state = vote(state, values, 1.0)
    return state


@pytest.mark.parametrize(
    ("values", "value_c"),
    [
        ((50.0, 50.4, 50.2), 50.2),
        ((50.0, None, 50.6), 50.6),
        ((None, 49.0, None), 49.0),
        ((None, None, None), None),
    ],
)
def test_median_of_three_hotter_of_two_the_one_that_is_left(values: Values, value_c: float | None) -> None:
    assert voted(values, 1).value_c == value_c


def test_one_off_by_more_than_a_kelvin_for_thirty_seconds_is_dropped() -> None:
    state = voted((50.0, 50.2, 51.3), 29)
    assert state.dropped is None
    state = voted((50.0, 50.2, 51.3), 1, state)
    assert state.dropped == 2
    assert state.value_c == 50.2  # the hotter of two


def test_a_kelvin_is_not_off() -> None:
    assert voted((50.0, 50.0, 51.0), 100).dropped is None


def test_a_visit_elsewhere_does_not_add_up() -> None:
    state = voted((50.0, 50.2, 52.0), 20)
    state = voted((50.0, 50.2, 50.1), 1, state)
    assert voted((50.0, 50.2, 52.0), 20, state).dropped is None


def test_of_two_that_are_off_the_further_one_is_dropped() -> None:
    assert voted((47.0, 50.0, 51.5), 30).dropped == 0


def test_the_dropped_one_comes_back_after_a_minute_near_the_others() -> None:
    state = voted((45.0, 50.0, 50.0), 30)
    assert state.dropped == 0
    state = voted((50.4, 50.0, 50.0), 59, state)
    state = voted((53.0, 50.0, 50.0), 1, state)  # gone again: the minute begins anew
    state = voted((50.4, 50.0, 50.0), 59, state)
    assert state.dropped == 0
    assert voted((50.4, 50.0, 50.0), 1, state).dropped is None


@pytest.mark.parametrize("stray", [0, 1, 2])
def test_each_of_the_three_comes_back(stray: int) -> None:
    far = [50.0, 50.0, 50.0]
    far[stray] = 40.0
    state = voted((far[0], far[1], far[2]), 30)
    assert state.dropped == stray
    assert voted((50.0, 50.0, 50.0), 60, state).dropped is None


def test_the_dropped_one_is_better_than_none() -> None:
    state = voted((45.0, 50.0, 50.0), 30)
    assert voted((45.0, None, None), 1, state).value_c == 45.0


def test_two_that_differ_are_told_and_the_hotter_is_taken() -> None:
    state = voted((48.0, None, 50.0), 30)
    assert (state.apart, state.value_c, state.dropped) == (True, 50.0, None)
    assert not voted((50.0, None, 50.0), 1, state).apart


def test_a_reading_that_stands_still_though_its_driver_moved_is_stuck_after_two_minutes() -> None:
    state = watch({}, ROW, {"TT-102A": 50.0, "ET-101": 130.0}, 1.0)
    for _ in range(119):
        state = watch(state, ROW, {"TT-102A": 50.01, "ET-101": 60.0}, 1.0)
    assert not state["TT-102A"].stuck
    state = watch(state, ROW, {"TT-102A": 50.01, "ET-101": 60.0}, 1.0)
    assert state["TT-102A"].stuck
    assert not watch(state, ROW, {"TT-102A": 49.5, "ET-101": 60.0}, 1.0)["TT-102A"].stuck


def test_a_reading_may_stand_still_for_hours_with_its_driver() -> None:
    state: dict[str, Still] = {}
    for _ in range(10000):
        state = watch(state, ROW, {"TT-102A": 50.0, "ET-101": 130.0}, 1.0)
    assert not state["TT-102A"].stuck


def test_a_reading_that_cannot_be_believed_waits_as_it_was() -> None:
    state = watch({}, ROW, {"TT-102A": 50.0, "ET-101": 130.0}, 1.0)
    assert watch(state, ROW, {"TT-102A": None, "ET-101": 60.0}, 200.0) == state
    assert watch(state, ROW, {"TT-102A": 50.0}, 200.0) == state


@pytest.mark.parametrize(("milliamp", "fault"), [(3.6, True), (3.7, False), (20.9, False), (21.0, True), (0.0, True)])
def test_a_loop_outside_its_range_for_four_seconds_is_a_fault(milliamp: float, fault: bool) -> None:
    held_s = 0.0
    for _ in range(3):
        held_s = burnt_out_s(held_s, milliamp, 1.0)
    assert held_s < 4.0
    assert (burnt_out_s(held_s, milliamp, 1.0) >= 4.0) is fault


# -- to the edges ------------------------------------------------------------------------------------------------------


def test_how_long_each_has_been_off_is_counted_by_itself_and_forgotten_when_one_is_lost() -> None:
    state = vote(Returns(), (52.0, 50.0, 48.0), 0.5)
    assert state.for_s == (0.5, 0.0, 0.5)
    assert vote(state, (52.0, 50.0, 50.0), 0.5).for_s == (1.0, 0.0, 0.0)
    assert vote(state, (52.0, 50.0, None), 0.5).for_s == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("stray", [0, 1, 2])
def test_only_the_dropped_ones_time_near_the_others_is_counted(stray: int) -> None:
    state = Returns((9.0, 9.0, 9.0), dropped=stray)
    near = vote(state, (50.0, 50.0, 50.0), 0.5)
    assert near.for_s == tuple(9.5 if i == stray else 0.0 for i in range(3))
    far = [50.0, 50.0, 50.0]
    far[stray] = 60.0
    assert vote(state, (far[0], far[1], far[2]), 0.5).for_s == (0.0, 0.0, 0.0)


def test_whoever_is_dropped_or_comes_back_begins_at_nought() -> None:
    dropped = vote(Returns((29.5, 0.0, 29.0)), (52.0, 50.0, 48.5), 0.5)
    assert (dropped.dropped, dropped.for_s) == (0, (0.0, 0.0, 0.0))
    back = vote(Returns((59.5, 0.0, 0.0), dropped=0), (50.0, 50.0, 50.0), 0.5)
    assert (back.dropped, back.for_s) == (None, (0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("celsius", "near"), [(49.5, True), (49.49, False), (51.5, True), (51.51, False), (50.7, True), (50.0, True)]
)
def test_near_is_within_half_a_kelvin_of_what_the_others_span(celsius: float, near: bool) -> None:
    state = vote(Returns(dropped=1), (50.0, celsius, 51.0), 1.0)
    assert (state.for_s[1] == 1.0) is near


def test_two_that_differ_by_a_kelvin_are_not_apart_and_their_time_ends_at_the_limit() -> None:
    assert vote(Returns(), (50.0, None, 51.0), 1.0).apart_s == 0.0
    state = vote(Returns(apart_s=29.0), (50.0, None, 51.01), 0.5)
    assert (state.apart_s, state.apart) == (29.5, False)
    state = vote(state, (50.0, None, 51.01), 0.75)
    assert (state.apart_s, state.apart) == (30.0, True)
    assert vote(state, (50.0, 50.0, 51.01), 1.0).apart_s == 0.0


def test_a_driver_that_moved_by_just_enough_asks_for_movement_and_the_lsb_is_none() -> None:
    state = watch({}, ROW, {"TT-102A": 50.0, "ET-101": 100.0}, 1.0)
    assert state == {"TT-102A": Still(50.0, 100.0)}
    assert watch(state, ROW, {"TT-102A": 50.0, "ET-101": 113.2}, 1.0)["TT-102A"].must_s == 1.0
    assert watch(state, ROW, {"TT-102A": 50.0, "ET-101": 113.1}, 1.0)["TT-102A"].must_s == 0.0
    assert watch(state, ROW, {"TT-102A": 50.0, "ET-101": 86.8}, 1.0)["TT-102A"].must_s == 1.0
    assert watch({"TT-102A": Still(0.0, 0.0, 5.0)}, ROW, {"TT-102A": 0.02, "ET-101": 0.0}, 1.0)["TT-102A"].must_s == 5.0
    assert watch(state, ROW, {"TT-102A": 50.0, "ET-101": 150.0}, 500.0)["TT-102A"].must_s == 120.0


def test_nothing_is_off_dropped_or_apart_at_the_beginning() -> None:
    assert Returns() == Returns((0.0, 0.0, 0.0), None, apart=False, apart_s=0.0, value_c=None)
    assert RETURNS == ("TT-102A", "TT-102B", "TT-102C")


@pytest.mark.parametrize("values", [(None, 50.0, 52.0), (50.0, None, 52.0), (50.0, 52.0, None)])
def test_with_one_lost_nobodys_time_is_counted(values: Values) -> None:
    state = vote(Returns((5.0, 5.0, 5.0), dropped=None), values, 1.0)
    assert (state.for_s, state.value_c, state.apart_s) == ((0.0, 0.0, 0.0), 52.0, 1.0)


@pytest.mark.parametrize(("dropped", "value_c"), [(None, 50.0), (0, 51.0), (1, 51.0), (2, 50.0)])
def test_what_is_gone_by_leaves_the_dropped_one_out(dropped: int | None, value_c: float) -> None:
    assert plausible.voted((49.0, 50.0, 51.0), dropped) == value_c


def test_a_driver_that_moved_by_exactly_the_least_asks_for_movement() -> None:
    row = (Mover("a", 0.5, "b", 2.0),)
    assert watch({"a": Still(1.0, 8.0)}, row, {"a": 1.5, "b": 10.0}, 1.0)["a"].must_s == 1.0
    assert watch({"a": Still(1.0, 8.0)}, row, {"a": 1.5, "b": 9.5}, 1.0)["a"].must_s == 0.0


def test_a_current_in_range_forgets_and_the_time_out_of_it_ends_at_four_seconds() -> None:
    assert burnt_out_s(3.0, 12.0, 1.0) == 0.0
    assert burnt_out_s(3.9, 2.0, 1.0) == 4.0
