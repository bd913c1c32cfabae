"""The coordinator's memory on disk, by way of the store's own thread."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from fieldkit.reading import Quality, Reading
from fieldkit.store import Found, Store
from fieldkit.units import Unit
from valvey.core.loop import persist
from valvey.core.loop.alarms import STORE_TAG
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.step import LoopScan

PERIOD_S = 10.0
STALLED_S = 2.0
NAME = "loop"
RECORD_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Left:
    """What the last process left; an unreadable memory is an empty one, and told: the racks still know their leases."""

    memory: LoopMemory
    event_seq: int = 0
    trouble: str = ""


def pack(memory: LoopMemory, event_seq: int) -> bytes:
    record = {"record": RECORD_FORMAT, "event_seq": event_seq, "memory": persist.to_dict(memory)}
    return json.dumps(record, separators=(",", ":")).encode()


def unpack(data: bytes) -> tuple[LoopMemory, int]:
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
    """Read what the last process left; blocks for the disk, never raises. An older version is better than none here."""
    loaded = store.load(NAME)
    if loaded.found is Found.ABSENT:
        return Left(LoopMemory())
    if loaded.body is None:
        return Left(LoopMemory(), trouble=loaded.detail)
    try:
        memory, seq = unpack(loaded.body)
    except ValueError as error:
        return Left(LoopMemory(), trouble=str(error))
    return Left(memory, seq, loaded.detail)


class LoopKeeper:
    """Keeps the memory of one loop: at once when its state sequence or what is learned of leases moved, else now and then.

    readings   gets SYS-STORE: 1 while the memory cannot be written
    """

    def __init__(self, store: Store, readings: dict[str, Reading], event_seq: Callable[[], int]) -> None:
        self.trouble: str | None = None
        self.ticket = 0
        self._store, self._readings, self._event_seq = store, readings, event_seq
        self._kept_seq: tuple[int, ...] = ()
        self._kept_s = float("-inf")

    def take(self, scan: LoopScan) -> int:
        """Take the memory of one step; return the ticket under which what it says of leases is kept."""
        memory = scan.memory
        key = (memory.epoch, memory.number, memory.state_seq)
        if key != self._kept_seq or memory.now_s - self._kept_s >= PERIOD_S:
            self.hand_over(memory)
        bad = self.trouble is not None or self._store.waiting_s() > STALLED_S
        self._readings[STORE_TAG] = Reading(STORE_TAG, float(bad), Unit.NONE, Quality.GOOD, memory.now_s)
        return self.ticket

    def hand_over(self, memory: LoopMemory) -> None:
        self.ticket = self._store.save_nowait(NAME, pack(memory, self._event_seq()))
        self._kept_seq, self._kept_s = (memory.epoch, memory.number, memory.state_seq), memory.now_s

    def is_kept(self, ticket: int) -> bool:
        return self._store.is_saved(ticket)
