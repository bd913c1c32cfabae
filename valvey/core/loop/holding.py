"""The CDU's set-point while work moves a rack's flow: feed-forward from that flow, and trims on what is measured.

Everything goes with squares: at valves that stand still header dP is as speed², as total flow². So one law serves all
modes. Feed-forward: the neighbours keep their flow when the total loses just what the worked rack loses. Fast trim: header
dP as measured at the CDU (not in constant dP: there it is the set-point). Slow trim: the head that the neighbours feel.
"""

from dataclasses import replace
from math import copysign, exp, log, sqrt

from valvey.core.chart import State
from valvey.core.loop import following
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.gate import FLOORS, STEP_FRACTION
from valvey.core.loop.limits import Mode
from valvey.core.loop.memory import Deviation, Hold, Home, LoopMemory, Written
from valvey.core.loop.model import felt_kpa, header_loss
from valvey.core.loop.seen import SHUT, LoopView
from valvey.core.loop.works import busy_racks

MOST_FAST, MOST_SLOW = 0.3, 0.1
"""Bounds of the trims: of ln dP, and of the share of dP."""
HELD = 0.25
"""Where the sum is followed: its correction by ln of what header dP has lost since the work began. At valves that stand still 0.5 would undo the whole
loss; half of that is far from swinging (all of it does), and is ahead of the worked rack's meters, which tell what it takes some seconds late."""
MEAN_S = 10.0
"""Neighbours are judged by means over this."""
DEADBAND = 0.001
"""A set-point is written when it moves by this share of itself."""
HAND_FRACTION = 0.005
"""A register that differs by more than this from what was written was changed by somebody else."""
HAND_S = 2.0
"""How long after a write the register may still show the old value."""
K = LoopFactKind
_LEAVING = frozenset({State.FLOWING, State.UNLOADING, State.COOLDOWN, State.ISOLATING})


def look(view: LoopView, dt_s: float) -> tuple[LoopMemory, float | None, list[LoopFact]]:
    """Return the memory, the set-point wanted now (None: leave it alone) and what is to be told."""
    memory, facts = _noticed(view)
    view = replace(view, memory=memory)
    moving = moved_racks(view)
    hold = memory.hold
    if hold is not None and hold.mode is not view.mode():
        facts.append(_released(view, hold, "the CDU's mode is not what it was"))
        hold = None
    if view.stopped():
        return replace(memory, hold=None), None, facts
    if hold is None and moving:
        hold = _begun(view, moving)
        if hold is not None:
            memory = replace(memory, home=_home(view, hold, moving))
            facts.append(LoopFact(K.HOLD, view.now_s, {"racks": sorted(moving), "mode": hold.mode, "at": hold.anchor}))
    if hold is None:
        memory, wanted = _at_rest(replace(view, memory=replace(memory, hold=None)))
        return memory, wanted, facts
    hold, wanted = follow(view, hold, moving, dt_s)
    if hold.quiet_s is not None and view.now_s - hold.quiet_s >= view.limits.settle_s:
        facts.append(_released(view, hold, "the work is done"))
        hold = None
    return replace(memory, hold=hold), wanted, facts


def _at_rest(view: LoopView) -> tuple[LoopMemory, float | None]:
    """The set-point while nobody is worked on: it follows what racks ask for, or goes home."""
    if following.follows(view) and view.mode() is Mode.CONSTANT_FLOW:
        return following.look(view)
    return view.memory, _homeward(view)


def moved_racks(view: LoopView) -> frozenset[str]:
    """Racks whose flow changes now, or is about to under a lease."""
    return frozenset(busy_racks(view) & view.limits.racks.keys())


def _home(view: LoopView, hold: Hold, moving: frozenset[str]) -> Home | None:
    """Where the set-point belongs: as it stood when the first rack left service; None when that is not known."""
    known = view.memory.home
    if known is not None:
        return known if known.mode is hold.mode else None
    leaving = all(view.rack(name).state in _LEAVING for name in moving)
    return Home(hold.mode, hold.anchor, _in_service(view) | moving) if leaving else None


def _in_service(view: LoopView) -> frozenset[str]:
    return frozenset(name for name in view.limits.racks if view.rack(name).state is State.FLOWING)


def _worked_lpm(view: LoopView, name: str, known: float) -> float:
    """Flow through a worked rack: as told, none when it is shut, else as last known."""
    flow = view.flow_lpm(name)
    if flow is not None:
        return flow
    return 0.0 if view.rack(name).state in SHUT else known


