"""The test on paper: the hold of pressure, both full strokes, each sign of failure, each to its edge."""

from dataclasses import replace
from typing import Any

import pytest

from tests.lender import Lender
from tests.plant import PaperRack, isolated
from tests.valvey.core.bench import last, repair, rows, spoil, transitions
from tests.valvey.core.works_bench import failed, place, record, run, takes_s, working
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.memory import Inventory

S = State
STROKES = ("101", "102")


def settle(**limits: Any) -> PaperRack:
    return working(S.TESTING, Step.SETTLE, limits)


def hold(**limits: Any) -> PaperRack:
    return working(S.TESTING, Step.PRESSURE, limits)


def stroke(number: str, **values: float | None) -> PaperRack:
    """A stroke whose valve has not moved yet and does not."""
    rack = working(S.TESTING, Step(f"stroke_{number}"))
    rack.follow = False
    rack.values |= {"XY-101": 0.0, "ZSO-101": 0.0, "ZSC-101": 1.0, "ZT-101": 0.0, "FT-101": 0.0} | values
    return rack


def reseat(number: str) -> PaperRack:
    """A valve that stands open and does not move."""
    rack = working(S.TESTING, Step(f"reseat_{number}"))
    rack.follow = False
    rack.values |= {f"ZSO-{number}": 1.0, f"ZSC-{number}": 0.0}
    return rack


def untested(**limits: Any) -> PaperRack:
    rack = isolated(**limits)
    rack.memory = replace(rack.memory, tested=False)
    rack.values |= {"PT-101": 180.0, "PT-102": 180.0, "PT-202": 150.0}
    return rack


def test_a_test_holds_the_pressure_and_strokes_each_valve_with_the_other_shut() -> None:
    rack = untested()
    rack.stroke_s = 3.0
    assert rack.ask("test").fields["status"] == "accepted"
    assert place(rack) == (S.TESTING, Step.PRESSURE)
    assert takes_s(rack, 122.0) == pytest.approx(120.0, abs=0.3)
    seen = []
    while rack.state is S.TESTING:
        seen.append((rack.memory.step, rack.writes["XV-101"], rack.writes["XV-102"]))
        rack.scan(dt_s=0.25)
        assert (rack.values["ZSC-101"], rack.values["ZSC-102"]) != (0.0, 0.0)
    assert list(dict.fromkeys(seen)) == [
        (Step.STROKE_101, 1.0, 0.0),
        (Step.RESEAT_101, 0.0, 0.0),
        (Step.STROKE_102, 0.0, 1.0),
        (Step.RESEAT_102, 0.0, 0.0),
    ]
    assert (rack.state, rack.memory.tested, rack.latched, rack.memory.work) == (S.ISOLATED, True, (), None)
    assert last(rack, FactKind.ENDED).fields["status"] == "succeeded"
    assert rack.ask("open").fields["status"] == "accepted"


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"XI-101": None}, "no_power"),
        ({"ZSC-101": None}, "proven_shut"),
        ({"ZSC-103": None}, "drain_shut"),
        ({"PT-101": None, "PT-102": None}, "pressure_known"),
    ],
)
def test_a_test_is_refused_without_what_it_needs(values: dict[str, float | None], code: str) -> None:
    rack = untested()
    rack.follow = False
    rack.values |= values
    assert rack.ask("test").fields["code"] == code


def test_a_test_needs_a_full_rack_and_under_a_coordinator_its_grant() -> None:
    rack = untested()
    rack.memory = replace(rack.memory, inventory=Inventory.PART)
    assert rack.ask("test").fields["code"] == "full"
    rack = untested(coordinator=True)
    assert rack.ask("test").fields["code"] == "granted"
    rack.lender = lender = Lender()
    assert rack.ask("test").fields["status"] == "accepted"
    lender.forget()
    rack.run(10.0)
    assert transitions(rack)[-1] == ("lease_lost", "TESTING", "ISOLATING")


# --- settling after a fill -------------------------------------------------------------------------------------------------


def test_after_a_fill_the_supply_valve_may_still_be_on_its_way_but_not_for_long() -> None:
    rack = settle()
    rack.follow = False
    rack.values |= {"ZSC-101": 0.0, "ZSO-101": 1.0}
    assert takes_s(rack, 6.0, 0.05) == pytest.approx(1.5 * 3.5 + 0.05, abs=0.06)
    assert (failed(rack), rack.latched) == ((S.ISOLATING, "stuck_101"), ())


def test_the_return_valve_may_not_leave_its_limit_meanwhile() -> None:
    rack = settle()
    rack.follow = False
    rack.values |= {"ZSC-102": 0.0, "ZSC-101": 0.0}
    rack.run(1.1)
    assert (rack.state, rows(rack)) == (S.ESD, ("PROOF_LOST",))


