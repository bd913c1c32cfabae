"""What accepted requests do to the memory, beside moving the chart: reset, locks, bypasses, arming, records."""

from collections.abc import Callable

from fieldkit.frozen import replace
from fieldkit.request import Answered, accepted, refused
from valvey.core import flow_requests
from valvey.core.chart import State
from valvey.core.facts import Fact, FactKind
from valvey.core.judging import Judged
from valvey.core.memory import Bypass, Inventory, Lock, Memory, Stroke
from valvey.core.policy import PolicyRule
from valvey.core.requests import Request
from valvey.core.trips import NEVER_BYPASSED, Trip
from valvey.core.verdict import Verdict
from valvey.core.view import View
from valvey.core.virtual_sensors import relearn

Outcome = tuple[Memory, Answered, tuple[Fact, ...]]
_CLEAR = frozenset({Verdict.HEALTHY, Verdict.NOT_ARMED})
#: More people than ever work on one rack; the memory stays small whatever a client sends.
LOCKS_MAX = 64


def _fact(kind: FactKind, view: View, request: Request, **fields: object) -> Fact:
    return Fact(kind, view.now_s, {**fields, "by": request.by, "client": request.client, "why": request.why})


def _reset(view: View, judged: Judged, trips: tuple[Trip, ...], request: Request) -> Outcome:
    memory, names = view.memory, request.args["sif"]
    standing = {latch.sif for latch in memory.latches}
    latched_now = f"latched now: {', '.join(sorted(standing)) or 'nothing'}"
    if not all(isinstance(name, str) for name in names):
        return memory, refused(request, "args", "'sif' is not a list of names", latched_now), ()
    if not names and not (memory.state is State.ESD and not standing):
        return memory, refused(request, "args", "'sif' is empty", latched_now), ()
    for name in names:
        if name not in standing:
            return memory, refused(request, "not_latched", f"'{name}' is not latched", latched_now), ()
        if hidden := _bypasses_of(memory, name, view.limits.policy):
            reason, allow = f"{hidden} is bypassed: nobody looks at the cause of {name}", f"'unbypass' {hidden} first"
            return memory, refused(request, "bypassed", reason, allow), ()
        keys = [trip.key for trip in trips if trip.sif == name and not trip.shadow and not trip.cap]
        open_keys = [key for key in keys if judged.judgements[key].verdict not in _CLEAR]
        if open_keys:  # none for what only says that the past is not known: nothing in the field has to be clear
            seen = judged.judgements[open_keys[0]]
            reason = f"the cause of {name} is not clear: {open_keys[0]} is {seen.verdict} at {seen.tag} ({seen.value})"
            return (
                memory,
                refused(request, "cause_not_clear", reason, "fresh healthy readings of every input it votes on"),
                (),
            )
    left = tuple(latch for latch in memory.latches if latch.sif not in names)
    done = replace(memory, latches=left, state_seq=memory.state_seq + 1)
    return done, accepted(request), (_fact(FactKind.RESET, view, request, sif=list(names)),)


def _bypasses_of(memory: Memory, sif: str, policy: tuple[PolicyRule, ...]) -> str | None:
    """The bypass, if any, that hides a row or a detector of ``sif``: what it hides is not a clear cause."""
    detectors = {tag for rule in policy for tag in rule.detectors} if sif == "SIF-1" else set()
    for bypass in memory.bypasses:
        if bypass.name.split("/")[0] == sif or bypass.name in detectors:
            return bypass.name
    return None


def _lock(view: View, _judged: Judged, _trips: tuple[Trip, ...], request: Request) -> Outcome:
    memory, owner = view.memory, str(request.args["owner"]).strip()
    if not owner:
        return memory, refused(request, "args", "'owner' is empty", "the name of the person who holds the lock"), ()
    if any(lock.owner == owner for lock in memory.locks):
        return memory, accepted(request, "already locked by that owner"), ()
    if len(memory.locks) >= LOCKS_MAX:
        return memory, refused(request, "size", f"{LOCKS_MAX} locks stand", "'unlock' one that is not needed"), ()
    locks = (*memory.locks, Lock(owner, request.why, view.now_s, request.client))
    done = replace(memory, locks=locks, state_seq=memory.state_seq + 1)
    return done, accepted(request), (_fact(FactKind.LOCK, view, request, owner=owner),)


def _unlock(view: View, _judged: Judged, _trips: tuple[Trip, ...], request: Request) -> Outcome:
    memory, owner = view.memory, str(request.args["owner"]).strip()
    held = next((lock for lock in memory.locks if lock.owner == owner), None)
    if held is None:
        owners = ", ".join(lock.owner for lock in memory.locks) or "nobody"
        return memory, refused(request, "not_locked", f"'{owner}' holds no lock", f"locked by: {owners}"), ()
    if request.role != "supervisor" and request.client not in {owner, held.client} - {""}:
        return memory, refused(request, "owner", f"the lock is {owner}'s", f"{owner}, or the role 'supervisor'"), ()
    locks = tuple(lock for lock in memory.locks if lock.owner != owner)
    done = replace(memory, locks=locks, state_seq=memory.state_seq + 1)
    return done, accepted(request), (_fact(FactKind.UNLOCK, view, request, owner=owner),)


