"""Every row judged and timed: which are due, which only tell, which are blind."""

from dataclasses import replace

import pytest

from fieldkit.reading import Quality, Reading, Readings
from fieldkit.units import Unit
from tests.plant import commissioned, limits
from valvey.core.chart import Event, State
from valvey.core.judges import Judge
from valvey.core.judging import EPSILON_S, Judged, judge_all
from valvey.core.limits import TripTiming
from valvey.core.memory import Bypass, Effect, Memory
from valvey.core.trips import FULL_HOLD_AFTER_ADOPTION, NEVER_BYPASSED, TRIPS, Trip, rows_for
from valvey.core.verdict import NOT_ARMED, D, H, Judgement, Timer, U, Verdict
from valvey.core.view import View

NOW_S = 1000.0
READINGS: Readings = {"X": Reading("X", 1.0, Unit.NONE, Quality.GOOD, NOW_S)}


def says(verdict: Verdict, *, blind: bool = False, hold_s: float | None = None) -> Judge:
    return lambda _view: Judgement(verdict, "X", 1.0, 2.0, NOW_S - 0.01, blind, hold_s)


def row(judge: Judge, **changes: object) -> Trip:
    base = Trip("ROW", "SIF-99", "a row", "1oo1", frozenset({State.FLOWING}), judge, 1.0, Effect.DARK, 5.0)
    return replace(base, **changes)  # type: ignore[arg-type]


def judge_one(trip: Trip, timer: Timer | None = None, *, memory: Memory | None = None, **changes: object) -> Judged:
    timers = {} if timer is None else {trip.key: timer}
    memory = replace(commissioned() if memory is None else memory, timers=timers)
    return judge_all(View(READINGS, memory, limits(**changes), NOW_S), (trip,), 0.05)


HELD = Timer(D, 0.95)
ALMOST = Timer(D, 0.9)
BLIND = Timer(U, 0.0, 4.95, blind=True)


def test_a_demand_is_due_when_its_hold_is_over_and_not_before() -> None:
    assert judge_one(row(says(D)), ALMOST).due == ()
    (due,) = judge_one(row(says(D)), HELD).due
    assert (due.effect, due.blind) == (Effect.DARK, False)
    assert due.held_s == pytest.approx(1.0)


def test_a_scan_that_begins_two_milliseconds_early_does_not_cost_another() -> None:
    """The sum of many scan periods may fall short of the hold by that much, and no more."""
    for short_s, is_due in ((0.0019, True), (0.0021, False)):
        memory = replace(commissioned(), timers={"ROW": Timer(D, 1.0 - short_s, 5.0 - short_s, blind=True)})
        view = View(READINGS, memory, limits(), NOW_S)
        assert bool(judge_all(view, (row(says(D)),), 0.0).due) is is_due
        assert bool(judge_all(view, (row(says(U, blind=True)),), 0.0).blind) is is_due


def test_a_hold_that_is_over_is_due_only_while_the_demand_is_seen() -> None:
    assert judge_one(row(says(U)), Timer(D, 9.0)).due == ()
    assert judge_one(row(says(H)), Timer(D, 9.0)).due == ()


def test_the_latch_of_a_due_row_holds_its_evidence() -> None:
    (due,) = judge_one(row(says(D)), HELD).due
    one = due.latch(NOW_S)
    assert (one.sif, one.row, one.effect, one.at_s) == ("SIF-99", "ROW", Effect.DARK, NOW_S)
    assert (one.tag, one.value, one.limit, one.held_s) == ("X", 1.0, 2.0, due.held_s)
    assert one.sample_s == pytest.approx(NOW_S - 0.01 - 1.0)


def test_blindness_is_told_when_its_time_is_over_and_acts_only_where_the_table_says() -> None:
    assert judge_one(row(says(U, blind=True)), Timer(U, 0.0, 4.9, blind=True)).blind == ()
    told = judge_one(row(says(U, blind=True)), BLIND)
    assert (told.blind, told.due) == (("ROW",), ())
    acted = judge_one(row(says(U, blind=True), blind_effect=Effect.ISOLATE), BLIND)
    (due,) = acted.due
    assert (due.effect, due.blind, due.latch(NOW_S).tag) == (Effect.ISOLATE, True, "X blind")
    assert due.held_s == pytest.approx(5.0)


def test_a_row_without_a_blind_time_is_never_blind_for_too_long() -> None:
    never = row(says(U, blind=True), blind_s=None, blind_effect=Effect.DARK)
    assert judge_one(never, Timer(U, 0.0, 9e9, blind=True)).blind == ()


def test_a_row_that_sees_again_is_no_longer_blind_for_too_long() -> None:
    assert judge_one(row(says(U), blind_effect=Effect.DARK), Timer(U, 0.0, 9.0, blind=True)).blind == ()


