"""FCV-101 where it is a device of its own: written beside the valves, never before them and never instead.

It holds what it was told last, so nothing waits for it: a silent FCV-101 costs the valve block and the permit nothing.
"""

import asyncio
from dataclasses import dataclass

from fieldkit.bus import LinkError
from fieldkit.clock import Clock
from fieldkit.device import Device

SHORTEST_S = 0.1
"""Least time between two writes: the flow control moves its demand every scan, the device's line is slow."""


@dataclass(slots=True)
class ThrottleCounters:
    """Totals since start."""

    written: int = 0
    failed: int = 0


class ThrottleWriter:
    """Writes the newest command for FCV-101 to its device; like the writer, it has no timer of its own."""

    def __init__(self, device: Device, point: str, clock: Clock, refresh_s: float) -> None:
        self._device, self._point, self._clock, self._refresh_s = device, point, clock, refresh_s
        self._demand_pct: float | None = None
        self._written_pct: float | None = None
        self._begun_s = float("-inf")
        self._wake = asyncio.Event()
        self.counters = ThrottleCounters()
        self.last_error = ""

    def put(self, demand_pct: float | None) -> None:
        """Take the command of one scan, %open; None = write nothing. Never blocks."""
        self._demand_pct = demand_pct
        news = demand_pct != self._written_pct
        if demand_pct is not None and self._clock.now_s() >= self._begun_s + (SHORTEST_S if news else self._refresh_s):
            self._wake.set()

    async def run(self) -> None:
        """Write for ever."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            demand_pct = self._demand_pct
            if demand_pct is None:
                continue
            self._begun_s = self._clock.now_s()
            try:
                await self._device.write({self._point: demand_pct})
            except LinkError as error:
                self._written_pct = None
                self.counters.failed += 1
                self.last_error = error.text
            else:
                self._written_pct = demand_pct
                self.counters.written += 1
