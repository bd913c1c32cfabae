"""Who takes part: the flow control that ships, a PI loop of fixed gain, and one whose gain follows the valve's slope."""

from math import log
from typing import Protocol

from bench.control.plant import Branch, position_for
from valvey.core.flow_control import begin, control
from valvey.core.flow_setpoint import ask
from valvey.core.flow_state import Mode, Seen, Tuning

PERIOD_S = 0.2


class Contestant(Protocol):
    """Reads the instruments every ``PERIOD_S`` and answers with the command for the valve."""

    def command_pct(self, seen: Seen, setpoint_lpm: float) -> float: ...


class Ours:
    """``valvey.core.flow_control`` in flow mode, as the daemon runs it."""

    def __init__(self, tuning: Tuning, position_pct: float, flow_lpm: float) -> None:
        self.tuning = tuning
        self.state = ask(begin(position_pct, tuning, flow_lpm), Mode.FLOW, flow_lpm, tuning)

    def command_pct(self, seen: Seen, setpoint_lpm: float) -> float:
        if setpoint_lpm != self.state.asked:
            self.state = ask(self.state, Mode.FLOW, setpoint_lpm, self.tuning)
        self.state = control(self.state, seen, self.tuning, PERIOD_S)
        return self.state.command_pct


class Pi:
    """A PI loop on the flow as a controls engineer would set it up: clamped, with the same command dead band.

    gain, integral_s   % of travel per L/min, and seconds
    scheduled          the gain goes with the inverse of the valve's slope at the present flow
    """

    def __init__(self, gain: float, integral_s: float, scheduled: bool, tuning: Tuning, position_pct: float) -> None:
        self.gain, self.integral_s, self.scheduled, self.tuning = gain, integral_s, scheduled, tuning
        self.sum_pct = self.out_pct = position_pct

    def command_pct(self, seen: Seen, setpoint_lpm: float) -> float:
        flow = seen.flow_lpm or 0.0
        gain = self.gain * (self._slope(200.0) / self._slope(flow) if self.scheduled else 1.0)
        error = setpoint_lpm - flow
        if abs(error) > self.tuning.error_band * setpoint_lpm:
            self.sum_pct = min(100.0, max(0.0, self.sum_pct + gain * error * PERIOD_S / self.integral_s))
        wanted = min(100.0, max(0.0, self.sum_pct + gain * error))
        if abs(wanted - self.out_pct) >= self.tuning.command_band_pct:
            self.out_pct = wanted
        return self.out_pct

    def _slope(self, flow_lpm: float) -> float:
        """L/min for a percent of travel, by the characteristic as commissioned, at 200 kPa."""
        flow = min(1.1 * self.tuning.flow_nominal_lpm, max(0.3 * self.tuning.flow_nominal_lpm, flow_lpm))
        share = (flow / (self.tuning.kv_rest_m3_h * 1000.0 / 60.0)) ** 2 * 1.0145 / 2.0
        return flow * log(self.tuning.rangeability) / 100.0 * max(0.1, 1.0 - share)


class Ideal:
    """No control law: the opening that gives the flow at this instant's true pressure difference."""

    def __init__(self, branch: Branch) -> None:
        self.branch = branch

    def command_pct(self, seen: Seen, setpoint_lpm: float) -> float:
        return 100.0 * position_for(self.branch, setpoint_lpm, seen.header_kpa)
