"""The alarm table (ISA-18.2): what each alarm means and asks for. Rows ending in ``-*`` stand for one alarm a tag, SIF or bus."""

from fieldkit.alarm import AlarmRow, Priority, alarm_row
from valvey.core.failures import FAILURES

P = Priority
_row = alarm_row

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
    _row("mass-balance",      P.HIGH,     "more coolant goes in than comes out, for longer than chance explains", "a small leak; nothing acts on it alone",          "look for liquid; isolate the rack if it is there",             600.0),
    _row("mass-balance-blind", P.LOW,     "the mass balance could not judge for a quarter of an hour",  "a small leak is seen by the detectors only",               "see which reading is lost, or whether the load never rests",   86400.0, off_s=60.0),
    _row("meters-apart",      P.MEDIUM,   "the two flow meters disagree in a way that is no leak",     "small leaks cannot be told; voting of flows is in doubt",  "compare both meters with the flow by dP; mend the wrong one",  3600.0),
    _row("heat-balance",      P.MEDIUM,   "the coolant does not carry off what the meters say is drawn", "a meter is wrong, or heat goes another way",             "compare power, flow and temperatures; trust none of them yet", 3600.0),
    _row("fouling",           P.LOW,      "the rack takes a quarter more pressure for its flow than it did", "less flow at full opening",                          "plan to clean strainer and cold plates",                       86400.0, off_s=60.0),
    _row("bypass-flow",       P.MEDIUM,   "the rack takes a fifth less pressure for its flow than it did", "coolant goes past the cold plates",                    "look for a coupling left open or a bypass valve",              3600.0, off_s=60.0),
    _row("pressure-decay",    P.HIGH,     "the shut and full rack has lost pressure that no cooling explains", "it leaks, or a valve passes",                      "look for liquid before the rack is opened",                    600.0, off_s=0.0),
    _row("dew-margin",        P.MEDIUM,   "the supply is less than 2 K above the dew point",           "water condenses in the rack and wets the detectors",       "raise the CDU's supply temperature, or dry the room",          600.0, on_s=30.0, off_s=60.0),
    _row("valve-passing-*",   P.HIGH,     "flow goes on through a valve that is proven shut",          "the isolation does not hold",                              "shut the hand valve; plan to mend the seat, or the meter",     600.0),
    _row("returns-apart",     P.MEDIUM,   "two return temperatures are left and disagree",             "the hotter counts; which is right cannot be told",         "mend the lost one, compare the others",                        3600.0),
    _row("off-*",             P.MEDIUM,   "a return temperature is far from the two others",           "it does not count until it is back; voting is degraded",   "mend or calibrate it",                                         3600.0),
    _row("stuck-*",           P.MEDIUM,   "a reading stands still although it must move",              "it may be frozen and look healthy",                        "compare it with its neighbours; restart or mend it",           3600.0, off_s=5.0),
    _row("current-*",         P.MEDIUM,   "a 4..20 mA loop is below 3.6 or above 21 mA",               "its value is a fault, not a measurement",                  "look at sensor and cable",                                     3600.0),
    _row("power-unknown",     P.MEDIUM,   "neither JT-101 nor ET-101 can be believed",                 "the flow follows the temperature rise alone, slowly",      "mend the power meters",                                        3600.0, on_s=10.0, off_s=10.0),
    _row("need-unknown",      P.HIGH,     "neither the power nor the temperature rise can be believed", "the rack takes its nominal flow, whatever it needs",      "mend JT-101 or ET-101, or TT-101 and TT-102",                  600.0, on_s=10.0, off_s=10.0),
    _row("header-unknown",    P.LOW,      "PT-201 or PT-202 cannot be believed",                       "FCV-101 answers the header's pressure later",              "mend the CDU's pressures or its link",                         86400.0, on_s=30.0, off_s=10.0),
    _row("flow-short",        P.HIGH,     "FCV-101 stands open and the flow is still too little",      "the rack gets warmer than it should",                      "look at pumps, header pressure and strainer; lower the load",  300.0, on_s=30.0, off_s=10.0),
    _row("flow-ceiling",      P.MEDIUM,   "the loop is short, and its coordinator limits this rack's flow", "the rack runs warmer; its own need stays met",       "see why the loop is short; lower the load of what can wait",   600.0, on_s=10.0, off_s=10.0),
    _row("ceiling-stale",     P.MEDIUM,   "the coordinator that limited this rack's flow is silent",   "the limit is released slowly; the loop may be short",      "start the coordinator, or mend its way to the broker",         600.0),
    _row("branch-changed",    P.MEDIUM,   "the flow does not fit FCV-101's position and the header's pressure", "a blocked strainer, a wrong valve, or a reading that lies", "compare FT-101 and FT-102, ZT-101 and the valve, strainer", 3600.0, on_s=30.0, off_s=60.0),
    _row("flow-hunting",      P.LOW,      "the flow swung about its set-point, or FCV-101 turned too often", "FCV-101 wears; the flow control is calmed",          "look at the drive, its play, and at what moves the header",    86400.0),
    _row("flow-held",         P.MEDIUM,   "the flow was found hunting three times",                    "FCV-101 only opens, and only when a tenth is missing",     "find what swings, then ask for a set-point again",             3600.0),
    _row("stroke-failed",     P.MEDIUM,   "XV-101 or XV-102 did not pass its partial stroke",          "it may not shut when it has to",                           "stroke it again; then plan an isolation and 'test'",           3600.0),
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
