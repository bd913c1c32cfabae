"""What readings say of each other, at their edges."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from racky.core import crosschecks, own_signs
from racky.core.causes import Found
from racky.core.memory import Phase
from tests.racky.core.paper_racky import PaperRacky, running, switched_off


def found(finder: Callable[..., object], **values: float | None) -> list[str]:
    """Names of what is found when Valvey's points are these."""
    rack = running()
    rack.points.update({tag.replace("_", "-"): value for tag, value in values.items()})
    return names(finder, rack)


def names(finder: Callable[..., object], rack: PaperRacky) -> list[str]:
    out = finder(rack.view())
    assert not isinstance(out, str)
    return [one.name for one in out if isinstance(one, Found)]  # type: ignore[attr-defined]


OFF = crosschecks.sensor_off


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({}, []),
        ({"FT_101": 220.0}, ["ft-101"]),
        ({"FT_101": 219.5}, []),
        ({"FT_101": 0.0}, ["ft-101"]),
        ({"FT_102": 150.0}, ["ft-102"]),
        ({"FY_102": 100.0}, []),
        ({"FT_101": 0.0, "FY_102": None}, []),
        ({"FT_101": 0.0, "ZSO_101": 0.0}, []),
        ({"FT_101": 100.0, "FT_102": 150.0, "FY_102": 200.0}, []),
        ({"TT_102A": 54.1}, ["tt-102a"]),
        ({"TT_102A": 54.0}, []),
        ({"TT_102B": 40.0}, ["tt-102b"]),
        ({"TT_102C": 90.0}, ["tt-102c"]),
        ({"TT_102C": 90.0, "TT_102A": None}, []),
        ({"TT_101": 55.1, "TT_201": 55.0}, ["tt-101"]),
        ({"TT_101": 55.0, "TT_201": 55.0}, []),
        ({"TT_101": 70.0, "TT_201": 70.0, "TY_102": None}, []),
        ({"TT_101": 70.0, "TT_201": 70.0, "FT_101": 10.0, "FT_102": 10.0, "FY_102": 10.0}, []),
        ({"TT_101": 45.1}, ["tt-101"]),
        ({"TT_101": 45.0}, []),
        ({"TT_101": 34.9}, ["tt-101"]),
        ({"TT_101": None}, []),
        ({"TT_101": 34.0, "TT_201": None}, []),
        ({"TT_101": 34.0, "FT_101": None, "FT_102": None}, []),
        ({"PT_101": 370.1}, ["pt-101"]),
        ({"PT_101": 370.0}, []),
        ({"PT_102": 149.9}, ["pt-102"]),
        ({"PT_102": 150.0}, []),
        ({"PT_101": 0.0, "PT_102": 0.0}, ["pt-101", "pt-102"]),
        ({"PT_101": 0.0, "PT_201": None}, []),
        ({"PT_101": None, "PT_102": 0.0}, []),
    ],
)
def test_a_sensor_that_two_others_contradict_is_off(values: dict[str, float | None], wrong: list[str]) -> None:
    assert found(OFF, **values) == wrong


SHUT = {"ZSO_101": 0.0, "ZSO_102": 0.0, "ZSC_101": 1.0, "ZSC_102": 1.0, "FT_101": 0.0, "FT_102": 0.0, "FY_102": 0.0}


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"PT_101": 260.0, "PT_102": 261.0}, []),
        ({"PT_101": 600.0, "PT_102": 599.0}, []),
        ({"PT_101": 620.0, "PT_102": 260.0}, ["pt-101"]),
        ({"PT_101": 260.0, "PT_102": 10.0}, ["pt-102"]),
        ({"PT_101": 310.0, "PT_102": 260.0}, []),
        ({"PT_101": 310.1, "PT_102": 260.0}, ["pt-101"]),
        ({"PT_101": 620.0, "PT_102": 260.0, "FT_101": 100.0}, []),
    ],
)
def test_in_a_shut_rack_both_pressures_are_of_the_same_liquid(values: dict[str, float], wrong: list[str]) -> None:
    assert found(OFF, **{**SHUT, **values}) == wrong


