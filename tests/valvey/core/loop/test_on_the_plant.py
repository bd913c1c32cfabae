"""The coordinator on the simulator's plant: what its set-points are worth to the neighbours, in every mode of the CDU.

The neighbours' valves stand still: nothing but the CDU's set-point keeps their flow. Deviations are of the plant's true
flow, as means over 10 s, against what the rack had before the work began.
"""

from dataclasses import replace

import pytest

from firmware_sim.plant_config import CduMode
from tests.valvey.core.loop.bench import LoopBench
from valvey.core.chart import State
from valvey.core.leasing import Act
from valvey.core.loop import plan
from valvey.core.loop.facts import LoopFactKind
from valvey.core.loop.seen import LoopView
from valvey.core.loop.works import judge

WORST_PCT = 2.0
"""What planned work may do to a neighbour (SAFETY.md, section 7)."""
LEFT_ALONE = {CduMode.FIXED_SPEED: 4.2, CduMode.CONSTANT_DP: 0.3, CduMode.CONSTANT_FLOW: 12.5}
"""What one of eight does to the others when nobody moves the set-point, %: by the plant's own steady solution."""


@pytest.mark.parametrize("mode", CduMode)
def test_a_plan_predicts_what_the_plant_does_when_nobody_moves_the_set_point(mode: CduMode) -> None:
    bench = LoopBench(8, mode).run(20.0)
    view = LoopView(bench.readings(), bench.seen, bench.memory, bench.limits, bench.now_s)
    steady, shut = bench.bank.plant.steady_flows_lpm(), bench.bank.plant.steady_flows_lpm(frozenset({"r03"}))
    true_pct = [100.0 * (shut[name] / flow - 1.0) for name, flow in steady.items() if name != "r03"]
    assert max(map(abs, true_pct)) == pytest.approx(LEFT_ALONE[mode], abs=0.15)
    found = plan.predict(view, "isolate", "r03")
    assert found.neighbours_pct == pytest.approx(sum(true_pct) / len(true_pct), abs=0.5)


def test_a_planned_isolation_moves_no_neighbour_by_two_percent() -> None:
    bench = LoopBench(4, CduMode.CONSTANT_FLOW).run(35.0)
    bench.note_reference("r03")
    assert bench.ask("r03", "isolate").granted
    bench.isolate("r03")
    bench.run(15.0)
    assert set(bench.worst) == {"r01", "r02", "r04"}
    assert abs(bench.most_pct()) < WORST_PCT
    assert bench.bank.plant.racks["r03"].flow_supply_lpm == pytest.approx(0.0)


def test_without_the_coordinators_writes_the_same_work_moves_them_by_far_more() -> None:
    bench = LoopBench(4, CduMode.CONSTANT_FLOW)
    bench.coordinated = False
    bench.run(35.0)
    bench.note_reference("r03")
    bench.trip("r03")
    bench.run(12.0)
    assert bench.most_pct() > 25.0


def test_an_emergency_is_followed_and_what_it_did_is_reported_as_uncoordinated() -> None:
    bench = LoopBench(4, CduMode.FIXED_SPEED).run(35.0)
    bench.note_reference("r03")
    bench.trip("r03")
    bench.run(40.0)
    (told,) = bench.told(LoopFactKind.RELEASED)
    assert not told.fields["coordinated"]
    assert set(told.fields["worst_pct"]) == {"r01", "r02", "r04"}
    assert abs(bench.most_pct()) < 5.0
    settled = {n: r.flow_supply_lpm / bench.reference[n] for n, r in bench.bank.plant.racks.items() if n != "r03"}
    assert all(share == pytest.approx(1.0, abs=0.01) for share in settled.values())


def test_a_pump_trip_is_seen_and_flow_goes_to_the_first_in_rank() -> None:
    bench = LoopBench(4, CduMode.CONSTANT_DP).run(35.0)
    assert not bench.memory.short
    bench.bank.plant.cdu.pump_tripped[0] = True
    bench.run(15.0)
    assert bench.memory.short
    ceilings, racks = bench.memory.ceilings, bench.limits.racks
    assert ceilings["r01"] >= racks["r01"].flow_nominal_lpm
    assert ceilings["r04"] < racks["r04"].flow_nominal_lpm
    assert not bench.ask("r02", "open").granted
    bench.bank.plant.cdu.pump_tripped[0] = False
    bench.run(45.0)
    assert not bench.memory.short


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", CduMode)
def test_eight_racks_isolation_drain_fill_and_return_of_one_move_no_neighbour_by_two_percent(mode: CduMode) -> None:
    bench = LoopBench(8, mode).run(60.0)
    bench.note_reference("r03")
    flow = bench.bank.plant.racks["r03"].flow_supply_lpm
    for work in ("isolate", "drain", "fill", "open"):
        assert bench.ask("r03", work).granted, work
        if work == "open":
            bench.open("r03", flow)
        else:
            {"isolate": bench.isolate, "drain": bench.drain, "fill": bench.fill}[work]("r03")
        bench.run(35.0)
        bench.ask("r03", work, Act.GIVE_BACK)
        print(f"{mode} {work}: worst 10 s mean of a neighbour {bench.most_pct():+.2f} %")
        assert abs(bench.most_pct()) < WORST_PCT, work
        bench.worst = {}
    assert bench.seen["r03"].state is State.FLOWING
    assert bench.bank.plant.racks["r03"].flow_supply_lpm == pytest.approx(flow, rel=0.02)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("coordinated", [True, False], ids=["coordinated", "alone"])
