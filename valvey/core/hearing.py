"""Requests inside one scan: heard before the judging (some are demands), acted on after the latching."""

from collections.abc import Sequence
from dataclasses import dataclass

from fieldkit.frozen import replace
from fieldkit.request import Answered, Kind, accepted, refused
from valvey.core import alarms
from valvey.core.acts import ACTS
from valvey.core.admission import admit, is_trip_isolate
from valvey.core.chart import Event, State
from valvey.core.facts import Fact
from valvey.core.judging import Judged
from valvey.core.memory import Effect, Memory
from valvey.core.permissives import GRANTED
from valvey.core.requests import REQUESTS, Request, kind_of
from valvey.core.trips import Trip
from valvey.core.view import View


@dataclass(frozen=True, slots=True)
class Heard:
    """What was asked in one scan.

    answers  by place among the scan's requests; one may still turn into a refusal while acting
    asked    trip-class demands
    wanted   accepted requests that are still to be acted on, by place, SAFER first
    repeats  place of a request with a repeated id → place of the one whose answer it shares
    closing  somebody asked for less: nothing that opens begins beside it
    less     the same, or somebody cancelled: nothing waits any longer for its lease
    waits    a request, and its place, that has no answer yet: it waits for the coordinator's
    """

    answers: dict[int, Answered]
    asked: frozenset[Effect]
    wanted: tuple[tuple[int, Request], ...]
    repeats: dict[int, int]
    closing: bool = False
    less: bool = False
    waits: tuple[int, Request] | None = None


NOTHING = Heard({}, frozenset(), (), {})
_CLOSING = frozenset({"emergency_stop", "dark", "isolate"})
_LESS = _CLOSING | {"cancel"}
_TABLE = {name: place for place, name in enumerate(REQUESTS)}


def hear(view: View, requests: Sequence[Request]) -> Heard:
    """Admit each request, SAFER first and the safest of them foremost; trip-class demands are inputs of SIF-7 and SIF-10."""
    if not requests:
        return NOTHING
    heard = Heard({}, frozenset(), (), {})
    state = view.memory.state
    known = {answer.id for answer in view.memory.answered}
    first: dict[str, int] = {}
    for place, request in sorted(enumerate(requests), key=lambda one: (_rank(one[1], state), one[0])):
        safer = _is_safer(request, state)
        if not safer and first.setdefault(request.id, place) != place:
            heard.repeats[place] = first[request.id]
            continue
        answer = admit(view, request)
        if answer.code == GRANTED and not request.waited and request.id not in known:
            other = view.memory.waiting if heard.waits is None else heard.waits[1]
            if other is None or other.id == request.id:
                heard = replace(heard, waits=(place, request))
                continue
            reason = f"'{other.name}' of {other.client} waits for the coordinator's answer"
            answer = refused(request, "busy", reason, "ask again once it is answered, or 'cancel' it")
        heard.answers[place] = answer
        if answer.status != "accepted":
            continue
        closing, less = heard.closing or request.name in _CLOSING, heard.less or request.name in _LESS
        heard = replace(heard, closing=closing, less=less)
        if answer.reason or (request.id in known and not safer):
            continue
        effect = _demanded(view, request)
        if not view.memory.armed and safer and request.name != "lock":
            heard.answers[place] = accepted(request, "disarmed: nothing is written; the wired emergency stop acts")
        elif effect is not None:
            heard = replace(heard, asked=heard.asked | {effect})
        else:
            heard = replace(heard, wanted=(*heard.wanted, (place, request)))
    return heard


def _rank(request: Request, state: State) -> int:
    return _TABLE[request.name] if _is_safer(request, state) else len(_TABLE)


def _is_safer(request: Request, state: State) -> bool:
    row = REQUESTS.get(request.name)
    return row is not None and kind_of(row, state) is Kind.SAFER


def _demanded(view: View, request: Request) -> Effect | None:
    """The trip-class demand that a request is, if it is one."""
    if request.name == "emergency_stop":
        return Effect.ESD
    if request.name == "dark":
        return Effect.DARK
    return Effect.ISOLATE if is_trip_isolate(view, request) else None


def act(
    view: View, judged: Judged, trips: tuple[Trip, ...], heard: Heard, event: Event | None
) -> tuple[Memory, Event | None, list[Fact]]:
    """Carry out what was accepted, and return the chart event that it asks for.

    At most one request moves the chart in a scan. Beside ``event`` (a trip of this scan, or a scan that is late)
    nothing that opens begins; what makes the rack safer is never refused for it and follows it.
    """
    memory, moved, facts = view.memory, None, list[Fact]()
    for place, request in heard.wanted:
        row, now = REQUESTS[request.name], replace(view, memory=memory)
        safer = _is_safer(request, memory.state)
        overtaken = None if safer or row.kind is Kind.NOTE else _overtaken(memory, request, heard, event or moved)
        if overtaken is not None:
            heard.answers[place] = refused(request, "overtaken", overtaken, "look at the state, then ask again")
        elif request.name in ACTS:
            before = memory
            memory, heard.answers[place], told = ACTS[request.name](now, judged, trips, request)
            facts.extend(told)
            if request.name == "reset" and _esd_cleared(before, memory, heard.answers[place]):
                moved = Event.LATCHES_CLEAR
        elif row.event is None:
            memory, heard.answers[place], told = alarms.note(now, request)
            facts.extend(told)
        elif moved is not None:
            heard.answers[place] = accepted(request, f"'{moved}' came first in this scan")
        else:
            moved = row.event
            memory = _take_along(memory, request, event)
    repeats = heard.repeats.items()
    heard.answers.update({place: heard.answers[first] for place, first in repeats if first in heard.answers})
    return memory, None if memory.state is State.STARTUP else moved, facts


def _overtaken(memory: Memory, request: Request, heard: Heard, event: Event | None) -> str | None:
    """What came before an OPENING request in the same scan, so that it was asked of another rack than it would meet."""
    if event is not None:
        return f"'{event}' came first in this scan"
    if heard.closing and REQUESTS[request.name].event is not None:
        return "something safer was asked for in this scan"
    if request.expect_seq != memory.state_seq:
        return f"state_seq became {memory.state_seq} in this scan"
    return None


def _take_along(memory: Memory, request: Request, event: Event | None) -> Memory:
    """Keep what a chart request says beside its event; in STARTUP, or on the way there, it waits for the adoption."""
    memory = replace(memory, forced=bool(request.args.get("force", False)))
    if memory.state is State.STARTUP or event is Event.LATE:
        wanted = request.name == "isolate"
        memory = replace(memory, isolate_wanted=wanted, asked_in_startup=wanted)
    return memory


def _esd_cleared(before: Memory, after: Memory, answer: Answered) -> bool:
    return answer.status == "accepted" and before.state is State.ESD and not after.latches
