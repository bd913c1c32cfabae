"""One rack of the plant: its liquid and its heat."""

from firmware_sim.physics import coolant, leak, thermal, valve
from firmware_sim.physics.branch import HALF, Branch
from firmware_sim.physics.pipe import M3H_TO_LPM
from firmware_sim.physics.trapped import LEAST_GAS_BAR_L, Ports, Space, Trapped, trapped_step
from firmware_sim.physics.vessel import ATMOSPHERE_BAR, expansion_l, trapped_liquid_l
from firmware_sim.plant_config import RackConfig, Start
from firmware_sim.rack_terminals import RackTerminals
from firmware_sim.spill import PLACES

FULL_SHARE = 0.97
"""A rack at least so full of liquid carries flow from inlet to outlet."""

WEAK_HOSE_KPA, WEAK_HOSE_BAND_KPA, WEAK_HOSE_AT_BAR = 120.0, 20.0, 2.0
"""A weak hose is tight below the first, opens over the band, and loses what it is told at the last."""

COOLANT_KJ_L_K = 4.02
"""Heat in a litre of coolant: how much liquid the coolant node stands for."""


class RackPlant(RackTerminals):
    """Inputs are set, true values read, faults set; see `Plant` for when each takes effect.

    Inputs        xv_101_coil … xv_104_coil, fcv_command_pct (None: command lost, hold), permit_coil, load_kw
    True values   xv_101 … xv_104, fcv; flow_…_lpm, t_…_c, p_…_kpa (gauge, inside the rack); feeder_kw, busbar_kw, busbar_v,
                  permit_closed; wet, spilled_l, inventory_l, air_pct
    Faults        leak_mm {place: diameter} with place of PLACES; strainer_blockage, drain_blockage 0..1; passing_kv {"XV-101": Kv}
                  for XV-101, XV-102, FCV-101; those of the actuators and of ``power``
    """

    def __init__(self, config: RackConfig, supply_c: float) -> None:
        super().__init__(config, config.start is Start.FLOWING)
        self.leak_mm: dict[str, float] = {}
        self.strainer_blockage = 0.0
        self.drain_blockage = 0.0
        self.passing_kv: dict[str, float] = {}
        self.weak_hose_lpm = 0.0

        drained = config.start is Start.DRAINED
        self.space = Space(config.volume_l, config.height_m, config.compliance_l_per_bar)
        gas = config.volume_l * ATMOSPHERE_BAR if drained else config.gas_bar_l
        liquid_l = 0.0 if drained else trapped_liquid_l(0.0, config.volume_l, config.compliance_l_per_bar, gas)
        self.trapped = Trapped(liquid_l, gas, 0.0)
        self.through = config.start is Start.FLOWING
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
        self.coolant_c = supply_c
        self.t_return_c = supply_c
        self._warmer_k = 0.0
        self._manifold = thermal.Plug(config.manifold_l, supply_c)

    @property
    def inventory_l(self) -> float:
        """Liquid in the rack, litres."""
        return self.config.volume_l if self.through else self.trapped.liquid_l

    @property
    def air_pct(self) -> float:
        """Gas in the rack, % of its volume at the present pressure."""
        return 100.0 * self.trapped.gas_bar_l / (self.trapped.gauge_bar + ATMOSPHERE_BAR) / self.config.volume_l

    # -- the rack as others see it -------------------------------------------------------------------------------------------------

    def kv_in(self) -> float:
        """Conductance of strainer, XV-101 and FCV-101."""
        config = self.config
        xv = valve.equal_percentage_kv(self.xv_101.position, config.xv_kvs, config.xv_rangeability)
        fcv = valve.equal_percentage_kv(self.fcv.position, config.fcv_kvs, config.fcv_rangeability)
        if self.passing_kv:
            xv = max(xv, self.passing_kv.get("XV-101", 0.0))
            fcv = max(fcv, self.passing_kv.get("FCV-101", 0.0))
        # A clean strainer is part of the valve's Kv; blocked by b, its mesh passes (1 - b) of a clean one's generous 3·Kvs.
        if self.strainer_blockage > 0.0:
            return valve.series_kv(xv, fcv, 3.0 * config.fcv_kvs * max(0.0, 1.0 - self.strainer_blockage))
        return valve.series_kv(xv, fcv)

    def kv_out(self) -> float:
        """Conductance of XV-102."""
        config = self.config
        kv = valve.equal_percentage_kv(self.xv_102.position, config.xv_kvs, config.xv_rangeability)
        return max(kv, self.passing_kv.get("XV-102", 0.0)) if self.passing_kv else kv

    def is_full(self) -> bool:
        """True when the liquid reaches from inlet to outlet."""
        return self.trapped.liquid_l >= FULL_SHARE * self.config.volume_l

    def branch(self, density: float) -> Branch:
        """The rack as the network sees it now: a way through, or what it draws while shut, filling or draining."""
        kv_in, kv_out, kv_rack = self.kv_in(), self.kv_out(), self.config.kv_rack
        if not (kv_in > 0.0 and kv_out > 0.0 and self.is_full()):
            return Branch(
                0.0, kv_rack, 0.0, 0.0, 0.0, 0.0, self.flow_supply_lpm / M3H_TO_LPM, -self.flow_return_lpm / M3H_TO_LPM
            )
        nodes = [sum(node.values()) for node in self._openings(density)]
        if self.trapped.gas_bar_l > self.config.gas_bar_l:  # gas takes its share of the way
            kv_rack *= 1.0 - 0.01 * self.air_pct
        return Branch(kv_in, kv_rack, kv_out, nodes[0], nodes[1], nodes[2])

    def _openings(self, density: float) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        """Openings to the air by node (inlet, half-way, outlet) and name: holes, and vent and drain half-way; m³/h per √bar."""
        nodes: tuple[dict[str, float], dict[str, float], dict[str, float]] = ({}, {}, {})
        for place, mm in self.leak_mm.items():
            if mm > 0.0:
                nodes[PLACES[place].node][place] = leak.discharge_m3h_per_root_bar(mm, density)
        if self.weak_hose_lpm > 0.0 and self.p_supply_kpa > WEAK_HOSE_KPA:
            wide = min(1.0, (self.p_supply_kpa - WEAK_HOSE_KPA) / WEAK_HOSE_BAND_KPA)
            at_hose = self.weak_hose_lpm / M3H_TO_LPM / WEAK_HOSE_AT_BAR**0.5 * wide
            nodes[0]["hose"] = nodes[0].get("hose", 0.0) + at_hose
        root_sg = (density / 1000.0) ** 0.5
        if self.xv_103.position > 0.0:
            nodes[1]["drain"] = self._drain_kv() / root_sg
        if self.xv_104.position > 0.0:
            nodes[1]["vent"] = self._vent_kv() / root_sg
        return nodes

    def _drain_kv(self) -> float:
        return self.config.drain_kv * self.xv_103.position * max(0.0, 1.0 - self.drain_blockage)

    def _vent_kv(self) -> float:
        return self.config.vent_kv * self.xv_104.position

    # -- steps, driven by Plant ----------------------------------------------------------------------------------------------------

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
        self.through = True
        self.flow_supply_lpm = flow_in * M3H_TO_LPM
        self.flow_return_lpm = flow_out * M3H_TO_LPM
        self.p_supply_kpa, self.p_return_kpa = inner[0] * 100.0, inner[2] * 100.0
        self.relief_lpm = 0.0
        gas, space = self._swept_gas(dt_s), self.space
        gauge = max(inner[1], -0.9)
        self.trapped = Trapped(trapped_liquid_l(gauge, space.volume_l, space.compliance_l_per_bar, gas), gas, gauge)
        out: dict[str, float] = {}
        if any(lost):
            for flow, node in zip(lost, self._openings(density), strict=True):
                total = sum(node.values())
                out.update({name: flow * M3H_TO_LPM * k / total for name, k in node.items()})
        self._account(out.pop("drain", 0.0), out.pop("vent", 0.0), out, dt_s)

    def _swept_gas(self, dt_s: float) -> float:
        """Gas left after a step: flow carries it to the CDU's separator, a rack volume at a time."""
        gas, least = self.trapped.gas_bar_l, self.config.gas_bar_l
        swept_lpm = min(self.flow_supply_lpm, self.flow_return_lpm)
        if gas <= least or swept_lpm <= 0.0:
            return gas
        return max(least, thermal.lag(gas, 0.0, swept_lpm / 60.0 * dt_s, self.config.volume_l))

    def hold(self, supply_bar: float, return_bar: float, density: float, dt_s: float) -> None:
        """Step a rack that is shut at one side at least, filling or draining, between headers at the given pressures."""
        self.through = False
        config = self.config
        holes = {name: k for node in self._openings(density) for name, k in node.items() if name in PLACES}
        total = sum(holes.values())
        height = (
            sum(k * PLACES[place].height_share for place, k in holes.items()) / total * config.height_m
            if holes
            else 0.0
        )
        kv_in, kv_out = self.kv_in(), self.kv_out()
        if kv_in > 0.0 and kv_out > 0.0:
            half = config.kv_rack * HALF
            kv_in, kv_out = valve.series_kv(kv_in, half), valve.series_kv(kv_out, half)
        ports = Ports(
            supply_bar=supply_bar,
            return_bar=return_bar,
            kv_in=kv_in,
            kv_out=kv_out,
            relief_kv=config.cv_102_kv,
            crack_bar=config.cv_102_crack_kpa / 100.0,
            psv_kv=config.psv_101_kv,
            psv_bar=config.psv_101_kpa / 100.0,
            leak=total,
            leak_height_m=height,
            vent_kv=self._vent_kv(),
            drain_kv=self._drain_kv(),
        )
        warmed_l = min(self.trapped.liquid_l, config.coolant_kj_k / COOLANT_KJ_L_K)
        grown_l = expansion_l(warmed_l, self.coolant_c - self._warmer_k, self.coolant_c)
        gas = self._swept_gas(dt_s)
        start = (
            self.trapped
            if gas >= self.trapped.gas_bar_l
            else Trapped(self.trapped.liquid_l, gas, self.trapped.gauge_bar)
        )
        self.trapped, flows = trapped_step(start, self.space, ports, density, grown_l, dt_s)
        self.flow_supply_lpm = flows.supply * M3H_TO_LPM
        self.relief_lpm = flows.relief * M3H_TO_LPM
        # FT-102 stands before XV-102, so it also meters what passes CV-102 around the valve.
        self.flow_return_lpm = (flows.back + flows.relief) * M3H_TO_LPM
        self.p_supply_kpa = self.p_return_kpa = self.trapped.gauge_bar * 100.0
        leaks = {place: flows.leak * M3H_TO_LPM * k / total for place, k in holes.items()}
        self._account(flows.drain * M3H_TO_LPM, (flows.vent + flows.psv) * M3H_TO_LPM, leaks, dt_s)

    def _account(self, drain_lpm: float, other_to_sump_lpm: float, leaks_lpm: dict[str, float], dt_s: float) -> None:
        self.flow_drain_lpm = drain_lpm
        self.to_sump_l = (drain_lpm + other_to_sump_lpm) * dt_s / 60.0
        self.leak_lpm = sum(leaks_lpm.values())
        if leaks_lpm:
            self.spill.add({place: lpm * dt_s / 60.0 for place, lpm in leaks_lpm.items()})

    def _conductance_w_k(self, flow_lpm: float) -> float:
        config = self.config
        return 1000.0 * thermal.conductance_w_k(
            config.ua_kw_k, flow_lpm / config.design_flow_lpm, config.ua_exponent, config.ua_least_ratio
        )

    def warm(self, inlet_c: float, dt_s: float) -> None:
        """Heat of one step: solids, coolant, manifold."""
        config, before_c = self.config, self.coolant_c
        self.t_supply_c = inlet_c
        flow_lpm = max(0.0, min(self.flow_supply_lpm, self.flow_return_lpm))
        rate_w_k = coolant.capacity_rate_w_k(flow_lpm, inlet_c, 0.5 * (inlet_c + before_c))
        power_w = self.busbar_kw * config.liquid_fraction * 1000.0
        # Without liquid a twentieth of the capacity stays: the walls of the cold plates.
        liquid_j_k = 1000.0 * config.coolant_kj_k * max(0.05, min(1.0, self.trapped.liquid_l / config.volume_l))
        self.solid_c, self.coolant_c = thermal.two_node_step(
            power_w,
            1000.0 * config.solid_kj_k,
            liquid_j_k,
            self._conductance_w_k(flow_lpm),
            rate_w_k,
            self.solid_c,
            before_c,
            inlet_c,
            dt_s,
        )
        self._warmer_k = self.coolant_c - before_c
        self.t_return_c = self._manifold.push(flow_lpm * dt_s / 60.0, self.coolant_c)

    def settle(self, inlet_c: float) -> None:
        """Put temperatures where they end up with the present flow and load."""
        self.t_supply_c = self.coolant_c = self.solid_c = inlet_c
        if self.flow_supply_lpm > 0.0:
            power_w = self.busbar_kw * self.config.liquid_fraction * 1000.0
            self.coolant_c = thermal.outlet_c(power_w, self.flow_supply_lpm, inlet_c)
            self.solid_c = self.coolant_c + power_w / self._conductance_w_k(self.flow_supply_lpm)
        self.t_return_c, self._warmer_k = self.coolant_c, 0.0
        self._manifold = thermal.Plug(self.config.manifold_l, self.coolant_c)

    def add_air(self, litres: float) -> None:
        """Let air in, litres at atmospheric pressure, in the place of liquid: it stays until flow or vent takes it away."""
        space, gauge = self.space, self.trapped.gauge_bar
        gas = max(LEAST_GAS_BAR_L, self.trapped.gas_bar_l + litres * ATMOSPHERE_BAR)
        liquid_l = trapped_liquid_l(gauge, space.volume_l, space.compliance_l_per_bar, gas)
        self.trapped = Trapped(max(0.0, liquid_l), gas, gauge)
