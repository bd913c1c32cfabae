"""What a daemon keeps of itself on disk: its memory and the number of its next event, in one record; and whether the disk works.

All of it goes by way of the store's own thread: a slow, stalled or full disk costs no scan anything.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fieldkit.reading import Quality, Reading
from fieldkit.store import Found, Store
from fieldkit.tag import SYS_STORE
from fieldkit.units import Unit

M = TypeVar("M")

STALLED_S = 2.0
"""What waits longer for the disk is a storage fault, told by SYS-STORE and its alarm."""
RECORD_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Left(Generic[M]):
    """What the last process left. ``memory`` None: nothing, or, where not ``readable``, something that cannot be believed."""

    memory: M | None
    readable: bool = True
    event_seq: int = 0
    trouble: str = ""


def pack(memory: Mapping[str, Any], event_seq: int) -> bytes:
    """Return the record of a memory, as plain data, and the number of the next event."""
    return json.dumps(
        {"record": RECORD_FORMAT, "event_seq": event_seq, "memory": memory}, separators=(",", ":")
    ).encode()


def unpack(data: bytes, memory_of: Callable[[Any], M]) -> tuple[M, int]:
    """Return what ``pack`` was given, the memory by ``memory_of``. Raises ValueError."""
    try:
        record = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the record is no JSON document: {error}") from None
    if not isinstance(record, dict) or record.get("record") != RECORD_FORMAT:
        raise ValueError(f"the record is not of format {RECORD_FORMAT}, the only one that this version reads")
    seq = record.get("event_seq")
    if not isinstance(seq, int) or seq < 0:
        raise ValueError(f"the record's event number is {seq!r}")
    return memory_of(record.get("memory")), seq


def find(store: Store, name: str, memory_of: Callable[[Any], M], *, older: bool = False) -> Left[M]:
    """Read what the last process left under ``name``; blocks for the disk, never raises.

    older  an older version in place of a damaged one is believed. Not where a lock or a latch may be missing in it
    """
    loaded = store.load(name)
    if loaded.found is Found.ABSENT:
        return Left(None)
    if loaded.body is None or (loaded.found is not Found.GOOD and not older):
        return Left(None, readable=False, trouble=loaded.detail)
    try:
        memory, seq = unpack(loaded.body, memory_of)
    except ValueError as error:
        return Left(None, readable=False, trouble=str(error))
    return Left(memory, event_seq=seq, trouble=loaded.detail)


class Kept:
    """One daemon's record under ``name``.

    readings       gets SYS-STORE: 1 while memory or journal cannot be written
    event_seq      number of the next event, kept beside the memory
    journal_fault  whether the journal cannot be written
    """

    def __init__(
        self,
        store: Store,
        name: str,
        readings: dict[str, Reading],
        event_seq: Callable[[], int],
        journal_fault: Callable[[], bool],
    ) -> None:
        self.trouble: str | None = None
        """What the store said last of the disk; None while it works."""
        self.ticket = 0
        """Of the newest memory that was handed over."""
        self.store = store
        self._name, self._readings = name, readings
        self._event_seq, self._journal_fault = event_seq, journal_fault

    def show(self, now_s: float) -> None:
        """Put among the readings whether the disk works."""
        bad = self.trouble is not None or self.store.waiting_s() > STALLED_S or self._journal_fault()
        self._readings[SYS_STORE] = Reading(SYS_STORE, float(bad), Unit.NONE, Quality.GOOD, now_s)

    def save(self, memory: Mapping[str, Any]) -> None:
        """Give the memory to the store's thread; ``is_kept(ticket)`` tells when it is on the disk."""
        self.ticket = self.store.save_nowait(self._name, pack(memory, self._event_seq()))

    def is_kept(self, ticket: int) -> bool:
        return self.store.is_saved(ticket)
