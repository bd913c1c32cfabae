"""Requests inside one scan: heard before the judging (some are demands), acted on after the latching."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from valvey.core import alarms
from valvey.core.acts import ACTS
from valvey.core.admission import accepted, admit, is_trip_isolate, refused
from valvey.core.chart import Event, State
from valvey.core.facts import Fact
from valvey.core.judging import Judged
from valvey.core.memory import Answered, Effect, Memory
from valvey.core.requests import REQUESTS, Kind, Request, kind_of
from valvey.core.trips import Trip
from valvey.core.view import View


@dataclass(frozen=True, slots=True)
class Heard:
    """What was asked in one scan. ``answers`` is by request id and may still turn into a refusal while acting."""

    answers: dict[str, Answered]
    asked: frozenset[Effect]
    wanted: tuple[Request, ...]


NOTHING = Heard({}, frozenset(), ())


def hear(view: View, requests: Sequence[Request]) -> Heard:
    """Admit each request, SAFER first; trip-class demands become inputs of SIF-7 and SIF-10."""
    if not requests:
        return NOTHING
    answers: dict[str, Answered] = {}
    asked: set[Effect] = set()
    wanted: list[Request] = []
    state = view.memory.state
    known = {answer.id for answer in view.memory.answered}
    for request in sorted(requests, key=lambda one: not _is_safer(one, state)):
        repeated = request.id in known or request.id in answers
        if request.id in answers and not _is_safer(request, state):
            continue
        answer = admit(view, request)
        answers[request.id] = answer
        if answer.status != "accepted" or answer.reason or (repeated and not _is_safer(request, state)):
            continue
        effect = _demanded(view, request)
        if not view.memory.armed and _is_safer(request, state) and request.name != "lock":
            answers[request.id] = accepted(request, "disarmed: nothing is written; the wired emergency stop acts")
        elif effect is not None:
            asked.add(effect)
        else:
            wanted.append(request)
    return Heard(answers, frozenset(asked), tuple(wanted))


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
    """Carry out what was accepted. At most one request moves the chart in a scan, and none does beside a trip.

    event  the trip of this scan, if there is one
    """
    memory, moved, facts = view.memory, None, list[Fact]()
    for request in heard.wanted:
        row, now = REQUESTS[request.name], replace(view, memory=memory)
        if request.name in ACTS:
            before = memory
            memory, heard.answers[request.id], told = ACTS[request.name](now, judged, trips, request)
            facts.extend(told)
            if request.name == "reset" and _esd_cleared(before, memory, heard.answers[request.id]):
                moved = moved or Event.LATCHES_CLEAR
        elif row.event is None:
            memory, heard.answers[request.id], told = alarms.note(now, request)
            facts.extend(told)
        elif memory.state is State.STARTUP:  # only 'isolate' applies there: it waits for the adoption
            memory = replace(memory, isolate_wanted=True, asked_in_startup=True)
        elif event is not None or moved is not None:
            heard.answers[request.id] = refused(
                request, "overtaken", f"'{event or moved}' came first in this scan", "look at the state, then ask again"
            )
        else:
            moved = row.event
            memory = replace(memory, forced=bool(request.args.get("force", False)))
    return memory, None if event is not None else moved, facts


def _esd_cleared(before: Memory, after: Memory, answer: Answered) -> bool:
    return answer.status == "accepted" and before.state is State.ESD and not after.latches
