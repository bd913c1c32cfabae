"""The step sequences: what ends a step, what follows, and how long it may take."""

from collections.abc import Callable
from dataclasses import dataclass

from fieldkit.frozen import replace
from valvey.core import draining, filling, testing, working
from valvey.core.chart import Event, State, Step
from valvey.core.lending import coordinated
from valvey.core.limits import Limits
from valvey.core.memory import Memory
from valvey.core.verdict import D, H, U, k_of_n
from valvey.core.view import CARRYING_FRACTION, View
from valvey.core.working import Condition, Fail


def _age_s(view: View) -> float:
    return view.now_s - view.memory.step_since_s


def _throttled(view: View) -> bool:
    position = view.number("ZT-101")
    return position is not None and position <= view.limits.fcv_low_pct + view.limits.fcv_band_pct


def _return_open(view: View) -> bool:
    return view.on("ZSO-102") is True


def _supply_open(view: View) -> bool:
    return view.on("ZSO-101") is True


def _flow_proven(view: View) -> bool:
    """Two of {FT-101, FT-102, flow from dP} at 90 % of the rated flow."""
    wanted = view.limits.prove_flow_fraction * view.limits.flow_nominal_lpm
    flows = (view.number("FT-101"), view.number("FT-102"), view.dp_flow_lpm())
    return k_of_n(2, [U if flow is None else H if flow >= wanted else D for flow in flows]) is H


def _unloaded(view: View) -> bool:
    load = view.best("JT-101", "ET-101")
    if load is None:
        return view.memory.forced
    return load < view.limits.unloaded_fraction * view.limits.rating_kw


def _cooled(view: View) -> bool:
    if not view.memory.isolate_wanted or not coordinated(view):
        return False
    supply, ret, flow = view.number("TT-101"), view.return_c(), view.best("FT-101", "FT-102")
    if supply is None or ret is None or flow is None:
        return False
    return ret - supply < view.limits.cool_delta_k and flow >= CARRYING_FRACTION * view.limits.flow_nominal_lpm


def _ramped(view: View) -> bool:
    """FCV-101 is throttled and the rack is proven without power.

    Where ZT-101 cannot be believed, or the motor stands still, the time for the ramp and the whole travel has to do: each
    isolation valve is sized to shut at full flow. Nothing stands in for the proof that the power is off.
    """
    memory, limits, age_s = view.memory, view.limits, _age_s(view)
    throttled = _throttled(view) or age_s >= limits.fcv_ramp_s + limits.fcv_stroke_s
    return memory.isolate_wanted and age_s >= limits.fcv_ramp_s and throttled and view.permit_dead()


def _supply_shut(view: View) -> bool:
    """Emergency: the supply valve is shut, or had time to. Planned: and the flow has stopped, for at most 30 s."""
    memory, limits, age_s = view.memory, view.limits, _age_s(view)
    shut = view.on("ZSC-101") is True or age_s >= limits.stroke_101_s + 0.5
    waited = memory.emergency or view.flow_stopped() or age_s >= limits.planned_flow_wait_s
    return (shut and waited) or view.on("XY-102") is False


def _both_shut_or_waited(view: View) -> bool:
    stroke_s = max(view.limits.stroke_101_s, view.limits.stroke_102_s)
    return view.shut_proven() or _age_s(view) >= 1.5 * stroke_s


def _proven_shut(view: View) -> bool:
    return view.shut_proven() and view.flow_stopped()


