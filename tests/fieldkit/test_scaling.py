"""Counts whose meaning another register decides."""

from typing import Any

import pytest
from pydantic import ValidationError

from fieldkit.point import Point, WordOrder
from fieldkit.reading import Quality, Reason
from fieldkit.scaling import Choice, ScaleRegister
from fieldkit.spans import Wanted, halves, plan
from fieldkit.units import Unit
from fieldkit.words import Decoder
from tests.fieldkit.points import contact, number
from tests.fieldkit.test_profile import COMMAND, profile

ABCD = WordOrder.ABCD
METRES = Choice(raw=0, scale=(1, 10), raw_unit=Unit.METRE)
FEET = Choice(raw=1, scale=1.0, raw_unit=Unit.FOOT)
UNIT_REGISTER = ScaleRegister(address=2, choices=(METRES, FEET))


def distance(address: int = 1, **more: Any) -> Point:
    given: dict[str, Any] = {
        "scale": None,
        "raw_unit": None,
        "unit": Unit.METRE,
        "range": (0.0, 100.0),
        "scale_by": UNIT_REGISTER,
        "sentinels": (0xFFFF,),
    }
    return number(address, **{**given, **more})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("007B 0000", 12.3),
        ("000A 0001", 3.048),
        ("000A 0002", Reason.RANGE),
        ("FFFF 0001", Reason.SENTINEL),
        ("0400 0000", Reason.RANGE),
    ],
)
def test_the_unit_is_the_one_that_the_same_reply_tells(words: str, expected: float | Reason) -> None:
    (span,) = plan(profile({"xv": COMMAND, "xy": contact(0), "d": distance()}), [Wanted("D", distance(), ABCD, "fast")])
    assert (span.address, span.count) == (1, 2)
    (reading,) = Decoder(span).decode(bytes.fromhex(words.replace(" ", "")), 1.0)
    if isinstance(expected, Reason):
        assert (reading.quality, reading.reason) == (Quality.BAD, expected)
    else:
        assert reading.value == pytest.approx(expected, abs=1e-12)


def test_a_read_reaches_back_to_the_scale_register_and_is_never_split_between_them() -> None:
    far, near = distance(4), number(3)
    points = {"xv": COMMAND, "xy": contact(0), "near": near, "far": far}
    (span,) = plan(profile(points), [Wanted("NEAR", near, ABCD, "fast"), Wanted("FAR", far, ABCD, "fast")])
    assert (span.address, span.count, span.wanted[0].tag) == (2, 3, "FAR")
    assert halves(span) == (span,)


def test_a_device_that_cannot_read_both_at_once_is_refused() -> None:
    with pytest.raises(ValidationError, match="one read of 3 registers"):
        profile({"xv": COMMAND, "xy": contact(0), "far": distance(4)}, max_registers=2)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"scale": 1.0}, "in place of scale"),
        ({"raw_unit": Unit.METRE}, "in place of scale"),
        ({"address": 2}, "its own register|own register"),
        ({"unit": Unit.KPA}, "no conversion"),
        ({"scale_by": ScaleRegister(address=2, choices=(METRES, METRES))}, "stands once"),
        (
            {"scale_by": ScaleRegister(address=2, choices=(Choice(raw=0, scale=0.0, raw_unit=Unit.METRE),))},
            "must not be 0",
        ),
        (
            {"scale_by": ScaleRegister(address=2, choices=(Choice(raw=0, scale=(1, 0), raw_unit=Unit.METRE),))},
            "division by zero",
        ),
        ({"range": None}, "range has to be stated"),
    ],
)
def test_a_scale_register_that_is_stated_wrongly_is_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        distance(**more)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(3600, Reason.FAULT), (3601, Reason.RANGE), (3800, -1.25), (4000, 0.0), (12000, 50.0), (20500, 103.125),
     (20999, Reason.RANGE), (21000, Reason.FAULT), (0, Reason.FAULT)],
)  # fmt: skip
def test_a_current_loop_outside_its_bands_is_broken_and_beside_them_out_of_range(raw: int, expected: Any) -> None:
    loop = number(0, scale=(100, 16000), offset=-25.0, range=(-1.25, 103.125), fault_raw=(3600, 21000))
    (span,) = plan(profile({"xv": COMMAND, "xy": loop}), [Wanted("P", loop, ABCD, "fast")])
    (reading,) = Decoder(span).decode(raw.to_bytes(2, "big"), 1.0)
    assert (reading.reason if isinstance(expected, Reason) else reading.value) == expected


@pytest.mark.parametrize(("bands", "why"), [((None, None), "one of them may be null"), ((5, 5), "must rise")])
def test_fault_bands_that_say_nothing_are_refused(bands: Any, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        number(fault_raw=bands)


def test_a_register_of_bits_that_reads_not_available_has_no_bits() -> None:
    point = contact(0, 5, sentinels=(0xFFFF,))
    (span,) = plan(profile({"xv": COMMAND, "xy": point}), [Wanted("B", point, ABCD, "fast")])
    found = [Decoder(span).decode(data, 1.0)[0] for data in (b"\xff\xff", b"\x00\x20", b"\xff\xdf")]
    assert [reading.reason or reading.value for reading in found] == [Reason.SENTINEL, 1.0, 0.0]
