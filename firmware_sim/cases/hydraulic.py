"""Cases of valves, pumps and the network."""

import math
from collections.abc import Callable

from firmware_sim.cases.inputs import Inputs, Outputs, percent_key
from firmware_sim.physics import actuator, leak, network, pump, valve
from firmware_sim.physics.branch import Branch
from firmware_sim.physics.pipe import M3H_TO_LPM

NO_RESISTANCE = math.inf


def _sg(inputs: Inputs) -> float:
    return inputs.number("rho", 1000.0, above=0.0) / 1000.0


def _curve(inputs: Inputs) -> network.Curve:
    return network.Curve(inputs.number("pump_dp0_bar", above=0.0), inputs.number("pump_a_bar_per_m3h2", above=0.0))


def _cdu_kv(inputs: Inputs) -> float:
    return (
        inputs.number("kv_cdu_internal", NO_RESISTANCE, above=0.0) if inputs.has("kv_cdu_internal") else NO_RESISTANCE
    )


def _branch_valve_kv(inputs: Inputs) -> float:
    """Kv of the branches' valve: as given, or from its position."""
    if inputs.has("kv_valve"):
        return inputs.number("kv_valve")
    return valve.equal_percentage_kv(
        inputs.number("valve_position"),
        inputs.number("kvs_valve", above=0.0),
        inputs.number("rangeability", 50.0, above=1.0),
    )


def _equal_racks(inputs: Inputs, count: int, shut: int = 0) -> network.Loop:
    kv_valve, kv_rack = _branch_valve_kv(inputs), inputs.number("kv_rack", above=0.0)
    racks = [Branch(0.0, kv_rack, 0.0)] * shut + [Branch(kv_valve, kv_rack, NO_RESISTANCE)] * (count - shut)
    return network.Loop(tuple(racks), (NO_RESISTANCE,) * count, _cdu_kv(inputs), _sg(inputs))


def valve_characteristic(inputs: Inputs) -> Outputs:
    """Inherent Kv and installed flow of an equal-percentage and of a linear valve."""
    kvs, authority = inputs.number("kvs_m3h", above=0.0), inputs.number("authority")
    rangeability = inputs.number("rangeability", 50.0, above=1.0)
    out: Outputs = {}
    for position in inputs.numbers("positions"):
        kvs_at = {
            "eqpct": valve.equal_percentage_kv(position, kvs, rangeability),
            "linear": valve.linear_kv(position, kvs),
        }
        out[f"position_eqpct_{percent_key(position)}"] = (
            valve.equal_percentage_position(kvs_at["eqpct"], kvs, rangeability),
            "-",
        )
        for law, kv in kvs_at.items():
            out[f"kv_{law}_{percent_key(position)}"] = kv, "m3/h"
            out[f"qrel_{law}_{percent_key(position)}"] = valve.installed_flow_ratio(kv, kvs, authority), "-"
    return out


def parallel_equal(inputs: Inputs) -> Outputs:
    """Equal racks on a pump of fixed speed."""
    count = inputs.count("n_branches", least=1)
    speed = inputs.number("pump_speed", 1.0)
    found = network.solve(_equal_racks(inputs, count), network.FixedSpeed((speed,)), _curve(inputs))
    return {
        "q_total": (found.total_m3h, "m3/h"),
        "q_branch": (found.flow_in[-1] * M3H_TO_LPM, "L/min"),
        "header_dp": (found.node_dp[0], "bar"),
        "pump_dp": (found.pump_dp_bar, "bar"),
    }


