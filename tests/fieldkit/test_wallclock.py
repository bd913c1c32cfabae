"""Boot time and wall time."""

import time

import pytest

from fieldkit.wallclock import BootClock, WallClock


def test_the_guard_counts_from_the_boot_so_that_a_restart_does_not_start_anew() -> None:
    assert BootClock().now_s() == pytest.approx(time.clock_gettime(time.CLOCK_BOOTTIME), abs=0.5)
    assert BootClock().boot_s() == pytest.approx(BootClock().now_s(), abs=0.5)


def test_hurried_time_counts_from_the_boot_too_and_is_for_simulated_racks_only() -> None:
    hurried = BootClock(speed=10.0, simulated=True)
    assert hurried.now_s() == pytest.approx(10 * time.clock_gettime(time.CLOCK_BOOTTIME), abs=5.0)
    with pytest.raises(ValueError, match="simulated"):
        BootClock(speed=10.0)


def test_a_boot_time_has_a_wall_time_before_and_after_now() -> None:
    clock = BootClock()
    wall = WallClock(clock)
    now_s = clock.now_s()
    assert wall.of(now_s - 60.0) == pytest.approx(wall.now_s() - 60.0, abs=0.5)
    assert wall.of(now_s + 60.0) == pytest.approx(wall.now_s() + 60.0, abs=0.5)


def test_whether_the_clock_is_synchronised_is_asked_of_the_system_and_not_made_up() -> None:
    wall = WallClock(BootClock())
    assert wall.synced in {True, False}
    assert wall.synced is wall.synced
