"""Somebody between the daemon and one simulated device: passes requests on, or answers in the device's place."""

import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import yaml

from tests.wire.cases.device import with_shutdown
from tests.wire.guarded import Guarded

WRITES = frozenset({5, 6, 15, 16})
Answer = Callable[[bytes], bytes | None]
"""A request's PDU -> the PDU that is answered in the device's place; None: it is passed on."""


@dataclass(frozen=True)
class Write:
    """One write request as it came; ``answered`` in the device's place, which never saw it."""

    at_s: float
    pdu: bytes
    answered: bool

    @property
    def address(self) -> int:
        return int.from_bytes(self.pdu[1:3])

    @property
    def words(self) -> tuple[int, ...]:
        data = self.pdu[6:] if self.pdu[0] == 16 else self.pdu[3:]
        return tuple(int.from_bytes(data[n : n + 2]) for n in range(0, len(data), 2))


def passed_on(_pdu: bytes) -> bytes | None:
    return None


class Between:
    """``answer`` may be changed at any time; ``writes`` grows."""

    def __init__(self, device: str) -> None:
        host, _, port = device.rpartition(":")
        self._device = host, int(port)
        self._server = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self.answer: Answer = passed_on
        self.writes: list[Write] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with_shutdown(self._server)
        self._server.close()
        for one in tuple(self._open):
            with_shutdown(one)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(self._device) as far:
            for one in (near, far):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open.add(one)
            try:
                while (request := _frame(near)) is not None:
                    own = self.answer(request[7:])
                    if request[7] in WRITES:
                        self.writes.append(Write(time.monotonic(), request[7:], own is not None))
                    if own is not None:
                        near.sendall(request[:4] + (len(own) + 1).to_bytes(2) + request[6:7] + own)
                        continue
                    far.sendall(request)
                    if (reply := _frame(far)) is None:
                        return
                    near.sendall(reply)
            except OSError:
                return
            finally:
                self._open -= {near, far}


def _frame(wire: socket.socket) -> bytes | None:
    head = _exactly(wire, 6)
    return None if head is None or (body := _exactly(wire, int.from_bytes(head[4:6]))) is None else head + body


def _exactly(wire: socket.socket, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        more = wire.recv(count - len(data))
        if not more:
            return None
        data += more
    return data


@contextmanager
def between(rack: Guarded, device: str) -> Generator[Between, None, None]:
    """Put somebody between a rack that is not started yet and one of its devices."""
    config = yaml.safe_load(rack.config.read_text(encoding="utf-8"))
    one = Between(config["buses"][device]["tcp"])
    config["buses"][device]["tcp"] = one.address
    rack.config.write_text(yaml.safe_dump(config), encoding="utf-8")
    try:
        yield one
    finally:
        one.close()


def refused(code: int, *addresses: int) -> Answer:
    """Writes that begin at one of these addresses are answered with an exception."""

    def answer(pdu: bytes) -> bytes | None:
        mine = pdu[0] in WRITES and int.from_bytes(pdu[1:3]) in addresses
        return bytes((pdu[0] | 0x80, code)) if mine else None

    return answer


def swallowed(*addresses: int) -> Answer:
    """Writes that begin at one of these addresses are acknowledged, and not done."""
    return lambda pdu: pdu[:5] if pdu[0] in WRITES and int.from_bytes(pdu[1:3]) in addresses else None
