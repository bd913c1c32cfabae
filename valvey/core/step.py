"""One scan: judge, time, latch, choose the most urgent event, advance, demand. Pure; the order is the documentation."""

from collections.abc import Sequence
from dataclasses import dataclass

from fieldkit.frozen import replace
from fieldkit.reading import Readings
from valvey.core import adoption, awaiting, latching, lending, procedures, sensing, standing
from valvey.core.alarms import advance_alarms
from valvey.core.chart import FIRST_STEP, OPENING_WORK, OUTPUTS, Event, Guard, State, Throttle
from valvey.core.enter import enter
from valvey.core.facts import Fact, FactKind
from valvey.core.flow_state import Tuning, tuning_for
from valvey.core.gate import NO_WRITE, Outputs
from valvey.core.hearing import act
from valvey.core.judges import shut_votes
from valvey.core.judging import Judged, judge_all
from valvey.core.leasing import Answer, Ask
from valvey.core.lifecycle import remember
from valvey.core.limits import Limits
from valvey.core.machine import ROWS, advance
from valvey.core.memory import Inventory, Memory
from valvey.core.requests import Request
from valvey.core.steering import steer
from valvey.core.stroking import NUMBERS, follow
from valvey.core.trips import Trip, rows_for
from valvey.core.view import View


@dataclass(frozen=True, slots=True)
class Setup:
    """One rack's limits, its trip table and the tuning of its flow control, fixed for the life of the process."""

    limits: Limits
    trips: tuple[Trip, ...]
    tuning: Tuning


def setup(limits: Limits) -> Setup:
    return Setup(limits, rows_for(limits), tuning_for(limits))


@dataclass(frozen=True, slots=True)
class Scan:
    """What one scan decided. ``judged`` is for people: live verdicts. ``asks`` are for the loop's coordinator."""

    memory: Memory
    outputs: Outputs
    facts: tuple[Fact, ...]
    judged: Judged
    asks: tuple[Ask, ...] = ()


def step(
    memory: Memory,
    readings: Readings,
    requests: Sequence[Request],
    rack: Setup,
    now_s: float,
    answers: Sequence[Answer] = (),
) -> Scan:
    """Decide one scan.

    memory    what the last scan handed over
    readings  the newest reading of every tag, with its own sample time
    requests  those that arrived since the last scan, schema-checked
    now_s     boot-time seconds, never less than ``memory.now_s``
    answers   the coordinator's that arrived since the last scan
    """
    dt_s = now_s - memory.now_s
    late = memory.armed and dt_s > rack.limits.late_s
    memory, ended = standing.expire_bypasses(memory, now_s)
    memory, leased = lending.hear(memory, answers, now_s)
    memory = sensing.look(View(readings, memory, rack.limits, now_s))
    view = View(readings, memory, rack.limits, now_s)
    memory, requests, heard, waits = awaiting.attend(view, requests)
    view = replace(view, memory=memory, asked=heard.asked)

    judged = judge_all(view, rack.trips, min(dt_s, rack.limits.late_s))
    memory, facts = latching.note(replace(memory, now_s=now_s, timers=judged.timers), judged, now_s)
    event: Event | None = None
    if memory.armed:
        memory, latched = latching.latch(memory, judged, now_s)
        facts += latched
        event = latching.most_urgent(replace(view, memory=memory), judged) or (Event.LATE if late else None)

    memory, asked_event, told = act(replace(view, memory=memory), judged, rack.trips, heard, event)
    facts += (*ended, *leased, *waits, *told)
    if event is None and asked_event is None and memory.armed:
        memory, event = _own_event(replace(view, memory=memory), judged)
    if event is not None:
        memory, moved = _advance(replace(view, memory=memory), event)
        facts += moved
    if asked_event is not None and (event is None or (asked_event, memory.state) in ROWS):
        memory, moved = _advance(replace(view, memory=memory), asked_event)  # what is safer is done beside a trip
        facts += moved

    memory = _settle(replace(view, memory=memory), dt_s)
    memory = steer(replace(view, memory=memory), rack.tuning)
    memory = follow(replace(view, memory=memory))
    memory, asks, lent = lending.settle(replace(view, memory=memory))
    memory, locked = standing.turn_key(replace(view, memory=memory))
    memory, answered = remember(replace(view, memory=memory), requests, heard.answers, view.memory.state)
    memory, alarmed = advance_alarms(replace(view, memory=memory), judged)
    return Scan(memory, demand(memory, rack.limits), (*facts, *lent, *locked, *answered, *alarmed), judged, asks)


