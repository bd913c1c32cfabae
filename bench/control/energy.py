"""Pump energy of a day: the flow that each rack needs, against every valve open and the design flow all day."""

import math
import random
from dataclasses import dataclass, replace

from firmware_sim.demo_plant import CDU_DROP_BAR, HEADER_DP_BAR, cdu_config, rack_config
from firmware_sim.physics.actuator import MotorActuator
from firmware_sim.physics.pump import shaft_power_kw
from firmware_sim.physics.valve import equal_percentage_kv, flow_m3h, pressure_drop_bar, series_kv
from firmware_sim.plant_config import CduMode, RackConfig
from valvey.core.flow_control import begin, control
from valvey.core.flow_state import Control, Seen, Tuning

SG = 1.0145
LPM_PER_M3H = 1000.0 / 60.0
KW_PER_LPM_K = 0.0669
RATED_KW = 132.0
RACKS = 4
SCAN_S = 2.0
#: How slowly the return temperature follows: cold plates, plug and pocket together.
THERMAL_S = 25.0
MOST_OPEN_PCT = 90.0
LEAST_HEADER_BAR = 0.3


@dataclass(frozen=True, slots=True)
class Day:
    """One way to spend a day's load. Shares of the rated power.

    busy, idle   range while a job runs, and between jobs
    job_h, gap_h     how long a job and a pause last, on average
    """

    name: str
    busy: tuple[float, float]
    idle: float
    job_h: float
    gap_h: float


DAYS = (
    # The recorded racks stand between 36 and 48 kW all the time: 0.75..1 of the greatest.
    Day("like the recording: always busy", (0.75, 1.0), 0.75, 3.0, 0.0),
    Day("training jobs with pauses", (0.75, 1.0), 0.25, 3.0, 1.5),
)


def load_kw(day: Day, seed: int, hours: float) -> list[float]:
    """Power of one rack every SCAN_S: jobs of square waves between a computing and an exchanging phase."""
    chance = random.Random(f"{day.name} {seed}")
    out: list[float] = []
    while len(out) < hours * 3600.0 / SCAN_S:
        level, dip, period_s = chance.uniform(*day.busy), chance.uniform(0.8, 1.0), chance.uniform(4.0, 30.0)
        for scan in range(round(chance.expovariate(1.0 / day.job_h) * 3600.0 / SCAN_S)):
            out.append(RATED_KW * level * (dip if (scan * SCAN_S) % period_s < 0.3 * period_s else 1.0))
        if day.gap_h > 0.0:
            out += [RATED_KW * day.idle] * round(chance.expovariate(1.0 / day.gap_h) * 3600.0 / SCAN_S)
    return out[: round(hours * 3600.0 / SCAN_S)]


def open_valves_kw(racks: list[RackConfig], efficiency: float) -> float:
    """Shaft power with every FCV-101 open and the design flow through each rack."""
    design = racks[0].design_flow_lpm / LPM_PER_M3H
    header_bar = pressure_drop_bar(design, series_kv(racks[0].fcv_kvs, racks[0].kv_rack), SG)
    return shaft_power_kw(design * len(racks), header_bar + CDU_DROP_BAR, efficiency)


class _Rack:
    def __init__(self, config: RackConfig, load: list[float]) -> None:
        self.config, self.load = config, load
        self.drive = MotorActuator(config.fcv_stroke_s, 0.75, config.fcv_dead_band, config.fcv_feedback_step)
        self.tuning = replace(Tuning(), flow_nominal_lpm=config.design_flow_lpm, kv_rest_m3_h=config.kv_rack)
        self.state: Control = begin(75.0, self.tuning)
        self.flow_lpm = config.design_flow_lpm
        self.rise_k = 10.0
        self.hottest_k = 0.0

    def scan(self, number: int, header_bar: float) -> None:
        kw = self.load[number]
        seen = Seen(kw, self.flow_lpm, header_bar * 100.0, None, 100.0 * self.drive.feedback, self.rise_k)
        self.state = control(self.state, seen, self.tuning, SCAN_S)
        self.drive.command = self.state.command_pct / 100.0
        self.drive.advance(SCAN_S)
        kv = series_kv(equal_percentage_kv(self.drive.position, self.config.fcv_kvs, 50.0), self.config.kv_rack)
        self.flow_lpm = LPM_PER_M3H * flow_m3h(header_bar, kv, SG)
        target = self.config.liquid_fraction * kw / (KW_PER_LPM_K * self.flow_lpm)
        self.rise_k += (target - self.rise_k) * (1.0 - math.exp(-SCAN_S / THERMAL_S))
        self.hottest_k = max(self.hottest_k, self.rise_k if number > 300 else 0.0)


def day_run(day: Day, seed: int, hours: float, reset: bool) -> dict[str, float]:
    """One day of RACKS racks at a constant header pressure difference.

    saved_pct            against every valve open and the design flow: the least that constant flow can cost
    saved_of_design_pct  against the design flow at the design's header pressure difference, valves set once
    reset   it is lowered as far as the most open valve allows (the coordinator's work, done ideally here)
    """
    configs = [rack_config(f"r{n:02}", RATED_KW) for n in range(RACKS)]
    efficiency = cdu_config(configs, CduMode.CONSTANT_DP).pump_efficiency
    racks = [_Rack(config, load_kw(day, seed * 100 + n, hours)) for n, config in enumerate(configs)]
    header_bar, used_kwh, litres = HEADER_DP_BAR, 0.0, 0.0
    design_lpm = RACKS * configs[0].design_flow_lpm
    cdu_kv = design_lpm / LPM_PER_M3H * math.sqrt(SG / CDU_DROP_BAR)
    scans = round(hours * 3600.0 / SCAN_S)
    for number in range(scans):
        for rack in racks:
            rack.scan(number, header_bar)
        total_lpm = sum(rack.flow_lpm for rack in racks)
        litres += total_lpm * SCAN_S / 60.0
        lift_bar = header_bar + pressure_drop_bar(total_lpm / LPM_PER_M3H, cdu_kv, SG)
        used_kwh += shaft_power_kw(total_lpm / LPM_PER_M3H, lift_bar, efficiency) * SCAN_S / 3600.0
        if reset:
            most_open = max(100.0 * rack.drive.position for rack in racks)
            header_bar = min(
                HEADER_DP_BAR, max(LEAST_HEADER_BAR, header_bar * (1.0 + 0.0002 * (most_open - MOST_OPEN_PCT)))
            )
    open_kwh = open_valves_kw(configs, efficiency) * hours
    design_kw = shaft_power_kw(design_lpm / LPM_PER_M3H, HEADER_DP_BAR + CDU_DROP_BAR, efficiency)
    design_l = design_lpm * hours * 60.0
    return {
        "saved_pct": 100.0 * (1.0 - used_kwh / open_kwh),
        "saved_of_design_pct": 100.0 * (1.0 - used_kwh / (design_kw * hours)),
        "kwh_per_day": used_kwh * 24.0 / hours,
        "constant_flow_kwh_per_day": open_kwh * 24.0 / hours,
        "flow_of_design_pct": 100.0 * litres / design_l,
        "hottest_rise_k": max(rack.hottest_k for rack in racks),
    }
