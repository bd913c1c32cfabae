"""The loop: its order, its rate, and what ends it."""

import asyncio
import gc
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from fieldkit.clock import SteppedClock, settle
from fieldkit.device import Device
from fieldkit.lanes import FastLane, SpareLanes
from fieldkit.reading import Quality, Reading, Reason, bad
from fieldkit.units import Unit
from tests.plant import flowing, limits
from tests.valvey.paper_field import POINTS, GatedBus, profile
from valvey import scan as scanning
from valvey.core.chart import State
from valvey.core.gate import Admission
from valvey.core.memory import Lock, Memory
from valvey.core.requests import Request
from valvey.core.step import setup
from valvey.done import Done
from valvey.scan import SYS_GATE, Guard, evidence_of
from valvey.writer import Writer

FAST_S = 0.02


class PaperWatchdog:
    def __init__(self) -> None:
        self.interval_s: float | None = 0.5
        self.fed: list[str] = []

    def feed(self, _now_s: float, status: str = "") -> bool:
        self.fed.append(status)
        return True


class Rig:
    """A guard over one paper device that shows a flowing rack."""

    def __init__(self, clock: SteppedClock, memory: Memory | None = None) -> None:
        self.clock, self.readings = clock, dict[str, Reading]()
        self.order: list[str] = []
        self.bus = GatedBus()
        device = Device("vc", 1, profile(), self.bus, {}, self.readings, clock)
        self.writer = Writer({tag: (device, point) for tag, point in POINTS.items()}, self.readings, clock)
        self.watchdog = PaperWatchdog()
        watchdog: Any = self.watchdog
        self.asked: list[Request] = []
        self.done: list[Done] = []
        self.on_scan: Callable[[], object] = lambda: None
        self.guard = Guard(
            memory if memory is not None else flowing().memory,
            setup(limits()),
            self.readings,
            (FastLane([]), SpareLanes([], {}, clock)),
            self.writer,
            clock,
            fast_s=FAST_S,
            take_requests=self._take,
            listeners=(self._first, self._second),
            watchdog=watchdog,
            status=lambda memory, counters: f"{memory.state} {counters.scans}",
        )
        self.show()

    def show(self) -> None:
        """Every reading of a flowing rack, fresh now."""
        rack = flowing()
        rack.now_s = self.clock.now_s()
        rack.ack_s = rack.now_s
        self.readings.update(rack.readings())

    def _take(self) -> Sequence[Request]:
        asked, self.asked = self.asked, []
        return asked

    def _first(self, done: Done) -> None:
        self.done.append(done)
        self.order.append(f"remember after {len(self.bus.wrote)} writes")
        self.show()
        self.on_scan()

    def _second(self, _done: Done) -> None:
        self.order.append("tell")


@pytest.fixture
def rig(clock: SteppedClock) -> Rig:
    memory = replace(flowing().memory, now_s=clock.now_s())
    return Rig(clock, memory)


async def test_the_field_write_leaves_before_anybody_is_told(rig: Rig) -> None:
    writing = asyncio.create_task(rig.writer.run())
    await settle()
    await rig.guard.scan_once()
    assert rig.order == ["remember after 1 writes", "tell"]
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)