#: After the ramp and the whole travel of FCV-101: so long COOLDOWN still waits for the proof that the power is off.
POWER_PROOF_S = 60.0


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step.

    done     what ends it, once it has held for ``hold_s``
    then     the next step of the same state, or the event that leaves the state
    overdue  how long it may take, and what follows then; None = as long as it takes
    late     what the work failed by when a deadline ends it
    fails    signs that end the work before that
    aside    what sends it to another step meanwhile
    """

    state: State
    step: Step
    done: Condition
    then: Step | Event
    hold_s: Callable[[Limits], float] = lambda _limits: 0.0
    overdue_s: Callable[[Limits], float] | None = None
    overdue: Step | Event | None = None
    late: str = "late"
    fails: tuple[Fail, ...] = ()
    aside: tuple[Condition, Step] | None = None


S, E = State, Event

# fmt: off
STEPS: tuple[StepRow, ...] = (
    StepRow(S.OPENING,   Step.THROTTLE, _throttled,           Step.RETURN,      overdue_s=lambda x: x.fcv_stroke_s + 30.0,      overdue=E.STEP_FAILED),
    StepRow(S.OPENING,   Step.RETURN,   _return_open,         Step.SUPPLY,      overdue_s=lambda x: 2.0 * x.stroke_102_s + 2.0, overdue=E.STEP_FAILED),
    StepRow(S.OPENING,   Step.SUPPLY,   _supply_open,         Step.PROVE,       overdue_s=lambda x: 2.0 * x.stroke_101_s + 2.0, overdue=E.STEP_FAILED),
    StepRow(S.OPENING,   Step.PROVE,    _flow_proven,         E.FLOW_PROVEN,    hold_s=lambda x: x.prove_hold_s, overdue_s=lambda x: x.prove_overdue_s, overdue=E.STEP_FAILED),
    StepRow(S.UNLOADING, Step.UNLOAD,   _unloaded,            E.UNLOADED,       hold_s=lambda _x: 2.0,           overdue_s=lambda x: x.unload_overdue_s, overdue=E.UNLOAD_OVERDUE),
    StepRow(S.UNLOADING, Step.ASK,      coordinated,          Step.UNLOAD),
    StepRow(S.COOLDOWN,  Step.COOL,     _cooled,              Step.RAMP,        hold_s=lambda x: x.cool_hold_s,  overdue_s=lambda x: x.cool_overdue_s,   overdue=Step.RAMP),
    StepRow(S.COOLDOWN,  Step.RAMP,     _ramped,              E.COOLED,         overdue_s=lambda x: x.fcv_ramp_s + x.fcv_stroke_s + POWER_PROOF_S, overdue=Step.COOL, late="power_unproven"),
    StepRow(S.ISOLATING, Step.SUPPLY,   _supply_shut,         Step.RETURN),
    StepRow(S.ISOLATING, Step.RETURN,   _both_shut_or_waited, Step.PROVE),
    StepRow(S.ISOLATING, Step.PROVE,    _proven_shut,         E.PROVEN_SHUT),

    StepRow(S.DRAINING,  Step.VENT,     draining.vented,      Step.WATCH,       overdue_s=lambda x: x.vent_s + 10.0,  overdue=E.STEP_FAILED, late="vent_shut", fails=draining.VENT_FAILS),
    StepRow(S.DRAINING,  Step.WATCH,    draining.watched,     Step.DRAIN,       overdue_s=lambda x: x.watch_s + 30.0, overdue=E.STEP_FAILED, late="vent_open", fails=draining.WATCH_FAILS),
    StepRow(S.DRAINING,  Step.DRAIN,    draining.emptied,     E.DRAINED,        hold_s=lambda _x: draining.NIL_S, fails=draining.DRAIN_FAILS, aside=(draining.sump_high, Step.SUMP)),
    StepRow(S.DRAINING,  Step.SUMP,     draining.sump_free,   Step.DRAIN,       hold_s=lambda _x: 1.0, fails=draining.SUMP_FAILS),
    StepRow(S.FILLING,   Step.CRACK,    filling.cracked,      Step.BLEED,       overdue_s=lambda x: 2.0 * x.stroke_101_s + 0.12 * x.fcv_stroke_s + 30.0, overdue=E.STEP_FAILED, late="no_flow", fails=filling.CRACK_FAILS),
    StepRow(S.FILLING,   Step.BLEED,    filling.bled,         Step.TOP,         overdue_s=lambda x: x.fill_overdue_s, overdue=E.STEP_FAILED, fails=filling.BLEED_FAILS),
    StepRow(S.FILLING,   Step.TOP,      filling.topped,       E.FILLED,         overdue_s=lambda x: x.fill_overdue_s, overdue=E.STEP_FAILED, fails=filling.TOP_FAILS),
    StepRow(S.TESTING,   Step.SETTLE,     testing.settled,    Step.PRESSURE,    overdue_s=lambda _x: 120.0,             overdue=E.STEP_FAILED, late="unsteady",  fails=testing.SETTLE_FAILS),
    StepRow(S.TESTING,   Step.PRESSURE,   testing.held,       Step.STROKE_101,  overdue_s=lambda x: x.test_overdue_s,   overdue=E.STEP_FAILED, late="unsteady",  fails=testing.PRESSURE_FAILS),
    StepRow(S.TESTING,   Step.STROKE_101, testing.opened_101, Step.RESEAT_101,  overdue_s=lambda x: 2.0 * x.stroke_101_s + 2.0, overdue=E.STEP_FAILED, late="stuck_101"),
    StepRow(S.TESTING,   Step.RESEAT_101, testing.shut_101,   Step.STROKE_102,  overdue_s=lambda x: 1.5 * x.stroke_101_s, overdue=E.STEP_FAILED, late="stuck_101"),
    StepRow(S.TESTING,   Step.STROKE_102, testing.opened_102, Step.RESEAT_102,  overdue_s=lambda x: 2.0 * x.stroke_102_s + 2.0, overdue=E.STEP_FAILED, late="stuck_102"),
    StepRow(S.TESTING,   Step.RESEAT_102, testing.shut_102,   E.TESTED,         hold_s=lambda _x: testing.REST_S, overdue_s=lambda x: 1.5 * x.stroke_102_s + 2.0 * testing.REST_S, overdue=E.STEP_FAILED, late="stuck_102", fails=testing.RESEAT_102_FAILS),
)
# fmt: on

_BY_STEP = {(row.state, row.step): row for row in STEPS}


def first_step(state: State, default: Step, view: View) -> Step:
    """Return the step in which ``state`` begins, given what the field already shows."""
    if state is S.OPENING and view.memory.state is S.COOLDOWN:
        return Step.PROVE  # the valves are open: nothing moves
    if state is S.ISOLATING and not view.coils_on():
        return Step.RETURN  # one valve is shutting already: shut both
    if state is S.UNLOADING and view.limits.coordinator:
        return Step.ASK
    if state is S.TESTING and view.memory.state is S.FILLING:
        return Step.SETTLE  # XV-101 is still open
    return default


def follow(view: View) -> tuple[Memory, Event | None]:
    """Return the memory after the present step was judged, and the event that its end or its deadline raises."""
    memory = view.memory
    row = _BY_STEP.get((memory.state, memory.step))
    if row is None:
        return memory, None
    if memory.work is not None:
        memory = replace(memory, work=working.observe(view))
        view = replace(view, memory=memory)
        work, failed = working.failure(view, row.fails)
        memory = replace(memory, work=work, failed=failed)
        if failed is not None:
            return memory, E.STEP_FAILED
        if row.aside is not None and row.aside[0](view):
            return _go(memory, row.aside[1], view.now_s)
        view = replace(view, memory=memory)
    done = row.done(view)
    steady_s = memory.steady_since_s if done else None
    if done and steady_s is None:
        steady_s = view.now_s
    if steady_s is not memory.steady_since_s:
        memory = replace(memory, steady_since_s=steady_s)
    if steady_s is not None and view.now_s - steady_s >= row.hold_s(view.limits):
        return _go(memory, row.then, view.now_s)
    late = row.overdue_s is not None and _hurries(memory) and _age_s(view) >= row.overdue_s(view.limits)
    if late and row.overdue is Step.COOL:
        return _back_to_cooling(memory, row.late, view.now_s), None
    if late and row.overdue is not None:
        memory, event = _go(memory, row.overdue, view.now_s)
        failed = row.late if event is E.STEP_FAILED else memory.failed
        return replace(memory, cool_overdue=memory.state is State.COOLDOWN, failed=failed), event
    return memory, None


def _back_to_cooling(memory: Memory, failed: str, now_s: float) -> Memory:
    """Give a planned isolation up: the rack stays dark, and FCV-101 opens again to where it was before the ramp."""
    opened_pct = memory.fcv_from_pct
    memory, _ = _go(memory, Step.COOL, now_s)
    return replace(memory, isolate_wanted=False, cool_overdue=False, failed=failed, fcv_pct=opened_pct)


def _hurries(memory: Memory) -> bool:
    """Whether the step has a deadline now: COOLDOWN waits for as long as nobody wants it to go on."""
    return memory.state is not State.COOLDOWN or memory.isolate_wanted


def _go(memory: Memory, then: Step | Event, now_s: float) -> tuple[Memory, Event | None]:
    if isinstance(then, Event):
        return memory, then
    work = None if memory.work is None else working.fresh(memory.work)
    gone = replace(memory, step=then, step_since_s=now_s, steady_since_s=None, fcv_from_pct=memory.fcv_pct, work=work)
    return gone, None


def throttle_pct(view: View, dt_s: float) -> float:
    """Return the opening that FCV-101 is kept at: held, ramped down before isolation, opened until the flow is proven."""
    memory, limits = view.memory, view.limits
    if (memory.state, memory.step) == (S.COOLDOWN, Step.RAMP):
        share = min(1.0, _age_s(view) / limits.fcv_ramp_s)
        return memory.fcv_from_pct - share * max(0.0, memory.fcv_from_pct - limits.fcv_low_pct)
    if (memory.state, memory.step) == (S.OPENING, Step.PROVE):
        flow = view.best("FT-101", "FT-102")
        if flow is not None and flow < limits.flow_nominal_lpm:
            return min(100.0, memory.fcv_pct + dt_s * 100.0 / limits.fcv_stroke_s)
    return memory.fcv_pct
