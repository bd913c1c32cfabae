"""Register bytes to readings and values to registers: the only decoder and encoder of the project.

A ``Decoder`` is compiled once per span and then only unpacks, compares and multiplies. What it does with a value, in
this order: count, fault bits, sentinel, NaN and denormal, scale and unit, range.
"""

import math
import struct
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Final

from fieldkit.bands import Bands
from fieldkit.point import LIMITS, REGISTER_TABLES, Point, PointType, WordOrder
from fieldkit.reading import Quality, Reading, Reason, bad
from fieldkit.spans import Span, Wanted
from fieldkit.units import Unit

TINY: Final = 1e-30
"""A float nearer to zero than this, and not zero, is a float read in the wrong word order, not a small value: 40.0
with its words swapped is 2.4e-41."""

_CODES = {
    PointType.BIT: "H",
    PointType.U16: "H",
    PointType.S16: "h",
    PointType.U32: "I",
    PointType.S32: "i",
    PointType.F32: "f",
}
PLACES = {
    WordOrder.ABCD: (0, 1, 2, 3),
    WordOrder.CDAB: (2, 3, 0, 1),
    WordOrder.BADC: (1, 0, 3, 2),
    WordOrder.DCBA: (3, 2, 1, 0),
}
"""Where on the wire the most significant byte of a two-register value is, then the next, and so on."""

_Raw = tuple[Any, ...]
_Reader = Callable[[_Raw, float], Reading]


class EncodeError(ValueError):
    """A value that cannot be written to its point; the message says what is allowed."""


class Decoder:
    """Turns the bytes of one span's reply into readings, in the order of ``span.wanted``."""

    __slots__ = ("_permute", "_readers", "_size", "_unpack", "tags")

    def __init__(self, span: Span) -> None:
        """Compile. Raises ValueError when two points of different type claim the same register."""
        self.tags = tuple((item.tag, item.point.reading_unit) for item in span.wanted)
        self._permute: Callable[[bytes], tuple[int, ...]] | None = None
        if span.table in REGISTER_TABLES:
            self._size = 2 * span.count
            layout, slots = _layout(span)
            self._unpack: Callable[[bytes], _Raw] = struct.Struct(layout).unpack
            places = _places(span)
            if places != list(range(self._size)):
                self._permute = itemgetter(*places)
        else:
            self._size = (span.count + 7) // 8
            slots = dict.fromkeys((item.point.address for item in span.wanted), 0)
            self._unpack = _one_number
        self._readers = tuple(_reader(item, slots, span) for item in span.wanted)

    def decode(self, data: bytes, at_s: float) -> list[Reading]:
        """Return one reading per wanted tag from ``data``, the registers (or packed bits) of the reply.

        ``at_s`` is the monotonic time of the reply. A reply of any other length is BAD throughout: a value is only
        ever built from one whole reply.
        """
        if len(data) != self._size:
            return self.bad(at_s, Reason.SHORT_REPLY)
        if self._permute is not None:
            data = bytes(self._permute(data))
        raw = self._unpack(data)
        return [read(raw, at_s) for read in self._readers]

    def bad(self, at_s: float, reason: Reason) -> list[Reading]:
        """Return every wanted tag as BAD for ``reason``: the request brought nothing."""
        return [bad(tag, unit, at_s, reason) for tag, unit in self.tags]


