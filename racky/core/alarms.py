"""Racky's own alarms (ISA-18.2): rows, which conditions hold, each alarm's life. What Valvey tells is not told again."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from fieldkit import alarms
from fieldkit.alarm import AlarmRow, AlarmState, Priority, alarm_row
from fieldkit.errors import Refusal
from fieldkit.request import Request
from racky.core import caps
from racky.core.facts import Fact, FactKind
from racky.core.memory import Phase
from racky.core.view import View

P = Priority
_row = partial(alarm_row, book="racky-")

# fmt: off
ALARM_ROWS: tuple[AlarmRow, ...] = (
    _row("second-trip-path", P.CRITICAL, "power was not proven off without its permit (SIF-13)",    "shelves and batteries were switched off",           "find what fed the bus-bar; then reset SIF-13, then Racky", 300.0),
    _row("output-stuck",     P.HIGH,     "a shelf or battery does not show what it was told",       "the rack's power is not what it should be",         "look at the shelf named in the health list",              300.0),
    _row("valvey-silent",    P.HIGH,     "the rack's Valvey is not heard",                          "nothing is powered on; nothing known of the coolant", "see whether it runs; look at the broker",               300.0, on_s=5.0),
    _row("over-cap",         P.HIGH,     "the load is over its cap and does not come down",         "shelves are shed; then the rack may go dark",       "take load off",                                           60.0,  on_s=10.0),
    _row("shed",             P.MEDIUM,   "shelves are switched off to keep the power cap",          "the rack has less power than it could have",        "see whose cap it is; lift it, or take load off",          3600.0),
    _row("not-healthy",      P.MEDIUM,   "something of the rack is wrong; its health names it",     "the rack may get no jobs, or no power",             "look at the first cause of the rack's health",            3600.0, on_s=30.0),
    _row("maintenance",      P.LOW,      "the rack is in maintenance",                              "it gets no jobs and calls nobody",                  "end it as soon as the work is done",                      86400.0),
    _row("disarmed",         P.MEDIUM,   "Racky is disarmed",                                       "it switches nothing, whatever is asked",            "'armed: true' in its file, and a restart",                3600.0),
    _row("storage-fault",    P.HIGH,     "Racky's memory or journal cannot be written",             "a restart may forget; nothing is powered on",       "free the disk or replace it",                             3600.0),
)
# fmt: on
BY_NAME: dict[str, AlarmRow] = {row.id: row for row in ALARM_ROWS}


def conditions(view: View) -> Iterable[str]:
    """Yield the id of every alarm whose condition holds now."""
    power = view.power
    if power.phase is Phase.TRIPPED:
        yield "second-trip-path"
    if power.late:
        yield "output-stuck"
    if not view.sight.hears_valvey:
        yield "valvey-silent"
    load = caps.load_kw(view)
    if load is not None and load > caps.caps(view)[0].kw * (1.0 + caps.DEADBAND):
        yield "over-cap"
    if power.shed:
        yield "shed"
    if not view.health.healthy:
        yield "not-healthy"
    if view.memory.maintenance is not None:
        yield "maintenance"
    if not view.setup.armed:
        yield "disarmed"
    if view.sight.on("SYS-STORE") is True:
        yield "storage-fault"


def advance(view: View) -> tuple[View, list[Fact]]:
    """Return the view with its alarms advanced, and a fact for each that changed its phase."""
    states, changed = alarms.advance(view.memory.alarms, set(conditions(view)), BY_NAME.get, view.now_s)
    return replace(view, memory=replace(view.memory, alarms=states)), [_fact(state, view.now_s) for state in changed]


def note(view: View, request: Request) -> tuple[View, list[Fact]] | Refusal:
    """Acknowledge or shelve one alarm."""
    states = view.memory.alarms
    after = alarms.note(states, request, view.now_s)
    if isinstance(after, Refusal):
        return after
    view = replace(view, memory=replace(view.memory, alarms={**states, after.row.id: after}))
    return view, [_fact(after, view.now_s)]


def _fact(state: AlarmState, now_s: float) -> Fact:
    return Fact(FactKind.ALARM, now_s, alarms.fields(state))
