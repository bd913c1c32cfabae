"""A rack's lease: it counts from the sending of what was answered, and never outlives the coordinator's belief in it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.envelope import Lease
from valvey.core.leasing import (
    ASK_AGAIN_S,
    MOST_OPEN,
    RENEW_S,
    Act,
    Answer,
    Ask,
    Heard,
    Leasing,
    hear,
    held,
    left_s,
    new_boot,
    new_start,
    turn,
    want,
)

SEED = "demo/r03/boot-1"


def asking(now_s: float = 100.0, epoch: int = 0) -> tuple[Leasing, Ask]:
    leasing, asks, lost = turn(want(Leasing(epoch=epoch), "fill", now_s, {"volume_l": 45.0}), SEED, now_s)
    assert not lost
    return leasing, asks[0]


def yes(ask: Ask, *, epoch: int = 7, grant_id: str = "cdu1-7-1", ttl_s: float = 30.0) -> Answer:
    return Answer(ask.ask_id, True, grant_id, epoch, ttl_s, ask.work)


def no(ask: Ask, *, epoch: int = 7) -> Answer:
    return Answer(ask.ask_id, False, None, epoch, 0.0, ask.work, "r04 is being filled", "wait for r04")


def holding(now_s: float = 100.0) -> Leasing:
    leasing, ask = asking(now_s)
    leasing, heard = hear(leasing, yes(ask), now_s + 0.2)
    assert heard is Heard.GRANTED
    return leasing


def test_nothing_wanted_sends_nothing() -> None:
    assert turn(Leasing(), SEED, 100.0) == (Leasing(), (), False)


def test_a_wanted_work_is_asked_for_at_once_and_again_until_it_is_answered() -> None:
    leasing, ask = asking()
    assert (ask.act, ask.work, ask.grant_id, ask.args) == (Act.ASK, "fill", None, {"volume_l": 45.0})
    assert turn(leasing, SEED, 100.0 + ASK_AGAIN_S - 0.01)[1] == ()
    again = turn(leasing, SEED, 100.0 + ASK_AGAIN_S)[1]
    assert [one.act for one in again] == [Act.ASK]
    assert again[0].ask_id != ask.ask_id
    assert want(leasing, "fill", 105.0) is leasing


def test_every_message_has_an_id_that_the_contract_takes() -> None:
    _, ask = asking()
    told = Lease(simulated=True, ask_id=ask.ask_id, act="ask", work=ask.work, grant_id=None, epoch=ask.epoch)
    assert told.ask_id == ask.ask_id


def test_the_lease_counts_from_the_sending_not_from_the_answer() -> None:
    leasing, ask = asking(100.0)
    leasing, _ = hear(leasing, yes(ask), 109.0)
    assert held(leasing, 129.99)
    assert not held(leasing, 130.0)
    assert left_s(leasing, 120.0) == pytest.approx(10.0)
    assert left_s(Leasing(until_s=200.0), 120.0) == pytest.approx(0.0)


def test_a_renewal_goes_out_ten_seconds_after_the_last_answered_sending_and_prolongs_it() -> None:
    leasing = holding(100.0)
    assert turn(leasing, SEED, 109.9)[1] == ()
    leasing, (renewal,), lost = turn(leasing, SEED, 100.0 + RENEW_S)
    assert (renewal.act, renewal.grant_id, renewal.epoch, lost) == (Act.RENEW, "cdu1-7-1", 7, False)
    assert left_s(leasing, 110.0) == pytest.approx(20.0)  # sending alone prolongs nothing
    leasing, heard = hear(leasing, yes(renewal), 111.0)
    assert heard is Heard.GRANTED
    assert left_s(leasing, 111.0) == pytest.approx(29.0)


def test_an_unanswered_lease_is_lost_when_its_time_runs_out_and_asked_for_again() -> None:
    leasing, lost, now_s, sent = holding(100.0), False, 100.0, []
    while not lost:
        now_s += 1.0
        leasing, asks, lost = turn(leasing, SEED, now_s)
        sent += [ask.act for ask in asks]
    assert now_s == pytest.approx(130.0)
    assert sent == [Act.RENEW, Act.RENEW, Act.ASK]
    assert leasing.grant_id is None
    assert leasing.refusal is not None
    assert "ran out" in leasing.refusal[0]
    assert turn(leasing, SEED, now_s + 0.1)[2] is False  # told once


def test_an_answer_to_an_earlier_renewal_counts_from_that_one_and_never_shortens() -> None:
    leasing = holding(100.0)
    leasing, (first,), _ = turn(leasing, SEED, 110.0)
    leasing, (second,), _ = turn(leasing, SEED, 120.0)
    leasing, _ = hear(leasing, yes(second), 121.0)
    assert left_s(leasing, 121.0) == pytest.approx(29.0)
    leasing, heard = hear(leasing, yes(first), 122.0)
    assert heard is Heard.IGNORED
    assert left_s(leasing, 122.0) == pytest.approx(28.0)


def test_a_shorter_ttl_in_an_answer_does_not_cut_what_was_granted_before() -> None:
    leasing = holding(100.0)
    leasing, (renewal,), _ = turn(leasing, SEED, 110.0)
    leasing, heard = hear(leasing, yes(renewal, ttl_s=15.0), 111.0)
    assert heard is Heard.GRANTED
    assert leasing.until_s == pytest.approx(130.0)
    assert leasing.next_s == pytest.approx(115.0)  # a third of a short ttl


def test_a_refusal_is_remembered_with_what_would_help_and_asked_again_later() -> None:
    leasing, ask = asking(100.0)
    leasing, heard = hear(leasing, no(ask), 101.0)
    assert heard is Heard.REFUSED
    assert leasing.refusal == ("r04 is being filled", "wait for r04")
    assert turn(leasing, SEED, 105.9)[1] == ()
    leasing, (again,), _ = turn(leasing, SEED, 106.0)
    leasing, heard = hear(leasing, yes(again), 106.1)
    assert (heard, leasing.refusal) == (Heard.GRANTED, None)


def test_a_refused_renewal_is_the_loss_of_the_lease() -> None:
    leasing, (renewal,), _ = turn(holding(100.0), SEED, 110.0)
    leasing, heard = hear(leasing, no(renewal, epoch=8), 110.1)
    assert (heard, leasing.grant_id, leasing.epoch) == (Heard.LOST, None, 8)
    assert not held(leasing, 110.2)


def test_a_lower_epoch_is_refused_and_a_higher_one_is_kept_for_ever() -> None:
    leasing, ask = asking(epoch=9)
    assert hear(leasing, yes(ask, epoch=8), 100.1) == (leasing, Heard.LOWER_EPOCH)
    leasing, heard = hear(leasing, yes(ask, epoch=12), 100.2)
    assert (heard, leasing.epoch) == (Heard.GRANTED, 12)
    assert want(leasing, None, 101.0).epoch == 12
    assert new_boot(leasing) == Leasing(epoch=12, number=leasing.number)


def test_a_new_process_presents_what_it_holds_at_once_and_has_no_open_question() -> None:
    leasing, (renewal,), _ = turn(holding(100.0), SEED, 110.0)
    again = new_start(leasing, 112.0)
    assert again == replace(leasing, sent=(), next_s=112.0)
    assert hear(again, yes(renewal), 112.1) == (again, Heard.IGNORED)
    _, (presented,), lost = turn(again, SEED, 112.0)
    assert (presented.act, presented.grant_id, lost) == (Act.RENEW, "cdu1-7-1", False)
    assert presented.ask_id != renewal.ask_id


@pytest.mark.parametrize(
    "change",
    [
        {"ask_id": "00000000-0000-0000-0000-000000000000"},
        {"id": None},
        {"work": "drain"},
        {"ttl_s": 0.0},
    ],
)
def test_an_answer_that_does_not_fit_grants_nothing(change: dict[str, object]) -> None:
    leasing, ask = asking()
    after, heard = hear(leasing, replace(yes(ask), **change), 100.5)  # type: ignore[arg-type]
    assert heard is Heard.IGNORED
    assert not held(after, 100.5)


def test_a_renewal_answered_with_another_lease_changes_nothing() -> None:
    leasing, (renewal,), _ = turn(holding(100.0), SEED, 110.0)
    after, heard = hear(leasing, yes(renewal, grant_id="cdu1-7-2"), 111.0)
    assert heard is Heard.IGNORED
    assert (after.grant_id, after.until_s) == ("cdu1-7-1", 130.0)


def test_what_is_not_wanted_any_more_is_given_back_once() -> None:
    leasing, (back,), lost = turn(want(holding(100.0), None, 105.0), SEED, 105.0)
    assert (back.act, back.work, back.grant_id, lost) == (Act.GIVE_BACK, "fill", "cdu1-7-1", False)
    assert not held(leasing, 105.0)
    assert turn(leasing, SEED, 106.0)[1] == ()


def test_an_unanswered_ask_is_given_back_too_because_it_may_have_been_granted() -> None:
    leasing, ask = asking()
    leasing, (back, other), _ = turn(want(leasing, "drain", 101.0), SEED, 101.0)
    assert (back.act, back.work, back.grant_id) == (Act.GIVE_BACK, "fill", None)
    assert (other.act, other.work) == (Act.ASK, "drain")
    after, heard = hear(leasing, yes(ask), 101.1)
    assert (heard, after) == (Heard.IGNORED, leasing)


def test_what_was_never_asked_needs_no_giving_back() -> None:
    leasing = want(want(Leasing(), "fill", 100.0), None, 100.0)
    assert turn(leasing, SEED, 100.0)[1] == ()


def test_only_the_last_few_unanswered_messages_are_remembered() -> None:
    leasing, first = asking()
    for n in range(1, MOST_OPEN + 1):
        leasing, _, _ = turn(leasing, SEED, 100.0 + n * ASK_AGAIN_S)
    assert len(leasing.sent) == MOST_OPEN
    assert hear(leasing, yes(first), 113.0)[1] is Heard.IGNORED


@given(st.lists(st.tuples(st.floats(0.1, 12.0), st.booleans(), st.floats(0.0, 8.0)), max_size=30))
def test_the_coordinator_always_believes_in_a_lease_for_longer_than_the_rack(
    steps: list[tuple[float, bool, float]],
) -> None:
    """Whatever is delayed or lost: when the rack still works, ttl + 5 s after the coordinator's last reply are not over."""
    now_s, leasing, replied_s = 100.0, want(Leasing(), "fill", 100.0), float("-inf")
    for wait_s, arrives, delay_s in steps:
        now_s += wait_s
        leasing, asks, _ = turn(leasing, SEED, now_s)
        for ask in asks:
            replied_s = now_s + delay_s / 2
            if arrives:
                leasing, _ = hear(leasing, yes(ask), now_s + delay_s)
        now_s += delay_s
        if held(leasing, now_s):
            assert leasing.until_s <= replied_s + 35.0


