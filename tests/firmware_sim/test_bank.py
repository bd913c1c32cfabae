"""The bench in stepped time: devices on the plant, expiries through to the water, and traces that repeat."""

import pytest

from firmware_sim.bank import Bank
from firmware_sim.bench_config import demo_bench
from firmware_sim.parts.cdu import CduMode
from firmware_sim.plant_config import Start
from firmware_sim.rig import BOOT_S
from firmware_sim.snapshot import snapshot_of
from firmware_sim.stamps import StampKind


def bank(racks: int = 2, attended_s: float = 0.0, start: Start = Start.FLOWING, seed: int = 1) -> Bank:
    return Bank(demo_bench(racks, start=start, attended_s=attended_s, seed=seed))


def changes(b: Bank, what: str, rack: str = "r01") -> list[tuple[float, float]]:
    return [(stamp.sim_s, stamp.value) for stamp in b.stamps.find(rack=rack, what=what)]


def when_alone(b: Bank, what: str, value: float) -> float:
    """When ``what`` changed to ``value``, its only change."""
    ((at_s, to),) = changes(b, what)
    assert to == value
    return at_s


def test_a_flowing_rack_stands_as_if_a_controller_had_just_left() -> None:
    b = bank()
    rig = b.rigs["r01"]
    assert rig.valves.input.get_u16(1) == 0b10011
    assert rig.valves.input.get_u16(2) & 1
    assert rig.transmitters.channels["FT-101"].shown == pytest.approx(rig.plant.flow_supply_lpm, rel=0.02)
    assert rig.valves.holding.get_u16(4) / 100 == pytest.approx(rig.plant.fcv.position * 100, abs=0.01)
    assert b.stamps.find() == []


def test_without_a_controller_the_permit_lapses_first_and_then_the_valves_shut() -> None:
    b = bank()
    b.advance(25.0)
    assert when_alone(b, "XSY-101", 0) == pytest.approx(8.0, abs=0.021)
    assert when_alone(b, "XI-101", 0) == pytest.approx(8.1, abs=0.05)
    assert when_alone(b, "XY-101", 0) == pytest.approx(15.0, abs=0.021)
    assert when_alone(b, "ZSO-101", 0) == pytest.approx(15.05, abs=0.06)
    assert when_alone(b, "ZSC-101", 1) == pytest.approx(18.5, abs=0.1)
    assert b.rigs["r01"].plant.flow_supply_lpm == pytest.approx(0.0, abs=0.01)


def test_an_attended_rack_waits_for_its_controller_until_the_first_write() -> None:
    b = bank(attended_s=60.0)
    b.advance(20.0)
    assert b.rigs["r01"].valves.input.get_u16(1) == 0b10011
    b.rigs["r01"].valves.write_registers(8, [1], b.now_s)
    b.advance(8.1)
    assert not b.rigs["r01"].valves.input.get_u16(1) & 0b10000
    assert b.rigs["r02"].valves.input.get_u16(1) == 0b10011


@pytest.mark.parametrize(("start", "limits"), [(Start.ISOLATED, 0b111010), (Start.DRAINED, 0b111010)])
def test_a_rack_that_is_not_flowing_starts_with_everything_off(start: Start, limits: int) -> None:
    b = bank(start=start, racks=1)
    assert b.rigs["r01"].valves.input.get_u16(0) == limits
    assert b.rigs["r01"].valves.input.get_u16(1) == 0


def test_w2_a_valve_that_shuts_by_itself_drops_the_permit_within_a_tenth_of_a_second() -> None:
    b = bank(attended_s=60.0)
    b.advance(1.0)
    b.rigs["r01"].valves.write_registers(0, [0, 1, 0, 0], b.now_s)
    b.advance(4.0)
    shut_s = when_alone(b, "ZSC-101", 1)
    assert when_alone(b, "XSY-101", 0) == pytest.approx(shut_s, abs=0.02)
    assert when_alone(b, "XI-101", 0) - shut_s <= 0.13


def test_w3_without_24_v_permit_and_valves_fall_together_and_boot_with_commands_off() -> None:
    b = bank(attended_s=60.0)
    fault = b.book.add("supply_24v_loss", rack="r01")
    b.advance(19.9)
    assert b.rigs["r01"].plant.permit_closed
    b.advance(0.3)
    plant = b.rigs["r01"].plant
    assert not plant.permit_closed
    assert not plant.xv_101_coil
    assert not plant.xv_102_coil
    assert not b.rigs["r01"].running
    b.book.clear(ident=fault.id)
    b.advance(BOOT_S + 0.1)
    assert b.rigs["r01"].running
    assert [b.rigs["r01"].valves.holding.get_u16(n) for n in (0, 1, 8)] == [0, 0, 0]


