"""How much power the rack may draw, whose bound it is, and what is shed to keep it."""

from dataclasses import replace
from math import inf

import pytest

from racky.core import caps
from racky.core.facts import FactKind
from racky.core.memory import Cap
from tests.racky.core.paper_racky import PaperRacky, running


def least(rack: PaperRacky) -> tuple[str, float]:
    source, kw = rack.memory.power.least or ("", 0.0)
    return source, round(kw, 6)


def shed(rack: PaperRacky) -> tuple[str, ...]:
    return rack.memory.power.shed


def test_the_least_of_all_bounds_counts_and_is_told_once() -> None:
    rack = running()
    assert least(rack) == ("site", 110.0)
    rack.loop = replace(rack.loop, cap_kw=95.0)
    rack.run(2.0)
    assert least(rack) == ("loop", 95.0)
    told = [(fact.fields["source"], fact.fields["kw"]) for fact in rack.kinds(FactKind.CAP)]
    assert told == [("site", 110.0), ("loop", 95.0)]
    assert [one.source for one in caps.caps(rack.view())] == ["loop", "site", "rating"]


def test_the_rating_bounds_a_generous_site() -> None:
    assert least(running(budget_kw=200.0)) == ("rating", 120.0)


def test_a_coordinator_that_is_not_heard_caps_nothing() -> None:
    rack = running()
    rack.loop = replace(rack.loop, cap_kw=95.0, online=False)
    rack.run(1.0)
    assert least(rack) == ("site", 110.0)


@pytest.mark.parametrize(
    ("row", "kw"), [("SIF-3/cap", 72.0), ("SIF-4/cap", 45.0), ("SIF-5/cap", 72.0), ("SIF-99/cap", 72.0)]
)
def test_a_pre_trip_of_valvey_cuts_a_share_of_the_load(row: str, kw: float) -> None:
    rack = running(grace_s=inf)
    rack.valvey = replace(rack.valvey, power_cap=(row,))
    rack.step()
    assert least(rack) == (row, kw)


def test_a_pre_trip_that_stands_cuts_again_and_is_kept_for_a_while_after_it() -> None:
    rack = running(grace_s=inf)
    rack.valvey = replace(rack.valvey, power_cap=("SIF-3/cap",))
    rack.run(30.0)
    assert least(rack) == ("SIF-3/cap", 72.0)
    rack.step()
    assert least(rack) == ("SIF-3/cap", 57.6)
    rack.valvey = replace(rack.valvey, power_cap=())
    rack.run(59.5)
    assert least(rack) == ("SIF-3/cap", 57.6)
    rack.step()
    assert least(rack) == ("site", 110.0)


def test_a_pre_trip_without_a_known_load_cuts_from_the_rating_and_stays_while_valvey_is_silent() -> None:
    rack = running()
    rack.own["JT-111"] = None
    rack.points |= {"ET-101": None, "JT-101": None}
    rack.follows_load = False
    rack.valvey = replace(rack.valvey, power_cap=("SIF-3/cap",))
    rack.step()
    assert least(rack) == ("SIF-3/cap", 96.0)
    rack.valvey = replace(rack.valvey, power_cap=())
    rack.heard = False
    rack.run(90.0)
    assert least(rack) == ("SIF-3/cap", 96.0)


def test_the_load_is_the_shelves_own_sum_else_the_bus_bars_else_the_feeders() -> None:
    rack = running()
    assert caps.load_kw(rack.view()) == 90.0
    rack.own["JT-111"] = None
    rack.points["ET-101"] = 88.0
    assert caps.load_kw(rack.view()) == 88.0
    rack.points["ET-101"] = None
    rack.points["JT-101"] = 94.0
    assert caps.load_kw(rack.view()) == 94.0
    rack.points["JT-101"] = None
    assert caps.load_kw(rack.view()) is None


def over(rack: PaperRacky, kw: float) -> PaperRacky:
    power = replace(rack.memory.power, cap=Cap(kw, "site", "a test", rack.now_s))
    rack.memory = replace(rack.memory, power=power)
    return rack


