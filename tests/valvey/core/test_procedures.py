"""Planned and protective sequences, step by step: opening, unloading, cooling down, isolating."""

from dataclasses import replace
from typing import Any

import pytest

from fieldkit.reading import Quality, Reading
from fieldkit.units import Unit
from tests.plant import FLOWING_VALUES, PaperRack, commissioned, flowing, isolated, limits
from tests.valvey.core.bench import alarms, coarse, last, repair, spoil, transitions
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.judges import permit_off
from valvey.core.memory import Inventory, Memory
from valvey.core.verdict import Verdict
from valvey.core.view import View

S = State


def place(rack: PaperRack, state: State, step: Step, **changes: Any) -> PaperRack:
    """Put the memory of a rack into a step that begins now."""
    at_s = rack.now_s
    rack.memory = replace(
        rack.memory, state=state, step=step, since_s=at_s, step_since_s=at_s, steady_since_s=None, **changes
    )
    return rack


def step_of(rack: PaperRack) -> Step:
    return rack.memory.step


def flow(rack: PaperRack, lpm: float) -> None:
    """Let both meters and the pressures say ``lpm``."""
    dp_kpa = 100.0 * 1.0145 * (lpm * 60.0 / 1000.0 / rack.limits.kv_rack) ** 2
    rack.values.update({"FT-101": lpm, "FT-102": lpm, "PT-102": 215.0, "PT-101": 215.0 + dp_kpa})


def opening(step: Step, **changes: object) -> PaperRack:
    """A rack in a step of its opening whose field does not move by itself."""
    rack = isolated()
    rack.follow = False
    rack.values["ZT-101"] = 50.0
    return place(rack, S.OPENING, step, **changes)


# --- opening ---------------------------------------------------------------------------------------------------------


def test_opening_goes_by_throttle_return_supply_and_proof_to_service() -> None:
    rack = isolated()
    rack.stroke_s = 3.0
    rack.values["ZT-101"] = 50.0
    rack.ask("open")
    assert (rack.state, rack.memory.step) == (S.OPENING, Step.THROTTLE)
    assert (rack.writes["XV-101"], rack.writes["XV-102"], rack.writes["FCV-101"]) == (0.0, 0.0, 10.0)
    rack.run(0.1)
    assert (rack.memory.step, rack.writes["XV-101"], rack.writes["XV-102"]) == (Step.RETURN, 0.0, 1.0)
    rack.run(3.2)
    assert (rack.memory.step, rack.writes["XV-101"], rack.writes["XV-102"]) == (Step.SUPPLY, 1.0, 1.0)
    rack.run(3.1)
    assert (rack.memory.step, rack.writes["XS-101"]) == (Step.PROVE, 0.0)
    flow(rack, 0.9 * 198.0)
    rack.run(4.9)
    assert (rack.state, rack.writes["XS-101"]) == (S.OPENING, 0.0)
    rack.run(0.2)
    assert (rack.state, rack.memory.step, rack.writes["XS-101"]) == (S.FLOWING, Step.SERVE, 1.0)
    assert last(rack, FactKind.ENDED).fields["status"] == "succeeded"


@pytest.mark.parametrize(("position", "moves"), [(12.0, True), (12.1, False), (None, False)])
def test_the_return_valve_waits_until_the_flow_valve_is_proven_low(position: float | None, moves: bool) -> None:
    rack = opening(Step.THROTTLE)
    rack.values["ZT-101"] = position
    rack.scan()
    assert (step_of(rack) is Step.RETURN) is moves


@pytest.mark.parametrize(
    ("step", "limit", "following"), [(Step.RETURN, "ZSO-102", Step.SUPPLY), (Step.SUPPLY, "ZSO-101", Step.PROVE)]
)
def test_each_valve_is_proven_open_before_the_next_step(step: Step, limit: str, following: Step) -> None:
    rack = opening(step)
    rack.values.update({"XY-101": 1.0, "XY-102": 1.0, "ZSC-101": 0.0, "ZSC-102": 0.0})
    rack.scan()
    assert step_of(rack) is step
    spoil(rack, limit)
    rack.values[limit] = 1.0
    rack.scan()
    assert step_of(rack) is step
    repair(rack, limit)
    rack.scan()
    assert step_of(rack) is following


