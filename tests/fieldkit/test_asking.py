"""Waiting for what a broker tells: looked at with each piece of news, and never longer than was allowed."""

import asyncio

from fieldkit.asking import until


async def test_what_holds_already_is_not_waited_for() -> None:
    assert await until(lambda: True, asyncio.Event(), 0.0)


async def test_what_never_comes_is_given_up_in_time() -> None:
    assert not await until(lambda: False, asyncio.Event(), 0.0)
    assert not await until(lambda: False, asyncio.Event(), 0.01)


async def test_it_is_looked_at_with_each_piece_of_news_and_only_then() -> None:
    news, looks = asyncio.Event(), 0

    def third() -> bool:
        nonlocal looks
        looks += 1
        asyncio.get_running_loop().call_soon(news.set)
        return looks == 3

    assert await until(third, news, 60.0)
    assert looks == 3


async def test_what_comes_true_at_the_last_moment_without_news_counts() -> None:
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    assert await until(lambda: loop.time() - begun_s >= 0.01, asyncio.Event(), 0.02)