def encode(point: Point, value: float, order: WordOrder) -> list[int]:
    """Return the registers (or the coil, as 0 or 1) that say ``value``, given in the point's unit.

    Raises EncodeError when the point cannot be written or the value is not finite, out of the point's range, no whole
    count where only whole counts have a meaning, beyond the type, or would say "not available".
    """
    if not point.writable:
        raise EncodeError(f"{point.table} {point.address} is not writable")
    if point.type is PointType.BIT:
        if value not in {0.0, 1.0}:
            raise EncodeError(f"{value!r} is no bit: allowed 0 and 1")
        return [int(value) ^ bool(point.invert)]
    if point.range is None:
        raise EncodeError(f"{point.table} {point.address} is a text and is never written")
    low, high = point.range
    if not low <= value <= high:
        raise EncodeError(f"{value!r} {point.reading_unit} is out of range: allowed {low:g}..{high:g}")
    factor, offset = point.conversion
    exact = (value - offset) / factor
    if point.type is PointType.F32:
        try:
            raw = struct.pack(">f", exact)
        except OverflowError:
            raise EncodeError(f"{value!r} {point.reading_unit} is too big for a 32-bit float") from None
        if struct.unpack(">f", raw)[0] in _sentinels(point):
            raise EncodeError(f'{value!r} {point.reading_unit} would be read as "not available"')
        return _in_order(raw, order)
    count = round(exact)
    least, most = LIMITS[point.type]
    if not least <= count <= most:
        raise EncodeError(f"{value!r} {point.reading_unit} is raw {count}: a {point.type} allows {least}..{most}")
    if point.unit is Unit.NONE and not math.isclose(count, exact, rel_tol=1e-9, abs_tol=1e-9):
        raise EncodeError(f"{value!r} lies between two counts: allowed are steps of {abs(factor):g}")
    if count in _sentinels(point):
        raise EncodeError(f'{value!r} {point.reading_unit} would be read as "not available"')
    return _in_order(struct.pack(">" + _CODES[point.type], count), order)


def text(data: bytes) -> str | None:
    """Return the text in ``data``, without the padding behind it; None when it is no printable ASCII."""
    body = data.rstrip(b"\x00 ")
    if not all(0x20 <= byte < 0x7F for byte in body):
        return None
    return body.decode("ascii")


def _layout(span: Span) -> tuple[str, dict[int, int]]:
    """Return the struct format of the whole reply, and which of its values starts at which address."""
    codes: dict[int, str] = {}
    for item in span.wanted:
        code = _CODES[item.point.type]
        if codes.setdefault(item.point.address, code) != code:
            raise ValueError(f"{item.tag}: {span.table} {item.point.address} is claimed as two types")
        if item.point.scale_by is not None and codes.setdefault(item.point.scale_by.address, "H") != "H":
            raise ValueError(f"{item.tag}: {span.table} {item.point.scale_by.address} is claimed as two types")
    layout, slots, address = ">", {}, span.address
    for index, (start, code) in enumerate(sorted(codes.items())):
        if start < address:
            raise ValueError(f"{span.table} {start} lies inside the value before it")
        layout += f"{2 * (start - address)}x{code}"
        slots[start] = index
        address = start + struct.calcsize(">" + code) // 2
    return layout + f"{2 * (span.address + span.count - address)}x", slots


def _places(span: Span) -> list[int]:
    """Return, for each byte of the reply in big-endian order, where on the wire it is."""
    places = list(range(2 * span.count))
    for item in span.wanted:
        if item.point.words == 2:
            first = 2 * (item.point.address - span.address)
            places[first : first + 4] = [first + place for place in PLACES[item.order]]
    return places


def _in_order(raw: bytes, order: WordOrder) -> list[int]:
    if len(raw) == 4:
        wire = bytearray(4)
        for byte, place in zip(raw, PLACES[order], strict=True):
            wire[place] = byte
        raw = bytes(wire)
    return [word for (word,) in struct.iter_unpack(">H", raw)]


def _one_number(data: bytes) -> _Raw:
    return (int.from_bytes(data, "little"),)


def _sentinels(point: Point) -> frozenset[float]:
    """Return the point's sentinels as its type decodes them: 0x8000 of an s16 is -32768."""
    if point.type is PointType.F32:
        return frozenset(struct.unpack(">f", struct.pack(">f", value))[0] for value in point.sentinels)
    _, most = LIMITS[point.type]
    return frozenset(value - 2 ** (16 * point.words) if value > most else value for value in point.sentinels)


