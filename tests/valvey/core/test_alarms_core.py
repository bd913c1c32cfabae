"""Which alarms stand when, and that one cause is one alarm."""

from dataclasses import replace

import pytest

from fieldkit.alarm import Phase
from tests.plant import PaperRack, commissioned, flowing, isolated, limits
from tests.valvey.core.bench import alarms, coarse, last, lose_link, repair, seen, spoil
from valvey.core.alarm_rows import ALARM_ROWS, row_of, slug
from valvey.core.alarms import BYPASS_WARNING_S, advance_alarms, conditions
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.judging import Due, Judged
from valvey.core.memory import Bypass, Memory
from valvey.core.trips import TRIPS
from valvey.core.verdict import Judgement, Verdict
from valvey.core.view import View


def test_a_healthy_rack_has_no_alarm(rack: PaperRack) -> None:
    rack.run(1.0)
    assert rack.memory.alarms == {}
    assert rack.told(FactKind.ALARM) == []


# --- one cause, one alarm --------------------------------------------------------------------------------------------


def test_three_points_of_a_bus_lost_together_are_one_alarm_after_half_a_second(rack: PaperRack) -> None:
    spoil(rack, "FT-101", "TT-101", "FT-103")
    rack.run(0.4)
    assert alarms(rack) == set()
    coarse(rack, 10.0, dt_s=0.5)
    assert alarms(rack) == {"link-transmitters"}


def test_two_points_of_a_bus_are_two_sensors(rack: PaperRack) -> None:
    spoil(rack, "FT-101", "FT-103")
    coarse(rack, 10.0, dt_s=0.5)
    assert alarms(rack) == {"bad-ft-101", "bad-ft-103"}


def test_three_points_of_three_buses_are_three_sensors(rack: PaperRack) -> None:
    spoil(rack, "FT-103", "LDT-103", "ZT-101")
    coarse(rack, 4.0, dt_s=0.5)
    coarse(rack, 6.0, dt_s=0.5)
    assert {"bad-ft-103", "bad-ldt-103", "bad-zt-101"} <= alarms(rack)
    assert not any(name.startswith("link") for name in alarms(rack))


def test_points_lost_more_than_a_second_apart_are_sensors(rack: PaperRack) -> None:
    for tag in ("FT-101", "TT-101", "FT-103"):
        spoil(rack, tag)
        rack.run(1.1)
    coarse(rack, 7.0, dt_s=0.5)
    assert {"bad-ft-101", "bad-tt-101", "bad-ft-103"} <= alarms(rack)
    assert "link-transmitters" not in alarms(rack)


def test_points_lost_within_a_second_one_after_the_other_are_one_event(rack: PaperRack) -> None:
    for tag in ("FT-101", "TT-101", "FT-103"):
        spoil(rack, tag)
        rack.run(0.5)
    coarse(rack, 7.0, dt_s=0.5)
    assert alarms(rack) == {"link-transmitters"}


def test_a_sensor_that_was_bad_before_keeps_its_own_alarm(rack: PaperRack) -> None:
    spoil(rack, "FT-103")
    coarse(rack, 7.0, dt_s=0.5)
    assert alarms(rack) == {"bad-ft-103"}
    spoil(rack, "FT-101", "TT-101", "TT-102A")
    coarse(rack, 2.0, dt_s=0.5)
    assert alarms(rack) == {"bad-ft-103", "link-transmitters"}


def test_a_sensor_that_goes_bad_after_its_bus_gets_its_own_alarm(rack: PaperRack) -> None:
    spoil(rack, "FT-101", "TT-101", "TT-102A")
    coarse(rack, 3.0, dt_s=0.5)
    spoil(rack, "FT-103")
    coarse(rack, 7.0, dt_s=0.5)
    assert alarms(rack) == {"bad-ft-103", "link-transmitters"}


def test_a_bus_of_which_nothing_is_left_is_one_alarm_however_it_went(rack: PaperRack) -> None:
    tags = [tag for tag, link in rack.limits.link_of.items() if link == "leak_panel"]
    for tag in tags:
        spoil(rack, tag)
        rack.run(1.1)
    coarse(rack, 7.0, dt_s=0.5)
    assert alarms(rack) == {"link-leak-panel"}


