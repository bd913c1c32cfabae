"""The one hand on the outputs while a rack is commissioned: reads, asks the door and the gate, writes; and lets go.

It is the guard's own field, gate and writer without the guard: whoever uses it holds the rack's lock file, so no guard
runs. Nothing is written outside an act. Each act ends with everything de-energised, whatever became of it: done, failed,
a signal, an error. Where even that write does not arrive, the outputs expire in their devices, as ever.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import pairwise
from typing import TypeVar

from fieldkit.bus import LinkError
from fieldkit.reading import Quality, Reading, Reason
from fieldkit.service import STOP_SIGNALS, stop_on_signals
from fieldkit.wallclock import BootClock
from valvey.commissioning.door import ALL_OFF, Demand, through, troubles
from valvey.commissioning.line import is_off
from valvey.config_rack import RackConfig, to_limits
from valvey.core.memory import Memory
from valvey.field import Field
from valvey.needs import READ_BACK
from valvey.scan import evidence_of

TICK_S = 0.04
OFF_S = 5.0
"""How long the end of an act waits for its coils to be read back off."""
BELIEVED_S = 2.0
"""How long the door believes a good reading: one lost reply is no reason to drop a rack that stands shut and dead."""
SETTLE_S = 1.0
"""Reads before an act, so that what it decides on is fresh."""
LISTENS, LISTEN_S = 6, 0.15
"""A guard writes every half second at the latest."""
BACKGROUND = Memory()
"""What the gate asks of a memory: no lock and no latch stand, as was checked, and nothing is under way."""
_AWAY = frozenset({Reason.TIMEOUT, Reason.LINK_DOWN, Reason.NEVER_READ})
R = TypeVar("R")


class BrokenOffError(Exception):
    """An act that was ended before its time: what the field showed, a device that does not answer, or a signal."""

    def __init__(self, why: str, *, told: bool = False) -> None:
        super().__init__(why)
        self.told = told
        """A person said so, by a signal."""


class Hand:
    """One rack's field in a technician's hand.

    clock  the rack's: a simulated one may run faster
    """

    def __init__(self, config: RackConfig, clock: BootClock, tell: Callable[[str], None]) -> None:
        self.config, self.clock, self.limits = config, clock, to_limits(config)
        self.field = Field(config, clock, lambda name, what: tell(f"{name}: {what}"))
        self._tell = tell
        self._demand: Demand | None = None
        self._wrote = False
        self._trouble = ""
        self._good: dict[str, Reading] = {}
        self._tick = asyncio.Event()
        self._stop = asyncio.Event()

    # -- what an act may ask and do ------------------------------------------------------------------------------------

    def seen(self, tag: str) -> float | None:
        """The value of ``tag`` when it is good and fresh."""
        reading = self.field.readings.get(tag)
        return (
            None if reading is None else reading.usable_value(self.clock.now_s(), self.limits.max_age_s.get(tag, 0.5))
        )

    def believed(self, tag: str) -> float | None:
        """The last good value of ``tag``, for the door."""
        reading = self._good.get(tag)
        max_age_s = max(BELIEVED_S, self.limits.max_age_s.get(tag, 0.0))
        return None if reading is None else reading.usable_value(self.clock.now_s(), max_age_s)

    def reading(self, tag: str) -> Reading:
        return self.field.readings[tag]

    def want(self, demand: Demand) -> None:
        """Demand this from the next scan on, until something else is demanded or something forbids it."""
        self._demand = demand

    async def until(self, seen: Callable[[], bool], most_s: float) -> float | None:
        """Wait until it is seen; return how long that took, None when it took longer than ``most_s``.

        Raises BrokenOffError when the field forbids what is demanded, or at a signal.
        """
        begun_s = self.clock.now_s()
        while True:
            await self._scanned()
            took_s = self.clock.now_s() - begun_s
            if seen():
                return took_s
            if took_s > most_s:
                return None

    async def watch(self, seconds: float, look: Callable[[], None] = lambda: None) -> None:
        """Go on as demanded, looking at each scan."""

        def looked() -> bool:
            look()
            return False

        await self.until(looked, seconds)

    async def silence(self, demand: Demand) -> float:
        """Write ``demand`` once more, and then nothing; return when its last write was acknowledged."""
        done = self.field.writer.counters.acknowledged
        if await self.until(lambda: self.field.writer.counters.acknowledged > done, 2.0) is None:
            raise BrokenOffError("the valve controller acknowledges no write")
        self.want(Demand(demand.work, demand.outputs, demand.powered, silent=True))
        await self.watch(0.2)  # a pass that had begun is over
        last_s = self.field.writer.acknowledged_s
        assert last_s is not None  # ruff: ignore[assert] - one was waited for
        return last_s

    # -- the frame around each act ---------------------------------------------------------------------------------------

    async def act(self, work: Callable[["Hand"], Awaitable[R]]) -> R:
        """Do one act from fresh readings to everything de-energised. Raises BrokenOffError."""
        self._trouble, self._wrote, self._demand = "", False, None
        with stop_on_signals((*STOP_SIGNALS, signal.SIGHUP)) as self._stop:
            loop = asyncio.get_running_loop()
            tasks = [loop.create_task(self._scan()), loop.create_task(self.field.writer.run())]
            try:
                await self.watch(SETTLE_S)
                return await work(self)
            finally:
                await self._let_go(tasks)
                ended = await _end(tasks)
                self.field.writer.put({})
                for error in ended:
                    if isinstance(error, Exception):
                        raise error  # a bug: field trouble comes back as readings

    @property
    def told_to_stop(self) -> bool:
        """Whether a signal came during the last act, also after its work was done."""
        return self._stop.is_set()

    async def open(self) -> None:
        """Connect; what does not answer shows in its readings."""
        await self.field.warm(2.0)

    def silent(self) -> list[str]:
        """The devices of which nothing at all could be read, with what was in the way."""
        out = []
        for name, device in self.field.devices.items():
            mine = [self.field.readings[tag] for tag in self.config.read_from(name)]
            if mine and all(one.reason in _AWAY for one in mine):
                out.append(device.last_error)
        return out

    async def close(self) -> None:
        await self.field.close()

    async def texts(self, bus: str) -> dict[str, str]:
        """What a device says of itself; empty when it says nothing or does not answer."""
        with suppress(LinkError):
            return await self.field.devices[bus].texts()
        return {}

    async def others_write(self) -> list[str]:
        """Timers of output expiries that are filled while nothing is written from here: somebody else writes."""
        out = []
        for name, device in self.field.devices.items():
            lefts = [one.left for one in device.profile.expiries.values() if one.left is not None]
            if not lefts or not any(place.bus == name for place in self.config.outputs.values()):
                continue
            seen = [await device.read_now(lefts)]
            for _ in range(LISTENS):
                await self.clock.sleep_until(self.clock.now_s() + LISTEN_S)
                seen.append(await device.read_now(lefts))
            rising = [one for one in lefts if any(_rose(a[one], b[one]) for a, b in pairwise(seen))]
            out += [f"{name}: {one} is being filled: somebody else writes to it" for one in rising]
        return out

    async def _let_go(self, tasks: list[asyncio.Task[None]]) -> None:
        """De-energise everything and see it; with nothing ever demanded there is nothing to do."""
        if not self._wrote:
            return
        self._demand = ALL_OFF
        coils = [tag for tag in READ_BACK.values() if tag in self.field.readings]
        acknowledged = self.field.writer.counters.acknowledged
        until_s = self.clock.now_s() + OFF_S
        while self.clock.now_s() < until_s and not any(task.done() for task in tasks):
            self._tick.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await self._tick.wait()
            if self.field.writer.counters.acknowledged > acknowledged and all(is_off(self.seen(tag)) for tag in coils):
                return
        self._tell("the outputs were NOT seen to go off; they expire in their devices, the permit before the valves")

    async def _scanned(self) -> None:
        """Wait for the next scan, and for what it forbids."""
        self._tick.clear()
        try:
            async with asyncio.timeout(5.0):
                await self._tick.wait()
        except TimeoutError:
            raise BrokenOffError("the scan stands still") from None
        if self._stop.is_set():
            raise BrokenOffError("told to stop", told=True)
        if self._trouble:
            raise BrokenOffError(self._trouble)

    async def _scan(self) -> None:
        due_s = self.clock.now_s()
        while True:
            self.field.fast.send()
            await self.field.fast.gather(TICK_S / 2 / self.clock.speed)
            self._put()
            self._tick.set()
            self.field.spare.start_due(self.field.fast)
            due_s = max(due_s + TICK_S, self.clock.now_s())
            await self.clock.sleep_until(due_s)

    def _put(self) -> None:
        """Hand to the writer what door and gate let through; the first trouble withdraws everything."""
        self._good.update((r.tag, r) for r in self.field.readings.values() if r.quality is Quality.GOOD)
        demand = self._demand
        if demand is None:
            self.field.writer.put({})
            return
        self._wrote = True
        acknowledged_s = self.field.writer.acknowledged_s
        field = evidence_of(self.field.readings, BACKGROUND, acknowledged_s, self.clock.now_s())
        if demand is not ALL_OFF:
            found = troubles(demand, self.believed, self.limits, self.config.data.tags)
            writes, stopped = through(demand, field)
            if found or (stopped and not demand.silent):
                self._trouble = "; ".join([*found, *stopped])
                self._demand = demand = ALL_OFF
            elif demand.silent:
                writes = {}
        if demand is ALL_OFF:
            writes, _ = through(demand, field)
        self.field.writer.put(writes)


def _rose(first: Reading, then: Reading) -> bool:
    return first.value is not None and then.value is not None and then.value > first.value


async def _end(tasks: list[asyncio.Task[None]]) -> list[BaseException | None]:
    """Cancel until they have ended: a cancellation that meets a reply in the same moment is lost in the client's wait."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=0.2)
    return [None if task.cancelled() else task.exception() for task in tasks]