def test_the_loops_own_sensor_stands_in_for_the_one_that_valvey_reads() -> None:
    rack = running()
    rack.loop = replace(rack.loop, points={"TT-201": rack.sight().valvey.points["TT-201"]})
    rack.points |= {"TT-101": 34.0, "TT-201": None}
    assert names(OFF, rack) == ["tt-101"]


def test_a_supply_that_differs_counts_after_the_cdus_own_step() -> None:
    rack = running()
    rack.points["TT-101"] = 34.0
    rack.run(20.0)
    assert rack.causes == []
    rack.run(1.0)
    assert rack.causes == ["sensor-off-tt-101"]


def test_others_count_after_three_seconds() -> None:
    rack = running()
    rack.points["TT-102A"] = 60.0
    rack.run(3.0)
    assert rack.causes == []
    rack.run(0.5)
    assert rack.causes == ["sensor-off-tt-102a"]


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({}, []),
        ({"ZSO_101": 0.0}, ["xv-101"]),
        ({"ZSC_102": 1.0}, ["xv-102"]),
        ({"ZSO_101": 0.0, "ZSC_101": 1.0}, []),
        ({"ZSO_101": None, "ZSC_102": None}, []),
        ({"ZSO_101": 0.5}, []),
    ],
)
def test_a_valve_in_service_shows_one_limit(values: dict[str, float | None], wrong: list[str]) -> None:
    assert found(crosschecks.limit_switch, **values) == wrong


def test_a_valve_that_moves_shows_none() -> None:
    rack = running()
    rack.points["ZSO-101"] = 0.0
    (one,) = crosschecks.limit_switch(rack.view())
    assert one.evidence == "XV-101 shows neither limit"
    rack.points |= {"ZSO-101": 1.0, "ZSC-101": 1.0}
    (one,) = crosschecks.limit_switch(rack.view())
    assert one.evidence == "XV-101 shows both limits"
    rack.valvey = replace(rack.valvey, state="ISOLATING")
    assert list(crosschecks.limit_switch(rack.view())) == []


LOW = {"FT_101": 80.0, "FT_102": 80.0}


@pytest.mark.parametrize(
    ("values", "blocked"),
    [
        (LOW, True),
        ({"FT_101": 88.7, "FT_102": 10.0}, False),
        ({"FT_101": 88.6, "FT_102": None}, True),
        ({"FT_101": None, "FT_102": None}, False),
        ({**LOW, "PT_201": 260.0}, False),
        ({**LOW, "PT_201": 260.1}, True),
        ({**LOW, "PT_201": None}, False),
        ({**LOW, "PT_202": None}, False),
        ({**LOW, "ZT_101": 30.0}, True),
        ({**LOW, "ZT_101": 29.9}, False),
        ({**LOW, "ZT_101": None}, False),
        ({**LOW, "ZSO_102": 0.0}, False),
    ],
)
def test_little_flow_with_pressure_and_open_valves_is_blocked(values: dict[str, float | None], blocked: bool) -> None:
    assert bool(found(crosschecks.flow_blocked, **values)) is blocked


@pytest.mark.parametrize(("cdu_c", "hot"), [(45.0, False), (45.1, True), (None, False)])
def test_the_cdus_supply_is_hot_above_what_racks_can_use(cdu_c: float | None, hot: bool) -> None:
    assert bool(found(crosschecks.cdu_hot, TT_201=cdu_c)) is hot
    rack = running()
    rack.points["TT-201"] = None
    rack.loop = replace(
        rack.loop, points={"TT-201": replace(rack.sight().valvey.points["TT-101"], tag="TT-201", value=60.0)}
    )
    (one,) = crosschecks.cdu_hot(rack.view())
    assert one.evidence == "TT-201 is 60.0 degC"


