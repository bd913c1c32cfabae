"""What heat, pressure and flow say about the rack when they are compared with each other. Small states, stepped by ``dt_s``."""

from dataclasses import dataclass
from math import sqrt

from fieldkit.coolant import heat_kw
from fieldkit.frozen import replace

HEAT_STEADY_S, HEAT_OFF_S = 150.0, 120.0
HEAT_SHARE, HEAT_KW = 0.15, 5.0
STEADY_LOAD, STEADY_FLOW = 0.05, 0.10
"""Load (share of the rating) and flow (share of nominal) count as steady within this of where they began."""
REFERENCE_S, PRESENT_S = 3600.0, 300.0
FOULED, BYPASSED = 1.25, 0.80
"""Resistance against that of the first hour: more, and something blocks the way; less, and there is a way around."""
DECAY_REST_S, DECAY_WINDOW_S = 60.0, 600.0
DECAY_KPA, DECAY_SHARE = 10.0, 0.1
STIFFEST_KPA_K = 520.0
"""The steepest fall of trapped liquid's pressure with its temperature: what this explains is no leak."""
LEAST_DECAY_KPA = 20.0
DEW_LOW_K, DEW_CLEAR_K = 2.0, 2.5
PASSING_FRACTION, PASSING_S = 0.02, 10.0


@dataclass(frozen=True)  # no slots, see fieldkit.frozen
class Heat:
    """Electric power against heat carried off.

    load_kw, flow_lpm   where the present steady time began
    steady_s            how long both have stayed there
    off_s               how long they have disagreed since
    carried_kw          heat carried off now; None when it cannot be told
    """

    load_kw: float = 0.0
    flow_lpm: float = 0.0
    steady_s: float = 0.0
    off_s: float = 0.0
    carried_kw: float | None = None

    @property
    def disagrees(self) -> bool:
        return self.off_s >= HEAT_OFF_S


def balance_heat(
    state: Heat,
    load_kw: float | None,
    flow_lpm: float | None,
    supply_c: float | None,
    return_c: float | None,
    rating_kw: float,
    nominal_lpm: float,
    dt_s: float,
) -> Heat:
    """Return the state after one look; without one of the four readings, or without flow to carry heat, all begins anew."""
    if load_kw is None or flow_lpm is None or supply_c is None or return_c is None or flow_lpm <= 0.1 * nominal_lpm:
        return Heat()
    carried_kw = heat_kw(flow_lpm, supply_c, return_c)
    if (
        abs(load_kw - state.load_kw) > STEADY_LOAD * rating_kw
        or abs(flow_lpm - state.flow_lpm) > STEADY_FLOW * nominal_lpm
    ):
        return Heat(load_kw, flow_lpm, carried_kw=carried_kw)
    steady_s = min(state.steady_s + dt_s, HEAT_STEADY_S)
    apart_kw = abs(load_kw - carried_kw)
    off = steady_s >= HEAT_STEADY_S and apart_kw > HEAT_SHARE * load_kw and apart_kw > HEAT_KW
    off_s = min(state.off_s + dt_s, HEAT_OFF_S) if off else max(0.0, state.off_s - dt_s)
    return replace(state, steady_s=steady_s, off_s=off_s, carried_kw=carried_kw)


@dataclass(frozen=True, slots=True)
class Resistance:
    """dP over the rack by its flow squared, kPa per (100 L/min)²: its mean over the first hour, and of the last minutes."""

    reference: float = 0.0
    present: float = 0.0
    learned_s: float = 0.0
    present_s: float = 0.0

    @property
    def ratio(self) -> float | None:
        """Present against reference; None while either is being learned."""
        known = self.learned_s >= REFERENCE_S and self.present_s >= PRESENT_S and self.reference > 0.0
        return self.present / self.reference if known else None

    def flow_lpm(self, dp_kpa: float) -> float | None:
        """The flow that a dP means by the resistance of the last minutes; None while that is being learned."""
        if self.present_s < PRESENT_S or self.present <= 0.0:
            return None
        return 100.0 * sqrt(max(0.0, dp_kpa) / self.present)


def resist(state: Resistance, dp_kpa: float | None, flow_lpm: float | None, calm: bool, dt_s: float) -> Resistance:
    """Return the state after one look; only a ``calm`` rack (steady flow, no suspicion of a leak) is learned from."""
    if dp_kpa is None or flow_lpm is None or flow_lpm <= 0.0 or not calm:
        return state
    one = dp_kpa / (flow_lpm * flow_lpm) * 1e4
    present_s = min(state.present_s + dt_s, PRESENT_S)
    present = state.present + (one - state.present) * min(1.0, dt_s / present_s)
    if state.learned_s >= REFERENCE_S:
        return replace(state, present=present, present_s=present_s)
    learned_s = state.learned_s + dt_s
    reference = state.reference + (one - state.reference) * dt_s / learned_s
    return Resistance(reference, present, learned_s, present_s)


@dataclass(frozen=True, slots=True)
class Decay:
    """Pressure of a rack that is shut and full.

    for_s           since it was shut (up to a minute), then since the reference was taken
    kpa, celsius    reference; None during the first minute
    lost            the pressure fell further than the temperature explains; stands until the rack is opened or emptied
    """

    for_s: float = 0.0
    kpa: float | None = None
    celsius: float = 0.0
    lost: bool = False


def watch_decay(state: Decay, shut_and_full: bool, kpa: float | None, celsius: float | None, dt_s: float) -> Decay:
    """Return the state after one look. What cannot be believed is passed over; another state of the rack begins anew."""
    if not shut_and_full:
        return Decay()
    if kpa is None or celsius is None:
        return state
    for_s = state.for_s + dt_s
    if state.kpa is None or for_s >= DECAY_WINDOW_S:
        rested = state.kpa is not None or for_s >= DECAY_REST_S
        return Decay(0.0, kpa, celsius, state.lost) if rested else replace(state, for_s=for_s)
    fallen = state.kpa - kpa - STIFFEST_KPA_K * max(0.0, state.celsius - celsius)
    lost = state.kpa > LEAST_DECAY_KPA and fallen > max(DECAY_KPA, DECAY_SHARE * state.kpa)
    return replace(state, for_s=for_s, lost=state.lost or lost)


def passing_s(held_s: float, shut: bool | None, flow_lpm: float | None, nominal_lpm: float, dt_s: float) -> float:
    """How long a valve proven shut has let more than 2 % of the nominal flow pass; from 10 s on it passes."""
    if shut is None or flow_lpm is None:
        return held_s
    return min(held_s + dt_s, PASSING_S) if shut and flow_lpm > PASSING_FRACTION * nominal_lpm else 0.0


def dew_low(low: bool, margin_k: float | None) -> bool:
    """Whether the supply is too near to the dew point, with half a kelvin of hysteresis; unknown leaves it as it was."""
    if margin_k is None:
        return low
    return margin_k < (DEW_CLEAR_K if low else DEW_LOW_K)
