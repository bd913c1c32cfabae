"""Filling on paper: each step's end, each sign of failure, each to its edge."""

from dataclasses import replace
from typing import Any

import pytest

from tests.lender import Lender
from tests.plant import PaperRack, isolated
from tests.valvey.core.bench import alarms, last, spoil, transitions
from tests.valvey.core.works_bench import failed, place, record, run, takes_s, working
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.memory import Inventory

S = State
OVERFLOW_KPA = 120.0


def crack(**limits: Any) -> PaperRack:
    return working(S.FILLING, Step.CRACK, limits)


def bleed(limits: dict[str, Any] | None = None, **work: Any) -> PaperRack:
    return working(S.FILLING, Step.BLEED, limits, **work)


def top(**work: Any) -> PaperRack:
    rack = working(S.FILLING, Step.TOP, **work)
    overflow(rack)
    return rack


def overflow(rack: PaperRack, kpa: float = OVERFLOW_KPA) -> None:
    """The vent passes liquid."""
    rack.values |= {"PT-101": kpa, "PT-102": kpa}


def empty(**limits: Any) -> PaperRack:
    rack = isolated(**limits)
    rack.memory = replace(rack.memory, state=S.DRAINED, inventory=Inventory.EMPTY, tested=False)
    rack.values |= {"PT-101": 0.0, "PT-102": 0.0, "PT-202": 150.0}
    return rack


def test_a_fill_goes_by_crack_bleed_and_top_to_the_test() -> None:
    rack = empty()
    rack.stroke_s = 3.0
    assert rack.ask("fill").fields["status"] == "accepted"
    assert (place(rack), rack.memory.inventory) == ((S.FILLING, Step.CRACK), Inventory.PART)
    assert (rack.writes["XV-101"], rack.writes["XV-102"], rack.writes["XV-104"], rack.writes["FCV-101"]) == (
        1,
        0,
        1,
        10,
    )
    rack.values["FT-101"] = 30.0
    assert takes_s(rack, 6.0) == pytest.approx(3.1, abs=0.11)
    assert place(rack) == (S.FILLING, Step.BLEED)
    run(rack, 85.0)
    assert place(rack) == (S.FILLING, Step.BLEED)
    assert record(rack).litres == pytest.approx(44.5, abs=1.0)
    overflow(rack)
    rack.values["FT-101"] = 16.0
    assert takes_s(rack, 15.0) < 11.0
    assert place(rack) == (S.FILLING, Step.TOP)
    run(rack, 10.0)
    assert (place(rack), rack.memory.inventory) == ((S.TESTING, Step.SETTLE), Inventory.FULL)
    assert not any(rack.writes[tag] for tag in ("XV-101", "XV-102", "XV-103", "XV-104", "FCV-101"))
    assert rack.memory.pending[0].request == "fill"


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"XI-101": 1.0}, "no_power"),
        ({"ZSC-102": 0.0}, "proven_shut"),
        ({"ZSC-103": 0.0}, "drain_shut"),
        ({"ZT-101": 30.0}, "throttled"),
        ({"FT-101": None}, "fill_metered"),
        ({"PT-101": None, "PT-102": None}, "pressure_known"),
        ({"LSH-203": 1.0}, "sump_free"),
    ],
)
def test_a_fill_is_refused_without_what_it_needs(values: dict[str, float | None], code: str) -> None:
    rack = empty()
    rack.follow = False
    rack.values |= values
    assert rack.ask("fill").fields["code"] == code


def test_a_fill_needs_a_rack_that_is_not_full_no_lock_no_latch_and_the_grant() -> None:
    assert isolated().ask("fill").fields["code"] == "not_full"
    rack = empty()
    rack.ask("lock", owner="anna")
    assert rack.ask("fill").fields["code"] == "no_lock"
    rack = empty(coordinator=True)
    assert rack.ask("fill").fields["code"] == "granted"
    rack.lender = lender = Lender()
    assert rack.ask("fill").fields["status"] == "accepted"
    lender.forget()
    rack.run(10.0)
    assert transitions(rack)[-1] == ("lease_lost", "FILLING", "ISOLATING")


def test_the_flow_valve_is_opened_as_far_as_the_site_says() -> None:
    rack = crack(fcv_fill_pct=6.0)
    rack.scan()
    assert rack.writes["FCV-101"] == 6.0


# --- crack -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [{"ZSO-101": 0.0}, {"ZSO-101": None}, {"ZSC-104": 1.0}, {"ZSC-104": None}, {"FT-101": 0.99}],
    ids=lambda values: str(values),
)
def test_a_crack_without_an_open_valve_an_open_vent_and_flow_is_given_up(values: dict[str, float | None]) -> None:
    rack = crack()
    rack.follow = False
    rack.values |= values
    assert takes_s(rack, 50.0) == pytest.approx(2 * 3.5 + 0.12 * 90.0 + 30.0, abs=0.11)
    assert failed(rack) == (S.ISOLATING, "no_flow")


