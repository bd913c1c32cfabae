"""Modbus RTU: on a serial port, or inside a TCP connection to a gateway that passes the bytes on.

pymodbus' RTU takes the late reply of one register for the next one's after a single timeout (measured), so frames, gaps
and the account of what may still come are ours; ``fieldkit.rtu_frames`` states what is guaranteed, and on what terms.
"""

import asyncio

from fieldkit.frames import Frame
from fieldkit.health import LinkHealth
from fieldkit.link import Link
from fieldkit.pdu import Request
from fieldkit.reading import Reason
from fieldkit.rtu_frames import Line, RtuStream, framed
from fieldkit.wires import Opener, Wire

GARBLED_AFTER = 5
"""Garbled replies in a row after which a unit rests: more than noise makes of a sound line."""
_LATE_LEAST_S = 2.0
_LATE_TIMEOUTS = 8.0


def late_reply_default_s(timeout_s: float) -> float:
    """How long after a request its reply is still possible, when nobody states it."""
    return max(_LATE_LEAST_S, _LATE_TIMEOUTS * timeout_s)


class RtuLink(Link):
    """One RTU line, opened when needed and opened again for ever; shared by all its units, one request in flight.

    name             line or gateway, as people know it
    where            its address, for people
    opener           what opens it, from ``fieldkit.wires``
    line             its speed and form: the gaps between frames, and how long a request takes to leave
    timeout_s        from the end of a request to the end of its reply
    late_reply_s     longest time from a request to its reply (default max(2 s, 8 timeouts)); see ``fieldkit.rtu_frames``
    reconnect_cap_s  longest wait between attempts to open (floor 0.25 s, jitter)
    silent_s         no unit answering for so long opens it anew, unless it ``keeps_open``, as a serial port does
    min_gap_s        quiet time before each request, where the line's own gap is not enough
    local_echo       the adapter returns what is sent
    """

    def __init__(
        self,
        name: str,
        where: str,
        opener: Opener,
        line: Line,
        *,
        timeout_s: float,
        late_reply_s: float | None = None,
        reconnect_cap_s: float = 10.0,
        silent_s: float | None = None,
        min_gap_s: float = 0.0,
        local_echo: bool = False,
        keeps_open: bool = False,
    ) -> None:
        health = LinkHealth(silent_s if silent_s is not None else max(1.0, 4 * timeout_s), reconnect_cap_s)
        self.late_reply_s = late_reply_s if late_reply_s is not None else late_reply_default_s(timeout_s)
        self._stream = RtuStream(self.late_reply_s, local_echo=local_echo)
        super().__init__(name, where, timeout_s, health, self._stream.late_units)
        self._opener, self._line, self._keeps_open = opener, line, keeps_open
        self._gap_s = max(line.gap_s, min_gap_s)
        self._wire: Wire | None = None
        self._waiter: asyncio.Future[Frame | None] | None = None
        self._busy_until_s = 0.0
        self._down_because = "not opened yet"

    @property
    def connected(self) -> bool:
        return self._wire is not None

    async def connect(self) -> None:
        """Open the line now if need be. Raises LinkError."""
        await self._turn.take(first=False)
        try:
            await self._ensure_open(None)
        finally:
            self._turn.give()

    async def _exchange(self, request: Request, timeout_s: float) -> Frame:
        loop = asyncio.get_running_loop()
        if (left_s := self._stream.held_back_s(request, loop.time())) > 0.0:
            self.counters.held_back += 1
            cause = f"held back for {left_s:.2f} s: the late reply to another read of this length could be taken for its own"
            raise self.error(Reason.TIMEOUT, request, cause, sent=False)
        wire = await self._ensure_open(request)
        try:
            await self._silence(request, timeout_s)
            frame = framed(request.unit, request.pdu)
            self._stream.sent(request, frame, loop.time())
            self._waiter = loop.create_future()
            self.counters.requests += 1
            try:
                wire.write(frame)
            except OSError as error:
                self._lost(str(error))
            gone_s = loop.time() + self._line.frame_s(len(frame))
            self._busy_until_s = gone_s
            expiry = loop.call_at(gone_s + timeout_s, self._answer, None)
            try:
                reply = await self._waiter
            finally:
                expiry.cancel()
                self._waiter = None
                why = self._stream.give_up(loop.time())
            if reply is not None:
                return reply
            raise self._failed(request, timeout_s, why)
        finally:
            self._count()

    def _failed(self, request: Request, timeout_s: float, why: tuple[Reason, str] | None) -> Exception:
        if self._wire is None:
            return self.error(Reason.LINK_DOWN, request, f"line lost: {self._down_because}")
        if why is None:
            self._unanswered(request, timeout_s)
            self.counters.timeouts += 1
            return self.error(Reason.TIMEOUT, request, f"no answer in {timeout_s:g} s")
        reason, cause = why
        if reason is Reason.WRONG_ID:
            self.counters.wrong_ids += 1
            self._unanswered(request, timeout_s)
        elif reason is Reason.SHORT_REPLY:
            self.counters.short_replies += 1
            self._health.missed(request.unit, asyncio.get_running_loop().time(), timeout_s, GARBLED_AFTER)
        return self.error(reason, request, cause)

    async def _silence(self, request: Request, timeout_s: float) -> None:
        """Wait until the line has been quiet for its gap. Raises LinkError on a line that never is."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + timeout_s
        while (wait_s := self._busy_until_s + self._gap_s - loop.time()) > 0.0:
            if loop.time() > until_s:
                self.counters.bad_frames += 1
                raise self.error(Reason.SHORT_REPLY, request, f"the line was never silent in {timeout_s:g} s: noise")
            await asyncio.sleep(wait_s)

    async def _ensure_open(self, request: Request | None) -> Wire:
        if self._wire is not None:
            return self._wire
        loop = asyncio.get_running_loop()
        if (wait_s := self._health.backoff.left_s(loop.time())) > 0.0:
            cause = f"not open ({self._down_because}), next attempt in {wait_s:.2f} s"
            raise self.error(Reason.LINK_DOWN, request, cause)
        try:
            self._wire = await self._opener(self._received, self._lost)
        except OSError as error:
            self.counters.connect_failures += 1
            self._down_because = error.strerror or str(error)
            self._health.backoff.failed(loop.time())
            raise self.error(Reason.LINK_DOWN, request, self._down_because) from None
        self.counters.connects += 1
        self._health.connected(loop.time())
        return self._wire

    def _received(self, data: bytes) -> None:
        now_s = asyncio.get_running_loop().time()
        self._busy_until_s = max(self._busy_until_s, now_s)
        reply = self._stream.feed(data, now_s)
        if reply is not None or self._stream.trouble is not None:
            self._answer(reply)

    def _answer(self, reply: Frame | None) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(reply)

    def _lost(self, why: str) -> None:
        """The adapter or the gateway is gone: a request in flight fails now, not at its timeout."""
        self._drop(why)
        self._answer(None)

    def _nobody_answers(self, because: str) -> None:
        """A port stays open while its units are silent; a gateway's connection may be what has died."""
        if not self._keeps_open:
            self._drop(because)

    def _drop(self, because: str) -> None:
        wire, self._wire = self._wire, None
        if wire is None:
            return
        wire.close()
        self.counters.disconnects += 1
        self._down_because = because
        self._health.disconnected(asyncio.get_running_loop().time())

    def _count(self) -> None:
        counters, stream = self.counters, self._stream
        counters.late_replies, counters.stray_frames, counters.noise_bytes = stream.late, stream.stray, stream.noise
        counters.echoes, counters.half_frames, counters.crc_errors = stream.echoes, stream.halves, stream.crc_errors
