"""Racky's memory on disk."""

from collections.abc import Callable

from fieldkit.kept import Kept, Left
from fieldkit.kept import find as find_record
from fieldkit.reading import Reading
from fieldkit.store import Store
from racky.core import persist
from racky.core.memory import Memory
from racky.core.step import Scan

PERIOD_S = 5.0
NAME = "racky"


def find(store: Store) -> Left[Memory]:
    """Read what the last process left. An older version is not believed: a trip may be missing in it."""
    return find_record(store, NAME, persist.from_dict)


class Keeper(Kept):
    """Keeps one Racky's memory: at once when something happened, else now and then."""

    def __init__(
        self,
        store: Store,
        readings: dict[str, Reading],
        event_seq: Callable[[], int],
        journal_fault: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(store, NAME, readings, event_seq, journal_fault)
        self._kept_s = float("-inf")

    def take(self, scan: Scan) -> int:
        """Take the memory of one step; return the ticket under which its facts are kept."""
        memory = scan.memory
        if scan.facts or scan.writes or scan.asks or memory.now_s - self._kept_s >= PERIOD_S:
            self.hand_over(memory)
        return self.ticket

    def hand_over(self, memory: Memory) -> None:
        self.save(persist.to_dict(memory))
        self._kept_s = memory.now_s