def test_a_bus_of_one_point_is_lost_with_it(rack: PaperRack) -> None:
    spoil(rack, "JT-101")
    rack.run(0.7)
    assert alarms(rack) == {"link-feeder"}


def test_a_bus_that_comes_back_ends_its_alarm(rack: PaperRack) -> None:
    tags = lose_link(rack, "transmitters")
    rack.run(1.0)
    repair(rack, *tags)
    rack.run(1.3)
    assert alarms(rack) == set()
    assert rack.memory.lost_s == {}


def test_stale_points_of_one_bus_are_one_alarm_too(rack: PaperRack) -> None:
    rack.stale.update(tag for tag, link in rack.limits.link_of.items() if link == "leak_panel")
    rack.run(1.3)
    assert alarms(rack) == {"link-leak-panel"}


def test_a_reading_as_old_as_it_may_be_is_not_lost(rack: PaperRack) -> None:
    rack.stale.add("FT-103")
    rack.run(0.55)
    assert rack.memory.lost_s == {}
    rack.run(0.1)
    assert rack.memory.lost_s == {"FT-103": pytest.approx(rack.now_s, abs=0.1)}


def test_a_tag_that_is_configured_and_never_read_is_bad(rack: PaperRack) -> None:
    del rack.values["FT-103"]
    coarse(rack, 7.0, dt_s=0.5)
    assert alarms(rack) == {"bad-ft-103"}


def test_a_tag_of_no_bus_is_a_sensor() -> None:
    rack = flowing(max_age_s={"FT-103": 0.5}, link_of={})
    spoil(rack, "FT-103")
    coarse(rack, 7.0, dt_s=0.5)
    assert alarms(rack) == {"bad-ft-103"}


def test_a_blind_function_whose_bus_is_lost_adds_no_alarm_and_one_whose_bus_is_not_does(rack: PaperRack) -> None:
    lose_link(rack, "leak_panel")
    coarse(rack, 7.0, dt_s=0.5)
    assert alarms(rack) == {"link-leak-panel"}
    spoil(rack, "TT-101")
    coarse(rack, 7.0, dt_s=0.5)
    assert alarms(rack) == {"link-leak-panel", "bad-tt-101", "blind-sif-5"}


# --- people and plant ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "name", "delay_s"),
    [
        ("HS-102", "key-locked", 0.0),
        ("SYS-STORE", "storage-fault", 0.0),
        ("SYS-GATE", "gate-refused", 1.0),
        ("LDA-101", "contamination-ldt-101", 5.0),
        ("LDA-103", "contamination-ldt-103", 5.0),
    ],
)
def test_a_bit_raises_its_alarm(rack: PaperRack, tag: str, name: str, delay_s: float) -> None:
    rack.values[tag] = 1.0
    rack.run(delay_s + 0.2)
    assert alarms(rack) == {name}
    rack.values[tag] = 0.0
    rack.run(1.4)
    assert alarms(rack) == set()


def test_a_disarmed_rack_says_so() -> None:
    rack = isolated()
    rack.ask("disarm")
    rack.run(0.2)
    assert "disarmed" in alarms(rack)


def test_a_standing_bypass_is_an_alarm_and_its_last_five_minutes_another(rack: PaperRack) -> None:
    rack.memory = replace(rack.memory, bypasses=(Bypass("SIF-2", "ann", "work", 0.0, rack.now_s + 301.0),))
    rack.run(0.3)
    assert alarms(rack) == {"bypass-standing"}
    rack.run(0.8)
    assert alarms(rack) == {"bypass-standing", "bypass-ending"}


def test_a_function_that_acts_when_blind_is_told_as_blind_and_as_tripped(rack: PaperRack) -> None:
    spoil(rack, "FT-101", "PT-101")
    rack.run(1.5)
    spoil(rack, "FT-102")
    rack.run(3.2)
    assert (rack.state, "trip-sif-4" in alarms(rack)) == (State.COOLDOWN, True)


# --- trips -----------------------------------------------------------------------------------------------------------


