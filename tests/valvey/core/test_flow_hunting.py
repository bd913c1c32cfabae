"""Hunting: swings about the set-point and turns of the valve, counted over ten minutes."""

from dataclasses import replace

import pytest

from valvey.core.flow_control import begin
from valvey.core.flow_hunting import calm, watch
from valvey.core.flow_state import Hunt, Seen, Tuning


def swing(hunt: Hunt, *shares: float, each_s: float = 30.0) -> Hunt:
    """One reading of the flow each ``each_s``, as a share of a set-point of 200 L/min."""
    for share in shares:
        hunt = watch(hunt, Seen(flow_lpm=200.0 * share), 200.0, each_s)
    return hunt


def turn(hunt: Hunt, *positions: float, each_s: float = 10.0) -> Hunt:
    for position in positions:
        hunt = watch(hunt, Seen(position_pct=position), 200.0, each_s)
    return hunt


class TestSwings:
    def test_six_half_cycles_in_ten_minutes_are_hunting(self) -> None:
        hunt = swing(Hunt(), *[1.03, 0.97] * 3)
        assert (len(hunt.swings_s), hunt.events, hunt.side) == (5, 0, -1)
        hunt = swing(hunt, 1.03)
        assert (hunt.swings_s, hunt.events, hunt.side, hunt.quiet_s) == ((), 1, 1, 0.0)

    def test_slower_swings_are_none(self) -> None:
        assert swing(Hunt(), *[1.03, 0.97] * 20, each_s=121.0).events == 0
        assert swing(Hunt(), *[1.03, 0.97] * 20, each_s=120.0).events > 0

    def test_two_percent_is_no_swing_yet(self) -> None:
        assert swing(Hunt(), *[1.0199, 0.9801] * 20) == Hunt()
        assert swing(Hunt(), 1.0201, 0.9799).swings_s == (0.0,)
        assert swing(Hunt(), 0.9799, 1.0201).swings_s == (0.0,)

    def test_staying_on_one_side_counts_once(self) -> None:
        hunt = swing(Hunt(), 1.03, 1.04, 1.0, 1.05, 0.97, 0.96, 1.0, 0.97)
        assert (hunt.side, hunt.swings_s) == (-1, (90.0,))

    def test_a_flow_exactly_at_the_edge_is_inside(self) -> None:
        for flow in (102.0, 98.0):
            assert watch(Hunt(), Seen(flow_lpm=flow), 100.0, 0.2) == Hunt()

    def test_without_a_flow_nothing_is_counted(self) -> None:
        assert watch(Hunt(side=1), Seen(), 200.0, 0.2) == Hunt(side=1)


class TestTurns:
    def test_the_first_sight_and_the_first_way_are_no_turn(self) -> None:
        assert turn(Hunt(), 50.0) == Hunt(turn_pct=50.0)
        assert turn(Hunt(), 50.0, 50.4) == Hunt(turn_pct=50.4, heading=1)
        assert turn(Hunt(), 50.0, 49.6) == Hunt(turn_pct=49.6, heading=-1)
        assert turn(Hunt(), 50.0, 50.25) == Hunt(turn_pct=50.0)

    def test_coming_back_from_the_furthest_point_is_a_turn(self) -> None:
        hunt = turn(Hunt(), 50.0, 51.0, 51.2, 51.0, 50.85)
        assert (hunt.turn_pct, hunt.heading, hunt.turns_s) == (50.85, -1, (0.0,))
        assert turn(hunt, 50.0, 50.5).turns_s == (20.0, 0.0)

    def test_the_furthest_point_goes_along(self) -> None:
        assert turn(Hunt(), 50.0, 51.0, 51.05).turn_pct == 51.05
        assert turn(Hunt(), 50.0, 49.0, 48.95).turn_pct == 48.95

    def test_play_is_no_turn(self) -> None:
        hunt = Hunt(turn_pct=0.3, heading=1)
        assert turn(hunt, 0.0) == hunt
        assert turn(hunt, -0.01).heading == -1

    def test_standing_still_is_no_turn(self) -> None:
        hunt = Hunt(turn_pct=50.0, heading=1)
        assert turn(hunt, 50.0, 50.0) == hunt

    def test_seventeen_turns_in_ten_minutes_are_hunting(self) -> None:
        hunt = turn(Hunt(), 50.0, *[51.0, 50.0] * 8, 51.0)
        assert (len(hunt.turns_s), hunt.events) == (16, 0)
        hunt = turn(hunt, 50.0)
        assert (hunt.turns_s, hunt.events, hunt.swings_s) == ((), 1, ())

    def test_a_hundred_an_hour_are_not(self) -> None:
        assert turn(Hunt(), *[51.0, 50.0] * 60, each_s=37.6).events == 0


class TestMemory:
    def test_ages_grow_and_end_after_ten_minutes(self) -> None:
        hunt = Hunt(side=1, swings_s=(500.0, 10.0), turns_s=(599.0, 598.0))
        hunt = watch(hunt, Seen(), 200.0, 2.0)
        assert (hunt.swings_s, hunt.turns_s) == ((502.0, 12.0), (600.0,))

    @pytest.mark.parametrize("hunt", [Hunt(swings_s=(1.0,)), Hunt(turns_s=(1.0,)), Hunt(events=1)])
    def test_time_passes_whatever_is_counted(self, hunt: Hunt) -> None:
        assert watch(hunt, Seen(), 200.0, 2.0).quiet_s == 2.0

    def test_an_hour_without_hunting_forgets_one_event(self) -> None:
        hunt = Hunt(events=2, quiet_s=3590.0)
        assert watch(hunt, Seen(), 200.0, 9.9).events == 2
        assert watch(hunt, Seen(), 200.0, 10.0) == Hunt(events=1, quiet_s=0.0)

    def test_nothing_to_forget_is_no_event_less(self) -> None:
        assert watch(Hunt(turns_s=(1.0,), quiet_s=4000.0), Seen(), 200.0, 1.0).events == 0

    def test_three_events_hold_until_a_person_has_looked(self) -> None:
        assert not Hunt(events=2).held
        hunt = Hunt(events=3, quiet_s=5000.0)
        assert hunt.held
        assert watch(hunt, Seen(), 200.0, 1.0).events == 3
        state = replace(begin(50.0, Tuning()), hunt=hunt)
        assert calm(state) == replace(state, hunt=Hunt())
