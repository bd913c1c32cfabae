"""The simulator's serial lines and gateways, read by the daemon's own devices."""

import asyncio
import shutil
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
import pytest_asyncio

from fieldkit.bus import LinkError, SharedLink, UnitBus
from fieldkit.clock import RealClock
from fieldkit.device import Device
from fieldkit.modbus import TcpLink
from fieldkit.profile import Profile
from fieldkit.reading import Reading, Reason
from fieldkit.rtu import RtuLink
from fieldkit.rtu_frames import Line
from fieldkit.wires import serial, stream
from fieldkit.yamlfile import check, load
from firmware_sim.bench import Bench
from firmware_sim.bench_config import demo_bench
from firmware_sim.bench_file import load_bench
from firmware_sim.serial_line import LineKind, LineSetting
from firmware_sim.wire_faults import LineFault, WireFault

ROOT = Path(__file__).parents[2]
MBPOLL = shutil.which("mbpoll")
UNITS = {1: "r01/feeder_meter", 2: "r01/leak_panel", 3: "r01/busbar_meter", 4: "r01/transmitters", 5: "cdu"}
PROFILES = {
    1: ("schneider_pm5xxx", {"JT-101": "jt_101"}),
    2: ("racky_leak-panel", {"LDT-101": "ldt_101"}),
    3: ("racky_busbar-meter", {"ET-101": "et_101"}),
    4: ("racky_loop-transmitters", {"FT-101": "ft_101"}),
    5: ("racky_cdu", {"FT-201": "ft_201"}),
}
FAST = Line(115200, "E", 1)


def settings(kind: LineKind, line: Line = FAST, target_s: float = 0.05) -> LineSetting:
    return LineSetting("line", kind, UNITS, line, target_s=target_s)


@pytest_asyncio.fixture(params=LineKind)
async def bench(request: pytest.FixtureRequest) -> AsyncGenerator[Bench, None]:
    async with Bench(demo_bench(1, lines=(settings(request.param),))) as running:
        yield running


@asynccontextmanager
async def link_to(bench: Bench, line: Line = FAST, **options: object) -> AsyncGenerator[SharedLink, None]:
    simulated = bench.bank.lines["line"]
    host, _, port = simulated.address.rpartition(":")
    given: dict[str, object] = {"timeout_s": 0.15, "reconnect_cap_s": 0.5}
    link: SharedLink
    if simulated.setting.kind is LineKind.TCP_GATEWAY:
        link = TcpLink("line", host, int(port), **given)  # type: ignore[arg-type]
    else:
        given |= {"late_reply_s": 0.4, **options}
        pty = simulated.setting.kind is LineKind.PTY
        opener = serial(simulated.address, line) if pty else stream(host, int(port), 0.2)
        link = RtuLink("line", simulated.address, opener, line, keeps_open=pty, **given)  # type: ignore[arg-type]
    try:
        yield link
    finally:
        await link.close()


def devices(link: SharedLink, readings: dict[str, Reading]) -> dict[int, Device]:
    out = {}
    for unit, (name, points) in PROFILES.items():
        profile = check(load(ROOT / "configs" / "profiles" / f"{name}.yaml"), Profile)
        tags = {tag: (point, "fast") for tag, point in points.items()}
        out[unit] = Device(UNITS[unit], unit, profile, UnitBus(link, 0.15), tags, readings, RealClock())
    return out


async def test_five_units_of_a_line_are_read_each_its_own_values(bench: Bench) -> None:
    readings: dict[str, Reading] = {}
    async with link_to(bench) as link:
        for _ in range(3):
            polls = await asyncio.gather(*(one.poll("fast") for one in devices(link, readings).values()))
            assert polls == [True] * 5
    assert readings["JT-101"].value == pytest.approx(135.0, rel=0.03), "the feeder carries the shelves' losses too"
    assert readings["ET-101"].value == pytest.approx(132.0, rel=0.02)
    assert readings["LDT-101"].value == 0.0
    assert readings["FT-101"].value == pytest.approx(198.0, rel=0.05)


