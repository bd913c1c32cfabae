"""A bench as a YAML file; configs/sim/demo.yaml is an example."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from fieldkit.rtu_frames import Line
from fieldkit.yamlfile import check, load
from firmware_sim.bench_config import MAX_RACKS, MAX_SPEED, BenchConfig, Delivered, RackSetting, sizes_of
from firmware_sim.faults import kind_for
from firmware_sim.parts.makers.catalogue import MAKERS_MAPS
from firmware_sim.parts.maps_power import REVISION
from firmware_sim.plant_config import CduConfig, CduMode, RackConfig, Start
from firmware_sim.power_rig import PowerSetting
from firmware_sim.serial_line import LineKind, LineSetting

_STRICT = ConfigDict(frozen=True, extra="forbid")
Kilowatts = Annotated[float, Field(ge=0, le=1000)]


class PowerRow(BaseModel):
    """A rack's shelves and room sensor: rating (kW) of each power shelf, capacity (kWh) of each battery shelf."""

    model_config = _STRICT

    shelves_kw: tuple[float, ...] = ()
    batteries_kwh: tuple[float, ...] = ()
    room: bool = True
    firmware: Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,8}$")] = REVISION

    def setting(self) -> PowerSetting:
        return PowerSetting(self.shelves_kw, self.batteries_kwh, self.room, self.firmware)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        self.setting()
        return self


class FaultRow(BaseModel):
    """A fault that a rack is delivered with; the keys are those of ``firmware-sim fault add``."""

    model_config = _STRICT

    kind: str
    tag: str | None = None
    device: str | None = None
    place: str | None = None
    value: float | None = None

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if kind_for(kind, None) is None:
            raise ValueError(f"no fault {kind!r}; `firmware-sim fault kinds` lists them")
        return kind

    def setting(self) -> Delivered:
        return Delivered(self.kind, self.tag, self.device, self.place, self.value)


class RackRow(BaseModel):
    """One rack; loaded as rated unless told otherwise."""

    model_config = _STRICT

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,30}$")]
    rated_kw: Annotated[float, Field(gt=0, le=1000)] = 132.0
    load_kw: Kilowatts | None = None
    start: Start = Start.FLOWING
    plant: dict[str, float] = {}
    also: tuple[str, ...] = ()
    power: PowerRow | None = None
    faults: tuple[FaultRow, ...] = ()

    @field_validator("also")
    @classmethod
    def _made(cls, also: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [name for name in also if name not in MAKERS_MAPS]:
            raise ValueError(f"no device {', '.join(unknown)}; known: {', '.join(MAKERS_MAPS)}")
        if twice := sorted({name for name in also if also.count(name) > 1}):
            raise ValueError(f"{', '.join(twice)} stands twice: one of each device in a rack")
        return also

    @field_validator("plant")
    @classmethod
    def _known(cls, plant: dict[str, float]) -> dict[str, float]:
        return _only(plant, sizes_of(RackConfig))

    def setting(self) -> RackSetting:
        load_kw = self.rated_kw if self.load_kw is None else self.load_kw
        power = None if self.power is None else self.power.setting()
        faults = tuple(fault.setting() for fault in self.faults)
        return RackSetting(self.name, self.rated_kw, load_kw, self.start, self.plant, self.also, power, faults)


class LineRow(BaseModel):
    """A serial line or gateway; ``units``: unit id -> device, e.g. ``3: r01/feeder_meter``."""

    model_config = _STRICT

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,30}$")]
    kind: LineKind
    units: Annotated[dict[Annotated[int, Field(ge=1, le=247)], str], Field(min_length=1)]
    baud: Annotated[int, Field(ge=1200, le=1_000_000)] = 19200
    parity: Literal["N", "E", "O"] = "E"
    stop_bits: Literal[1, 2] = 1
    port: Annotated[int, Field(ge=0, le=65535)] = 0
    link: Path | None = None
    target_s: Annotated[float, Field(gt=0, le=60)] = 0.5

    def setting(self) -> LineSetting:
        line = Line(self.baud, self.parity, self.stop_bits)
        return LineSetting(self.name, self.kind, self.units, line, self.port, self.link, self.target_s)


class BenchFile(BaseModel):
    """The whole file; ``bench_config.BenchConfig`` says what each key means."""

    model_config = _STRICT

    simulated: Literal[True] = True
    racks: Annotated[tuple[RackRow, ...], Field(min_length=1, max_length=MAX_RACKS)]
    seed: Annotated[int, Field(ge=0)] = 1
    mode: CduMode = CduMode.CONSTANT_DP
    speed: Annotated[float, Field(gt=0, le=MAX_SPEED)] = 1.0
    tick_s: Annotated[float, Field(ge=0.002, le=0.05)] = 0.01
    attended_s: Annotated[float, Field(ge=0)] = 30.0
    kv_segment: Annotated[float, Field(gt=0)] | None = None
    cdu: dict[str, float] = {}
    host: str = "127.0.0.1"
    base_port: Annotated[int, Field(ge=0, le=65000)] = 0
    control_port: Annotated[int, Field(ge=0, le=65535)] = 0
    lines: tuple[LineRow, ...] = ()

    @field_validator("cdu")
    @classmethod
    def _known(cls, cdu: dict[str, float]) -> dict[str, float]:
        return _only(cdu, sizes_of(CduConfig))

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [rack.name for rack in self.racks]
        if len(set(names)) < len(names):
            raise ValueError(f"racks need different names, not {', '.join(names)}")
        lines = [line.name for line in self.lines]
        if len(set(lines)) < len(lines):
            raise ValueError(f"lines need different names, not {', '.join(lines)}")
        return self

    def config(self) -> BenchConfig:
        return BenchConfig(
            racks=tuple(rack.setting() for rack in self.racks),
            seed=self.seed,
            mode=self.mode,
            speed=self.speed,
            tick_s=self.tick_s,
            attended_s=self.attended_s,
            kv_segment=self.kv_segment,
            cdu=self.cdu,
            host=self.host,
            base_port=self.base_port,
            control_port=self.control_port,
            lines=tuple(line.setting() for line in self.lines),
        )


def _only(sizes: dict[str, float], known: frozenset[str]) -> dict[str, float]:
    if unknown := set(sizes) - known:
        raise ValueError(f"no size {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}")
    return sizes


def load_bench(path: Path) -> BenchConfig:
    """Read a bench file. Raises ConfigError naming every fault with its line."""
    return check(load(path), BenchFile).config()
