"""Answers: each request against the table, the memory and the field, and the ends of those that last."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fieldkit.errors import Refusal
from fieldkit.request import (
    Answered,
    Kind,
    Request,
    accepted,
    no_reason,
    refused_as,
    unknown,
    untimely,
    wrong_args,
    wrong_role,
)
from racky.core import alarms, evidence, lifecycle, permissives, power
from racky.core.facts import Fact, FactKind
from racky.core.lifecycle_chart import Event
from racky.core.memory import Cap, Maintenance, Pending, Phase
from racky.core.outputs import entered
from racky.core.requests import REQUESTS, RequestRow
from racky.core.view import View

MOST_ANSWERED = 10_000

Acted = tuple[View, list[Fact]]
Act = Callable[[View, Request], "Acted | Refusal"]


def answer(view: View, request: Request) -> Acted:
    """Return the view after ``request``, and what it did; its ANSWER is the last fact."""
    row = REQUESTS.get(request.name)
    before = _before(view, request)
    if before is not None:
        return view, [_fact(view, request, before)]
    acted = _refused(view, request, row) or _ACTS[request.name](view, request)
    if isinstance(acted, Refusal):
        done = refused_as(request, acted)
        return _noted(view, done), [_fact(view, request, done)]
    after, facts = acted
    done = accepted(request)
    after = _noted(after, done)
    if row is not None and row.goal:
        pending = Pending(request.id, request.client, request.name, view.now_s)
        after = replace(after, memory=replace(after.memory, pending=(*after.memory.pending, pending)))
    return after, [*facts, _fact(after, request, done)]


def look(view: View) -> Acted:
    """Return the view without the requests that have ended, and a fact for each end."""
    left, facts, phase = list[Pending](), list[Fact](), view.power.phase
    for one in view.memory.pending:
        row = REQUESTS[one.request]
        if phase in row.way:
            left.append(one)
            continue
        reached = phase in row.goal
        fields = {
            "id": one.id, "request": one.request, "client": one.client, "status": "succeeded" if reached else "failed",
            "reason": "" if reached else view.power.why, "state": phase,
            "proof": {output.feedback: view.sight.number(output.feedback) for output in view.setup.outputs},
        }  # fmt: skip
        facts.append(Fact(FactKind.ENDED, view.now_s, fields))
    return replace(view, memory=replace(view.memory, pending=tuple(left))), facts


def _before(view: View, request: Request) -> Answered | None:
    """The answer once given to this id, except to what makes things safer: that acts again."""
    row = REQUESTS.get(request.name)
    if row is not None and row.kind(view, request) is Kind.SAFER:
        return None
    return next((one for one in view.memory.answered if one.id == request.id), None)


def _refused(view: View, request: Request, row: RequestRow | None) -> Refusal | None:
    if row is None:
        return unknown(request, REQUESTS)
    wrong = wrong_role(request, row.roles) or wrong_args(request, row.args)
    if wrong is not None:
        return wrong
    kind = row.kind(view, request)
    if row.why and kind is not Kind.SAFER:
        wrong = no_reason(request)
    if wrong is None and kind is Kind.OPENING:
        wrong = untimely(request, view.memory.state_seq)
    return wrong or permissives.missing(view, row.permissives)


def _noted(view: View, done: Answered) -> View:
    answered = (*view.memory.answered, done)[-MOST_ANSWERED:]
    return replace(view, memory=replace(view.memory, answered=answered))


def _fact(view: View, request: Request, done: Answered) -> Fact:
    fields = {
        "id": request.id, "request": request.name, "client": request.client, "role": request.role, "by": request.by,
        "why": request.why, "status": done.status, "code": done.code, "reason": done.reason, "allow": done.allow,
        "state": view.power.phase, "state_seq": view.memory.state_seq,
    }  # fmt: skip
    return Fact(FactKind.ANSWER, view.now_s, fields)


# -- what each does ------------------------------------------------------------------------------------------------


def _power_off(view: View, request: Request) -> Acted:
    hurry = request.args.get("now") is True
    if view.power.phase in {Phase.OFF, Phase.TRIPPED}:
        return view.powered(replace(view.power, wanted=False)), []
    return power.off(view, f"asked by {request.who}: {request.why}", hurry=hurry or view.power.hurry)


def _power_on(view: View, request: Request) -> Acted:
    return power.on(view, f"asked by {request.who}: {request.why}")


def _cap(view: View, request: Request) -> Acted:
    for_s = request.args.get("for_s")
    until_s = None if for_s is None else view.now_s + float(for_s)
    return _capped(view, Cap(float(request.args["kw"]), request.who, request.why, view.now_s, until_s))


def _uncap(view: View, _request: Request) -> Acted | Refusal:
    if view.power.cap is None:
        return Refusal("nothing", "nobody has asked for a cap", "nothing to end")
    return _capped(view, None)


def _capped(view: View, cap: Cap | None) -> Acted:
    view = view.powered(replace(view.power, cap=cap))
    return replace(view, memory=replace(view.memory, state_seq=view.memory.state_seq + 1)), []


def _reset(view: View, request: Request) -> Acted:
    view, facts = entered(view, Phase.OFF, f"reset by {request.who}: {request.why}")
    return view, [Fact(FactKind.RESET, view.now_s, {"by": request.who, "why": request.why}), *facts]


def _maintenance(view: View, request: Request) -> Acted:
    until_s = view.now_s + float(request.args["for_s"])
    return _maintained(view, Maintenance(request.who, request.why, view.now_s, until_s))


def _end_maintenance(view: View, _request: Request) -> Acted | Refusal:
    if view.memory.maintenance is None:
        return Refusal("nothing", "the rack is not in maintenance", "nothing to end")
    return _maintained(view, None)


def _maintained(view: View, now: Maintenance | None) -> Acted:
    memory = replace(view.memory, maintenance=now, state_seq=view.memory.state_seq + 1)
    fields: Mapping[str, Any] = {"on": False} if now is None else {"on": True, "by": now.by, "why": now.why}
    return replace(view, memory=memory), [Fact(FactKind.MAINTENANCE, view.now_s, fields)]


def expire(view: View) -> Acted:
    """End a maintenance whose time is over."""
    now = view.memory.maintenance
    return (view, []) if now is None or view.now_s < now.until_s else _maintained(view, None)


def _leak_evidence(view: View, request: Request) -> Acted:
    args = request.args
    return evidence.told(view, str(args["tray"]), args["wet"] is True, float(args["for_s"]))


def _life(view: View, request: Request) -> Acted | Refusal:
    return lifecycle.ask(view, Event(request.name), request.who, request.why)


_ACTS: dict[str, Act] = {
    "power_off": _power_off, "power_on": _power_on, "cap": _cap, "uncap": _uncap, "reset": _reset, "maintenance": _maintenance,
    "end_maintenance": _end_maintenance, "ack": alarms.note, "shelve": alarms.note, "leak_evidence": _leak_evidence,
    "admit": _life, "quarantine": _life, "discover": _life, "retire": _life,
}  # fmt: skip
