"""What carries the bytes of an RTU line: a serial port, or a TCP connection to a gateway that only passes them on."""

import asyncio
import contextlib
import fcntl
import os
import socket
import termios
from collections.abc import Awaitable, Callable
from typing import Protocol

from fieldkit.rtu_frames import Line

Received = Callable[[bytes], None]
Lost = Callable[[str], None]
"""Told once why a wire ended, unless it was closed here."""

_PARITY = {"N": 0, "E": termios.PARENB, "O": termios.PARENB | termios.PARODD}
_CHUNK = 4096


class Wire(Protocol):
    """An open line."""

    def write(self, data: bytes) -> None:
        """Send at once. Raises OSError when the line does not take it whole."""
        ...

    def close(self) -> None: ...


Opener = Callable[[Received, Lost], Awaitable[Wire]]
"""Opens a line. Raises OSError with a text for people."""


def speed_of(baud: int) -> int | None:
    """The system's code of a speed; None when it has none."""
    return getattr(termios, f"B{baud}", None)


class SerialPort:
    """A serial port (or pseudo-terminal), raw and locked: a second owner of the same port is refused."""

    def __init__(self, path: str, line: Line, received: Received, lost: Lost) -> None:
        speed = speed_of(line.baud)
        if speed is None:
            raise OSError(f"{path}: {line.baud} baud is no speed that this system has")
        self._received, self._lost = received, lost
        self._loop = asyncio.get_running_loop()
        self._fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _lock(self._fd, path)
            _set(self._fd, line, speed, path)
        except OSError:
            os.close(self._fd)
            raise
        self._loop.add_reader(self._fd, self._read)

    def write(self, data: bytes) -> None:
        if self._fd < 0:
            raise OSError("the port is closed")
        sent = os.write(self._fd, data)
        if sent != len(data):
            raise OSError(f"the port took {sent} of {len(data)} bytes")

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self._loop.remove_reader(fd)
            with contextlib.suppress(OSError):
                os.close(fd)  # at once: a dead descriptor would keep the adapter's name taken

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(error.strerror or str(error))
            return
        if data:
            self._received(data)
        else:
            self._end("the adapter is gone")

    def _end(self, why: str) -> None:
        self.close()
        self._lost(why)


def _lock(fd: int, path: str) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(f"{path} is in use by another process: a serial line has one owner") from None


def _set(fd: int, line: Line, speed: int, path: str) -> None:
    try:
        attributes = termios.tcgetattr(fd)
        flags = termios.CS8 | termios.CREAD | termios.CLOCAL | _PARITY[line.parity]
        if line.stop_bits == 2:
            flags |= termios.CSTOPB
        # A byte with a wrong parity becomes a 0, which the CRC finds (no IGNPAR, no PARMRK).
        attributes[0] = termios.INPCK if line.parity != "N" else 0
        attributes[1:6] = [0, flags, 0, speed, speed]
        attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
        termios.tcsetattr(fd, termios.TCSANOW, attributes)
        termios.tcflush(fd, termios.TCIOFLUSH)
    except termios.error as error:
        raise OSError(f"{path} is no serial port, or cannot be set to {line}: {error}") from None


class _Stream(asyncio.Protocol):
    """One TCP connection to a gateway."""

    def __init__(self, received: Received, lost: Lost) -> None:
        self._received, self._lost = received, lost
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # ruff: ignore[assert] - what asyncio hands to a TCP protocol
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._transport = None
            self._lost(str(exc) if exc is not None else "closed by the gateway")

    def write(self, data: bytes) -> None:
        if self._transport is None:
            raise OSError("the connection is closed")
        self._transport.write(data)

    def close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()


def serial(path: str, line: Line) -> Opener:
    async def open_port(received: Received, lost: Lost) -> Wire:  # ruff: ignore[unused-async] - as an Opener is called
        return SerialPort(path, line, received, lost)

    return open_port


def stream(host: str, port: int, timeout_s: float) -> Opener:
    async def open_stream(received: Received, lost: Lost) -> Wire:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                _, protocol = await loop.create_connection(lambda: _Stream(received, lost), host, port)
        except TimeoutError:
            raise OSError(f"no answer to the connection attempt in {timeout_s:g} s") from None
        return protocol

    return open_stream
