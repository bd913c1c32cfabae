"""The coordinator's memory on disk."""

from collections.abc import Callable

from fieldkit.kept import Kept, Left
from fieldkit.kept import find as find_record
from fieldkit.reading import Reading
from fieldkit.store import Store
from valvey.core.loop import persist
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.step import LoopScan

PERIOD_S = 10.0
NAME = "loop"


def find(store: Store) -> Left[LoopMemory]:
    """Read what the last process left. An older version is better than none here: the racks still know their leases."""
    return find_record(store, NAME, persist.from_dict, older=True)


class LoopKeeper(Kept):
    """Keeps the memory of one loop: at once when its state sequence or what is learned of leases moved, else now and then."""

    def __init__(
        self,
        store: Store,
        readings: dict[str, Reading],
        event_seq: Callable[[], int],
        journal_fault: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(store, NAME, readings, event_seq, journal_fault)
        self._kept_seq: tuple[int, ...] = ()
        self._kept_s = float("-inf")

    def take(self, scan: LoopScan) -> int:
        """Take the memory of one step; return the ticket under which what it says of leases is kept."""
        memory = scan.memory
        key = (memory.epoch, memory.number, memory.state_seq)
        if key != self._kept_seq or memory.now_s - self._kept_s >= PERIOD_S:
            self.hand_over(memory)
        self.show(memory.now_s)
        return self.ticket

    def hand_over(self, memory: LoopMemory) -> None:
        self.save(persist.to_dict(memory))
        self._kept_seq, self._kept_s = (memory.epoch, memory.number, memory.state_seq), memory.now_s
