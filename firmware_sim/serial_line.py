"""Simulated devices on a serial line: RTU on a pseudo-terminal or inside TCP, or a Modbus TCP gateway before the line.

The line is timed as a real one: a request takes its characters, the device answers after its gap and delay, the reply
comes at the line's speed, and whoever asks meanwhile waits. A slave that finds a wrong CRC stays silent.
"""

import asyncio
import contextlib
import os
import time
import tty
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from fieldkit.rtu_frames import Line, crc, framed
from firmware_sim.parts.noise import Noise
from firmware_sim.parts.registers import Answer
from firmware_sim.wire import HEADER, Endpoint
from firmware_sim.wire_faults import LINE_DEFAULTS, LineFault, WireFault, spoil

CHUNK_S = 0.002
"""Characters leave in groups of so much: finer is more than an event loop can do, and than a reader can tell."""
STALE_S = 0.05
"""Half a request that is not gone on with for so long is forgotten."""


class LineKind(StrEnum):
    """How a line is reached."""

    PTY = "pty"
    RTU_OVER_TCP = "rtu_over_tcp"
    TCP_GATEWAY = "tcp_gateway"


@dataclass(frozen=True, slots=True)
class LineSetting:
    """One line.

    units      unit id on the line -> endpoint, e.g. 3: ``r01/feeder_meter``
    port       TCP port, 0 for a free one
    link       path of a symbolic link to the pseudo-terminal, as /dev/serial/by-id has it; None for none
    target_s   how long a TCP gateway waits for a unit before it answers 0x0B
    """

    name: str
    kind: LineKind
    units: Mapping[int, str]
    line: Line = field(default_factory=Line)
    port: int = 0
    link: Path | None = None
    target_s: float = 0.5


