"""Draining on paper: each step's end, each sign of failure, each to its edge."""

from dataclasses import replace
from typing import Any

import pytest

from tests.lender import Lender
from tests.plant import PaperRack, isolated
from tests.valvey.core.bench import alarms, last, repair, spoil, transitions
from tests.valvey.core.works_bench import failed, place, record, run, takes_s, working
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.memory import Inventory, Lock, Work
from valvey.core.working import fresh as working_of

S = State
LOCK = Lock("anna", "a", 1.0)


def vent(**work: Any) -> PaperRack:
    return working(S.DRAINING, Step.VENT, **work)


def watch(**limits: Any) -> PaperRack:
    return working(S.DRAINING, Step.WATCH, limits)


def drain(flow_lpm: float = 12.0, limits: dict[str, Any] | None = None, **work: Any) -> PaperRack:
    rack = working(S.DRAINING, Step.DRAIN, limits, **work)
    rack.values["FT-103"] = flow_lpm
    return rack


def locked(**limits: Any) -> PaperRack:
    rack = isolated(**limits)
    rack.memory = replace(rack.memory, locks=(LOCK,))
    return rack


def test_a_drain_goes_by_vent_and_watch_to_the_open_drain() -> None:
    rack = locked()
    assert rack.ask("drain").fields["status"] == "accepted"
    assert (place(rack), rack.memory.inventory, rack.memory.tested) == ((S.DRAINING, Step.VENT), Inventory.PART, False)
    assert record(rack).full
    assert (rack.writes["XV-103"], rack.writes["XV-104"]) == (0.0, 1.0)
    rack.values |= {"PT-101": 0.0, "PT-102": 0.0}
    assert takes_s(rack, 11.0) == pytest.approx(10.0, abs=0.11)
    assert (place(rack), rack.writes["XV-103"], rack.writes["XV-104"]) == ((S.DRAINING, Step.WATCH), 0.0, 0.0)
    assert takes_s(rack, 63.0) == pytest.approx(62.0, abs=0.2)
    assert (place(rack), rack.writes["XV-103"], rack.writes["XV-104"]) == ((S.DRAINING, Step.DRAIN), 1.0, 1.0)
    rack.values["FT-103"] = 15.0
    run(rack, 150.0)
    rack.values["FT-103"] = 0.4
    assert takes_s(rack, 11.0) == pytest.approx(10.0, abs=0.11)
    assert (rack.state, rack.memory.inventory, rack.memory.work) == (S.DRAINED, Inventory.EMPTY, None)
    assert rack.writes["XV-103"] == 0.0
    assert last(rack, FactKind.ENDED).fields["status"] == "succeeded"


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"FT-103": None}, "drain_metered"),
        ({"LSH-203": 1.0}, "sump_free"),
        ({"LSH-203": None}, "sump_free"),
        ({"PT-101": None, "PT-102": None}, "pressure_known"),
        ({"ZSC-102": None}, "proven_shut"),
    ],
)
def test_a_drain_is_refused_without_what_it_needs(values: dict[str, float | None], code: str) -> None:
    rack = locked()
    rack.values |= values
    rack.follow = False
    assert rack.ask("drain").fields["code"] == code
    assert rack.state is S.ISOLATED


def test_a_drain_needs_a_lock_and_under_a_coordinator_its_grant() -> None:
    assert isolated().ask("drain").fields["code"] == "locked"
    rack = locked(coordinator=True)
    assert rack.ask("drain").fields["code"] == "granted"
    rack.lender = lender = Lender()
    assert rack.ask("drain").fields["status"] == "accepted"
    assert rack.memory.leased
    rack.run(1.0)
    assert rack.state is S.DRAINING
    lender.forget()
    rack.run(10.0)
    assert transitions(rack)[-2:] == [
        ("lease_lost", "DRAINING", "ISOLATING"),
        ("proven_shut", "ISOLATING", "ISOLATED"),
    ]
    assert (rack.memory.leased, rack.memory.work, rack.memory.failed) == (False, None, "lease_lost")


