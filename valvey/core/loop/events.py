"""Loop events: what only the whole loop can show. They are told and latched, and forbid what opens.

What racks are asked for them is the site's policy (``asking``): nothing, unless its file says otherwise.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from valvey.core.chart import State
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.limits import LoopLimits
from valvey.core.loop.memory import LoopLatch, LoopMemory, Sample
from valvey.core.loop.seen import LoopView

SAMPLE_S = 5.0
WET = ("LDT-101", "LDT-102", "LDT-103")
LIQUID_LATCHES = frozenset({"SIF-1", "SIF-6", "SIF-11"})
"""Latches of a rack that is isolated because liquid left it."""
_PROVEN = frozenset({State.ISOLATED, State.DRAINING, State.DRAINED})


@dataclass(frozen=True, slots=True)
class Found:
    """What a condition rests on. ``racks`` are those concerned."""

    cause: str
    racks: tuple[str, ...] = ()


def wet_racks(view: LoopView) -> tuple[str, ...]:
    """Racks with a detector that says wet: bits, never a balance of flows or pressures."""
    return tuple(name for name in view.limits.racks if any(view.point(name, tag) for tag in WET))


def falling(view: LoopView, since_s: float = float("-inf"), over_s: float | None = None) -> str | None:
    """What has fallen, level or static pressure, over the watch or since ``since_s``; None when nothing has.

    over_s  how long must have been watched; the whole watch when None
    """
    limits = view.limits
    over_s = limits.watch_s if over_s is None else over_s
    samples = [one for one in view.memory.samples if one.at_s >= since_s]
    old = [one for one in samples if view.now_s - one.at_s >= over_s]
    if not old:
        return None
    whole = [one for one in old if view.now_s - one.at_s >= limits.watch_s]
    first, last = (whole or old[:1])[-1], samples[-1]
    if first.level_pct is not None and last.level_pct is not None:
        lost = first.level_pct - last.level_pct
        if lost >= limits.level_fall_pct:
            return f"LT-201 fell by {lost:.1f} % in {last.at_s - first.at_s:.0f} s"
    if first.static_kpa is not None and last.static_kpa is not None:
        lost = first.static_kpa - last.static_kpa
        if lost >= limits.pressure_fall_kpa:
            return f"PT-202 fell by {lost:.0f} kPa in {last.at_s - first.at_s:.0f} s"
    return None


def _racks_leak(view: LoopView) -> Found | None:
    wet = wet_racks(view)
    return Found(f"liquid at {', '.join(wet)}", wet) if len(wet) >= 2 else None


def _cdu_leaks(view: LoopView) -> Found | None:
    """One detector inside the CDU may see a splash or condensate: a second witness is needed."""
    wet = [tag for tag in view.limits.detectors if view.cdu(tag)]
    fell = falling(view)
    if len(wet) >= 2:
        return Found(f"liquid at {', '.join(wet)}")
    return Found(f"liquid at {wet[0]}, and {fell}") if wet and fell is not None else None


def _not_proven(view: LoopView) -> Found | None:
    racks = tuple(name for name in view.limits.racks if "SIF-9" in view.rack(name).latches)
    return Found(f"isolation of {', '.join(racks)} is not proven", racks) if racks else None


def _static_lost(view: LoopView) -> Found | None:
    """One rack's transmitters may be wrong together: a second rack, or the CDU's own PT-202, has to say the same."""
    racks = tuple(name for name in view.limits.racks if "SIF-6" in view.rack(name).latches)
    back_kpa = view.cdu("PT-202")
    if len(racks) >= 2:
        return Found(f"static pressure is lost at {', '.join(racks)}", racks)
    if racks and back_kpa is not None and back_kpa < view.limits.static_ll_kpa:
        return Found(f"static pressure is lost at {racks[0]}, and PT-202 is {back_kpa:.0f} kPa", racks)
    return None


def _stopped(view: LoopView) -> Found | None:
    return Found("the pumps have been told to stand still") if view.stopped() else None


def _upstream(view: LoopView) -> Found | None:
    """Every leaking rack has been proven shut for the whole watch, and in its second half liquid was still being lost.

    In the first half make-up may still bring the pressure back up. A rack that leaks and is not shut yet explains a loss.
    """
    watch_s, shut_s = view.limits.watch_s, view.memory.isolated_s
    leaking = [name for name in view.limits.racks if not LIQUID_LATCHES.isdisjoint(view.rack(name).latches)]
    if not leaking or any(view.now_s - shut_s.get(name, view.now_s) < watch_s for name in leaking):
        return None
    fell = falling(view, max(shut_s.values()) + 0.5 * watch_s, 0.0)
    if fell is None:
        return None
    return Found(f"{fell}, although {', '.join(shut_s)} is proven shut: a leak before its valves", tuple(shut_s))


@dataclass(frozen=True, slots=True)
class EventRow:
    """One loop event. ``hold_s`` is how long its condition must last."""

    name: str
    text: str
    condition: Callable[[LoopView], Found | None]
    hold_s: Callable[[LoopLimits], float]


# fmt: off
EVENTS: tuple[EventRow, ...] = (
    EventRow("racks-leak",    "two or more racks have a wet leak detector",                                _racks_leak, lambda x: x.leak_hold_s),
    EventRow("cdu-leak",      "the CDU's detector is wet and level or pressure falls, or two are wet",     _cdu_leaks,  lambda x: x.leak_hold_s),
    EventRow("not-proven",    "a rack's isolation is not proven (its SIF-9 is latched)",                   _not_proven, lambda _x: 0.0),
    EventRow("leak-upstream", "level or pressure still falls 60 s after the leaking rack was proven shut", _upstream,   lambda _x: 0.0),
    EventRow("static-lost",   "two racks, or one and the CDU, have lost their static pressure (SIF-6)",    _static_lost, lambda _x: 0.0),
    EventRow("pumps-stopped", "the pumps have been told to stand still, by whomever",                      _stopped,    lambda _x: 0.0),
)
# fmt: on
BY_NAME: dict[str, EventRow] = {row.name: row for row in EVENTS}


def sampled(view: LoopView) -> LoopMemory:
    """Return the memory with level and static pressure noted every few seconds, and since when leaking racks are shut."""
    memory, now_s = view.memory, view.now_s
    if not memory.samples or now_s - memory.samples[-1].at_s >= SAMPLE_S:
        kept = tuple(one for one in memory.samples if now_s - one.at_s <= view.limits.watch_s + 2.0 * SAMPLE_S)
        memory = replace(memory, samples=(*kept, Sample(now_s, view.cdu("LT-201"), view.cdu("PT-202"))))
    isolated = {name: memory.isolated_s.get(name, now_s) for name in view.limits.racks if _shut_for_a_leak(view, name)}
    return memory if isolated == memory.isolated_s else replace(memory, isolated_s=isolated)


def _shut_for_a_leak(view: LoopView, name: str) -> bool:
    seen = view.rack(name)
    return seen.state in _PROVEN and not LIQUID_LATCHES.isdisjoint(seen.latches)


def look(view: LoopView) -> tuple[LoopMemory, list[LoopFact]]:
    """Return the memory with every event whose condition has held long enough latched, and a fact for each new one."""
    memory, now_s = view.memory, view.now_s
    since_s: dict[str, float] = {}
    facts: list[LoopFact] = []
    for row in EVENTS:
        found = row.condition(view)
        if found is None:
            continue
        since_s[row.name] = memory.since_s.get(row.name, now_s)
        if memory.latched(row.name) or now_s - since_s[row.name] < row.hold_s(view.limits):
            continue
        latch = LoopLatch(row.name, now_s, found.cause, found.racks)
        memory = replace(memory, latches=(*memory.latches, latch), state_seq=memory.state_seq + 1)
        fields = {"event": row.name, "cause": found.cause, "racks": list(found.racks)}
        facts.append(LoopFact(LoopFactKind.EVENT, now_s, fields))
    return replace(memory, since_s=since_s), facts


def reset(
    memory: LoopMemory, names: Iterable[str], by: str, why: str, now_s: float
) -> tuple[LoopMemory, list[LoopFact]]:
    """Return the memory without the named latches whose cause is gone."""
    gone = {name for name in names if memory.latched(name) and name not in memory.since_s}
    if not gone:
        return memory, []
    left = tuple(latch for latch in memory.latches if latch.name not in gone)
    facts = [LoopFact(LoopFactKind.RESET, now_s, {"event": name, "by": by, "why": why}) for name in sorted(gone)]
    return replace(memory, latches=left, state_seq=memory.state_seq + 1), facts
