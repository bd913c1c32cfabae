"""The last minutes of what a scan saw, at scan rate, small enough to keep and exact enough to replay. Pure.

Only readings that changed since the scan before are stored, packed; every few seconds a key scan holds all of them
together with a snapshot of the memory, so that a recording can start there. A recording is taken around a moment: what
was before it is held at once, what comes after is added until it is complete.
"""

import json
import struct
import zlib
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fieldkit.reading import Quality, Reading, Reason
from fieldkit.units import Unit

MAGIC = b"FKRING1\n"
_HEAD = struct.Struct("<dHIi")  # now_s, changed readings, length of extra, length of memory (-1 = no key scan)
_JUDGED: tuple[tuple[Quality, Reason | None], ...] = (
    (Quality.GOOD, None),
    *((Quality.UNCERTAIN, reason) for reason in Reason),
    *((Quality.BAD, reason) for reason in Reason),
)
_CODES = {judged: code for code, judged in enumerate(_JUDGED)}
_NO_VALUE = float("nan")


@dataclass(frozen=True, slots=True)
class Scan:
    """One scan as it was: all readings of that moment, and what came beside them.

    extra   what the caller noted (requests), b"" when nothing
    memory  the memory before this scan, on key scans only
    """

    now_s: float
    readings: dict[str, Reading]
    extra: bytes
    memory: bytes | None


class _Chunk:
    """A few seconds of scans, starting with a key scan."""

    __slots__ = ("data", "start_s")

    def __init__(self, start_s: float) -> None:
        self.start_s = start_s
        self.data = bytearray()


class Recording:
    """The chunks around one moment; complete once ``after_s`` has passed."""

    def __init__(self, chunks: list[_Chunk], until_s: float, ring: "Ring") -> None:
        self._chunks = chunks
        self._until_s = until_s
        self._ring = ring
        self.complete = False

    def note(self, chunk: _Chunk, now_s: float) -> None:
        if chunk is not self._chunks[-1]:
            self._chunks.append(chunk)
        self.complete = now_s >= self._until_s

    def held(self, facts: Mapping[str, object]) -> "Held":
        """What is recorded so far, detached from the ring; only the newest chunk is copied."""
        *closed, last = self._chunks
        return Held(self._ring.header(facts), [*(c.data for c in closed), bytes(last.data)])


@dataclass(frozen=True, slots=True)
class Held:
    """A finished or unfinished recording, ready to be packed by a thread."""

    header: bytes
    chunks: list[bytes | bytearray]

    def pack(self) -> bytes:
        """Return the file's bytes. Compresses: some milliseconds per second recorded, so not on the loop."""
        return MAGIC + struct.pack("<I", len(self.header)) + self.header + zlib.compress(b"".join(self.chunks), 6)


