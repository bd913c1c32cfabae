"""What a device may do to a Modbus link, on real sockets, and what the link makes of it."""

import asyncio
import gc
import os
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from fieldkit.bus import LinkError
from fieldkit.modbus import TcpLink
from fieldkit.reading import Reason
from tests.wire.scripted_device import Request, Script, ScriptedDevice, answer_well, scripted


@asynccontextmanager
async def link_to(device: ScriptedDevice, **options: object) -> AsyncGenerator[TcpLink, None]:
    settings: dict[str, object] = {"timeout_s": 0.2, "reconnect_cap_s": 1.0, **options}
    link = TcpLink("bench", "127.0.0.1", device.port, **settings)  # type: ignore[arg-type]
    try:
        yield link
    finally:
        await link.close()


def words(data: bytes) -> list[int]:
    return [int.from_bytes(data[n : n + 2], "big") for n in range(0, len(data), 2)]


async def refused(link: TcpLink, *ask: object) -> LinkError:
    with pytest.raises(LinkError) as caught:
        await link.read(*(ask or (1, "input", 10, 2)))  # type: ignore[arg-type]
    return caught.value


async def test_reads_of_all_four_tables_return_what_the_wire_carried() -> None:
    async with scripted() as device, link_to(device) as link:
        assert words(await link.read(1, "input", 10, 3)) == [10, 11, 12]
        assert words(await link.read(1, "holding", 65535, 1)) == [65535]
        assert await link.read(1, "coil", 0, 9) == b"\x55\x55"
        assert await link.read(1, "discrete", 0, 8) == b"\x55"
        assert [r.function for r in device.requests] == [4, 3, 1, 2]
        assert link.counters.good == 4
        assert device.connections == 1


async def test_writes_use_single_functions_for_one_and_multiple_functions_for_many() -> None:
    async with scripted() as device, link_to(device) as link:
        await link.write(1, "holding", 5, [7])
        await link.write(1, "holding", 5, [7], multiple=True)
        await link.write(1, "holding", 5, [7, 8])
        await link.write(1, "coil", 5, [1])
        await link.write(1, "coil", 5, [1, 0, 1])
        assert [r.function for r in device.requests] == [6, 16, 16, 5, 15]
        with pytest.raises(ValueError, match="cannot be written; allowed: holding, coil"):
            await link.write(1, "input", 5, [1])


async def test_a_request_that_the_standard_forbids_never_reaches_the_wire() -> None:
    async with scripted() as device, link_to(device) as link:
        with pytest.raises(ValueError, match="125"):
            await link.read(1, "input", 0, 126)
        assert words(await link.read(1, "input", 0, 1)) == [0]
        assert len(device.requests) == 1


@pytest.mark.parametrize(
    ("pdu", "reason"),
    [
        (b"\x04\x02\x00\xfa", Reason.SHORT_REPLY),
        (b"\x04\x04\x00\xfa", Reason.SHORT_REPLY),
        (b"\x04\x03\x00\xfa\x00", Reason.SHORT_REPLY),
        (b"\x04\x06\x00\x01\x00\x02\x00\x03", Reason.SHORT_REPLY),
        (b"\x03\x04\x00\x01\x00\x02", Reason.WRONG_ID),
        (b"\x06\x00\x0a\x00\x02", Reason.WRONG_ID),
    ],
)
async def test_a_reply_that_does_not_fit_the_request_gives_no_data(pdu: bytes, reason: Reason) -> None:
    def script(request: Request, wire: asyncio.StreamWriter) -> None:
        wire.write(request.frame(pdu))

    async with scripted(script) as device, link_to(device) as link:
        error = await refused(link)
        assert error.reason is reason
        assert "bench" in error.text
        assert "unit 1: function 4, address 10, count 2" in error.text
        device.script = answer_well
        assert words(await link.read(1, "input", 10, 2)) == [10, 11]
        assert device.connections == 1


