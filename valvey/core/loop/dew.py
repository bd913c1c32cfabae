"""The CDU's supply temperature against the dew points at the racks: what condenses in a rack wets its detectors.

Comfort, not protection: a rack alarms, and trips for none of it. The set-point is kept above the highest dew point that is
known; one that was raised goes home as the air gets drier. Nothing moves it below where somebody has put it.
"""

from dataclasses import replace
from math import copysign

from fieldkit.coolant import dew_point_c
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.gate import SUPPLY_STEP_C
from valvey.core.loop.memory import LoopMemory, Raised
from valvey.core.loop.seen import SUPPLY_TAG, LoopView

AIR_TAG, HUMIDITY_TAG = "TT-110", "MT-110"
MARGIN_TAG, INLET_TAG = "TDY-101", "TT-101"
"""A rack's own margin to the dew point, for one whose room is not heard of."""
LEAST_K, GOAL_K = 2.0, 2.5
"""Nearer to a dew point than the first, the set-point is raised, to the second."""
BAND_C, HAND_C = 0.1, 0.05
"""Nearer than that is there; a register that is further off than that was set by somebody else."""
EVERY_S, HAND_S = 10.0, 2.0
"""Least time between two writes, and how long the register may still show the old value."""
K = LoopFactKind


def dew_c(view: LoopView, name: str) -> float | None:
    """Dew point at a rack: of the room as its Racky reads it, else by the margin that its Valvey tells."""
    air, humidity = view.point(name, AIR_TAG), view.point(name, HUMIDITY_TAG)
    if air is not None and humidity is not None:
        return dew_point_c(air, humidity)
    inlet, margin = view.point(name, INLET_TAG), view.point(name, MARGIN_TAG)
    return None if inlet is None or margin is None else inlet - margin


def look(view: LoopView) -> tuple[LoopMemory, float | None, list[LoopFact]]:
    """Return the memory, the supply set-point that is wanted now (None: leave it alone) and what is to be told."""
    memory, present, bounds = view.memory, view.cdu(SUPPLY_TAG), view.limits.supply
    if present is None or bounds is None:
        return memory, None, []
    raised = None if memory.raised is None or _by_hand(memory.raised, present, view.now_s) else memory.raised
    known = {name: dew for name in view.limits.racks if (dew := dew_c(view, name)) is not None}
    wettest = max(known, key=known.__getitem__, default=None)
    if wettest is None:
        return replace(memory, raised=raised), None, []
    needed, facts = known[wettest] + GOAL_K, list[LoopFact]()
    if raised is None:
        if present >= known[wettest] + LEAST_K:
            return replace(memory, raised=None), None, []
        raised = Raised(present, present, present, float("-inf"))
        fields = {"rack": wettest, "dew_c": round(known[wettest], 2), "from": present, "to": round(needed, 2)}
        facts.append(LoopFact(K.SUPPLY_RAISED, view.now_s, fields))
    miss = min(max(raised.home_c, needed, bounds.low), bounds.high) - present
    if abs(miss) < BAND_C:
        if needed <= raised.home_c:
            facts.append(LoopFact(K.SUPPLY_HOME, view.now_s, {"at": present}))
            raised = None
        return replace(memory, raised=raised), None, facts
    wanted = None
    if view.now_s - raised.at_s >= EVERY_S:
        wanted = present + copysign(min(abs(miss), 0.9 * SUPPLY_STEP_C), miss)
    return replace(memory, raised=raised), wanted, facts


def written(memory: LoopMemory, value_c: float, present_c: float, now_s: float) -> LoopMemory:
    """Return the memory once the gate has let ``value_c`` pass in the place of ``present_c``."""
    raised = memory.raised
    return memory if raised is None else replace(memory, raised=Raised(raised.home_c, present_c, value_c, now_s))


def _by_hand(raised: Raised, present: float, now_s: float) -> bool:
    """Whether the register shows neither what was written last nor what stood there before: somebody else has set it."""
    apart = min(abs(present - raised.written_c), abs(present - raised.before_c))
    return now_s - raised.at_s >= HAND_S and apart > HAND_C