def parallel_one_isolated(inputs: Inputs) -> Outputs:
    """What isolating racks does to the others, by what the pumps hold."""
    count, isolated = inputs.count("n_branches", least=1), inputs.count("isolated", 1)
    curve = _curve(inputs)
    before = network.solve(_equal_racks(inputs, count), network.FixedSpeed((1.0,)), curve)
    loop = _equal_racks(inputs, count, shut=min(isolated, count))

    def flow_change_pct(after: network.Solution) -> float:
        return 100.0 * (after.flow_in[-1] / before.flow_in[-1] - 1.0)

    def dp_change_pct(after: network.Solution) -> float:
        return 100.0 * (after.node_dp[0] / before.node_dp[0] - 1.0)

    fixed = network.solve(loop, network.FixedSpeed((1.0,)), curve)
    const_dp = network.solve(loop, network.ConstantDp(before.node_dp[0]), curve)
    out = {
        "fixed_speed_branch_flow_change": (flow_change_pct(fixed), "%"),
        "fixed_speed_header_dp_change": (dp_change_pct(fixed), "%"),
        "const_dp_branch_flow_change": (flow_change_pct(const_dp), "%"),
        "const_dp_speed_ratio": (const_dp.speed, "-"),
    }
    if isolated < count:  # with every rack shut no speed holds a flow
        const_flow = network.solve(loop, network.ConstantFlow(before.total_m3h), curve)
        out["const_flow_branch_flow_change"] = flow_change_pct(const_flow), "%"
        out["const_flow_header_dp_change"] = dp_change_pct(const_flow), "%"
        out["const_flow_speed_ratio"] = const_flow.speed, "-"
    return out


def header_ladder(inputs: Inputs) -> Outputs:
    """Unequal racks along a direct-return header with resistance."""
    racks = inputs.numbers("kv_branch")
    segments = inputs.numbers("kv_header_segment", above=0.0)
    if len(segments) == 1:
        segments *= len(racks)
    loop = network.Loop(
        tuple(Branch(NO_RESISTANCE, kv, NO_RESISTANCE) for kv in racks), tuple(segments), _cdu_kv(inputs), _sg(inputs)
    )
    found = network.solve(loop, network.FixedSpeed((inputs.number("pump_speed", 1.0),)), _curve(inputs))
    out: Outputs = {f"q_branch_{i}": (q * M3H_TO_LPM, "L/min") for i, q in enumerate(found.flow_in, start=1)}
    out |= {
        "q_total": (found.total_m3h, "m3/h"),
        "header_dp": (found.node_dp[0], "bar"),
        "pump_dp": (found.pump_dp_bar, "bar"),
    }
    return out


def pump_affinity(inputs: Inputs) -> Outputs:
    """One pump by speed on a quadratic system; two in parallel and the trip of one."""
    curve, system_r = _curve(inputs), inputs.number("system_R_bar_per_m3h2", above=0.0)
    efficiency = inputs.number("eta", 1.0, above=0.0)

    def flow(speeds: tuple[float, ...]) -> float:
        # The plant's own network: one branch whose Kv gives the system's resistance at SG 1.
        loop = network.Loop(
            (Branch(NO_RESISTANCE, 1.0 / math.sqrt(system_r), NO_RESISTANCE),), (NO_RESISTANCE,), NO_RESISTANCE, 1.0
        )
        return network.solve(loop, network.FixedSpeed(speeds), curve).total_m3h

    out: Outputs = {}
    for speed in inputs.numbers("speeds"):
        key, q = percent_key(speed), flow((speed,))
        dp = pump.pump_dp_bar(q, speed, curve.dp0_bar, curve.a)
        out[f"q_at_{key}"] = q, "m3/h"
        out[f"dp_at_{key}"] = dp, "bar"
        out[f"hyd_power_at_{key}"] = pump.hydraulic_power_kw(q, dp), "kW"
        out[f"shaft_power_at_{key}"] = pump.shaft_power_kw(q, dp, efficiency), "kW"
    one, two = flow((1.0,)), flow((1.0, 1.0))
    out.setdefault(
        "shaft_power_at_100",
        (pump.shaft_power_kw(one, pump.pump_dp_bar(one, 1.0, curve.dp0_bar, curve.a), efficiency), "kW"),
    )
    out["q_two_parallel"] = two, "m3/h"
    out["flow_after_trip_pct"] = 100.0 * one / two, "%"
    return out


def picv_flow_control(inputs: Inputs) -> Outputs:
    """A valve that holds a flow set-point, at several header differences."""
    wanted, kvs = inputs.number("q_set_m3h", above=0.0), inputs.number("kvs_valve", above=0.0)
    kv_rack, sg = inputs.number("kv_rack", above=0.0), _sg(inputs)
    out: Outputs = {"min_header_dp": (valve.pressure_drop_bar(wanted, valve.series_kv(kvs, kv_rack), sg), "bar")}
    for dp in inputs.numbers("header_dps_bar"):
        flow, kv = valve.controlled_flow_m3h(wanted, dp, kvs, kv_rack, sg)
        out[f"kv_needed_at_{dp:.2f}bar"] = kv, "m3/h"
        out[f"q_at_{dp:.2f}bar"] = flow * M3H_TO_LPM, "L/min"
    return out


