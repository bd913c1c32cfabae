"""Health: not a colour but causes, the root of each first: what is wrong, since when, what it blocks.

Unknown is never healthy: an input that cannot be believed is a cause itself. A cause that another active one explains
stands behind it.
"""

from dataclasses import dataclass, replace

from racky.core.cause_row import CauseRow
from racky.core.causes import Cause, Found, Health
from racky.core.facts import Fact, FactKind
from racky.core.health_rows import ROWS
from racky.core.view import View

SLACK_S = 20.0
"""What explains another may be told this much later: alarms have on-delays, and readings lanes of their own."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A cause of which it is not yet known what explains it. ``rank``: place of its row in the table."""

    rank: int
    row: CauseRow
    found: Found
    cause: Cause


def judge(view: View, rows: tuple[CauseRow, ...] = ROWS) -> tuple[Health, View, list[Fact]]:
    """Return the health, the view that remembers since when, and a fact for each cause that came or went."""
    since_s: dict[str, float] = {}
    seen: list[_Seen] = []
    for rank, row in enumerate(rows):
        for found in row.found(view):
            name = name_of(row, found)
            if name in since_s:
                continue
            first_s = since_s[name] = view.memory.since_s.get(name, view.now_s)
            if view.now_s - first_s >= (row.on_s if found.on_s is None else found.on_s):
                seen.append(_Seen(rank, row, found, _cause(row, found, name, first_s)))
    causes = [replace(one.cause, behind=_explained(one, seen)) for one in seen]
    order = sorted(range(len(seen)), key=lambda n: (causes[n].behind is not None, seen[n].rank, causes[n].since_s, n))
    health = Health(tuple(causes[n] for n in order), view.memory.maintenance is not None)
    facts = _news(view, health)
    ids = tuple(cause.id for cause in health.causes)
    return health, replace(view, memory=replace(view.memory, since_s=since_s, causes=ids)), facts


def name_of(row: CauseRow, found: Found) -> str:
    """The id of one cause: its row's, with the name in the place of the ``*``."""
    return row.id.replace("*", found.name)


def _cause(row: CauseRow, found: Found, name: str, first_s: float) -> Cause:
    told_s = first_s if found.since_s is None else found.since_s
    return Cause(
        name, row.text, row.action, found.evidence, told_s, row.blocks, row.classifications, None, found.hidden
    )


def _explained(one: _Seen, seen: list[_Seen]) -> str | None:
    """Id of the first cause that stands above this one in the table, explains it, and was not much later."""
    for other in seen:
        above = other.rank < one.rank and other.row.covers(other.found, one.cause.id)
        if above and other.cause.since_s <= one.cause.since_s + SLACK_S:
            return other.cause.id
    return None


def _news(view: View, health: Health) -> list[Fact]:
    before, now = set(view.memory.causes), {cause.id for cause in health.causes}
    came = [
        Fact(FactKind.CAUSE, view.now_s, {"cause": one.id, "evidence": one.evidence, "behind": one.behind})
        for one in health.causes
        if one.id not in before
    ]
    return came + [Fact(FactKind.CAUSE_GONE, view.now_s, {"cause": name}) for name in sorted(before - now)]
