"""What flow the rack needs: fed forward from its power, trimmed slowly on the temperature rise, bounded. Pure."""

from fieldkit.frozen import replace
from valvey.core.flow_burst import Burst, remember
from valvey.core.flow_model import slewing, toward
from valvey.core.flow_state import Control, Demand, Mode, Seen, Tuning
from valvey.core.limits import LPM_PER_KW

#: Rise, K, that LPM_PER_KW stands for.
REFERENCE_K = 10.0
#: How fast a load that stands still again is believed to.
RATE_S = 5.0
#: Without a power reading a rise above its set-point is answered this much faster than one below it.
HASTE = 3.0


def bounds(mode: Mode, tuning: Tuning) -> tuple[float, float]:
    """Least and greatest value that may be asked for in ``mode``, in its unit."""
    return {
        Mode.POSITION: (tuning.least_pct, 100.0),
        Mode.FLOW: (tuning.low_lpm, tuning.high_lpm),
        Mode.DELTA_T: (0.5 * tuning.delta_k, 2.0 * tuning.delta_k),
        Mode.POWER_LIMITED: (0.0, tuning.high_lpm / lpm_per_kw(tuning.delta_k, tuning)),
    }[mode]


def ask(state: Control, mode: Mode, value: float | None, tuning: Tuning) -> Control:
    """Return the state with another request; the flow goes from the present set-point to the new one on a ramp.

    value   in the mode's unit, taken into ``bounds``; None keeps the opening or the flow as it is, or the tuned rise
    """
    if value is None and mode is Mode.POSITION:
        value = state.command_pct
    elif value is None and mode is Mode.FLOW:
        value = state.demand.setpoint_lpm
    if value is not None:
        low, high = bounds(mode, tuning)
        value = min(high, max(low, value))
    state = replace(state, mode=mode, asked=value)
    offset = state.demand.setpoint_lpm - _target(state, state.demand.need_lpm, state.demand.trim, tuning)
    return replace(state, demand=replace(state.demand, offset_lpm=offset))


def lpm_per_kw(delta_k: float, tuning: Tuning) -> float:
    """L/min for a kW at a rise of ``delta_k``, with the margin."""
    return tuning.margin * LPM_PER_KW * REFERENCE_K / delta_k


def set_point(state: Control, seen: Seen, tuning: Tuning, dt_s: float) -> Demand:
    """Return the flow that is wanted now."""
    old = state.demand
    rests = not slewing(state.command_pct, seen, tuning)
    needed = None if seen.load_kw is None else seen.load_kw * lpm_per_kw(REFERENCE_K, tuning)
    burst = remember(old.burst, needed, dt_s)
    need, load_kw, still = _need(state, seen, burst, tuning, dt_s, rests)
    blind, lost = seen.load_kw is None, seen.load_kw is None and seen.rise_k is None
    trim = _trim(state, need, seen, tuning, dt_s) if rests and still else old.trim
    if state.mode is Mode.POSITION:  # the set-point goes along, so that any other mode begins from there
        flow = old.setpoint_lpm if seen.flow_lpm is None else seen.flow_lpm
        return Demand(flow, need, trim, load_kw, 0.0, blind, lost, burst)
    most = tuning.ramp_per_s * tuning.flow_nominal_lpm * dt_s
    offset = old.offset_lpm - min(most, max(-most, old.offset_lpm))
    return Demand(_target(state, need, trim, tuning) + offset, need, trim, load_kw, offset, blind, lost, burst)


def _delta_k(state: Control, tuning: Tuning) -> float:
    return state.asked if state.mode is Mode.DELTA_T and state.asked is not None else tuning.delta_k


def _bounded(flow: float, tuning: Tuning) -> float:
    return min(tuning.high_lpm, max(tuning.low_lpm, flow))


def _wanted(state: Control, need_lpm: float, trim: float, tuning: Tuning) -> float:
    """Flow for the wanted rise, before any bound."""
    return need_lpm * REFERENCE_K / _delta_k(state, tuning) * (1.0 + trim)


def _target(state: Control, need_lpm: float, trim: float, tuning: Tuning) -> float:
    """Flow that the present request means, bounded."""
    if state.mode is Mode.POSITION:
        return state.demand.setpoint_lpm
    if state.mode is Mode.FLOW and state.asked is not None:
        return _bounded(state.asked, tuning)
    wanted = _wanted(state, need_lpm, trim, tuning)
    if state.mode is Mode.POWER_LIMITED and state.asked is not None:
        wanted = min(wanted, state.asked * lpm_per_kw(tuning.delta_k, tuning))
    return _bounded(wanted, tuning)


def _need(
    state: Control, seen: Seen, burst: Burst, tuning: Tuning, dt_s: float, rests: bool
) -> tuple[float, float | None, bool]:
    """Return the flow that the power needs, or without a power reading what the rise tells of it; and of the power
    what it was some seconds ago, and whether it is known and stands still.

    rests   the valve is where it was sent
    """
    need, slow_kw = state.demand.need_lpm, state.demand.load_kw
    if seen.load_kw is not None:
        target = seen.load_kw * lpm_per_kw(REFERENCE_K, tuning)
        # up the quick filter is ahead, down the slow one, which does not fall below what was needed a moment ago
        lowest = min(need, burst.highest_lpm)
        need = max(toward(need, target, tuning.rise_s, dt_s), toward(need, lowest, tuning.fall_s, dt_s))
        slow_kw = seen.load_kw if slow_kw is None else toward(slow_kw, seen.load_kw, RATE_S, dt_s)
        return need, slow_kw, abs(seen.load_kw - slow_kw) <= tuning.still_per_s * RATE_S * slow_kw
    if seen.rise_k is None:  # nothing tells what the rack gives off: take what it may
        need = max(need, toward(need, tuning.margin * tuning.flow_nominal_lpm, tuning.rise_s, dt_s))
    else:
        error = seen.rise_k / _delta_k(state, tuning) - 1.0
        change = max(HASTE * error, error if rests else 0.0)
        need = _bounded(need * (1.0 + change * dt_s / tuning.trim_s), tuning)
    return need, None, False


def _trim(state: Control, need_lpm: float, seen: Seen, tuning: Tuning, dt_s: float) -> float:
    """Return the slow correction by the rise; as it was when something else decides, or a sensor cannot be believed."""
    trim = state.demand.trim
    if seen.rise_k is None or seen.flow_lpm is None or state.mode in {Mode.POSITION, Mode.FLOW}:
        return trim
    step = (seen.rise_k / _delta_k(state, tuning) - 1.0) * dt_s / tuning.trim_s
    wanted, target = _wanted(state, need_lpm, trim, tuning), _target(state, need_lpm, trim, tuning)
    if wanted > target or state.short:  # a bound decides, not the trim: only the way back is open
        step = min(step, 0.0)
    if wanted < target:
        step = max(step, 0.0)
    return min(tuning.trim_most, max(-tuning.trim_most, trim + step))
