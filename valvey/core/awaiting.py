"""Requests that cannot be answered yet: opening work waits until the loop's coordinator has said whether it may begin.

One waits at a time. It is judged anew, by everything that it was judged by before, in the scan in which the answer is
there, the time is over, or the rack is no longer as it was when it was asked.
"""

from collections.abc import Sequence

from fieldkit.frozen import replace
from fieldkit.request import Answered, refused
from valvey.core.facts import Fact, FactKind
from valvey.core.hearing import Heard, hear
from valvey.core.lending import WAITS
from valvey.core.memory import Memory, Waiting
from valvey.core.requests import Request
from valvey.core.view import View

ANSWER_S = 4.0
"""A coordinator that has not answered by then does not answer."""


def attend(view: View, requests: Sequence[Request]) -> tuple[Memory, tuple[Request, ...], Heard, list[Fact]]:
    """Hear what was asked in this scan, and what was asked before if it can be answered now.

    Returns the memory, all requests that were heard (by place in ``Heard.answers``), what was heard, and what is told of
    a request that begins to wait. Whatever asks for less ends the wait.
    """
    memory, waiting, now_s = view.memory, view.memory.waiting, view.now_s
    if waiting is not None and _due(memory, waiting, now_s):
        requests = (*requests, _again(waiting))
        memory, waiting = replace(memory, waiting=None), None
    heard = hear(replace(view, memory=memory), requests)
    if waiting is not None and heard.less:
        heard.answers[len(requests)] = _overtaken(_again(waiting))
        requests = (*requests, _again(waiting))
        waiting = None
    facts = list[Fact]()
    if heard.waits is not None:
        place, request = heard.waits
        if heard.less:
            heard.answers[place] = _overtaken(request)
        else:
            waiting = waiting or _begun(request, now_s)
            facts.append(_told(memory, request, waiting, now_s))
    if waiting is not memory.waiting:
        memory = replace(memory, waiting=waiting)
    return memory, tuple(requests), heard, facts


def _due(memory: Memory, waiting: Waiting, now_s: float) -> bool:
    answered = memory.grant is not None or memory.leasing.refusal is not None
    return answered or waiting.expect_seq != memory.state_seq or now_s - waiting.since_s >= ANSWER_S


def _begun(request: Request, now_s: float) -> Waiting:
    one = request
    return Waiting(one.id, one.name, one.role, one.client, dict(one.args), one.by, one.why, one.expect_seq, now_s)


def _again(one: Waiting) -> Request:
    return Request(one.id, one.name, one.role, one.client, one.args, one.by, one.why, one.expect_seq, waited=True)


def _overtaken(request: Request) -> Answered:
    reason = "something safer was asked for while it waited for the coordinator"
    return refused(request, "overtaken", reason, "look at the state, then ask again")


def _told(memory: Memory, request: Request, waiting: Waiting, now_s: float) -> Fact:
    fields = {
        "id": request.id, "client": request.client, "request": request.name, "state": memory.state, "step": memory.step,
        "percent": 0.0, "eta_s": round(ANSWER_S - (now_s - waiting.since_s), 1), "remark": WAITS,
    }  # fmt: skip
    return Fact(FactKind.PROGRESS, now_s, fields)
