"""The one loop that touches the world: read, decide, write, remember, tell; at a fixed rate, for as long as it lives.

The order inside a scan is fixed: the field write leaves first, then the memory is handed to the disk, then what
happened is handed to the desk. Nothing in here waits for a disk or a broker. What ``step`` or ``gate`` raise ends the
process: the service manager starts it again, and the field devices' expiries cover the gap.
"""

import asyncio
import gc
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fieldkit.clock import Clock
from fieldkit.lanes import FastLane, SpareLanes
from fieldkit.reading import Quality, Reading
from fieldkit.service import Watchdog, notify
from fieldkit.units import Unit
from valvey.core.gate import Admission, Evidence, pass_through
from valvey.core.leasing import Answer
from valvey.core.memory import Memory
from valvey.core.requests import Request
from valvey.core.step import Setup, step
from valvey.done import Done, Listener
from valvey.writer import Writer

EVIDENCE_AGE_S = 0.5
"""Oldest read-back that the gate believes."""
ENTERING_S = 0.5
"""How long after the entry into FLOWING the permit may still rise."""
YOUNG_COLLECTION_S, WHOLE_COLLECTION_S = 2.0, 60.0
"""Periods of the garbage collections that are made between scans instead of inside them."""
SWITCH_S = 0.0005
"""Longest time that a thread of the disk or the log keeps the interpreter from the scan (Python's default: 5 ms)."""
SYS_GATE = "SYS-GATE"

_COILS = (("XV-101", "XY-101"), ("XV-102", "XY-102"), ("XV-103", "XY-103"), ("XV-104", "XY-104"), ("XS-101", "XSY-101"))
_SHUT = (("XV-101", "ZSC-101"), ("XV-102", "ZSC-102"), ("XV-103", "ZSC-103"))


@dataclass(slots=True)
class ScanCounters:
    """Totals since start; times in seconds."""

    scans: int = 0
    missed: int = 0
    """Scans that were left out because the one before was late."""
    incomplete: int = 0
    """Scans that did not wait any longer for a device that had answered before."""
    stopped: int = 0
    """Demands that the gate did not pass."""
    late_s: float = 0.0
    """How late the last scan began."""
    worst_late_s: float = 0.0
    judged_s: float = 0.0
    """How long ``step`` and ``gate`` took in the last scan."""
    worst_judged_s: float = 0.0
    worst_collection_s: float = 0.0


def evidence_of(
    readings: Mapping[str, Reading], memory: Memory, acknowledged_s: float | None, now_s: float
) -> Evidence:
    """Return what the gate may know of the field: only what is good and at most half a second old."""

    def seen(tag: str) -> bool | None:
        reading = readings.get(tag)
        value = None if reading is None else reading.usable_value(now_s, EVIDENCE_AGE_S)
        return None if value is None else value >= 0.5

    rise_s, stroked = memory.permit_rise_s, memory.stroking(now_s)
    return Evidence(
        coil={output: seen(tag) for output, tag in _COILS},
        shut={output: seen(tag) for output, tag in _SHUT},
        entering=rise_s is not None and now_s - rise_s <= ENTERING_S,
        valves_acknowledged_s=None if acknowledged_s is None else now_s - acknowledged_s,
        locked=bool(memory.locks or memory.latches),
        stroking=None if stroked is None else f"XV-{stroked}",
    )


