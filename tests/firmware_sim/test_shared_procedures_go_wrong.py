"""Planned procedures under a coordinator, and each way in which the loop goes wrong beneath them.

What goes wrong inside one rack (blocked drain, passing valve, ...) is in ``test_procedures_on_the_plant``; deaths are in
``test_killed_in_every_step``. docs/operations/wrong_ways.md lists all of them.
"""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fieldkit.request import Request
from firmware_sim.plant_config import CduMode, Start
from tests.firmware_sim.coordinated_bench import NEIGHBOUR, CoordinatedBench
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.loop.facts import LoopFactKind
from valvey.core.loop.seen import LoopView
from valvey.core.memory import Inventory

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "operations" / "wrong_ways.md"


def copied(bench: CoordinatedBench) -> CoordinatedBench:
    made = bench.copy()
    assert isinstance(made, CoordinatedBench)
    return made


@cache
def _drained() -> CoordinatedBench:
    bench = CoordinatedBench(Start.DRAINED)
    bench.run(1.0)
    return bench


@cache
def _filling() -> CoordinatedBench:
    bench = copied(_drained())
    bench.accepted("fill").until(Step.BLEED)
    return bench


@cache
def _opening() -> CoordinatedBench:
    bench = CoordinatedBench(Start.ISOLATED)
    bench.run(1.0).accepted("open").until(Step.PROVE)
    return bench


def ended(bench: CoordinatedBench) -> tuple[str, str]:
    fields = bench.told(FactKind.ENDED)[-1].fields
    return fields["request"], fields["status"]


def shut(bench: CoordinatedBench) -> None:
    assert bench.state is State.ISOLATED
    assert not any(bench.commands.values())


def test_a_fill_that_would_pull_the_loop_below_its_least_pressure_is_refused_before_it_begins() -> None:
    bench = copied(_drained())
    bench.loop_limits = replace(bench.loop_limits, makeup_lpm=0.0, vessel_gas_l=20.0)
    refused = bench.ask("fill").fields
    assert (refused["status"], refused["code"]) == ("refused", "granted")
    assert "PT-202 would fall to" in refused["reason"]
    assert "80 kPa" in refused["allow"]
    assert bench.state is State.DRAINED


def test_a_fill_that_does_pull_it_down_after_all_is_given_up_by_the_rack_and_its_lease_comes_back() -> None:
    """The site's file promises make-up that is not there."""
    bench = copied(_filling())
    bench.plant.cdu.makeup_enabled = False
    bench.shows["PT-202"] = 49.0
    bench.until(State.ISOLATED).run(2.0)
    shut(bench)
    assert (bench.memory.failed, bench.memory.inventory) == ("loop_low", Inventory.PART)
    assert bench.coordinator.leases == {}


def test_a_sump_that_is_full_by_what_was_drained_into_it_refuses_the_next_drain() -> None:
    bench = CoordinatedBench(Start.ISOLATED)
    bench.loop_limits = replace(bench.loop_limits, sumps_l={"s1": 50.0})
    bench.run(1.0).accepted("lock", owner="anna").accepted("drain").until(State.DRAINED)
    assert bench.coordinator.sumps_l == {"s1": pytest.approx(30.0)}
    bench.run(3.0).accepted("unlock", owner="anna").accepted("fill").until(State.ISOLATED)
    bench.run(1.0).accepted("lock", owner="anna")
    refused = bench.ask("drain").fields
    assert (refused["status"], refused["reason"]) == ("refused", "s1 has room for 20 L, r01 holds 30 L")
    assert "sump_emptied" in refused["allow"]
    bench.loop = replace(bench.coordinator, sumps_l={})
    bench.run(6.0)
    assert bench.ask("drain").fields["status"] == "accepted"


def test_a_leak_in_the_neighbour_leaves_the_work_alone_and_its_flow_is_made_good() -> None:
    bench = copied(_filling())
    bench.neighbour_points["LDT-101"] = 1.0
    bench.neighbour_state = State.ISOLATING
    other = bench.plant.racks[NEIGHBOUR]
    other.xv_101_coil = other.xv_102_coil = False
    bench.until(State.ISOLATED, most_s=400.0).run(1.0)
    assert ended(bench) == ("fill", "succeeded")
    assert bench.coordinator.latches == ()  # one wet rack is its own affair
    assert bench.latched == ()


