"""A small Modbus TCP server: one listening socket for each simulated device.

It is not pymodbus' server, because a simulator must be able to send what a correct server never sends. A request costs
one slice of the device's image; every accepted write is stamped with CLOCK_MONOTONIC at its arrival.
"""

import asyncio
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.noise import Noise
from firmware_sim.parts.pdu import WRITES, Frozen, answer, exception, freeze, written
from firmware_sim.parts.registers import Answer
from firmware_sim.wire_faults import DEFAULTS, Faults, WireFault, pieces

HEADER = 7
_MAX_LENGTH = 254  # unit id and PDU

# endpoint, address, values, CLOCK_MONOTONIC ns of arrival
OnWrite = Callable[["Endpoint", int, tuple[int, ...], int], None]


@dataclass(slots=True)
class Counters:
    """What one endpoint has seen since its start."""

    requests: int = 0
    writes: int = 0
    exceptions: int = 0
    connections: int = 0
    turned_away: int = 0
    bad_frames: int = 0


@dataclass(slots=True, eq=False)
class Endpoint:
    """One device on the wire.

    name      of the device as the ports file names it, e.g. ``r02/valve_controller``
    now_s     simulated time
    on_write  told of every accepted write, after the firmware took it and before its reply leaves
    """

    name: str
    firmware: Firmware
    now_s: Callable[[], float]
    on_write: OnWrite
    noise: Noise
    faults: Faults = field(default_factory=dict)
    frozen: Frozen | None = None
    switched_on: bool = True
    supplied: bool = True
    powered: bool = True
    counters: Counters = field(default_factory=Counters)
    connections: set["Connection"] = field(default_factory=set)
    port: int = 0
    _server: asyncio.Server | None = None

    async def listen(self, host: str, port: int) -> int:
        """Listen on ``host``; port 0 takes a free one. Returns the port. Raises OSError when it is taken."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), host, port, backlog=16)
        self.port = self._server.sockets[0].getsockname()[1]
        return self.port

    def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in tuple(self.connections):
            connection.abort()

    def set_fault(self, fault: WireFault, value: float | None) -> None:
        self.faults[fault] = DEFAULTS.get(fault, 0.0) if value is None else value
        if fault is WireFault.HALF_OPEN:
            for connection in self.connections:
                connection.dead = True
        if fault is WireFault.ONE_CLIENT:
            for connection in list(self.connections)[1:]:
                connection.abort()

    def clear_fault(self, fault: WireFault) -> None:
        """End a fault; connections that it left half-open stay dead, as they do."""
        self.faults.pop(fault, None)

    def freeze(self) -> None:
        """From now on answer reads from a copy, as a gateway does that lost its device."""
        self.frozen = freeze(self.firmware, self.now_s())

    def thaw(self) -> None:
        self.frozen = None

    def set_power(self, *, switched_on: bool | None = None, supplied: bool | None = None) -> None:
        """A device that is switched off or whose supply is gone is silent; when it starts its old connections are reset."""
        self.switched_on = self.switched_on if switched_on is None else switched_on
        self.supplied = self.supplied if supplied is None else supplied
        on = self.switched_on and self.supplied
        if on and not self.powered:
            for connection in tuple(self.connections):
                connection.abort()
        self.powered = on

    def admits(self) -> bool:
        limit = 1 if WireFault.ONE_CLIENT in self.faults else self.firmware.map.max_connections
        return len(self.connections) < limit

    def serve(self, pdu: bytes, unit: int, arrived_ns: int) -> bytes:
        """Answer one request; the device sees it unless the gateway before it refuses."""
        self.counters.requests += 1
        if unit != self.firmware.map.unit_id or WireFault.GATEWAY_0B in self.faults:
            reply = exception(pdu[0], Answer.GATEWAY_TARGET)
        elif WireFault.EXCEPTION in self.faults:
            reply = bytes((pdu[0] | 0x80, int(self.faults[WireFault.EXCEPTION]) & 0xFF))
        else:
            reply = answer(self.firmware, pdu, self.now_s(), self.frozen)
        if reply[0] & 0x80:
            self.counters.exceptions += 1
        elif reply[0] in WRITES:
            self.counters.writes += 1
            address, values = written(pdu)
            self.on_write(self, address, values, arrived_ns)
        return reply


class Connection(asyncio.Protocol):
    """One client of one endpoint; any cut of the byte stream into segments is understood."""

    __slots__ = ("_buffer", "_endpoint", "_free_at_s", "_held", "_transport", "dead")

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._buffer = b""
        self._held = b""
        self._free_at_s = 0.0
        self._transport: asyncio.Transport | None = None
        self.dead = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # ruff: ignore[assert] - what asyncio hands to a TCP protocol
        endpoint = self._endpoint
        if not endpoint.admits():
            endpoint.counters.turned_away += 1
            transport.abort()
            return
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        endpoint.counters.connections += 1
        endpoint.connections.add(self)
        self._transport = transport
        self.dead = endpoint.faults.get(WireFault.HALF_OPEN, 0.0) > 0.0

    def connection_lost(self, exc: Exception | None) -> None:
        self._endpoint.connections.discard(self)
        self._transport = None

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        endpoint = self._endpoint
        if self.dead or not endpoint.powered or self._transport is None:
            return
        arrived_ns = time.monotonic_ns()
        if self._buffer:
            data = self._buffer + data
            self._buffer = b""
        start, end = 0, len(data)
        while end - start > HEADER:
            length = data[start + 4] << 8 | data[start + 5]
            if data[start + 2] or data[start + 3] or not 2 <= length <= _MAX_LENGTH:
                endpoint.counters.bad_frames += 1
                self.abort()
                return
            after = start + 6 + length
            if after > end:
                break
            pdu = data[start + HEADER : after]
            if WireFault.NO_REPLY not in endpoint.faults:
                reply = endpoint.serve(pdu, data[start + 6], arrived_ns)
                size = len(reply) + 1
                header = data[start : start + 4] + bytes((size >> 8, size & 0xFF, data[start + 6]))
                self._send(header + reply, after - start)
            start = after
        if start < end:
            self._buffer = data[start:]

    def _send(self, frame: bytes, request_size: int) -> None:
        endpoint = self._endpoint
        delay_s = endpoint.firmware.map.reply_delay_s
        if not endpoint.faults and not delay_s:
            if self._transport is not None:
                self._transport.write(frame)
            return
        self._send_badly(frame, request_size, delay_s)

    def _send_badly(self, frame: bytes, request_size: int, delay_s: float) -> None:
        """Send by the faults in force: in pieces, late, together with the next, then close."""
        loop = asyncio.get_running_loop()
        faults = self._endpoint.faults
        now_s = loop.time()
        # A slow link is busy until its last byte has left; late replies do not queue.
        start_s = max(now_s, self._free_at_s) if WireFault.SLOW_LINK in faults else now_s
        due_s = start_s
        for piece in pieces(frame, request_size, faults, self._endpoint.noise):
            due_s = start_s + delay_s + piece.after_s
            if due_s <= now_s:
                self._put(piece.data)
            else:
                loop.call_at(due_s, self._put, piece.data)
        if WireFault.SLOW_LINK in faults:
            self._free_at_s = due_s
        if WireFault.CLOSE_AFTER_REPLY in faults:
            loop.call_at(due_s, self._close)

    def _put(self, data: bytes) -> None:
        if self._transport is None:
            return
        merge_ms = self._endpoint.faults.get(WireFault.MERGE)
        if merge_ms is None or self._held:
            self._transport.write(self._held + data)
            self._held = b""
            return
        self._held = data
        asyncio.get_running_loop().call_later(merge_ms / 1000, self._flush)

    def _flush(self) -> None:
        if self._transport is not None and self._held:
            self._transport.write(self._held)
        self._held = b""

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()
