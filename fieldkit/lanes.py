"""When each device is read: the fast lane at every tick and all devices at once, the others in the gaps, spread.

A device that does not answer costs nothing after its first silence: nobody waits for one that did not answer last
time, and none is asked again while a read is in flight.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any

from fieldkit.clock import Clock
from fieldkit.device import Device


class _Tasks:
    """Reads in flight, one a device. Field trouble never raises out of ``poll``: what does raise is a bug, and is told."""

    def __init__(self) -> None:
        self._tasks: dict[Device, asyncio.Task[None]] = {}
        self.bug: BaseException | None = None

    def __contains__(self, device: Device) -> bool:
        return device in self._tasks

    def start(self, device: Device, read: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.get_running_loop().create_task(self._run(device, read))
        self._tasks[device] = task
        task.add_done_callback(self._ended)

    async def _run(self, device: Device, read: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await read()
        finally:
            del self._tasks[device]

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.bug = self.bug or error

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class FastLane:
    """The fast reads of all devices, sent together at each tick."""

    def __init__(self, devices: Iterable[Device]) -> None:
        self._devices = tuple(device for device in devices if "fast" in device.lanes)
        self._reads = _Tasks()
        self._answers = set(self._devices)
        """Devices that answered when they were last asked; at first nobody knows better."""
        self._awaited: set[Device] = set()
        self._all_here: asyncio.Future[bool] | None = None
        self.skipped = 0
        """Reads that were not sent because the one before was still in flight."""

    def busy(self, device: Device) -> bool:
        return device in self._reads

    def send(self) -> None:
        """Ask every device whose last read has come to an end."""
        self._awaited.clear()
        for device in self._devices:
            if device in self._reads:
                self.skipped += 1
                self._answers.discard(device)
                continue
            if device in self._answers:
                self._awaited.add(device)
            self._reads.start(device, partial(self._read, device))

    async def gather(self, patience_s: float) -> bool:
        """Return when all who can be expected to answer have answered, or after ``patience_s``; True when all did.

        Raises what a read has raised: it was no field trouble.
        """
        if self._awaited and patience_s > 0.0:
            loop = asyncio.get_running_loop()
            self._all_here = loop.create_future()
            enough = loop.call_later(patience_s, self._done, False)
            try:
                await self._all_here
            finally:
                enough.cancel()
                self._all_here = None
        if self._reads.bug is not None:
            raise self._reads.bug
        return not self._awaited

    async def close(self) -> None:
        await self._reads.close()

    def _done(self, all_here: bool) -> None:
        if self._all_here is not None and not self._all_here.done():
            self._all_here.set_result(all_here)

    async def _read(self, device: Device) -> None:
        try:
            if await device.poll("fast"):
                self._answers.add(device)
            else:
                self._answers.discard(device)
        finally:
            self._awaited.discard(device)
            if not self._awaited:
                self._done(True)


class SpareLanes:
    """The normal and slow reads: one device's at a time, begun in the gap after a scan, spread over their periods."""

    def __init__(self, devices: Iterable[Device], periods_s: Mapping[str, float], clock: Clock) -> None:
        self._clock = clock
        pairs = [(d, lane) for d in devices for lane in d.lanes if lane in periods_s]
        now_s = clock.now_s()
        self._periods_s = periods_s
        # All once at the beginning, one after the other; later each keeps its place in the period.
        self._due_s = {pair: now_s + 0.005 * number for number, pair in enumerate(pairs)}
        self._reads = _Tasks()

    def start_due(self, fast: FastLane) -> None:
        """Begin the most overdue read whose device is idle, if there is one. Raises what an earlier one has raised."""
        if self._reads.bug is not None:
            raise self._reads.bug
        now_s = self._clock.now_s()
        due = [
            (due_s, pair)
            for pair, due_s in self._due_s.items()
            if due_s <= now_s and pair[0] not in self._reads and not fast.busy(pair[0])
        ]
        if not due:
            return
        due_s, (device, lane) = min(due, key=lambda one: one[0])
        self._due_s[device, lane] = max(due_s + self._periods_s[lane], now_s + 0.5 * self._periods_s[lane])
        self._reads.start(device, partial(_poll, device, lane))

    async def close(self) -> None:
        await self._reads.close()


async def _poll(device: Device, lane: str) -> None:
    await device.poll(lane)
