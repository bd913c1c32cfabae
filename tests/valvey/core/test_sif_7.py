"""SIF-7: the emergency stop puts everything into its fail position, whatever else is going on."""

from dataclasses import replace

import pytest

from tests.plant import PaperRack, flowing, isolated, limits, starting
from tests.valvey.core.bench import (
    alarms,
    flicker,
    last,
    lose_link,
    put,
    register,
    rows,
    run_frozen,
    spoil,
    swap_words,
    verdict,
)
from valvey.core.chart import FIRST_STEP, State
from valvey.core.facts import FactKind
from valvey.core.limits import TripTiming
from valvey.core.memory import Bypass, Effect
from valvey.core.trips import TRIPS
from valvey.core.verdict import Verdict

ALL_OFF = {"XS-101": 0.0, "XV-101": 0.0, "XV-102": 0.0, "XV-103": 0.0, "XV-104": 0.0, "FCV-101": 0.0}


def test_the_button_puts_everything_into_its_fail_position_in_the_same_scan(rack: PaperRack) -> None:
    rack.values["HS-101"] = 1.0
    rack.scan()
    latch = rack.memory.latches[0]
    assert (rack.state, rows(rack), rack.writes) == (State.ESD, ("SIF-7",), ALL_OFF)
    assert (latch.effect, latch.tag, latch.value) == (Effect.ESD, "HS-101", 1.0)


def test_an_accepted_request_does_the_same(rack: PaperRack) -> None:
    answer = rack.ask("emergency_stop", role="operator")
    assert (answer.fields["status"], rack.state, rack.writes) == ("accepted", State.ESD, ALL_OFF)
    assert rack.memory.latches[0].tag == "emergency_stop"


def test_letting_go_of_the_button_is_no_reset(rack: PaperRack) -> None:
    rack.values["HS-101"] = 1.0
    rack.scan()
    rack.values["HS-101"] = 0.0
    assert rack.run(1.0).state is State.ESD


def test_a_reset_with_the_button_pressed_is_refused_and_one_with_it_free_leads_to_isolating(rack: PaperRack) -> None:
    rack.values["HS-101"] = 1.0
    rack.run(0.2)
    assert rack.ask("reset", sif=["SIF-7"]).fields["code"] == "cause_not_clear"
    rack.values["HS-101"] = 0.0
    rack.scan()
    assert rack.ask("reset", sif=["SIF-7"]).fields["status"] == "accepted"
    assert (rack.state, rack.latched) == (State.ISOLATING, ())


def test_a_reset_with_the_button_unknown_is_refused(rack: PaperRack) -> None:
    rack.values["HS-101"] = 1.0
    rack.scan()
    spoil(rack, "HS-101")
    rack.scan()
    assert rack.ask("reset", sif=["SIF-7"]).fields["code"] == "cause_not_clear"


@pytest.mark.parametrize("state", list(State))
def test_it_is_armed_in_every_state(state: State) -> None:
    assert state in next(row for row in TRIPS if row.key == "SIF-7").armed


@pytest.mark.parametrize("state", [state for state in State if state is not State.ESD])
def test_it_acts_from_every_state(state: State) -> None:
    rack = isolated() if state in {State.ISOLATED, State.DRAINED} else flowing()
    rack.memory = replace(rack.memory, state=state, step=FIRST_STEP[state])
    rack.values["HS-101"] = 1.0
    rack.scan()
    assert (rack.state, rack.latched) == (State.ESD, ("SIF-7",))


def test_a_lost_contact_alarms_after_five_seconds_and_stops_nothing(rack: PaperRack) -> None:
    spoil(rack, "HS-101")
    rack.run(4.9)
    assert (verdict(rack, "SIF-7"), "blind-sif-7" in alarms(rack)) == (Verdict.UNKNOWN, False)
    rack.run(0.3)
    assert "blind-sif-7" in alarms(rack)
    assert rack.run(1.0).latched == ()


def test_a_broken_wire_is_a_pressed_button() -> None:
    assert [register("HS-101", word, 0.0).value for word in (0b000, 0b010)] == [1.0, 0.0]


def test_bytes_in_the_wrong_order_are_a_pressed_button_and_never_a_free_one(rack: PaperRack) -> None:
    put(rack, register("HS-101", 0x0200, rack.now_s))
    assert rack.run(0.05).state is State.ESD


def test_numbers_with_their_words_swapped_change_nothing_for_the_button(rack: PaperRack) -> None:
    swap_words(rack, "FT-101", "PT-101", "TT-101")
    rack.values["HS-101"] = 1.0
    assert rack.run(0.05).state is State.ESD


def test_a_frozen_copy_of_a_free_button_is_unknown_within_a_second(rack: PaperRack) -> None:
    run_frozen(rack, 1.0, "HS-101")
    assert verdict(rack, "SIF-7") is Verdict.UNKNOWN


def test_one_scan_of_a_chattering_contact_is_enough(rack: PaperRack) -> None:
    assert flicker(rack, "HS-101", [0.0, 1.0, 0.0, 0.0]).state is State.ESD
    assert rack.latched == ("SIF-7",)


def test_a_contact_that_dies_after_a_press_leaves_the_rack_stopped(rack: PaperRack) -> None:
    rack.values["HS-101"] = 1.0
    rack.scan()
    spoil(rack, "HS-101")
    assert rack.run(1.0).state is State.ESD


def test_a_lost_link_to_the_valve_controller_is_one_alarm_and_no_stop(rack: PaperRack) -> None:
    lose_link(rack, "valve_controller")
    rack.run(1.0)
    assert (rack.state, rack.latched, alarms(rack)) == (State.FLOWING, (), {"link-valve-controller"})
    rack.ask("emergency_stop")
    assert rack.state is State.ESD


def test_no_timing_of_a_site_delays_it() -> None:
    rack = flowing(timing={"SIF-7": TripTiming(60.0)})
    rack.values["HS-101"] = 1.0
    assert rack.run(0.05).state is State.ESD


def test_no_bypass_keeps_it_from_acting(rack: PaperRack) -> None:
    assert rack.ask("bypass", name="SIF-7", for_s=60.0).fields["code"] == "never"
    rack.memory = replace(rack.memory, bypasses=(Bypass("SIF-7", "a", "a memory may say anything", 0.0, 1e9),))
    rack.values["HS-101"] = 1.0
    assert rack.run(0.05).state is State.ESD


def test_it_acts_in_startup_before_anything_else_is_known() -> None:
    rack = starting(State.FLOWING)
    spoil(rack, *(tag for tag in limits().max_age_s if tag != "HS-101"))
    rack.values["HS-101"] = 1.0
    assert rack.run(0.05).state is State.ESD


def test_a_disarmed_rack_tells_what_it_would_do_and_writes_nothing() -> None:
    rack = isolated()
    rack.ask("disarm")
    rack.values["HS-101"] = 1.0
    rack.scan()
    assert (rack.state, rack.latched, rack.writes) == (State.ISOLATED, (), {})
    assert last(rack, FactKind.WOULD_TRIP).fields["row"] == "SIF-7"
    assert rack.ask("emergency_stop").fields["reason"].startswith("disarmed")


def test_it_comes_before_every_other_trip_of_the_same_scan(rack: PaperRack) -> None:
    rack.values.update({"LDT-101": 1.0})
    rack.run(0.5)
    rack.values["HS-101"] = 1.0
    rack.scan()
    assert (rack.state, set(rack.latched)) == (State.ESD, {"SIF-1", "SIF-7"})
    assert rack.latched[0] == "SIF-1"  # it began first
