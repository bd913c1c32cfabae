"""Power shelves on real sockets: commanded, read, silent, and updated by Racky's own procedure through cuts of their power."""

import asyncio
from pathlib import Path

import pytest

from fieldkit.bus import LinkError
from fieldkit.clock import RealClock
from fieldkit.device import Device
from fieldkit.modbus import TcpLink
from fieldkit.profile import Profile
from fieldkit.yamlfile import check, load
from firmware_sim.bench import Bench
from firmware_sim.bench_config import BenchConfig, RackSetting, demo_bench
from firmware_sim.parts.orv3_mailbox import build_image
from firmware_sim.plant_config import Start
from firmware_sim.power_rig import PowerSetting
from racky.core.firmware import Order, Phase, Reply, Update, advance, begin
from racky.core.mailbox import Mailbox

PROFILES = Path(__file__).parents[2] / "configs" / "profiles"
RACK, NAME = "r01", "power_shelf_2"
SPEED = 40.0
FOREVER_S = 1e6
NEW = "1.1.0"
BOX = Mailbox(revision_address=908, revision_input=True, poll_s=0.02, erase_s=5.0, restart_s=10.0)
MOST_S = 30.0


def link(bench: Bench, name: str = NAME) -> TcpLink:
    host, port = bench.address(f"{RACK}/{name}")
    return TcpLink(name, host, port, timeout_s=0.2)


def device(bench: Bench, name: str, profile: str) -> Device:
    sheet = check(load(PROFILES / f"{profile}.yaml"), Profile)
    return Device(name, 1, sheet, link(bench, name), {}, {}, RealClock())


async def done(bus: TcpLink, order: Order) -> Reply:
    try:
        if order.words:
            await bus.write(1, "holding", order.address, order.words, multiple=len(order.words) > 1)
            return Reply(order.id, ok=True)
        data = await bus.read(1, "input" if order.input else "holding", order.address, order.count)
        return Reply(order.id, ok=True, words=tuple(int.from_bytes(data[n : n + 2]) for n in range(0, len(data), 2)))
    except LinkError as error:
        return Reply(order.id, ok=False, error=error.text)


async def updated(bench: Bench, bus: TcpLink, cuts: list[Phase]) -> Update:
    """Run Racky's procedure to its end; the device loses its power once in each phase of ``cuts``, as it comes."""
    image, clock = build_image(NEW, bytes(500)), RealClock()
    began_s, update = clock.now_s(), begin(NAME, NEW, clock.now_s())
    reply: Reply | None = None
    while not update.ended and clock.now_s() - began_s < MOST_S:
        update = advance(update, image, BOX, reply, clock.now_s())
        if cuts and update.phase is cuts[0]:
            cuts.pop(0)
            bench.bank.book.add("device_off", rack=RACK, device=NAME, for_s=2.0)
        if update.order is None:
            reply = None
            await asyncio.sleep(0.01)
        else:
            reply = await done(bus, update.order)
    return update


def new_rack() -> BenchConfig:
    power = PowerSetting(shelves_kw=(40.0, 40.0), firmware="1.0.0")
    return BenchConfig((RackSetting(RACK, 132.0, 0.0, Start.DRAINED, power=power),), speed=SPEED)


@pytest.mark.parametrize(
    "cuts", [[], [Phase.ERASING], [Phase.SEND], [Phase.ACCEPT], [Phase.VERIFYING], [Phase.EXIT, Phase.RESTART]]
)
async def test_rackys_update_reaches_the_new_firmware_though_the_device_loses_its_power(cuts: list[Phase]) -> None:
    async with Bench(new_rack()) as bench:
        bus = link(bench)
        try:
            update = await updated(bench, bus, list(cuts))
        finally:
            await bus.close()
        assert (update.phase, update.remark if not cuts else "") == (Phase.DONE, "")
        power = bench.bank.rigs[RACK].power
        assert power is not None
        assert {name: one.mailbox.running for name, one in power.shelves.items()} == {
            "power_shelf_1": "1.0.0",
            NAME: NEW,
        }


async def test_a_command_switches_the_output_and_a_device_without_power_is_silent() -> None:
    async with Bench(demo_bench(1, power=True, attended_s=FOREVER_S, speed=10.0)) as bench:
        shelf = device(bench, NAME, "racky_power-shelf")
        try:
            before = await shelf.read_now(["output_on", "power", "psu_c_power", "psu_c_inlet"])
            assert {name: round(one.value or 0.0) for name, one in before.items()} == {
                "output_on": 1,
                "power": 33,
                "psu_c_power": 6 if (before["psu_c_power"].value or 0.0) >= 5.5 else 5,
                "psu_c_inlet": 30,
            }
            await shelf.write({"output": 0.0})
            await asyncio.sleep(0.1)
            assert (await shelf.read_now(["output_on"]))["output_on"].value == 0.0
            assert bench.bank.plant.racks[RACK].busbar_kw == 120.0
            bench.bank.book.add("device_off", rack=RACK, device=NAME)
            with pytest.raises(LinkError):
                await shelf.read_now(["output_on"])
        finally:
            await shelf.close()


async def test_the_ports_file_lists_the_shelves_and_the_room_of_each_rack() -> None:
    async with Bench(demo_bench(2, power=True)) as bench:
        racks = bench.ports["racks"]
        assert isinstance(racks, dict)
        for rack in ("r01", "r02"):
            assert {*(f"power_shelf_{n}" for n in range(1, 5)), "battery_shelf_1", "room"} <= racks[rack].keys()
