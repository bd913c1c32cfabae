"""A recorded Modbus TCP conversation: what was asked, and which bytes came back when. Pure.

Replies are found by their transaction id, so that one which came after its time belongs to what it answers. Bytes that
answer nothing (garbage, a garbled id) belong to the request before them, and are kept as they are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from firmware_sim.parts.pcap import Address, CaptureError, Segment

HEADER = 7
_LONGEST = 254
_HALF = 1 << 31


class Event(NamedTuple):
    """Bytes of one connection as they came; ``asked``: from the client."""

    at_s: float
    connection: int
    asked: bool
    data: bytes


class Piece(NamedTuple):
    """Bytes of a reply, so many seconds after its request. ``own_id``: they begin with the request's transaction id."""

    after_s: float
    data: bytes
    own_id: bool


@dataclass(slots=True)
class Exchange:
    """A request, without its transaction id, and what came back; nothing when the device was silent."""

    at_s: float
    connection: int
    tid: bytes
    request: bytes
    pieces: list[Piece] = field(default_factory=list)


def cut(data: bytes) -> tuple[list[bytes], bytes, bool]:
    """Return the whole Modbus TCP frames that ``data`` begins with, what is left, and whether that may become a frame."""
    frames, at = list[bytes](), 0
    while len(data) - at >= 6:
        length = int.from_bytes(data[at + 4 : at + 6])
        if data[at + 2 : at + 4] != b"\0\0" or not 2 <= length <= _LONGEST:
            return frames, data[at:], False
        if len(data) - at < 6 + length:
            break
        frames.append(data[at : at + 6 + length])
        at += 6 + length
    return frames, data[at:], True


def exchanges(events: Iterable[Event]) -> list[Exchange]:
    """Return the exchanges of all connections in the order of their requests."""
    by_connection: dict[int, list[Event]] = {}
    for event in sorted(events, key=lambda one: one.at_s):
        by_connection.setdefault(event.connection, []).append(event)
    found = [one for events_of in by_connection.values() for one in _of_one(events_of)]
    return sorted(found, key=lambda one: one.at_s)


def _of_one(events: Sequence[Event]) -> list[Exchange]:
    out: list[Exchange] = []
    asked, told = b"", list[tuple[float, bytes]]()
    for event in events:
        if event.asked:
            told = _leftover(out, told)
            frames, asked, sound = cut(asked + event.data)
            out += [Exchange(event.at_s, event.connection, frame[:2], frame[2:]) for frame in frames]
            asked = asked if sound else b""
            continue
        told.append((event.at_s, event.data))
        frames, rest, sound = cut(b"".join(data for _, data in told))
        for frame in frames:
            parts, told = _taken(told, len(frame))
            _give(out, parts, frame[:2])
        if not sound and rest:
            _give(out, told, b"")
            told = []
    _leftover(out, told)
    return out


def _leftover(out: list[Exchange], told: list[tuple[float, bytes]]) -> list[tuple[float, bytes]]:
    """Half a frame that a new request follows: it stays with the request before, unless the rest may still come."""
    if told and len(out) > 0 and not any(one.tid == b"".join(data for _, data in told)[:2] for one in out[-4:]):
        _give(out, told, b"")
        return []
    return told


def _taken(told: list[tuple[float, bytes]], size: int) -> tuple[list[tuple[float, bytes]], list[tuple[float, bytes]]]:
    """Split what was told behind ``size`` bytes."""
    parts, left = list[tuple[float, bytes]](), list(told)
    while size > 0:
        at_s, data = left.pop(0)
        parts.append((at_s, data[:size]))
        if len(data) > size:
            left.insert(0, (at_s, data[size:]))
        size -= len(data)
    return parts, left


