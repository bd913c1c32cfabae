"""Cases of pipes, holes, vessels and the wire."""

import math
from collections.abc import Callable

from firmware_sim.cases.inputs import Inputs, Outputs
from firmware_sim.physics import leak, pipe, pump, rtu, thermal, trapped, vessel
from firmware_sim.physics.pipe import M3H_TO_LPM

STEP_S = 0.1
"""The plant's tick."""


def water_hammer(inputs: Inputs) -> Outputs:
    """Surge of a closing valve at the end of a pipe. For sizing strokes; the plant is quasi-steady."""
    rho, length, v = inputs.number("rho", above=0.0), inputs.number("L_m", above=0.0), inputs.number("v0_m_s")
    wave = pipe.wave_speed_m_s(
        inputs.number("bulk_modulus_Pa", above=0.0),
        rho,
        inputs.number("D_m"),
        inputs.number("wall_m", above=0.0),
        inputs.number("E_pipe_Pa", above=0.0),
    )
    out: Outputs = {
        "wave_speed": (wave, "m/s"),
        "joukowsky_surge": (pipe.joukowsky_bar(rho, wave, v), "bar"),
        "critical_time": (pipe.critical_time_s(length, wave) * 1000.0, "ms"),
        "closure_time_for_1bar": (pipe.closure_time_s(rho, v, length, 1.0), "s"),
    }
    for t in inputs.numbers("linear_velocity_closure_times_s"):
        out[f"surge_linear_closure_{t:g}s"] = pipe.closure_surge_bar(rho, wave, v, length, t), "bar"
    return out


def gravity_drain(inputs: Inputs) -> Outputs:
    """A vented rack that drains by gravity; uniform cross-section between the two levels."""
    top, bottom = inputs.number("h_start_m", above=0.0), inputs.number("h_end_m")
    volume_l, kv, rho = (
        inputs.number("volume_L", above=0.0),
        inputs.number("kv_drain", above=0.0),
        inputs.number("rho", above=0.0),
    )
    area = volume_l / 1000.0 / (top - bottom)
    held_l = area * top * 1000.0
    vented = trapped.Ports(0.0, 0.0, vent_kv=1.0, drain_kv=kv)
    state = trapped.Trapped(held_l * (1.0 - 1e-9), trapped.LEAST_GAS_BAR_L, 0.0)
    stepped_s = _stepped_s(
        state, trapped.Space(held_l, top, 0.02), vented, rho, lambda now: now.liquid_l <= held_l * bottom / top
    )
    return {
        "q_initial": (pipe.gravity_flow_m3h(kv, rho, top) * M3H_TO_LPM, "L/min"),
        "t_half_volume": (pipe.drain_time_s(area, kv, rho, top, 0.5 * (top + bottom)), "s"),
        "t_drain": (pipe.drain_time_s(area, kv, rho, top, bottom), "s"),
        "t_drain_stepped": (stepped_s, "s"),
    }


def _stepped_s(
    state: trapped.Trapped,
    space: trapped.Space,
    ports: trapped.Ports,
    rho: float,
    done: Callable[[trapped.Trapped], bool],
) -> float:
    """Time until ``done`` by the plant's own steps; infinite when not within 20 000 of them."""
    for step in range(20_000):
        if done(state):
            return step * STEP_S
        state, _ = trapped.trapped_step(state, space, ports, rho, 0.0, STEP_S)
    return math.inf


def orifice_leak(inputs: Inputs) -> Outputs:
    """Leaks through sharp holes."""
    p, rho, cd = (
        inputs.number("gauge_pressure_bar"),
        inputs.number("rho", above=0.0),
        inputs.number("Cd", leak.CD_SHARP_HOLE),
    )
    return {
        f"leak_{mm:g}mm": (leak.orifice_flow_lpm(mm, p, rho, cd), "L/min") for mm in inputs.numbers("hole_diameters_mm")
    }


def pressure_decay_isolated(inputs: Inputs) -> Outputs:
    """An isolated branch with a gas cushion that leaks from one pressure to another."""
    gas_l, p0, p1 = (
        inputs.number("gas_volume_L_at_P0", above=0.0),
        inputs.number("P0_bar_abs", above=0.0),
        inputs.number("P1_bar_abs", above=0.0),
    )
    hole, rho, cd = (
        inputs.number("hole_mm", above=0.0),
        inputs.number("rho", above=0.0),
        inputs.number("Cd", leak.CD_SHARP_HOLE),
    )
    atmosphere = inputs.number("P_atm_bar", vessel.ATMOSPHERE_BAR)
    out_lpm = leak.orifice_flow_lpm(hole, p0 - atmosphere, rho, cd)
    # The plant's shut rack with that cushion; its walls rigid, its atmosphere the standard one.
    rigid = trapped.Space(100.0, 2.0, 1e-6)
    state = trapped.Trapped(100.0 - gas_l, p0 * gas_l, p0 - vessel.ATMOSPHERE_BAR)
    ports = trapped.Ports(0.0, 0.0, leak=leak.discharge_m3h_per_root_bar(hole, rho, cd))
    stepped_s = math.inf
    if gas_l < 100.0 and p1 > vessel.ATMOSPHERE_BAR:
        stepped_s = _stepped_s(state, rigid, ports, rho, lambda now: now.gauge_bar <= p1 - vessel.ATMOSPHERE_BAR)
    return {
        "initial_slope": (60.0 * vessel.pressure_slope_bar_s(p0, gas_l, out_lpm), "bar/min"),
        "liquid_lost": (vessel.gas_volume_l(p0, gas_l, p1) - gas_l, "L"),
        "time_stepped": (stepped_s, "s"),
        "time_P0_to_P1": (vessel.decay_time_s(gas_l, p0, p1, hole, rho, cd, atmosphere), "s"),
    }


