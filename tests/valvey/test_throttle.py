"""FCV-101 as a device of its own: beside the valves, in nobody's way."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fieldkit.bus import LinkError
from fieldkit.clock import SteppedClock, settle
from fieldkit.device import Device
from fieldkit.reading import Reading, Reason
from fieldkit.tag import WRITE_ACK
from tests.valvey.paper_field import OPEN, POINTS, SHUT, GatedBus, profile
from valvey.throttle import SHORTEST_S
from valvey.writer import Writer


class Rig:
    """A writer whose FCV-101 is an energy valve."""

    def __init__(self, clock: SteppedClock) -> None:
        self.readings: dict[str, Reading] = {}
        self.valves, self.energy_valve = GatedBus(), GatedBus()
        controller = Device("valve_controller", 1, profile(), self.valves, {}, self.readings, clock)
        own = Device("fcv", 1, profile("belimo_energy-valve-v4"), self.energy_valve, {}, self.readings, clock)
        places = {tag: (controller, point) for tag, point in POINTS.items()} | {"FCV-101": (own, "set_point")}
        self.writer = Writer(places, self.readings, clock)


@asynccontextmanager
async def writing(clock: SteppedClock) -> AsyncGenerator[Rig]:
    rig = Rig(clock)
    task = asyncio.create_task(rig.writer.run())
    try:
        yield rig
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_four_valves_are_one_write_and_fcv_101_another_by_function_16(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.writer.put(OPEN)
        await settle()
        assert [(address, len(words)) for _, address, words in rig.valves.wrote] == [(0, 4), (8, 1)]
        assert rig.energy_valve.wrote == [("holding", 0, [round(100 * OPEN["FCV-101"])])]
        assert rig.energy_valve.multiple == 1


async def test_a_silent_fcv_101_keeps_no_valve_and_no_permit_waiting(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.writer.put(OPEN)
        await settle()
        rig.energy_valve.open.clear()
        await clock.advance(1.0)
        rig.writer.put(SHUT)
        await settle()
        assert rig.energy_valve.waiting == 1
        assert [words[0] for _, _, words in rig.valves.wrote[-3:]] == [0, 0, 0]
        assert rig.readings[WRITE_ACK].at_s == clock.now_s()
        assert rig.writer.counters.failed == 0
        rig.energy_valve.open.set()
        await settle()


async def test_a_command_that_failed_is_told_and_written_again(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        assert rig.writer.throttle is not None
        rig.energy_valve.fail[None] = LinkError(Reason.TIMEOUT, "no answer")
        rig.writer.put(OPEN)
        await settle()
        assert (rig.writer.throttle.counters.failed, rig.writer.throttle.last_error) == (1, "no answer")
        rig.energy_valve.fail.clear()
        await clock.advance(SHORTEST_S)
        rig.writer.put(OPEN)
        await settle()
        assert (rig.writer.throttle.counters.written, len(rig.energy_valve.wrote)) == (1, 1)


async def test_a_demand_that_moves_every_scan_is_written_at_most_ten_times_a_second_and_a_still_one_four(
    clock: SteppedClock,
) -> None:
    async with writing(clock) as rig:
        for scan in range(100):
            rig.writer.put({**OPEN, "FCV-101": 40.0 + 0.1 * scan})
            await settle()
            await clock.advance(0.02)
        assert 16 <= len(rig.energy_valve.wrote) <= 21
        assert len(rig.valves.wrote) <= 20
        rig.energy_valve.wrote.clear()
        for _ in range(100):
            rig.writer.put({**OPEN, "FCV-101": 50.0})
            await settle()
            await clock.advance(0.02)
        assert 7 <= len(rig.energy_valve.wrote) <= 9
        assert rig.energy_valve.wrote[-1] == ("holding", 0, [5000])


async def test_without_scans_or_without_a_demand_nothing_is_written(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.writer.put(OPEN)
        await settle()
        rig.energy_valve.wrote.clear()
        await clock.advance(10.0)
        await settle()
        rig.writer.put({})
        rig.writer.put({"XS-101": 0.0})
        await settle()
        assert rig.energy_valve.wrote == []


def test_in_the_valves_device_it_is_the_fifth_of_their_write(clock: SteppedClock) -> None:
    bus, readings = GatedBus(), dict[str, Reading]()
    device = Device("valve_controller", 1, profile(), bus, {}, readings, clock)
    assert Writer({tag: (device, point) for tag, point in POINTS.items()}, readings, clock).throttle is None