def _reader(item: Wanted, slots: dict[int, int], span: Span) -> _Reader:
    point = item.point
    index = slots[point.address]
    fault = sum(1 << bit for bit in set(point.fault_bits))
    if point.bands is not None:
        return _band_reader(item.tag, point, point.bands, index)
    if point.range is None:
        shift = point.bit if point.bit is not None else point.address - span.address
        return _bit_reader(item.tag, point, index, 1 << shift, fault)
    if point.scale_by is not None:
        return _scaled_reader(item.tag, point, index, fault, slots[point.scale_by.address])
    return _number_reader(item.tag, point, index, fault, point.conversion)


def _bit_reader(tag: str, point: Point, index: int, mask: int, fault: int) -> _Reader:
    one = 0 if point.invert else mask
    unit, good, sentinels = Unit.NONE, Quality.GOOD, frozenset(point.sentinels)

    def read(raw: _Raw, at_s: float) -> Reading:
        word = raw[index]
        if sentinels and word in sentinels:
            return bad(tag, unit, at_s, Reason.SENTINEL)
        if word & fault:
            return bad(tag, unit, at_s, Reason.FAULT)
        return Reading(tag, 1.0 if word & mask == one else 0.0, unit, good, at_s)

    return read


def _band_reader(tag: str, point: Point, bands: Bands, index: int) -> _Reader:
    unit, good, sentinels = Unit.NONE, Quality.GOOD, _sentinels(point)

    def read(raw: _Raw, at_s: float) -> Reading:
        count = raw[index]
        if count in sentinels:
            return bad(tag, unit, at_s, Reason.SENTINEL)
        state = bands.state(count)
        if state is not None:
            return Reading(tag, float(state), unit, good, at_s)
        if math.isnan(count):
            return bad(tag, unit, at_s, Reason.NAN)
        return bad(tag, unit, at_s, Reason.FAULT if bands.beyond(count) else Reason.RANGE)

    return read


def _scaled_reader(tag: str, point: Point, index: int, fault: int, scale_index: int) -> _Reader:
    """One reader for each thing that the scale register may say; whatever else it says, the value is unknown."""
    readers = {}
    if point.scale_by is not None:
        for choice in point.scale_by.choices:
            conversion = choice.factor(point.reading_unit)
            readers[choice.raw] = _number_reader(tag, point, index, fault, conversion)
    unit = point.reading_unit

    def read(raw: _Raw, at_s: float) -> Reading:
        reader = readers.get(raw[scale_index])
        return bad(tag, unit, at_s, Reason.RANGE) if reader is None else reader(raw, at_s)

    return read


def _number_reader(tag: str, point: Point, index: int, fault: int, conversion: tuple[float, float]) -> _Reader:
    factor, offset = conversion
    low, high = point.range or (0.0, 0.0)
    least, most = point.fault_raw or (None, None)
    broken_low = -math.inf if least is None else least
    broken_high = math.inf if most is None else most
    banded = point.fault_raw is not None
    sentinels, unit, good = _sentinels(point), point.reading_unit, Quality.GOOD

    def read(raw: _Raw, at_s: float) -> Reading:
        count = raw[index]
        value = count * factor + offset
        if (
            low <= value <= high
            and count not in sentinels
            and not (fault and count & fault)
            and not (banded and not broken_low < count < broken_high)
            and not 0.0 < abs(count) < TINY
        ):
            return Reading(tag, value, unit, good, at_s)
        return bad(tag, unit, at_s, trouble(count))

    def trouble(count: float) -> Reason:
        if (fault and int(count) & fault) or (banded and (count <= broken_low or count >= broken_high)):
            return Reason.FAULT
        if count in sentinels:
            return Reason.SENTINEL
        if math.isnan(count):
            return Reason.NAN
        return Reason.DENORMAL if 0.0 < abs(count) < TINY else Reason.RANGE

    return read
