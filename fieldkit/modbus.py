"""Modbus TCP: the only place that knows pymodbus.

pymodbus 3.16 connects, numbers and sends; what it does not check is checked here. Left alone it returns success for
a reply with fewer registers than asked, a write whose echo differs, transaction id 0 or another function code; it
throws away half a frame at each send (so that the rest of a late reply is read as a header); it waits a whole
timeout for a peer that has closed; and it keeps a silent connection for ever.
"""

import asyncio
import logging
import socket

from pymodbus.client import AsyncModbusTcpClient
from pymodbus.exceptions import ModbusIOException
from pymodbus.framer import FramerSocket
from pymodbus.pdu import DecodePDU, ModbusPDU

from fieldkit.bus import LinkError
from fieldkit.frames import Frame, ReplyStream
from fieldkit.health import LinkHealth
from fieldkit.link import Link
from fieldkit.pdu import Request
from fieldkit.reading import Reason

# One line per failed request would fill a disk; every failure reaches the caller as a LinkError and a counter.
logging.getLogger("pymodbus").setLevel(logging.CRITICAL)


class _Asked(ModbusPDU):
    """A request that pymodbus numbers and sends as it is."""

    def __init__(self, request: Request) -> None:
        super().__init__(dev_id=request.unit)
        self.function_code = request.function
        self._body = request.body

    def encode(self) -> bytes:
        return self._body


class _Reply(ModbusPDU):
    """A reply that pymodbus carries without looking into it."""

    def __init__(self, frame: Frame, unit: int, tid: int) -> None:
        super().__init__(dev_id=unit, transaction_id=tid)
        self.frame = frame


class _Framer(FramerSocket):
    """pymodbus' framer, reading replaced: taking all bytes at once leaves pymodbus none to forget at a send."""

    def __init__(self, stream: ReplyStream) -> None:
        super().__init__(DecodePDU(is_server=False))
        self._stream = stream

    def encode(self, payload: bytes, device_id: int, tid: int) -> bytes:
        self._stream.sent()
        return super().encode(payload, device_id, tid)

    def handleFrame(self, data: bytes, exp_devid: int, exp_tid: int) -> tuple[int, ModbusPDU | None]:  # ruff: ignore[invalid-function-name]
        frame = self._stream.feed(data, exp_tid)
        if frame is None and self._stream.broken:
            frame = Frame(exp_devid, 0, b"")  # ends the wait; the link looks at ``broken`` first
        return len(data), None if frame is None else _Reply(frame, exp_devid, exp_tid)


