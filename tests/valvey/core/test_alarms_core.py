"""Which alarms stand when, and that one cause is one alarm."""

from dataclasses import replace

import pytest

from fieldkit.alarm import Phase
from tests.plant import PaperRack, flowing, isolated, limits
from tests.valvey.core.bench import alarms, coarse, last, lose_link, repair, spoil
from valvey.core.alarm_rows import ALARM_ROWS, row_of, slug
from valvey.core.alarms import advance_alarms
from valvey.core.chart import State
from valvey.core.facts import FactKind
from valvey.core.judging import Judged
from valvey.core.memory import Bypass
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
