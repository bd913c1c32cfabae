"""The coordinator's alarms (ISA-18.2): rows, conditions, and their advance."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from fieldkit import alarms
from fieldkit.alarm import AlarmRow, AlarmState, Priority, alarm_row
from fieldkit.tag import SYS_STORE
from valvey.core.loop.events import EVENTS
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.seen import TRIP_TAG, LoopView
from valvey.core.loop.works import mode_safe

P = Priority
_row = partial(alarm_row, book="loop-")

# fmt: off
ALARM_ROWS: tuple[AlarmRow, ...] = (
    _row("racks-leak",       P.CRITICAL, "two or more racks have a wet leak detector",               "coolant is being lost in several places",        "look at the racks named; think of one cause above them",  300.0),
    _row("cdu-leak",         P.CRITICAL, "liquid at the CDU and level or pressure falls",            "the whole loop loses its coolant",               "look into the CDU; have its stop valves at hand",         300.0),
    _row("not-proven",       P.CRITICAL, "a rack's isolation is not proven",                         "coolant may still flow into a leaking rack",     "shut the rack's hand valves",                             300.0),
    _row("leak-upstream",    P.CRITICAL, "coolant is lost although the leaking rack is shut",        "the hole is before its valves: header or CDU",   "follow the header; shut its section valves",              300.0),
    _row("static-lost",      P.CRITICAL, "several racks have lost their static pressure",            "racks go dark; air is drawn in, pumps cavitate", "find the loss; check make-up, vessel and reservoir",      300.0),
    _row("pumps-stopped",    P.HIGH,     "the CDU's pumps have been told to stand still",            "no rack has flow; none may be powered",          "start them at the CDU, then reset the event",             600.0),
    _row("pumps-stopping",   P.HIGH,     "a person has asked for the pumps to be stopped",           "every rack is asked to go dark",                 "'cancel' ends it while a rack is not proven dark",        60.0),
    _row("two-coordinators", P.HIGH,     "another coordinator of this loop is on the bus",           "nothing is granted, no set-point is written",    "stop one of the two",                                     600.0),
    _row("cdu-unknown",      P.HIGH,     "the CDU cannot be read",                                   "nothing is opened; neighbours are not held",     "check the CDU's controller and its link",                 600.0, on_s=5.0),
    _row("pump-trip",        P.HIGH,     "a pump of the CDU has tripped",                            "flow may be short",                              "look at the CDU",                                         300.0),
    _row("low-level",        P.HIGH,     "the reservoir is low",                                     "make-up ends; pressure falls after it",          "fill the reservoir; look for a leak",                     1800.0, on_s=5.0),
    _row("flow-short",       P.HIGH,     "the racks need more flow than the CDU can give",           "flow is shared by priority; some racks get less", "take load off, or repair the CDU",                       300.0),
    _row("supply-raised",    P.MEDIUM,   "the supply set-point stands raised above a dew point",         "racks are cooled by warmer coolant than the site wants", "dry the room",                             3600.0),
    _row("rack-unseen",      P.MEDIUM,   "a rack's readings are not heard of",                       "it is granted no opening work",                  "check the rack's daemon and the broker",                  3600.0, on_s=60.0),
    _row("mode-refused",     P.HIGH,     "two racks that shut at once would bring a third past SIF-2", "one isolation may trip others; nothing is opened",  "choose another mode or a lower set-point",               3600.0, on_s=30.0),
    _row("disarmed",         P.MEDIUM,   "the coordinator is disarmed",                              "no set-point is written: work moves neighbours", "'armed: true' in the loop's file, and a restart",         3600.0),
    _row("storage-fault",    P.HIGH,     "the memory cannot be written",                             "a restart may forget leases and events",         "free the disk or replace it",                             3600.0),
)
# fmt: on
BY_NAME: dict[str, AlarmRow] = {row.id: row for row in ALARM_ROWS}


def conditions(view: LoopView) -> Iterable[str]:
    """Yield the id of every alarm whose condition holds now."""
    memory, limits = view.memory, view.limits
    yield from (row.name for row in EVENTS if memory.latched(row.name))
    if memory.stop is not None:
        yield "pumps-stopping"
    if view.others:
        yield "two-coordinators"
    if view.dp_kpa() is None or view.mode() is None:
        yield "cdu-unknown"
    if view.cdu(TRIP_TAG):
        yield "pump-trip"
    level = view.cdu("LT-201")
    if level is not None and level < limits.level_l_pct:
        yield "low-level"
    if memory.short:
        yield "flow-short"
    if memory.raised is not None:
        yield "supply-raised"
    if any(not view.fresh(name) for name in limits.racks):
        yield "rack-unseen"
    if mode_safe(view, "", "") is not None:
        yield "mode-refused"
    if not limits.armed:
        yield "disarmed"
    stored = view.readings.get(SYS_STORE)
    if stored is not None and stored.value:
        yield "storage-fault"


def look(view: LoopView) -> tuple[LoopMemory, list[LoopFact]]:
    """Return the memory with its alarms advanced, and a fact for each that changed its phase."""
    states, changed = alarms.advance(view.memory.alarms, set(conditions(view)), BY_NAME.get, view.now_s)
    return replace(view.memory, alarms=states), [fact(state, view.now_s) for state in changed]


def fact(state: AlarmState, now_s: float) -> LoopFact:
    return LoopFact(LoopFactKind.ALARM, now_s, alarms.fields(state))
