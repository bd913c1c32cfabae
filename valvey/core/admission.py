"""Admission: one request against the table, the memory and the field."""

from fieldkit.request import (
    Answered,
    Kind,
    accepted,
    no_reason,
    refused,
    refused_as,
    unknown,
    untimely,
    wrong_args,
    wrong_role,
)
from valvey.core.chart import State
from valvey.core.requests import REQUESTS, Request, RequestRow, kind_of
from valvey.core.view import View


def is_trip_isolate(view: View, request: Request) -> bool:
    """An ``isolate`` of trip class from an entitled source: it shuts at once, also work that is shutting slowly."""
    return bool(request.name == "isolate" and request.args.get("trip") and request.role in view.limits.trip_sources)


def admit(view: View, request: Request) -> Answered:
    """Judge a request against the memory and the field: accepted, or refused with a reason and what would allow it."""
    row, memory = REQUESTS.get(request.name), view.memory
    if row is None:
        return refused_as(request, unknown(request, REQUESTS))
    wrong = wrong_role(request, row.roles)
    if wrong is not None:
        return refused_as(request, wrong)
    kind = kind_of(row, memory.state)
    if kind is not Kind.SAFER:
        for answer in memory.answered:
            if answer.id == request.id:
                return answer
    wrong = wrong_args(request, row.args)
    if wrong is None and row.why:
        wrong = no_reason(request)
    if wrong is None and kind is Kind.OPENING:
        wrong = untimely(request, memory.state_seq)
    if wrong is not None:
        return refused_as(request, wrong)
    hurried = memory.state in {State.UNLOADING, State.ISOLATING} and is_trip_isolate(view, request)
    if memory.state not in row.states and not hurried:
        return _elsewhere(request, row, memory.state)
    for permissive in row.permissives:
        missing = permissive(view)
        if missing is not None:
            return refused(request, permissive.__name__, *missing)
    return accepted(request)


def _elsewhere(request: Request, row: RequestRow, state: State) -> Answered:
    where = ", ".join(sorted(row.states))
    if row.name == "lock":
        return refused(
            request,
            "isolate_first",
            f"a lock is accepted only when the rack is shut, not in {state}",
            "'isolate' first",
        )
    if row.kind is Kind.SAFER:
        return accepted(request, "already safer")
    return refused(request, "state", f"'{row.name}' does not apply in {state}", f"states: {where}")
