"""The memory on disk, by way of the store's own thread: a slow, stalled or full disk costs the scan nothing.

What matters (a transition, a latch, a lock, an answer) is handed over in its scan; timers follow about once a second.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fieldkit.kept import Kept, Left
from fieldkit.kept import find as find_record
from fieldkit.reading import Reading
from fieldkit.request import Answered
from fieldkit.store import Store
from valvey.core import persist
from valvey.core.lifecycle import ANSWERED_MAX
from valvey.core.memory import Memory
from valvey.done import Done

PERIOD_S = 1.0
MEMORY, ANSWERS = "memory", "answers"
"""Names of the document and of the log in the store."""


def find(store: Store) -> Left[Memory]:
    """Read what the last process left; blocks for the disk, never raises.

    An older version in place of a damaged one is not believed: a lock or a latch may be missing in it.
    """
    left = find_record(store, MEMORY, persist.from_dict)
    if left.memory is None:
        return left
    try:
        return replace(left, memory=persist.with_answers(left.memory, store.tail(ANSWERS, ANSWERED_MAX)))
    except ValueError as error:
        return Left(None, readable=False, trouble=str(error))


class Keeper(Kept):
    """Keeps the memory of one rack.

    starts  the file of starts outside the memory; emptied when the memory has made them good
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
        super().__init__(store, MEMORY, readings, event_seq, journal_fault)
        self.saves = 0
        self._starts = starts
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
        self.show(done.now_s)

    def hand_over(self, memory: Memory, now_s: float) -> None:
        """Give ``memory`` to the store's thread; ``is_kept(ticket)`` tells when it is on the disk."""
        known = self._last.answered if self._last is not None else memory.answered
        for answer in new_answers(known, memory.answered):
            self.store.append_nowait(ANSWERS, persist.dump_answered((answer,)))
        self.save(persist.to_dict(memory))
        self._last, self._last_s = memory, now_s
        self.saves += 1


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
