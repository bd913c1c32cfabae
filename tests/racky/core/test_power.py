"""The rack's power: what is found is left, on in order, off in reverse, a loss, a reclose, the second trip path."""

from dataclasses import replace
from itertools import pairwise

import pytest

from fieldkit.alarm import Phase as AlarmPhase
from fieldkit.alarm import Priority
from racky.core import persist
from racky.core.facts import FactKind
from racky.core.memory import Phase
from racky.core.power import DARK
from racky.core.setup import Reclose
from racky.core.sight import AlarmTold
from tests.racky.core.paper_racky import PaperRacky, running, switched_off
from tests.stored import reread


def outputs(rack: PaperRacky, since: int = 0) -> list[tuple[str, bool]]:
    """What was demanded, in order."""
    facts = [fact for fact in rack.facts[since:] if fact.kind is FactKind.OUTPUT]
    return [(fact.fields["output"], fact.fields["on"]) for fact in facts]


def test_a_rack_that_is_found_on_is_left_on_and_not_written_to() -> None:
    rack = running()
    assert rack.memory.power.wanted
    assert all(not scan.writes for scan in rack.scans)
    assert rack.causes == []


def test_a_rack_that_is_found_off_is_left_off() -> None:
    rack = PaperRacky()
    rack.own |= {"XI-111": 0.0, "XI-112": 0.0, "XI-113": 0.0, "XI-121": 0.0}
    rack.run(3.0)
    assert rack.phase() is Phase.OFF
    assert not rack.memory.power.wanted
    assert all(not scan.writes for scan in rack.scans)


def test_nothing_is_decided_until_every_output_shows_where_it_is() -> None:
    rack = PaperRacky()
    rack.own["XI-112"] = None
    rack.run(5.0)
    assert rack.phase() is Phase.UNKNOWN
    assert "shelves-unknown" in rack.causes
    rack.own["XI-112"] = 1.0
    assert rack.run(1.0).phase() is Phase.ON


def test_a_rack_that_is_found_half_on_is_left_so_and_told() -> None:
    rack = PaperRacky()
    rack.own["XI-113"] = 0.0
    rack.run(3.0)
    assert rack.phase() is Phase.ON
    assert rack.memory.power.demand == {"XS-111": True, "XS-112": True, "XS-121": True}
    assert all(not scan.writes for scan in rack.scans)


def test_off_goes_battery_first_then_shelves_in_reverse_each_after_its_feedback() -> None:
    rack = running()
    since = len(rack.facts)
    assert rack.ask("power_off").fields["status"] == "accepted"
    rack.run(15.0)
    assert outputs(rack, since) == [("XS-121", False), ("XS-113", False), ("XS-112", False), ("XS-111", False)]
    assert rack.phase() is Phase.OFF
    times = [fact.at_s for fact in rack.facts[since:] if fact.kind is FactKind.OUTPUT]
    assert [after - before for before, after in pairwise(times)] == [2.0, 2.0, 2.0]
    (ended,) = rack.kinds(FactKind.ENDED)
    assert ended.fields["status"] == "succeeded"
    assert set(ended.fields["proof"].values()) == {0.0}


def test_off_waits_for_a_feedback_and_goes_on_without_it_after_its_deadline() -> None:
    rack = running()
    rack.stuck = {"XS-113"}
    rack.ask("power_off")
    rack.run(8.0)
    assert rack.shown() == [1.0, 1.0, 1.0, 0.0]
    rack.run(8.0)
    assert rack.shown() == [0.0, 0.0, 1.0, 0.0]
    assert rack.phase() is Phase.OFF
    assert rack.memory.power.late == {"XS-113"}
    assert "output-stuck-xs-113" in rack.causes
    writes = [scan.writes for scan in rack.scans[-4:]]
    assert sum("XS-113" in one for one in writes) == 2, "an off is written again every second until it is obeyed"
    rack.stuck = set()
    rack.run(2.0)
    assert rack.memory.power.late == set()
    assert "output-stuck-xs-113" not in rack.causes


def test_off_at_once_pauses_nowhere() -> None:
    rack = running()
    rack.ask("power_off", now=True)
    assert rack.shown() == [0.0, 0.0, 0.0, 0.0]
    assert rack.run(0.5).phase() is Phase.OFF


