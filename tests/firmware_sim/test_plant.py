"""The stepped plant: it starts settled, keeps account of its liquid and heat, and does not show how time was cut."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_sim.demo_plant import cdu_config, demo_config, rack_config
from firmware_sim.plant import Plant
from firmware_sim.plant_config import CduMode, PlantConfig, Start

MODES = list(CduMode)


def isolate(plant: Plant, name: str) -> None:
    rack = plant.racks[name]
    rack.permit_coil = rack.xv_101_coil = rack.xv_102_coil = False


def flows(plant: Plant) -> dict[str, float]:
    return {name: rack.flow_supply_lpm for name, rack in plant.racks.items()}


def with_rack(config: PlantConfig, name: str, **changes: object) -> PlantConfig:
    racks = tuple(replace(rack, **changes) if rack.name == name else rack for rack in config.racks)  # type: ignore[arg-type]
    return replace(config, racks=racks)


def snapshot(plant: Plant) -> list[float]:
    cdu = plant.cdu
    values = [cdu.flow_lpm, cdu.t_supply_c, cdu.t_return_c, cdu.static_kpa, cdu.reservoir_l, *cdu.speeds]
    for rack in plant.racks.values():
        values += [
            rack.flow_supply_lpm,
            rack.flow_return_lpm,
            rack.p_supply_kpa,
            rack.p_return_kpa,
            rack.t_return_c,
            rack.solid_c,
        ]
        values += [rack.xv_101.position, rack.fcv.position, rack.inventory_l, rack.spilled_l, rack.busbar_v]
    return values


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("racks", [1, 4, 8])
def test_a_plant_starts_with_design_flow_and_stays_there(mode: CduMode, racks: int) -> None:
    plant = Plant(demo_config(racks, mode))
    before = snapshot(plant)
    for rack in plant.racks.values():
        assert rack.flow_supply_lpm == pytest.approx(rack.config.design_flow_lpm, rel=1e-4)
        assert rack.t_return_c - rack.t_supply_c == pytest.approx(9.7, abs=0.1)
    plant.advance(60.0)
    assert snapshot(plant) == pytest.approx(before, rel=1e-3, abs=0.02)


def act(plant: Plant, tenth: int) -> None:
    """Things that happen, at given tenths of a second."""
    if tenth == 3:
        isolate(plant, "r02")
    if tenth == 10:
        plant.racks["r03"].leak_mm["hose"] = 4.0
        plant.racks["r01"].fcv_command_pct = 55.0
    if tenth == 25:
        plant.racks["r01"].load_kw = 60.0
        plant.cdu.pump_tripped[0] = True


def trace(cuts: list[float]) -> list[list[float]]:
    plant, out = Plant(demo_config(4), seed=5), []
    for tenth in range(60):
        act(plant, tenth)
        for dt in cuts:
            plant.advance(dt)
        out.append(snapshot(plant))
    return out


def test_the_same_inputs_give_the_same_trace() -> None:
    assert trace([0.1]) == trace([0.1])


@pytest.mark.parametrize("cuts", [[0.02] * 5, [0.001] * 100, [0.037, 0.063]], ids=["20ms", "1ms", "odd"])
def test_the_trace_does_not_show_how_time_was_cut(cuts: list[float]) -> None:
    for ours, reference in zip(trace(cuts), trace([0.1]), strict=True):
        assert ours == pytest.approx(reference, rel=1e-6, abs=1e-6)


def test_one_long_step_is_many_short_ones() -> None:
    long, short = Plant(demo_config(2)), Plant(demo_config(2))
    for plant in (long, short):
        isolate(plant, "r01")
    long.advance(7.3)
    for _ in range(73):
        short.advance(0.1)
    assert snapshot(long) == pytest.approx(snapshot(short), rel=1e-9, abs=1e-9)
    assert long.now_s == pytest.approx(7.3)


def test_time_does_not_run_backwards() -> None:
    with pytest.raises(ValueError, match="forwards"):
        Plant(demo_config(1)).advance(-0.1)


@pytest.mark.parametrize("mode", MODES)
def test_neighbours_settle_where_the_steady_solution_says_and_do_not_swing(mode: CduMode) -> None:
    plant = Plant(demo_config(4, mode))
    predicted = plant.steady_flows_lpm(frozenset({"r02"}))
    isolate(plant, "r02")
    plant.advance(30.0)
    seen: list[dict[str, float]] = []
    for _ in range(100):
        plant.advance(0.1)
        seen.append(flows(plant))
    for name in ("r01", "r03", "r04"):
        assert seen[-1][name] == pytest.approx(predicted[name], rel=2e-3)
        assert max(s[name] for s in seen) - min(s[name] for s in seen) < 0.002 * seen[-1][name]
    assert predicted["r02"] == pytest.approx(0.0)


def test_asking_for_the_steady_solution_changes_nothing() -> None:
    asked, left = Plant(demo_config(4)), Plant(demo_config(4))
    for plant in (asked, left):
        isolate(plant, "r02")
        plant.advance(2.0)
    asked.steady_flows_lpm(frozenset({"r01", "r03"}))
    for plant in (asked, left):
        plant.advance(5.0)
    assert snapshot(asked) == snapshot(left)


def test_the_steady_solution_without_isolation_is_the_present_one() -> None:
    plant = Plant(demo_config(4))
    assert plant.steady_flows_lpm() == pytest.approx(flows(plant), rel=1e-6)
    with pytest.raises(KeyError, match="r01, r02"):
        plant.steady_flows_lpm(frozenset({"r09"}))


@pytest.mark.parametrize("racks", [2, 4, 8])
def test_with_the_demos_header_no_isolation_moves_a_neighbour_by_one_percent(racks: int) -> None:
    plant = Plant(demo_config(racks))
    before = plant.steady_flows_lpm()
    for shut in before:
        after = plant.steady_flows_lpm(frozenset({shut}))
        assert max(abs(after[n] / before[n] - 1.0) for n in before if n != shut) < 0.01


def test_while_a_rack_shuts_its_neighbours_stay_within_two_percent() -> None:
    plant = Plant(demo_config(4))
    before = flows(plant)
    isolate(plant, "r02")
    worst = 0.0
    for _ in range(300):
        plant.advance(0.1)
        worst = max(worst, *(abs(flows(plant)[n] / before[n] - 1.0) for n in ("r01", "r03", "r04")))
    assert worst < 0.02


def equal_racks(count: int, mode: CduMode, kv_segment: float) -> PlantConfig:
    racks = tuple(rack_config(f"r{i:02d}", 132.0) for i in range(1, count + 1))
    return PlantConfig(cdu=cdu_config(racks, mode, kv_segment), racks=racks)


@pytest.mark.parametrize("kv_segment", [60.0, 80.0, 100.0])
def test_with_narrow_headers_and_dp_held_at_the_cdu_neighbours_move_by_percents(kv_segment: float) -> None:
    config = equal_racks(4, CduMode.CONSTANT_DP, kv_segment)
    at_cdu = Plant(config).cdu.dp_kpa
    plant = Plant(replace(config, cdu=replace(config.cdu, dp_node=0, dp_setpoint_kpa=at_cdu)))
    after, before = plant.steady_flows_lpm(frozenset({"r02"})), plant.steady_flows_lpm()
    moved = [100.0 * (after[n] / before[n] - 1.0) for n in ("r01", "r03", "r04")]
    assert 3.0 < min(moved) < max(moved) < 14.0


@pytest.mark.parametrize(
    ("mode", "low", "high"),
    [(CduMode.FIXED_SPEED, 4.0, 7.0), (CduMode.CONSTANT_DP, -0.01, 0.01), (CduMode.CONSTANT_FLOW, 14.2, 14.4)],
)
def test_one_of_eight_equal_racks_shut_moves_the_others_by_the_mode(mode: CduMode, low: float, high: float) -> None:
    plant = Plant(equal_racks(8, mode, 1e6))
    after = plant.steady_flows_lpm(frozenset({"r08"}))
    assert low < 100.0 * (after["r01"] / plant.steady_flows_lpm()["r01"] - 1.0) < high


def liquid_in_all(plant: Plant) -> float:
    """Liquid wherever it can be, but for a constant: racks carrying flow are full, the vessel's gas is missing liquid."""
    cdu = plant.cdu
    held = sum(rack.inventory_l + rack.spilled_l for rack in plant.racks.values())
    return held + cdu.reservoir_l + cdu.sump_l + cdu.spilled_l - cdu.vessel_gas_l


