"""What the coordinator asks of its racks, by their request doors: ``dark`` and ``isolate``, never a valve, never more power.

Two things make it ask: a person who wants the pumps stopped, and the site's policy for a latched loop event. A rack judges
the request as any other (SIF-10), and is asked again until it shows that it got there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.limits import Action
from valvey.core.loop.memory import AskedOf, LoopLatch, LoopMemory
from valvey.core.loop.seen import SHUT, LoopView
from valvey.core.loop.stopping import dark, lit

AGAIN_S = 5.0
"""A rack that has not got there is asked again after this."""


@dataclass(frozen=True, slots=True)
class RackRequest:
    """One request of trip class to one rack, in the role ``coordinator``."""

    rack: str
    request: str
    why: str


def look(view: LoopView) -> tuple[LoopMemory, tuple[RackRequest, ...], list[LoopFact]]:
    """Return the memory, what to ask of which rack now, and what is new."""
    memory, facts = _reached(view)
    view = replace(view, memory=memory)
    wanted = {one.rack: one for one in _wanted(view)} if view.limits.armed else {}
    asked_of: dict[str, AskedOf] = {}
    out: list[RackRequest] = []
    for rack, one in wanted.items():
        known = memory.asked_of.get(rack)
        if known is None or known.request != one.request:
            known = AskedOf(one.request, view.now_s, float("-inf"))
            fields = {"rack": rack, "request": one.request, "why": one.why}
            facts.append(LoopFact(LoopFactKind.ASKED, view.now_s, fields))
        if view.now_s - known.said_s >= AGAIN_S:
            out.append(one)
            known = replace(known, said_s=view.now_s)
        asked_of[rack] = known
    return replace(memory, asked_of=asked_of), tuple(out), facts


def _wanted(view: LoopView) -> Iterable[RackRequest]:
    """Yield what every rack is wanted to do; of two for the same rack the later one counts, so the stronger come last."""
    stop = view.memory.stop
    if stop is not None:
        yield from (_ask(name, Action.DARK, f"the pumps are to be stopped: {stop.why}") for name in lit(view))
    for action in (Action.DARK, Action.ISOLATE):
        for latch in view.memory.latches:
            if view.limits.actions.get(latch.name) is action:
                yield from (_ask(name, action, f"{latch.name}: {latch.cause}") for name in _due(view, latch, action))


def _ask(name: str, action: Action, why: str) -> RackRequest:
    return RackRequest(name, str(action), why)


def _due(view: LoopView, latch: LoopLatch, action: Action) -> list[str]:
    """The racks to be asked now. Isolations are staggered: each waits until the one before is shut, or has had its time."""
    left = [name for name in _by_rank(view) if name not in latch.reached]
    if action is Action.DARK:
        return left
    out: list[str] = []
    for name in left:
        out.append(name)
        known = view.memory.asked_of.get(name)
        if known is None or known.request != Action.ISOLATE or view.now_s - known.since_s < view.limits.stagger_s:
            break
    return out


def _by_rank(view: LoopView) -> list[str]:
    """Racks, those that are served last first."""
    racks = view.limits.racks
    return sorted(racks, key=lambda name: (-racks[name].priority, name))


def _reached(view: LoopView) -> tuple[LoopMemory, list[LoopFact]]:
    """Note in each latch which racks have got where its action wants them: later they are asked no more."""
    memory, facts, latches = view.memory, list[LoopFact](), list[LoopLatch]()
    for latch in memory.latches:
        action = view.limits.actions.get(latch.name, Action.TELL)
        new = [name for name in view.limits.racks if name not in latch.reached and _there(view, name, action)]
        latches.append(replace(latch, reached=(*latch.reached, *new)) if new else latch)
        facts += [
            LoopFact(LoopFactKind.REACHED, view.now_s, {"rack": name, "request": str(action), "event": latch.name})
            for name in new
        ]
    if not facts:
        return memory, []
    return replace(memory, latches=tuple(latches), state_seq=memory.state_seq + 1), facts


def _there(view: LoopView, name: str, action: Action) -> bool:
    if action is Action.DARK:
        return dark(view, name)
    return action is Action.ISOLATE and view.rack(name).state in SHUT