async def test_another_units_reply_is_never_taken() -> None:
    def script(request: Request, wire: asyncio.StreamWriter) -> None:
        wire.write(request.frame(request.good_pdu(), unit=1))

    async with scripted(script) as device:
        async with link_to(device) as link:
            error = await refused(link, 2, "input", 10, 2)
            assert error.reason is Reason.WRONG_ID
            assert "answered by unit 1" in error.text
        async with link_to(device, ignore_unit=True) as link:
            assert words(await link.read(2, "input", 10, 2)) == [10, 11]


@pytest.mark.parametrize("tid", [0, 0x0100, 999])
async def test_another_transaction_id_is_never_taken(tid: int) -> None:
    def script(request: Request, wire: asyncio.StreamWriter) -> None:
        wire.write(request.frame(request.good_pdu(), tid=tid))

    async with scripted(script) as device:
        async with link_to(device) as link:
            error = await refused(link)
            assert error.reason is Reason.WRONG_ID
            assert "transaction id mismatch" in error.text
        async with link_to(device, ignore_transaction_id=True) as link:
            assert words(await link.read(1, "input", 10, 2)) == [10, 11]


@pytest.mark.parametrize(
    ("table", "values", "echo"),
    [
        ("holding", [0x6A], b"\x06\x00\x05\x00\x64"),
        ("holding", [0x6A], b"\x06\x00\x00\x00\x6a"),
        ("holding", [1, 2], b"\x10\x00\x05\x00\x01"),
        ("coil", [1], b"\x05\x00\x05\x00\x00"),
        ("coil", [1, 1], b"\x0f\x00\x06\x00\x02"),
        ("holding", [0x6A], b"\x06\x00\x05"),
    ],
)
async def test_a_write_whose_echo_differs_has_not_been_done(table: str, values: list[int], echo: bytes) -> None:
    def script(request: Request, wire: asyncio.StreamWriter) -> None:
        wire.write(request.frame(echo))

    async with scripted(script) as device, link_to(device) as link:
        with pytest.raises(LinkError, match="echo") as caught:
            await link.write(1, table, 5, values)
        assert caught.value.reason is Reason.ECHO
        assert len(device.requests) == 1


@pytest.mark.parametrize("code", [0, 2, 5, 6, 0x0A, 0x0B, 0xE0])
async def test_every_exception_code_is_told_as_its_number_and_costs_one_request(code: int) -> None:
    def script(request: Request, wire: asyncio.StreamWriter) -> None:
        wire.write(request.exception(code))

    async with scripted(script) as device, link_to(device) as link:
        error = await refused(link)
        assert (error.reason, error.code) == (Reason.EXCEPTION, code)
        assert f"exception {code} (" in error.text
        device.script = answer_well
        assert words(await link.read(1, "input", 10, 2)) == [10, 11]
        assert device.connections == 1


async def test_an_exception_reply_whose_length_leaves_out_the_code_is_still_that_exception() -> None:
    def script(request: Request, wire: asyncio.StreamWriter) -> None:
        wire.write(request.frame(bytes([request.function | 0x80, 2]), length=2))

    async with scripted(script) as device, link_to(device) as link:
        assert (await refused(link)).code == 2
        device.script = answer_well
        assert words(await link.read(1, "input", 10, 2)) == [10, 11]


@pytest.mark.parametrize("length", [0, 1, 255, 65535])
async def test_a_length_that_cannot_be_rebuilds_the_connection(length: int) -> None:
    def script(request: Request, wire: asyncio.StreamWriter) -> None:
        wire.write(request.frame(request.good_pdu(), length=length))

    async with scripted() as device, link_to(device) as link:
        await link.read(1, "input", 10, 2)
        device.script = script
        started_s = time.monotonic()
        error = await refused(link)
        assert "bad frame" in error.text
        assert time.monotonic() - started_s < 0.15
        device.script = answer_well
        assert words(await link.read(1, "input", 10, 2)) == [10, 11]
        assert device.connections == 2