@pytest.mark.parametrize(
    "values",
    [{"FT-101": 10.0}, {"FT-102": None}, {"PT-101": 192.1, "PT-102": 192.1}, {"ZSC-102": None}],
    ids=str,
)
def test_the_hold_waits_for_stillness_and_for_the_relief(values: dict[str, float | None]) -> None:
    rack = settle()
    rack.follow = False
    rack.values |= values
    assert takes_s(rack, 121.0) == pytest.approx(120.0, abs=0.11)
    assert failed(rack) == (S.ISOLATING, "unsteady")


def test_at_the_reliefs_pressure_the_hold_begins() -> None:
    rack = settle()
    rack.values |= {"PT-101": 191.9, "PT-102": 190.0}
    rack.scan()
    assert place(rack) == (S.TESTING, Step.PRESSURE)


# --- the hold ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", ["PT-101", "PT-102"])
@pytest.mark.parametrize(("change_kpa", "failure"), [(-4.99, None), (-5.01, "decay"), (4.99, None), (5.01, "rising")])
def test_the_pressure_may_move_by_so_much_and_no_more(tag: str, change_kpa: float, failure: str | None) -> None:
    rack = hold()
    rack.run(1.0)
    rack.values[tag] = 180.0 + change_kpa
    run(rack, 60.0)
    assert failed(rack) == ((S.TESTING if failure is None else S.ISOLATING), failure)


@pytest.mark.parametrize(("drop_k", "failure"), [(0.01, None), (0.0, "decay")])
def test_what_the_temperature_explains_is_no_decay(drop_k: float, failure: str | None) -> None:
    rack = hold()
    rack.run(1.0)
    for tag in ("TT-101", "TT-102A", "TT-102B", "TT-102C"):
        rack.values[tag] = 40.0 - drop_k
    run(rack, 20.0)
    rack.values |= {"PT-101": 174.9, "PT-102": 174.9}  # 5.1 kPa; 0.01 K explain up to 5.2
    run(rack, 60.0)
    assert rack.memory.failed == failure


def test_a_drifting_temperature_begins_the_hold_anew() -> None:
    rack = hold(test_overdue_s=400.0)
    rack.run(1.0)
    first_s = record(rack).mark_s
    for n in range(100):
        rack.values["TT-101"] = 40.0 + 0.004 * n
        rack.scan(dt_s=1.0)
    assert record(rack).mark_s != first_s
    assert place(rack) == (S.TESTING, Step.PRESSURE)
    assert takes_s(rack, 160.0) > 100.0
    assert place(rack) == (S.TESTING, Step.STROKE_101)


def test_a_temperature_that_never_rests_ends_the_test() -> None:
    rack = hold(test_overdue_s=200.0)
    n = 0
    while rack.state is S.TESTING:
        rack.values["TT-101"] = 40.0 + 0.004 * n
        rack.scan(dt_s=1.0)
        n += 1
    assert n == pytest.approx(200, abs=1)
    assert failed(rack) == (S.ISOLATING, "unsteady")


def test_pressure_above_the_reliefs_holds_nothing() -> None:
    rack = hold()
    rack.run(2.0)
    assert record(rack).mark_s is not None
    rack.values |= {"PT-202": 100.0}
    rack.run(1.0)
    assert record(rack).mark_s is None
    spoil(rack, "PT-202")  # without it nobody can say
    rack.run(1.0)
    assert record(rack).mark_s is not None


@pytest.mark.parametrize(("kpa", "failure"), [(29.9, "no_pressure"), (30.0, None)])
@pytest.mark.parametrize("tag", ["PT-101", "PT-102"])
def test_a_rack_without_pressure_proves_nothing(tag: str, kpa: float, failure: str | None) -> None:
    rack = hold()
    rack.values[tag] = kpa
    run(rack, 9.9, 0.1)
    assert rack.memory.failed is None
    run(rack, 0.3, 0.1)
    assert rack.memory.failed == failure


@pytest.mark.parametrize(
    ("tags", "name", "for_s"),
    [
        (("PT-101", "PT-102"), "pressure_lost", 2.0),
        (("TT-101",), "temperature_lost", 5.0),
        (("TT-102A", "TT-102B", "TT-102C"), "temperature_lost", 5.0),
    ],
)
def test_a_hold_that_cannot_be_seen_ends_the_test(tags: tuple[str, ...], name: str, for_s: float) -> None:
    rack = hold()
    rack.run(1.0)
    spoil(rack, *tags)
    assert takes_s(rack, 7.0, 0.05) == pytest.approx(for_s + 0.05, abs=0.01)
    assert failed(rack) == (S.ISOLATING, name)


