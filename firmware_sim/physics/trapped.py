"""A rack that is shut, filling or draining: liquid and a little gas in an elastic space with openings.

Pressures bar gauge, flows m³/h, volumes litres. The step is implicit in the pressure, so that a nearly rigid space (a few
hundredths of a litre per bar) needs no small steps.
"""

import math
from dataclasses import dataclass

from firmware_sim.physics import valve
from firmware_sim.physics.pipe import GRAVITY_M_S2, M3H_TO_LPM, gravity_flow_m3h
from firmware_sim.physics.roots import rising_root
from firmware_sim.physics.vessel import ATMOSPHERE_BAR, trapped_liquid_l, trapped_pressure_bar


@dataclass(frozen=True, slots=True)
class Space:
    """The rack as a vessel.

    volume_l                liquid when full at atmospheric pressure
    height_m                level above the drain when full; uniform cross-section
    compliance_l_per_bar    hoses, plates and liquid; 0.26..5.2 bar/K of trapped pressure lies between 0.1 and 0.005 for 50 L
    """

    volume_l: float
    height_m: float
    compliance_l_per_bar: float


@dataclass(frozen=True, slots=True)
class Ports:
    """What the space is joined to at the moment.

    kv_in, kv_out          ways to the headers, 0 when shut
    relief_kv, crack_bar   spring check rack → return header (CV-102)
    psv_kv, psv_bar        safety valve: begins to lift at ``psv_bar``, wide open 10 % above
    leak                   holes: k of ``Q = k·√p``, at ``leak_height_m`` above the drain. Without a vent they stop at atmospheric
                           pressure: the vacuum above holds what is left
    vent_kv, drain_kv      vent at the top (gas until the space is full, then liquid), drain at the bottom; 0 when shut
    """

    supply_bar: float
    return_bar: float
    kv_in: float = 0.0
    kv_out: float = 0.0
    relief_kv: float = 0.0
    crack_bar: float = 0.4
    psv_kv: float = 0.0
    psv_bar: float = 6.0
    leak: float = 0.0
    leak_height_m: float = 1.0
    vent_kv: float = 0.0
    drain_kv: float = 0.0


@dataclass(frozen=True, slots=True)
class PortFlows:
    """Flows at one pressure, m³/h; ``supply`` into the space, the others out of it."""

    supply: float
    back: float
    relief: float
    psv: float
    leak: float
    vent: float
    drain: float

    @property
    def net(self) -> float:
        """Into the space."""
        return self.supply - self.back - self.relief - self.psv - self.leak - self.vent - self.drain


def relief_flow_m3h(kv: float, inner_bar: float, outer_bar: float, crack_bar: float, sg: float) -> float:
    """Flow of a spring check valve: what its opening pressure leaves over drives the liquid through ``kv``."""
    over = inner_bar - outer_bar - crack_bar
    return kv * math.sqrt(over / sg) if over > 0.0 else 0.0


def safety_valve_flow_m3h(kv: float, inner_bar: float, set_bar: float, sg: float) -> float:
    """Flow of a proportional safety valve to the sump, full lift at 1.1 times its set pressure."""
    if inner_bar <= set_bar:
        return 0.0
    return kv * min(1.0, (inner_bar - set_bar) / (0.1 * set_bar)) * math.sqrt(inner_bar / sg)


def port_flows(gauge_bar: float, level_m: float, ports: Ports, density: float, full: bool) -> PortFlows:
    """Flows through every port when the space stands at ``gauge_bar`` with liquid up to ``level_m``."""
    sg = density / 1000.0
    back = valve.flow_m3h(gauge_bar - ports.return_bar, ports.kv_out, sg) if ports.kv_out > 0.0 else 0.0
    if back > 0.0 and level_m <= 0.0:
        back = 0.0
    leak = 0.0
    if ports.leak > 0.0 and level_m > 0.0:
        head_m = max(0.0, level_m - ports.leak_height_m) if ports.vent_kv > 0.0 else 0.0
        driving = gauge_bar + density * GRAVITY_M_S2 * 1e-5 * head_m
        leak = ports.leak * math.sqrt(driving) if driving > 0.0 else 0.0
    return PortFlows(
        supply=valve.flow_m3h(ports.supply_bar - gauge_bar, ports.kv_in, sg) if ports.kv_in > 0.0 else 0.0,
        back=back,
        relief=relief_flow_m3h(ports.relief_kv, gauge_bar, ports.return_bar, ports.crack_bar, sg),
        psv=safety_valve_flow_m3h(ports.psv_kv, gauge_bar, ports.psv_bar, sg),
        leak=leak,
        vent=ports.vent_kv * math.sqrt(gauge_bar / sg) if full and gauge_bar > 0.0 and ports.vent_kv > 0.0 else 0.0,
        drain=gravity_flow_m3h(ports.drain_kv, density, level_m, gauge_bar)
        if level_m > 0.0 and ports.drain_kv > 0.0
        else 0.0,
    )


@dataclass(frozen=True, slots=True)
class Trapped:
    """State of the space: liquid at its present temperature, gas as P_abs·V in bar·L, and the pressure they make."""

    liquid_l: float
    gas_bar_l: float
    gauge_bar: float


LEAST_GAS_BAR_L = 0.02
"""Dissolved and clinging gas that no venting removes."""


def trapped_step(
    state: Trapped, space: Space, ports: Ports, density: float, expansion_l: float, dt_s: float
) -> tuple[Trapped, PortFlows]:
    """The space after ``dt_s`` in which its liquid also grew by ``expansion_l`` litres."""
    to_litres = M3H_TO_LPM * dt_s / 60.0
    liquid_l = max(0.0, state.liquid_l + expansion_l)
    brimful_l = space.volume_l - LEAST_GAS_BAR_L / ATMOSPHERE_BAR
    if ports.vent_kv > 0.0 and liquid_l < brimful_l:
        # Gas passes the vent some thirty times easier than liquid: the space stands at the room's pressure.
        flows = port_flows(0.0, _level_m(liquid_l, space), ports, density, full=False)
        after_l = max(0.0, liquid_l + flows.net * to_litres)
        if after_l < brimful_l:
            return Trapped(after_l, (space.volume_l - after_l) * ATMOSPHERE_BAR, 0.0), flows
        state = Trapped(liquid_l, LEAST_GAS_BAR_L, 0.0)
    level_m, full = _level_m(liquid_l, space), liquid_l >= 0.97 * space.volume_l

    def surplus(gauge: float) -> float:
        inside_l = trapped_liquid_l(gauge, space.volume_l, space.compliance_l_per_bar, state.gas_bar_l)
        return inside_l - liquid_l - port_flows(gauge, level_m, ports, density, full).net * to_litres

    gauge = rising_root(surplus, state.gauge_bar, -0.99 * ATMOSPHERE_BAR)
    flows = port_flows(gauge, level_m, ports, density, full)
    after_l = max(0.0, liquid_l + flows.net * to_litres)
    if after_l <= 0.0:
        gauge = trapped_pressure_bar(0.0, space.volume_l, space.compliance_l_per_bar, state.gas_bar_l)
    return Trapped(after_l, state.gas_bar_l, gauge), flows


def _level_m(liquid_l: float, space: Space) -> float:
    return space.height_m * min(1.0, liquid_l / space.volume_l)