def transport_delay(inputs: Inputs) -> Outputs:
    """A temperature step on its way through a pipe, as a sensor with a lag sees it."""
    inner, flow = inputs.number("pipe_ID_m", above=0.0), inputs.number("flow_lpm", above=0.0)
    volume = pipe.pipe_volume_l(inner, inputs.number("pipe_length_m"))
    delay = pipe.transit_s(volume + inputs.number("manifold_volume_L", 0.0), flow)
    tau = inputs.number("sensor_tau_s", 0.0)
    return {
        "pipe_volume": (volume, "L"),
        "velocity": (pipe.velocity_m_s(flow, inner), "m/s"),
        "delay": (delay, "s"),
        "t63_sensor": (delay + _t63_s(tau), "s"),
    }


def _t63_s(tau_s: float) -> float:
    """Time in which the plant's lag covers 1 − 1/e of a step."""
    low, high = 0.0, 3.0 * tau_s
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if thermal.lag(0.0, 1.0, middle, tau_s) < 1.0 - math.exp(-1.0) else (low, middle)
    return high


def liquid_inertia(inputs: Inputs) -> Outputs:
    """Flow after a sudden start, and after the pump's pressure vanished. Stands alone: it shows what quasi-steady leaves out."""
    dp0, system_r = inputs.number("pump_dp0_bar", above=0.0), inputs.number("system_R_bar_per_m3h2", above=0.0)
    inertance = pipe.inertance_bar_s_per_m3h(
        inputs.number("rho", above=0.0),
        inputs.number("loop_length_m", above=0.0),
        inputs.number("pipe_ID_m", above=0.0),
    )
    steady = pump.operating_flow_m3h(1.0, dp0, inputs.number("pump_a_bar_per_m3h2"), system_r)
    tau = pipe.start_time_constant_s(inertance, steady, dp0)
    out: Outputs = {"q_steady": (steady, "m3/h"), "tau_start": (tau, "s")}
    for t in inputs.numbers("times_s"):
        out[f"q_start_{t:g}s"] = pipe.starting_flow_m3h(t, steady, tau), "m3/h"
        out[f"q_coast_{t:g}s"] = pipe.coasting_flow_m3h(t, steady, system_r, inertance), "m3/h"
    return out


def modbus_rtu_timing(inputs: Inputs) -> Outputs:
    """How long reading holding registers takes on a serial line."""
    baud, bits = inputs.number("baud", above=0.0), inputs.number("bits_per_char", above=0.0)
    registers = inputs.count("registers", least=1)
    one_s = rtu.read_transaction_s(registers, baud, bits, inputs.number("slave_turnaround_s", 0.0))
    return {
        "request_ms": (1000.0 * rtu.read_request_s(baud, bits), "ms"),
        "response_ms": (1000.0 * rtu.read_response_s(registers, baud, bits), "ms"),
        "transaction_ms": (1000.0 * one_s, "ms"),
        "cycle_ms": (1000.0 * one_s * inputs.number("transactions_per_cycle", 1.0), "ms"),
    }


def relief_flows(inputs: Inputs) -> Outputs:
    """Flow of a spring check valve (thermal relief) and of a safety valve, by the pressure inside."""
    sg = inputs.number("rho", 1000.0, above=0.0) / 1000.0
    out: Outputs = {}
    for p in inputs.numbers("inner_bar"):
        through_check = trapped.relief_flow_m3h(
            inputs.number("kv_check"), p, inputs.number("return_bar"), inputs.number("crack_bar"), sg
        )
        through_psv = trapped.safety_valve_flow_m3h(inputs.number("kv_psv"), p, inputs.number("psv_bar", above=0.0), sg)
        out[f"q_check_at_{p:g}bar"] = through_check * M3H_TO_LPM, "L/min"
        out[f"q_psv_at_{p:g}bar"] = through_psv * M3H_TO_LPM, "L/min"
    return out


def pump_ramp(inputs: Inputs) -> Outputs:
    """Speed of a drive that ramps to a target, and of a pump that coasts down."""
    start, target = inputs.number("start_speed"), inputs.number("target_speed")
    ramp_s, coast_s = inputs.number("ramp_s", above=0.0), inputs.number("coast_s", above=0.0)
    out: Outputs = {}
    for t in inputs.numbers("times_s"):
        out[f"speed_ramp_{t:g}s"] = pump.ramp_speed(start, target, t, ramp_s, coast_s, driven=True), "-"
        out[f"speed_coast_{t:g}s"] = pump.ramp_speed(start, target, t, ramp_s, coast_s, driven=False), "-"
    return out
