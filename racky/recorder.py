"""Racky's record: what was asked, answered, asked of Valvey, written and stopped, and every fact."""

from typing import Any

from fieldkit.journal import Journal
from fieldkit.letters import plain
from fieldkit.record import Record
from fieldkit.request import Request
from racky.core.step import Scan


class Recorder(Record):
    """Writes one rack's record. ``started``: fields of its first line."""

    def __init__(self, journal: Journal, started: dict[str, Any]) -> None:
        super().__init__(journal, started)
        self._held: dict[str, float] = {}

    def __call__(self, requests: tuple[Request, ...], scan: Scan, stopped: list[str]) -> None:
        """Take one step. ``stopped``: tags that the gate did not let pass."""
        self.note_step(requests, scan.facts)
        for ask in scan.asks:
            self.note(
                "asked_of_valvey", {"key": ask.key, "request": ask.request, "args": plain(ask.args), "why": ask.why}
            )
        for tag, value in scan.writes.items():
            self.note("stopped_by_the_gate" if tag in stopped else "written", {"tag": tag, "value": value})
        held = dict(scan.held)
        if held != self._held:  # a disarmed one says the same in every step
            self._held = held
            self.note("held_back", {"writes": held})