async def test_a_length_longer_than_the_reply_costs_one_timeout_and_never_a_wrong_value() -> None:
    def script(request: Request, wire: asyncio.StreamWriter) -> None:
        wire.write(request.frame(request.good_pdu(), length=9))

    async with scripted() as device, link_to(device, timeout_s=0.1) as link:
        await link.read(1, "input", 10, 2)
        device.script = script
        assert (await refused(link)).reason is Reason.TIMEOUT
        device.script = answer_well
        results = [await asyncio.gather(link.read(1, "input", 20, 2), return_exceptions=True) for _ in range(4)]
        values = [words(r[0]) for r in results if isinstance(r[0], bytes)]
        assert values
        assert all(v == [20, 21] for v in values)


async def test_a_reply_split_at_any_byte_gives_the_exact_value() -> None:
    cut = 0

    async def script(request: Request, wire: asyncio.StreamWriter) -> None:
        frame = request.good()
        wire.write(frame[:cut])
        await asyncio.sleep(0.002)
        wire.write(frame[cut:])

    async with scripted(script) as device, link_to(device) as link:
        for place in range(1, 13):
            cut = place
            assert words(await link.read(1, "input", 0x133, 2)) == [0x133, 0x134]
        assert device.connections == 1


async def test_bytes_left_after_a_reply_spoil_nothing() -> None:
    def script(request: Request, wire: asyncio.StreamWriter) -> None:
        wire.write(request.good() + b"\xaa\xbb")

    async with scripted(script) as device, link_to(device) as link:
        for address in range(20):
            assert words(await link.read(1, "input", address, 2)) == [address, address + 1]
        assert link.counters.stray_frames == 19
        assert device.connections == 1


async def test_five_hundred_late_replies_are_never_taken_for_the_next_answer() -> None:
    held: list[bytes] = []
    late = False

    def script(request: Request, wire: asyncio.StreamWriter) -> None:
        if late:
            held.append(request.good())
        else:
            wire.write(b"".join(held) + request.good())
            held.clear()

    async with scripted(script) as device, link_to(device, timeout_s=0.004, silent_s=60.0) as link:
        for n in range(500):
            late = True
            assert (await refused(link, 1, "input", n, 2)).reason is Reason.TIMEOUT
            late = False
            for _ in range(20):  # a busy machine may make a good reply late as well
                try:
                    got = await link.read(1, "input", 10_000 + n, 2)
                except LinkError as error:
                    assert error.reason is Reason.TIMEOUT  # ruff: ignore[pytest-assert-in-except]
                else:
                    assert words(got) == [10_000 + n, 10_001 + n]
                    break
            else:
                pytest.fail("no good reply in 20 attempts")
        assert link.counters.late_replies >= 500
        assert link.counters.wrong_ids == 0
        assert device.connections == 1


async def test_a_late_reply_cut_in_two_by_the_next_request_is_still_dropped_whole() -> None:
    first = True
    tail = b""

    async def script(request: Request, wire: asyncio.StreamWriter) -> None:
        nonlocal first, tail
        if first:
            first = False
            await asyncio.sleep(0.12)
            frame = request.good()
            wire.write(frame[:9])
            tail = frame[9:]
        else:
            wire.write(tail)
            await asyncio.sleep(0.005)
            wire.write(request.good())

    async with scripted(script) as device, link_to(device, timeout_s=0.1) as link:
        assert (await refused(link)).reason is Reason.TIMEOUT
        await asyncio.sleep(0.05)
        assert words(await link.read(1, "input", 30, 2)) == [30, 31]
        assert link.counters.late_replies == 1
        assert device.connections == 1


async def test_a_device_that_closes_after_each_reply_is_read_without_a_gap() -> None:
    async def script(request: Request, wire: asyncio.StreamWriter) -> None:
        wire.write(request.good())
        await wire.drain()
        wire.close()

    async with scripted(script) as device, link_to(device) as link:
        for n in range(50):
            assert words(await link.read(1, "input", n, 2)) == [n, n + 1]
        assert device.connections == 50


