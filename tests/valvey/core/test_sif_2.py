"""SIF-2: pressure in the rack near its relief valve shuts the rack."""

import pytest

from tests.plant import PaperRack, flowing, isolated, limits, starting
from tests.valvey.core.bench import (
    alarms,
    flicker,
    held_s,
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
from valvey.core.memory import Effect
from valvey.core.trips import TRIPS
from valvey.core.verdict import Verdict

HH_KPA = 540.0


def test_the_limit_is_the_relief_valves_less_ten_percent() -> None:
    assert limits().supply_hh_kpa == pytest.approx(0.9 * 600.0)


def test_over_pressure_isolates_after_one_second(rack: PaperRack) -> None:
    rack.values["PT-101"] = HH_KPA + 0.1
    assert rack.run(1.0).latched == ()
    rack.scan()
    latch = rack.memory.latches[0]
    assert (rack.state, rows(rack)) == (State.ISOLATING, ("SIF-2",))
    assert (latch.effect, latch.tag, latch.value, latch.limit) == (Effect.ISOLATE, "PT-101", HH_KPA + 0.1, HH_KPA)


def test_pressure_at_the_limit_is_no_demand(rack: PaperRack) -> None:
    rack.values["PT-101"] = HH_KPA
    assert rack.run(2.0).latched == ()
    assert verdict(rack, "SIF-2") is Verdict.HEALTHY


def test_a_surge_shorter_than_the_hold_does_nothing(rack: PaperRack) -> None:
    rack.values["PT-101"] = 600.0
    rack.run(1.0)
    rack.values["PT-101"] = 310.0
    assert rack.run(2.0).latched == ()


def test_it_is_judged_in_every_state() -> None:
    assert next(row for row in TRIPS if row.key == "SIF-2").armed == frozenset(State)


def test_a_rack_whose_supply_valve_is_proven_shut_has_trapped_liquid_which_is_an_alarm() -> None:
    rack = isolated()
    rack.values["PT-101"] = 600.0
    rack.run(3.0)
    assert verdict(rack, "SIF-2") is Verdict.NOT_ARMED
    assert (rack.latched, "trapped-liquid" in alarms(rack)) == ((), True)


def test_trapped_liquid_needs_pressure() -> None:
    rack = isolated()
    rack.values["PT-101"] = HH_KPA
    rack.run(3.0)
    assert "trapped-liquid" not in alarms(rack)


def test_over_pressure_in_service_is_no_trapped_liquid(rack: PaperRack) -> None:
    rack.values["PT-101"] = 600.0
    rack.run(1.5)
    rack.values["ZSC-101"] = 0.0
    rack.follow = False
    rack.run(1.5)
    assert "trapped-liquid" not in alarms(rack)


def test_a_shut_limit_that_cannot_be_believed_leaves_it_armed() -> None:
    rack = isolated()
    spoil(rack, "ZSC-101")
    rack.values["PT-101"] = 600.0
    rack.run(1.1)
    assert (rack.state, rack.latched) == (State.ISOLATED, ("SIF-2",))


def test_a_lost_transmitter_alarms_after_five_seconds_and_trips_nothing(rack: PaperRack) -> None:
    spoil(rack, "PT-101")
    rack.run(4.9)
    assert verdict(rack, "SIF-2") is Verdict.UNKNOWN
    assert "blind-sif-2" not in alarms(rack)
    rack.run(0.3)
    assert "blind-sif-2" in alarms(rack)
    assert rack.run(5.0).latched == ()


def test_a_transmitter_that_dies_half_way_does_not_cancel_the_demand(rack: PaperRack) -> None:
    rack.values["PT-101"] = 600.0
    rack.run(0.8)
    spoil(rack, "PT-101")
    rack.run(4.0)
    assert held_s(rack, "SIF-2") == pytest.approx(0.8)
    repair(rack, "PT-101")
    assert rack.run(0.3).latched == ("SIF-2",)


def test_chatter_at_the_limit_counts_up_and_down_alike(rack: PaperRack) -> None:
    flicker(rack, "PT-101", [545.0, 535.0] * 40)
    assert rack.latched == ()
    flicker(rack, "PT-101", [545.0, 545.0, 545.0, 535.0] * 9)  # two scans of four are left
    assert rack.latched == ()
    assert flicker(rack, "PT-101", [545.0] * 4).latched == ("SIF-2",)


def test_a_pressure_with_its_words_swapped_is_unknown_and_not_low(rack: PaperRack) -> None:
    (reading,) = swap_words(rack, "PT-101")
    assert (reading.quality, reading.reason) == ("BAD", "denormal")
    rack.run(0.1)
    assert verdict(rack, "SIF-2") is Verdict.UNKNOWN


def test_a_frozen_transmitter_is_unknown_within_a_second(rack: PaperRack) -> None:
    run_frozen(rack, 1.0, "PT-101")
    assert verdict(rack, "SIF-2") is Verdict.UNKNOWN


def test_an_impossible_step_is_not_believed_at_once(rack: PaperRack) -> None:
    reading = run_spiking(rack, "PT-101", 1500.0, max_rate=2000.0)
    assert (reading.quality, reading.reason) == ("UNCERTAIN", "rate")
    assert verdict(rack, "SIF-2") is Verdict.UNKNOWN


def test_a_stale_pressure_is_unknown(rack: PaperRack) -> None:
    rack.stale.add("PT-101")
    rack.run(0.5)
    assert verdict(rack, "SIF-2") is Verdict.HEALTHY
    rack.run(0.1)
    assert verdict(rack, "SIF-2") is Verdict.UNKNOWN


def test_a_tag_that_was_never_read_is_unknown(rack: PaperRack) -> None:
    del rack.values["PT-101"]
    rack.scan()
    assert verdict(rack, "SIF-2") is Verdict.UNKNOWN


def test_lost_transmitters_are_one_alarm_whatever_they_blind() -> None:
    rack = isolated()
    lose_link(rack, "transmitters")
    rack.run(6.0)
    assert alarms(rack) == {"link-transmitters"}
    assert rack.latched == ()


def test_over_pressure_in_startup_isolates() -> None:
    rack = starting(State.FLOWING)
    spoil(rack, "FT-101", "FT-102")
    rack.values["PT-101"] = 600.0
    rack.run(1.05)
    assert (rack.state, rack.latched) == (State.ISOLATING, ("SIF-2",))


def test_a_site_may_set_its_own_limit() -> None:
    rack = flowing(supply_hh_kpa=400.0)
    rack.values["PT-101"] = 401.0
    assert rack.run(1.1).latched == ("SIF-2",)
