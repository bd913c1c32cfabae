"""Each kind of fault changes what it should, and undoes it when it ends."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from firmware_sim.bank import Bank
from firmware_sim.bench_config import RackSetting, demo_bench
from firmware_sim.fault_book import FaultRefusedError
from firmware_sim.faults import KINDS, Family
from firmware_sim.plant_config import Start
from firmware_sim.rig import Rig
from firmware_sim.stamps import StampKind

FOREVER_S = 1e6
XS_101_COIL = 16


def bank(**settings: Any) -> Bank:
    return Bank(demo_bench(2, attended_s=FOREVER_S, **settings))


def shown(tag: str) -> Callable[[Bank], float]:
    return lambda b: b.channels("r01")[tag].shown


def of_rig(read: Callable[[Rig], float]) -> Callable[[Bank], float]:
    return lambda b: read(b.rigs["r01"])


def panel(address: int) -> Callable[[Bank], float]:
    return of_rig(lambda r: r.leak_panel.input.get_u16(address))


def valves(address: int) -> Callable[[Bank], float]:
    return of_rig(lambda r: r.valves.input.get_u16(address))


def shut_101(b: Bank) -> None:
    """Command XV-101 shut, and keep all else."""
    b.rigs["r01"].valves.write_registers(0, [0, 1, 0, 0], b.now_s)


def permit_off(b: Bank) -> None:
    b.rigs["r01"].valves.write_registers(8, [0], b.now_s)


def fcv_wide(b: Bank) -> None:
    b.rigs["r01"].valves.write_registers(4, [10_000], b.now_s)


def wet_101(b: Bank) -> None:
    b.book.add("wet", rack="r01", tag="LDT-101", value=1.0)


@dataclass(frozen=True)
class Case:
    """Add the fault, act if told, wait: ``read`` lies in [low, high]; end it and wait: it lies outside."""

    read: Callable[[Bank], float]
    low: float
    high: float
    aim: dict[str, Any] = field(default_factory=dict)
    wait_s: float = 1.0
    act: Callable[[Bank], None] = lambda b: None
    heals: bool = True
    heal_s: float = 1.0


R01 = {"rack": "r01"}
FT = R01 | {"tag": "FT-101"}
XV = R01 | {"tag": "XV-101"}
LDT = R01 | {"tag": "LDT-101"}
position = of_rig(lambda r: r.plant.xv_101.position)
supply_flow = of_rig(lambda r: r.plant.flow_supply_lpm)
not_numbers = of_rig(lambda r: math.isnan(r.transmitters.channels["FT-101"].shown))

# fmt: off
CASES: dict[str, list[Case]] = {
    "stuck":      [Case(shown("FT-101"), 42.0, 42.0, FT | {"value": 42.0}),
                   Case(shown("TT-102B"), 90.0, 90.0, R01 | {"tag": "TT-102B", "value": 90.0}),
                   Case(lambda b: b.cdu.channels["PT-201"].shown, 9.0, 9.0, {"tag": "PT-201", "value": 9.0}),
                   Case(position, 1.0, 1.0, XV, act=shut_101, wait_s=5.0, heal_s=5.0),
                   Case(panel(0), 0, 0, LDT, act=wet_101)],
    "drift":      [Case(shown("FT-101"), 200.0, 230.0, FT | {"value": 10.0}, wait_s=2.0)],
    "noise":      [Case(lambda b: spread(b, "FT-101"), 30.0, 200.0, FT | {"value": 20.0}, wait_s=0.1)],
    "bias":       [Case(shown("FT-101"), 230.0, 265.0, FT | {"value": 50.0})],
    "gain":       [Case(shown("FT-101"), 208.0, 217.0, FT | {"value": 8.0}, wait_s=3.0, heal_s=3.0)],
    "slow":       [Case(shown("FT-101"), 150.0, 250.0, FT | {"value": 1000.0}, act=shut_101, wait_s=10.0, heal_s=10.0)],
    "sentinel":   [Case(shown("FT-101"), -9999.0, -9999.0, FT | {"value": -9999.0}),
                   Case(valves(3), 0xFFFF, 0xFFFF, R01 | {"tag": "ZT-101"})],
    "nan":        [Case(not_numbers, 1, 1, FT),
                   Case(of_rig(lambda r: math.isnan(r.feeder.holding.get_f32(3059))), 1, 1, R01 | {"tag": "JT-101"})],
    "swap_words": [Case(of_rig(lambda r: 190 < r.transmitters.input.get_f32(0) < 205), 0, 0, FT)],
    "spike":      [Case(lambda b: spread(b, "FT-101"), 15.0, 400.0, FT | {"value": 400.0}, wait_s=0.1)],

    "actuator_stuck":   [Case(position, 1.0, 1.0, XV, act=shut_101, wait_s=5.0, heal_s=5.0)],
    "actuator_slow":    [Case(position, 0.5, 0.9, XV, act=shut_101, wait_s=4.0, heal_s=5.0)],
    "partial":          [Case(position, 0.3, 0.3, XV, act=shut_101, wait_s=5.0, heal_s=5.0)],
    "short_travel":     [Case(position, 0.9, 0.9, XV),
                         Case(of_rig(lambda r: r.valves.input.get_u16(0) & 1), 0, 0, XV),
                         Case(of_rig(lambda r: r.plant.fcv.position), 0.6, 0.6, R01 | {"tag": "FCV-101", "value": 60.0}, act=fcv_wide, wait_s=60.0, heal_s=60.0)],
    "jumps":            [Case(of_rig(lambda r: round(r.plant.xv_101.position * 10 % 1, 6) in {0.0, 1.0}), 1, 1, XV, act=shut_101, wait_s=1.77, heals=False)],
    "spring_broken":    [Case(position, 1.0, 1.0, XV, act=shut_101, wait_s=5.0, heal_s=5.0)],
    "confirms_but_does_not_move": [Case(of_rig(lambda r: r.valves.input.get_u16(0) & 2 and r.plant.xv_101.position), 1.0, 1.0, XV, act=shut_101, wait_s=1.0, heal_s=4.0)],
    "feedback_lies":    [Case(of_rig(lambda r: r.valves.input.get_u16(0) & 3), 1, 1, XV, act=shut_101, wait_s=5.0, heal_s=5.0),
                         Case(valves(3), 9_900, 10_000, R01 | {"tag": "FCV-101"})],
    "passing":          [Case(supply_flow, 5.0, 150.0, XV, act=shut_101, wait_s=5.0)],

    "leak":          [Case(panel(0), 1, 1, R01 | {"place": "manifold", "value": 3.0}, wait_s=8.0, heals=False),
                      Case(panel(2), 1, 1, R01 | {"place": "hose", "value": 3.0}, wait_s=12.0, heals=False),
                      Case(lambda b: b.plant.cdu.leak_lpm, 1.0, 500.0, {"place": "header", "value": 5.0})],
    "pump_trip":     [Case(lambda b: max(b.plant.cdu.pump_speed_pct), 0.0, 5.0, wait_s=10.0, heal_s=10.0),
                      Case(lambda b: b.plant.cdu.pump_speed_pct[0], 0.0, 5.0, {"value": 1.0}, wait_s=10.0, heal_s=10.0),
                      Case(lambda b: b.cdu.input.get_u16(22) & 1, 1, 1)],
    "supply_temperature_step": [Case(lambda b: b.plant.cdu.t_supply_c, 47.0, 53.0)],
    "strainer_blocked":        [Case(supply_flow, 5.0, 150.0, R01 | {"value": 90.0})],
    "weak_hose":               [Case(of_rig(lambda r: r.plant.leak_lpm), 0.045, 0.065, R01, wait_s=5.0)],
    "swapped_sensors":         [Case(shown("TT-101"), 47.0, 52.0, R01, wait_s=20.0, heal_s=20.0),
                                Case(shown("TT-102B"), 38.0, 42.0, R01, wait_s=20.0, heal_s=20.0),
                                Case(lambda b: shown("PT-102")(b) - shown("PT-101")(b), 50.0, 200.0, R01 | {"value": 1.0}),
                                Case(lambda b: shown("FT-101")(b) - shown("FT-102")(b), 0.2, 5.0, R01 | {"value": 2.0}, wait_s=10.0, heal_s=10.0)],
    "wrong_serial":            [Case(of_rig(lambda r: r.leak_panel.input.read(912, 1) == b"?L"), 1, 1, R01 | {"device": "leak_panel"})],
    "air":                     [Case(of_rig(lambda r: r.plant.air_pct), 0.5, 10.0, R01, wait_s=0.05, heals=False)],
    "blocked_drain":           [Case(of_rig(lambda r: r.plant.drain_blockage), 1.0, 1.0, R01)],
    "cdu_mode":                [Case(lambda b: b.cdu.input.get_u16(23), 2, 2, {"value": 2.0})],
    "facility_loss":           [Case(lambda b: b.plant.cdu.t_supply_c, 42.0, 80.0, wait_s=30.0, heal_s=200.0)],
    "power_loss":              [Case(shown("JT-101"), 0.0, 1.0, R01, wait_s=2.0, heal_s=2.0),
                                Case(of_rig(lambda r: r.running), 0, 0, R01, wait_s=21.0, heal_s=3.0),
                                Case(position, 0.0, 0.0, R01, wait_s=25.0, heals=False)],
    "feeder_off":              [Case(shown("EV-101"), 0.0, 1.0, R01, wait_s=2.0, heal_s=2.0),
                                Case(of_rig(lambda r: r.running), 1, 1, R01, wait_s=25.0, heals=False)],
    "supply_24v_loss":         [Case(of_rig(lambda r: r.plant.permit_closed), 0, 0, R01, wait_s=21.0, heals=False)],
    "contactor_welded":        [Case(of_rig(lambda r: r.plant.permit_closed), 1, 1, R01,
                                     act=permit_off)],
    "busbar_backfed":          [Case(of_rig(lambda r: r.plant.busbar_v), 45.0, 55.0, R01, wait_s=3.0, heal_s=5.0,
                                     act=permit_off)],

    "emergency_stop": [Case(valves(1), 0, 0, R01, wait_s=0.02, heals=False),
                       Case(of_rig(lambda r: r.valves.input.get_u16(2) >> 1 & 1), 0, 0, R01 | {"value": 1.0})],
    "stop_released":  [Case(of_rig(lambda r: r.stop.pressed), 0, 0, R01, heals=False)],
    "key_locked":     [Case(of_rig(lambda r: r.valves.input.get_u16(2) >> 2 & 1), 1, 1, R01)],
    "sump_high":      [Case(of_rig(lambda r: r.valves.input.get_u16(2) >> 3 & 1), 0, 0, R01)],
    "cdu_trip":       [Case(of_rig(lambda r: r.valves.input.get_u16(2) >> 4 & 1), 1, 1, R01)],
    "cable_break":    [Case(panel(0), 2, 2, LDT)],
    "contamination":  [Case(panel(0), 4, 4, LDT, wait_s=121.0), Case(panel(0), 4, 4, LDT | {"value": 1.0}, wait_s=0.0)],
    "wet":            [Case(panel(0), 1, 1, LDT, wait_s=5.1), Case(panel(0), 1, 1, LDT | {"value": 1.0}, wait_s=0.0)],
    "detector_stuck": [Case(panel(0), 0, 0, LDT, act=wet_101)],
    "switch_broken":  [Case(of_rig(lambda r: r.valves.input.get_u16(0) & 1), 0, 0, R01 | {"tag": "ZSO-101"})],
}
# fmt: on


def spread(b: Bank, tag: str) -> float:
    """Highest less lowest of what a channel shows in the next 1.2 s."""
    values = []
    for _ in range(30):
        b.advance(0.04)
        values.append(b.channels("r01")[tag].shown)
    return max(values) - min(values)


def test_every_kind_that_is_not_the_wires_has_a_case() -> None:
    """Those of makers' devices are in test_makers.py, those of shelves and the room in test_power_faults.py."""
    elsewhere = {Family.WIRE, Family.DEVICE, Family.POWER}
    others = {kind.name for kind in KINDS.values() if kind.family in elsewhere or kind.name == "frozen"}
    assert set(CASES) == set(KINDS) - others


