"""Modbus requests as bytes, and what a reply must look like to be theirs. Pure; the same on TCP and on a serial line."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

READS = {"coil": 1, "discrete": 2, "holding": 3, "input": 4}
BIT_TABLES = frozenset({"coil", "discrete"})
MOST_READ = {"coil": 2000, "discrete": 2000, "holding": 125, "input": 125}
MOST_WRITTEN = {"coil": 1968, "holding": 123}


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    body     what follows the function code
    size     bytes that follow the function code of a good reply
    is_read  a read changes nothing and may be asked again
    """

    unit: int
    function: int
    address: int
    count: int
    body: bytes
    size: int
    is_read: bool

    @property
    def pdu(self) -> bytes:
        return bytes((self.function,)) + self.body

    @property
    def echo(self) -> bytes:
        """What a good reply to a write carries: address and value, or address and count."""
        return self.body[:4]

    @property
    def says_its_value(self) -> bool:
        """The reply repeats what was written (functions 5 and 6); to 15 and 16 it tells only where and how many."""
        return self.function in {5, 6}

    def __str__(self) -> str:
        return f"function {self.function}, address {self.address}, count {self.count}"


@lru_cache(maxsize=4096)
def read_request(unit: int, table: str, address: int, count: int) -> Request:
    """Ask for ``count`` registers or bits. Raises ValueError for what Modbus does not allow.

    Remembered: a lane asks the same again and again.
    """
    if not 1 <= count <= MOST_READ[table]:
        raise ValueError(f"{count} of {table} in one read; allowed: 1..{MOST_READ[table]}")
    _check(unit, address, count)
    data = (count + 7) // 8 if table in BIT_TABLES else 2 * count
    return Request(unit, READS[table], address, count, struct.pack(">HH", address, count), 1 + data, True)


def write_request(unit: int, table: str, address: int, words: Sequence[int], *, multiple: bool = False) -> Request:
    """Write registers, or coils given as 0 and 1 (functions 6 and 5 for a single one unless ``multiple``).

    Raises ValueError for what Modbus does not allow.
    """
    if table not in MOST_WRITTEN:
        raise ValueError(f"table {table!r} cannot be written; allowed: holding, coil")
    count = len(words)
    if not 1 <= count <= MOST_WRITTEN[table]:
        raise ValueError(f"{count} of {table} in one write; allowed: 1..{MOST_WRITTEN[table]}")
    _check(unit, address, count)
    if table == "coil":
        if count == 1 and not multiple:
            body, function = struct.pack(">HH", address, 0xFF00 if words[0] else 0), 5
        else:
            packed = sum(bool(word) << n for n, word in enumerate(words)).to_bytes((count + 7) // 8, "little")
            body, function = struct.pack(">HHB", address, count, len(packed)) + packed, 15
    else:
        if not all(0 <= word <= 0xFFFF for word in words):
            raise ValueError(f"registers {list(words)}; each is 0..65535")
        if count == 1 and not multiple:
            body, function = struct.pack(">HH", address, words[0]), 6
        else:
            body, function = struct.pack(f">HHB{count}H", address, count, 2 * count, *words), 16
    return Request(unit, function, address, count, body, 4, False)


def _check(unit: int, address: int, count: int) -> None:
    if not 0 <= unit <= 255:
        raise ValueError(f"unit {unit}; allowed: 0..255")
    if not 0 <= address <= 0x10000 - count:
        raise ValueError(f"address {address}, count {count}: the last is 65535")
