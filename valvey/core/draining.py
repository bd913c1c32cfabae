"""Draining, step by step: vent, watch that no shut valve passes, let it run out, wait for the sump. Conditions only."""

from valvey.core.memory import Inventory
from valvey.core.view import View
from valvey.core.working import (
    DRAIN_LEAST_LPM,
    MOST_SHARE,
    Fail,
    highest_kpa,
    marked_s,
    pressure_lost,
    step_age_s,
    work_of,
)

#: A sensor may be lost for so long.
LOST_S = 2.0
#: A rack that was full has given at least this share of its volume when it is empty: hoses and plates keep some.
EMPTY_SHARE = 0.8
#: The drain has stopped once nothing ran for so long.
NIL_S = 10.0


def vented(view: View) -> bool:
    return step_age_s(view) >= view.limits.vent_s and view.on("ZSC-104") is False


def watched(view: View) -> bool:
    return marked_s(view) >= view.limits.watch_s


def passing(view: View) -> bool:
    """Pressure in the vented rack, or a rise since the watch began, by either transmitter."""
    work, limits, kpa = work_of(view), view.limits, highest_kpa(view)
    rises = [
        now - began for now, began in zip(work.kpa, work.mark_kpa, strict=True) if now is not None and began is not None
    ]
    return (kpa is not None and kpa >= limits.watch_kpa) or any(rise >= limits.watch_rise_kpa for rise in rises)


def meter_lost(view: View) -> bool:
    return view.number("FT-103") is None


def dry(view: View) -> bool:
    """The drain stands open and nothing runs."""
    flow = view.number("FT-103")
    return flow is not None and flow < DRAIN_LEAST_LPM


def emptied(view: View) -> bool:
    """It ran and has stopped; a rack that was full has given its volume, unless a leak has taken its share."""
    work = work_of(view)
    known_full = work.full and view.memory.inventory is not Inventory.UNKNOWN
    enough = not known_full or work.litres >= EMPTY_SHARE * view.limits.volume_l
    return work.flowed and enough and dry(view) and view.on("ZSC-103") is False


def overdrained(view: View) -> bool:
    return work_of(view).litres >= MOST_SHARE * view.limits.volume_l


def sump_high(view: View) -> bool:
    """LSH-203 says high, or cannot be believed."""
    return view.on("LSH-203") is not False


def sump_free(view: View) -> bool:
    return not sump_high(view)


def waited_long(view: View) -> bool:
    return work_of(view).waited_s >= view.limits.sump_wait_s


def late(view: View) -> bool:
    """The whole drain has taken too long, however its time was spent."""
    return view.now_s - view.memory.since_s >= view.limits.drain_overdue_s


_NO_PRESSURE = Fail("pressure_lost", pressure_lost, lambda _limits: LOST_S)
_LATE = Fail("late", late)
VENT_FAILS = (_NO_PRESSURE,)
WATCH_FAILS = (Fail("passing", passing), _NO_PRESSURE)
DRAIN_FAILS = (
    Fail("meter_lost", meter_lost, lambda _limits: LOST_S),
    Fail("overdrained", overdrained),
    Fail("blocked", dry, lambda limits: limits.drain_blocked_s),
    _LATE,
)
SUMP_FAILS = (Fail("sump_high", waited_long), _LATE)
