"""The same registers in every type and order side by side, for whoever has a device and a doubtful sheet."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from fieldkit.point import WordOrder
from fieldkit.words import PLACES, TINY, text


@dataclass(frozen=True, slots=True)
class Wide:
    """Two registers in one word order; ``doubtful`` when the float cannot be meant (NaN, infinite, tiny, huge)."""

    order: WordOrder
    u32: int
    s32: int
    f32: float
    doubtful: bool


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """One register, and the value that starts there. ``wide`` is empty for the last register.

    text is the register as two characters, None when they are not printable: a number that reads as text is probably
    a wrong address.
    """

    offset: int
    hex: str
    bits: str
    text: str | None
    u16: int
    s16: int
    wide: tuple[Wide, ...]


def preview(words: Sequence[int]) -> tuple[PreviewRow, ...]:
    """Return a row per register of ``words`` (0..65535 each)."""
    data = struct.pack(f">{len(words)}H", *words)
    rows: list[PreviewRow] = []
    for offset, word in enumerate(words):
        pair = data[2 * offset : 2 * offset + 2]
        wide = (
            tuple(_wide(data[2 * offset : 2 * offset + 4], order) for order in WordOrder)
            if offset + 1 < len(words)
            else ()
        )
        (signed,) = struct.unpack(">h", pair)
        rows.append(PreviewRow(offset, f"{word:04X}", f"{word:016b}", text(pair) or None, word, signed, wide))
    return tuple(rows)


def _wide(data: bytes, order: WordOrder) -> Wide:
    raw = bytes(data[place] for place in PLACES[order])
    unsigned, signed, number = (struct.unpack(">" + code, raw)[0] for code in "Iif")
    sane = abs(number) < 1e12 and not 0.0 < abs(number) < TINY
    return Wide(order, unsigned, signed, number, not sane)
