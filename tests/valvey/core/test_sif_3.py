"""SIF-3: coolant comes back too hot, so the power goes and the coolant stays."""

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
    spoil,
    swap_words,
    verdict,
)
from valvey.core.chart import State
from valvey.core.facts import FactKind
from valvey.core.limits import TripTiming
from valvey.core.memory import Effect
from valvey.core.verdict import Verdict

RETURNS = ("TT-102A", "TT-102B", "TT-102C")


def heat(rack: PaperRack, *values: float) -> None:
    rack.values.update(dict(zip(RETURNS, values, strict=False)))


def test_two_of_three_above_65_degrees_go_dark_after_three_seconds(rack: PaperRack) -> None:
    heat(rack, 65.1, 65.1, 50.0)
    assert rack.run(3.0).latched == ()
    rack.scan()
    latch = rack.memory.latches[0]
    assert (rack.state, rows(rack)) == (State.COOLDOWN, ("SIF-3",))
    assert (latch.effect, latch.tag, latch.value, latch.limit) == (Effect.DARK, "TT-102A", 65.1, 65.0)


def test_going_dark_drops_the_permit_and_keeps_the_coolant_flowing(rack: PaperRack) -> None:
    heat(rack, 70.0, 70.0, 70.0)
    rack.run(3.1)
    assert (rack.writes["XS-101"], rack.writes["XV-101"], rack.writes["XV-102"]) == (0.0, 1.0, 1.0)


def test_one_of_three_is_outvoted(rack: PaperRack) -> None:
    heat(rack, 90.0, 50.0, 50.0)
    assert rack.run(4.0).latched == ()
    assert verdict(rack, "SIF-3") is Verdict.HEALTHY


def test_65_degrees_is_no_demand(rack: PaperRack) -> None:
    heat(rack, 65.0, 65.0, 65.0)
    assert rack.run(4.0).latched == ()


def test_sixty_degrees_ask_for_a_power_cap_first(rack: PaperRack) -> None:
    heat(rack, 60.1, 60.1, 50.0)
    rack.run(3.0)
    assert not rack.memory.power_cap
    rack.scan()
    assert rack.memory.power_cap == ("SIF-3/cap",)
    assert last(rack, FactKind.POWER_CAP).fields == {"rows": ["SIF-3/cap"]}
    rack.run(1.0)
    assert (rack.state, "power-cap" in alarms(rack)) == (State.FLOWING, True)
    heat(rack, 50.0, 50.0, 50.0)
    rack.scan()
    assert not rack.memory.power_cap
    assert last(rack, FactKind.POWER_CAP).fields["rows"] == []
    assert len(rack.told(FactKind.POWER_CAP)) == 2


def test_with_one_lost_one_of_two_is_enough(rack: PaperRack) -> None:
    spoil(rack, "TT-102C")
    heat(rack, 66.0, 50.0)
    rack.run(3.05)
    assert rack.latched == ("SIF-3",)


def test_with_one_lost_two_healthy_ones_are_healthy(rack: PaperRack) -> None:
    spoil(rack, "TT-102A")
    rack.scan()
    assert verdict(rack, "SIF-3") is Verdict.HEALTHY


def test_with_two_lost_the_last_one_decides(rack: PaperRack) -> None:
    spoil(rack, "TT-102A", "TT-102B")
    heat(rack, 50.0, 50.0, 66.0)
    rack.run(3.05)
    assert (rack.latched, rack.memory.latches[0].tag) == (("SIF-3",), "TT-102C")


def test_two_lost_ones_are_not_outvoted_by_a_healthy_one_and_not_blind(rack: PaperRack) -> None:
    spoil(rack, "TT-102A", "TT-102B")
    rack.scan()
    assert verdict(rack, "SIF-3") is Verdict.UNKNOWN
    assert rack.scans[-1].judged.judgements["SIF-3"].blind is False


def test_all_three_lost_go_dark_after_thirty_seconds(rack: PaperRack) -> None:
    spoil(rack, *RETURNS)
    for _ in range(16):
        rack.scan(dt_s=1.85)
    assert rack.latched == ()
    rack.scan(dt_s=0.35)
    assert rack.latched == ()
    rack.scan(dt_s=1.9)
    assert (rack.state, rack.memory.latches[0].tag) == (State.COOLDOWN, "TT-102A blind")
    assert alarms(rack) == {"link-transmitters", "trip-sif-3"}  # three points of one bus: one cause


