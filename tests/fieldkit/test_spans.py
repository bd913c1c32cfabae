"""Which registers are read together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.point import Point, PointType, Table, WordOrder
from fieldkit.profile import Profile
from fieldkit.spans import BRIDGE_WORDS, Span, Wanted, halves, plan, want
from tests.fieldkit.points import contact, number
from tests.fieldkit.test_point import text_point


def profile(points: dict[str, Point], *, max_registers: int = 125, holes_ok: bool = False) -> Profile:
    return Profile(
        profile="acme_valve",
        maker="Acme",
        model="valve",
        cite="paper",
        word_order=WordOrder.ABCD,
        max_registers=max_registers,
        holes_ok=holes_ok,
        min_gap_s=0.0,
        connections=1,
        points=points,
        expiries={},
        outputs={},
        identity=None,
    )


def spans(found: Profile, *names: str, lane: str = "fast") -> list[tuple[int, int]]:
    return [(s.address, s.count) for s in plan(found, [want(found, n, n, lane) for n in names or found.points])]


def test_neighbours_become_one_read() -> None:
    assert spans(profile({"a": number(0), "b": number(1, PointType.F32), "c": number(3)})) == [(0, 4)]


def test_an_unlisted_register_is_never_read_unless_the_device_allows_it() -> None:
    points = {"a": number(11174), "b": number(11176), "c": number(11177)}
    assert spans(profile(points)) == [(11174, 1), (11176, 2)]
    assert spans(profile(points, holes_ok=True)) == [(11174, 4)]


def test_a_listed_register_in_between_is_read_across() -> None:
    assert spans(profile({"a": number(0), "b": number(1), "c": number(2)}), "a", "c") == [(0, 3)]


def test_a_long_gap_costs_less_as_two_reads() -> None:
    near, far = 1 + BRIDGE_WORDS, 2 + BRIDGE_WORDS
    assert spans(profile({"a": number(0), "b": number(near)}, holes_ok=True)) == [(0, near + 1)]
    assert spans(profile({"a": number(0), "b": number(far)}, holes_ok=True)) == [(0, 1), (far, 1)]


def test_346_registers_are_asked_in_pieces_that_split_no_value() -> None:
    points = {f"p{n}": number(2 * n, PointType.F32) for n in range(173)}
    assert spans(profile(points)) == [(0, 124), (124, 124), (248, 98)]


def test_a_device_that_allows_less_is_asked_less() -> None:
    points = {f"p{n}": number(2 * n, PointType.F32) for n in range(4)}
    assert spans(profile(points, max_registers=5)) == [(0, 4), (4, 4)]


def test_bits_of_one_register_are_one_read() -> None:
    assert spans(profile({"a": contact(3, 9), "b": contact(3, 1)})) == [(3, 1)]


def test_tables_and_lanes_are_read_apart() -> None:
    found = profile({"a": number(0), "b": number(1), "c": number(2, table=Table.HOLDING)})
    wanted = [want(found, "A", "a", "fast"), want(found, "B", "b", "slow"), want(found, "C", "c", "fast")]
    assert [(s.lane, s.table, s.address) for s in plan(found, wanted)] == [
        ("fast", Table.HOLDING, 2),
        ("fast", Table.INPUT, 0),
        ("slow", Table.INPUT, 1),
    ]


def test_coils_are_read_two_thousand_at_a_time() -> None:
    points = {f"c{n}": contact(n, None, table=Table.COIL) for n in range(2001)}
    assert spans(profile(points)) == [(0, 2000), (2000, 1)]


def test_a_tag_of_an_unknown_point_is_told_the_nearest() -> None:
    found = profile({"zso_101": contact(0)})
    with pytest.raises(ValueError, match="did you mean 'zso_101'"):
        want(found, "ZSO-101", "zs0_101", "fast")
    with pytest.raises(ValueError, match=r"no point 'q'$"):
        want(found, "ZSO-101", "q", "fast")


def test_a_text_feeds_no_tag() -> None:
    with pytest.raises(ValueError, match="is a text"):
        want(profile({"model": text_point()}), "FT-101", "model", "slow")


def test_a_refused_read_is_halved_between_values() -> None:
    found = profile({"a": number(0), "b": number(1, PointType.F32), "c": number(3), "d": number(4)})
    (span,) = plan(found, [want(found, n, n, "fast") for n in found.points])
    left, right = halves(span)
    assert ((left.address, left.count), (right.address, right.count)) == ((0, 3), (3, 2))
    assert left.wanted + right.wanted == span.wanted


def test_what_stands_in_one_register_cannot_be_halved() -> None:
    found = profile({"a": contact(0, 0), "b": contact(0, 1)})
    (span,) = plan(found, [want(found, n, n, "fast") for n in found.points])
    assert halves(span) == (span,)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[Profile, list[Wanted]]:
    points: dict[str, Point] = {}
    address = draw(st.integers(0, 50))
    for n in range(draw(st.integers(1, 40))):
        kind = draw(st.sampled_from([PointType.U16, PointType.F32, PointType.S32]))
        table = draw(st.sampled_from([Table.INPUT, Table.HOLDING]))
        points[f"p{n}"] = number(address, kind, table=table)
        address += points[f"p{n}"].words + draw(st.sampled_from([0, 0, 0, 1, 5, 40]))
    found = profile(points, max_registers=draw(st.integers(2, 125)), holes_ok=draw(st.booleans()))
    names = draw(st.lists(st.sampled_from(sorted(points)), min_size=1, unique=True))
    return found, [want(found, name.upper(), name, draw(st.sampled_from(["fast", "slow"]))) for name in names]


@given(layouts())
def test_every_plan_reads_all_that_is_wanted_and_nothing_forbidden(layout: tuple[Profile, list[Wanted]]) -> None:
    found, wanted = layout
    planned = plan(found, wanted)
    assert sorted(w.tag for s in planned for w in s.wanted) == sorted(w.tag for w in wanted)
    listed = {(p.table, a) for p in found.points.values() for a in range(p.address, p.address + p.words)}
    for span in planned:
        assert 0 < span.count <= found.max_registers
        _holds_its_values(span)
        if not found.holes_ok:
            assert {(span.table, a) for a in range(span.address, span.address + span.count)} <= listed


def _holds_its_values(span: Span) -> None:
    for item in span.wanted:
        assert (item.lane, item.point.table) == (span.lane, span.table)
        assert span.address <= item.point.address
        assert item.point.address + item.point.words <= span.address + span.count
