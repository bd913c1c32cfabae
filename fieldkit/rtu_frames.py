"""Modbus RTU on the wire: what a frame is, how long it takes, and which bytes may answer which request. Pure.

RTU replies carry neither a transaction id nor an address, so a reply that comes after its timeout looks like the reply to
the next read of the same length. The rule that keeps values apart:

    a read is not asked while another reply of the same unit, function and byte count may still come.

A given-up request is *owed* a reply until ``late_reply_s`` after it was sent, or until that reply was seen. The guarantee
assumes that no unit answers later than that, and that a unit answers a request once. A frame that nobody asked for
breaks the second assumption: its kind is mistrusted, that is owed, for the same time.
"""

from dataclasses import dataclass
from typing import Literal

from fieldkit.frames import Frame
from fieldkit.pdu import Request
from fieldkit.reading import Reason

Parity = Literal["N", "E", "O"]
_READS = frozenset({1, 2, 3, 4})
_WRITES = frozenset({5, 6, 15, 16})
_SHORTEST, _MOST = 5, 600
"""Bytes of the shortest frame, and more than the longest with its echo."""
_NO_OPTION = "the request came back: an adapter that echoes what is sent needs local_echo: true"
_FASTEST_BY_CHARACTER = 19200
"""Above it the gaps are fixed times (Modbus over serial line 1.02, 2.5.1.1)."""


@dataclass(frozen=True, slots=True)
class Line:
    """How a serial line is set, e.g. 19200 8E1, and the times that follow from it."""

    baud: int = 19200
    parity: Parity = "E"
    stop_bits: Literal[1, 2] = 1

    @property
    def character_s(self) -> float:
        return (9 + (self.parity != "N") + self.stop_bits) / self.baud

    @property
    def pause_s(self) -> float:
        """t1.5: the longest pause inside a frame."""
        return 0.00075 if self.baud > _FASTEST_BY_CHARACTER else 1.5 * self.character_s

    @property
    def gap_s(self) -> float:
        """t3.5: the shortest silence between two frames."""
        return 0.00175 if self.baud > _FASTEST_BY_CHARACTER else 3.5 * self.character_s

    def frame_s(self, size: int) -> float:
        """How long ``size`` bytes take."""
        return size * self.character_s

    def __str__(self) -> str:
        return f"{self.baud} 8{self.parity}{self.stop_bits}"


def crc(data: bytes) -> bytes:
    """CRC-16/MODBUS as sent: low byte first."""
    value = 0xFFFF
    for byte in data:
        value = (value >> 8) ^ _TABLE[(value ^ byte) & 0xFF]
    return value.to_bytes(2, "little")


