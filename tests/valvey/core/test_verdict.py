"""Votes with three values, and the timers that they drive."""

from itertools import product

import pytest

from valvey.core.verdict import NOT_ARMED, QUIET, D, H, Judgement, Timer, U, Verdict, any_of, count, k_of_n

ALL = (D, H, U)


@pytest.mark.parametrize("votes", list(product(ALL, repeat=3)))
def test_or_is_demand_before_unknown_before_healthy(votes: tuple[Verdict, ...]) -> None:
    expected = D if D in votes else U if U in votes else H
    assert any_of(votes) is expected


#: Two of three, typed by hand: (demanding, healthy, unknown) -> verdict. 2oo3 → 1oo2 → 1oo1.
TWO_OF_THREE = {
    (3, 0, 0): D, (2, 1, 0): D, (1, 2, 0): H, (0, 3, 0): H,
    (2, 0, 1): D, (1, 1, 1): D, (0, 2, 1): H,
    (1, 0, 2): D, (0, 1, 2): U,
    (0, 0, 3): U,
}  # fmt: skip


@pytest.mark.parametrize("votes", list(product(ALL, repeat=3)))
def test_two_of_three_degrades_to_one_of_two_and_one_of_one(votes: tuple[Verdict, ...]) -> None:
    assert k_of_n(2, votes) is TWO_OF_THREE[votes.count(D), votes.count(H), votes.count(U)]


@pytest.mark.parametrize("votes", list(product(ALL, repeat=3)))
def test_an_unknown_never_makes_a_vote_healthier(votes: tuple[Verdict, ...]) -> None:
    for place in range(3):
        lost = (*votes[:place], U, *votes[place + 1 :])
        if k_of_n(2, votes) is D and votes[place] is not D:
            assert k_of_n(2, lost) is D
        if k_of_n(2, votes) is not H:
            assert k_of_n(2, lost) is not H


def test_no_votes_at_all_are_unknown() -> None:
    assert k_of_n(2, ()) is U


def test_a_function_that_is_not_armed_has_no_evidence_and_is_not_blind() -> None:
    assert NOT_ARMED == (Verdict.NOT_ARMED, "", None, None, 0.0, False, None)
    assert (QUIET.verdict, QUIET.demand_s, QUIET.blind_s, QUIET.blind) == (H, 0.0, 0.0, False)


def say(verdict: Verdict, *, blind: bool = False) -> Judgement:
    return Judgement(verdict, blind=blind)


def after(*steps: tuple[Judgement, float], timer: Timer = QUIET) -> Timer:
    for judgement, dt_s in steps:
        timer = count(timer, judgement, dt_s)
    return timer


def test_the_first_scan_of_a_demand_counts_nothing_so_that_no_hold_is_too_short() -> None:
    assert after((say(D), 0.5)).demand_s == pytest.approx(0.0)
    assert after((say(D), 0.5), (say(D), 0.25)).demand_s == pytest.approx(0.25)


def test_a_demand_counts_up_an_unknown_freezes_it_and_a_healthy_counts_it_down() -> None:
    held = after((say(D), 0.0), (say(D), 1.0))
    assert after((say(U), 0.5), (say(U), 0.5), timer=held).demand_s == pytest.approx(1.5)
    assert after((say(H), 0.5), (say(H), 0.5), timer=held).demand_s == pytest.approx(1.0)
    assert after((say(H), 0.5), (say(H), 9.0), timer=held).demand_s == pytest.approx(0.0)


def test_the_time_between_two_scans_belongs_to_the_first_of_them() -> None:
    timer = after((say(D), 0.0), (say(U), 0.5), (say(D), 0.5), (say(U), 0.5), (say(D), 0.5))
    assert timer.demand_s == pytest.approx(1.0)


def test_a_function_that_is_not_armed_forgets() -> None:
    held = after((say(D), 0.0), (say(D), 1.0))
    assert count(held, NOT_ARMED, 1.0) is QUIET


def test_blindness_has_a_time_of_its_own_that_counts_down_with_the_first_sight() -> None:
    timer = after((say(U, blind=True), 1.0), (say(U, blind=True), 1.0), (say(U), 1.0))
    assert (timer.blind, timer.blind_s) == (False, 2.0)
    assert after((say(U), 0.5), timer=timer).blind_s == pytest.approx(1.5)
    assert after((say(U), 0.5), (say(H), 9.0), timer=timer).blind_s == pytest.approx(0.0)


def test_a_row_that_is_healthy_and_blind_counts_its_blindness() -> None:
    timer = after((say(H, blind=True), 1.0), (say(H, blind=True), 1.0))
    assert (timer.demand_s, timer.blind_s, timer.blind) == (0.0, 1.0, True)


def test_a_quiet_timer_stays_the_same_object_and_a_changed_one_does_not() -> None:
    assert count(QUIET, say(H), 0.05) is QUIET
    held = after((say(D), 0.0), (say(D), 1.0))
    frozen = count(held, say(U), 0.0)
    assert count(frozen, say(U), 0.5) is frozen
    assert count(held, say(D), 0.05) is not held
    assert count(after((say(U, blind=True), 0.0)), say(U, blind=True), 1.0).blind_s == pytest.approx(1.0)
    assert count(frozen, say(U, blind=True), 0.5).blind