def test_a_crack_ends_with_the_least_flow() -> None:
    rack = crack()
    rack.values["FT-101"] = 1.0
    rack.scan()
    assert place(rack) == (S.FILLING, Step.BLEED)


# --- signs of failure in every step ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [Step.CRACK, Step.BLEED, Step.TOP])
@pytest.mark.parametrize(
    ("name", "values", "for_s"),
    [
        ("return_open", {"ZSC-102": 0.0}, 1.0),
        ("return_open", {"ZSC-102": None}, 1.0),
        ("throttle", {"ZT-101": 14.1}, 2.0),
        ("throttle", {"ZT-101": None}, 2.0),
        ("meter_lost", {"FT-101": None}, 2.0),
        ("pressure_lost", {"PT-101": None, "PT-102": None}, 2.0),
        ("sump_high", {"LSH-203": 1.0}, 0.0),
        ("loop_low", {"PT-202": 49.9}, 1.0),
        ("drain_open", {"ZSC-103": 0.0}, 0.0),
    ],
)
def test_each_sign_ends_the_fill_after_its_time(
    step: Step, name: str, values: dict[str, float | None], for_s: float
) -> None:
    rack = working(S.FILLING, step)
    rack.follow = False
    if step is Step.CRACK:
        rack.values["ZSO-101"] = 0.0
    rack.values |= values
    assert takes_s(rack, 4.0, 0.05) == pytest.approx(for_s + 0.05, abs=0.01)
    assert failed(rack) == (S.ISOLATING, name)
    assert not rack.writes["XV-101"]


@pytest.mark.parametrize(
    "values", [{"ZT-101": 14.0}, {"PT-202": 50.0}, {"PT-202": None}, {"PT-101": None}, {"LSH-203": None}], ids=str
)
def test_what_is_within_its_limit_ends_no_fill(values: dict[str, float | None]) -> None:
    rack = bleed()
    rack.follow = False
    rack.values |= values
    run(rack, 5.0, 0.1)
    assert failed(rack) == (S.FILLING, None)


@pytest.mark.parametrize("step", [Step.BLEED, Step.TOP])
def test_a_vent_that_shuts_ends_the_fill(step: Step) -> None:
    rack = working(S.FILLING, step)
    rack.follow = False
    rack.values["ZSC-104"] = 1.0
    assert takes_s(rack, 2.0, 0.05) == pytest.approx(1.05, abs=0.01)
    assert failed(rack) == (S.ISOLATING, "vent_shut")


@pytest.mark.parametrize(("flow_lpm", "blocked"), [(0.99, True), (1.0, False)])
def test_pressure_without_flow_says_that_the_vent_is_blocked(flow_lpm: float, blocked: bool) -> None:
    rack = working(S.FILLING, Step.TOP)
    overflow(rack)
    rack.values["FT-101"] = flow_lpm
    run(rack, 9.9, 0.1)
    assert rack.state is S.FILLING
    run(rack, 0.3, 0.1)
    assert failed(rack) == ((S.ISOLATING if blocked else S.FILLING), "vent_blocked" if blocked else None)


@pytest.mark.parametrize("step", [Step.BLEED, Step.TOP])
def test_bleeding_and_topping_have_their_deadline(step: Step) -> None:
    rack = working(S.FILLING, step, {"fill_overdue_s": 20.0})
    rack.values["FT-101"] = 2.0
    assert takes_s(rack, 21.0) == pytest.approx(20.0, abs=0.11)
    assert failed(rack) == (S.ISOLATING, "late")


# --- full, calm, topped ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kpa", "full"), [(49.9, False), (50.0, True)])
@pytest.mark.parametrize("tag", ["PT-101", "PT-102"])
def test_the_rack_is_full_when_the_vent_holds_a_pressure(tag: str, kpa: float, full: bool) -> None:
    rack = bleed()
    rack.values |= {tag: kpa, "FT-101": 5.0}
    run(rack, 9.0, 0.1)
    assert (rack.memory.step is Step.TOP) is full
    assert (record(rack).over_l > 0.0) is full


@pytest.mark.parametrize(("swing", "calm"), [(0.049, True), (0.051, False)])
def test_the_flow_is_calm_when_it_moves_by_less_than_a_twentieth(swing: float, calm: bool) -> None:
    rack = bleed()
    overflow(rack)
    for n in range(85):  # 8.5 s: the first block of 5 s begins 3 s after the rack was full
        rack.values["FT-101"] = 10.0 * (1.0 + (swing if n % 2 else -swing))
        rack.scan(dt_s=0.1)
    assert (rack.memory.step is Step.TOP) is calm
    assert rack.memory.failed is None
    if not calm:
        assert record(rack).noise == pytest.approx(swing, rel=0.01)


