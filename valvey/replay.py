"""``valvey replay``: run ``step`` again over what was recorded, and say whether it decides the same."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fieldkit import chain
from fieldkit.journal import segments
from fieldkit.letters import plain
from valvey import recording
from valvey.core.facts import FactKind
from valvey.core.step import setup, step
from valvey.recording import Columns, Decided, Frame


@dataclass(frozen=True, slots=True)
class Difference:
    """The first scan that is decided otherwise than it was."""

    scan: int
    at_s: float
    what: str
    recorded: Any
    replayed: Any


@dataclass(slots=True)
class Replayed:
    """One recording, run again. ``complete``: it has the end that its head promised."""

    name: str
    scans: int = 0
    seconds: float = 0.0
    trips: list[str] = field(default_factory=list)
    complete: bool = False
    difference: Difference | None = None
    trouble: str = ""

    @property
    def equal(self) -> bool:
        return self.difference is None and not self.trouble and self.scans > 0

    def document(self) -> dict[str, Any]:
        difference = None
        if self.difference is not None:
            difference = {name: plain(getattr(self.difference, name)) for name in Difference.__slots__}
        return {
            "recording": self.name,
            "scans": self.scans,
            "seconds": round(self.seconds, 3),
            "trips": self.trips,
            "complete": self.complete,
            "equal": self.equal,
            "first_difference": difference,
            "trouble": self.trouble or None,
        }


Runner = Callable[[str, Mapping[str, Any], Sequence[Mapping[str, Any]], bool], Replayed]
"""Runs one recording again: its name, the fields of its head and of its parts, whether it came to its end."""


def replay(journal: Path, runners: Mapping[str, Runner] | None = None) -> list[Replayed]:
    """Run every recording of a journal (a folder or one segment) again. Raises OSError when it cannot be read.

    runners  by what a recording is of; only a rack's are known unless given
    """
    known = {"rack": run} if runners is None else runners
    heads: dict[str, dict[str, Any]] = {}
    parts: dict[str, list[dict[str, Any]]] = {}
    ended: set[str] = set()
    for fields in lines(journal):
        name = str(fields.get("recording", ""))
        if fields["kind"] == "recording_begun":
            heads[name] = fields
        elif fields["kind"] == "recording":
            parts.setdefault(name, []).append(fields)
        elif fields["kind"] == "recording_ended":
            ended.add(name)
    return [known[one.get("of", "rack")](name, one, parts.get(name, []), name in ended) for name, one in heads.items()]


def lines(journal: Path) -> Iterator[dict[str, Any]]:
    """Yield the fields of every whole line, oldest first; a line that was cut or changed is left out."""
    paths = segments(journal) if journal.is_dir() else [journal]
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                found = chain.read(line)
                if found is not None and "kind" in found[3]:
                    yield found[3]


def run(name: str, fields: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], ended: bool) -> Replayed:
    """Run one recording of a rack again."""
    out = Replayed(name, complete=ended)
    try:
        columns, limits, memory = recording.read_head(fields)
        known = tuple(answer for part in parts for answer in recording.read_known(part))
        memory = replace(memory, answered=tuple(dict.fromkeys(known)))
        frames = [frame for number, part in enumerate(parts) for frame in _frames(columns, part, number)]
    except ValueError as error:
        out.trouble = str(error)
        return out
    rack = setup(limits)
    for frame in frames:
        scan = step(memory, frame.readings, frame.requests, rack, frame.now_s, frame.answers)
        memory = scan.memory
        out.trips += [str(fact.fields.get("sif")) for fact in scan.facts if fact.kind is FactKind.TRIP]
        now = recording.decided(scan.outputs, memory, scan.facts)
        if now != frame.decided:
            out.difference = _difference(out.scans, frame.now_s, frame.decided, now)
            break
        out.scans += 1
        out.seconds = frame.now_s - frames[0].now_s
    return out


def _frames(columns: Columns, part: Mapping[str, Any], number: int) -> Iterable[Frame]:
    if part.get("part") != number:
        raise ValueError(f"part {number} of the recording is missing")
    return recording.unpack(columns, part)


def _difference(scan: int, at_s: float, then: Decided, now: Decided) -> Difference:
    for what in Decided.__slots__:
        if getattr(then, what) != getattr(now, what):
            return Difference(scan, at_s, what, getattr(then, what), getattr(now, what))
    return Difference(scan, at_s, "nothing", None, None)


def text(found: Iterable[Replayed]) -> str:
    """The result for people."""
    out = []
    for one in found:
        verdict = (
            "the same decisions"
            if one.equal
            else one.trouble
            or f"first difference at scan {one.scans}: {json.dumps(one.document()['first_difference'])}"
        )
        trips = f", trips {', '.join(one.trips)}" if one.trips else ""
        out.append(f"recording {one.name}: {one.scans} scans, {one.seconds:.1f} s{trips}: {verdict}")
    return "\n".join(out)