def test_off_at_once_hurries_a_fall_that_is_under_way() -> None:
    rack = running()
    rack.ask("power_off")
    assert rack.shown() == [1.0, 1.0, 1.0, 0.0]
    rack.ask("power_off", now=True)
    assert rack.shown() == [0.0, 0.0, 0.0, 0.0]
    rack.ask("power_off")
    assert rack.memory.power.wanted is False


def test_on_goes_shelf_by_shelf_then_the_battery() -> None:
    rack = switched_off()
    since = len(rack.facts)
    answer = rack.ask("power_on")
    assert answer.fields["status"] == "accepted", answer.fields
    assert outputs(rack, since) == [("XS-111", True)]
    rack.run(1.5)
    assert outputs(rack, since) == [("XS-111", True)]
    rack.run(10.0)
    assert outputs(rack, since) == [("XS-111", True), ("XS-112", True), ("XS-113", True), ("XS-121", True)]
    assert rack.phase() is Phase.ON
    assert rack.kinds(FactKind.ENDED)[-1].fields["status"] == "succeeded"
    assert rack.memory.power.wanted
    assert rack.run(1.0).causes == []


def test_an_output_that_does_not_come_on_ends_the_rise_and_all_goes_off_again() -> None:
    rack = switched_off()
    rack.stuck = {"XS-112"}
    rack.ask("power_on")
    rack.run(11.0)
    assert rack.phase() is Phase.RISING
    rack.run(2.0)
    assert rack.phase() is Phase.FALLING
    ended = rack.kinds(FactKind.ENDED)[-1]
    assert (ended.fields["status"], ended.fields["reason"]) == ("failed", "XI-112 did not show on within 10 s")
    rack.run(20.0)
    assert rack.phase() is Phase.OFF
    assert rack.shown() == [0.0, 0.0, 0.0, 0.0]


def test_a_latch_at_valvey_ends_a_rise() -> None:
    rack = switched_off()
    rack.ask("power_on")
    rack.latched("SIF-5")
    rack.step()
    assert rack.phase() is Phase.FALLING
    assert rack.memory.power.why == "latched: SIF-5"
    assert rack.run(5.0).shown() == [0.0, 0.0, 0.0, 0.0]


def test_a_rise_ends_in_a_hurry_when_valvey_goes_dark() -> None:
    rack = switched_off()
    rack.ask("power_on")
    rack.valvey = replace(rack.valvey, state="COOLDOWN")
    rack.run(0.5)
    assert rack.phase() is Phase.FALLING
    assert rack.memory.power.hurry


@pytest.mark.parametrize("state", sorted(DARK))
def test_a_rack_without_its_permit_is_switched_off_at_once(state: str) -> None:
    rack = running()
    rack.valvey = replace(rack.valvey, state=state)
    rack.run(0.5)
    assert rack.shown() == [0.0, 0.0, 0.0, 0.0]
    assert rack.memory.power.why == f"Valvey is in {state}: the power permit is off"
    rack.run(1.0)
    assert rack.phase() is Phase.OFF
    assert rack.memory.power.wanted is False


@pytest.mark.parametrize("state", ["FLOWING", "STARTUP", "A_STATE_OF_LATER"])
def test_a_rack_in_service_being_adopted_or_in_a_strange_state_is_left_on(state: str) -> None:
    rack = running()
    rack.valvey = replace(rack.valvey, state=state)
    assert rack.run(60.0).phase() is Phase.ON


def test_a_valvey_that_falls_silent_or_is_disarmed_switches_nothing() -> None:
    rack = running()
    rack.valvey = replace(rack.valvey, state="ISOLATED", armed=False)
    assert rack.run(20.0).phase() is Phase.ON
    rack = running()
    rack.heard = False
    rack.valvey = replace(rack.valvey, state="ISOLATED")
    rack._heard_s -= 10.0
    assert rack.run(20.0).phase() is Phase.ON