DEAD = {"JT_101": 0.5, "EV_101": 1.0, "ET_101": 0.5}


@pytest.mark.parametrize(
    ("values", "lost"),
    [
        (DEAD, True),
        ({**DEAD, "JT_101": 1.0}, False),
        ({**DEAD, "EV_101": 9.9}, True),
        ({**DEAD, "EV_101": 10.0}, False),
        ({**DEAD, "EV_101": 50.0, "ET_101": 1.0}, True),
        ({**DEAD, "EV_101": 50.0, "ET_101": None}, False),
        ({**DEAD, "EV_101": None}, True),
        ({**DEAD, "JT_101": None}, False),
        ({**DEAD, "XI_101": 0.0}, False),
        ({**DEAD, "XI_101": None}, False),
    ],
)
def test_mains_are_lost_when_nothing_comes_through_a_shut_contactor(
    values: dict[str, float | None], lost: bool
) -> None:
    rack = blind()
    rack.points.update({tag.replace("_", "-"): value for tag, value in values.items()})
    assert bool(names(crosschecks.mains_lost, rack)) is lost


def blind() -> PaperRacky:
    """A rack none of whose supplies can be read."""
    rack = running()
    supplies(rack, None)
    return rack


def supplies(rack: PaperRacky, lost: float | None) -> None:
    rack.own |= {shelf.psu("EA", psu): lost for shelf in rack.setup.shelves for psu in shelf.psus}


def test_the_supplies_know_whether_they_have_mains() -> None:
    rack = running()
    rack.points |= {"JT-101": 0.0, "EV-101": 0.0, "ET-101": 0.0}
    assert names(crosschecks.mains_lost, rack) == []
    supplies(rack, 1.0)
    assert names(crosschecks.mains_lost, rack) == [""]
    rack.own |= {"EA-112B": None, "EA-113A": None}
    assert names(crosschecks.mains_lost, rack) == [""]
    rack.own["EA-113B"] = 0.0
    assert names(crosschecks.mains_lost, rack) == []
    supplies(rack, 1.0)
    rack.points["XI-101"] = 0.0
    assert names(crosschecks.mains_lost, rack) == []


def test_lost_mains_explain_the_shelves_that_went_off_with_them() -> None:
    rack = running()
    rack.follows_load = False
    rack.points |= {"JT-101": 0.0, "EV-101": 48.0}
    supplies(rack, 1.0)
    rack.own |= {
        "XI-111": 0.0,
        "XI-112": 0.0,
        "XI-113": 0.0,
        "XB-121": 1.0,
        "JT-111": 0.0,
        "JT-112": 0.0,
        "JT-113": 0.0,
    }
    rack.run(4.0)
    assert [cause.id for cause in rack.scans[-1].health.roots] == ["mains-lost"]


def test_a_bus_bar_that_lives_on_its_battery_has_no_mains() -> None:
    rack = blind()
    rack.points |= {"JT-101": 0.0, "EV-101": 48.0, "ET-101": 0.5}
    assert names(crosschecks.mains_lost, rack) == []
    rack.own["XB-121"] = 1.0
    assert names(crosschecks.mains_lost, rack) == [""]


def test_a_rack_whose_shelves_are_switched_off_has_not_lost_its_mains() -> None:
    rack = switched_off()
    supplies(rack, None)
    assert names(crosschecks.mains_lost, rack) == []


def test_lost_mains_stand_while_nothing_speaks_against_them() -> None:
    rack = running()
    rack.follows_load = False
    rack.points |= {"JT-101": 0.0, "EV-101": 0.0, "ET-101": 0.0}
    supplies(rack, 1.0)
    rack.run(3.0)
    assert rack.causes[0] == "mains-lost"
    supplies(rack, None)
    rack.points |= {"JT-101": None, "EV-101": None, "XI-101": None}
    rack.run(3.0)
    assert rack.causes[0] == "mains-lost"
    rack.points["XI-101"] = 0.0
    rack.run(1.0)
    assert "mains-lost" not in rack.causes
    rack.points |= {"XI-101": None}
    rack.run(3.0)
    assert "mains-lost" not in rack.causes


