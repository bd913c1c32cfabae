"""``valvey probe`` against simulated makers' devices and against devices that refuse, stay silent or hang up."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fieldkit import profile_file
from firmware_sim.bench import Bench
from firmware_sim.bench_config import demo_bench
from firmware_sim.serial_line import LineKind, LineSetting
from firmware_sim.wire_faults import WireFault
from tests.wire.scripted_device import Request, answer_well, scripted
from tests.wire.scripted_line import Asked, framed, scripted_gateway, scripted_pty
from valvey.cli import build

ROOT = Path(__file__).parents[2]
PROFILES = ROOT / "configs" / "profiles"
# fmt: off
MAKERS = {
    "belimo-energy-valve-v4": ("belimo_energy-valve-v4", True),
    "danfoss-novocon-m":      ("danfoss_novocon-m",      True),
    "delta-orv3-rpu":         ("delta_orv3-rpu",         True),
    "rle-seahawk-ld2100":     ("rle_seahawk-ld",         False),
    "schneider-pm5560":       ("schneider_pm5xxx",       False),
    "orv3-psu":               ("ocp_orv3-psu",           False),
    "waveshare-relay-8ch":    ("waveshare_relay-8ch",    False),
}
# fmt: on
"""Simulated device -> the profile that it is, and whether it has an identity."""


class Result:
    def __init__(self, code: int, stdout: str, stderr: str) -> None:
        self.code, self.stdout, self.stderr = code, stdout, stderr

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.stdout)
        return found

    @property
    def unit(self) -> dict[str, Any]:
        (one,) = self.document["units"]
        found: dict[str, Any] = one
        return found


async def probe(target: str, *words: str) -> Result:
    """Run the command beside the device, which lives in this loop."""
    asked = ["probe", target, "--profiles-dir", str(PROFILES), "--timeout", "0.15", "-o", "json", *words]
    ran = await asyncio.to_thread(CliRunner().invoke, build("status", "probe"), asked)
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return Result(ran.exit_code, ran.stdout, ran.stderr)


@asynccontextmanager
async def makers_device(name: str, **changes: Any) -> AsyncGenerator[tuple[str, int, Any], None]:
    config = demo_bench(1)
    place = f"r01/{name}"
    config = replace(config, racks=(replace(config.racks[0], also=(name,)),), serve=frozenset({place}))
    async with Bench(config) as bench:
        endpoint = bench.bank.endpoints[place]
        endpoint.firmware.map = replace(endpoint.firmware.map, **changes)
        host, port = bench.address(place)
        yield f"{host}:{port}", endpoint.firmware.map.unit_id, endpoint


def writes_of(endpoint: Any) -> int:
    return int(endpoint.counters.writes)


@pytest.mark.parametrize("name", MAKERS)
async def test_a_makers_device_is_found_to_be_itself_and_nothing_is_written(name: str) -> None:
    profile, identity = MAKERS[name]
    async with makers_device(name) as (target, unit, endpoint):
        ran = await probe(target, "--unit", str(unit))
        assert ran.code == 0, ran.stderr
        names = [match["profile"] for match in ran.unit["matches"]]
        assert profile in names
        if identity:
            assert names == [profile]
            assert ran.unit["profile"] == profile
            assert ran.unit["matches"][0]["identity"] is True
        assert writes_of(endpoint) == 0


async def test_the_meter_says_who_made_it_and_decides_where_its_list_begins(tmp_path: Path) -> None:
    file = tmp_path / "site_meter.yaml"
    async with makers_device("schneider-pm5560") as (target, unit, _):
        ran = await probe(target, "--unit", str(unit), "--profile", "schneider_pm5xxx", "--write-profile", str(file))
        assert ran.code == 0, ran.stderr
        assert ran.unit["identification"]["vendor"] == "Schneider Electric"
        (conflict,) = [one for one in ran.unit["conflicts"] if one["conflict"] == "list_base"]
        assert conflict["decided"] == "one_based"
        written = profile_file.load(file)
        assert (written.profile, written.conflicts["list_base"].used) == ("site_meter", "one_based")
        before = file.read_bytes()
        again = await probe(target, "--unit", str(unit), "--write-profile", str(file))
        assert again.code == 3
        assert "exists" in again.stderr
        assert file.read_bytes() == before


async def test_a_register_is_read_every_way_and_compared_with_the_display() -> None:
    async with makers_device("schneider-pm5560") as (target, unit, _):
        words = ("--unit", str(unit), "--no-compare", "--read", "3110", "--expect", "50", "--tolerance", "0.1")
        ran = await probe(target, *words)
        assert ran.code == 0, ran.stderr
        best = ran.unit["fits"][0]
        assert (best["table"], best["address"], best["type"], best["order"]) == ("holding", 3109, "f32", "ABCD")
        assert "1" in best["fits"]
        wrong = await probe(target, *words[:-3], "31.4", "--tolerance", "0.01")
        assert wrong.code == 1
        assert "nothing that was read is 31.4" in wrong.stderr


@pytest.mark.parametrize("limit", [17, 40])
async def test_holes_and_the_longest_read_are_found(limit: int) -> None:
    async with makers_device("belimo-energy-valve-v4", max_registers=limit) as (target, unit, _):
        ran = await probe(target, "--unit", str(unit), "--no-compare", "--map", "holding:0-300")
    (extent,) = ran.unit["extents"]
    assert (extent["most"], extent["refused"]) == (limit, limit + 1)
    assert extent["runs"][0]["address"] == 0
    async with makers_device("rle-seahawk-ld2100") as (target, unit, _):
        ran = await probe(target, "--unit", str(unit), "--no-compare", "--map", "input:0-20")
    (extent,) = ran.unit["extents"]
    holes = [hole["address"] for hole in extent["holes"] if hole["count"] == 1]
    assert holes == [12, 14, 16, 18, 20]


async def test_a_starting_profile_of_an_unknown_device_loads_and_can_write_nothing(tmp_path: Path) -> None:
    file = tmp_path / "acme_unknown-1.yaml"

    def part(request: Request, wire: asyncio.StreamWriter) -> None:
        inside = request.function == 3 and request.address >= 10 and request.address + request.count <= 16
        wire.write(request.good() if inside else request.exception(2))

    async with scripted(part) as device:
        words = ("--no-compare", "--map", "holding:0-30", "--read", "holding:12", "--expect", "1.2", "--write-profile")
        ran = await probe(f"127.0.0.1:{device.port}", *words, str(file))
        assert ran.code == 0, ran.stderr
        assert {request.function for request in device.requests} <= {1, 2, 3, 4, 0x11, 0x2B}
    profile = profile_file.load(file)
    assert {point.address for point in profile.points.values()} == set(range(10, 16))
    assert not any(point.writable for point in profile.points.values())
    assert profile.points["found_holding_12"].conversion == (0.1, 0.0)


async def test_the_histogram_holds_the_devices_delay_and_every_repeated_read() -> None:
    async with makers_device("schneider-pm5560", reply_delay_s=0.03) as (target, unit, _):
        ran = await probe(target, "--unit", str(unit), "--no-compare", "--read", "holding:3109", "--times", "12")
    repeated = ran.unit["repeated"]
    assert (repeated["answered"], repeated["unanswered"]) == (12, 0)
    assert repeated["least_s"] >= 0.03
    assert sum(row["count"] for row in repeated["histogram"]) == 12
    assert 0.15 <= repeated["timeout_s"] <= 0.6


async def test_units_that_are_silent_or_not_behind_a_gateway_are_told_from_those_that_answer() -> None:
    def some(request: Request, wire: asyncio.StreamWriter) -> None:
        if request.unit == 3:
            wire.write(request.exception(1))
        elif request.unit in {1, 4}:
            wire.write(request.exception(0x0B))

    async with scripted(some) as device:
        ran = await probe(f"127.0.0.1:{device.port}", "--units", "1-4", "--no-compare")
    assert ran.code == 0
    assert [one["unit"] for one in ran.document["units"]] == [3], "an exception is an answer, a gateway's 0x0B is none"
    assert ran.document["silent"] == [1, 2, 4]


async def test_a_device_that_answers_as_another_unit_is_noticed() -> None:
    async with scripted(lambda request, wire: wire.write(request.frame(request.good_pdu(), unit=9))) as device:
        ran = await probe(f"127.0.0.1:{device.port}", "--unit", "1", "--no-compare")
    assert ran.unit["answers_as"] == 9


async def test_nobody_there_is_exit_code_five() -> None:
    async with scripted(lambda _request, _wire: None) as device:
        ran = await probe(f"127.0.0.1:{device.port}", "--units", "1-2")
        assert ran.code == 5
        assert "none of 2 units answers" in ran.stderr
        assert ran.document["units"] == []
        port = device.port
    ran = await probe(f"127.0.0.1:{port}")
    assert ran.code == 5
    assert ran.stdout == ""


async def test_a_device_with_one_client_that_is_taken_says_so_and_is_left_alone() -> None:
    async with makers_device("schneider-pm5560") as (target, unit, endpoint):
        endpoint.set_fault(WireFault.ONE_CLIENT, None)
        host, _, port = target.rpartition(":")
        _, first = await asyncio.open_connection(host, int(port))
        await asyncio.sleep(0.05)
        ran = await probe(target, "--unit", str(unit), "--no-compare")
        assert ran.code == 5
        assert "one client" in ran.stderr
        first.close()
        await first.wait_closed()
        await asyncio.sleep(0.05)
        free = await probe(target, "--unit", str(unit), "--no-compare")
        assert free.code == 0
        assert endpoint.counters.turned_away >= 1


async def test_a_device_that_hangs_up_after_each_reply_is_read_all_the_same() -> None:
    async with makers_device("belimo-energy-valve-v4") as (target, unit, endpoint):
        endpoint.set_fault(WireFault.CLOSE_AFTER_REPLY, None)
        ran = await probe(target, "--unit", str(unit))
        assert ran.unit["profile"] == "belimo_energy-valve-v4"
        assert ran.document["hung_up"] > 0


async def test_a_write_is_refused_unless_told_and_never_reaches_a_cell_that_wears_out() -> None:
    async with makers_device("belimo-energy-valve-v4") as (target, unit, endpoint):
        words = ("--unit", str(unit), "--profile", "belimo_energy-valve-v4")
        for write, yes, why in [
            ("set_point=40", False, "say --yes"),
            ("bus_fail_action=1", True, "wears out"),
            ("set_point=400", True, "out of range"),
        ]:
            ran = await probe(target, *words, "--write", write, *(("--yes",) if yes else ()))
            assert (ran.code, why in ran.stderr) == (3, True), ran.stderr
        assert writes_of(endpoint) == 0
        assert (await probe(target, *words, "--write", "set_pint=40")).code == 2
        assert (await probe(target, "--unit", str(unit), "--write", "set_point=40")).code == 2
        done = await probe(target, *words, "--write", "set_point=40", "--yes")
        assert done.code == 0, done.stderr
        assert done.unit["written"] == {"point": "set_point", "value": 40.0, "error": None, "reads": 40.0}
        assert writes_of(endpoint) == 1


async def test_nothing_is_written_to_a_device_that_says_it_is_another() -> None:
    async with makers_device("danfoss-novocon-m") as (target, unit, endpoint):
        words = ("--unit", str(unit), "--profile", "racky_valve-controller", "--write", "xv_101=1", "--yes")
        ran = await probe(target, *words)
        assert ran.code == 3
        assert "does not show that it is" in ran.stderr
        assert writes_of(endpoint) == 0
    async with scripted(answer_well) as device:
        other = ("--profile", "racky_valve-controller", "--write", "xv_101=1", "--yes")
        assert (await probe(f"127.0.0.1:{device.port}", *other)).code == 3
        assert (await probe(f"127.0.0.1:{device.port}", *other, "--no-compare")).code == 2
        assert {request.function for request in device.requests} <= {1, 2, 3, 4, 0x11, 0x2B}


async def test_a_device_behind_a_serial_line_is_identified_and_mapped() -> None:
    setting = LineSetting("line", LineKind.PTY, {4: "r01/transmitters", 5: "r01/leak_panel"})
    async with Bench(demo_bench(1, lines=(setting,))) as bench:
        port = bench.bank.lines["line"].address
        ran = await probe(port, "--units", "4-6", "--timeout", "0.3")
        assert ran.code == 0, ran.stderr
        found = {one["unit"]: one["profile"] for one in ran.document["units"]}
        assert found == {4: "racky_loop-transmitters", 5: "racky_leak-panel"}
        assert ran.document["line"] == "19200 8E1"
        assert ran.document["silent"] == [6]
        least_s = ran.document["delays"]["least_s"]
        assert least_s > 0.002, "five characters take 3 ms at 19200 8E1"


@pytest.mark.parametrize("gateway", [False, True])
async def test_identification_and_echo_are_understood_on_rtu(gateway: bool) -> None:
    told = bytes.fromhex("2b 0e 01 01 00 00 02") + b"\x00\x04Acme" + b"\x01\x02X1"

    def script(asked: Asked) -> list[tuple[float, bytes]]:
        if asked.function == 0x2B:
            return [(0.0, asked.frame), (0.01, framed(asked.unit, told)[:6]), (0.02, framed(asked.unit, told)[6:])]
        return [(0.0, asked.frame + asked.exception(1))]

    async with scripted_gateway(script) if gateway else scripted_pty(script) as line:
        ran = await probe(line.address, *(("--rtu",) if gateway else ()), "--no-compare", "--baud", "115200")
    assert ran.code == 0, ran.stderr
    assert ran.unit["identification"] == {"vendor": "Acme", "product_code": "X1"}
    assert ran.document["echoes"] is True


async def test_a_late_reply_on_a_line_is_not_taken_for_the_next_registers() -> None:
    late = {"left": 1}

    def script(asked: Asked) -> list[tuple[float, bytes]]:
        if asked.function != 3:
            return [(0.0, asked.exception(1))]
        if asked.address == 7 and late["left"]:
            late["left"] -= 1
            return [(0.2, asked.reply())]
        return [(0.0, asked.reply())]

    async with scripted_pty(script) as line:
        ran = await probe(line.address, "--no-compare", "--read", "holding:7", "--read", "holding:9")
    seven, nine = ran.unit["reads"]
    assert (seven["hex"], nine["hex"]) == ("0007 0008", "0009 000a")


@pytest.mark.parametrize(
    "words",
    [
        ("127.0.0.1:0",),
        ("not a host",),
        ("127.0.0.1:502", "--units", "5-1"),
        ("127.0.0.1:502", "--read", "holding:70000"),
        ("127.0.0.1:502", "--read", "coils:1"),
        ("127.0.0.1:502", "--map", "holding:9-1"),
        ("127.0.0.1:502", "--expect", "5"),
        ("127.0.0.1:502", "--profile", "schneider_pm5xx"),
        ("127.0.0.1:502", "--write-profile", "nonsense"),
        ("/dev/ttyS99", "--units", "0-3"),
        ("/dev/ttyS99", "--parity", "X"),
        ("/dev/ttyS99", "--baud", "19201"),
    ],
)
async def test_a_wrong_word_is_exit_code_two_and_says_what_is_allowed(words: tuple[str, ...]) -> None:
    ran = await probe(*words)
    assert ran.code == 2
    assert ran.stdout == ""
    assert len(ran.stderr) > 20


async def test_a_port_that_is_not_there_is_exit_code_five_and_the_program_prints_one_document() -> None:
    ran = await probe("/dev/serial/by-id/none")
    assert ran.code == 5
    async with scripted(answer_well) as device:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "valvey", "probe", f"127.0.0.1:{device.port}", "--read", "5", "-o", "json"),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        stdout, _ = await asyncio.wait_for(process.communicate(), 30.0)
    assert process.returncode == 0
    assert [read["address"] for read in json.loads(stdout)["units"][0]["reads"]] == [5, 5]