@pytest.mark.parametrize(
    ("step", "overdue_s"), [(Step.THROTTLE, 120.0), (Step.RETURN, 9.0), (Step.SUPPLY, 9.0), (Step.PROVE, 300.0)]
)
def test_each_step_of_opening_has_a_deadline_and_ends_isolating(step: Step, overdue_s: float) -> None:
    rack = opening(step)
    coarse(rack, overdue_s - 1.0)
    rack.scan(dt_s=0.95)
    assert (rack.state, rack.memory.step) == (S.OPENING, step)
    rack.scan()
    assert transitions(rack)[0] == ("step_failed", "OPENING", "ISOLATING")
    assert rack.memory.emergency is False


@pytest.mark.parametrize(
    ("lpm", "lost", "proven"),
    [
        (0.9 * 198.0 + 0.01, (), True),
        (0.9 * 198.0 - 0.1, (), False),
        (198.0, ("FT-101",), True),
        (198.0, ("FT-101", "PT-101"), False),
    ],
)
def test_flow_is_proven_by_two_of_three_at_ninety_percent_for_five_seconds(
    lpm: float, lost: tuple[str, ...], proven: bool
) -> None:
    rack = opening(Step.PROVE)
    flow(rack, lpm)
    spoil(rack, *lost)
    assert rack.run(5.0).state is S.OPENING
    assert (rack.run(0.05).state is S.FLOWING) is proven


def test_a_proof_that_is_interrupted_begins_again() -> None:
    rack = opening(Step.PROVE)
    flow(rack, 198.0)
    rack.run(4.0)
    flow(rack, 100.0)
    rack.scan()
    flow(rack, 198.0)
    assert rack.run(5.0).state is S.OPENING
    assert rack.run(0.05).state is S.FLOWING


def test_one_flow_of_three_above_the_proof_is_not_enough() -> None:
    rack = opening(Step.PROVE)
    flow(rack, 100.0)
    rack.values["FT-101"] = 198.0
    assert rack.run(6.0).state is S.OPENING


def test_while_flow_is_proven_the_flow_valve_opens_at_its_own_speed_and_no_further_than_open() -> None:
    rack = opening(Step.PROVE, fcv_pct=10.0)
    flow(rack, 100.0)
    coarse(rack, 9.0)
    assert rack.writes["FCV-101"] == pytest.approx(20.0)
    rack.memory = replace(rack.memory, fcv_pct=99.5)
    coarse(rack, 2.0)
    assert rack.writes["FCV-101"] == pytest.approx(100.0)


@pytest.mark.parametrize(("lpm", "lost"), [(198.0, ()), (100.0, ("FT-101", "FT-102"))])
def test_the_flow_valve_opens_no_further_with_enough_flow_or_with_none_to_be_seen(
    lpm: float, lost: tuple[str, ...]
) -> None:
    rack = opening(Step.PROVE, fcv_pct=10.0)
    flow(rack, lpm)
    spoil(rack, *lost)
    coarse(rack, 3.0)
    assert rack.writes["FCV-101"] == pytest.approx(10.0)


def test_opening_from_cooldown_moves_no_valve_and_begins_with_the_proof() -> None:
    rack = flowing()
    rack.ask("dark")
    rack.run(0.2)
    rack.ask("reset", sif=["SIF-10"])
    rack.ask("open")
    assert (rack.state, rack.memory.step) == (S.OPENING, Step.PROVE)
    assert (rack.writes["XV-101"], rack.writes["XV-102"], rack.writes["XS-101"]) == (1.0, 1.0, 0.0)
    assert rack.memory.fcv_pct == pytest.approx(60.0)


def test_a_dark_trip_while_opening_keeps_the_flow_only_of_a_rack_proven_open() -> None:
    for limits_made, after in ((True, S.COOLDOWN), (False, S.ISOLATING)):
        rack = opening(Step.PROVE)
        rack.values.update({"ZSO-101": 1.0, "ZSO-102": float(limits_made), "ZSC-101": 0.0, "ZSC-102": 0.0})
        rack.values.update({"XY-101": 1.0, "XY-102": 1.0})
        rack.ask("dark")
        assert rack.state is after


