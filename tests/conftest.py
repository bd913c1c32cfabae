"""What every test gets: a clock that moves only when told, and no task left running behind it."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from fieldkit.clock import SteppedClock, settle


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


#: Modules that step whole plants, explore, or start programs: parts of `make test`, too slow to run after every change.
PARTS = frozenset({
    "attack/test_exploration.py",
    "attack/test_paper_rack_by_chance.py",
    "fieldkit/test_journal.py",
    "fieldkit/test_ring.py",
    "fieldkit/test_store.py",
    "firmware_sim/test_check_physics.py",
    "firmware_sim/test_faults.py",
    "firmware_sim/test_plant.py",
    "firmware_sim/test_plant_rack.py",
    "firmware_sim/test_procedures_on_the_plant.py",
    "firmware_sim/test_scenario.py",
    "test_mutation.py",
    "test_project.py",
    "valvey/core/loop/test_on_the_plant.py",
    "valvey/core/test_testing.py",
    "valvey/core/test_virtual_sensors_plant.py",
    "valvey/test_cli.py",
    "valvey/test_recorder.py",
    "valvey/test_scan.py",
})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Guard every coroutine test: the guard is set up first, so it looks after all other fixtures have ended."""
    here = Path(__file__).parent
    for item in items:
        if item.path.relative_to(here).as_posix() in PARTS:
            item.add_marker(pytest.mark.part)
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.function):
            item.fixturenames.insert(0, "fail_on_stray_task")
