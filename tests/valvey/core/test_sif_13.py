"""SIF-13: the permit is off, and power is not proven off."""

from dataclasses import replace

import pytest

from tests.plant import PaperRack, flowing, isolated
from tests.valvey.core.bench import (
    alarms,
    flicker,
    held_s,
    judged,
    last,
    lose_link,
    repair,
    run_frozen,
    spoil,
    swap_words,
    transitions,
    verdict,
)
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.memory import Effect
from valvey.core.trips import TRIPS
from valvey.core.verdict import Verdict


def dark() -> PaperRack:
    """A rack that has just been told to go dark; its power is the test's to move."""
    rack = flowing()
    rack.ask("dark")
    rack.follow = False
    rack.values.update({"XI-101": 0.0, "XSY-101": 0.0, "JT-101": 0.0, "ET-101": 0.0, "EV-101": 0.0})
    rack.facts.clear()
    return rack


@pytest.mark.parametrize(("tag", "value"), [("XI-101", 1.0), ("ET-101", 0.02 * 132.0 + 0.01)])
def test_a_contactor_on_or_a_load_above_two_percent_latches_after_a_second(tag: str, value: float) -> None:
    rack = dark()
    rack.values[tag] = value
    rack.run(1.0)
    assert "SIF-13" not in rack.latched
    rack.scan()
    latch = rack.memory.latches[-1]
    assert (latch.sif, latch.effect, latch.tag, latch.value) == ("SIF-13", Effect.NONE, tag, value)


def test_it_asks_for_the_second_trip_path_and_moves_nothing() -> None:
    rack = dark()
    rack.values["XI-101"] = 1.0
    rack.run(1.1)
    assert last(rack, FactKind.SECOND_TRIP_PATH).fields["what"] == "power not proven off"
    assert rack.state is State.COOLDOWN
    assert "power-on-dark" in alarms(rack.run(0.2))


def test_two_percent_are_no_demand() -> None:
    rack = dark()
    rack.values["ET-101"] = 0.02 * 132.0
    rack.run(1.5)
    assert verdict(rack, "SIF-13") is Verdict.HEALTHY
    assert "power-on-dark" not in alarms(rack)


def test_more_than_ten_volts_count_after_ten_seconds() -> None:
    rack = dark()
    rack.values["EV-101"] = 10.1
    off_s = rack.memory.permit_off_since_s
    assert off_s is not None
    while rack.now_s < off_s + 9.9:
        rack.scan(dt_s=0.1)
    assert verdict(rack, "SIF-13") is Verdict.HEALTHY
    rack.scan(dt_s=0.1)
    assert (verdict(rack, "SIF-13"), judged(rack, "SIF-13").tag) == (Verdict.DEMAND, "EV-101")
    rack.run(1.0)
    assert rack.latched[-1] == "SIF-13"


def test_ten_volts_are_dead(shut_rack: PaperRack) -> None:
    shut_rack.values["EV-101"] = 10.0
    shut_rack.scan()
    assert verdict(shut_rack, "SIF-13") is Verdict.HEALTHY
    shut_rack.values["EV-101"] = 10.1
    shut_rack.scan()
    assert verdict(shut_rack, "SIF-13") is Verdict.DEMAND


def test_a_power_that_goes_within_the_hold_is_no_demand() -> None:
    rack = dark()
    rack.values["XI-101"] = 1.0
    rack.run(0.9)
    rack.values["XI-101"] = 0.0
    rack.run(1.0)
    assert "SIF-13" not in rack.latched


def test_its_hold_is_not_shortened_after_an_adoption() -> None:
    rack = flowing()
    rack.ask("dark")
    rack.run(0.2)
    rack.restart()
    rack.run(0.2)
    assert rack.state is State.COOLDOWN
    rack.follow = False
    rack.values["XI-101"] = 1.0
    rack.run(1.0)
    assert "SIF-13" not in rack.latched
    rack.scan()
    assert "SIF-13" in rack.latched


def test_a_restart_does_not_give_the_voltage_ten_more_seconds() -> None:
    rack = dark()
    rack.values["EV-101"] = 20.0
    for _ in range(9):
        rack.scan(dt_s=1.0)
    rack.restart()
    rack.run(1.2)
    assert rack.state is State.COOLDOWN
    assert verdict(rack, "SIF-13") is Verdict.DEMAND


def test_the_valves_of_an_emergency_never_wait_for_it(rack: PaperRack) -> None:
    rack.follow = False
    rack.values["LDT-101"] = 1.0
    rack.run(1.6)
    assert rack.latched == ("SIF-1", "SIF-13")
    assert (rack.state, rack.writes["XV-101"]) == (State.ISOLATING, 0.0)