def test_the_permit_rises_once_and_is_given_a_second_to_arrive() -> None:
    rack = opening(Step.PROVE)
    rack.values.update({"XY-101": 1.0, "XY-102": 1.0, "ZSO-101": 1.0, "ZSO-102": 1.0, "ZSC-101": 0.0, "ZSC-102": 0.0})
    flow(rack, 198.0)
    rack.run(5.05)
    assert rack.memory.permit_rise_s == pytest.approx(rack.now_s)
    assert rack.run(1.4).latched == ()  # nothing follows: the contactor stays off
    assert rack.run(0.15).latched == ("PERMIT_LOST",)
    assert rack.state is S.COOLDOWN


def test_the_contactor_is_judged_from_the_end_of_its_second_on() -> None:
    for age_s, expected in ((0.99, Verdict.NOT_ARMED), (1.0, Verdict.DEMAND)):
        reading = Reading("XI-101", 0.0, Unit.NONE, Quality.GOOD, age_s)
        memory = replace(commissioned(), permit_rise_s=0.0)
        assert permit_off(View({"XI-101": reading}, memory, limits(), age_s)).verdict is expected


# --- unloading -------------------------------------------------------------------------------------------------------


def unloading(**changes: object) -> PaperRack:
    return place(flowing(), S.UNLOADING, Step.UNLOAD, **changes)


def test_unloading_ends_when_the_load_is_below_five_percent_for_two_seconds() -> None:
    rack = unloading()
    rack.values.update({"JT-101": 6.59, "ET-101": 6.59})
    assert rack.run(2.0).state is S.UNLOADING
    rack.scan()
    assert (rack.state, rack.memory.step, rack.memory.isolate_wanted) == (S.COOLDOWN, Step.COOL, True)


@pytest.mark.parametrize("tag", ["JT-101", "ET-101"])
def test_five_percent_on_either_meter_are_a_load(tag: str) -> None:
    rack = unloading()
    rack.values.update({"JT-101": 0.0, "ET-101": 0.0, tag: 0.05 * 132.0})
    assert rack.run(3.0).state is S.UNLOADING


def test_unknown_power_ends_unloading_only_by_force() -> None:
    for forced, after in ((False, S.UNLOADING), (True, S.COOLDOWN)):
        rack = unloading(forced=forced)
        spoil(rack, "JT-101", "ET-101")
        assert rack.run(2.1).state is after


def test_force_comes_with_the_request_and_does_not_overrule_a_known_load(rack: PaperRack) -> None:
    rack.ask("isolate", force=True)
    assert rack.memory.forced
    assert rack.run(3.0).state is S.UNLOADING


def test_after_ten_minutes_unloading_is_given_up_told_and_alarmed(rack: PaperRack) -> None:
    rack.ask("isolate")
    assert coarse(rack, 598.5, dt_s=1.9).state is S.UNLOADING
    assert coarse(rack, 2.0).state is S.FLOWING
    assert ("unload_overdue", "UNLOADING", "FLOWING") in transitions(rack)
    assert last(rack, FactKind.ENDED).fields["status"] == "failed"
    assert "unload-overdue" in alarms(rack)
    rack.ask("isolate")
    rack.run(1.3)
    assert alarms(rack) == set()


# --- cooling down ----------------------------------------------------------------------------------------------------


def cooling(**changes: object) -> PaperRack:
    """A dark rack that somebody wants isolated; its field moves only where a test moves it."""
    rack = flowing()
    rack.follow = False
    rack.values.update({"XSY-101": 0.0, "XI-101": 0.0, "JT-101": 0.0, "ET-101": 0.0, "EV-101": 0.0})
    return place(rack, S.COOLDOWN, Step.COOL, **{"isolate_wanted": True, **changes})


def temperatures(rack: PaperRack, supply: float, ret: float) -> None:
    rack.values.update({"TT-101": supply, "TT-102A": ret, "TT-102B": ret, "TT-102C": ret})


def test_cooling_ends_at_less_than_three_kelvin_for_thirty_seconds() -> None:
    rack = cooling()
    temperatures(rack, 40.0, 42.99)
    rack.scan()
    coarse(rack, 29.0)
    rack.scan(dt_s=0.9)
    assert step_of(rack) is Step.COOL
    rack.scan(dt_s=0.1)
    assert (rack.state, rack.memory.step) == (S.COOLDOWN, Step.RAMP)


