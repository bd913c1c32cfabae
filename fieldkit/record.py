"""A daemon's record: what every daemon writes into its journal alike, in the same words."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Protocol

from fieldkit.errors import Refusal
from fieldkit.journal import Journal
from fieldkit.letters import plain
from fieldkit.request import Request


class Fact(Protocol):
    """Something that happened, as a core tells it."""

    @property
    def kind(self) -> str: ...
    @property
    def at_s(self) -> float: ...
    @property
    def fields(self) -> Mapping[str, Any]: ...


class Record:
    """Writes one daemon's record. ``started``: fields of its first line."""

    def __init__(self, journal: Journal, started: dict[str, Any]) -> None:
        self._journal = journal
        self.note("started", started)

    def note(self, kind: str, what: dict[str, Any]) -> None:
        self._journal.note_nowait(kind, what)

    def note_step(self, requests: Iterable[Request], facts: Iterable[Fact]) -> None:
        """What was asked in one step, and what happened."""
        for request in requests:
            self.note("request", {one.name: plain(getattr(request, one.name)) for one in fields(request)})
        for fact in facts:
            self.note("fact", {"fact": str(fact.kind), "at_s": fact.at_s, "fields": plain(fact.fields)})

    def refused_at_the_door(self, client: str, refusal: Refusal) -> None:
        """A message that was no request."""
        what = {"client": client, "id": refusal.about, "code": refusal.code, "reason": refusal.reason}
        self.note("refused_at_the_door", what)

    def close(self) -> None:
        self.note("stopped", {})
