"""A device profile: one kind of Modbus device, its points, its outputs and how it must be treated on the wire."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from fieldkit.conflicts import Conflict, Name
from fieldkit.model import Model
from fieldkit.point import Point, PointType, Table, Verified, WordOrder

MOST_REGISTERS = 125
"""Most registers of one read (Modbus application protocol 1.1b3, 6.3)."""
MOST_BITS = 2000
"""Most coils or discrete inputs of one read (6.1)."""

FUNCTIONS = (1, 2, 3, 4, 5, 6, 15, 16)
"""Function codes of a device that leaves none out."""
_READS = {Table.COIL: 1, Table.DISCRETE: 2, Table.HOLDING: 3, Table.INPUT: 4}
_WRITES = {Table.HOLDING: (6, 16), Table.COIL: (5, 15)}
"""Of one register or coil, of several."""


class Standing(StrEnum):
    """How well a point is known, the worst first."""

    CONFLICTING = "conflicting"
    ASSUMED = "assumed"
    ONE_SOURCE = "one source"
    VERIFIED = "verified"
    HARDWARE = "verified on hardware"


_STANDING = {
    Verified.NONE: Standing.ASSUMED,
    Verified.MANUAL: Standing.ONE_SOURCE,
    Verified.SECOND_SOURCE: Standing.VERIFIED,
    Verified.HARDWARE: Standing.HARDWARE,
}


class Expiry(Model):
    """A write watchdog of the device: outputs that go off by themselves."""

    rearmed_by: Annotated[tuple[Name, ...], Field(min_length=1)]
    """Points; a write that covers any of them re-arms it. Reads never do."""
    default_s: Annotated[float, Field(gt=0)]
    setting: Name | None
    """The point that sets its period, null when it cannot be set."""
    left: Name | None
    """The point that tells the time left, null when there is none."""
    seal_out: bool
    """After it the outputs stay off until their commands have been written off once."""
    as_delivered: bool = True
    """False: the device leaves the factory with it off; such outputs may not carry a permit or an isolation valve."""


class Output(Model):
    """A command that the profile's user may give, by the name of a writable point."""

    expiry: Name | None
    """The watchdog that takes it back; null when it holds its last command for ever."""
    read_back: Name | None
    """The point that shows what was really done, null when there is none."""
    safe: float | None
    """The command, in the point's unit, that the device falls to and starts with; null when its maker does not say."""


class Identity(Model):
    """How to be sure that this is the device meant, before a word of it is believed."""

    point: Name
    expect: Annotated[str, Field(min_length=1)] | float
    """The whole text, or the number in the point's unit."""


class Serial(Model):
    """The serial line as the maker delivers the device."""

    baud: Annotated[int, Field(ge=300, le=1_000_000)]
    parity: Literal["N", "E", "O"]
    stop_bits: Literal[1, 2]


class Quirk(Model):
    """Something that the device does and another would not, and what is done about it."""

    device: Annotated[str, Field(min_length=10)]
    we: Annotated[str, Field(min_length=10)]
    cite: Annotated[str, Field(min_length=3)]