def test_an_unloading_tells_it_first_and_then_switches_off_in_order() -> None:
    rack = running()
    rack.valvey = replace(rack.valvey, state="UNLOADING")
    rack.run(9.5)
    assert rack.phase() is Phase.ON
    assert rack.memory.power.least == ("unloading", 0.0)
    rack.run(1.5)
    assert rack.phase() is Phase.FALLING
    assert not rack.memory.power.hurry
    assert rack.memory.power.why == "the power cap of unloading is 0 kW"
    rack.run(10.0)
    assert rack.phase() is Phase.OFF


def test_an_unloading_that_is_cancelled_in_time_switches_nothing() -> None:
    rack = running()
    rack.valvey = replace(rack.valvey, state="UNLOADING")
    rack.run(5.0)
    rack.valvey = replace(rack.valvey, state="FLOWING")
    rack.run(1.0)
    rack.valvey = replace(rack.valvey, state="UNLOADING")
    rack.run(6.0)
    assert rack.phase() is Phase.ON


def test_automatic_reclose_waits_until_everything_has_allowed_power_long_enough() -> None:
    rack = running(reclose=Reclose.AUTOMATIC)
    rack.valvey = replace(rack.valvey, state="COOLDOWN")
    rack.latched("SIF-4")
    rack.run(2.0)
    assert rack.phase() is Phase.OFF
    assert rack.memory.power.wanted
    rack.latched()
    rack.valvey = replace(rack.valvey, state="FLOWING")
    rack.run(8.0)
    assert rack.phase() is Phase.OFF
    rack.points["FT-101"] = 10.0
    rack.run(1.0)
    rack.points["FT-101"] = 190.0
    rack.run(10.0)
    assert rack.phase() is Phase.OFF, "the time begins anew"
    rack.run(3.0)
    assert rack.phase() is Phase.RISING
    assert rack.run(10.0).phase() is Phase.ON


def test_manual_reclose_waits_for_a_person() -> None:
    rack = running()
    rack.valvey = replace(rack.valvey, state="COOLDOWN")
    rack.run(2.0)
    rack.valvey = replace(rack.valvey, state="FLOWING")
    rack.run(60.0)
    assert rack.phase() is Phase.OFF
    assert rack.ask("power_on").fields["status"] == "accepted"


def test_a_person_who_switched_off_is_not_overruled_by_an_automatic_reclose() -> None:
    rack = switched_off(reclose=Reclose.AUTOMATIC)
    assert rack.run(60.0).phase() is Phase.OFF


def test_power_that_goes_off_by_hand_is_not_fought() -> None:
    rack = running(reclose=Reclose.AUTOMATIC)
    rack.own["XI-112"] = 0.0
    rack.run(3.0)
    assert rack.own["XI-112"] == 0.0
    assert rack.causes == ["output-off-xs-112"]
    for tag in ("XI-111", "XI-113", "XI-121"):
        rack.own[tag] = 0.0
    rack.run(60.0)
    assert rack.phase() is Phase.OFF
    assert rack.memory.power.wanted is False
    assert rack.shown() == [0.0, 0.0, 0.0, 0.0]


def test_shelves_that_went_off_with_the_mains_come_back_where_the_site_says_so() -> None:
    for reclose, wanted in ((Reclose.AUTOMATIC, True), (Reclose.MANUAL, False)):
        rack = running(reclose=reclose)
        rack.own |= dict.fromkeys(("XI-111", "XI-112", "XI-113", "XI-121"), 0.0)
        rack.own |= {shelf.psu("EA", psu): 1.0 for shelf in rack.setup.shelves for psu in shelf.psus}
        rack.run(2.0)
        assert rack.phase() is Phase.OFF
        assert (rack.memory.power.why, rack.memory.power.wanted) == ("the mains are gone", wanted)


def test_power_that_comes_on_by_hand_is_taken_as_it_is() -> None:
    rack = PaperRacky()
    rack.own |= {"XI-111": 0.0, "XI-112": 0.0, "XI-113": 0.0, "XI-121": 0.0}
    rack.run(2.0)
    rack.own["XI-111"] = 1.0
    rack.run(2.0)
    assert rack.phase() is Phase.ON
    assert rack.memory.power.demand == {"XS-111": True}


