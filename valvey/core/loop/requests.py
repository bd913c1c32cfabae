"""What people may ask of a coordinator, who may, and the answers. It opens nothing: racks are asked themselves."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from fieldkit import alarms
from fieldkit.errors import Refusal
from fieldkit.request import EVERYBODY, STAFF, TEXT, Arg, Request, no_reason, unknown, untimely, wrong_args, wrong_role
from valvey.core.loop import events, leases, plan, stopping
from valvey.core.loop.alarms import fact
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.memory import LoopMemory, Stop
from valvey.core.loop.seen import LoopView
from valvey.core.loop.works import WORKS, judge

KEEPERS = frozenset({"safety", "supervisor"})
ANYBODY = EVERYBODY | {"observer"}


@dataclass(frozen=True, slots=True)
class LoopRequestRow:
    """One request.

    acts   it changes something, so it needs the present ``state_seq`` and a reason
    lasts  it is accepted now and ends later, told by an ENDED fact
    """

    name: str
    roles: frozenset[str]
    acts: bool
    args: Mapping[str, Arg]
    text: str
    lasts: bool = False


# fmt: off
_ROWS: tuple[LoopRequestRow, ...] = (
    LoopRequestRow("plan",         ANYBODY,   False, {"rack": TEXT, "work": TEXT},  "what a work would do: neighbours, time, volume, pressure; and why it would be refused now"),
    LoopRequestRow("ack",          STAFF,     False, {"alarm": TEXT},               "acknowledge one alarm"),
    LoopRequestRow("reset",        STAFF,     True,  {"event": Arg((str, list))},   "clear the named loop events whose cause is gone"),
    LoopRequestRow("sump_emptied", STAFF,     True,  {"sump": TEXT},                "record that a sump was pumped empty"),
    LoopRequestRow("stop_pumps",   KEEPERS,   True,  {},                            "every rack dark, proven, then the pumps stopped; only where the site's policy allows it", lasts=True),
    LoopRequestRow("cancel",       STAFF,     False, {},                            "let the pumps run on: end a 'stop_pumps' that has not yet been carried out"),
)
# fmt: on
REQUESTS: dict[str, LoopRequestRow] = {row.name: row for row in _ROWS}


def answer(view: LoopView, request: Request) -> tuple[LoopMemory, list[LoopFact]]:
    """Return the memory after ``request`` and the facts, the ANSWER last."""
    refusal = _refused(view, request)
    if refusal is not None:
        return view.memory, [_answer(view, request, refusal, {})]
    memory, facts, result = _ACTS[request.name](view, request)
    if isinstance(result, Refusal):
        return view.memory, [_answer(view, request, result, {})]
    return memory, [*facts, _answer(view, request, None, result)]


def _refused(view: LoopView, request: Request) -> Refusal | None:
    row = REQUESTS.get(request.name)
    if row is None:
        return unknown(request, REQUESTS)
    wrong = wrong_role(request, row.roles) or wrong_args(request, row.args)
    if wrong is None and row.acts:
        wrong = no_reason(request) or untimely(request, view.memory.state_seq)
    return wrong


_Result = tuple[LoopMemory, list[LoopFact], dict[str, Any] | Refusal]


def _plan(view: LoopView, request: Request) -> _Result:
    rack, work = request.args["rack"], request.args["work"]
    if rack not in view.limits.racks or work not in WORKS:
        allow = f"rack: {', '.join(view.limits.racks)}; work: {', '.join(WORKS)}"
        return view.memory, [], Refusal("args", f"rack {rack!r}, work {work!r} is not known here", allow)
    found = asdict(plan.predict(view, work, rack))
    refusal = judge(view, view.memory, rack, work)
    if leases.adopting(view.memory, view.limits, view.now_s):
        refusal = Refusal("starting", "the coordinator has just started", "the same a little later")
    found["refused"] = None if refusal is None else {"reason": refusal.reason, "would_allow": refusal.would_allow}
    return view.memory, [], found


def _ack(view: LoopView, request: Request) -> _Result:
    memory = view.memory
    after = alarms.note(memory.alarms, request, view.now_s)
    if isinstance(after, Refusal):
        return memory, [], after
    told = {"alarm": after.row.id, "state": str(after.phase)}
    return replace(memory, alarms={**memory.alarms, after.row.id: after}), [fact(after, view.now_s)], told


def _reset(view: LoopView, request: Request) -> _Result:
    names = request.args["event"]
    names = names if isinstance(names, list) else [names]
    memory, facts = events.reset(view.memory, map(str, names), request.who, request.why, view.now_s)
    if not facts:
        standing = ", ".join(latch.name for latch in view.memory.latches) or "none"
        return (
            memory,
            [],
            Refusal("not_clear", f"none of {names} is latched with its cause gone", f"latched: {standing}"),
        )
    return memory, facts, {"reset": [fact.fields["event"] for fact in facts]}


def _sump_emptied(view: LoopView, request: Request) -> _Result:
    memory, sump = view.memory, request.args["sump"]
    if sump not in view.limits.sumps_l:
        return memory, [], Refusal("args", f"no sump {sump!r}", f"one of {', '.join(view.limits.sumps_l) or 'none'}")
    fields = {
        "sump": sump,
        "held_l": memory.sumps_l.get(sump, 0.0),
        "by": request.who,
        "why": request.why,
    }
    left = {name: litres for name, litres in memory.sumps_l.items() if name != sump}
    memory = replace(memory, sumps_l=left, state_seq=memory.state_seq + 1)
    return memory, [LoopFact(LoopFactKind.SUMP, view.now_s, fields)], {"sump": sump}


def _stop_pumps(view: LoopView, request: Request) -> _Result:
    refused = stopping.refusal(view)
    if refused is not None:
        return view.memory, [], refused
    stop = Stop(request.id, request.client, request.role, request.who, request.why, view.now_s)
    memory = replace(view.memory, stop=stop, state_seq=view.memory.state_seq + 1)
    fields = {"id": request.id, "by": stop.by, "why": stop.why, "racks": list(stopping.lit(view))}
    return memory, [LoopFact(LoopFactKind.STOP, view.now_s, fields)], {}


def _cancel(view: LoopView, request: Request) -> _Result:
    stop = view.memory.stop
    if stop is None:
        return view.memory, [], Refusal("nothing", "no stop of the pumps is under way", "nothing to cancel")
    reason = f"cancelled by {request.who}"
    memory, _, facts = stopping.ended(view.memory, stop, "cancelled", reason, view.now_s)
    return memory, facts, {"cancelled": stop.id}


_ACTS = {
    "plan": _plan, "ack": _ack, "reset": _reset, "sump_emptied": _sump_emptied, "stop_pumps": _stop_pumps, "cancel": _cancel,
}  # fmt: skip


def _answer(view: LoopView, request: Request, refusal: Refusal | None, proof: Mapping[str, Any]) -> LoopFact:
    row = REQUESTS.get(request.name)
    done = "accepted" if row is not None and row.lasts else "succeeded"
    fields = {
        "id": request.id, "request": request.name, "client": request.client, "role": request.role, "by": request.by,
        "why": request.why, "status": "refused" if refusal is not None else done,
        "code": "ok" if refusal is None else refusal.code, "reason": "" if refusal is None else refusal.reason,
        "allow": "" if refusal is None else refusal.would_allow, "proof": dict(proof),
    }  # fmt: skip
    return LoopFact(LoopFactKind.ANSWER, view.now_s, fields)
