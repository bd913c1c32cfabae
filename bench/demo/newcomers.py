"""Racks that are not in service yet: how they stand on the plant, and how their Rackies shall prove them."""

import sys
from dataclasses import replace
from typing import Any

from bench.demo.options import ROOT, Options
from firmware_sim.bench_config import usual_power
from firmware_sim.demo_plant import cdu_config, demo_config, rack_config
from firmware_sim.physics import coolant, valve
from firmware_sim.plant_config import CduConfig, CduMode, PlantConfig, RackConfig, Start

RATED_KW = 132.0
BEHIND = "1.0.0"
"""Firmware of the first newcomer's shelves: one behind the manifest."""
WEAK = "r06"
"""The newcomer whose hose is weak: it loses 50 mL/min at 200 kPa and nothing below 120 kPa."""
IN_SERVICE_LOAD = 0.75
"""Load of the racks in service, of their rating, while a newcomer is proven."""
BURN_IN = 0.95
"""Burn-in load, of the newcomer's rating."""
TIMES = {"calm": 15, "watch_wide": 40, "watch_nominal": 40, "settle": 120, "watch": 60}
VOLUME_L, TEST_HOLD_S = 30.0, 60.0
"""A demo's gates watch for a shorter while than the shipped ones, by the same limits; its newcomers are small, and hold test pressure for a minute."""


def plant_of(options: Options) -> PlantConfig:
    """The racks in service, then the newcomers, on a CDU and a header that were sized for all of them."""
    new = tuple(
        replace(rack_config(name, RATED_KW, 0.0), start=Start.DRAINED, volume_l=VOLUME_L) for name in options.newcomers
    )
    racks = (*demo_config(options.racks).racks, *new)
    return PlantConfig(cdu=cdu_config(racks, CduMode(options.mode)), racks=racks)


def bench_of(options: Options) -> dict[str, Any]:
    """The simulator's bench file of that plant."""
    return {
        "simulated": True,
        "racks": [_row(rack, rack.name in options.newcomers) for rack in plant_of(options).racks],
    }


def _row(rack: RackConfig, new: bool) -> dict[str, Any]:
    power = usual_power(rack.rated_kw)
    row: dict[str, Any] = {
        "name": rack.name, "rated_kw": rack.rated_kw, "load_kw": rack.load_kw,
        "power": {"shelves_kw": list(power.shelves_kw), "batteries_kwh": list(power.batteries_kwh)},
    }  # fmt: skip
    if new:
        row["start"] = str(Start.DRAINED)
        row["plant"] = {"volume_l": rack.volume_l}
        row |= {"faults": [{"kind": "weak_hose"}]} if rack.name == WEAK else {}
        row["power"] |= {} if rack.name == WEAK else {"firmware": BEHIND}
    return row


def pumps_of(cdu: CduConfig) -> dict[str, float]:
    """The coordinator's figures of the pumps, by their sheet."""
    return {"dead_head_kpa": round(100.0 * cdu.pump_dp0_bar, 1), "rated_lpm": round(cdu.flow_setpoint_lpm, 1)}


def lifecycle_of(options: Options, ports: dict[str, Any], rack: RackConfig) -> dict[str, Any]:
    """The lifecycle of a newcomer's Racky: what was ordered, the rack on paper, and what the site runs on it."""
    plant, shelves = plant_of(options), len(usual_power(rack.rated_kw).shelves_kw)
    header_kpa, header_lpm = _header(plant, rack, frozenset(options.newcomers))
    command = [sys.executable, "-m", "bench.demo.burn_in", ports.get("control", ""), rack.name]
    return {
        "gates": "gates.yaml",
        "manifest": str(ROOT / "configs" / "firmware" / "manifest.yaml"),
        "expected": {
            **{f"power_shelf_{n}": {"model": "racky-pwr-shelf", "serial": f"PS{n}-{rack.name}"} for n in range(1, shelves + 1)},
            "battery_shelf_1": {"model": "racky-bat-shelf", "serial": f"BS1-{rack.name}"},
            "room": {"model": "racky-room", "serial": f"RM-{rack.name}"},
        },
        "design": {
            "kv_rack_m3_h": rack.kv_rack, "fcv_kvs_m3_h": rack.fcv_kvs, "xv_kvs_m3_h": rack.xv_kvs,
            "header_kpa": header_kpa, "header_lpm": header_lpm,
        },
        "diagnostics": [
            {"id": "burn-in", "command": [*command, "load", str(BURN_IN * rack.rated_kw)], "timeout_s": 3600.0, "load": True,
             "text": "full load until it is told to stop"},
            {"id": "it-load", "command": [*command, "check", str(0.8 * rack.rated_kw)], "timeout_s": 60.0,
             "text": "the load is drawn from the bus-bar"},
        ],
    }  # fmt: skip


def _header(plant: PlantConfig, rack: RackConfig, new: frozenset[str]) -> tuple[float, float]:
    """What the supply header loses up to the rack's branch, kPa, and the flow at which it does, L/min."""
    names = [one.name for one in plant.racks]
    place = names.index(rack.name)
    flows = [
        one.design_flow_lpm * (1.0 if one.name == rack.name else 0.0 if one.name in new else IN_SERVICE_LOAD)
        for one in plant.racks
    ]
    gravity = coolant.density_kg_m3(40.0) / 1000.0
    lost_bar = sum(
        valve.pressure_drop_bar(sum(flows[n:]) * 0.06, plant.cdu.kv_segment, gravity) for n in range(place + 1)
    )
    return round(100.0 * lost_bar, 3), round(sum(flows), 1)
