"""STARTUP: a running rack is left as found. What was remembered and what the field shows decide what it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fieldkit import alarm
from fieldkit.alarm import AlarmState
from fieldkit.errors import Refusal
from fieldkit.frozen import replace
from fieldkit.reading import Quality
from valvey.core.chart import Event, State, Step
from valvey.core.leasing import new_boot as without_lease
from valvey.core.leasing import new_start
from valvey.core.limits import Limits
from valvey.core.memory import INTERRUPTED, Effect, Latch, Lock, Memory, Sighting
from valvey.core.stroking import RUNNING_TAG
from valvey.core.view import View
from valvey.core.virtual_sensors import carried

#: Tags of which adoption needs two good samples, and the flow meters of which it needs one.
NEEDED = ("ZSO-101", "ZSC-101", "ZSO-102", "ZSC-102", "XY-101", "XY-102", "XSY-101", "XI-101")
METERS = ("FT-101", "FT-102")
POSITION = "ZT-101"
POSITION_S = 1.0
"""A position that may come from a slower lane is awaited so long where the rack goes on flowing: FCV-101 is to be told what it is found at."""

MEM = "MEM"
ADOPTED = "ADOPTED"
RESTART_LOOP = "RESTART_LOOP"

#: Longer than every protective window: a new boot cannot know how long the valves and the permit were off.
OVER_S = 3600.0

_SERVING = frozenset({State.FLOWING, State.UNLOADING})


def _was(view: View, *states: State) -> bool:
    memory = view.memory
    return memory.was in states or (not memory.readable and memory.was is None)


def field_open(view: View) -> bool:
    """Row 5's field: both ZSO made and both valve coils on."""
    return view.open_proven() and view.coils_on()


def may_stay_open(view: View) -> bool:
    """Whether a rack that must go dark in STARTUP may keep its flow: row 5's field, and neither row 1 nor row 2."""
    return field_open(view) and not _row_esd(view) and not _row_isolating(view)


def _row_esd(view: View) -> bool:
    memory = view.memory
    return memory.latched("SIF-7") or memory.latched("SIF-9") or memory.has(Effect.ESD) or memory.was is State.ESD


def _row_isolating(view: View) -> bool:
    return view.memory.has(Effect.ISOLATE) or view.memory.was is State.ISOLATING


def _row_drained(view: View) -> bool:
    return view.memory.was is State.DRAINED and view.shut_proven() and view.on("ZSC-103") is True


def _row_flowing(view: View) -> bool:
    if not _was(view, State.FLOWING, State.UNLOADING) or view.memory.has(Effect.DARK):
        return False
    flow = view.best(*METERS)
    flowing = flow is not None and flow >= view.limits.flow_ll_fraction * view.need_lpm()
    return field_open(view) and view.on("XSY-101") is True and view.on("XI-101") is True and flowing


def _row_cooldown(view: View) -> bool:
    return _was(view, State.FLOWING, State.UNLOADING, State.COOLDOWN) and field_open(view)


@dataclass(frozen=True, slots=True)
class AdoptionRow:
    """One row: the first whose memory and field hold decides. ``quiet``: only when no safety function demands."""

    memory: str
    field: str
    holds: Callable[[View], bool]
    event: Event
    quiet: bool = False


# fmt: off
ADOPTION: tuple[AdoptionRow, ...] = (
    AdoptionRow("SIF-7, SIF-9 or an ESD-class latch, or was ESD",           "any",                                                                           _row_esd,       Event.ADOPT_ESD),
    AdoptionRow("ISOLATE-class latch, or was ISOLATING",                    "any",                                                                           _row_isolating, Event.ADOPT_ISOLATING),
    AdoptionRow("was DRAINED",                                              "ZSC-101, 102, 103 made",                                                        _row_drained,   Event.ADOPT_DRAINED),
    AdoptionRow("was FLOWING, UNLOADING or unreadable; no DARK-class latch", "both ZSO, XV and XS coils on, XI-101 on, flow ≥ LL, no demand",                _row_flowing,   Event.ADOPT_FLOWING, quiet=True),
    AdoptionRow("was FLOWING, UNLOADING, COOLDOWN or unreadable",           "both ZSO, XV coils on",                                                         _row_cooldown,  Event.ADOPT_COOLDOWN),
    AdoptionRow("all else, or not enough seen in time",                     "any",                                                                           lambda _view: True, Event.ADOPT_ISOLATING),
)
# fmt: on


def sight(view: View) -> dict[str, Sighting]:
    """Count the good samples of each needed tag since STARTUP began."""
    seen = dict(view.memory.sightings)
    for tag in (*NEEDED, *METERS, POSITION):
        reading = view.readings.get(tag)
        if reading is None or reading.quality is not Quality.GOOD or reading.at_s < view.memory.since_s:
            continue
        last = seen.get(tag)
        if last is None or reading.at_s > last.at_s:
            seen[tag] = Sighting(reading.at_s, 1 if last is None else last.count + 1)
    return seen


def _enough(seen: Mapping[str, Sighting]) -> bool:
    twice = {tag for tag, sighting in seen.items() if sighting.count >= 2}
    return twice.issuperset(NEEDED) and not twice.isdisjoint(METERS)


def adopt(view: View, demand: bool) -> Event | None:
    """Return the adoption event, or None while more samples are awaited.

    demand  whether any safety function demands in this scan
    """
    stroked = view.on(RUNNING_TAG) is True  # its coil is off for a moment, and comes back by itself
    if _enough(view.memory.sightings) and not stroked:
        event = next(row.event for row in ADOPTION if not (row.quiet and demand) and row.holds(view))
        seen = POSITION in view.memory.sightings or view.now_s - view.memory.since_s >= POSITION_S
        return event if seen or event is not Event.ADOPT_FLOWING else None
    if view.now_s - view.memory.since_s >= view.limits.adopt_s:
        return Event.ADOPT_ESD if _row_esd(view) else Event.ADOPT_ISOLATING
    return None