def test_a_sensor_that_dies_half_way_does_not_cancel_the_demand(rack: PaperRack) -> None:
    heat(rack, 70.0, 70.0, 50.0)
    rack.run(2.0)
    spoil(rack, "TT-102A")
    assert rack.run(1.0).latched == ()
    rack.scan()
    assert rack.latched == ("SIF-3",)


def test_both_demanding_sensors_dying_half_way_freeze_the_demand(rack: PaperRack) -> None:
    heat(rack, 70.0, 70.0, 50.0)
    rack.run(2.0)
    spoil(rack, "TT-102A", "TT-102B")
    rack.run(2.0)
    assert held_s(rack, "SIF-3") == pytest.approx(2.0)
    repair(rack, "TT-102A")
    assert rack.run(1.1).latched == ("SIF-3",)


def test_chatter_at_the_limit_counts_up_and_down_alike(rack: PaperRack) -> None:
    heat(rack, 70.0, 50.0, 50.0)
    flicker(rack, "TT-102B", [65.5, 64.5] * 70)
    assert rack.latched == ()
    assert held_s(rack, "SIF-3") == pytest.approx(0.05)


@pytest.mark.parametrize(("flow", "armed"), [(19.9, True), (19.7, False)])
def test_it_is_armed_above_ten_percent_of_the_nominal_flow(rack: PaperRack, flow: float, armed: bool) -> None:
    rack.values.update({"FT-101": flow, "FT-102": 0.0})
    rack.scan()
    assert (verdict(rack, "SIF-3") is not Verdict.NOT_ARMED) is armed


def test_it_stays_armed_when_the_flow_is_not_known(rack: PaperRack) -> None:
    spoil(rack, "FT-101", "FT-102")
    rack.scan()
    assert verdict(rack, "SIF-3") is Verdict.HEALTHY


def test_it_is_not_armed_without_the_permit() -> None:
    rack = isolated()
    heat(rack, 90.0, 90.0, 90.0)
    rack.values.update({"FT-101": 100.0})
    rack.scan()
    assert verdict(rack, "SIF-3") is Verdict.NOT_ARMED


@pytest.mark.parametrize(("feedback", "armed"), [(1.0, True), (0.0, False)])
def test_in_startup_the_contactor_says_whether_the_permit_is_on(feedback: float, armed: bool) -> None:
    rack = starting(State.FLOWING)
    rack.values["XI-101"] = feedback
    rack.scan()
    assert rack.state is State.STARTUP
    assert (verdict(rack, "SIF-3") is not Verdict.NOT_ARMED) is armed


def test_temperatures_with_their_words_swapped_are_unknown_and_not_cold(rack: PaperRack) -> None:
    readings = swap_words(rack, *RETURNS)
    assert {reading.reason for reading in readings} == {"denormal"}
    rack.scan()
    assert verdict(rack, "SIF-3") is Verdict.UNKNOWN
    assert rack.scans[-1].judged.judgements["SIF-3"].blind


def test_frozen_temperatures_are_unknown_within_a_second(rack: PaperRack) -> None:
    run_frozen(rack, 1.0, *RETURNS)
    assert verdict(rack, "SIF-3") is Verdict.UNKNOWN


def test_lost_transmitters_are_one_alarm_and_go_dark_for_flow_before_heat(rack: PaperRack) -> None:
    lose_link(rack, "transmitters")
    rack.run(3.1)
    assert (rack.latched, alarms(rack)) == (("SIF-4",), {"link-transmitters", "trip-sif-4"})


def test_a_dark_rack_may_be_reset_although_it_is_still_hot_because_it_is_not_armed(rack: PaperRack) -> None:
    heat(rack, 70.0, 70.0, 70.0)
    rack.run(3.1)
    assert rack.ask("reset", sif=["SIF-3"]).fields["status"] == "accepted"


def test_a_site_may_tune_hold_and_blind_time() -> None:
    rack = flowing(timing={"SIF-3": TripTiming(1.0, 2.0)})
    spoil(rack, *RETURNS)
    assert rack.run(2.0).latched == ()
    assert rack.run(0.05).latched == ("SIF-3",)
    rack = flowing(timing={"SIF-3": TripTiming(1.0)})
    heat(rack, 70.0, 70.0, 70.0)
    assert rack.run(1.0).latched == ()
    assert rack.run(0.05).latched == ("SIF-3",)
