"""SIF-1: liquid at a leak detector shuts the rack."""

from dataclasses import replace

import pytest

from tests.plant import PaperRack, flowing, limits, starting
from tests.valvey.core.bench import (
    alarms,
    coarse,
    flicker,
    held_s,
    last,
    lose_link,
    put,
    register,
    repair,
    rows,
    run_frozen,
    spoil,
    swap_words,
    verdict,
)
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.limits import TripTiming
from valvey.core.memory import Bypass, Effect, Inventory
from valvey.core.policy import DEFAULT_POLICY
from valvey.core.trips import rows_for
from valvey.core.verdict import Verdict

ROPE = "SIF-1/rack-detector-wet"
FLOOR = "SIF-1/floor-rope-wet"
SECOND = "SIF-1/floor-rope-and-second-symptom"


@pytest.mark.parametrize("tag", ["LDT-101", "LDT-102"])
def test_one_wet_rack_detector_of_two_isolates_after_half_a_second(rack: PaperRack, tag: str) -> None:
    rack.values[tag] = 1.0
    assert rack.run(0.5).state is State.FLOWING
    rack.scan()
    assert (rack.state, rack.memory.step, rows(rack)) == (State.ISOLATING, Step.SUPPLY, (ROPE,))
    latch = rack.memory.latches[0]
    assert (latch.sif, latch.effect, latch.tag, latch.value) == ("SIF-1", Effect.ISOLATE, tag, 1.0)


def test_the_permit_and_the_supply_valve_fall_in_the_scan_of_the_verdict(rack: PaperRack) -> None:
    rack.values["LDT-101"] = 1.0
    rack.run(0.55)
    assert (rack.writes["XS-101"], rack.writes["XV-101"], rack.writes["FCV-101"]) == (0.0, 0.0, 0.0)


def test_after_a_leak_nobody_knows_how_much_coolant_is_left(rack: PaperRack) -> None:
    rack.values["LDT-101"] = 1.0
    rack.run(0.6)
    assert (rack.memory.inventory, rack.memory.tested) == (Inventory.UNKNOWN, False)


def test_a_splash_shorter_than_the_hold_does_nothing(rack: PaperRack) -> None:
    rack.values["LDT-101"] = 1.0
    rack.run(0.5)
    rack.values["LDT-101"] = 0.0
    assert rack.run(2.0).state is State.FLOWING
    assert (rack.latched, held_s(rack, ROPE)) == ((), 0.0)


def test_drying_out_neither_resets_nor_reopens(rack: PaperRack) -> None:
    rack.values["LDT-101"] = 1.0
    rack.run(1.0)
    rack.values["LDT-101"] = 0.0
    rack.run(20.0)
    assert (rack.state, rack.latched) == (State.ISOLATED, ("SIF-1",))


@pytest.mark.parametrize("state", list(State))
def test_a_leak_is_judged_in_every_state(state: State) -> None:
    assert all(state in row.armed for row in rows_for(limits()) if row.sif == "SIF-1")


def test_a_leak_in_an_isolated_rack_is_latched_and_moves_nothing(shut_rack: PaperRack) -> None:
    shut_rack.values["LDT-101"] = 1.0
    shut_rack.run(1.0)
    assert (shut_rack.state, shut_rack.latched) == (State.ISOLATED, ("SIF-1",))


def test_a_leak_during_startup_isolates_without_waiting_for_the_adoption() -> None:
    rack = starting(State.FLOWING)
    spoil(rack, "FT-101", "FT-102")  # adoption waits for a flow meter
    rack.values["LDT-101"] = 1.0
    rack.run(0.55)
    assert (rack.state, rack.latched) == (State.ISOLATING, ("SIF-1",))


def test_a_leak_in_the_first_seconds_after_adoption_isolates_after_a_fifth_of_a_second() -> None:
    rack = starting(State.FLOWING)
    assert rack.run(0.2).state is State.FLOWING
    rack.values["LDT-101"] = 1.0
    assert rack.run(0.2).latched == ()
    assert rack.run(0.05).latched == ("SIF-1",)


