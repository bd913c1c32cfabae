"""Profile and simulator, typed apart from the same pages: every point stands where the other has it and says the same."""

import math
import struct
from functools import cache
from pathlib import Path

import pytest

from fieldkit.point import Point, PointType, Table
from fieldkit.profile import Profile
from fieldkit.reading import Reading
from fieldkit.spans import plan, want
from fieldkit.units import Unit, convert
from fieldkit.words import Decoder
from fieldkit.yamlfile import check, load
from firmware_sim.bank import Bank
from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.pdu import answer
from firmware_sim.parts.registers import Kind, Row
from tests.simulated import DEVICE_OF, endpoint_of, full_rack

PROFILES = Path(__file__).parents[2] / "configs" / "profiles"
FUNCTION = {Table.COIL: 1, Table.DISCRETE: 2, Table.HOLDING: 3, Table.INPUT: 4}
WIDE = {PointType.F32: Kind.F32, PointType.U32: Kind.U32, PointType.S32: Kind.S32}
NARROW = {Kind.U16: PointType.U16, Kind.BITS: PointType.U16, Kind.S16: PointType.S16}
THOUSANDS = {"kvar": Unit.VAR, "kVA": Unit.VOLT_AMPERE}
SCALED_BY_ANOTHER = "as unit"


@cache
def profile_of(name: str) -> Profile:
    return check(load(PROFILES / f"{name}.yaml"), Profile)


@cache
def rack() -> Bank:
    return full_rack()


def firmware_of(name: str) -> Firmware:
    return rack().endpoints[endpoint_of(name)].firmware


def row_at(firmware: Firmware, point: Point) -> Row | None:
    """The simulator's row that starts where the point does, in the table that the device keeps it in."""
    table = "holding" if firmware.map.mirrored and point.table is Table.INPUT else point.table.value
    return next((r for r in firmware.map.rows if (r.table.value, r.address) == (table, point.address)), None)


def readings_of(name: str) -> dict[str, Reading]:
    profile, firmware = profile_of(name), firmware_of(name)
    numbers = [point for point, one in profile.points.items() if one.type is not PointType.STRING]
    out: dict[str, Reading] = {}
    for span in plan(profile, [want(profile, point, point, "fast") for point in numbers]):
        request = struct.pack(">BHH", FUNCTION[span.table], span.address, span.count)
        reply = answer(firmware, request, rack().now_s)
        assert not reply[0] & 0x80, f"{span.table} {span.address} count {span.count}: exception {reply[1]}"
        out.update((r.tag, r) for r in Decoder(span).decode(reply[2:], 1.0))
    return out


def said_by(firmware: Firmware, row: Row, point: Point) -> float:
    """What the simulator means by a row, in the point's unit."""
    image = firmware.input if row.table.value == "input" else firmware.holding
    raw = image.read(row.address, row.words)
    if row.words == 2 and (row.order or firmware.map.order) == "CDAB":
        raw = raw[2:] + raw[:2]
    code = {Kind.U16: ">H", Kind.BITS: ">H", Kind.S16: ">h", Kind.U32: ">I", Kind.S32: ">i", Kind.F32: ">f"}[row.kind]
    value = float(struct.unpack(code, raw)[0]) * row.scale + row.offset
    if row.unit in THOUSANDS:
        return convert(1000.0 * value, THOUSANDS[row.unit], point.reading_unit)
    if row.unit == "L/h":
        return convert(value / 60.0, Unit.L_MIN, point.reading_unit)
    if row.unit == "%" and point.reading_unit is Unit.PERCENT_OPEN:
        return value
    return convert(value, Unit(row.unit), point.reading_unit)


def test_every_profile_has_a_device_and_every_device_but_one_a_profile() -> None:
    """The feeder meter of the reference rack is a small PM5560 of its own."""
    assert set(DEVICE_OF) == {path.stem for path in PROFILES.glob("*.yaml")}
    devices = {name.rpartition("/")[2] for name in rack().endpoints}
    assert devices - set(DEVICE_OF.values()) == {"feeder_meter"}


@pytest.mark.parametrize("name", sorted(DEVICE_OF))
def test_every_point_has_a_row_of_the_same_kind_and_order(name: str) -> None:
    profile, firmware = profile_of(name), firmware_of(name)
    for key, point in profile.points.items():
        row = row_at(firmware, point)
        assert row is not None, f"{key}: no row at {point.table} {point.address}"
        assert row.words == point.words, key
        if point.type in WIDE:
            assert row.kind is WIDE[point.type], key
            assert (row.order or firmware.map.order) == profile.order_of(point).value, key
        elif point.type is PointType.STRING:
            assert row.kind is Kind.ASCII, key
        elif point.bit is None and point.type is not PointType.BIT:
            assert NARROW[row.kind] is point.type, key
        if point.writable:
            assert (row.writable, row.persistent) == (True, point.persistent), key


@pytest.mark.parametrize("name", sorted(DEVICE_OF))
def test_every_row_that_a_rack_could_want_is_a_point(name: str) -> None:
    """Only spare registers and what a profile leaves out on purpose have none."""
    profile, firmware = profile_of(name), firmware_of(name)
    left_out = {
        "racky_valve-controller": {"reserved"},
        "racky_power-shelf": {"update packet"},
        "racky_battery-shelf": {"update packet"},
        "belimo_energy-valve-v4": {"firmware", *(f"service bit {n}" for n in range(16) if n != 2)},
        "rle_seahawk-ld": {f"zone {n} status" for n in range(2, 16)},
    }
    taken = {(point.table.value, point.address) for point in profile.points.values()}
    missing = {row.name for row in firmware.map.rows if (row.table.value, row.address) not in taken}
    assert missing == left_out.get(name, set()), name


@pytest.mark.parametrize("name", sorted(DEVICE_OF))
def test_every_point_reads_what_the_simulator_means_in_the_points_unit(name: str) -> None:
    profile, firmware = profile_of(name), firmware_of(name)
    good = 0
    for key, reading in readings_of(name).items():
        point = profile.points[key]
        row = row_at(firmware, point)
        if row is None or reading.value is None:
            continue
        if point.type is PointType.BIT:
            if point.bit is None:
                word = int((firmware.coils if point.table is Table.COIL else firmware.discretes)[point.address])
            else:
                word = int(said_by(firmware, row, point)) >> point.bit & 1
            assert reading.value == word ^ bool(point.invert), key
        elif row.unit == SCALED_BY_ANOTHER or (row.unit == "uA" and point.fault_raw is not None):
            continue  # units that a register tells, and current loops: the golden dumps hold these
        else:
            assert math.isclose(reading.value, said_by(firmware, row, point), rel_tol=1e-6, abs_tol=1e-6), key
        good += 1
    assert good >= 0.8 * len(readings_of(name)) or name == "generic_4-20ma"


def test_most_readings_of_a_rack_in_service_are_good_and_few_are_zero() -> None:
    readings = {f"{name} {key}": r for name in sorted(DEVICE_OF) for key, r in readings_of(name).items()}
    bad = {key: r.reason for key, r in readings.items() if r.value is None}
    assert set(bad) == {"belimo_energy-valve-v4 set_point_analog", "belimo_energy-valve-v4 sensor_1"}
    numbers = [r.value for r in readings.values() if r.value not in {None, 1.0} and r.unit is not Unit.NONE]
    assert sum(value != 0.0 for value in numbers) > 0.7 * len(numbers)