class Profile(Model):
    """One kind of device."""

    profile: Annotated[str, Field(pattern=r"^[a-z0-9]+_[a-z0-9-]+$")]
    """``maker_model``; also the file's name."""
    maker: str
    model: str
    cite: str
    """The document that the profile was typed from."""
    word_order: WordOrder
    max_registers: Annotated[int, Field(ge=1, le=MOST_REGISTERS)]
    """Most registers of one read."""
    holes_ok: bool
    """A read may cover registers that are not listed here."""
    min_gap_s: Annotated[float, Field(ge=0, le=5)]
    """Least quiet time between a reply and the next request."""
    reply_delay_s: Annotated[float, Field(ge=0, le=5)] | None = None
    """Longest time from a request to the beginning of its reply on a serial line; None = the maker does not say."""
    connections: Annotated[int, Field(ge=1, le=64)]
    """TCP connections that it serves at once (1 on a serial line)."""
    points: Annotated[dict[Name, Point], Field(min_length=1)]
    expiries: dict[Name, Expiry]
    """Empty for a device whose outputs hold for ever: it may carry neither a permit nor an isolation valve."""
    outputs: dict[Name, Output]
    identity: Identity | None
    functions: tuple[Annotated[int, Field(ge=1, le=127)], ...] = FUNCTIONS
    """Function codes that it serves; nothing else is sent to it."""
    unit: Annotated[int, Field(ge=0, le=255)] | None = None
    """Its unit as delivered; None = the maker does not say, or it has none until it is set."""
    serial: Serial | None = None
    """None for a device without a serial line, or when the maker does not say."""
    conflicts: dict[Name, Conflict] = Field(default_factory=dict)
    """Where its sources contradict each other; stays until ``probe`` and a person have decided on the device."""
    quirks: tuple[Quirk, ...] = ()

    @property
    def heartbeat(self) -> str | None:
        """Name of the point that must move, None when the device has none."""
        return next((name for name, point in self.points.items() if point.heartbeat), None)

    def order_of(self, point: Point) -> WordOrder:
        """Word order of ``point``: its own or the profile's."""
        return point.word_order if point.word_order is not None else self.word_order

    def conflicts_of(self, name: str) -> tuple[str, ...]:
        """Names of the undecided conflicts that the point is part of."""
        return tuple(key for key, conflict in self.conflicts.items() if name in conflict.points)

    def standing(self, name: str) -> Standing:
        """How well the point is known: a conflict counts until it is decided. Raises KeyError."""
        verified = self.points[name].verified
        if verified is not Verified.HARDWARE and self.conflicts_of(name):
            return Standing.CONFLICTING
        return _STANDING[verified]

    def may_write(self, table: Table, count: int) -> Literal["single", "multiple"] | None:
        """Which kind of request writes ``count`` registers or coils at once; None when the device takes none."""
        single, multiple = _WRITES.get(table, (0, 0))
        if count == 1 and single in self.functions:
            return "single"
        return "multiple" if multiple in self.functions else None

    @model_validator(mode="after")
    def _references(self) -> Self:
        problems = [*self._name_problems(), *self._overlap_problems(), *self._wire_problems()]
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _name_problems(self) -> list[str]:
        out: list[str] = []
        writable = {name for name, point in self.points.items() if point.writable}
        if sum(point.heartbeat for point in self.points.values()) > 1:
            out.append("a device has one heartbeat at most")
        if self.identity is not None and self.identity.point not in self.points:
            out.append(f"identity.point: no point {self.identity.point}")
        for name, point in self.points.items():
            for other in point.faulted_by:
                if other not in self.points or self.points[other].type is not PointType.BIT or other == name:
                    out.append(f"points.{name}.faulted_by: no bit {other}")
        for key, conflict in self.conflicts.items():
            out += [f"conflicts.{key}.points: no point {p}" for p in conflict.points if p not in self.points]
        for name, expiry in self.expiries.items():
            out += [
                f"expiries.{name}.rearmed_by: no writable point {p}" for p in expiry.rearmed_by if p not in writable
            ]
            out += [
                f"expiries.{name}: no point {p}"
                for p in (expiry.setting, expiry.left)
                if p is not None and p not in self.points
            ]
        for name, output in self.outputs.items():
            if name not in writable:
                out.append(f"outputs.{name}: no writable point {name}")
            if output.expiry is not None and output.expiry not in self.expiries:
                out.append(f"outputs.{name}.expiry: no expiry {output.expiry}")
            if output.read_back is not None and output.read_back not in self.points:
                out.append(f"outputs.{name}.read_back: no point {output.read_back}")
        return out

    def _overlap_problems(self) -> list[str]:
        taken: dict[tuple[Table, int], tuple[str, str]] = {}
        out: list[str] = []
        for name, point in self.points.items():
            shape = "word" if point.words == 1 and point.type in {PointType.BIT, PointType.U16} else name
            for address in range(point.address, point.address + point.words):
                other, other_shape = taken.setdefault((point.table, address), (name, shape))
                if other_shape != shape:
                    out.append(f"points.{name} and points.{other} both claim {point.table} {address}")
                    break
        return out

    def _wire_problems(self) -> Iterator[str]:
        """What the device could not be asked for."""
        for name, point in self.points.items():
            if _READS[point.table] not in self.functions:
                yield f"points.{name}: the device has no function {_READS[point.table]} for {point.table}"
            if point.writable and self.may_write(point.table, point.words) is None:
                yield f"points.{name}: no function of the device writes {point.words} of {point.table}"
            if point.after - point.first > self.max_registers:
                yield f"points.{name}: one read of {point.after - point.first} registers is more than max_registers"
        for key, conflict in self.conflicts.items():
            for name, change in conflict.alternatives[conflict.used].points.items():
                for field, value in change.given().items():
                    if name in self.points and getattr(self.points[name], field) != value:
                        yield f"conflicts.{key}: {name} is not written as {conflict.used} has it: {field} is {value}"


def choose(profile: Profile, conflict: str, alternative: str) -> Profile:
    """Return ``profile`` with its points as ``alternative`` of ``conflict`` has them; the conflict stays in it.

    Raises KeyError for an unknown name, ValueError (pydantic's) when that alternative is no sound profile.
    """
    old = profile.conflicts[conflict]
    chosen, before = old.alternatives[alternative], old.alternatives[old.used]
    points = dict(profile.points)
    for name in old.points:
        point = points[name]
        change: dict[str, object] = {"address": point.address + chosen.shift - before.shift}
        if name in chosen.points:
            change |= chosen.points[name].given()
        points[name] = Point.model_validate({**dict(point), **change})
    conflicts = {**profile.conflicts, conflict: old.model_copy(update={"used": alternative})}
    return Profile.model_validate({**dict(profile), "points": points, "conflicts": conflicts})