def test_a_load_over_its_cap_has_its_time_then_a_shelf_goes() -> None:
    rack = over(running(), 80.0)
    rack.run(10.0)
    assert rack.shown() == [1.0, 1.0, 1.0, 1.0]
    rack.step()
    assert rack.shown() == [1.0, 1.0, 0.0, 1.0]
    (told,) = rack.kinds(FactKind.SHED)
    assert (told.fields["output"], told.fields["cap_kw"], told.fields["source"]) == ("XS-113", 80.0, "request")
    rack.run(30.0)
    assert rack.shown() == [1.0, 1.0, 0.0, 1.0], "60 kW obey"
    assert rack.causes == ["shed"]


def test_more_shelves_go_one_after_the_other_but_never_the_last() -> None:
    rack = over(running(), 20.0)
    rack.run(10.5)
    assert rack.shown() == [1.0, 1.0, 0.0, 1.0]
    rack.run(4.5)
    assert rack.shown() == [1.0, 1.0, 0.0, 1.0]
    rack.run(0.5)
    assert rack.shown() == [1.0, 0.0, 0.0, 1.0]
    rack.run(60.0)
    assert rack.shown() == [1.0, 0.0, 0.0, 1.0]
    assert "over-cap" in rack.causes


def test_under_a_cap_of_nothing_the_rack_is_switched_off_in_its_order_battery_first() -> None:
    rack = over(running(), 0.0)
    rack.run(10.0)
    assert rack.shown() == [1.0, 1.0, 1.0, 1.0]
    rack.step()
    assert rack.shown() == [1.0, 1.0, 1.0, 0.0]
    assert rack.memory.power.why == "the power cap of request is 0 kW"
    rack.run(10.0)
    assert rack.shown() == [0.0, 0.0, 0.0, 0.0]
    assert shed(rack) == ()
    assert rack.ask("power_on").fields["code"] == "power_left"


def test_without_an_order_nothing_is_shed() -> None:
    rack = over(running(shed=()), 20.0)
    assert rack.run(60.0).shown() == [1.0, 1.0, 1.0, 1.0]


def test_a_load_within_the_meters_difference_obeys() -> None:
    rack = over(running(), 90.0 / 1.019)
    assert rack.run(60.0).shown() == [1.0, 1.0, 1.0, 1.0]
    assert rack.memory.power.over_s is None


def test_an_unknown_load_sheds_nothing() -> None:
    rack = over(running(), 80.0)
    rack.follows_load = False
    rack.own["JT-111"] = None
    rack.points |= {"ET-101": None, "JT-101": None}
    assert rack.run(60.0).shown() == [1.0, 1.0, 1.0, 1.0]


def test_what_was_shed_comes_back_in_reverse_once_there_has_been_room() -> None:
    rack = over(running(), 20.0)
    rack.run(20.0)
    assert shed(rack) == ("XS-113", "XS-112")
    over(rack, 110.0)
    rack.run(120.0)
    assert rack.shown() == [1.0, 0.0, 0.0, 1.0]
    rack.run(1.0)
    assert rack.shown() == [1.0, 1.0, 0.0, 1.0]
    rack.run(119.0)
    assert rack.shown() == [1.0, 1.0, 0.0, 1.0]
    rack.run(2.0)
    assert rack.shown() == [1.0, 1.0, 1.0, 1.0]
    assert [fact.fields["output"] for fact in rack.kinds(FactKind.RESTORED)] == ["XS-112", "XS-113"]
    assert shed(rack) == ()


def test_room_that_is_too_small_brings_nothing_back() -> None:
    rack = over(running(), 80.0)
    rack.run(11.0)
    over(rack, 94.0)  # with the third shelf 90 kW of 94: above 95 %
    rack.run(300.0)
    assert rack.shown() == [1.0, 1.0, 0.0, 1.0]
    over(rack, 95.0)
    rack.run(122.0)
    assert rack.shown() == [1.0, 1.0, 1.0, 1.0]


def test_a_power_off_forgets_what_was_shed() -> None:
    rack = over(running(), 80.0)
    rack.run(11.0)
    rack.ask("power_off")
    assert shed(rack) == ()
