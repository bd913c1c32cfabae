"""The lifecycle, stepped: what happened to the rack, what its present step does, what its gates say, where that leads.

PRODUCTION is entered by one way: every gate of the plan has evidence that it passed. Everything else ends in QUARANTINED with
the evidence, from which a person's ``admit`` goes on at the stage that refused. Racky never opens a valve: it asks Valvey, in
the boot in which that person asked, and not after a trip.
"""

from dataclasses import dataclass, field, replace

from fieldkit.errors import Refusal
from racky.core import firmware, power
from racky.core.ask import Ask
from racky.core.burn_in import MEASURES
from racky.core.facts import Fact, FactKind
from racky.core.gates import Evidence, Measured, broken_off, judge, missing, tripped, unreached
from racky.core.inventory import Wrong, compare, differs
from racky.core.life import Lifecycle, Wanted
from racky.core.lifecycle_chart import PROVING, STAGES, STEPS, Event, Guard, State, after
from racky.core.lifecycle_did import Did, age_s, devices
from racky.core.lifecycle_facts import FACTS, measured
from racky.core.lifecycle_steps import ROWS
from racky.core.memory import Phase
from racky.core.permissives import POWER_ON
from racky.core.permissives import missing as lacking
from racky.core.plan import Plan
from racky.core.shown import NOTHING, Shown
from racky.core.view import View

KNOWN = (*FACTS, *MEASURES)
"""Every name that a gate may measure."""
TRIPPABLE = frozenset({State.COOLING, State.POWER, State.VALIDATION})
LOST = "lost"


@dataclass(frozen=True, slots=True)
class Stepped:
    """One step of the lifecycle."""

    view: View
    asks: tuple[Ask, ...] = ()
    wanted: Wanted = field(default_factory=Wanted)
    facts: tuple[Fact, ...] = ()


def advance(view: View) -> Stepped:
    """Return the view a step further, what is asked of Valvey, and what is wanted of the shell."""
    plan = view.setup.plan
    if plan is None:
        return Stepped(view)
    view, facts = _happened(view, plan)
    if not view.setup.armed and view.life.state in PROVING:
        held = replace(view.life, step_s=view.now_s, remark="Racky is disarmed: it asks and writes nothing")
        return Stepped(view.living(held), facts=tuple(facts))
    row = ROWS[view.life.state, view.life.step]
    did = row.act(view, plan)
    view = view.living(did.life)
    view, told = _powered(view, did)
    facts += told
    failed = did.failed
    if failed is None and not did.ended and row.most is not None and age_s(view) >= row.most(plan.times):
        failed = f"'{view.life.step}' took longer than {row.most(plan.times):g} s: {view.life.remark}"
    if failed is not None or did.ended:
        view, told = _on(view, plan, failed)
        facts += told
    still = not (failed is not None or did.ended)
    wanted = Wanted(did.orders, did.runs) if still or view.life.state in TRIPPABLE else Wanted()
    return Stepped(view, did.asks, wanted, tuple(facts))


def rebased(life: Lifecycle, shift_s: float) -> Lifecycle:
    """Return the life with its times moved to another boot's clock."""
    report = tuple(replace(one, at_s=one.at_s + shift_s) for one in life.report)
    return replace(life, since_s=life.since_s + shift_s, began_s=life.began_s + shift_s, report=report)


def restarted(life: Lifecycle, now_s: float) -> Lifecycle:
    """Return the life as it goes on after Racky was away: whatever was under way may or may not have happened."""
    if life.update is not None:
        life = replace(life, update=firmware.resumed(life.update, now_s))
    step = ROWS[life.state, life.step].resume or life.step
    set_point = LOST if life.set_point else ""
    return replace(life, step=step, step_s=now_s, asking=None, quiet_s=0.0, set_point=set_point)


def ask(view: View, event: Event, who: str, why: str) -> tuple[View, list[Fact]] | Refusal:
    """Do what a person asks of the lifecycle, or say why not."""
    life, plan = view.life, view.setup.plan
    if plan is None:
        return Refusal("lifecycle", "this rack has no lifecycle file", "'lifecycle:' in Racky's file, and a restart")
    if event is Event.RETIRE and view.power.phase is not Phase.OFF:
        return Refusal("power", f"the power is {view.power.phase}", "'power_off' first")
    if after(life.state, event, _guards(view)) is None:
        remark = f": {life.remark}" if life.remark else ""
        return Refusal("state", f"'{event}' does not apply in {life.state}{remark}", _allowed(event))
    if event is Event.ADMIT:
        if not view.setup.armed:
            return Refusal("armed", "Racky is disarmed", "'armed: true' in Racky's file, and a restart")
        if life.state in PROVING:
            view = view.living(replace(life, by=who, why=why, boot_id=view.memory.boot_id, quiet_s=0.0))
            return view, [_fact(view, "taken on", by=who, why=why)]
        return _begin(view, who, why)
    return _enter(view, event, by=who, why=why)