def test_a_trip_alarm_stands_as_long_as_its_latch_and_is_released_by_its_reset(rack: PaperRack) -> None:
    rack.ask("dark")
    assert (alarms(rack), rack.memory.alarms["trip-sif-10"].phase) == ({"trip-sif-10"}, Phase.UNACK)
    assert rack.ask("ack", alarm="trip-sif-10").fields["status"] == "accepted"
    assert rack.memory.alarms["trip-sif-10"].phase is Phase.ACK
    rack.ask("reset", sif=["SIF-10"])
    rack.run(1.3)
    assert "trip-sif-10" not in rack.memory.alarms
    assert last(rack, FactKind.ALARM).fields["phase"] == "NORMAL"


def test_a_trip_alarm_that_nobody_saw_stays_until_somebody_has(rack: PaperRack) -> None:
    rack.ask("dark")
    rack.ask("reset", sif=["SIF-10"])
    rack.run(1.3)
    assert rack.memory.alarms["trip-sif-10"].phase is Phase.RTN_UNACK
    rack.ask("ack", alarm="trip-sif-10")
    rack.run(0.2)
    assert "trip-sif-10" not in rack.memory.alarms


def test_trips_are_never_shelved_and_other_alarms_are_for_a_time(rack: PaperRack) -> None:
    rack.values["HS-102"] = 1.0
    rack.ask("dark")
    rack.run(0.2)
    assert rack.ask("shelve", alarm="trip-sif-10", for_s=60.0).fields["code"] == "trip"
    assert rack.ask("shelve", alarm="key-locked", for_s=1.0).fields["status"] == "accepted"
    assert rack.memory.alarms["key-locked"].phase is Phase.SHELVED
    assert rack.run(1.2).memory.alarms["key-locked"].phase is Phase.UNACK


def test_an_alarm_that_does_not_stand_is_neither_acknowledged_nor_shelved(rack: PaperRack) -> None:
    answer = rack.ask("ack", alarm="key-locked")
    assert (answer.fields["code"], answer.fields["allow"]) == ("unknown", "standing: none")
    rack.values["HS-102"] = 1.0
    rack.run(0.2)
    assert rack.ask("ack", alarm="power-cap").fields["allow"] == "standing: key-locked"


def test_a_fresh_latch_raises_its_alarm_in_its_scan(rack: PaperRack) -> None:
    rack.memory = replace(rack.memory, alarms_s=rack.now_s + 0.04)
    rack.values["HS-101"] = 1.0
    rack.scan()
    assert alarms(rack) == {"trip-sif-7"}


def test_conditions_are_looked_at_ten_times_a_second(rack: PaperRack) -> None:
    looks = set()
    for _ in range(20):
        rack.scan()
        looks.add(rack.memory.alarms_s)
    assert len(looks) == pytest.approx(10, abs=1)


def test_a_clock_that_stepped_back_does_not_silence_the_alarms(rack: PaperRack) -> None:
    rack.memory = replace(rack.memory, alarms_s=rack.now_s + 1000.0)
    rack.values["HS-102"] = 1.0
    rack.run(0.2)
    assert alarms(rack) == {"key-locked"}


def test_an_alarm_is_told_with_its_cause_consequence_and_action(rack: PaperRack) -> None:
    rack.values["HS-102"] = 1.0
    rack.run(0.2)
    fields = last(rack, FactKind.ALARM).fields
    row = next(one for one in ALARM_ROWS if one.id == "key-locked")
    assert (fields["alarm"], fields["phase"], fields["active"], fields["count"]) == ("key-locked", "UNACK", True, 1)
    assert (fields["cause"], fields["consequence"], fields["action"]) == (row.cause, row.consequence, row.action)
    assert (fields["priority"], fields["respond_s"], fields["runbook"]) == (row.priority, row.respond_s, row.runbook)


def test_an_alarm_with_a_delay_is_kept_while_it_waits_and_forgotten_when_it_does_not_come(rack: PaperRack) -> None:
    spoil(rack, "FT-103")
    rack.run(1.0)
    assert set(rack.memory.alarms) == {"bad-ft-103"}
    repair(rack, "FT-103")
    rack.run(0.2)
    assert rack.memory.alarms == {}


# --- the table -------------------------------------------------------------------------------------------------------


def test_every_alarm_that_can_be_raised_has_a_row() -> None:
    for name in ("trip-sif-1", "blind-sif-1-rack-detector-wet", "bad-ft-101", "link-valve-controller", "power-cap"):
        row = row_of(name)
        assert row is not None
        assert row.id == name


