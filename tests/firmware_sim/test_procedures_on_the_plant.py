"""Planned procedures against water: the whole round once, and each of the ways in which it goes wrong."""

from dataclasses import replace
from functools import cache

import pytest

from firmware_sim.parts.channel import SensorFault
from firmware_sim.plant_config import Start
from tests.firmware_sim.procedures_bench import LIMITS, VOLUME_L, Bench
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.leasing import Answer
from valvey.core.memory import Inventory

LEASED = replace(LIMITS, coordinator=True)


@cache
def _shut() -> Bench:
    bench = Bench(Start.ISOLATED).run(1.0)
    return bench.accepted("lock", owner="anna")


@cache
def _draining() -> Bench:
    return _shut().copy().accepted("drain").until(Step.DRAIN)


@cache
def _filling() -> Bench:
    return Bench(Start.DRAINED).run(1.0).accepted("fill").until(Step.BLEED)


@cache
def _testing() -> Bench:
    return _filling().copy().until(Step.PRESSURE)


def ended(bench: Bench) -> tuple[str, str]:
    fields = bench.told(FactKind.ENDED)[-1].fields
    return fields["request"], fields["status"]


def given_up(bench: Bench, name: str) -> None:
    """The work has failed by ``name``; the rack is shut, and says why."""
    bench.until(State.ISOLATED, State.ESD, most_s=200.0).run(2.0)
    assert (bench.memory.failed, bench.state) == (name, State.ISOLATED)
    assert f"work-failed-{name.replace('_', '-')}" in bench.alarms
    assert ended(bench)[1] == "failed"
    assert not any(bench.commands.values())
    assert not bench.memory.tested or name not in {"decay", "stuck_101", "stuck_102"}


def test_a_rack_is_isolated_drained_filled_tested_and_returned_to_service() -> None:
    bench = Bench().run(3.0)
    neighbour = bench.plant.racks["r02"]
    before_lpm, least_lpm = neighbour.flow_supply_lpm, neighbour.flow_supply_lpm
    bench.accepted("isolate").run(2.0)
    bench.rack.load_kw = 0.0
    bench.until(State.ISOLATED)
    assert bench.ask("drain").fields["code"] == "locked"
    bench.accepted("lock", owner="anna").accepted("drain").until(State.DRAINED)
    assert bench.memory.inventory is Inventory.EMPTY
    assert bench.rack.inventory_l == pytest.approx(0.0, abs=0.3)
    assert bench.plant.cdu.sump_l == pytest.approx(VOLUME_L, rel=0.05)
    bench.run(3.0)
    assert bench.ask("fill").fields["code"] == "no_lock"
    bench.accepted("unlock", owner="anna").accepted("fill").until(State.TESTING)
    assert bench.rack.inventory_l == pytest.approx(VOLUME_L, rel=0.01)
    assert bench.plant.cdu.sump_l < 1.15 * VOLUME_L + VOLUME_L * 0.05  # no more than 110 % went in
    while bench.state is State.TESTING:
        bench.scan()
        least_lpm = min(least_lpm, neighbour.flow_supply_lpm)
        assert not (bench.commands["XV-101"] and bench.commands["XV-102"])
    assert (bench.state, bench.memory.tested, bench.memory.inventory) == (State.ISOLATED, True, Inventory.FULL)
    assert least_lpm > 0.98 * before_lpm
    bench.run(1.0).accepted("open").until(State.FLOWING).run(1.0)
    assert bench.rack.permit_closed
    assert bench.latched == ()
    done = [(fact.fields["request"], fact.fields["status"]) for fact in bench.told(FactKind.ENDED)]
    assert done == [(name, "succeeded") for name in ("isolate", "drain", "fill", "open")]
    told = [fact for fact in bench.told(FactKind.PROGRESS) if fact.fields["request"] == "fill"]
    assert [fact.fields["step"] for fact in told if fact.fields["percent"] < 100.0][:2] == [Step.CRACK, Step.BLEED]
    assert [fact.fields["percent"] for fact in told] == sorted(fact.fields["percent"] for fact in told)
    assert told[0].fields["eta_s"] > told[-1].fields["eta_s"] >= 0.0


# --- draining --------------------------------------------------------------------------------------------------------


def test_a_passing_valve_is_found_before_the_drain_is_opened() -> None:
    bench = _shut().copy()
    bench.rack.passing_kv["XV-102"] = 0.02
    bench.accepted("drain")
    while bench.state is State.DRAINING:
        bench.scan()
        assert not bench.commands["XV-103"]
    given_up(bench, "passing")


