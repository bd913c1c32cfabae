"""A device that a test scripts, in threads of its own: on TCP, on a pseudo-terminal, or RTU inside TCP.

Registers hold what ``registers`` says, else 0. A script answers a request with what happens one after the other: bytes
that leave, a number of seconds that pass, or ``CLOSE``.
"""

import os
import socket
import struct
import threading
import time
import tty
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.wire.scripted_line import crc16

CLOSE = "close"
Step = bytes | float | str
Script = Callable[["Ask"], Sequence[Step]]


@dataclass(frozen=True)
class Ask:
    """One request. ``rtu`` says in which form its answers leave."""

    device: "Device"
    tid: int
    unit: int
    pdu: bytes
    rtu: bool
    connection: int
    at_s: float = field(default_factory=time.monotonic)

    @property
    def function(self) -> int:
        return self.pdu[0]

    @property
    def address(self) -> int:
        return int.from_bytes(self.pdu[1:3])

    @property
    def count(self) -> int:
        return int.from_bytes(self.pdu[3:5])

    def answer(self) -> bytes:
        """The right PDU."""
        if self.function in {3, 4}:
            words = [self.device.registers.get(self.address + n, 0) & 0xFFFF for n in range(self.count)]
            return struct.pack(f">BB{len(words)}H", self.function, 2 * len(words), *words)
        if self.function in {1, 2}:
            size = (self.count + 7) // 8
            return bytes([self.function, size]) + bytes(size)
        return self.pdu[:5]

    def framed(
        self, pdu: bytes, *, tid: int | None = None, unit: int | None = None, length: int | None = None
    ) -> bytes:
        who = self.unit if unit is None else unit
        if self.rtu:
            return bytes([who]) + pdu + crc16(bytes([who]) + pdu)
        number, size = (self.tid if tid is None else tid), (len(pdu) + 1 if length is None else length)
        return struct.pack(">HHHB", number, 0, size, who) + pdu

    def good(self) -> bytes:
        return self.framed(self.answer())

    def refused(self, code: int) -> bytes:
        return self.framed(bytes([self.function | 0x80, code]))

    @property
    def request(self) -> bytes:
        """The frame as it came."""
        return self.framed(self.pdu)


def well(ask: Ask) -> Sequence[Step]:
    return [ask.good()]


class Device:
    """``script`` and ``registers`` may be changed at any time; ``asked`` grows."""

    def __init__(self, script: Script = well) -> None:
        self.script = script
        self.registers: dict[int, int] = {}
        self.asked: list[Ask] = []
        self.connections = 0
        self.address = ""
        self.ended = False
        self._open: set[socket.socket] = set()

    def hang_up(self) -> None:
        for one in tuple(self._open):
            with_shutdown(one)

    def _react(self, ask: Ask, put: Callable[[bytes], object], close: Callable[[], object]) -> None:
        self.asked.append(ask)
        steps = self.script(ask)
        if any(isinstance(step, float) for step in steps):
            threading.Thread(target=self._play, args=(steps, put, close), daemon=True).start()
        else:
            self._play(steps, put, close)

    def _play(self, steps: Sequence[Step], put: Callable[[bytes], object], close: Callable[[], object]) -> None:
        for step in steps:
            if self.ended:
                return
            try:
                if isinstance(step, bytes):
                    put(step)
                elif isinstance(step, float):
                    time.sleep(step)
                else:
                    close()
            except OSError:
                return


def with_shutdown(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


@contextmanager
def on_tcp(script: Script = well, *, rtu: bool = False, port: int = 0) -> Generator[Device, None, None]:
    """A device or gateway on a free port of the loopback: Modbus TCP, or RTU frames inside TCP."""
    device = Device(script)
    server = socket.create_server(("127.0.0.1", port))
    device.address = f"127.0.0.1:{server.getsockname()[1]}"

    def serve(wire: socket.socket, number: int) -> None:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        device._open.add(wire)
        rest = b""
        try:
            while data := wire.recv(4096):
                rest += data
                rest = _take(device, rest, rtu, number, wire.sendall, lambda: with_shutdown(wire))
        except OSError:
            pass
        device._open.discard(wire)
        wire.close()

    def accept() -> None:
        while True:
            try:
                wire, _ = server.accept()
            except OSError:
                return
            device.connections += 1
            threading.Thread(target=serve, args=(wire, device.connections), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield device
    finally:
        device.ended = True
        with_shutdown(server)
        server.close()
        device.hang_up()


@contextmanager
def on_pty(script: Script = well) -> Generator[Device, None, None]:
    """Devices on a serial line."""
    device = Device(script)
    master, slave = os.openpty()
    tty.setraw(slave)
    device.address = os.ttyname(slave)

    def serve() -> None:
        rest = b""
        while not device.ended:
            try:
                rest += os.read(master, 4096)
            except OSError:
                return
            rest = _take(device, rest, True, 0, lambda data: os.write(master, data), lambda: None)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield device
    finally:
        device.ended = True
        os.close(slave)  # the last one out: the reader is told
        thread.join(1.0)
        os.close(master)


def _take(
    device: Device, rest: bytes, rtu: bool, number: int, put: Callable[[bytes], object], close: Callable[[], object]
) -> bytes:
    """React to every whole request at the head of ``rest``; return what is left."""
    while len(rest) >= 8:
        size = _rtu_size(rest) if rtu else 6 + int.from_bytes(rest[4:6])
        if len(rest) < size:
            break
        frame, rest = rest[:size], rest[size:]
        if not rtu:
            device._react(Ask(device, int.from_bytes(frame[:2]), frame[6], frame[7:], False, number), put, close)
        elif crc16(frame[:-2]) == frame[-2:]:
            device._react(Ask(device, 0, frame[0], frame[1:-2], True, number), put, close)
        else:
            return b""
    return rest


def _rtu_size(rest: bytes) -> int:
    return 9 + rest[6] if rest[1] in {15, 16} else 8
