"""Flow when it is short: who needs how much, what the CDU can give, and each rack's ceiling by priority."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from valvey.core.chart import State
from valvey.core.limits import LPM_PER_KW
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.model import capacity_lpm
from valvey.core.loop.seen import SERVED, LoopView

MARGIN = 1.05
"""A rack's flow control asks for this much more than its power needs (PLANT.md, the control law)."""
LEAST_NOMINAL, MOST_NOMINAL = 0.5, 1.25
"""Bounds of what a rack asks for, in its nominal flow."""
ENOUGH = 0.97
"""Needs must fall below this share of the capacity before sharing ends."""
_TAKING = SERVED | {State.OPENING, State.COOLDOWN}


@dataclass(frozen=True, slots=True)
class Need:
    """What one rack wants, what it should get in any case, and its place in the queue (1 first)."""

    flow_lpm: float
    least_lpm: float
    priority: int


def needs_lpm(view: LoopView) -> dict[str, float]:
    """What each rack that takes flow asks for, by its load."""
    out = {}
    for name, row in view.limits.racks.items():
        if view.rack(name).state in _TAKING:
            wanted = MARGIN * LPM_PER_KW * view.load_kw(name)
            out[name] = min(max(wanted, LEAST_NOMINAL * row.flow_nominal_lpm), MOST_NOMINAL * row.flow_nominal_lpm)
    return out


def share(needs: Mapping[str, Need], capacity_lpm: float) -> dict[str, float]:
    """Divide ``capacity_lpm``: first the least of everybody, then what is left by priority, alike within one.

    The ceilings add up to the capacity, or to the needs when those are smaller; nobody gets more than it needs.
    """
    least = sum(need.least_lpm for need in needs.values())
    if least >= capacity_lpm:
        return {name: need.least_lpm * capacity_lpm / least for name, need in needs.items()}
    out = {name: need.least_lpm for name, need in needs.items()}
    left = capacity_lpm - least
    for priority in sorted({need.priority for need in needs.values()}):
        rank = {name: need.flow_lpm - need.least_lpm for name, need in needs.items() if need.priority == priority}
        wanted = sum(rank.values())
        part = min(1.0, left / wanted) if wanted > 0.0 else 1.0
        for name, more in rank.items():
            out[name] += part * more
        left = max(0.0, left - part * wanted)  # rounding must not leave less than nothing
    return out


def look(view: LoopView) -> tuple[LoopMemory, list[LoopFact]]:
    """Return the memory with the racks' ceilings as they stand now."""
    memory, limits, now_s = view.memory, view.limits, view.now_s
    wanted, can = needs_lpm(view), capacity_lpm(limits, memory.droop)
    needed = sum(wanted.values())
    over = can is not None and needed > can
    enough = can is not None and needed < ENOUGH * can
    short_since_s = (now_s if memory.short_since_s is None else memory.short_since_s) if over else None
    enough_since_s = (now_s if memory.enough_since_s is None else memory.enough_since_s) if enough else None
    memory = replace(memory, short_since_s=short_since_s, enough_since_s=enough_since_s)
    facts: list[LoopFact] = []
    if not memory.short and short_since_s is not None and now_s - short_since_s >= limits.short_on_s:
        memory = replace(memory, short=True, state_seq=memory.state_seq + 1)
        facts.append(
            LoopFact(LoopFactKind.SHORT, now_s, {"needed_lpm": round(needed), "capacity_lpm": round(can or 0.0)})
        )
    elif memory.short and enough_since_s is not None and now_s - enough_since_s >= limits.short_off_s:
        memory = replace(memory, short=False, ceilings={}, state_seq=memory.state_seq + 1)
        facts.append(LoopFact(LoopFactKind.ENOUGH, now_s, {"needed_lpm": round(needed)}))
    if memory.short and can is not None:
        needs = {
            name: Need(flow, limits.least_share * flow, limits.racks[name].priority) for name, flow in wanted.items()
        }
        memory = replace(memory, ceilings=share(needs, can))
    return memory, facts


def power_cap_kw(ceiling_lpm: float) -> float:
    """The power that a ceiling of flow can carry away with the flow control's own margin."""
    return ceiling_lpm / (MARGIN * LPM_PER_KW)