def test_a_blocked_drain_is_given_up_after_half_a_minute() -> None:
    bench = _draining().copy()
    bench.rack.drain_blockage = 1.0
    began_s = bench.now_s
    bench.until(State.ISOLATING)
    assert bench.now_s - began_s == pytest.approx(bench.limits.drain_blocked_s, abs=1.0)
    given_up(bench, "blocked")


def test_a_drain_that_blocks_half_way_does_not_count_as_empty() -> None:
    bench = _draining().copy().run(60.0, dt_s=0.5)
    bench.rack.drain_blockage = 1.0
    given_up(bench, "blocked")
    assert bench.memory.inventory is Inventory.PART
    assert bench.rack.inventory_l > 3.0


def test_a_high_sump_stops_the_drain_which_goes_on_when_it_is_pumped_out() -> None:
    bench = _draining().copy().run(20.0, dt_s=0.5)
    bench.sump_high = True
    bench.run(0.2)
    assert bench.place == (State.DRAINING, Step.SUMP)
    assert not bench.commands["XV-103"]
    held_l = bench.run(5.0).rack.inventory_l
    assert "sump-high" in bench.alarms
    assert bench.run(10.0).rack.inventory_l == pytest.approx(held_l, abs=0.01)
    bench.sump_high = False
    bench.until(State.DRAINED)
    assert ended(bench) == ("drain", "succeeded")
    assert bench.rack.inventory_l == pytest.approx(0.0, abs=0.3)


def test_a_sump_that_stays_high_ends_the_drain() -> None:
    bench = _draining().copy()
    bench.sump_high = True
    bench.until(State.ISOLATING)
    given_up(bench, "sump_high")


def test_a_leak_during_a_drain_latches_and_the_drain_goes_on() -> None:
    bench = _draining().copy()
    bench.rack.leak_mm["tray"] = 6.0
    bench.until(State.DRAINED)
    assert bench.latched == ("SIF-1",)
    assert bench.memory.inventory is Inventory.EMPTY
    assert bench.run(3.0).ask("fill").fields["code"] == "no_latch"


def test_a_valve_that_leaves_its_limit_during_a_drain_ends_in_the_emergency_state() -> None:
    bench = _draining().copy()
    bench.shows["ZSC-101"] = 0.0
    bench.scan()
    assert bench.stopped["XV-103"] == "safe"  # the gate does not wait for the verdict
    bench.run(2.0)
    assert (bench.state, bench.latched[0]) == (State.ESD, "PROOF_LOST")


def test_without_its_meter_a_drain_is_refused_and_one_that_runs_ends() -> None:
    bench = _shut().copy()
    bench.lost.add("FT-103")
    assert bench.ask("drain").fields["code"] == "drain_metered"
    bench = _draining().copy().run(10.0, dt_s=0.5)
    bench.lost.add("FT-103")
    given_up(bench, "meter_lost")


# --- filling and testing ------------------------------------------------------------------------------------------------


def test_air_that_goes_on_coming_ends_the_fill() -> None:
    bench = _filling().copy()
    bench.channels["FT-101"].set_fault(SensorFault.NOISE, 3.0)
    given_up(bench, "air")
    assert bench.memory.inventory is Inventory.PART


def test_a_leak_while_filling_isolates_the_rack() -> None:
    bench = _filling().copy().run(20.0)
    bench.rack.leak_mm["manifold"] = 4.0
    bench.until(State.ISOLATED)
    assert bench.latched == ("SIF-1",)
    assert bench.memory.inventory is Inventory.UNKNOWN
    assert ended(bench) == ("fill", "failed")


def test_a_full_sump_ends_a_fill() -> None:
    bench = _filling().copy()
    bench.sump_high = True
    given_up(bench, "sump_high")


def test_a_fill_that_draws_the_loop_down_is_given_up() -> None:
    bench = _filling().copy()
    bench.shows["PT-202"] = 49.0
    given_up(bench, "loop_low")


def test_a_weeping_hose_that_no_rope_sees_fails_the_pressure_test() -> None:
    bench = _testing().copy()
    bench.rack.leak_mm["hose"] = 0.05
    given_up(bench, "decay")
    assert not bench.memory.tested
    assert bench.ask("open").fields["code"] == "tested"


