"""A bench in real time, as a process and in this one: ports, control port, latencies, and a clean end."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from firmware_sim.bench import Bench
from firmware_sim.bench_config import demo_bench
from firmware_sim.client import ControlError, ask, find_control

READY_S = 15.0


@asynccontextmanager
async def bench_process(folder: Path, *arguments: str) -> AsyncGenerator[tuple[asyncio.subprocess.Process, Path]]:
    """`firmware-sim run` with a service manager's socket; yields once it said READY."""
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(folder / "notify"))
    manager.settimeout(READY_S)
    ports_file = folder / "ports.json"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "firmware_sim", "run", "--racks", "2", "--ports-file", str(ports_file), *arguments),
        env=os.environ | {"NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": "600000"},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert (await asyncio.to_thread(manager.recv, 1000)).startswith(b"READY=1\nSTATUS=SIMULATED")
        assert b"WATCHDOG=1" in await asyncio.to_thread(manager.recv, 1000)
        yield process, ports_file
    finally:
        manager.close()
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_a_bench_process_is_found_by_its_ports_file_and_ends_cleanly(tmp_path: Path) -> None:
    async with bench_process(tmp_path) as (process, ports_file):
        ports = json.loads(ports_file.read_text(encoding="utf-8"))
        assert ports["simulated"] is True
        assert set(ports["racks"]) == {"r01", "r02"}
        control = find_control(None, ports_file)
        snapshot = await asyncio.to_thread(ask, control, "snapshot")
        assert snapshot["simulated"] is True
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 5.0) == 0
        assert not ports_file.exists()


async def test_a_bench_process_stops_when_its_control_port_says_so(tmp_path: Path) -> None:
    async with bench_process(tmp_path, "--seed", "4", "--speed", "5") as (process, ports_file):
        control = find_control(None, ports_file)
        assert (await asyncio.to_thread(ask, control, "ports"))["seed"] == 4
        await asyncio.to_thread(ask, control, "stop")
        assert await asyncio.wait_for(process.wait(), 5.0) == 0


async def test_a_bench_that_cannot_bind_says_so_and_fails(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "firmware_sim", "run", "--racks", "1"),
            *("--control", f"127.0.0.1:{taken.getsockname()[1]}"),
            stderr=asyncio.subprocess.PIPE,
        )
        stderr = (await asyncio.wait_for(process.communicate(), READY_S))[1]
    assert process.returncode == 1
    assert b"cannot start" in stderr


async def control(bench: Bench, do: str, **arguments: Any) -> Any:
    return await asyncio.to_thread(ask, str(bench.ports["control"]), do, **arguments)


async def test_the_control_port_injects_lists_and_ends_faults() -> None:
    async with Bench(demo_bench(2)) as bench:
        fault = await control(bench, "fault_add", kind="leak", rack="r02", place="manifold", value=3.0)
        assert [row["id"] for row in await control(bench, "fault_list")] == [fault["id"]]
        assert bench.bank.plant.racks["r02"].leak_mm["manifold"] == pytest.approx(3.0)
        assert await control(bench, "fault_clear", kind="leak") == {"cleared": 1}
        assert len(await control(bench, "fault_kinds")) > 40


async def test_the_control_port_sets_load_mode_and_speed_and_tells_the_steady_flows() -> None:
    async with Bench(demo_bench(2)) as bench:
        await control(bench, "load", rack="r01", kw=20.0)
        await control(bench, "cdu_mode", mode="constant_flow")
        assert await control(bench, "speed", factor=20.0) == {"speed": 20.0}
        await asyncio.sleep(0.2)
        snapshot = await control(bench, "snapshot")
        assert snapshot["t_s"] > 2.0
        assert snapshot["racks"]["r01"]["true"]["busbar_kw"] == pytest.approx(20.0)
        assert snapshot["cdu_mode"] == "constant_flow"
        steady = await control(bench, "steady", shut=["r01"])
        assert steady["flows_lpm"]["r01"] == pytest.approx(0.0, abs=1e-6)
        assert steady["flows_lpm"]["r02"] > snapshot["racks"]["r02"]["true"]["flow_supply_lpm"]


async def test_after_a_leak_is_mended_and_dried_its_detector_is_dry() -> None:
    async with Bench(demo_bench(2, attended_s=1e6)) as bench:
        await control(bench, "fault_add", kind="leak", rack="r02", value=10.0)
        bench.bank.advance(8.0)
        assert bench.bank.rigs["r02"].leak_panel.input.get_u16(0) == 1
        await control(bench, "fault_clear", kind="leak")
        assert bench.bank.rigs["r02"].leak_panel.input.get_u16(0) == 1
        assert await control(bench, "tidy_up", rack="r02") == {"dried": ["r02"]}
        assert bench.bank.rigs["r02"].leak_panel.input.get_u16(0) == 0


