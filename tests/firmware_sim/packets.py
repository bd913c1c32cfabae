"""Packet captures made by hand: what a test says on a wire, as the bytes that a capture would hold of it."""

import struct
from dataclasses import dataclass

CLIENT, DEVICE = ("10.0.0.1", 40000), ("10.0.0.2", 502)
Address = tuple[str, int]


def ip(address: str) -> bytes:
    return bytes(map(int, address.split(".")))


def tcp(source: Address, target: Address, number: int, data: bytes, *, syn: bool = False) -> bytes:
    """An IPv4 packet; checksums are left 0, as a card that computes them leaves them."""
    header = struct.pack(">HHIIBBHHH", source[1], target[1], number, 0, 5 << 4, 0x02 if syn else 0x18, 8192, 0, 0)
    whole = 20 + len(header) + len(data)
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, whole, 0, 0x4000, 64, 6, 0, ip(source[0]), ip(target[0]))
    return head + header + data


LINKS = {
    1: b"\x02" * 12 + b"\x08\x00",
    0: b"\x02\x00\x00\x00",
    101: b"",
    113: b"\x00" * 14 + b"\x08\x00",
    276: b"\x08\x00" + b"\x00" * 18,
}


@dataclass(frozen=True)
class Packet:
    at_s: float
    data: bytes
    whole: int | None = None


def classic(packets: list[Packet], *, link: int = 1, order: str = "<", nano: bool = False) -> bytes:
    out = struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    for one in packets:
        data, ticks = LINKS[link] + one.data, 1e9 if nano else 1e6
        seconds = int(one.at_s)
        part = round((one.at_s - seconds) * ticks)
        out += struct.pack(order + "4I", seconds, part, len(data), one.whole or len(data)) + data
    return out


def _block(kind: int, body: bytes, order: str) -> bytes:
    body += b"\0" * (-len(body) % 4)
    return struct.pack(order + "2I", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


def ng(packets: list[Packet], *, link: int = 1, order: str = "<", resolution: int | None = None) -> bytes:
    out = _block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    options = b"" if resolution is None else struct.pack(order + "HHB3x", 9, 1, resolution) + b"\0" * 4
    out += _block(1, struct.pack(order + "HHI", link, 0, 0) + options, order)
    out += _block(5, b"\0" * 12, order)  # statistics: passed over
    ticks = 1e6 if resolution is None else 10.0**resolution
    for one in packets:
        data, stamp = LINKS[link] + one.data, round(one.at_s * ticks)
        head = struct.pack(order + "5I", 0, stamp >> 32, stamp & 0xFFFFFFFF, len(data), len(data))
        out += _block(6, head + data, order)
    return out