def test_a_supply_valve_that_passes_fails_the_test_although_the_relief_hides_it_at_first() -> None:
    bench = _testing().copy()
    bench.rack.passing_kv |= {"XV-101": 0.005, "FCV-101": 0.005}
    bench.until(Step.RESEAT_102)
    assert bench.memory.failed is None
    given_up(bench, "rising")
    assert not bench.memory.tested


@pytest.mark.parametrize("number", ["101", "102"])
def test_a_valve_that_does_not_open_fails_its_stroke(number: str) -> None:
    bench = _testing().copy()
    (bench.rack.xv_101 if number == "101" else bench.rack.xv_102).stuck = True
    given_up(bench, f"stuck_{number}")


def test_a_valve_that_does_not_shut_again_is_told_and_the_rack_stays_isolating() -> None:
    bench = _testing().copy()
    bench.rack.xv_102.spring_broken = True
    bench.until(State.ISOLATING).run(20.0)
    assert (bench.state, bench.memory.failed, bench.latched) == (State.ISOLATING, "stuck_102", ())
    assert {"work-failed-stuck-102", "valve-doubt"} <= bench.alarms


def test_the_key_turned_during_a_fill_ends_it_and_locks_on_arrival() -> None:
    bench = _testing().copy()
    assert bench.ask("lock", owner="ben").fields["code"] == "isolate_first"
    bench.key = True
    bench.run(2.0)
    assert {"key-locked", "work-failed-key-turned"} <= set(bench.alarms)
    bench.until(State.ISOLATED).run(0.2)
    assert ended(bench) == ("fill", "failed")
    assert [lock.owner for lock in bench.memory.locks] == ["HS-102"]
    assert bench.ask("open").fields["code"] == "no_lock"


# --- leases, power, restarts ----------------------------------------------------------------------------------------------


def test_under_a_coordinator_nothing_opens_without_its_grant_and_a_lapsed_lease_ends_the_work() -> None:
    bench = Bench(Start.ISOLATED, LEASED).run(1.0).accepted("lock", owner="anna")
    bench.ask("drain")
    bench.run(6.0)  # nobody answers
    assert (bench.state, bench.told(FactKind.ANSWER)[-1].fields["code"]) == (State.ISOLATED, "granted")
    bench.ask("drain")
    (ask,) = bench.asks
    bench.answers = (Answer(ask.ask_id, True, "lease-1", 1, 10.0, "drain"),)
    bench.run(5.0)
    assert bench.state is State.DRAINING
    bench.run(5.5)
    assert (bench.state, bench.memory.failed) == (State.ISOLATED, "lease_lost")
    assert not any(bench.commands.values())
    assert ended(bench) == ("drain", "failed")


def test_power_that_does_not_go_down_ends_the_isolation_before_anything_is_shut() -> None:
    bench = Bench(limits=replace(LIMITS, unload_overdue_s=20.0)).run(3.0)
    bench.accepted("isolate").run(25.0)
    assert (bench.state, ended(bench)) == (State.FLOWING, ("isolate", "failed"))
    assert "unload-overdue" in bench.alarms
    assert bench.rack.permit_closed


@pytest.mark.parametrize(
    ("made", "wait_s"),
    [(_draining, 1.0), (_draining, 10.0), (_filling, 1.0), (_filling, 10.0), (_testing, 0.0), (_testing, 62.0)],
)
@pytest.mark.parametrize("boot_id", ["", "another boot"])
def test_a_guard_killed_in_the_middle_shuts_the_rack_and_asks_nobody_to_go_on(
    made: object, wait_s: float, boot_id: str
) -> None:
    assert callable(made)
    bench: Bench = made().copy().run(wait_s, dt_s=0.5)
    killed_in = bench.state
    assert killed_in in {State.DRAINING, State.FILLING, State.TESTING}
    bench.restart(boot_id=boot_id)
    energised = False
    for _ in range(150):
        bench.scan()
        energised |= bench.place[0] is not State.STARTUP and any(bench.commands.values())
    assert not energised
    assert bench.place == (State.ISOLATED, Step.HOLD)
    assert (bench.memory.work, bench.memory.tested, bench.latched) == (None, False, ())
    assert bench.memory.inventory is (Inventory.FULL if killed_in is State.TESTING else Inventory.PART)


@pytest.mark.parametrize("made", [_draining, _filling, _testing])
def test_cancelled_work_ends_shut(made: object) -> None:
    assert callable(made)
    bench: Bench = made().copy().accepted("cancel")
    assert bench.state is State.ISOLATING
    bench.until(State.ISOLATED)
    assert ended(bench)[1] == "cancelled"
    assert not any(bench.commands.values())