class Guard:
    """Guards one rack.

    take_requests  returns what was asked since the last call
    take_answers   returns what the loop's coordinator has answered since the last call
    listeners      told after the field write, in order: first who remembers, then who tells
    status         one line for the service manager
    """

    def __init__(
        self,
        memory: Memory,
        rack: Setup,
        readings: dict[str, Reading],
        lanes: tuple[FastLane, SpareLanes],
        writer: Writer,
        clock: Clock,
        *,
        fast_s: float,
        take_requests: Callable[[], Sequence[Request]],
        listeners: Sequence[Listener],
        watchdog: Watchdog,
        status: Callable[[Memory, ScanCounters], str],
        take_answers: Callable[[], Sequence[Answer]] = tuple,
    ) -> None:
        self.memory = memory
        self.counters = ScanCounters()
        self.guarding = asyncio.Event()
        """Set by the first judged scan: what protection does not need is begun after it."""
        self._rack, self._readings, self._writer, self._clock = rack, readings, writer, clock
        self._fast, self._spare = lanes
        self._fast_s = fast_s
        self._take_requests, self._take_answers, self._listeners = take_requests, take_answers, tuple(listeners)
        self._watchdog, self._status = watchdog, status
        self._young_s = self._whole_s = clock.now_s()

    async def run(self) -> None:
        """Scan for ever. Raises what ``step`` or ``gate`` raise."""
        due_s = self._clock.now_s()
        while True:
            await self._clock.sleep_until(due_s)
            late_s = self._clock.now_s() - due_s
            self.counters.late_s = late_s
            self.counters.worst_late_s = max(self.counters.worst_late_s, late_s)
            await self.scan_once()
            due_s += self._fast_s
            behind = int((self._clock.now_s() - due_s) / self._fast_s)
            if behind > 0:  # never catching up in bursts
                self.counters.missed += behind
                due_s += behind * self._fast_s

    async def scan_once(self) -> Done:
        """One scan from its reads to the last listener."""
        self._fast.send()
        if not await self._fast.gather(self._fast_s / 4):
            self.counters.incomplete += 1
        done = self._judge()
        if self._writer.put(done.writes):
            await asyncio.sleep(0)  # two turns of the loop: the write is on its way before anything is told
            await asyncio.sleep(0)
        for listener in self._listeners:
            listener(done)
        self.counters.scans += 1
        if self.counters.scans == 1:
            notify("READY=1", f"STATUS={self._status(self.memory, self.counters)}")
            self.guarding.set()
        if self._watchdog.interval_s is not None:
            self._watchdog.feed(self._clock.now_s(), self._status(self.memory, self.counters))
        self._spare.start_due(self._fast)
        self._collect()
        return done

    def _judge(self) -> Done:
        now_s, before = self._clock.now_s(), self.memory
        requests, seen = tuple(self._take_requests()), dict(self._readings)
        answers = tuple(self._take_answers())
        scan = step(before, seen, requests, self._rack, now_s, answers)
        field = evidence_of(seen, scan.memory, self._writer.acknowledged_s, now_s)
        writes, stopped = pass_through(scan.outputs, scan.memory.state, field)
        refused = Admission.SAFE in stopped.values()
        self.counters.stopped += len(stopped)
        self._readings[SYS_GATE] = Reading(SYS_GATE, float(refused), Unit.NONE, Quality.GOOD, now_s)
        self.memory = scan.memory
        took_s = self._clock.now_s() - now_s
        self.counters.judged_s = took_s
        self.counters.worst_judged_s = max(self.counters.worst_judged_s, took_s)
        return Done(self.counters.scans, now_s, before, seen, scan, requests, writes, stopped, answers)

    def _collect(self) -> None:
        """Collect garbage in the gap; the collector itself is off (see ``settle``)."""
        begun_s = self._clock.now_s()
        if begun_s - self._whole_s >= WHOLE_COLLECTION_S:
            self._whole_s = self._young_s = begun_s
            gc.collect()
        elif begun_s - self._young_s >= YOUNG_COLLECTION_S:
            self._young_s = begun_s
            gc.collect(1)
        else:
            return
        self.counters.worst_collection_s = max(self.counters.worst_collection_s, self._clock.now_s() - begun_s)


def settle() -> None:
    """Call once everything is built: what lives for ever is never looked at again, and no scan pays for a collection.

    Nothing is collected here: a start leaves some 900 lost objects behind, and looking for them takes as long as two scans.
    """
    gc.freeze()
    gc.disable()
    sys.setswitchinterval(SWITCH_S)


async def import_beside(module: str) -> None:
    """Import while the scans go on: in a thread, which gives way every half millisecond (see ``settle``)."""
    await asyncio.to_thread(importlib.import_module, module)
    gc.freeze()
