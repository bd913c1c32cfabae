"""What a drain, a fill and a test see from scan to scan, and the signs of failure that are timed by it. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from fieldkit.frozen import replace
from valvey.core.chart import State, Step
from valvey.core.limits import Limits
from valvey.core.memory import Work
from valvey.core.view import View

Condition = Callable[[View], bool]

#: Pressures and the temperature are smoothed so long.
KPA_TAU_S = 2.0
CELSIUS_TAU_S = 10.0
#: Flow is judged in blocks of this length, the first of them so long after the rack was seen to be full.
BLOCK_S = 5.0
CALM_AFTER_S = 3.0
#: The vented rack rests so long before its pressure is watched.
REST_S = 2.0
#: A hold begins anew when the temperature has moved faster than this, beyond what a sensor's noise can do.
DRIFT_K_MIN = 0.05
DRIFT_NOISE_K = 0.02
#: Room for noise above CV-102's opening pressure.
RELIEF_BAND_KPA = 2.0
#: Below this nothing runs out of the drain.
DRAIN_LEAST_LPM = 0.5
#: Work that passes so much more than the rack holds is stopped.
MOST_SHARE = 1.10


def at_once(_limits: Limits) -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class Fail:
    """A sign that the work cannot go on: ``name`` of ``failures.FAILURES``, and how long it must hold."""

    name: str
    holds: Condition
    for_s: Callable[[Limits], float] = at_once


def work_of(view: View) -> Work:
    """The present work's record; an empty one where there is none."""
    return view.memory.work or Work(view.now_s)


def step_age_s(view: View) -> float:
    return view.now_s - view.memory.step_since_s


def marked_s(view: View) -> float:
    """Seconds since the present watch began to count; 0 while it does not."""
    mark_s = work_of(view).mark_s
    return 0.0 if mark_s is None else view.now_s - mark_s


def highest_kpa(view: View) -> float | None:
    """The greater of the smoothed pressures: either transmitter may be the one that is stuck."""
    known = [kpa for kpa in work_of(view).kpa if kpa is not None]
    return max(known) if known else None


def pressure_lost(view: View) -> bool:
    return view.best("PT-101", "PT-102") is None


def settled_under_relief(view: View) -> bool:
    """No pressure above CV-102's opening; without PT-202 nobody can say, and a relief shows as a fall."""
    ret, kpa = view.number("PT-202"), highest_kpa(view)
    if kpa is None:
        return False
    return ret is None or kpa <= ret + view.limits.relief_crack_kpa + RELIEF_BAND_KPA


def fresh(work: Work) -> Work:
    """The record at the beginning of a step: volumes and smoothed values go on, watches begin anew."""
    return replace(work, mark_s=None, mark_kpa=(None, None), mark_c=None, flow=(0.0, 0.0, 0.0), noise=None, since_s={})


def observe(view: View) -> Work:
    """Return the record after one look at the field."""
    before, memory = work_of(view), view.memory
    dt_s = view.now_s - before.at_s
    supply_c, return_c = view.number("TT-101"), view.return_c()
    celsius = None if supply_c is None or return_c is None else 0.5 * (supply_c + return_c)
    work = replace(
        before,
        at_s=view.now_s,
        kpa=(
            _smooth(before.kpa[0], view.number("PT-101"), dt_s / KPA_TAU_S),
            _smooth(before.kpa[1], view.number("PT-102"), dt_s / KPA_TAU_S),
        ),
        celsius=_smooth(before.celsius, celsius, dt_s / CELSIUS_TAU_S),
    )
    now = replace(view, memory=replace(memory, work=work))
    if memory.state is State.DRAINING:
        return _drain(now, work, dt_s)
    if memory.state is State.FILLING:
        return _fill(now, work, dt_s)
    if memory.step is Step.PRESSURE or (memory.step is Step.RESEAT_102 and view.on("ZSC-102") is True):
        return _hold(now, work)
    return work


def failure(view: View, fails: tuple[Fail, ...]) -> tuple[Work, str | None]:
    """Return the record with the signs' times kept, and the first that has held for long enough."""
    work = work_of(view)
    since_s = {fail.name: work.since_s.get(fail.name, view.now_s) for fail in fails if fail.holds(view)}
    if since_s != work.since_s:
        work = replace(work, since_s=since_s)
    for fail in fails:
        if fail.name in since_s and view.now_s - since_s[fail.name] >= fail.for_s(view.limits):
            return work, fail.name
    return work, None


def _smooth(mean: float | None, value: float | None, share: float) -> float | None:
    """The smoothed value after one more; what cannot be believed leaves it as it was."""
    if value is None or mean is None:
        return mean if value is None else value
    return mean + (value - mean) * min(1.0, share)


def _passed_l(view: View, tag: str, dt_s: float) -> float:
    return max(0.0, view.number(tag) or 0.0) * dt_s / 60.0


def _drain(view: View, work: Work, dt_s: float) -> Work:
    step, flow = view.memory.step, view.number("FT-103")
    runs = step is Step.DRAIN and flow is not None and flow >= DRAIN_LEAST_LPM
    work = replace(
        work,
        litres=work.litres + _passed_l(view, "FT-103", dt_s),
        flowed=work.flowed or runs,
        waited_s=work.waited_s + (dt_s if step is Step.SUMP else 0.0),
    )
    rested = step is Step.WATCH and view.on("ZSC-104") is True and step_age_s(view) >= REST_S
    if rested and work.mark_s is None and highest_kpa(view) is not None:
        return replace(work, mark_s=view.now_s, mark_kpa=work.kpa)
    return work


def _fill(view: View, work: Work, dt_s: float) -> Work:
    passed_l, kpa = _passed_l(view, "FT-101", dt_s), highest_kpa(view)
    work = replace(work, litres=work.litres + passed_l)
    if kpa is None or kpa < view.limits.full_kpa:
        return replace(work, mark_s=None, flow=(0.0, 0.0, 0.0), noise=None)
    mark_s = view.now_s if work.mark_s is None else work.mark_s
    work = replace(work, mark_s=mark_s, over_l=work.over_l + passed_l)
    flow = view.number("FT-101")
    if flow is None or dt_s <= 0.0 or view.now_s - mark_s < CALM_AFTER_S:
        return work
    held_s, mean, squares = work.flow
    held_s += dt_s
    apart = flow - mean
    mean += apart * dt_s / held_s
    squares += apart * (flow - mean) * dt_s
    if held_s < BLOCK_S:
        return replace(work, flow=(held_s, mean, squares))
    noise = (squares / held_s) ** 0.5 / mean if mean > 0.0 else None
    return replace(work, flow=(0.0, 0.0, 0.0), noise=noise)


def _hold(view: View, work: Work) -> Work:
    """A hold begins once the pressure is under the relief's, and anew when the temperature has drifted."""
    if work.celsius is None or not settled_under_relief(view):
        return replace(work, mark_s=None)
    if work.mark_s is not None and work.mark_c is not None:
        allowed_k = DRIFT_K_MIN * (view.now_s - work.mark_s) / 60.0 + DRIFT_NOISE_K
        if abs(work.celsius - work.mark_c) <= allowed_k:
            return work
    return replace(work, mark_s=view.now_s, mark_kpa=work.kpa, mark_c=work.celsius)