def test_no_liquid_is_made_or_lost_while_a_rack_leaks_drains_and_fills() -> None:
    plant = Plant(demo_config(4))
    for rack in plant.racks.values():
        rack.load_kw = 0.0
    plant.advance(900.0)  # cold: no thermal expansion to account for
    rack, before = plant.racks["r02"], liquid_in_all(plant)
    rack.leak_mm["tray"] = 5.0
    plant.cdu.leak_mm["header"] = 2.0
    plant.advance(20.0)
    isolate(plant, "r02")
    plant.advance(10.0)
    rack.leak_mm.clear()
    plant.cdu.leak_mm.clear()
    rack.xv_104_coil = rack.xv_103_coil = True
    plant.advance(300.0)
    assert rack.inventory_l < 20.0
    rack.xv_103_coil, rack.fcv_command_pct = False, 8.0
    plant.advance(90.0)
    rack.xv_101_coil = True
    plant.advance(150.0)
    assert rack.inventory_l > 44.0
    rack.xv_104_coil, rack.xv_102_coil = False, True
    plant.advance(60.0)
    assert liquid_in_all(plant) == pytest.approx(before, abs=0.3)


def test_heat_put_in_leaves_by_the_exchanger() -> None:
    plant = Plant(demo_config(4))
    plant.advance(300.0)
    load = sum(rack.busbar_kw * rack.config.liquid_fraction for rack in plant.racks.values())
    assert plant.cdu.heat_kw == pytest.approx(load, rel=0.01)


