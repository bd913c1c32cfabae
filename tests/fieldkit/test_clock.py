"""Time as an object."""

import asyncio
import time

import pytest

from fieldkit.clock import RealClock, SteppedClock, read_boot_id


def test_a_real_rack_cannot_be_hurried() -> None:
    with pytest.raises(ValueError, match="simulated racks only"):
        RealClock(speed=2.0)


@pytest.mark.parametrize("speed", [0.0, -1.0])
def test_time_cannot_stand_still_or_run_backwards(speed: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        RealClock(speed=speed, simulated=True)


def test_a_hurried_clock_counts_its_factor() -> None:
    clock = RealClock(speed=1000.0, simulated=True)
    start_s, start_wall_s = clock.now_s(), time.monotonic()
    while time.monotonic() - start_wall_s < 0.005:
        pass
    assert clock.now_s() - start_s > 4.9
    assert clock.boot_s() > 0.0


def test_boot_time_is_comparable_with_the_kernels() -> None:
    clock = RealClock()
    assert clock.boot_s() == pytest.approx(time.clock_gettime(time.CLOCK_BOOTTIME), abs=0.5)
    assert clock.boot_id() == read_boot_id()
    assert clock.utc().tzinfo is not None


async def test_sleep_until_never_returns_early() -> None:
    clock = RealClock()
    due_s = clock.now_s() + 0.0123
    await clock.sleep_until(due_s)
    assert clock.now_s() >= due_s
    await clock.sleep_until(clock.now_s() - 5.0)


async def test_a_stepped_clock_wakes_sleepers_in_order_and_at_their_times() -> None:
    clock = SteppedClock(100.0)
    woken: list[tuple[str, float]] = []

    async def sleep(name: str, *dues_s: float) -> None:
        for due_s in dues_s:
            await clock.sleep_until(due_s)
            woken.append((name, clock.now_s()))

    tasks = [asyncio.create_task(sleep("late", 103.0)), asyncio.create_task(sleep("early", 101.0, 102.0))]
    await clock.advance(1.5)
    assert woken == [("early", 101.0)]
    await clock.advance(10.0)
    assert woken == [("early", 101.0), ("early", 102.0), ("late", 103.0)]
    assert clock.now_s() == pytest.approx(111.5)
    await asyncio.gather(*tasks)


async def test_a_stepped_wall_clock_does_not_move_monotonic_time() -> None:
    clock = SteppedClock()
    before_s, before = clock.now_s(), clock.utc()
    clock.step_wall(-3600.0)
    assert clock.now_s() == before_s
    assert (before - clock.utc()).total_seconds() == pytest.approx(3600.0)
    with pytest.raises(ValueError, match="backwards"):
        await clock.advance(-1.0)
