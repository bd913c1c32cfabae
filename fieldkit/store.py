"""Small documents that survive: sqlite (WAL, every commit on the disk), written by one thread, two generations each.

Saving is a hand-over and never waits; of a document only the newest waiting version is written. Trouble with the disk
is told through a callback and retried for ever; it never reaches the loop as an exception.
"""

import asyncio
import hashlib
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
  name TEXT NOT NULL, number INTEGER NOT NULL, digest TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (name, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (
  id INTEGER PRIMARY KEY AUTOINCREMENT, log TEXT NOT NULL, body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS records_of_log ON records (log, id);
"""
_RETRY_S = 1.0
_MOST_WAITING = 10_000


class Found(StrEnum):
    """What loading a document brought."""

    GOOD = "good"
    PREVIOUS = "previous"
    """The newest version is damaged; this is the one before it."""
    ABSENT = "absent"
    """There never was one."""
    UNREADABLE = "unreadable"
    """There was one, and nothing of it can be believed."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """``body`` is None when absent or unreadable; ``detail`` says what was wrong and what was kept aside."""

    found: Found
    body: bytes | None = None
    detail: str = ""


class Store:
    """One database file. ``open`` it before the loop starts its work, ``close`` it at the end.

    on_trouble  called on the loop with a text when the disk begins to fail, and with None when it works again
    most_records  of each log; the oldest go
    """

    def __init__(self, path: Path, on_trouble: Callable[[str | None], None], *, most_records: int = 10_000) -> None:
        self._path = path
        self._on_trouble = on_trouble
        self._most_records = most_records
        self._set_aside = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._more = threading.Condition()
        self._database: sqlite3.Connection | None = None
        self._in_use = threading.Lock()
        self._documents: dict[str, tuple[int, bytes]] = {}
        self._records: deque[tuple[int, str, bytes]] = deque()
        self._ticket = 0
        self._saved = 0
        self._waiting_since_s: float | None = None
        self._stop = False
        self._troubled = False
        self.dropped_records = 0

    def open(self) -> None:
        """Open or make the file; one that sqlite cannot read is kept aside under another name. Never raises OSError."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._check()
        except (sqlite3.Error, OSError) as error:
            self._set_aside = f"{self._path}: {error}"
            self._put_aside()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)
        self._thread.start()

    def load(self, name: str) -> Loaded:
        """Read a document, at start. Blocks for a read of the disk."""
        if self._set_aside:
            return Loaded(Found.UNREADABLE, detail=self._set_aside)
        query = "SELECT number, digest, body FROM documents WHERE name = ? ORDER BY number DESC"
        try:
            with self._reading() as database:
                rows = database.execute(query, (name,)).fetchall()
        except (sqlite3.Error, OSError) as error:
            return Loaded(Found.UNREADABLE, detail=f"{self._path}: {error}")
        for generation, (number, digest, body) in enumerate(rows):
            if isinstance(body, bytes) and digest == _digest(name, number, body):
                detail = f"{name}: the newest version is damaged" if generation else ""
                return Loaded(Found.PREVIOUS if generation else Found.GOOD, body, detail)
        return Loaded(Found.UNREADABLE, detail=f"{name}: every version is damaged") if rows else Loaded(Found.ABSENT)

    def tail(self, log: str, count: int) -> list[bytes]:
        """The last ``count`` records of a log, oldest first. Blocks; [] when they cannot be read."""
        query = "SELECT body FROM records WHERE log = ? ORDER BY id DESC LIMIT ?"
        try:
            with self._reading() as database:
                return [body for (body,) in database.execute(query, (log, count))][::-1]
        except (sqlite3.Error, OSError):
            return []

    def save_nowait(self, name: str, body: bytes) -> int:
        """Hand over the newest version of a document; return its ticket for ``is_saved``. Never blocks."""
        return self._hand_over(lambda ticket: self._documents.__setitem__(name, (ticket, body)))

    def append_nowait(self, log: str, body: bytes) -> int:
        """Hand over one record of a log, kept in order; beyond 10 000 waiting the oldest is dropped and counted."""
        return self._hand_over(lambda ticket: self._records.append((ticket, log, body)))

    def is_saved(self, ticket: int) -> bool:
        """Whether what was handed over under ``ticket`` (or a newer version of it) is on the disk."""
        return self._saved >= ticket

    async def saved(self, ticket: int, timeout_s: float) -> bool:
        """Wait, bounded, until ``ticket`` is on the disk; False when it is not by then."""
        until_s = time.monotonic() + timeout_s
        while not self.is_saved(ticket) and time.monotonic() < until_s:  # ruff: ignore[async-busy-wait] - told by another thread
            await asyncio.sleep(0.005)
        return self.is_saved(ticket)

    def waiting_s(self) -> float:
        """For how long the oldest thing handed over has waited for the disk; 0 when nothing waits."""
        since_s = self._waiting_since_s
        return 0.0 if since_s is None else time.monotonic() - since_s

    def close(self, timeout_s: float = 2.0) -> bool:
        """Write what waits, bounded; return whether all of it is on the disk. A stalled disk is not waited for."""
        with self._more:
            self._stop = True
            self._more.notify()
        if self._thread is not None:
            self._thread.join(timeout_s)
        return self._saved >= self._ticket

    def _hand_over(self, put: Callable[[int], None]) -> int:
        with self._more:  # held by the worker for a few assignments only, never during a write
            self._ticket += 1
            put(self._ticket)
            if len(self._records) > _MOST_WAITING:
                self._records.popleft()
                self.dropped_records += 1
            if self._waiting_since_s is None:
                self._waiting_since_s = time.monotonic()
            self._more.notify()
            return self._ticket

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection, None, None]:
        """The one connection there may be: the worker's, or one for now."""
        with self._in_use:
            if self._database is not None:
                yield self._database
            else:
                with _connected(self._path) as database:
                    yield database

    def _work(self) -> None:
        while True:
            with self._more:
                while not (self._documents or self._records or self._stop):
                    self._more.wait()
                if not (self._documents or self._records):
                    break
                documents, records, ticket = self._documents, self._records, self._ticket
                self._documents, self._records = {}, deque()
            try:
                with self._in_use:
                    if self._database is None:
                        self._database = _connect(self._path)
                    self._write(self._database, documents, records)
            except (sqlite3.Error, OSError) as error:
                self._tell(f"{self._path}: {error}")
                self._disconnect()
                again_s = time.monotonic() + _RETRY_S
                with self._more:
                    self._documents = documents | self._documents
                    self._records.extendleft(reversed(records))
                    while not self._stop and (left_s := again_s - time.monotonic()) > 0.0:
                        self._more.wait(left_s)
                    if self._stop:
                        break
            else:
                self._tell(None)
                with self._more:
                    self._saved = ticket
                    self._waiting_since_s = time.monotonic() if self._documents or self._records else None
        self._disconnect()

    def _disconnect(self) -> None:
        with self._in_use:
            database, self._database = self._database, None
            _close(database)

    def _write(
        self,
        database: sqlite3.Connection,
        documents: dict[str, tuple[int, bytes]],
        records: deque[tuple[int, str, bytes]],
    ) -> None:
        with database:
            for name, (_, body) in documents.items():
                (last,) = database.execute(
                    "SELECT coalesce(max(number), 0) FROM documents WHERE name = ?", (name,)
                ).fetchone()
                row = (name, last + 1, _digest(name, last + 1, body), body)
                database.execute("INSERT INTO documents VALUES (?, ?, ?, ?)", row)
                database.execute("DELETE FROM documents WHERE name = ? AND number < ?", (name, last))
            for _, log, body in records:
                database.execute("INSERT INTO records (log, body) VALUES (?, ?)", (log, body))
            for log in {log for _, log, _ in records}:
                database.execute(
                    "DELETE FROM records WHERE log = ?1 AND id <= "
                    "(SELECT id FROM records WHERE log = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
                    (log, self._most_records),
                )

    def _tell(self, trouble: str | None) -> None:
        if (trouble is not None) == self._troubled:
            return
        self._troubled = trouble is not None
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended before us
                self._loop.call_soon_threadsafe(self._on_trouble, trouble)

    def _check(self) -> None:
        with _connected(self._path) as database:
            database.executescript(_SCHEMA)
            (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict)

    def _put_aside(self) -> None:
        for number in range(1, 1000):
            aside = self._path.with_name(f"{self._path.name}.unreadable-{number}")
            if not aside.exists():
                break
        try:
            for suffix in ("-wal", "-shm", ""):
                part = self._path.with_name(self._path.name + suffix)
                if part.exists():
                    part.rename(aside.with_name(aside.name + suffix))
            self._set_aside += f"; kept aside as {aside.name}"
            self._check()
        except (sqlite3.Error, OSError) as error:
            self._set_aside += f"; a new one cannot be made: {error}"


def _digest(name: str, number: int, body: bytes) -> str:
    return hashlib.sha256(f"{name}\n{number}\n".encode() + body).hexdigest()


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=1.0, check_same_thread=False)  # one at a time, under a lock
    try:
        # Before WAL is entered: then the index of the log lives in our own memory. Otherwise it is a mapped file, and a
        # full disk that has no block for one of its pages ends the whole process with SIGBUS.
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.executescript(_SCHEMA)
    except sqlite3.Error:
        database.close()
        raise
    return database


class _connected:  # ruff: ignore[invalid-class-name]
    """A connection that is closed at the end, which sqlite3's own ``with`` does not do."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> sqlite3.Connection:
        self._database = _connect(self._path)
        return self._database

    def __exit__(self, *_: object) -> None:
        self._database.close()


def _close(database: sqlite3.Connection | None) -> None:
    if database is not None:
        with suppress(sqlite3.Error):
            database.close()
