"""SIF-11: supply and return flow far apart. It judges and tells; it does not act."""

import pytest

from tests.plant import PaperRack, isolated
from tests.valvey.core.bench import alarms, flicker, held_s, last, lose_link, run_frozen, spoil, swap_words, verdict
from valvey.core.chart import State
from valvey.core.facts import FactKind
from valvey.core.trips import TRIPS
from valvey.core.verdict import Verdict


def leak(rack: PaperRack) -> None:
    """31 L/min go missing, and the floor rope is wet."""
    rack.values.update({"FT-102": 167.0, "LDT-103": 1.0})


def test_it_is_a_shadow_row() -> None:
    assert [row.shadow for row in TRIPS if row.sif == "SIF-11"] == [True]


def test_it_tells_after_two_seconds_what_it_would_have_done_and_does_nothing(rack: PaperRack) -> None:
    rack.ask("bypass", name="SIF-1", for_s=600.0)
    leak(rack)
    rack.run(2.0)
    assert rack.told(FactKind.WOULD_TRIP) == []
    rack.scan()
    fields = last(rack, FactKind.WOULD_TRIP).fields
    assert (fields["row"], fields["effect"]) == ("SIF-11", "ISOLATE")
    rack.run(2.0)
    assert (rack.state, rack.latched, len(rack.told(FactKind.WOULD_TRIP))) == (State.FLOWING, (), 1)


def test_it_is_told_again_when_it_comes_back(rack: PaperRack) -> None:
    rack.ask("bypass", name="SIF-1", for_s=600.0)
    leak(rack)
    rack.run(2.1)
    rack.values["FT-102"] = 198.0
    rack.run(0.2)
    assert rack.memory.would_trip == ()
    rack.values["FT-102"] = 167.0
    rack.run(0.5)
    assert len(rack.told(FactKind.WOULD_TRIP)) == 2


@pytest.mark.parametrize(
    ("ret", "wet", "expected"),
    [
        (168.0, 1.0, Verdict.HEALTHY),
        (167.9, 1.0, Verdict.DEMAND),
        (167.9, 0.0, Verdict.HEALTHY),
        (230.0, 1.0, Verdict.HEALTHY),
    ],
)
def test_it_takes_the_imbalance_and_a_second_symptom(
    rack: PaperRack, ret: float, wet: float, expected: Verdict
) -> None:
    rack.values.update({"FT-102": ret, "LDT-103": wet})
    rack.scan()
    assert verdict(rack, "SIF-11") is expected


@pytest.mark.parametrize("lost", ["FT-101", "FT-102"])
def test_a_lost_meter_is_unknown(rack: PaperRack, lost: str) -> None:
    spoil(rack, lost)
    rack.scan()
    assert verdict(rack, "SIF-11") is Verdict.UNKNOWN


def test_blind_for_thirty_seconds_is_an_alarm_only(rack: PaperRack) -> None:
    spoil(rack, "FT-101")
    for _ in range(20):
        rack.scan(dt_s=1.5)
    assert "blind-sif-11" not in alarms(rack)
    rack.scan(dt_s=1.5)
    assert ("blind-sif-11" in alarms(rack), rack.latched) == (True, ())


def test_a_meter_that_dies_half_way_freezes_it(rack: PaperRack) -> None:
    leak(rack)
    rack.run(0.4)
    spoil(rack, "FT-102")
    rack.run(1.0)
    assert held_s(rack, "SIF-11") == pytest.approx(0.4)


def test_chatter_counts_up_and_down_alike(rack: PaperRack) -> None:
    rack.ask("bypass", name="SIF-1", for_s=600.0)
    rack.values["LDT-103"] = 1.0
    flicker(rack, "FT-102", [167.0, 198.0] * 30)
    assert held_s(rack, "SIF-11") == pytest.approx(0.05)


def test_a_swapped_flow_is_no_missing_flow(rack: PaperRack) -> None:
    rack.values["LDT-103"] = 1.0
    (reading,) = swap_words(rack, "FT-102")
    rack.scan()
    assert (reading.quality, verdict(rack, "SIF-11")) == ("BAD", Verdict.UNKNOWN)


def test_a_frozen_flow_is_unknown(rack: PaperRack) -> None:
    run_frozen(rack, 1.0, "FT-101", "FT-102")
    assert verdict(rack, "SIF-11") is Verdict.UNKNOWN


def test_a_lost_link_is_one_alarm_and_no_imbalance(rack: PaperRack) -> None:
    lose_link(rack, "transmitters")
    rack.run(1.0)
    assert (verdict(rack, "SIF-11"), alarms(rack)) == (Verdict.UNKNOWN, {"link-transmitters"})


def test_it_is_not_armed_without_the_permit() -> None:
    rack = isolated()
    leak(rack)
    rack.scan()
    assert verdict(rack, "SIF-11") is Verdict.NOT_ARMED


def test_a_bypassed_detector_is_no_second_symptom(rack: PaperRack) -> None:
    rack.ask("bypass", name="LDT-103", for_s=600.0)
    leak(rack)
    rack.scan()
    assert verdict(rack, "SIF-11") is Verdict.HEALTHY
