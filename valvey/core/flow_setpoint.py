"""What flow the rack needs: fed forward from its power, trimmed slowly on the temperature rise, bounded. Pure."""

from dataclasses import replace

from valvey.core.flow_model import slewing, toward
from valvey.core.flow_state import Control, Mode, Seen, Tuning
from valvey.core.limits import LPM_PER_KW

#: Rise, K, that LPM_PER_KW stands for.
REFERENCE_K = 10.0
#: How fast a load that stands still again is believed to.
RATE_S = 5.0
#: Without a power reading a rise above its set-point is answered this much faster than one below it.
HASTE = 3.0


def bounds(mode: Mode, tuning: Tuning) -> tuple[float, float]:
    """Least and greatest value that may be asked for in ``mode``, in its unit."""
    match mode:
        case Mode.POSITION:
            return tuning.least_pct, 100.0
        case Mode.FLOW:
            return tuning.low_lpm, tuning.high_lpm
        case Mode.DELTA_T:
            return 0.5 * tuning.delta_k, 2.0 * tuning.delta_k
        case Mode.POWER_LIMITED:
            return 0.0, tuning.high_lpm / lpm_per_kw(tuning.delta_k, tuning)


def ask(state: Control, mode: Mode, value: float | None, tuning: Tuning) -> Control:
    """Return the state with another request; the flow goes from the present set-point to the new one on a ramp.

    value   in the mode's unit, taken into ``bounds``; None keeps the opening or the flow as it is, or the tuned rise
    """
    if value is not None:
        low, high = bounds(mode, tuning)
        value = min(high, max(low, value))
    elif mode is Mode.POSITION:
        value = state.command_pct
    elif mode is Mode.FLOW:
        value = min(tuning.high_lpm, max(tuning.low_lpm, state.setpoint_lpm))
    state = replace(state, mode=mode, asked=value)
    return replace(state, offset_lpm=state.setpoint_lpm - _target(state, tuning))


def lpm_per_kw(delta_k: float, tuning: Tuning) -> float:
    """L/min for a kW at a rise of ``delta_k``, with the margin."""
    return tuning.margin * LPM_PER_KW * REFERENCE_K / delta_k


def _delta_k(state: Control, tuning: Tuning) -> float:
    return state.asked if state.mode is Mode.DELTA_T and state.asked is not None else tuning.delta_k


def _bounded(flow: float, tuning: Tuning) -> float:
    return min(tuning.high_lpm, max(tuning.low_lpm, flow))


def _wanted(state: Control, tuning: Tuning) -> float:
    """Flow for the wanted rise, before any bound."""
    return state.need_lpm * REFERENCE_K / _delta_k(state, tuning) * (1.0 + state.trim)


def _target(state: Control, tuning: Tuning) -> float:
    """Flow that the present request means, bounded."""
    if state.mode is Mode.POSITION:
        return state.setpoint_lpm
    if state.mode is Mode.FLOW and state.asked is not None:
        return _bounded(state.asked, tuning)
    wanted = _wanted(state, tuning)
    if state.mode is Mode.POWER_LIMITED and state.asked is not None:
        wanted = min(wanted, state.asked * lpm_per_kw(tuning.delta_k, tuning))
    return _bounded(wanted, tuning)


def _need(state: Control, seen: Seen, tuning: Tuning, dt_s: float) -> Control:
    """Return the state with the flow that the power needs, or without a power reading what the rise tells of it."""
    need = state.need_lpm
    if seen.load_kw is not None:
        target = seen.load_kw * lpm_per_kw(REFERENCE_K, tuning)
        need = toward(need, target, tuning.rise_s if target > need else tuning.fall_s, dt_s)
        slow_kw = seen.load_kw if state.load_kw is None else toward(state.load_kw, seen.load_kw, RATE_S, dt_s)
        return replace(state, need_lpm=need, load_kw=slow_kw, blind=False, lost=False)
    if seen.rise_k is None:  # nothing tells what the rack gives off: take what it may
        need = toward(need, tuning.margin * tuning.flow_nominal_lpm, tuning.rise_s, dt_s)
        return replace(state, need_lpm=max(need, state.need_lpm), load_kw=None, blind=True, lost=True)
    error = seen.rise_k / _delta_k(state, tuning) - 1.0
    if error > 0.0 or not slewing(state, seen, tuning):
        need = _bounded(need * (1.0 + error * dt_s * (HASTE if error > 0.0 else 1.0) / tuning.trim_s), tuning)
    return replace(state, need_lpm=need, load_kw=None, blind=True, lost=False)


def _trim(state: Control, seen: Seen, tuning: Tuning, dt_s: float) -> Control:
    """Return the state with the slow correction by the rise; frozen while anything moves or cannot be believed."""
    following = state.mode in {Mode.DELTA_T, Mode.POWER_LIMITED}
    if not following or seen.rise_k is None or seen.load_kw is None or state.load_kw is None:
        return state
    moving = abs(seen.load_kw - state.load_kw) > tuning.still_per_s * RATE_S * max(state.load_kw, 1.0)
    if moving or seen.flow_lpm is None or slewing(state, seen, tuning):
        return state
    step = (seen.rise_k / _delta_k(state, tuning) - 1.0) * dt_s / tuning.trim_s
    wanted, target = _wanted(state, tuning), _target(state, tuning)
    if (step > 0.0 and (wanted > target or state.short)) or (step < 0.0 and wanted < target):
        return state  # a bound decides, not the trim
    return replace(state, trim=min(tuning.trim_most, max(-tuning.trim_most, state.trim + step)))


def set_point(state: Control, seen: Seen, tuning: Tuning, dt_s: float) -> Control:
    """Return the state with the flow that is wanted now."""
    state = _trim(_need(state, seen, tuning, dt_s), seen, tuning, dt_s)
    if state.mode is Mode.POSITION:  # the set-point goes along, so that any other mode begins from there
        flow = state.setpoint_lpm if seen.flow_lpm is None else seen.flow_lpm
        return replace(state, setpoint_lpm=flow, offset_lpm=0.0)
    most = tuning.ramp_per_s * tuning.flow_nominal_lpm * dt_s
    offset = state.offset_lpm - min(most, max(-most, state.offset_lpm))
    return replace(state, offset_lpm=offset, setpoint_lpm=_target(state, tuning) + offset)