def test_a_demand_beside_a_blindness_is_due_as_a_demand() -> None:
    both = row(says(D, blind=True), blind_effect=Effect.ISOLATE)
    (due,) = judge_one(both, Timer(D, 0.95, 4.95, blind=True)).due
    assert (due.effect, due.blind) == (Effect.DARK, False)


def test_a_shadow_row_is_never_due_and_never_a_demand() -> None:
    judged = judge_one(row(says(D), shadow=True), HELD)
    assert (judged.due, len(judged.shadows), judged.demand) == ((), 1, False)


def test_a_cap_is_asked_for_and_never_due_and_never_a_demand() -> None:
    judged = judge_one(row(says(D), cap=True), HELD)
    assert (judged.due, judged.caps, judged.demand) == ((), ("ROW",), False)


def test_a_demand_is_a_demand_before_its_hold_is_over() -> None:
    assert judge_one(row(says(D))).demand is True
    assert judge_one(row(says(U))).demand is False
    judged = judge_all(View(READINGS, commissioned(), limits(), NOW_S), (row(says(D)), row(says(H), key="OTHER")), 0.05)
    assert judged.demand is True


def test_a_row_is_not_judged_where_it_is_not_armed_and_forgets() -> None:
    judged = judge_one(row(says(D), armed=frozenset({State.ISOLATED})), HELD)
    assert (judged.judgements["ROW"], judged.timers, judged.due) == (NOT_ARMED, {}, ())


def test_only_timers_that_run_are_kept() -> None:
    assert judge_one(row(says(H))).timers == {}
    assert judge_one(row(says(H)), Timer(H, 0.02)).timers == {}
    assert judge_one(row(says(D))).timers == {"ROW": Timer(D)}
    assert judge_one(row(says(U))).timers == {"ROW": Timer(U)}


def test_rows_without_a_running_timer_do_not_end_the_judging_of_the_others() -> None:
    first, second = row(says(H)), row(says(D), key="SECOND")
    judged = judge_all(
        View(READINGS, replace(commissioned(), timers={"SECOND": HELD}), limits(), NOW_S), (first, second), 0.05
    )
    assert [due.trip.key for due in judged.due] == ["SECOND"]


# --- holds -----------------------------------------------------------------------------------------------------------


def test_the_judges_own_hold_comes_before_the_rows() -> None:
    assert judge_one(row(says(D, hold_s=0.5)), Timer(D, 0.45)).due
    assert not judge_one(row(says(D, hold_s=2.0)), HELD).due


def test_a_sites_hold_comes_before_the_rows_and_the_shorter_of_it_and_the_judges_counts() -> None:
    site = {"ROW": TripTiming(0.5, 2.0)}
    assert judge_one(row(says(D)), Timer(D, 0.45), timing=site).due
    assert judge_one(row(says(D, hold_s=0.2)), Timer(D, 0.15), timing=site).due
    assert judge_one(row(says(D, hold_s=9.0)), Timer(D, 0.45), timing=site).due
    assert not judge_one(row(says(D)), Timer(D, 0.4), timing=site).due


def test_a_sites_blind_time_comes_before_the_rows_and_may_be_left_out() -> None:
    trip = row(says(U, blind=True))
    assert judge_one(trip, Timer(U, 0.0, 1.95, blind=True), timing={"ROW": TripTiming(0.5, 2.0)}).blind
    assert not judge_one(trip, Timer(U, 0.0, 1.95, blind=True), timing={"ROW": TripTiming(0.5)}).blind
    assert judge_one(trip, BLIND, timing={"ROW": TripTiming(0.5)}).blind


def test_at_once_is_no_sites_to_change() -> None:
    assert judge_one(row(says(D), hold_s=0.0), timing={"ROW": TripTiming(60.0)}).due


def adopted(ago_s: float) -> Memory:
    return replace(commissioned(), adopted_s=NOW_S - ago_s)


def test_after_an_adoption_a_hold_is_a_fifth_of_a_second_for_five_seconds() -> None:
    assert judge_one(row(says(D)), Timer(D, 0.15), memory=adopted(4.99)).due
    assert not judge_one(row(says(D)), Timer(D, 0.1), memory=adopted(4.99)).due
    assert not judge_one(row(says(D)), Timer(D, 0.15), memory=adopted(5.0)).due


def test_a_shorter_hold_stays_short_after_an_adoption() -> None:
    assert judge_one(row(says(D), hold_s=0.1), Timer(D, 0.05), memory=adopted(1.0)).due


def test_the_proofs_of_shut_and_of_dead_keep_their_holds_after_an_adoption() -> None:
    assert sorted(FULL_HOLD_AFTER_ADOPTION) == ["SIF-13", "SIF-9"]
    for sif in FULL_HOLD_AFTER_ADOPTION:
        assert not judge_one(row(says(D), sif=sif), Timer(D, 0.15), memory=adopted(1.0)).due


