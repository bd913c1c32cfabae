"""Boot time for the logic, wall time for people, and whether the wall clock may be believed."""

import asyncio
import ctypes
import time
from pathlib import Path

from fieldkit.clock import RealClock

_TIMESYNCD = Path("/run/systemd/timesync/synchronized")
_TIME_ERROR = 5
"""adjtimex(2): the clock is not synchronised."""
_ASK_AGAIN_S = 10.0


class BootClock(RealClock):
    """Counts seconds since boot, suspended time included: ages and timers survive a restart of the process.

    ``speed`` as in ``RealClock``; hurried time counts from the boot too, so that it does not jump at a restart.
    """

    def now_s(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) * self.speed

    def boot_s(self) -> float:
        return self.now_s()

    async def sleep_until(self, due_s: float) -> None:
        """Return about ``due_s``: a loop's timer may end a millisecond early, and a scan does not spin for that."""
        await asyncio.sleep(max(0.0, due_s - self.now_s()) / self.speed)


class WallClock:
    """Wall time of boot times, for people and records only."""

    def __init__(self, clock: BootClock) -> None:
        self._clock = clock
        self._synced, self._asked_s = False, float("-inf")

    def now_s(self) -> float:
        """Seconds since 1970 UTC."""
        return self._clock.utc().timestamp()

    def of(self, boot_s: float) -> float:
        """The wall time at which ``boot_s`` was or will be, as the wall clock goes now."""
        return self.now_s() + (boot_s - self._clock.now_s()) / self._clock.speed

    @property
    def synced(self) -> bool:
        """Whether the kernel or the time daemon says that the wall clock is synchronised; asked every 10 s."""
        now_s = self._clock.now_s()
        if now_s - self._asked_s >= _ASK_AGAIN_S:
            self._synced, self._asked_s = _kernel_says_synced(), now_s
        return self._synced


def _kernel_says_synced() -> bool:
    """Ask adjtimex without changing anything; a service that may not ask looks for the time daemon's mark."""
    answer = -1
    adjtimex = getattr(ctypes.CDLL(None), "adjtimex", None)
    if adjtimex is not None:
        answer = adjtimex(ctypes.create_string_buffer(512))  # all zeros: modes 0 = only read
    return answer != _TIME_ERROR if answer >= 0 else _TIMESYNCD.exists()
