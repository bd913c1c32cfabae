"""What is written to the valve controller, in which order, and what counts as acknowledged.

The scan puts its whole demand here and goes on; one task writes it. The newest demand wins. Nobody scans, nobody
writes: there is no timer in here that could keep the outputs of a hung process alive.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from fieldkit.bus import LinkError
from fieldkit.clock import Clock
from fieldkit.device import Device
from fieldkit.reading import Quality, Reading
from fieldkit.tag import WRITE_ACK
from fieldkit.units import Unit
from valvey.throttle import ThrottleWriter

REFRESH_S = 0.25
"""The whole demand is written again this long after the last time, whatever the feedback says (limit: 0.5 s)."""
RETRY_S = 0.02
ONCE_S = 0.3
"""What is written once is written at once or not at all: later it would meet another rack."""
PERMIT, STROKE, THROTTLE = "XS-101", "XK-101", "FCV-101"
VALVES = ("XV-101", "XV-102", "XV-103", "XV-104", THROTTLE)


@dataclass(slots=True)
class WriteCounters:
    """Totals since start."""

    passes: int = 0
    changes: int = 0
    acknowledged: int = 0
    failed: int = 0
    slowest_s: float = 0.0
    """Longest pass from demand to acknowledgement."""


class Writer:
    """Writes one rack's demand: the permit falls first and rises last.

    places     output tag -> its device and point; the five of VALVES are one write to one device, XS-101 is another
    throttle   writes FCV-101 where that is a device of its own; VALVES are then four
    readings   gets WRITE-ACK: when the valve block was last acknowledged (echo and read-back)
    """

    def __init__(
        self,
        places: Mapping[str, tuple[Device, str]],
        readings: dict[str, Reading],
        clock: Clock,
        refresh_s: float = REFRESH_S,
    ) -> None:
        self._places, self._readings, self._clock = dict(places), readings, clock
        self._refresh_s = refresh_s
        self._demand: dict[str, float] = {}
        self._dirty = False
        self._begun_s = float("-inf")
        self._wake = asyncio.Event()
        self._once: tuple[float, float] | None = None
        """A stroke test that is still to be written: its value, and when it was demanded."""
        self.acknowledged_s: float | None = None
        """When the valve block was last acknowledged since start; None = never."""
        self.counters = WriteCounters()
        self.last_error = ""
        self.throttle: ThrottleWriter | None = None
        if THROTTLE in self._places and {self._places[tag][0] for tag in VALVES if tag in self._places} != {
            self._places[THROTTLE][0]
        }:
            device, point = self._places[THROTTLE]
            self.throttle = ThrottleWriter(device, point, clock, refresh_s)

    def put(self, writes: Mapping[str, float]) -> bool:
        """Take the demand of one scan; True when it differs from the last one. Never blocks.

        An empty demand means that nothing may be written. A stroke test is written once, and never repeated.
        """
        if self.throttle is not None:
            self.throttle.put(writes.get(THROTTLE))
            writes = {tag: value for tag, value in writes.items() if tag != THROTTLE}
        once = writes.get(STROKE)
        if once is not None:
            writes = {tag: value for tag, value in writes.items() if tag != STROKE}
            self._wake.set()
        changed = writes != self._demand
        if changed or once is not None:  # a newer demand is of another rack than the test was meant for
            self._once = None if once is None else (once, self._clock.now_s())
        if changed:
            self._demand = dict(writes)
            self._dirty = True
            self.counters.changes += 1
        due_s = self._begun_s + (RETRY_S if self._dirty and not changed else self._refresh_s)
        if self._demand and (changed or self._clock.now_s() >= due_s):
            self._wake.set()
        return changed

    async def run(self) -> None:
        """Write for ever."""
        if self.throttle is None:
            await self._run()
            return
        async with asyncio.TaskGroup() as both:
            both.create_task(self._run())
            both.create_task(self.throttle.run())

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            demand = self._demand
            if not demand:
                continue
            self._begun_s = self._clock.now_s()
            self.counters.passes += 1
            try:
                done = await self._write(demand)
                if done:
                    await self._write_once()
            except LinkError as error:
                done = False
                self.counters.failed += 1
                self.last_error = error.text
            if self._demand is not demand:
                self._wake.set()
            elif done:
                self._dirty = False
                self.counters.slowest_s = max(self.counters.slowest_s, self._clock.now_s() - self._begun_s)
            else:
                self._dirty = True

    async def _write_once(self) -> None:
        once, self._once = self._once, None
        if once is not None and self._clock.now_s() - once[1] <= ONCE_S:
            await self._send({STROKE: once[0]}, read_back=False)

    async def _write(self, demand: Mapping[str, float]) -> bool:
        """One pass; False when a newer demand came in between or a part of it was not acknowledged."""
        valves = {tag: value for tag, value in demand.items() if tag in VALVES}
        falls = not demand.get(PERMIT, 1.0)
        trouble: LinkError | None = None
        if falls:
            trouble = await self._try({PERMIT: 0.0}, read_back=not self._dirty)
        if valves:
            self.acknowledged_s = await self._send(valves)
            self.counters.acknowledged += 1
            stamp = self.acknowledged_s
            self._readings[WRITE_ACK] = Reading(WRITE_ACK, stamp, Unit.SECOND, Quality.GOOD, stamp)
        if self._demand is not demand:
            return False
        if PERMIT in demand and (not falls or self._dirty):
            await self._send({PERMIT: demand[PERMIT]})
        elif trouble is not None:
            raise trouble
        return True

    async def _try(self, values: Mapping[str, float], *, read_back: bool) -> LinkError | None:
        """A permit that cannot be taken back keeps no valve from shutting: the trouble is told afterwards."""
        try:
            await self._send(values, read_back=read_back)
        except LinkError as error:
            return error
        return None

    async def _send(self, values: Mapping[str, float], *, read_back: bool = True) -> float:
        device = self._places[next(iter(values))][0]
        points = {self._places[tag][1]: value for tag, value in values.items()}
        return await device.write(points, read_back=read_back)
