"""A transparent TCP proxy that writes down what passes: each chunk when it came, unchanged and at once passed on."""

import asyncio
import itertools
import socket
import time
from collections.abc import Callable
from typing import TextIO

from firmware_sim.capture import head, line
from firmware_sim.parts.conversation import Event

CHUNK = 65536


class Recorder:
    """Between clients and one device. Each client gets a connection to the device of its own, as without it.

    out  gets the recording, line by line
    """

    def __init__(self, host: str, port: int, out: TextIO, told: Callable[[str], None] = lambda _text: None) -> None:
        self._host, self._port, self._out, self._told = host, port, out, told
        self._numbers = itertools.count()
        self._begun_s = time.monotonic()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.chunks = 0
        out.write(head(f"{host}:{port}") + "\n")
        out.flush()

    async def listen(self, host: str, port: int) -> int:
        """Listen on ``host``; port 0 takes a free one. Returns the port. Raises OSError."""
        self._server = await asyncio.start_server(self._serve, host, port)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._out.flush()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # ruff: ignore[assert] - a server runs each client in a task
        self._tasks.add(task)
        number = next(self._numbers)
        try:
            there, back = await asyncio.open_connection(self._host, self._port)
        except OSError as error:
            self._told(f"client {number}: no connection to {self._host}:{self._port}: {error.strerror or error}")
            writer.transport.abort()
            self._tasks.discard(task)
            return
        for one in (writer, back):
            one.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ways = [
            asyncio.ensure_future(self._pass(reader, back, number, asked=True)),
            asyncio.ensure_future(self._pass(there, writer, number, asked=False)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            pass
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            writer.close()
            back.close()
            self._tasks.discard(task)

    async def _pass(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, number: int, *, asked: bool
    ) -> None:
        try:
            while data := await source.read(CHUNK):
                event = Event(time.monotonic() - self._begun_s, number, asked, data)
                target.write(data)
                self._out.write(line(event) + "\n")
                self.chunks += 1
        except ConnectionError:
            return
