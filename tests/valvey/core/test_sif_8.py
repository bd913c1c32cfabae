"""SIF-8: the valve controller acknowledges no write, so power goes while the valves still hold."""

import pytest

from tests.plant import PaperRack, flowing, isolated, starting
from tests.valvey.core.bench import alarms, coarse, judged, lose_link, rows, run_frozen, spoil, swap_words, verdict
from valvey.core.chart import State
from valvey.core.limits import TripTiming
from valvey.core.memory import Effect
from valvey.core.trips import TRIPS
from valvey.core.verdict import Verdict


def test_six_seconds_after_the_last_acknowledged_write_the_rack_goes_dark(rack: PaperRack) -> None:
    acknowledged_s = rack.ack_s
    rack.acknowledged = False
    assert rack.run(5.95).latched == ()
    rack.scan()
    latch = rack.memory.latches[0]
    assert (rack.state, rows(rack)) == (State.COOLDOWN, ("SIF-8",))
    assert (latch.effect, latch.tag, latch.limit, latch.sample_s) == (Effect.DARK, "WRITE-ACK", 6.0, acknowledged_s)
    assert latch.value == pytest.approx(6.0)


def test_two_seconds_raise_an_alarm(rack: PaperRack) -> None:
    rack.acknowledged = False
    rack.run(1.9)
    assert "write-late" not in alarms(rack)
    rack.run(0.2)
    assert alarms(rack) == {"write-late"}
    assert rack.latched == ()


def test_good_readings_do_not_count_as_acknowledgement(rack: PaperRack) -> None:
    rack.acknowledged = False
    rack.run(6.0)  # every reading stays good and fresh
    assert rack.latched == ("SIF-8",)


def test_one_acknowledged_write_starts_the_count_again(rack: PaperRack) -> None:
    rack.acknowledged = False
    rack.run(5.5)
    rack.acknowledged = True
    rack.run(0.1)
    rack.acknowledged = False
    assert rack.run(5.9).latched == ()
    assert rack.run(0.1).latched == ("SIF-8",)


def test_without_any_acknowledgement_it_counts_from_the_start() -> None:
    rack = starting(State.FLOWING)
    rack.acknowledged = False
    assert rack.run(5.95).latched == ()
    assert (rack.state, verdict(rack, "SIF-8")) == (State.FLOWING, Verdict.HEALTHY)
    assert rack.run(0.05).latched == ("SIF-8",)


def test_an_acknowledgement_of_the_last_process_does_not_count() -> None:
    rack = flowing()
    before_s = rack.ack_s
    coarse(rack, 3.0)
    rack.restart()
    rack.ack_s = before_s
    rack.acknowledged = False
    rack.run(2.0)
    assert judged(rack, "SIF-8").value == pytest.approx(2.0)


def test_it_is_not_armed_in_startup_and_in_every_other_state_it_is() -> None:
    assert next(row for row in TRIPS if row.key == "SIF-8").armed == frozenset(State) - {State.STARTUP}
    rack = starting(State.FLOWING)
    rack.scan()
    assert (rack.state, verdict(rack, "SIF-8")) == (State.STARTUP, Verdict.NOT_ARMED)


def test_it_is_not_armed_in_a_disarmed_rack_which_writes_nothing() -> None:
    rack = isolated()
    rack.ask("disarm")
    coarse(rack, 10.0)
    assert (verdict(rack, "SIF-8"), rack.memory.would_trip) == (Verdict.NOT_ARMED, ())
    assert "write-late" not in alarms(rack)


def test_in_a_shut_rack_it_is_latched_and_moves_nothing() -> None:
    rack = isolated()
    rack.acknowledged = False
    rack.run(6.1)
    assert (rack.state, rack.latched) == (State.ISOLATED, ("SIF-8",))


def test_it_is_never_blind_because_silence_is_its_demand(rack: PaperRack) -> None:
    spoil(rack, *rack.values)
    rack.acknowledged = False
    rack.run(2.5)
    assert (verdict(rack, "SIF-8"), judged(rack, "SIF-8").blind) == (Verdict.HEALTHY, False)


def test_acknowledgements_that_come_and_go_keep_it_quiet(rack: PaperRack) -> None:
    for n in range(5):
        rack.acknowledged = n % 2 == 0
        rack.run(2.0)
    assert rack.latched == ()


def test_sensors_that_die_half_way_do_not_stop_the_count(rack: PaperRack) -> None:
    rack.acknowledged = False
    rack.run(3.0)
    spoil(rack, "XY-101", "XSY-101", "FT-101")
    assert rack.run(3.0).latched == ("SIF-8",)


def test_frozen_or_swapped_readings_are_no_acknowledgement(rack: PaperRack) -> None:
    rack.acknowledged = False
    swap_words(rack, "FT-103")
    run_frozen(rack, 6.0, "XY-101", "XY-102", "XSY-101")
    assert rack.latched == ("SIF-8",)


def test_a_lost_valve_controller_is_one_alarm_until_it_goes_dark(rack: PaperRack) -> None:
    rack.acknowledged = False
    lose_link(rack, "valve_controller")
    rack.run(5.9)
    assert (rack.latched, alarms(rack)) == ((), {"link-valve-controller", "write-late"})
    rack.run(0.15)
    assert (rack.latched, rack.state) == (("SIF-8",), State.COOLDOWN)


def test_it_resets_once_writes_are_acknowledged_again(rack: PaperRack) -> None:
    rack.acknowledged = False
    rack.run(6.1)
    assert rack.ask("reset", sif=["SIF-8"]).fields["code"] == "cause_not_clear"
    rack.acknowledged = True
    rack.run(0.1)
    assert rack.ask("reset", sif=["SIF-8"]).fields["status"] == "accepted"


def test_no_site_delays_it_and_nobody_bypasses_it() -> None:
    rack = flowing(timing={"SIF-8": TripTiming(30.0)})
    rack.acknowledged = False
    assert rack.run(6.0).latched == ("SIF-8",)
    assert flowing().ask("bypass", name="SIF-8", for_s=60.0).fields["code"] == "never"