def test_a_drain_without_a_grant_where_none_is_needed_loses_none() -> None:
    rack = locked()
    rack.ask("drain")
    assert not rack.memory.leased
    assert rack.run(2.0).state is S.DRAINING


# --- vent and watch ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1.0, None])
def test_a_vent_that_is_not_seen_to_open_ends_the_drain(limit: float | None) -> None:
    rack = vent()
    rack.follow = False
    rack.values["ZSC-104"] = limit
    assert takes_s(rack, 21.0) == pytest.approx(20.0, abs=0.11)
    assert failed(rack) == (S.ISOLATING, "vent_shut")
    assert not rack.memory.emergency


def test_a_vent_that_is_not_seen_to_shut_ends_the_drain() -> None:
    rack = watch()
    rack.follow = False
    rack.values["ZSC-104"] = 0.0
    assert takes_s(rack, 91.0) == pytest.approx(90.0, abs=0.11)
    assert failed(rack) == (S.ISOLATING, "vent_open")


@pytest.mark.parametrize("tag", ["PT-101", "PT-102"])
@pytest.mark.parametrize(("kpa", "passes"), [(4.99, False), (5.0, True)])
def test_pressure_left_in_the_vented_rack_says_that_a_valve_passes(tag: str, kpa: float, passes: bool) -> None:
    rack = watch(watch_rise_kpa=9.0)
    rack.values[tag] = kpa
    run(rack, 61.0)
    assert failed(rack) == ((S.ISOLATING if passes else S.DRAINING), "passing" if passes else None)


@pytest.mark.parametrize("tag", ["PT-101", "PT-102"])
@pytest.mark.parametrize(("rise_kpa", "passes"), [(1.99, False), (2.01, True)])
def test_a_rise_within_the_watch_says_that_a_valve_passes(tag: str, rise_kpa: float, passes: bool) -> None:
    rack = watch()
    run(rack, 5.0)
    rack.values[tag] = rise_kpa
    run(rack, 50.0)
    assert failed(rack) == ((S.ISOLATING if passes else S.DRAINING), "passing" if passes else None)
    if passes:
        rack.run(1.0)
        assert "work-failed-passing" in alarms(rack)
        assert "a shut valve lets liquid pass" in rack.memory.alarms["work-failed-passing"].row.cause


def test_the_watch_begins_only_when_the_vent_is_shut_and_the_pressure_known() -> None:
    rack = watch()
    rack.values["ZSC-104"], rack.follow = 0.0, False
    run(rack, 20.0)
    assert record(rack).mark_s is None
    rack.values["ZSC-104"] = 1.0
    began_s = rack.now_s
    takes_s(rack, 61.0)
    assert rack.now_s - began_s == pytest.approx(60.0, abs=0.2)
    assert place(rack) == (S.DRAINING, Step.DRAIN)


@pytest.mark.parametrize("step", [Step.VENT, Step.WATCH])
def test_work_without_any_pressure_reading_ends_after_two_seconds(step: Step) -> None:
    rack = working(S.DRAINING, step)
    spoil(rack, "PT-101")
    assert run(rack, 5.0).state is S.DRAINING
    spoil(rack, "PT-102")
    assert takes_s(rack, 3.0) == pytest.approx(2.0, abs=0.2)
    assert failed(rack) == (S.ISOLATING, "pressure_lost")


def test_pressures_that_were_never_known_begin_no_watch() -> None:
    rack = watch()
    spoil(rack, "PT-101", "PT-102")
    rack.run(1.9)
    repair(rack, "PT-102")
    rack.run(0.2)
    assert record(rack).mark_kpa[0] is None
    assert record(rack).mark_kpa[1] == pytest.approx(0.0)


# --- the drain itself ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("flow_lpm", "blocked"), [(0.49, True), (0.5, False)])
def test_a_drain_from_which_nothing_runs_for_half_a_minute_is_blocked(flow_lpm: float, blocked: bool) -> None:
    rack = drain(flow_lpm)
    run(rack, 29.9, 0.1)
    assert rack.state is S.DRAINING
    run(rack, 0.4, 0.1)
    assert failed(rack) == ((S.ISOLATING if blocked else S.DRAINING), "blocked" if blocked else None)


