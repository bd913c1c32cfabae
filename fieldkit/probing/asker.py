"""One request at a time to whatever is there, over TCP or a serial line, with the time that each reply took.

Not a ``Link``: it keeps asking a silent unit, takes functions that the daemons never send, and tells what it heard.
"""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from fieldkit.bus import EXCEPTION_NAMES, GATEWAY_SAYS_NOBODY
from fieldkit.frames import ReplyStream
from fieldkit.pdu import Request, read_request
from fieldkit.probing.delays import Delays
from fieldkit.probing.replies import rtu_reply
from fieldkit.rtu_frames import Line, framed
from fieldkit.wires import Opener, Wire


class UnreachableError(Exception):
    """No connection or no port: nothing can be asked; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that brought nothing. ``code``: the exception that the device answered with, None when it was silent."""

    code: int | None
    text: str

    @property
    def silent(self) -> bool:
        """Nobody answered: no reply, or a gateway's word that the unit is not there."""
        return self.code is None or self.code in GATEWAY_SAYS_NOBODY


SILENT = Refused(None, "no answer")


class Asker:
    """The way to one bus.

    where      its address, for people
    line       the serial line's form, also behind a gateway that passes RTU on; None = Modbus TCP
    timeout_s  for a reply; a read is asked twice before its unit counts as silent
    requests   how many were sent; closed: how often the other side hung up
    """

    def __init__(self, where: str, opener: Opener, line: Line | None, timeout_s: float, gap_s: float = 0.0) -> None:
        self.where, self.delays = where, Delays()
        self.requests = self.closed = 0
        self.echoes = False
        """The adapter returns what is sent."""
        self.other_units: dict[int, int] = {}
        """Unit asked -> unit that its replies name instead."""
        self._opener, self._line, self._timeout_s = opener, line, timeout_s
        self.gap_s = max(gap_s, line.gap_s if line is not None else 0.0)
        self._wire: Wire | None = None
        self._stream = ReplyStream()
        self._buffer = b""
        self._reply: tuple[int, bytes] | None = None
        self._tid = 0
        self._tids = itertools.cycle(range(1, 0x10000))
        self._heard = asyncio.Event()
        self._why_closed = ""

    async def open(self) -> None:
        """Raises UnreachableError."""
        if self._wire is not None:
            return
        self._stream.restart()
        self._why_closed, self._buffer = "", b""
        try:
            async with asyncio.timeout(max(1.0, self._timeout_s)):
                self._wire = await self._opener(self._received, self._lost)
        except TimeoutError:
            raise UnreachableError(f"{self.where}: no answer to the connection attempt") from None
        except OSError as error:
            raise UnreachableError(f"{self.where}: {error.strerror or error}") from None

    def close(self) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()

    async def read(self, unit: int, table: str, address: int, count: int) -> bytes | Refused:
        """Return ``count`` registers as big-endian bytes, or packed bits; a read without an answer is asked once more."""
        request = read_request(unit, table, address, count)
        found: bytes | Refused = SILENT
        for _ in range(2):
            found = await self.ask(unit, request.pdu)
            if isinstance(found, bytes):
                if len(found) != request.size + 1 or found[1] != request.size - 1:
                    return Refused(None, f"asked for {request.size - 1} bytes, got {len(found) - 2}")
                return found[2:]
            if not found.silent:
                return found
        return found

    async def write(self, request: Request) -> Refused | None:
        """Send one write, once. Return None when its echo agrees."""
        found = await self.ask(request.unit, request.pdu)
        if isinstance(found, Refused):
            return found
        return None if found[1:5] == request.echo else Refused(None, f"echo {found[1:].hex(' ')} differs")

    async def ask(self, unit: int, pdu: bytes) -> bytes | Refused:
        """Send one request and return the PDU of its reply. Raises UnreachableError when the way there is gone."""
        await self.open()
        assert self._wire is not None  # ruff: ignore[assert] - open() made it
        loop = asyncio.get_running_loop()
        if self.gap_s:
            await asyncio.sleep(self.gap_s)
        self._heard.clear()
        self._reply, self._buffer = None, b""
        self._tid = next(self._tids)
        self._stream.sent()
        size = len(pdu) + 1
        frame = framed(unit, pdu) if self._line is not None else _header(self._tid, size) + bytes((unit,)) + pdu
        try:
            self._wire.write(frame)
        except OSError as error:
            self._lost(str(error))
        self.requests += 1
        sent_s = loop.time() + (self._line.frame_s(len(frame)) if self._line is not None else 0.0)
        reply = await self._wait(unit, pdu, frame, sent_s + self._timeout_s)
        if reply is None:
            self.delays.unanswered += 1
            self._stream.owed.add(self._tid)
            return self._no_answer()
        self.delays.seconds.append(max(0.0, loop.time() - sent_s))
        return _judged(reply, pdu[0])

    async def _wait(self, unit: int, pdu: bytes, frame: bytes, until_s: float) -> bytes | None:
        loop = asyncio.get_running_loop()
        while True:
            if (reply := self._found(unit, pdu, frame)) is not None:
                return reply
            left_s = until_s - loop.time()
            if left_s <= 0.0 or self._wire is None:
                break
            try:
                async with asyncio.timeout(left_s):
                    await self._heard.wait()
            except TimeoutError:
                continue
            self._heard.clear()
        if self._line is not None and self._wire is not None:
            await self._quiet()
        return None

    async def _quiet(self) -> None:
        """On a serial line a late reply names no request: wait it out before the next is sent."""
        await asyncio.sleep(self._timeout_s)
        self._buffer = b""

    def _found(self, unit: int, pdu: bytes, frame: bytes) -> bytes | None:
        if self._line is None:
            if self._reply is None:
                return None
            other, reply = self._reply
            if other != unit:
                self.other_units[unit] = other
            return reply if reply[0] & 0x7F == pdu[0] else None
        data = self._buffer
        if data.startswith(frame) and pdu[0] not in {5, 6}:
            self.echoes = True
            data = data[len(frame) :]
        elif self.echoes and data.startswith(frame):
            data = data[len(frame) :]
        return rtu_reply(data, unit, pdu[0])

    def _no_answer(self) -> Refused:
        if self._why_closed:
            return Refused(None, f"the connection was closed: {self._why_closed}")
        if self._stream.refused or self._buffer:
            return Refused(None, f"no answer that fits: {self._stream.refused or self._buffer[:16].hex(' ')}")
        return SILENT

    def _received(self, data: bytes) -> None:
        if self._line is not None:
            self._buffer += data
        else:
            found = self._stream.feed(data, self._tid)
            if found is not None:
                self._reply = found.unit, bytes((found.function,)) + found.data
            if self._stream.broken:
                self._lost(self._stream.broken)
        self._heard.set()

    def _lost(self, why: str) -> None:
        self.closed += 1
        self._why_closed = why
        self.close()
        self._heard.set()


def _header(tid: int, size: int) -> bytes:
    return tid.to_bytes(2, "big") + b"\x00\x00" + size.to_bytes(2, "big")


def _judged(reply: bytes, function: int) -> bytes | Refused:
    if not reply[0] & 0x80:
        return reply
    code = reply[1] if len(reply) > 1 else 0
    name = EXCEPTION_NAMES.get(code, "not in the standard")
    return Refused(code, f"function {function}: exception {code} ({name})")


def units_of(text: str, *, on_line: bool) -> Sequence[int]:
    """Return the units that ``1``, ``1-10`` or ``1,3,200-205`` names. Raises ValueError.

    On a serial line 0 is everybody at once, and what is above 247 is reserved.
    """
    least, most = (1, 247) if on_line else (0, 255)
    out: list[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        if not low.isdecimal() or (high and not high.isdecimal()) or ("-" in part and not high):
            raise ValueError(f"units {text!r}: write 1, 1-10 or 1,3,200-205")
        first, last = int(low), int(high or low)
        if not least <= first <= last <= most:
            raise ValueError(f"units {text!r}: {part} is no unit or range of {least}..{most}")
        out += [unit for unit in range(first, last + 1) if unit not in out]
    return out
