"""What every test gets: a clock that moves only when told, and no task left running behind it."""

import asyncio
import gc
import inspect
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import settings

from fieldkit.clock import SteppedClock, settle
from tests.parts import PARTS

if settings.get_current_profile_name() == "default":  # a busy machine is no failure, nor is it in CI's own profile
    settings.register_profile("default", deadline=None)
    settings.load_profile("default")
settings.register_profile("quick", max_examples=20, deadline=None)  # what `make unit` runs; `make test` runs 100


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest_asyncio.fixture
async def fail_on_stray_task() -> AsyncIterator[None]:
    """Fail a test that ends while a task it started still runs: in a daemon that is a leak."""
    yield
    await settle()  # a task that was cancelled but not awaited may end in peace
    stray = sorted(task.get_name() + " " + repr(task.get_coro()) for task in _others())
    for task in _others():
        task.cancel()
    if stray:
        pytest.fail("tasks still running at the end of the test: " + "; ".join(stray))


def _others() -> set[asyncio.Task[object]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Guard every coroutine test: the guard is set up first, so it looks after all other fixtures have ended."""
    here = Path(__file__).parent
    for item in items:
        if item.path.relative_to(here).as_posix() in PARTS:
            item.add_marker(pytest.mark.part)
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.function):
            item.fixturenames.insert(0, "fail_on_stray_task")


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of every later collection of garbage: it is most of the heap, and stays."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