def test_the_volume_is_the_sum_of_what_the_meter_says_and_never_runs_backwards() -> None:
    rack = drain(12.0)
    run(rack, 60.0)
    assert record(rack).litres == pytest.approx(12.0)
    rack.values["FT-103"] = -5.0
    run(rack, 5.0)
    assert record(rack).litres == pytest.approx(12.0)


@pytest.mark.parametrize(("litres", "full", "empty"), [(36.0, True, True), (35.9, True, False), (1.0, False, True)])
def test_a_rack_that_was_full_is_empty_only_after_its_volume(litres: float, full: bool, empty: bool) -> None:
    rack = drain(0.0, full=full, flowed=True, litres=litres)
    run(rack, 10.2, 0.1)
    assert rack.state is (S.DRAINED if empty else S.DRAINING)
    if not empty:
        run(rack, 20.2, 0.1)
        assert failed(rack) == (S.ISOLATING, "blocked")
        assert rack.memory.inventory is Inventory.PART


def test_a_rack_that_leaks_may_run_dry_before_its_volume() -> None:
    rack = drain(0.0, full=True, flowed=True, litres=5.0)
    rack.memory = replace(rack.memory, inventory=Inventory.UNKNOWN)
    assert run(rack, 10.2, 0.1).state is S.DRAINED


@pytest.mark.parametrize(
    "unlike",
    [{"flowed": False}, {"ZSC-103": 1.0}, {"ZSC-103": None}],
    ids=["nothing ran", "valve shut", "valve unknown"],
)
def test_a_drain_that_was_never_seen_to_run_is_not_empty(unlike: dict[str, Any]) -> None:
    rack = drain(0.0, flowed=unlike.get("flowed", True), litres=45.0)
    rack.follow = False
    rack.values |= {tag: value for tag, value in unlike.items() if tag != "flowed"}
    run(rack, 31.0, 0.1)
    assert failed(rack) == (S.ISOLATING, "blocked")


@pytest.mark.parametrize(("litres", "over"), [(49.4, False), (49.5, True)])
def test_more_than_the_rack_holds_says_that_a_valve_passes(litres: float, over: bool) -> None:
    rack = drain(1e-9 + 0.5, litres=litres)
    rack.scan()
    assert failed(rack) == ((S.ISOLATING if over else S.DRAINING), "overdrained" if over else None)


def test_a_drain_that_loses_its_meter_ends_after_two_seconds() -> None:
    rack = drain()
    spoil(rack, "FT-103")
    rack.run(1.9)
    assert rack.state is S.DRAINING
    repair(rack, "FT-103")
    rack.run(0.1)
    spoil(rack, "FT-103")
    assert takes_s(rack, 3.0, 0.05) == pytest.approx(2.05, abs=0.06)
    assert failed(rack) == (S.ISOLATING, "meter_lost")


@pytest.mark.parametrize("step", [Step.DRAIN, Step.SUMP])
def test_the_whole_drain_has_a_deadline(step: Step) -> None:
    rack = working(S.DRAINING, step, {"drain_overdue_s": 40.0})
    rack.values |= {"FT-103": 1.0, "LSH-203": float(step is Step.SUMP)}
    assert takes_s(rack, 41.0) == pytest.approx(40.0, abs=0.11)
    assert failed(rack) == (S.ISOLATING, "late")


# --- the sump --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [1.0, None])
def test_a_sump_that_is_high_or_unknown_holds_the_drain_and_its_release_lets_it_go_on(level: float | None) -> None:
    rack = drain(litres=20.0)
    rack.scan()
    rack.values["LSH-203"] = level
    rack.scan()
    assert (place(rack), rack.writes["XV-103"]) == ((S.DRAINING, Step.SUMP), 0.0)
    rack.run(0.5)
    assert ("sump-high" in alarms(rack)) is (level == 1.0)
    rack.values["LSH-203"] = 0.0
    rack.run(0.9)
    assert rack.memory.step is Step.SUMP
    rack.run(0.2)
    assert (place(rack), rack.writes["XV-103"]) == ((S.DRAINING, Step.DRAIN), 1.0)
    assert 20.0 < record(rack).litres < 21.0
    assert record(rack).flowed


