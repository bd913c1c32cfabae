"""A measured contact: one of two bands, or no value. The numbers are those of a rope with an end-of-line resistor."""

import math
import struct
from typing import Any

import pytest

from fieldkit.bands import Bands
from fieldkit.point import Point, PointType, Table, Verified, WordOrder
from fieldkit.reading import Quality, Reason
from fieldkit.spans import Span, Wanted
from fieldkit.units import Unit
from fieldkit.words import Decoder, EncodeError, encode

WET, DRY = 1.0, 0.0
ROPE = Bands(on=(100, 1500), off=(1600, 3000))


def rope(**changes: Any) -> Point:
    fields: dict[str, Any] = {
        "table": Table.INPUT,
        "address": 5,
        "type": PointType.U16,
        "bands": ROPE,
        "verified": Verified.NONE,
    }
    return Point(cite="a test", **{**fields, **changes})


def read(point: Point, data: bytes) -> tuple[float | None, Reason | None]:
    span = Span("fast", point.table, point.address, point.words, (Wanted("LDT-101", point, WordOrder.ABCD, "fast"),))
    (reading,) = Decoder(span).decode(data, 1.0)
    assert reading.unit is Unit.NONE
    assert (reading.quality is Quality.GOOD) == (reading.value is not None)
    return reading.value, reading.reason


@pytest.mark.parametrize(
    ("raw", "value", "reason"),
    [
        (0, None, Reason.FAULT),
        (99, None, Reason.FAULT),
        (100, WET, None),
        (1499, WET, None),
        (1500, None, Reason.RANGE),
        (1599, None, Reason.RANGE),
        (1600, DRY, None),
        (2999, DRY, None),
        (3000, None, Reason.FAULT),
        (4095, None, Reason.FAULT),
    ],
)
def test_beyond_the_bands_is_a_fault_between_them_a_doubt_and_neither_is_dry(
    raw: int, value: float | None, reason: Reason | None
) -> None:
    assert read(rope(), raw.to_bytes(2)) == (value, reason)


def test_a_closing_contact_may_have_its_wet_band_above_the_dry_one() -> None:
    turned = rope(bands=Bands(on=(1600, 3000), off=(100, 1500)))
    assert [read(turned, raw.to_bytes(2))[0] for raw in (99, 100, 1550, 1600, 3000)] == [None, DRY, None, WET, None]


def test_bands_that_touch_leave_no_doubt_between_them() -> None:
    assert read(rope(bands=Bands(on=(100, 1500), off=(1500, 3000))), (1500).to_bytes(2)) == (DRY, None)


def test_a_sentinel_is_no_contact_even_within_a_band() -> None:
    assert read(rope(sentinels=(1000,)), (1000).to_bytes(2)) == (None, Reason.SENTINEL)


def test_a_float_that_is_no_number_is_told_as_such() -> None:
    point = rope(type=PointType.F32, bands=Bands(on=(4.0, 8.0), off=(9.5, 20.0)))
    assert read(point, struct.pack(">f", 5.0)) == (WET, None)
    assert read(point, struct.pack(">f", math.nan)) == (None, Reason.NAN)


def test_a_measured_contact_is_never_written() -> None:
    with pytest.raises(EncodeError, match="not writable"):
        encode(rope(), 1.0, WordOrder.ABCD)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bands": Bands(on=(100, 100), off=(1500, 3000))}, "bands.on must rise"),
        ({"bands": Bands(on=(100, 1500), off=(3000, 1500))}, "bands.off must rise"),
        ({"bands": Bands(on=(100, 1501), off=(1500, 3000))}, "overlap"),
        ({"bands": Bands(on=(1500, 3000), off=(100, 1501))}, "overlap"),
        ({"scale": 0.1, "unit": Unit.NONE}, "leave out scale, unit"),
        ({"fault_raw": (3, None)}, "leave out fault_raw"),
        ({"max_rate": 1.0, "fault_bits": (15,)}, "leave out fault_bits, max_rate"),
        ({"type": PointType.BIT, "bit": 0, "invert": False}, "bands are of a measured number: a bit has none"),
    ],
)
def test_bands_that_could_not_be_meant_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rope(**changes)
