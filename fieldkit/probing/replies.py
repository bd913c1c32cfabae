"""Replies by which a device says who it is, and where in a serial line's bytes a reply is. Pure.

Function 0x2B/0x0E (Read Device Identification, application protocol 1.1b3, 6.21) and 0x11 (Report Server ID, 6.13).
Whatever a device sends is taken or refused as a value; nothing here raises.
"""

from dataclasses import dataclass

from fieldkit.rtu_frames import crc

IDENTIFY, MEI, REPORT = 0x2B, 0x0E, 0x11
BASIC, REGULAR = 1, 2
OBJECTS = {
    0: "vendor",
    1: "product_code",
    2: "revision",
    3: "vendor_url",
    4: "product_name",
    5: "model",
    6: "application",
}
_REPLY_BYTES = frozenset({1, 2, 3, 4, REPORT})
_WRITE_BYTES = frozenset({5, 6, 15, 16})


@dataclass(frozen=True, slots=True)
class Objects:
    """One reply to 0x2B/0x0E: object id -> text; ``more`` is the object to ask from next, None when that was all."""

    texts: dict[int, str]
    more: int | None


def ask_objects(category: int, first: int) -> bytes:
    """The request PDU."""
    return bytes((IDENTIFY, MEI, category, first))


def objects(pdu: bytes) -> Objects | None:
    """Return what a reply PDU to ``ask_objects`` tells; None when it is no such reply."""
    if len(pdu) < 7 or pdu[0] != IDENTIFY or pdu[1] != MEI:
        return None
    more, after, count = pdu[4], pdu[5], pdu[6]
    texts: dict[int, str] = {}
    at = 7
    for _ in range(count):
        if at + 2 > len(pdu) or at + 2 + pdu[at + 1] > len(pdu):
            return None
        number, size = pdu[at], pdu[at + 1]
        texts[number] = printable(pdu[at + 2 : at + 2 + size])
        at += 2 + size
    return Objects(texts, after if more == 0xFF else None)


def server_id(pdu: bytes) -> str | None:
    """Return what a reply PDU to 0x11 tells, its text or its bytes in hex; None when it is no such reply."""
    if len(pdu) < 2 or pdu[0] != REPORT or len(pdu) != 2 + pdu[1] or not pdu[1]:
        return None
    return printable(pdu[2:])


def printable(data: bytes) -> str:
    """Return ``data`` as text where it is mostly printable ASCII, in hex where it is not."""
    body = data.strip(b"\x00 ")
    odd = sum(not 0x20 <= byte < 0x7F for byte in body)
    if not body or odd * 4 > len(body):
        return data.hex(" ")
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in body)


def rtu_reply(data: bytes, unit: int, function: int) -> bytes | None:
    """Return the PDU of the first whole frame in ``data`` by which ``unit`` answers ``function``; None: none so far."""
    for at in range(len(data) - 4):
        if data[at] != unit or data[at + 1] & 0x7F != function:
            continue
        end = at + _length(data[at:])
        if at < end <= len(data) and crc(data[at : end - 2]) == data[end - 2 : end]:
            return data[at + 1 : end - 2]
    return None


def _length(frame: bytes) -> int:
    """Length of the reply that ``frame`` begins with, by its function code; 0 when it cannot be told (yet)."""
    function = frame[1]
    if function & 0x80:
        return 5
    if function in _REPLY_BYTES:
        return 5 + frame[2]
    if function in _WRITE_BYTES:
        return 8
    if function != IDENTIFY or len(frame) < 8:
        return 0
    at = 8
    for _ in range(frame[7]):
        if at + 2 > len(frame):
            return 0
        at += 2 + frame[at + 1]
    return at + 2