def test_it_is_armed_where_the_permit_is_demanded_off(rack: PaperRack) -> None:
    expected = frozenset(State) - {State.STARTUP, State.FLOWING, State.UNLOADING}
    assert next(row for row in TRIPS if row.key == "SIF-13").armed == expected
    rack.scan()
    assert verdict(rack, "SIF-13") is Verdict.NOT_ARMED


def test_a_disarmed_rack_demands_nothing_off() -> None:
    rack = isolated()
    rack.ask("disarm")
    rack.values["XI-101"] = 1.0
    rack.run(1.5)
    assert (verdict(rack, "SIF-13"), rack.latched) == (Verdict.NOT_ARMED, ())


@pytest.mark.parametrize("lost", [("XI-101",), ("ET-101",)])
def test_with_one_input_lost_the_other_still_demands(lost: tuple[str, ...]) -> None:
    rack = dark()
    spoil(rack, *lost)
    rack.scan()
    assert verdict(rack, "SIF-13") is Verdict.UNKNOWN
    rack.values["ET-101" if lost == ("XI-101",) else "XI-101"] = 50.0
    rack.run(1.1)
    assert "SIF-13" in rack.latched


def test_all_inputs_lost_alarm_after_five_seconds(shut_rack: PaperRack) -> None:
    spoil(shut_rack, "XI-101", "ET-101")
    shut_rack.scan()
    assert judged(shut_rack, "SIF-13").blind is False  # the voltage still says that it is dead
    spoil(shut_rack, "EV-101")
    shut_rack.run(5.0)
    assert "blind-sif-13" not in alarms(shut_rack)
    shut_rack.run(0.3)
    assert ("blind-sif-13" in alarms(shut_rack), shut_rack.latched) == (True, ())


def test_an_input_that_dies_half_way_does_not_cancel_the_demand() -> None:
    rack = dark()
    rack.values["XI-101"] = 1.0
    rack.run(0.6)
    spoil(rack, "XI-101")
    rack.run(1.0)
    assert held_s(rack, "SIF-13") == pytest.approx(0.6)
    repair(rack, "XI-101")
    rack.run(0.5)
    assert "SIF-13" in rack.latched


def test_chatter_counts_up_and_down_alike() -> None:
    rack = dark()
    flicker(rack, "XI-101", [1.0, 0.0] * 30)
    assert held_s(rack, "SIF-13") == pytest.approx(0.05)
    assert "SIF-13" not in rack.latched


def test_a_load_with_its_words_swapped_is_not_dead() -> None:
    rack = dark()
    rack.values["ET-101"] = 40.0
    (reading,) = swap_words(rack, "ET-101")
    rack.run(2.0)
    assert (reading.reason, verdict(rack, "SIF-13")) == ("denormal", Verdict.UNKNOWN)
    assert "SIF-13" not in rack.latched


def test_a_frozen_busbar_meter_proves_nothing() -> None:
    rack = dark()
    run_frozen(rack, 1.0, "ET-101", "EV-101")
    assert verdict(rack, "SIF-13") is Verdict.UNKNOWN


def test_a_lost_busbar_meter_is_one_alarm_and_no_power(shut_rack: PaperRack) -> None:
    lose_link(shut_rack, "busbar")
    shut_rack.run(6.0)
    assert (shut_rack.latched, alarms(shut_rack)) == ((), {"link-busbar"})


def test_its_reset_needs_power_proven_off() -> None:
    rack = dark()
    rack.values["XI-101"] = 1.0
    rack.run(1.1)
    assert rack.ask("reset", sif=["SIF-13"]).fields["code"] == "cause_not_clear"
    rack.values["XI-101"] = 0.0
    rack.scan()
    assert rack.ask("reset", sif=["SIF-13"]).fields["status"] == "accepted"


def test_it_is_never_bypassed(rack: PaperRack) -> None:
    assert rack.ask("bypass", name="SIF-13", for_s=60.0).fields["code"] == "never"


def test_power_that_comes_while_the_rack_is_opened_ends_the_opening() -> None:
    rack = isolated()
    rack.memory = replace(rack.memory, state=State.OPENING, step=Step.THROTTLE)
    rack.follow = False
    rack.values["XI-101"] = 1.0
    rack.run(1.15)
    assert rack.latched == ("SIF-13",)
    assert transitions(rack)[0] == ("trip_dark", "OPENING", "ISOLATING")
