"""What the safety functions see of the readings: a value that can be believed, or nothing."""

import pytest

from fieldkit.reading import Quality, Reading, Reason
from fieldkit.units import Unit
from tests.plant import commissioned, limits
from valvey.core.view import View

NOW_S = 1000.0


def view(values: dict[str, float], quality: Quality = Quality.GOOD, age_s: float = 0.0, **changes: object) -> View:
    reason = None if quality is Quality.GOOD else Reason.STUCK
    readings = {tag: Reading(tag, value, Unit.NONE, quality, NOW_S - age_s, reason) for tag, value in values.items()}
    return View(readings, commissioned(), limits(**changes), NOW_S)


def test_a_good_fresh_reading_is_a_number() -> None:
    assert view({"FT-101": 5.0}).number("FT-101") == pytest.approx(5.0)


@pytest.mark.parametrize("quality", [Quality.UNCERTAIN, Quality.BAD])
def test_anything_but_good_is_nothing(quality: Quality) -> None:
    assert view({"FT-101": 5.0}, quality).number("FT-101") is None


def test_a_tag_that_was_never_read_is_nothing() -> None:
    assert view({}).number("FT-101") is None


def test_a_reading_is_stale_beyond_its_tags_age() -> None:
    assert view({"FT-101": 5.0}, age_s=0.5).number("FT-101") == pytest.approx(5.0)
    assert view({"FT-101": 5.0}, age_s=0.51).number("FT-101") is None
    assert view({"FT-101": 5.0}, age_s=0.7, max_age_s={"FT-101": 0.8}).number("FT-101") == pytest.approx(5.0)


def test_a_tag_without_an_age_of_its_own_has_the_default_one() -> None:
    assert view({"PT-201": 5.0}, age_s=0.5).number("PT-201") == pytest.approx(5.0)
    assert view({"PT-201": 5.0}, age_s=0.51).number("PT-201") is None


@pytest.mark.parametrize(("value", "on"), [(0.0, False), (0.49, False), (0.5, True), (1.0, True)])
def test_a_contact_is_on_from_a_half(value: float, on: bool) -> None:
    assert view({"XI-101": value}).on("XI-101") is on


def test_a_contact_that_cannot_be_believed_is_neither() -> None:
    assert view({}).on("XI-101") is None


def test_the_sample_time_is_the_readings_own_or_now() -> None:
    assert view({"FT-101": 5.0}, age_s=3.0).at_s("FT-101") == pytest.approx(NOW_S - 3.0)
    assert view({}).at_s("FT-101") == pytest.approx(NOW_S)


def test_the_best_of_several_is_the_greatest_that_can_be_believed() -> None:
    assert view({"FT-101": 5.0, "FT-102": 7.0}).best("FT-101", "FT-102") == pytest.approx(7.0)
    assert view({"FT-101": 5.0}).best("FT-101", "FT-102") == pytest.approx(5.0)
    assert view({}).best("FT-101", "FT-102") is None


def test_one_bar_over_a_kv_of_one_is_a_cubic_metre_of_water_an_hour() -> None:
    flow = view({"PT-101": 200.0 + 101.45, "PT-102": 200.0}, kv_rack=1.0).dp_flow_lpm()
    assert flow == pytest.approx(1000.0 / 60.0)
    assert view({"PT-101": 200.0, "PT-102": 300.0}).dp_flow_lpm() == pytest.approx(0.0)
    assert view({"PT-101": 200.0}).dp_flow_lpm() is None
    assert view({"PT-102": 200.0}).dp_flow_lpm() is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [((50.0, 60.0, 40.0), 50.0), ((50.0, 60.0), 60.0), ((50.0,), 50.0), ((), None)],
)
def test_the_return_temperature_is_the_median_of_three_the_hotter_of_two_or_the_last(
    values: tuple[float, ...], expected: float | None
) -> None:
    tags = ("TT-102A", "TT-102B", "TT-102C")
    assert view(dict(zip(tags, values, strict=False))).return_c() == expected


HEAT = {"FT-101": 200.0, "TT-101": 40.0, "TT-102A": 50.0}


def test_the_heat_balance_is_flow_times_rise() -> None:
    assert view(HEAT).heat_kw() == pytest.approx(0.0669 * 200.0 * 10.0)
    assert view({**HEAT, "TT-101": 60.0}).heat_kw() == pytest.approx(0.0)


@pytest.mark.parametrize("lost", list(HEAT))
def test_the_heat_balance_needs_all_three(lost: str) -> None:
    assert view({tag: value for tag, value in HEAT.items() if tag != lost}).heat_kw() is None