@pytest.mark.parametrize("made", [_filling, _opening])
def test_a_leak_in_two_racks_ends_what_opens_and_the_rack_is_shut(made: object) -> None:
    assert callable(made)
    bench = copied(made())
    bench.neighbour_points["LDT-101"] = 1.0
    bench.other_points["r09"] = {"LDT-101": 1.0}
    row = replace(bench.loop_limits.racks[NEIGHBOUR], name="r09")
    bench.loop_limits = replace(bench.loop_limits, racks={**bench.loop_limits.racks, "r09": row})
    begun_s = bench.now_s
    bench.until(State.ISOLATED, most_s=60.0).run(1.0)
    shut(bench)
    assert [latch.name for latch in bench.coordinator.latches] == ["racks-leak"]
    assert (bench.memory.failed, ended(bench)[1]) == ("lease_lost", "failed")
    assert bench.now_s - begun_s < 30.0  # at its next renewal, not when the lease is over
    assert [fact.fields["rack"] for fact in bench.of_loop(LoopFactKind.REVOKED)] == ["r01"]
    refused = bench.ask("open" if bench.memory.tested else "fill").fields
    assert (refused["status"], refused["reason"]) == ("refused", "latched on this loop: racks-leak")


@pytest.mark.parametrize("after", [CduMode.FIXED_SPEED, CduMode.CONSTANT_FLOW])
def test_a_change_of_the_cdus_mode_during_an_isolation_is_told_and_the_work_goes_on(after: CduMode) -> None:
    bench = CoordinatedBench()
    bench.run(3.0).accepted("isolate").until(Step.RAMP)
    bench.run(20.0, dt_s=0.5)
    cdu = bench.plant.cdu
    cdu.flow_setpoint_lpm, cdu.speed_setpoint_pct = cdu.flow_lpm, max(cdu.pump_speed_pct)
    cdu.mode = after
    flow = bench.plant.racks[NEIGHBOUR].flow_supply_lpm
    bench.until(State.ISOLATED).run(40.0, dt_s=0.5)
    assert ended(bench) == ("isolate", "succeeded")
    first, last = bench.of_loop(LoopFactKind.RELEASED)
    assert first.fields["why"] == "the CDU's mode is not what it was"
    assert (last.fields["why"], last.fields["coordinated"]) == ("the work is done", True)
    assert bench.plant.racks[NEIGHBOUR].flow_supply_lpm == pytest.approx(flow, rel=0.02)


def test_power_that_does_not_go_down_ends_the_isolation_and_its_lease_comes_back() -> None:
    bench = CoordinatedBench()
    bench.sheds = False
    bench.limits = replace(bench.limits, unload_overdue_s=20.0)
    bench.setup = type(bench.setup)(bench.limits, bench.setup.trips, bench.setup.tuning)
    bench.run(3.0).accepted("isolate").run(25.0)
    assert (bench.state, ended(bench)) == (State.FLOWING, ("isolate", "failed"))
    bench.run(2.0)
    assert bench.coordinator.leases == {}
    assert bench.rack.permit_closed


def test_a_leak_during_a_drain_keeps_the_lease_until_the_rack_is_empty() -> None:
    bench = CoordinatedBench(Start.ISOLATED)
    bench.run(1.0).accepted("lock", owner="anna").accepted("drain").until(Step.DRAIN)
    bench.rack.leak_mm["tray"] = 6.0
    bench.until(State.DRAINED)
    assert bench.latched == ("SIF-1",)
    bench.run(1.0)
    assert bench.coordinator.leases == {}


def test_messages_that_do_not_get_through_end_opening_work_and_the_coordinator_frees_the_lease_later() -> None:
    bench = copied(_filling())
    bench.silent = True
    cut_s = bench.now_s
    bench.until(State.ISOLATING)
    rack_s = bench.now_s - cut_s
    for _ in range(40):
        if bench.coordinator.leases:
            bench.scan(dt_s=1.0)
    loop_s = bench.now_s - cut_s
    assert bench.coordinator.leases == {}
    assert rack_s <= 30.0 < loop_s <= 36.0  # never before the rack has stopped


def test_two_racks_that_want_to_work_get_their_turns() -> None:
    bench = copied(_filling())
    view = LoopView(bench.cdu_readings(), bench.racks_seen(), bench.coordinator, bench.loop_limits, bench.now_s)
    request = Request("x", "plan", "observer", "ann", {"rack": NEIGHBOUR, "work": "isolate"})
    assert "r01" in str(bench.plan(view, request)["refused"])
    bench.until(State.ISOLATED)
    bench.run(1.0)
    view = LoopView(bench.cdu_readings(), bench.racks_seen(), bench.coordinator, bench.loop_limits, bench.now_s)
    assert bench.plan(view, request)["refused"] is None


def test_the_page_names_a_test_for_each_of_the_thirteen_ways_and_every_test_exists() -> None:
    rows = re.findall(r"^\| ([a-z].*?) \| (.*?) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    ways = [way for way, tests in rows if "test_" in tests]
    assert len(ways) >= 13
    named = re.findall(r"`([a-z_]+)::(test_\w+)`", PAGE.read_text(encoding="utf-8"))
    sources = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    assert [name for module, name in named if f"def {name}(" not in sources[module]] == []
