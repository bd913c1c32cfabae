"""Flow control in FLOWING: one scan's measurements in, the opening of FCV-101 out. Pure.

Two layers. The set-point is a flow (``flow_setpoint``). The opening is fed forward through the inverse of the installed
characteristic, with what was learned about the branch (``flow_model``): that takes the place of an integral, follows
the measured position, and so cannot wind up. What hunts is calmed (``flow_hunting``).
"""

from dataclasses import replace

from valvey.core.flow_hunting import watch
from valvey.core.flow_model import dp_ahead_kpa, observe, opening_for, unsure
from valvey.core.flow_setpoint import set_point
from valvey.core.flow_state import Control, Learned, Mode, Seen, Tuning

#: Each time the loop is found hunting, smaller moves than before times this are left out.
WIDEN = 1.5
#: A valve that is held because of hunting still opens when the set-point is this much above the flow.
STARVING = 0.10


def begin(command_pct: float, tuning: Tuning, flow_lpm: float | None = None) -> Control:
    """Return the control as it takes over a valve that stands at ``command_pct``; it follows the power.

    flow_lpm   flow at that moment, None = not known; the set-point begins there, so that nothing jumps
    """
    flow = tuning.flow_nominal_lpm if flow_lpm is None else flow_lpm
    return Control(
        mode=Mode.DELTA_T,
        asked=None,
        learned=unsure(Learned(tuning.kv_rest_m3_h), tuning),
        command_pct=command_pct,
        setpoint_lpm=flow,
        need_lpm=flow,
    )


def control(state: Control, seen: Seen, tuning: Tuning, dt_s: float) -> Control:
    """Return the state after one scan, with ``command_pct`` to be written to FCV-101.

    dt_s   seconds since the last scan; any, 0.05..0.5 is meant
    """
    state = observe(state, seen, tuning, dt_s)
    state = set_point(state, seen, tuning, dt_s)
    state = watch(state, seen, dt_s)
    return _throttle(state, seen, tuning, dt_s)


def _throttle(state: Control, seen: Seen, tuning: Tuning, dt_s: float) -> Control:
    """Return the state with the opening that is asked of the valve."""
    if state.mode is Mode.POSITION:
        return replace(state, command_pct=_travel(state, tuning, dt_s), short=False)
    dp_kpa = dp_ahead_kpa(state)
    if dp_kpa is None:
        return state  # nothing tells what an opening would give: hold
    opening = opening_for(state.setpoint_lpm, dp_kpa, state.learned, tuning)
    state = replace(state, short=opening is None)
    wanted = 100.0 if opening is None else max(tuning.least_pct, opening)
    if _left_alone(state, seen, wanted, tuning):
        return state
    return replace(state, command_pct=wanted)


def _travel(state: Control, tuning: Tuning, dt_s: float) -> float:
    """The command on its way to the opening that was asked for, no faster than a request may take effect."""
    asked = state.command_pct if state.asked is None else state.asked
    most = 100.0 * tuning.ramp_per_s * dt_s
    return state.command_pct + min(most, max(-most, asked - state.command_pct))


def _left_alone(state: Control, seen: Seen, wanted_pct: float, tuning: Tuning) -> bool:
    """Whether the command stays: the change is small, or the flow is near enough and the change not great."""
    wanted_flow = max(state.setpoint_lpm, 1.0)
    if state.hunt.held:
        starving = seen.flow_lpm is None or seen.flow_lpm < (1.0 - STARVING) * wanted_flow
        return not starving or wanted_pct < state.command_pct
    change_pct = abs(wanted_pct - state.command_pct)
    near = seen.flow_lpm is not None and abs(seen.flow_lpm / wanted_flow - 1.0) < tuning.error_band
    band_pct = tuning.command_band_pct * WIDEN**state.hunt.events
    return change_pct < (2.0 * band_pct if near else band_pct)
