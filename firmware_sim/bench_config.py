"""What a bench is built of. Plain dataclasses: a bench of the demo's racks starts without reading any file."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from firmware_sim.demo_plant import cdu_config, demo_config, rack_config
from firmware_sim.parts.maps_power import REVISION
from firmware_sim.plant_config import CduConfig, CduMode, PlantConfig, RackConfig, Start
from firmware_sim.power_rig import PowerSetting
from firmware_sim.serial_line import LineSetting

MAX_RACKS = 64
MAX_SPEED = 100.0


@dataclass(frozen=True, slots=True)
class Delivered:
    """A fault that a rack is delivered with; aimed as ``firmware-sim fault add`` aims it."""

    kind: str
    tag: str | None = None
    device: str | None = None
    place: str | None = None
    value: float | None = None


@dataclass(frozen=True, slots=True)
class RackSetting:
    """One rack.

    plant    overrides single sizes of ``plant_config.RackConfig``
    also     names makers' devices in it
    power    its power shelves, battery shelves and room sensor; None: the bus bar lives whenever the permit is on
    faults   what is wrong with it from the start
    """

    name: str
    rated_kw: float
    load_kw: float
    start: Start = Start.FLOWING
    plant: Mapping[str, float] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    power: PowerSetting | None = None
    faults: tuple[Delivered, ...] = ()

    def build(self) -> RackConfig:
        sizes: dict[str, Any] = dict(self.plant)
        return replace(rack_config(self.name, self.rated_kw, self.load_kw), start=self.start, **sizes)


@dataclass(frozen=True, slots=True)
class BenchConfig:
    """A bench.

    mode        what the CDU holds at the start
    attended_s  a flowing rack's outputs are kept from expiring so long, or until the first write of a controller
    tick_s      real time between two steps of the plant
    kv_segment  header between two racks, m³/h; None: sized for the design flow
    cdu         overrides single sizes of ``plant_config.CduConfig``
    base_port   0 takes free ports; otherwise devices get this and the following ones
    serve       the only endpoints that listen; empty: all
    lines       serial lines and gateways on which devices of the bench hang too
    """

    racks: tuple[RackSetting, ...]
    seed: int = 1
    mode: CduMode = CduMode.CONSTANT_DP
    speed: float = 1.0
    tick_s: float = 0.01
    attended_s: float = 30.0
    kv_segment: float | None = None
    cdu: Mapping[str, float] = field(default_factory=dict)
    host: str = "127.0.0.1"
    base_port: int = 0
    control_port: int = 0
    lines: tuple[LineSetting, ...] = ()
    serve: frozenset[str] = frozenset()

    def plant_config(self) -> PlantConfig:
        """The plant. Raises ValueError when its sizes do not fit together."""
        racks = tuple(rack.build() for rack in self.racks)
        sizes: dict[str, Any] = {key: int(value) if key in _WHOLE else value for key, value in self.cdu.items()}
        return PlantConfig(cdu=replace(cdu_config(racks, self.mode, self.kv_segment), **sizes), racks=racks)


_WHOLE = frozenset({"pumps", "dp_node"})
_OWN_KEYS = frozenset({"rated_kw", "load_kw"})


def sizes_of(config: type[RackConfig] | type[CduConfig]) -> frozenset[str]:
    """The numbers of a plant's part that a bench may override."""
    return frozenset(row.name for row in fields(config) if row.type in {float, int}) - _OWN_KEYS


SHELVES, RESERVE = 4, 1.2


def usual_power(rated_kw: float, firmware: str = REVISION) -> PowerSetting:
    """Four power shelves with a fifth to spare, so that a lost supply is borne and a lost shelf is felt; a battery, a room sensor."""
    return PowerSetting((math.ceil(RESERVE * rated_kw / SHELVES),) * SHELVES, (0.03 * rated_kw,), True, firmware)


def demo_bench(racks: int = 4, *, start: Start = Start.FLOWING, power: bool = False, **settings: Any) -> BenchConfig:
    """The demo's plant: racks r01, r02, … from 132 to 230 kW on one CDU; ``settings`` are BenchConfig's. Raises ValueError.

    power   every rack has the usual power shelves, battery shelf and room sensor
    """
    rows = tuple(
        RackSetting(rack.name, rack.rated_kw, rack.load_kw, start, power=usual_power(rack.rated_kw) if power else None)
        for rack in demo_config(racks).racks
    )
    return BenchConfig(rows, **settings)