def _give(out: list[Exchange], parts: list[tuple[float, bytes]], tid: bytes) -> None:
    """Give a reply to the newest request of its id that has none, else to the newest of its id, else to the last one."""
    if not out:
        return
    same = [one for one in reversed(out) if one.tid == tid]
    owner = next((one for one in same if not one.pieces), same[0] if same else out[-1])
    for n, (at_s, data) in enumerate(parts):
        owner.pieces.append(Piece(max(0.0, at_s - owner.at_s), data, n == 0 and bool(same) and len(data) >= 2))


def events_of(segments: Sequence[Segment], device: Address | None = None) -> list[Event]:
    """Return what the TCP connections of a capture carried. ``device``: only those to this address.

    Repeated bytes count once, at their first time. Raises CaptureError for bytes that are missing.
    """
    devices = _devices(segments)
    if device is not None and device not in devices:
        raise CaptureError(
            f"nobody spoke to {_name(device)}; there are {', '.join(map(_name, sorted(devices))) or 'none'}"
        )
    if device is None and len(devices) > 1:
        raise CaptureError(f"there are several devices, say which: {', '.join(map(_name, sorted(devices)))}")
    flows: dict[tuple[Address, Address], list[Segment]] = {}
    for segment in segments:
        if devices & {segment.source, segment.target} and device in {None, segment.source, segment.target}:
            flows.setdefault((segment.source, segment.target), []).append(segment)
    clients = sorted({source if target in devices else target for source, target in flows})
    out: list[Event] = []
    for (source, target), flow in flows.items():
        asked = target in devices
        client = source if asked else target
        out += [Event(at_s, clients.index(client), asked, data) for at_s, data in _stream(flow)]
    return sorted(out, key=lambda one: one.at_s)


def _name(address: Address) -> str:
    return f"{address[0]}:{address[1]}"


def _devices(segments: Sequence[Segment]) -> set[Address]:
    """Who is spoken to: whoever a connection was opened to, and port 502 where its opening was not captured."""
    opened, seen = set[Address](), set[frozenset[Address]]()
    for segment in segments:
        pair = frozenset((segment.source, segment.target))
        if segment.syn and pair not in seen:
            opened.add(segment.target)
        elif pair not in seen and segment.data:
            fitting = [one for one in (segment.target, segment.source) if one[1] == 502]
            opened.add(fitting[0] if fitting else segment.target)
        if segment.syn or segment.data:
            seen.add(pair)
    return opened


def _stream(flow: Sequence[Segment]) -> list[tuple[float, bytes]]:
    """Put one direction of one connection in order: (when the bytes came, the bytes). Ends at a gap of the capture's."""
    out, waiting, expected = list[tuple[float, bytes]](), dict[int, Segment](), -1
    for segment in flow:
        if segment.syn:
            expected, waiting = (segment.number + 1) & 0xFFFFFFFF, {}
        if not segment.data:
            continue
        if segment.cut:
            raise CaptureError(
                f"the capture kept only the beginning of a packet to {_name(segment.target)}: capture with -s 0"
            )
        expected = segment.number if expected < 0 else expected
        waiting.setdefault(segment.number if not segment.syn else expected, segment)
        while (found := _next(waiting, expected)) is not None:
            behind = (expected - found.number) & 0xFFFFFFFF if not found.syn else 0
            new = found.data[behind:]
            if new:
                out.append((max(segment.at_s, found.at_s), new))
                expected = (expected + len(new)) & 0xFFFFFFFF
    if waiting:
        lost = next(iter(waiting.values()))
        raise CaptureError(
            f"the capture misses bytes from {_name(lost.source)} to {_name(lost.target)} before {lost.at_s:.6f} s"
        )
    return out


def _next(waiting: dict[int, Segment], expected: int) -> Segment | None:
    """Take the segment that goes on at ``expected``; one that is wholly behind it is dropped."""
    for number, segment in list(waiting.items()):
        if (expected - number) & 0xFFFFFFFF < _HALF:
            del waiting[number]
            if (expected - number) & 0xFFFFFFFF < len(segment.data):
                return segment
    return None
