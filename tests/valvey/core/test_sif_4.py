"""SIF-4: the flow is lost under load, so the power goes before the coolant boils."""

from math import sqrt

import pytest

from tests.plant import PaperRack, flowing, isolated, starting
from tests.valvey.core.bench import (
    alarms,
    flicker,
    held_s,
    judged,
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

NEED_LPM = 1.49 * 132.0
LL_LPM = 0.25 * NEED_LPM
L_LPM = 0.45 * NEED_LPM
HOLD_S = 230.0 / 132.0


def flow(rack: PaperRack, lpm: float) -> None:
    """Let all three witnesses of the flow say ``lpm``."""
    dp_kpa = 100.0 * 1.0145 * (lpm * 60.0 / 1000.0 / rack.limits.kv_rack) ** 2
    rack.values.update({"FT-101": lpm, "FT-102": lpm, "PT-101": 215.8 + dp_kpa})


def test_flow_below_a_quarter_of_the_need_goes_dark_after_the_loads_hold(rack: PaperRack) -> None:
    flow(rack, LL_LPM - 0.1)
    assert rack.run(1.75).latched == ()  # 1.742 s at 132 kW end in the scan at 1.75 s
    rack.scan()
    latch = rack.memory.latches[0]
    assert (rack.state, rows(rack)) == (State.COOLDOWN, ("SIF-4",))
    assert (latch.effect, latch.tag) == (Effect.DARK, "FT-101")
    assert latch.limit == pytest.approx(LL_LPM)


def test_a_flow_of_exactly_a_quarter_of_the_need_is_enough(rack: PaperRack) -> None:
    rack.values.update({"FT-101": 0.25 * (1.49 * 132.0), "FT-102": 0.25 * (1.49 * 132.0)})
    rack.scan()
    assert verdict(rack, "SIF-4") is Verdict.HEALTHY


def test_flow_just_above_a_quarter_of_the_need_is_the_second_stages_matter(rack: PaperRack) -> None:
    flow(rack, LL_LPM + 0.1)
    assert rack.run(3.0).latched == ()
    assert (verdict(rack, "SIF-4"), verdict(rack, "SIF-4/low")) == (Verdict.HEALTHY, Verdict.DEMAND)


@pytest.mark.parametrize(("load_kw", "hold_s"), [(60.0, 3.0), (100.0, 2.3), (230.0, 1.0), (300.0, 1.0)])
def test_the_hold_is_230_kw_by_the_load_between_one_and_three_seconds(load_kw: float, hold_s: float) -> None:
    rack = flowing(rating_kw=230.0)
    rack.values.update({"JT-101": load_kw, "ET-101": 0.0, "FT-101": 0.0, "FT-102": 0.0})
    rack.scan()
    assert judged(rack, "SIF-4").hold_s == pytest.approx(hold_s)
    assert rack.run(hold_s - 0.05).latched == ()
    assert rack.run(0.1).latched == ("SIF-4",)


def test_below_45_percent_a_power_cap_follows_after_ten_seconds_and_dark_after_fifteen(rack: PaperRack) -> None:
    flow(rack, L_LPM - 0.1)
    rack.run(10.0)
    assert not rack.memory.power_cap
    rack.scan()
    assert last(rack, FactKind.POWER_CAP).fields == {"rows": ["SIF-4/cap"]}
    assert rack.run(4.95).latched == ()
    rack.scan()
    assert (rack.state, rows(rack), rack.latched) == (State.COOLDOWN, ("SIF-4/low",), ("SIF-4",))
    rack.scan()
    assert not rack.memory.power_cap


def test_above_45_percent_nothing_demands(rack: PaperRack) -> None:
    flow(rack, L_LPM + 0.1)
    rack.scan()
    assert [verdict(rack, row) for row in ("SIF-4", "SIF-4/cap", "SIF-4/low")] == [Verdict.HEALTHY] * 3


@pytest.mark.parametrize("honest", ["FT-101", "FT-102", "PT-101"])
def test_two_of_three_witnesses_are_enough(rack: PaperRack, honest: str) -> None:
    flow(rack, 0.0)
    rack.values[honest] = 310.0 if honest == "PT-101" else 198.0
    assert rack.run(1.8).latched == ("SIF-4",)


@pytest.mark.parametrize("liar", ["FT-101", "FT-102", "PT-101"])
def test_one_of_three_witnesses_is_outvoted(rack: PaperRack, liar: str) -> None:
    rack.values[liar] = 0.0
    assert rack.run(4.0).latched == ()
    assert verdict(rack, "SIF-4") is Verdict.HEALTHY


def test_the_flow_from_the_pressure_drop_is_that_of_the_racks_kv(rack: PaperRack) -> None:
    rack.values.update({"FT-101": 0.0, "PT-101": 310.0, "PT-102": 210.0})
    rack.scan()
    flow_lpm = 12.5 * sqrt(1.0 / 1.0145) * 1000.0 / 60.0
    limit_lpm = judged(rack, "SIF-4").limit
    assert limit_lpm is not None
    assert flow_lpm > limit_lpm
    assert verdict(rack, "SIF-4") is Verdict.HEALTHY


def test_a_return_pressure_above_the_supply_is_no_flow(rack: PaperRack) -> None:
    rack.values.update({"FT-101": 0.0, "PT-101": 200.0, "PT-102": 210.0})
    rack.scan()
    assert verdict(rack, "SIF-4") is Verdict.DEMAND


@pytest.mark.parametrize("lost", ["FT-101", "FT-102", "PT-101", "PT-102"])
def test_with_one_witness_lost_one_of_two_is_enough(rack: PaperRack, lost: str) -> None:
    spoil(rack, lost)
    rack.values["FT-102" if lost == "FT-101" else "FT-101"] = 10.0
    assert rack.run(1.8).latched == ("SIF-4",)


@pytest.mark.parametrize(("left", "lost"), [("FT-101", ("FT-102", "PT-101")), ("FT-102", ("FT-101", "PT-102"))])
def test_with_two_witnesses_lost_the_last_one_decides(rack: PaperRack, left: str, lost: tuple[str, ...]) -> None:
    spoil(rack, *lost)
    rack.values[left] = 10.0
    assert rack.run(1.8).latched == ("SIF-4",)


def test_all_three_witnesses_lost_go_dark_after_three_seconds(rack: PaperRack) -> None:
    spoil(rack, "FT-101", "FT-102", "PT-102")
    assert rack.run(3.0).latched == ()
    rack.scan()
    assert (rack.state, rack.memory.latches[0].tag) == (State.COOLDOWN, "FT-101 blind")


def test_a_witness_that_comes_back_counts_the_blindness_down(rack: PaperRack) -> None:
    spoil(rack, "FT-101", "FT-102", "PT-102")
    rack.run(2.0)
    repair(rack, "FT-102")
    rack.run(1.0)
    spoil(rack, "FT-102")
    assert rack.run(1.9).latched == ()
    assert rack.run(0.2).latched == ("SIF-4",)


@pytest.mark.parametrize(("load_kw", "armed"), [(0.2 * 132.0, False), (26.5, True)])
def test_it_is_armed_above_twenty_percent_of_the_rating(rack: PaperRack, load_kw: float, armed: bool) -> None:
    flow(rack, 0.0)
    rack.values.update({"JT-101": load_kw, "ET-101": 0.0})
    rack.scan()
    assert (verdict(rack, "SIF-4") is Verdict.DEMAND) is armed
    assert (verdict(rack, "SIF-4") is Verdict.NOT_ARMED) is not armed


def test_the_load_is_the_greatest_of_feeder_busbar_and_heat(rack: PaperRack) -> None:
    heat_kw = 0.0669 * 198.0 * 10.0
    for feeder, busbar, load_kw in ((140.0, 20.0, 140.0), (20.0, 141.0, 141.0), (20.0, 20.0, heat_kw)):
        rack.values.update({"JT-101": feeder, "ET-101": busbar})
        rack.scan()
        assert judged(rack, "SIF-4").limit == pytest.approx(0.25 * 1.49 * load_kw)


def test_a_rack_on_battery_is_under_load_although_its_feeder_is_dead(rack: PaperRack) -> None:
    flow(rack, 0.0)
    rack.values.update({"JT-101": 0.0, "ET-101": 100.0})
    assert rack.run(2.4).latched == ("SIF-4",)


def test_with_no_power_reading_the_rating_counts(rack: PaperRack) -> None:
    spoil(rack, "JT-101", "ET-101", "TT-101")
    rack.scan()
    assert judged(rack, "SIF-4").limit == pytest.approx(0.25 * 1.49 * 132.0)


def test_a_heat_balance_without_flow_does_not_disarm_it(rack: PaperRack) -> None:
    spoil(rack, "JT-101", "ET-101")
    flow(rack, 0.0)  # heat = flow x rise = 0, with the rack at full load
    assert rack.run(1.8).latched == ("SIF-4",)


def test_a_negative_heat_balance_is_no_load(rack: PaperRack) -> None:
    spoil(rack, "JT-101", "ET-101")
    rack.values.update({"TT-102A": 30.0, "TT-102B": 30.0, "TT-102C": 30.0})
    rack.scan()
    assert verdict(rack, "SIF-4") is Verdict.NOT_ARMED


def test_it_is_not_armed_without_the_permit() -> None:
    rack = isolated()
    rack.values.update({"JT-101": 100.0})
    rack.scan()
    assert verdict(rack, "SIF-4") is Verdict.NOT_ARMED


def test_in_startup_it_acts_on_a_rack_whose_contactor_is_on() -> None:
    rack = starting(State.FLOWING)
    spoil(rack, "XY-101")  # adoption waits for the coil's read-back
    flow(rack, 0.0)
    rack.run(1.85)
    assert (rack.state, rack.latched) == (State.ISOLATING, ("SIF-4",))


def test_a_witness_that_dies_half_way_does_not_cancel_the_demand(rack: PaperRack) -> None:
    flow(rack, 0.0)
    rack.run(1.0)
    spoil(rack, "FT-101", "FT-102")
    assert rack.run(0.75).latched == ()
    assert rack.run(0.05).latched == ("SIF-4",)


def test_all_witnesses_dying_half_way_freeze_the_demand_and_it_goes_on_when_they_come_back(rack: PaperRack) -> None:
    flow(rack, 0.0)
    rack.run(1.0)
    spoil(rack, "FT-101", "FT-102", "PT-101")
    rack.run(2.0)
    assert held_s(rack, "SIF-4") == pytest.approx(1.0)
    repair(rack, "FT-101", "FT-102", "PT-101")
    assert rack.run(0.8).latched == ("SIF-4",)


def test_chatter_at_the_limit_counts_up_and_down_alike(rack: PaperRack) -> None:
    flow(rack, 0.0)
    assert flicker(rack, "FT-101", [45.0, 55.0] * 20).latched == ("SIF-4",)  # two of three low all the time
    rack = flowing()
    rack.values["FT-102"] = 45.0
    flicker(rack, "FT-101", [45.0, 55.0] * 40)
    assert rack.state is State.FLOWING
    assert held_s(rack, "SIF-4") == pytest.approx(0.05)


def test_forty_litres_with_swapped_words_are_unknown_and_not_zero(rack: PaperRack) -> None:
    flow(rack, 40.0)
    readings = swap_words(rack, "FT-101", "FT-102")
    assert [reading.reason for reading in readings] == ["denormal", "denormal"]
    rack.values["PT-101"] = 310.0
    rack.run(4.0)
    assert verdict(rack, "SIF-4") is Verdict.UNKNOWN
    assert rack.latched == ()


def test_a_frozen_copy_of_a_good_flow_goes_dark_within_four_seconds(rack: PaperRack) -> None:
    run_frozen(rack, 1.0, "FT-101", "FT-102", "PT-101", "PT-102")
    assert verdict(rack, "SIF-4") is Verdict.UNKNOWN
    assert run_frozen(rack, 3.0, "FT-101", "FT-102", "PT-101", "PT-102").latched == ("SIF-4",)


def test_a_lost_link_to_the_transmitters_goes_dark_as_one_cause(rack: PaperRack) -> None:
    lose_link(rack, "transmitters")
    rack.run(3.0)
    assert (rack.latched, alarms(rack)) == ((), {"link-transmitters"})
    rack.run(0.1)
    assert (rack.latched, alarms(rack)) == (("SIF-4",), {"link-transmitters", "trip-sif-4"})


def test_a_site_may_shorten_the_hold_and_never_lengthen_it_beyond_the_loads() -> None:
    rack = flowing(timing={"SIF-4": TripTiming(0.5)})
    flow(rack, 0.0)
    assert rack.run(0.5).latched == ()
    assert rack.run(0.05).latched == ("SIF-4",)
    rack = flowing(timing={"SIF-4": TripTiming(9.0)})
    flow(rack, 0.0)
    assert rack.run(1.8).latched == ("SIF-4",)


def test_it_is_never_bypassed(rack: PaperRack) -> None:
    assert rack.ask("bypass", name="SIF-4", for_s=60.0).fields["code"] == "never"
    assert rack.ask("bypass", name="SIF-4/low", for_s=60.0).fields["code"] == "never"


def test_a_load_that_comes_and_goes_without_flow_trips_all_the_same() -> None:
    """A square wave with on-phases shorter than the hold: what was held stands still while the load is low."""
    rack = flowing()
    rack.values.update({"FT-101": 5.0, "FT-102": 5.0, "PT-102": rack.values["PT-101"]})
    for _ in range(4):
        rack.values.update({"JT-101": 132.0, "ET-101": 130.0})
        rack.run(1.0)
        rack.values.update({"JT-101": 5.0, "ET-101": 5.0})
        rack.run(1.0)
    assert rack.state is State.COOLDOWN
    assert rack.latched == ("SIF-4",)