def test_a_cable_break_is_neither_wet_nor_dry_and_alarms_after_five_seconds(rack: PaperRack) -> None:
    put(rack, register("LDT-101", 0b011, rack.now_s))  # the wet bit is set as well: the break bit wins
    rack.run(4.8)
    assert verdict(rack, ROPE) is Verdict.UNKNOWN
    assert "bad-ldt-101" not in alarms(rack)
    rack.run(0.5)
    assert "bad-ldt-101" in alarms(rack)
    assert (rack.state, rack.latched) == (State.FLOWING, ())


def test_with_one_detector_faulty_the_other_still_isolates(rack: PaperRack) -> None:
    spoil(rack, "LDT-101")
    rack.run(1.0)
    rack.values["LDT-102"] = 1.0
    assert rack.run(0.5).state is State.FLOWING
    rack.scan()
    assert rack.state is State.ISOLATING


def test_all_detectors_lost_alarm_after_five_seconds_and_go_dark_after_thirty_minutes(rack: PaperRack) -> None:
    spoil(rack, "LDT-101", "LDT-102")
    rack.run(5.2)
    assert {"bad-ldt-101", "bad-ldt-102"} <= alarms(rack)
    coarse(rack, 1792.0, dt_s=1.75)
    assert (rack.state, rack.latched) == (State.FLOWING, ())
    coarse(rack, 5.25, dt_s=1.75)
    assert (rack.state, rows(rack)) == (State.COOLDOWN, ("SIF-1/blind",))
    latch = rack.memory.latches[0]
    assert (latch.effect, latch.tag) == (Effect.DARK, "LDT-101 blind")
    assert latch.held_s == pytest.approx(1800.0, abs=1.8)


def test_one_detector_that_comes_back_counts_the_blindness_down(rack: PaperRack) -> None:
    spoil(rack, "LDT-101", "LDT-102")
    coarse(rack.run(0.05), 9.0)
    repair(rack, "LDT-102")
    coarse(rack, 8.0)
    assert rack.memory.timers["SIF-1/blind"].blind_s == pytest.approx(
        3.0
    )  # ten seconds until the scan that saw it, less seven
    spoil(rack, "LDT-102")
    coarse(rack, 3.0)
    assert rack.memory.timers["SIF-1/blind"].blind_s == pytest.approx(4.0)


def test_a_rack_gone_dark_for_blindness_cannot_be_reset_while_it_is_blind() -> None:
    rack = flowing(timing={"SIF-1/blind": TripTiming(0.0, 1.0)})
    spoil(rack, "LDT-101", "LDT-102")
    rack.run(1.2)
    assert (rack.state, verdict(rack, "SIF-1/blind")) == (State.COOLDOWN, Verdict.UNKNOWN)
    answer = rack.ask("reset", sif=["SIF-1"])
    assert (answer.fields["status"], answer.fields["code"]) == ("refused", "cause_not_clear")
    repair(rack, "LDT-101", "LDT-102")
    rack.scan()
    assert rack.ask("reset", sif=["SIF-1"]).fields["status"] == "accepted"
    assert (rack.latched, rack.state) == ((), State.COOLDOWN)


def test_a_wet_detector_whose_cable_breaks_does_not_cancel_its_demand(rack: PaperRack) -> None:
    rack.values["LDT-101"] = 1.0
    rack.run(0.3)
    spoil(rack, "LDT-101")
    rack.run(3.0)
    held = held_s(rack, ROPE)
    assert held == pytest.approx(0.3)
    assert (rack.state, verdict(rack, ROPE)) == (State.FLOWING, Verdict.UNKNOWN)
    repair(rack, "LDT-101")
    rack.scan()  # wet again: 0.3 s are counted already
    rack.run(0.2)
    assert rack.state is State.ISOLATING


def test_a_wet_detector_that_is_lost_in_every_other_poll_isolates_after_twice_the_hold(rack: PaperRack) -> None:
    assert flicker(rack, "LDT-101", [1.0, None] * 10).state is State.FLOWING
    assert flicker(rack, "LDT-101", [1.0]).state is State.ISOLATING


def test_chatter_that_is_dry_half_of_the_time_never_isolates(rack: PaperRack) -> None:
    flicker(rack, "LDT-101", [1.0, 0.0] * 30)
    assert (rack.state, rack.latched) == (State.FLOWING, ())


