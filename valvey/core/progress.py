"""How far a request is on its way: percent, and seconds still to go. Worked out from the steps; no clock of its own."""

from collections.abc import Callable
from dataclasses import dataclass

from valvey.core import testing
from valvey.core.chart import State, Step
from valvey.core.lending import WAIT_S
from valvey.core.limits import Limits
from valvey.core.view import View
from valvey.core.working import marked_s, step_age_s, work_of

#: What a rack gives and takes on average, for the estimate only: a drain by gravity, a fill through FCV-101.
DRAIN_LPM = 6.0
FILL_LPM = 25.0


@dataclass(frozen=True, slots=True)
class Progress:
    """``percent`` of the expected time is over; ``eta_s`` are expected still."""

    state: State
    step: Step
    percent: float
    eta_s: float


Leg = tuple[State, Step, Callable[[Limits], float]]
S = State

# fmt: off
_TEST: tuple[Leg, ...] = (
    (S.TESTING,   Step.PRESSURE,   lambda x: x.test_hold_s + 5.0),
    (S.TESTING,   Step.STROKE_101, lambda x: x.stroke_101_s),
    (S.TESTING,   Step.RESEAT_101, lambda x: x.stroke_101_s),
    (S.TESTING,   Step.STROKE_102, lambda x: x.stroke_102_s),
    (S.TESTING,   Step.RESEAT_102, lambda x: x.stroke_102_s + testing.REST_S),
)
#: By request: the steps of its way in their order, and how long each is expected to take, s.
WAYS: dict[str, tuple[Leg, ...]] = {
    "isolate": (
        (S.UNLOADING, Step.ASK,      lambda x: WAIT_S if x.coordinator else 0.0),
        (S.UNLOADING, Step.UNLOAD,   lambda _x: 60.0),
        (S.COOLDOWN,  Step.COOL,     lambda x: x.cool_hold_s + 30.0),
        (S.COOLDOWN,  Step.RAMP,     lambda x: x.fcv_ramp_s),
        (S.ISOLATING, Step.SUPPLY,   lambda x: x.stroke_101_s),
        (S.ISOLATING, Step.RETURN,   lambda x: x.stroke_102_s),
        (S.ISOLATING, Step.PROVE,    lambda _x: 5.0),
    ),
    "open": (
        (S.OPENING,   Step.THROTTLE, lambda x: 0.1 * x.fcv_stroke_s),
        (S.OPENING,   Step.RETURN,   lambda x: x.stroke_102_s),
        (S.OPENING,   Step.SUPPLY,   lambda x: x.stroke_101_s),
        (S.OPENING,   Step.PROVE,    lambda x: 0.6 * x.fcv_stroke_s + x.prove_hold_s),
    ),
    "drain": (
        (S.DRAINING,  Step.VENT,     lambda x: x.vent_s),
        (S.DRAINING,  Step.WATCH,    lambda x: x.watch_s + 2.0),
        (S.DRAINING,  Step.DRAIN,    lambda x: 60.0 * x.volume_l / DRAIN_LPM),
    ),
    "fill": (
        (S.FILLING,   Step.CRACK,    lambda x: 2.0 * x.stroke_101_s),
        (S.FILLING,   Step.BLEED,    lambda x: 60.0 * x.volume_l / FILL_LPM),
        (S.FILLING,   Step.TOP,      lambda _x: 5.0),
        (S.TESTING,   Step.SETTLE,   lambda x: 2.0 * x.stroke_101_s),
        *_TEST,
    ),
    "test": _TEST,
}
# fmt: on
_BY_VOLUME = frozenset({Step.DRAIN, Step.BLEED})


def progress(view: View, request: str) -> Progress | None:
    """Return where ``request`` stands; None when the rack is not on its way. Waiting for the sump counts as draining."""
    memory, limits = view.memory, view.limits
    step = Step.DRAIN if memory.step is Step.SUMP else memory.step
    way = [(state, name, expected(limits)) for state, name, expected in WAYS.get(request, ())]
    place = next((n for n, leg in enumerate(way) if leg[:2] == (memory.state, step)), None)
    if place is None:
        return None
    total_s, passed_s = sum(leg[2] for leg in way), sum(leg[2] for leg in way[:place])
    done_s = passed_s + _share(view, step, way[place][2]) * way[place][2]
    return Progress(memory.state, memory.step, round(100.0 * done_s / total_s, 1), round(total_s - done_s, 1))


def _share(view: View, step: Step, expected_s: float) -> float:
    if step in _BY_VOLUME:
        share = work_of(view).litres / view.limits.volume_l
    elif step is Step.PRESSURE:
        share = marked_s(view) / expected_s
    else:
        share = step_age_s(view) / expected_s
    return min(1.0, share)
