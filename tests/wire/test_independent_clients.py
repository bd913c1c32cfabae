"""Two clients that share no line with ours read every point of every profile: mbpoll (libmodbus) and pyModbusTCP.

The bench's time stands still, so that all three see the same registers. What a client makes of the bytes (words,
their order, signs, floats) is its own; only the last step, the scale, is computed here from the page's numbers.
"""

import asyncio
import math
import re
import shutil
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pyModbusTCP.client import ModbusClient
from pyModbusTCP.utils import decode_ieee, get_2comp, word_list_to_long

from fieldkit.clock import RealClock
from fieldkit.device import Device
from fieldkit.modbus import TcpLink
from fieldkit.point import Point, PointType, Table, WordOrder
from fieldkit.profile import Profile
from fieldkit.reading import Reading, Reason
from fieldkit.units import convert
from fieldkit.words import text
from fieldkit.yamlfile import check, load
from firmware_sim.bank import Bank
from firmware_sim.wire import Endpoint
from tests.simulated import DEVICE_OF, RACK, endpoint_of, full_rack

HOST = "127.0.0.1"
MBPOLL = shutil.which("mbpoll")
PROFILES = Path(__file__).parents[2] / "configs" / "profiles"
TIMEOUT_S = 5.0
#: Faults that make values special: not available, not a number, broken loops and cables, saturated powers.
SPECIAL = (
    ("device_not_available", "belimo-energy-valve-v4", 1.0),
    ("device_sensor", "danfoss-novocon-m", 1.0),
    ("device_not_available", "schneider-pm5560", 1.0),
    ("device_input_lost", "raritan-xerus-pdu", 1.0),
    ("device_cable_break", "rle-ldra6", 2.0),
    ("device_leak", "rle-seahawk-10k", 1.0),
    ("device_cable_break", "rle-seahawk-ld2100", 1.0),
    ("device_saturated", "orv3-psu", 1.0),
    ("device_input_lost", "orv3-hpr-psu", 1.0),
    ("device_flow_sensor", "delta-orv3-rpu", 1.0),
    ("device_loop_open", "moxa-iologik-e1242", 2.0),
    ("device_loop_failed", "current-loops-8ch", 3.0),
    ("psu_sensor", "power_shelf_1", 2.0),
)
Raw = float | str
Client = Callable[[Point, WordOrder], Raw]


def profile_of(name: str) -> Profile:
    return check(load(PROFILES / f"{name}.yaml"), Profile)


@asynccontextmanager
async def listening(bank: Bank, profile: str) -> AsyncGenerator[Endpoint, None]:
    endpoint = bank.endpoints[endpoint_of(profile)]
    await endpoint.listen(HOST, 0)
    try:
        yield endpoint
    finally:
        endpoint.close()
        await asyncio.sleep(0)


# -- the two others ------------------------------------------------------------------------------------------------------


def mbpoll(endpoint: Endpoint) -> Client:
    """One value by one run of mbpoll, which prints it as libmodbus has it."""
    tables = {Table.COIL: "0", Table.DISCRETE: "1", Table.INPUT: "3", Table.HOLDING: "4"}
    formats = {PointType.F32: ":float", PointType.U32: ":int", PointType.S32: ":int"}

    def printed(point: Point, kind: str, count: int, *flags: str) -> list[str]:
        assert MBPOLL is not None
        command = [MBPOLL, "-1", "-0", "-o", f"{TIMEOUT_S:g}", "-a", str(endpoint.firmware.map.unit_id), *flags]
        command += ["-t", tables[point.table] + kind, "-r", str(point.address), "-c", str(count)]
        command += ["-p", str(endpoint.port), HOST]
        out = subprocess.run(command, capture_output=True, text=True, timeout=2 * TIMEOUT_S, check=False)
        found = re.findall(r"^\[(\d+)\]:\s+(\S+)", out.stdout, flags=re.MULTILINE)
        assert len(found) == count, f"{' '.join(command)}: {out.stdout}{out.stderr}"
        return [value for _, value in found]

    def read(point: Point, order: WordOrder) -> Raw:
        if point.type is PointType.STRING:
            words = printed(point, ":hex", point.words)
            return b"".join(int(word, 16).to_bytes(2, "big") for word in words).rstrip(b"\0 ").decode("ascii")
        flags = ("-B",) if point.words == 2 and order is WordOrder.ABCD else ()
        (value,) = printed(point, formats.get(point.type, ""), 1, *flags)
        if point.type is PointType.F32:
            return float(value)
        number = int(value)
        return number & 0xFFFF_FFFF if point.type is PointType.U32 else number

    return read


