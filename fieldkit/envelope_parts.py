"""The smaller pieces that payloads are made of."""

from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from fieldkit.point import Verified
from fieldkit.reading import Quality, Reason
from fieldkit.units import Unit


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("control characters are not allowed")
    return text


def _seconds(value: float | AwareDatetime) -> float:
    return value if isinstance(value, int | float) else value.timestamp()


Id = Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,64}$")]
Uuid = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"), AfterValidator(str.lower)]
Line = Annotated[str, Field(max_length=200), AfterValidator(_printable)]
WallTime = Annotated[float | AwareDatetime, AfterValidator(_seconds)]
Count = Annotated[int, Field(ge=0)]


class Part(BaseModel):
    """A piece of a payload."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, json_schema_serialization_defaults_required=True
    )


class Payload(Part):
    """What every payload has."""

    v: Literal[1] = 1
    simulated: bool
    """True on a simulated rack, on every payload."""


class Latch(Part):
    """A trip that waits for a person, in first-out order."""

    sif: str
    since_wall_s: float
    cause: str


class Lock(Part):
    """A named person's hold on the rack."""

    owner: Line
    why: Line
    since_wall_s: float


class Bypass(Part):
    """A function or detector that is put out of action for a while."""

    what: str
    by: Line
    why: Line
    until_wall_s: float


class GrantHeld(Part):
    """A lease that the rack holds."""

    id: str
    epoch: Count
    work: str
    left_s: float


class PointValue(Part):
    """One reading; ``value`` is null exactly when it is BAD, ``reason`` exactly when it is GOOD."""

    value: float | None
    unit: Unit
    quality: Quality
    reason: Reason | None
    age_s: float


class PointMeta(Part):
    """What one point is."""

    unit: Unit
    range: tuple[float, float] | None
    limits: dict[str, float]
    profile: str
    point: str
    description: str
    verified: Verified
