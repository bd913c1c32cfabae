"""A Modbus TCP device on a real socket whose every answer a test can script, well-behaved or not."""

import asyncio
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """One request as it came; ``body`` is what follows the function code."""

    tid: int
    unit: int
    function: int
    body: bytes

    @property
    def address(self) -> int:
        return int.from_bytes(self.body[0:2], "big")

    @property
    def count(self) -> int:
        return int.from_bytes(self.body[2:4], "big")

    def frame(self, pdu: bytes, *, tid: int | None = None, unit: int | None = None, length: int | None = None) -> bytes:
        """Frame a reply PDU, with one field of the header wrong if asked."""
        return (
            struct.pack(
                ">HHHB",
                self.tid if tid is None else tid,
                0,
                len(pdu) + 1 if length is None else length,
                self.unit if unit is None else unit,
            )
            + pdu
        )

    def good_pdu(self) -> bytes:
        """The right answer: every register holds its own address; writes are echoed."""
        if self.function in {3, 4}:
            words = [(self.address + n) & 0xFFFF for n in range(self.count)]
            return struct.pack(f">BB{len(words)}H", self.function, 2 * len(words), *words)
        if self.function in {1, 2}:
            size = (self.count + 7) // 8
            return bytes([self.function, size]) + bytes([0b0101_0101] * size)
        return bytes([self.function]) + self.body[:4]

    def good(self) -> bytes:
        return self.frame(self.good_pdu())

    def exception(self, code: int) -> bytes:
        return self.frame(bytes([self.function | 0x80, code]))


Script = Callable[[Request, asyncio.StreamWriter], Awaitable[None] | None]


def answer_well(request: Request, wire: asyncio.StreamWriter) -> None:
    wire.write(request.good())


class ScriptedDevice:
    """Listens on a free port of the loopback; ``script`` may be changed at any time."""

    def __init__(self, script: Script = answer_well) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.connections = 0
        self.open: set[asyncio.StreamWriter] = set()
        self.port = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        self.hang_up()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def hang_up(self) -> None:
        for wire in tuple(self.open):
            wire.close()

    async def _serve(self, reader: asyncio.StreamReader, wire: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.open.add(wire)
        try:
            while True:
                header = await reader.readexactly(8)
                tid, _, length, unit, function = struct.unpack(">HHHBB", header)
                body = await reader.readexactly(length - 2)
                request = Request(tid, unit, function, body)
                self.requests.append(request)
                if (waiting := self.script(request, wire)) is not None:
                    await waiting
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.open.discard(wire)
            wire.close()
            self._tasks.discard(task)


@asynccontextmanager
async def scripted(script: Script = answer_well) -> AsyncGenerator[ScriptedDevice, None]:
    device = ScriptedDevice(script)
    await device.start()
    try:
        yield device
    finally:
        await device.stop()