def _bypass(view: View, _judged: Judged, trips: tuple[Trip, ...], request: Request) -> Outcome:
    memory, limits, name = view.memory, view.limits, request.args["name"]
    for_s = float(request.args["for_s"])
    detectors = {tag for rule in limits.policy for tag in rule.detectors}
    known = sorted({trip.sif for trip in trips} | {trip.key for trip in trips} | detectors)
    sif = "SIF-1" if name in detectors else next((trip.sif for trip in trips if name in {trip.sif, trip.key}), None)
    if sif is None:
        return (
            memory,
            refused(request, "unknown", f"there is nothing called '{name}'", f"one of: {', '.join(known)}"),
            (),
        )
    if sif in NEVER_BYPASSED or sif not in {trip.sif for trip in trips if trip.sif.startswith("SIF-")}:
        never = ", ".join(sorted(NEVER_BYPASSED))
        return memory, refused(request, "never", f"{sif} is never bypassed", f"any SIF but {never}"), ()
    if for_s > limits.bypass_max_s:
        return memory, refused(request, "args", f"for_s is {for_s:g}", f"at most {limits.bypass_max_s:g} s"), ()
    others = [bypass for bypass in memory.bypasses if bypass.name != name]
    if len(others) >= limits.bypasses_at_once:
        return (
            memory,
            refused(request, "one_at_a_time", f"{others[0].name} is bypassed", f"'unbypass' {others[0].name} first"),
            (),
        )
    bypass = Bypass(name, request.by or request.client, request.why, view.now_s, view.now_s + for_s)
    done = replace(memory, bypasses=(*others, bypass), state_seq=memory.state_seq + 1)
    return done, accepted(request), (_fact(FactKind.BYPASS, view, request, name=name, for_s=for_s),)


def _unbypass(view: View, _judged: Judged, _trips: tuple[Trip, ...], request: Request) -> Outcome:
    memory, name = view.memory, request.args["name"]
    if all(bypass.name != name for bypass in memory.bypasses):
        names = ", ".join(bypass.name for bypass in memory.bypasses) or "nothing"
        return memory, refused(request, "not_bypassed", f"'{name}' is not bypassed", f"bypassed: {names}"), ()
    left = tuple(bypass for bypass in memory.bypasses if bypass.name != name)
    done = replace(memory, bypasses=left, state_seq=memory.state_seq + 1)
    return done, accepted(request), (_fact(FactKind.UNBYPASS, view, request, name=name),)


def _disarm(view: View, _judged: Judged, _trips: tuple[Trip, ...], request: Request) -> Outcome:
    done = replace(view.memory, armed=False, state_seq=view.memory.state_seq + 1)
    return done, accepted(request), (_fact(FactKind.DISARMED, view, request),)


def _commission(view: View, _judged: Judged, _trips: tuple[Trip, ...], request: Request) -> Outcome:
    memory = view.memory
    done = replace(
        memory,
        inventory=Inventory.FULL,
        tested=True,
        state_seq=memory.state_seq + 1,
        sensors=relearn(memory.sensors),  # by hand a meter may have been changed, or the rack cleaned
    )
    return done, accepted(request), (_fact(FactKind.COMMISSIONED, view, request),)


def _set_point(view: View, _judged: Judged, _trips: tuple[Trip, ...], request: Request) -> Outcome:
    return flow_requests.set_point(view, request)


def _stroke(view: View, _judged: Judged, _trips: tuple[Trip, ...], request: Request) -> Outcome:
    """Command it in this scan's outputs, and in no other's."""
    memory, valve = view.memory, str(request.args["valve"])
    if valve not in {"XV-101", "XV-102"}:
        return memory, refused(request, "args", f"'{valve}' is not stroked", "'valve' is XV-101 or XV-102"), ()
    stroke = Stroke(valve.removeprefix("XV-"), view.now_s)
    return replace(memory, stroke=stroke), accepted(request), (_fact(FactKind.STROKE, view, request, valve=valve),)


def _leak_evidence(view: View, _judged: Judged, _trips: tuple[Trip, ...], request: Request) -> Outcome:
    memory, wet = view.memory, bool(request.args["wet"])
    tray = f"TRAY-{request.args['tray']}"
    told = (_fact(FactKind.EVIDENCE, view, request, tray=tray, wet=wet),)
    if all(tray not in rule.detectors for rule in view.limits.policy):
        return memory, accepted(request, f"no rule of the leak policy names {tray}: it is told, and does nothing"), told
    evidence = {name: end_s for name, end_s in memory.evidence_s.items() if end_s > view.now_s}
    evidence[tray] = view.now_s + float(request.args["for_s"]) if wet else 0.0
    return replace(memory, evidence_s=evidence), accepted(request), told


ACTS: dict[str, Callable[[View, Judged, tuple[Trip, ...], Request], Outcome]] = {
    "reset": _reset,
    "lock": _lock,
    "unlock": _unlock,
    "bypass": _bypass,
    "unbypass": _unbypass,
    "disarm": _disarm,
    "commission": _commission,
    "set_point": _set_point,
    "stroke": _stroke,
    "leak_evidence": _leak_evidence,
}
