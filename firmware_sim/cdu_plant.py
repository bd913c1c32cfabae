"""The CDU of the plant: pumps and what they hold, heat exchanger, expansion vessel, make-up, sump."""

from firmware_sim.physics import coolant, exchanger, leak, network, pump, thermal, vessel
from firmware_sim.physics.actuator import moved
from firmware_sim.physics.pipe import M3H_TO_LPM
from firmware_sim.physics.vessel import ATMOSPHERE_BAR
from firmware_sim.plant_config import CduConfig, CduMode

HEAD_TAU_S = 0.2
"""Integral time of the pump controller on head (speed squared), in which dP and flow answer alike at any speed."""
LEAST_SPEED = 0.2
LEAD = 0.12
"""The controller runs at most so far ahead of a drive that is still ramping."""
OVERFLOW_KPA = 60.0
"""Above its set-point by this, the static pressure is relieved into the reservoir."""


class CduPlant:
    """Inputs and faults are set, true values read.

    Inputs        mode, dp_setpoint_kpa, flow_setpoint_lpm, speed_setpoint_pct, t_supply_set_c, pump_enabled [bool per pump], makeup_enabled
    True values   p_supply_kpa, p_return_kpa, dp_kpa (CDU), dp_remote_kpa (where constant dP is measured), flow_lpm, t_supply_c, t_return_c, level_pct,
                  pump_speed_pct [per pump], pump_kw, makeup_lpm, static_kpa, sump_l, sump_high, facility_lpm, t_facility_out_c, wet
    Faults        pump_tripped [bool per pump], leak_mm {"header"|"cdu": diameter}, facility_c, facility_available 0..1,
                  supply_offset_k (added to the temperature supplied), strainer_blockage 0..1
    """

    def __init__(self, config: CduConfig) -> None:
        self.config = config
        self.mode = config.mode
        self.dp_setpoint_kpa = config.dp_setpoint_kpa
        self.flow_setpoint_lpm = config.flow_setpoint_lpm
        self.speed_setpoint_pct = config.speed_setpoint_pct
        self.t_supply_set_c = config.t_supply_set_c
        self.pump_enabled = [True] * config.pumps
        self.makeup_enabled = True
        self.pump_tripped = [False] * config.pumps
        self.leak_mm: dict[str, float] = {}
        self.facility_c = config.facility_c
        self.facility_available = 1.0
        self.supply_offset_k = 0.0
        self.strainer_blockage = 0.0

        self.curve = network.Curve(config.pump_dp0_bar, config.pump_a)
        self.speeds = [config.speed_setpoint_pct / 100.0] * config.pumps
        self.static_kpa = config.static_kpa
        self.reservoir_l = config.reservoir_l
        self.sump_l = 0.0
        self.spilled_l = 0.0
        self.leak_lpm = 0.0
        self.makeup_lpm = 0.0
        self.flow_lpm = 0.0
        self.p_supply_kpa = 0.0
        self.dp_remote_kpa = config.dp_setpoint_kpa
        self.pump_kw = 0.0
        self.t_supply_c = config.t_supply_set_c
        self.t_return_c = config.t_supply_set_c
        self.facility_valve = 0.0
        self.facility_trim = 0.0
        self.facility_lpm = 0.0
        self.t_facility_out_c = config.facility_c
        self.heat_kw = 0.0
        self._head = self.speeds[0] ** 2
        self._mix_c = config.t_supply_set_c
        self._gas_bar_l = config.vessel_gas_l * (config.static_kpa / 100.0 + ATMOSPHERE_BAR)
        self._gas_l = config.vessel_gas_l
        self._wanted = 0.0
        self._next_control_s = 0.0

    # -- true values ---------------------------------------------------------------------------------------------------------------

    @property
    def p_return_kpa(self) -> float:
        """PT-202: the return header, where the vessel holds the static pressure."""
        return self.static_kpa

    @property
    def dp_kpa(self) -> float:
        """Header difference at the CDU."""
        return self.p_supply_kpa - self.static_kpa

    @property
    def level_pct(self) -> float:
        """LT-201: what is left of the make-up reservoir."""
        return 100.0 * self.reservoir_l / self.config.reservoir_l

    @property
    def pump_speed_pct(self) -> list[float]:
        """Speed of each pump."""
        return [100.0 * s for s in self.speeds]

    @property
    def sump_high(self) -> bool:
        """LSH-203."""
        return self.sump_l >= 0.9 * self.config.sump_l

    @property
    def wet(self) -> dict[str, bool]:
        """Liquid at the CDU's own detector."""
        return {"LDT-201": self.spilled_l > 0.1}

    # -- pumps ---------------------------------------------------------------------------------------------------------------------

    def kv_internal(self) -> float:
        """Conductance between pumps and header; a blocked strainer takes its share."""
        return self.config.kv_cdu * max(0.0, 1.0 - self.strainer_blockage)

    def opening(self, place: str, density: float) -> float:
        """A hole of the CDU's as the network takes it."""
        return leak.discharge_m3h_per_root_bar(self.leak_mm.get(place, 0.0), density)

    def steady_drive(self) -> network.Drive:
        """What the pumps settle to in the present mode."""
        count = sum(
            enabled and not tripped for enabled, tripped in zip(self.pump_enabled, self.pump_tripped, strict=True)
        )
        if count == 0:
            return network.FixedSpeed((0.0,) * self.config.pumps)
        match self.mode:
            case CduMode.FIXED_SPEED:
                return network.FixedSpeed((self.speed_setpoint_pct / 100.0,) * count)
            case CduMode.CONSTANT_DP:
                return network.ConstantDp(self.dp_setpoint_kpa / 100.0, self.config.dp_node, max_speed=1.0, count=count)
            case CduMode.CONSTANT_FLOW:
                return network.ConstantFlow(self.flow_setpoint_lpm / M3H_TO_LPM, max_speed=1.0, count=count)

    def start_at(self, speed: float) -> None:
        """Put the pumps at a speed without a ramp."""
        self.speeds = [speed if e and not t else 0.0 for e, t in zip(self.pump_enabled, self.pump_tripped, strict=True)]
        self._head = speed * speed

    def drive_pumps(self, dt_s: float) -> None:
        """One step of the controller and of the drives."""
        config = self.config
        match self.mode:
            case CduMode.FIXED_SPEED:
                self._head = (self.speed_setpoint_pct / 100.0) ** 2
            case CduMode.CONSTANT_DP:
                self._head += (
                    (self.dp_setpoint_kpa - self.dp_remote_kpa) / (100.0 * config.pump_dp0_bar) * dt_s / HEAD_TAU_S
                )
            case CduMode.CONSTANT_FLOW:
                miss = (self.flow_setpoint_lpm - self.flow_lpm) / max(self.flow_setpoint_lpm, 1.0)
                self._head += 2.0 * self._head * min(1.0, max(-1.0, miss)) * dt_s / HEAD_TAU_S
        if self.mode is not CduMode.FIXED_SPEED:
            fastest = max(self.speeds)
            low, high = max(LEAST_SPEED, fastest - LEAD), min(1.0, max(LEAST_SPEED, fastest) + LEAD)
            self._head = min(max(self._head, low * low), high * high)
        wanted = min(1.0, max(0.0, self._head)) ** 0.5
        for i, speed in enumerate(self.speeds):
            driven = self.pump_enabled[i] and not self.pump_tripped[i]
            self.speeds[i] = pump.ramp_speed(speed, wanted, dt_s, config.ramp_s, config.coast_s, driven)

    def take(self, solution: network.Solution) -> None:
        """Note what the network does."""
        self.flow_lpm = solution.total_m3h * M3H_TO_LPM
        self.p_supply_kpa = solution.supply_bar[0] * 100.0
        self.dp_remote_kpa = solution.node_dp[self.config.dp_node] * 100.0
        self.pump_kw = pump.shaft_power_kw(
            solution.total_m3h, max(0.0, solution.pump_dp_bar), self.config.pump_efficiency
        )
        self.leak_lpm = (solution.leak_header_m3h + solution.leak_cdu_m3h) * M3H_TO_LPM

    # -- liquid --------------------------------------------------------------------------------------------------------------------

    def balance(self, out_lpm: float, grown_l: float, dt_s: float) -> None:
        """Vessel and make-up over one step in which ``out_lpm`` left the circuit (its own leaks apart) and its liquid grew by ``grown_l``."""
        config = self.config
        short_kpa = config.static_kpa - self.static_kpa
        self.makeup_lpm = 0.0
        if self.makeup_enabled and self.reservoir_l > 0.0:
            self.makeup_lpm = min(
                max(config.makeup_lpm_per_kpa * short_kpa, 0.0), config.makeup_max_lpm, self.reservoir_l / dt_s * 60.0
            )
        overflow_lpm = 20.0 * max(0.0, -short_kpa - OVERFLOW_KPA)
        self.reservoir_l = min(config.reservoir_l, self.reservoir_l - (self.makeup_lpm - overflow_lpm) * dt_s / 60.0)
        self.spilled_l += self.leak_lpm * dt_s / 60.0
        self._gas_l += (out_lpm + self.leak_lpm + overflow_lpm - self.makeup_lpm) * dt_s / 60.0 - grown_l
        self._gas_l = max(self._gas_l, 0.02 * config.vessel_gas_l)
        gauge = vessel.gas_pressure_bar_abs(self._gas_bar_l, 1.0, self._gas_l) - ATMOSPHERE_BAR
        self.static_kpa = 100.0 * max(gauge, 0.0)

    def refill_reservoir(self) -> None:
        """Top the make-up reservoir up."""
        self.reservoir_l = self.config.reservoir_l

    @property
    def vessel_gas_l(self) -> float:
        """Gas in the expansion vessel."""
        return self._gas_l

    def empty_sump(self) -> None:
        """Pump the drain sump dry."""
        self.sump_l = 0.0

    # -- heat ----------------------------------------------------------------------------------------------------------------------

    def exchange(self, return_c: float, now_s: float, dt_s: float) -> None:
        """One step of exchanger, facility valve and mixing."""
        config = self.config
        self.t_return_c = return_c
        secondary_w_k = coolant.capacity_rate_w_k(self.flow_lpm, return_c, return_c)
        facility_w_k_per_lpm = coolant.water_volumetric_heat_mj_m3k(self.facility_c) * 1e6 / 60_000.0
        full_w_k = config.facility_max_lpm * facility_w_k_per_lpm * self.facility_available
        ua_w_k = config.ua_kw_k * 1000.0
        if now_s >= self._next_control_s:
            self._next_control_s = now_s + 1.0
            self.facility_trim = min(5.0, max(-5.0, self.facility_trim + 0.01 * (self.t_supply_set_c - self._mix_c)))
            wanted_w = secondary_w_k * (return_c - self.t_supply_set_c - self.facility_trim)
            rated_w_k = config.facility_max_lpm * facility_w_k_per_lpm
            rate = (
                exchanger.cold_rate_for_heat_w_k(wanted_w, ua_w_k, secondary_w_k, rated_w_k, return_c, self.facility_c)
                if secondary_w_k > 0
                else 0.0
            )
            self._wanted = rate / rated_w_k
        self.facility_valve = moved(self.facility_valve, self._wanted, dt_s, config.facility_stroke_s)
        cold_w_k = self.facility_valve * full_w_k
        heat_w = exchanger.heat_w(ua_w_k, secondary_w_k, cold_w_k, return_c, self.facility_c)
        self.heat_kw = heat_w / 1000.0
        self.facility_lpm = cold_w_k / facility_w_k_per_lpm
        self.t_facility_out_c = self.facility_c + (heat_w / cold_w_k if cold_w_k > 0.0 else 0.0)
        if self.flow_lpm > 0.0:
            leaving_c = return_c - heat_w / secondary_w_k
            self._mix_c = thermal.lag(self._mix_c, leaving_c, dt_s * self.flow_lpm / 60.0, config.mix_l)
        self.t_supply_c = self._mix_c + self.supply_offset_k

    def settle(self, return_c: float) -> None:
        """Put the facility valve where it holds the set-point with the present return."""
        self.facility_trim, self._next_control_s = 0.0, 0.0
        self._mix_c = self.t_supply_set_c
        self.exchange(return_c, 0.0, 1e-9)
        self.facility_valve = self._wanted
        self.exchange(return_c, 0.0, 1e-9)