def _begun(view: LoopView, moving: frozenset[str]) -> Hold | None:
    mode, anchor, dp_kpa, flow = view.mode(), view.set_point(), view.dp_kpa(), view.cdu("FT-201")
    if (
        mode is None
        or anchor is None
        or dp_kpa is None
        or flow is None
        or dp_kpa <= 0.0
        or mode not in view.limits.bounds
    ):
        return None
    leased = view.memory.leases
    return Hold(
        mode,
        view.now_s,
        anchor,
        flow,
        dp_kpa,
        flows={name: _worked_lpm(view, name, 0.0) for name in sorted(moving)},
        heads={},
        asked={row.name: flow for row in view.neighbours() if (flow := _asked_lpm(view, row.name)) is not None},
        granted=moving <= leased.keys(),
    )


def follow(view: LoopView, hold: Hold, moving: frozenset[str], dt_s: float) -> tuple[Hold, float | None]:
    """Return the hold after ``dt_s`` more seconds, and the set-point that it wants."""
    memory = view.memory
    new = sorted(moving - hold.flows.keys())  # in one order: a replay adds up the same numbers
    flows = {**{name: _worked_lpm(view, name, 0.0) for name in new}, **hold.flows}
    quiet_s = None if moving else (view.now_s if hold.quiet_s is None else hold.quiet_s)
    granted = hold.granted and moving <= memory.leases.keys()
    hold = replace(hold, flows=flows, quiet_s=quiet_s, granted=granted)
    hold = _felt(view, hold)

    before = hold.flow_lpm
    worked = sum(_worked_lpm(view, name, was) - was for name, was in flows.items())
    after = max(before + worked + _more_asked_lpm(view, hold), 0.05 * before)
    loss = header_loss(view.limits) * (after**2 - before**2)
    target = max(hold.dp_kpa * (1.0 + hold.slow) + loss, 0.2 * hold.dp_kpa)
    dp_kpa = view.dp_kpa()
    if hold.mode is not Mode.CONSTANT_DP and dp_kpa is not None and dp_kpa > 0.0:
        miss = log(target / dp_kpa)
        step = (1.0 - exp(-dt_s / view.limits.respond_s)) * miss
        hold = replace(hold, fast=min(max(hold.fast + step, -MOST_FAST), MOST_FAST))
    if hold.mode is Mode.CONSTANT_DP:
        wanted = hold.anchor * (1.0 + hold.slow) + (0.0 if view.limits.dp_remote else loss)
    elif hold.mode is Mode.CONSTANT_FLOW and hold.asked:
        wanted = _summed_lpm(view, hold)
    elif hold.mode is Mode.CONSTANT_FLOW:
        wanted = (hold.anchor + after - before) * sqrt(target / hold.dp_kpa) * exp(0.5 * hold.fast)
    else:
        droop = memory.droop or 0.0
        needed, had = target + droop * after**2, hold.dp_kpa + droop * before**2
        wanted = hold.anchor * sqrt(needed / had) * exp(0.5 * hold.fast)
    return hold, wanted


def _asked_lpm(view: LoopView, name: str) -> float | None:
    """What a rack asks for, as long as it says so itself."""
    return None if view.point(name, following.ASKED_TAG) is None else view.memory.asked.get(name)


def _more_asked_lpm(view: LoopView, hold: Hold) -> float:
    """How much more the neighbours ask for than when the work began; one that is not heard asks for what it did last."""
    return sum(view.memory.asked.get(name, was) - was for name, was in hold.asked.items() if name not in hold.flows)


def _summed_lpm(view: LoopView, hold: Hold) -> float:
    """What the neighbours ask for and the worked racks take, corrected as at rest: trims with a memory swing against valves that answer."""
    others = view.limits.racks.keys() - view.memory.asked.keys()
    worked = sum(_worked_lpm(view, name, hold.flows.get(name, 0.0)) for name in sorted(others))
    total, dp_kpa = sum(view.memory.asked.values()) + worked, view.dp_kpa()
    if dp_kpa is None or dp_kpa <= 0.0:
        return total
    lost = min(max(HELD * log(hold.dp_kpa / dp_kpa), -following.MOST_TRIM), following.MOST_TRIM)
    return total * (1.0 + following.trim(dp_kpa / view.limits.design_dp_kpa) + lost)


