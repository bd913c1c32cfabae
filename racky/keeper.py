"""Racky's memory on disk, by way of the store's own thread: a slow, stalled or full disk costs no step anything."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from fieldkit.reading import Quality, Reading
from fieldkit.store import Found, Store
from fieldkit.units import Unit
from racky.core import persist
from racky.core.memory import Memory
from racky.core.step import Scan

PERIOD_S = 5.0
STALLED_S = 2.0
STORE_TAG = "SYS-STORE"
NAME = "racky"
RECORD_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Left:
    """What the last process left. ``readable`` False: there was something that cannot be believed."""

    memory: Memory
    readable: bool = True
    event_seq: int = 0
    trouble: str = ""


def pack(memory: Memory, event_seq: int) -> bytes:
    record = {"record": RECORD_FORMAT, "event_seq": event_seq, "memory": persist.to_dict(memory)}
    return json.dumps(record, separators=(",", ":")).encode()


def unpack(data: bytes) -> tuple[Memory, int]:
    """Return what ``pack`` was given. Raises ValueError."""
    try:
        record = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the record is no JSON document: {error}") from None
    if not isinstance(record, dict) or record.get("record") != RECORD_FORMAT:
        raise ValueError(f"the record is not of format {RECORD_FORMAT}, the only one that this version reads")
    seq = record.get("event_seq")
    if not isinstance(seq, int) or seq < 0:
        raise ValueError(f"the record's event number is {seq!r}")
    return persist.from_dict(record.get("memory")), seq


def find(store: Store) -> Left:
    """Read what the last process left; blocks for the disk, never raises. An older version is not believed: a trip may be missing in it."""
    loaded = store.load(NAME)
    if loaded.found is Found.ABSENT:
        return Left(Memory())
    if loaded.found is not Found.GOOD or loaded.body is None:
        return Left(Memory(), readable=False, trouble=loaded.detail)
    try:
        memory, seq = unpack(loaded.body)
    except ValueError as error:
        return Left(Memory(), readable=False, trouble=str(error))
    return Left(memory, event_seq=seq)


class Keeper:
    """Keeps one Racky's memory: at once when something happened, else now and then.

    readings   gets SYS-STORE before each step: 1 while memory or journal cannot be written
    """

    def __init__(
        self,
        store: Store,
        readings: dict[str, Reading],
        event_seq: Callable[[], int],
        journal_fault: Callable[[], bool] = lambda: False,
    ) -> None:
        self.trouble: str | None = None
        self.ticket = 0
        self._store, self._readings = store, readings
        self._event_seq, self._journal_fault = event_seq, journal_fault
        self._kept_s = float("-inf")

    def look(self, now_s: float) -> None:
        """Show whether the disk works."""
        bad = self.trouble is not None or self._store.waiting_s() > STALLED_S or self._journal_fault()
        self._readings[STORE_TAG] = Reading(STORE_TAG, float(bad), Unit.NONE, Quality.GOOD, now_s)

    def take(self, scan: Scan) -> int:
        """Take the memory of one step; return the ticket under which its facts are kept."""
        memory = scan.memory
        if scan.facts or scan.writes or scan.asks or memory.now_s - self._kept_s >= PERIOD_S:
            self.hand_over(memory)
        return self.ticket

    def hand_over(self, memory: Memory) -> None:
        self.ticket = self._store.save_nowait(NAME, pack(memory, self._event_seq()))
        self._kept_s = memory.now_s