def test_lost_mains_of_a_valvey_that_is_not_heard_are_not_known() -> None:
    rack = running()
    rack.memory = replace(rack.memory, since_s={"mains-lost": 1.0})
    rack.heard = False
    rack._heard_s = 0.0
    assert names(crosschecks.mains_lost, rack) == []


@pytest.mark.parametrize(
    ("values", "evidence"),
    [
        ({}, None),
        ({"ET_101": 80.9}, "bus-bar"),
        ({"ET_101": 81.1}, None),
        ({"JT_101": 110.0}, "feeder"),
        ({"ET_101": None, "JT_101": 110.0}, "feeder"),
        ({"ET_101": None}, None),
        ({"ET_101": 40.0, "JT_101": 40.0}, "shelves"),
    ],
)
def test_power_that_does_not_add_up_is_named(values: dict[str, float | None], evidence: str | None) -> None:
    rack = running()
    rack.points.update({tag.replace("_", "-"): value for tag, value in values.items()})
    out = list(crosschecks.power_apart(rack.view()))
    assert [one.evidence.split(" is apart")[0] for one in out] == ([] if evidence is None else [evidence])


def test_a_battery_that_feeds_leaves_only_the_bus_bar_to_compare() -> None:
    rack = running()
    rack.own["XB-121"] = 1.0
    rack.points["JT-101"] = 0.0
    assert list(crosschecks.power_apart(rack.view())) == []


def test_small_powers_may_differ_by_their_meters() -> None:
    rack = running()
    rack.own |= {"JT-111": 1.0, "JT-112": 0.0, "JT-113": 0.0}
    rack.points |= {"JT-101": 3.9 / 0.965, "ET-101": 3.9}
    assert list(crosschecks.power_apart(rack.view())) == []


# -- Racky's own field -------------------------------------------------------------------------------------------------


def test_a_slow_fan_counts_only_while_its_supply_gives_power() -> None:
    rack = running()
    rack.own |= {"ST-111A": 999.0, "JT-111A": 0.2}
    (one,) = own_signs.psu_fan(rack.view())
    assert (one.name, one.evidence) == ("111a", "ST-111A shows 999 rpm")
    rack.own["ST-111A"] = 1000.0
    assert names(own_signs.psu_fan, rack) == []
    rack.own |= {"ST-111A": 0.0, "JT-111A": 0.1}
    assert names(own_signs.psu_fan, rack) == []
    rack.own |= {"JT-111A": None}
    assert names(own_signs.psu_fan, rack) == []
    rack.own |= {"ST-111A": 0.0, "JT-111A": 5.0, "SA-111A": 1.0}
    (one,) = own_signs.psu_fan(rack.view())
    assert one.evidence == "supply A of shelf 111 reports a bad fan"


def test_a_supply_without_mains_counts_only_while_the_permit_is_on() -> None:
    rack = running()
    rack.own["EA-112B"] = 1.0
    assert names(own_signs.ac_lost, rack) == ["112b"]
    rack.points["XI-101"] = 0.0
    assert names(own_signs.ac_lost, rack) == []
    rack.points["XI-101"] = None
    assert names(own_signs.ac_lost, rack) == []


def test_a_battery_feeds_in_the_dark_only_when_the_permit_is_known_off() -> None:
    rack = running()
    rack.own["XB-121"] = 1.0
    assert names(own_signs.battery_in_the_dark, rack) == []
    rack.points["XI-101"] = 0.0
    assert names(own_signs.battery_in_the_dark, rack) == ["121"]
    rack.points["XI-101"] = None
    assert names(own_signs.battery_in_the_dark, rack) == []


def test_a_battery_is_low_below_half_and_unknown_is_not_low() -> None:
    rack = running()
    for charge, low in ((50.0, False), (49.9, True), (None, False)):
        rack.own["QT-121"] = charge
        assert bool(names(own_signs.battery_low, rack)) is low