class TcpLink(Link):
    """One Modbus TCP connection, made when needed and remade for ever; one request in flight, writes first.

    name                   device or gateway, as people know it
    timeout_s              for a connection attempt and for a reply; nothing is repeated after a timeout
    reconnect_cap_s        longest wait between attempts: 1 s in the fast lane, 10 s elsewhere (floor 0.25 s, jitter)
    silent_s               no unit answering for so long makes a new connection; default max(1 s, 4 timeouts)
    min_gap_s, settle_s    quiet time between requests; time after connecting in which requests are refused
    ignore_transaction_id  for devices that garble it: ids are not compared, any timeout closes the connection
    ignore_unit            for the only device of a connection, when it answers with another unit id
    """

    def __init__(
        self,
        name: str,
        host: str,
        port: int,
        *,
        timeout_s: float,
        reconnect_cap_s: float = 10.0,
        silent_s: float | None = None,
        min_gap_s: float = 0.0,
        settle_s: float = 0.0,
        ignore_transaction_id: bool = False,
        ignore_unit: bool = False,
    ) -> None:
        health = LinkHealth(silent_s if silent_s is not None else max(1.0, 4 * timeout_s), reconnect_cap_s)
        self._stream = ReplyStream(any_id=ignore_transaction_id)
        super().__init__(name, f"{host}:{port}", timeout_s, health, self._stream.late_units, ignore_unit=ignore_unit)
        self._host, self._port = host, port
        self._min_gap_s, self._settle_s = min_gap_s, settle_s
        self._any_id = ignore_transaction_id
        self._client: AsyncModbusTcpClient | None = None
        self._in_flight = False
        self._connected_s = self._last_sent_s = 0.0
        self._down_because = "not connected yet"

    @property
    def connected(self) -> bool:
        return self._client is not None and self._client.connected

    async def connect(self) -> None:
        """Connect now if need be, so that the first request finds a warm path. Raises LinkError."""
        await self._turn.take(first=False)
        try:
            await self._ensure_connected()
        finally:
            self._turn.give()

    async def _exchange(self, request: Request, timeout_s: float) -> Frame:
        try:
            reply = await self._sent(request, timeout_s, once_more=request.is_read)
        finally:
            self.counters.late_replies, self.counters.stray_frames = self._stream.late, self._stream.stray
        if because := self._stream.broken:
            self.counters.bad_frames += 1
            self._drop(because)
            raise self.error(Reason.SHORT_REPLY, request, because)
        return reply

    async def _sent(self, request: Request, timeout_s: float, *, once_more: bool) -> Frame:
        loop = asyncio.get_running_loop()
        if self._min_gap_s and (wait_s := self._last_sent_s + self._min_gap_s - loop.time()) > 0.0:
            await asyncio.sleep(wait_s)
        client = await self._ensure_connected(request)
        self.counters.requests += 1
        self._in_flight = True
        asked = _Asked(request)
        client.ctx.comm_params.timeout_connect = timeout_s
        try:
            reply = await client.execute(no_response_expected=False, request=asked)
        except ModbusIOException:
            raise self._given_up(request, asked.transaction_id, timeout_s) from None
        except asyncio.CancelledError:
            self._stream.owed.add(asked.transaction_id)
            raise
        except ConnectionError as error:
            # An idle or one-request device closed: a read may be asked again at once; a write may have been done.
            if once_more and self._health.productive:
                return await self._sent(request, timeout_s, once_more=False)
            raise self.error(Reason.LINK_DOWN, request, f"connection closed: {error}") from None
        finally:
            self._in_flight = False
            self._last_sent_s = loop.time()
        if not isinstance(reply, _Reply):
            raise TypeError(f"pymodbus returned {reply!r}, which did not come through our framer")
        return reply.frame

    async def _ensure_connected(self, request: Request | None = None) -> AsyncModbusTcpClient:
        client = self._client
        if client is not None and (not client.connected or self._stream.broken):
            self._drop(self._stream.broken or "closed by the device")
            client = None
        if client is None:
            client = await self._open(request)
        if self._settle_s:
            left_s = self._connected_s + self._settle_s - asyncio.get_running_loop().time()
            if left_s > 0.0:
                raise self.error(Reason.LINK_DOWN, request, f"connected; settles for {left_s:.1f} s more")
        return client

    async def _open(self, request: Request | None) -> AsyncModbusTcpClient:
        loop = asyncio.get_running_loop()
        if (wait_s := self._health.backoff.left_s(loop.time())) > 0.0:
            cause = f"not connected ({self._down_because}), next attempt in {wait_s:.2f} s"
            raise self.error(Reason.LINK_DOWN, request, cause)
        client = AsyncModbusTcpClient(
            self._host,
            port=self._port,
            timeout=self._timeout_s,
            retries=0,
            reconnect_delay=0,
            trace_connect=self._noted,
        )
        client.set_max_no_responses(2**31)  # this class alone decides when a silent connection ends
        self._stream.restart()
        client.ctx.framer = _Framer(self._stream)
        try:
            # client.connect() would hide why it failed
            async with asyncio.timeout(self._timeout_s):
                await client.ctx.call_create()
            if (transport := client.ctx.transport) is None:
                raise ConnectionResetError("closed by the device as soon as it was made")
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except (OSError, TimeoutError) as error:
            client.close()
            self.counters.connect_failures += 1
            self._down_because = str(error) or f"no answer to the connection attempt in {self._timeout_s:g} s"
            self._health.backoff.failed(loop.time())
            raise self.error(Reason.LINK_DOWN, request, self._down_because) from None
        self.counters.connects += 1
        self._client, self._connected_s = client, loop.time()
        self._health.connected(self._connected_s)
        return client

    def _noted(self, up: bool) -> None:
        """Told by pymodbus: a request in flight on a closed connection fails now, not at its timeout."""
        client = self._client
        if not up and self._in_flight and client is not None and not client.ctx.response_future.done():
            client.ctx.response_future.set_exception(ConnectionResetError("by the device"))

    def _given_up(self, request: Request, transaction_id: int, timeout_s: float) -> LinkError:
        """Account for a request without an answer."""
        refused = self._stream.refused
        self._stream.owed.add(transaction_id)
        self._unanswered(request, timeout_s)
        if self._any_id:
            self._drop("ids are not compared, so a late reply could not be told")
        if refused:
            self.counters.wrong_ids += 1
            return self.error(Reason.WRONG_ID, request, refused)
        self.counters.timeouts += 1
        return self.error(Reason.TIMEOUT, request, f"no answer in {timeout_s:g} s")

    def _drop(self, because: str) -> None:
        """Close for good; the next attempt waits unless this connection had been of use."""
        client, self._client = self._client, None
        if client is None:
            return
        transport = client.ctx.transport
        client.close()
        if (abort := getattr(transport, "abort", None)) is not None:
            abort()  # do not wait for a silent peer to take what was not sent
        self.counters.disconnects += 1
        self._down_because = because
        self._health.disconnected(asyncio.get_running_loop().time())
