"""One rack's branch between the headers, built from the simulator's own valve and drive, seen through real meters."""

import random
from collections import deque
from dataclasses import dataclass
from math import exp

from firmware_sim.physics.actuator import MotorActuator
from firmware_sim.physics.valve import equal_percentage_kv, equal_percentage_position, flow_m3h, kv_for_flow, series_kv
from valvey.core.flow_state import Seen

STEP_S = 0.1
SG = 1.0145
LPM_PER_M3H = 1000.0 / 60.0


@dataclass(frozen=True, slots=True)
class Branch:
    """What the branch is like.

    kv_rest, kvs, rangeability   m³/h; the demo's 132 kW rack
    header_kpa                   between the headers
    stroke_s, dead_band          of FCV-101's drive; the dead band as a share of its travel
    meter_s, noise               first-order lag of FT-101, noise of one reading as a share of it
    meter_dead_s, command_dead_s   dead time of the meter, and between the command and the motor
    pressure_noise               noise of one reading of the header's pressure difference, as a share
    feedback_step                of the position
    """

    kv_rest: float = 12.5
    kvs: float = 30.4
    rangeability: float = 50.0
    header_kpa: float = 200.0
    stroke_s: float = 90.0
    dead_band: float = 0.01
    meter_s: float = 2.0
    noise: float = 0.005
    meter_dead_s: float = 1.0
    command_dead_s: float = 0.0
    pressure_noise: float = 0.003
    feedback_step: float = 0.001


class Plant:
    """The branch as it runs. ``flow_lpm`` and ``position_pct`` are true, ``seen`` is what instruments tell."""

    def __init__(self, branch: Branch, flow_lpm: float, seed: int) -> None:
        self.branch = branch
        self.header_kpa = branch.header_kpa
        self._chance = random.Random(seed)
        self._drive = MotorActuator(
            branch.stroke_s, position_for(branch, flow_lpm), branch.dead_band, branch.feedback_step
        )
        self._commands = deque([self.position_pct] * round(branch.command_dead_s / STEP_S))
        self.flow_lpm = self._flow()
        self._delayed = deque([self.flow_lpm] * round(branch.meter_dead_s / STEP_S))
        self._meter = self.flow_lpm
        self.reversals = 0
        self._heading = 0

    @property
    def position_pct(self) -> float:
        return 100.0 * self._drive.position

    def _flow(self) -> float:
        kv = series_kv(
            equal_percentage_kv(self._drive.position, self.branch.kvs, self.branch.rangeability), self.branch.kv_rest
        )
        return LPM_PER_M3H * flow_m3h(self.header_kpa / 100.0, kv, SG)

    def advance(self, command_pct: float) -> None:
        """Go on for ``STEP_S`` with this command."""
        self._commands.append(command_pct)
        before = self._drive.position
        self._drive.command = self._commands.popleft() / 100.0
        self._drive.advance(STEP_S)
        way = (self._drive.position > before) - (self._drive.position < before)
        self.reversals += way * self._heading < 0
        self._heading = way or self._heading
        self.flow_lpm = self._flow()
        self._delayed.append(self.flow_lpm)
        share = 1.0 - exp(-STEP_S / self.branch.meter_s) if self.branch.meter_s > 0.0 else 1.0
        self._meter += (self._delayed.popleft() - self._meter) * share

    def seen(self) -> Seen:
        """One reading of each instrument."""
        return Seen(
            flow_lpm=self._meter * (1.0 + self._chance.gauss(0.0, self.branch.noise)),
            header_kpa=self.header_kpa * (1.0 + self._chance.gauss(0.0, self.branch.pressure_noise)),
            position_pct=100.0 * self._drive.feedback,
        )


def position_for(branch: Branch, flow_lpm: float, header_kpa: float | None = None) -> float:
    """Opening, 0..1, at which ``flow_lpm`` passes."""
    dp_kpa = branch.header_kpa if header_kpa is None else header_kpa
    kv = kv_for_flow(flow_lpm / LPM_PER_M3H, dp_kpa / 100.0, SG)
    valve = kv / (1.0 - (kv / branch.kv_rest) ** 2) ** 0.5
    return equal_percentage_position(valve, branch.kvs, branch.rangeability)