def test_supply_temperature_stays_about_its_set_point_through_a_load_step() -> None:
    plant, seen = Plant(demo_config(4)), []
    for rack in plant.racks.values():
        rack.load_kw *= 0.4
    for _ in range(3000):
        plant.advance(0.1)
        seen.append(plant.cdu.t_supply_c)
    assert max(abs(t - 40.0) for t in seen) < 3.0
    assert max(abs(t - 40.0) for t in seen[-600:]) < 0.1


def test_a_step_of_the_supply_temperature_reaches_far_racks_later() -> None:
    plant = Plant(demo_config(4))
    plant.cdu.supply_offset_k = 5.0
    arrivals: dict[str, float] = {}
    for _ in range(600):
        plant.advance(0.1)
        for name, rack in plant.racks.items():
            if rack.t_supply_c > 42.5:
                arrivals.setdefault(name, plant.now_s)
    assert sorted(arrivals, key=lambda n: arrivals[n]) == ["r01", "r02", "r03", "r04"]
    assert arrivals["r01"] > 2.0


def test_without_facility_water_the_loop_warms() -> None:
    plant = Plant(demo_config(4))
    plant.cdu.facility_available = 0.0
    plant.advance(60.0)
    assert plant.cdu.t_supply_c > 45.0


def test_a_tripped_pump_leaves_most_of_the_flow_and_two_leave_none() -> None:
    plant = Plant(demo_config(4))
    plant.cdu.pump_tripped[0] = True
    plant.advance(10.0)
    assert 0.85 < plant.cdu.flow_lpm / plant.config.cdu.flow_setpoint_lpm < 0.97
    assert plant.cdu.pump_speed_pct == pytest.approx([0.0, 100.0])
    plant.cdu.pump_tripped[1] = True
    plant.advance(5.0)
    assert plant.cdu.flow_lpm == pytest.approx(0.0, abs=1e-6)
    assert plant.steady_flows_lpm() == pytest.approx(dict.fromkeys(plant.racks, 0.0), abs=1e-6)
    plant.cdu.pump_tripped = [False, False]
    plant.advance(30.0)
    assert plant.cdu.flow_lpm == pytest.approx(plant.config.cdu.flow_setpoint_lpm, rel=0.01)


def test_a_mode_change_settles_on_what_the_new_mode_holds() -> None:
    plant = Plant(demo_config(4))
    plant.cdu.mode, plant.cdu.flow_setpoint_lpm = CduMode.CONSTANT_FLOW, 900.0
    plant.advance(20.0)
    assert plant.cdu.flow_lpm == pytest.approx(900.0, rel=1e-3)
    plant.cdu.mode, plant.cdu.dp_setpoint_kpa = CduMode.CONSTANT_DP, 150.0
    plant.advance(20.0)
    assert plant.cdu.dp_remote_kpa == pytest.approx(150.0, rel=1e-3)
    plant.cdu.mode, plant.cdu.speed_setpoint_pct = CduMode.FIXED_SPEED, 60.0
    plant.advance(20.0)
    assert plant.cdu.pump_speed_pct == pytest.approx([60.0, 60.0])


