"""Register maps as tables, and the memory behind them.

A ``DeviceMap`` is data typed from the maker's page; an ``Image`` is the memory of one Modbus table,
kept as the bytes of the wire (big-endian), so that a read is one slice.
"""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Table(StrEnum):
    """The four tables of Modbus."""

    COIL = "coil"
    DISCRETE = "discrete"
    INPUT = "input"
    HOLDING = "holding"


class Kind(StrEnum):
    """How a row of a map is to be read."""

    U16 = "u16"
    S16 = "s16"
    U32 = "u32"
    S32 = "s32"
    BITS = "bits"
    F32 = "f32"
    ASCII = "ascii"
    BIT = "bit"


class Answer(IntEnum):
    """What a device says to a request; all but OK are Modbus exception codes."""

    OK = 0
    ILLEGAL_FUNCTION = 1
    ILLEGAL_ADDRESS = 2
    ILLEGAL_VALUE = 3
    DEVICE_FAILURE = 4
    BUSY = 6
    GATEWAY_PATH = 10
    GATEWAY_TARGET = 11


WIDE = frozenset({Kind.F32, Kind.U32, Kind.S32})
"""Kinds that take two registers, whose order counts."""
ALL_FUNCTIONS = frozenset({1, 2, 3, 4, 5, 6, 15, 16, 0x2B})


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a register map; ``words`` counts registers (or bits in the bit tables).

    Value = raw * scale + offset. ``missing`` is the raw pattern that says "not available"; ``low``, ``high`` bound what
    may be written, raw; ``order`` is its own word order where it differs from the device's.
    """

    table: Table
    address: int
    name: str
    kind: Kind = Kind.U16
    unit: str = "-"
    scale: float = 1.0
    words: int = 1
    bits: tuple[str, ...] = ()
    writable: bool = False
    persistent: bool = False
    watchdog: str | None = None
    note: str = ""
    offset: float = 0.0
    missing: int | None = None
    low: int | None = None
    high: int | None = None
    order: str | None = None
    clears: bool = False


@dataclass(frozen=True, slots=True)
class DeviceMap:
    """A device as its maker describes it.

    order            word order of 32-bit values; ABCD is high word first
    max_registers    most registers of one read
    max_connections  TCP connections served at once
    watchdogs        name -> what it drops, after how long, and what re-arms it
    functions        function codes served; anything else is answered with exception 1
    mirrored         function 04 reads the holding registers too
    unused           what registers read that no row lists, None: they do not exist
    """

    device: str
    vendor: str
    product: str
    revision: str
    rows: tuple[Row, ...]
    unit_id: int = 1
    order: str = "ABCD"
    max_registers: int = 125
    max_connections: int = 4
    reply_delay_s: float = 0.0
    watchdogs: Mapping[str, str] = field(default_factory=dict)
    functions: frozenset[int] = ALL_FUNCTIONS
    mirrored: bool = False
    unused: int | None = None

    def table(self, table: Table) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.table is table)

    def document(self) -> dict[str, object]:
        """The map as one JSON document, complete enough to write another such device from it."""
        return {
            "device": self.device,
            "identity": {"vendor": self.vendor, "product": self.product, "revision": self.revision},
            "unit_id": self.unit_id,
            "order": self.order,
            "max_registers": self.max_registers,
            "max_connections": self.max_connections,
            "functions": sorted(self.functions),
            "watchdogs": dict(self.watchdogs),
            "rows": [_row_document(row, self.order) for row in self.rows],
            "simulated": True,
        }


def _row_document(row: Row, order: str) -> dict[str, object]:
    return {
        "table": row.table.value,
        "address": row.address,
        "name": row.name,
        "type": row.kind.value,
        "order": (row.order or order) if row.kind in WIDE else None,
        "words": row.words,
        "scale": row.scale,
        "offset": row.offset,
        "missing": row.missing,
        "unit": row.unit,
        "bits": {str(bit): name for bit, name in enumerate(row.bits) if name},
        "writable": row.writable,
        "persistent": row.persistent,
        "watchdog": row.watchdog,
        "note": row.note,
    }


class Image:
    """The registers of one table; addresses that no row lists do not exist, or read ``unused`` up to the last row."""

    __slots__ = ("_f32", "_run_end", "_u16", "data")

    def __init__(self, rows: Iterable[Row], unused: int | None = None) -> None:
        present = sorted(address for row in rows for address in range(row.address, row.address + row.words))
        size = present[-1] + 1 if present else 0
        self.data = bytearray(2 * size)
        if unused is not None:
            self.data = bytearray(unused.to_bytes(2) * size)
            for address in present:
                self.data[2 * address : 2 * address + 2] = bytes(2)
            present = list(range(size))
        self._run_end = [0] * size
        for address in reversed(present):
            after = address + 1
            self._run_end[address] = self._run_end[after] if after < size and self._run_end[after] else after
        self._u16 = struct.Struct(">H")
        self._f32 = struct.Struct(">f")

    def covers(self, address: int, count: int) -> bool:
        """True when every register of the span exists."""
        return address < len(self._run_end) and address + count <= self._run_end[address]

    def read(self, address: int, count: int) -> bytes:
        return bytes(self.data[2 * address : 2 * (address + count)])

    def write(self, address: int, data: bytes) -> None:
        self.data[2 * address : 2 * address + len(data)] = data

    def set_u16(self, address: int, value: int) -> None:
        self._u16.pack_into(self.data, 2 * address, value & 0xFFFF)

    def get_u16(self, address: int) -> int:
        return int(self._u16.unpack_from(self.data, 2 * address)[0])

    def set_f32(self, address: int, value: float) -> None:
        self._f32.pack_into(self.data, 2 * address, value)

    def get_f32(self, address: int) -> float:
        return float(self._f32.unpack_from(self.data, 2 * address)[0])

    def set_text(self, address: int, words: int, text: str) -> None:
        self.write(address, text.encode("ascii")[: 2 * words].ljust(2 * words, b"\0"))

    def swap_words(self, address: int) -> None:
        """Exchange the two words of the 32-bit value at ``address``."""
        low, high = 2 * address, 2 * address + 2
        self.data[low : low + 4] = self.data[high : high + 2] + self.data[low:high]