async def test_a_read_on_a_connection_closed_under_it_is_asked_again_at_once_but_a_write_never() -> None:
    def hang_up(_request: Request, wire: asyncio.StreamWriter) -> None:
        device.script = answer_well
        wire.close()

    async with scripted() as device, link_to(device) as link:
        await link.read(1, "input", 0, 1)
        device.script = hang_up
        started_s = time.monotonic()
        assert words(await link.read(1, "input", 10, 2)) == [10, 11]
        assert time.monotonic() - started_s < 0.15
        device.script = hang_up
        asked = len(device.requests)
        with pytest.raises(LinkError, match="connection closed") as caught:
            await link.write(1, "holding", 5, [1])
        assert caught.value.reason is Reason.LINK_DOWN
        assert len(device.requests) == asked + 1
        await link.write(1, "holding", 5, [1])


def silence(_request: Request, _wire: asyncio.StreamWriter) -> None:
    return


async def test_a_silent_device_costs_one_timeout_a_request_and_is_connected_anew() -> None:
    async with scripted() as device, link_to(device, timeout_s=0.05, silent_s=0.12) as link:
        await link.read(1, "input", 0, 1)
        device.script = silence
        for _ in range(3):
            started_s = time.monotonic()
            assert (await refused(link)).reason is Reason.TIMEOUT
            assert time.monotonic() - started_s < 0.12
        assert link.counters.disconnects == 1
        device.script = answer_well
        assert words(await link.read(1, "input", 10, 2)) == [10, 11]
        assert device.connections == 2


async def test_a_silent_unit_behind_a_gateway_does_not_cost_the_others_their_connection() -> None:
    def script(request: Request, wire: asyncio.StreamWriter) -> None:
        if request.unit != 2:
            wire.write(request.good())

    async with scripted(script) as device, link_to(device, timeout_s=0.1, silent_s=0.15) as link:
        for _ in range(3):
            await link.read(1, "input", 0, 1)
            for _ in range(3):
                await refused(link, 2, "input", 0, 1)
        assert device.connections == 1


async def test_a_link_that_starts_before_its_device_comes_up_with_it() -> None:
    device = ScriptedDevice()
    await device.start()
    await device.stop()
    async with link_to(device) as link:
        error = await refused(link)
        assert error.reason is Reason.LINK_DOWN
        assert "Connect call failed" in error.text
        assert "next attempt in" in (await refused(link)).text
        await device.start()
        for _ in range(200):
            await asyncio.sleep(0.01)
            try:
                assert words(await link.read(1, "input", 10, 2)) == [10, 11]
                break
            except LinkError:
                continue
        else:
            pytest.fail("never connected")
        assert link.counters.connect_failures == 1
        await device.stop()


async def test_twenty_pulled_cables_are_twenty_reconnections() -> None:
    async with scripted() as device, link_to(device) as link:
        for n in range(20):
            assert words(await link.read(1, "input", n, 1)) == [n]
            device.hang_up()
            await asyncio.sleep(0.001)
        assert link.counters.disconnects >= 19


async def test_a_dead_device_costs_few_attempts_and_little_processor_time() -> None:
    device = ScriptedDevice()
    await device.start()
    await device.stop()
    async with link_to(device, reconnect_cap_s=1.0) as link:
        cpu_s, until_s = time.process_time(), time.monotonic() + 1.0
        while time.monotonic() < until_s:
            await refused(link)
            await asyncio.sleep(0.01)
        assert link.counters.connect_failures <= 3
        assert time.process_time() - cpu_s < 0.5


async def test_a_write_goes_before_reads_that_already_wait() -> None:
    gate = asyncio.Event()

    async def script(request: Request, wire: asyncio.StreamWriter) -> None:
        await gate.wait()
        wire.write(request.good())

    async with scripted(script) as device, link_to(device, timeout_s=1.0) as link:
        reads = [asyncio.create_task(link.read(1, "input", n, 1)) for n in range(5)]
        await asyncio.sleep(0.02)
        write = asyncio.create_task(link.write(1, "holding", 0, [1]))
        await asyncio.sleep(0.02)
        gate.set()
        await asyncio.gather(write, *reads)
        assert [r.function for r in device.requests] == [4, 6, 4, 4, 4, 4]


