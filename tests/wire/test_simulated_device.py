"""`firmware-sim device`: one device alone on a port, as a process."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fieldkit.bus import LinkError
from fieldkit.modbus import TcpLink
from firmware_sim.client import ControlError, ask
from firmware_sim.parts.makers.catalogue import MAKERS

READY_S = 20.0


@asynccontextmanager
async def device(*arguments: str) -> AsyncGenerator[dict[str, Any]]:
    """Yield what the process tells of itself; it must end cleanly when asked to."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "firmware_sim", "device", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), READY_S)
        assert line, (await process.communicate())[1].decode()
        told = json.loads(line)
        yield told
        await asyncio.to_thread(ask, told["control"], "stop")
        assert await asyncio.wait_for(process.wait(), READY_S) == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def link(told: dict[str, Any], name: str = "device") -> TcpLink:
    host, _, port = told["tcp"].rpartition(":")
    return TcpLink(name, host, int(port), timeout_s=2.0)


async def test_a_device_alone_is_read_faulted_and_well_again() -> None:
    async with device("rle-ldra6", "--port", "0", "--fault", "device_cable_break=2") as told:
        assert (told["simulated"], told["device"], told["unit"]) == (True, "rle-ldra6", 1)
        bus = link(told)
        assert (await bus.read(1, "input", 0, 1)).hex() == "0200"
        faults = await asyncio.to_thread(ask, told["control"], "fault_list")
        assert [(fault["kind"], fault["device"], fault["value"]) for fault in faults] == [
            ("device_cable_break", "rle-ldra6", 2.0)
        ]
        await asyncio.to_thread(ask, told["control"], "fault_clear", kind="device_cable_break")
        assert (await bus.read(1, "input", 0, 1)).hex() == "0000"
        await bus.close()


async def test_its_unit_its_longest_read_its_reply_time_and_its_clients_can_be_set() -> None:
    given = ("--unit", "12", "--most", "40", "--clients", "2", "--reply-delay", "0.3")
    async with device("belimo-energy-valve-v4", *given) as told:
        assert told["unit"] == 12
        bus, second, third = link(told), link(told), link(told)
        begun_s = asyncio.get_running_loop().time()
        assert len(await bus.read(12, "holding", 0, 40)) == 80
        assert asyncio.get_running_loop().time() - begun_s >= 0.3
        with pytest.raises(LinkError, match="exception 3"):
            await bus.read(12, "holding", 0, 41)
        with pytest.raises(LinkError, match="exception 11"):
            await bus.read(1, "holding", 0, 1)
        await second.read(12, "holding", 3, 1)
        with pytest.raises(LinkError):
            await third.read(12, "holding", 3, 1)
        for one in (bus, second, third):
            await one.close()


@pytest.mark.parametrize("name", ["cdu", "valve_controller", "power_shelf"])
async def test_a_reference_device_can_stand_alone_too(name: str) -> None:
    async with device(name) as told:
        bus = link(told)
        assert len(await bus.read(1, "input", 0, 9)) == 18
        ports = await asyncio.to_thread(ask, told["control"], "ports")
        assert [*ports["racks"]["r01"].values(), ports["cdu"]].count(told["tcp"]) == 1
        assert len([*filter(None, [*ports["racks"]["r01"].values(), ports["cdu"]])]) == 1
        with pytest.raises(ControlError, match="none on this bench"):
            await asyncio.to_thread(ask, told["control"], "fault_add", kind="device_leak", rack="r01", device=name)
        await bus.close()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("toaster",), "no device 'toaster'"),
        (("rle-ldra6", "--fault", "device_blocked"), "rle-ldra6 has device_all_ones"),
        (("rle-ldra6", "--fault", "device_leak=wet"), "could not convert"),
        (("rle-ldra6", "--control", "x"), "it must be host:port"),
    ],
)
async def test_a_wrong_argument_ends_it_with_what_is_allowed(arguments: tuple[str, ...], told: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "firmware_sim", "device", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), READY_S)
    assert process.returncode == 2
    assert out == b""
    assert told in err.decode()


def test_every_device_has_a_map_that_the_command_line_prints() -> None:
    from typer.testing import CliRunner

    from firmware_sim.cli import app

    for name in MAKERS:
        result = CliRunner().invoke(app, ["map", name, "-o", "json"])
        assert json.loads(result.stdout)["device"] == name