@pytest.mark.parametrize(
    "change",
    [
        {"TT-102A": 43.0, "TT-102B": 43.0, "TT-102C": 43.0},
        {"FT-101": 19.7, "FT-102": 19.7},
        {"TT-101": None},
        {"FT-101": None, "FT-102": None},
        {"TT-102A": None, "TT-102B": None, "TT-102C": None},
    ],
)
def test_a_rack_is_not_cool_while_it_is_warm_or_stands_still_or_cannot_be_seen(
    change: dict[str, float | None],
) -> None:
    rack = cooling()
    temperatures(rack, 40.0, 40.0)
    rack.values.update(change)
    coarse(rack, 40.0)
    assert step_of(rack) is Step.COOL


def test_ten_percent_of_the_flow_are_enough_to_cool() -> None:
    rack = cooling()
    temperatures(rack, 40.0, 40.0)
    rack.values.update({"FT-101": 19.8, "FT-102": 0.0})
    coarse(rack, 32.0)
    assert step_of(rack) is Step.RAMP


def test_a_dark_rack_that_nobody_wants_isolated_stays_and_has_no_deadline() -> None:
    rack = cooling(isolate_wanted=False)
    temperatures(rack, 40.0, 40.0)
    coarse(rack, 650.0, dt_s=1.9)
    assert (rack.state, rack.memory.step, alarms(rack)) == (S.COOLDOWN, Step.COOL, set())


def test_after_ten_minutes_a_warm_rack_ramps_all_the_same_with_an_alarm() -> None:
    rack = cooling()
    coarse(rack, 598.5, dt_s=1.9)
    rack.scan(dt_s=1.4)
    assert step_of(rack) is Step.COOL
    rack.scan(dt_s=0.1)
    assert step_of(rack) is Step.RAMP
    rack.run(0.2)
    assert "cooling-overdue" in alarms(rack)


def test_a_rack_that_cooled_in_time_ramps_without_an_alarm() -> None:
    rack = cooling()
    temperatures(rack, 40.0, 40.0)
    coarse(rack, 33.0)
    assert (rack.memory.step, alarms(rack)) == (Step.RAMP, set())


def test_the_ramp_takes_two_minutes_from_where_the_valve_stood_to_ten_percent() -> None:
    rack = place(cooling(), S.COOLDOWN, Step.RAMP, fcv_pct=60.0, fcv_from_pct=60.0)
    coarse(rack, 60.0)
    assert rack.writes["FCV-101"] == pytest.approx(35.0)
    coarse(rack, 60.0)
    assert rack.writes["FCV-101"] == pytest.approx(10.0)
    coarse(rack, 10.0)
    assert rack.writes["FCV-101"] == pytest.approx(10.0)


def test_a_valve_that_stands_lower_already_is_left_there() -> None:
    rack = place(cooling(), S.COOLDOWN, Step.RAMP, fcv_pct=8.0, fcv_from_pct=8.0)
    coarse(rack, 20.0)
    assert rack.writes["FCV-101"] == pytest.approx(8.0)


def test_the_valves_shut_after_the_ramp_with_the_power_proven_off() -> None:
    rack = place(cooling(), S.COOLDOWN, Step.RAMP, fcv_pct=60.0, fcv_from_pct=60.0)
    rack.values["ZT-101"] = 11.0
    coarse(rack, 119.0)
    rack.scan(dt_s=0.9)
    assert rack.state is S.COOLDOWN
    rack.scan(dt_s=0.1)
    assert (rack.state, rack.memory.step, rack.memory.emergency) == (S.ISOLATING, Step.SUPPLY, False)


@pytest.mark.parametrize(
    "change",
    [{"XI-101": 1.0}, {"ET-101": 2.7}, {"EV-101": 11.0}, {"ZT-101": 12.1}, {"XI-101": None}, {"EV-101": None}],
)
def test_the_valves_stay_open_while_power_or_throttle_is_not_proven(change: dict[str, float | None]) -> None:
    rack = place(cooling(), S.COOLDOWN, Step.RAMP, fcv_pct=60.0, fcv_from_pct=60.0)
    rack.values.update({"ZT-101": 11.0, **change})
    coarse(rack, 130.0, dt_s=2.0)
    assert rack.state is S.COOLDOWN


