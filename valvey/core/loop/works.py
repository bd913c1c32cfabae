"""The works that need a lease, and what must hold before one is granted. Each rule says what forbids it and what would allow it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from fieldkit.errors import Refusal
from valvey.core.chart import State
from valvey.core.loop import plan
from valvey.core.loop.limits import LoopLimits
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.model import capacity_lpm
from valvey.core.loop.seen import TRIP_TAG, LoopView
from valvey.core.loop.sharing import needs_lpm

Rule = Callable[[LoopView, str, str], tuple[str, str, str] | None]
"""Called with view, rack and work; returns None when met, else (code, what forbids it, what would allow it)."""

EMPTYING = frozenset({State.DRAINING})


def alone(view: LoopView, _rack: str, _work: str) -> tuple[str, str, str] | None:
    if view.others:
        return "two_coordinators", "another coordinator of this loop is on the bus", "stop one of the two"
    return None


def seen(view: LoopView, rack: str, _work: str) -> tuple[str, str, str] | None:
    if view.rack(rack).online and view.fresh(rack):
        return None
    return "not_seen", f"nothing is heard of {rack}'s readings", "telemetry of the rack on this broker"


def believed(view: LoopView, _rack: str, _work: str) -> tuple[str, str, str] | None:
    lost = [tag for tag in ("PT-201", "PT-202", "FT-201", "TT-201") if view.cdu(tag) is None]
    lost += ["mode"] if view.mode() is None else []
    if lost:
        return "cdu_unknown", f"the CDU's {', '.join(lost)} cannot be believed", "a CDU that answers"
    return None


def healthy(view: LoopView, _rack: str, _work: str) -> tuple[str, str, str] | None:
    if view.cdu(TRIP_TAG):
        return "pump_trip", "a pump of the CDU has tripped", "repair it"
    level = view.cdu("LT-201")
    if level is not None and level < view.limits.level_l_pct:
        return "low_level", f"the reservoir stands at {level:.0f} %", f"at least {view.limits.level_l_pct:.0f} %"
    return None


def no_event(view: LoopView, _rack: str, _work: str) -> tuple[str, str, str] | None:
    names = ", ".join(latch.name for latch in view.memory.latches)
    if view.memory.stop is not None:
        return "stopping", "the pumps are about to be stopped", "'cancel' the stop, or wait for its end"
    if names:
        return "loop_event", f"latched on this loop: {names}", "find the cause, then 'reset' it by name"
    return None


def mode_safe(view: LoopView, _rack: str, _work: str) -> tuple[str, str, str] | None:
    found, most = plan.two_shut_kpa(view), view.limits.supply_hh_kpa
    if found is None or found[0] < most:
        return None
    reason = f"if two racks shut at once in this mode, PT-101 of {found[1]} rises to {found[0]:.0f} kPa"
    return "mode", reason, f"a mode or set-point that keeps it below {most:.0f} kPa"


def cool_enough(view: LoopView, _rack: str, _work: str) -> tuple[str, str, str] | None:
    supply, limit = view.cdu("TT-201"), view.limits.supply_h_c
    if supply is not None and supply > limit:
        return "supply_hot", f"supply is {supply:.1f} degC", f"at most {limit:.1f} degC at TT-201"
    return None


def slot(view: LoopView, rack: str, _work: str) -> tuple[str, str, str] | None:
    busy = sorted(busy_racks(view) - {rack})
    if len(busy) >= view.limits.works_at_once:
        most = view.limits.works_at_once
        return "busy", f"{', '.join(busy)}: at most {most} at a time", f"wait until {busy[0]} is done"
    return None


def pump_minimum(view: LoopView, rack: str, work: str) -> tuple[str, str, str] | None:
    total, least = plan.total_after_lpm(view, work, rack), view.limits.pump_least_lpm
    if view.limits.bypass_fitted or total is None or total >= least:
        return None
    return "pump_minimum", f"{total:.0f} L/min would be left for the pumps", f"at least {least:.0f} L/min, or a bypass"


def sump_free(view: LoopView, rack: str, _work: str) -> tuple[str, str, str] | None:
    sump = view.limits.racks[rack].sump
    if sump is None:
        return "no_sump", f"{rack} has no sump in the loop's file", "'sump' for this rack"
    row_of = view.limits.racks
    others = {held.rack for held in view.memory.leases.values() if held.work == "drain"}
    others |= {name for name in row_of if view.rack(name).state in EMPTYING}
    taken = sorted(name for name in others - {rack} if name in row_of and row_of[name].sump == sump)
    if taken:
        return "sump_taken", f"{taken[0]} drains into {sump}", f"wait until {taken[0]} is done"
    return None


def sump_room(view: LoopView, rack: str, _work: str) -> tuple[str, str, str] | None:
    row = view.limits.racks[rack]
    high = sorted(
        name for name, other in view.limits.racks.items() if other.sump == row.sump and view.point(name, "LSH-203")
    )
    if high:
        return "sump_high", f"LSH-203 of {high[0]} says that {row.sump} is high", f"empty {row.sump}"
    room = room_l(view.limits, view.memory, row.sump)
    if room < row.volume_l:
        allow = f"empty {row.sump}, then 'sump_emptied'"
        return "sump_full", f"{row.sump} has room for {room:.0f} L, {rack} holds {row.volume_l:.0f} L", allow
    return None


def room_l(limits: LoopLimits, memory: LoopMemory, sump: str | None) -> float:
    """What still fits into a sump by what was drained into it; 0 for one that is not known."""
    if sump is None:
        return 0.0
    return limits.sumps_l.get(sump, 0.0) - memory.sumps_l.get(sump, 0.0)


def pressure_kept(view: LoopView, rack: str, _work: str) -> tuple[str, str, str] | None:
    left, least = plan.return_after_fill_kpa(view, rack), view.limits.static_ll_kpa + view.limits.fill_margin_kpa
    if left is None or left < least:
        shown = "is not known" if left is None else f"would fall to {left:.0f} kPa"
        return "static_pressure", f"PT-202 {shown} while {rack} is filled", f"{least:.0f} kPa: make-up, reservoir"
    return None


def neighbours_kept(view: LoopView, rack: str, work: str) -> tuple[str, str, str] | None:
    """What the CDU alone would do to the neighbours counts only where its set-point cannot be moved to prevent it."""
    found, most = plan.predict(view, work, rack), view.limits.neighbour_loss_pct
    if found.neighbours_pct is not None and (found.neighbours_pct >= -most or _can_move(view, found)):
        return None
    shown = "is not known" if found.neighbours_pct is None else f"is {-found.neighbours_pct:.1f} %"
    allow = f"at most {most:.1f} %, or an armed coordinator with room for its set-point"
    return "neighbours", f"what the neighbours would lose {shown}", allow


def _can_move(view: LoopView, found: plan.Plan) -> bool:
    mode = view.mode()
    bounds = None if mode is None else view.limits.bounds.get(mode)
    if bounds is None or found.moved_to is None or not view.limits.armed:
        return False
    return bounds.low <= found.moved_to <= bounds.high


def enough_flow(view: LoopView, rack: str, work: str) -> tuple[str, str, str] | None:
    if view.memory.short:
        return "flow_short", "flow is short and shared by priority", "a CDU that can give what its racks need"
    can = capacity_lpm(view.limits, view.memory.droop)
    wanted = view.limits.racks[rack].flow_nominal_lpm if work == "open" else view.limits.fill_lpm
    needed = sum(flow for name, flow in needs_lpm(view).items() if name != rack) + wanted
    if can is not None and needed > can:
        return "capacity", f"{needed:.0f} L/min would be needed", f"at most {can:.0f} L/min with this CDU as it stands"
    return None


@dataclass(frozen=True, slots=True)
class Work:
    """One work.

    moves  it changes the flow through the rack, so it takes one of the loop's slots
    rules  what must hold when it begins
    stays  what must hold while it goes on; a lease is revoked otherwise, and the rack shuts
    """

    name: str
    moves: bool
    text: str
    rules: tuple[Rule, ...]
    stays: tuple[Rule, ...] = ()


# fmt: off
_WORKS: tuple[Work, ...] = (
    Work("isolate", True,  "unload, cool, shut; goes on without a lease after 10 s", (alone, slot, pump_minimum)),
    Work("drain",   False, "block, bleed and drain into the sump",                   (alone, seen, sump_free, sump_room)),
    Work("fill",    True,  "fill and vent from the supply header",                   (alone, seen, believed, healthy, no_event, slot, enough_flow, pressure_kept, neighbours_kept), (no_event,)),
    Work("test",    False, "pressure and stroke test of a shut rack",                (alone, seen)),
    Work("open",    True,  "return to service",                                      (alone, seen, believed, healthy, no_event, mode_safe, cool_enough, slot, enough_flow), (no_event,)),
)
# fmt: on
WORKS: dict[str, Work] = {work.name: work for work in _WORKS}


def busy_racks(view: LoopView) -> set[str]:
    """The racks whose flow is being changed: under a lease, or seen to move."""
    leased = {held.rack for held in view.memory.leases.values() if held.work in WORKS and WORKS[held.work].moves}
    return leased | {name for name in view.limits.racks if view.moving(name)}


def judge(view: LoopView, memory: LoopMemory, rack: str, work: str) -> Refusal | None:
    """Return why ``work`` may not begin on ``rack``, None when it may; ``memory`` is the newest."""
    if rack not in view.limits.racks:
        return Refusal("not_here", f"{rack} is not on this loop", f"one of {_names(view.limits.racks)}")
    if work not in WORKS:
        return Refusal("no_such_work", f"no work is called {work!r}", f"one of {_names(WORKS)}")
    now = replace(view, memory=memory)
    for rule in WORKS[work].rules:
        refused = rule(now, rack, work)
        if refused is not None:
            return Refusal(*refused)
    return None


def revoke(view: LoopView, memory: LoopMemory, rack: str, work: str) -> Refusal | None:
    """Return why ``work`` may not go on on ``rack``, None when it may; closing work always may."""
    now, row = replace(view, memory=memory), WORKS.get(work)
    found = [refused for rule in (row.stays if row is not None else ()) if (refused := rule(now, rack, work))]
    return Refusal(*found[0]) if found else None


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