async def test_a_cancelled_request_leaves_the_link_usable_and_its_reply_is_late() -> None:
    async def slow(request: Request, wire: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)
        wire.write(request.good())

    async with scripted(slow) as device, link_to(device) as link:
        task = asyncio.create_task(link.read(1, "input", 0, 1))
        waiting = asyncio.create_task(link.read(1, "input", 7, 1))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert words(await waiting) == [7]
        assert link.counters.late_replies == 1


async def test_requests_wait_for_the_gap_and_are_refused_while_the_device_settles() -> None:
    async with scripted() as device:
        async with link_to(device, min_gap_s=0.03) as link:
            started_s = time.monotonic()
            for n in range(4):
                await link.read(1, "input", n, 1)
            assert time.monotonic() - started_s >= 0.09
        async with link_to(device, settle_s=0.1) as link:
            assert "settles for" in (await refused(link)).text
            await asyncio.sleep(0.12)
            assert words(await link.read(1, "input", 10, 2)) == [10, 11]


async def test_small_packets_leave_at_once() -> None:
    async with scripted() as device, link_to(device) as link:
        await link.connect()
        assert link.connected
        assert link._client is not None
        wire = link._client.ctx.transport.get_extra_info("socket")
        assert wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_connections_made_and_lost_leave_no_descriptor_behind() -> None:
    script: Script = answer_well
    async with scripted(script) as device, link_to(device) as link:
        await link.read(1, "input", 0, 1)
        before = open_descriptors()
        for _ in range(300):
            await link.close()
            await link.read(1, "input", 0, 1)
        gc.collect()
        for _ in range(50):
            if open_descriptors() <= before + 2:
                break
            await asyncio.sleep(0.01)
        assert open_descriptors() <= before + 2


async def test_a_device_that_closes_each_connection_as_soon_as_it_is_made_is_a_link_that_is_down() -> None:
    def slam(_reader: asyncio.StreamReader, wire: asyncio.StreamWriter) -> None:
        wire.transport.abort()

    server = await asyncio.start_server(slam, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    link = TcpLink("bench", "127.0.0.1", port, timeout_s=0.1, reconnect_cap_s=0.3)
    for _ in range(30):
        assert (await refused(link)).reason in {Reason.LINK_DOWN, Reason.TIMEOUT}
        await asyncio.sleep(0.02)
    assert link.counters.connects + link.counters.connect_failures <= 6
    await link.close()
    server.close()


async def never_mixed_up(reads: int, *, timeout_s: float) -> None:
    """Ask registers of equal lengths in turn while every third reply comes after its timeout."""
    count = 0

    def late(request: Request, wire: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        if count % 3:
            wire.write(request.good())
        else:
            asyncio.get_running_loop().call_later(1.5 * timeout_s, wire.write, request.good())

    good, slowest_s = 0, 0.0
    async with scripted(late) as device, link_to(device, timeout_s=timeout_s, silent_s=60.0) as link:
        for n in range(reads):
            address = 7 * n % 60_000
            started_s = time.monotonic()
            try:
                got = await link.read(1 + n % 2, "input", address, 2)
            except LinkError as error:
                assert error.reason is Reason.TIMEOUT, error  # ruff: ignore[pytest-assert-in-except]
            else:
                assert words(got) == [address, address + 1]
                good += 1
            slowest_s = max(slowest_s, time.monotonic() - started_s)
        assert link.counters.late_replies > reads // 6
        assert link.counters.wrong_ids == link.counters.stray_frames == 0
        assert good > reads // 3
        assert device.connections == 1
        assert slowest_s < timeout_s + 0.25, "the deadline of a read holds, on a machine that others use too"


async def test_five_hundred_reads_with_late_replies_never_give_another_registers_value() -> None:
    await never_mixed_up(500, timeout_s=0.01)


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_ten_thousand_reads_with_late_replies_never_give_another_registers_value() -> None:
    await never_mixed_up(10_000, timeout_s=0.01)
