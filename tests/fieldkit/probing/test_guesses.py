"""One place, read every way."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.point import PointType, WordOrder
from fieldkit.probing.guesses import Guess, as_text, best, bits, expected, guesses, places


def raw(found: list[Guess], kind: PointType, order: WordOrder | None = None) -> float | None:
    (one,) = [guess for guess in found if (guess.type, guess.order) == (kind, order)]
    return one.raw


def test_two_registers_are_read_in_every_type_and_order() -> None:
    found = guesses("holding", 7, bytes.fromhex("41 ac 00 00"))
    assert len(found) == 2 + 3 * 4
    assert raw(found, PointType.U16) == 0x41AC
    assert raw(found, PointType.F32, WordOrder.ABCD) == 21.5
    assert raw(found, PointType.U32, WordOrder.CDAB) == 0x41AC
    assert raw(found, PointType.U32, WordOrder.BADC) == 0xAC410000
    assert raw(found, PointType.S32, WordOrder.DCBA) == 0xAC41
    assert raw(found, PointType.F32, WordOrder.CDAB) is None, "2.4e-41 is no reading"


def test_one_register_has_no_two_register_readings() -> None:
    assert {one.type for one in guesses("input", 0, b"\xff\xfe")} == {PointType.U16, PointType.S16}
    assert raw(guesses("input", 0, b"\xff\xfe"), PointType.S16) == -2


@pytest.mark.parametrize(
    ("kind", "order", "data", "scale"),
    [
        (PointType.U16, None, struct.pack(">H", 215), "0.1"),
        (PointType.S16, None, struct.pack(">h", 2752), "[1, 128]"),
        (PointType.U32, WordOrder.CDAB, b"\x53\xfc\x00\x00", "0.001"),
        (PointType.F32, WordOrder.BADC, b"\xac\x41\x00\x00", "1"),
    ],
)
def test_an_expected_reading_names_type_order_and_scale(
    kind: PointType, order: WordOrder | None, data: bytes, scale: str
) -> None:
    found = guesses("holding", 0, data, expected(21.5, 0.05))
    (one,) = [guess for guess in found if (guess.type, guess.order) == (kind, order)]
    assert scale in one.fits
    assert one in best(found, ("holding", 0))


def test_the_tolerance_is_a_hundredth_unless_given_and_its_edge_counts() -> None:
    assert expected(200.0, None).tolerance == 2.0
    assert expected(-200.0, None).fits(-198.0) == ("1",)
    assert expected(200.0, None).fits(197.9) == ()
    assert expected(0.5, 0.0).fits(5.0) == ("0.1",)
    assert expected(0.0, 0.5).fits(0.0) == ("1",)
    assert expected(5.0, 0.5).fits(0.0) == ()


def test_the_place_that_was_asked_for_comes_before_its_neighbours_and_a_plain_scale_before_others() -> None:
    there = Guess("holding", 5, PointType.U16, None, 50, ("1",))
    scaled = Guess("holding", 5, PointType.S16, None, 500, ("0.1",))
    beside = Guess("holding", 4, PointType.U16, None, 50, ("1",))
    other = Guess("input", 5, PointType.U16, None, 50, ("1",))
    nothing = Guess("holding", 5, PointType.U32, WordOrder.ABCD, 1, ())
    assert best([other, beside, nothing, scaled, there], ("holding", 5)) == [there, scaled, beside, other]


def test_one_before_and_behind_is_looked_at_only_where_something_is_expected() -> None:
    assert places(("holding", "input"), 5, beside=False) == [("holding", 5), ("input", 5)]
    assert places(("holding",), 0, beside=True) == [("holding", 0), ("holding", 1)]
    assert places(("holding",), 0xFFFF, beside=True) == [("holding", 0xFFFF), ("holding", 0xFFFE)]


def test_bits_and_text_are_shown_beside() -> None:
    assert bits(b"\x80\x05\x00\x01") == [0, 2, 15]
    assert as_text(b"Del\x00") == "Del"
    assert as_text(b"\x00D") is None
    assert as_text(b"D\x00") is None


@given(st.binary(min_size=2, max_size=4))
def test_every_register_can_be_shown(data: bytes) -> None:
    for one in guesses("holding", 0, data, expected(1.0, 0.1)):
        document = one.document()
        assert document["raw"] is None or isinstance(document["raw"], int | float)
