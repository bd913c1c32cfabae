"""Time as an object: the shell asks a clock, so that a test can step it and a simulation can hurry it.

Ages, deadlines and timers use ``now_s`` (never stepped by NTP). What must survive a restart uses ``boot_s`` with
``boot_id``: the same boot continues counting, a new boot is a new count. Wall time is for people only.
"""

import asyncio
import heapq
import itertools
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

_BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """What the shell knows of time.

    now_s        monotonic seconds of this process' clock; differences only
    boot_s       seconds since boot, suspended time included; comparable across restarts with the same ``boot_id``
    boot_id      changes at every boot of the machine
    utc          wall time, for display and records; never compared
    sleep_until  return at or after ``due_s`` of ``now_s``; at once when it has passed
    """

    def now_s(self) -> float: ...
    def boot_s(self) -> float: ...
    def boot_id(self) -> str: ...
    def utc(self) -> datetime: ...
    async def sleep_until(self, due_s: float) -> None: ...


class RealClock:
    """The machine's clocks; with ``speed`` a simulation's time runs that many times faster than the wall.

    Only a simulated rack may hurry: ``speed`` other than 1 without ``simulated`` raises ValueError.
    """

    def __init__(self, *, speed: float = 1.0, simulated: bool = False) -> None:
        if speed != 1 and not simulated:
            raise ValueError(f"speed {speed} is for simulated racks only; a real rack's speed is 1")
        if speed <= 0.0:
            raise ValueError(f"speed {speed} must be above 0")
        self.speed = speed
        self._origin_s = time.monotonic()
        self._boot_origin_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        self._boot_id = read_boot_id()

    def now_s(self) -> float:
        if self.speed == 1:
            return time.monotonic()
        return self._origin_s + (time.monotonic() - self._origin_s) * self.speed

    def boot_s(self) -> float:
        raw_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        return self._boot_origin_s + (raw_s - self._boot_origin_s) * self.speed

    def boot_id(self) -> str:
        return self._boot_id

    def utc(self) -> datetime:
        return datetime.now(UTC)

    async def sleep_until(self, due_s: float) -> None:
        # Rounding can end a loop's timer a little early: sleep again for what is left.
        while (left_s := due_s - self.now_s()) > 0.0:  # ruff: ignore[async-busy-wait] - it waits for time itself, not for an event
            await asyncio.sleep(left_s / self.speed)


class SteppedClock:
    """A clock that moves only when told; sleepers wake in order of their due times."""

    def __init__(self, now_s: float = 1000.0, *, boot_id: str = "stepped", utc: datetime | None = None) -> None:
        self._now_s = now_s
        self._start_s = now_s
        self._boot_id = boot_id
        self._utc = utc or datetime(2026, 1, 1, tzinfo=UTC)
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now_s(self) -> float:
        return self._now_s

    def boot_s(self) -> float:
        return self._now_s

    def boot_id(self) -> str:
        return self._boot_id

    def utc(self) -> datetime:
        return self._utc + timedelta(seconds=self._now_s - self._start_s)

    def step_wall(self, seconds: float) -> None:
        """Step the wall clock, as NTP does; monotonic time does not move."""
        self._utc += timedelta(seconds=seconds)

    async def sleep_until(self, due_s: float) -> None:
        if due_s <= self._now_s:
            await asyncio.sleep(0)
            return
        waker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (due_s, next(self._order), waker))
        await waker

    async def advance(self, seconds: float) -> None:
        """Move on, waking each sleeper at its own time and letting it run before the next."""
        if seconds < 0.0:
            raise ValueError("time cannot go backwards")
        until_s = self._now_s + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= until_s:
            due_s, _, waker = heapq.heappop(self._sleepers)
            self._now_s = max(self._now_s, due_s)
            if not waker.done():
                waker.set_result(None)
            await settle()
        self._now_s = until_s
        await settle()


async def settle(turns: int = 10) -> None:
    """Let every ready task run for a few turns of the loop."""
    for _ in range(turns):
        await asyncio.sleep(0)


def read_boot_id() -> str:
    """The kernel's boot id, or ``unknown`` where there is none (then nothing counts as the same boot)."""
    try:
        return _BOOT_ID_FILE.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"