def test_a_hold_begins_only_when_temperature_and_pressure_are_known() -> None:
    rack = hold()
    spoil(rack, "TT-101")
    rack.run(1.0)
    assert (record(rack).mark_s, record(rack).celsius) == (None, None)
    repair(rack, "TT-101")
    spoil(rack, "PT-101", "PT-102")
    rack.run(1.0)
    rack = working(S.TESTING, Step.PRESSURE)
    spoil(rack, "PT-101", "PT-102")
    rack.run(1.0)
    assert (record(rack).mark_s, record(rack).kpa) == (None, (None, None))


# --- the strokes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", STROKES)
@pytest.mark.parametrize(("opened", "shut"), [(0.0, 0.0), (1.0, 1.0), (None, 0.0), (1.0, None)])
def test_a_stroke_is_made_only_by_both_limits(number: str, opened: float | None, shut: float | None) -> None:
    rack = stroke(number, **{f"ZSO-{number}": opened, f"ZSC-{number}": shut})
    assert takes_s(rack, 10.0) == pytest.approx(2.0 * 3.5 + 2.0, abs=0.11)
    assert failed(rack) == (S.ISOLATING, f"stuck_{number}")
    rack = stroke(number, **{f"ZSO-{number}": 1.0, f"ZSC-{number}": 0.0})
    rack.scan()
    assert place(rack) == (S.TESTING, Step(f"reseat_{number}"))


@pytest.mark.parametrize("number", STROKES)
@pytest.mark.parametrize(("opened", "shut"), [(0.0, 0.0), (1.0, 1.0), (None, 1.0), (0.0, None)])
def test_a_valve_is_shut_again_only_by_both_limits(number: str, opened: float | None, shut: float | None) -> None:
    rack = reseat(number)
    rack.values |= {f"ZSO-{number}": opened, f"ZSC-{number}": shut}
    assert takes_s(rack, 7.0) == pytest.approx(1.5 * 3.5, abs=0.2)
    assert failed(rack) == (S.ISOLATING, f"stuck_{number}")
    assert rack.latched == ()


@pytest.mark.parametrize("number", STROKES)
@pytest.mark.parametrize("step", ["stroke", "reseat"])
def test_the_valve_that_moves_loses_no_proof_and_the_other_one_does(step: str, number: str) -> None:
    other = "102" if number == "101" else "101"
    rack = stroke(number, **{f"ZSC-{number}": 0.0}) if step == "stroke" else reseat(number)
    rack.run(3.0)
    assert (rack.state, rack.latched) == (S.TESTING, ())
    rack.values[f"ZSC-{other}"] = 0.0
    rack.run(1.1)
    assert (rack.state, rows(rack)) == (S.ESD, ("PROOF_LOST",))
    assert not any(rack.writes.values())


@pytest.mark.parametrize("number", STROKES)
def test_no_valve_is_stroked_unless_the_drain_is_proven_shut(number: str) -> None:
    rack = stroke(number)
    rack.values["ZSC-103"] = None
    rack.scan()
    assert (rack.state, rack.writes[f"XV-{number}"]) == (S.TESTING, 0.0)
    rack.values["ZSC-103"] = 0.0
    rack.scan()
    assert failed(rack) == (S.ISOLATING, "drain_open")


def test_after_the_last_stroke_the_pressure_is_watched_again() -> None:
    rack = working(S.TESTING, Step.RESEAT_102)
    assert takes_s(rack, 32.0) == pytest.approx(30.1, abs=0.2)
    assert (rack.state, rack.memory.tested) == (S.ISOLATED, True)


@pytest.mark.parametrize(("change_kpa", "name"), [(-6.0, "decay"), (6.0, "rising")])
def test_pressure_that_moves_after_the_last_stroke_fails_the_test(change_kpa: float, name: str) -> None:
    rack = working(S.TESTING, Step.RESEAT_102)
    rack.run(1.0)
    rack.values |= {"PT-101": 180.0 + change_kpa, "PT-102": 180.0 + change_kpa}
    run(rack, 20.0)
    assert failed(rack) == (S.ISOLATING, name)
    assert not rack.memory.tested


def test_pressure_that_is_lost_to_sight_after_the_last_stroke_fails_the_test() -> None:
    rack = working(S.TESTING, Step.RESEAT_102)
    spoil(rack, "PT-101", "PT-102")
    run(rack, 20.0)
    assert failed(rack) == (S.ISOLATING, "pressure_lost")


def test_a_latch_during_a_stroke_shuts_the_valve_in_the_same_scan() -> None:
    rack = stroke("101")
    rack.follow = True
    rack.run(1.0)
    assert rack.values["XY-101"] == 1.0 or rack.memory.step is not Step.STROKE_101
    rack.values["LDT-101"] = 1.0
    run(rack, 2.0, 0.05)
    assert (rack.state, rack.latched) == (S.ISOLATING, ("SIF-1",))
    assert not rack.writes["XV-101"]
