"""STARTUP: a running rack is left as found; memory and field decide together what it is."""

from dataclasses import replace
from itertools import pairwise

import pytest

from fieldkit.alarm import AlarmState, Phase
from tests.plant import BOOT, FLOWING_VALUES, SHUT_VALUES, PaperRack, commissioned, flowing, isolated, limits, starting
from tests.stored import reread
from tests.valvey.core.bench import alarms, coarse, last, repair, rows, spoil, transitions, verdict
from valvey.core.adoption import METERS, NEEDED, POSITION_S, begin, permit_was_on
from valvey.core.alarm_rows import BY_NAME
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.gate import NO_WRITE
from valvey.core.memory import Bypass, Effect, Inventory, Latch, Lock, Memory, Pending, Sighting
from valvey.core.policy import Action, PolicyRule
from valvey.core.verdict import Timer, Verdict


def latch(sif: str, effect: Effect) -> Latch:
    return Latch(sif, sif, effect, 900.0, 900.0)


def restarted(
    was: State, values: dict[str, float] | None = None, latches: tuple[Latch, ...] = (), **changes: object
) -> PaperRack:
    """A rack whose process starts with that state and those latches in its memory; its field stays as found."""
    rack = starting(was, values, **changes)
    rack.follow = False
    rack.memory = replace(rack.memory, latches=latches)
    return rack


def unreadable(values: dict[str, float] | None = None, starts_s: tuple[float, ...] = ()) -> PaperRack:
    ours = limits()
    memory = begin(None, readable=False, armed_in_file=True, starts_s=starts_s, boot_id=BOOT, now_s=1000.0, limits=ours)
    return PaperRack(ours, memory, dict(FLOWING_VALUES if values is None else values))


# --- the table, row by row -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("was", "latches"),
    [
        (State.FLOWING, (latch("SIF-7", Effect.NONE),)),
        (State.ISOLATING, (latch("SIF-9", Effect.NONE),)),
        (State.FLOWING, (latch("PROOF_LOST", Effect.ESD),)),
        (State.ESD, ()),
    ],
)
@pytest.mark.parametrize("values", [FLOWING_VALUES, SHUT_VALUES])
def test_row_1_a_stopped_or_unproven_rack_stays_stopped(
    was: State, latches: tuple[Latch, ...], values: dict[str, float]
) -> None:
    assert restarted(was, dict(values), latches).run(0.1).state is State.ESD


@pytest.mark.parametrize(
    ("was", "latches"), [(State.FLOWING, (latch("SIF-1", Effect.ISOLATE),)), (State.ISOLATING, ())]
)
def test_row_2_a_rack_that_was_to_be_shut_goes_on_shutting(was: State, latches: tuple[Latch, ...]) -> None:
    assert restarted(was, dict(FLOWING_VALUES), latches).run(0.1).state is State.ISOLATING


def test_row_3_a_drained_rack_stays_drained_when_all_three_valves_are_proven_shut() -> None:
    assert restarted(State.DRAINED).run(0.1).state is State.DRAINED


@pytest.mark.parametrize("lost", ["ZSC-101", "ZSC-102", "ZSC-103"])
def test_row_3_needs_each_of_the_three_valves(lost: str) -> None:
    assert restarted(State.DRAINED, {**SHUT_VALUES, lost: 0}).run(0.1).state is State.ISOLATING


@pytest.mark.parametrize("was", [State.FLOWING, State.UNLOADING])
def test_row_4_a_rack_found_in_service_stays_in_service_without_a_write_before(was: State) -> None:
    rack = restarted(was, dict(FLOWING_VALUES))
    first, second = rack.scan(), rack.scan()
    assert (first.memory.state, first.outputs) == (State.STARTUP, NO_WRITE)
    assert (second.memory.state, rack.latched) == (State.FLOWING, ())
    assert rack.writes["XS-101"] == pytest.approx(1.0)
    assert rack.memory.permit_rise_s is None


