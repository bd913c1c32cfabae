"""What the rest of the code knows of a field bus, whatever carries it.

``fieldkit.modbus.TcpLink`` is the one carrier so far; a leaner transport or a serial line takes its place by having
the same three methods.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fieldkit.reading import Reason

EXCEPTION_NAMES: dict[int, str] = {
    1: "illegal function",
    2: "illegal data address",
    3: "illegal data value",
    4: "device failure",
    5: "acknowledge, still working",
    6: "device busy",
    8: "memory parity error",
    10: "gateway path unavailable",
    11: "gateway target did not answer",
}


class LinkError(Exception):
    """A request that brought no believable answer.

    reason  the quality reason of every point that the request would have read
    text    device, unit, function, address, count and cause, for people
    code    the Modbus exception code, when the device answered with one
    """

    def __init__(self, reason: Reason, text: str, code: int | None = None) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text
        self.code = code


@dataclass(slots=True)
class LinkCounters:
    """Requests and failures by kind since the link was made; they only rise."""

    requests: int = 0
    good: int = 0
    timeouts: int = 0
    exceptions: int = 0
    short_replies: int = 0
    wrong_ids: int = 0
    wrong_echoes: int = 0
    bad_frames: int = 0
    late_replies: int = 0
    stray_frames: int = 0
    connects: int = 0
    connect_failures: int = 0
    disconnects: int = 0


class Bus(Protocol):
    """One way to a device or gateway, with one request in flight.

    Tables are ``coil``, ``discrete``, ``holding`` and ``input``; addresses are zero-based, as on the wire.
    """

    name: str
    counters: LinkCounters

    async def read(self, unit: int, table: str, address: int, count: int) -> bytes:
        """Return ``count`` registers as 2·count big-endian bytes, or bits packed as on the wire (first = bit 0).

        Raises LinkError; never returns less than was asked for.
        """
        ...

    async def write(self, unit: int, table: str, address: int, words: Sequence[int]) -> None:
        """Write holding registers, or coils given as 0 and 1, in one request; return when the echo agrees.

        Raises LinkError; is never repeated by the bus itself.
        """
        ...

    async def close(self) -> None: ...


class Turn:
    """A lock with two doors: who asks through the first (a write) goes before all who wait at the second."""

    def __init__(self) -> None:
        self._taken = False
        self._first: deque[asyncio.Future[None]] = deque()
        self._second: deque[asyncio.Future[None]] = deque()

    async def take(self, *, first: bool) -> None:
        if not self._taken:
            self._taken = True
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._first if first else self._second).append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.give()  # the turn came together with the cancellation: hand it on
            raise

    def give(self) -> None:
        """Hand the turn to the next who still waits."""
        for queue in (self._first, self._second):
            while queue:
                waiter = queue.popleft()
                if not waiter.done():
                    waiter.set_result(None)
                    return
        self._taken = False