async def test_scans_keep_their_rate_and_feed_the_watchdog_when_they_are_complete(
    rig: Rig, clock: SteppedClock
) -> None:
    running = asyncio.create_task(rig.guard.run())
    await clock.advance(1.0)
    assert 50 <= rig.guard.counters.scans <= 51
    assert len(rig.watchdog.fed) == rig.guard.counters.scans
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_late_scan_is_followed_by_no_burst(rig: Rig, clock: SteppedClock) -> None:
    running = asyncio.create_task(rig.guard.run())
    await clock.advance(0.1)
    before = rig.guard.counters.scans

    def hang() -> None:
        clock._now_s += 0.5
        rig.on_scan = lambda: None

    rig.on_scan = hang
    await clock.advance(0.02)
    rig.show()
    await clock.advance(0.1)
    assert rig.guard.counters.scans - before <= 9
    assert rig.guard.counters.missed >= 24
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_what_step_raises_ends_the_loop(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a field event without a row")

    monkeypatch.setattr(scanning, "step", broken)
    with pytest.raises(KeyError):
        await rig.guard.run()
    assert rig.watchdog.fed == []


async def test_requests_reach_step_and_their_answer_comes_with_the_scan(rig: Rig) -> None:
    rig.asked = [Request("id-1", "emergency_stop", "operator", "ann")]
    done = await rig.guard.scan_once()
    assert done.scan.memory.state is State.ESD
    assert done.requests[0].id == "id-1"
    assert rig.guard.memory is done.scan.memory


async def test_step_sees_the_readings_as_they_were_and_later_ones_do_not_change_the_record(rig: Rig) -> None:
    done = await rig.guard.scan_once()
    seen = done.readings["FT-101"]
    rig.readings["FT-101"] = bad("FT-101", Unit.L_MIN, 0.0, Reason.TIMEOUT)
    assert done.readings["FT-101"] is seen


async def test_what_the_gate_does_not_pass_is_counted_and_becomes_a_reading(rig: Rig) -> None:
    rig.readings["XSY-101"] = replace(rig.readings["XSY-101"], value=0.0)
    rig.writer.acknowledged_s = rig.clock.now_s()
    done = await rig.guard.scan_once()
    assert done.stopped["XS-101"] is Admission.SAFE
    assert done.writes["XS-101"] == pytest.approx(0.0)
    assert rig.guard.counters.stopped >= 1
    assert rig.done[0].readings.get(SYS_GATE) is None
    done = await rig.guard.scan_once()
    assert done.readings[SYS_GATE].value == pytest.approx(1.0)


async def test_garbage_is_collected_between_scans_and_never_inside_them(rig: Rig, clock: SteppedClock) -> None:
    running = asyncio.create_task(rig.guard.run())
    await clock.advance(2.1)
    assert rig.guard.counters.worst_collection_s >= 0.0
    assert rig.guard._young_s > 1000.0
    await clock.advance(60.0)
    assert rig.guard._whole_s > 1000.0
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_nothing_is_collected_by_itself_once_settled() -> None:
    interval_s = sys.getswitchinterval()
    try:
        scanning.settle()
        assert not gc.isenabled()
        assert sys.getswitchinterval() < 0.001
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
        gc.enable()
        sys.setswitchinterval(interval_s)


@pytest.mark.parametrize("spoil", ["old", "uncertain", "absent"])
def test_the_gate_believes_only_what_is_good_and_fresh(spoil: str) -> None:
    now_s = 1000.0
    reading = Reading("XY-101", 1.0, Unit.NONE, Quality.GOOD, now_s)
    readings = {"XY-101": reading}
    assert evidence_of(readings, Memory(), None, now_s + 0.5).coil["XV-101"] is True
    if spoil == "old":
        now_s += 0.51
    elif spoil == "uncertain":
        readings["XY-101"] = replace(reading, quality=Quality.UNCERTAIN, reason=Reason.RATE)
    else:
        readings.clear()
    assert evidence_of(readings, Memory(), None, now_s).coil["XV-101"] is None


def test_the_gate_is_told_of_the_entry_the_last_write_and_locks() -> None:
    entered = Memory(permit_rise_s=999.7, locks=(Lock("ann", "work", 1.0),))
    evidence = evidence_of({}, entered, 999.0, 1000.0)
    assert (evidence.entering, evidence.valves_acknowledged_s, evidence.locked) == (True, 1.0, True)
    evidence = evidence_of({}, Memory(permit_rise_s=999.4), None, 1000.0)
    assert (evidence.entering, evidence.valves_acknowledged_s, evidence.locked) == (False, None, False)