def test_an_isolation_whose_ramp_is_overdue_is_given_up_and_the_rack_cools_on_as_before() -> None:
    rack = place(cooling(), S.COOLDOWN, Step.RAMP, fcv_pct=11.0, fcv_from_pct=60.0, cool_overdue=True)
    rack.values.update({"XI-101": 1.0, "ZT-101": 11.0})
    rack.follow = False
    while rack.memory.isolate_wanted:
        assert rack.now_s - rack.memory.step_since_s < 1000.0
        rack.scan(dt_s=1.0)
    assert (step_of(rack), rack.memory.step_since_s) == (Step.COOL, rack.now_s)
    assert not rack.memory.cool_overdue
    assert rack.memory.fcv_pct == pytest.approx(60.0)


def test_a_cancel_keeps_a_cooling_rack_where_it_is() -> None:
    rack = place(cooling(), S.COOLDOWN, Step.RAMP, fcv_pct=60.0, fcv_from_pct=60.0)
    rack.values["ZT-101"] = 11.0
    rack.ask("cancel")
    assert (rack.memory.isolate_wanted, rack.memory.step) == (False, Step.COOL)
    coarse(rack, 140.0, dt_s=2.0)
    assert rack.state is S.COOLDOWN


def test_the_ramp_of_a_rack_that_nobody_wants_isolated_any_more_ends_nowhere() -> None:
    rack = place(cooling(isolate_wanted=False), S.COOLDOWN, Step.RAMP, fcv_pct=60.0, fcv_from_pct=60.0)
    rack.values["ZT-101"] = 11.0
    coarse(rack, 130.0, dt_s=1.9)
    assert rack.state is S.COOLDOWN


def test_asking_again_for_what_is_going_on_does_not_begin_it_again() -> None:
    rack = place(cooling(), S.COOLDOWN, Step.RAMP)
    since_s, seq = rack.memory.step_since_s, rack.memory.state_seq
    rack.ask("isolate")
    assert (rack.memory.step, rack.memory.step_since_s, rack.memory.state_seq) == (Step.RAMP, since_s, seq)


def test_an_isolation_asked_for_in_cooldown_begins_its_clock_then() -> None:
    rack = cooling(isolate_wanted=False)
    coarse(rack, 500.0, dt_s=2.0)
    rack.ask("isolate")
    assert (rack.memory.isolate_wanted, rack.memory.step_since_s) == (True, rack.now_s)
    coarse(rack, 500.0, dt_s=2.0)
    assert step_of(rack) is Step.COOL


# --- isolating -------------------------------------------------------------------------------------------------------


def leaking(stroke_s: float = 3.0) -> PaperRack:
    """A rack in service with a leak, in the scan in which it trips."""
    rack = flowing()
    rack.stroke_s = stroke_s
    rack.values["LDT-101"] = 1.0
    rack.run(0.55)
    return rack


def test_a_leak_shuts_the_supply_valve_and_then_the_return_valve() -> None:
    rack = leaking()
    assert (rack.memory.step, rack.writes["XV-101"], rack.writes["XV-102"]) == (Step.SUPPLY, 0.0, 1.0)
    rack.run(2.9)
    assert (rack.memory.step, rack.writes["XV-102"]) == (Step.SUPPLY, 1.0)
    rack.run(0.2)  # the shut limit is made
    assert (rack.memory.step, rack.writes["XV-102"]) == (Step.RETURN, 0.0)
    rack.run(3.2)
    assert rack.state is S.ISOLATED


def test_a_supply_valve_that_never_proves_itself_shut_delays_the_return_valve_by_its_stroke_and_half_a_second() -> None:
    rack = leaking()
    rack.follow = False
    rack.run(3.95)
    assert step_of(rack) is Step.SUPPLY
    rack.run(0.05)
    assert step_of(rack) is Step.RETURN


def test_an_emergency_does_not_wait_for_the_flow() -> None:
    rack = leaking(stroke_s=0.0)
    rack.values["FT-101"] = 100.0
    rack.scan()
    assert step_of(rack) is Step.RETURN


