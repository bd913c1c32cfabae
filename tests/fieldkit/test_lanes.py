"""When devices are read: together, without waiting for who was silent, and the slow ones in the gaps."""

import asyncio

import pytest

from fieldkit.bus import LinkError
from fieldkit.clock import SteppedClock, settle
from fieldkit.device import Device
from fieldkit.lanes import FastLane, SpareLanes
from fieldkit.reading import Reading, Reason
from tests.fieldkit.paper_bus import PaperBus
from tests.valvey.paper_field import profile


class SlowBus(PaperBus):
    """Answers when told."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = asyncio.Event()
        self.answer.set()
        self.raises: BaseException | None = None

    async def read(self, unit: int, table: str, address: int, count: int) -> bytes:
        await self.answer.wait()
        if self.raises is not None:
            raise self.raises
        return await super().read(unit, table, address, count)


def device(clock: SteppedClock, *, lane: str = "fast") -> tuple[Device, SlowBus]:
    bus, readings = SlowBus(), dict[str, Reading]()
    return Device("panel", 1, profile(), bus, {"ZT-101": ("zt_101", lane)}, readings, clock), bus


async def test_a_scan_goes_on_as_soon_as_all_have_answered(clock: SteppedClock) -> None:
    one, _ = device(clock)
    two, _ = device(clock)
    lane = FastLane([one, two])
    lane.send()
    assert await lane.gather(10.0)


async def test_the_first_silence_costs_the_patience_and_the_second_nothing(clock: SteppedClock) -> None:
    one, _ = device(clock)
    two, silent = device(clock)
    lane = FastLane([one, two])
    silent.answer.clear()
    lane.send()
    assert not await lane.gather(0.01), "a device that may answer is waited for"
    lane.send()
    assert await lane.gather(10.0), "one that did not is not waited for, and not asked again while it is asked"
    assert lane.skipped == 1
    silent.answer.set()
    await settle()
    await lane.close()


async def test_a_device_that_answers_again_is_waited_for_again(clock: SteppedClock) -> None:
    one, bus = device(clock)
    lane = FastLane([one])
    bus.fail[None] = LinkError(Reason.TIMEOUT, "no answer")
    lane.send()
    assert await lane.gather(1.0), "a failure is an answer to waiting"
    bus.fail.clear()
    bus.answer.clear()
    lane.send()
    assert await lane.gather(10.0), "not waited for: it failed last time"
    bus.answer.set()
    await settle()
    bus.answer.clear()
    lane.send()
    assert not await lane.gather(0.01)
    await lane.close()


async def test_a_bug_in_a_read_is_raised_in_the_scan(clock: SteppedClock) -> None:
    one, bus = device(clock)
    lane = FastLane([one])
    bus.raises = KeyError("a bug")
    lane.send()
    await settle()
    with pytest.raises(KeyError, match="a bug"):
        await lane.gather(0.01)


async def test_spare_lanes_are_read_one_at_a_time_and_spread_over_their_period(clock: SteppedClock) -> None:
    devices = [device(clock, lane="normal") for _ in range(3)]
    fast = FastLane([])
    spare = SpareLanes([one for one, _ in devices], {"normal": 0.2, "slow": 60.0}, clock)
    asked = []
    for _ in range(50):
        before = [len(bus.asked) for _, bus in devices]
        spare.start_due(fast)
        await clock.advance(0.02)
        asked.append(sum(len(bus.asked) for _, bus in devices) - sum(before))
    assert max(asked) == 1
    assert all(4 <= len(bus.asked) <= 6 for _, bus in devices), "about every 0.2 s in 1 s"


async def test_a_hanging_spare_read_hinders_no_other(clock: SteppedClock) -> None:
    one, stuck = device(clock, lane="normal")
    two, bus = device(clock, lane="normal")
    stuck.answer.clear()
    fast = FastLane([])
    spare = SpareLanes([one, two], {"normal": 0.2}, clock)
    for _ in range(50):
        spare.start_due(fast)
        await clock.advance(0.02)
    assert len(bus.asked) >= 4
    await spare.close()


async def test_a_bug_in_a_spare_read_is_raised_too(clock: SteppedClock) -> None:
    one, bus = device(clock, lane="slow")
    bus.raises = KeyError("a bug")
    spare = SpareLanes([one], {"slow": 60.0}, clock)
    spare.start_due(FastLane([]))
    await settle()
    with pytest.raises(KeyError, match="a bug"):
        spare.start_due(FastLane([]))