@pytest.mark.parametrize("mode", CduMode)
def test_eight_racks_an_emergency_isolation_against_the_physical_limit(mode: CduMode, coordinated: bool) -> None:
    """The largest rack of eight shuts in 7 s. The transient is nobody's to prevent; what stays is the coordinator's."""
    bench = LoopBench(8, mode)
    bench.coordinated = coordinated
    bench.run(60.0)
    bench.note_reference("r08")
    steady, shut = bench.bank.plant.steady_flows_lpm(), bench.bank.plant.steady_flows_lpm(frozenset({"r08"}))
    limit_pct = max((100.0 * (shut[name] / flow - 1.0) for name, flow in steady.items() if name != "r08"), key=abs)
    bench.trip("r08")
    bench.run(20.0)
    transient_pct = bench.most_pct()
    bench.worst = {}
    bench.run(40.0)
    flows = {name: rack.flow_supply_lpm for name, rack in bench.bank.plant.racks.items()}
    settled_pct = max((100.0 * (flows[name] / was - 1.0) for name, was in bench.reference.items()), key=abs)
    how = "coordinated" if coordinated else "alone"
    print(
        f"{mode.name} {how}: limit {limit_pct:+.2f} %, 10 s mean {transient_pct:+.2f} %, settled {settled_pct:+.2f} %"
    )
    (told,) = bench.told(LoopFactKind.RELEASED)
    assert not told.fields["coordinated"]
    assert abs(transient_pct) <= abs(limit_pct) + 0.5
    if coordinated:
        assert abs(settled_pct) < 0.75
    else:
        assert settled_pct == pytest.approx(limit_pct, abs=0.6)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", CduMode)
def test_two_of_eight_racks_that_shut_at_once_stay_below_the_high_pressure_or_the_mode_is_refused(
    mode: CduMode,
) -> None:
    bench = LoopBench(8, mode)
    bench.coordinated = False
    bench.run(60.0)
    view = LoopView(bench.readings(), dict(bench.seen), bench.memory, bench.limits, bench.now_s)
    found = plan.two_shut_kpa(view)
    assert found is not None
    for name in ("r07", "r08"):
        bench.put(name, state=State.ISOLATING, emergency=True, latches=("SIF-1",))
        bench.drive(name, (False, False, False, False, False), 0.0)
    worst_kpa = 0.0
    for _ in range(150):
        bench.run(0.2)
        left = [rack.p_supply_kpa for name, rack in bench.bank.plant.racks.items() if name not in {"r07", "r08"}]
        worst_kpa = max(worst_kpa, *left)
    print(f"{mode.name}: PT-101 of the others rises to {worst_kpa:.0f} kPa, foreseen {found[0]:.0f} kPa at {found[1]}")
    assert found[0] >= worst_kpa - 5.0
    assert worst_kpa < bench.limits.supply_hh_kpa or found[0] >= bench.limits.supply_hh_kpa
    low = replace(view, limits=replace(bench.limits, supply_hh_kpa=worst_kpa - 5.0))
    refused = judge(low, bench.memory, "r01", "open")
    assert refused is not None
    assert refused.code == "mode"


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", CduMode)
def test_uncoordinated_planned_work_reports_what_it_did_to_each_neighbour(mode: CduMode) -> None:
    """A rack goes on without a lease after ten seconds: the set-point follows all the same, and the report says so."""
    bench = LoopBench(8, mode).run(60.0)
    bench.note_reference("r03")
    bench.isolate("r03")
    bench.run(45.0)
    (told,) = bench.told(LoopFactKind.RELEASED)
    print(f"{mode.name} uncoordinated: worst 10 s mean {bench.most_pct():+.2f} %, told {told.fields['worst_pct']}")
    assert not told.fields["coordinated"]
    assert set(told.fields["worst_pct"]) == set(bench.reference)
    for name, true_pct in bench.worst.items():
        assert told.fields["worst_pct"][name] == pytest.approx(true_pct, abs=1.0)