async def test_a_write_on_a_line_reaches_the_device_and_is_stamped() -> None:
    setting = LineSetting("line", LineKind.PTY, {7: "r01/valve_controller"}, FAST)
    async with Bench(demo_bench(1, lines=(setting,))) as bench, link_to(bench) as link:
        await link.write(7, "holding", 0, [1, 1, 0, 0, 5000])
        assert (await link.read(7, "holding", 0, 5)).hex() == "00010001000000001388"
        assert bench.bank.rigs["r01"].valves.writes == 1


@pytest.mark.parametrize("baud", [9600, 19200, 115200])
async def test_a_line_takes_the_time_that_its_speed_takes(baud: int) -> None:
    line = Line(baud, "E", 1)
    async with (
        Bench(demo_bench(1, lines=(settings(LineKind.PTY, line),))) as bench,
        link_to(bench, line, timeout_s=0.5) as link,
    ):
        await link.read(4, "input", 0, 20)
        started_s = time.monotonic()
        for _ in range(5):
            await link.read(4, "input", 0, 20)
        took_s = (time.monotonic() - started_s) / 5
    least_s = line.frame_s(8) + line.gap_s + line.frame_s(45)
    assert least_s <= took_s < least_s + line.gap_s + 0.03


@pytest.mark.parametrize(
    ("fault", "value", "reason"),
    [
        (LineFault.ECHO, None, Reason.ECHO),
        (LineFault.BAD_CRC, None, Reason.SHORT_REPLY),
        (LineFault.GATEWAY_FROZEN, None, Reason.TIMEOUT),
        (WireFault.NO_REPLY, None, Reason.TIMEOUT),
        (WireFault.HALF_FRAME, None, Reason.SHORT_REPLY),
        (WireFault.WRONG_UNIT, None, Reason.WRONG_ID),
        (WireFault.WRONG_FUNCTION, None, Reason.WRONG_ID),
        (WireFault.SHORT_REPLY, None, Reason.SHORT_REPLY),
        (WireFault.EXCEPTION, 4, Reason.EXCEPTION),
        (WireFault.LATE_REPLY, 200, Reason.TIMEOUT),
    ],
)
async def test_each_fault_of_a_line_is_an_error_of_its_kind_and_ends_with_the_fault(
    fault: LineFault | WireFault, value: float | None, reason: Reason
) -> None:
    async with Bench(demo_bench(1, lines=(settings(LineKind.PTY),))) as bench, link_to(bench) as link:
        await link.read(4, "input", 920, 1)
        if isinstance(fault, LineFault):
            bench.bank.book.add(fault.value, device="line", value=value)
        else:
            bench.bank.book.add(fault.value, rack="r01", device="transmitters", value=value)
        with pytest.raises(LinkError) as caught:
            await link.read(4, "input", 0, 8)
        assert caught.value.reason is reason
        bench.bank.book.clear()
        await asyncio.sleep(0.25)
        assert len(await link.read(4, "input", 920, 1)) == 2


async def test_noise_costs_no_reading() -> None:
    async with Bench(demo_bench(1, lines=(settings(LineKind.RTU_OVER_TCP),))) as bench, link_to(bench) as link:
        bench.bank.book.add("line_noise", device="line", value=5)
        for _ in range(20):
            assert len(await link.read(4, "input", 0, 20)) == 40
        assert link.counters.noise_bytes == 100


@pytest.mark.skipif(MBPOLL is None, reason="mbpoll (Debian package) is not installed")
@pytest.mark.parametrize(("baud", "parity", "word"), [(9600, "N", "none"), (19200, "E", "even"), (115200, "O", "odd")])
async def test_another_master_reads_and_writes_a_simulated_line(
    baud: int, parity: Literal["N", "E", "O"], word: str
) -> None:
    """libmodbus, which shares nothing with our frames, agrees with the simulator's."""
    line = Line(baud, parity, 1)
    setting = LineSetting("line", LineKind.PTY, {4: "r01/transmitters", 7: "r01/valve_controller"}, line)
    async with Bench(demo_bench(1, lines=(setting,))) as bench:
        place = bench.bank.lines["line"].address
        common = ["-m", "rtu", "-b", str(baud), "-P", word, "-s", "1", "-o", "1", "-q"]
        read = await mbpoll(*common, "-a", "4", "-t", "3:float", "-B", "-r", "1", "-c", "1", "-1", place)
        assert float(read.partition("[1]:")[2].split()[0]) == pytest.approx(198.0, rel=0.05)
        await mbpoll(*common, "-a", "7", "-t", "4", "-r", "1", place, "1", "1", "0", "0", "4000")
        assert bench.bank.rigs["r01"].valves.writes == 1


