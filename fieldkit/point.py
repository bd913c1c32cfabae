"""A point: one value in a Modbus device's register map, as its maker's sheet states it.

Everything is on the wire's terms: addresses are zero-based protocol addresses, never 3xxxx/4xxxx numbers. What a
reader could guess wrongly (type, polarity, scale, unit) has to be stated.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from fieldkit.bands import Bands
from fieldkit.model import Model
from fieldkit.scaling import ScaleRegister
from fieldkit.units import Unit, UnitError, line


class Table(StrEnum):
    """Where a point lives; decides the function code (03, 04, 01, 02)."""

    HOLDING = "holding"
    INPUT = "input"
    COIL = "coil"
    DISCRETE = "discrete"


class PointType(StrEnum):
    """How the bits of a point are meant."""

    U16 = "u16"
    S16 = "s16"
    U32 = "u32"
    S32 = "s32"
    F32 = "f32"
    BIT = "bit"
    STRING = "string"


class WordOrder(StrEnum):
    """Order of the bytes of a two-register value on the wire; A is the most significant."""

    ABCD = "ABCD"
    CDAB = "CDAB"
    BADC = "BADC"
    DCBA = "DCBA"


class Verified(StrEnum):
    """What stands behind a point: nothing but common knowledge, one source, two that agree, or a device on the bench."""

    NONE = "none"
    MANUAL = "manual"
    SECOND_SOURCE = "second_source"
    HARDWARE = "hardware"


REGISTER_TABLES = frozenset({Table.HOLDING, Table.INPUT})
LIMITS: dict[PointType, tuple[int, int]] = {
    PointType.U16: (0, 0xFFFF),
    PointType.S16: (-0x8000, 0x7FFF),
    PointType.U32: (0, 0xFFFF_FFFF),
    PointType.S32: (-0x8000_0000, 0x7FFF_FFFF),
}
"""Least and most raw value of each integer type."""
MOST_F32 = 3.4028234e38
_NUMBERS = frozenset(LIMITS) | {PointType.F32}
_TWO_WORDS = frozenset({PointType.U32, PointType.S32, PointType.F32})
_NUMBERED = {Table.INPUT: 30000, Table.HOLDING: 40000, Table.DISCRETE: 10000}
"""What makers add to the 1-based number of a register to say which table it is in."""


def number_hint(table: Table, address: int) -> str | None:
    """Return how to write ``address`` when it looks like a 1xxxx/3xxxx/4xxxx number of its table, else None."""
    base = _NUMBERED.get(table)
    if base is None:
        return None
    for start, last in ((base, base + 9999), (base * 10, base * 10 + 0x10000)):
        if start < address <= last:
            return (
                f"{address} looks like the {table} number of a sheet; addresses are zero-based as on the wire: "
                f"write {address - start - 1}, or add address_is_wire: true if {address} is meant"
            )
    return None


class Point(Model):
    """One value at one place in the register map.

    Value in ``unit`` = (raw * scale + offset) converted from ``raw_unit``. Judged in this order: fault bits, raw fault
    bands, sentinels, NaN and denormal, range.
    """

    table: Table
    address: Annotated[int, Field(ge=0)]
    address_is_wire: bool = False
    """The address was checked to be zero-based although it looks like a sheet's register number."""
    type: PointType
    word_order: WordOrder | None = None
    """Of a two-register value; None = the profile's."""
    bit: Annotated[int, Field(ge=0, le=15)] | None = None
    """Of a bit in a register; bit 0 is the least significant."""
    invert: bool | None = None
    """Of a bit: True when a 0 on the wire means 1. Has to be stated."""
    length: Annotated[int, Field(ge=1, le=120)] | None = None
    """Characters of a string, two to a register."""
    scale: float | tuple[int, int] | None = None
    """raw_unit per count, as a number or as [numerator, denominator] (2^-7 is [1, 128]). Stated for integers."""
    offset: float = 0.0
    """Added after ``scale``, in ``raw_unit``."""
    raw_unit: Unit | None = None
    scale_by: ScaleRegister | None = None
    """In place of ``scale`` and ``raw_unit`` where another register decides them."""
    unit: Unit | None = None
    range: tuple[float, float] | None = None
    """In ``unit``; a value outside is BAD."""
    sentinels: tuple[int | float, ...] = ()
    """Raw values that mean "not available". For signed types either -32768 or the pattern 0x8000; of a bit: of the whole
    register that it is in."""
    fault_bits: tuple[Annotated[int, Field(ge=0, le=15)], ...] = ()
    """Bits of the same word that mean "this sensor is faulty"; they win over its value."""
    fault_raw: tuple[int | float | None, int | float | None] | None = None
    """[low, high]: a raw value at or below low, or at or above high, is a broken loop (NAMUR NE 43), not a value."""
    bands: Bands | None = None
    """Of a contact that is measured: which raw values are 1 and which 0. Beyond both bands its wire is at fault, between
    them it is in doubt: neither is ever 0."""
    faulted_by: tuple[str, ...] = ()
    """Bits elsewhere in the device, by name, that say "this sensor is faulty" while they are 1."""
    max_rate: Annotated[float, Field(gt=0)] | None = None
    """Fastest change that the measured thing can make, in ``unit`` per second."""
    heartbeat: bool = False
    """The device changes it all the time by itself: when it stands still, so does everything else."""
    writable: bool = False
    persistent: bool = False
    """Kept in memory that wears out: never written cyclically."""
    momentary: bool = False
    """A command that the device takes and clears by itself: what was written is not what it reads afterwards."""
    verified: Verified
    verified_on: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] | None = None
    cite: Annotated[str, Field(min_length=3)]
    """Where in which document the line stands."""

    @property
    def words(self) -> int:
        """How many registers (coils, discrete inputs) the point takes."""
        if self.length is not None:
            return (self.length + 1) // 2
        return 2 if self.type in _TWO_WORDS else 1

    @property
    def first(self) -> int:
        """Lowest address that has to be read to know its value."""
        return self.address if self.scale_by is None else min(self.address, self.scale_by.address)

    @property
    def after(self) -> int:
        """The address behind the last one that has to be read to know its value."""
        end = self.address + self.words
        return end if self.scale_by is None else max(end, self.scale_by.address + 1)

    @property
    def reading_unit(self) -> Unit:
        """Unit of its readings; bits have none."""
        return self.unit if self.unit is not None else Unit.NONE

    @property
    def conversion(self) -> tuple[float, float]:
        """``(factor, offset)`` so that value in ``unit`` = raw * factor + offset."""
        if self.raw_unit is None or self.unit is None:
            return 1.0, 0.0
        scale = 1.0 if self.scale is None else self.scale
        per_count = scale[0] / scale[1] if isinstance(scale, tuple) else scale
        factor, offset = line(self.raw_unit, self.unit)
        return per_count * factor, self.offset * factor + offset

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = [*self._place_problems(), *self._number_problems(), *self._more_problems()]
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _more_problems(self) -> list[str]:
        out: list[str] = []
        if self.momentary and not self.writable:
            out.append("momentary says how a point is written: it needs writable: true")
        if self.fault_raw is not None:
            low, high = self.fault_raw
            if self.type not in _NUMBERS or self.fault_raw == (None, None):
                out.append("fault_raw is [low, high] of a number, one of them may be null")
            elif low is not None and high is not None and low >= high:
                out.append("fault_raw must rise")
        if self.scale_by is not None:
            if self.type not in LIMITS or self.scale is not None or self.raw_unit is not None or self.writable:
                out.append("scale_by stands in place of scale and raw_unit of an integer that is only read")
            if self.address <= self.scale_by.address < self.address + self.words:
                out.append("scale_by names the point's own register")
            out += [] if self.unit is None else self.scale_by.problems(self.unit)
        return out

    def _band_problems(self, given: set[str]) -> list[str]:
        """A contact has neither scale nor unit, and its bands already say what is a fault."""
        besides = (
            given
            | {name for name in ("fault_raw", "scale_by", "max_rate") if getattr(self, name) is not None}
            | {name for name in ("fault_bits", "offset", "writable", "heartbeat") if getattr(self, name)}
        )
        out = [f"a point with bands is a contact: leave out {', '.join(sorted(besides))}"] if besides else []
        assert self.bands is not None  # ruff: ignore[assert] - whoever calls has looked
        return out + self.bands.problems()

    def _place_problems(self) -> list[str]:
        out: list[str] = []
        in_register = self.table in REGISTER_TABLES
        is_bit = self.type is PointType.BIT
        hint = None if self.address_is_wire else number_hint(self.table, self.address)
        if hint is not None:
            out.append(hint)
        elif self.address + self.words - 1 > 0xFFFF:
            out.append(f"address {self.address} does not exist: the last register is 65535")
        if not in_register and not is_bit:
            out.append(f"a {self.table} holds bits only: type must be bit")
        if is_bit and in_register != (self.bit is not None):
            out.append("bit (0..15) has to be stated" if in_register else f"a {self.table} is one bit: leave bit out")
        if not is_bit and (self.bit is not None or self.invert is not None):
            out.append("bit and invert belong to type bit only")
        if is_bit and self.invert is None:
            out.append("invert (true or false) has to be stated for a bit")
        if (self.type is PointType.STRING) != (self.length is not None):
            out.append("length (characters) belongs to type string and has to be stated there")
        if self.word_order is not None and self.type not in _TWO_WORDS:
            out.append("word_order belongs to two-register types (u32, s32, f32)")
        if self.writable and (self.table in {Table.INPUT, Table.DISCRETE} or (is_bit and in_register)):
            out.append("only a coil or a whole holding register can be written")
        if self.persistent and not self.writable:
            out.append("persistent says how a point is written: it needs writable: true")
        return out

    def _number_problems(self) -> list[str]:
        out: list[str] = []
        given = {"scale", "raw_unit", "unit", "range"} & {k for k, v in self if v is not None}
        if self.type not in _NUMBERS:
            if self.bands is not None:
                out.append(f"bands are of a measured number: a {self.type} has none")
            extra = sorted(given | ({"max_rate"} if self.max_rate is not None else set()))
            if extra or (self.sentinels and self.bit is None) or self.heartbeat or self.offset:
                out.append(
                    f"a {self.type} has no number: leave out {', '.join(extra) or 'sentinels, heartbeat, offset'}"
                )
            if wrong := [s for s in self.sentinels if isinstance(s, float) or not 0 <= s <= 0xFFFF]:
                out.append(f"sentinels {wrong} are no register: allowed 0..65535")
            if self.fault_bits and (self.bit is None or self.bit in self.fault_bits):
                out.append("fault_bits are other bits of the same register")
            return out
        if self.bands is not None:
            return self._band_problems(given)
        needed = {"raw_unit", "unit", "range"} | ({"scale"} if self.type in LIMITS else set())
        if self.scale_by is not None:
            needed = {"unit", "range"}
        if missing := sorted(needed - given):
            return [f"{', '.join(missing)} has to be stated for type {self.type}"]
        if isinstance(self.scale, tuple) and self.scale[1] == 0:
            return ["scale needs a denominator other than 0"]
        try:
            factor, _ = self.conversion
        except UnitError as error:
            return [str(error)]
        if not factor:
            out.append("scale must not be 0")
        if self.range is not None and self.range[0] >= self.range[1]:
            out.append("range must rise")
        if self.fault_bits and self.words > 1:
            out.append("fault_bits are bits of the same, single register")
        if self.type in LIMITS:
            least, most = LIMITS[self.type]
            wide = max(most, 2 ** (16 * self.words) - 1)
            if wrong := [s for s in self.sentinels if isinstance(s, float) or not least <= s <= wide]:
                out.append(f"sentinels {wrong} are no raw {self.type}: allowed {least}..{wide}")
        elif wrong := [s for s in self.sentinels if abs(s) > MOST_F32]:
            out.append(f"sentinels {wrong} are no raw f32: allowed up to {MOST_F32:g}")
        return out