def test_without_24_v_the_rack_is_silent_on_the_wire() -> None:
    b = bank(attended_s=60.0)
    b.book.add("supply_24v_loss", rack="r01")
    b.advance(20.5)
    assert [name for name, endpoint in b.endpoints.items() if not endpoint.powered] == [
        "r01/valve_controller",
        "r01/transmitters",
        "r01/leak_panel",
        "r01/busbar_meter",
    ]


def test_the_motor_valve_follows_its_command_and_holds_when_the_controller_dies() -> None:
    b = bank(attended_s=60.0)
    rig = b.rigs["r01"]
    rig.valves.write_registers(4, [3000], b.now_s)
    b.advance(5.0)
    moving = rig.plant.fcv.position
    b.book.add("supply_24v_loss", rack="r01")
    b.advance(20.1)
    held = rig.plant.fcv.position
    b.advance(5.0)
    assert rig.plant.fcv.position == held < moving


def test_the_same_seed_gives_the_same_trace_and_another_one_another() -> None:
    def trace(seed: int) -> list[object]:
        b = bank(seed=seed, attended_s=60.0)
        b.book.add("leak", rack="r01", place="manifold", value=3.0, at_s=1.0)
        b.advance(10.0)
        measured = snapshot_of(b)["racks"]["r01"]["measured"]
        return [measured, [stamp.document() for stamp in b.stamps.find()]]

    assert trace(3) == trace(3)
    assert trace(3)[0] != trace(4)[0]


def test_set_points_written_over_the_wire_reach_the_pumps() -> None:
    b = bank(attended_s=60.0)
    assert b.cdu.write_registers(0, [0], 0.0) == 0
    b.endpoints["cdu"].serve(bytes.fromhex("06 0000 0000"), 1, 5)
    assert b.cdu_mode() is CduMode.FIXED_SPEED
    assert [stamp.mono_ns for stamp in b.stamps.find(kinds=[StampKind.WRITE])] == [5]


def test_a_write_is_stamped_with_its_arrival_and_what_it_changed() -> None:
    b = bank(attended_s=60.0)
    b.endpoints["r01/valve_controller"].serve(bytes.fromhex("10 0000 0002 04 0000 0001"), 1, 77)
    found = b.stamps.find(kinds=list(StampKind))
    assert [(s.kind, s.what, s.value, s.mono_ns) for s in found] == [
        (StampKind.WRITE, "0", 0, 77),
        (StampKind.COMMAND, "XV-101 command", 0.0, 77),
        (StampKind.REGISTER, "XY-101", 0.0, 77),
    ]
    assert found[0].values == (0, 1)


def test_a_refused_write_leaves_no_stamp() -> None:
    b = bank(attended_s=60.0)
    b.endpoints["r01/valve_controller"].serve(bytes.fromhex("06 0000 0002"), 1, 77)
    assert b.stamps.find(kinds=list(StampKind)) == []


def test_a_watched_value_is_stamped_when_it_crosses_its_limit() -> None:
    b = bank(attended_s=60.0)
    assert b.watch("r01", "FT-101", 50.0, None) == "FT-101 < 50"
    b.rigs["r01"].valves.write_registers(0, [0, 1, 0, 0], 0.0)
    b.advance(8.0)
    crossed = changes(b, "FT-101 < 50")
    assert [value for _, value in crossed] == [1.0]
    assert 2.0 < crossed[0][0] < 6.0


def test_the_snapshot_says_simulated_and_agrees_with_the_plant() -> None:
    b = bank(attended_s=60.0)
    b.advance(0.5)
    document = snapshot_of(b)
    assert document["simulated"] is True
    true = document["racks"]["r02"]["true"]
    assert true["flow_supply_lpm"] == pytest.approx(b.plant.racks["r02"].flow_supply_lpm, abs=1e-3)
    assert document["racks"]["r02"]["controller"]["limits"]["ZSO-101"] is True
    assert document["cdu_mode"] == "constant_dp"


def test_sixty_four_racks_fit_on_a_bench() -> None:
    b = bank(racks=64, attended_s=60.0)
    b.advance(0.2)
    assert len(b.endpoints) == 64 * 5 + 1


@pytest.mark.parametrize(("fault", "status"), [(None, 0b010000), ("actuator_stuck", 0b100000)])
def test_a_partial_stroke_on_the_plant_passes_on_a_sound_valve_and_fails_on_a_stuck_one(
    fault: str | None, status: int
) -> None:
    b = bank(attended_s=60.0)
    if fault:
        b.book.add(fault, rack="r01", tag="XV-101")
    valves = b.rigs["r01"].valves
    valves.write_registers(16, [1], b.now_s)
    b.advance(1.6)
    assert valves.holding.get_u16(16) == 0
    assert valves.input.get_u16(4) == status
    assert valves.input.get_u16(1) == 0b10011
    assert valves.input.get_u16(2) & 1
