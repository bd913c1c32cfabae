"""Register bytes to readings and back."""

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.point import Point, PointType, Table, Verified, WordOrder
from fieldkit.reading import Quality, Reading, Reason
from fieldkit.units import Unit
from fieldkit.words import Decoder, EncodeError, encode, text
from tests.fieldkit.points import contact, number, span_of

ABCD, CDAB = WordOrder.ABCD, WordOrder.CDAB


def only(point: Point, data: bytes, order: WordOrder = ABCD) -> Reading:
    (reading,) = Decoder(span_of(point, order=order)).decode(data, 5.0)
    return reading


def wire(words: list[int]) -> bytes:
    return struct.pack(f">{len(words)}H", *words)


def test_a_reading_carries_tag_unit_and_the_time_of_the_reply() -> None:
    assert only(number(), b"\x00\x07") == Reading("P0", 7.0, Unit.KPA, Quality.GOOD, 5.0)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x07\x00", b"\x00\x07\x00\x00"])
def test_a_reply_of_another_length_makes_every_point_bad(data: bytes) -> None:
    reading = only(number(), data)
    assert (reading.value, reading.quality, reading.reason) == (None, Quality.BAD, Reason.SHORT_REPLY)


def test_half_a_value_is_never_joined_with_an_older_half() -> None:
    decoder = Decoder(span_of(number(type=PointType.U32)))
    assert decoder.decode(b"\x00\x00\x00\x07", 1.0)[0].value == 7
    assert decoder.decode(b"\x00\x09", 2.0)[0].reason is Reason.SHORT_REPLY


def test_77_5146_is_read_from_low_word_first() -> None:
    value = only(number(type=PointType.F32), bytes.fromhex("077A429B"), CDAB).value
    assert value == pytest.approx(77.5146, abs=1e-4)


def test_a_word_swapped_40_is_called_denormal_not_zero_flow() -> None:
    swapped = bytes.fromhex("00004220")
    assert only(number(type=PointType.F32), swapped).reason is Reason.DENORMAL
    assert only(number(type=PointType.F32), swapped, CDAB).value == 40


@pytest.mark.parametrize(
    ("order", "data"),
    [("ABCD", "42F10000"), ("CDAB", "000042F1"), ("BADC", "F1420000"), ("DCBA", "0000F142")],
)
def test_four_orders_of_the_same_float(order: str, data: str) -> None:
    assert only(number(type=PointType.F32), bytes.fromhex(data), WordOrder(order)).value == pytest.approx(120.5, abs=0)


def test_65526_hundredths_are_minus_a_tenth_when_the_type_says_signed() -> None:
    point = number(type=PointType.S16, scale=0.01, range=(-50.0, 200.0))
    assert only(point, wire([65526])).value == pytest.approx(-0.10)


def test_655_degrees_are_out_of_range_when_the_type_says_unsigned() -> None:
    point = number(scale=0.01, raw_unit=Unit.DEG_C, unit=Unit.DEG_C, range=(-50.0, 200.0))
    assert only(point, wire([65526])).reason is Reason.RANGE


@pytest.mark.parametrize(
    ("kind", "sentinel", "data"),
    [
        (PointType.U16, 0xFFFF, "FFFF"),
        (PointType.S16, 0x8000, "8000"),
        (PointType.S16, -3000, "F448"),
        (PointType.U32, 0xFFFF_FFFF, "FFFFFFFF"),
        (PointType.S32, 0x8000_0000, "80000000"),
        (PointType.F32, -9999.9, "C61C3F9A"),
    ],
)
def test_a_sentinel_is_bad_before_scale_and_range(kind: PointType, sentinel: float, data: str) -> None:
    point = number(type=kind, sentinels=(7, sentinel), range=(-1e10, 1e10))
    assert only(point, bytes.fromhex(data)).reason is Reason.SENTINEL


def test_a_sentinel_costs_its_own_point_only() -> None:
    points = (number(0, sentinels=(0xFFFF,)), number(1))
    assert [r.value for r in Decoder(span_of(*points)).decode(wire([0xFFFF, 3]), 1.0)] == [None, 3.0]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("7FC00000", Reason.NAN),
        ("FFC00001", Reason.NAN),
        ("7F800001", Reason.NAN),
        ("7F800000", Reason.RANGE),
        ("FF800000", Reason.RANGE),
        ("00000001", Reason.DENORMAL),
        ("80000001", Reason.DENORMAL),
        ("007FFFFF", Reason.DENORMAL),
    ],
)
def test_floats_that_are_no_measurement_are_bad(data: str, reason: Reason) -> None:
    reading = only(number(type=PointType.F32), bytes.fromhex(data))
    assert (reading.value, reading.reason) == (None, reason)


