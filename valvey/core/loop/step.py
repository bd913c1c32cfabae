"""One step of the coordinator: learn, free, answer, judge, hold, share, pass the gate. Pure; the order is the documentation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

from fieldkit.reading import Readings
from fieldkit.request import Request
from valvey.core.chart import State
from valvey.core.loop import alarms, asking, dew, events, following, gate, holding, leases, model, sharing, stopping
from valvey.core.loop.asking import RackRequest
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.leases import Asked, Judges, Reply
from valvey.core.loop.limits import LoopLimits
from valvey.core.loop.memory import Learned, LoopMemory
from valvey.core.loop.requests import answer
from valvey.core.loop.seen import SPEED_TAG, SUPPLY_TAG, LoopView, RackSeen
from valvey.core.loop.works import judge, revoke

LEAST_FLOW_FRACTION, LEAST_OPEN_PCT = 0.1, 8.0
"""Below these a rack teaches nothing of its branch."""
MOST_DT_S = 5.0


class LoopState(StrEnum):
    """What the coordinator is doing, for people."""

    ADOPTING = "ADOPTING"
    """Nothing is granted yet: leases of before are being found."""
    SERVING = "SERVING"
    SHARING = "SHARING"
    """Flow is short."""
    STOPPING = "STOPPING"
    """The pumps are to be stopped, once every rack is proven dark."""
    QUARREL = "QUARREL"
    """Another coordinator is on the bus: nothing is granted or written."""


@dataclass(frozen=True, slots=True)
class LoopInputs:
    """What came in since the last step.

    readings      of the CDU, by tag
    write_failed  the last write was not acknowledged
    """

    readings: Readings
    racks: Mapping[str, RackSeen]
    asks: Sequence[Asked] = ()
    requests: Sequence[Request] = ()
    others: bool = False
    write_failed: bool = False


@dataclass(frozen=True, slots=True)
class LoopScan:
    """What one step decided. ``stopped`` are demands that the gate did not pass, ``asked`` what racks are to be asked."""

    memory: LoopMemory
    writes: Mapping[str, float]
    replies: tuple[Reply, ...]
    facts: tuple[LoopFact, ...]
    stopped: Mapping[str, float] = field(default_factory=dict)
    asked: tuple[RackRequest, ...] = ()


def step(memory: LoopMemory, inputs: LoopInputs, loop: str, limits: LoopLimits, now_s: float) -> LoopScan:
    """Decide one step. ``loop`` is the loop's name, ``now_s`` boot-time seconds."""
    dt_s = min(max(now_s - memory.now_s, 0.0), MOST_DT_S)
    was_adopting = leases.adopting(memory, limits, memory.now_s)
    memory = replace(memory, now_s=now_s, written=None if inputs.write_failed else memory.written)
    view = LoopView(inputs.readings, inputs.racks, memory, limits, now_s, inputs.others)

    memory = replace(_learned(view, dt_s), asked=following.asked(view, dt_s))
    memory, facts = leases.look_at_epochs(memory, inputs.racks, limits, now_s)
    memory, freed = leases.free_overdue(memory, limits, now_s)
    now = replace(view, memory=memory)
    judges = Judges(partial(judge, now), partial(revoke, now))
    memory, replies, answered = leases.hear(memory, inputs.asks, judges, loop, limits, now_s)
    memory = _drained(memory, [*freed, *answered], limits)
    facts += (*freed, *answered)
    if was_adopting and not leases.adopting(memory, limits, now_s):
        memory = replace(memory, state_seq=memory.state_seq + 1)
        facts.append(LoopFact(LoopFactKind.SERVING, now_s, {"epoch": memory.epoch, "leases": sorted(memory.leases)}))

    memory = events.sampled(replace(view, memory=memory))
    memory, told = events.look(replace(view, memory=memory))
    facts += told
    memory, told = sharing.look(replace(view, memory=memory))
    facts += told
    for request in inputs.requests:
        memory, told = answer(replace(view, memory=memory), request)
        facts += told
    memory, stop, told = stopping.look(replace(view, memory=memory))
    facts += told
    memory, asked, told = asking.look(replace(view, memory=memory))
    facts += told
    memory, wanted, told = holding.look(replace(view, memory=memory), dt_s)
    facts += told
    memory, supply_c, told = dew.look(replace(view, memory=memory))
    facts += told
    memory, writes, stopped = _gated(replace(view, memory=memory), wanted, supply_c, stop)
    memory, told = alarms.look(replace(view, memory=memory))
    return LoopScan(memory, writes, tuple(replies), (*facts, *told), stopped, asked)


