"""Flow control in FLOWING: one scan's measurements in, the opening of FCV-101 out. Pure.

Two layers. The set-point is a flow (``flow_setpoint``). The opening is fed forward through the inverse of the installed
characteristic, with what was learned about the branch (``flow_model``): that takes the place of an integral, follows
the measured position, and so cannot wind up. What hunts is calmed (``flow_hunting``).
"""

from valvey.core.flow_hunting import watch
from valvey.core.flow_model import dp_ahead_kpa, observe, opening_for, unsure
from valvey.core.flow_setpoint import set_point
from valvey.core.flow_state import Control, Demand, Hunt, Mode, Seen, Source, Trouble, Tuning

#: Each time the loop is found hunting, readings weigh so much less, and moves must be so much greater.
LESS, WIDEN = 0.5, 1.5
#: A valve that is held because of hunting still opens when the set-point is this much above the flow.
STARVING = 0.10
#: What is learned is at its bound from this share of it.
NEAR = 0.98


def begin(command_pct: float, tuning: Tuning, flow_lpm: float | None = None) -> Control:
    """Return the control as it takes over a valve that stands at ``command_pct``; it follows the power.

    flow_lpm   flow at that moment, None = not known; the set-point begins there, so that nothing jumps
    """
    flow = tuning.flow_nominal_lpm if flow_lpm is None else flow_lpm
    return Control(Mode.DELTA_T, None, command_pct, Demand(flow, flow), unsure(tuning.kv_rest_m3_h, 0.0, None, tuning))


def control(state: Control, seen: Seen, tuning: Tuning, dt_s: float) -> Control:
    """Return the state after one scan, with ``command_pct`` to be written to FCV-101.

    dt_s   seconds since the last scan; any, 0.05..0.5 is meant
    """
    header, learned = observe(state.header, state.learned, seen, tuning, dt_s, LESS**state.hunt.events)
    demand = set_point(state, seen, tuning, dt_s)
    hunt = watch(state.hunt, seen, demand.setpoint_lpm, dt_s)
    if state.mode is Mode.POSITION:
        return Control(state.mode, state.asked, _travel(state, tuning, dt_s), demand, learned, header, hunt)
    dp_kpa = dp_ahead_kpa(header)
    if dp_kpa is None:  # nothing tells what an opening would give: hold
        return Control(state.mode, state.asked, state.command_pct, demand, learned, header, hunt, state.short)
    opening = opening_for(demand.setpoint_lpm, dp_kpa, learned, tuning)
    wanted_pct = 100.0 if opening is None else max(tuning.least_pct, opening)
    command_pct = _calmed(state.command_pct, wanted_pct, demand.setpoint_lpm, hunt, seen, tuning)
    return Control(state.mode, state.asked, command_pct, demand, learned, header, hunt, opening is None)


def troubles(state: Control, tuning: Tuning) -> frozenset[Trouble]:
    """Everything about ``state`` that a person should be told."""
    learned, hunt, demand = state.learned, state.hunt, state.demand
    factor = max(learned.kv_rest_m3_h / tuning.kv_rest_m3_h, tuning.kv_rest_m3_h / learned.kv_rest_m3_h)
    found = {
        Trouble.NO_POWER: demand.blind and not demand.lost,
        Trouble.NO_NEED: demand.lost,
        Trouble.NO_HEADER: state.header.source is not Source.HEADER,
        Trouble.SHORT: state.short,
        Trouble.BRANCH: factor > NEAR * tuning.kv_bound or abs(learned.bias_pct) > NEAR * tuning.bias_most_pct,
        Trouble.HUNTING: hunt.events > 0 and not hunt.held,
        Trouble.HELD: hunt.held,
    }
    return frozenset(trouble for trouble, yes in found.items() if yes)


def _travel(state: Control, tuning: Tuning, dt_s: float) -> float:
    """The command on its way to the opening that was asked for, no faster than a request may take effect."""
    asked = state.command_pct if state.asked is None else state.asked
    most = 100.0 * tuning.ramp_per_s * dt_s
    return state.command_pct + min(most, max(-most, asked - state.command_pct))


def _calmed(
    command_pct: float, wanted_pct: float, setpoint_lpm: float, hunt: Hunt, seen: Seen, tuning: Tuning
) -> float:
    """The next command: as it was while the change is small, or the flow is near enough and the change not great."""
    if hunt.held:
        starving = seen.flow_lpm is None or seen.flow_lpm < (1.0 - STARVING) * setpoint_lpm
        return max(command_pct, wanted_pct) if starving else command_pct
    near = seen.flow_lpm is not None and abs(seen.flow_lpm - setpoint_lpm) < tuning.error_band * setpoint_lpm
    band_pct = tuning.command_band_pct * WIDEN**hunt.events
    return command_pct if abs(wanted_pct - command_pct) < (2.0 * band_pct if near else band_pct) else wanted_pct
