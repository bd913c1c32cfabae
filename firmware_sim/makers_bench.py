"""Makers' devices on the bench: what they feel of the plant, and when they look."""

from firmware_sim.cdu_plant import CduPlant
from firmware_sim.parts.makers.surroundings import Surroundings
from firmware_sim.rig import Rig


def surroundings_of(rig: Rig, cdu: CduPlant) -> Surroundings:
    """The rack and its loop as they are now."""
    plant = rig.plant
    return Surroundings(
        flow_lpm=plant.flow_supply_lpm,
        flow_return_lpm=plant.flow_return_lpm,
        t_supply_c=plant.t_supply_c,
        t_return_c=plant.t_return_c,
        p_supply_kpa=plant.p_supply_kpa,
        p_return_kpa=plant.p_return_kpa,
        fcv_open_pct=plant.fcv.feedback * 100.0,
        feeder_kw=plant.feeder_kw,
        mains=rig.mains,
        busbar_kw=plant.busbar_kw,
        busbar_v=plant.busbar_v,
        permit_closed=plant.permit_closed,
        stop_healthy=rig.stop.healthy,
        wet=dict(plant.wet),
        loop_flow_lpm=cdu.flow_lpm,
        loop_p_supply_kpa=cdu.p_supply_kpa,
        loop_p_return_kpa=cdu.p_return_kpa,
        loop_t_supply_c=cdu.t_supply_c,
        loop_t_return_c=cdu.t_return_c,
        loop_level_pct=cdu.level_pct,
        pump_speeds_pct=tuple(cdu.pump_speed_pct),
        pump_kw=cdu.pump_kw,
        loop_leaks=cdu.wet["LDT-201"],
    )


def step_makers(rig: Rig, cdu: CduPlant, now_s: float, dt_s: float) -> None:
    """Let every maker's device of a rack that has power look around."""
    if not rig.makers:
        return
    seen = surroundings_of(rig, cdu)
    for device in rig.makers.values():
        if rig.running or not device.on_24v:
            device.show(seen, now_s, dt_s)
