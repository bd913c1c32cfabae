"""Lines that cannot be changed, removed or reordered unnoticed: each carries a digest of itself and the one before.

A line is one JSON object: ``{"n": number, "p": digest of the line before, ...fields, "h": digest of all before "h"}``.
Pure.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

START = "0" * 64
"""What the first line ever names as the digest before it."""
_TAIL = b',"h":"'
_TAIL_SIZE = len(_TAIL) + 64 + 2
_OWN = frozenset({"n", "p", "h"})


class ChainError(ValueError):
    """Fields that cannot be written as a line."""


def encode(fields: Mapping[str, object]) -> bytes:
    """Return a record's fields as they will stand in its line, detached from what the caller does with them later.

    Raises ChainError when one cannot be JSON or takes a name that the chain uses itself (n, p, h).
    """
    if taken := _OWN.intersection(fields):
        raise ChainError(f"{', '.join(sorted(taken))} are the chain's own names")
    try:
        return json.dumps(dict(fields), separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ChainError(f"a record that is no JSON: {error}") from None


def forge(number: int, before: str, encoded: bytes) -> tuple[bytes, str]:
    """Return the line for ``encode``'s result, with its newline, and its digest."""
    head = f'{{"n":{number},"p":"{before}"'.encode()
    if encoded != b"{}":
        head += b"," + encoded[1:-1]
    digest = hashlib.sha256(head).hexdigest()
    return head + _TAIL + digest.encode() + b'"}\n', digest


def read(line: bytes) -> tuple[int, str, str, dict[str, object]] | None:
    """Return number, digest before, digest and fields of a line; None when it is not whole and untouched."""
    line = line.removesuffix(b"\n")
    head, tail = line[:-_TAIL_SIZE], line[-_TAIL_SIZE:]
    digest = hashlib.sha256(head).hexdigest()
    if tail != _TAIL + digest.encode() + b'"}':
        return None
    try:
        found = json.loads(head + b"}")
        return found.pop("n"), found.pop("p"), digest, found
    except (ValueError, KeyError, AttributeError):
        return None


@dataclass(slots=True)
class Verdict:
    """What a check of a chain found.

    records, first, last  how many lines hold together, and the numbers of the first and the last
    digest     of the last good line
    faults     what is wrong, each with its place; a chain without faults is whole
    cut        places where a line was cut off, as a crash does; no fault
    """

    records: int = 0
    first: int | None = None
    last: int | None = None
    digest: str = START
    faults: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        return not self.faults

    def add(self, name: str, lines: Iterable[bytes]) -> None:
        """Check the lines of the next segment, oldest segment first."""
        before = b""
        for place, line in enumerate(lines, 1):
            if before:
                self.faults.append(f"{name}:{place - 1}: damaged")
            before = b""
            found = read(line)
            if found is None:
                before = line
                continue
            self._join(f"{name}:{place}", *found[:3])
        if before:
            # Only the last line of a segment may be cut off; one that has its newline was whole once.
            (self.faults if before.endswith(b"\n") else self.cut).append(f"{name}: last line of {len(before)} bytes")

    def _join(self, place: str, number: int, before: str, digest: str) -> None:
        if self.last is not None and number != self.last + 1:
            self.faults.append(f"{place}: number {number} after {self.last}")
        elif self.last is not None and before != self.digest:
            self.faults.append(f"{place}: does not follow the line before it")
        if self.first is None:
            self.first = number
        self.records += 1
        self.last, self.digest = number, digest
