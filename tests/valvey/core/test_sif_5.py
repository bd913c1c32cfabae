"""SIF-5: the coolant arrives too hot."""

import pytest

from tests.plant import PaperRack, flowing, isolated, starting
from tests.valvey.core.bench import (
    alarms,
    flicker,
    held_s,
    last,
    lose_link,
    repair,
    rows,
    run_frozen,
    run_spiking,
    spoil,
    swap_words,
    verdict,
)
from valvey.core.chart import State
from valvey.core.facts import FactKind
from valvey.core.memory import Effect
from valvey.core.verdict import Verdict


def test_supply_above_fifty_degrees_goes_dark_after_ten_seconds(rack: PaperRack) -> None:
    rack.values["TT-101"] = 50.1
    assert rack.run(10.0).latched == ()
    rack.scan()
    latch = rack.memory.latches[0]
    assert (rack.state, rows(rack)) == (State.COOLDOWN, ("SIF-5",))
    assert (latch.effect, latch.tag, latch.value, latch.limit) == (Effect.DARK, "TT-101", 50.1, 50.0)


def test_fifty_degrees_ask_for_a_power_cap_only(rack: PaperRack) -> None:
    rack.values["TT-101"] = 50.0
    rack.run(10.0)
    assert not rack.memory.power_cap
    rack.scan()
    assert last(rack, FactKind.POWER_CAP).fields == {"rows": ["SIF-5/cap"]}
    assert rack.run(1.0).latched == ()


def test_47_degrees_ask_for_nothing(rack: PaperRack) -> None:
    rack.values["TT-101"] = 47.0
    rack.scan()
    assert verdict(rack, "SIF-5/cap") is Verdict.HEALTHY


def test_a_lost_sensor_alarms_after_five_seconds_and_trips_nothing(rack: PaperRack) -> None:
    spoil(rack, "TT-101")
    rack.run(4.9)
    assert (verdict(rack, "SIF-5"), "blind-sif-5" in alarms(rack)) == (Verdict.UNKNOWN, False)
    rack.run(0.3)
    assert "blind-sif-5" in alarms(rack)
    assert rack.run(6.0).latched == ()


def test_it_is_not_armed_without_the_permit() -> None:
    rack = isolated()
    rack.values["TT-101"] = 80.0
    rack.scan()
    assert (verdict(rack, "SIF-5"), verdict(rack, "SIF-5/cap")) == (Verdict.NOT_ARMED, Verdict.NOT_ARMED)


def test_in_startup_the_contactor_says_whether_it_is_armed() -> None:
    rack = starting(State.FLOWING)
    rack.values["TT-101"] = 80.0
    rack.scan()
    assert verdict(rack, "SIF-5") is Verdict.DEMAND
    rack = starting(State.FLOWING)
    rack.values.update({"TT-101": 80.0, "XI-101": 0.0})
    rack.scan()
    assert verdict(rack, "SIF-5") is Verdict.NOT_ARMED


def test_a_sensor_that_dies_half_way_does_not_cancel_the_demand(rack: PaperRack) -> None:
    rack.values["TT-101"] = 60.0
    rack.run(9.0)
    spoil(rack, "TT-101")
    rack.run(1.0)
    assert held_s(rack, "SIF-5") == pytest.approx(9.0)
    repair(rack, "TT-101")
    assert rack.run(1.1).latched == ("SIF-5",)


def test_chatter_at_the_limit_counts_up_and_down_alike(rack: PaperRack) -> None:
    flicker(rack, "TT-101", [50.5, 49.5] * 30)
    assert held_s(rack, "SIF-5") == pytest.approx(0.05)
    flicker(rack, "TT-101", [50.5, 50.5, 50.5, 49.5] * 20)  # two scans of four are left
    assert held_s(rack, "SIF-5") == pytest.approx(0.05 + 20 * 2 * 0.05)


def test_a_temperature_with_its_words_swapped_is_unknown_and_not_cold(rack: PaperRack) -> None:
    (reading,) = swap_words(rack, "TT-101")
    assert reading.reason == "denormal"
    rack.scan()
    assert verdict(rack, "SIF-5") is Verdict.UNKNOWN


def test_a_frozen_temperature_is_unknown_within_a_second(rack: PaperRack) -> None:
    run_frozen(rack, 1.0, "TT-101")
    assert verdict(rack, "SIF-5") is Verdict.UNKNOWN


def test_an_impossible_jump_is_not_believed_at_once(rack: PaperRack) -> None:
    reading = run_spiking(rack, "TT-101", 90.0, max_rate=3.0)
    assert reading.reason == "rate"
    assert verdict(rack, "SIF-5") is Verdict.UNKNOWN


def test_a_lost_link_is_one_alarm_and_no_heat(rack: PaperRack) -> None:
    lose_link(rack, "transmitters")
    rack.run(2.0)
    assert (verdict(rack, "SIF-5"), alarms(rack)) == (Verdict.UNKNOWN, {"link-transmitters"})


def test_a_site_may_set_its_own_limits() -> None:
    rack = flowing(supply_hh_c=43.0, supply_h_c=42.0)
    rack.values["TT-101"] = 43.5
    rack.scan()
    assert (verdict(rack, "SIF-5"), verdict(rack, "SIF-5/cap")) == (Verdict.DEMAND, Verdict.DEMAND)