def test_sif_13_switches_everything_off_at_once_and_stays_until_it_is_reset() -> None:
    rack = running(reclose=Reclose.AUTOMATIC)
    rack.latched("SIF-13")
    scan = rack.step()
    assert scan.writes == {"XS-111": 0.0, "XS-112": 0.0, "XS-113": 0.0, "XS-121": 0.0}
    assert rack.phase() is Phase.TRIPPED
    (told,) = rack.kinds(FactKind.SECOND_TRIP_PATH)
    assert told.fields["outputs"] == ["XS-111", "XS-112", "XS-113", "XS-121"]
    assert rack.ask("power_on").fields["code"] == "not_tripped"
    assert rack.ask("reset").fields["code"] == "second_path_clear"
    rack.latched()
    rack.run(60.0)
    assert rack.phase() is Phase.TRIPPED
    assert rack.causes[0] == "second-trip-path"
    rack.heard = False
    rack.run(6.0)
    assert rack.ask("reset").fields["code"] == "second_path_clear"
    rack.heard = True
    assert rack.ask("reset", why="").fields["code"] == "why"
    assert rack.ask("reset").fields["status"] == "accepted"
    assert rack.run(1.0).phase() is Phase.OFF
    assert rack.run(60.0).phase() is Phase.OFF, "a reset switches nothing on"
    assert rack.ask("reset").fields["code"] == "tripped"


def test_sif_13_is_believed_from_a_valvey_that_is_not_heard_any_more_its_alarm_is_not() -> None:
    rack = running()
    one = AlarmTold("power-on-dark", True, AlarmPhase.UNACK, Priority.CRITICAL, "c", "a", 90.0)
    rack.valvey = replace(rack.valvey, alarms={"power-on-dark": one})
    rack.heard = False
    rack.run(6.0)
    rack = running()
    rack.heard = False
    rack.run(6.0)
    rack.valvey = replace(rack.valvey, alarms={"power-on-dark": one})
    assert rack.run(2.0).phase() is Phase.ON
    rack.latched("SIF-13")
    assert rack.run(1.0).phase() is Phase.TRIPPED
    rack = running()
    rack.valvey = replace(rack.valvey, alarms={"power-on-dark": one})
    assert rack.run(1.0).phase() is Phase.TRIPPED


def test_shelves_that_cannot_be_read_are_written_off_all_the_same() -> None:
    rack = running()
    rack.obeys = False
    rack.own |= {"XI-111": None, "XI-112": None}
    rack.latched("SIF-13")
    writes = [rack.step().writes for _ in range(30)]
    assert sum("XS-111" in one for one in writes) == 15
    assert rack.memory.power.late == {"XS-111", "XS-112", "XS-113", "XS-121"}


def test_a_disarmed_racky_writes_nothing_and_says_what_it_would_write() -> None:
    rack = running()
    rack.setup = replace(rack.setup, armed=False)
    rack.latched("SIF-13")
    scan = rack.step()
    assert scan.writes == {}
    assert scan.held == {"XS-111": 0.0, "XS-112": 0.0, "XS-113": 0.0, "XS-121": 0.0}


def test_a_fall_goes_on_after_a_restart_a_rise_does_not() -> None:
    rack = running()
    rack.ask("power_off")
    rack.memory = persist.begin(rack.memory, boot_id="b", now_s=rack.now_s)
    rack.run(12.0)
    assert rack.phase() is Phase.OFF
    assert rack.shown() == [0.0, 0.0, 0.0, 0.0]
    rack = switched_off()
    rack.ask("power_on")
    rack.memory = persist.begin(rack.memory, boot_id="b", now_s=rack.now_s)
    rack.run(20.0)
    assert rack.phase() is Phase.ON
    assert rack.shown() == [1.0, 0.0, 0.0, 0.0]
    assert [cause for cause in rack.causes if cause.startswith("output-off")] == [
        "output-off-xs-112",
        "output-off-xs-113",
        "output-off-xs-121",
    ]


def test_a_trip_of_the_second_path_survives_a_restart() -> None:
    rack = running()
    rack.latched("SIF-13")
    rack.step()
    rack.latched()
    rack.memory = persist.begin(reread(rack.memory), boot_id="b", now_s=rack.now_s)
    assert rack.run(5.0).phase() is Phase.TRIPPED