@pytest.mark.parametrize(("kind", "case"), [(kind, case) for kind, cases in CASES.items() for case in cases])
def test_a_fault_changes_what_it_should_and_only_while_it_lasts(kind: str, case: Case) -> None:
    b = bank()
    b.advance(0.5)
    fault = b.book.add(kind, **case.aim)
    case.act(b)
    if case.wait_s:
        b.advance(case.wait_s)
    assert case.low <= case.read(b) <= case.high
    b.book.clear(ident=fault.id)
    assert fault not in b.book.faults
    if case.heals:
        b.advance(case.heal_s)
        assert not case.low <= case.read(b) <= case.high


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_fault_without_its_aim_is_refused_with_what_is_allowed(kind: str) -> None:
    needs_nothing = {"pump_trip", "supply_temperature_step", "facility_loss", "leak", "wrong_serial"}
    b = bank()
    if kind in needs_nothing or (KINDS[kind].aim.value == "link"):
        assert b.book.add(kind).active
        return
    with pytest.raises(FaultRefusedError, match=r"one of|needs a value"):
        b.book.add(kind)


def test_an_unknown_kind_names_the_nearest_and_all_known() -> None:
    with pytest.raises(FaultRefusedError, match=r"did you mean 'leak'.*known: ac_lost"):
        bank().book.add("leek")


