"""Turns on a bus, and when to try again."""

import asyncio

import pytest

from fieldkit.backoff import Backoff
from fieldkit.bus import Turn
from fieldkit.clock import settle


async def test_who_asks_first_class_goes_before_all_who_wait() -> None:
    turn, order = Turn(), list[str]()

    async def work(name: str, *, first: bool) -> None:
        await turn.take(first=first)
        order.append(name)
        turn.give()

    await turn.take(first=False)
    tasks = [asyncio.create_task(work(f"read {n}", first=False)) for n in range(3)]
    await settle()
    tasks.append(asyncio.create_task(work("write", first=True)))
    await settle()
    assert order == []
    turn.give()
    await asyncio.gather(*tasks)
    assert order == ["write", "read 0", "read 1", "read 2"]


async def test_a_turn_given_to_one_who_has_just_been_cancelled_is_handed_on() -> None:
    turn = Turn()
    await turn.take(first=False)
    gone = asyncio.create_task(turn.take(first=False))
    waits = asyncio.create_task(turn.take(first=False))
    await settle()
    turn.give()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    await asyncio.wait_for(waits, 1.0)
    turn.give()
    await asyncio.wait_for(turn.take(first=False), 1.0)


def test_waits_double_from_the_floor_to_the_cap_and_start_again_after_success() -> None:
    backoff = Backoff(0.25, 1.0)
    assert backoff.left_s(0.0) <= 0.0
    waits = [backoff.failed(100.0) for _ in range(8)]
    assert all(0.25 <= w <= 1.0 for w in waits)
    assert all(w >= 0.7 for w in waits[3:])
    assert backoff.left_s(100.0) == pytest.approx(waits[-1])
    backoff.succeeded()
    assert backoff.left_s(0.0) <= 0.0
    assert backoff.failed(0.0) <= 0.3


def test_attempts_are_never_without_a_pause() -> None:
    with pytest.raises(ValueError, match="above 0"):
        Backoff(0.0, 1.0)