def isolation_valve_closing(inputs: Inputs) -> Outputs:
    """Flow through an equal-percentage valve that travels shut at a constant header difference."""
    stroke_s, delay_s = inputs.number("full_stroke_s", above=0.0), inputs.number("command_delay_s", 0.0)
    start, authority = inputs.number("start_position", above=0.0), inputs.number("authority")
    rangeability, q0_lpm = inputs.number("rangeability", 50.0, above=1.0), inputs.number("q0_lpm", above=0.0)

    def ratio_at(position: float) -> float:
        return valve.installed_flow_ratio(valve.equal_percentage_kv(position, 1.0, rangeability), 1.0, authority)

    def flow_at(t_s: float) -> float:
        return q0_lpm * ratio_at(actuator.moved(start, 0.0, max(0.0, t_s - delay_s), stroke_s)) / ratio_at(start)

    def time_to(share: float) -> float:
        low, high = delay_s, t_closed
        for _ in range(80):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if flow_at(middle) > share * q0_lpm else (low, middle)
        return high

    t_closed = delay_s + actuator.travel_s(start, 0.0, stroke_s)
    # Simpson on either side of the kink where the equal-percentage law ends.
    t_kink = delay_s + actuator.travel_s(start, min(start, valve.LOW_END), stroke_s)
    passed_l = (
        q0_lpm * delay_s / 60.0 + (_simpson(flow_at, delay_s, t_kink) + _simpson(flow_at, t_kink, t_closed)) / 60.0
    )
    t_90, t_10 = time_to(0.9), time_to(0.1)
    return {
        "t_to_90pct": (t_90, "s"),
        "t_to_50pct": (time_to(0.5), "s"),
        "t_to_10pct": (t_10, "s"),
        "t_closed": (t_closed, "s"),
        "volume_passed": (passed_l, "L"),
        "effective_closure_time_90_10": ((t_10 - t_90) / 0.8, "s"),
    }


def _simpson(function: Callable[[float], float], start: float, end: float, panels: int = 400) -> float:
    width = (end - start) / panels
    total = function(start) + function(end)
    for i in range(1, panels):
        total += (4.0 if i % 2 else 2.0) * function(start + i * width)
    return total * width / 3.0


def leak_mass_balance(inputs: Inputs) -> Outputs:
    """A hole in one rack of several, between its valve and its resistance; the static pressure held by make-up."""
    count, rho = inputs.count("n_branches", least=1), inputs.number("rho", above=0.0)
    kv_valve, kv_rack = _branch_valve_kv(inputs), inputs.number("kv_rack", above=0.0)
    hole = leak.discharge_m3h_per_root_bar(inputs.number("hole_mm"), rho, inputs.number("Cd", leak.CD_SHARP_HOLE))
    leaking = Branch(kv_valve, kv_rack, NO_RESISTANCE, leak_in=hole)
    healthy = Branch(kv_valve, kv_rack, NO_RESISTANCE)
    loop = network.Loop(
        (leaking,) + (healthy,) * (count - 1),
        (NO_RESISTANCE,) * count,
        _cdu_kv(inputs),
        rho / 1000.0,
        static_bar=inputs.number("return_header_gauge_bar"),
    )
    found = network.solve(loop, network.FixedSpeed((inputs.number("pump_speed", 1.0),)), _curve(inputs))
    out: Outputs = {
        "leak": (found.lost[0][0] * M3H_TO_LPM, "L/min"),
        "leaking_rack_supply": (found.flow_in[0] * M3H_TO_LPM, "L/min"),
        "leaking_rack_return": (found.flow_out[0] * M3H_TO_LPM, "L/min"),
        "mid_node_gauge": (found.inner[0][0], "bar"),
        "makeup_flow": (found.leaked_m3h * M3H_TO_LPM, "L/min"),
    }
    if count > 1:
        out["healthy_rack_flow"] = found.flow_in[1] * M3H_TO_LPM, "L/min"
    return out