@pytest.mark.parametrize(
    "change",
    [{"XSY-101": 0}, {"XI-101": 0}, {"FT-101": 20.0, "FT-102": 20.0}, {"PT-101": 10.0, "PT-102": 10.0}],
)
def test_row_5_a_rack_found_with_open_valves_and_anything_less_goes_dark_and_is_latched(
    change: dict[str, float],
) -> None:
    rack = restarted(State.FLOWING, {**FLOWING_VALUES, **change})
    rack.run(0.1)
    assert (rack.state, rows(rack)) == (State.COOLDOWN, ("ADOPTED",))
    assert (rack.memory.latches[0].effect, rack.writes["XS-101"]) == (Effect.DARK, 0.0)


def test_row_4_takes_one_good_flow_meter_at_a_quarter_of_the_need() -> None:
    need = 1.49 * 132.0
    for flow, state in ((0.25 * need + 0.1, State.FLOWING), (0.25 * need - 0.1, State.COOLDOWN)):
        rack = restarted(State.FLOWING, {**FLOWING_VALUES, "FT-101": flow, "PT-101": 215.8})
        spoil(rack, "FT-102")
        # 45 % of the need would be a demand of the second stage: its vote is lost with the pressures
        spoil(rack, "PT-102")
        rack.rack = replace(rack.rack, trips=tuple(row for row in rack.rack.trips if row.sif != "SIF-4"))
        assert rack.run(0.1).state is state


def test_row_4_takes_a_flow_of_exactly_a_quarter_of_the_need() -> None:
    rack = restarted(State.FLOWING, {**FLOWING_VALUES, "FT-101": 0.25 * (1.49 * 132.0), "FT-102": 0.0})
    rack.rack = replace(rack.rack, trips=tuple(row for row in rack.rack.trips if row.sif != "SIF-4"))
    assert rack.run(0.1).state is State.FLOWING


def test_row_5_a_rack_that_was_unloading_and_is_found_dark_is_latched() -> None:
    assert restarted(State.UNLOADING, {**FLOWING_VALUES, "XSY-101": 0, "XI-101": 0}).run(0.1).latched == ("ADOPTED",)


@pytest.mark.parametrize(("was", "readable"), [(State.ISOLATED, False), (None, True)])
@pytest.mark.parametrize("contactor", [0, 1])
def test_only_a_memory_that_could_not_be_read_and_says_nothing_may_have_been_in_service(
    was: State | None, readable: bool, contactor: float
) -> None:
    rack = restarted(State.FLOWING, {**FLOWING_VALUES, "XI-101": contactor})
    rack.memory = replace(rack.memory, was=was, readable=readable)
    assert rack.run(0.1).state is State.ISOLATING
    assert not permit_was_on(replace(rack.memory, was=was, readable=readable))


def test_row_5_a_demand_of_a_safety_function_keeps_a_rack_from_service() -> None:
    rack = restarted(State.FLOWING, {**FLOWING_VALUES, "TT-101": 55.0})
    assert rack.run(0.1).state is State.COOLDOWN


def test_row_4_is_not_kept_from_a_rack_by_rows_that_only_ask_for_a_cap_or_only_tell() -> None:
    hot = {"TT-102A": 62.0, "TT-102B": 62.0, "TT-102C": 62.0, "TT-101": 48.0}
    rule = PolicyRule("told", ("LDT-101",), Action.ALARM, 0.0)
    rack = restarted(State.FLOWING, {**FLOWING_VALUES, **hot, "LDT-101": 1}, policy=(rule,))
    assert rack.run(0.1).state is State.FLOWING


@pytest.mark.parametrize("latches", [(latch("SIF-4", Effect.DARK),), (latch("RESTART_LOOP", Effect.DARK),)])
def test_row_5_a_dark_latch_keeps_a_rack_from_service(latches: tuple[Latch, ...]) -> None:
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES), latches)
    assert rack.run(0.1).state is State.COOLDOWN


def test_row_5_a_rack_that_was_cooling_goes_on_cooling_without_a_new_latch() -> None:
    rack = restarted(State.COOLDOWN, {**FLOWING_VALUES, "XSY-101": 0, "XI-101": 0})
    rack.run(0.1)
    assert (rack.state, rack.memory.step, rack.latched) == (State.COOLDOWN, Step.COOL, ())


