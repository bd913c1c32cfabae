"""Units of measurement: the only place that knows how one unit becomes another.

Every unit is given by its dimension and by ``value_in_base = value * factor + offset``. Factors are
exact by definition (US gallon 3.785411784 L, psi 6.894757293168 kPa).
"""

from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """A unit as it is written in configuration, MQTT payloads and documents."""

    L_MIN = "L/min"
    L_S = "L/s"
    M3_H = "m3/h"
    GAL_MIN = "gal/min"
    KPA = "kPa"
    BAR = "bar"
    PSI = "psi"
    DEG_C = "degC"
    DEG_F = "degF"
    KELVIN = "K"
    DELTA_K = "delta_K"
    KW = "kW"
    W = "W"
    VOLT = "V"
    AMPERE = "A"
    PERCENT = "%"
    PERCENT_OPEN = "%open"
    SECOND = "s"
    MILLISECOND = "ms"
    METRE = "m"
    FOOT = "ft"
    LITRE = "L"
    RPM = "rpm"
    HERTZ = "Hz"
    MICROAMPERE = "uA"
    MILLIAMPERE = "mA"
    KWH = "kWh"
    VOLT_AMPERE = "VA"
    VAR = "var"
    OHM = "ohm"
    MINUTE = "min"
    HOUR = "h"
    DEGREE = "deg"
    NONE = "-"


class UnitError(ValueError):
    """Two units that measure different things."""


@dataclass(frozen=True, slots=True)
class _Scale:
    dimension: str
    factor: float
    offset: float = 0.0


# fmt: off
_SCALES: dict[Unit, _Scale] = {
    Unit.L_MIN:        _Scale("flow", 1.0),
    Unit.L_S:          _Scale("flow", 60.0),
    Unit.M3_H:         _Scale("flow", 1000.0 / 60.0),
    Unit.GAL_MIN:      _Scale("flow", 3.785411784),
    Unit.KPA:          _Scale("pressure", 1.0),
    Unit.BAR:          _Scale("pressure", 100.0),
    Unit.PSI:          _Scale("pressure", 6.894757293168),
    Unit.DEG_C:        _Scale("temperature", 1.0),
    Unit.DEG_F:        _Scale("temperature", 5.0 / 9.0, -32.0 * 5.0 / 9.0),
    Unit.KELVIN:       _Scale("temperature", 1.0, -273.15),
    Unit.DELTA_K:      _Scale("temperature difference", 1.0),
    Unit.KW:           _Scale("power", 1.0),
    Unit.W:            _Scale("power", 0.001),
    Unit.VOLT:         _Scale("voltage", 1.0),
    Unit.AMPERE:       _Scale("current", 1.0),
    Unit.MICROAMPERE:  _Scale("current", 1e-6),
    Unit.MILLIAMPERE:  _Scale("current", 0.001),
    Unit.KWH:          _Scale("energy", 1.0),
    Unit.VOLT_AMPERE:  _Scale("apparent power", 1.0),
    Unit.VAR:          _Scale("reactive power", 1.0),
    Unit.OHM:          _Scale("resistance", 1.0),
    Unit.DEGREE:       _Scale("angle", 1.0),
    Unit.PERCENT:      _Scale("ratio", 1.0),
    Unit.PERCENT_OPEN: _Scale("opening", 1.0),
    Unit.SECOND:       _Scale("time", 1.0),
    Unit.MILLISECOND:  _Scale("time", 0.001),
    Unit.MINUTE:       _Scale("time", 60.0),
    Unit.HOUR:         _Scale("time", 3600.0),
    Unit.METRE:        _Scale("length", 1.0),
    Unit.FOOT:         _Scale("length", 0.3048),
    Unit.LITRE:        _Scale("volume", 1.0),
    Unit.RPM:          _Scale("speed", 1.0),
    Unit.HERTZ:        _Scale("frequency", 1.0),
    Unit.NONE:         _Scale("number", 1.0),
}
# fmt: on


def line(raw: Unit, unit: Unit) -> tuple[float, float]:
    """Return ``(factor, offset)`` so that ``value_in_unit = value_in_raw * factor + offset``.

    Raises UnitError when the two measure different things.
    """
    a, b = _SCALES[raw], _SCALES[unit]
    if a.dimension != b.dimension:
        raise UnitError(f"no conversion from {raw} ({a.dimension}) to {unit} ({b.dimension})")
    return a.factor / b.factor, (a.offset - b.offset) / b.factor


def convert(value: float, raw: Unit, unit: Unit) -> float:
    """Return ``value``, given in ``raw``, in ``unit``."""
    factor, offset = line(raw, unit)
    return value * factor + offset