class SimulatedLine:
    """One line and its devices; ``address`` is the pseudo-terminal or ``host:port`` once it is open."""

    def __init__(self, setting: LineSetting, units: Mapping[int, Endpoint], noise: Noise) -> None:
        self.setting = setting
        self.units = dict(units)
        self.faults: dict[LineFault, float] = {}
        self.address = ""
        self.bad_frames = 0
        self._noise, self._line = noise, setting.line
        self._free_s = 0.0
        self._rest, self._rest_s = b"", 0.0
        self._put: Callable[[bytes], None] = lambda _data: None
        self._fds: tuple[int, ...] = ()
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.StreamWriter] = set()
        self._waiting: deque[tuple[bytes, asyncio.StreamWriter]] = deque()
        self._asking = False
        self._timers: set[asyncio.TimerHandle] = set()

    # -- opening ----------------------------------------------------------------------------------------------------

    async def open(self, host: str) -> str:
        """Open the line; return its address. Raises OSError."""
        if self.setting.kind is LineKind.PTY:
            self._open_pty()
        else:
            serve = self._serve_rtu if self.setting.kind is LineKind.RTU_OVER_TCP else self._serve_tcp
            self._server = await asyncio.start_server(serve, host, self.setting.port)
            self.address = f"{host}:{self._server.sockets[0].getsockname()[1]}"
            self._put = self._to_all
        return self.address

    def close(self) -> None:
        """Close the line and drop everybody on it."""
        for timer in self._timers:
            timer.cancel()
        for client in tuple(self._clients):
            client.transport.abort()
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._fds:
            asyncio.get_running_loop().remove_reader(self._fds[0])
            for fd in self._fds:
                os.close(fd)
            self._fds = ()
            if self.setting.link is not None:
                self.setting.link.unlink(missing_ok=True)

    def set_fault(self, fault: LineFault, value: float | None) -> None:
        self.faults[fault] = LINE_DEFAULTS.get(fault, 0.0) if value is None else value

    def clear_fault(self, fault: LineFault) -> None:
        self.faults.pop(fault, None)

    def document(self) -> dict[str, object]:
        units = {str(unit): endpoint.name for unit, endpoint in self.units.items()}
        return {"kind": self.setting.kind, "address": self.address, "settings": str(self._line), "units": units}

    def _open_pty(self) -> None:
        master, slave = os.openpty()
        self._fds = (master, slave)  # the slave's end stays open: the master would be told of each hang-up
        tty.setraw(slave)
        os.set_blocking(master, False)
        self.address = os.ttyname(slave)
        self._put = self._to_master
        asyncio.get_running_loop().add_reader(master, self._readable)
        if (link := self.setting.link) is not None:
            link.unlink(missing_ok=True)
            link.symlink_to(self.address)

    def _readable(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._received(os.read(self._fds[0], 4096))

    def _to_master(self, data: bytes) -> None:
        if self._fds:
            with contextlib.suppress(BlockingIOError):  # nobody reads: the line does not wait for anybody
                os.write(self._fds[0], data)

    def _to_all(self, data: bytes) -> None:
        for client in self._clients:
            client.write(data)

    # -- RTU --------------------------------------------------------------------------------------------------------

    async def _serve_rtu(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._serve(reader, writer, self._received)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, received: Callable[[bytes], None]
    ) -> None:
        self._clients.add(writer)
        try:
            while data := await reader.read(4096):
                received(data)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client went away, or the bench does
        finally:
            self._clients.discard(writer)
            writer.close()

    def _received(self, data: bytes) -> None:
        now_s = asyncio.get_running_loop().time()
        if now_s - self._rest_s > STALE_S:
            self._rest = b""
        self._rest, self._rest_s = self._rest + data, now_s
        if LineFault.GATEWAY_FROZEN in self.faults:
            self._rest = b""
            return
        while (size := _request_size(self._rest)) and size <= len(self._rest):
            frame, self._rest = self._rest[:size], self._rest[size:]
            if crc(frame[:-2]) != frame[-2:]:
                self.bad_frames += 1
                self._rest = b""
                return
            self._carry(frame)

    def _carry(self, frame: bytes) -> None:
        """Let a request take its time on the line, then be answered."""
        loop = asyncio.get_running_loop()
        begun_s = max(loop.time(), self._free_s)
        if LineFault.ECHO in self.faults:
            self._pace(frame, begun_s)
        gone_s = begun_s + self._line.frame_s(len(frame))
        self._free_s = gone_s
        self._at(gone_s, lambda: self._answer(frame, gone_s))

    def _answer(self, frame: bytes, gone_s: float) -> None:
        unit = frame[0]
        reply = self._asked(unit, frame[1:-2])
        if reply is None:
            return
        endpoint = self.units[unit]
        late_s = endpoint.faults.get(WireFault.LATE_REPLY, 0.0) / 1000
        begun_s = gone_s + max(self._line.gap_s, endpoint.firmware.map.reply_delay_s) + late_s
        if LineFault.LINE_NOISE in self.faults:
            reply = self._noise.bytes(int(self.faults[LineFault.LINE_NOISE])) + reply
        for _ in range(2 if WireFault.DUPLICATE in endpoint.faults else 1):
            self._pace(reply, begun_s)
            begun_s += self._line.frame_s(len(reply)) + self._line.gap_s
        if not late_s:  # a late device does not keep the line
            self._free_s = max(self._free_s, begun_s)

    def _asked(self, unit: int, pdu: bytes) -> bytes | None:
        """What a unit puts on the line, right or wrong; None when it is silent."""
        endpoint = self.units.get(unit)
        if endpoint is None or not endpoint.powered or WireFault.NO_REPLY in endpoint.faults:
            return None
        reply = endpoint.serve(pdu, endpoint.firmware.map.unit_id, time.monotonic_ns())
        size = len(reply) + 1
        whole = bytes((0, 0, 0, 0, size >> 8, size & 0xFF, unit)) + reply
        if WireFault.GARBAGE in endpoint.faults:
            return spoil(whole, endpoint.faults, self._noise)
        half = {WireFault.HALF_FRAME} & endpoint.faults.keys()
        spoilt = spoil(whole, {key: value for key, value in endpoint.faults.items() if key not in half}, self._noise)
        out = framed(spoilt[6], spoilt[HEADER:])
        if LineFault.BAD_CRC in self.faults:
            out = out[:-1] + bytes((out[-1] ^ 0xFF,))
        return out[: len(out) // 2] if half else out

    def _pace(self, data: bytes, begun_s: float) -> None:
        """Send at the line's speed: each group leaves when its last character has."""
        step = max(1, int(CHUNK_S / self._line.character_s))
        for at in range(0, len(data), step):
            piece = data[at : at + step]
            self._at(begun_s + self._line.frame_s(at + len(piece)), lambda piece=piece: self._put(piece))  # type: ignore[misc]

    def _at(self, when_s: float, do: Callable[[], object]) -> None:
        def run() -> None:
            self._timers.discard(timer)
            do()

        timer = asyncio.get_running_loop().call_at(when_s, run)
        self._timers.add(timer)

    # -- a Modbus TCP gateway before the line -------------------------------------------------------------------------

    async def _serve_tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        rest = b""

        def received(data: bytes) -> None:
            nonlocal rest
            rest += data
            while len(rest) > HEADER and len(rest) >= 6 + int.from_bytes(rest[4:6]):
                end = 6 + int.from_bytes(rest[4:6])
                request, rest = rest[:end], rest[end:]
                if LineFault.GATEWAY_FROZEN not in self.faults:
                    self._waiting.append((request, writer))
                    self._pass_on()

        await self._serve(reader, writer, received)

    def _pass_on(self) -> None:
        """Ask the line for the client that has waited longest; a silent unit costs the gateway's patience."""
        if self._asking or not self._waiting:
            return
        request, writer = self._waiting.popleft()
        self._asking = True
        gone_s = asyncio.get_running_loop().time() + self._line.frame_s(len(request) - 6 + 2)
        unit, pdu = request[6], request[HEADER:]

        def ask() -> None:
            said, endpoint, takes_s = self._asked(unit, pdu), self.units.get(unit), self.setting.target_s
            if said is not None and endpoint is not None:
                late_s = endpoint.faults.get(WireFault.LATE_REPLY, 0.0) / 1000
                takes_s = max(self._line.gap_s, endpoint.firmware.map.reply_delay_s) + late_s
                takes_s += self._line.frame_s(len(said))
            good = said is not None and takes_s <= self.setting.target_s and crc(said[:-2]) == said[-2:]
            reply = said[1:-2] if said is not None and good else bytes((pdu[0] | 0x80, Answer.GATEWAY_TARGET))
            self._at(gone_s + min(takes_s, self.setting.target_s), lambda: answered(reply))

        def answered(reply: bytes) -> None:
            size = len(reply) + 1
            writer.write(request[:4] + bytes((size >> 8, size & 0xFF, unit)) + reply)
            self._asking = False
            self._pass_on()

        self._at(gone_s, ask)


def _request_size(data: bytes) -> int:
    """Length of the RTU request at the head of ``data``; 0 when that cannot be told yet."""
    if len(data) < 7:
        return 0
    return 9 + data[6] if data[1] in {15, 16} else 7 if data[1] == 0x2B else 8