def planned() -> PaperRack:
    """A planned isolation whose supply valve has just proven itself shut."""
    rack = flowing()
    rack.follow = False
    rack.values.update({"ZSO-101": 0.0, "ZSC-101": 1.0, "XY-101": 0.0, "XI-101": 0.0, "XSY-101": 0.0})
    rack.values.update({"ET-101": 0.0, "JT-101": 0.0, "EV-101": 0.0})
    return place(rack, S.ISOLATING, Step.SUPPLY, emergency=False)


def test_planned_work_waits_for_the_flow_to_stop() -> None:
    rack = planned()
    rack.run(1.0)
    assert step_of(rack) is Step.SUPPLY
    rack.values.update({"FT-101": 9.0, "FT-102": 9.0})
    rack.scan()
    assert step_of(rack) is Step.RETURN


def test_planned_work_waits_for_the_flow_at_most_thirty_seconds() -> None:
    rack = planned()
    coarse(rack, 29.0)
    rack.scan(dt_s=0.95)
    assert step_of(rack) is Step.SUPPLY
    rack.scan()
    assert step_of(rack) is Step.RETURN


def test_planned_work_does_not_shut_the_return_valve_before_the_supply_valve_has_had_its_time() -> None:
    rack = planned()
    rack.values.update({"ZSC-101": 0.0, "FT-101": 0.0, "FT-102": 0.0})
    rack.run(3.95)
    assert step_of(rack) is Step.SUPPLY
    rack.run(0.05)
    assert step_of(rack) is Step.RETURN


@pytest.mark.parametrize("coil", ["XY-101", "XY-102"])
@pytest.mark.parametrize("known", [True, False])
def test_a_rack_with_a_coil_off_or_unknown_shuts_both_valves_at_once(coil: str, known: bool) -> None:
    rack = flowing()
    rack.follow = False
    rack.values["LDT-101"] = 1.0
    rack.run(0.5)
    rack.values[coil] = 0.0
    if not known:
        spoil(rack, coil)
    rack.scan()
    assert (rack.state, rack.memory.step, rack.writes["XV-102"]) == (S.ISOLATING, Step.RETURN, 0.0)


def test_a_return_coil_that_drops_while_the_supply_valve_shuts_ends_the_wait() -> None:
    rack = planned()
    rack.values["XY-102"] = 0.0
    rack.scan()
    assert step_of(rack) is Step.RETURN


def test_proof_begins_when_both_are_shut_or_have_had_one_and_a_half_strokes() -> None:
    rack = place(planned(), S.ISOLATING, Step.RETURN)
    rack.run(5.2)
    assert step_of(rack) is Step.RETURN
    rack.run(0.05)
    assert step_of(rack) is Step.PROVE
    rack = place(planned(), S.ISOLATING, Step.RETURN)
    rack.values["ZSC-102"] = 1.0
    rack.scan()
    assert step_of(rack) is Step.PROVE


def test_one_and_a_half_strokes_are_those_of_the_slower_valve() -> None:
    rack = flowing(stroke_101_s=5.0)
    rack.follow = False
    place(rack, S.ISOLATING, Step.RETURN)
    rack.run(7.45)
    assert step_of(rack) is Step.RETURN
    rack.run(0.1)
    assert step_of(rack) is Step.PROVE


@pytest.mark.parametrize(
    ("change", "proven"),
    [
        ({}, True),
        ({"ZSC-101": 0.0}, False),
        ({"ZSC-102": None}, False),
        ({"FT-101": 10.0}, False),
        ({"FT-102": None}, False),
    ],
)
def test_isolated_is_both_valves_proven_shut_and_both_flows_nil(change: dict[str, float | None], proven: bool) -> None:
    rack = planned()
    rack.values.update({"ZSC-102": 1.0, "ZSO-102": 0.0, "FT-101": 9.9, "FT-102": 9.9, "XY-102": 0.0, **change})
    place(rack, S.ISOLATING, Step.PROVE)
    rack.scan()
    assert (rack.state is S.ISOLATED) is proven


def test_an_empty_rack_that_is_proven_shut_is_drained() -> None:
    rack = planned()
    rack.values.update({"ZSC-102": 1.0, "ZSO-102": 0.0, "FT-101": 0.0, "FT-102": 0.0, "XY-102": 0.0})
    place(rack, S.ISOLATING, Step.PROVE, inventory=Inventory.EMPTY)
    rack.scan()
    assert rack.state is S.DRAINED


