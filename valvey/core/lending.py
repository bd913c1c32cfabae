"""The rack's dealings with its loop's coordinator, scan by scan: what leave is wanted for, what is heard, what is said.

A rack whose configuration names no coordinator wants nothing, and works without.
"""

from collections.abc import Sequence

from fieldkit.frozen import replace
from valvey.core import leasing as lease
from valvey.core.chart import State, Step
from valvey.core.facts import Fact, FactKind
from valvey.core.leasing import Answer, Ask, Heard, Leasing
from valvey.core.memory import Memory
from valvey.core.view import View

S = State
ISOLATE = "isolate"
WAIT_S = 10.0
"""A planned isolation waits so long for its lease, then goes on without."""
WAITS = "waiting for the coordinator's grant"
ALONE = "uncoordinated"
SILENT = ("the loop's coordinator does not answer", "a running coordinator ('valvey loop') of this rack's loop")
#: Work that was begun under a lease goes on under it to its end.
_WORKING = frozenset({S.OPENING, S.DRAINING, S.FILLING, S.TESTING})
_SHUTTING = frozenset({S.STARTUP, S.ISOLATING})
_ASKING = frozenset({(S.UNLOADING, Step.ASK), (S.COOLDOWN, Step.COOL)})
#: Where a planned isolation has gone on, with or without its lease.
_UNDER_WAY = frozenset({(S.UNLOADING, Step.UNLOAD), (S.COOLDOWN, Step.RAMP)})
_BY_VOLUME = frozenset({"drain", "fill"})


def hear(memory: Memory, answers: Sequence[Answer], now_s: float) -> tuple[Memory, list[Fact]]:
    """Return the memory after the coordinator's answers, and without a lease that has run out."""
    now, facts = memory.leasing, list[Fact]()
    for answer in answers:
        before = now
        now, heard = lease.hear(before, answer, now_s)
        if heard is Heard.LOWER_EPOCH and answer.epoch != before.lower:
            now = replace(now, lower=answer.epoch)
            facts.append(_fact("lower_epoch", before, now_s, answered=answer.epoch))
        elif heard is Heard.GRANTED and before.grant_id is None:
            facts.append(_fact("granted", now, now_s, ttl_s=answer.ttl_s))
        elif heard is Heard.LOST:
            facts.append(_fact("lost", before, now_s, reason=answer.reason))
        elif heard is Heard.REFUSED and (before.refusal is None or before.refusal[0] != answer.reason):
            facts.append(_fact("refused", now, now_s, reason=answer.reason, allow=answer.would_allow))
    grant = now.grant_id if lease.held(now, now_s) else None
    if memory.grant is not None and grant is None and now.grant_id is not None:
        facts.append(_fact("lapsed", now, now_s))
    if now is not memory.leasing or grant != memory.grant:
        memory = replace(memory, leasing=now, grant=grant)
    return memory, facts


def settle(view: View) -> tuple[Memory, tuple[Ask, ...], list[Fact]]:
    """Return the memory once its state has settled, what to say to the coordinator, and what is new."""
    memory, now_s, facts = view.memory, view.now_s, list[Fact]()
    if not view.limits.coordinator:
        return memory, (), facts
    work = wanted(memory)
    args = {"volume_l": view.limits.volume_l} if work in _BY_VOLUME else {}
    now = lease.want(memory.leasing, work, now_s, args)
    if memory.grant is not None and now.grant_id is None:
        facts.append(_fact("given_back", memory.leasing, now_s))
    now, asks, _lapsed = lease.turn(now, f"{view.limits.name}/{memory.boot_id}", now_s)
    alone = work == ISOLATE and now.grant_id is None and (memory.uncoordinated or _under_way(memory))
    if alone and not memory.uncoordinated:
        reason, allow = now.refusal or SILENT
        facts.append(Fact(FactKind.UNCOORDINATED, now_s, {"work": ISOLATE, "reason": reason, "allow": allow}))
    if now is not memory.leasing or alone is not memory.uncoordinated:
        memory = replace(memory, leasing=now, grant=now.grant_id, uncoordinated=alone)
    return memory, asks, facts


def wanted(memory: Memory) -> str | None:
    """What the rack needs a lease for now; None for nothing."""
    state, now = memory.state, memory.leasing
    if memory.waiting is not None:
        return memory.waiting.name
    if state is S.UNLOADING or (state is S.COOLDOWN and memory.isolate_wanted):
        return ISOLATE
    if memory.grant is not None and (state in _SHUTTING or (state in _WORKING and memory.leased)):
        return now.work
    if state in _SHUTTING and now.work == ISOLATE and not memory.emergency:
        return ISOLATE
    return None


def coordinated(view: View) -> bool:
    """Whether a planned isolation may go on: its lease is held, none is needed, or it has waited long enough."""
    memory = view.memory
    if not view.limits.coordinator or memory.grant is not None:
        return True
    return view.now_s - memory.leasing.since_s >= WAIT_S


def remark(view: View) -> str:
    """What a client is told of the coordinator beside the progress of its isolation; "" for nothing."""
    memory = view.memory
    if (memory.state, memory.step) in _ASKING and not coordinated(view):
        return WAITS
    return ALONE if memory.uncoordinated else ""


def _under_way(memory: Memory) -> bool:
    return (memory.state, memory.step) in _UNDER_WAY or memory.state is S.ISOLATING


def _fact(what: str, now: Leasing, now_s: float, **more: object) -> Fact:
    return Fact(FactKind.LEASE, now_s, {"what": what, "work": now.work, "id": now.grant_id, "epoch": now.epoch, **more})
