"""Leases: who may work on what, for how long, and what a start makes of those that an earlier process granted.

Ask, renew, give back; freed ``ttl + grace`` after our last reply. A start takes an epoch above every epoch known,
adopts any lease that is presented, and grants nothing for one ttl: whoever still works has shown itself by then.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from fieldkit.errors import Refusal
from valvey.core.leasing import Act
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.limits import LoopLimits
from valvey.core.loop.memory import Held, LoopMemory
from valvey.core.loop.seen import RackSeen

K = LoopFactKind


@dataclass(frozen=True, slots=True)
class Asked:
    """A rack's message as the shell hands it over: ``rack`` from the topic, bound by the broker's access list."""

    rack: str
    ask_id: str
    act: Act
    work: str
    grant_id: str | None = None
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one ``Asked``."""

    rack: str
    ask_id: str
    granted: bool
    id: str | None
    epoch: int
    ttl_s: float
    work: str
    reason: str = ""
    would_allow: str = ""


Judge = Callable[[LoopMemory, str, str], Refusal | None]
"""Called with the memory, the rack and its work: why it may not begin, or go on, None when it may."""


@dataclass(frozen=True, slots=True)
class Judges:
    """Who may begin, and who may go on."""

    begin: Judge
    go_on: Judge


def begin(stored: LoopMemory, now_s: float) -> LoopMemory:
    """Return the memory of a new process: a higher epoch, and every lease on record believed for its full time."""
    return replace(
        stored,
        epoch=stored.epoch + 1,
        state_seq=stored.state_seq + 1,
        begun_s=now_s,
        now_s=now_s,
        leases={rack: replace(held, replied_s=now_s) for rack, held in stored.leases.items()},
        hold=None,
        written=None,
        samples=(),
        since_s={},
        isolated_s={},
        stop=None,
        asked_of={},
        short_since_s=None,
        enough_since_s=None,
        learned={rack: replace(one, at_s=now_s) for rack, one in stored.learned.items()},
    )


def adopting(memory: LoopMemory, limits: LoopLimits, now_s: float) -> bool:
    """Whether nothing is granted yet."""
    return now_s - memory.begun_s < limits.ttl_s


def look_at_epochs(
    memory: LoopMemory, racks: Mapping[str, RackSeen], limits: LoopLimits, now_s: float
) -> tuple[LoopMemory, list[LoopFact]]:
    """Return the memory with an epoch above all that the racks' retained states show.

    One that is as high as ours counts too while we adopt, unless it is of a lease that we know: our own record was lost.
    """
    known = {held.id for held in memory.leases.values()}
    fresh = adopting(memory, limits, now_s)
    shown = [grant for seen in racks.values() for grant in seen.grants]
    high = [one.epoch for one in shown if one.epoch > memory.epoch]
    high += [one.epoch for one in shown if fresh and one.epoch == memory.epoch and one.id not in known]
    return _raised(memory, max(high), limits, now_s) if high else (memory, [])


def free_overdue(memory: LoopMemory, limits: LoopLimits, now_s: float) -> tuple[LoopMemory, list[LoopFact]]:
    """Return the memory without the leases that were not renewed in time."""
    over = [held for held in memory.leases.values() if now_s - held.replied_s >= limits.ttl_s + limits.grace_s]
    if not over:
        return memory, []
    gone = {held.rack for held in over}
    left = {rack: held for rack, held in memory.leases.items() if rack not in gone}
    return _moved(memory, left), [_fact(K.LAPSED, held, now_s) for held in over]


def hear(
    memory: LoopMemory, asks: Iterable[Asked], judges: Judges, loop: str, limits: LoopLimits, now_s: float
) -> tuple[LoopMemory, list[Reply], list[LoopFact]]:
    """Answer every message, in order."""
    replies: list[Reply] = []
    facts: list[LoopFact] = []
    for asked in asks:
        if asked.epoch is not None and asked.epoch > memory.epoch:
            memory, raised = _raised(memory, asked.epoch, limits, now_s)
            facts += raised
        memory, reply, told = _answer(memory, asked, judges, loop, limits, now_s)
        replies.append(reply)
        facts += told
    return memory, replies, facts


