"""A state chart as data: rows, the checks that every chart must pass, and its picture.

Generic: it knows no state of this project. Whoever owns a chart owns a tuple of ``Row``.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One arrow of a chart.

    event   what happens
    source  state in which it counts (a str or a StrEnum member)
    dest    state after it
    guard   name of the condition under which the row holds; None = always. Among rows of one event and
            source the first whose guard holds wins, so a guarded row stands before an unguarded one
    """

    event: str
    source: str
    dest: str
    guard: str | None = None


def twins(rows: Iterable[Row]) -> tuple[tuple[str, str, str | None], ...]:
    """Return each ``(event, source, guard)`` that more than one row claims; empty for a sound chart."""
    counts = Counter((str(row.event), str(row.source), row.guard) for row in rows)
    return tuple(sorted((key for key, n in counts.items() if n > 1), key=lambda key: (key[0], key[1], key[2] or "")))


def hidden(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows that can never win: they stand after an unguarded row of the same event and source."""
    decided: set[tuple[str, str]] = set()
    out: list[Row] = []
    for row in rows:
        key = (str(row.event), str(row.source))
        if key in decided:
            out.append(row)
        elif row.guard is None:
            decided.add(key)
    return tuple(out)


def reachable(rows: Iterable[Row], start: str) -> frozenset[str]:
    """Return every state that some chain of rows leads to from ``start``, guards taken as possible."""
    following: dict[str, set[str]] = {}
    for row in rows:
        following.setdefault(str(row.source), set()).add(str(row.dest))
    seen, todo = {str(start)}, [str(start)]
    while todo:
        for dest in following.get(todo.pop(), ()):
            if dest not in seen:
                seen.add(dest)
                todo.append(dest)
    return frozenset(seen)


def unreachable(rows: Sequence[Row], states: Iterable[str], start: str) -> tuple[str, ...]:
    """Return the states, sorted, that nothing leads to from ``start``; empty for a sound chart."""
    return tuple(sorted({str(state) for state in states} - reachable(rows, start)))


def dead_ends(rows: Sequence[Row], states: Iterable[str]) -> tuple[str, ...]:
    """Return the states, sorted, that no row leaves for another state."""
    left = {str(row.source) for row in rows if str(row.source) != str(row.dest)}
    return tuple(sorted({str(state) for state in states} - left))


def unknown_states(rows: Iterable[Row], states: Iterable[str]) -> tuple[str, ...]:
    """Return the names, sorted, that rows use and ``states`` does not list."""
    used = {str(name) for row in rows for name in (row.source, row.dest)}
    return tuple(sorted(used - {str(state) for state in states}))


def mermaid(rows: Sequence[Row], start: str, *, show_stay: bool = False) -> str:
    """Return the chart as a Mermaid ``stateDiagram-v2``, ending in a newline.

    Deterministic: arrows stand in the order of the rows; arrows between the same two states are one line, their
    events joined. Rows that stay in their state are left out unless ``show_stay``.
    """
    labels: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        source, dest = str(row.source), str(row.dest)
        if source == dest and not show_stay:
            continue
        label = str(row.event) if row.guard is None else f"{row.event} [{row.guard}]"
        names = labels.setdefault((source, dest), [])
        if label not in names:
            names.append(label)
    lines = ["stateDiagram-v2", f"    [*] --> {start}"]
    lines += [f"    {source} --> {dest}: {', '.join(names)}" for (source, dest), names in labels.items()]
    return "\n".join(lines) + "\n"
