"""The memory on disk, by way of the store's own thread: a slow, stalled or full disk costs the scan nothing.

What matters (a transition, a latch, a lock, an answer) is handed over in its scan; timers follow about once a second.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fieldkit.reading import Quality, Reading
from fieldkit.store import Found, Store
from fieldkit.units import Unit
from valvey.core import persist
from valvey.core.lifecycle import ANSWERED_MAX
from valvey.core.memory import Answered, Memory
from valvey.done import Done

PERIOD_S = 1.0
STALLED_S = 2.0
"""What waits longer for the disk is a storage fault, told by SYS-STORE and its alarm."""
SYS_STORE = "SYS-STORE"
RECORD_FORMAT = 1
MEMORY, ANSWERS = "memory", "answers"
"""Names of the document and of the log in the store."""


@dataclass(frozen=True, slots=True)
class Left:
    """What the last process left. ``readable`` is False when there was something that cannot be believed."""

    memory: Memory | None
    readable: bool
    event_seq: int = 0
    trouble: str = ""


def pack(memory: Memory, event_seq: int) -> bytes:
    """Return the record that is kept: the memory without its answers, and the number of the next event."""
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
    """Read what the last process left; blocks for the disk, never raises.

    An older version in place of a damaged one is not believed: a lock or a latch may be missing in it.
    """
    loaded = store.load(MEMORY)
    if loaded.found is Found.ABSENT:
        return Left(None, readable=True)
    if loaded.found is not Found.GOOD or loaded.body is None:
        return Left(None, readable=False, trouble=loaded.detail)
    try:
        memory, seq = unpack(loaded.body)
        return Left(persist.with_answers(memory, store.tail(ANSWERS, ANSWERED_MAX)), readable=True, event_seq=seq)
    except ValueError as error:
        return Left(None, readable=False, trouble=str(error))


class Keeper:
    """Keeps the memory of one rack.

    readings       gets SYS-STORE in every scan: 1 while memory or journal cannot be written
    event_seq      number of the next event, kept beside the memory
    starts         the file of starts outside the memory; emptied when the memory has made them good
    journal_fault  whether the journal cannot be written
    """

    def __init__(
        self,
        store: Store,
        readings: dict[str, Reading],
        *,
        event_seq: Callable[[], int],
        starts: "StartsFile",
        journal_fault: Callable[[], bool] = lambda: False,
    ) -> None:
        self.trouble: str | None = None
        """What the store said last of the disk; None while it works."""
        self.ticket = 0
        """Of the newest memory that was handed over."""
        self.saves = 0
        self._store, self._readings, self._starts = store, readings, starts
        self._event_seq, self._journal_fault = event_seq, journal_fault
        self._last: Memory | None = None
        self._last_s = float("-inf")

    def __call__(self, done: Done) -> None:
        """Take the memory of a scan: at once when something happened that must survive, else once a second."""
        memory = done.scan.memory
        happened = self._last is None or bool(done.scan.facts) or matters(memory) != matters(self._last)
        if happened or done.now_s - self._last_s >= PERIOD_S:
            self.hand_over(memory, done.now_s)
        if done.before.starts_s and not memory.starts_s:
            self._starts.clear()
        bad = self.trouble is not None or self._store.waiting_s() > STALLED_S or self._journal_fault()
        self._readings[SYS_STORE] = Reading(SYS_STORE, float(bad), Unit.NONE, Quality.GOOD, done.now_s)

    def hand_over(self, memory: Memory, now_s: float) -> None:
        """Give ``memory`` to the store's thread; ``is_kept(ticket)`` tells when it is on the disk."""
        known = self._last.answered if self._last is not None else memory.answered
        for answer in new_answers(known, memory.answered):
            self._store.append_nowait(ANSWERS, persist.dump_answered((answer,)))
        self.ticket = self._store.save_nowait(MEMORY, pack(memory, self._event_seq()))
        self._last, self._last_s = memory, now_s
        self.saves += 1

    def is_kept(self, ticket: int) -> bool:
        return self._store.is_saved(ticket)


def new_answers(known: tuple[Answered, ...], now: tuple[Answered, ...]) -> tuple[Answered, ...]:
    """Return the answers of ``now`` that came after those of ``known``; both end with the newest."""
    if now is known:
        return ()
    if not known:
        return now
    at = next((n for n in range(len(now) - 1, -1, -1) if now[n] is known[-1]), -1)
    return now[at + 1 :]


def matters(memory: Memory) -> tuple[object, ...]:
    """What of the memory must be on disk at once when it changes. Timers and sightings are not in it."""
    return (
        memory.state,
        memory.step,
        memory.state_seq,
        memory.latches,
        memory.locks,
        memory.bypasses,
        memory.armed,
        memory.inventory,
        memory.tested,
        memory.emergency,
        memory.isolate_wanted,
        memory.forced,
        memory.was,
        memory.starts_s,
        memory.pending,
        memory.power_cap,
        memory.evidence_s,
        memory.grant,
        memory.leasing.number,
        memory.waiting,
        memory.uncoordinated,
        len(memory.answered),
    )


class StartsFile:
    """Times of this rack's recent starts, in the runtime directory: they outlive the process and end with the boot."""

    def __init__(self, path: Path, boot_id: str) -> None:
        self._path, self._boot_id = path, boot_id

    def read(self) -> tuple[float, ...]:
        """The starts of this boot; empty when nothing can be read, which is no reason not to start."""
        try:
            data = json.loads(self._path.read_bytes())
            times = tuple(float(one) for one in data["starts_s"]) if data["boot_id"] == self._boot_id else ()
        except (OSError, ValueError, TypeError, KeyError):
            return ()
        return times

    def write(self, starts_s: tuple[float, ...]) -> str:
        """Write them; return what was in the way, "" when nothing."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._path.with_suffix(".new")
            fresh.write_text(json.dumps({"boot_id": self._boot_id, "starts_s": starts_s}), encoding="utf-8")
            fresh.replace(self._path)
        except OSError as error:
            return str(error)
        return ""

    def clear(self) -> None:
        self.write(())
