"""Judge and time: every row of the trip table against one view, and which of them are due."""

from collections.abc import Mapping
from dataclasses import dataclass

from fieldkit.frozen import replace
from valvey.core.limits import Limits
from valvey.core.memory import Effect, Latch
from valvey.core.trips import FULL_HOLD_AFTER_ADOPTION, NEVER_BYPASSED, Trip
from valvey.core.verdict import NOT_ARMED, QUIET, D, Judgement, Timer, count
from valvey.core.view import View

#: Holds are this short for so long after an adoption: a demand may be older than this process.
ADOPTION_HOLD_S = 0.2
ADOPTION_WINDOW_S = 5.0
#: A hold is over when this much is missing from it: a scan that begins a little early must not cost a whole period.
EPSILON_S = 0.002


@dataclass(frozen=True, slots=True)
class Due:
    """A row whose demand has lasted for its hold, or that has been blind for too long."""

    trip: Trip
    judgement: Judgement
    effect: Effect
    held_s: float
    blind: bool

    def latch(self, now_s: float) -> Latch:
        row, seen = self.trip, self.judgement
        tag = f"{seen.tag} blind" if self.blind else seen.tag
        return Latch(
            row.sif, row.key, self.effect, now_s, seen.at_s - self.held_s, tag, seen.value, seen.limit, self.held_s
        )


@dataclass(frozen=True, slots=True)
class Judged:
    """One scan's verdicts. ``due`` acts; ``shadows`` are told only; ``blind`` rows raise an alarm.

    bypassed  rows that would be due, were it not for a bypass: told only, so that a detector can be tested under one
    """

    judgements: Mapping[str, Judgement]
    timers: Mapping[str, Timer]
    due: tuple[Due, ...]
    shadows: tuple[Due, ...]
    blind: tuple[str, ...]
    caps: tuple[str, ...]
    demand: bool
    """Whether anything that would trip demands now, its hold over or not."""
    bypassed: tuple[Due, ...] = ()


def hold_s(trip: Trip, judgement: Judgement, view: View) -> float:
    """How long this demand must last: the row's own time, the site's, the load's, or the short one after adoption."""
    if not trip.hold_s:  # "at once" is no site's to change
        return 0.0
    timing = view.limits.timing.get(trip.key)
    hold = trip.hold_s if timing is None else timing.hold_s
    if judgement.hold_s is not None:
        hold = judgement.hold_s if timing is None else min(hold, judgement.hold_s)
    adopted_s = view.memory.adopted_s
    if (
        adopted_s is not None
        and view.now_s - adopted_s < ADOPTION_WINDOW_S
        and trip.sif not in FULL_HOLD_AFTER_ADOPTION
    ):
        hold = min(hold, ADOPTION_HOLD_S)
    return hold


def _blind_s(trip: Trip, limits: Limits) -> float | None:
    timing = limits.timing.get(trip.key)
    return trip.blind_s if timing is None or timing.blind_s is None else timing.blind_s


def _bypassed(trip: Trip, names: frozenset[str]) -> bool:
    return trip.sif not in NEVER_BYPASSED and (trip.sif in names or trip.key in names)


def judge_all(view: View, trips: tuple[Trip, ...], dt_s: float) -> Judged:
    """Judge every row, count its timer by ``dt_s``, and say which rows are due."""
    memory, limits = view.memory, view.limits
    names = frozenset(bypass.name for bypass in memory.bypasses)
    judgements: dict[str, Judgement] = {}
    timers: dict[str, Timer] = {}
    due: list[Due] = []
    shadows: list[Due] = []
    blind: list[str] = []
    caps: list[str] = []
    demand = False
    for trip in trips:
        if memory.state not in trip.armed or _bypassed(trip, names):
            judgements[trip.key] = NOT_ARMED
            continue
        judgement = trip.judge(view)
        judgements[trip.key] = judgement
        demand = demand or (judgement.verdict is D and not trip.cap and not trip.shadow)
        timer = _count(memory.timers, timers, trip.key, judgement, dt_s)
        found: Due | None = None
        if judgement.verdict is D and timer.demand_s >= hold_s(trip, judgement, view) - EPSILON_S:
            found = Due(trip, judgement, trip.effect, timer.demand_s, blind=False)
        limit_s = _blind_s(trip, limits)
        if timer.blind and limit_s is not None and timer.blind_s >= limit_s - EPSILON_S:
            blind.append(trip.key)
            if trip.blind_effect is not None and found is None:
                found = Due(trip, judgement, trip.blind_effect, timer.blind_s, blind=True)
        if found is None:
            continue
        if trip.cap:
            caps.append(trip.key)
        else:
            (shadows if trip.shadow else due).append(found)
    hidden = _hidden(view, trips, judgements, timers, dt_s) if names else ()
    return Judged(judgements, timers, tuple(due), tuple(shadows), tuple(blind), tuple(caps), demand, hidden)


def _count(
    before: Mapping[str, Timer], timers: dict[str, Timer], name: str, judgement: Judgement, dt_s: float
) -> Timer:
    """Count one timer on, and keep it in ``timers`` while it runs."""
    timer = count(before.get(name, QUIET), judgement, dt_s)
    if timer is not QUIET and timer != QUIET:
        timers[name] = timer
    return timer


def _hidden(
    view: View, trips: tuple[Trip, ...], judgements: Mapping[str, Judgement], timers: dict[str, Timer], dt_s: float
) -> tuple[Due, ...]:
    """The rows that would be due without any bypass and do not demand as it is, each by a timer of its own."""
    memory, bare = view.memory, replace(view, memory=replace(view.memory, bypasses=()))
    out: list[Due] = []
    for trip in trips:
        if memory.state not in trip.armed or trip.cap or trip.shadow or judgements[trip.key].verdict is D:
            continue
        judgement = trip.judge(bare)
        timer = _count(memory.timers, timers, f"bypassed {trip.key}", judgement, dt_s)
        if judgement.verdict is D and timer.demand_s >= hold_s(trip, judgement, view) - EPSILON_S:
            out.append(Due(trip, judgement, trip.effect, timer.demand_s, blind=False))
    return tuple(out)
