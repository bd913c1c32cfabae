"""One document of everything true and everything measured, for people, reports and checks."""

import math
from typing import Any

from firmware_sim.bank import Bank
from firmware_sim.parts.maps import COIL_BITS, CONTACT_BITS, LIMIT_BITS, STATUS_BITS
from firmware_sim.rig import Rig


def snapshot_of(bank: Bank) -> dict[str, Any]:
    """The bench now; values that are not finite are null."""
    cdu = bank.plant.cdu
    return {
        "simulated": True,
        "t_s": round(bank.now_s, 4),
        "seed": bank.config.seed,
        "cdu_mode": bank.cdu_mode().name.lower(),
        "racks": {name: _rack(rig) for name, rig in bank.rigs.items()},
        "cdu": {
            "true": _numbers({
                "p_supply_kpa": cdu.p_supply_kpa,
                "p_return_kpa": cdu.p_return_kpa,
                "flow_lpm": cdu.flow_lpm,
                "t_supply_c": cdu.t_supply_c,
                "t_return_c": cdu.t_return_c,
                "level_pct": cdu.level_pct,
                "pump_kw": cdu.pump_kw,
                "makeup_lpm": cdu.makeup_lpm,
                "sump_l": cdu.sump_l,
                "spilled_l": cdu.spilled_l,
            })
            | {"pump_speed_pct": [round(speed, 2) for speed in cdu.pump_speed_pct], "sump_high": cdu.sump_high},
            "set_points": dict(zip(("mode", "dp_kpa", "flow_lpm", "speed_pct"), bank.cdu.set_points(), strict=True))
            | {"supply_c": round(bank.cdu.supply_c, 2)},
            "measured": _numbers({tag: channel.shown for tag, channel in bank.cdu.channels.items()}),
        },
        "faults": [fault.document() for fault in bank.book.faults],
        "wire": {
            name: {
                "port": endpoint.port,
                "requests": endpoint.counters.requests,
                "writes": endpoint.counters.writes,
                "exceptions": endpoint.counters.exceptions,
                "connections": len(endpoint.connections),
                "turned_away": endpoint.counters.turned_away,
            }
            for name, endpoint in bank.endpoints.items()
        },
    }


def _rack(rig: Rig) -> dict[str, Any]:
    plant, valves = rig.plant, rig.valves
    return {
        "true": _numbers({
            "flow_supply_lpm": plant.flow_supply_lpm,
            "flow_return_lpm": plant.flow_return_lpm,
            "flow_drain_lpm": plant.flow_drain_lpm,
            "t_supply_c": plant.t_supply_c,
            "t_return_c": plant.t_return_c,
            "t_solid_c": plant.solid_c,
            "p_supply_kpa": plant.p_supply_kpa,
            "p_return_kpa": plant.p_return_kpa,
            "feeder_kw": plant.feeder_kw,
            "busbar_kw": plant.busbar_kw,
            "busbar_v": plant.busbar_v,
            "load_kw": rig.load_kw,
            "spilled_l": plant.spilled_l,
            "inventory_l": plant.inventory_l,
        })
        | {
            "valves_pct": {tag: round(rig.actuator(tag).position * 100, 3) for tag in _VALVES},
            "permit_closed": plant.permit_closed,
            "wet": dict(plant.wet),
            "leak_mm": dict(plant.leak_mm),
            "mains": rig.mains,
            "supply_24v": rig.supply.on,
        },
        "measured": _numbers({tag: channel.shown for tag, _, channel in rig.channels()})
        | {tag: rig.leak_panel.input.get_u16(address) for address, tag in enumerate(rig.leak_panel.zones)},
        "controller": {
            "commands": {f"XV-10{n + 1}": valves.holding.get_u16(n) for n in range(4)}
            | {"XS-101": valves.holding.get_u16(8), "FCV-101_pct": valves.holding.get_u16(4) / 100},
            "limits": _bits(valves.input.get_u16(0), LIMIT_BITS),
            "coils": _bits(valves.input.get_u16(1), COIL_BITS),
            "contacts": _bits(valves.input.get_u16(2), CONTACT_BITS),
            "status": _bits(valves.input.get_u16(4), STATUS_BITS),
            "running": rig.running,
        },
        **({} if rig.power is None else {"power": rig.power.document()}),
    }


_VALVES = ("XV-101", "XV-102", "XV-103", "XV-104", "FCV-101")


def _bits(word: int, names: tuple[str, ...]) -> dict[str, bool]:
    return {name: bool(word >> bit & 1) for bit, name in enumerate(names)}


def _numbers(values: dict[str, float]) -> dict[str, Any]:
    return {key: round(value, 4) if math.isfinite(value) else None for key, value in values.items()}