def test_the_heat_balance_needs_a_tenth_of_the_nominal_flow() -> None:
    assert view({**HEAT, "FT-101": 19.8}).heat_kw() is None
    assert view({**HEAT, "FT-101": 19.9}).heat_kw() == pytest.approx(0.0669 * 199.0)


def test_the_load_is_the_greatest_or_nothing() -> None:
    assert view({"JT-101": 100.0, "ET-101": 90.0}).load_kw() == pytest.approx(100.0)
    assert view({"JT-101": 80.0, "ET-101": 90.0}).load_kw() == pytest.approx(90.0)
    assert view({**HEAT, "JT-101": 10.0}).load_kw() == pytest.approx(133.8)
    assert view({}).load_kw() is None


def test_what_was_worked_out_once_in_a_scan_is_not_worked_out_again() -> None:
    seen = view({"JT-101": 100.0})
    assert seen.load_kw() == pytest.approx(100.0)
    assert set(seen.believed) >= {"JT-101", "ET-101", "load_kw"}
    later = View({}, seen.memory, seen.limits, seen.now_s, believed=seen.believed)
    assert (later.load_kw(), later.number("JT-101"), later.number("ET-101")) == (100.0, 100.0, None)


def test_the_need_is_149_litres_for_each_hundred_kilowatts_and_the_ratings_when_the_load_is_unknown() -> None:
    assert view({"JT-101": 100.0}).need_lpm() == pytest.approx(149.0)
    assert view({}).need_lpm() == pytest.approx(1.49 * 132.0)


def test_the_flow_set_point_stays_between_half_and_five_quarters_of_the_nominal_flow() -> None:
    assert view({"JT-101": 0.0}).setpoint_lpm() == pytest.approx(99.0)
    assert view({"JT-101": 100.0}).setpoint_lpm() == pytest.approx(1.05 * 149.0)
    assert view({"JT-101": 300.0}).setpoint_lpm() == pytest.approx(247.5)


@pytest.mark.parametrize("lost", ["ZSO-101", "ZSO-102"])
def test_open_is_proven_by_both_open_limits(lost: str) -> None:
    assert view({"ZSO-101": 1, "ZSO-102": 1}).open_proven()
    assert not view({"ZSO-101": 1, "ZSO-102": 1, lost: 0}).open_proven()


@pytest.mark.parametrize("lost", ["ZSC-101", "ZSC-102"])
def test_shut_is_proven_by_both_shut_limits(lost: str) -> None:
    assert view({"ZSC-101": 1, "ZSC-102": 1}).shut_proven()
    assert not view({"ZSC-101": 1, "ZSC-102": 1, lost: 0}).shut_proven()
    assert not view({"ZSC-101": 1, "ZSC-102": 1}, Quality.BAD).shut_proven()


@pytest.mark.parametrize("lost", ["XY-101", "XY-102"])
def test_coils_are_on_when_both_read_back_energised(lost: str) -> None:
    assert view({"XY-101": 1, "XY-102": 1}).coils_on()
    assert not view({"XY-101": 1, "XY-102": 1, lost: 0}).coils_on()


@pytest.mark.parametrize(
    ("flows", "stopped"),
    [
        ({"FT-101": 9.9, "FT-102": 9.9}, True),
        ({"FT-101": 10.0, "FT-102": 0.0}, False),
        ({"FT-101": 0.0, "FT-102": 10.0}, False),
        ({"FT-101": 0.0}, False),
        ({"FT-102": 0.0}, False),
    ],
)
def test_flow_has_stopped_when_both_meters_say_five_percent_or_less(flows: dict[str, float], stopped: bool) -> None:
    assert view(flows).flow_stopped() is stopped


DEAD = {"XI-101": 0.0, "ET-101": 2.64, "EV-101": 10.0}


@pytest.mark.parametrize(
    ("change", "dead"),
    [({}, True), ({"XI-101": 1.0}, False), ({"ET-101": 2.65}, False), ({"EV-101": 10.1}, False)],
)
def test_a_rack_is_dead_without_contactor_load_and_voltage(change: dict[str, float], dead: bool) -> None:
    assert view({**DEAD, **change}).permit_dead() is dead


@pytest.mark.parametrize("lost", list(DEAD))
def test_a_rack_is_not_dead_when_one_of_them_cannot_be_seen(lost: str) -> None:
    assert not view({tag: value for tag, value in DEAD.items() if tag != lost}).permit_dead()