def py_modbus_tcp(endpoint: Endpoint) -> Client:
    """One value by one request of pyModbusTCP, decoded by its own functions."""
    client = ModbusClient(
        HOST, endpoint.port, unit_id=endpoint.firmware.map.unit_id, timeout=TIMEOUT_S, auto_open=True, auto_close=True
    )
    reads = {
        Table.COIL: client.read_coils,
        Table.DISCRETE: client.read_discrete_inputs,
        Table.INPUT: client.read_input_registers,
        Table.HOLDING: client.read_holding_registers,
    }

    def read(point: Point, order: WordOrder) -> Raw:
        words = reads[point.table](point.address, point.words)
        assert words is not None, (
            f"{point.table} {point.address}: {client.last_error_as_txt} {client.last_except_as_txt}"
        )
        if point.type is PointType.STRING:
            return b"".join(word.to_bytes(2, "big") for word in words).rstrip(b"\0 ").decode("ascii")
        if point.words == 1:
            return int(words[0])
        (number,) = word_list_to_long(words, big_endian=order is WordOrder.ABCD)
        if point.type is PointType.F32:
            return float(decode_ieee(number))
        return int(get_2comp(number, 32)) if point.type is PointType.S32 else int(number)

    return read


CLIENTS = {"mbpoll": mbpoll, "pyModbusTCP": py_modbus_tcp}


# -- what a value means, by the page ---------------------------------------------------------------------------------------


def means(point: Point, raw: Raw, scale_word: int | None) -> float | str | None:
    """The value in the point's unit, or None when the page says that there is none. 16-bit values come unsigned."""
    if isinstance(raw, str):
        return raw
    if point.type is PointType.BIT:
        word = int(raw)
        if word in point.sentinels or any(word >> bit & 1 for bit in point.fault_bits):
            return None
        return float((word >> (point.bit or 0) & 1) != bool(point.invert))
    if int(raw) in point.sentinels if math.isfinite(raw) else True:
        return None
    if point.type is PointType.S16 and raw > 0x7FFF:
        raw -= 0x10000
    scale, raw_unit = point.scale, point.raw_unit
    if point.scale_by is not None:
        chosen = [choice for choice in point.scale_by.choices if choice.raw == scale_word]
        if not chosen:
            return None
        scale, raw_unit = chosen[0].scale, chosen[0].raw_unit
    low, high = point.fault_raw or (None, None)
    if (low is not None and raw <= low) or (high is not None and raw >= high):
        return None
    numerator, denominator = scale if isinstance(scale, tuple) else (1.0 if scale is None else scale, 1)
    assert raw_unit is not None
    assert point.unit is not None
    assert point.range is not None
    value = convert(raw * numerator / denominator + point.offset, raw_unit, point.unit)
    return value if point.range[0] <= value <= point.range[1] else None


def scale_point(point: Point) -> Point | None:
    """The register that says in which unit the point counts."""
    if point.scale_by is None:
        return None
    return point.model_copy(update={"address": point.scale_by.address, "scale_by": None, "type": PointType.U16})


async def ours(profile: Profile, endpoint: Endpoint) -> dict[str, Reading | str | None]:
    """Every point as the daemon decodes it, over its own link."""
    unit = endpoint.firmware.map.unit_id
    link = TcpLink("device", HOST, endpoint.port, timeout_s=TIMEOUT_S)
    device = Device("device", unit, profile, link, {}, {}, RealClock())
    try:
        numbers = [name for name, point in profile.points.items() if point.type is not PointType.STRING]
        found: dict[str, Reading | str | None] = dict(await device.read_now(numbers))
        for name, point in profile.points.items():
            if point.type is PointType.STRING:
                found[name] = text(await link.read(unit, point.table, point.address, point.words))
    finally:
        await device.close()
    return found


async def nobody_connected(endpoint: Endpoint) -> None:
    """Wait until the device knows that its last client has gone: most of them serve one at a time."""
    for _ in range(2000):
        if not endpoint.connections:
            return
        await asyncio.sleep(0.001)
    pytest.fail(f"{endpoint.name} still has a client")


