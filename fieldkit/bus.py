"""What the rest of the code knows of a field bus, whatever carries it.

``fieldkit.modbus.TcpLink`` carries Modbus TCP, ``fieldkit.rtu.RtuLink`` RTU on a serial line or inside TCP. Both can be
shared by several units; ``UnitBus`` is one unit's way over such a link.
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


GATEWAY_SAYS_NOBODY = frozenset({10, 11})
"""Exception codes that come from a gateway: the unit itself did not answer."""


class LinkError(Exception):
    """A request that brought no believable answer.

    reason  the quality reason of every point that the request would have read
    text    device, unit, function, address, count and cause, for people
    code    the Modbus exception code, when the device answered with one
    sent    False when the link had a reason not to ask: it says nothing new of the device
    """

    def __init__(self, reason: Reason, text: str, code: int | None = None, *, sent: bool = True) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text
        self.code = code
        self.sent = sent


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
    half_frames: int = 0
    crc_errors: int = 0
    echoes: int = 0
    """Requests that came back although no echo is expected, or an expected echo that did not come as sent."""
    noise_bytes: int = 0
    late_replies: int = 0
    stray_frames: int = 0
    held_back: int = 0
    """Requests that were not sent because a late reply could have been taken for theirs."""
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

    async def write(self, unit: int, table: str, address: int, words: Sequence[int], *, multiple: bool = False) -> None:
        """Write holding registers, or coils given as 0 and 1, in one request; return when the echo agrees.

        ``multiple``: also a single one by function 16 (15), for a device that has no function 6 (5).
        Raises LinkError; is never repeated by the bus itself.
        """
        ...

    async def close(self) -> None: ...


class SharedLink(Protocol):
    """A link that several units may use; a request may bring its own timeout and go before the reads that wait."""

    name: str
    counters: LinkCounters

    async def read(
        self, unit: int, table: str, address: int, count: int, *, timeout_s: float | None = None, first: bool = False
    ) -> bytes: ...

    async def write(
        self,
        unit: int,
        table: str,
        address: int,
        words: Sequence[int],
        *,
        multiple: bool = False,
        timeout_s: float | None = None,
    ) -> None: ...

    async def close(self) -> None: ...


class UnitBus:
    """One unit's way over a shared link.

    timeout_s  the unit's own
    first      its reads go before others' reads, as all writes do: for the read-back that proves a write
    """

    def __init__(self, link: SharedLink, timeout_s: float, *, first: bool = False) -> None:
        self.name, self.counters = link.name, link.counters
        self._link, self._timeout_s, self._first = link, timeout_s, first

    async def read(self, unit: int, table: str, address: int, count: int) -> bytes:
        return await self._link.read(unit, table, address, count, timeout_s=self._timeout_s, first=self._first)

    async def write(self, unit: int, table: str, address: int, words: Sequence[int], *, multiple: bool = False) -> None:
        await self._link.write(unit, table, address, words, multiple=multiple, timeout_s=self._timeout_s)

    async def close(self) -> None:
        """Close the link; whoever else uses it connects again with the next request."""
        await self._link.close()


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
