"""How long a device takes."""

from fieldkit.probing.delays import Delays, histogram, quantile, timeout_s


def test_quantiles_are_those_of_the_nearest_rank() -> None:
    rows = [0.001 * n for n in range(1, 101)]
    assert quantile(rows, 0.5) == 0.050
    assert quantile(rows, 0.99) == 0.099
    assert quantile([3.0], 0.01) == 3.0
    assert quantile([], 0.5) is None


def test_the_histogram_goes_by_powers_of_two_and_has_no_gaps() -> None:
    assert histogram([0.0005, 0.001, 0.0011, 0.009]) == [(0.001, 2), (0.002, 1), (0.004, 0), (0.008, 0), (0.016, 1)]
    assert histogram([]) == []
    assert histogram([0.004]) == [(0.004, 1)]


def test_the_timeout_is_four_times_the_slowest_reply_within_bounds() -> None:
    assert timeout_s([0.001]) == 0.1
    assert timeout_s([0.01, 0.05]) == 0.2
    assert timeout_s([0.051]) == 0.25
    assert timeout_s([3.0]) == 5.0
    assert timeout_s([]) is None


def test_nothing_answered_is_told_as_such() -> None:
    document = Delays([], 3).document()
    assert (document["answered"], document["unanswered"], document["p50_s"], document["timeout_s"]) == (
        0,
        3,
        None,
        None,
    )
    assert document["histogram"] == []