def _table_row(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (0xA001 if byte & 1 else 0)
    return byte


_TABLE = tuple(map(_table_row, range(256)))


def framed(unit: int, pdu: bytes) -> bytes:
    body = bytes((unit,)) + pdu
    return body + crc(body)


@dataclass(slots=True)
class Owed:
    """A reply that may still come: ``echo`` is what it would say when it answers a write."""

    unit: int
    function: int
    size: int
    echo: bytes | None
    until_s: float

    def like(self, other: "Owed") -> bool:
        return (self.unit, self.function, self.size, self.echo) == (other.unit, other.function, other.size, other.echo)

    def may_be(self, frame: Frame) -> bool:
        if frame.unit != self.unit or frame.function & 0x7F != self.function:
            return False
        if frame.function & 0x80:
            return True
        return len(frame.data) == self.size and self.echo in {None, frame.data}


class RtuStream:
    """Finds the reply to the request in flight in what a line delivers: cut anywhere, with noise, late or doubled.

    late_reply_s  longest time from a request to its reply, timeouts or not
    local_echo    the adapter returns what is sent
    trouble       why the request in flight has failed already (None = it may still be answered)
    late_units    units whose late replies came, for whoever takes them out
    late, stray, noise, echoes, halves, crc_errors: totals
    """

    def __init__(self, late_reply_s: float, *, local_echo: bool = False) -> None:
        self._late_reply_s, self._local_echo = late_reply_s, local_echo
        self._rest = b""
        self._request: Request | None = None
        self._sent, self._sent_s = b"", 0.0
        self._echo_due = False
        self._refused: tuple[Reason, str] | None = None
        self._owed: list[Owed] = []
        self.trouble: tuple[Reason, str] | None = None
        self.late_units: list[int] = []
        self.late = self.stray = self.noise = self.echoes = self.halves = self.crc_errors = 0

    def held_back_s(self, request: Request, now_s: float) -> float:
        """How long a read has to wait because another's late reply could be taken for its own; 0 when it has not."""
        self._owed = [one for one in self._owed if one.until_s > now_s]
        until_s = [
            one.until_s
            for one in self._owed
            if (one.unit, one.function, one.size) == (request.unit, request.function, request.size)
        ]
        return max(until_s, default=now_s) - now_s if request.is_read else 0.0

    def sent(self, request: Request, frame: bytes, now_s: float) -> None:
        """A request leaves on a silent line: what was left of the silence belongs to nobody."""
        self.noise += len(self._rest)
        self._rest = b""
        self._owed = [one for one in self._owed if one.until_s > now_s]
        self._request, self._sent, self._sent_s = request, frame, now_s
        self._echo_due = self._local_echo
        self._refused = self.trouble = None

    def feed(self, data: bytes, now_s: float) -> Frame | None:
        """Take bytes as they arrive; return the reply to the request in flight when it is complete."""
        self._rest += data
        if (over := len(self._rest) - _MOST) > 0:  # a line that babbles
            self.noise += over
            self._rest = self._rest[over:]
        if self._echo_due and not self._take_echo():
            return None
        if self._request is not None and self.trouble is None and self._echoed(self._request, complete=False):
            self._fail_by_echo(_NO_OPTION)  # looked for first: a reply may stand right behind it
        reply: Frame | None = None
        while (self.trouble is None or self._request is None) and (found := self._next()) is not None:
            if self._answers(found, now_s):
                reply, self._request = found, None
        return reply

    def give_up(self, now_s: float) -> tuple[Reason, str] | None:
        """End the request in flight without its reply, which is owed from now on; return what came instead, if anything."""
        request, self._request = self._request, None
        if request is None:
            return None
        echo = None if request.is_read else request.echo
        self._owe(Owed(request.unit, request.function, request.size, echo, self._sent_s + self._late_reply_s), now_s)
        echo_due, self._echo_due = self._echo_due, False
        if self.trouble is None and echo_due:
            self._fail_by_echo(f"the echo of {len(self._sent)} bytes ended after {len(self._rest)}")
        elif self.trouble is None and self._echoed(request, complete=True):
            self._fail_by_echo(_NO_OPTION)
        if (why := self.trouble or self._refused) or not self._rest:
            return why
        got = f"{len(self._rest)} bytes that are no reply ({self._rest[:16].hex(' ')})"
        if len(self._rest) >= request.size + 4:
            self.crc_errors += 1
            return Reason.SHORT_REPLY, f"CRC error: {got}"
        self.halves += 1
        return Reason.SHORT_REPLY, f"half a frame: {got}"

    def _owe(self, owed: Owed, now_s: float) -> None:
        same = next((one for one in self._owed if one.like(owed)), None)
        if same is not None:
            same.until_s = max(same.until_s, owed.until_s)
        elif owed.until_s > now_s:
            self._owed.append(owed)

    # -- echo -------------------------------------------------------------------------------------------------------

    def _take_echo(self) -> bool:
        """Take the expected echo off; True when what follows may be the reply."""
        if self._rest.startswith(self._sent):
            self._rest, self._echo_due = self._rest[len(self._sent) :], False
            return True
        if not self._sent.startswith(self._rest) and self.trouble is None:
            self._fail_by_echo(f"the echo differs from what was sent: {self._rest[: len(self._sent)].hex(' ')}")
        return False

    def _echoed(self, request: Request, *, complete: bool) -> bool:
        """Whether the request came back, whole or but for one byte; ``complete``: nothing more will come."""
        rest, sent, size = self._rest, self._sent, len(self._sent)
        if self._local_echo or request.says_its_value or len(rest) < size - 1:
            return False
        if sent in rest:
            return True
        same = next((n for n in range(size - 1) if rest[n] != sent[n]), size - 1)
        if same == size - 1:
            return complete or len(rest) >= size
        return rest[same : size - 1] == sent[same + 1 :]

    def _fail_by_echo(self, why: str) -> None:
        self.echoes += 1
        self.trouble = Reason.ECHO, why

    # -- frames -----------------------------------------------------------------------------------------------------

    def _next(self) -> Frame | None:
        """Take the first whole frame with a right CRC off the stream, and the noise before it; None when there is none."""
        rest = self._rest
        for at in range(len(rest) - _SHORTEST + 1):
            end = at + _length(rest, at)
            if at < end <= len(rest) and crc(rest[at : end - 2]) == rest[end - 2 : end]:
                self.noise += at
                self._rest = rest[end:]
                return Frame(rest[at], rest[at + 1], rest[at + 2 : end - 2])
        return None

    def _answers(self, frame: Frame, now_s: float) -> bool:
        """Whether a frame answers the request in flight; if not, it is accounted for."""
        request = self._request
        owed = next((one for one in self._owed if one.may_be(frame)), None)
        if request is not None and self._fits(request, frame, owed):
            if owed is not None:  # two writes of one block: one more acknowledgement is to come
                owed.until_s = now_s + self._late_reply_s
            return True
        if owed is not None:
            self._owed.remove(owed)
            self.late += 1
            self.late_units.append(frame.unit)
            return False
        self.stray += 1
        if not frame.function & 0x80:
            self._owe(Owed(frame.unit, frame.function, len(frame.data), None, now_s + self._late_reply_s), now_s)
        if request is not None:
            self._refused = _what_is_wrong(request, frame)
        return False

    @staticmethod
    def _fits(request: Request, frame: Frame, owed: Owed | None) -> bool:
        if frame.unit != request.unit or frame.function & 0x7F != request.function:
            return False
        if frame.function & 0x80:
            return owed is None  # an exception names no address: it is the late one's first
        if not request.is_read and frame.data != request.echo:
            return owed is None  # an acknowledgement of something else; nobody's but this write's when none is owed
        return len(frame.data) == request.size


def _what_is_wrong(request: Request, frame: Frame) -> tuple[Reason, str]:
    if frame.unit != request.unit or frame.function & 0x7F != request.function:
        return Reason.WRONG_ID, f"answered by unit {frame.unit} with function {frame.function & 0x7F}"
    return Reason.SHORT_REPLY, f"asked for {request.size - 1} bytes, got {len(frame.data) - 1}"


def _length(data: bytes, at: int) -> int:
    """Length of the reply frame that begins at ``at``, judged by its function code; 0 when none begins there."""
    function = data[at + 1]
    if function in _READS:
        return 5 + data[at + 2] if data[at + 2] else 0
    if function in _WRITES:
        return 8
    return 5 if function & 0x7F in _READS | _WRITES else 0
