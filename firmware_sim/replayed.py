"""A device made of a recording: it answers what it was asked then with the same bytes after the same time."""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from firmware_sim.parts.conversation import HEADER, Exchange, Piece, cut

GATEWAY_SILENT = 0x0B
MOST_TOLD = 1000
"""Different unknown requests that are kept to be told."""


class Unknown(StrEnum):
    """What becomes of a request that was never recorded."""

    EXCEPTION = "exception"
    DROP = "drop"


@dataclass(slots=True)
class _Answers:
    """The recorded answers to one request, in order; after the last the first comes again."""

    recorded: list[list[Piece]] = field(default_factory=list)
    given: int = 0

    def next(self) -> list[Piece]:
        found = self.recorded[self.given % len(self.recorded)]
        self.given += 1
        return found


class Replayed:
    """The answers of one recording, to however many clients.

    speed    recorded seconds per second
    unknown  how many times what was asked that was never recorded: frames without transaction id
    told     hears of each of those once, and once of each request that is asked more often than it was recorded
    """

    def __init__(
        self,
        recorded: Iterable[Exchange],
        *,
        speed: float = 1.0,
        otherwise: Unknown = Unknown.EXCEPTION,
        told: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self.speed, self.otherwise, self._told = speed, otherwise, told
        self.unknown: Counter[bytes] = Counter()
        self.answered = 0
        self._answers: dict[bytes, _Answers] = {}
        self._server: asyncio.Server | None = None
        self._open: set[_Connection] = set()
        for one in recorded:
            self._answers.setdefault(one.request, _Answers()).recorded.append(one.pieces)

    async def listen(self, host: str, port: int) -> int:
        """Listen on ``host``; port 0 takes a free one. Returns the port. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self, self._open), host, port)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in tuple(self._open):
            connection.abort()
        await asyncio.sleep(0)

    def answer(self, frame: bytes) -> list[Piece]:
        """Return what a request frame gets, and when; nothing when it gets none."""
        answers = self._answers.get(frame[2:])
        if answers is None:
            return self._never_recorded(frame)
        if answers.given == len(answers.recorded):
            self._told(f"{text(frame)} is asked more often than it was recorded: from the first answer again")
        self.answered += 1
        return answers.next()

    def _never_recorded(self, frame: bytes) -> list[Piece]:
        key = frame[2:]
        if key not in self.unknown and len(self.unknown) < MOST_TOLD:
            self._told(
                f"{text(frame)} was never recorded: {'exception 0x0B' if self.otherwise is Unknown.EXCEPTION else 'no answer'}"
            )
        if key in self.unknown or len(self.unknown) < MOST_TOLD:
            self.unknown[key] += 1
        if self.otherwise is Unknown.DROP or len(frame) <= HEADER:
            return []
        reply = frame[:4] + b"\0\x03" + frame[6:7] + bytes((frame[7] | 0x80, GATEWAY_SILENT))
        return [Piece(0.0, reply, own_id=True)]

    def summary(self) -> str:
        """What was asked, for people."""
        unknown = sum(self.unknown.values())
        return (
            f"answered {self.answered} requests as recorded; {unknown} were never recorded ({len(self.unknown)} kinds)"
        )


class _Connection(asyncio.Protocol):
    """One client. Any cut of its bytes into segments is understood; what is no Modbus TCP ends the connection."""

    def __init__(self, device: Replayed, all_open: "set[_Connection]") -> None:
        self._device, self._all = device, all_open
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # ruff: ignore[assert] - what asyncio hands to a TCP protocol
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._transport = transport
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.discard(self)
        self._transport = None

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        frames, self._buffer, sound = cut(self._buffer + data)
        for frame in frames:
            for piece in self._device.answer(frame):
                reply = frame[:2] + piece.data[2:] if piece.own_id else piece.data
                loop.call_at(now_s + piece.after_s / self._device.speed, self._put, reply)
        if not sound:
            self.abort()

    def _put(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)


def text(frame: bytes) -> str:
    """Say what a request frame asks, for people."""
    names = {1: "coils", 2: "discrete inputs", 3: "holding", 4: "input"}
    body = frame[HEADER + 1 :]
    if len(body) == 4 and frame[HEADER] in names:
        address, count = int.from_bytes(body[:2]), int.from_bytes(body[2:])
        return f"unit {frame[6]}: read {names[frame[HEADER]]} {address}, count {count}"
    return f"unit {frame[6]}: {frame[HEADER:].hex(' ')}"