@pytest.mark.parametrize("data", ["00000000", "80000000"])
def test_zero_is_zero_whatever_its_sign(data: str) -> None:
    value = only(number(type=PointType.F32), bytes.fromhex(data)).value
    assert value is not None
    assert value == 0
    assert math.copysign(1, value) > 0


@pytest.mark.parametrize(("count", "ok"), [(99, False), (100, True), (4000, True), (4001, False)])
def test_a_count_beyond_the_range_is_bad_and_the_edges_are_good(count: int, ok: bool) -> None:
    point = number(scale=(1, 10), range=(10.0, 400.0))
    assert (only(point, wire([count])).quality is Quality.GOOD) is ok


def test_scale_offset_and_unit_are_applied_in_this_order() -> None:
    point = number(
        type=PointType.S16, scale=(1, 128), offset=32.0, raw_unit=Unit.DEG_F, unit=Unit.DEG_C, range=(-50.0, 150.0)
    )
    assert only(point, wire([128 * 180])).value == pytest.approx(100.0)


def test_gallons_become_litres_without_a_typed_factor() -> None:
    point = number(scale=0.1, raw_unit=Unit.GAL_MIN, unit=Unit.L_MIN, range=(0.0, 400.0))
    assert only(point, wire([100])).value == pytest.approx(37.85411784)


def test_bits_of_one_word_are_told_apart_and_inverted_where_the_profile_says() -> None:
    points = (contact(bit=0), contact(bit=1, invert=True), contact(bit=2, invert=True), contact(bit=15))
    assert [r.value for r in Decoder(span_of(*points)).decode(wire([0x8002]), 1.0)] == [0.0, 0.0, 1.0, 1.0]


def test_a_fault_bit_is_a_fault_whatever_the_other_bits_say() -> None:
    point = contact(bit=0, fault_bits=(1, 3))
    assert [only(point, wire([word])).value for word in (0b0000, 0b0001)] == [0.0, 1.0]
    for word in (0b0010, 0b0011, 0b1000, 0b1011):
        reading = only(point, wire([word]))
        assert (reading.value, reading.quality, reading.reason) == (None, Quality.BAD, Reason.FAULT)


def test_a_number_with_its_fault_bit_set_is_a_fault() -> None:
    point = number(fault_bits=(15,), sentinels=(0x8005,))
    assert only(point, wire([5])).value == 5
    assert only(point, wire([0x8005])).reason is Reason.FAULT


def test_a_number_and_bits_may_share_a_word() -> None:
    assert [r.value for r in Decoder(span_of(number(), contact(bit=1))).decode(wire([2]), 1.0)] == [2.0, 1.0]


def test_registers_between_the_wanted_ones_are_skipped() -> None:
    points = (number(10), number(13, PointType.F32), contact(20, 3))
    data = wire([1, 0xDEAD, 0xBEEF, 0x42F1, 0, 1, 2, 3, 4, 5, 8])
    assert [r.value for r in Decoder(span_of(*points)).decode(data, 1.0)] == [1.0, 120.5, 1.0]


def test_coils_are_read_from_packed_bits_lowest_first() -> None:
    points = tuple(contact(address, None, invert=address == 19, table=Table.COIL) for address in (10, 11, 18, 19))
    decoder = Decoder(span_of(*points))
    assert [r.value for r in decoder.decode(bytes([0b10, 0b1]), 1.0)] == [0.0, 1.0, 1.0, 1.0]
    assert decoder.decode(b"\x02", 1.0)[0].reason is Reason.SHORT_REPLY


def test_a_failed_request_makes_every_wanted_tag_bad() -> None:
    out = Decoder(span_of(number(0), contact(1))).bad(9.0, Reason.TIMEOUT)
    assert [(r.tag, r.unit, r.value, r.at_s, r.reason) for r in out] == [
        ("P0", Unit.KPA, None, 9.0, Reason.TIMEOUT),
        ("P1", Unit.NONE, None, 9.0, Reason.TIMEOUT),
    ]


def test_two_types_for_the_same_register_are_refused() -> None:
    with pytest.raises(ValueError, match="claimed as two types"):
        Decoder(span_of(number(0), number(0, PointType.S16)))
    with pytest.raises(ValueError, match="inside the value before"):
        Decoder(span_of(number(0, PointType.F32), number(1)))


