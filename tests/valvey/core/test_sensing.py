"""The virtual sensors in the scan: when they look, what they see, what survives a restart, and their alarms."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.plant import BOOT, PaperRack, commissioned, flowing, isolated, limits
from tests.stored import reread
from tests.valvey.core.bench import alarms, coarse
from valvey.core.adoption import begin
from valvey.core.alarm_rows import ALARM_ROWS, row_of
from valvey.core.chart import State, Step
from valvey.core.mass_balance import Balance
from valvey.core.memory import Inventory, Memory
from valvey.core.plant_signs import Decay, Heat, Resistance
from valvey.core.plausible import Returns, Still
from valvey.core.sensing import (
    EPSILON_S,
    PERIOD_S,
    dew_margin_k,
    dp_flow_lpm,
    gross_imbalance,
    look,
    seen,
    symptoms,
)
from valvey.core.verdict import Verdict
from valvey.core.view import View
from valvey.core.virtual_sensors import Motion, Sums, VirtualSensors, conditions

RUNBOOKS = Path(__file__).parents[3] / "docs" / "operations" / "runbooks.md"
LEARNED = Balance(zero=0.004, variance=1e-6, learned_s=7200.0, settled_s=300.0, leaking=True)
FULL = VirtualSensors(
    balance=LEARNED,
    sums=Sums(0.5, 1.0, 1.0, 1.0, 1.0, 1.0),
    blind_s=30.0,
    motion=Motion(10.0, 198.0, 198.0, 215.0, 80.0, 7.0),
    heat=Heat(100.0, 198.0, 150.0, 30.0, 99.0),
    resistance=Resistance(24.0, 25.0, 3600.0, 300.0),
    decay=Decay(30.0, 200.0, 40.0, lost=True),
    passing_101_s=5.0,
    passing_102_s=5.0,
    dew_low=True,
    returns=Returns((1.0, 2.0, 3.0), 1, apart=True, apart_s=30.0, value_c=50.0),
    still={"FT-101": Still(198.0, 60.0, 20.0)},
    currents_s={"PT-101": 2.0},
)


def view_of(rack: PaperRack) -> View:
    return View(rack.readings(), rack.memory, rack.limits, rack.now_s)


def test_they_look_every_fifth_of_a_second_and_between_two_looks_nothing_changes(rack: PaperRack) -> None:
    looks = []
    for _ in range(9):
        rack.scan()
        looks.append(rack.memory.sensors_s)
    assert len(set(looks)) in {2, 3}
    rack.memory = replace(rack.memory, sensors_s=rack.now_s - 0.197)
    assert look(view_of(rack)) is rack.memory
    rack.memory = replace(rack.memory, sensors_s=rack.now_s - 0.199)
    assert look(view_of(rack)).sensors_s == rack.now_s


def test_a_look_counts_the_time_since_the_last_and_after_a_gap_no_more_than_two_seconds(rack: PaperRack) -> None:
    for gap_s, counted_s in ((0.4, 0.4), (2.0, 2.0), (100.0, 2.0)):
        rack.memory = replace(rack.memory, sensors=VirtualSensors(), sensors_s=rack.now_s - gap_s)
        assert look(view_of(rack)).sensors.motion.open_s == pytest.approx(counted_s)


def test_the_throttles_command_is_seen_where_the_flow_control_has_it() -> None:
    assert seen(view_of(flowing())).values["FCV-101"] == flowing().memory.fcv_pct
    assert seen(view_of(isolated())).values["FCV-101"] is None
    rack = flowing()
    rack.memory = replace(rack.memory, state=State.STARTUP, step=Step.ADOPT)
    assert seen(view_of(rack)).values["FCV-101"] is None


@pytest.mark.parametrize("lost", ["PT-101", "PT-102"])
def test_no_flow_by_pressure_without_both_pressures(rack: PaperRack, lost: str) -> None:
    assert dp_flow_lpm(view_of(rack)) == view_of(rack).dp_flow_lpm()
    rack.values[lost] = None
    assert dp_flow_lpm(view_of(rack)) is None


@pytest.mark.parametrize("lost", ["TT-110", "MT-110"])
def test_a_floor_stands_for_a_dew_point_that_is_not_known(rack: PaperRack, lost: str) -> None:
    rack.values.update({"TT-110": 30.0, "MT-110": 100.0})
    assert dew_margin_k(view_of(rack)) == pytest.approx(10.0)
    rack.values[lost] = None
    assert dew_margin_k(view_of(rack)) == 40.0 - 18.0
    rack.values["TT-101"] = None
    assert dew_margin_k(view_of(rack)) is None


def test_a_look_is_due_when_two_milliseconds_are_missing_and_no_more(rack: PaperRack) -> None:
    memory = replace(rack.memory, sensors_s=0.0)
    for now_s, due in ((PERIOD_S - EPSILON_S, True), (PERIOD_S - 2.0 * EPSILON_S, False)):
        assert (look(View(rack.readings(), memory, rack.limits, now_s)).sensors_s == now_s) is due


def test_the_three_return_temperatures_are_seen_in_their_order(rack: PaperRack) -> None:
    rack.values.update({"TT-102A": 50.0, "TT-102B": 51.0, "TT-102C": 52.0})
    assert seen(view_of(rack)).returns_c == (50.0, 51.0, 52.0)


def test_a_rack_is_seen_full_when_it_is_isolated_and_its_inventory_says_so() -> None:
    assert not seen(view_of(flowing())).full
    shut = isolated()
    assert seen(view_of(shut)).full
    shut.memory = replace(shut.memory, inventory=Inventory.PART)
    assert not seen(view_of(shut)).full


def judged_with(rack: PaperRack, motion: Motion, resistance: Resistance | None = None, **values: float) -> View:
    rack.values.update({"TT-101": 40.0, "TT-102A": 40.0, "TT-102B": 40.0, "TT-102C": 40.0})
    rack.values.update({name.replace("_", "-"): value for name, value in values.items()})
    sensors = VirtualSensors(motion=motion, resistance=resistance or Resistance())
    return View(rack.readings(), replace(rack.memory, sensors=sensors), rack.limits, rack.now_s)


@pytest.mark.parametrize(
    ("supply", "ret", "agrees"),
    [(210.0, 170.0, True), (209.9, 170.0, False), (230.0, 190.0, True), (230.0, 190.1, False), (220.0, 180.0, True)],
)
def test_the_flow_by_pressure_agrees_from_a_quarter_of_the_gap_to_three(
    rack: PaperRack, supply: float, ret: float, agrees: bool
) -> None:
    by_pressure = Resistance(1.0, 1.0, 3600.0, 300.0)  # 4 kPa are 200 L/min
    view = judged_with(rack, Motion(), by_pressure, FT_101=supply, FT_102=ret, PT_101=4.0, PT_102=0.0)
    assert symptoms(view) == (("dP-flow",) if agrees else ())


@pytest.mark.parametrize(
    ("ret", "verdict"), [(170.0, Verdict.UNKNOWN), (169.5, Verdict.DEMAND), (190.0, Verdict.HEALTHY)]
)
def test_what_the_change_of_the_flow_explains_is_taken_off(rack: PaperRack, ret: float, verdict: Verdict) -> None:
    view = judged_with(rack, Motion(10.0, 200.0, 165.0), FT_101=220.0, FT_102=ret, LDT_101=1.0)
    assert gross_imbalance(view).verdict is verdict


@pytest.mark.parametrize(("apart_s", "found"), [(119.9, ("PT-102", "LT-201")), (120.0, ())])
def test_pressure_and_level_are_symptoms_of_an_imbalance_that_is_young(
    rack: PaperRack, apart_s: float, found: tuple[str, ...]
) -> None:
    motion = Motion(apart_s=apart_s, kpa_falling=True, level_falling=True)
    assert symptoms(judged_with(rack, motion)) == found


# -- what survives -----------------------------------------------------------------------------------------------------


def begun(boot_id: str) -> Memory:
    stored = replace(commissioned(), sensors=FULL, sensors_s=990.0)
    return begin(
        reread(stored),
        readable=True, armed_in_file=True, starts_s=(), boot_id=boot_id, now_s=992.0, limits=limits(),
    )  # fmt: skip


def test_a_restart_in_the_same_boot_goes_on_with_all_of_it() -> None:
    memory = begun(BOOT)
    assert (memory.sensors, memory.sensors_s) == (FULL, 990.0)


def test_a_new_boot_keeps_what_was_learned_and_is_suspected_and_not_what_moved() -> None:
    memory = begun("another boot")
    assert memory.sensors == VirtualSensors(
        balance=replace(LEARNED, settled_s=0.0),
        resistance=FULL.resistance,
        decay=Decay(lost=True),
        dew_low=True,
        returns=Returns(dropped=1, apart=True, value_c=50.0),
        still=FULL.still,
    )
    assert memory.sensors_s <= 992.0 - 3600.0


def test_commissioning_by_hand_begins_the_learning_anew(shut_rack: PaperRack) -> None:
    shut_rack.memory = replace(shut_rack.memory, sensors=FULL)
    shut_rack.ask("commission")
    assert (shut_rack.memory.sensors.balance, shut_rack.memory.sensors.resistance) == (Balance(), Resistance())


# -- the return temperature --------------------------------------------------------------------------------------------


def test_a_return_temperature_that_is_far_off_for_long_counts_no_more(rack: PaperRack) -> None:
    rack.values.update({"TT-102A": 50.0, "TT-102B": 50.4, "TT-102C": 56.0})
    coarse(rack, 29.0, 0.5)
    assert view_of(rack).return_c() == 50.4
    coarse(rack, 2.0, 0.5)
    assert (view_of(rack).return_c(), "off-tt-102c" in alarms(rack)) == (50.4, True)
    rack.values["TT-102B"] = None
    assert view_of(rack).return_c() == 50.0  # not the hotter of what is left: that one is dropped
    rack.values["TT-102A"] = None
    assert view_of(rack).return_c() == 56.0


# -- alarms ------------------------------------------------------------------------------------------------------------

# fmt: off
HOLDING: tuple[tuple[str, VirtualSensors], ...] = (
    ("mass-balance",         VirtualSensors(balance=Balance(leaking=True))),
    ("mass-balance-blind",   VirtualSensors(blind_s=900.0)),
    ("meters-apart",         VirtualSensors(balance=Balance(reversed=True))),
    ("heat-balance",         VirtualSensors(heat=Heat(off_s=120.0))),
    ("fouling",              VirtualSensors(resistance=Resistance(20.0, 25.1, 3600.0, 300.0))),
    ("bypass-flow",          VirtualSensors(resistance=Resistance(20.0, 15.9, 3600.0, 300.0))),
    ("pressure-decay",       VirtualSensors(decay=Decay(lost=True))),
    ("dew-margin",           VirtualSensors(dew_low=True)),
    ("valve-passing-xv-101", VirtualSensors(passing_101_s=10.0)),
    ("valve-passing-xv-102", VirtualSensors(passing_102_s=10.0)),
    ("returns-apart",        VirtualSensors(returns=Returns(apart=True))),
    ("off-tt-102b",          VirtualSensors(returns=Returns(dropped=1))),
    ("stuck-ft-101",         VirtualSensors(still={"FT-101": Still(1.0, 1.0, 120.0)})),
    ("current-pt-101",       VirtualSensors(currents_s={"PT-101": 4.0})),
)
# fmt: on


@pytest.mark.parametrize(("name", "sensors"), HOLDING, ids=[name for name, _ in HOLDING])
def test_each_condition_is_an_alarm_with_a_row_and_a_runbook_and_trips_nothing(
    rack: PaperRack, name: str, sensors: VirtualSensors
) -> None:
    assert conditions(sensors) == (name,)
    row = row_of(name)
    assert row is not None
    assert not row.trip
    for _ in range(320 if row.on_delay_s > 1.0 else 3):
        rack.memory = replace(rack.memory, sensors=sensors, sensors_s=rack.now_s + 0.1)
        rack.scan(dt_s=0.1)
    assert alarms(rack) == {name}
    assert (rack.state, rack.latched) == (State.FLOWING, ())


def test_every_alarm_has_its_section_in_the_runbooks() -> None:
    page = RUNBOOKS.read_text(encoding="utf-8")
    for row in ALARM_ROWS:
        path, _, section = row.runbook.partition("#")
        assert path == "docs/operations/runbooks.md"
        assert f"\n## {section}\n" in page, row.id
