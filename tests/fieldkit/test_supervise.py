"""Tasks whose death is noticed."""

import asyncio

import pytest

from fieldkit.clock import SteppedClock, settle
from fieldkit.supervise import Death, EssentialTaskError, Supervisor


async def forever() -> None:
    await asyncio.Event().wait()


async def test_an_essential_task_that_raises_ends_the_wait_with_its_exception() -> None:
    deaths: list[Death] = []
    crew = Supervisor(deaths.append)

    async def bug() -> None:
        await settle(1)
        raise KeyError("FT-101")

    crew.start_essential("scan", bug)
    crew.start_helper("mqtt", forever)
    with pytest.raises(EssentialTaskError, match="task scan ended") as caught:
        await asyncio.wait_for(crew.wait(), 1.0)
    assert isinstance(caught.value.__cause__, KeyError)
    assert [d.name for d in deaths] == ["scan"]
    assert await crew.stop() == []


async def test_an_essential_task_that_merely_returns_is_dead_too() -> None:
    crew = Supervisor(lambda _: None)
    crew.start_essential("scan", lambda: settle(1))
    with pytest.raises(EssentialTaskError, match="returned"):
        await asyncio.wait_for(crew.wait(), 1.0)


async def test_a_helper_that_dies_is_told_and_runs_again() -> None:
    deaths: list[Death] = []
    starts = 0
    again = asyncio.Event()
    crew = Supervisor(deaths.append)

    async def shaky() -> None:
        nonlocal starts
        starts += 1
        if starts == 1:
            raise OSError("gone")
        again.set()
        await forever()

    crew.start_helper("mqtt", shaky, restart_s=0.001)
    await settle()
    assert crew.alive() == {"mqtt": False}
    assert "OSError: gone); restarts in 0.001 s" in str(deaths[0])
    await asyncio.wait_for(again.wait(), 1.0)
    assert crew.alive() == {"mqtt": True}
    assert await crew.stop() == []


async def test_stopping_leaves_no_task_and_tells_no_death() -> None:
    deaths: list[Death] = []
    crew = Supervisor(deaths.append)
    crew.start_essential("scan", forever)
    crew.start_helper("mqtt", forever)
    await settle()
    before = asyncio.all_tasks()
    assert await crew.stop() == []
    assert len(before) - len(asyncio.all_tasks()) == 2
    assert deaths == []
    assert await crew.stop() == []


async def test_a_task_that_will_not_end_is_named_after_the_grace() -> None:
    crew = Supervisor(lambda _: None)
    clock = SteppedClock()

    async def stubborn() -> None:
        try:
            await clock.sleep_until(clock.now_s() + 1.0)
        except asyncio.CancelledError:
            await clock.sleep_until(clock.now_s() + 1.0)

    crew.start_helper("stubborn", stubborn)
    await settle()
    assert await crew.stop(grace_s=0.01) == ["stubborn"]
    await clock.advance(2.0)


async def test_names_are_unique_and_restarts_never_spin() -> None:
    crew = Supervisor(lambda _: None)
    crew.start_helper("mqtt", forever)
    with pytest.raises(ValueError, match="runs already"):
        crew.start_helper("mqtt", forever)
    with pytest.raises(ValueError, match="would spin"):
        crew.start_helper("other", forever, restart_s=0.0)
    await crew.stop()
