"""Racky's record: what was asked, answered, asked of Valvey, written and stopped, and every fact."""

from typing import Any

from fieldkit.errors import Refusal
from fieldkit.journal import Journal
from fieldkit.letters import plain
from fieldkit.request import Request
from racky.core.step import Scan


class Recorder:
    """Writes one rack's record. ``started``: fields of its first line."""

    def __init__(self, journal: Journal, started: dict[str, Any]) -> None:
        self._journal = journal
        self._held: dict[str, float] = {}
        self._note("started", started)

    def __call__(self, requests: tuple[Request, ...], scan: Scan, stopped: list[str]) -> None:
        """Take one step. ``stopped``: tags that the gate did not let pass."""
        for request in requests:
            self._note("request", {name: plain(getattr(request, name)) for name in request.__slots__})
        for fact in scan.facts:
            self._note("fact", {"fact": str(fact.kind), "at_s": fact.at_s, "fields": plain(fact.fields)})
        for ask in scan.asks:
            self._note(
                "asked_of_valvey", {"key": ask.key, "request": ask.request, "args": plain(ask.args), "why": ask.why}
            )
        for tag, value in scan.writes.items():
            self._note("stopped_by_the_gate" if tag in stopped else "written", {"tag": tag, "value": value})
        held = dict(scan.held)
        if held != self._held:  # a disarmed one says the same in every step
            self._held = held
            self._note("held_back", {"writes": held})

    def refused_at_the_door(self, client: str, refusal: Refusal) -> None:
        """A message that was no request."""
        fields = {"client": client, "id": refusal.about, "code": refusal.code, "reason": refusal.reason}
        self._note("refused_at_the_door", fields)

    def close(self) -> None:
        self._note("stopped", {})

    def _note(self, kind: str, fields: dict[str, Any]) -> None:
        self._journal.note_nowait(kind, fields)
