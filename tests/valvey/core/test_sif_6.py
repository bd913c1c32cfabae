"""SIF-6: the static pressure of the loop is lost."""

import pytest

from tests.plant import PaperRack, isolated, starting
from tests.valvey.core.bench import (
    alarms,
    flicker,
    held_s,
    last,
    lose_link,
    repair,
    rows,
    run_frozen,
    spoil,
    swap_words,
    verdict,
)
from valvey.core.chart import State
from valvey.core.facts import FactKind
from valvey.core.memory import Effect, Inventory
from valvey.core.trips import TRIPS
from valvey.core.verdict import Verdict


def pressures(rack: PaperRack, supply: float, ret: float) -> None:
    rack.values.update({"PT-101": supply, "PT-102": ret})


def quiet_flow(rack: PaperRack) -> None:
    """Keep SIF-4 out of it: the two flow meters outvote the pressures."""
    rack.values.update({"FT-101": 198.0, "FT-102": 198.0})


def test_both_pressures_below_30_kpa_go_dark_after_five_seconds_and_tell_the_loop(rack: PaperRack) -> None:
    pressures(rack, 29.9, 29.9)
    assert rack.run(5.0).latched == ()
    rack.scan()
    latch = rack.memory.latches[0]
    assert (rack.state, rows(rack)) == (State.COOLDOWN, ("SIF-6",))
    assert (latch.effect, latch.tag, latch.limit) == (Effect.DARK, "PT-101", 30.0)
    assert last(rack, FactKind.LOOP_EVENT).fields["what"] == "static pressure lost"


def test_it_does_not_isolate_and_the_inventory_is_unknown_from_then_on(rack: PaperRack) -> None:
    pressures(rack, 10.0, 10.0)
    rack.run(5.1)
    assert (rack.writes["XS-101"], rack.writes["XV-101"], rack.writes["XV-102"]) == (0.0, 1.0, 1.0)
    assert (rack.memory.inventory, rack.memory.tested) == (Inventory.UNKNOWN, False)


@pytest.mark.parametrize(("supply", "ret"), [(29.0, 31.0), (310.0, 0.0), (30.0, 30.0)])
def test_one_healthy_pressure_is_enough_to_be_healthy(rack: PaperRack, supply: float, ret: float) -> None:
    pressures(rack, supply, ret)
    assert rack.run(5.5).latched == ()
    assert verdict(rack, "SIF-6") is Verdict.HEALTHY


@pytest.mark.parametrize(("lost", "low"), [("PT-101", "PT-102"), ("PT-102", "PT-101")])
def test_one_pressure_lost_and_the_other_low_is_a_demand_after_five_seconds(
    rack: PaperRack, lost: str, low: str
) -> None:
    quiet_flow(rack)
    spoil(rack, lost)
    rack.values[low] = 10.0
    assert rack.run(5.0).latched == ()
    rack.scan()
    assert (rack.latched, rack.memory.latches[0].tag) == (("SIF-6",), low)


@pytest.mark.parametrize("lost", ["PT-101", "PT-102"])
def test_one_pressure_lost_and_the_other_healthy_is_healthy(rack: PaperRack, lost: str) -> None:
    spoil(rack, lost)
    rack.scan()
    assert verdict(rack, "SIF-6") is Verdict.HEALTHY


def test_both_lost_alarm_after_five_seconds_and_trip_nothing(rack: PaperRack) -> None:
    spoil(rack, "PT-101", "PT-102")
    rack.run(4.9)
    assert (verdict(rack, "SIF-6"), "blind-sif-6" in alarms(rack)) == (Verdict.UNKNOWN, False)
    rack.run(0.3)
    assert "blind-sif-6" in alarms(rack)
    assert rack.run(5.0).latched == ()


def test_a_pressure_that_dies_half_way_does_not_cancel_the_demand(rack: PaperRack) -> None:
    pressures(rack, 10.0, 10.0)
    rack.run(3.0)
    spoil(rack, "PT-101")
    rack.run(2.0)
    assert rack.latched == ()
    assert rack.run(0.05).latched == ("SIF-6",)


def test_both_dying_half_way_freeze_the_demand(rack: PaperRack) -> None:
    pressures(rack, 10.0, 10.0)
    rack.run(4.0)
    spoil(rack, "PT-101", "PT-102")
    rack.run(2.0)
    assert held_s(rack, "SIF-6") == pytest.approx(4.0)
    repair(rack, "PT-102")
    assert rack.run(1.1).latched == ("SIF-6",)


def test_chatter_at_the_limit_counts_up_and_down_alike(rack: PaperRack) -> None:
    rack.values["PT-102"] = 10.0
    flicker(rack, "PT-101", [29.0, 31.0] * 60)
    assert held_s(rack, "SIF-6") == pytest.approx(0.05)
    assert rack.latched == ()


def test_it_is_armed_where_the_return_valve_is_open_and_not_while_filling() -> None:
    armed = {State.STARTUP, State.OPENING, State.FLOWING, State.UNLOADING, State.COOLDOWN, State.TESTING}
    assert next(row for row in TRIPS if row.key == "SIF-6").armed == armed


def test_a_rack_whose_return_valve_is_shut_may_be_without_pressure() -> None:
    rack = isolated()
    pressures(rack, 0.0, 0.0)
    assert rack.run(6.0).latched == ()
    assert verdict(rack, "SIF-6") is Verdict.NOT_ARMED


def test_a_return_valve_proven_shut_disarms_it_also_where_the_state_has_it_open(rack: PaperRack) -> None:
    pressures(rack, 0.0, 0.0)
    rack.values["ZSC-102"] = 1.0
    rack.scan()
    assert verdict(rack, "SIF-6") is Verdict.NOT_ARMED


def test_a_return_limit_that_cannot_be_believed_leaves_it_armed(rack: PaperRack) -> None:
    pressures(rack, 0.0, 0.0)
    spoil(rack, "ZSC-102")
    assert rack.run(5.1).latched == ("SIF-6",)


def test_a_rack_without_pressure_is_not_adopted_as_flowing() -> None:
    rack = starting(State.FLOWING)
    pressures(rack, 10.0, 10.0)
    rack.run(0.2)
    assert rack.state is State.COOLDOWN


def test_pressures_with_their_words_swapped_are_unknown_and_not_low(rack: PaperRack) -> None:
    readings = swap_words(rack, "PT-101", "PT-102")
    assert {reading.quality for reading in readings} == {"BAD"}
    rack.run(6.0)
    assert (verdict(rack, "SIF-6"), rack.latched) == (Verdict.UNKNOWN, ())


def test_frozen_pressures_are_unknown_within_a_second(rack: PaperRack) -> None:
    run_frozen(rack, 1.0, "PT-101", "PT-102")
    assert verdict(rack, "SIF-6") is Verdict.UNKNOWN


def test_a_lost_link_is_one_alarm_and_no_lost_pressure(rack: PaperRack) -> None:
    lose_link(rack, "transmitters")
    rack.run(6.0)
    assert "SIF-6" not in rack.latched
    assert not any(name.startswith(("blind", "bad")) for name in alarms(rack))
    assert rack.told(FactKind.LOOP_EVENT) == []


def test_it_may_be_bypassed_for_a_bounded_time(rack: PaperRack) -> None:
    rack.ask("bypass", name="SIF-6", for_s=600.0)
    pressures(rack, 10.0, 10.0)
    quiet_flow(rack)
    rack.run(5.5)
    assert (rack.latched, verdict(rack, "SIF-6")) == ((), Verdict.NOT_ARMED)
    assert "bypass-standing" in alarms(rack)