def test_row_5_never_puts_a_cooling_rack_into_service_although_everything_is_on() -> None:
    assert restarted(State.COOLDOWN, dict(FLOWING_VALUES)).run(0.1).state is State.COOLDOWN


@pytest.mark.parametrize("change", [{"ZSO-101": 0}, {"ZSO-102": 0}, {"XY-101": 0}, {"XY-102": 0}])
@pytest.mark.parametrize("was", [State.FLOWING, State.COOLDOWN])
def test_row_6_a_rack_whose_valves_are_not_both_open_is_shut(was: State, change: dict[str, float]) -> None:
    assert restarted(was, {**FLOWING_VALUES, **change}).run(0.1).state is State.ISOLATING


@pytest.mark.parametrize("was", [State.OPENING, State.FILLING, State.TESTING, State.DRAINING, State.ISOLATED])
def test_row_6_opening_work_is_never_resumed(was: State) -> None:
    rack = restarted(was, dict(FLOWING_VALUES)).run(0.1)
    assert (rack.state, rack.memory.emergency) == (State.ISOLATING, False)


def test_row_6_shuts_without_waiting_when_a_dark_latch_stands() -> None:
    rack = restarted(State.OPENING, dict(SHUT_VALUES), (latch("SIF-4", Effect.DARK),))
    assert rack.run(0.1).memory.emergency


# --- what it waits for -----------------------------------------------------------------------------------------------


TAGS = ("ZSO-101", "ZSC-101", "ZSO-102", "ZSC-102", "XY-101", "XY-102", "XSY-101", "XI-101")


def test_it_needs_limits_read_backs_and_the_contactor() -> None:
    assert sorted(NEEDED) == sorted(TAGS)
    assert METERS == ("FT-101", "FT-102")


@pytest.mark.parametrize("tag", TAGS)
def test_it_waits_at_most_three_seconds_for_each_tag_that_it_needs(tag: str) -> None:
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES))
    spoil(rack, tag)
    assert rack.run(2.95).state is State.STARTUP
    assert rack.run(0.05).state is State.ISOLATING


def test_a_tag_that_was_never_read_is_waited_for_as_well() -> None:
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES))
    del rack.values["XI-101"]
    assert rack.run(2.95).state is State.STARTUP


def test_a_deadline_that_is_missed_leaves_a_stopped_rack_stopped() -> None:
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES), (latch("SIF-7", Effect.ESD),))
    spoil(rack, "ZSO-101")
    assert rack.run(3.0).state is State.ESD


def test_one_flow_meter_is_enough_and_none_is_not() -> None:
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES))
    spoil(rack, METERS[0])
    assert rack.run(0.1).state is State.FLOWING
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES))
    spoil(rack, *METERS)
    assert rack.run(2.95).state is State.STARTUP


def test_two_samples_are_two_polls_and_not_one_seen_twice() -> None:
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES))
    rack.stale.add("ZSO-101")
    assert rack.run(0.4).state is State.STARTUP
    assert rack.memory.sightings["ZSO-101"].count == 1
    rack.stale.clear()
    assert rack.run(0.05).state is State.FLOWING


def test_a_sample_of_the_very_start_counts() -> None:
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES))
    rack._at_s["XI-101"] = rack.memory.since_s
    rack.stale.add("XI-101")
    rack.run(0.1)
    assert rack.memory.sightings["XI-101"].count == 1


def test_samples_are_counted_one_by_one() -> None:
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES))
    spoil(rack, "XI-101")
    rack.run(0.2)
    assert {tag: one.count for tag, one in rack.memory.sightings.items()} == dict.fromkeys(
        {*TAGS, *METERS, "ZT-101"} - {"XI-101"}, 4
    )


def test_samples_from_before_this_start_do_not_count() -> None:
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES))
    rack._at_s["XI-101"] = rack.memory.since_s - 0.01
    rack.stale.add("XI-101")
    rack.run(0.1)
    assert ("XI-101" in rack.memory.sightings, rack.state) == (False, State.STARTUP)