@pytest.mark.parametrize(("humidity", "humid"), [(80.0, False), (80.1, True), (None, False)])
def test_the_room_is_humid_above_its_limit(humidity: float | None, humid: bool) -> None:
    rack = running()
    rack.own["MT-110"] = humidity
    assert bool(names(own_signs.humid, rack)) is humid


def test_a_load_over_its_cap_says_whose() -> None:
    rack = running()
    rack.own |= {"JT-111": 60.0, "JT-112": 60.0}
    (one,) = own_signs.over_cap(rack.view())
    assert one.evidence == "150 kW over the 110 kW of site"
    rack.own |= {"JT-111": 37.3, "JT-112": 37.3, "JT-113": 37.3}
    assert names(own_signs.over_cap, rack) == [], "111.9 kW are within what meters differ by"


def test_a_load_that_nobody_knows_is_a_cause_while_valvey_is_heard() -> None:
    rack = running()
    rack.follows_load = False
    rack.own["JT-111"] = None
    rack.points |= {"ET-101": None, "JT-101": None}
    assert [one.evidence for one in own_signs.load_unknown(rack.view())] == ["neither shelves, ET-101 nor JT-101 tell"]
    rack.run(3.5)
    assert "power-unknown" in rack.causes
    rack.valvey = replace(rack.valvey, online=False)
    assert names(own_signs.load_unknown, rack) == []


def test_power_that_is_off_is_no_work() -> None:
    rack = switched_off()
    rack.step()
    assert rack.causes == ["power-off"]
    (cause,) = rack.scans[-1].health.causes
    assert cause.evidence == "the power is OFF: asked by anna: a test"
    assert names(own_signs.output_off, rack) == []
    bare = PaperRacky(replace(rack.setup, shelves=(), batteries=()))
    bare.run(1.0)
    assert bare.causes == []


def test_a_trip_of_the_second_path_has_its_time_and_reason() -> None:
    rack = running()
    rack.latched("SIF-13")
    rack.run(1.0)
    assert rack.phase() is Phase.TRIPPED
    (one,) = own_signs.second_trip(rack.view())
    assert (one.evidence, one.since_s) == (rack.memory.power.why, rack.memory.power.since_s)
    assert rack.causes[:1] == ["power-not-off"]
    assert {"second-trip-path", "power-off"} <= set(rack.causes)


def test_a_disarmed_racky_and_a_shelf_that_stays_on_are_causes() -> None:
    rack = running()
    rack.setup = replace(rack.setup, armed=False)
    rack.run(1.0)
    assert rack.causes == ["racky-disarmed"]
    rack = running()
    rack.stuck = {"XS-112"}
    rack.ask("power_off", now=True)
    rack.run(11.0)
    assert "output-stuck-xs-112" in rack.causes


def test_own_points_and_devices_that_are_lost_are_named() -> None:
    rack = running()
    rack.own |= {"JT-111": None}
    (one,) = own_signs.sensor_bad(rack.view())
    assert (one.name, one.evidence) == ("jt-111", "JT-111: timeout")
    rack.own |= {"XI-111": None}
    view = rack.view()
    assert [one.evidence for one in own_signs.device_silent(view)] == ["2 points cannot be read"]
    assert list(own_signs.sensor_bad(view)) == []
    ages = {**view.sight.max_age_s, "PT-999": 1.0}
    view = replace(view, sight=replace(view.sight, max_age_s=ages))
    assert [one.evidence for one in own_signs.sensor_bad(view)] == ["PT-999: never read"]
    old = {**view.sight.readings, "ZS-110": replace(view.sight.readings["ZS-110"], at_s=1.0)}
    view = replace(view, sight=replace(view.sight, readings=old, max_age_s={"ZS-110": 1.0}))
    assert [one.evidence for one in own_signs.sensor_bad(view)] == ["ZS-110: stale"]
