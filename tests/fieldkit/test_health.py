"""Whether a connection is worth keeping."""

from fieldkit.health import GATEWAY_SILENT_S, LinkHealth


def connected() -> LinkHealth:
    health = LinkHealth(silent_s=1.0, cap_s=10.0)
    health.connected(100.0)
    return health


def test_a_connection_on_which_nobody_answers_is_given_up_after_the_silent_time() -> None:
    health = connected()
    assert health.unanswered(1, 100.9) == ""
    assert health.unanswered(1, 101.0) == "silent for 1.0 s"


def test_one_silent_unit_is_no_reason_while_another_answers() -> None:
    health = connected()
    health.answered(1, 100.0)
    assert health.unanswered(2, 160.0) == ""
    assert health.unanswered(1, 160.0) == "silent for 60.0 s"


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
