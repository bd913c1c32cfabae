"""How far a run is on its way: percent, and the seconds still expected. For people; nothing is decided by it."""

from collections.abc import Callable
from dataclasses import dataclass

from racky.core.firmware import share
from racky.core.inventory import behind
from racky.core.lifecycle_chart import PROVING, STEPS, Step
from racky.core.lifecycle_did import age_s, devices
from racky.core.plan import Times
from racky.core.updating import image_of
from racky.core.view import View

#: What each step is expected to take, s.
EXPECTED: dict[Step, Callable[[Times], float]] = {
    Step.UPDATE: lambda _t: 60.0,
    Step.FILL: lambda _t: 300.0,
    Step.OPEN: lambda _t: 90.0,
    Step.WIDE: lambda _t: 40.0,
    Step.WATCH_WIDE: lambda t: t.calm + t.watch_wide,
    Step.NOMINAL: lambda _t: 40.0,
    Step.WATCH_NOMINAL: lambda t: t.calm + t.watch_nominal,
    Step.AUTO: lambda _t: 2.0,
    Step.ON: lambda _t: 20.0,
    Step.LOAD: lambda _t: 60.0,
    Step.SETTLE: lambda t: t.settle,
    Step.WATCH: lambda t: t.watch,
    Step.DIAGNOSE: lambda _t: 60.0,
}


@dataclass(frozen=True, slots=True)
class Progress:
    """``percent`` of the expected time of the whole run is over; ``eta_s`` are expected still."""

    percent: float
    eta_s: float


def progress(view: View) -> Progress | None:
    """Return where the run stands; None when none is under way."""
    life, plan = view.life, view.setup.plan
    if plan is None or life.state not in PROVING:
        return None
    way = [(state, step) for state in PROVING for step in STEPS[state]]
    takes_s = [EXPECTED[step](plan.times) for _state, step in way]
    place = way.index((life.state, life.step))
    part = min(1.0, age_s(view) / takes_s[place])
    if life.update is not None:
        image, box = image_of(plan, view, life.update.device)
        part = 0.0 if image is None or box is None else share(life.update, image, box)
        part = (len(life.updated) + part) / (len(life.updated) + max(1, len(behind(plan.manifest, devices(view)))))
    if life.step is Step.DIAGNOSE:
        part = len(life.diagnosed) / max(1, sum(not one.load for one in plan.diagnostics))
    total_s, done_s = sum(takes_s), sum(takes_s[:place]) + part * takes_s[place]
    return Progress(round(100.0 * done_s / total_s, 1), round(total_s - done_s, 1))