async def compare(profile: Profile, endpoint: Endpoint, client: Client) -> int:
    """Compare every point; return how many had a value."""
    decoded = await ours(profile, endpoint)
    assert set(decoded) == set(profile.points)
    differing, valued = [], 0
    for name, point in profile.points.items():
        order = profile.order_of(point)
        await nobody_connected(endpoint)
        raw = await asyncio.to_thread(client, point, order)
        other = scale_point(point)
        await nobody_connected(endpoint)
        scale_word = None if other is None else int(float(await asyncio.to_thread(client, other, order)))
        theirs, mine = means(point, raw, scale_word), decoded[name]
        if any(getattr(decoded[bit], "value", 0.0) for bit in point.faulted_by):
            theirs = None  # the device says so in a bit that is compared by itself
        value = mine.value if isinstance(mine, Reading) else mine
        valued += value is not None
        if isinstance(value, float) and isinstance(theirs, float):
            same = math.isclose(value, theirs, rel_tol=1e-5, abs_tol=1e-9)  # mbpoll prints six digits of a float
        else:
            same = value == theirs
        if not same:
            differing.append(f"{name}: raw {raw!r} is {theirs!r} there, {mine!r} here")
    assert differing == []
    return valued


@pytest.fixture(scope="module")
def in_service() -> Bank:
    return full_rack()


@pytest.fixture(scope="module")
def in_trouble() -> Bank:
    bank = full_rack()
    for kind, device, value in SPECIAL:
        bank.book.add(kind, rack=RACK, device=device, value=value)
    for tag in ("FT-101", "TT-101", "ET-101", "TT-110"):
        bank.book.add("nan", rack=RACK, tag=tag)
    bank.advance(20.0)
    return bank


def client_of(name: str, endpoint: Endpoint) -> Client:
    if name == "mbpoll" and MBPOLL is None:
        pytest.skip("mbpoll is not installed (Debian package mbpoll)")
    return CLIENTS[name](endpoint)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", sorted(DEVICE_OF))
async def test_another_client_reads_what_we_read_in_every_point(name: str, client: str, in_service: Bank) -> None:
    profile = profile_of(name)
    async with listening(in_service, name) as endpoint:
        valued = await compare(profile, endpoint, client_of(client, endpoint))
    assert valued >= 0.9 * len(profile.points)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", sorted(DEVICE_OF))
async def test_another_client_sees_no_value_where_we_see_none(name: str, client: str, in_trouble: Bank) -> None:
    async with listening(in_trouble, name) as endpoint:
        await compare(profile_of(name), endpoint, client_of(client, endpoint))


async def test_the_troubles_are_seen_as_what_they_are(in_trouble: Bank) -> None:
    expected = {
        ("belimo_energy-valve-v4", "flow"): Reason.SENTINEL,
        ("belimo_energy-valve-v4", "cooling_power"): Reason.SENTINEL,
        ("danfoss_novocon-m", "supply_temperature"): Reason.FAULT,
        ("schneider_pm5xxx", "jt_101"): Reason.NAN,
        ("raritan_xerus-pdu", "inlet_1_frequency"): Reason.NAN,
        ("rle_ldra6", "zone_2_leak"): Reason.FAULT,
        ("delta_orv3-rpu", "flow"): Reason.FAULT,
        ("rle_seahawk-ld", "leak"): Reason.FAULT,
        ("ocp_orv3-psu", "output_power"): Reason.SENTINEL,
        ("moxa_iologik-e1242", "ai_1"): Reason.FAULT,
        ("generic_4-20ma", "pressure_1"): Reason.FAULT,
        ("racky_loop-transmitters", "ft_101"): Reason.NAN,
        ("racky_power-shelf", "psu_b_inlet"): Reason.SENTINEL,
        ("racky_room", "tt_110"): Reason.NAN,
    }
    for (name, point), reason in expected.items():
        async with listening(in_trouble, name) as endpoint:
            reading = (await ours(profile_of(name), endpoint))[point]
        assert isinstance(reading, Reading)
        assert (name, point, reading.reason) == (name, point, reason)


async def test_a_device_for_one_client_turns_the_second_away(in_service: Bank) -> None:
    async with listening(in_service, "delta_orv3-rpu") as endpoint:
        first, second = (TcpLink(name, HOST, endpoint.port, timeout_s=1.0) for name in ("first", "second"))
        assert len(await first.read(12, "holding", 0x9000, 2)) == 4
        with pytest.raises(Exception, match="second"):
            await second.read(12, "holding", 0x9000, 2)
        assert endpoint.counters.turned_away >= 1
        await first.close()
        await second.close()
