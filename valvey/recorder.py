"""The record: every fact and request in the journal, and around each trip all readings at scan rate.

The last 120 s are kept in memory as compact rows. A trip begins a recording: what is kept is written a part at a
time, one a scan, then what follows for 60 s.
"""

from collections.abc import Mapping
from math import ceil
from typing import Any

from fieldkit.journal import Journal
from fieldkit.record import Record
from fieldkit.units import Unit
from valvey import recording
from valvey.core.facts import FactKind
from valvey.core.limits import Limits
from valvey.done import Done
from valvey.episodes import Episodes
from valvey.recording import Columns, Part

BEFORE_S, AFTER_S = 120.0, 60.0
LONGEST_S = 600.0
"""A recording that trip after trip keeps alive ends here, and the next trip begins another."""


class Recorder(Record):
    """Writes one rack's record.

    units     every tag that can ever be read, with its unit
    started   fields of the first line
    """

    def __init__(
        self, journal: Journal, units: Mapping[str, Unit], limits: Limits, *, fast_s: float, started: dict[str, Any]
    ) -> None:
        super().__init__(journal, started)
        self._columns = columns = Columns(tuple(units), tuple(units.values()))
        self._episodes = Episodes[Part](
            self.note,
            lambda first: recording.head(columns, limits, first.memory),
            recording.pack,
            before=ceil(BEFORE_S / (fast_s * recording.ROWS_A_PART)) + 1,  # the newest is not full yet
            after_s=AFTER_S,
            longest_s=LONGEST_S,
        )

    def __call__(self, done: Done) -> None:
        """Take one scan."""
        self.note_step(done.requests, done.scan.facts)
        self._episodes.part(lambda: Part(done.before)).add(self._columns, done)
        tripped = any(fact.kind in {FactKind.TRIP, FactKind.WOULD_TRIP} for fact in done.scan.facts)
        self._episodes.kept(done.now_s, tripped)

    def close(self) -> None:
        """Write what belongs to a recording that has not come to its end."""
        self._episodes.close()
        super().close()
