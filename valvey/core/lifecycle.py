"""The life of a request after its answer: remembered ids, and the end of those that take time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from valvey.core.chart import State
from valvey.core.facts import Fact, FactKind
from valvey.core.memory import Answered, Memory, Pending
from valvey.core.requests import REQUESTS, Kind, Request, kind_of
from valvey.core.view import View

S = State
#: How many answered request ids are remembered.
ANSWERED_MAX = 10_000


def remember(view: View, requests: Sequence[Request], answers: Mapping[str, Answered]) -> tuple[Memory, list[Fact]]:
    """Tell each answer, keep it by its id (SAFER requests act again when repeated), and await what takes time.

    ``view.memory`` is the memory after this scan's event.
    """
    memory, now_s = view.memory, view.now_s
    facts: list[Fact] = []
    kept = list(memory.answered)
    pending = list(memory.pending)
    known = {answer.id for answer in kept}
    for request in requests:
        answer, row = answers[request.id], REQUESTS.get(request.name)
        fields = {
            "id": request.id, "request": request.name, "client": request.client, "role": request.role, "by": request.by,
            "why": request.why, "status": answer.status, "code": answer.code, "reason": answer.reason, "allow": answer.allow,
            "state": memory.state, "state_seq": memory.state_seq,
        }  # fmt: skip
        facts.append(Fact(FactKind.ANSWER, now_s, fields))
        repeated = request.id in known
        if row is None or (repeated and kind_of(row, memory.state) is not Kind.SAFER):
            continue
        if not repeated and kind_of(row, memory.state) is not Kind.SAFER:
            kept.append(answer)
            known.add(request.id)
        if answer.status == "accepted" and row.goal and memory.armed and request.id not in {one.id for one in pending}:
            pending.append(Pending(request.id, request.client, request.name, now_s))
    if len(kept) > ANSWERED_MAX:
        kept = kept[-ANSWERED_MAX:]
    if requests:
        memory = replace(memory, answered=tuple(kept), pending=tuple(pending))
    return _finish(replace(view, memory=memory), facts)


def _finish(view: View, facts: list[Fact]) -> tuple[Memory, list[Fact]]:
    memory = view.memory
    if not memory.pending:
        return memory, facts
    left = []
    for one in memory.pending:
        row = REQUESTS[one.request]
        if memory.state in row.goal and row.proof(view):
            facts.append(_ended(view, one, "succeeded", ""))
        elif _given_up(memory, one):
            facts.append(_ended(view, one, "failed", f"it was given up; the rack stays {memory.state}"))
        elif memory.state not in row.goal and memory.state not in row.way:
            facts.append(_ended(view, one, "failed", f"the rack is {memory.state}"))
        else:
            left.append(one)
    return (memory if len(left) == len(memory.pending) else replace(memory, pending=tuple(left))), facts


def _given_up(memory: Memory, one: Pending) -> bool:
    """Whether a planned isolation has been cancelled, took too long or was overtaken by a trip."""
    return one.request == "isolate" and memory.state in {S.FLOWING, S.COOLDOWN} and not memory.isolate_wanted


def _ended(view: View, one: Pending, status: str, reason: str) -> Fact:
    proof = {tag: view.number(tag) for tag in ("XI-101", "ZSC-101", "ZSC-102", "ZSO-101", "ZSO-102", "FT-101")}
    fields = {"id": one.id, "client": one.client, "request": one.request, "status": status, "reason": reason}
    return Fact(
        FactKind.ENDED,
        view.now_s,
        {**fields, "state": view.memory.state, "proof": proof, "took_s": round(view.now_s - one.since_s, 3)},
    )
