"""Cases of coolant, heat and expansion."""

import math
from functools import partial

from firmware_sim.cases.inputs import CaseError, Inputs, Outputs, first_time
from firmware_sim.physics import coolant, exchanger, pipe, thermal, vessel

LONG_S = 1e7


def fluid_properties(inputs: Inputs) -> Outputs:
    """Properties of PG25."""
    inputs.pg25()
    t_c = inputs.number("T_C")
    return {
        "rho": (coolant.density_kg_m3(t_c), "kg/m3"),
        "cp": (coolant.heat_capacity_j_kgk(t_c), "J/kg/K"),
        "mu": (coolant.viscosity_mpas(t_c), "mPa.s"),
        "rho_cp": (coolant.volumetric_heat_mj_m3k(t_c), "MJ/m3/K"),
        "beta": (coolant.expansion_per_k(t_c), "1/K"),
        "lpm_per_kw_at_10K": (coolant.flow_per_kw_lpm(t_c, 10.0), "L/min/kW"),
    }


def _mass_flow_kg_s(flow_lpm: float, t_c: float) -> float:
    return flow_lpm * pipe.LPM_TO_M3S * coolant.density_kg_m3(t_c)


def rack_heat_balance(inputs: Inputs) -> Outputs:
    """Outlet temperature of a rack from its power and flow."""
    inputs.pg25()
    t_in, flow = inputs.number("T_in_C"), inputs.number("flow_lpm_at_inlet", above=0.0)
    t_out = thermal.outlet_c(inputs.number("power_to_liquid_kW") * 1000.0, flow, t_in)
    return {
        "m_dot": (_mass_flow_kg_s(flow, t_in), "kg/s"),
        "T_out": (t_out, "degC"),
        "delta_T": (t_out - t_in, "K"),
    }


def return_mixing(inputs: Inputs) -> Outputs:
    """Return temperature of racks with different powers and flows."""
    inputs.pg25()
    t_in, total_kw = inputs.number("T_supply_C"), 0.0
    out: Outputs = {}
    streams: list[tuple[float, float]] = []
    for i, rack in enumerate(inputs.parts("racks"), start=1):
        power_kw, flow = rack.number("power_kW"), rack.number("flow_lpm")
        t_out = thermal.outlet_c(power_kw * 1000.0, flow, t_in) if flow > 0.0 else t_in
        out[f"T_out_{i}"] = t_out, "degC"
        streams.append((_mass_flow_kg_s(flow, t_in), t_out))
        total_kw += power_kw
    out["T_return_mixed"] = thermal.mixed_c(streams, t_in), "degC"
    out["total_power"] = total_kw, "kW"
    return out


def cdu_heat_exchanger(inputs: Inputs) -> Outputs:
    """The CDU's counterflow exchanger. Capacity rates as given, else from the flows (PG25 and water at their inlet temperatures)."""
    ua = inputs.number("UA_W_per_K", above=0.0)
    hot_in, cold_in = inputs.number("T_secondary_return_C"), inputs.number("T_primary_in_C")
    if inputs.has("C_secondary_W_per_K"):
        hot = inputs.number("C_secondary_W_per_K", above=0.0)
    else:
        hot = coolant.capacity_rate_w_k(inputs.number("secondary_flow_lpm", above=0.0), hot_in, hot_in)
    if inputs.has("C_primary_W_per_K"):
        cold = inputs.number("C_primary_W_per_K", above=0.0)
    else:
        cold = (
            inputs.number("primary_flow_lpm", above=0.0)
            * pipe.LPM_TO_M3S
            * 1e6
            * coolant.water_volumetric_heat_mj_m3k(cold_in)
        )
    heat_w = exchanger.heat_w(ua, hot, cold, hot_in, cold_in)
    supply_c = hot_in - heat_w / hot
    return {
        "effectiveness": (exchanger.effectiveness(ua / min(hot, cold), min(hot, cold) / max(hot, cold)), "-"),
        "Q": (heat_w / 1000.0, "kW"),
        "T_secondary_supply": (supply_c, "degC"),
        "T_primary_out": (cold_in + heat_w / cold, "degC"),
        # The other way round, as the facility valve's controller asks.
        "C_primary_for_Q": (exchanger.cold_rate_for_heat_w_k(heat_w, ua, hot, 1e3 * cold, hot_in, cold_in), "W/K"),
        "approach": (supply_c - cold_in, "K"),
    }


def _two_node(inputs: Inputs) -> tuple[float, float, float, float, float, float]:
    return (
        inputs.number("P_W"),
        inputs.number("C_solid_J_K", above=0.0),
        inputs.number("C_coolant_J_K", above=0.0),
        inputs.number("UA_W_K", above=0.0),
        inputs.number("T_in_C"),
        inputs.number("m_cp_before_W_K", above=0.0),
    )


