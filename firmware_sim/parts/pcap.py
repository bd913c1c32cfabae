"""TCP segments out of packet captures: classic pcap and pcapng; Ethernet, loopback, raw IP, Linux cooked; IPv4. Pure.

Whatever is no TCP over IPv4 is passed over. A file that is no capture, or ends within a packet, is refused.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

Address = tuple[str, int]
_CLASSIC = {
    b"\xa1\xb2\xc3\xd4": (">", 1e6),
    b"\xd4\xc3\xb2\xa1": ("<", 1e6),
    b"\xa1\xb2\x3c\x4d": (">", 1e9),
    b"\x4d\x3c\xb2\xa1": ("<", 1e9),
}
_SECTION, _INTERFACE, _ENHANCED, _SIMPLE = 0x0A0D0D0A, 1, 6, 3
_IP_AT = {1: 14, 0: 4, 108: 4, 101: 0, 228: 0, 113: 16, 276: 20}
"""Link type -> where the IP header begins."""
_VLAN = (0x8100, 0x88A8)
_SYN, _TCP, _IPV4 = 0x02, 6, 0x0800
_MOST = 1 << 26


class CaptureError(ValueError):
    """A file that is no capture that can be read; the message says what is wrong and at which byte or line."""


class Packet(NamedTuple):
    """A frame as captured; ``link`` its link type, ``cut`` whether the capture kept only its beginning."""

    at_s: float
    link: int
    data: bytes
    cut: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """A TCP segment."""

    at_s: float
    source: Address
    target: Address
    number: int
    syn: bool
    data: bytes
    cut: bool


def segments(data: bytes) -> list[Segment]:
    """Return every TCP segment of a capture, as they were captured. Raises CaptureError."""
    return [found for packet in packets(data) if (found := _segment(packet)) is not None]


def packets(data: bytes) -> Iterator[Packet]:
    """Yield every packet. Raises CaptureError."""
    if data[:4] in _CLASSIC:
        return _classic(data)
    if data[:4] == b"\x0a\x0d\x0d\x0a":
        return _ng(data)
    raise CaptureError(f"no capture: begins with {data[:4].hex(' ') or 'nothing'}, neither pcap nor pcapng")


def _unpack(form: str, data: bytes, at: int) -> tuple[int, ...]:
    if at + struct.calcsize(form) > len(data):
        raise CaptureError(f"the capture ends in the middle of something, at byte {len(data)}")
    return struct.unpack_from(form, data, at)


def _classic(data: bytes) -> Iterator[Packet]:
    order, ticks = _CLASSIC[data[:4]]
    (link,) = _unpack(order + "I", data, 20)
    at = 24
    while at < len(data):
        seconds, part, kept, length = _unpack(order + "4I", data, at)
        at += 16
        if kept > _MOST or at + kept > len(data):
            raise CaptureError(
                f"the packet at byte {at} is said to have {kept} bytes; the file has {len(data) - at} more"
            )
        yield Packet(seconds + part / ticks, link & 0xFFFF, data[at : at + kept], kept < length)
        at += kept


def _ng(data: bytes) -> Iterator[Packet]:
    order, links, at = "<", list[tuple[int, float]](), 0
    while at < len(data):
        if data[at : at + 4] == b"\x0a\x0d\x0d\x0a":
            magic = data[at + 8 : at + 12]
            if magic not in {b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"}:
                raise CaptureError(f"the section at byte {at} has no byte order: {magic.hex(' ')}")
            order, links = (">" if magic[0] == 0x1A else "<"), []
        kind, length = _unpack(order + "2I", data, at)
        if length < 12 or length % 4 or at + length > len(data):
            raise CaptureError(
                f"the block at byte {at} is said to have {length} bytes; the file has {len(data) - at} more"
            )
        body = data[at + 8 : at + length - 4]
        if kind == _INTERFACE:
            (link,) = _unpack(order + "H", body, 0)
            links.append((link, _ticks(order, body[8:])))
        elif kind == _ENHANCED:
            number, high, low, kept, whole = _unpack(order + "5I", body, 0)
            if number >= len(links) or 20 + kept > len(body):
                raise CaptureError(f"the packet block at byte {at} has no such interface, or fewer bytes than it says")
            link, ticks = links[number]
            yield Packet((high << 32 | low) / ticks, link, body[20 : 20 + kept], kept < whole)
        elif kind == _SIMPLE:
            raise CaptureError(f"the packet block at byte {at} has no time: nothing can be replayed in time")
        at += length


def _ticks(order: str, options: bytes) -> float:
    """Ticks per second of an interface, by its option if_tsresol; microseconds without it."""
    at = 0
    while at + 4 <= len(options):
        code, length = struct.unpack_from(order + "2H", options, at)
        if code == 9 and length >= 1 and at + 4 < len(options):
            power = options[at + 4]
            return float(2 ** (power & 0x7F)) if power & 0x80 else 10.0 ** min(power, 18)
        if code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return 1e6


def _segment(packet: Packet) -> Segment | None:
    data, link = packet.data, packet.link
    at = _IP_AT.get(link)
    if at is None:
        raise CaptureError(f"link type {link} is not read; known: {', '.join(map(str, sorted(_IP_AT)))}")
    if link == 1:
        while data[at - 2 : at] and int.from_bytes(data[at - 2 : at]) in _VLAN:
            at += 4
        if int.from_bytes(data[at - 2 : at]) != _IPV4:
            return None
    if len(data) < at + 20 or data[at] >> 4 != 4 or data[at + 9] != _TCP:
        return None
    tcp = at + (data[at] & 0x0F) * 4
    whole, fragment = struct.unpack_from(">H2xH", data, at + 2)
    if fragment & 0x3FFF or len(data) < tcp + 20 or tcp < at + 20:
        return None
    source, target, number = struct.unpack_from(">2HI", data, tcp)
    begin = tcp + (data[tcp + 12] >> 4) * 4
    end = at + whole if whole else len(data)  # 0: segmentation was left to the card
    return Segment(
        packet.at_s,
        (".".join(map(str, data[at + 12 : at + 16])), source),
        (".".join(map(str, data[at + 16 : at + 20])), target),
        number,
        bool(data[tcp + 13] & _SYN),
        data[begin:end] if begin >= tcp + 20 else b"",
        packet.cut or end > len(data),
    )