def _own_event(view: View, judged: Judged) -> tuple[Memory, Event | None]:
    """What the rack's own procedure says: adoption in STARTUP, else the end or the deadline of a step."""
    memory = view.memory
    if memory.state is State.STARTUP:
        memory = replace(memory, sightings=adoption.sight(view))
        return memory, adoption.adopt(replace(view, memory=memory), judged.demand)
    if memory.state is State.FLOWING and memory.isolate_wanted:
        return memory, Event.ISOLATE
    if memory.state in OPENING_WORK and (memory.latches or memory.locks):
        return memory, Event.TRIP_DARK  # also a latch that only tells forbids to go on opening
    if memory.state in OPENING_WORK and view.on("ZSC-103") is False:
        return replace(memory, failed="drain_open"), Event.STEP_FAILED
    if memory.state in OPENING_WORK and standing.key_turned(view):
        return replace(memory, failed="key_turned"), Event.STEP_FAILED
    if memory.leased and memory.grant is None and (Event.LEASE_LOST, memory.state) in ROWS:
        return replace(memory, failed="lease_lost"), Event.LEASE_LOST
    return procedures.follow(view)


def _advance(view: View, event: Event) -> tuple[Memory, list[Fact]]:
    memory = view.memory
    guards = {
        Guard.FIELD_OPEN: adoption.may_stay_open(view),
        Guard.BOTH_OPEN: view.open_proven(),
        Guard.BOTH_SHUT: view.shut_proven(),
        Guard.EMPTY: memory.inventory is Inventory.EMPTY,
    }
    after = advance(memory.state, event, guards)
    entered = enter(view, event, after, procedures.first_step(after, FIRST_STEP[after], view))
    if entered is memory:
        return memory, []
    fields = {
        "event": event, "from": memory.state, "to": entered.state, "step": entered.step, "state_seq": entered.state_seq,
        "emergency": entered.emergency, "first_out": entered.latches[0].sif if entered.latches else None,
    }  # fmt: skip
    return entered, [Fact(FactKind.TRANSITION, view.now_s, fields)]


def _settle(view: View, dt_s: float) -> Memory:
    """Keep what follows from the state: since when outputs are demanded off, the throttle, the good name of a start."""
    memory, now_s, row = view.memory, view.now_s, OUTPUTS[view.memory.state, view.memory.step]
    shut_since_s, off_since_s = memory.shut_since_s, memory.permit_off_since_s
    if row is not None:  # STARTUP demands nothing new: what was demanded before it, still is
        shut = not row.xv_101 and not row.xv_102 and memory.armed
        off = not row.xs_101 and memory.armed
        shut_since_s = (now_s if shut_since_s is None else shut_since_s) if shut else None
        off_since_s = (now_s if off_since_s is None else off_since_s) if off else None
    fcv_pct = procedures.throttle_pct(view, dt_s)
    if (shut_since_s, off_since_s, fcv_pct) != (memory.shut_since_s, memory.permit_off_since_s, memory.fcv_pct):
        memory = replace(memory, shut_since_s=shut_since_s, permit_off_since_s=off_since_s, fcv_pct=fcv_pct)
    vented = row is not None and (row.xv_103 or row.xv_104)  # what is open to the air follows no header
    refs = _header_refs(view) if shut_since_s is not None and not vented else (None, None)
    if refs != (memory.header_ref_kpa, memory.return_ref_kpa):
        memory = replace(memory, header_ref_kpa=refs[0], return_ref_kpa=refs[1])
    settled = memory.state is State.FLOWING and now_s - memory.since_s >= view.limits.settled_flowing_s
    return replace(memory, starts_s=()) if settled and memory.starts_s else memory


def _header_refs(view: View) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """The pressures in the rack and in each header when the valves had to be shut; kept from then on."""
    memory, rack = view.memory, view.number("PT-101")
    kept = (memory.header_ref_kpa, memory.return_ref_kpa)
    if None not in kept or rack is None or not shut_votes(view):
        return kept
    supply, ret = view.number("PT-201"), view.number("PT-202")
    return (
        kept[0] or (None if supply is None else (rack, supply)),
        kept[1] or (None if ret is None else (rack, ret)),
    )


def demand(memory: Memory, limits: Limits) -> Outputs:
    """The whole demand of the present state and step; nothing at all in STARTUP or when disarmed."""
    row = OUTPUTS[memory.state, memory.step]
    if row is None or not memory.armed:
        return NO_WRITE
    pct = {
        Throttle.SHUT: 0.0,
        Throttle.LOW: limits.fcv_low_pct,
        Throttle.FILL: limits.fcv_fill_pct,
        Throttle.KEEP: memory.fcv_pct,
    }[row.fcv_101]
    stroke = memory.stroke
    begins = stroke is not None and stroke.outcome is None and stroke.since_s == memory.now_s  # written once
    xk = NUMBERS[stroke.valve] if stroke is not None and begins else None
    return Outputs(row.xs_101, row.xv_101, row.xv_102, row.xv_103, row.xv_104, pct, xk)
