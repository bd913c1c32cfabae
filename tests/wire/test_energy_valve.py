"""A Belimo Energy Valve as the rack's FCV-101, on real sockets: it follows, and its silence costs the valves nothing."""

import asyncio
from dataclasses import replace
from pathlib import Path

from fieldkit.clock import RealClock
from fieldkit.device import Device
from fieldkit.modbus import TcpLink
from fieldkit.profile import Profile
from fieldkit.reading import Reading
from fieldkit.yamlfile import check, load
from firmware_sim.bench import Bench
from firmware_sim.bench_config import demo_bench
from valvey.writer import Writer

PROFILES = Path(__file__).parents[2] / "configs" / "profiles"
RACK, NAME = "r01", "belimo-energy-valve-v4"
SPEED = 20.0
POINTS = {tag: tag.lower().replace("-", "_") for tag in ("XV-101", "XV-102", "XV-103", "XV-104", "XS-101")}
IN_SERVICE = {"XV-101": 1.0, "XV-102": 1.0, "XV-103": 0.0, "XV-104": 0.0, "XS-101": 1.0}


def profile_of(name: str) -> Profile:
    return check(load(PROFILES / f"{name}.yaml"), Profile)


async def scan(writer: Writer, demand: dict[str, float], seconds: float) -> None:
    for _ in range(int(seconds / 0.02)):
        writer.put(demand)
        await asyncio.sleep(0.02)


async def test_it_follows_its_command_and_a_silent_one_holds_while_the_valves_are_written_on() -> None:
    config = demo_bench(1, speed=SPEED)
    config = replace(config, racks=(replace(config.racks[0], also=(NAME,)),))
    clock, readings = RealClock(), dict[str, Reading]()
    async with Bench(config) as bench:

        def device(name: str, profile: str) -> Device:
            host, port = bench.address(f"{RACK}/{name}")
            link = TcpLink(name, host, port, timeout_s=0.25)
            return Device(name, 1, profile_of(profile), link, {}, readings, clock)

        controller = device("valve_controller", "racky_valve-controller")
        energy_valve = device(NAME, "belimo_energy-valve-v4")
        places = {tag: (controller, point) for tag, point in POINTS.items()}
        writer = Writer({**places, "FCV-101": (energy_valve, "set_point")}, readings, clock)
        task = asyncio.create_task(writer.run())
        try:
            await scan(writer, {**IN_SERVICE, "FCV-101": 20.0}, 5.0)
            position = (await energy_valve.read_now(["position"]))["position"]
            assert position.value is not None
            assert abs(position.value - 20.0) < 1.0
            assert writer.throttle is not None
            assert writer.throttle.counters.failed == 0

            bench.bank.book.add("no_reply", rack=RACK, device=NAME)
            acknowledged = writer.counters.acknowledged
            await scan(writer, {**IN_SERVICE, "FCV-101": 80.0}, 2.0)
            assert writer.throttle.counters.failed >= 2
            assert writer.counters.failed == 0
            assert writer.counters.acknowledged - acknowledged >= 6
            plant = bench.bank.rigs[RACK].plant
            assert abs(plant.fcv.position - 0.2) < 0.02
            assert plant.permit_closed
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await controller.close()
            await energy_valve.close()
