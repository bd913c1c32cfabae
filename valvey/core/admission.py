"""Admission: one request against the table, the memory and the field."""

from valvey.core.chart import State
from valvey.core.memory import Answered
from valvey.core.requests import REQUESTS, Kind, Request, RequestRow, kind_of
from valvey.core.view import View


def accepted(request: Request, reason: str = "") -> Answered:
    return Answered(request.id, "accepted", "ok", reason, "")


def refused(request: Request, code: str, reason: str, allow: str) -> Answered:
    return Answered(request.id, "refused", code, reason, allow)


def is_trip_isolate(view: View, request: Request) -> bool:
    """An ``isolate`` of trip class from an entitled source: it shuts at once, also work that is shutting slowly."""
    return bool(request.name == "isolate" and request.args.get("trip") and request.role in view.limits.trip_sources)


def _check_args(request: Request, row: RequestRow) -> Answered | None:
    for name in request.args:
        if name not in row.args:
            known = ", ".join(row.args) or "none"
            return refused(request, "args", f"unknown argument '{name}'", f"arguments of '{row.name}': {known}")
    for name, arg in row.args.items():
        value = request.args.get(name)
        if value is None:
            if arg.needed:
                return refused(request, "args", f"argument '{name}' is missing", f"'{row.name}' needs '{name}'")
            continue
        wanted = " or ".join(kind.__name__ for kind in arg.types)
        if not isinstance(value, arg.types) or (isinstance(value, bool) and bool not in arg.types):
            return refused(request, "args", f"argument '{name}' is not {wanted}", f"'{name}' is a {wanted}")
        if isinstance(value, int | float) and not arg.low <= value <= arg.high:
            return refused(request, "args", f"argument '{name}' is out of range", f"{arg.low:g} to {arg.high:g}")
    return None


def admit(view: View, request: Request) -> Answered:
    """Judge a request against the memory and the field: accepted, or refused with a reason and what would allow it."""
    row, memory = REQUESTS.get(request.name), view.memory
    if row is None:
        return refused(request, "unknown", f"there is no request '{request.name}'", f"one of: {', '.join(REQUESTS)}")
    if request.role not in row.roles:
        return refused(
            request,
            "role",
            f"role '{request.role}' may not ask for '{row.name}'",
            f"roles: {', '.join(sorted(row.roles))}",
        )
    kind = kind_of(row, memory.state)
    if kind is not Kind.SAFER:
        for answer in memory.answered:
            if answer.id == request.id:
                return answer
    wrong = _check_args(request, row)
    if wrong is not None:
        return wrong
    if row.why and not request.why.strip():
        return refused(request, "why", f"'{row.name}' needs a reason", "a non-empty 'why'")
    if kind is Kind.OPENING:
        late = _check_time(view, request)
        if late is not None:
            return late
    hurried = memory.state in {State.UNLOADING, State.ISOLATING} and is_trip_isolate(view, request)
    if memory.state not in row.states and not hurried:
        return _elsewhere(request, row, memory.state)
    for permissive in row.permissives:
        missing = permissive(view)
        if missing is not None:
            return refused(request, permissive.__name__, *missing)
    return accepted(request)


def _check_time(view: View, request: Request) -> Answered | None:
    seq = view.memory.state_seq
    if request.expired is None:
        return refused(
            request, "clock", "no synchronised clock can judge its expiry", "a synchronised clock, or no 'expires_at'"
        )
    if request.expired:
        return refused(
            request, "expired", "it has expired or is dated in the future", "a fresh request within its expiry"
        )
    if request.expect_seq != seq:
        return refused(
            request,
            "expect_seq",
            f"expect_seq is {request.expect_seq}, state_seq is {seq}",
            f"look at the state, then ask with expect_seq {seq}",
        )
    return None


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
