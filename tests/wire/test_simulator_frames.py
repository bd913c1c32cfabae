"""The simulator's frame server on real sockets: against pymodbus, raw bytes and mbpoll."""

import asyncio
import shutil
import struct
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from pymodbus.client import AsyncModbusTcpClient
from pymodbus.pdu.mei_message import ReadDeviceInformationResponse

from firmware_sim.bench import Bench
from firmware_sim.bench_config import demo_bench
from firmware_sim.parts.maps import MAPS
from firmware_sim.stamps import StampKind

READ_CONTACTS = bytes.fromhex("0001 0000 0006 01 04 0000 000a")
REPLY_HEAD = bytes.fromhex("0001 0000 0017 01 04 14")
REPLY_SIZE = 29
SOON_S = 2.0


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    async with Bench(demo_bench(1)) as running:
        yield running


async def connect(
    bench: Bench, device: str = "r01/valve_controller"
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(*bench.address(device))


async def read_some(reader: asyncio.StreamReader, size: int) -> bytes:
    return await asyncio.wait_for(reader.readexactly(size), SOON_S)


async def silent(reader: asyncio.StreamReader, for_s: float = 0.15) -> bool:
    """True when nothing comes, and the connection stays open."""
    try:
        await asyncio.wait_for(reader.read(1), for_s)
    except TimeoutError:
        return True
    return False


async def closed(reader: asyncio.StreamReader) -> bool:
    try:
        return await asyncio.wait_for(reader.read(), SOON_S) == b""
    except ConnectionResetError:
        return True


async def test_a_pymodbus_client_reads_writes_and_identifies_every_device(bench: Bench) -> None:
    for name, endpoint in bench.bank.endpoints.items():
        host, port = bench.address(name)
        client = AsyncModbusTcpClient(host, port=port, timeout=SOON_S, retries=0)
        assert await client.connect()
        identity = await client.read_device_information()
        assert isinstance(identity, ReadDeviceInformationResponse)
        assert identity.information[1].decode() == endpoint.firmware.map.product
        assert len((await client.read_input_registers(900, count=21)).registers) == 21
        client.close()


async def test_a_pymodbus_client_drives_the_valves(bench: Bench) -> None:
    host, port = bench.address("r01/valve_controller")
    client = AsyncModbusTcpClient(host, port=port, timeout=SOON_S, retries=0)
    await client.connect()
    assert not (await client.write_registers(0, [1, 1, 0, 0, 5000])).isError()
    assert not (await client.write_register(8, 1)).isError()
    assert (await client.read_holding_registers(0, count=5)).registers == [1, 1, 0, 0, 5000]
    assert (await client.read_input_registers(1, count=1)).registers == [0b10011]
    refused = await client.write_register(0, 2)
    assert (refused.isError(), refused.exception_code) == (True, 3)
    client.close()


async def test_frames_may_arrive_in_any_pieces(bench: Bench) -> None:
    reader, writer = await connect(bench)
    for byte in READ_CONTACTS:
        writer.write(bytes((byte,)))
        await writer.drain()
        await asyncio.sleep(0.001)
    assert (await read_some(reader, REPLY_SIZE)).startswith(REPLY_HEAD)
    writer.write(READ_CONTACTS + READ_CONTACTS + READ_CONTACTS[:5])
    assert (await read_some(reader, 2 * REPLY_SIZE)).count(REPLY_HEAD) == 2
    writer.write(READ_CONTACTS[5:])
    assert (await read_some(reader, REPLY_SIZE)).startswith(REPLY_HEAD)
    writer.close()


@pytest.mark.parametrize(
    "frame", ["0001 1234 0006 01 04 0000 000a", "0001 0000 0001 01 04", "0001 0000 ffff 01 04 0000"]
)
async def test_bytes_that_are_no_modbus_end_the_connection_and_nothing_else(bench: Bench, frame: str) -> None:
    reader, writer = await connect(bench)
    other, other_writer = await connect(bench)
    writer.write(bytes.fromhex(frame).ljust(16, b"\0"))
    assert await closed(reader)
    other_writer.write(READ_CONTACTS)
    assert (await read_some(other, REPLY_SIZE)).startswith(REPLY_HEAD)
    writer.close()
    other_writer.close()


async def test_another_unit_is_answered_as_a_gateway_does(bench: Bench) -> None:
    reader, writer = await connect(bench)
    writer.write(bytes.fromhex("0009 0000 0006 07 04 0000 0001"))
    assert await read_some(reader, 9) == bytes.fromhex("0009 0000 0003 07 84 0b")
    writer.close()


async def test_no_more_connections_are_served_than_the_device_has(bench: Bench) -> None:
    limit = MAPS["valve_controller"].max_connections
    pairs = [await connect(bench) for _ in range(limit)]
    for reader, writer in pairs:
        writer.write(READ_CONTACTS)
        await read_some(reader, REPLY_SIZE)
    extra, extra_writer = await connect(bench)
    assert await closed(extra)
    pairs[0][1].close()
    await asyncio.sleep(0.05)
    again, again_writer = await connect(bench)
    again_writer.write(READ_CONTACTS)
    await read_some(again, REPLY_SIZE)
    for writer in (extra_writer, again_writer, *(writer for _, writer in pairs)):
        writer.close()


async def test_a_write_is_stamped_before_its_reply_leaves(bench: Bench) -> None:
    reader, writer = await connect(bench)
    loop = asyncio.get_running_loop()
    sent_s = loop.time()
    writer.write(bytes.fromhex("0001 0000 0006 01 06 0008 0000"))
    await read_some(reader, 12)
    back_s = loop.time()
    (write,) = bench.bank.stamps.find(kinds=[StampKind.WRITE])
    assert sent_s <= write.mono_ns / 1e9 <= back_s
    assert (write.rack, write.device, write.what, write.values) == ("r01", "valve_controller", "8", (0,))
    writer.close()


async def test_the_heartbeat_goes_on_between_reads(bench: Bench) -> None:
    reader, writer = await connect(bench)
    beats = []
    for _ in range(3):
        writer.write(READ_CONTACTS)
        beats.append(struct.unpack_from(">H", await read_some(reader, REPLY_SIZE), 9 + 16)[0])
        await asyncio.sleep(0.05)
    assert 4 <= beats[1] - beats[0] <= 40
    assert 4 <= beats[2] - beats[1] <= 40
    writer.close()


@pytest.mark.parametrize(
    ("kind", "value", "replies"),
    [
        ("wrong_transaction", None, [bytes.fromhex("0002 0000 0017 01 04 14")]),
        ("wrong_unit", None, [bytes.fromhex("0001 0000 0017 02 04 14")]),
        ("wrong_function", None, [bytes.fromhex("0001 0000 0017 01 03 14")]),
        ("short_reply", None, [bytes.fromhex("0001 0000 0015 01 04 12")]),
        ("exception", 6, [bytes.fromhex("0001 0000 0003 01 84 06")]),
        ("gateway_0b", None, [bytes.fromhex("0001 0000 0003 01 84 0b")]),
        ("duplicate", None, [REPLY_HEAD, REPLY_HEAD]),
        ("split", 2, [REPLY_HEAD]),
        ("merge", 20, [REPLY_HEAD]),
    ],
)
async def test_each_fault_of_a_frame_reaches_the_client_and_ends_with_it(
    bench: Bench, kind: str, value: float | None, replies: list[bytes]
) -> None:
    reader, writer = await connect(bench)
    fault = bench.bank.book.add(kind, rack="r01", device="valve_controller", value=value)
    writer.write(READ_CONTACTS)
    for head in replies:
        got = await read_some(reader, 6)
        assert (got + await read_some(reader, got[5])).startswith(head)
    bench.bank.book.clear(ident=fault.id)
    writer.write(READ_CONTACTS)
    assert (await read_some(reader, REPLY_SIZE)).startswith(REPLY_HEAD)
    writer.close()


async def test_merged_replies_leave_in_one_segment(bench: Bench) -> None:
    reader, writer = await connect(bench)
    bench.bank.book.add("merge", rack="r01", device="valve_controller", value=100)
    writer.write(READ_CONTACTS + READ_CONTACTS)
    got = await asyncio.wait_for(reader.read(4096), SOON_S)
    assert len(got) == 2 * REPLY_SIZE
    writer.close()


async def test_a_silent_device_executes_nothing_and_a_late_one_answers_after_its_time(bench: Bench) -> None:
    reader, writer = await connect(bench)
    bench.bank.book.add("no_reply", rack="r01", device="valve_controller")
    writer.write(bytes.fromhex("0001 0000 0006 01 06 0004 1388"))
    assert await silent(reader)
    assert bench.bank.rigs["r01"].valves.holding.get_u16(4) != 5000
    bench.bank.book.clear()
    bench.bank.book.add("late_reply", rack="r01", device="valve_controller", value=150)
    begun_s = asyncio.get_running_loop().time()
    writer.write(READ_CONTACTS)
    await read_some(reader, REPLY_SIZE)
    assert asyncio.get_running_loop().time() - begun_s >= 0.149
    writer.close()


async def test_close_after_reply_one_client_and_device_off(bench: Bench) -> None:
    bench.bank.book.add("close_after_reply", rack="r01", device="valve_controller")
    reader, writer = await connect(bench)
    writer.write(READ_CONTACTS)
    await read_some(reader, REPLY_SIZE)
    assert await closed(reader)
    writer.close()
    bench.bank.book.clear()
    bench.bank.book.add("one_client", rack="r01", device="valve_controller")
    first, first_writer = await connect(bench)
    first_writer.write(READ_CONTACTS)
    await read_some(first, REPLY_SIZE)
    second, second_writer = await connect(bench)
    assert await closed(second)
    second_writer.close()
    bench.bank.book.clear()
    bench.bank.book.add("device_off", rack="r01", device="valve_controller")
    first_writer.write(READ_CONTACTS)
    assert await silent(first)
    bench.bank.book.clear()
    assert await closed(first)
    first_writer.close()


async def test_a_half_open_connection_stays_dead_while_a_new_one_works(bench: Bench) -> None:
    reader, writer = await connect(bench)
    writer.write(READ_CONTACTS)
    await read_some(reader, REPLY_SIZE)
    bench.bank.book.add("half_open", rack="r01", device="valve_controller")
    writer.write(READ_CONTACTS)
    assert await silent(reader)
    fresh, fresh_writer = await connect(bench)
    fresh_writer.write(READ_CONTACTS)
    await read_some(fresh, REPLY_SIZE)
    bench.bank.book.clear()
    writer.write(READ_CONTACTS)
    assert await silent(reader)
    writer.close()
    fresh_writer.close()


async def test_a_slow_link_and_a_frozen_copy(bench: Bench) -> None:
    reader, writer = await connect(bench)
    slow = bench.bank.book.add("slow_link", rack="r01", device="valve_controller", value=410)
    begun_s = asyncio.get_running_loop().time()
    writer.write(READ_CONTACTS)
    await read_some(reader, REPLY_SIZE)
    assert asyncio.get_running_loop().time() - begun_s == pytest.approx(0.1, abs=0.06)
    bench.bank.book.clear(ident=slow.id)
    bench.bank.book.add("frozen", rack="r01", device="valve_controller")
    writer.write(READ_CONTACTS)
    first = await read_some(reader, REPLY_SIZE)
    await asyncio.sleep(0.05)
    writer.write(READ_CONTACTS)
    assert await read_some(reader, REPLY_SIZE) == first
    writer.close()


async def test_garbage_reaches_the_client(bench: Bench) -> None:
    reader, writer = await connect(bench)
    bench.bank.book.add("garbage", rack="r01", device="valve_controller")
    writer.write(READ_CONTACTS)
    got = await asyncio.wait_for(reader.read(100), SOON_S)
    assert got
    assert not got.startswith(REPLY_HEAD)
    writer.close()


@pytest.mark.skipif(shutil.which("mbpoll") is None, reason="mbpoll is not installed on this machine")
async def test_mbpoll_reads_the_feeder_meter_by_its_list_number(bench: Bench) -> None:
    host, port = bench.address("r01/feeder_meter")
    await asyncio.sleep(0.1)
    process = await asyncio.create_subprocess_exec(
        *("mbpoll", "-1", "-q", "-B", "-t", "4:float", "-r", "3060", "-c", "1", "-p", str(port), host),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output = (await asyncio.wait_for(process.communicate(), 10.0))[0].decode()
    assert process.returncode == 0, output
    kw = float(output.split("[3060]:")[1].split()[0])
    assert kw == pytest.approx(132.0 / 0.975, rel=0.02)
