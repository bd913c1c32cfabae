"""A device profile: one kind of Modbus device, its points, its outputs and how it must be treated on the wire."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from fieldkit.point import Model, Point, PointType, Table, WordOrder

MOST_REGISTERS = 125
"""Most registers of one read (Modbus application protocol 1.1b3, 6.3)."""
MOST_BITS = 2000
"""Most coils or discrete inputs of one read (6.1)."""

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]


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
    connections: Annotated[int, Field(ge=1, le=64)]
    """TCP connections that it serves at once (1 on a serial line)."""
    points: Annotated[dict[Name, Point], Field(min_length=1)]
    expiries: dict[Name, Expiry]
    """Empty for a device whose outputs hold for ever: it may carry neither a permit nor an isolation valve."""
    outputs: dict[Name, Output]
    identity: Identity | None

    @property
    def heartbeat(self) -> str | None:
        """Name of the point that must move, None when the device has none."""
        return next((name for name, point in self.points.items() if point.heartbeat), None)

    def order_of(self, point: Point) -> WordOrder:
        """Word order of ``point``: its own or the profile's."""
        return point.word_order if point.word_order is not None else self.word_order

    @model_validator(mode="after")
    def _references(self) -> Self:
        problems = [*self._name_problems(), *self._overlap_problems()]
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
