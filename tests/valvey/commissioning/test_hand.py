"""The end of an act: whatever its tasks do, they end."""

import asyncio
from contextlib import suppress

import pytest

from fieldkit.clock import settle
from fieldkit.reading import Quality, Reading, Reason, bad
from fieldkit.units import Unit
from valvey.commissioning.hand import _end, _rose


@pytest.mark.timeout(5)
async def test_a_task_that_loses_its_first_cancellation_is_cancelled_again() -> None:
    async def deaf() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    bug = asyncio.get_running_loop().create_future()
    bug.set_exception(ValueError("a bug"))

    async def broken() -> None:
        await bug

    tasks = [asyncio.create_task(deaf()), asyncio.create_task(broken())]
    await settle()
    ended = await _end(tasks)
    assert (ended[0], str(ended[1])) == (None, "a bug")


@pytest.mark.parametrize(
    ("first", "then", "rose"),
    [(1.0, 2.0, True), (2.0, 2.0, False), (2.0, 1.0, False), (None, 1.0, False), (1.0, None, False)],
)
def test_a_timer_that_rises_is_filled_by_somebody(first: float | None, then: float | None, rose: bool) -> None:
    def left(value: float | None) -> Reading:
        gone = bad("left", Unit.SECOND, 0.0, Reason.TIMEOUT)
        return gone if value is None else Reading("left", value, Unit.SECOND, Quality.GOOD, 0.0)

    assert _rose(left(first), left(then)) is rose
