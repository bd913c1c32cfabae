"""The life of a request after its answer: remembered ids, and the end of those that take time."""

from collections.abc import Mapping, Sequence

from fieldkit.frozen import replace
from fieldkit.request import Answered, Kind
from valvey.core.chart import Event, State
from valvey.core.facts import Fact, FactKind
from valvey.core.failures import FAILURES
from valvey.core.lending import remark
from valvey.core.memory import Memory, Pending
from valvey.core.progress import progress
from valvey.core.requests import REQUESTS, Request, kind_of
from valvey.core.stroking import OUTCOMES
from valvey.core.view import View

S = State
#: How many answered request ids are remembered.
ANSWERED_MAX = 10_000
#: How many accepted requests are awaited at a time.
PENDING_MAX = 256


def remember(
    view: View, requests: Sequence[Request], answers: Mapping[int, Answered], heard_in: State
) -> tuple[Memory, list[Fact]]:
    """Tell each answer, keep it by its id (SAFER requests act again when repeated), and await what takes time.

    ``view.memory`` is the memory after this scan's event; ``answers`` is by place among ``requests``; ``heard_in`` is
    the state in which they were heard, which decides their class.
    """
    memory, now_s = view.memory, view.now_s
    facts: list[Fact] = []
    kept = list(memory.answered)
    pending = list(memory.pending)
    known = {answer.id for answer in kept}
    cancelled = False
    for place, request in enumerate(requests):
        if place not in answers:
            continue  # it waits for the coordinator
        answer, row = answers[place], REQUESTS.get(request.name)
        fields = {
            "id": request.id, "request": request.name, "client": request.client, "role": request.role, "by": request.by,
            "why": request.why, "status": answer.status, "code": answer.code, "reason": answer.reason, "allow": answer.allow,
            "state": memory.state, "state_seq": memory.state_seq,
        }  # fmt: skip
        facts.append(Fact(FactKind.ANSWER, now_s, fields))
        if row is None:
            continue
        if kind_of(row, heard_in) is not Kind.SAFER:
            if request.id in known:
                continue
            kept.append(answer)
            known.add(request.id)
        if answer.status != "accepted" or not memory.armed:
            continue
        cancelled = cancelled or (row.event is Event.CANCEL and not answer.reason)
        if row.goal and request.id not in {one.id for one in pending}:
            pending.append(Pending(request.id, request.client, request.name, now_s))
    if len(kept) > ANSWERED_MAX:
        kept = kept[-ANSWERED_MAX:]
    if requests:
        dropped, pending = pending[:-PENDING_MAX], pending[-PENDING_MAX:]
        facts += [_ended(view, one, "failed", f"more than {PENDING_MAX} requests are awaited") for one in dropped]
        memory = replace(memory, answered=tuple(kept), pending=tuple(pending))
    return _finish(replace(view, memory=memory), facts, cancelled)


def _finish(view: View, facts: list[Fact], cancelled: bool) -> tuple[Memory, list[Fact]]:
    memory = view.memory
    if not memory.pending:
        return memory, facts
    missed = "cancelled" if cancelled else "failed"
    left = []
    for one in memory.pending:
        row = REQUESTS[one.request]
        if memory.state in row.goal and row.proof(view):
            facts.append(_ended(view, one, "succeeded", ""))
        elif _given_up(memory, one):
            facts.append(_ended(view, one, missed, f"{_given_up_by(memory, one)}; the rack stays {memory.state}"))
        elif memory.state not in row.goal and memory.state not in row.way:
            facts.append(_ended(view, one, missed, _why(memory)))
        else:
            one, told = _on_the_way(view, one)
            facts += told
            left.append(one)
    return (memory if tuple(left) == memory.pending else replace(memory, pending=tuple(left))), facts


def _why(memory: Memory) -> str:
    """Why a request has failed, for people."""
    text = f"the rack is {memory.state}"
    return text if memory.failed is None else f"{FAILURES[memory.failed]}; {text}"


def _on_the_way(view: View, one: Pending) -> tuple[Pending, list[Fact]]:
    """Tell how far it is: at every step, and at every tenth of the way."""
    now = progress(view, one.request)
    if now is None:
        return one, []
    said = remark(view)
    told = f"{now.step} {int(now.percent / 10.0)} {said}"
    if told == one.told:
        return one, []
    fields = {"id": one.id, "client": one.client, "request": one.request, "state": now.state, "step": now.step}
    fact = Fact(FactKind.PROGRESS, view.now_s, {**fields, "percent": now.percent, "eta_s": now.eta_s, "remark": said})
    return replace(one, told=told), [fact]


def _given_up(memory: Memory, one: Pending) -> bool:
    """Whether a planned isolation has been cancelled, took too long or was overtaken by a trip; or a stroke failed."""
    if one.request == "stroke":
        return memory.stroke is not None and memory.stroke.outcome is not None
    return one.request == "isolate" and memory.state in {S.FLOWING, S.COOLDOWN} and not memory.isolate_wanted


def _given_up_by(memory: Memory, one: Pending) -> str:
    if one.request == "stroke" and memory.stroke is not None and memory.stroke.outcome is not None:
        return OUTCOMES[memory.stroke.outcome]
    return "it was given up" if memory.failed is None else FAILURES[memory.failed]


def _ended(view: View, one: Pending, status: str, reason: str) -> Fact:
    proof = {tag: view.number(tag) for tag in ("XI-101", "ZSC-101", "ZSC-102", "ZSO-101", "ZSO-102", "FT-101")}
    fields = {"id": one.id, "client": one.client, "request": one.request, "status": status, "reason": reason}
    return Fact(
        FactKind.ENDED,
        view.now_s,
        {**fields, "state": view.memory.state, "proof": proof, "took_s": round(view.now_s - one.since_s, 3)},
    )