def test_chatter_that_is_mostly_wet_isolates_late(rack: PaperRack) -> None:
    assert flicker(rack, "LDT-101", [1.0, 1.0, 0.0] * 9).state is State.FLOWING  # one scan of three is left: 9 * 0.05 s
    assert flicker(rack, "LDT-101", [1.0, 1.0]).state is State.ISOLATING


def test_a_wet_floor_rope_isolates_after_a_minute(rack: PaperRack) -> None:
    rack.values["LDT-103"] = 1.0
    coarse(rack.run(0.05), 59.0)
    assert rack.run(0.95).state is State.FLOWING
    rack.scan()
    assert (rack.state, rows(rack)) == (State.ISOLATING, (FLOOR,))


def test_a_wet_floor_rope_with_flows_apart_isolates_at_once(rack: PaperRack) -> None:
    rack.values.update({"LDT-103": 1.0, "FT-102": 198.0 - 30.5})
    assert rack.run(0.5).state is State.FLOWING
    rack.scan()
    assert (rack.state, rows(rack)) == (State.ISOLATING, (SECOND,))


@pytest.mark.parametrize(
    ("supply", "ret", "apart"),
    [(198.0, 168.0, False), (198.0, 167.9, True), (400.0, 360.5, False), (400.0, 359.5, True), (168.0, 198.5, False)],
)
def test_flows_are_apart_beyond_thirty_litres_or_ten_percent(
    rack: PaperRack, supply: float, ret: float, apart: bool
) -> None:
    rack.values.update({"LDT-103": 1.0, "FT-101": supply, "FT-102": ret})
    rack.values.update({"TT-102A": 40.0, "TT-102B": 40.0, "TT-102C": 40.0})  # nothing has expanded
    rack.run(0.7)
    assert (SECOND in rows(rack)) is apart


def test_a_wet_floor_rope_waits_when_a_second_symptom_can_neither_be_seen_nor_denied(rack: PaperRack) -> None:
    rack.values.update({"LDT-103": 1.0, "FT-102": 160.0})
    rack.run(0.3)
    spoil(rack, "FT-102")
    rack.run(3.0)
    assert verdict(rack, SECOND) is Verdict.UNKNOWN
    assert held_s(rack, SECOND) == pytest.approx(0.3)
    repair(rack, "FT-102")
    rack.run(0.3)
    assert rack.state is State.ISOLATING


def test_a_wet_floor_rope_alone_is_healthy_for_the_rule_that_wants_a_second_symptom(rack: PaperRack) -> None:
    rack.values["LDT-103"] = 1.0
    rack.run(1.0)
    assert (verdict(rack, SECOND), verdict(rack, FLOOR)) == (Verdict.HEALTHY, Verdict.DEMAND)


def test_a_flow_with_its_words_swapped_is_no_second_symptom(rack: PaperRack) -> None:
    rack.values["LDT-103"] = 1.0
    (reading,) = swap_words(rack, "FT-102")
    assert reading.reason == "denormal"
    rack.run(2.0)
    assert verdict(rack, SECOND) is Verdict.UNKNOWN
    assert (rack.state, rack.latched) == (State.FLOWING, ())


def test_a_frozen_leak_panel_is_not_a_dry_one(rack: PaperRack) -> None:
    run_frozen(rack, 0.5, "LDT-101", "LDT-102", "LDT-103")
    assert verdict(rack, ROPE) is Verdict.HEALTHY
    run_frozen(rack, 1.0, "LDT-101", "LDT-102", "LDT-103")
    assert [verdict(rack, row) for row in (ROPE, FLOOR, "SIF-1/blind")] == [Verdict.UNKNOWN] * 3


def test_a_lost_leak_panel_is_one_alarm_and_no_leak(rack: PaperRack) -> None:
    lose_link(rack, "leak_panel")
    coarse(rack.run(1.0), 10.0)
    assert alarms(rack) == {"link-leak-panel"}
    assert (rack.state, rack.latched) == (State.FLOWING, ())


