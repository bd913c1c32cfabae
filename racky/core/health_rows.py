"""The table of causes: what can be wrong with a rack, in the order in which it matters, and what stands behind it."""

from racky.core import crosschecks, life_signs, own_signs, signs
from racky.core.cause_row import CauseRow
from racky.core.causes import Blocks, Classification
from racky.core.signs import Finder, alarm, contact, either, latch, loop_alarm

B, C = Blocks, Classification
NOTHING = frozenset[Blocks]()
ALLOCATION = frozenset({B.ALLOCATION})
POWER = frozenset({B.ALLOCATION, B.POWER_ON})
ALL = frozenset(B)

DANGER = frozenset({
    C.PREVENT_ALLOCATIONS,
    C.PREVENT_HOST_STATE_CHANGES,
    C.STOP_REBOOT,
    C.HARDWARE,
    C.SENSOR_CRITICAL,
})
BROKEN = frozenset({C.PREVENT_ALLOCATIONS, C.HARDWARE, C.SENSOR_WARNING})
BLIND = frozenset({C.PREVENT_ALLOCATIONS, C.SENSOR_FAILURE})
WARNING = frozenset({C.SENSOR_WARNING})
FAILURE = frozenset({C.SENSOR_FAILURE})
HANDS = frozenset({C.PREVENT_ALLOCATIONS, C.PREVENT_HOST_STATE_CHANGES, C.EXCLUDE_FROM_STATE_MACHINE_SLA})
"""People have their hands in it: it is not to be rebooted by a program, and not to be counted as its fault."""

TRIPS = ("over-pressure", "flow-lost", "supply-hot", "return-hot", "static-lost", "gross-imbalance", "valve-left-limit")
AFTER = (
    "valve-closed", "permit-lost", "proof-lost", "adopted", "restart-loop", "trip-*", "not-in-service", "power-off", "work-failed-*",
    "shed", "on-battery-*", "ac-lost-*", "output-off-*", "near-trip", "power-apart", "power-unknown",
)  # fmt: skip
"""What follows a rack that was shut or went dark."""
HOTTER = ("supply-hot", "return-hot", "near-trip", "flow-short", "over-cap", *AFTER)
DRY = (
    "flow-lost",
    "flow-blocked",
    "static-lost",
    "flow-short",
    "near-trip",
    "return-hot",
    "flow-ceiling",
    "power-unknown",
    *AFTER,
)
UNSEEN = (
    "outputs-unacknowledged", "power-not-off", "sensor-bad-*", "sensor-stuck-*", "sensor-stale-*", "function-blind-*", "shelves-unknown", "header-unknown",
    "cdu-unknown", "alarm-*", "valve-doubt", "limit-switch-*", "second-trip-path", "power-unknown", *TRIPS, *AFTER,
)  # fmt: skip
"""What follows when a device cannot be read or written."""


def row(
    name: str,
    text: str,
    action: str,
    blocks: frozenset[Blocks],
    words: frozenset[Classification],
    found: Finder,
    explains: tuple[str, ...] = (),
    on_s: float = 0.0,
) -> CauseRow:
    return CauseRow(name, text, action, blocks, words, explains, found, on_s)