def test_a_faulty_leak_detector_does_not_delay_it() -> None:
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES))
    spoil(rack, "LDT-101", "LDT-102", "LDT-103")
    assert rack.run(0.1).state is State.FLOWING


# --- trips before adoption -------------------------------------------------------------------------------------------


def before_adoption(was: State, latches: tuple[Latch, ...] = (), **change: float) -> PaperRack:
    """A rack in STARTUP whose adoption waits for a contactor's second sample, while somebody asks for dark."""
    rack = restarted(was, {**FLOWING_VALUES, **change}, latches)
    rack.scan()
    rack.ask("dark", role="coordinator")
    return rack


def test_a_dark_trip_in_startup_keeps_the_flow_of_a_rack_with_open_valves() -> None:
    rack = before_adoption(State.FLOWING)
    assert (rack.state, rows(rack)) == (State.COOLDOWN, ("SIF-10/dark",))


@pytest.mark.parametrize("change", [{"ZSO-101": 0}, {"XY-102": 0}])
def test_a_dark_trip_in_startup_shuts_a_rack_whose_valves_are_not_both_open(change: dict[str, float]) -> None:
    rack = restarted(State.FLOWING, {**FLOWING_VALUES, **change})
    rack.ask("dark", role="coordinator")
    assert rack.state is State.ISOLATING


@pytest.mark.parametrize(
    ("was", "latches"),
    [
        (State.FLOWING, (latch("SIF-1", Effect.ISOLATE),)),
        (State.FLOWING, (latch("SIF-9", Effect.NONE),)),
        (State.ISOLATING, ()),
    ],
)
def test_a_dark_trip_in_startup_never_keeps_open_what_was_being_shut(was: State, latches: tuple[Latch, ...]) -> None:
    rack = restarted(was, dict(FLOWING_VALUES), latches)
    rack.ask("dark", role="coordinator")
    assert rack.state is State.ISOLATING


# --- memory that cannot be read --------------------------------------------------------------------------------------


def test_with_unreadable_memory_a_healthy_rack_stays_in_service_latched_locked_and_alarmed() -> None:
    rack = unreadable()
    rack.run(0.5)
    assert (rack.state, rack.latched, rack.memory.armed) == (State.FLOWING, ("MEM",), True)
    assert rack.memory.latches[0].effect is Effect.NONE
    assert [lock.owner for lock in rack.memory.locks] == ["MEM"]
    assert (rack.memory.inventory, rack.memory.tested) == (Inventory.UNKNOWN, False)
    assert "trip-mem" in alarms(rack)
    assert (rack.writes["XS-101"], rack.run(5.0).state) == (1.0, State.FLOWING)


def test_with_unreadable_memory_a_rack_found_dark_is_latched_as_if_it_had_been_in_service() -> None:
    rack = unreadable({**FLOWING_VALUES, "XSY-101": 0, "XI-101": 0})
    rack.run(0.1)
    assert (rack.state, rack.latched) == (State.COOLDOWN, ("MEM", "ADOPTED"))


def test_with_unreadable_memory_a_shut_rack_is_isolated() -> None:
    assert unreadable(dict(SHUT_VALUES)).run(0.1).state is State.ISOLATING


def test_unreadable_memory_forbids_opening_until_a_person_has_reset_and_unlocked() -> None:
    rack = unreadable(dict(SHUT_VALUES)).run(1.0)
    assert rack.ask("open").fields["code"] == "no_latch"
    assert rack.ask("reset", sif=sorted(set(rack.latched))).fields["status"] == "accepted"
    assert rack.ask("open").fields["code"] == "no_lock"
    assert rack.ask("unlock", owner="MEM").fields["code"] == "owner"
    assert rack.ask("unlock", role="supervisor", owner="MEM").fields["status"] == "accepted"


def test_a_start_knows_whether_it_could_read_its_memory(rack: PaperRack) -> None:
    assert (unreadable().memory.readable, rack.restart().memory.readable) == (False, True)


def test_unreadable_memory_counts_as_the_second_start() -> None:
    assert unreadable().memory.starts_s == (1000.0, 1000.0)
    rack = unreadable(starts_s=(900.0,))
    assert rack.latched == ("MEM", "RESTART_LOOP")


