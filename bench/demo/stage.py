"""Sets the stage: plant, broker, a Valvey a rack and perhaps the coordinator, each in its own process, configured as a site would."""

import json
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.demo.broker import Broker, start_broker
from bench.demo.newcomers import plant_of
from bench.demo.options import ROOT, Options
from bench.demo.processes import Children
from bench.demo.site import (
    DEVICES,
    LOOP,
    SITE,
    memory_of,
    write_bench_file,
    write_gates_file,
    write_loop_file,
    write_rack_file,
    write_racky_file,
)
from fieldkit.errors import ConfigError
from firmware_sim.client import ask
from firmware_sim.demo_plant import demo_config
from firmware_sim.plant_config import RackConfig
from valvey.config import load
from valvey.seeding import RefusedError, record

__all__ = ["DEVICES", "LOOP", "ROOT", "SITE", "Options", "Stage", "StageError", "set_stage", "write_rack_file"]
#: Real seconds that racks in service wait for their Valveys.
ATTENDED_S = 30.0
#: Load of the racks while they come into service, of their rating.
FIRST_LOAD = 0.75


class StageError(RuntimeError):
    """The stage could not be set; the message says what happened, with the last lines of the log concerned."""


@dataclass(slots=True)
class Stage:
    """Everything that runs. ``racks`` are those in service, ``newcomers`` those that are not, or not yet."""

    options: Options
    children: Children
    broker: Broker
    control: str
    ports: dict[str, Any]
    racks: tuple[RackConfig, ...]
    newcomers: tuple[RackConfig, ...] = ()

    def ask(self, do: str, **arguments: Any) -> Any:
        """One command to the simulator's control port."""
        return ask(self.control, do, **arguments)

    def rack(self, name: str) -> RackConfig:
        return next(rack for rack in (*self.racks, *self.newcomers) if rack.name == name)

    def run_file(self) -> dict[str, Any]:
        out = self.options.out
        loops = [LOOP] if self.options.coordinator else []
        return {
            "broker_url": self.broker.url,
            "sim_control_url": f"tcp://{self.control}",
            "site": SITE,
            "speed": self.options.speed,
            "racks": {
                rack.name: {
                    "pid": self.children.pid(f"valvey-{rack.name}"),
                    "config": str(out / "config" / f"{rack.name}.yaml"),
                    "journal": str(memory_of(self.options, rack.name) / "journal"),
                    "modbus": dict(self.ports["racks"][rack.name]),
                }
                for rack in (*self.racks, *self.newcomers)
                if f"valvey-{rack.name}" in self.children
            },
            "rackies": {
                rack.name: {
                    "pid": self.children.pid(f"racky-{rack.name}"),
                    "config": str(out / "config" / f"racky-{rack.name}.yaml"),
                }
                for rack in (*self.racks, *self.newcomers)
                if f"racky-{rack.name}" in self.children
            },
            "loops": {
                name: {"pid": self.children.pid(f"valvey-{name}"), "config": str(out / "config" / f"{name}.yaml")}
                for name in loops
            },
        }


def set_stage(options: Options) -> Stage:
    """Start plant, broker and Valveys. Raises StageError or NoBrokerError; what was started is ended by the caller."""
    out = options.out
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    children = Children(out / "logs")
    try:
        return _set(options, children)
    except BaseException:
        children.stop()
        raise


def _set(options: Options, children: Children) -> Stage:
    out, racks = options.out, demo_config(options.racks).racks
    ports_file = out / "ports.json"
    plant = ["run", "--mode", options.mode, "--seed", str(options.seed), "--speed", str(options.speed)]
    if options.newcomers:
        plant.append(str(write_bench_file(options)))
    else:
        plant += ["--racks", str(options.racks), *(["--power"] if options.racky else [])]
    plant += ["--ports-file", str(ports_file), "--attended", f"{ATTENDED_S * options.speed:g}"]
    children.start("firmware-sim", [sys.executable, "-m", "firmware_sim", *plant])
    broker = start_broker(children, out, options.mqtt)
    places = {device: f"127.0.0.1:{place}" for place, device in enumerate(DEVICES, 2)}
    nowhere = {"cdu": "127.0.0.1:1", "racks": {rack.name: places for rack in racks}}
    for rack in racks:  # while the simulator starts: a record does not depend on where the devices are
        _commission(write_rack_file(options, broker, nowhere, rack))
    ports = _await_ports(children, ports_file)
    new = tuple(rack for rack in plant_of(options).racks if rack.name in options.newcomers)
    stage = Stage(options, children, broker, ports["control"], ports, racks, new)
    for rack in racks:
        path = write_rack_file(options, broker, ports, rack)
        children.start(f"valvey-{rack.name}", [sys.executable, "-m", "valvey", "run", str(path)])
    if options.coordinator:
        path = write_loop_file(options, broker, ports, racks)
        children.start(f"valvey-{LOOP}", [sys.executable, "-m", "valvey", "loop", "run", str(path)])
    for rack in racks:
        stage.ask("load", rack=rack.name, kw=FIRST_LOAD * rack.rated_kw)
    _tell(stage)
    return stage


def start_rackies(stage: Stage) -> None:
    """Start a Racky beside each Valvey: racks are in service without it, and nobody waits for it."""
    for rack in stage.racks:
        _start_racky(stage, rack)
    _tell(stage)


def set_up(stage: Stage, rack: RackConfig, known: Sequence[RackConfig]) -> None:
    """Set up a newcomer as a site does: a Valvey without any record and a Racky beside it, then the coordinator's file names it.

    The coordinator is restarted with that file, which moves nothing. ``known``: the racks that it names from now on.
    """
    options = stage.options
    write_gates_file(options)
    path = write_rack_file(options, stage.broker, stage.ports, rack)
    stage.children.start(f"valvey-{rack.name}", [sys.executable, "-m", "valvey", "run", str(path)])
    _start_racky(stage, rack)
    if options.coordinator:
        stage.children.end(f"valvey-{LOOP}")
        path = write_loop_file(options, stage.broker, stage.ports, tuple(known))
        stage.children.start(f"valvey-{LOOP}", [sys.executable, "-m", "valvey", "loop", "run", str(path)])
    _tell(stage)


def _start_racky(stage: Stage, rack: RackConfig) -> None:
    path = write_racky_file(stage.options, stage.broker, stage.ports, rack)
    stage.children.start(f"racky-{rack.name}", ["nice", "-n", "10", sys.executable, "-m", "racky", "run", str(path)])


def _tell(stage: Stage) -> None:
    (stage.options.out / "run.json").write_text(json.dumps(stage.run_file(), indent=1))


def _await_ports(children: Children, path: Path, within_s: float = 15.0) -> dict[str, Any]:
    end_s = time.monotonic() + within_s
    while time.monotonic() < end_s:
        if path.exists():
            return dict(json.loads(path.read_text()))
        if "firmware-sim" in children.ended():
            break
        time.sleep(0.02)
    raise StageError(f"the simulator did not start:\n{children.tail('firmware-sim')}")


def _commission(path: Path) -> None:
    """Leave the record of a commissioned rack in service, as a site has after its first day (`valvey commission-record`)."""
    try:
        record(load(path), "FLOWING", "the demo's racks are in service")
    except (ConfigError, RefusedError) as error:
        raise StageError(f"the commissioning record of {path.name} was refused:\n{error}") from error