@pytest.mark.parametrize(("step", "flowed"), [(Step.DRAIN, True), (Step.SUMP, False)])
def test_only_what_runs_out_by_the_open_drain_says_that_the_rack_can_be_emptied(step: Step, flowed: bool) -> None:
    rack = working(S.DRAINING, step)
    rack.values |= {"FT-103": 6.0, "LSH-203": float(step is Step.SUMP)}
    rack.scan()
    assert record(rack).flowed is flowed


def test_a_new_step_begins_its_watches_anew_and_keeps_the_volumes() -> None:
    work = Work(5.0, litres=7.0, flowed=True, mark_s=2.0, flow=(1.0, 2.0, 3.0), noise=4.0, since_s={"blocked": 1.0})
    now = working_of(work)
    assert (now.litres, now.flowed) == (7.0, True)
    assert (now.mark_s, now.flow, now.noise, dict(now.since_s)) == (None, (0.0, 0.0, 0.0), None, {})


def test_waiting_for_the_sump_adds_up_and_has_an_end() -> None:
    rack = working(S.DRAINING, Step.SUMP, {"sump_wait_s": 20.0}, waited_s=5.0)
    rack.values["LSH-203"] = 1.0
    assert takes_s(rack, 16.0) == pytest.approx(15.0, abs=0.11)
    assert failed(rack) == (S.ISOLATING, "sump_high")


def test_a_chattering_float_does_not_open_the_drain() -> None:
    rack = working(S.DRAINING, Step.SUMP)
    for n in range(40):
        rack.values["LSH-203"] = float(n % 4 == 0)
        rack.scan(dt_s=0.3)
        assert rack.writes["XV-103"] == 0.0


# --- beside the drain -------------------------------------------------------------------------------------------------------


def test_a_leak_in_a_draining_rack_latches_and_the_drain_goes_on() -> None:
    rack = drain()
    rack.values["LDT-101"] = 1.0
    run(rack, 3.0)
    assert (place(rack), rack.latched) == ((S.DRAINING, Step.DRAIN), ("SIF-1",))
    assert rack.writes["XV-103"] == 1.0
    assert rack.memory.inventory is Inventory.UNKNOWN


def test_the_pressure_of_a_vented_rack_is_no_sign_that_it_follows_a_header() -> None:
    rack = locked()
    rack.values |= {"PT-201": 400.0, "PT-202": 210.0}
    run(rack, 30.0)
    assert rack.memory.return_ref_kpa is not None
    rack.ask("drain")
    rack.values |= {"PT-101": 0.0, "PT-102": 0.0, "PT-202": 190.0}
    run(rack, 5.0)
    assert rack.memory.return_ref_kpa is None
    run(rack, 10.0)
    assert "valve-doubt" not in alarms(rack)


def test_new_work_clears_what_the_last_failed_by() -> None:
    rack = watch()
    rack.memory = replace(rack.memory, locks=(LOCK,))
    rack.values["PT-101"] = 8.0
    run(rack, 5.0)
    rack.values["PT-101"] = 0.0
    run(rack, 40.0)
    assert failed(rack) == (S.ISOLATED, "passing")
    rack.ask("drain")
    rack.run(2.0)
    assert failed(rack) == (S.DRAINING, None)
    assert "work-failed-passing" not in alarms(rack)


def test_an_answer_that_failed_says_why() -> None:
    rack = locked()
    rack.ask("drain")
    rack.values |= {"PT-101": 50.0, "PT-102": 50.0}
    run(rack, 12.0)
    fields = last(rack, FactKind.ENDED).fields
    assert fields["status"] == "failed"
    assert fields["reason"].startswith("pressure stays or returns in the vented rack")
    assert fields["reason"].endswith("; the rack is ISOLATING")