def test_a_file_that_disarms_wins_over_unreadable_memory() -> None:
    memory = begin(None, readable=False, armed_in_file=False, starts_s=(), boot_id=BOOT, now_s=1000.0, limits=limits())
    assert (memory.armed, memory.state, memory.step) == (False, State.ISOLATED, Step.HOLD)
    assert memory.latched("MEM")


# --- first start, disarmed start -------------------------------------------------------------------------------------


def test_a_first_start_without_any_memory_is_isolated_disarmed_and_knows_nothing() -> None:
    memory = begin(None, readable=True, armed_in_file=True, starts_s=(), boot_id=BOOT, now_s=1000.0, limits=limits())
    assert (memory.state, memory.step, memory.armed) == (State.ISOLATED, Step.HOLD, False)
    assert (memory.inventory, memory.tested, memory.latches) == (Inventory.UNKNOWN, False, ())
    assert (memory.since_s, memory.step_since_s, memory.now_s, memory.boot_id) == (1000.0, 1000.0, 1000.0, BOOT)


@pytest.mark.parametrize(
    ("was", "rest"),
    [(State.DRAINED, State.DRAINED), (State.ISOLATED, State.ISOLATED), (State.FLOWING, State.ISOLATED)],
)
def test_a_disarmed_start_rests_and_writes_nothing(was: State, rest: State) -> None:
    memory = begin(
        commissioned(was), readable=True, armed_in_file=False, starts_s=(), boot_id=BOOT, now_s=1000.0, limits=limits()
    )
    rack = PaperRack(limits(armed_in_file=False), memory, dict(FLOWING_VALUES))
    rack.run(1.0)
    assert (rack.state, rack.memory.armed, rack.writes) == (rest, False, {})


def test_arming_takes_the_file_and_a_record() -> None:
    stored = replace(commissioned(), armed=False)
    memory = begin(stored, readable=True, armed_in_file=True, starts_s=(), boot_id=BOOT, now_s=1000.0, limits=limits())
    assert not memory.armed


def test_arming_enters_startup_and_adopts_from_the_field() -> None:
    rack = isolated()
    rack.ask("disarm")
    rack.run(0.2)
    rack.ask("arm")
    assert (rack.state, rack.memory.was, rack.memory.armed) == (State.STARTUP, State.ISOLATED, True)
    rack.run(0.1)
    assert transitions(rack)[-1][0] in {"adopt_isolating", "proven_shut"}


# --- after it --------------------------------------------------------------------------------------------------------


def test_the_flow_is_kept_as_found_and_small_differences_do_not_make_it_drift() -> None:
    rack = restarted(State.FLOWING, {**FLOWING_VALUES, "ZT-101": 62.0}).run(0.1)
    assert rack.memory.fcv_pct == pytest.approx(60.0)
    rack = restarted(State.FLOWING, {**FLOWING_VALUES, "ZT-101": 62.1}).run(0.1)
    assert rack.memory.fcv_pct == pytest.approx(62.1)
    rack = restarted(State.FLOWING, {**FLOWING_VALUES, "ZT-101": 57.9})
    spoil(rack, "ZT-101")
    assert rack.run(0.1).memory.fcv_pct == pytest.approx(60.0)


def test_no_valve_is_told_a_position_that_nobody_has_seen() -> None:
    rack = starting(State.FLOWING, dict(FLOWING_VALUES))
    rack.follow = False
    rack.memory = replace(rack.memory, fcv_pct=0.0)  # a fresh record
    spoil(rack, "ZT-101")
    rack.run(POSITION_S - 0.05)
    assert (rack.state, rack.writes) == (State.STARTUP, {})
    repair(rack, "ZT-101")
    rack.scan()
    assert (rack.state, rack.writes["FCV-101"]) == (State.FLOWING, FLOWING_VALUES["ZT-101"])