def test_a_leak_is_made_up_and_without_make_up_the_static_pressure_falls() -> None:
    plant = Plant(demo_config(4))
    plant.racks["r02"].leak_mm["manifold"] = 3.0
    plant.advance(60.0)
    assert plant.cdu.makeup_lpm == pytest.approx(plant.racks["r02"].leak_lpm, rel=0.02)
    assert plant.cdu.static_kpa == pytest.approx(150.0, abs=3.0)
    assert plant.cdu.level_pct < 99.0
    plant.cdu.makeup_enabled = False
    plant.advance(60.0)
    assert plant.cdu.static_kpa < 135.0


def test_a_header_leak_shows_at_the_cdu_and_in_no_rack() -> None:
    plant = Plant(demo_config(2))
    plant.cdu.leak_mm["header"] = 6.0
    plant.advance(10.0)
    assert plant.cdu.wet["LDT-201"]
    assert plant.cdu.flow_lpm - sum(flows(plant).values()) == pytest.approx(plant.cdu.leak_lpm, rel=1e-3)
    assert not any(any(rack.wet.values()) for rack in plant.racks.values())


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["r01", "r02", "r03"]), st.integers(0, 9), st.booleans()), max_size=12))
def test_whatever_valves_and_holes_do_the_plant_goes_on(acts: list[tuple[str, int, bool]]) -> None:
    plant = Plant(demo_config(3))
    for name, what, on in acts:
        rack = plant.racks[name]
        match what:  # fmt: skip
            case 0:
                rack.xv_101_coil = on
            case 1:
                rack.xv_102_coil = on
            case 2:
                rack.xv_103_coil = on
            case 3:
                rack.xv_104_coil = on
            case 4:
                rack.fcv_command_pct = 90.0 if on else 0.0
            case 5:
                rack.leak_mm["hose"] = 30.0 if on else 0.0
            case 6:
                plant.cdu.pump_tripped = [on, on]
            case 7:
                plant.cdu.strainer_blockage = 1.0 if on else 0.0
            case 8:
                plant.cdu.leak_mm["cdu"] = 10.0 if on else 0.0
            case _:
                rack.add_air(6.0)
        plant.advance(4.0)
        for value in snapshot(plant):
            assert -1e3 < value < 1e4
        for each in plant.racks.values():
            assert 0.0 <= each.inventory_l < 47.0
            assert -101.4 < each.p_supply_kpa < 800.0


def test_a_rack_that_cannot_have_its_flow_is_refused() -> None:
    with pytest.raises(ValueError, match=r"r01.*header dP"):
        Plant(with_rack(demo_config(2), "r01", fcv_kvs=5.0))


def test_racks_may_start_shut_or_empty() -> None:
    plant = Plant(with_rack(with_rack(demo_config(3), "r01", start=Start.ISOLATED), "r02", start=Start.DRAINED))
    plant.advance(5.0)
    assert [rack.inventory_l for rack in plant.racks.values()] == pytest.approx([45.0, 0.0, 45.0], abs=0.1)
    assert flows(plant)["r03"] == pytest.approx(plant.racks["r03"].config.design_flow_lpm, rel=0.01)
    assert [rack.permit_closed for rack in plant.racks.values()] == [False, False, True]


@pytest.mark.parametrize("mode", MODES)
def test_a_plant_with_every_rack_shut_starts_and_runs(mode: CduMode) -> None:
    config = demo_config(2, mode)
    for name in ("r01", "r02"):
        config = with_rack(config, name, start=Start.ISOLATED)
    plant = Plant(config)
    plant.advance(10.0)
    assert plant.cdu.flow_lpm == pytest.approx(0.0, abs=0.1)


def test_sizes_that_do_not_fit_together_are_refused() -> None:
    config = demo_config(2)
    with pytest.raises(ValueError, match="different names"):
        replace(config, racks=(config.racks[0], config.racks[0]))
    with pytest.raises(ValueError, match="dp_node"):
        replace(config, cdu=replace(config.cdu, dp_node=3))
    with pytest.raises(ValueError, match="1 to 64"):
        demo_config(0)
