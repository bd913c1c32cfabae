"""One rack of the plant: valves, liquid, heat, power, and where its leaks run to."""

from firmware_sim.physics import coolant, leak, thermal, valve
from firmware_sim.physics.actuator import Actuator, MotorActuator
from firmware_sim.physics.branch import Branch
from firmware_sim.physics.pipe import M3H_TO_LPM
from firmware_sim.physics.trapped import LEAST_GAS_BAR_L, PortFlows, Ports, Space, Trapped, trapped_step
from firmware_sim.physics.vessel import ATMOSPHERE_BAR, expansion_l, trapped_liquid_l
from firmware_sim.plant_config import RackConfig, Start
from firmware_sim.rack_power import RackPower
from firmware_sim.spill import PLACES, Spill

FULL_SHARE = 0.97
"""A rack at least so full of liquid carries flow from inlet to outlet."""


class RackPlant:
    """Inputs are set, true values read, faults set; see `Plant` for when each takes effect.

    Inputs        xv_101_coil … xv_104_coil, fcv_command_pct (None: command lost, hold), permit_coil, load_kw
    True values   xv_101 … xv_104, fcv; flow_…_lpm, t_…_c, p_…_kpa (gauge, inside the rack); feeder_kw, busbar_kw, busbar_v,
                  permit_closed; wet, spilled_l, inventory_l, air_pct
    Faults        leak_mm {place: diameter} with place of PLACES; strainer_blockage, drain_blockage 0..1; passing_kv {"XV-101": Kv};
                  those of the actuators
    """

    def __init__(self, config: RackConfig, supply_c: float) -> None:
        flowing, drained = config.start is Start.FLOWING, config.start is Start.DRAINED
        opened = 1.0 if flowing else 0.0
        self.config = config
        self.xv_101 = Actuator(config.xv_open_s, config.xv_close_s, opened)
        self.xv_102 = Actuator(config.xv_open_s, config.xv_close_s, opened)
        self.xv_103 = Actuator(config.small_valve_s, config.small_valve_s)
        self.xv_104 = Actuator(config.small_valve_s, config.small_valve_s)
        self.fcv = MotorActuator(config.fcv_stroke_s, 0.0, config.fcv_dead_band, config.fcv_feedback_step)
        self.power = RackPower(config, flowing)
        self.spill = Spill()
        self.leak_mm: dict[str, float] = {}
        self.strainer_blockage = 0.0
        self.drain_blockage = 0.0
        self.passing_kv: dict[str, float] = {}

        self.space = Space(config.volume_l, config.height_m, config.compliance_l_per_bar)
        gas = config.gas_bar_l if not drained else config.volume_l * ATMOSPHERE_BAR
        liquid_l = 0.0 if drained else trapped_liquid_l(0.0, config.volume_l, config.compliance_l_per_bar, gas)
        self.trapped = Trapped(liquid_l, gas, 0.0)
        self.through = flowing
        self.flow_supply_lpm = 0.0
        self.flow_return_lpm = 0.0
        self.flow_drain_lpm = 0.0
        self.leak_lpm = 0.0
        self.relief_lpm = 0.0
        self.to_sump_l = 0.0
        self.p_supply_kpa = 0.0
        self.p_return_kpa = 0.0
        self.t_supply_c = supply_c
        self.solid_c = supply_c
        self.warmed_from_c = supply_c
        self.coolant_c = supply_c
        self.t_return_c = supply_c
        self._manifold = thermal.Plug(config.manifold_l, supply_c)

    # -- inputs --------------------------------------------------------------------------------------------------------------------

    @property
    def xv_101_coil(self) -> bool:
        """Coil of the supply isolation valve, after the wiring."""
        return self.xv_101.coil

    @xv_101_coil.setter
    def xv_101_coil(self, on: bool) -> None:
        self.xv_101.coil = on

    @property
    def xv_102_coil(self) -> bool:
        """Coil of the return isolation valve."""
        return self.xv_102.coil

    @xv_102_coil.setter
    def xv_102_coil(self, on: bool) -> None:
        self.xv_102.coil = on

    @property
    def xv_103_coil(self) -> bool:
        """Coil of the drain valve."""
        return self.xv_103.coil

    @xv_103_coil.setter
    def xv_103_coil(self, on: bool) -> None:
        self.xv_103.coil = on

    @property
    def xv_104_coil(self) -> bool:
        """Coil of the vent valve."""
        return self.xv_104.coil

    @xv_104_coil.setter
    def xv_104_coil(self, on: bool) -> None:
        self.xv_104.coil = on

    @property
    def fcv_command_pct(self) -> float | None:
        """Wanted position of FCV-101, %open; None when its bus is lost."""
        return None if self.fcv.command is None else self.fcv.command * 100.0

    @fcv_command_pct.setter
    def fcv_command_pct(self, pct: float | None) -> None:
        self.fcv.command = None if pct is None else pct / 100.0

    @property
    def permit_coil(self) -> bool:
        """Coil of XS-101's contactor."""
        return self.power.permit_coil

    @permit_coil.setter
    def permit_coil(self, on: bool) -> None:
        self.power.permit_coil = on

    @property
    def load_kw(self) -> float:
        """What the IT would draw, kW."""
        return self.power.load_kw

    @load_kw.setter
    def load_kw(self, kw: float) -> None:
        self.power.load_kw = kw

    # -- true values ---------------------------------------------------------------------------------------------------------------

    @property
    def permit_closed(self) -> bool:
        """XI-101."""
        return self.power.permit_closed

    @property
    def feeder_kw(self) -> float:
        """JT-101."""
        return self.power.feeder_kw

    @property
    def busbar_kw(self) -> float:
        """ET-101, load."""
        return self.power.busbar_kw

    @property
    def busbar_v(self) -> float:
        """ET-101, volts."""
        return self.power.busbar_v

    @property
    def wet(self) -> dict[str, bool]:
        """Liquid at LDT-101, LDT-102, LDT-103."""
        return self.spill.wet

    @property
    def spilled_l(self) -> float:
        """All that ever left through holes, litres."""
        return self.spill.total_l

    @property
    def inventory_l(self) -> float:
        """Liquid in the rack, litres."""
        return self.config.volume_l if self.through else self.trapped.liquid_l

    @property
    def air_pct(self) -> float:
        """Gas in the rack, % of its volume at the present pressure."""
        return 100.0 * self.trapped.gas_bar_l / (self.trapped.gauge_bar + ATMOSPHERE_BAR) / self.config.volume_l

    # -- steps, driven by Plant ----------------------------------------------------------------------------------------------------

    def move(self, dt_s: float) -> None:
        """Actuators and power, which change faster than the hydraulics."""
        self.xv_101.advance(dt_s)
        self.xv_102.advance(dt_s)
        self.xv_103.advance(dt_s)
        self.xv_104.advance(dt_s)
        self.fcv.advance(dt_s)
        self.power.advance(dt_s)

    def kv_in(self) -> float:
        """Conductance of strainer, XV-101 and FCV-101."""
        config = self.config
        xv = max(
            valve.equal_percentage_kv(self.xv_101.position, config.xv_kvs, config.xv_rangeability),
            self.passing_kv.get("XV-101", 0.0),
        )
        fcv = max(
            valve.equal_percentage_kv(self.fcv.position, config.fcv_kvs, config.fcv_rangeability),
            self.passing_kv.get("FCV-101", 0.0),
        )
        # A clean strainer is part of the valve's Kv; blocked by b, its mesh passes (1 - b) of a clean one's generous 3·Kvs.
        if self.strainer_blockage > 0.0:
            return valve.series_kv(xv, fcv, 3.0 * config.fcv_kvs * max(0.0, 1.0 - self.strainer_blockage))
        return valve.series_kv(xv, fcv)

    def kv_out(self) -> float:
        """Conductance of XV-102."""
        config = self.config
        kv = valve.equal_percentage_kv(self.xv_102.position, config.xv_kvs, config.xv_rangeability)
        return max(kv, self.passing_kv.get("XV-102", 0.0))

    def branch(self, density: float, isolated: bool = False) -> Branch:
        """The rack as the network sees it now, or as it would with both valves shut."""
        kv_in, kv_out = (0.0, 0.0) if isolated else (self.kv_in(), self.kv_out())
        self.through = kv_in > 0.0 and kv_out > 0.0 and self.is_full() if not isolated else self.through
        if isolated:
            return Branch(0.0, self.config.kv_rack, 0.0)
        if not self.through:
            return Branch(
                0.0,
                self.config.kv_rack,
                0.0,
                draw_supply=self.flow_supply_lpm / M3H_TO_LPM,
                draw_return=-self.flow_return_lpm / M3H_TO_LPM,
            )
        holes = {place: leak.discharge_m3h_per_root_bar(mm, density) for place, mm in self.leak_mm.items() if mm > 0.0}
        sg = density / 1000.0
        drain = self._drain_kv() / sg**0.5
        vent = self._vent_kv() / sg**0.5
        return Branch(
            kv_in,
            self.config.kv_rack,
            kv_out,
            leak_in=sum(holes.get(place, 0.0) for place in ("hose", "manifold")),
            leak_mid=holes.get("tray", 0.0) + vent + drain,
            leak_out=sum(holes.get(place, 0.0) for place in ("return_hose", "return_manifold")),
        )

    def is_full(self) -> bool:
        """True when the liquid reaches from inlet to outlet."""
        return self.trapped.liquid_l >= FULL_SHARE * self.config.volume_l

    def _drain_kv(self) -> float:
        return self.config.drain_kv * self.xv_103.position * max(0.0, 1.0 - self.drain_blockage)

    def _vent_kv(self) -> float:
        return self.config.vent_kv * self.xv_104.position

    def carry(
        self,
        flow_in: float,
        flow_out: float,
        inner: tuple[float, float, float],
        lost: tuple[float, float, float],
        density: float,
        dt_s: float,
    ) -> None:
        """Take a solution of the network: a full rack with both ways open. Flows m³/h, pressures bar."""
        self.flow_supply_lpm = flow_in * M3H_TO_LPM
        self.flow_return_lpm = flow_out * M3H_TO_LPM
        self.p_supply_kpa, self.p_return_kpa = inner[0] * 100.0, inner[2] * 100.0
        self.relief_lpm = 0.0
        tray_bar = inner[1]
        # The flow sweeps gas out to the CDU's separator, a rack volume at a time.
        gas = self.trapped.gas_bar_l
        if gas > self.config.gas_bar_l:
            gas = max(
                self.config.gas_bar_l,
                thermal.lag(gas, 0.0, abs(flow_in) * M3H_TO_LPM / 60.0 * dt_s, self.config.volume_l),
            )
        space = self.space
        self.trapped = Trapped(
            trapped_liquid_l(max(tray_bar, -0.9), space.volume_l, space.compliance_l_per_bar, gas), gas, tray_bar
        )
        sg = density / 1000.0
        root = max(tray_bar, 0.0) ** 0.5
        drain, vent = self._drain_kv() * root / sg**0.5, self._vent_kv() * root / sg**0.5
        by_place = {
            place: leak.orifice_flow_lpm(mm, inner[PLACES[place].node], density)
            for place, mm in self.leak_mm.items()
            if mm > 0.0
        }
        self._account(drain * M3H_TO_LPM, vent * M3H_TO_LPM, by_place, dt_s)

    def hold(self, supply_bar: float, return_bar: float, density: float, warmed_from_c: float, dt_s: float) -> None:
        """Step a rack that is shut at one side at least, filling or draining, between headers at the given pressures."""
        config = self.config
        holes = {place: leak.discharge_m3h_per_root_bar(mm, density) for place, mm in self.leak_mm.items() if mm > 0.0}
        total = sum(holes.values())
        height = (
            sum(k * PLACES[place].height_share for place, k in holes.items()) / total * config.height_m
            if total > 0.0
            else 0.0
        )
        ports = Ports(
            supply_bar=supply_bar,
            return_bar=return_bar,
            kv_in=self.kv_in(),
            kv_out=self.kv_out(),
            relief_kv=config.cv_102_kv,
            crack_bar=config.cv_102_crack_kpa / 100.0,
            psv_kv=config.psv_101_kv,
            psv_bar=config.psv_101_kpa / 100.0,
            leak=total,
            leak_height_m=height,
            vent_kv=self._vent_kv(),
            drain_kv=self._drain_kv(),
        )
        grown_l = expansion_l(self.trapped.liquid_l, warmed_from_c, self.coolant_c)
        self.trapped, flows = trapped_step(self.trapped, self.space, ports, density, grown_l, dt_s)
        self._take(flows)
        by_place = {place: flows.leak * M3H_TO_LPM * k / total for place, k in holes.items()}
        self._account(flows.drain * M3H_TO_LPM, (flows.vent + flows.psv) * M3H_TO_LPM, by_place, dt_s)

    def _take(self, flows: PortFlows) -> None:
        self.flow_supply_lpm = flows.supply * M3H_TO_LPM
        self.relief_lpm = flows.relief * M3H_TO_LPM
        # FT-102 stands before XV-102, so it also meters what passes CV-102 around the valve.
        self.flow_return_lpm = (flows.back + flows.relief) * M3H_TO_LPM
        self.p_supply_kpa = self.p_return_kpa = self.trapped.gauge_bar * 100.0

    def _account(self, drain_lpm: float, other_to_sump_lpm: float, leaks_lpm: dict[str, float], dt_s: float) -> None:
        self.flow_drain_lpm = drain_lpm
        self.to_sump_l = (drain_lpm + other_to_sump_lpm) * dt_s / 60.0
        self.leak_lpm = sum(leaks_lpm.values())
        if leaks_lpm:
            self.spill.add({place: lpm * dt_s / 60.0 for place, lpm in leaks_lpm.items()})

    def warm(self, inlet_c: float, dt_s: float) -> None:
        """Heat of one step: solids, coolant, manifold."""
        config = self.config
        self.t_supply_c = inlet_c
        flow_lpm = max(0.0, min(self.flow_supply_lpm, self.flow_return_lpm))
        rate_w_k = coolant.capacity_rate_w_k(flow_lpm, inlet_c, 0.5 * (inlet_c + self.coolant_c))
        ua_w_k = 1000.0 * thermal.conductance_w_k(
            config.ua_kw_k, flow_lpm / config.design_flow_lpm, config.ua_exponent, config.ua_least_ratio
        )
        power_w = self.busbar_kw * config.liquid_fraction * 1000.0
        coolant_j_k = 1000.0 * config.coolant_kj_k * max(0.05, min(1.0, self.trapped.liquid_l / config.volume_l))
        self.solid_c, self.coolant_c = thermal.two_node_step(
            power_w,
            1000.0 * config.solid_kj_k,
            coolant_j_k,
            ua_w_k,
            rate_w_k,
            self.solid_c,
            self.coolant_c,
            inlet_c,
            dt_s,
        )
        self.t_return_c = self._manifold.push(flow_lpm * dt_s / 60.0, self.coolant_c)

    def settle(self, inlet_c: float) -> None:
        """Put temperatures where they end up with the present flow and load."""
        config = self.config
        self.t_supply_c = self.coolant_c = self.solid_c = inlet_c
        if self.flow_supply_lpm > 0.0:
            power_w = self.busbar_kw * config.liquid_fraction * 1000.0
            ua_w_k = 1000.0 * thermal.conductance_w_k(
                config.ua_kw_k, self.flow_supply_lpm / config.design_flow_lpm, config.ua_exponent, config.ua_least_ratio
            )
            self.coolant_c = thermal.outlet_c(power_w, self.flow_supply_lpm, inlet_c)
            self.solid_c = self.coolant_c + power_w / ua_w_k
        self.t_return_c = self.warmed_from_c = self.coolant_c
        self._manifold = thermal.Plug(config.manifold_l, self.coolant_c)

    def add_air(self, litres: float) -> None:
        """Let air in, litres at atmospheric pressure: it gathers in the rack until flow or vent takes it away."""
        gas = max(LEAST_GAS_BAR_L, self.trapped.gas_bar_l + litres * ATMOSPHERE_BAR)
        self.trapped = Trapped(max(0.0, self.trapped.liquid_l - litres), gas, self.trapped.gauge_bar)
