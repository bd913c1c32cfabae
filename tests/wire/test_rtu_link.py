"""What a serial line or an RTU gateway may do to a link, on pseudo-terminals and sockets, and what the link makes of it.

Every register holds its own address, so that a value taken for another register's shows.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from fieldkit.bus import LinkError, UnitBus
from fieldkit.reading import Reason
from fieldkit.rtu import RtuLink
from fieldkit.rtu_frames import Line
from fieldkit.wires import serial, stream
from tests.wire.scripted_line import (
    Answer,
    Asked,
    Script,
    ScriptedLine,
    answer_well,
    scripted_gateway,
    scripted_pty,
    silence,
)

LINE = Line(115200, "E", 1)
Scripted = Callable[[Script], AbstractAsyncContextManager[ScriptedLine]]
CARRIERS = pytest.mark.parametrize("scripted", [scripted_pty, scripted_gateway])


@asynccontextmanager
async def link_to(line: ScriptedLine, **options: object) -> AsyncGenerator[RtuLink, None]:
    settings: dict[str, object] = {"timeout_s": 0.1, "late_reply_s": 0.4, "reconnect_cap_s": 1.0, **options}
    if line.address.startswith("/"):
        opener = serial(line.address, LINE)
        settings["keeps_open"] = True
    else:
        host, _, port = line.address.rpartition(":")
        opener = stream(host, int(port), 0.2)
    link = RtuLink("bench", line.address, opener, LINE, **settings)  # type: ignore[arg-type]
    try:
        yield link
    finally:
        await link.close()


def words(data: bytes) -> list[int]:
    return [int.from_bytes(data[n : n + 2], "big") for n in range(0, len(data), 2)]


async def refused(link: RtuLink, *ask: object) -> LinkError:
    with pytest.raises(LinkError) as caught:
        await link.read(*(ask or (1, "holding", 10, 2)))  # type: ignore[arg-type]
    return caught.value


@CARRIERS
async def test_reads_and_writes_of_all_tables_come_through(scripted: Scripted) -> None:
    async with scripted(answer_well) as line, link_to(line) as link:
        assert words(await link.read(1, "input", 10, 3)) == [10, 11, 12]
        assert words(await link.read(247, "holding", 65535, 1)) == [65535]
        assert await link.read(1, "coil", 0, 9) == b"\x55\x55"
        assert await link.read(1, "discrete", 0, 8) == b"\x55"
        await link.write(1, "holding", 5, [7])
        await link.write(1, "holding", 5, [7, 8])
        await link.write(1, "coil", 5, [1])
        await link.write(1, "coil", 5, [1, 0, 1])
        assert [one.function for one in line.asked] == [4, 3, 1, 2, 6, 16, 5, 15]
        assert link.counters.good == 8
        assert line.damaged == 0


@CARRIERS
@pytest.mark.parametrize(
    ("wrong", "reason", "counter"),
    [
        (lambda asked: [(0.0, asked.reply(unit=9))], Reason.WRONG_ID, "wrong_ids"),
        (lambda asked: [(0.0, asked.reply(function=4))], Reason.WRONG_ID, "wrong_ids"),
        (lambda asked: [(0.0, asked.reply(count=1))], Reason.SHORT_REPLY, "short_replies"),
        (lambda asked: [(0.0, asked.reply()[:6])], Reason.SHORT_REPLY, "half_frames"),
        (lambda asked: [(0.0, asked.reply()[:-1] + b"\xff")], Reason.SHORT_REPLY, "crc_errors"),
        (lambda asked: [(0.0, asked.frame + asked.reply())], Reason.ECHO, "echoes"),
        (lambda asked: [(0.0, asked.frame[:-1] + asked.reply())], Reason.ECHO, "echoes"),
        (lambda asked: [(0.0, asked.frame[1:]), (0.01, asked.reply())], Reason.ECHO, "echoes"),
        (lambda asked: [], Reason.TIMEOUT, "timeouts"),
    ],
)
async def test_every_way_to_be_wrong_is_a_counted_error_of_its_kind_and_the_next_request_starts_clean(
    scripted: Scripted, wrong: Script, reason: Reason, counter: str
) -> None:
    async with scripted(wrong) as line, link_to(line) as link:
        error = await refused(link)
        assert error.reason is reason
        assert "unit 1: function 3, address 10, count 2" in error.text
        assert getattr(link.counters, counter) == 1
        line.script = answer_well
        assert words(await link.read(1, "holding", 500, 5)) == [500, 501, 502, 503, 504]
        assert words(await link.read(2, "holding", 600, 2)) == [600, 601]
        assert link.connected


@CARRIERS
async def test_exceptions_are_told_by_their_number(scripted: Scripted) -> None:
    async with scripted(lambda asked: [(0.0, asked.exception(2))]) as line, link_to(line) as link:
        error = await refused(link)
        assert (error.reason, error.code) == (Reason.EXCEPTION, 2)


@CARRIERS
async def test_noise_before_a_reply_costs_nothing_and_is_counted(scripted: Scripted) -> None:
    async with scripted(lambda asked: [(0.0, b"\x00\xff\x7e" + asked.reply())]) as line, link_to(line) as link:
        for address in range(20):
            assert words(await link.read(1, "holding", address, 2)) == [address, address + 1]
        assert link.counters.noise_bytes == 60


@CARRIERS
async def test_noise_between_requests_is_waited_out(scripted: Scripted) -> None:
    async with scripted(answer_well) as line, link_to(line) as link:
        for address in range(20):
            line.send(b"\x01\x03\x04")
            await asyncio.sleep(0.001)
            assert words(await link.read(1, "holding", address, 2)) == [address, address + 1]


@CARRIERS
async def test_a_line_that_never_falls_silent_costs_a_timeout_a_request_and_no_value(scripted: Scripted) -> None:
    async with scripted(answer_well) as line, link_to(line, min_gap_s=0.02) as link:
        await link.connect()

        async def babble() -> None:
            while True:
                line.send(b"\x55")
                await asyncio.sleep(0.002)

        babbler = asyncio.create_task(babble())
        await asyncio.sleep(0.02)
        started_s = time.monotonic()
        assert "never silent" in (await refused(link)).text
        assert time.monotonic() - started_s < 0.3
        babbler.cancel()
        await asyncio.gather(babbler, return_exceptions=True)
        assert words(await link.read(1, "holding", 10, 2)) == [10, 11]


@CARRIERS
@pytest.mark.parametrize("pause_s", [0.001, 0.03])
async def test_a_reply_cut_at_any_byte_is_the_exact_value(scripted: Scripted, pause_s: float) -> None:
    cut = 0

    def pieces(asked: Asked) -> Answer:
        frame = asked.reply()
        return [(0.0, frame[:cut]), (pause_s, frame[cut:])]

    async with scripted(pieces) as line, link_to(line) as link:
        for place in range(1, 9):
            cut = place
            assert words(await link.read(1, "holding", 0x0304, 2)) == [0x0304, 0x0305]


@CARRIERS
async def test_an_adapter_that_echoes_works_with_the_option(scripted: Scripted) -> None:
    def echo(asked: Asked) -> Answer:
        return [(0.0, asked.frame[:5]), (0.002, asked.frame[5:]), (0.004, asked.reply())]

    async with scripted(echo) as line, link_to(line, local_echo=True) as link:
        for address in range(0x02F8, 0x0308):
            assert words(await link.read(1, "holding", address, 2)) == [address, address + 1]
        await link.write(1, "holding", 5, [7])
        line.script = lambda asked: [(0.0, asked.frame)]
        with pytest.raises(LinkError, match="no answer"):
            await link.write(1, "holding", 5, [7])
        line.script = answer_well
        assert (await refused(link)).reason is Reason.ECHO
        assert link.counters.echoes == 1


LATE_CI, LATE_LONG = 500, 10_000


async def never_mixed_up(scripted: Scripted, reads: int, *, timeout_s: float, late_reply_s: float) -> None:
    """Ask registers of equal lengths in turn while every third reply comes after its timeout."""
    count = 0

    def late(asked: Asked) -> Answer:
        nonlocal count
        count += 1
        return [(timeout_s * 1.5 if count % 3 == 0 else 0.0, asked.reply())]

    good = held = 0
    slowest_s = 0.0
    async with (
        scripted(late) as line,
        link_to(line, timeout_s=timeout_s, late_reply_s=late_reply_s, silent_s=60.0) as link,
    ):
        for n in range(reads):
            address = 7 * n % 60_000
            started_s = time.monotonic()
            try:
                got = await link.read(1 + n % 2, "holding", address, 2)
            except LinkError as error:
                assert error.reason is Reason.TIMEOUT, error  # ruff: ignore[pytest-assert-in-except]
                held += not error.sent
                if not error.sent:
                    await asyncio.sleep(timeout_s / 10)
            else:
                assert words(got) == [address, address + 1]
                good += 1
            slowest_s = max(slowest_s, time.monotonic() - started_s)
        counters = link.counters
        assert counters.wrong_ids == counters.crc_errors == 0
        assert counters.late_replies >= counters.timeouts - 2
        assert counters.timeouts > reads // 20
        assert held == counters.held_back > 0
        assert good > reads // 4
        assert slowest_s < timeout_s + 0.25, "the deadline of a read holds, on a machine that others use too"


@CARRIERS
async def test_five_hundred_reads_with_late_replies_never_give_another_registers_value(scripted: Scripted) -> None:
    await never_mixed_up(scripted, LATE_CI, timeout_s=0.01, late_reply_s=0.1)


@pytest.mark.long
@pytest.mark.timeout(600)
@CARRIERS
async def test_ten_thousand_reads_with_late_replies_never_give_another_registers_value(scripted: Scripted) -> None:
    await never_mixed_up(scripted, LATE_LONG, timeout_s=0.01, late_reply_s=0.1)


@CARRIERS
async def test_another_unit_and_another_length_are_asked_at_once_after_a_timeout(scripted: Scripted) -> None:
    def one_is_late(asked: Asked) -> Answer:
        return [(0.2 if asked.unit == 1 and asked.count == 2 else 0.0, asked.reply())]

    async with scripted(one_is_late) as line, link_to(line) as link:
        assert (await refused(link)).reason is Reason.TIMEOUT
        held = await refused(link, 1, "holding", 20, 2)
        assert not held.sent
        assert "held back" in held.text
        assert words(await link.read(1, "holding", 30, 3)) == [30, 31, 32]
        assert words(await link.read(2, "holding", 40, 2)) == [40, 41]
        await asyncio.sleep(0.2)
        assert link.counters.late_replies == 0 or link.counters.late_replies == 1
        line.script = answer_well
        assert words(await link.read(1, "holding", 20, 2)) == [20, 21], "the late reply was seen: nothing is owed"
        assert link.counters.late_replies == 1


@CARRIERS
async def test_a_write_goes_before_waiting_reads_and_waits_for_one_frame_at_most(scripted: Scripted) -> None:
    async with scripted(lambda asked: [(0.02, asked.reply())]) as line, link_to(line) as link:
        reads = [asyncio.create_task(link.read(1 + n, "holding", n, 1)) for n in range(5)]
        await asyncio.sleep(0.005)
        proof = UnitBus(link, 0.1, first=True)
        await link.write(9, "holding", 0, [1, 2])
        assert words(await proof.read(9, "holding", 50, 2)) == [50, 51]
        await asyncio.gather(*reads)
        assert [one.unit for one in line.asked] == [1, 9, 2, 9, 3, 4, 5], "one frame before each of the two"


async def test_a_second_owner_of_a_serial_line_is_refused() -> None:
    async with scripted_pty(answer_well) as line, link_to(line) as one, link_to(line) as other:
        await one.read(1, "holding", 10, 2)
        error = await refused(other)
        assert error.reason is Reason.LINK_DOWN
        assert "a serial line has one owner" in error.text
        assert "next attempt in" in (await refused(other)).text


async def test_an_adapter_that_is_pulled_fails_at_once_and_is_opened_again_by_its_name(tmp_path: object) -> None:
    name = f"{tmp_path}/usb-adapter"
    before = len(os.listdir("/proc/self/fd"))
    async with scripted_pty(answer_well) as first:
        os.symlink(first.address, name)
        link = RtuLink("bench", name, serial(name, LINE), LINE, timeout_s=0.2, keeps_open=True, reconnect_cap_s=0.3)
        assert words(await link.read(1, "holding", 10, 2)) == [10, 11]
    os.unlink(name)
    await asyncio.sleep(0.01)
    assert not link.connected, "the dead descriptor is closed at once"
    error = await refused(link)
    assert error.reason is Reason.LINK_DOWN
    assert "No such file" in error.text
    async with scripted_pty(answer_well) as second:
        os.symlink(second.address, name)
        until_s = time.monotonic() + 2.0
        while True:
            try:
                assert words(await link.read(1, "holding", 10, 2)) == [10, 11]
                break
            except LinkError:
                assert time.monotonic() < until_s
                await asyncio.sleep(0.02)
        await link.close()
    assert len(os.listdir("/proc/self/fd")) <= before + 1


async def test_what_is_no_serial_port_is_told() -> None:
    link = RtuLink("bench", "/dev/null", serial("/dev/null", LINE), LINE, timeout_s=0.1, keeps_open=True)
    assert "is no serial port" in (await refused(link)).text
    odd = Line(19201)
    link = RtuLink("bench", "/dev/null", serial("/dev/null", odd), odd, timeout_s=0.1, keeps_open=True)
    assert "19201 baud is no speed" in (await refused(link)).text


async def test_the_line_is_set_as_stated_and_gaps_are_kept() -> None:
    slow = Line(9600, "N", 2)
    async with scripted_pty(answer_well) as line:
        link = RtuLink("bench", line.address, serial(line.address, slow), slow, timeout_s=0.2, keeps_open=True)
        started_s = time.monotonic()
        for n in range(10):
            await link.read(1, "holding", n, 2)
        assert time.monotonic() - started_s >= 9 * (slow.frame_s(8) + slow.gap_s)
        await link.close()


async def test_a_gateway_that_closes_an_idle_connection_costs_no_read() -> None:
    async with scripted_gateway(answer_well) as line, link_to(line) as link:
        for n in range(10):
            assert words(await link.read(1, "holding", n, 2)) == [n, n + 1]
            link._wire._transport.close()  # type: ignore[union-attr]
            await asyncio.sleep(0.005)
        assert line.connections == 10


async def test_a_gateway_that_stands_still_is_found_and_connected_anew() -> None:
    async with scripted_gateway(answer_well) as line, link_to(line) as link:
        for unit in range(1, 6):
            await link.read(unit, "holding", 10, 2)
        line.script = silence
        started_s = time.monotonic()
        errors = await asyncio.gather(
            *(link.read(unit, "holding", 10, 2) for unit in range(1, 6)), return_exceptions=True
        )
        took_s = time.monotonic() - started_s
        assert all(isinstance(error, LinkError) and error.reason is Reason.TIMEOUT for error in errors)
        assert took_s < 3 * 0.1
        assert link.counters.disconnects == 1
        line.script = answer_well
        until_s = time.monotonic() + 2.0
        while True:
            try:
                assert words(await link.read(1, "holding", 10, 2)) == [10, 11]
                break
            except LinkError:
                assert time.monotonic() < until_s
                await asyncio.sleep(0.02)


async def test_a_serial_port_stays_open_while_all_its_units_are_silent() -> None:
    async with scripted_pty(silence) as line, link_to(line, timeout_s=0.02, silent_s=0.05) as link:
        for _ in range(6):
            await refused(link)
            await asyncio.sleep(0.4)
        assert link.counters.connects == 1
        assert link.counters.disconnects == 0
