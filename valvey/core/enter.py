"""What the memory keeps when the chart moves: once for each way into a state, so that no step has to remember it."""

from fieldkit.frozen import replace
from valvey.core import adoption
from valvey.core.chart import Event, State, Step
from valvey.core.lending import ISOLATE
from valvey.core.memory import Effect, Inventory, Memory, Work
from valvey.core.view import View

S, E = State, Event

_TRIPS = frozenset({E.ESD, E.TRIP_ISOLATE, E.TRIP_DARK, E.OPEN_LOST, E.PROOF_LOST})
#: Work that a grant covers, and of it that which measures as it goes.
_WORK = frozenset({S.OPENING, S.DRAINING, S.FILLING, S.TESTING})
_MEASURED = frozenset({S.DRAINING, S.FILLING, S.TESTING})
#: A remembered opening this near to ZT-101 is kept as it was; repeated restarts do not make it drift.
ADOPT_FCV_PCT = 2.0


def enter(view: View, event: Event, after: State, first: Step) -> Memory:
    """Return the memory after ``event`` has led to ``after``, whose first step is ``first``."""
    memory, now_s = view.memory, view.now_s
    if event is E.LATE:
        late = replace(memory, was=_was(memory), starts_s=(*memory.starts_s, now_s), state_seq=memory.state_seq + 1)
        return adoption.enter_startup(late, now_s, view.limits)
    if event is E.ARM:
        armed = replace(memory, was=_was(memory), armed=True, state_seq=memory.state_seq + 1)
        return adoption.enter_startup(armed, now_s, view.limits)
    if after is memory.state:
        return _stay(memory, event, now_s)
    entered = replace(
        memory,
        state=after,
        step=first,
        since_s=now_s,
        step_since_s=now_s,
        steady_since_s=None,
        state_seq=memory.state_seq + 1,
        permit_rise_s=now_s if event is E.FLOW_PROVEN else None,
        isolate_wanted=_isolate_wanted(memory, event, after),
        unload_overdue=event is E.UNLOAD_OVERDUE,
        cool_overdue=False,
        emergency=_emergency(memory, event),
        leased=after in _WORK and memory.grant is not None and memory.leasing.work != ISOLATE,
        work=Work(now_s, full=memory.inventory is Inventory.FULL) if after in _MEASURED else None,
        failed=None if after in _WORK or after is S.FLOWING else memory.failed,
    )
    if memory.state is S.STARTUP:
        entered = _adopted(view, entered, event, after)
    if after is S.OPENING and first is Step.THROTTLE:
        entered = replace(entered, fcv_pct=view.limits.fcv_low_pct)
    return _filled(entered, event)


def _filled(memory: Memory, event: Event) -> Memory:
    """What is known of the coolant in the rack, and that it was tested, once ``event`` has led to its state."""
    if memory.state in {S.DRAINING, S.FILLING}:
        return replace(memory, inventory=Inventory.PART, tested=False)
    if event is E.DRAINED:
        return replace(memory, inventory=Inventory.EMPTY)
    if event is E.FILLED:
        return replace(memory, inventory=Inventory.FULL)
    return replace(memory, tested=True, stroke=None) if event is E.TESTED else memory  # both made their full stroke


def _was(memory: Memory) -> State | None:
    return memory.was if memory.state is S.STARTUP else memory.state


def _stay(memory: Memory, event: Event, now_s: float) -> Memory:
    if event is E.TRIP_ISOLATE and memory.state is S.ISOLATING:
        return replace(memory, emergency=True)
    if memory.state is S.COOLDOWN and event in {E.ISOLATE, E.CANCEL}:
        wanted = event is E.ISOLATE
        if wanted and memory.isolate_wanted:
            return memory
        return replace(
            memory,
            isolate_wanted=wanted,
            step=Step.COOL,
            step_since_s=now_s,
            steady_since_s=None,
            cool_overdue=False,
            failed=None if wanted else memory.failed,
        )
    return memory


def _isolate_wanted(memory: Memory, event: Event, after: State) -> bool:
    if after is S.COOLDOWN and event is not E.UNLOADED:  # an accepted isolation goes on after a restart or a trip
        return memory.isolate_wanted
    if event is E.ADOPT_FLOWING:
        return memory.isolate_wanted and memory.asked_in_startup
    return event is E.UNLOADED


def _emergency(memory: Memory, event: Event) -> bool:
    if event is E.ADOPT_ISOLATING:
        return memory.has(Effect.DARK, Effect.ISOLATE, Effect.ESD)
    return event in _TRIPS


def _adopted(view: View, memory: Memory, event: Event, after: State) -> Memory:
    """Keep the flow as found, and say so when the permit went off while nobody could see why."""
    position = view.number("ZT-101")
    if position is not None and abs(position - memory.fcv_pct) > ADOPT_FCV_PCT:
        memory = replace(memory, fcv_pct=position)
    if position is None and after is S.FLOWING and memory.fcv_pct <= view.limits.fcv_low_pct:
        memory = replace(memory, fcv_pct=100.0)  # never told, and not to be seen: too much flow harms nobody at once
    memory = replace(memory, adopted_s=view.now_s, was=after, asked_in_startup=False)
    # in ISOLATING: the valves lapsed, or a trip was written and its latch came too late; an unreadable memory has its own
    dark = event is E.ADOPT_COOLDOWN or (event is E.ADOPT_ISOLATING and view.memory.readable)
    if dark and adoption.permit_was_on(view.memory):
        return adoption.latch_adopted(memory, view.now_s)
    return memory