def _allowed(event: Event) -> str:
    return f"states: {', '.join(state for state in State if after(state, event) is not None)}"


def _begin(view: View, who: str, why: str) -> tuple[View, list[Fact]]:
    """A run. What passed before the stage that refused stands; the rest is shown anew."""
    life = view.life
    dest = after(life.state, Event.ADMIT, _guards(view))
    keep = () if dest is State.DISCOVERED else _before(life.report, dest or State.DISCOVERED)
    life = replace(
        life, run=life.run + 1, began_s=view.now_s, by=who, why=why, boot_id=view.memory.boot_id, report=keep
    )
    return _enter(view.living(life), Event.ADMIT, by=who, why=why)


def _before(report: tuple[Evidence, ...], stage: State) -> tuple[Evidence, ...]:
    return tuple(one for one in report if STAGES.index(one.stage) < STAGES.index(stage))


# --- what happened to the rack ---------------------------------------------------------------------------------------


def _happened(view: View, plan: Plan) -> tuple[View, list[Fact]]:
    """Maintenance, trips and changes, before anything is done."""
    life, valvey = view.life, view.sight.valvey
    if life.state is State.MAINTENANCE:
        opened = life.opened or (view.sight.hears_valvey and valvey.tested is not True)
        view = view.living(replace(life, opened=opened))
        return (view, []) if view.memory.maintenance is not None else _enter(view, Event.RELEASED)
    if view.memory.maintenance is not None and after(life.state, Event.MAINTAINED) is not None:
        return _enter(view.living(replace(life, was=life.state, opened=False)), Event.MAINTAINED)
    if life.state in PROVING:
        return _tripped(view)
    why = _changed(view, plan)
    return (view, []) if why is None else _enter(view, Event.CHANGED, why=why)


def _tripped(view: View) -> tuple[View, list[Fact]]:
    """A latch of Valvey's, or the second trip path. A person's word does not outlive it: before the coolant it only ends that."""
    life, found = view.life, list(dict.fromkeys(latch.sif for latch in view.sight.valvey.latches))
    if view.power.phase is Phase.TRIPPED:
        found.append("the second trip path")
    if not found:
        return view, []
    if life.state is State.FIRMWARE:
        return view.living(replace(life, boot_id="")), []
    detail, action = f"latched: {', '.join(found)}", "clear the cause and reset it at Valvey, then 'admit'"
    evidence = tripped(life.state, len(found), detail, action, view.now_s)
    report = (*(one for one in life.report if one.gate != evidence.gate), evidence)
    return _enter(view.living(replace(life, report=report, refused_at=life.state)), Event.TRIPPED, why=detail)


def _changed(view: View, plan: Plan) -> str | None:
    """Why the rack is not the one any more that was identified or admitted."""
    if view.life.state is State.IDENTIFIED:
        wrong = compare(plan.expected, view.sight.identities)
        return next((str(one) for one in wrong if one.wrong is not Wrong.MISSING), None)
    if view.life.state is not State.PRODUCTION:
        return None
    others = differs(view.life.admitted, devices(view))
    if others:
        return f"another device, or another firmware: {', '.join(others)}"
    opened = view.sight.hears_valvey and view.sight.valvey.tested is False
    return "the coolant was opened: the rack is not tested any more" if opened else None


def _guards(view: View) -> frozenset[Guard]:
    life = view.life
    same = not differs(life.admitted, devices(view), firmware=False)
    whole = view.sight.hears_valvey and view.sight.valvey.tested is True and not life.opened
    held = life.was is State.PRODUCTION and whole and not differs(life.admitted, devices(view))
    at = set[Guard]()
    if same and life.refused_at is State.FIRMWARE:
        at.add(Guard.AT_FIRMWARE)
    elif same and life.refused_at in TRIPPABLE:
        flows = view.sight.hears_valvey and view.sight.valvey.state == "FLOWING"
        at.add(Guard.AT_POWER if flows and life.refused_at is not State.COOLING else Guard.AT_COOLING)
    return frozenset(at | ({Guard.UNCHANGED} if held else set()))


