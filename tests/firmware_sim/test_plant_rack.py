"""One rack: closing, trapped liquid, leaks, draining and filling, power and heat."""

from dataclasses import replace

import pytest

from firmware_sim.demo_plant import demo_config
from firmware_sim.plant import Plant
from firmware_sim.rack_plant import RackPlant
from firmware_sim.spill import PLACES, Spill


def plant_and_rack(name: str = "r02", **changes: object) -> tuple[Plant, RackPlant]:
    config = demo_config(4)
    racks = tuple(replace(rack, **changes) if rack.name == name else rack for rack in config.racks)  # type: ignore[arg-type]
    plant = Plant(replace(config, racks=racks))
    return plant, plant.racks[name]


def shut(rack: RackPlant) -> None:
    rack.permit_coil = rack.xv_101_coil = rack.xv_102_coil = False


def test_a_rack_shuts_in_its_stroke_and_its_flow_ends() -> None:
    plant, rack = plant_and_rack()
    shut(rack)
    plant.advance(3.6)
    assert rack.xv_101.shut_limit
    assert rack.xv_102.shut_limit
    assert rack.flow_supply_lpm == pytest.approx(0.0)
    plant.advance(60.0)
    assert rack.flow_return_lpm < 0.01


def test_trapped_liquid_expands_through_the_relief_valve_and_never_lifts_the_safety_valve() -> None:
    plant, rack = plant_and_rack()
    shut(rack)
    plant.advance(5.0)
    highest, relieved = 0.0, 0.0
    for _ in range(1200):
        plant.advance(0.1)
        highest, relieved = max(highest, rack.p_return_kpa), relieved + rack.relief_lpm / 600.0
    assert rack.coolant_c > 54.0
    assert relieved > 0.005
    assert rack.p_return_kpa < plant.cdu.p_return_kpa + 50.0
    assert highest < 300.0


def test_without_the_relief_valve_trapped_liquid_rises_until_the_safety_valve_lifts() -> None:
    plant, rack = plant_and_rack(cv_102_kv=0.0, compliance_l_per_bar=0.004)
    shut(rack)
    plant.advance(60.0)
    assert 590.0 < rack.p_supply_kpa < 660.0
    assert plant.cdu.sump_l > 0.0


def test_a_rack_open_on_one_side_takes_that_headers_pressure() -> None:
    plant, rack = plant_and_rack()
    rack.xv_101_coil = False
    plant.advance(30.0)
    assert rack.p_supply_kpa == pytest.approx(plant.cdu.p_return_kpa, abs=15.0)
    plant, rack = plant_and_rack()
    rack.xv_102_coil = False
    plant.advance(30.0)
    assert rack.p_supply_kpa == pytest.approx(plant.cdu.p_supply_kpa, abs=15.0)
    assert 0.0 < rack.flow_supply_lpm < 3.0  # what passes CV-102


def test_a_valve_that_passes_raises_the_pressure_of_a_vented_rack() -> None:
    plant, rack = plant_and_rack()
    shut(rack)
    plant.advance(120.0)
    rack.xv_104_coil = True
    plant.advance(10.0)
    assert rack.p_supply_kpa < 5.0
    rack.xv_104_coil = False
    plant.advance(62.0)
    assert rack.p_supply_kpa < 7.0
    rack.passing_kv["XV-101"] = 0.05
    rack.passing_kv["FCV-101"] = 0.05
    plant.advance(62.0)
    assert rack.p_supply_kpa > 50.0


def test_a_3_mm_hole_wets_the_rope_within_half_a_second_and_shows_in_the_meters() -> None:
    plant, rack = plant_and_rack()
    rack.leak_mm["manifold"] = 3.0
    plant.advance(0.5)
    assert rack.wet == {"LDT-101": True, "LDT-102": False, "LDT-103": False}
    assert rack.leak_lpm == pytest.approx(5.9, abs=0.1)
    assert rack.flow_supply_lpm - rack.flow_return_lpm == pytest.approx(rack.leak_lpm, rel=1e-6)


def test_isolating_a_leaking_rack_ends_the_spill() -> None:
    plant, rack = plant_and_rack()
    rack.leak_mm["manifold"] = 3.0
    plant.advance(5.0)
    shut(rack)
    plant.advance(10.0)
    spilled = rack.spilled_l
    plant.advance(60.0)
    assert rack.spilled_l - spilled < 0.05
    assert spilled < 1.5
    assert -1.0 < rack.p_supply_kpa < 10.0


@pytest.mark.parametrize(
    ("place", "first"),
    [
        ("manifold", "LDT-101"),
        ("return_manifold", "LDT-101"),
        ("tray", "LDT-102"),
        ("hose", "LDT-103"),
        ("return_hose", "LDT-103"),
    ],
)
def test_a_leak_wets_the_detector_below_it_first(place: str, first: str) -> None:
    plant, rack = plant_and_rack()
    rack.leak_mm[place] = 4.0
    for _ in range(100):
        plant.advance(0.1)
        if any(rack.wet.values()):
            break
    assert [name for name, wet in rack.wet.items() if wet] == [first]


def test_every_place_of_a_leak_has_a_test() -> None:
    assert set(PLACES) == {"manifold", "return_manifold", "tray", "hose", "return_hose"}


def test_a_basin_that_is_full_runs_over_into_the_next_and_mopping_dries_all() -> None:
    spill = Spill()
    spill.add({"manifold": 10.0})
    assert spill.pooled_l == pytest.approx({"manifold_tray": 1.0, "drip_pan": 8.0, "floor": 1.0})
    assert all(spill.wet.values())
    spill.mop_up()
    assert not any(spill.wet.values())
    assert spill.total_l == pytest.approx(10.0)


