"""What happened around an occasion, written to the journal a part at a time: first what was kept from before it, then what followed.

Pure. A part is some tens of scans or steps, packed only when it is written; most never are.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar


class Part(Protocol):
    """Some scans in a row; ``full`` when no more belong into it."""

    @property
    def full(self) -> bool: ...


P = TypeVar("P", bound=Part)


class Episodes(Generic[P]):
    """Keeps the newest parts; an occasion begins a recording, a later one prolongs it.

    note           writes one line: kind, fields
    head, pack     fields of a recording's first line by its first part, and of a part's own line
    before         how many parts are kept
    after_s        how long a recording goes on after its last occasion
    longest_s      one that is prolonged again and again ends here; the next occasion begins another
    """

    def __init__(
        self,
        note: Callable[[str, dict[str, Any]], None],
        head: Callable[[P], dict[str, Any]],
        pack: Callable[[P], dict[str, Any]],
        *,
        before: int,
        after_s: float,
        longest_s: float,
    ) -> None:
        self._note, self._head, self._pack = note, head, pack
        self._after_s, self._longest_s = after_s, longest_s
        self._ring: deque[P] = deque(maxlen=before)
        self._unwritten: deque[P] = deque()
        self._name = ""
        self._begun_s = self._until_s = 0.0
        self._number = self._count = 0

    @property
    def recording(self) -> bool:
        return bool(self._name)

    def part(self, make: Callable[[], P]) -> P:
        """The part that the present scan belongs into; a new one is made where the last is full."""
        if not self._ring or self._ring[-1].full:
            self._ring.append(make())
        return self._ring[-1]

    def kept(self, now_s: float, occasion: bool) -> None:
        """Take note that the newest part got its scan. Writes one part at most."""
        if occasion:
            self._occasion(now_s)
        if self._name and self._ring[-1].full:
            self._unwritten.append(self._ring[-1])
        if self._unwritten:
            self._write(self._unwritten.popleft())
        elif self._name and now_s >= self._until_s:
            self._end("complete")

    def close(self) -> None:
        """Write what belongs to a recording that has not come to its end."""
        if not self._name:
            return
        if self._ring and not self._ring[-1].full:
            self._unwritten.append(self._ring[-1])
        while self._unwritten:
            self._write(self._unwritten.popleft())
        self._end("stopped")

    def _occasion(self, now_s: float) -> None:
        if not self._name:
            self._number += 1
            self._name, self._begun_s, self._count = f"{now_s:.3f}-{self._number}", now_s, 0
            self._unwritten.extend(part for part in self._ring if part.full and part is not self._ring[-1])
            first = self._unwritten[0] if self._unwritten else self._ring[-1]
            self._note("recording_begun", {"recording": self._name, **self._head(first)})
        self._until_s = min(now_s + self._after_s, self._begun_s + self._longest_s)

    def _write(self, part: P) -> None:
        self._note("recording", {"recording": self._name, "part": self._count, **self._pack(part)})
        self._count += 1

    def _end(self, why: str) -> None:
        self._note("recording_ended", {"recording": self._name, "parts": self._count, "why": why})
        self._name = ""
