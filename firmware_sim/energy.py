"""What flow that follows the heat saves at the pumps, worked out with the simulator's own plant.

Compared are, at the same loads: every FCV-101 wide open and the CDU holding the racks' whole design flow; flow by load with the CDU
holding the header's dP; and the same with that dP as low as the neediest rack allows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from firmware_sim.demo_plant import LPM_PER_KW, cdu_config, rack_config
from firmware_sim.plant import Plant
from firmware_sim.plant_config import CduMode, PlantConfig

MARGIN, LEAST_SHARE, MOST_SHARE = 1.05, 0.5, 1.25
"""Flow set-point of the control law: 5 % above need, between these shares of the design flow."""
SPARE = 1.15
"""A dP set-point that follows the neediest rack stays this much above what it needs."""
SETTLE_S = 30.0


@dataclass(frozen=True, slots=True)
class PumpDay:
    """Pump energy of 24 h, kWh at the shaft.

    open_kwh        valves open, constant design flow;  by_load_kwh  flow by load, constant dP;  lowered_kwh  and dP lowered to need
    """

    racks: int
    rating_kw: float
    load_kw: float
    open_kwh: float
    by_load_kwh: float
    lowered_kwh: float

    @property
    def saved_pct(self) -> float:
        """What flow by load with the lowered dP saves against valves open."""
        return 100.0 * (1.0 - self.lowered_kwh / self.open_kwh)

    def line(self) -> str:
        """The figures in a sentence."""
        return (
            f"SIMULATED pump energy of a day, {self.racks} racks of {self.rating_kw:.0f} kW at {self.load_kw:.1f} kW in all: "
            f"{self.open_kwh:.1f} kWh with valves open at constant flow, {self.by_load_kwh:.1f} kWh with flow by load at constant dP, "
            f"{self.lowered_kwh:.1f} kWh with dP lowered to need: {self.saved_pct:.0f} % less"
        )


def flow_by_load_lpm(load_kw: float, rating_kw: float) -> float:
    """Flow set-point of the control law at this load."""
    nominal = LPM_PER_KW * rating_kw
    return min(MOST_SHARE * nominal, max(LEAST_SHARE * nominal, MARGIN * LPM_PER_KW * load_kw))


def pump_day(profile: Sequence[Sequence[float]], rating_kw: float = 132.0) -> PumpDay:
    """Energy of a day that is ``profile`` over and over: loads of each rack, kW, at equal steps of time. Raises ValueError when empty."""
    if not profile or not profile[0]:
        raise ValueError("a day needs at least one step with the load of at least one rack")
    count = len(profile[0])
    opened = _open_kw(count, rating_kw)
    known: dict[tuple[float, ...], tuple[float, float]] = {}
    sums = [0.0, 0.0, 0.0]
    for loads in profile:
        flows = tuple(round(flow_by_load_lpm(load, rating_kw)) * 1.0 for load in loads)
        if flows not in known:
            known[flows] = _controlled_kw(flows, rating_kw)
        sums[0] += known[flows][0]
        sums[1] += known[flows][1]
        sums[2] += sum(loads)
    hours = 24.0 / len(profile)
    return PumpDay(count, rating_kw, sums[2] / len(profile), 24.0 * opened, hours * sums[0], hours * sums[1])


def _plant(flows_lpm: Sequence[float], rating_kw: float, mode: CduMode, dp_kpa: float | None = None) -> Plant:
    """A plant sized for its rating whose racks' valves stand for these flows."""
    sized = [rack_config(f"r{i:02}", rating_kw, 1.0) for i in range(1, len(flows_lpm) + 1)]
    cdu = cdu_config(sized, mode)
    racks = tuple(replace(rack, design_flow_lpm=flow) for rack, flow in zip(sized, flows_lpm, strict=True))
    return Plant(PlantConfig(cdu if dp_kpa is None else replace(cdu, dp_setpoint_kpa=dp_kpa), racks), seed=1)


def _open_kw(count: int, rating_kw: float) -> float:
    """Shaft power with every FCV-101 open and the design flow through all."""
    design = LPM_PER_KW * rating_kw
    plant = _plant([design] * count, rating_kw, CduMode.CONSTANT_FLOW)
    plant.cdu.flow_setpoint_lpm = design * count
    for rack in plant.racks.values():
        rack.fcv.position = rack.fcv.shaft = 1.0
        rack.fcv_command_pct = 100.0
    plant.advance(SETTLE_S)
    return plant.cdu.pump_kw


def _controlled_kw(flows_lpm: Sequence[float], rating_kw: float) -> tuple[float, float]:
    """Shaft power with these flows at the design dP, and at the least dP that gives them."""
    plant = _plant(flows_lpm, rating_kw, CduMode.CONSTANT_DP)
    high = plant.cdu.dp_setpoint_kpa
    low = 0.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        try:
            _plant(flows_lpm, rating_kw, CduMode.CONSTANT_DP, middle)
        except ValueError:
            low = middle
        else:
            high = middle
    needed = min(SPARE * high, plant.cdu.dp_setpoint_kpa)
    return plant.cdu.pump_kw, _plant(flows_lpm, rating_kw, CduMode.CONSTANT_DP, needed).cdu.pump_kw