def _answer(
    memory: LoopMemory, asked: Asked, judges: Judges, loop: str, limits: LoopLimits, now_s: float
) -> tuple[LoopMemory, Reply, list[LoopFact]]:
    held = memory.leases.get(asked.rack)
    if asked.act is Act.GIVE_BACK:
        return _given_back(memory, asked, held, now_s)
    fits = held is not None and (held.id == asked.grant_id if asked.act is Act.RENEW else held.work == asked.work)
    mine = held if fits else None
    ended = judges.go_on(memory, asked.rack, asked.work if mine is None else mine.work)
    if ended is not None and (mine is not None or asked.act is Act.RENEW):
        return _revoked(memory, asked, mine, ended, now_s)
    if mine is not None:
        held = replace(mine, replied_s=now_s, epoch=memory.epoch)
        return replace(memory, leases={**memory.leases, asked.rack: held}), _yes(asked, held, limits), []
    fresh = adopting(memory, limits, now_s)
    if asked.act is Act.RENEW and asked.grant_id is not None and fresh:
        held = Held(asked.rack, asked.grant_id, memory.epoch, asked.work, now_s, now_s, adopted=True)
        return _taken(memory, held), _yes(asked, held, limits), [_fact(K.ADOPTED, held, now_s)]
    if asked.act is Act.RENEW:
        return _refused(memory, asked, Refusal("unknown_lease", "this lease is not known any more", "ask anew"), now_s)
    if fresh:
        left_s = limits.ttl_s - (now_s - memory.begun_s)
        reason = "the coordinator has just started and learns what is under way"
        return _refused(memory, asked, Refusal("starting", reason, f"the same in {left_s:.0f} s"), now_s)
    refusal = judges.begin(memory, asked.rack, asked.work)
    if refusal is not None:
        return _refused(memory, asked, refusal, now_s)
    number = memory.number + 1
    held = Held(asked.rack, f"{loop}-{memory.epoch}-{number}", memory.epoch, asked.work, now_s, now_s)
    memory = _taken(replace(memory, number=number), held)
    return memory, _yes(asked, held, limits), [_fact(K.GRANTED, held, now_s)]


def _given_back(
    memory: LoopMemory, asked: Asked, held: Held | None, now_s: float
) -> tuple[LoopMemory, Reply, list[LoopFact]]:
    reply = _no(memory, asked, "given back", "ask anew")
    fits = held is not None and (held.id == asked.grant_id or (asked.grant_id is None and held.work == asked.work))
    if held is None or not fits:
        return memory, reply, []
    left = {rack: one for rack, one in memory.leases.items() if rack != asked.rack}
    return _moved(memory, left), reply, [_fact(K.GIVEN_BACK, held, now_s)]


def _revoked(
    memory: LoopMemory, asked: Asked, held: Held | None, refusal: Refusal, now_s: float
) -> tuple[LoopMemory, Reply, list[LoopFact]]:
    """The loop is not as it was when the lease was granted: the rack shuts, as after a lapse, only sooner."""
    memory, reply, facts = _refused(memory, asked, refusal, now_s)
    if held is None:
        return memory, reply, facts
    left = {rack: one for rack, one in memory.leases.items() if rack != asked.rack}
    return _moved(memory, left), reply, [_fact(K.REVOKED, held, now_s), *facts]


def _raised(memory: LoopMemory, seen: int, limits: LoopLimits, now_s: float) -> tuple[LoopMemory, list[LoopFact]]:
    """A higher epoch was there before us. Outside the adoption it is as good as a start: nothing is granted for a ttl."""
    begun_s = memory.begun_s if adopting(memory, limits, now_s) else now_s
    raised = replace(memory, epoch=seen + 1, begun_s=begun_s, state_seq=memory.state_seq + 1)
    return raised, [LoopFact(K.EPOCH, now_s, {"seen": seen, "was": memory.epoch, "epoch": raised.epoch})]


def _taken(memory: LoopMemory, held: Held) -> LoopMemory:
    return _moved(memory, {**memory.leases, held.rack: held})


def _moved(memory: LoopMemory, leases: Mapping[str, Held]) -> LoopMemory:
    return replace(memory, leases=leases, state_seq=memory.state_seq + 1)


def _yes(asked: Asked, held: Held, limits: LoopLimits) -> Reply:
    return Reply(asked.rack, asked.ask_id, True, held.id, held.epoch, limits.ttl_s, held.work)


def _no(memory: LoopMemory, asked: Asked, reason: str, would_allow: str) -> Reply:
    return Reply(asked.rack, asked.ask_id, False, None, memory.epoch, 0.0, asked.work, reason, would_allow)


def _refused(
    memory: LoopMemory, asked: Asked, refusal: Refusal, now_s: float
) -> tuple[LoopMemory, Reply, list[LoopFact]]:
    fields = {"rack": asked.rack, "work": asked.work, "code": refusal.code, "reason": refusal.reason}
    reply = _no(memory, asked, refusal.reason, refusal.would_allow)
    return memory, reply, [LoopFact(K.REFUSED, now_s, fields)]


def _fact(kind: LoopFactKind, held: Held, now_s: float) -> LoopFact:
    return LoopFact(kind, now_s, {"rack": held.rack, "work": held.work, "id": held.id, "epoch": held.epoch})
