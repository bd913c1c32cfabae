"""POWER and VALIDATION: shelves on, load up, temperatures settled, everything watched, the site's own diagnostics."""

from dataclasses import replace

from racky.core.life import Run, RunStatus
from racky.core.lifecycle_did import SLACK_S, Did, age_s
from racky.core.memory import Phase
from racky.core.permissives import POWER_ON, missing
from racky.core.plan import Diagnostic, Plan
from racky.core.shown import LOAD
from racky.core.view import View
from racky.core.watching import watching


def outputs_on(view: View) -> int:
    return sum(view.sight.on(output.feedback) is True for output in view.setup.outputs)


def on(view: View, _plan: Plan) -> Did:
    """Every output on. One that a rise cut short left off comes by another rise."""
    if view.power.phase is Phase.ON and outputs_on(view) == len(view.setup.outputs):
        return Did(replace(view.life, remark=""), ended=True)
    if view.power.phase is Phase.RISING:
        return Did(replace(view.life, remark=f"{outputs_on(view)} of {len(view.setup.outputs)} outputs are on"))
    lack = missing(view, POWER_ON)
    if lack is not None:
        return Did(replace(view.life, remark=f"{lack.reason} ({lack.would_allow})"))
    return Did(replace(view.life, remark="the shelves are switched on"), power=True)


def _key(view: View, one: Diagnostic) -> str:
    return f"{view.life.run}-{one.id}"


def _run(view: View, one: Diagnostic) -> Run:
    return Run(_key(view, one), one.id, one.timeout_s)


def loads(view: View, plan: Plan) -> tuple[tuple[Run, ...], str | None]:
    """The commands that make the load, and the first that has ended before its time."""
    runs = tuple(_run(view, one) for one in plan.diagnostics if one.load)
    for run in runs:
        told = view.sight.runs.get(run.key)
        if told is not None and told.status is not RunStatus.RUNNING:
            return (), f"{run.diagnostic} ended under load: {told.status} {told.detail}".rstrip()
    return runs, None


def load(view: View, plan: Plan) -> Did:
    runs, ended = loads(view, plan)
    kw = view.sight.guarded("ET-101")
    shown = "ET-101 cannot be believed" if kw is None else f"{kw:.0f} of {plan.design.rating_kw:.0f} kW"
    up = kw is not None and kw >= plan.load_share * plan.design.rating_kw
    return Did(replace(view.life, remark=shown), ended=up, failed=ended, runs=runs)


def settle(view: View, plan: Plan) -> Did:
    runs, ended = loads(view, plan)
    return Did(view.life, ended=age_s(view) >= plan.times.settle, failed=ended, runs=runs)


_watch_load = watching(LOAD, lambda _times: 0.0, lambda times: times.watch)


def watch(view: View, plan: Plan) -> Did:
    runs, ended = loads(view, plan)
    return replace(_watch_load(view, plan), failed=ended, runs=runs)


def diagnose(view: View, plan: Plan) -> Did:
    """The site's own commands, one after the other, under load. Each must end well in its time."""
    runs, ended = loads(view, plan)
    life = view.life
    for one in plan.diagnostics:
        if one.load or one.id in life.diagnosed:
            continue
        run, told = _run(view, one), view.sight.runs.get(_key(view, one))
        late = age_s(view) >= one.timeout_s + SLACK_S
        if told is None or told.status is RunStatus.RUNNING:
            if not late:
                return Did(replace(life, remark=f"{one.id} runs"), failed=ended, runs=(*runs, run))
            outcome = (False, f"did not end within {one.timeout_s:g} s")
        else:
            outcome = (told.status is RunStatus.PASSED, told.detail or str(told.status))
        life = replace(life, diagnosed={**life.diagnosed, one.id: outcome}, step_s=view.now_s)
        return Did(life, failed=ended, runs=runs)
    return Did(replace(life, remark=""), ended=True, failed=ended)
