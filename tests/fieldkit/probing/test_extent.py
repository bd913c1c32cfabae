"""Holes and longest reads, found on paper devices."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.probing.extent import Block, Extent, explore


def found(
    device: Callable[[Block], bool], first: int, last: int, most: int = 125, **options: int
) -> tuple[Extent, int]:
    """Explore a paper device; return what was found and how many reads it took."""
    explorer = explore(first, last, most, **options)
    block, asked = next(explorer), 0
    while True:
        asked += 1
        assert 1 <= block.count <= most
        assert first <= block.address <= block.address + block.count - 1 <= last
        try:
            block = explorer.send(device(block))
        except StopIteration as end:
            extent: Extent = end.value
            return extent, asked


def device(registers: set[int], limit: int = 125) -> Callable[[Block], bool]:
    return lambda block: (
        block.count <= limit and registers.issuperset(range(block.address, block.address + block.count))
    )


def test_a_map_without_holes_takes_few_reads() -> None:
    extent, asked = found(device(set(range(500))), 0, 499)
    assert extent.runs == (Block(0, 500),)
    assert extent.holes == ()
    assert (extent.most, extent.refused, extent.done_to) == (125, None, 499)
    assert asked <= 5


def test_holes_are_found_at_both_ends_and_between() -> None:
    extent, _ = found(device({3, 4, 5, 9}), 0, 12)
    assert extent.runs == (Block(3, 3), Block(9, 1))
    assert extent.holes == (Block(0, 3), Block(6, 3), Block(10, 3))


@pytest.mark.parametrize("limit", [1, 2, 32, 40, 60, 120, 124])
def test_the_longest_read_is_found_exactly_and_makes_no_hole(limit: int) -> None:
    extent, asked = found(device(set(range(300)), limit), 0, 299)
    assert extent.runs == (Block(0, 300),)
    assert (extent.most, extent.refused) == (limit, limit + 1)
    assert asked < 700


def test_a_short_map_says_that_the_longest_read_may_be_longer() -> None:
    extent, _ = found(device(set(range(20)), 60), 0, 40)
    assert (extent.most, extent.refused) == (20, None)


def test_a_device_that_refuses_everything_has_no_runs_and_no_limit() -> None:
    extent, _ = found(device(set()), 10, 30)
    assert (extent.runs, extent.most, extent.refused) == ((), 0, None)
    assert extent.holes == (Block(10, 21),)


def test_an_exploration_ends_unfinished_after_so_many_reads_and_says_where() -> None:
    extent, asked = found(device(set()), 0, 999, most_asked=50)
    assert asked <= 51
    assert 0 < extent.done_to < 999
    assert extent.holes == (Block(0, extent.done_to + 1),)


@given(st.sets(st.integers(0, 60)), st.integers(1, 30))
def test_every_register_is_found_whatever_the_holes_and_the_limit(registers: set[int], limit: int) -> None:
    extent, _ = found(device(registers, limit), 0, 60)
    seen = {address for run in extent.runs for address in range(run.address, run.address + run.count)}
    assert seen == registers
    assert all(run.count >= 1 for run in extent.runs)
    longest = max((run.count for run in extent.runs), default=0)
    assert extent.most == min(limit, longest)
    assert extent.refused == (limit + 1 if longest > limit else None)


@pytest.mark.parametrize(("first", "last", "most"), [(5, 4, 1), (-1, 4, 1), (0, 65536, 1), (0, 4, 0), (0, 4, 2001)])
def test_an_impossible_range_is_refused(first: int, last: int, most: int) -> None:
    with pytest.raises(ValueError, match=r"allowed 0\.\.65535"):
        next(explore(first, last, most))