def loss_of_flow_two_node(inputs: Inputs) -> Outputs:
    """A rack that loses all flow under constant power."""
    power, c_solid, c_coolant, ua, t_in, rate = _two_node(inputs)
    solid, liquid = thermal.steady_temperatures_c(power, ua, rate, t_in)
    after = partial(thermal.two_node_step, power, c_solid, c_coolant, ua, 0.0, solid, liquid, t_in)
    out: Outputs = {
        "T_solid_initial": (solid, "degC"),
        "T_coolant_initial": (liquid, "degC"),
        "final_slope": (thermal.stagnant_slope_k_s(power, c_solid, c_coolant), "K/s"),
    }
    if inputs.has("T_limit_C"):
        limit = inputs.number("T_limit_C")
        out["time_to_limit"] = first_time(lambda t: after(t)[0] - limit, LONG_S), "s"
    for t in inputs.numbers("times_s"):
        out[f"T_solid_at_{t:g}s"] = after(t)[0], "degC"
        out[f"T_coolant_at_{t:g}s"] = after(t)[1], "degC"
    return out


def partial_flow_step(inputs: Inputs) -> Outputs:
    """A rack whose flow steps to a share of what it was, under constant power; the outlet is the coolant node."""
    power, c_solid, c_coolant, ua, t_in, rate_before = _two_node(inputs)
    rate = rate_before * inputs.number("flow_fraction_after", above=0.0)
    solid, liquid = thermal.steady_temperatures_c(power, ua, rate_before, t_in)
    solid_end, liquid_end = thermal.steady_temperatures_c(power, ua, rate, t_in)
    slow, _ = thermal.two_node_eigenvalues(c_solid, c_coolant, ua, rate)
    after = partial(thermal.two_node_step, power, c_solid, c_coolant, ua, rate, solid, liquid, t_in)
    step = liquid_end - liquid
    out: Outputs = {
        "T_out_initial": (liquid, "degC"),
        "T_solid_initial": (solid, "degC"),
        "T_out_final": (liquid_end, "degC"),
        "T_solid_final": (solid_end, "degC"),
        "tau_slow": (-1.0 / slow, "s"),
    }
    if step:
        out["t63_outlet"] = first_time(lambda t: (after(t)[1] - liquid) / step - (1.0 - math.exp(-1.0)), LONG_S), "s"
    for t in inputs.numbers("times_s"):
        out[f"T_out_at_{t:g}s"] = after(t)[1], "degC"
        out[f"T_solid_at_{t:g}s"] = after(t)[0], "degC"
    return out


def thermal_expansion(inputs: Inputs) -> Outputs:
    """A closed loop that warms up against a gas cushion."""
    inputs.pg25()
    gas_l = inputs.number("gas_volume_L", above=0.0)
    grown = vessel.expansion_l(inputs.number("liquid_volume_L"), inputs.number("T1_C"), inputs.number("T2_C"))
    if grown >= gas_l:
        raise CaseError(
            f"the liquid grows by {grown:.1f} L, more than the gas cushion's {gas_l:g} L: no pressure holds that"
        )
    return {
        "expansion_volume": (grown, "L"),
        "P2": (vessel.gas_pressure_bar_abs(inputs.number("P1_bar_abs", above=0.0), gas_l, gas_l - grown), "bar abs"),
    }


def trapped_liquid(inputs: Inputs) -> Outputs:
    """A shut rack that warms: pressure from liquid, elastic walls and a little gas."""
    inputs.pg25()
    volume, compliance = inputs.number("volume_L", above=0.0), inputs.number("compliance_L_per_bar", above=0.0)
    gas, start_bar = inputs.number("gas_bar_L", above=0.0), inputs.number("P1_bar_gauge")
    from_c, to_c = inputs.number("T1_C"), inputs.number("T2_C")
    liquid = vessel.trapped_liquid_l(start_bar, volume, compliance, gas)
    end_bar = vessel.trapped_pressure_bar(liquid + vessel.expansion_l(liquid, from_c, to_c), volume, compliance, gas)
    return {
        "liquid": (liquid, "L"),
        "P2": (end_bar, "bar"),
        "slope": ((end_bar - start_bar) / (to_c - from_c) if to_c != from_c else 0.0, "bar/K"),
    }


def coldplate_conductance(inputs: Inputs) -> Outputs:
    """UA of the cold plates by share of the design flow."""
    design, exponent = inputs.number("UA_design_W_K", above=0.0), inputs.number("exponent", 0.65)
    least = inputs.number("least_ratio", 0.0)
    return {
        f"ua_at_{ratio:g}": (thermal.conductance_w_k(design, ratio, exponent, least), "W/K")
        for ratio in inputs.numbers("flow_ratios")
    }


def dew_point(inputs: Inputs) -> Outputs:
    """Dew point of room air."""
    return {
        "dew_point": (thermal.dew_point_c(inputs.number("air_C"), inputs.number("humidity_pct", above=0.0)), "degC")
    }