def permit_was_on(memory: Memory) -> bool:
    """Whether the memory before this STARTUP demanded the permit, or cannot say."""
    return memory.was in _SERVING or (not memory.readable and memory.was is None)


def begin(
    stored: Memory | None,
    *,
    readable: bool,
    armed_in_file: bool,
    starts_s: tuple[float, ...],
    boot_id: str,
    now_s: float,
    limits: Limits,
) -> Memory:
    """Return the memory with which a process starts.

    stored         what the last process left; None when there is none
    readable       False when there was something that could not be read
    armed_in_file  the configuration's ``armed``; both it and a recorded ``arm`` are needed
    starts_s       starts counted outside the memory (in /run), this boot's seconds
    """
    if not readable:
        recent = (*_recent(starts_s, now_s, limits), now_s, now_s)  # unreadable memory counts as the second start
        stored = Memory(
            boot_id=boot_id,
            state=State.STARTUP,
            latches=(Latch(MEM, MEM, Effect.NONE, now_s, now_s),),
            locks=(Lock(MEM, "the memory could not be read", now_s),),
        )
        return _startup(stored, recent, armed_in_file, boot_id, now_s, limits, readable=False)
    if stored is None:
        return Memory(
            boot_id=boot_id, state=State.ISOLATED, step=Step.HOLD, since_s=now_s, step_since_s=now_s, now_s=now_s
        )
    if stored.boot_id != boot_id:
        stored = new_boot(stored, boot_id, now_s)
    recent = (*_recent({*stored.starts_s, *starts_s}, now_s, limits), now_s)
    return _startup(stored, recent, armed_in_file and stored.armed, boot_id, now_s, limits, readable=True)


def _recent(starts_s: set[float] | tuple[float, ...], now_s: float, limits: Limits) -> tuple[float, ...]:
    return tuple(sorted(start for start in starts_s if 0.0 <= now_s - start < limits.restart_window_s))


def _startup(
    memory: Memory,
    starts_s: tuple[float, ...],
    armed: bool,
    boot_id: str,
    now_s: float,
    limits: Limits,
    *,
    readable: bool,
) -> Memory:
    was = memory.was if memory.state is State.STARTUP else memory.state
    begun = replace(
        memory,
        boot_id=boot_id,
        readable=readable,
        was=was,
        starts_s=starts_s,
        armed=armed,
        state_seq=memory.state_seq + 1,
        now_s=now_s,
        leasing=new_start(memory.leasing, now_s),
        sightings={},
        steady_since_s=None,
    )
    if not armed:
        rest = was if was in {State.ISOLATED, State.DRAINED} else State.ISOLATED
        return replace(begun, state=rest, step=Step.HOLD, since_s=now_s, step_since_s=now_s)
    return enter_startup(begun, now_s, limits)


def enter_startup(memory: Memory, now_s: float, limits: Limits) -> Memory:
    """Return ``memory`` at the beginning of STARTUP, with the restart loop judged by the starts of the last 10 min."""
    memory = replace(
        memory,
        state=State.STARTUP,
        step=Step.ADOPT,
        since_s=now_s,
        step_since_s=now_s,
        armed_since_s=now_s,
        sightings={},
        steady_since_s=None,
        permit_rise_s=None,
        adopted_s=None,
        starts_s=_recent(memory.starts_s, now_s, limits),
    )
    if len(memory.starts_s) >= 3 and not memory.latched(RESTART_LOOP):
        latch = Latch(RESTART_LOOP, RESTART_LOOP, Effect.DARK, now_s, now_s, "starts", float(len(memory.starts_s)), 3.0)
        memory = replace(memory, latches=(*memory.latches, latch))
    return memory


def latch_adopted(memory: Memory, now_s: float) -> Memory:
    """Return ``memory`` with the latch of a rack found dark that had been in service."""
    return replace(memory, latches=(*memory.latches, Latch(ADOPTED, ADOPTED, Effect.DARK, now_s, now_s, "XI-101")))


def new_boot(memory: Memory, boot_id: str, now_s: float) -> Memory:
    """Return ``memory`` carried into another boot: permissions end, protective windows are over, the rest stands."""
    return replace(
        memory,
        boot_id=boot_id,
        bypasses=(),
        leasing=without_lease(memory.leasing),
        grant=None,
        pending=(),
        evidence_s={},
        starts_s=(),
        shut_since_s=None if memory.shut_since_s is None else now_s - OVER_S,
        permit_off_since_s=None if memory.permit_off_since_s is None else now_s - OVER_S,
        adopted_s=None,
        permit_rise_s=None,
        stroke=None if memory.stroke is None or memory.stroke.outcome in {None, INTERRUPTED} else memory.stroke,
        header_ref_kpa=None,
        return_ref_kpa=None,
        locks=tuple(replace(lock, since_s=now_s) for lock in memory.locks),
        latches=tuple(replace(latch, at_s=now_s, sample_s=now_s) for latch in memory.latches),
        alarms={name: _carried(state, now_s - memory.now_s, now_s) for name, state in memory.alarms.items()},
        alarms_s=0.0,
        sensors=carried(memory.sensors),
        sensors_s=now_s - OVER_S,
        lost_s={},
    )


def _carried(state: AlarmState, shift_s: float, now_s: float) -> AlarmState:
    """Return an alarm with its times on the new boot's clock and its shelf at an end."""
    moved = alarm.rebased(state, shift_s)
    back = alarm.unshelve(moved, now_s, "new boot")
    return moved if isinstance(back, Refusal) else back