# --- bypasses --------------------------------------------------------------------------------------------------------


def bypassed(name: str) -> Memory:
    return replace(commissioned(), bypasses=(Bypass(name, "ann", "work", 0.0, 9e9),))


@pytest.mark.parametrize("name", ["SIF-99", "ROW"])
def test_a_bypass_names_a_function_or_a_row(name: str) -> None:
    judged = judge_one(row(says(D)), HELD, memory=bypassed(name))
    assert (judged.judgements["ROW"], judged.timers.get("ROW"), judged.due) == (NOT_ARMED, None, ())


BEHIND = Timer(D, 0.95)
"""Of a row behind its bypass, which is timed apart."""


def behind(trip: Trip, name: str = "SIF-99", timer: Timer = BEHIND, **changes: object) -> Judged:
    memory = replace(bypassed(name), timers={f"bypassed {trip.key}": timer})
    return judge_all(View(READINGS, memory, limits(**changes), NOW_S), (trip,), 0.05)


def test_a_row_behind_its_bypass_is_told_when_its_hold_is_over_and_does_nothing() -> None:
    judged = behind(row(says(D)))
    (hidden,) = judged.bypassed
    assert (hidden.trip.key, hidden.effect, hidden.blind) == ("ROW", Effect.DARK, False)
    assert hidden.held_s == pytest.approx(1.0)
    assert (judged.due, judged.shadows, judged.blind, judged.demand) == ((), (), (), False)
    assert judged.judgements["ROW"] is NOT_ARMED
    assert judged.timers == {"bypassed ROW": Timer(D, hidden.held_s)}
    assert behind(row(says(D)), timer=ALMOST).bypassed == ()
    assert behind(row(says(D)), timer=Timer(D, 0.9479)).bypassed == ()
    assert behind(row(says(D)), timer=Timer(D, 0.9481)).bypassed


def test_a_row_behind_its_bypass_is_told_at_the_very_end_of_its_hold() -> None:
    at_its_end = replace(bypassed("SIF-99"), timers={"bypassed ROW": Timer(D, 1.0 - EPSILON_S)})
    assert judge_all(View(READINGS, at_its_end, limits(), NOW_S), (row(says(D)),), 0.0).bypassed


def test_behind_a_bypass_only_a_demand_is_told_and_only_of_what_would_have_acted() -> None:
    assert behind(row(says(U)), timer=Timer(D, 9.0)).bypassed == ()
    assert behind(row(says(H)), timer=Timer(D, 9.0)).bypassed == ()
    assert behind(row(says(D), cap=True)).bypassed == ()
    assert behind(row(says(D), shadow=True)).bypassed == ()
    elsewhere = behind(row(says(D), armed=frozenset({State.ISOLATED})))
    assert (elsewhere.bypassed, elsewhere.timers) == ((), {})


def test_a_row_behind_its_bypass_has_the_holds_of_the_site() -> None:
    timing = {"ROW": TripTiming(2.0, None)}
    assert behind(row(says(D)), timing=timing).bypassed == ()
    assert behind(row(says(D)), timer=Timer(D, 1.95), timing=timing).bypassed


def test_a_row_that_demands_in_spite_of_a_bypass_is_not_told_as_bypassed() -> None:
    memory = replace(bypassed("SIF-98"), timers={"ROW": HELD, "bypassed ROW": HELD})
    judged = judge_all(View(READINGS, memory, limits(), NOW_S), (row(says(D)),), 0.05)
    assert (len(judged.due), judged.bypassed) == (1, ())


def test_without_a_bypass_nothing_is_looked_at_twice() -> None:
    looked = []

    def look(view: View) -> Judgement:
        looked.append(view.memory.bypasses)
        return Judgement(D, "X", 1.0, 2.0, NOW_S)

    assert judge_one(row(look), HELD).bypassed == ()
    assert looked == [()]


def test_rows_that_are_not_told_behind_a_bypass_do_not_end_the_telling_of_the_others() -> None:
    silent = row(says(D), key="FIRST", shadow=True)
    timers = {"bypassed ROW": HELD, "bypassed FIRST": HELD}
    view = View(READINGS, replace(bypassed("SIF-99"), timers=timers), limits(), NOW_S)
    assert [one.trip.key for one in judge_all(view, (silent, row(says(D))), 0.05).bypassed] == ["ROW"]


def test_a_bypass_of_something_else_changes_nothing() -> None:
    assert judge_one(row(says(D)), HELD, memory=bypassed("SIF-98")).due


@pytest.mark.parametrize("sif", ["SIF-4", "SIF-7", "SIF-8", "SIF-12", "SIF-13"])
def test_some_functions_are_never_bypassed_whatever_the_memory_says(sif: str) -> None:
    assert sif in NEVER_BYPASSED
    assert judge_one(row(says(D), sif=sif), HELD, memory=bypassed(sif)).due