def test_a_sign_of_being_full_that_goes_begins_anew() -> None:
    rack = bleed()
    overflow(rack)
    run(rack, 5.0, 0.1)
    assert record(rack).flow[0] > 0.0
    overflow(rack, 0.0)
    run(rack, 7.0, 0.1)
    assert (record(rack).mark_s, record(rack).noise, record(rack).flow) == (None, None, (0.0, 0.0, 0.0))
    overflow(rack)
    run(rack, 7.0, 0.1)
    assert place(rack) == (S.FILLING, Step.BLEED)


def test_a_meter_that_is_lost_for_a_moment_or_says_nothing_makes_no_noise() -> None:
    rack = bleed()
    overflow(rack)
    run(rack, 4.0, 0.1)
    spoil(rack, "FT-101")
    held_s = record(rack).flow[0]
    run(rack, 1.0, 0.1)
    assert record(rack).flow[0] == pytest.approx(held_s)
    rack = bleed()
    overflow(rack)
    rack.values["FT-101"] = 0.0
    run(rack, 8.5, 0.1)
    assert record(rack).noise is None
    assert record(rack).flow[0] < 1.0


@pytest.mark.parametrize(("litres", "failure"), [(49.4, None), (49.5, "overfull")])
def test_more_than_the_volume_in_a_rack_that_is_not_full_ends_the_fill(litres: float, failure: str | None) -> None:
    rack = bleed(litres=litres)
    rack.values["FT-101"] = 1.0
    rack.scan()
    assert rack.memory.failed == failure


@pytest.mark.parametrize(
    ("work", "failure"),
    [
        ({"over_l": 4.4}, None),
        ({"over_l": 4.5}, "air"),
        ({"litres": 49.4}, None),
        ({"litres": 49.5}, "air"),
    ],
)
def test_flow_that_stays_restless_in_a_full_rack_says_that_air_is_left(
    work: dict[str, Any], failure: str | None
) -> None:
    rack = bleed(kpa=(OVERFLOW_KPA, OVERFLOW_KPA), **work)
    overflow(rack)
    rack.values["FT-101"] = 1.0
    rack.scan()
    assert rack.memory.failed == failure


@pytest.mark.parametrize(
    ("work", "done"),
    [({"over_l": 2.2}, False), ({"over_l": 2.25}, True), ({"litres": 49.4}, False), ({"litres": 49.5}, True)],
)
def test_it_is_topped_up_by_a_twentieth_or_to_the_most_that_may_go_in(work: dict[str, float], done: bool) -> None:
    rack = top(kpa=(OVERFLOW_KPA, OVERFLOW_KPA), **work)
    rack.values["FT-101"] = 1.0
    rack.scan()
    assert (rack.state is S.TESTING) is done
    assert rack.memory.failed is None


@pytest.mark.parametrize(("kpa", "flow_lpm"), [(0.0, 16.0), (OVERFLOW_KPA, 0.0)])
def test_what_is_not_full_or_does_not_flow_is_not_topped(kpa: float, flow_lpm: float) -> None:
    rack = top(kpa=(kpa, kpa), over_l=3.0)
    overflow(rack, kpa)
    rack.values["FT-101"] = flow_lpm
    rack.scan()
    assert place(rack) == (S.FILLING, Step.TOP)


# --- beside the fill -----------------------------------------------------------------------------------------------------------


def test_a_leak_while_filling_isolates() -> None:
    rack = bleed()
    rack.values["LDT-101"] = 1.0
    run(rack, 2.0, 0.1)
    assert (rack.state, rack.latched, rack.memory.emergency) == (S.ISOLATING, ("SIF-1",), True)


def test_no_lock_begins_during_a_fill_and_a_turned_key_ends_it() -> None:
    rack = bleed()
    assert rack.ask("lock", owner="anna").fields["code"] == "isolate_first"
    rack.values["HS-102"] = 1.0
    rack.scan()
    assert (rack.state, rack.memory.failed, rack.memory.locks) == (S.ISOLATING, "key_turned", ())
    assert "key-locked" in alarms(rack)
    run(rack, 40.0)
    rack.scan()
    assert (rack.state, [lock.owner for lock in rack.memory.locks]) == (S.ISOLATED, ["HS-102"])


def test_a_fill_that_is_cancelled_ends_shut_and_part_full() -> None:
    rack = empty()
    rack.ask("fill")
    rack.ask("cancel")
    assert (rack.state, rack.memory.inventory, rack.memory.failed) == (S.ISOLATING, Inventory.PART, None)
    assert last(rack, FactKind.ENDED).fields["status"] == "cancelled"