def test_a_rack_drains_by_gravity_with_its_vent_open_into_the_sump() -> None:
    plant, rack = plant_and_rack()
    shut(rack)
    plant.advance(30.0)
    rack.xv_103_coil = rack.xv_104_coil = True
    plant.advance(10.0)
    assert rack.flow_drain_lpm == pytest.approx(11.7, abs=0.3)
    plant.advance(600.0)
    assert rack.inventory_l < 0.5
    assert plant.cdu.sump_l == pytest.approx(45.0, abs=0.6)
    assert not plant.cdu.sump_high
    plant.cdu.sump_l = 110.0
    assert plant.cdu.sump_high


def test_a_blocked_drain_or_a_shut_vent_drains_nothing() -> None:
    for blocked, vent in ((1.0, True), (0.0, False)):
        plant, rack = plant_and_rack()
        shut(rack)
        plant.advance(30.0)
        rack.drain_blockage, rack.xv_103_coil, rack.xv_104_coil = blocked, True, vent
        plant.advance(120.0)
        assert rack.inventory_l > 44.5


def test_a_rack_fills_through_a_cracked_valve_and_overflows_by_its_vent() -> None:
    plant, rack = plant_and_rack()
    shut(rack)
    rack.fcv_command_pct = 8.0
    plant.advance(90.0)
    rack.xv_103_coil = rack.xv_104_coil = True
    plant.advance(700.0)
    rack.xv_103_coil = False
    plant.advance(3.0)
    rack.xv_101_coil = True
    plant.advance(30.0)
    assert 15.0 < rack.flow_supply_lpm < 45.0
    assert rack.air_pct > 30.0
    sump = plant.cdu.sump_l
    plant.advance(150.0)
    assert rack.inventory_l == pytest.approx(45.0, abs=0.1)
    assert rack.air_pct < 0.1
    assert plant.cdu.sump_l > sump + 1.0


def test_air_in_a_flowing_rack_costs_flow_and_is_swept_out() -> None:
    plant, rack = plant_and_rack()
    before = rack.flow_supply_lpm
    rack.add_air(3.0)
    plant.advance(0.5)
    assert rack.air_pct > 1.5
    assert rack.flow_supply_lpm < 0.995 * before
    plant.advance(60.0)
    assert rack.air_pct < 0.1
    assert rack.flow_supply_lpm == pytest.approx(before, rel=2e-3)


def test_a_blocked_strainer_costs_flow() -> None:
    plant, rack = plant_and_rack()
    before = rack.flow_supply_lpm
    rack.strainer_blockage = 0.9
    plant.advance(5.0)
    assert rack.flow_supply_lpm < 0.85 * before


def test_the_contactor_follows_its_coil_in_a_tenth_and_the_bus_bar_dies_in_three_seconds() -> None:
    plant, rack = plant_and_rack()
    rack.permit_coil = False
    plant.advance(0.09)
    assert rack.permit_closed
    plant.advance(0.02)
    assert not rack.permit_closed
    assert rack.feeder_kw == pytest.approx(0.0)
    plant.advance(2.9)
    assert rack.busbar_v < 5.0
    assert rack.busbar_kw == pytest.approx(0.0, abs=1e-6)
    rack.permit_coil = True
    plant.advance(0.11)
    assert rack.permit_closed
    assert rack.busbar_kw == rack.load_kw
    assert rack.feeder_kw == pytest.approx(rack.load_kw / 0.975)


def test_a_welded_contactor_stays_and_a_battery_keeps_the_bus_bar_alive() -> None:
    plant, rack = plant_and_rack()
    rack.power.weld, rack.permit_coil = True, False
    plant.advance(5.0)
    assert rack.permit_closed
    rack.power.weld, rack.power.backfed = False, True
    plant.advance(5.0)
    assert not rack.permit_closed
    assert rack.feeder_kw == pytest.approx(0.0)
    assert rack.busbar_v == rack.config.busbar_v


def test_a_lost_command_holds_the_flow_valve() -> None:
    plant, rack = plant_and_rack()
    position = rack.fcv.position
    rack.fcv_command_pct = 20.0
    plant.advance(9.0)
    rack.fcv_command_pct = None
    plant.advance(30.0)
    assert rack.fcv.position == pytest.approx(position - 0.1)
    assert rack.fcv_command_pct is None


@pytest.mark.parametrize(
    ("name", "rated_kw", "least_s", "most_s"), [("r01", 132.0, 24.0, 31.0), ("r04", 230.0, 12.0, 18.0)]
)
def test_losing_all_flow_under_load_leaves_the_known_time(
    name: str, rated_kw: float, least_s: float, most_s: float
) -> None:
    plant, rack = plant_and_rack(name)
    assert rack.config.rated_kw == rated_kw
    plant.cdu.pump_tripped = [True, True]
    start_c = rack.solid_c
    while rack.solid_c < start_c + 30.0 and plant.now_s < 60.0:
        plant.advance(0.1)
    assert least_s < plant.now_s < most_s


def test_less_flow_means_hotter_return_after_the_manifolds_delay() -> None:
    plant, rack = plant_and_rack()
    rack.load_kw *= 1.2
    before = rack.t_return_c
    plant.advance(1.5)
    assert rack.t_return_c == pytest.approx(before, abs=0.02)
    assert rack.coolant_c > before + 0.05
    plant.advance(120.0)
    assert rack.t_return_c - rack.t_supply_c == pytest.approx(11.6, abs=0.2)