@pytest.mark.parametrize(("remembered", "told"), [(0.0, 100.0), (10.0, 100.0), (10.1, 10.1), (60.0, 60.0)])
def test_a_rack_in_service_whose_position_stays_unknown_gets_what_it_had_or_all(remembered: float, told: float) -> None:
    rack = starting(State.FLOWING, dict(FLOWING_VALUES))
    rack.follow = False
    rack.memory = replace(rack.memory, fcv_pct=remembered)
    spoil(rack, "ZT-101")
    rack.run(POSITION_S - 0.05)
    assert rack.state is State.STARTUP
    rack.run(0.2)
    assert (str(rack.state), rack.writes["FCV-101"]) == ("FLOWING", told)


@pytest.mark.parametrize("was", [State.ISOLATING, State.COOLDOWN, State.DRAINED])
def test_what_goes_dark_or_shut_does_not_wait_for_a_position(was: State) -> None:
    rack = restarted(was, dict(FLOWING_VALUES))
    spoil(rack, "ZT-101")
    assert rack.run(0.1).state in {State.ISOLATING, State.COOLDOWN}


def test_a_half_done_unloading_is_cancelled_and_told(rack: PaperRack) -> None:
    rack.ask("isolate")
    rack.restart()
    rack.run(0.2)
    assert (rack.state, rack.memory.isolate_wanted) == (State.FLOWING, False)
    assert last(rack, FactKind.ENDED).fields["status"] == "failed"


def test_a_planned_isolation_that_was_cooling_goes_on() -> None:
    rack = restarted(State.COOLDOWN, {**FLOWING_VALUES, "XSY-101": 0, "XI-101": 0})
    rack.memory = replace(rack.memory, isolate_wanted=True)
    rack.run(0.1)
    assert (rack.state, rack.memory.isolate_wanted) == (State.COOLDOWN, True)


def test_an_isolation_asked_for_in_startup_follows_the_adoption() -> None:
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES))
    rack.ask("isolate")
    assert rack.run(0.05).state is State.FLOWING
    assert rack.run(0.05).state is State.UNLOADING


def test_holds_are_short_for_five_seconds_and_then_whole() -> None:
    for after_s, trips in ((4.7, True), (5.0, False)):
        rack = restarted(State.FLOWING, dict(FLOWING_VALUES))
        rack.run(0.1)
        rack.run(after_s - 0.05)
        rack.values["PT-101"] = 600.0
        rack.run(0.25)
        assert (rack.latched == ("SIF-2",)) is trips


def test_a_hold_that_is_shorter_than_the_short_one_stays_as_it_is() -> None:
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES))
    rack.run(0.1)
    rack.values["HS-101"] = 1.0
    assert rack.run(0.05).state is State.ESD


# --- restarts --------------------------------------------------------------------------------------------------------


def test_the_third_start_within_ten_minutes_goes_dark_and_latches() -> None:
    rack = flowing()
    rack.restart().run(0.2)
    assert (rack.state, len(rack.memory.starts_s)) == (State.FLOWING, 2)
    rack.restart()
    assert rack.latched == ("RESTART_LOOP",)
    latched = rack.memory.latches[0]
    assert (latched.effect, latched.tag, latched.value, latched.limit) == (Effect.DARK, "starts", 3.0, 3.0)
    rack.run(0.2)
    assert (rack.state, rack.writes["XS-101"]) == (State.COOLDOWN, 0.0)


def test_sixty_seconds_in_service_make_the_starts_good() -> None:
    rack = flowing()
    coarse(rack, 53.0)
    assert rack.memory.starts_s
    coarse(rack, 2.0)
    assert rack.memory.starts_s == ()
    rack.restart().run(0.2)
    rack.restart().run(0.2)
    assert (rack.state, rack.latched) == (State.FLOWING, ())


def test_starts_more_than_ten_minutes_ago_do_not_count() -> None:
    for ago_s, latches in ((600.0, ()), (599.0, ("RESTART_LOOP",))):
        stored = replace(commissioned(), starts_s=(1000.0 - ago_s, 999.0))
        memory = begin(
            stored, readable=True, armed_in_file=True, starts_s=(), boot_id=BOOT, now_s=1000.0, limits=limits()
        )
        assert tuple(one.sif for one in memory.latches) == latches