# --- gates -----------------------------------------------------------------------------------------------------------


def _on(view: View, plan: Plan, failed: str | None) -> tuple[View, list[Fact]]:
    """The step has ended: the next one, or the state's gates."""
    life = view.life
    steps = STEPS[life.state]
    place = steps.index(life.step)
    if failed is None and place + 1 < len(steps):
        return view.living(replace(life, step=steps[place + 1], step_s=view.now_s)), []
    return _judged(view, plan, failed)


def _judged(view: View, plan: Plan, failed: str | None) -> tuple[View, list[Fact]]:
    life, now_s = view.life, view.now_s
    facts = measured(view, plan)
    shown = Shown(plan.design, view.setup.shelves, life.windows, facts)
    gates = [gate for gate in plan.gates if gate.stage is life.state]
    shows = {gate.id: facts.get(gate.measure) or MEASURES.get(gate.measure, _nothing)(shown) for gate in gates}
    new = [judge(gate, shows[gate.id], now_s) for gate in gates]
    if failed is not None:
        new = [broken_off(life.state, failed, now_s), *(unreached(one) for one in new)]
    life = replace(life, report=(*_before(life.report, life.state), *new))
    lacks = missing(plan.gates, life.report) if life.state is State.VALIDATION else ()
    refused = next((one.stage for one in life.report if not one.ok), None)
    if refused is None and lacks:
        refused = next(gate.stage for gate in plan.gates if gate.id in lacks)
    event = Event.PASSED if refused is None else Event.REFUSED
    if event is Event.PASSED:
        life = replace(life, admitted=tuple(devices(view).values()))
    told = _fact(view, "judged", passed=event is Event.PASSED, gates=[one.plain() for one in new], lacking=list(lacks))
    view, entered = _enter(view.living(replace(life, refused_at=refused)), event)
    return view, [told, *entered]


def _nothing(_shown: Shown) -> Measured:
    return NOTHING


# --- moves -----------------------------------------------------------------------------------------------------------


def _enter(view: View, event: Event, by: str = "", why: str = "") -> tuple[View, list[Fact]]:
    """Follow the chart, which must have a row."""
    life, now_s = view.life, view.now_s
    state = after(life.state, event, _guards(view))
    if state is None:
        raise LookupError(f"the lifecycle's chart has no row for '{event}' in {life.state}")
    refused_at = life.refused_at if state is State.QUARANTINED else None
    if event is Event.QUARANTINE:
        refused_at = State.DISCOVERED
    entered = replace(
        life, state=state, step=STEPS[state][0], since_s=now_s, step_s=now_s, asking=None, quiet_s=0.0, remark=why, refused_at=refused_at,
        update=None,
    )  # fmt: skip
    if state is State.DISCOVERED:
        entered = replace(entered, updated={}, report=())
    if state is State.COOLING:
        entered = replace(entered, windows={}, set_point=LOST if life.set_point else "")
    if state is State.VALIDATION:
        entered = replace(entered, diagnosed={})
    view = replace(view.living(entered), memory=replace(view.memory, life=entered, state_seq=view.memory.state_seq + 1))
    fields: dict[str, object] = {"from": life.state, "to": state, "event": event, "by": by, "why": why}
    if state in {State.QUARANTINED, State.PRODUCTION}:
        fields["report"] = [one.plain() for one in entered.report]
    facts = [_fact(view, "entered", **fields)]
    if state is State.QUARANTINED and view.power.phase in {Phase.RISING, Phase.ON}:
        view, told = power.off(view, "the rack is quarantined")
        facts += told
    return view, facts


def _powered(view: View, did: Did) -> tuple[View, list[Fact]]:
    """Hand the wish for power on."""
    if did.power is True and view.power.phase in {Phase.OFF, Phase.ON} and lacking(view, POWER_ON) is None:
        return power.on(view, f"admission, asked by {view.life.by}")
    if did.power is False and view.power.phase in {Phase.RISING, Phase.ON}:
        return power.off(view, "firmware is updated while the rack carries no power")
    return view, []


def _fact(view: View, what: str, **fields: object) -> Fact:
    life = view.life
    return Fact(FactKind.LIFECYCLE, view.now_s, {"what": what, "state": life.state, "run": life.run, **fields})