class Ring:
    """Remembers ``keep_s`` seconds of scans.

    key_s   time between key scans
    memory  called at each key scan for the memory as bytes, before the scan changed it
    """

    def __init__(self, memory: Callable[[], bytes], *, keep_s: float = 120.0, key_s: float = 5.0) -> None:
        self._memory = memory
        self._keep_s = keep_s
        self._key_s = key_s
        self._chunks: deque[_Chunk] = deque()
        self._next_key_s = float("-inf")
        self._last: dict[str, Reading] = {}
        self._index: dict[str, int] = {}
        self._units: list[Unit] = []
        self._recordings: list[Recording] = []

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(len(chunk.data) for chunk in self._chunks)

    def note(self, now_s: float, readings: Mapping[str, Reading], extra: bytes = b"") -> None:
        """Take what this scan is about to judge. Call once a scan, before ``step``."""
        key = now_s >= self._next_key_s
        last = self._last
        if key:
            self._next_key_s = now_s + self._key_s
            self._start_chunk(now_s)
            changed = list(readings.items())
        else:
            get = last.get
            changed = [item for item in readings.items() if get(item[0]) is not item[1]]
        index, table, found = self._index, _CODES, [reading for _, reading in changed]
        try:
            indexes = [index[tag] for tag, _ in changed]
        except KeyError:
            indexes = [self._index_of(reading) for reading in found]
        values = [_NO_VALUE if reading.value is None else reading.value for reading in found]
        times = [reading.at_s for reading in found]
        # GOOD is code 0 and has no reason; hashing an enum is slow.
        codes = [0 if reading.reason is None else table[reading.quality, reading.reason] for reading in found]
        last.update(changed)
        memory = self._memory() if key else None
        data = self._chunks[-1].data
        data += _HEAD.pack(now_s, len(changed), len(extra), -1 if memory is None else len(memory))
        data += array("H", indexes).tobytes()
        data += bytes(codes)
        data += array("d", values).tobytes()
        data += array("d", times).tobytes()
        data += extra
        if memory is not None:
            data += memory
        if self._recordings:
            for recording in self._recordings:
                recording.note(self._chunks[-1], now_s)
            self._recordings = [r for r in self._recordings if not r.complete]

    def record(self, now_s: float, *, before_s: float = 120.0, after_s: float = 60.0) -> Recording:
        """Hold what was seen in the ``before_s`` up to now, and add to it for ``after_s``. Needs one scan noted."""
        starts = [n for n, chunk in enumerate(self._chunks) if chunk.start_s <= now_s - before_s]
        recording = Recording(list(self._chunks)[starts[-1] if starts else 0 :], now_s + after_s, self)
        self._recordings.append(recording)
        return recording

    def header(self, facts: Mapping[str, object]) -> bytes:
        judged = [[quality.value, None if reason is None else reason.value] for quality, reason in _JUDGED]
        tags = [[tag, self._units[n].value] for tag, n in self._index.items()]
        return json.dumps({"format": 1, "tags": tags, "judged": judged, "facts": dict(facts)}).encode()

    def _index_of(self, reading: Reading) -> int:
        if reading.tag not in self._index:
            self._index[reading.tag] = len(self._index)
            self._units.append(reading.unit)
        return self._index[reading.tag]

    def _start_chunk(self, now_s: float) -> None:
        chunks = self._chunks
        chunks.append(_Chunk(now_s))
        while len(chunks) > 1 and chunks[1].start_s <= now_s - self._keep_s:
            chunks.popleft()


class RingError(ValueError):
    """Bytes that are no recording, or a damaged one."""


def unpack(data: bytes) -> tuple[dict[str, object], Iterator[Scan]]:
    """Return a recording's facts and its scans in order. Raises RingError, the iterator too."""
    if not data.startswith(MAGIC) or len(data) < len(MAGIC) + 4:
        raise RingError("not a recording of this format")
    start = len(MAGIC) + 4
    (size,) = struct.unpack_from("<I", data, len(MAGIC))
    try:
        header = json.loads(data[start : start + size])
        body = zlib.decompress(data[start + size :])
        tags = [(str(tag), Unit(unit)) for tag, unit in header["tags"]]
        judged = [(Quality(q), None if r is None else Reason(r)) for q, r in header["judged"]]
        facts = dict(header["facts"])
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise RingError(f"a damaged recording: {error}") from None
    return facts, _scans(body, tags, judged)


def _scans(body: bytes, tags: list[tuple[str, Unit]], judged: list[tuple[Quality, Reason | None]]) -> Iterator[Scan]:
    readings: dict[str, Reading] = {}
    at = 0
    try:
        while at < len(body):
            now_s, count, extra_size, memory_size = _HEAD.unpack_from(body, at)
            at += _HEAD.size
            fields = struct.unpack_from(f"<{count}H{count}B{count}d{count}d", body, at)
            at += 19 * count
            for n in range(count):
                tag, unit = tags[fields[n]]
                quality, reason = judged[fields[count + n]]
                value = None if quality is Quality.BAD else fields[2 * count + n]
                readings[tag] = Reading(tag, value, unit, quality, fields[3 * count + n], reason)
            extra = body[at : at + extra_size]
            at += extra_size
            memory = None if memory_size < 0 else body[at : at + memory_size]
            at += max(0, memory_size)
            yield Scan(now_s, dict(readings), extra, memory)
    except (struct.error, IndexError) as error:
        raise RingError(f"a damaged recording: {error}") from None