def test_a_planned_isolation_runs_from_service_to_isolated() -> None:
    rack = flowing(fcv_ramp_s=120.0)
    rack.ask("isolate")
    rack.values.update({"JT-101": 1.0, "ET-101": 1.0})
    rack.run(2.2)
    assert (rack.state, rack.writes["XS-101"]) == (S.COOLDOWN, 0.0)
    temperatures(rack, 40.0, 41.0)
    coarse(rack, 32.0)
    assert step_of(rack) is Step.RAMP
    coarse(rack, 154.0)
    assert rack.state is S.ISOLATED
    assert [row[0] for row in transitions(rack)] == ["isolate", "unloaded", "cooled", "proven_shut"]
    assert last(rack, FactKind.ENDED).fields["status"] == "succeeded"
    assert rack.memory.isolate_wanted is False


# --- the field is not as demanded ------------------------------------------------------------------------------------


@pytest.mark.parametrize("coil", ["XY-101", "XY-102"])
def test_a_coil_that_is_off_in_service_isolates_at_once(coil: str, rack: PaperRack) -> None:
    rack.follow = False
    rack.values[coil] = 0.0
    rack.scan()
    assert (rack.state, [one.row for one in rack.memory.latches]) == (S.ISOLATING, ["OPEN_LOST/coil"])
    assert transitions(rack) == [("open_lost", "FLOWING", "ISOLATING")]
    assert rack.memory.emergency


@pytest.mark.parametrize("limit", ["ZSC-101", "ZSC-102"])
def test_a_shut_limit_made_for_a_second_in_service_isolates(limit: str, rack: PaperRack) -> None:
    rack.follow = False
    rack.values[limit] = 1.0
    rack.run(1.0)
    assert rack.latched == ()
    rack.scan()
    assert [one.row for one in rack.memory.latches] == ["OPEN_LOST/shut"]


def test_a_drain_valve_that_is_not_proven_shut_for_a_second_isolates(rack: PaperRack) -> None:
    rack.follow = False
    rack.values["ZSC-103"] = 0.0
    rack.run(1.0)
    assert rack.latched == ()
    rack.scan()
    assert [one.row for one in rack.memory.latches] == ["OPEN_LOST/drain"]


def test_a_rack_whose_valves_are_lost_to_sight_is_not_isolated_for_it(rack: PaperRack) -> None:
    spoil(rack, "XY-101", "XY-102", "ZSC-101", "ZSC-102", "ZSC-103")
    assert rack.run(3.0).latched == ()


def test_a_contactor_that_is_off_for_half_a_second_goes_dark(rack: PaperRack) -> None:
    rack.follow = False
    rack.values["XI-101"] = 0.0
    assert rack.run(0.5).latched == ()
    assert rack.run(0.05).latched == ("PERMIT_LOST",)
    assert rack.state is S.COOLDOWN
    assert transitions(rack) == [("permit_lost", "FLOWING", "COOLDOWN")]


@pytest.mark.parametrize("state", [S.ISOLATED, S.DRAINED, S.TESTING])
@pytest.mark.parametrize("limit", ["ZSC-101", "ZSC-102"])
def test_a_shut_limit_lost_for_a_second_in_a_rack_that_stands_on_it_ends_in_esd(state: State, limit: str) -> None:
    rack = isolated()
    rack.follow = False
    step = Step.PRESSURE if state is S.TESTING else Step.HOLD
    place(rack, state, step)
    rack.values[limit] = 0.0
    assert rack.run(1.0).latched == ()
    assert rack.run(0.05).latched == ("PROOF_LOST",)
    assert rack.state is S.ESD
    assert transitions(rack)[-1][0] == "proof_lost"


def test_a_memory_is_the_same_object_while_nothing_happens_in_a_step_without_a_row() -> None:
    rack = isolated()
    before: Memory = rack.memory
    rack.scan()
    assert replace(rack.memory, now_s=before.now_s, alarms_s=before.alarms_s) == before


def test_every_value_of_the_paper_rack_is_that_of_a_rack_in_service() -> None:
    rack = flowing()
    rack.scan()
    assert {tag: rack.values[tag] for tag in FLOWING_VALUES} == {tag: float(v) for tag, v in FLOWING_VALUES.items()}