def _felt(view: LoopView, hold: Hold) -> Hold:
    """Return the hold with what the neighbours feel by their newest snapshots: the slow trim, and the deviations."""
    heads, felt_s, deviations = dict(hold.heads), dict(hold.felt_s), dict(hold.deviations)
    changes: list[float] = []
    slow = hold.slow
    elapsed_s = 0.0
    for row in view.neighbours():
        known, seen = view.memory.learned.get(row.name), view.rack(row.name)
        flow, opening = view.flow_lpm(row.name), view.point(row.name, "ZT-101")
        if known is None or flow is None or opening is None or row.name in hold.flows:
            continue
        head = heads.setdefault(row.name, known.head_kpa)
        if seen.at_s <= felt_s.get(row.name, hold.since_s) or head <= 0.0:
            continue
        dt_s = min(seen.at_s - felt_s.get(row.name, seen.at_s), MEAN_S)
        felt_s[row.name] = seen.at_s
        change = sqrt(felt_kpa(known, row, flow, opening) / head) - 1.0
        changes.append(change)
        elapsed_s = max(elapsed_s, dt_s)
        deviations[row.name] = _deviated(deviations.get(row.name), 100.0 * change, dt_s)
    if changes:
        slow -= 2.0 * sum(changes) / len(changes) * min(1.0, elapsed_s / view.limits.trim_s)
        slow = min(max(slow, -MOST_SLOW), MOST_SLOW)
    return replace(hold, heads=heads, felt_s=felt_s, deviations=deviations, slow=slow)


def _deviated(before: Deviation | None, pct: float, dt_s: float) -> Deviation:
    if before is None:
        return Deviation()
    now = before.now_pct + (1.0 - exp(-dt_s / MEAN_S)) * (pct - before.now_pct)
    return Deviation(now, now if abs(now) > abs(before.worst_pct) else before.worst_pct)


def _released(view: LoopView, hold: Hold, why: str) -> LoopFact:
    worst = {name: round(one.worst_pct, 2) for name, one in hold.deviations.items()}
    settled = {name: round(one.now_pct, 2) for name, one in hold.deviations.items()}
    fields = {
        "why": why, "racks": sorted(hold.flows), "coordinated": hold.granted, "took_s": round(view.now_s - hold.since_s, 1),
        "worst_pct": worst, "settled_pct": settled, "from": hold.anchor, "to": view.set_point(),
    }  # fmt: skip
    return LoopFact(K.RELEASED, view.now_s, fields)


def _homeward(view: LoopView) -> float | None:
    """Once every rack is back: the next small step home of a set-point that corrections have moved, seldom."""
    home, present, written = view.memory.home, view.set_point(), view.memory.written
    if home is None or present is None or home.mode is not view.mode() or _in_service(view) != home.racks:
        return None
    step = 1.05 * DEADBAND * max(abs(present), FLOORS[home.mode])
    wait_s = 60.0 * 105.0 * DEADBAND / view.limits.home_pct_per_min
    miss = home.set_point - present
    if abs(miss) < step or (written is not None and view.now_s - written.at_s < wait_s):
        return None
    return present + copysign(step, miss)


def _noticed(view: LoopView) -> tuple[LoopMemory, list[LoopFact]]:
    """Return the memory, everything anchored anew when somebody else has changed the set-point."""
    memory, written, present = view.memory, view.memory.written, view.set_point()
    if written is None or present is None or written.mode is not view.mode() or view.now_s - written.at_s < HAND_S:
        return memory, []
    if abs(present - written.value) <= HAND_FRACTION * max(abs(written.value), FLOORS[written.mode]):
        return memory, []
    theirs = memory.theirs or written.mode is Mode.CONSTANT_FLOW
    fields = {"mode": written.mode, "written": written.value, "found": present}
    return replace(memory, written=None, home=None, hold=None, theirs=theirs), [
        LoopFact(K.TAKEN_BACK, view.now_s, fields)
    ]


def paced(view: LoopView, wanted: float | None) -> Written | None:
    """Return what to demand of the CDU now, None when nothing: seldom, in small steps, within the bounds."""
    written, mode, present = view.memory.written, view.mode(), view.set_point()
    if wanted is None or mode is None or present is None or mode not in view.limits.bounds:
        return None
    if written is not None and view.now_s - written.at_s < view.limits.write_s:
        return None
    bounds, scale = view.limits.bounds[mode], max(abs(present), FLOORS[mode])
    most = 0.9 * STEP_FRACTION * scale
    value = min(max(wanted, present - most, bounds.low), present + most, bounds.high)
    return Written(mode, value, view.now_s) if abs(value - present) >= DEADBAND * scale else None
