"""What a profile has to be consistent in."""

from typing import Any

import pytest
from pydantic import ValidationError

from fieldkit.point import Point, PointType, Table, WordOrder
from fieldkit.profile import Expiry, Identity, Output, Profile
from tests.fieldkit.points import contact, number

COMMAND = number(0, table=Table.HOLDING, writable=True)
VALVES = Expiry(rearmed_by=("xv",), default_s=15.0, setting=None, left=None, seal_out=True)


def profile(points: dict[str, Point] | None = None, **more: Any) -> Profile:
    given: dict[str, Any] = {
        "profile": "acme_valve",
        "maker": "Acme",
        "model": "valve",
        "cite": "paper",
        "word_order": WordOrder.ABCD,
        "max_registers": 125,
        "holes_ok": False,
        "min_gap_s": 0.0,
        "connections": 1,
        "points": points if points is not None else {"xv": COMMAND, "xy": contact(0)},
        "expiries": {"valves": VALVES},
        "outputs": {"xv": Output(expiry="valves", read_back="xy", safe=0.0)},
        "identity": None,
    }
    return Profile(**{**given, **more})


def test_a_whole_profile_is_taken() -> None:
    assert profile().outputs["xv"].expiry == "valves"


def test_the_heartbeat_is_found() -> None:
    assert profile().heartbeat is None
    points = {"xv": COMMAND, "xy": contact(0), "beat": number(1, heartbeat=True)}
    assert profile(points).heartbeat == "beat"


def test_a_point_may_have_its_own_word_order() -> None:
    own = number(2, PointType.F32, word_order=WordOrder.CDAB)
    assert profile().order_of(own) is WordOrder.CDAB
    assert profile().order_of(number(4, PointType.F32)) is WordOrder.ABCD


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"identity": Identity(point="model", expect="X")}, "identity.point: no point model"),
        ({"expiries": {"valves": VALVES.model_copy(update={"rearmed_by": ("xy",)})}}, "no writable point xy"),
        ({"expiries": {"valves": VALVES.model_copy(update={"setting": "t", "left": "u"})}}, "no point t.*no point u"),
        ({"outputs": {"xy": Output(expiry=None, read_back=None, safe=0.0)}}, "outputs.xy: no writable point"),
        ({"outputs": {"xv": Output(expiry="permit", read_back=None, safe=0.0)}}, "no expiry permit"),
        ({"outputs": {"xv": Output(expiry=None, read_back="zz", safe=0.0)}}, "read_back: no point zz"),
        ({"max_registers": 126}, "less than or equal to 125"),
        ({"profile": "Acme Valve"}, "pattern"),
        ({"points": {}}, "at least 1"),
        ({"points": {"XV": COMMAND}}, "pattern"),
    ],
)
def test_a_profile_that_contradicts_itself_is_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        profile(**more)


def test_two_heartbeats_are_refused() -> None:
    points = {"xv": COMMAND, "xy": contact(0), "a": number(1, heartbeat=True), "b": number(2, heartbeat=True)}
    with pytest.raises(ValidationError, match="one heartbeat"):
        profile(points)


@pytest.mark.parametrize(
    "other",
    [number(4, PointType.F32), number(5, PointType.F32), number(6), contact(6), number(5, PointType.S32)],
)
def test_two_points_on_one_register_are_refused(other: Point) -> None:
    points = {"xv": COMMAND, "xy": contact(0), "flow": number(5, PointType.F32), "more": other}
    with pytest.raises(ValidationError, match=r"points\.more and points\.flow both claim input"):
        profile(points)


def test_bits_and_the_word_they_are_in_may_share_a_register_and_tables_are_apart() -> None:
    points = {"xv": COMMAND, "xy": contact(0), "status": number(0), "other": contact(0, 3)}
    assert len(profile(points).points) == 4
