"""Where the sources of a device's map contradict each other: what each says, and how the real device decides.

A profile is written as one of them has it (``used``); ``fieldkit.profile.choose`` gives the profile as another has it.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from fieldkit.model import Model
from fieldkit.point import PointType, Table, WordOrder
from fieldkit.scaling import ScaleRegister
from fieldkit.units import Unit

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]


class Change(Model):
    """Keys of a point as one source has them; None = as all sources have it."""

    table: Table | None = None
    address: Annotated[int, Field(ge=0, le=0xFFFF)] | None = None
    type: PointType | None = None
    word_order: WordOrder | None = None
    bit: Annotated[int, Field(ge=0, le=15)] | None = None
    invert: bool | None = None
    scale: float | tuple[int, int] | None = None
    raw_unit: Unit | None = None
    unit: Unit | None = None
    range: tuple[float, float] | None = None
    scale_by: ScaleRegister | None = None
    fault_bits: tuple[int, ...] | None = None

    def given(self) -> dict[str, object]:
        """Return the keys that the source states."""
        return {key: value for key, value in self if value is not None}


class Alternative(Model):
    """What one source says."""

    says: Annotated[str, Field(min_length=3)]
    cite: Annotated[str, Field(min_length=3)]
    shift: int = 0
    """Address of every point concerned, against the other alternatives."""
    points: dict[Name, Change] = Field(default_factory=dict)
    """Points as this source has them; the one in use repeats what the profile says, so that there is a way back."""

    def stated(self) -> frozenset[tuple[str, str]]:
        """Return ``(point, key)`` of all that it states."""
        return frozenset((point, key) for point, change in self.points.items() for key in change.given())


class Decision(Model):
    """How the device itself decides: the alternative under which ``point`` reads within ``within`` is the true one.

    Without ``within`` a person compares: ``text`` says with what.
    """

    text: Annotated[str, Field(min_length=10)]
    point: Name | None = None
    within: tuple[float, float] | None = None


class Conflict(Model):
    """One contradiction."""

    about: Annotated[str, Field(min_length=10)]
    points: tuple[Name, ...]
    """Points that are not believed to be right until it is decided; empty where it is about no register."""
    used: Name
    alternatives: Annotated[dict[Name, Alternative], Field(min_length=2)]
    decide: Decision

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        out: list[str] = []
        if self.used not in self.alternatives:
            out.append(f"used: no alternative {self.used}")
        for name, one in self.alternatives.items():
            out += [f"alternatives.{name}: {p} is not listed in points" for p in one.points if p not in self.points]
        stated = {name: one.stated() for name, one in self.alternatives.items()}
        every = frozenset().union(*stated.values())
        for name, keys in stated.items():
            out += [
                f"alternatives.{name}: {p}.{key} is stated by another alternative only"
                for p, key in sorted(every - keys)
            ]
        if self.decide.point is not None and self.decide.point not in self.points:
            out.append(f"decide.point: {self.decide.point} is not listed in points")
        if self.decide.within is not None and self.decide.within[0] >= self.decide.within[1]:
            out.append("decide.within must rise")
        if out:
            raise ValueError("; ".join(out))
        return self