async def mbpoll(*arguments: str) -> str:
    assert MBPOLL is not None
    process = await asyncio.create_subprocess_exec(
        MBPOLL, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await asyncio.wait_for(process.communicate(), 10.0)
    assert process.returncode == 0, said.decode()
    return said.decode()


async def samples(bench: Bench, seconds: float, period_s: float) -> dict[int, int]:
    """Poll five units behind one link, each at its period; return how many good polls each had."""
    readings: dict[str, Reading] = {}
    good = dict.fromkeys(UNITS, 0)
    async with link_to(bench) as link:
        every = devices(link, readings)
        await asyncio.gather(*(one.poll("fast") for one in every.values()))

        async def run(unit: int) -> None:
            began_s = time.monotonic()
            for number in range(int(seconds / period_s)):
                await asyncio.sleep(max(0.0, began_s + number * period_s - time.monotonic()))
                good[unit] += await every[unit].poll("fast")

        await asyncio.gather(*(run(unit) for unit in UNITS))
    return good


async def test_one_dead_unit_behind_a_gateway_of_five_costs_the_others_less_than_a_hundredth(bench: Bench) -> None:
    bench.bank.book.add("no_reply", rack="r01", device="leak_panel")
    began_s = time.monotonic()
    good = await samples(bench, seconds=8.0, period_s=0.1)
    assert time.monotonic() - began_s < 8.5, "nobody fell behind"
    assert good[2] == 0
    assert min(good[unit] for unit in (1, 3, 4, 5)) >= 79, good


async def test_a_gateway_that_stands_still_is_found_within_three_timeouts_and_all_come_back_after_it(
    bench: Bench,
) -> None:
    readings: dict[str, Reading] = {}
    async with link_to(bench) as link:
        every = devices(link, readings).values()
        assert await asyncio.gather(*(one.poll("fast") for one in every)) == [True] * 5
        bench.bank.book.add("gateway_frozen", device="line")
        began_s = time.monotonic()
        assert await asyncio.gather(*(one.poll("fast") for one in every)) == [False] * 5
        assert time.monotonic() - began_s < 3 * 0.15
        assert {reading.value for reading in readings.values()} == {None}
        bench.bank.book.clear()
        until_s = time.monotonic() + 3.0
        while not all(await asyncio.gather(*(one.poll("fast") for one in every))):
            assert time.monotonic() < until_s
            await asyncio.sleep(0.05)


async def test_the_shipped_bench_of_lines_opens_them_and_tells_where(tmp_path: Path) -> None:
    config = load_bench(ROOT / "configs" / "sim" / "serial.yaml")
    async with Bench(config) as bench:
        lines = bench.ports["lines"]
        assert isinstance(lines, dict)
        assert lines["rs485"]["address"].startswith("/dev/pts/")
        assert lines["rs485"]["settings"] == "19200 8E1"
        assert lines["gateway"]["units"]["5"] == "cdu"


async def test_a_line_keeps_one_name_as_an_adapter_does(tmp_path: Path) -> None:
    link = tmp_path / "usb-adapter"
    setting = LineSetting("line", LineKind.PTY, UNITS, FAST, link=link)
    async with Bench(demo_bench(1, lines=(setting,))) as bench:
        assert str(link.resolve()) == bench.bank.lines["line"].address
    assert not link.is_symlink()


def test_a_line_to_a_device_that_is_not_there_is_refused() -> None:
    setting = LineSetting("line", LineKind.PTY, {1: "r09/leak_panel"}, FAST)
    with pytest.raises(ValueError, match="no device 'r09/leak_panel'"):
        Bench(demo_bench(1, lines=(setting,)))
