"""What a point's counts mean where another register of the device decides it."""

from typing import Annotated

from pydantic import Field

from fieldkit.model import Model
from fieldkit.units import Unit, UnitError, line


class Choice(Model):
    """What a point's counts are while its scale register says ``raw``."""

    raw: Annotated[int, Field(ge=0, le=0xFFFF)]
    scale: float | tuple[int, int]
    raw_unit: Unit

    def factor(self, unit: Unit) -> tuple[float, float]:
        """``(factor, offset)`` from counts to ``unit``. Raises UnitError."""
        per_count = self.scale[0] / self.scale[1] if isinstance(self.scale, tuple) else self.scale
        factor, offset = line(self.raw_unit, unit)
        return per_count * factor, offset


class ScaleRegister(Model):
    """A register of the same table that says in which scale or unit a point counts; read in the same request."""

    address: Annotated[int, Field(ge=0, le=0xFFFF)]
    choices: Annotated[tuple[Choice, ...], Field(min_length=1)]
    """What it may say; while it says anything else the point is BAD."""

    def problems(self, unit: Unit) -> list[str]:
        """Return what is wrong with the choices of a point in ``unit``."""
        out: list[str] = []
        if len({choice.raw for choice in self.choices}) < len(self.choices):
            out.append("scale_by: each raw value stands once")
        for choice in self.choices:
            try:
                factor, _ = choice.factor(unit)
            except (UnitError, ZeroDivisionError) as error:
                out.append(f"scale_by {choice.raw}: {error}")
            else:
                out += [] if factor else [f"scale_by {choice.raw}: scale must not be 0"]
        return out
