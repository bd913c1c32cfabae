"""SIF-12: an isolation valve has left its open limit while power is on."""

import pytest

from tests.plant import PaperRack, flowing, isolated
from tests.valvey.core.bench import (
    alarms,
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
from valvey.core.memory import Effect
from valvey.core.trips import TRIPS
from valvey.core.verdict import Verdict

SETPOINT_LPM = 1.05 * 1.49 * 132.0


def service() -> PaperRack:
    """A rack in service whose limit switches are the test's to move."""
    rack = flowing()
    rack.follow = False
    return rack


@pytest.mark.parametrize("number", ["101", "102"])
def test_an_open_limit_lost_with_its_shut_limit_made_goes_dark_after_a_third_of_a_second(number: str) -> None:
    rack = service()
    rack.values.update({f"ZSO-{number}": 0.0, f"ZSC-{number}": 1.0})
    assert rack.run(0.3).latched == ()
    rack.scan()
    latch = rack.memory.latches[0]
    assert (rack.state, rows(rack)) == (State.COOLDOWN, ("SIF-12",))
    assert (latch.effect, latch.tag) == (Effect.DARK, f"ZSO-{number}")


@pytest.mark.parametrize("number", ["101", "102"])
def test_an_open_limit_lost_with_low_flow_goes_dark(number: str) -> None:
    rack = service()
    low = 0.7 * SETPOINT_LPM - 0.1
    rack.values.update({f"ZSO-{number}": 0.0, "FT-101": low, "FT-102": low})
    assert rack.run(0.35).latched == ("SIF-12",)


def test_an_open_limit_lost_alone_is_healthy_because_the_flow_is_there() -> None:
    rack = service()
    enough = 0.7 * SETPOINT_LPM + 0.1
    rack.values.update({"ZSO-101": 0.0, "FT-101": enough, "FT-102": enough})
    assert rack.run(1.0).latched == ()
    assert verdict(rack, "SIF-12") is Verdict.HEALTHY


def test_a_flow_of_exactly_seventy_percent_of_the_set_point_is_enough() -> None:
    rack = service()
    enough = 0.7 * (1.05 * (1.49 * 132.0))
    rack.values.update({"ZSO-101": 0.0, "FT-101": enough, "FT-102": enough})
    rack.scan()
    assert verdict(rack, "SIF-12") is Verdict.HEALTHY


def test_low_flow_with_both_open_limits_made_is_not_its_matter() -> None:
    rack = service()
    rack.values.update({"FT-101": 100.0, "FT-102": 100.0})
    rack.scan()
    assert verdict(rack, "SIF-12") is Verdict.HEALTHY


def test_the_shut_limit_of_the_other_valve_is_no_second_sign() -> None:
    rack = service()
    rack.values.update({"ZSO-101": 0.0, "ZSC-102": 1.0})
    rack.scan()
    assert verdict(rack, "SIF-12") is Verdict.HEALTHY


@pytest.mark.parametrize(
    ("load_kw", "setpoint_lpm"),
    [(132.0, SETPOINT_LPM), (10.0, 0.5 * 198.0), (400.0, 1.25 * 198.0), (100.0, 1.05 * 1.49 * 100.0)],
)
def test_the_set_point_follows_the_load_between_half_and_five_quarters_of_the_nominal_flow(
    load_kw: float, setpoint_lpm: float
) -> None:
    rack = service()
    rack.values.update({"JT-101": load_kw, "ET-101": 0.0, "TT-102A": 40.0, "TT-102B": 40.0, "TT-102C": 40.0})
    for flow, expected in ((0.7 * setpoint_lpm + 0.1, Verdict.HEALTHY), (0.7 * setpoint_lpm - 0.1, Verdict.DEMAND)):
        rack.values.update({"ZSO-101": 0.0, "FT-101": flow, "FT-102": flow})
        rack.scan()
        assert verdict(rack, "SIF-12") is expected


def test_with_one_flow_meter_lost_the_other_speaks() -> None:
    rack = service()
    spoil(rack, "FT-101")
    rack.values.update({"ZSO-101": 0.0, "FT-102": 100.0})
    assert rack.run(0.35).latched == ("SIF-12",)


def test_with_no_flow_and_no_shut_limit_to_be_seen_a_lost_open_limit_is_unknown() -> None:
    rack = service()
    spoil(rack, "FT-101", "FT-102")
    rack.values["ZSO-101"] = 0.0
    rack.scan()
    assert verdict(rack, "SIF-12") is Verdict.UNKNOWN
    spoil(rack, "ZSC-101")
    rack.scan()
    assert verdict(rack, "SIF-12") is Verdict.UNKNOWN


def test_an_open_limit_that_cannot_be_seen_is_unknown_only_with_a_second_sign() -> None:
    rack = service()
    spoil(rack, "ZSO-101")
    rack.scan()
    assert verdict(rack, "SIF-12") is Verdict.HEALTHY
    rack.values["ZSC-101"] = 1.0
    rack.scan()
    assert (verdict(rack, "SIF-12"), judged(rack, "SIF-12").blind) == (Verdict.UNKNOWN, False)


def test_both_open_limits_lost_to_sight_alarm_after_five_seconds_and_trip_nothing(rack: PaperRack) -> None:
    spoil(rack, "ZSO-101", "ZSO-102")
    rack.run(4.9)
    assert "blind-sif-12" not in alarms(rack)
    rack.run(0.3)
    assert ("blind-sif-12" in alarms(rack), rack.latched) == (True, ())


def test_a_limit_that_dies_half_way_does_not_cancel_the_demand() -> None:
    rack = service()
    rack.values.update({"ZSO-101": 0.0, "FT-101": 100.0, "FT-102": 100.0})
    rack.run(0.25)
    spoil(rack, "ZSO-101")
    rack.run(2.0)
    assert held_s(rack, "SIF-12") == pytest.approx(0.25)
    repair(rack, "ZSO-101")
    assert rack.run(0.15).latched == ("SIF-12",)


def test_chatter_of_the_limit_counts_up_and_down_alike() -> None:
    rack = service()
    rack.values.update({"FT-101": 100.0, "FT-102": 100.0})
    flicker(rack, "ZSO-101", [0.0, 1.0] * 20)
    assert rack.latched == ()
    assert flicker(rack, "ZSO-101", [0.0, 0.0, 1.0] * 7).latched == ("SIF-12",)


def test_it_is_armed_with_the_permit_only() -> None:
    assert next(row for row in TRIPS if row.key == "SIF-12").armed == {State.FLOWING, State.UNLOADING}
    rack = isolated()
    rack.scan()
    assert verdict(rack, "SIF-12") is Verdict.NOT_ARMED


def test_a_flow_with_its_words_swapped_is_not_a_low_one() -> None:
    rack = service()
    rack.values["ZSO-101"] = 0.0
    readings = swap_words(rack, "FT-101", "FT-102")
    rack.run(0.5)
    assert {reading.quality for reading in readings} == {"BAD"}
    assert (verdict(rack, "SIF-12"), rack.latched) == (Verdict.UNKNOWN, ())


def test_frozen_limits_are_unknown_and_not_open() -> None:
    rack = service()
    rack.values.update({"FT-101": 100.0, "FT-102": 100.0})
    run_frozen(rack, 1.0, "ZSO-101", "ZSO-102", "ZSC-101", "ZSC-102")
    assert verdict(rack, "SIF-12") is Verdict.UNKNOWN


def test_a_lost_link_is_one_alarm_and_no_lost_limit(rack: PaperRack) -> None:
    lose_link(rack, "valve_controller")
    rack.run(2.0)
    assert (rack.latched, alarms(rack)) == ((), {"link-valve-controller"})


def test_it_is_never_bypassed(rack: PaperRack) -> None:
    assert rack.ask("bypass", name="SIF-12", for_s=60.0).fields["code"] == "never"
