"""One place of a register map, read every way: table, address, type, order, scale. Pure.

For the first hour with a device whose sheet is missing or wrong: a person reads the value off its display, and is
shown which readings of the registers say the same.
"""

import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fieldkit.point import PointType, WordOrder
from fieldkit.words import PLACES, TINY, text

SCALES: tuple[tuple[str, float], ...] = (
    ("1", 1.0),
    ("0.1", 0.1),
    ("0.01", 0.01),
    ("0.001", 0.001),
    ("10", 10.0),
    ("100", 100.0),
    *((f"[1, {2**n}]", 2.0**-n) for n in range(1, 17)),
)
"""As a profile writes them: makers' decades, and the fixed points of power shelves."""
_CODES = {
    PointType.U16: "H",
    PointType.S16: "h",
    PointType.U32: "I",
    PointType.S32: "i",
    PointType.F32: "f",
}


@dataclass(frozen=True, slots=True)
class Guess:
    """One way to read a place.

    raw   the number, before any scale; None for a float that is no number
    fits  the scales, as a profile writes them, under which it is the expected reading
    """

    table: str
    address: int
    type: PointType
    order: WordOrder | None
    raw: float | None
    fits: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        return {
            "table": self.table,
            "address": self.address,
            "type": str(self.type),
            "order": None if self.order is None else str(self.order),
            "raw": self.raw,
            "fits": list(self.fits),
        }


@dataclass(frozen=True, slots=True)
class Expected:
    """What a person reads off the device, and how far a reading may be from it."""

    value: float
    tolerance: float

    def fits(self, raw: float) -> tuple[str, ...]:
        """Return the scales under which ``raw`` is it; none for a 0, which fits under all of them."""
        if not raw:
            return ("1",) if abs(self.value) <= self.tolerance else ()
        return tuple(name for name, scale in SCALES if abs(raw * scale - self.value) <= self.tolerance)


def expected(value: float, tolerance: float | None) -> Expected:
    """Without a tolerance: 1 % of the reading."""
    return Expected(value, abs(value) * 0.01 if tolerance is None else tolerance)


def guesses(table: str, address: int, data: bytes, wanted: Expected | None = None) -> list[Guess]:
    """Return every way to read the one or two registers in ``data`` that begin at ``address``."""
    out: list[Guess] = []
    for kind, code in _CODES.items():
        size = struct.calcsize(">" + code)
        if len(data) < size:
            continue
        orders: Sequence[WordOrder | None] = (None,) if size == 2 else tuple(WordOrder)
        for order in orders:
            raw = _number(code, data[:size], order)
            fits = wanted.fits(raw) if wanted is not None and raw is not None else ()
            out.append(Guess(table, address, kind, order, raw, fits))
    return out


def _number(code: str, data: bytes, order: WordOrder | None) -> float | None:
    if order is not None:
        data = bytes(data[place] for place in PLACES[order])
    (value,) = struct.unpack(">" + code, data)
    number = float(value) if code == "f" else int(value)
    if isinstance(number, float) and (not math.isfinite(number) or 0.0 < abs(number) < TINY):
        return None
    return number


def bits(data: bytes) -> list[int]:
    """Return which bits of the first register are 1; bit 0 is the least significant."""
    word = int.from_bytes(data[:2], "big")
    return [bit for bit in range(16) if word >> bit & 1]


def as_text(data: bytes) -> str | None:
    """Return the registers as text when that is what they seem to be: two printable characters at least."""
    found = text(data)
    return found if found is not None and len(found) > 1 else None


def best(found: Iterable[Guess], at: tuple[str, int]) -> list[Guess]:
    """Return what fits, the likeliest first: at the place asked for, of few and plain scales, the shorter type."""
    plain = {name: rank for rank, (name, _) in enumerate(SCALES)}

    def rank(guess: Guess) -> tuple[int, int, int, int]:
        off = 0 if guess.table == at[0] else 4
        return (
            off + abs(guess.address - at[1]),
            min(plain[name] for name in guess.fits),
            0 if guess.order in {None, WordOrder.ABCD} else 1,
            list(_CODES).index(guess.type),
        )

    return sorted((guess for guess in found if guess.fits), key=rank)


def places(tables: Iterable[str], address: int, *, beside: bool) -> list[tuple[str, int]]:
    """Return where to look: at ``address`` of each table and, when something is expected, one before and behind it.

    A sheet that counts from 1, and one that says input where it is holding, are the commonest mistakes.
    """
    offsets = (0, -1, 1) if beside else (0,)
    return [(table, address + off) for table in tables for off in offsets if 0 <= address + off <= 0xFFFF]
