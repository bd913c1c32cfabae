"""Windows: levels that nonsense does not move, and no level for what was lost."""

import pytest

from racky.core.windows import LEAST_BLOCKS, Window, due, seen


def watched(*values: float | None, tag: str = "X", step_s: float = 1.0) -> Window:
    window = Window(0.0)
    for n, value in enumerate(values):
        window = seen(window, {tag: value}, n * step_s)
    return window


def test_a_level_needs_three_whole_blocks() -> None:
    assert watched(*[5.0] * 29).level("X") is None
    assert watched(*[5.0] * 30).level("X") == 5.0
    assert LEAST_BLOCKS == 3


def test_a_sample_is_taken_once_a_second_however_often_somebody_looks() -> None:
    window = watched(*[5.0] * 60, step_s=0.5)
    assert window.samples == 30
    assert not due(window, 29.5)
    assert due(window, 30.0)
    assert due(Window(7.0), 7.0)


def test_spikes_do_not_move_the_level() -> None:
    values = [100.0 if n % 3 == 0 else 5.0 for n in range(60)]
    window = watched(*values)
    assert window.level("X") == 5.0
    assert window.highest("X") == 100.0
    assert window.least["X"] == 5.0


def test_whole_blocks_of_nonsense_do_not_move_it_either() -> None:
    assert watched(*[5.0] * 30, *[99.0] * 10, *[5.0] * 10).level("X") == 5.0


@pytest.mark.parametrize(("gone", "level"), [(5, 5.0), (6, None)])
def test_a_reading_lost_in_more_than_a_twentieth_has_no_level(gone: int, level: float | None) -> None:
    window = watched(*[None] * gone, *[5.0] * (100 - gone))
    assert window.level("X") == level
    assert (window.highest("X") is None) == (window.spread("X") is None) == (level is None)
    assert window.good_share == pytest.approx(1.0 - gone / 100)


def test_the_spread_is_between_blocks_not_samples() -> None:
    window = watched(*[5.0, 7.0] * 5, *[8.0, 10.0] * 5, *[6.0, 8.0] * 5)
    assert window.spread("X") == 3.0


def test_an_empty_window_shows_nothing() -> None:
    window = Window(0.0)
    assert (window.level("X"), window.spread("X"), window.highest("X"), window.good_share) == (None, None, None, 0.0)


def test_a_tag_that_was_never_there_has_no_level() -> None:
    assert watched(*[5.0] * 40).level("Y") is None
