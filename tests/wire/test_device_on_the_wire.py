"""Devices as the profiles describe them, against the simulated ones, through every fault of the wire."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from fieldkit.bus import LinkError
from fieldkit.clock import RealClock
from fieldkit.device import Device
from fieldkit.modbus import TcpLink
from fieldkit.point import PointType
from fieldkit.profile import Profile
from fieldkit.reading import Quality, Reading, Reason
from fieldkit.yamlfile import check, load
from firmware_sim.bench import Bench
from firmware_sim.bench_config import demo_bench
from firmware_sim.wire_faults import WireFault

PROFILES = Path(__file__).parents[2] / "configs" / "profiles"
DEVICES = {
    "r01/valve_controller": "racky_valve-controller",
    "r01/transmitters": "racky_loop-transmitters",
    "r01/leak_panel": "racky_leak-panel",
    "r01/busbar_meter": "racky_busbar-meter",
    "cdu": "racky_cdu",
}
STEADY = {"ZSO-101": "zso_101", "ZSC-101": "zsc_101", "ZSO-102": "zso_102", "XY-101": "xy_101", "HS-101": "hs_101"}
HARMLESS = frozenset({WireFault.SPLIT, WireFault.MERGE, WireFault.DUPLICATE, WireFault.CLOSE_AFTER_REPLY})
"""Faults of the frame that a good link gets over; all others may cost readings, and none may change one."""


@pytest_asyncio.fixture
async def bench() -> AsyncGenerator[Bench, None]:
    async with Bench(demo_bench(1)) as running:
        yield running


class Wired:
    def __init__(self, bench: Bench, name: str, profile: Profile, points: dict[str, str]) -> None:
        host, port = bench.address(name)
        self.endpoint = bench.bank.endpoints[name]
        self.readings: dict[str, Reading] = {}
        self.links = [TcpLink(name, host, port, timeout_s=0.15, reconnect_cap_s=1.0) for _ in range(2)]
        tags = {tag: (point, "fast") for tag, point in points.items()}
        self.device = Device(name, 1, profile, self.links[0], tags, self.readings, RealClock(), write_bus=self.links[1])

    def values(self) -> dict[str, float | None]:
        return {tag: reading.value for tag, reading in self.readings.items()}

    async def until_good(self, within_s: float = 4.0) -> None:
        until_s = time.monotonic() + within_s
        while not await self.device.poll("fast"):
            assert time.monotonic() < until_s, self.device.last_error
            await asyncio.sleep(0.02)


@asynccontextmanager
async def wired(bench: Bench, name: str, points: dict[str, str] | None = None) -> AsyncGenerator[Wired, None]:
    profile = check(load(PROFILES / f"{DEVICES[name]}.yaml"), Profile)
    if points is None:
        points = {p: p for p, point in profile.points.items() if point.type is not PointType.STRING}
    one = Wired(bench, name, profile, points)
    try:
        yield one
    finally:
        await one.device.close()


@pytest.mark.parametrize("name", DEVICES)
async def test_every_point_of_a_reference_device_can_be_read_and_the_device_says_who_it_is(
    name: str, bench: Bench
) -> None:
    async with wired(bench, name) as one:
        found, expected = await one.device.identify()
        assert expected, found
        await one.until_good()
        assert {tag for tag, r in one.readings.items() if r.quality is Quality.BAD} == set()


async def test_a_write_reaches_the_coils_and_the_next_poll_shows_it(bench: Bench) -> None:
    async with wired(bench, "r01/valve_controller", {"XY-101": "xy_101", "XY-103": "xy_103"}) as one:
        await one.device.warm()
        for wanted in (0.0, 1.0, 0.0):
            await one.device.write({"xv_101": wanted, "xv_102": wanted, "xv_103": 0.0, "xv_104": 0.0, "fcv_101": 40.0})
            await one.device.poll("fast")
            assert one.values() == {"XY-101": wanted, "XY-103": 0.0}
        with pytest.raises(LinkError) as caught:
            await one.links[1].write(1, "holding", 0, [2])
        assert caught.value.code == 3


@pytest.mark.parametrize("fault", WireFault)
async def test_no_fault_of_the_wire_makes_a_wrong_value_and_all_come_back_after_it(
    fault: WireFault, bench: Bench
) -> None:
    async with wired(bench, "r01/valve_controller", STEADY) as one:
        await one.until_good()
        truth = one.values()
        one.endpoint.set_fault(fault, None)
        good = 0
        for _ in range(6):
            good += await one.device.poll("fast")
            for tag, reading in one.readings.items():
                assert reading.value in {truth[tag], None}, (fault, reading)
                assert reading.reason is not Reason.NEVER_READ
        if fault in HARMLESS:
            assert good == 6
        one.endpoint.clear_fault(fault)
        await one.until_good()
        assert one.values() == truth


async def test_a_gateway_that_answers_from_an_old_copy_is_noticed_by_the_heartbeat(bench: Bench) -> None:
    async with wired(bench, "r01/valve_controller", STEADY) as one:
        await one.until_good()
        one.endpoint.freeze()
        until_s = time.monotonic() + 2.0
        while one.readings["ZSO-101"].reason is not Reason.STUCK:
            assert time.monotonic() < until_s
            await one.device.poll("fast")
            await asyncio.sleep(0.02)
        assert set(one.values().values()) == {None}
        one.endpoint.thaw()
        await one.until_good()
        await one.device.poll("fast")
        assert None not in one.values().values()
