"""What every Modbus link does alike: one request in flight, writes first, every reply judged, silent units rested."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

from fieldkit.bus import EXCEPTION_NAMES, GATEWAY_SAYS_NOBODY, LinkCounters, LinkError, Turn
from fieldkit.frames import Frame
from fieldkit.health import LinkHealth
from fieldkit.pdu import Request, read_request, write_request
from fieldkit.reading import Reason


class Link(ABC):
    """One connection to a device, a gateway or a serial line.

    name       device or line, as people know it
    where      its address, for people
    timeout_s  for a reply, unless a request brings its own; nothing is repeated after it
    late_units units whose late replies came, as the stream notes them
    """

    def __init__(
        self,
        name: str,
        where: str,
        timeout_s: float,
        health: LinkHealth,
        late_units: list[int],
        *,
        ignore_unit: bool = False,
    ) -> None:
        self.name = name
        self.counters = LinkCounters()
        self._where, self._timeout_s, self._health, self._any_unit = where, timeout_s, health, ignore_unit
        self._turn = Turn()
        self._still_until_s = float("-inf")
        """While a gateway stands still, what waits is not asked: one unit after the other would cost its timeout."""
        self._late_units = late_units

    async def read(
        self, unit: int, table: str, address: int, count: int, *, timeout_s: float | None = None, first: bool = False
    ) -> bytes:
        """Return ``count`` registers as 2·count big-endian bytes, or bits packed as on the wire (first = bit 0).

        ``first`` goes before other reads, as writes do. Raises LinkError.
        """
        request = read_request(unit, table, address, count)
        data = await self._ask(request, timeout_s or self._timeout_s, first=first)
        size = request.size - 1
        if len(data) != request.size or data[0] != size:
            self.counters.short_replies += 1
            got = f"{len(data) - 1} bytes announced as {data[0]}" if data else "nothing"
            raise self.error(Reason.SHORT_REPLY, request, f"asked for {size} bytes, got {got}")
        return data[1:]

    async def write(
        self,
        unit: int,
        table: str,
        address: int,
        words: Sequence[int],
        *,
        multiple: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        """Write registers or coils in one request (functions 6 and 5 for a single one unless ``multiple``)."""
        try:
            request = write_request(unit, table, address, words, multiple=multiple)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        data = await self._ask(request, timeout_s or self._timeout_s, first=True)
        if data != request.echo:
            self.counters.wrong_echoes += 1
            raise self.error(Reason.ECHO, request, f"echo {data.hex(' ')} instead of {request.echo.hex(' ')}")

    async def close(self) -> None:
        """Close the connection after the request in flight; a later request connects again."""
        await self._turn.take(first=False)
        self._drop("closed here")
        self._turn.give()

    @abstractmethod
    async def _exchange(self, request: Request, timeout_s: float) -> Frame:
        """Send and return the one reply that may be this request's. Raises LinkError."""

    @abstractmethod
    def _drop(self, because: str) -> None:
        """Close the connection, if there is one."""

    async def _ask(self, request: Request, timeout_s: float, *, first: bool) -> bytes:
        """Send, and return what follows the function code of the reply that answers exactly this request."""
        loop = asyncio.get_running_loop()
        self._hear(loop.time())
        if request.is_read and (left_s := self._health.rests_s(request.unit, loop.time())) > 0.0:
            cause = f"silent while others answer: asked again in {left_s:.1f} s"
            raise self.error(Reason.TIMEOUT, request, cause, sent=False)
        await self._turn.take(first=first)
        try:
            begun_s = loop.time()
            if request.is_read and begun_s < self._still_until_s:
                raise self.error(Reason.TIMEOUT, request, "nobody on this link answers", sent=False)
            reply = await self._exchange(request, timeout_s)
        finally:
            self._turn.give()
        return self._judged(request, reply, loop.time() - begun_s)

    def _judged(self, request: Request, reply: Frame, took_s: float) -> bytes:
        now_s = asyncio.get_running_loop().time()
        unit, function, data = reply
        if (function & 0x7F) != request.function or (unit != request.unit and not self._any_unit):
            self.counters.wrong_ids += 1
            cause = f"answered by unit {unit} with function {function & 0x7F}"
            raise self.error(Reason.WRONG_ID, request, cause)
        if function & 0x80:
            self.counters.exceptions += 1
            code = data[0] if data else 0
            if code not in GATEWAY_SAYS_NOBODY:
                self._health.answered(request.unit, now_s)
            else:
                self._health.missed(request.unit, now_s, took_s)
                if because := self._health.nobody_there(now_s):
                    self._drop(because)
            cause = f"exception {code} ({EXCEPTION_NAMES.get(code, 'not in the standard')})"
            raise self.error(Reason.EXCEPTION, request, cause, code)
        self._health.answered(request.unit, now_s)
        self.counters.good += 1
        return data

    def _unanswered(self, request: Request, timeout_s: float) -> None:
        """Account for a request without an answer; a connection on which nobody answers is given up."""
        now_s = asyncio.get_running_loop().time()
        self._hear(now_s)
        if because := self._health.unanswered(request.unit, now_s, timeout_s):
            if self._health.stands_still:
                self._still_until_s = now_s + timeout_s
            self._nobody_answers(because)

    def _hear(self, now_s: float) -> None:
        while self._late_units:
            self._health.heard(self._late_units.pop(), now_s)

    def _nobody_answers(self, because: str) -> None:
        self._drop(because)

    def error(
        self, reason: Reason, request: Request | None, cause: str, code: int | None = None, *, sent: bool = True
    ) -> LinkError:
        if request is None:
            return LinkError(reason, f"{self.name} ({self._where}): {cause}", code, sent=sent)
        text = f"{self.name} ({self._where}) unit {request.unit}: {request}: {cause}"
        return LinkError(reason, text, code, sent=sent)
