"""Which registers to read together: neighbours of one table and lane become one request."""

from collections.abc import Iterable
from dataclasses import dataclass

from fieldkit.errors import nearest
from fieldkit.point import REGISTER_TABLES, Point, PointType, Table, WordOrder
from fieldkit.profile import MOST_BITS, Profile

BRIDGE_WORDS = 16
"""Longest gap that is read across rather than asked around: 32 bytes cost less than a second request, on TCP as on
RTU at 19200 baud (17 ms of wire against two gaps, a request head and the device's turn-around)."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One tag to be read: where it is and how often (``lane``: fast, normal, slow)."""

    tag: str
    point: Point
    order: WordOrder
    lane: str


@dataclass(frozen=True, slots=True)
class Span:
    """One read request: ``count`` registers or bits of ``table`` from ``address`` on, and the tags found in it.

    ``wanted`` is sorted by address; every value of it lies wholly inside.
    """

    lane: str
    table: Table
    address: int
    count: int
    wanted: tuple[Wanted, ...]


def want(profile: Profile, tag: str, name: str, lane: str) -> Wanted:
    """Return what it takes to read ``tag`` from the point ``name`` of ``profile``.

    Raises ValueError when there is no such point, or when it is a text, which is no reading.
    """
    point = profile.points.get(name)
    if point is None:
        near = nearest(name, profile.points)
        hint = f"; did you mean {near!r}?" if near is not None else ""
        raise ValueError(f"profile {profile.profile} has no point {name!r}{hint}")
    if point.type is PointType.STRING:
        raise ValueError(f"point {name!r} of profile {profile.profile} is a text and cannot feed {tag}")
    return Wanted(tag, point, profile.order_of(point), lane)


def plan(profile: Profile, wanted: Iterable[Wanted]) -> tuple[Span, ...]:
    """Return the reads that bring all of ``wanted``, in the order of lane, table and address.

    No read is longer than the device or Modbus allows, none splits a value, and none covers a register that the
    profile does not list unless it says ``holes_ok``.
    """
    listed: dict[Table, set[int]] = {table: set() for table in Table}
    for point in profile.points.values():
        listed[point.table].update(range(point.address, point.address + point.words))
        if point.scale_by is not None:
            listed[point.table].add(point.scale_by.address)
    groups: dict[tuple[str, Table], list[Wanted]] = {}
    for item in wanted:
        groups.setdefault((item.lane, item.point.table), []).append(item)
    out: list[Span] = []
    for (lane, table), items in sorted(groups.items()):
        longest = profile.max_registers if table in REGISTER_TABLES else MOST_BITS
        bridge = BRIDGE_WORDS if table in REGISTER_TABLES else BRIDGE_WORDS * 16
        run: list[Wanted] = []
        end = 0
        for item in sorted(items, key=lambda one: (one.point.first, one.point.bit or 0, one.tag)):
            start, stop = item.point.first, item.point.after
            gap = range(end, start)
            joins = len(gap) <= bridge and (profile.holes_ok or listed[table].issuperset(gap))
            if run and not (joins and max(end, stop) - run[0].point.first <= longest):
                out.append(_span(lane, table, run))
                run = []
            run.append(item)
            end = max(end, stop) if len(run) > 1 else stop
        out.append(_span(lane, table, run))
    return tuple(out)


def halves(span: Span) -> tuple[Span, ...]:
    """Return ``span`` as two reads, split between values; unchanged, alone, when it holds one value.

    For a device that answers "illegal address" to a merged read: the good half lives on.
    """
    for middle in sorted(range(1, len(span.wanted)), key=lambda i: (abs(2 * i - len(span.wanted)), i)):
        left, right = span.wanted[:middle], span.wanted[middle:]
        if max(w.point.after for w in left) <= right[0].point.first:
            return _span(span.lane, span.table, left), _span(span.lane, span.table, right)
    return (span,)


def _span(lane: str, table: Table, run: Iterable[Wanted]) -> Span:
    items = tuple(run)
    address = items[0].point.first
    end = max(item.point.after for item in items)
    return Span(lane, table, address, end - address, items)
