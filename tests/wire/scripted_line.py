"""Units on a serial line (a pseudo-terminal) or behind a TCP gateway that passes RTU on, each answer scripted."""

import asyncio
import os
import struct
import tty
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass


def crc16(data: bytes) -> bytes:
    """CRC-16/MODBUS, low byte first; written here a second time, bit by bit, so that the two check each other."""
    value = 0xFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0xA001 if value & 1 else 0)
    return struct.pack("<H", value)


@dataclass(frozen=True)
class Asked:
    """One request as it came; ``body`` is what follows the function code."""

    frame: bytes

    @property
    def unit(self) -> int:
        return self.frame[0]

    @property
    def function(self) -> int:
        return self.frame[1]

    @property
    def address(self) -> int:
        return int.from_bytes(self.frame[2:4], "big")

    @property
    def count(self) -> int:
        return int.from_bytes(self.frame[4:6], "big")

    def reply(self, *, unit: int | None = None, function: int | None = None, count: int | None = None) -> bytes:
        """The right answer (every register holds its own address; writes are echoed), or wrong in one way."""
        kind = self.function if function is None else function
        if self.function in {3, 4}:
            size = self.count if count is None else count
            words = [(self.address + n) & 0xFFFF for n in range(size)]
            pdu = struct.pack(f">BB{size}H", kind, 2 * size, *words)
        elif self.function in {1, 2}:
            size = (self.count + 7) // 8
            pdu = bytes([kind, size]) + bytes([0b0101_0101] * size)
        else:
            pdu = bytes([kind]) + self.frame[2:6]
        return framed(self.unit if unit is None else unit, pdu)

    def exception(self, code: int) -> bytes:
        return framed(self.unit, bytes([self.function | 0x80, code]))


def framed(unit: int, pdu: bytes) -> bytes:
    return bytes([unit]) + pdu + crc16(bytes([unit]) + pdu)


_SIZES = {0x11: 4, 0x2B: 7}
"""Bytes of a request, where it is not 8."""
Answer = Iterable[tuple[float, bytes]]
"""Bytes and when they leave, in seconds after the request."""
Script = Callable[[Asked], Answer]


def answer_well(asked: Asked) -> Answer:
    return [(0.0, asked.reply())]


def silence(_asked: Asked) -> Answer:
    return []


class ScriptedLine:
    """``script`` may be changed at any time; ``address`` is the pseudo-terminal's path or ``host:port``."""

    def __init__(self, script: Script = answer_well) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.damaged = 0
        self.connections = 0
        self.address = ""
        self._buffer = b""
        self._put: Callable[[bytes], object] = lambda _data: None
        self._handles: set[asyncio.TimerHandle] = set()

    def send(self, data: bytes) -> None:
        """Put bytes on the line that nobody asked for."""
        self._put(data)

    def stop(self) -> None:
        for handle in self._handles:
            handle.cancel()
        self._put = lambda _data: None

    def received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= 2:
            function = self._buffer[1]
            size = _SIZES.get(function, 8)
            if function in {15, 16} and len(self._buffer) >= 7:
                size = 9 + self._buffer[6]
            if len(self._buffer) < size:
                return
            frame, self._buffer = self._buffer[:size], self._buffer[size:]
            if crc16(frame[:-2]) != frame[-2:]:
                self.damaged += 1
                self._buffer = b""
                return
            asked = Asked(frame)
            self.asked.append(asked)
            loop = asyncio.get_running_loop()
            for after_s, piece in self.script(asked):
                if after_s <= 0.0:
                    self._put(piece)
                else:
                    self._handles.add(loop.call_later(after_s, self.send, piece))


@asynccontextmanager
async def scripted_pty(script: Script = answer_well) -> AsyncGenerator[ScriptedLine, None]:
    line = ScriptedLine(script)
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    line.address = os.ttyname(slave)
    line._put = lambda data: os.write(master, data)
    loop = asyncio.get_running_loop()
    loop.add_reader(master, lambda: line.received(os.read(master, 4096)))
    try:
        yield line
    finally:
        loop.remove_reader(master)
        line.stop()
        os.close(master)
        os.close(slave)


@asynccontextmanager
async def scripted_gateway(script: Script = answer_well) -> AsyncGenerator[ScriptedLine, None]:
    line = ScriptedLine(script)
    wires: set[asyncio.StreamWriter] = set()

    def to_all(data: bytes) -> None:
        for wire in wires:
            wire.write(data)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line.connections += 1
        wires.add(writer)
        line._put = to_all
        try:
            while data := await reader.read(4096):
                line.received(data)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            wires.discard(writer)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    line.address = f"{host}:{port}"
    try:
        yield line
    finally:
        line.stop()
        server.close()
        for wire in tuple(wires):
            wire.close()
        await asyncio.sleep(0)
        for _ in range(50):
            if not wires:
                break
            await asyncio.sleep(0.01)