def test_a_wild_row_needs_a_name_behind_its_dash() -> None:
    assert row_of("trip-") is None
    assert row_of("no-such-alarm") is None
    assert row_of("trip-x") is not None


def test_only_trips_are_latching_and_never_shelved() -> None:
    assert {row.id for row in ALARM_ROWS if row.trip} == {row.id for row in ALARM_ROWS if row.latching} == {"trip-*"}


def test_ids_are_fit_for_a_topic() -> None:
    assert slug("SIF-1/Any_two.wet") == "sif-1-any-two-wet"


def test_a_condition_without_a_row_is_a_bug_that_names_itself(rack: PaperRack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("valvey.core.alarms.row_of", lambda _name: None)
    rack.values["HS-102"] = 1.0
    view = View(rack.readings(), replace(rack.memory, alarms_s=0.0), limits(), rack.now_s)
    quiet = Judged({"SIF-8": Judgement(Verdict.HEALTHY, value=0.0)}, {}, (), (), (), (), demand=False)
    with pytest.raises(KeyError, match="key-locked"):
        advance_alarms(view, quiet)


# --- one look at a time ------------------------------------------------------------------------------------------------

NOW_S = 1000.0


def judged(age_s: float | None = 0.0, shadows: tuple[Due, ...] = ()) -> Judged:
    """Nothing is demanded; the last write is so old."""
    return Judged({"SIF-8": Judgement(Verdict.HEALTHY, value=age_s)}, {}, (), shadows, (), (), demand=False)


def standing(memory: Memory, said: Judged | None = None, /, *, write_alarm_s: float = 1.0, **values: float) -> set[str]:
    """The conditions of a rack whose transmitters read these values and of which nothing else is known."""
    bare = limits(max_age_s={}, link_of={}, write_alarm_s=write_alarm_s)
    view = seen(memory, {tag.replace("_", "-"): value for tag, value in values.items()}, bare, NOW_S)
    return set(conditions(view, said or judged()))


def rack_in(state: State = State.FLOWING, **changes: object) -> Memory:
    return replace(commissioned(state), **{"steering": None, "armed_since_s": NOW_S, **changes})  # type: ignore[arg-type]


def shadow(sif: str, verdict: Verdict) -> Due:
    trip = next(trip for trip in TRIPS if trip.sif == sif)
    return Due(trip, Judgement(verdict, "LDT-101"), trip.effect, 0.0, blind=False)


@pytest.mark.parametrize(
    ("sif", "verdict", "told"),
    [
        ("SIF-1", Verdict.DEMAND, 1), ("SIF-1", Verdict.UNKNOWN, 0), ("SIF-1", Verdict.HEALTHY, 0), ("SIF-2", Verdict.DEMAND, 0),
    ],
)  # fmt: skip
def test_a_row_that_only_tells_is_evidence_of_a_leak_when_it_is_one_of_leaks_and_seen(
    sif: str, verdict: Verdict, told: int
) -> None:
    found = standing(rack_in(), judged(shadows=(shadow(sif, verdict),)))
    assert len([name for name in found if name.startswith("leak-evidence-")]) == len(found) == told


@pytest.mark.parametrize(
    ("armed", "age_s", "told"),
    [
        (True, 0.999, set()),
        (True, 1.0, {"write-late"}),
        (True, None, set()),
        (False, 9.0, {"disarmed"}),
        (False, None, {"disarmed"}),
    ],
)
def test_a_write_is_late_from_its_very_limit_on_and_never_of_a_rack_that_writes_nothing(
    armed: bool, age_s: float | None, told: set[str]
) -> None:
    assert standing(rack_in(armed=armed), judged(age_s)) == told


def test_no_write_at_all_is_not_late_however_short_the_limit() -> None:
    assert standing(rack_in(), judged(None), write_alarm_s=0.01) == set()
    assert standing(rack_in(), judged(0.01), write_alarm_s=0.01) == {"write-late"}


def test_a_cooling_is_overdue_only_in_the_ramp_of_an_isolation() -> None:
    overdue = {"step": Step.RAMP, "isolate_wanted": True, "cool_overdue": True}
    assert standing(rack_in(State.COOLDOWN, **overdue)) == {"cooling-overdue"}
    assert standing(rack_in(State.UNLOADING, **overdue)) == set()
    for missing in ({"step": Step.COOL}, {"isolate_wanted": False}, {"cool_overdue": False}):
        assert standing(rack_in(State.COOLDOWN, **(overdue | missing))) == set()
    assert standing(rack_in(unload_overdue=True)) == {"unload-overdue"}


def test_liquid_is_trapped_above_the_limit_behind_a_valve_that_is_proven_shut() -> None:
    limit = limits().supply_hh_kpa
    assert standing(rack_in(State.ISOLATED), PT_101=limit + 0.1, ZSC_101=1.0) == {"trapped-liquid"}
    for values in ({"PT_101": limit, "ZSC_101": 1.0}, {"PT_101": limit + 0.1, "ZSC_101": 0.0}, {"ZSC_101": 1.0}, {"PT_101": limit + 0.1}):  # fmt: skip
        assert standing(rack_in(State.ISOLATED), **values) == set()


@pytest.mark.parametrize("state", State)
def test_a_full_sump_is_told_while_liquid_moves_by_hand_of_a_procedure(state: State) -> None:
    told = {"sump-high"} if state in {State.DRAINING, State.FILLING} else set()
    assert standing(rack_in(state), LSH_203=1.0) == told
    assert standing(rack_in(state), LSH_203=0.0) == set()
    assert standing(rack_in(state)) == set()


def test_the_end_of_any_bypass_is_told_five_minutes_before() -> None:
    def bypass(for_s: float) -> Bypass:
        return Bypass("SIF-5", "anna", "calibration", 0.0, NOW_S + for_s)

    assert standing(rack_in(bypasses=(bypass(BYPASS_WARNING_S + 0.01),))) == {"bypass-standing"}
    for ending in ((BYPASS_WARNING_S,), (9000.0, BYPASS_WARNING_S), (1.0, 9000.0)):
        assert standing(rack_in(bypasses=tuple(map(bypass, ending)))) == {"bypass-standing", "bypass-ending"}
    assert standing(rack_in()) == set()


@pytest.mark.parametrize("number", ["101", "102", "103"])
def test_contamination_is_told_of_its_own_detector(number: str) -> None:
    assert standing(rack_in(), **{f"LDA_{number}": 1.0}) == {f"contamination-ldt-{number}"}
    assert standing(rack_in(), **{f"LDA_{number}": 0.0}) == set()


def test_the_key_the_cap_and_a_failed_work_are_told() -> None:
    assert standing(rack_in(), HS_102=1.0) == {"key-locked"}
    assert standing(rack_in(), HS_102=0.0) == set()
    assert standing(rack_in(power_cap=True)) == {"power-cap"}
    assert standing(rack_in(State.ISOLATED, failed="drain_timeout")) == {"work-failed-drain-timeout"}


# --- what is lost together -------------------------------------------------------------------------------------------------

TAGS = ("A", "B", "C", "D", "E")


def lost(since_s: dict[str, float], buses: dict[str, str]) -> set[str]:
    memory = rack_in(lost_s=since_s)
    view = View({}, memory, limits(max_age_s={}, link_of=buses), NOW_S)
    return set(conditions(view, judged()))


def test_points_count_as_one_loss_up_to_a_second_apart_whichever_of_them_was_first() -> None:
    bus = dict.fromkeys(TAGS, "x")
    assert lost({"A": 10.0, "B": 10.5, "C": 11.0}, bus) == {"link-x"}
    assert lost({"C": 10.0, "A": 10.5, "B": 11.001}, bus) == {"bad-a", "bad-b", "bad-c"}
    assert lost({"A": 10.0, "B": 12.0, "C": 12.5, "D": 13.0}, bus) == {"bad-a", "link-x"}
    assert lost({"A": 10.0, "B": 10.0, "C": 10.9, "D": 11.5}, bus) == {"link-x", "bad-d"}
    assert lost({"A": 10.0, "B": 10.0}, bus) == {"bad-a", "bad-b"}
    assert lost({"A": 10.0, "B": 20.0, "C": 30.0, "D": 40.0, "E": 50.0}, bus) == {"link-x"}
    assert lost({"A": 10.0, "B": 10.0, "Z": 10.0}, bus) == {"bad-a", "bad-b", "bad-z"}
    two = {"A": "x", "B": "y", "C": "y"}
    assert lost({"A": 10.0, "B": 10.0}, two) == {"link-x", "bad-b"}
