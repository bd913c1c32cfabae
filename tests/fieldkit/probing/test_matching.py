"""Which profile a device is, and what decides its conflicts."""

import struct
from pathlib import Path
from typing import Any

import pytest

from fieldkit import profile_file
from fieldkit.point import Point, PointType, Table, Verified, WordOrder
from fieldkit.probing import matching
from fieldkit.probing.matching import Match
from fieldkit.profile import Profile
from fieldkit.spans import plan, want
from fieldkit.units import Unit

PROFILES = Path(__file__).parents[3] / "configs" / "profiles"
METER = profile_file.load(PROFILES / "schneider_pm5xxx.yaml")
RACKY = profile_file.load(PROFILES / "racky_busbar-meter.yaml")
BELIMO = profile_file.load(PROFILES / "belimo_energy-valve-v4.yaml")
_PLACE: dict[str, Any] = {
    "table": Table.INPUT,
    "raw_unit": Unit.NONE,
    "unit": Unit.NONE,
    "verified": Verified.NONE,
    "cite": "a test",
}
FLAT = METER.model_copy(update={"points": {
    "count": Point(address=0, type=PointType.U16, scale=1.0, range=(0, 65535), **_PLACE),
    "share": Point(address=1, type=PointType.F32, range=(0, 100), **_PLACE),
    "bits": Point(table=Table.INPUT, address=3, type=PointType.BIT, bit=0, invert=False, verified=Verified.NONE, cite="a test"),
    "beyond": Point(address=4, type=PointType.U16, scale=1.0, range=(0, 100), **_PLACE),
    "code": Point(address=5, type=PointType.U32, scale=1.0, range=(0, 2**32), **_PLACE),
}})  # fmt: skip
ALL = [profile_file.load(path) for path in sorted(PROFILES.glob("*.yaml"))]


def test_a_text_that_is_the_expected_one_is_the_device() -> None:
    place = matching.identity_read(RACKY)
    assert place is not None
    size = 2 * place[2]
    assert matching.identified(RACKY, b"racky-busbar".ljust(size, b"\0")) == (True, "racky-busbar")
    assert matching.identified(RACKY, b"racky-cdu".ljust(size, b"\0")) == (False, "racky-cdu")
    assert matching.identified(RACKY, b"\xff" * size) == (False, None)


def test_a_number_that_is_the_expected_one_is_the_device() -> None:
    assert matching.identity_read(BELIMO) is not None
    assert matching.identified(BELIMO, struct.pack(">H", 4)) == (True, 4.0)
    assert matching.identified(BELIMO, struct.pack(">H", 0))[0] is False


def test_a_device_without_an_identity_cannot_be_asked_for_one() -> None:
    assert matching.identity_read(METER) is None


def test_a_profile_is_likely_by_its_identity_or_else_by_four_fifths_of_its_points() -> None:
    assert Match("x", 8, 10, None, None).likely
    assert not Match("x", 7, 10, None, None).likely
    assert not Match("x", 0, 0, None, None).likely
    assert Match("x", 0, 10, True, "x").likely
    assert not Match("x", 10, 10, False, "y").likely


@pytest.mark.parametrize("profile", ALL, ids=lambda one: one.profile)
def test_every_point_of_a_shipped_profile_is_read_once_and_every_alternative_can_be_read(profile: Profile) -> None:
    tags = [item.tag for span in matching.spans_of(profile) for item in span.wanted]
    assert len(tags) == len(set(tags)) > 0
    for name, conflict in profile.conflicts.items():
        ways = matching.alternatives(profile, name)
        assert [way.name for way in ways] == list(conflict.alternatives)


def test_the_frequency_decides_where_the_meters_list_begins() -> None:
    ways = {way.name: way for way in matching.alternatives(METER, "list_base")}
    one_based, zero_based = ways["one_based"].spans[0], ways["zero_based"].spans[0]
    assert zero_based.address == one_based.address + 1
    values = {
        "one_based": {r.tag: r.value for r in matching.decoded(one_based, struct.pack(">f", 50.0))},
        "zero_based": {r.tag: r.value for r in matching.decoded(zero_based, b"\x00\x00\x41\x00")},
    }
    assert values["one_based"] == {"frequency": 50.0}
    assert matching.decision(METER, "list_base", values) == "one_based"
    assert matching.decision(METER, "list_base", values | {"zero_based": {"frequency": 45.0}}) is None
    assert matching.decision(METER, "list_base", {"zero_based": {"frequency": 65.0}}) == "zero_based"
    assert matching.decision(METER, "list_base", {"zero_based": {"frequency": 65.1}}) is None
    assert matching.decision(METER, "list_base", {"zero_based": {}}) is None
    chosen = matching.with_decisions(METER, {"list_base": "zero_based"})
    assert chosen.points["frequency"].address == METER.points["frequency"].address + 1
    assert matching.with_decisions(METER, {"list_base": None}) == METER


def test_what_no_range_decides_is_left_to_a_person() -> None:
    name = "litres_or_cubic_metres"
    assert matching.decision(BELIMO, name, {"litres": {"flow_litres": 1.0}}) is None


def test_the_only_alternative_with_values_is_suggested_never_decided() -> None:
    assert matching.suggestion({"a": {"x": 1.0, "y": 0.0}, "b": {"x": None, "y": None}}) == "a"
    assert matching.suggestion({"a": {"x": 1.0, "y": 0.0}, "b": {"x": None, "y": 2.0}}) is None
    assert matching.suggestion({"a": {"x": 1.0}, "b": {"x": 2.0}}) is None
    assert matching.suggestion({"a": {}, "b": {}}) is None


def test_numbers_whose_bytes_are_all_printable_are_told_as_the_text_they_make() -> None:
    (span,) = plan(FLAT, [want(FLAT, name, name, "once") for name in FLAT.points])
    words = {"count": 0x5858, "share": 0x42480000, "bits": 0x4141, "beyond": 0x7A7A, "code": 0x41422043}
    data = b"".join(words[name].to_bytes(2 * FLAT.points[name].words) for name in FLAT.points)
    readings = {reading.tag: reading.value for reading in matching.decoded(span, data)}
    assert (readings["share"], readings["beyond"]) == (50.0, None)
    assert matching.texts(span, data) == {"count": "XX"}


def test_a_coil_is_no_text() -> None:
    point = Point(table=Table.COIL, address=0, type=PointType.BIT, invert=False, verified=Verified.NONE, cite="a test")
    assert matching.texts(matching.span_of(point, "x", WordOrder.ABCD), b"A") == {}