# --- the table, typed again from the design --------------------------------------------------------------------------

#: row: (hold, effect, blind time, blind effect), as the cause-and-effect matrix has it.
MATRIX: dict[str, tuple[float, Effect, float | None, Effect | None]] = {
    "SIF-1/rack-detector-wet":            (0.5,  Effect.ISOLATE, 5.0,    None),
    "SIF-1/floor-rope-wet":               (60.0, Effect.ISOLATE, 5.0,    None),
    "SIF-1/floor-rope-and-second-symptom": (0.5, Effect.ISOLATE, 5.0,    None),
    "SIF-1/blind":                        (0.0,  Effect.NONE,    1800.0, Effect.DARK),
    "SIF-2":                              (1.0,  Effect.ISOLATE, 5.0,    None),
    "SIF-3":                              (3.0,  Effect.DARK,    30.0,   Effect.DARK),
    "SIF-3/cap":                          (3.0,  Effect.NONE,    None,   None),
    "SIF-4":                              (1.0,  Effect.DARK,    3.0,    Effect.DARK),
    "SIF-4/cap":                          (10.0, Effect.NONE,    None,   None),
    "SIF-4/low":                          (15.0, Effect.DARK,    None,   None),
    "SIF-5":                              (10.0, Effect.DARK,    5.0,    None),
    "SIF-5/cap":                          (10.0, Effect.NONE,    None,   None),
    "SIF-6":                              (5.0,  Effect.DARK,    5.0,    None),
    "SIF-7":                              (0.0,  Effect.ESD,     5.0,    None),
    "SIF-8":                              (0.0,  Effect.DARK,    None,   None),
    "SIF-9":                              (0.0,  Effect.NONE,    30.0,   None),
    "SIF-10/dark":                        (0.0,  Effect.DARK,    None,   None),
    "SIF-10/isolate":                     (0.0,  Effect.ISOLATE, None,   None),
    "SIF-11":                             (2.0,  Effect.ISOLATE, 30.0,   None),
    "SIF-12":                             (0.3,  Effect.DARK,    5.0,    None),
    "SIF-13":                             (1.0,  Effect.NONE,    5.0,    None),
    "OPEN_LOST/coil":                     (0.0,  Effect.ISOLATE, None,   None),
    "OPEN_LOST/shut":                     (1.0,  Effect.ISOLATE, None,   None),
    "OPEN_LOST/drain":                    (1.0,  Effect.ISOLATE, None,   None),
    "PERMIT_LOST":                        (0.5,  Effect.DARK,    None,   None),
    "PROOF_LOST":                         (1.0,  Effect.ESD,     None,   None),
}  # fmt: skip


def test_the_table_says_what_the_design_says() -> None:
    table = {one.key: (one.hold_s, one.effect, one.blind_s, one.blind_effect) for one in rows_for(limits())}
    assert table == MATRIX


def test_caps_and_shadows_are_the_designs() -> None:
    assert {one.key for one in TRIPS if one.cap} == {"SIF-3/cap", "SIF-4/cap", "SIF-5/cap"}
    assert {one.key for one in TRIPS if one.shadow} == set()
    assert {one.key for one in rows_for(limits(shadows=frozenset({"SIF-11"}))) if one.shadow} == {"SIF-11"}


def test_field_rows_have_events_of_their_own_and_the_others_have_those_of_their_effect() -> None:
    assert {one.key: one.event for one in TRIPS if one.event is not None} == {
        "OPEN_LOST/coil": Event.OPEN_LOST,
        "OPEN_LOST/shut": Event.OPEN_LOST,
        "OPEN_LOST/drain": Event.OPEN_LOST,
        "PERMIT_LOST": Event.PERMIT_LOST,
        "PROOF_LOST": Event.PROOF_LOST,
    }


ARMED: dict[str, frozenset[State]] = {
    "SIF-3": frozenset({State.STARTUP, State.FLOWING, State.UNLOADING}),
    "SIF-4": frozenset({State.STARTUP, State.FLOWING, State.UNLOADING}),
    "SIF-5": frozenset({State.STARTUP, State.FLOWING, State.UNLOADING}),
    "SIF-11": frozenset({State.OPENING, State.FLOWING, State.UNLOADING, State.COOLDOWN}),
    "OPEN_LOST": frozenset({State.FLOWING, State.UNLOADING, State.COOLDOWN}),
    "PERMIT_LOST": frozenset({State.FLOWING, State.UNLOADING}),
    "PROOF_LOST": frozenset({State.ISOLATED, State.DRAINING, State.DRAINED, State.TESTING}),
}


def test_rows_are_armed_where_the_design_arms_them() -> None:
    for sif, states in ARMED.items():
        assert {one.armed for one in TRIPS if one.sif == sif} == {states}, sif
