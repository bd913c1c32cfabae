"""The files of the demo's site: one configuration a rack, and one of the loop's coordinator."""

import copy
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bench.demo.broker import Broker
from bench.demo.newcomers import TEST_HOLD_S, TIMES, bench_of, lifecycle_of, plant_of, pumps_of
from bench.demo.options import ROOT, Options
from firmware_sim.bench_config import usual_power
from firmware_sim.plant_config import RackConfig

SITE, LOOP = "demo", "cdu1"
#: Buses of the rack file, named as the simulator's devices.
DEVICES = ("valve_controller", "transmitters", "leak_panel", "busbar_meter", "feeder_meter")
CONFIGS = ROOT / "configs"
# The parts of PyYAML that are written in C, where its wheel has them: ten times as fast, and the demo waits for it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@cache
def _example(name: str) -> dict[str, Any]:
    return dict(yaml.load((CONFIGS / name).read_text(encoding="utf-8"), Loader=_LOADER))


def priorities() -> dict[str, int]:
    """Priority of each rack when flow is short, as the coordinator's example has it; 1 is served first."""
    return {name: int(rack["priority"]) for name, rack in _example("loop.yaml")["racks"].items()}


def memory_of(options: Options, name: str) -> Path:
    """Where the daemon of that name keeps its memory, and its journal in a folder of it."""
    return options.out / "state" / name / "memory"


def write_rack_file(options: Options, broker: Broker, ports: dict[str, Any], rack: RackConfig) -> Path:
    """Write the rack's configuration: the shipped example with this rack's name, ratings and addresses."""
    config = copy.deepcopy(_example("rack.yaml"))
    state = options.out / "state" / rack.name
    config |= {"site": SITE, "rack": rack.name, "simulated": True, "armed": True}
    config["scan"]["fast_s"] = options.fast_s
    for bus in DEVICES:
        config["buses"][bus]["tcp"] = ports["racks"][rack.name][bus]
    config["buses"]["cdu"]["tcp"] = ports["cdu"]
    config["limits"] |= {
        "rating_kw": rack.rated_kw,
        "flow_nominal_lpm": round(rack.design_flow_lpm, 1),
        "kv_rack_m3_h": round(rack.kv_rack, 2),
        "fcv_kvs_m3_h": rack.fcv_kvs,
        "volume_l": rack.volume_l,
    }
    if rack.name in options.newcomers:
        config["limits"]["test_hold_s"] = TEST_HOLD_S
    config["memory"] |= {"directory": str(memory_of(options, rack.name)), "runtime_directory": str(state / "run")}
    config["policy"] = str((CONFIGS / config["policy"]).resolve())
    if options.coordinator:
        config["loop"] = LOOP
    return _write(options, broker, rack.name, config)


def write_racky_file(options: Options, broker: Broker, ports: dict[str, Any], rack: RackConfig) -> Path:
    """Write Racky's configuration of a rack: the shipped example, armed, with this rack's ratings and addresses."""
    config = copy.deepcopy(_example("racky.yaml"))
    state, power = options.out / "state" / f"racky-{rack.name}", usual_power(rack.rated_kw)
    config |= {"site": SITE, "rack": rack.name, "simulated": True, "armed": True}
    config["loop"] = LOOP if options.coordinator else "none"
    for bus in config["buses"]:
        config["buses"][bus]["tcp"] = ports["racks"][rack.name][bus]
    for shelf, rating_kw in zip(config["power"]["shelves"], power.shelves_kw, strict=True):
        shelf["rating_kw"] = rating_kw
    config["power"] |= {
        "rating_kw": rack.rated_kw,
        "budget_kw": rack.rated_kw,
        "flow_nominal_lpm": round(rack.design_flow_lpm, 1),
        "reclose": "automatic",  # a rack that Valvey has back in service gets its power back by itself
    }
    config["memory"] = {"directory": str(state / "memory"), "runtime_directory": str(state / "run")}
    if rack.name in options.newcomers:
        config["lifecycle"] = lifecycle_of(options, ports, rack)
        config["power"]["reclose"] = "manual"  # a rack that is being proven gets its power from its lifecycle alone
    return _write(options, broker, f"racky-{rack.name}", config)


def write_loop_file(options: Options, broker: Broker, ports: dict[str, Any], racks: tuple[RackConfig, ...]) -> Path:
    """Write the coordinator's configuration: the shipped example, armed, with this plant's racks and addresses."""
    config = copy.deepcopy(_example("loop.yaml"))
    state = options.out / "state" / LOOP
    config |= {"site": SITE, "loop": LOOP, "simulated": True, "armed": True}
    config["cdu"]["tcp"] = ports["cdu"]
    if options.newcomers:
        config["pumps"] |= pumps_of(plant_of(options).cdu)
    examples, config["racks"] = config["racks"], {}
    for rack in racks:
        config["racks"][rack.name] = {
            **examples.get(rack.name, examples["r01"]),
            "rating_kw": rack.rated_kw,
            "flow_nominal_lpm": round(rack.design_flow_lpm, 1),
            "fcv_kvs_m3_h": rack.fcv_kvs,
            "volume_l": rack.volume_l,
        }
    config["memory"] |= {"directory": str(state / "memory"), "runtime_directory": str(state / "run")}
    return _write(options, broker, LOOP, config)


def write_bench_file(options: Options) -> Path:
    """Write the simulator's bench with the newcomers on it."""
    return _dump(options, "bench", bench_of(options))


def write_gates_file(options: Options) -> Path:
    """Write the gates that newcomers have to pass: the shipped ones, watched for a shorter while."""
    shipped = _example("lifecycle/gates.yaml")
    return _dump(options, "gates", shipped | {"times": shipped["times"] | TIMES})


def _write(options: Options, broker: Broker, name: str, config: dict[str, Any]) -> Path:
    config["mqtt"] = {"host": broker.host, "port": broker.port}
    config["profiles_dir"] = str(CONFIGS / "profiles")
    if options.speed != 1.0:
        config["speed"] = options.speed
    return _dump(options, name, config)


def _dump(options: Options, name: str, config: dict[str, Any]) -> Path:
    path = options.out / "config" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.dump(config, Dumper=_DUMPER, sort_keys=False, allow_unicode=True)
    path.write_text(f"# SIMULATED; written by the demo\n{text}", encoding="utf-8")
    return path
