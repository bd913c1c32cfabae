"""The alarm table (ISA-18.2): what each alarm means and asks for. Rows ending in ``-*`` stand for one alarm a tag, SIF or bus."""

from fieldkit.alarm import AlarmRow, Priority
from valvey.core.failures import FAILURES
from valvey.core.trips import TRIPS

P = Priority
RUNBOOKS = "docs/operations/runbooks.md"


def _row(
    name: str,
    priority: Priority,
    cause: str,
    consequence: str,
    action: str,
    respond_s: float,
    on_s: float = 0.0,
    off_s: float = 1.0,
    trip: bool = False,
) -> AlarmRow:
    return AlarmRow(
        name,
        priority,
        cause,
        consequence,
        action,
        respond_s,
        on_s,
        off_s,
        trip,
        trip,
        f"{RUNBOOKS}#{name.removesuffix('-*')}",
    )


# fmt: off
ALARM_ROWS: tuple[AlarmRow, ...] = (
    _row("trip-*",            P.CRITICAL, "a safety function has tripped and is latched",              "the rack is dark or isolated",                             "find the first-out, remove its cause, reset it by name",       300.0, trip=True),
    _row("blind-*",           P.HIGH,     "not one input of a safety function can be believed",        "it cannot protect; some act when blind for long",          "repair the inputs; see which in the reading list",             300.0),
    _row("bad-*",             P.MEDIUM,   "a sensor cannot be believed",                               "its votes are lost; voting is degraded",                   "look at the reason beside its reading; repair it",             3600.0, on_s=5.0),
    _row("link-*",            P.HIGH,     "a device does not answer",                                  "all its points are unknown",                               "check its supply, cable and gateway",                          300.0, on_s=0.5),
    _row("write-late",        P.HIGH,     "the valve controller has not acknowledged a write for 2 s", "DARK follows 6 s after the last acknowledged write",       "check the valve controller's link",                            4.0),
    _row("power-cap",         P.HIGH,     "a temperature or flow is near its trip",                    "the rack will go dark if it gets worse",                   "lower the load; look at supply temperature and flow",          60.0),
    _row("leak-evidence-*",   P.HIGH,     "a rule of the leak policy that only tells has found liquid", "there may be a leak",                                     "look at the place that the rule names",                        600.0),
    _row("contamination-*",   P.MEDIUM,   "a leak detector reports contamination",                     "it may not see liquid",                                    "clean the rope or spot",                                       86400.0, on_s=5.0),
    _row("unload-overdue",    P.MEDIUM,   "unloading took longer than allowed and was given up",       "the rack is still in service",                             "take the load off the rack, then ask again",                   3600.0),
    _row("cooling-overdue",   P.MEDIUM,   "the rack did not cool down in time before isolation",       "heat is shut in; pressure is relieved through CV-102",     "watch PT-101; look for power that is still on",                600.0),
    _row("work-failed-*",     P.MEDIUM,   "planned work on the rack was given up; its name says why",  "the rack is shut, or as the work left it; nothing opens by itself", "find the cause by the runbook, then ask again",         3600.0),
    _row("sump-high",         P.MEDIUM,   "the drain sump is high while a rack is drained or filled",  "the drain waits, and is given up when it waits too long",  "pump the sump out; check LSH-203",                             300.0),
    _row("valve-doubt",       P.HIGH,     "there are signs that a shut valve is not shut",               "isolation is not proven; planned work waits",              "check limit switches, flow meters and the valve",              600.0, on_s=1.0),
    _row("trapped-liquid",    P.HIGH,     "pressure is high in a shut rack",                           "the relief valve opens",                                   "let it cool; check CV-102",                                    600.0, on_s=1.0),
    _row("power-on-dark",     P.CRITICAL, "power is not proven off although the permit is off",        "heat without a permit; unsafe to work on",                 "open the feeder by hand; check the battery shelf",             60.0),
    _row("bypass-standing",   P.LOW,      "a safety function is bypassed",                             "it does not protect",                                      "end the bypass as soon as the work is done",                   3600.0, off_s=0.0),
    _row("bypass-ending",     P.MEDIUM,   "a bypass ends within five minutes",                         "the function acts again at its end",                       "finish, or ask for a new one",                                 300.0, off_s=0.0),
    _row("key-locked",        P.MEDIUM,   "the lock-out key HS-102 is turned",                         "opening work is refused",                                  "ask whoever holds the key",                                    3600.0),
    _row("disarmed",          P.HIGH,     "the rack is disarmed",                                      "nothing is written; only the wiring protects",             "an engineer arms it, or leaves it so with a reason",           3600.0, off_s=0.0),
    _row("storage-fault",     P.HIGH,     "memory or journal could not be written",                    "a restart may forget; planned work is refused",            "free the disk or replace it",                                  3600.0),
    _row("gate-refused",      P.HIGH,     "the last gate refused a demand",                            "the output stays de-energised",                            "compare the demand with the field; report it",                 600.0, on_s=1.0),
)
# fmt: on
#: Begins the id of the alarm of work that was given up; the name of the failure follows.
WORK_FAILED = "work-failed-"
BY_NAME = {row.id: row for row in ALARM_ROWS}


def slug(name: str) -> str:
    """A tag, SIF or rule name as part of an alarm id."""
    return name.lower().replace("/", "-").replace("_", "-").replace(".", "-")


_FAILED = {slug(name): text for name, text in FAILURES.items()}


def row_of(alarm_id: str) -> AlarmRow | None:
    """The row of one alarm id, its name filled in; None when there is no such alarm."""
    row = BY_NAME.get(alarm_id)
    if row is not None:
        return row
    for wild in ALARM_ROWS:
        prefix = wild.id.removesuffix("*")
        if wild.id.endswith("-*") and alarm_id.startswith(prefix) and len(alarm_id) > len(prefix):
            fields = {name: getattr(wild, name) for name in wild.__slots__}
            if prefix == WORK_FAILED:
                fields["cause"] = _FAILED.get(alarm_id.removeprefix(prefix), wild.cause)
            return AlarmRow(**{**fields, "id": alarm_id})
    return None


#: Title of each SIF for people, from the trip table.
TITLES = {trip.sif: trip.title for trip in reversed(TRIPS)}
