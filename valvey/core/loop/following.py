"""What the racks ask for, and the flow set-point that follows it while nobody is worked on.

A CDU that holds a flow and racks that hold theirs are two masters of one thing: what the set-point gives too much shuts
every valve further, and header dP climbs; what it gives too little opens them until none can regulate. So in constant
flow the set-point is the sum of what is asked for. What meters and leaks make of that sum shows, slowly, in header dP:
a small correction keeps it in a band, and is nothing within it. In the other modes dP cannot run away.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import exp, log

from valvey.core.chart import State
from valvey.core.loop.gate import FLOORS
from valvey.core.loop.limits import Mode
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.seen import SHUT, LoopView
from valvey.core.loop.sharing import needs_lpm

ASKED_TAG = "FY-101"
"""A rack's own flow set-point, told while its flow control has FCV-101."""
SMOOTH_S, LOAD_FALL_S = 5.0, 120.0
"""Time constants of what a rack asks for: as told, and downwards where only its load speaks, which bursts."""
LOW, HIGH = 0.95, 1.15
"""The band of header dP, in the design dP."""
TRIM, MOST_TRIM = 0.1, 0.1
"""Correction of the sum by ln(edge of the band / dP), and its bound. Twice the racks' own error band at 20 % beyond the edge."""
BAND = 0.005
"""A smaller difference between sum and set-point, as a share of it, is left alone: half of the racks' own error band."""
RATE_PER_S, LONGEST_S = 0.005, 2.0
"""The set-point moves by no more than this share of itself a second; a longer pause counts as so long."""


def asked(view: LoopView, dt_s: float) -> Mapping[str, float]:
    """Return what each rack in service asks for, smoothed, L/min. One that is not heard goes on asking for what it did."""
    needs, known = needs_lpm(view), view.memory.asked
    out: dict[str, float] = {}
    for name in view.limits.racks:
        seen = view.rack(name)
        before = known.get(name)
        if seen.state is not None and seen.state is not State.FLOWING:
            continue
        if seen.state is None or not view.fresh(name):
            if before is not None:
                out[name] = before
            continue
        told = view.point(name, ASKED_TAG)
        now = needs[name] if told is None else told
        if before is None:  # in service a moment ago, perhaps, and not under load yet: it goes on from what it takes
            out[name] = max(now, view.flow_lpm(name) or 0.0) if told is None else now
            continue
        lag_s = LOAD_FALL_S if told is None and now < before else SMOOTH_S
        out[name] = before + (1.0 - exp(-dt_s / lag_s)) * (now - before)
    return out


def look(view: LoopView) -> tuple[LoopMemory, float | None]:
    """Return the memory, and where a flow set-point is to stand next; None: leave it alone. In constant flow, no work."""
    memory, present, dp_kpa = view.memory, view.set_point(), view.dp_kpa()
    total = _total_lpm(view)
    if present is None or dp_kpa is None or dp_kpa <= 0.0 or total is None:
        return memory, None
    correction = trim(dp_kpa / view.limits.design_dp_kpa)
    if memory.theirs and correction == 0.0:  # ruff: ignore[float-equality-comparison] - exactly nothing within the band
        return memory, None
    memory = replace(memory, theirs=False)
    scale = max(abs(present), FLOORS[Mode.CONSTANT_FLOW])
    miss = max(total * (1.0 + correction), view.limits.pump_least_lpm) - present
    if abs(miss) < BAND * scale:
        return memory, None
    since_s = LONGEST_S if memory.written is None else min(view.now_s - memory.written.at_s, LONGEST_S)
    most = RATE_PER_S * since_s * scale
    return memory, present + min(max(miss, -most), most)


def trim(dp_share: float) -> float:
    """The correction of the sum, as a share of it, at a header dP of ``dp_share`` (above 0) of the design dP."""
    beyond = log(min(max(dp_share, LOW), HIGH) / dp_share)
    return min(max(TRIM * beyond, -MOST_TRIM), MOST_TRIM)


def follows(view: LoopView) -> bool:
    """Whether any rack in service tells what it asks for: only then is there something to follow."""
    return any(view.point(row.name, ASKED_TAG) is not None for row in view.neighbours())


def _total_lpm(view: LoopView) -> float | None:
    """What all racks take together if each gets what it asks for; None while one that may take flow is not heard."""
    total = 0.0
    for name in view.limits.racks:
        state = view.rack(name).state
        if state in SHUT:
            continue
        flow = view.memory.asked.get(name, view.flow_lpm(name))
        if not view.fresh(name) or flow is None:
            return None
        total += flow
    return total