@pytest.mark.parametrize(
    ("kind", "aim", "told"),
    [
        ("leak", {"rack": "r09", "place": "manifold"}, "r01, r02"),
        ("leak", {"rack": "r01", "place": "roof"}, "manifold"),
        ("stuck", {"rack": "r01", "tag": "TT-102"}, "TT-102A"),
        ("no_reply", {"rack": "r01", "device": "toaster"}, "valve_controller"),
        ("spring_broken", {"rack": "r01", "tag": "FCV-101"}, "XV-104"),
        ("wet", {"rack": "r01", "tag": "LDT-104"}, "LDT-103"),
        ("bias", {"rack": "r01", "tag": "FT-101"}, "needs a value"),
    ],
)
def test_a_wrong_aim_is_told_with_the_right_ones(kind: str, aim: dict[str, str], told: str) -> None:
    with pytest.raises(FaultRefusedError, match=told):
        bank().book.add(kind, **aim)  # type: ignore[arg-type]


def test_a_fault_ends_by_itself_after_its_time_and_can_wait_for_its_begin() -> None:
    b = bank()
    fault = b.book.add("key_locked", rack="r01", at_s=1.0, for_s=2.0)
    b.advance(0.9)
    assert not fault.active
    b.advance(0.2)
    assert fault.active
    assert b.rigs["r01"].key_locked
    b.advance(2.0)
    assert b.book.faults == []
    assert not b.rigs["r01"].key_locked


