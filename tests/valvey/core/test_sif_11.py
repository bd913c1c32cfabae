"""SIF-11: far more goes in than comes out, and a second symptom says the same. Only with both it isolates."""

from dataclasses import replace
from math import exp

import pytest

from tests.plant import PaperRack, copied, flowing, isolated
from tests.valvey.core.bench import (
    alarms,
    coarse,
    flicker,
    held_s,
    judged,
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


def settled(rack: PaperRack) -> PaperRack:
    """Ten seconds of even flow through open valves, the throttle at rest, a level in the loop, and nothing that expands."""
    rack.ask("set_point", fcv_pct=60.0)
    rack.values.update({"LT-201": 80.0, "TT-102A": 40.0, "TT-102B": 40.0, "TT-102C": 40.0})
    return coarse(rack, 12.0, 0.5)


@pytest.fixture(scope="module")
def even_once() -> PaperRack:
    rack = flowing()
    rack.ask("bypass", name="SIF-1", for_s=600.0)
    return settled(rack)


@pytest.fixture
def even(even_once: PaperRack) -> PaperRack:
    """In service for a while; the floor rope alone, which asks for a second symptom too, does not act."""
    return copied(even_once)


def missing(rack: PaperRack, lpm: float) -> PaperRack:
    """So much does not come back, by the meters' word; the flow by dP stands with the supply meter."""
    rack.values["FT-102"] = 198.0 - lpm
    return rack


def leak(rack: PaperRack) -> PaperRack:
    """31 L/min go missing, and the floor rope is wet."""
    rack.values["LDT-103"] = 1.0
    return missing(rack, 31.0)


def test_it_isolates_after_two_seconds(even: PaperRack) -> None:
    leak(even).run(2.0)
    assert (even.state, even.latched) == (State.FLOWING, ())
    even.scan()
    latch = even.memory.latches[0]
    assert (even.state, rows(even), latch.effect) == (State.ISOLATING, ("SIF-11",), Effect.ISOLATE)
    assert (latch.tag, latch.value, latch.limit) == ("FT-101", 31.0, 30.0)
    assert (even.writes["XS-101"], even.writes["XV-101"]) == (0.0, 0.0)


def test_what_it_trips_is_neither_full_nor_tested(even: PaperRack) -> None:
    leak(even).run(2.1)
    assert (even.memory.inventory, even.memory.tested) == (Inventory.UNKNOWN, False)


def test_the_balance_alone_isolates_nothing(even: PaperRack) -> None:
    coarse(missing(even, 100.0), 10.0, 0.5)
    assert (verdict(even, "SIF-11"), even.state, even.latched) == (Verdict.HEALTHY, State.FLOWING, ())
    suspected = replace(even.memory.sensors.balance, leaking=True)
    even.memory = replace(even.memory, sensors=replace(even.memory.sensors, balance=suspected))
    coarse(even, 10.0, 0.5)
    assert "mass-balance" in alarms(even)
    assert (even.state, even.latched, even.told(FactKind.WOULD_TRIP)) == (State.FLOWING, (), [])


def test_a_wet_rope_alone_is_no_imbalance(even: PaperRack) -> None:
    even.values["LDT-103"] = 1.0
    even.run(5.0)
    assert (verdict(even, "SIF-11"), even.latched) == (Verdict.HEALTHY, ())


@pytest.mark.parametrize(
    ("values", "verdict_then"),
    [
        ({"LDT-101": 1.0}, Verdict.DEMAND),
        ({"LDT-102": 1.0}, Verdict.DEMAND),
        ({"LDT-103": 1.0}, Verdict.DEMAND),
        ({"LT-201": 79.0}, Verdict.DEMAND),
        ({"LT-201": 79.8}, Verdict.HEALTHY),
        ({"PT-102": 212.0, "PT-101": 306.2}, Verdict.DEMAND),
        ({"PT-102": 214.0, "PT-101": 308.2}, Verdict.HEALTHY),
        ({"PT-101": 294.0}, Verdict.DEMAND),  # the flow by dP lies between the two meters
        ({"PT-101": 310.0}, Verdict.HEALTHY),  # with the supply's
        ({"PT-101": 268.0}, Verdict.HEALTHY),  # with the return's
        ({"LDT-101": None, "LDT-102": None, "PT-101": None, "PT-102": None}, Verdict.HEALTHY),
    ],
)
def test_each_second_symptom_makes_it_a_demand(
    even: PaperRack, values: dict[str, float | None], verdict_then: Verdict
) -> None:
    even.values.update(values)
    missing(even, 40.0).run(0.5)
    assert verdict(even, "SIF-11") is verdict_then


@pytest.mark.parametrize(
    ("supply", "ret", "expected"),
    [
        (198.0, 168.0, Verdict.HEALTHY),
        (198.0, 167.9, Verdict.DEMAND),
        (400.0, 360.0, Verdict.HEALTHY),
        (400.0, 359.9, Verdict.DEMAND),
        (198.0, 230.0, Verdict.HEALTHY),
    ],
)
def test_it_tolerates_thirty_litres_or_a_tenth(even: PaperRack, supply: float, ret: float, expected: Verdict) -> None:
    even.values.update({"FT-101": supply, "FT-102": supply, "PT-101": None})  # the dP says nothing here
    coarse(even, 12.0, 0.5)
    even.values.update({"LDT-103": 1.0, "FT-102": ret})
    even.scan()
    assert verdict(even, "SIF-11") is expected


def test_a_return_that_is_warmer_has_expanded_and_less_came_back_than_its_meter_says(even: PaperRack) -> None:
    leak(even)
    missing(even, 29.5).scan()
    assert verdict(even, "SIF-11") is Verdict.HEALTHY
    even.values.update({"TT-102A": 55.0, "TT-102B": 55.0, "TT-102C": 55.0})
    even.scan()
    seen = judged(even, "SIF-11")
    assert seen.verdict is Verdict.DEMAND
    assert seen.value == pytest.approx(30.9, abs=0.1)


def test_it_is_armed_where_coolant_flows() -> None:
    armed = {State.OPENING, State.FLOWING, State.UNLOADING, State.COOLDOWN}
    assert next(row for row in TRIPS if row.key == "SIF-11").armed == armed


def test_it_is_not_armed_in_a_shut_rack() -> None:
    rack = isolated()
    rack.values.update({"FT-101": 100.0, "LDT-103": 1.0})
    rack.scan()
    assert verdict(rack, "SIF-11") is Verdict.NOT_ARMED


@pytest.mark.parametrize("switch", ["ZSO-101", "ZSO-102"])
@pytest.mark.parametrize("value", [0.0, None])
def test_it_is_not_armed_while_a_valve_is_not_proven_open(even: PaperRack, switch: str, value: float | None) -> None:
    leak(even).values[switch] = value
    even.scan()
    assert verdict(even, "SIF-11") is Verdict.NOT_ARMED


@pytest.mark.parametrize("values", [{"PT-101": 304.2, "PT-102": 210.0}, {"LT-201": 79.0}])
@pytest.mark.parametrize(("for_s", "trips"), [(117.0, True), (121.0, False)])
def test_a_pressure_or_level_that_falls_long_after_the_flows_have_parted_is_no_symptom(
    even: PaperRack, values: dict[str, float], for_s: float, trips: bool
) -> None:
    coarse(missing(even, 40.0), for_s, 0.5)
    assert not even.latched
    even.values.update(values)
    even.run(2.5)
    assert (even.latched == ("SIF-11",)) is trips


def test_flows_that_part_anew_are_watched_anew(even: PaperRack) -> None:
    coarse(missing(even, 40.0), 121.0, 0.5)
    coarse(missing(even, 0.0), 30.0, 0.5)
    missing(even, 40.0).values["LT-201"] = 79.0
    even.run(2.5)
    assert even.latched == ("SIF-11",)


def test_a_dark_rack_that_loses_coolant_is_isolated(even: PaperRack) -> None:
    even.ask("dark")
    even.run(0.5)
    leak(even).run(2.1)
    assert (even.state, rows(even)) == (State.ISOLATING, ("SIF-10/dark", "SIF-11"))


def test_a_rack_just_opened_waits_ten_seconds_for_its_flow_to_settle() -> None:
    rack = flowing()
    rack.ask("bypass", name="SIF-1", for_s=600.0)
    leak(rack).run(0.5)
    assert (verdict(rack, "SIF-11"), judged(rack, "SIF-11").blind, rack.latched) == (Verdict.UNKNOWN, False, ())


@pytest.mark.parametrize("step", [-150.0, -80.0, 80.0, 150.0])
@pytest.mark.parametrize("lags", [(0.5, 2.0), (2.0, 0.5), (1.0, 2.0), (2.0, 1.0)])
def test_meters_of_unlike_lags_make_no_trip_of_a_flow_that_changes(
    even: PaperRack, step: float, lags: tuple[float, float]
) -> None:
    even.values.update({"LDT-103": 1.0, "LDT-101": None, "PT-101": None, "FT-101": 250.0, "FT-102": 250.0})
    coarse(even, 15.0, 0.5)
    begun_s = even.now_s
    while even.now_s < begun_s + 6.0:
        passed_s = even.now_s - begun_s
        supply, ret = (250.0 + step * (1.0 - exp(-passed_s / lag)) for lag in lags)
        even.values.update({"FT-101": supply, "FT-102": ret})
        even.scan(dt_s=0.1)
        assert verdict(even, "SIF-11") is not Verdict.DEMAND
    assert "SIF-11" not in even.latched


def test_what_the_change_of_the_flow_may_explain_waits_and_is_not_blind(even: PaperRack) -> None:
    leak(even).run(1.0)
    even.values.update({"FT-101": 160.0, "FT-102": 120.0})
    even.scan()
    assert (verdict(even, "SIF-11"), judged(even, "SIF-11").blind) == (Verdict.UNKNOWN, False)
    even.scan()
    assert held_s(even, "SIF-11") == pytest.approx(1.0)  # kept


@pytest.mark.parametrize(("supply", "ret"), [(240.0, 150.0), (198.0, 130.0), (300.0, 205.0)])
def test_a_leak_that_makes_the_flow_change_does_not_hide_itself(even: PaperRack, supply: float, ret: float) -> None:
    even.values.update({"LDT-103": 1.0, "FT-101": supply, "FT-102": ret})
    even.run(2.1 if ret < 198.0 else 5.0)
    assert even.latched == ("SIF-11",)


@pytest.mark.parametrize("lost", ["FT-101", "FT-102"])
def test_without_one_of_its_meters_it_is_blind_and_there_is_nothing_to_vote_with(even: PaperRack, lost: str) -> None:
    leak(even)
    spoil(even, lost)
    even.scan()
    assert (verdict(even, "SIF-11"), judged(even, "SIF-11").blind) == (Verdict.UNKNOWN, True)


def test_blind_for_thirty_seconds_is_an_alarm_only(even: PaperRack) -> None:
    spoil(even, "FT-101")
    coarse(even, 30.0, 1.5)
    assert "blind-sif-11" not in alarms(even)
    even.scan(dt_s=1.5)
    assert ("blind-sif-11" in alarms(even), even.latched) == (True, ())


def test_a_meter_that_dies_half_way_freezes_the_demand_and_does_not_cancel_it(even: PaperRack) -> None:
    leak(even).run(1.05)
    spoil(even, "FT-102")
    even.run(3.0)
    assert held_s(even, "SIF-11") == pytest.approx(1.05)
    assert not even.latched
    repair(even, "FT-102")
    even.run(0.95)
    assert not even.latched
    even.run(0.3)  # its mean begins anew with the next look
    assert even.latched == ("SIF-11",)


def test_a_detector_that_dies_half_way_is_no_symptom_any_more(even: PaperRack) -> None:
    leak(even).run(1.0)
    spoil(even, "LDT-103")
    even.run(3.0)
    assert (verdict(even, "SIF-11"), held_s(even, "SIF-11"), even.latched) == (Verdict.HEALTHY, 0.0, ())


def test_voting_degrades_to_the_symptoms_that_are_left(even: PaperRack) -> None:
    spoil(even, "LDT-101", "LDT-102", "LDT-103", "PT-101", "PT-102")
    even.values["LT-201"] = 79.0
    missing(even, 40.0).run(2.3)  # the level is looked at every fifth of a second
    assert even.latched == ("SIF-11",)


def test_chatter_at_the_limit_counts_up_and_down_alike(even: PaperRack) -> None:
    even.values["LDT-103"] = 1.0
    flicker(even, "FT-102", [167.0, 169.0] * 60)
    assert held_s(even, "SIF-11") == pytest.approx(0.05)
    assert even.latched == ()


def test_a_flow_with_its_words_swapped_is_no_missing_flow(even: PaperRack) -> None:
    even.values["LDT-103"] = 1.0
    (reading,) = swap_words(even, "FT-102")
    even.run(3.0)
    assert (reading.quality, verdict(even, "SIF-11"), even.latched) == ("BAD", Verdict.UNKNOWN, ())


def test_frozen_flows_are_unknown_within_a_second(even: PaperRack) -> None:
    even.values["LDT-103"] = 1.0
    run_frozen(even, 1.0, "FT-101", "FT-102")
    assert verdict(even, "SIF-11") is Verdict.UNKNOWN


def test_a_lost_link_is_one_alarm_and_no_imbalance(even: PaperRack) -> None:
    repair_first = alarms(even)
    lose_link(even, "transmitters")
    even.run(1.0)
    assert (verdict(even, "SIF-11"), alarms(even) - repair_first) == (Verdict.UNKNOWN, {"link-transmitters"})


def test_a_bypassed_detector_is_no_second_symptom(rack: PaperRack) -> None:
    rack.ask("bypass", name="LDT-103", for_s=600.0)
    leak(settled(rack)).run(3.0)
    assert (verdict(rack, "SIF-11"), rack.latched) == (Verdict.HEALTHY, ())


def test_it_may_be_bypassed_for_a_bounded_time(rack: PaperRack) -> None:
    rack.ask("bypass", name="SIF-11", for_s=600.0)
    settled(rack).values["LT-201"] = 79.0
    missing(rack, 40.0).run(3.0)
    assert (verdict(rack, "SIF-11"), rack.latched) == (Verdict.NOT_ARMED, ())


def test_a_site_may_have_it_told_only() -> None:
    rack = settled(flowing(shadows=frozenset({"SIF-11"})))
    rack.ask("bypass", name="SIF-1", for_s=600.0)
    leak(rack).run(2.1)
    rack.run(2.0)
    (told,) = [fact.fields for fact in rack.told(FactKind.WOULD_TRIP) if not fact.fields["bypassed"]]
    assert (told["row"], told["effect"]) == ("SIF-11", "ISOLATE")
    assert (rack.state, rack.latched) == (State.FLOWING, ())


def test_after_a_restart_it_goes_on_with_what_it_had_seen(even: PaperRack) -> None:
    even.restart()
    leak(even).run(1.0)
    assert "SIF-11" in even.latched