def test_starts_counted_outside_the_memory_count_once() -> None:
    stored = replace(commissioned(), starts_s=(990.0,))
    memory = begin(
        stored, readable=True, armed_in_file=True, starts_s=(990.0, 995.0), boot_id=BOOT, now_s=1000.0, limits=limits()
    )
    assert memory.starts_s == (990.0, 995.0, 1000.0)
    assert memory.latched("RESTART_LOOP")


def test_starts_in_the_future_are_another_clocks_and_do_not_count() -> None:
    stored = replace(commissioned(), starts_s=(1000.5, 2000.0))
    memory = begin(stored, readable=True, armed_in_file=True, starts_s=(), boot_id=BOOT, now_s=1000.0, limits=limits())
    assert memory.starts_s == (1000.0,)


def test_a_restart_loop_is_latched_once() -> None:
    rack = flowing()
    for _ in range(4):
        rack.restart()
    assert rack.latched == ("RESTART_LOOP",)


def test_a_scan_more_than_two_seconds_late_starts_again(rack: PaperRack) -> None:
    rack.scan(dt_s=2.0)
    assert rack.state is State.FLOWING
    seq = rack.memory.state_seq
    rack.scan(dt_s=2.01)
    assert (rack.state, rack.memory.was, rack.memory.state_seq) == (State.STARTUP, State.FLOWING, seq + 1)
    assert rack.scans[-1].outputs == NO_WRITE
    assert rack.run(0.1).state is State.FLOWING


def test_a_late_scan_counts_as_a_start_of_the_last_ten_minutes_only(rack: PaperRack) -> None:
    rack.memory = replace(rack.memory, starts_s=(rack.now_s - 700.0, rack.now_s - 650.0))
    rack.scan(dt_s=3.0)
    assert (rack.memory.starts_s, rack.latched) == ((rack.now_s,), ())
    rack.scan(dt_s=3.0)
    assert rack.memory.was is State.FLOWING
    rack.scan(dt_s=3.0)
    assert rack.latched == ("RESTART_LOOP",)


def test_a_disarmed_rack_that_is_late_stays_as_it_is() -> None:
    rack = isolated()
    rack.ask("disarm")
    rack.scan(dt_s=60.0)
    assert rack.state is State.ISOLATED


def test_a_trip_goes_before_a_late_scan(rack: PaperRack) -> None:
    rack.values["HS-101"] = 1.0
    rack.scan(dt_s=5.0)
    assert rack.state is State.ESD


def test_a_restart_in_startup_remembers_what_the_rack_was_before() -> None:
    rack = restarted(State.UNLOADING, dict(FLOWING_VALUES))
    rack.scan()
    rack.restart()
    assert (rack.state, rack.memory.was) == (State.STARTUP, State.UNLOADING)


def test_a_start_raises_the_sequence_number_so_that_old_requests_are_refused(rack: PaperRack) -> None:
    seq = rack.memory.state_seq
    assert rack.restart().memory.state_seq == seq + 1


def test_latches_locks_bypasses_and_timers_survive_a_restart_of_the_process(rack: PaperRack) -> None:
    rack.ask("bypass", name="SIF-2", for_s=600.0)
    rack.values["LDT-101"] = 1.0
    rack.run(0.3)
    before = rack.memory
    rack.restart()
    assert (rack.memory.bypasses, rack.memory.timers) == (before.bypasses, before.timers)
    assert (rack.memory.sightings, rack.memory.steady_since_s, rack.memory.adopted_s) == ({}, None, None)
    assert reread(rack.memory) == rack.memory


# --- another boot ----------------------------------------------------------------------------------------------------


def other_boot(stored: Memory, now_s: float = 50.0) -> Memory:
    return begin(stored, readable=True, armed_in_file=True, starts_s=(), boot_id="boot-2", now_s=now_s, limits=limits())