_TRIPPED = frozenset(
    {
        "SIF-1", "SIF-2", "SIF-3", "SIF-4", "SIF-5", "SIF-6", "SIF-7", "SIF-8", "SIF-9", "SIF-10", "SIF-11", "SIF-12", "SIF-13",
        "OPEN_LOST", "PERMIT_LOST", "PROOF_LOST", "ADOPTED", "RESTART_LOOP", "MEM",
    }
)  # fmt: skip
_TOLD_APART = (
    "trip-*", "bad-*", "link-*", "blind-*", "write-late", "power-cap", "leak-evidence-*", "mass-balance", "pressure-decay",
    "power-on-dark", "valve-doubt", "valve-passing-*", "trapped-liquid", "flow-short", "flow-ceiling", "meters-apart", "heat-balance",
    "branch-changed", "dew-margin", "need-unknown", "power-unknown", "header-unknown", "off-*", "stuck-*", "current-*", "returns-apart",
    "contamination-*", "stroke-failed", "work-failed-*", "sump-high", "bypass-standing", "bypass-ending", "key-locked", "disarmed",
    "storage-fault", "loop-cdu-leak", "loop-pump-trip", "loop-pumps-stopped", "loop-pumps-stopping", "loop-low-level",
    "loop-static-lost", "loop-leak-upstream", "loop-cdu-unknown", "loop-flow-short", "loop-rack-unseen", "loop-disarmed",
)  # fmt: skip
"""Alarms that a row below stands for; any other is told as it is."""
_NEIGHBOURS = ("loop-racks-leak", "loop-not-proven", "loop-mode-refused", "loop-storage-fault", "loop-two-coordinators")
"""Alarms of the loop that are not this rack's trouble."""