def test_a_detector_that_is_bypassed_by_name_has_no_vote(rack: PaperRack) -> None:
    assert rack.ask("bypass", name="LDT-101", for_s=600.0).fields["status"] == "accepted"
    rack.values["LDT-101"] = 1.0
    assert rack.run(2.0).state is State.FLOWING
    rack.values["LDT-102"] = 1.0
    assert rack.run(0.6).state is State.ISOLATING


def test_a_detector_is_tested_under_its_bypass_and_told_as_what_it_would_have_done(rack: PaperRack) -> None:
    rack.ask("bypass", name="LDT-101", for_s=5.0)
    rack.values["LDT-101"] = 1.0
    rack.run(0.4)
    assert rack.told(FactKind.WOULD_TRIP) == []
    rack.run(0.3)
    (told,) = rack.told(FactKind.WOULD_TRIP)
    assert (told.fields["row"], told.fields["tag"], told.fields["bypassed"]) == (ROPE, "LDT-101", True)
    assert (rack.state, rack.latched, rack.memory.would_trip) == (State.FLOWING, (), (ROPE,))
    rack.run(4.0)
    assert (rack.state, rack.latched) == (State.FLOWING, ())
    rack.run(1.2)
    assert rack.latched == ("SIF-1",)  # a test that nobody ended ends by itself, and then it is a leak
    assert len(rack.told(FactKind.WOULD_TRIP)) == 1


def test_a_bypassed_detector_is_no_second_symptom_either() -> None:
    rack = flowing(policy=DEFAULT_POLICY[1:])  # LDT-101 is in no rule here, but a sign all the same
    rack.values.update({"LDT-103": 1.0, "LDT-101": 1.0})
    rack.scan()
    assert verdict(rack, SECOND) is Verdict.DEMAND
    rack.memory = replace(rack.memory, bypasses=(Bypass("LDT-101", "a", "b", 0.0, 9e9),))
    rack.scan()
    assert verdict(rack, SECOND) is Verdict.HEALTHY


def test_a_wet_rope_is_judged_again_when_its_bypass_ends(rack: PaperRack) -> None:
    rack.ask("bypass", name="SIF-1", for_s=2.0)
    rack.values["LDT-101"] = 1.0
    rack.run(1.9)
    assert (rack.state, verdict(rack, ROPE)) == (State.FLOWING, Verdict.NOT_ARMED)
    assert rack.run(0.8).latched == ("SIF-1",)


def test_a_rule_whose_only_detector_is_bypassed_is_not_armed(rack: PaperRack) -> None:
    rack.ask("bypass", name="LDT-103", for_s=600.0)
    spoil(rack, "LDT-101", "LDT-102")
    rack.run(0.2)
    assert (verdict(rack, FLOOR), verdict(rack, "SIF-1/blind")) == (Verdict.NOT_ARMED, Verdict.UNKNOWN)


def test_with_both_rack_detectors_bypassed_nothing_is_left_to_be_blind() -> None:
    rack = flowing(bypasses_at_once=2)
    rack.ask("bypass", name="LDT-101", for_s=600.0)
    rack.ask("bypass", name="LDT-102", for_s=600.0)
    rack.scan()
    assert (verdict(rack, "SIF-1/blind"), verdict(rack, ROPE)) == (Verdict.NOT_ARMED, Verdict.NOT_ARMED)


def test_contamination_is_an_alarm_and_no_leak(rack: PaperRack) -> None:
    rack.values["LDA-102"] = 1.0
    rack.run(5.3)
    assert alarms(rack) == {"contamination-ldt-102"}
    assert rack.state is State.FLOWING


def test_a_leak_is_told_with_its_evidence(rack: PaperRack) -> None:
    rack.values["LDT-102"] = 1.0
    rack.run(0.6)
    fields = last(rack, FactKind.TRIP).fields
    assert (fields["sif"], fields["tag"], fields["value"], fields["held_s"]) == ("SIF-1", "LDT-102", 1.0, 0.5)
    assert (fields["effect"], fields["first_out"], fields["row"]) == ("ISOLATE", "SIF-1", ROPE)
    assert fields["sample_s"] == pytest.approx(rack.now_s - 0.05)