def test_a_new_rack_has_asked_for_nothing_and_seen_nobody() -> None:
    assert Leasing() == Leasing(0, 0, None, {}, 0.0, None, 0.0, (), None, 0.0, None, None)
    assert MOST_OPEN == 4


def test_messages_are_numbered_from_one_and_an_answered_one_is_not_open_any_more() -> None:
    leasing, ask = asking(100.0)
    assert (leasing.number, leasing.sent) == (1, (ask,))
    leasing, (again,), _ = turn(leasing, SEED, 103.0)
    assert (leasing.number, leasing.sent) == (2, (ask, again))
    leasing, _ = hear(leasing, yes(ask), 103.1)
    assert leasing.sent == (again,)
    leasing, _ = hear(leasing, yes(again), 103.2)
    assert (leasing.number, leasing.sent) == (2, ())


@pytest.mark.parametrize(("now_s", "heard"), [(129.9, Heard.GRANTED), (130.0, Heard.IGNORED), (130.1, Heard.IGNORED)])
def test_an_answer_that_comes_when_its_lease_is_over_is_of_no_use(now_s: float, heard: Heard) -> None:
    leasing, ask = asking(100.0)
    leasing, became = hear(leasing, yes(ask), now_s)
    assert became is heard
    assert held(leasing, now_s) is (heard is Heard.GRANTED)


def test_a_lease_that_is_over_has_nothing_left() -> None:
    assert left_s(holding(100.0), 130.0) == 0.0
    assert left_s(holding(100.0), 999.0) == 0.0
    assert left_s(Leasing(until_s=130.0), 100.0) == 0.0
