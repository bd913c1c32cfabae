"""The roll-up: roots first, what is explained behind them, since when, and a table without loose ends."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from racky.core.cause_row import CauseRow, matches
from racky.core.causes import NOT_JUDGED, Blocks, Classification, Found, Health
from racky.core.facts import FactKind
from racky.core.health import SLACK_S, judge
from racky.core.health_rows import ROWS
from racky.core.view import View
from tests.racky.core.paper_racky import running

A, S = Blocks.ALLOCATION, Blocks.SERVICE


def row(name: str, *found: Found, explains: tuple[str, ...] = (), on_s: float = 0.0, blocks: Blocks = A) -> CauseRow:
    def finder(_view: View) -> Iterable[Found]:
        return found

    words = frozenset({Classification.HARDWARE})
    return CauseRow(name, f"{name} is wrong", "mend it", frozenset({blocks}), words, explains, finder, on_s)


def at(now_s: float, since_s: dict[str, float] | None = None, causes: tuple[str, ...] = ()) -> View:
    rack = running()
    rack.now_s = now_s
    return rack.view(since_s=since_s or {}, causes=causes)


def ids(found: Health) -> list[tuple[str, str | None]]:
    return [(cause.id, cause.behind) for cause in found.causes]


def test_without_a_cause_a_rack_is_healthy_and_blocks_nothing() -> None:
    found, _, facts = judge(at(100.0), (row("a"),))
    assert found.healthy
    assert (found.causes, found.blocks, found.classifications, facts) == ((), frozenset(), frozenset(), [])


def test_before_it_was_judged_nothing_is_healthy() -> None:
    assert not NOT_JUDGED.healthy
    assert NOT_JUDGED.blocks == frozenset(Blocks)


def test_roots_stand_in_the_tables_order_and_what_they_explain_behind_them() -> None:
    rows = (
        row("a", Found(), explains=("c", "d-*")), row("b", Found(), blocks=S), row("c", Found()),
        row("d-*", Found("one"), Found("two"), explains=("e",)), row("e", Found()),
    )  # fmt: skip
    found, _, _ = judge(at(100.0), rows)
    assert ids(found) == [("a", None), ("b", None), ("c", "a"), ("d-one", "a"), ("d-two", "a"), ("e", "d-one")]
    assert [cause.id for cause in found.roots] == ["a", "b"]
    assert found.blocks == {A, S}
    assert found.classifications == {Classification.HARDWARE}
    assert found.causes[0].text == "a is wrong"
    assert found.causes[0].action == "mend it"


def test_a_row_explains_nothing_above_itself_and_nothing_of_its_own() -> None:
    rows = (row("a-*", Found("one"), Found("two"), explains=("a-*", "z")), row("b", Found(), explains=("a-*",)))
    found, _, _ = judge(at(100.0), rows)
    assert ids(found) == [("a-one", None), ("a-two", None), ("b", None)]


def test_a_finding_may_explain_more_than_its_row() -> None:
    rows = (row("a-*", Found("x"), Found("y", explains=("b",))), row("b", Found()))
    assert ids(judge(at(100.0), rows)[0])[-1] == ("b", "a-y")


@pytest.mark.parametrize(("later_s", "behind"), [(SLACK_S, "a"), (SLACK_S + 0.1, None)])
def test_what_began_much_later_explains_nothing(later_s: float, behind: str | None) -> None:
    rows = (row("a", Found(since_s=50.0 + later_s), explains=("b",)), row("b", Found(since_s=50.0)))
    assert dict(ids(judge(at(100.0), rows)[0]))["b"] == behind


def test_roots_of_one_row_stand_by_their_age() -> None:
    rows = (row("a-*", Found("new", since_s=90.0), Found("old", since_s=20.0)),)
    assert [name for name, _ in ids(judge(at(100.0), rows)[0])] == ["a-old", "a-new"]


def test_since_when_is_what_is_told_else_when_it_was_seen_first() -> None:
    rows = (row("a", Found(since_s=7.0)), row("b", Found()))
    found, view, _ = judge(at(100.0, {"b": 60.0}), rows)
    assert [cause.since_s for cause in found.causes] == [7.0, 60.0]
    assert view.memory.since_s == {"a": 100.0, "b": 60.0}
    gone, view, _ = judge(replace(view, memory=view.memory), (row("a"),))
    assert view.memory.since_s == {}
    assert gone.healthy


def test_what_has_a_delay_counts_after_it_and_a_finding_may_have_its_own() -> None:
    rows = (row("a", Found(), on_s=5.0), row("b", Found(on_s=20.0), on_s=5.0), row("c", Found(on_s=0.0), on_s=5.0))
    seen = {"a": 95.0, "b": 80.1, "c": 100.0}
    assert ids(judge(at(100.0, seen), rows)[0]) == [("a", None), ("c", None)]
    seen = {"a": 95.1, "b": 80.0, "c": 100.0}
    assert ids(judge(at(100.0, seen), rows)[0]) == [("b", None), ("c", None)]


def test_the_first_to_find_a_name_tells_of_it() -> None:
    rows = (row("a", Found(evidence="first", hidden=True), Found(evidence="second")),)
    found, _, _ = judge(at(100.0), rows)
    assert [(cause.evidence, cause.hidden) for cause in found.causes] == [("first", True)]


def test_a_cause_that_comes_and_one_that_goes_is_told_once() -> None:
    rows = (row("b", Found(evidence="seen"), explains=("c",)), row("c", Found()))
    _, view, facts = judge(at(100.0, causes=("z", "c", "y")), rows)
    assert [(fact.kind, dict(fact.fields)) for fact in facts] == [
        (FactKind.CAUSE, {"cause": "b", "evidence": "seen", "behind": None}),
        (FactKind.CAUSE_GONE, {"cause": "y"}),
        (FactKind.CAUSE_GONE, {"cause": "z"}),
    ]
    assert view.memory.causes == ("b", "c")
    assert judge(view, rows)[2] == []


def test_a_pattern_is_an_id_or_the_beginning_of_one() -> None:
    assert matches("leak", "leak")
    assert not matches("leak", "leaks")
    assert matches("leak-*", "leak-a")
    assert not matches("leak-*", "leak")


# -- the table itself ----------------------------------------------------------------------------------------------


def test_ids_are_stable_words_and_stand_once() -> None:
    names = [one.id for one in ROWS]
    assert len(set(names)) == len(names)
    assert all(set(name.removesuffix("*")) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for name in names)


def test_every_row_says_what_to_do_and_has_words_for_others() -> None:
    assert all(one.text and one.action and one.classifications for one in ROWS)
    assert all(Classification.PREVENT_ALLOCATIONS in one.classifications for one in ROWS if len(one.blocks) > 1)


def test_what_forbids_power_forbids_jobs() -> None:
    assert all(A in one.blocks for one in ROWS if one.blocks)


def test_each_pattern_of_the_table_means_at_least_one_row_below_or_beside() -> None:
    names = {one.id for one in ROWS}
    for one in ROWS:
        loose = [pattern for pattern in one.explains if not any(matches(pattern, name) for name in names)]
        assert loose in ([], ["alarm-mass-balance-blind"]), one.id


def test_the_emergency_stop_explains_trips_and_a_leak_its_consequences() -> None:
    places = {one.id: place for place, one in enumerate(ROWS)}
    stop, leak = ROWS[places["emergency-stop"]], ROWS[places["leak"]]
    for name in ("flow-lost", "valve-closed", "permit-lost", "not-in-service", "power-off"):
        assert any(matches(pattern, name) for pattern in stop.explains)
        assert places[name] > places["emergency-stop"]
    for name in ("leak-suspected-ldt-101", "mass-balance", "static-lost", "flow-lost"):
        assert any(matches(pattern, name) for pattern in leak.explains)
