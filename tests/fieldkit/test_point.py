"""What a point has to state, and what is refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from fieldkit.point import Point, PointType, Table, Verified, number_hint
from fieldkit.units import Unit
from tests.fieldkit.points import contact, number

ADDRESSES = {Table.HOLDING: 40001, Table.INPUT: 30001, Table.DISCRETE: 10001}


def text_point(**more: Any) -> Point:
    given: dict[str, Any] = {"table": Table.INPUT, "address": 0, "length": 8}
    return Point(type=PointType.STRING, verified=Verified.NONE, cite="paper", **{**given, **more})


def test_a_point_knows_how_many_registers_it_takes() -> None:
    assert [number(type=kind).words for kind in (PointType.U16, PointType.S16, PointType.F32, PointType.U32)] == [
        1,
        1,
        2,
        2,
    ]
    assert (contact().words, text_point(length=7).words) == (1, 4)


def test_a_contact_has_no_unit_and_is_not_converted() -> None:
    assert (contact().reading_unit, contact().conversion) == (Unit.NONE, (1.0, 0.0))


@pytest.mark.parametrize(("scale", "factor"), [(None, 1.0), (0.1, 0.1), ((1, 128), 1 / 128)])
def test_scale_is_a_number_or_a_fraction(scale: float | tuple[int, int] | None, factor: float) -> None:
    assert number(type=PointType.F32, scale=scale).conversion == (factor, 0.0)


@pytest.mark.parametrize("table", ADDRESSES)
@pytest.mark.parametrize("zeros", [1, 10])
def test_a_register_number_of_a_sheet_is_refused_with_the_address_it_means(table: Table, zeros: int) -> None:
    written = (ADDRESSES[table] - 1) * zeros + 8
    hint = number_hint(table, written)
    assert hint is not None
    assert "write 7," in hint


@pytest.mark.parametrize(
    ("table", "address"),
    [
        (Table.HOLDING, 0),
        (Table.HOLDING, 40000),
        (Table.HOLDING, 50000),
        (Table.HOLDING, 36864),
        (Table.HOLDING, 65535),
        (Table.INPUT, 40001),
        (Table.INPUT, 65535),
        (Table.COIL, 10001),
    ],
)
def test_an_address_that_cannot_be_a_register_number_stands(table: Table, address: int) -> None:
    assert number_hint(table, address) is None


def test_a_wire_address_that_looks_like_a_register_number_can_be_confirmed() -> None:
    assert number(40072, table=Table.HOLDING, address_is_wire=True).address == 40072
    with pytest.raises(ValidationError, match="write 71"):
        number(40072, table=Table.HOLDING)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"address": 65535, "type": PointType.F32}, "last register is 65535"),
        ({"address": 70000}, "last register is 65535"),
        ({"table": Table.COIL}, "holds bits only"),
        ({"bit": 3}, "bit and invert belong"),
        ({"invert": True}, "bit and invert belong"),
        ({"length": 3}, "length"),
        ({"word_order": "CDAB"}, "two-register"),
        ({"writable": True}, "whole holding register"),
        ({"table": Table.DISCRETE, "type": PointType.BIT, "invert": False, "writable": True}, "whole holding register"),
        ({"persistent": True}, "needs writable"),
        ({"scale": None}, "scale has to be stated"),
        ({"unit": None, "range": None}, "range, unit has to be stated"),
        ({"scale": (1, 0)}, "denominator"),
        ({"scale": 0.0}, "must not be 0"),
        ({"unit": Unit.L_MIN}, "no conversion from kPa"),
        ({"range": (5.0, 5.0)}, "range must rise"),
        ({"type": PointType.U32, "fault_bits": (1,)}, "single register"),
        ({"sentinels": (70000,)}, "no raw u16"),
        ({"sentinels": (-1,)}, "no raw u16"),
        ({"sentinels": (1.5,)}, "no raw u16"),
        ({"type": PointType.F32, "sentinels": (1e39,)}, "no raw f32"),
        ({"max_rate": 0.0}, "greater than 0"),
        ({"sclae": 1.0}, "Extra inputs"),
    ],
)
def test_a_number_that_is_stated_wrongly_is_refused(more: dict[str, Any], why: str) -> None:
    given = {"address": 0, "type": PointType.U16}
    if more.get("word_order") == "CDAB":
        with pytest.raises(ValidationError, match=why):
            Point.model_validate_json(number().model_dump_json().replace('"word_order":null', '"word_order":"CDAB"'))
        return
    with pytest.raises(ValidationError, match=why):
        number(**{**given, **more})


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"bit": None}, "has to be stated"),
        ({"table": Table.COIL}, "leave bit out"),
        ({"invert": None}, "invert"),
        ({"bit": 16}, "less than or equal to 15"),
        ({"range": (0.0, 1.0)}, "leave out range"),
        ({"max_rate": 1.0}, "leave out max_rate"),
        ({"sentinels": (1,), "table": Table.COIL, "bit": None}, "leave out"),
        ({"sentinels": (0x10000,)}, "no register"),
        ({"sentinels": (1.0,)}, "no register"),
        ({"momentary": True}, "needs writable"),
        ({"fault_raw": (1, 2)}, "of a number"),
        ({"heartbeat": True}, "leave out"),
        ({"offset": 1.0}, "leave out"),
        ({"fault_bits": (0, 1)}, "other bits"),
        ({"writable": True, "table": Table.HOLDING}, "whole holding register"),
    ],
)
def test_a_contact_that_is_stated_wrongly_is_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        contact(**more)


def test_a_text_has_a_length_and_no_fault_bits() -> None:
    with pytest.raises(ValidationError, match="length"):
        text_point(length=None)
    with pytest.raises(ValidationError, match="other bits"):
        text_point(fault_bits=(1,))


def test_a_point_says_everything_that_is_wrong_at_once() -> None:
    with pytest.raises(ValidationError) as caught:
        number(persistent=True, range=(2.0, 1.0))
    assert "needs writable" in str(caught.value)
    assert "range must rise" in str(caught.value)
