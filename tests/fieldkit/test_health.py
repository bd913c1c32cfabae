"""Whether a connection is worth keeping."""

from fieldkit.health import FIRST_REST_FACTOR, GATEWAY_SILENT_S, REST_FACTOR, REST_MOST_S, LinkHealth


def connected() -> LinkHealth:
    health = LinkHealth(silent_s=1.0, cap_s=10.0)
    health.connected(100.0)
    return health


def test_a_connection_on_which_nobody_answers_is_given_up_after_the_silent_time() -> None:
    health = connected()
    assert health.unanswered(1, 100.9, 0.2) == ""
    assert health.unanswered(1, 101.0, 0.2) == "silent for 1.0 s"


def test_one_silent_unit_is_no_reason_while_another_answers() -> None:
    health = connected()
    health.answered(1, 100.0)
    assert health.unanswered(2, 160.0, 0.2) == ""
    assert health.unanswered(1, 160.0, 0.2) == "silent for 60.0 s"


def test_a_gateway_that_reaches_nobody_is_given_up_later_and_again_only_after_the_same_time() -> None:
    health = connected()
    assert health.nobody_there(100.0 + GATEWAY_SILENT_S - 0.1) == ""
    assert "reached no unit" in health.nobody_there(100.0 + GATEWAY_SILENT_S)
    health.connected(111.0)
    assert health.nobody_there(112.0) == ""


def test_the_end_of_a_useful_connection_is_no_reason_to_wait_but_that_of_a_useless_one_is() -> None:
    health = connected()
    health.answered(1, 100.0)
    health.disconnected(101.0)
    assert health.backoff.left_s(101.0) <= 0.0
    health.connected(101.0)
    health.disconnected(102.0)
    assert health.backoff.left_s(102.0) > 0.0


def test_two_units_that_fall_silent_one_after_the_other_are_a_gateway_that_stands_still() -> None:
    health = connected()
    health.answered(1, 100.0)
    health.answered(2, 100.1)
    health.answered(3, 100.2)
    assert health.unanswered(1, 100.4, 0.2) == ""
    assert health.unanswered(2, 100.6, 0.2) == "silent for 0.4 s"


def test_two_silent_units_are_no_gateway_that_stands_still_when_another_answers_between() -> None:
    health = connected()
    health.answered(1, 100.0)
    health.answered(2, 100.1)
    assert health.unanswered(1, 100.3, 0.2) == ""
    health.answered(3, 100.4)
    assert health.unanswered(2, 100.6, 0.2) == ""
    assert health.unanswered(1, 100.8, 0.2) == "", "it had fallen silent before"


def test_a_silent_unit_rests_after_two_misses_when_another_answered_in_between_and_comes_back_with_its_answer() -> None:
    health = connected()
    health.answered(1, 100.0)
    health.missed(2, 100.2, 0.1)
    assert health.rests_s(2, 100.2) <= 0.0
    health.answered(1, 100.3)
    health.missed(2, 100.5, 0.1)
    assert health.rests_s(2, 100.5) == FIRST_REST_FACTOR * 0.1
    assert health.rests_s(1, 100.5) <= 0.0
    health.answered(1, 100.9)
    health.missed(2, 103.0, 0.1)
    assert health.rests_s(2, 103.0) == REST_FACTOR * 0.1, "it has rested before: it is away"
    health.answered(2, 121.0)
    assert health.rests_s(2, 121.0) <= 0.0
    health.missed(2, 121.2, 0.1)
    assert health.rests_s(2, 121.2) <= 0.0, "the first miss after an answer"


def test_nobody_rests_while_nobody_answers_and_no_rest_is_longer_than_the_longest() -> None:
    health = connected()
    for second in range(5):
        health.missed(1, 101.0 + second, 0.5)
        health.missed(2, 101.5 + second, 0.5)
    assert health.rests_s(1, 106.0) <= 0.0
    health.answered(3, 106.0)
    health.missed(2, 106.5, 500.0)
    assert health.rests_s(2, 106.5) == REST_MOST_S
    health.connected(107.0)
    assert health.rests_s(2, 107.0) <= 0.0


def test_a_new_connection_is_no_answer_of_another_unit() -> None:
    health = connected()
    health.answered(1, 100.0)
    health.missed(1, 101.0, 0.2)
    health.connected(101.1)
    health.missed(1, 101.3, 0.2)
    assert health.rests_s(1, 101.3) <= 0.0


def test_the_first_answer_after_a_silence_of_the_whole_link_ends_every_rest() -> None:
    health = connected()
    health.answered(1, 100.0)
    health.missed(2, 100.2, 0.1)
    health.answered(1, 100.3)
    health.missed(2, 100.5, 0.1)
    health.answered(1, 101.4)
    assert health.rests_s(2, 101.4) <= 0.0


def test_a_late_answer_ends_the_rest_of_a_unit_that_is_only_slow() -> None:
    health = connected()
    health.answered(1, 100.0)
    health.missed(2, 100.2, 0.1)
    health.answered(1, 100.3)
    health.missed(2, 100.5, 0.1)
    health.heard(2, 100.5)
    assert health.rests_s(2, 100.5) <= 0.0
    health.answered(1, 100.6)
    health.missed(2, 100.7, 0.1)
    assert health.rests_s(2, 100.7) <= 0.0


def test_two_units_that_are_only_late_are_no_gateway_that_stands_still() -> None:
    health = connected()
    health.answered(1, 100.0)
    health.answered(2, 100.1)
    assert health.unanswered(1, 100.3, 0.2) == ""
    health.heard(1, 100.4)
    assert health.unanswered(2, 100.5, 0.2) == ""
    assert not health.stands_still


def test_garbled_replies_are_borne_longer_than_silence() -> None:
    health = connected()
    for number in range(5):
        health.answered(1, 100.0 + number)
        assert health.rests_s(2, 100.0 + number) <= 0.0
        health.missed(2, 100.5 + number, 0.1, after=5)
    assert health.rests_s(2, 104.5) > 0.0
