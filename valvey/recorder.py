"""The record: every fact and request in the journal, and around each trip all readings at scan rate.

The last 120 s are kept in memory as compact rows. A trip begins a recording: what is kept is written a part at a
time, one a scan, then what follows for 60 s.
"""

from collections import deque
from collections.abc import Mapping
from math import ceil
from typing import Any

from fieldkit.errors import Refusal
from fieldkit.journal import Journal
from fieldkit.units import Unit
from valvey import recording
from valvey.core.facts import FactKind
from valvey.core.limits import Limits
from valvey.done import Done
from valvey.letters import plain
from valvey.recording import Columns, Part

BEFORE_S, AFTER_S = 120.0, 60.0
LONGEST_S = 600.0
"""A recording that trip after trip keeps alive ends here, and the next trip begins another."""


class Recorder:
    """Writes one rack's record.

    units     every tag that can ever be read, with its unit
    started   fields of the first line
    """

    def __init__(
        self, journal: Journal, units: Mapping[str, Unit], limits: Limits, *, fast_s: float, started: dict[str, Any]
    ) -> None:
        self._journal, self._limits = journal, limits
        self._columns = Columns(tuple(units), tuple(units.values()))
        parts = ceil(BEFORE_S / (fast_s * recording.ROWS_A_PART)) + 1  # the newest is not full yet
        self._ring: deque[Part] = deque(maxlen=parts)
        self._name = ""
        self._unwritten: deque[Part] = deque()
        self._begun_s = self._until_s = 0.0
        self._number = self._count = 0
        self._note("started", started)

    def __call__(self, done: Done) -> None:
        """Take one scan."""
        for request in done.requests:
            self._note("request", {name: plain(getattr(request, name)) for name in request.__slots__})
        for fact in done.scan.facts:
            self._note("fact", {"fact": str(fact.kind), "at_s": fact.at_s, "fields": plain(fact.fields)})
        tripped = any(fact.kind in {FactKind.TRIP, FactKind.WOULD_TRIP} for fact in done.scan.facts)
        self._keep(done, tripped)
        if self._unwritten:
            self._write(self._unwritten.popleft())
        elif self._name and done.now_s >= self._until_s:
            self._end("complete")

    def refused_at_the_door(self, client: str, refusal: Refusal) -> None:
        """A message that was no request."""
        fields = {"client": client, "id": refusal.about, "code": refusal.code, "reason": refusal.reason}
        self._note("refused_at_the_door", fields)

    def note(self, kind: str, **fields: Any) -> None:
        self._note(kind, fields)

    def close(self) -> None:
        """Write what belongs to a recording that has not come to its end."""
        if self._name:
            if self._ring and not self._ring[-1].full:
                self._unwritten.append(self._ring[-1])
            while self._unwritten:
                self._write(self._unwritten.popleft())
            self._end("stopped")
        self._note("stopped", {})

    def _keep(self, done: Done, tripped: bool) -> None:
        if not self._ring or self._ring[-1].full:
            self._ring.append(Part(done.before))
        part = self._ring[-1]
        part.add(self._columns, done)
        if tripped:
            self._tripped(done)
        if self._name and part.full:
            self._unwritten.append(part)

    def _tripped(self, done: Done) -> None:
        if not self._name:
            self._number += 1
            self._name, self._begun_s, self._count = f"{done.now_s:.3f}-{self._number}", done.now_s, 0
            self._unwritten.extend(part for part in self._ring if part.full and part is not self._ring[-1])
            first = self._unwritten[0] if self._unwritten else self._ring[-1]
            self._note(
                "recording_begun",
                {"recording": self._name, **recording.head(self._columns, self._limits, first.memory)},
            )
        self._until_s = min(done.now_s + AFTER_S, self._begun_s + LONGEST_S)

    def _write(self, part: Part) -> None:
        self._note("recording", {"recording": self._name, "part": self._count, **recording.pack(part)})
        self._count += 1

    def _end(self, why: str) -> None:
        self._note("recording_ended", {"recording": self._name, "parts": self._count, "why": why})
        self._name = ""

    def _note(self, kind: str, fields: dict[str, Any]) -> None:
        self._journal.note_nowait(kind, fields)
