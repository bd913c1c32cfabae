"""Points and spans on paper, for tests of decoder and planner."""

from typing import Any

from fieldkit.point import Point, PointType, Table, Verified, WordOrder
from fieldkit.spans import Span, Wanted
from fieldkit.units import Unit


def number(address: int = 0, type: PointType = PointType.U16, **more: Any) -> Point:
    given: dict[str, Any] = {
        "table": Table.INPUT,
        "scale": 1.0,
        "raw_unit": Unit.KPA,
        "unit": Unit.KPA,
        "range": (-1e9, 1e10),
        "verified": Verified.NONE,
        "cite": "paper",
    }
    return Point(address=address, type=type, **{**given, **more})


def contact(address: int = 0, bit: int | None = 0, *, invert: bool = False, **more: Any) -> Point:
    given: dict[str, Any] = {"table": Table.INPUT, "verified": Verified.NONE, "cite": "paper"}
    return Point(address=address, type=PointType.BIT, bit=bit, invert=invert, **{**given, **more})


def span_of(*points: Point, order: WordOrder = WordOrder.ABCD) -> Span:
    """One span over ``points``, their tags P0, P1 ..."""
    start = min(point.address for point in points)
    stop = max(point.address + point.words for point in points)
    wanted = tuple(Wanted(f"P{n}", point, order, "fast") for n, point in enumerate(points))
    return Span("fast", points[0].table, start, stop - start, wanted)
