"""The table of steps: what each does, how long it may take, and where it goes on after Racky was away."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from racky.core import cooling, updating, validating
from racky.core.inventory import Wrong, compare
from racky.core.lifecycle_chart import State, Step
from racky.core.lifecycle_did import Act, Did, age_s
from racky.core.plan import Plan, Times
from racky.core.view import View


def identify(view: View, plan: Plan) -> Did:
    """Wait for every device to say who it is; a contradiction is waited out, then judged."""
    wrong = compare(plan.expected, view.sight.identities)
    absent = [one.device for one in wrong if one.wrong is Wrong.MISSING]
    if absent:
        return Did(replace(view.life, step_s=view.now_s, remark=f"waits for {', '.join(absent)}"))
    return Did(
        replace(view.life, remark=str(wrong[0]) if wrong else ""), ended=not wrong or age_s(view) >= plan.times.identify
    )


def idle(view: View, _plan: Plan) -> Did:
    return Did(view.life)


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step: what it does, and how long it may take; what is late is judged with what is there."""

    act: Act
    most: Callable[[Times], float] | None = None
    resume: Step | None = None
    """Where it goes on after Racky was away: what was watched has a gap."""


S = State
# fmt: off
ROWS: dict[tuple[State, Step], StepRow] = {
    (S.DISCOVERED,  Step.IDENTIFY):      StepRow(identify),
    (S.IDENTIFIED,  Step.WAIT):          StepRow(idle),
    (S.FIRMWARE,    Step.UPDATE):        StepRow(updating.update, lambda t: t.update_most),
    (S.COOLING,     Step.FILL):          StepRow(cooling.fill, lambda t: t.fill_most),
    (S.COOLING,     Step.OPEN):          StepRow(cooling.open_, lambda t: t.open_most),
    (S.COOLING,     Step.WIDE):          StepRow(cooling.wide, lambda t: t.wide_most),
    (S.COOLING,     Step.WATCH_WIDE):    StepRow(cooling.watch_wide, resume=Step.WIDE),
    (S.COOLING,     Step.NOMINAL):       StepRow(cooling.nominal, lambda t: t.nominal_most),
    (S.COOLING,     Step.WATCH_NOMINAL): StepRow(cooling.watch_nominal, resume=Step.NOMINAL),
    (S.COOLING,     Step.AUTO):          StepRow(cooling.auto, lambda t: t.auto_most),
    (S.POWER,       Step.ON):            StepRow(validating.on, lambda t: t.on_most),
    (S.VALIDATION,  Step.LOAD):          StepRow(validating.load, lambda t: t.load_most),
    (S.VALIDATION,  Step.SETTLE):        StepRow(validating.settle, resume=Step.LOAD),
    (S.VALIDATION,  Step.WATCH):         StepRow(validating.watch, resume=Step.LOAD),
    (S.VALIDATION,  Step.DIAGNOSE):      StepRow(validating.diagnose, lambda t: t.diagnose_most),
    (S.PRODUCTION,  Step.HOLD):          StepRow(idle),
    (S.QUARANTINED, Step.HOLD):          StepRow(cooling.resting),
    (S.MAINTENANCE, Step.HOLD):          StepRow(cooling.resting),
    (S.RETIRED,     Step.HOLD):          StepRow(idle),
}
# fmt: on
