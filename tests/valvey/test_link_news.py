"""One line a minute for a link with trouble."""

from fieldkit.bus import LinkCounters
from valvey.link_news import LinkNews

Told = list[tuple[str, dict[str, int]]]


def test_a_link_is_told_of_when_something_failed_since_the_last_time_and_not_again() -> None:
    told: Told = []
    counters = {"panel": LinkCounters(), "valves": LinkCounters()}
    news = LinkNews(counters, lambda name, rose: told.append((name, rose)))
    counters["panel"].requests, counters["panel"].good, counters["panel"].connects = 10, 10, 1
    news.look()
    assert told == [], "a link that works is no news"
    counters["panel"].requests, counters["panel"].crc_errors, counters["panel"].late_replies = 15, 3, 1
    news.look()
    assert told == [("panel", {"requests": 5, "crc_errors": 3, "late_replies": 1})]
    news.look()
    counters["panel"].requests = 20
    news.look()
    assert len(told) == 1


def test_a_link_that_comes_later_is_looked_at_too() -> None:
    told: Told = []
    counters: dict[str, LinkCounters] = {}
    news = LinkNews(counters, lambda name, rose: told.append((name, rose)))
    news.look()
    counters["valves"] = LinkCounters(requests=2, timeouts=2)
    news.look()
    assert told == [("valves", {"requests": 2, "timeouts": 2})]


async def test_it_looks_once_a_minute() -> None:
    slept: list[float] = []

    class EnoughError(Exception):
        pass

    async def sleep(seconds: float) -> None:  # ruff: ignore[unused-async] - awaited as asyncio.sleep is
        slept.append(seconds)
        if len(slept) == 3:
            raise EnoughError

    told: Told = []
    counters = {"panel": LinkCounters(timeouts=1)}
    try:
        await LinkNews(counters, lambda name, rose: told.append((name, rose))).run(sleep)
    except EnoughError:
        assert slept == [60.0] * 3
    assert len(told) == 1
