"""Contradicting sources: visible in the profile, and a profile for each of them."""

from typing import Any

import pytest
from pydantic import ValidationError

from fieldkit.conflicts import Alternative, Change, Conflict, Decision
from fieldkit.point import PointType, Verified, WordOrder
from fieldkit.profile import Standing, choose
from tests.fieldkit.points import number
from tests.fieldkit.test_profile import COMMAND, VALVES, profile

TEXT = "compare the power with the meter's own display"
FLOW = number(3059, PointType.F32, verified=Verified.SECOND_SOURCE)


def conflict(**more: Any) -> Conflict:
    given: dict[str, Any] = {
        "about": "are list numbers one-based or as on the wire",
        "points": ("flow",),
        "used": "one_based",
        "alternatives": {
            "one_based": Alternative(says="wire = number - 1", cite="list A"),
            "zero_based": Alternative(says="wire = number", cite="library B", shift=1),
        },
        "decide": Decision(text=TEXT, point="flow", within=(45.0, 65.0)),
    }
    return Conflict(**{**given, **more})


def with_conflict(one: Conflict, **points: Any) -> Any:
    return profile({"xv": COMMAND, "xy": number(9), "flow": FLOW, **points}, conflicts={"base": one})


def test_a_point_in_an_undecided_conflict_is_called_so_whatever_stands_behind_it() -> None:
    found = with_conflict(conflict(), other=number(20, verified=Verified.MANUAL))
    assert found.conflicts_of("flow") == ("base",)
    assert {name: found.standing(name) for name in ("flow", "other", "xy")} == {
        "flow": Standing.CONFLICTING,
        "other": Standing.ONE_SOURCE,
        "xy": Standing.ASSUMED,
    }


def test_a_point_read_on_hardware_is_beyond_the_sources_quarrel() -> None:
    seen = number(3059, PointType.F32, verified=Verified.HARDWARE)
    assert with_conflict(conflict(), flow=seen).standing("flow") is Standing.HARDWARE


def test_the_other_alternative_moves_the_points_there_and_back() -> None:
    first = with_conflict(conflict())
    second = choose(first, "base", "zero_based")
    assert (second.points["flow"].address, second.conflicts["base"].used) == (3060, "zero_based")
    assert choose(second, "base", "one_based") == first


def test_an_alternative_may_change_what_the_counts_mean() -> None:
    one = conflict(
        alternatives={
            "one_based": Alternative(
                says="high word first",
                cite="list A",
                points={"flow": Change(address=3059, word_order=WordOrder.ABCD)},
            ),
            "other": Alternative(
                says="low word first, elsewhere",
                cite="list B",
                points={"flow": Change(address=7, word_order=WordOrder.CDAB)},
            ),
        }
    )
    flow = number(3059, PointType.F32, word_order=WordOrder.ABCD)
    point = choose(with_conflict(one, flow=flow), "base", "other").points["flow"]
    assert (point.address, point.word_order) == (7, WordOrder.CDAB)


def test_a_choice_that_makes_no_sound_profile_is_refused() -> None:
    with pytest.raises(ValidationError, match="both claim"):
        choose(with_conflict(conflict(), next=number(3061)), "base", "zero_based")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"used": "none"}, "no alternative none"),
        ({"points": ()}, "decide.point: flow is not listed"),
        ({"decide": Decision(text=TEXT, within=(2.0, 1.0))}, "must rise"),
        ({"alternatives": {"one_based": Alternative(says="wire", cite="list")}}, "at least 2"),
        (
            {
                "alternatives": {
                    "one_based": Alternative(says="wire", cite="list", points={"xy": Change(address=1)}),
                    "zero_based": Alternative(says="wire", cite="list"),
                }
            },
            "xy is not listed in points",
        ),
        (
            {
                "alternatives": {
                    "one_based": Alternative(says="wire", cite="list", points={"flow": Change(address=1)}),
                    "zero_based": Alternative(says="wire", cite="list"),
                }
            },
            "zero_based: flow.address is stated by another alternative only",
        ),
    ],
)
def test_a_conflict_that_contradicts_itself_is_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        conflict(**more)


def test_a_conflict_about_unknown_points_or_written_otherwise_than_used_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"conflicts\.base\.points: no point flow"):
        profile(conflicts={"base": conflict()}, expiries={"valves": VALVES})
    lying = conflict(
        alternatives={
            "one_based": Alternative(says="wire", cite="list", points={"flow": Change(address=1)}),
            "zero_based": Alternative(says="wire", cite="list", points={"flow": Change(address=2)}),
        }
    )
    with pytest.raises(ValidationError, match="not written as one_based has it: address is 1"):
        with_conflict(lying)