# fmt: off
ROWS: tuple[CauseRow, ...] = (
    row("emergency-stop",   "the emergency stop was pressed, or asked for",            "release it at the rack; then reset SIF-7",                          ALL, DANGER, latch("SIF-7"), ("leak-suspected-*", "outputs-unacknowledged", "power-not-off", "asked-dark", "mains-lost", *TRIPS, *AFTER)),
    row("leak",             "a leak detector found liquid; the rack was isolated",     "find and mend the leak; dry the detector; reset SIF-1",             ALL, DANGER, latch("SIF-1"), ("leak-suspected-*", "tray-wet-*", "mass-balance", "pressure-decay", "low-level", "trapped-liquid", *TRIPS, *AFTER)),
    row("mains-lost",       "the rack's AC feeds are dead although its permit is on",  "look at the feeder's breaker and the busway",                       ALL, BROKEN, crosschecks.mains_lost, ("control-power-lost", "device-silent-*", "power-apart", "heat-balance", *UNSEEN), 2.0),
    row("control-power-lost", "many devices fell silent at once: their 24 V supply or their switch", "look at the rack's 24 V supply and its network switch", ALL, BLIND, signs.control_power, ("device-silent-*", *UNSEEN)),
    row("valvey-offline",   "the rack's Valvey does not run",                          "start it; until then nobody guards the rack",                       ALL, BLIND, signs.valvey_offline, ("power-unknown", "not-in-service")),
    row("valvey-silent",    "the rack's Valvey tells nothing",                         "see whether it hangs; look at the broker and its link",             ALL, BLIND, signs.valvey_silent, ("power-unknown", "not-in-service")),
    row("memory-lost",      "the rack's Valvey could not read its memory",             "look at the rack, then reset MEM",                                  ALL, DANGER, latch("MEM"), AFTER),
    row("device-silent-*",  "a device does not answer",                                "check its supply, its cable and its gateway",                       POWER, BLIND, either(signs.device_silent, own_signs.device_silent), UNSEEN),
    row("outputs-unacknowledged", "the valve controller does not acknowledge what is written", "look at the valve controller and who else is connected to it", ALL, DANGER, either(latch("SIF-8"), alarm("write-late")), ("power-not-off", "permit-lost", "valve-closed", *TRIPS, *AFTER)),
    row("power-not-off",    "power is not proven off although the permit is",          "open the feeder by hand; look at contactor and batteries",          ALL, DANGER, either(latch("SIF-13"), alarm("power-on-dark")), ("second-trip-path", "battery-in-the-dark-*", "output-stuck-*", *AFTER)),
    row("second-trip-path", "shelves and batteries were switched off: power without a permit", "find what fed the bus-bar; reset SIF-13, then Racky",       ALL, DANGER, own_signs.second_trip, ("battery-in-the-dark-*", "output-stuck-*", "output-off-*", "power-off")),
    row("battery-in-the-dark-*", "a battery feeds a rack whose permit is off",         "switch the battery shelf off by hand",                              ALL, DANGER, own_signs.battery_in_the_dark, ("on-battery-*", *AFTER), 2.0),
    row("pumps-stopped",    "the CDU's pumps stand still, or are about to",            "start them at the CDU, then reset the loop's event",                ALL, BROKEN, loop_alarm("pumps-stopped", "pumps-stopping"), ("pump-trip", "cdu-trip", "asked-dark", *DRY)),
    row("pump-trip",        "a pump of the CDU has tripped",                           "look at the CDU's pumps",                                           ALLOCATION, BROKEN, loop_alarm("pump-trip"), ("cdu-trip", "asked-dark", *DRY)),
    row("cdu-trip",         "the CDU has shut its trip contact",                       "look at the CDU; then reset SIF-10",                                ALL, DANGER, either(latch("SIF-10", seen="US-201"), contact("US-201", "US-201 shows the CDU tripped")), ("asked-dark", *DRY)),
    row("cdu-leak",         "the loop loses coolant at the CDU or the header",         "look into the CDU and along the header",                            ALL, DANGER, loop_alarm("cdu-leak", "leak-upstream"), ("low-level", *DRY)),
    row("loop-static-lost", "the whole loop has lost its static pressure",             "find the loss; check make-up, vessel and reservoir",                ALL, DANGER, loop_alarm("static-lost"), DRY),
    row("cdu-hot",          "the CDU's supply is hotter than racks can use",           "look at the facility side of the CDU",                              ALLOCATION, BROKEN, crosschecks.cdu_hot, HOTTER, 3.0),
    row("sensor-bad-*",     "a sensor cannot be believed",                             "look at the reason; repair the sensor or its cable",                ALLOCATION, BLIND, either(signs.sensor_bad, own_signs.sensor_bad), ("function-blind-*", "alarm-mass-balance-blind")),
    row("sensor-off-*",     "a sensor is contradicted by the others",                  "compare it with its neighbours; mend or calibrate it",              ALLOCATION, BROKEN, either(alarm("off-*"), crosschecks.sensor_off), ("power-apart",), 3.0),
    row("sensor-stuck-*",   "a reading stands still although it must move",            "compare it with its neighbours; restart or mend it",                ALLOCATION, BROKEN, alarm("stuck-*", "current-*"), ("heat-balance", "meters-apart")),
    row("sensor-stale-*",   "a reading of Valvey's does not come anew",                "look at the broker and at Valvey's load",                           ALLOCATION, BLIND, signs.points_missing),
    row("limit-switch-*",   "an open valve's limit switches do not say where it is",   "look at the switches; stroke the valve in service",                 ALLOCATION, BLIND, crosschecks.limit_switch, ("valve-left-limit", "valve-closed"), 5.0),
    row("valve-left-limit", "an isolation valve left its open limit in service",       "look at the valve, its air and its switch; reset SIF-12",           ALL, DANGER, latch("SIF-12"), ("flow-blocked", *DRY)),
    row("valve-closed",     "an isolation or drain valve moved without a demand",      "look at its coil and wiring; reset OPEN_LOST",                      ALL, DANGER, latch("OPEN_LOST"), ("flow-blocked", "outputs-unacknowledged", *DRY)),
    row("over-pressure",    "the pressure in the rack was too high",                   "look at the CDU's pressure and at PSV-101; reset SIF-2",            ALL, DANGER, latch("SIF-2"), ("trapped-liquid", *AFTER)),
    row("gross-imbalance",  "much more coolant goes in than comes out",                "look for liquid; reset SIF-11",                                     ALL, DANGER, latch("SIF-11"), ("mass-balance", "meters-apart", *AFTER)),
    row("leak-suspected-*", "a detector shows liquid, or a rule of the leak policy found it", "look at the place before the policy acts",                   POWER, DANGER, either(signs.wet, alarm("leak-evidence-*")), ("mass-balance",)),
    row("tray-wet-*",       "a tray reports liquid",                                   "look into the tray",                                                POWER, DANGER, own_signs.tray_wet, ("mass-balance",)),
    row("pressure-decay",   "the shut and full rack loses pressure",                   "look for liquid before it is opened",                               ALL, DANGER, alarm("pressure-decay"), AFTER),
    row("flow-blocked",     "little flow although the header has pressure and valves are open", "look at strainer, hoses and FCV-101",                      ALLOCATION, BROKEN, crosschecks.flow_blocked, ("branch-changed", *DRY), 2.0),
    row("static-lost",      "the rack's static pressure was lost",                     "look for the loss of coolant; reset SIF-6",                         ALL, DANGER, latch("SIF-6"), ("mass-balance", *DRY)),
    row("flow-lost",        "the flow was lost under load",                            "find why: pump, valve, strainer, meters; reset SIF-4",              ALL, DANGER, latch("SIF-4"), ("near-trip", "return-hot", "flow-short", *AFTER)),
    row("supply-hot",       "the supply was too hot",                                  "look at the CDU; reset SIF-5",                                      ALL, DANGER, latch("SIF-5"), ("near-trip", "return-hot", *AFTER)),
    row("return-hot",       "the return was too hot",                                  "look at load and flow; reset SIF-3",                                ALL, DANGER, latch("SIF-3"), ("near-trip", *AFTER)),
    row("proof-lost",       "a shut valve lost its limit",                             "look at the valve and its switch; reset PROOF_LOST",                ALL, DANGER, latch("PROOF_LOST"), ("not-proven-shut", "valve-doubt", "not-in-service", "power-off")),
    row("not-proven-shut",  "the isolation is not proven",                             "shut the hand valves; look at switches and meters",                 ALL, DANGER, latch("SIF-9"), ("valve-doubt", "valve-passing-*", "not-in-service", "power-off")),
    row("permit-lost",      "the power contactor opened without a demand",             "look at the contactor and its wiring; reset PERMIT_LOST",           ALL, DANGER, latch("PERMIT_LOST"), AFTER),
    row("asked-dark",       "somebody outside had the rack shut off",                  "ask who and why; reset SIF-10",                                     ALL, DANGER, latch("SIF-10"), AFTER),
    row("adopted",          "the rack was found open without its permit at a start",   "look at the rack; reset ADOPTED",                                   ALL, DANGER, latch("ADOPTED"), AFTER),
    row("restart-loop",     "Valvey was started three times in ten minutes",           "find why it ends; reset RESTART_LOOP",                              ALL, DANGER, latch("RESTART_LOOP"), AFTER),
    row("trip-*",           "a safety function has tripped",                           "remove its cause, then reset it by name",                           ALL, DANGER, signs.other_latches(_TRIPPED), AFTER),
    row("valve-doubt",      "there are signs that a shut valve is not shut",           "check limit switches, flow meters and the valve",                   POWER, BROKEN, alarm("valve-doubt")),
    row("valve-passing-*",  "flow goes on through a valve that is proven shut",        "shut the hand valve; plan to mend the seat, or the meter",          POWER, BROKEN, alarm("valve-passing-*")),
    row("trapped-liquid",   "the pressure is high in the shut rack",                   "let it cool; check CV-102",                                         POWER, BROKEN, alarm("trapped-liquid")),
    row("function-blind-*", "a safety function has no input that can be believed",     "repair its inputs",                                                 POWER, BLIND, alarm("blind-*")),
    row("near-trip",        "a temperature or the flow is near its trip",              "take load off; look at supply and flow",                            ALLOCATION, WARNING | {C.PREVENT_ALLOCATIONS}, alarm("power-cap"), ("over-cap", "shed")),
    row("mass-balance",     "a little more coolant goes in than comes out",            "look for liquid",                                                   ALLOCATION, BROKEN, alarm("mass-balance")),
    row("flow-short",       "there is less flow than the rack needs",                  "look at pumps, header pressure and strainer",                       ALLOCATION, BROKEN, either(alarm("flow-short"), loop_alarm("flow-short")), ("near-trip", "flow-ceiling")),
    row("flow-ceiling",     "the coordinator limits the rack's flow",                  "see why the loop is short; take load off",                          ALLOCATION, WARNING, alarm("flow-ceiling")),
    row("branch-changed",   "the flow does not fit valve and header",                  "look at strainer, FCV-101 and the meters",                          ALLOCATION, BROKEN, alarm("branch-changed")),
    row("meters-apart",     "the two flow meters disagree",                            "compare both with the flow by dP",                                  ALLOCATION, BROKEN, alarm("meters-apart")),
    row("returns-apart",    "two return temperatures disagree",                        "mend the lost one, compare the others",                             ALLOCATION, BROKEN, alarm("returns-apart")),
    row("heat-balance",     "the coolant does not carry off what the meters say is drawn", "compare power, flow and temperatures",                          ALLOCATION, BROKEN, alarm("heat-balance"), ("power-apart",)),
    row("power-apart",      "feeder, bus-bar and shelves do not tell of the same power", "compare the meters; look for a load past the shelves",            ALLOCATION, BROKEN, crosschecks.power_apart, (), 10.0),
    row("dew-margin",       "the supply is near the room's dew point",                 "raise the CDU's supply temperature, or dry the room",               ALLOCATION, WARNING, alarm("dew-margin")),
    row("output-stuck-*",   "a shelf stays on although it was told off",               "switch it off by hand; look at its controller",                     POWER, BROKEN, own_signs.output_stuck, ("power-off",)),
    row("output-off-*",     "a shelf is off that should be on",                        "look at the shelf; 'power_on' brings it back",                      ALLOCATION, BROKEN, own_signs.output_off),
    row("ac-lost-*",        "a supply of a shelf has no mains",                        "look at its feed",                                                  ALLOCATION, BROKEN, own_signs.ac_lost, ("psu-fault-*", "on-battery-*", "psu-fan-*")),
    row("psu-fan-*",        "a supply's fan is bad",                                   "change the supply",                                                 ALLOCATION, BROKEN, own_signs.psu_fan, ("psu-fault-*", "psu-hot-*")),
    row("psu-fault-*",      "a supply reports a fault",                                "change the supply",                                                 ALLOCATION, BROKEN, own_signs.psu_fault, ("psu-hot-*",)),
    row("psu-hot-*",        "a supply's inlet air is hot",                             "look at the room and the supply's fan",                             ALLOCATION, WARNING, own_signs.psu_hot),
    row("on-battery-*",     "the rack runs on its battery",                            "look at the mains",                                                 ALLOCATION, BROKEN, own_signs.on_battery, ("battery-low-*",), 2.0),
    row("battery-low-*",    "a battery shelf holds little charge",                     "let it charge; test it",                                            ALLOCATION, WARNING, own_signs.battery_low),
    row("over-cap",         "the load is over its cap",                                "take load off",                                                     ALLOCATION, WARNING, own_signs.over_cap, ("shed",), 5.0),
    row("shed",             "shelves are off to keep a power cap",                     "see whose cap it is",                                               ALLOCATION, WARNING, own_signs.shed),
    row("low-level",        "the loop's reservoir is low",                             "fill it; look for a leak",                                          ALLOCATION, WARNING, loop_alarm("low-level")),
    row("cdu-unknown",      "the coordinator cannot read the CDU",                     "check the CDU's controller and its link",                           ALLOCATION, BLIND, loop_alarm("cdu-unknown"), ("header-unknown",)),
    row("header-unknown",   "the header's pressure is not known",                      "mend PT-201 or PT-202, or the CDU's link",                          NOTHING, FAILURE, alarm("header-unknown")),
    row("power-unknown",    "the rack's power is not known",                           "mend JT-101 or ET-101",                                             ALLOCATION, BLIND, either(alarm("power-unknown", "need-unknown"), own_signs.load_unknown), (), 3.0),
    row("shelves-unknown",  "not every shelf shows whether it is on",                  "look at the shelves' link",                                         POWER, BLIND, own_signs.power_unknown, ("power-off",), 3.0),
    row("loop-silent",      "the loop's coordinator is not heard",                     "start it, or mend its way to the broker",                           ALLOCATION, BLIND, signs.loop_silent),
    row("loop-disarmed",    "the loop's coordinator is disarmed, or does not see this rack", "arm it; look at the broker",                                  NOTHING, WARNING, loop_alarm("disarmed", "rack-unseen")),
    row("contamination-*",  "a leak detector is dirty and may not see liquid",         "clean the rope or spot",                                            ALLOCATION, BLIND, alarm("contamination-*")),
    row("stroke-failed",    "an isolation valve did not pass its partial stroke",      "stroke it again; then plan an isolation",                           ALLOCATION, BROKEN, alarm("stroke-failed")),
    row("sump-high",        "the drain sump is high",                                  "pump it out; check LSH-203",                                        NOTHING, WARNING, either(contact("LSH-203", "LSH-203 shows high"), alarm("sump-high"))),
    row("work-failed-*",    "planned work on the rack was given up",                   "find its cause by the runbook, then ask again",                     POWER, BROKEN, alarm("work-failed-*"), ("not-in-service", "power-off")),
    row("key-locked",       "the lock-out key is turned",                              "whoever holds the key turns it back",                               ALL, HANDS, alarm("key-locked"), ("not-in-service", "power-off")),
    row("locked",           "somebody has locked the rack",                            "'unlock' by its owner or a supervisor",                             ALL, HANDS, signs.locked, ("not-in-service", "power-off")),
    row("bypassed",         "a safety function is bypassed",                           "end the bypass as soon as the work is done",                        ALLOCATION, WARNING | {C.PREVENT_ALLOCATIONS}, alarm("bypass-standing", "bypass-ending")),
    row("valvey-disarmed",  "the rack's Valvey is disarmed: only the wiring protects", "an engineer's 'arm' at Valvey",                                     POWER, HANDS, signs.valvey_disarmed, ("not-in-service", "power-off")),
    row("storage-fault",    "memory or journal cannot be written",                     "free the disk or replace it",                                       POWER, BROKEN, either(own_signs.storage, alarm("storage-fault"))),
    row("racky-memory-lost", "Racky could not read its memory at its start",           "look at the rack; restart Racky once it is right",                  ALLOCATION, BLIND, own_signs.memory_lost),
    row("racky-disarmed",   "Racky is disarmed: it switches nothing",                  "'armed: true' in its file, and a restart",                          POWER, HANDS, own_signs.disarmed),
    row("quarantined",      "the rack was refused before it was given work",           "see the report's evidence; then 'admit'",                           ALLOCATION, frozenset({C.PREVENT_ALLOCATIONS, C.HARDWARE}), life_signs.quarantined, ("not-in-service", "power-off")),
    row("not-admitted",     "the rack is not in production",                           "'admit' it, and see what it waits for",                             ALLOCATION, frozenset({C.PREVENT_ALLOCATIONS, C.EXCLUDE_FROM_STATE_MACHINE_SLA}), life_signs.not_admitted, ("not-in-service", "power-off")),
    row("humid",            "the room is very humid",                                  "dry the room before coolant gets below its dew point",              NOTHING, WARNING, own_signs.humid),
    row("door-open",        "the rack's door is open",                                 "shut it",                                                           NOTHING, WARNING, own_signs.door_open, (), 60.0),
    row("alarm-*",          "another alarm stands",                                    "look at the alarm",                                                 NOTHING, WARNING, signs.other_alarms((*_TOLD_APART, *_NEIGHBOURS))),
    row("not-in-service",   "the rack's coolant is not in service",                    "'open' at Valvey once everything allows it",                        ALL, frozenset({C.PREVENT_ALLOCATIONS}), signs.not_in_service, ("power-off",)),
    row("power-off",        "the rack's shelves are off",                              "'power_on' at Racky",                                               frozenset({B.ALLOCATION, B.SERVICE}), frozenset({C.PREVENT_ALLOCATIONS}), own_signs.power_off),
)
# fmt: on