def test_another_boot_ends_permissions_and_keeps_latches_and_locks() -> None:
    stored = replace(
        commissioned(),
        bypasses=(Bypass("SIF-2", "a", "b", 900.0, 9e9),),
        grant="g1",
        pending=(Pending("p", "desk", "isolate", 900.0),),
        evidence_s={"TRAY-1": 9e9},
        starts_s=(980.0, 985.0),
        latches=(latch("SIF-1", Effect.ISOLATE),),
        locks=(Lock("ann", "work", 900.0),),
        timers={"SIF-1/blind": Timer(Verdict.UNKNOWN, 0.0, 600.0, blind=True)},
        adopted_s=980.0,
        permit_rise_s=980.0,
        lost_s={"FT-101": 980.0},
        sightings={"FT-101": Sighting(980.0, 2)},
    )
    memory = other_boot(stored)
    assert (memory.boot_id, memory.bypasses, memory.grant, memory.pending) == ("boot-2", (), None, ())
    assert (memory.evidence_s, memory.starts_s, memory.lost_s, memory.sightings) == ({}, (50.0,), {}, {})
    assert [(one.sif, one.at_s, one.sample_s) for one in memory.latches] == [("SIF-1", 50.0, 50.0)]
    assert [(one.owner, one.since_s) for one in memory.locks] == [("ann", 50.0)]
    assert memory.timers == stored.timers
    assert (memory.adopted_s, memory.permit_rise_s) == (None, None)


def test_another_boot_has_protective_windows_over() -> None:
    stored = replace(
        commissioned(State.ISOLATED),
        shut_since_s=985.0,
        permit_off_since_s=985.0,
        header_ref_kpa=(215.0, 310.0),
        return_ref_kpa=(215.0, 215.0),
    )
    memory = other_boot(stored)
    assert (memory.shut_since_s, memory.permit_off_since_s) == (50.0 - 3600.0, 50.0 - 3600.0)  # longer than any window
    assert (memory.header_ref_kpa, memory.return_ref_kpa) == (None, None)
    never = other_boot(commissioned(State.FLOWING))
    assert (never.shut_since_s, never.permit_off_since_s) == (None, None)


def test_another_boot_moves_alarms_to_its_clock_and_ends_their_shelves() -> None:
    row = BY_NAME["key-locked"]
    shelved = AlarmState(row, Phase.SHELVED, active=True, since_s=980.0, raised_s=970.0, until_s=99999.0)
    turning = AlarmState(row, Phase.NORMAL, since_s=900.0, turning_s=989.0)
    memory = other_boot(replace(commissioned(), alarms={"a": shelved, "b": turning}, alarms_s=989.0))
    assert (memory.alarms["a"].phase, memory.alarms["a"].until_s) == (Phase.UNACK, None)
    assert (memory.alarms["a"].since_s, memory.alarms["a"].raised_s) == (50.0, 30.0)
    assert memory.alarms["b"].turning_s == pytest.approx(49.0)
    assert memory.alarms_s == pytest.approx(0.0)


def test_the_same_boot_keeps_the_times() -> None:
    stored = replace(commissioned(State.ISOLATED), shut_since_s=985.0, permit_off_since_s=985.0)
    memory = begin(stored, readable=True, armed_in_file=True, starts_s=(), boot_id=BOOT, now_s=1000.0, limits=limits())
    assert (memory.shut_since_s, memory.permit_off_since_s) == (985.0, 985.0)


def test_no_order_of_restarts_opens_a_rack_or_lights_a_dark_one() -> None:
    rack = flowing()
    rack.ask("dark")
    rack.run(0.5)
    seen = [rack.state]
    for _ in range(3):
        rack.restart().run(0.3)
        seen.append(rack.state)
    assert all((before, after) == (State.COOLDOWN, State.COOLDOWN) for before, after in pairwise(seen))
    assert rack.values["XI-101"] == pytest.approx(0.0)


def test_an_unknown_sensor_that_comes_back_lets_the_adoption_go_on() -> None:
    rack = restarted(State.FLOWING, dict(FLOWING_VALUES))
    spoil(rack, "XI-101")
    rack.run(1.0)
    repair(rack, "XI-101")
    assert rack.run(0.05).state is State.STARTUP
    assert rack.run(0.05).state is State.FLOWING
    assert verdict(rack, "SIF-4") is Verdict.HEALTHY
