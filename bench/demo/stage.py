"""Sets the stage: plant, broker and a Valvey a rack, each in its own process, configured as a site would."""

import json
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.demo.broker import Broker, start_broker
from bench.demo.processes import Children
from fieldkit.errors import ConfigError
from firmware_sim.client import ask
from firmware_sim.demo_plant import demo_config
from firmware_sim.plant_config import RackConfig
from valvey.commissioning import RefusedError, record
from valvey.config import load

SITE = "demo"
ROOT = Path(__file__).resolve().parents[2]
#: Buses of the rack file, named as the simulator's devices.
DEVICES = ("valve_controller", "transmitters", "leak_panel", "busbar_meter", "feeder_meter")


class StageError(RuntimeError):
    """The stage could not be set; the message says what happened, with the last lines of the log concerned."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose. ``speed`` is simulated seconds per second."""

    act: str = "1"
    mode: str = "constant_dp"
    seed: int = 1
    speed: float = 1.0
    mqtt: str | None = None
    keep: bool = False
    racks: int = 4
    picture: Path | None = None
    out: Path = ROOT / "build" / "demo"


@dataclass(slots=True)
class Stage:
    """Everything that runs."""

    options: Options
    children: Children
    broker: Broker
    control: str
    ports: dict[str, Any]
    racks: tuple[RackConfig, ...]

    def ask(self, do: str, **arguments: Any) -> Any:
        """One command to the simulator's control port."""
        return ask(self.control, do, **arguments)

    def run_file(self) -> dict[str, Any]:
        out = self.options.out
        return {
            "broker_url": self.broker.url,
            "sim_control_url": f"tcp://{self.control}",
            "site": SITE,
            "racks": {
                rack.name: {
                    "pid": self.children.pid(f"valvey-{rack.name}"),
                    "config": str(out / "config" / f"{rack.name}.yaml"),
                    "journal": str(out / "state" / rack.name / "journal"),
                    "modbus": dict(self.ports["racks"][rack.name]),
                }
                for rack in self.racks
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
    command = ["run", "--racks", str(options.racks), "--mode", options.mode, "--seed", str(options.seed)]
    children.start(
        "firmware-sim",
        [
            sys.executable,
            "-m",
            "firmware_sim",
            *command,
            "--speed",
            str(options.speed),
            "--ports-file",
            str(ports_file),
        ],
    )
    broker = start_broker(children, out, options.mqtt)
    places = {device: f"127.0.0.1:{place}" for place, device in enumerate(DEVICES, 2)}
    nowhere = {"cdu": "127.0.0.1:1", "racks": {rack.name: places for rack in racks}}
    for rack in racks:  # while the simulator starts: a record does not depend on where the devices are
        _commission(write_rack_file(options, broker, nowhere, rack))
    ports = _await_ports(children, ports_file)
    stage = Stage(options, children, broker, ports["control"], ports, racks)
    for rack in racks:
        path = write_rack_file(options, broker, ports, rack)
        children.start(f"valvey-{rack.name}", [sys.executable, "-m", "valvey", "run", str(path)])
    for rack in racks:
        stage.ask("load", rack=rack.name, kw=0.75 * rack.rated_kw)
    (out / "run.json").write_text(json.dumps(stage.run_file(), indent=1))
    return stage


def _await_ports(children: Children, path: Path, within_s: float = 15.0) -> dict[str, Any]:
    end_s = time.monotonic() + within_s
    while time.monotonic() < end_s:
        if path.exists():
            return dict(json.loads(path.read_text()))
        if "firmware-sim" in children.ended():
            break
        time.sleep(0.02)
    raise StageError(f"the simulator did not start:\n{children.tail('firmware-sim')}")


def write_rack_file(options: Options, broker: Broker, ports: dict[str, Any], rack: RackConfig) -> Path:
    """Write the rack's configuration: the shipped example with this rack's name, ratings and addresses."""
    example = ROOT / "configs" / "rack.yaml"
    config = yaml.safe_load(example.read_text(encoding="utf-8"))
    state = options.out / "state" / rack.name
    config |= {"site": SITE, "rack": rack.name, "simulated": True, "armed": True}
    for bus in DEVICES:
        config["buses"][bus]["tcp"] = ports["racks"][rack.name][bus]
    config["buses"]["cdu"]["tcp"] = ports["cdu"]
    config["limits"] |= {
        "rating_kw": rack.rated_kw,
        "flow_nominal_lpm": round(rack.design_flow_lpm, 1),
        "kv_rack_m3_h": round(rack.kv_rack, 2),
    }
    config["mqtt"] = {"host": broker.host, "port": broker.port}
    config["memory"] |= {"directory": str(state / "memory"), "runtime_directory": str(state / "run")}
    config["profiles_dir"] = str(ROOT / "configs" / "profiles")
    config["policy"] = str((example.parent / config["policy"]).resolve())
    if options.speed != 1.0:
        config["speed"] = options.speed
    path = options.out / "config" / f"{rack.name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path


def _commission(path: Path) -> None:
    """Leave the record of a commissioned rack in service, as a site has after its first day (`valvey commission-record`)."""
    try:
        record(load(path), "FLOWING", "the demo's racks are in service")
    except (ConfigError, RefusedError) as error:
        raise StageError(f"the commissioning record of {path.name} was refused:\n{error}") from error