@given(
    kind=st.sampled_from([PointType.U16, PointType.S16, PointType.U32, PointType.S32]),
    order=st.sampled_from(WordOrder),
    data=st.data(),
)
def test_every_count_survives_encoding_and_decoding(kind: PointType, order: WordOrder, data: st.DataObject) -> None:
    signed, bits = kind.value[0] == "s", int(kind.value[1:])
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    count = data.draw(st.integers(low, high))
    point = number(type=kind, table=Table.HOLDING, writable=True, range=(-1e10, 1e10))
    assert only(point, wire(encode(point, count, order)), order).value == count


@given(value=st.floats(-1e9, 1e9, width=32), order=st.sampled_from(WordOrder))
def test_every_float_survives_encoding_and_decoding_or_is_too_small_to_be_meant(value: float, order: WordOrder) -> None:
    point = number(type=PointType.F32, table=Table.HOLDING, writable=True)
    reading = only(point, wire(encode(point, value, order)), order)
    assert reading.value == value or (0.0 < abs(value) < 1e-30 and reading.reason is Reason.DENORMAL)


@given(
    words=st.lists(st.integers(0, 0xFFFF), min_size=6, max_size=6),
    order=st.sampled_from(WordOrder),
    scale=st.floats(1e-6, 1e3),
)
def test_a_reading_is_good_with_a_value_in_range_or_bad_with_a_reason(
    words: list[int], order: WordOrder, scale: float
) -> None:
    points = (
        number(0, PointType.F32, scale=scale, range=(-1e3, 1e3)),
        number(2, PointType.S32, scale=scale, range=(-1e3, 1e3), sentinels=(0x8000_0000,)),
        number(4, PointType.S16, scale=scale, range=(-1e3, 1e3)),
        contact(5, 7, fault_bits=(0,)),
    )
    for reading in Decoder(span_of(*points, order=order)).decode(wire(words), 1.0):
        if reading.quality is Quality.GOOD:
            assert reading.value is not None
            assert reading.reason is None
            assert -1e3 <= reading.value <= 1e3
        else:
            assert reading.value is None
            assert reading.reason is not None


def test_minus_five_is_packed_by_the_type_of_its_point() -> None:
    point = number(type=PointType.S16, table=Table.HOLDING, writable=True)
    assert encode(point, -5.0, ABCD) == [0xFFFB]


def test_a_set_point_is_scaled_back() -> None:
    point = number(
        table=Table.HOLDING,
        writable=True,
        scale=0.01,
        raw_unit=Unit.PERCENT_OPEN,
        unit=Unit.PERCENT_OPEN,
        range=(0.0, 100.0),
    )
    assert encode(point, 42.504, ABCD) == [4250]


def test_a_coil_is_written_as_zero_or_one_inverted_where_the_profile_says() -> None:
    plain = contact(0, None, table=Table.COIL, writable=True)
    inverted = contact(0, None, invert=True, table=Table.COIL, writable=True)
    assert (encode(plain, 1.0, ABCD), encode(inverted, 1.0, ABCD)) == ([1], [0])


W: dict[str, Any] = {"table": Table.HOLDING, "writable": True}


@pytest.mark.parametrize(
    ("point", "value", "why"),
    [
        (number(), 1.0, "not writable"),
        (contact(0, None, table=Table.COIL, writable=True), 0.5, "is no bit"),
        (
            Point(
                table=Table.HOLDING,
                address=0,
                type=PointType.STRING,
                length=4,
                writable=True,
                verified=Verified.NONE,
                cite="paper",
            ),
            1.0,
            "text",
        ),
        (number(range=(0.0, 10.0), **W), 10.5, "allowed 0..10"),
        (number(range=(0.0, 10.0), **W), math.nan, "out of range"),
        (number(range=(0.0, 10.0), **W), math.inf, "out of range"),
        (number(range=(-10.0, 10.0), **W), -1.0, "a u16 allows 0..65535"),
        (number(raw_unit=Unit.NONE, unit=Unit.NONE, range=(0.0, 1.0), **W), 0.5, "between two counts"),
        (number(sentinels=(0xFFFF,), **W), 65535.0, "not available"),
        (number(type=PointType.F32, sentinels=(9.0,), **W), 9.0, "not available"),
        (number(type=PointType.F32, range=(0.0, 1e300), **W), 1e39, "too big"),
    ],
)
def test_a_value_that_cannot_be_written_is_refused_with_the_reason(point: Point, value: float, why: str) -> None:
    with pytest.raises(EncodeError, match=why):
        encode(point, value, ABCD)


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"racky-cdu\0\0\0", "racky-cdu"), (b"PM5560  ", "PM5560"), (b"\0\0", ""), (b"a\0b\0", None), (b"\xff\xfe", None)],
)
def test_text_is_printable_ascii_without_its_padding(data: bytes, expected: str | None) -> None:
    assert text(data) == expected
