"""What is worked out and told beside the readings."""

from dataclasses import replace

import pytest

from fieldkit.coolant import heat_kw
from fieldkit.reading import Quality, Reason
from fieldkit.tag import BY_TAG, parse_tag
from tests.plant import PaperRack, flowing, isolated
from valvey.core.mass_balance import LONG_S, WARM_UP_S
from valvey.core.plant_signs import PRESENT_S
from valvey.derived import POINTS, derived, metas


def shown(rack: PaperRack) -> dict[str, tuple[float | None, Quality, Reason | None]]:
    readings = derived(rack.readings(), rack.memory, rack.limits, rack.now_s)
    return {tag: (one.value, one.quality, one.reason) for tag, one in readings.items()}


def learned(rack: PaperRack, settled_s: float) -> PaperRack:
    sensors = rack.memory.sensors
    balance = replace(
        sensors.balance, learned_s=WARM_UP_S, settled_s=settled_s, excess_lpm=2.5, variance=0.0025**2, supply_lpm=200.0
    )
    rack.memory = replace(rack.memory, sensors=replace(sensors, balance=balance))
    return rack


def test_a_rack_in_service_tells_heat_flow_by_pressure_return_and_margin() -> None:
    rack = flowing()
    rack.run(0.5)
    rack.values.update({"TT-110": 27.0, "MT-110": 45.0, "TT-102C": 49.0})
    values = {tag: value for tag, (value, *_) in shown(rack).items()}
    assert values["JY-101"] == pytest.approx(heat_kw(198.0, 40.0, 50.0))
    assert values["FY-102"] == pytest.approx(198.0, abs=3.0)
    assert values["TY-102"] == 50.0
    assert values["TDY-101"] == pytest.approx(40.0 - 14.05, abs=0.05)


def test_the_set_point_is_told_while_the_flow_control_has_the_valve() -> None:
    rack = flowing()
    rack.run(0.5)
    steering = rack.memory.steering
    assert steering is not None
    assert shown(rack)["FY-101"] == (steering.control.demand.setpoint_lpm, Quality.GOOD, None)
    rack.memory = replace(rack.memory, steering=replace(steering, active=False))
    assert shown(rack)["FY-101"] == (None, Quality.BAD, Reason.STALE)
    assert shown(isolated())["FY-101"] == (None, Quality.BAD, Reason.STALE)


def test_a_leak_estimate_comes_with_what_it_is_worth_once_the_zero_is_learned() -> None:
    rack = learned(flowing(), LONG_S)
    assert shown(rack)["FDY-101"] == (2.5, Quality.GOOD, None)
    least, quality, _reason = shown(rack)["FDY-102"]
    assert least == pytest.approx(6.0 * 0.0025 * 200.0)
    assert quality is Quality.GOOD


def test_an_estimate_of_a_rack_that_does_not_rest_is_uncertain() -> None:
    rack = learned(flowing(), LONG_S - 1.0)
    assert shown(rack)["FDY-101"] == (2.5, Quality.UNCERTAIN, Reason.STALE)
    assert shown(rack)["FDY-102"][1] is Quality.GOOD


def test_nothing_is_estimated_before_the_zero_is_learned_nor_in_a_shut_rack() -> None:
    for rack in (flowing(), learned(isolated(), LONG_S)):
        assert shown(rack)["FDY-101"] == (None, Quality.BAD, Reason.STALE)
        assert shown(rack)["FDY-102"] == (None, Quality.BAD, Reason.STALE)


def test_the_learned_resistance_wins_over_the_data_sheet() -> None:
    rack = flowing()
    resistance = replace(rack.memory.sensors.resistance, present=94.2 / 4.0, present_s=PRESENT_S)
    rack.memory = replace(rack.memory, sensors=replace(rack.memory.sensors, resistance=resistance))
    assert shown(rack)["FY-102"][0] == pytest.approx(200.0)


def test_what_cannot_be_worked_out_is_bad_and_no_number() -> None:
    rack = flowing()
    rack.values.update(dict.fromkeys(("TT-101", "TT-102A", "TT-102B", "TT-102C", "PT-102"), None))
    rack.run(0.5)
    for tag in ("JY-101", "FY-102", "TY-102", "TDY-101"):
        assert shown(rack)[tag] == (None, Quality.BAD, Reason.STALE)


def test_every_point_is_a_tag_of_its_own_and_explained() -> None:
    for one in POINTS:
        assert parse_tag(one.tag).letters.endswith("Y")
        assert one.tag not in BY_TAG
        assert metas()[one.tag].description == one.description
    assert metas()["TDY-101"].limits == {"L": 2.0}