def state_of(memory: LoopMemory, limits: LoopLimits, others: bool) -> LoopState:
    """What the coordinator is doing."""
    if others:
        return LoopState.QUARREL
    if leases.adopting(memory, limits, memory.now_s):
        return LoopState.ADOPTING
    if memory.stop is not None:
        return LoopState.STOPPING
    return LoopState.SHARING if memory.short else LoopState.SERVING


def _gated(
    view: LoopView, wanted: float | None, supply_c: float | None, stop: bool
) -> tuple[LoopMemory, dict[str, float], dict[str, float]]:
    """Return the memory, what may be written, and what may not: set-points, or the pumps' stop in the place of theirs."""
    memory = view.memory
    written = None if stop else holding.paced(view, wanted)
    demand = {gate.RUN: 0.0} if stop else {}
    if written is not None:
        demand = {gate.POINTS[written.mode]: written.value}
    if supply_c is not None:
        demand[gate.SUPPLY] = supply_c
    limits, present_c = view.limits, view.cdu(SUPPLY_TAG)
    evidence = gate.CduEvidence(
        view.mode(), view.set_point(), limits.armed, not view.others, limits.pump_stop, not stopping.lit(view), present_c, limits.supply
    )  # fmt: skip
    passed = gate.pass_through(demand, limits.bounds, evidence)
    stopped = {point: value for point, value in demand.items() if point not in passed}
    if written is not None and gate.POINTS[written.mode] in passed:
        memory = replace(memory, written=written)
    if gate.SUPPLY in passed and present_c is not None:
        memory = dew.written(memory, passed[gate.SUPPLY], present_c, view.now_s)
    return memory, passed, stopped


def _learned(view: LoopView, dt_s: float) -> LoopMemory:
    """Return the memory with what new snapshots and the CDU's readings teach."""
    memory, limits = view.memory, view.limits
    dp_kpa, total, speed = view.dp_kpa(), view.cdu("FT-201"), view.cdu(SPEED_TAG)
    if dp_kpa is None or dp_kpa <= 0.0:
        return memory
    droop = memory.droop
    if total is not None and speed is not None and total > LEAST_FLOW_FRACTION * limits.rated_lpm:
        droop = model.learn_droop(droop, limits.dead_head_kpa, speed, dp_kpa, total, dt_s)
    known: dict[str, Learned] = {}
    for name, row in limits.racks.items():
        before, seen = memory.learned.get(name), view.rack(name)
        flow, opening = view.flow_lpm(name), view.point(name, "ZT-101")
        if seen.state is not State.FLOWING or flow is None or opening is None:
            continue
        if flow < LEAST_FLOW_FRACTION * row.flow_nominal_lpm or opening < LEAST_OPEN_PCT:
            continue
        if before is not None and memory.hold is not None:
            known[name] = model.smoothed(before, row, flow, opening, seen.at_s)
        else:
            known[name] = model.learn(before, row, flow, opening, dp_kpa, seen.at_s)
    return replace(memory, droop=droop, learned={**memory.learned, **known})


def _drained(memory: LoopMemory, facts: Sequence[LoopFact], limits: LoopLimits) -> LoopMemory:
    """Count what a drain that has ended, however it ended, may have put into its sump: the whole rack."""
    ended = {LoopFactKind.GIVEN_BACK, LoopFactKind.LAPSED}
    sumps = dict(memory.sumps_l)
    for fact in facts:
        row = limits.racks.get(str(fact.fields.get("rack")))
        if fact.kind in ended and fact.fields["work"] == "drain" and row is not None and row.sump is not None:
            sumps[row.sump] = sumps.get(row.sump, 0.0) + row.volume_l
    return memory if sumps == memory.sumps_l else replace(memory, sumps_l=sumps)