@pytest.mark.parametrize(
    ("do", "arguments", "code", "told"),
    [
        ("dance", {}, 2, "known: cdu_mode"),
        ("load", {"rack": "r01"}, 2, "kw"),
        ("load", {"rack": "r01", "watts": 5}, 2, "watts"),
        ("load", {"rack": "r09", "kw": 5}, 3, "r01, r02"),
        ("load", {"rack": "r01", "kw": "much"}, 3, "number"),
        ("load", {"rack": "r01", "kw": 9, "low_kw": "less", "period_s": 9}, 3, "number"),
        ("load", {"rack": "r01", "kw": 9, "low_kw": 1}, 3, "period_s"),
        ("speed", {"factor": 1000}, 3, "at most 100"),
        ("cdu_mode", {"mode": "turbo"}, 3, "constant_dp"),
        ("fault_add", {"kind": "leak", "rack": "r01", "place": "roof"}, 3, "manifold"),
        ("fault_add", {"kind": "leak", "value": "big"}, 3, "number"),
        ("stamps", {"kinds": ["gossip"]}, 3, "register"),
        ("steady", {"shut": ["r09"]}, 3, "r01, r02"),
        ("watch", {"rack": "r01", "tag": "FT-9"}, 3, "FT-101"),
        ("map", {"device": "toaster"}, 3, "valve_controller"),
    ],
)
async def test_a_command_that_cannot_be_done_is_answered_with_why(
    do: str, arguments: dict[str, Any], code: int, told: str
) -> None:
    async with Bench(demo_bench(2)) as bench:
        with pytest.raises(ControlError, match=told) as caught:
            await control(bench, do, **arguments)
        assert caught.value.code == code


async def test_lines_that_are_no_requests_are_answered_and_the_next_is_served() -> None:
    async with Bench(demo_bench(1)) as bench:
        host, _, port = str(bench.ports["control"]).rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b'nonsense\n[1]\n{"do": "speed", "id": 7}\n')
        answers = [json.loads(await asyncio.wait_for(reader.readline(), 2.0)) for _ in range(3)]
        assert [answer["ok"] for answer in answers] == [False, False, True]
        assert answers[2]["id"] == 7
        writer.close()


async def test_leak_bit_to_write_is_measured_with_both_stamps_from_the_simulator() -> None:
    async with Bench(demo_bench(1)) as bench:
        panel = await asyncio.open_connection(*bench.address("r01/leak_panel"))
        valves = await asyncio.open_connection(*bench.address("r01/valve_controller"))
        bench.bank.book.add("wet", rack="r01", tag="LDT-101", value=1.0, at_s=bench.bank.now_s + 0.1)
        for _ in range(200):
            panel[1].write(bytes.fromhex("0001 0000 0006 01 04 0000 0001"))
            if (await panel[0].readexactly(11))[-1] & 1:
                valves[1].write(bytes.fromhex("0001 0000 000b 01 10 0000 0002 04 0000 0000"))
                await valves[0].readexactly(12)
                break
            await asyncio.sleep(0.005)
        wet = await control(bench, "stamps", what="LDT-101")
        shut = await control(bench, "stamps", what="XV-101 command")
        assert [stamp["value"] for stamp in wet["stamps"]] == [1.0]
        assert [stamp["value"] for stamp in shut["stamps"]] == [0.0]
        reaction_ms = (shut["stamps"][0]["mono_ns"] - wet["stamps"][0]["mono_ns"]) / 1e6
        assert 0.0 < reaction_ms < 200.0
        panel[1].close()
        valves[1].close()


async def test_limit_switches_resolve_to_20_ms_in_real_time() -> None:
    async with Bench(demo_bench(1)) as bench:
        reader, writer = await asyncio.open_connection(*bench.address("r01/valve_controller"))
        writer.write(bytes.fromhex("0001 0000 0006 01 06 0000 0000"))
        await reader.readexactly(12)
        await asyncio.sleep(0.3)
        (command,) = bench.bank.stamps.find(what="XV-101 command")
        (left,) = bench.bank.stamps.find(what="ZSO-101")
        # 1 % of a 3.5 s stroke, and one step of at most 20 ms, on a machine that may be busy.
        assert 0.02 <= (left.mono_ns - command.mono_ns) / 1e9 <= 0.12
        writer.close()
