"""The journal: who asked what, what was decided; append-only, chained, bounded, written by one thread.

Segments ``journal-000001.jsonl`` … in one folder. After a crash a new segment begins, so nothing written is ever
touched again; the oldest segments go when the folder is full, and the chain goes on.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from fieldkit.chain import ChainError, Verdict, encode, forge

_PATTERN = "journal-*.jsonl"


def segments(folder: Path) -> list[Path]:
    """The segments in a folder, oldest first."""
    return sorted(path for path in folder.glob(_PATTERN) if path.stem.rpartition("-")[2].isdecimal())


def verify(folder: Path) -> Verdict:
    """Check every line of every segment. Raises OSError when they cannot be read."""
    verdict = Verdict()
    for path in segments(folder):
        with path.open("rb") as lines:
            verdict.add(path.name, lines)
    return verdict


class Journal:
    """Appends records without ever making the caller wait.

    on_trouble      called on the loop with a text when the disk begins to fail, and with None when it works again
    segment_bytes   a segment that is longer is closed
    most_bytes      of all segments together; the oldest go
    most_waiting    records that may wait for the disk; beyond it new ones are dropped and their number is recorded
    """

    def __init__(
        self,
        folder: Path,
        on_trouble: Callable[[str | None], None],
        *,
        segment_bytes: int = 4 * 1024 * 1024,
        most_bytes: int = 256 * 1024 * 1024,
        most_waiting: int = 10_000,
    ) -> None:
        self._folder = folder
        self._on_trouble = on_trouble
        self._segment_bytes, self._most_bytes, self._most_waiting = segment_bytes, most_bytes, most_waiting
        self._more = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._stop = False
        self._troubled = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._file: int | None = None
        self._size = 0
        self._number, self._digest = 0, ""
        self._unrecorded = 0
        self.dropped = 0

    def open(self) -> Verdict:
        """Check what is there, go on from its last good line, and start writing. Blocks for reading; never raises.

        What the verdict found wrong is recorded as the new segment's first line.
        """
        verdict = self._go_on()
        self._start(self._work)
        return verdict

    def open_nowait(self) -> None:
        """The same for who must not wait for a long journal: its own thread checks it, and what is noted waits."""
        self._start(self._check_and_work)

    def note_nowait(self, kind: str, fields: Mapping[str, object]) -> None:
        """Record something that happened. Never blocks and never raises for the disk's sake.

        Raises ChainError at once when ``fields`` are not JSON or use the names n, p, h, at or kind: that is a bug.
        """
        if clash := {"at", "kind"}.intersection(fields):
            raise ChainError(f"{', '.join(sorted(clash))} are the journal's own names")
        record = encode({"at": _utc_now(), "kind": kind, **fields})
        with self._more:
            if len(self._waiting) >= self._most_waiting:
                self.dropped += 1
                self._unrecorded += 1
                return
            self._waiting.append(record)
            self._more.notify()

    def close(self, timeout_s: float = 2.0) -> bool:
        """Write what waits, bounded; return whether everything is on the disk."""
        with self._more:
            self._stop = True
            self._more.notify()
        if self._thread is not None:
            self._thread.join(timeout_s)
        return not self._waiting and (self._thread is None or not self._thread.is_alive())

    def _go_on(self) -> Verdict:
        """Check what is there, go on from its last good line, and make the verdict the first thing to be written."""
        verdict = Verdict()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            verdict = verify(self._folder)
        except OSError as error:
            verdict.faults.append(str(error))
        self._number, self._digest = verdict.last or 0, verdict.digest
        found = {"found": verdict.records, "faults": verdict.faults[:20], "cut": verdict.cut}
        with self._more:
            self._waiting.appendleft(encode({"at": _utc_now(), "kind": "journal_opened", **found}))
        return verdict

    def _start(self, work: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=work, name="journal", daemon=True)
        self._thread.start()

    def _check_and_work(self) -> None:
        self._go_on()
        self._work()

    def _work(self) -> None:
        while True:
            with self._more:
                while not (self._waiting or self._stop):
                    self._more.wait()
                if not self._waiting:
                    break
                batch = list(self._waiting)
                dropped = self._unrecorded
            if dropped:
                batch.append(encode({"at": _utc_now(), "kind": "records_dropped", "count": dropped}))
            try:
                self._write(batch)
            except OSError as error:
                self._tell(f"{self._folder}: {error}")
                self._abandon()
                with self._more:
                    if self._stop:
                        break
                    self._more.wait_for(lambda: self._stop, 1.0)
            else:
                self._tell(None)
                with self._more:
                    for _ in range(len(batch) - bool(dropped)):
                        self._waiting.popleft()
                    self._unrecorded -= dropped
        self._abandon()

    def _write(self, batch: list[bytes]) -> None:
        """Put a batch on the disk as one, or raise OSError and leave number, digest and segment as they were."""
        if self._file is None:
            self._file, self._size = self._next_segment(), 0
        number, digest, lines = self._number, self._digest, bytearray()
        for record in batch:
            number += 1
            line, digest = forge(number, digest, record)
            lines += line
        try:
            with memoryview(lines) as left:
                written = 0
                while written < len(left):
                    written += os.write(self._file, left[written:])
            os.fsync(self._file)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._number, self._digest = number, digest
        self._size += len(lines)
        if self._size >= self._segment_bytes:
            self._abandon()
            self._make_room()

    def _next_segment(self) -> int:
        self._folder.mkdir(parents=True, exist_ok=True)
        taken = segments(self._folder)
        number = int(taken[-1].stem.rpartition("-")[2]) + 1 if taken else 1
        path = self._folder / f"journal-{number:06}.jsonl"
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o640)
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)  # the name of the file is on the disk too
        finally:
            os.close(folder)
        return file

    def _make_room(self) -> None:
        with suppress(OSError):  # tried again at the end of the next segment
            paths = segments(self._folder)
            sizes = [path.stat().st_size for path in paths]
            while len(paths) > 1 and sum(sizes) > self._most_bytes:
                paths.pop(0).unlink()
                sizes.pop(0)

    def _abandon(self) -> None:
        """Close the segment; the next record begins another."""
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None

    def _tell(self, trouble: str | None) -> None:
        if (trouble is not None) == self._troubled:
            return
        self._troubled = trouble is not None
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended before us
                self._loop.call_soon_threadsafe(self._on_trouble, trouble)


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
