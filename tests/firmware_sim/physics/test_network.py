"""The network conserves mass, answers monotonically, and has an answer whatever is shut."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_sim.physics import leak, network, valve
from firmware_sim.physics.branch import Branch

CURVE = network.Curve(4.0, 0.00016)
FULL = network.FixedSpeed((1.0,))
NONE = math.inf

kvs = st.one_of(st.just(0.0), st.floats(0.2, 60.0))
holes = st.one_of(st.just(0.0), st.floats(0.01, 3.0))
branches = st.builds(Branch, kvs, st.floats(8.0, 25.0), kvs, holes, holes, holes)
loops = st.builds(
    lambda rows, kv, static, header: network.Loop(
        tuple(rows), (kv,) * len(rows), 110.0, 1.012, static, leak_header=header
    ),
    st.lists(branches, min_size=1, max_size=6),
    st.one_of(st.just(NONE), st.floats(40.0, 400.0)),
    st.floats(0.0, 3.0),
    st.one_of(st.just(0.0), st.floats(0.01, 3.0)),
)


def equal_loop(count: int, shut: int = 0, kv_segment: float = NONE) -> network.Loop:
    rows = [Branch(0.0, 12.5, 0.0)] * shut + [Branch(8.9, 12.5, NONE)] * (count - shut)
    return network.Loop(tuple(rows), (kv_segment,) * count, 110.0, 1.012, 1.5)


@settings(max_examples=80, deadline=None)
@given(loops, st.floats(0.2, 1.0))
def test_what_enters_a_rack_leaves_it_or_leaks(loop: network.Loop, speed: float) -> None:
    found = network.solve(loop, network.FixedSpeed((speed, speed)), CURVE)
    for flow_in, flow_out, lost in zip(found.flow_in, found.flow_out, found.lost, strict=True):
        assert flow_in - flow_out == pytest.approx(sum(lost), abs=1e-6)
    assert found.total_m3h == pytest.approx(sum(found.flow_in) + found.leak_header_m3h, abs=1e-6)
    assert found.leaked_m3h == pytest.approx(found.total_m3h - sum(found.flow_out), abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(loops, st.floats(0.2, 1.0))
def test_pump_head_equals_what_the_circuit_loses(loop: network.Loop, speed: float) -> None:
    found = network.solve(loop, network.FixedSpeed((speed, speed)), CURVE)
    q = found.total_m3h
    assert found.pump_dp_bar == pytest.approx(speed**2 * 4.0 - 0.00016 * q * q / 4.0, abs=1e-6)
    assert found.node_dp[0] == pytest.approx(found.pump_dp_bar - 1.012 * q * abs(q) / 110.0**2, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(loops, st.floats(0.3, 1.0))
def test_openings_lose_what_their_pressure_drives(loop: network.Loop, speed: float) -> None:
    found = network.solve(loop, network.FixedSpeed((speed,)), CURVE)
    for branch, inner, lost in zip(loop.branches, found.inner, found.lost, strict=True):
        for k, p, q in zip(branch.leaks, inner, lost, strict=True):
            expected = k * math.sqrt(p) if k > 0.0 and p > 0.0 else 0.0
            assert q == pytest.approx(expected, abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(1.0, 30.0), min_size=2, max_size=6),
    st.one_of(st.just(NONE), st.floats(60.0, 300.0)),
    st.floats(1.05, 3.0),
)
def test_opening_one_valve_raises_its_flow_and_the_total_and_lowers_the_others(
    kv: list[float], segment: float, more: float
) -> None:
    def solved(first: float) -> network.Solution:
        rows = tuple(Branch(k, 12.5, 60.0) for k in (first, *kv[1:]))
        return network.solve(network.Loop(rows, (segment,) * len(rows), 110.0, 1.012), FULL, CURVE)

    before, after = solved(kv[0]), solved(kv[0] * more)
    assert after.flow_in[0] > before.flow_in[0]
    assert after.total_m3h > before.total_m3h
    assert all(b >= a - 1e-9 for b, a in zip(before.flow_in[1:], after.flow_in[1:], strict=True))


@given(st.floats(0.1, 0.95), st.floats(1.01, 1.05))
def test_a_faster_pump_gives_more_flow_in_proportion(speed: float, more: float) -> None:
    slow = network.solve(equal_loop(4), network.FixedSpeed((speed,)), CURVE)
    fast = network.solve(equal_loop(4), network.FixedSpeed((speed * more,)), CURVE)
    assert fast.total_m3h / slow.total_m3h == pytest.approx(more)


def test_farther_racks_get_less() -> None:
    flows = network.solve(equal_loop(6, kv_segment=80.0), FULL, CURVE).flow_in
    assert flows == sorted(flows, reverse=True)
    assert flows[-1] < 0.95 * flows[0]


def test_all_racks_shut_is_dead_head() -> None:
    found = network.solve(equal_loop(4, shut=4), FULL, CURVE)
    assert found.flow_in == [0.0] * 4
    assert found.node_dp == pytest.approx([4.0] * 5)
    assert found.total_m3h == pytest.approx(0.0)


@pytest.mark.parametrize("drive", [FULL, network.ConstantDp(2.0), network.ConstantFlow(9.0)])
def test_one_rack_alone_is_solved_in_every_mode(drive: network.Drive) -> None:
    found = network.solve(equal_loop(1), drive, CURVE)
    assert found.flow_in[0] == pytest.approx(found.total_m3h)
    assert found.flow_in[0] > 5.0


def test_pumps_at_rest_move_nothing() -> None:
    assert network.solve(equal_loop(3), network.FixedSpeed((0.0, 0.0)), CURVE).total_m3h == pytest.approx(0.0, abs=1e-9)


def test_a_blocked_header_cuts_off_what_lies_beyond() -> None:
    loop = network.Loop(equal_loop(4).branches, (80.0, 80.0, 0.0, 80.0), 110.0, 1.012)
    found = network.solve(loop, FULL, CURVE)
    assert found.flow_in[2:] == [0.0, 0.0]
    assert min(found.flow_in[:2]) > 8.0


def test_a_shut_cdu_gives_nothing() -> None:
    loop = network.Loop(equal_loop(2).branches, (NONE, NONE), 0.0, 1.012)
    found = network.solve(loop, FULL, CURVE)
    assert found.flow_in == [0.0, 0.0]
    assert found.pump_dp_bar == pytest.approx(0.0)
    with pytest.raises(network.NetworkError):
        network.solve(loop, network.ConstantFlow(10.0), CURVE)


def test_a_constant_flow_with_every_path_shut_has_no_answer_unless_speed_is_limited() -> None:
    loop = equal_loop(2, shut=2)
    with pytest.raises(network.NetworkError, match="every path shut"):
        network.solve(loop, network.ConstantFlow(10.0), CURVE)
    assert network.solve(loop, network.ConstantFlow(10.0, max_speed=1.0), CURVE).node_dp[0] == pytest.approx(4.0)


def test_a_mode_that_asks_too_much_ends_at_full_speed() -> None:
    for drive in (network.ConstantDp(3.9, max_speed=1.0), network.ConstantFlow(500.0, max_speed=1.0)):
        assert network.solve(equal_loop(8), drive, CURVE).speed == pytest.approx(1.0)


@pytest.mark.parametrize(("count", "change_pct"), [(8, 14.29), (4, 33.33)])
def test_constant_flow_pushes_the_isolated_share_into_the_others(count: int, change_pct: float) -> None:
    before = network.solve(equal_loop(count), FULL, CURVE)
    after = network.solve(equal_loop(count, shut=1), network.ConstantFlow(before.total_m3h), CURVE)
    assert 100.0 * (after.flow_in[-1] / before.flow_in[-1] - 1.0) == pytest.approx(change_pct, abs=0.01)


def test_remote_dp_holds_at_its_node() -> None:
    found = network.solve(equal_loop(4, kv_segment=80.0), network.ConstantDp(1.5, node=4), CURVE)
    assert found.node_dp[4] == pytest.approx(1.5)
    assert found.node_dp[0] > 1.6


def test_a_slower_pump_behind_its_check_valve_neither_helps_nor_hinders() -> None:
    alone = network.solve(equal_loop(4), network.FixedSpeed((1.0,)), CURVE)
    with_slow = network.solve(equal_loop(4), network.FixedSpeed((1.0, 0.3)), CURVE)
    with_equal = network.solve(equal_loop(4), network.FixedSpeed((1.0, 0.999999)), CURVE)
    both = network.solve(equal_loop(4), network.FixedSpeed((1.0, 1.0)), CURVE)
    assert with_slow.total_m3h == pytest.approx(alone.total_m3h)
    assert with_equal.total_m3h == pytest.approx(both.total_m3h, rel=1e-4)


def test_a_burst_hose_sends_the_return_backwards() -> None:
    hole = leak.discharge_m3h_per_root_bar(60.0, 1012.0)
    rows = (Branch(9.5, 12.5, 60.0, leak_in=hole), Branch(9.5, 12.5, 60.0))
    found = network.solve(network.Loop(rows, (200.0, 200.0), 110.0, 1.012, 1.5), FULL, CURVE)
    assert found.flow_out[0] < 0.0
    assert found.flow_in[0] - found.flow_out[0] == pytest.approx(sum(found.lost[0]), abs=1e-6)


def test_an_earlier_solution_changes_nothing_but_the_work() -> None:
    loop = equal_loop(4, kv_segment=100.0)
    start = network.solve(equal_loop(4, shut=1, kv_segment=100.0), FULL, CURVE)
    assert network.solve(loop, FULL, CURVE, start).flow_in == pytest.approx(
        network.solve(loop, FULL, CURVE).flow_in, rel=1e-9
    )


def test_lists_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match="header segments"):
        network.solve(network.Loop(equal_loop(2).branches, (NONE,), 110.0, 1.0), FULL, CURVE)


@given(st.floats(0.01, 50.0), st.floats(0.01, 50.0), st.floats(0.01, 4.0))
def test_conductances_in_series_lose_the_same_in_sum(a: float, b: float, dp: float) -> None:
    q = valve.flow_m3h(dp, valve.series_kv(a, b), 1.012)
    assert valve.pressure_drop_bar(q, a, 1.012) + valve.pressure_drop_bar(q, b, 1.012) == pytest.approx(dp)