def test_a_second_fault_on_the_same_target_replaces_the_first() -> None:
    b = bank()
    b.book.add("stuck", rack="r01", tag="FT-101", value=10.0)
    b.book.add("stuck", rack="r01", tag="FT-101", value=20.0)
    assert [fault.value for fault in b.book.faults] == [20.0]
    assert b.channels("r01")["FT-101"].shown == pytest.approx(20.0)


def test_clear_takes_only_what_fits() -> None:
    b = bank()
    b.book.add("key_locked", rack="r01")
    b.book.add("key_locked", rack="r02")
    b.book.add("sump_high", rack="r01")
    assert b.book.clear(kind="key_locked", rack="r02") == 1
    assert b.book.clear(rack="r01") == 2
    assert b.book.clear() == 0


def test_a_fault_and_the_register_it_changes_are_stamped_together() -> None:
    b = bank()
    b.advance(1.0)
    b.book.add("wet", rack="r02", tag="LDT-102", value=1.0)
    register, fault = b.stamps.find(rack="r02")
    assert (register.kind, register.what, register.value, register.device) == (
        StampKind.REGISTER,
        "LDT-102",
        1.0,
        "leak_panel",
    )
    assert (fault.kind, fault.what, fault.value) == (StampKind.FAULT, "wet LDT-102", 1.0)
    assert register.mono_ns == fault.mono_ns == 1_000_000_000


def test_a_drained_rack_with_a_drain_fault_is_a_bank_too() -> None:
    config = demo_bench(1)
    drained = RackSetting("r01", 132.0, 0.0, Start.DRAINED)
    b = Bank(type(config)((drained,)))
    b.advance(1.0)
    assert b.rigs["r01"].valves.input.get_u16(0) == 0b111010
    assert b.rigs["r01"].valves.input.get_u16(1) == 0


def test_a_leak_without_a_place_is_in_the_manifold_or_in_the_header() -> None:
    b = bank()
    b.book.add("leak", rack="r01")
    b.book.add("leak", value=2.0)
    assert b.plant.racks["r01"].leak_mm == {"manifold": 3.0}
    assert b.plant.cdu.leak_mm == {"header": 2.0}


@pytest.mark.parametrize(
    ("word", "tag", "kind"),
    [
        ("stuck", "XV-101", "actuator_stuck"),
        ("slow", "FCV-101", "actuator_slow"),
        ("stuck", "LDT-102", "detector_stuck"),
    ],
)
def test_one_word_means_the_kind_that_fits_its_tag(word: str, tag: str, kind: str) -> None:
    assert bank().book.add(word, rack="r01", tag=tag).kind.name == kind
