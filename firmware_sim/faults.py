"""Every fault the simulator knows, as one table: what it is aimed at, what its value means, how it begins and ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from firmware_sim import fault_actions as do
from firmware_sim import fault_makers as makers
from firmware_sim import fault_plant as plant
from firmware_sim import fault_power as power
from firmware_sim.parts.channel import SensorFault
from firmware_sim.parts.makers.device import DeviceFault
from firmware_sim.wire_faults import DEFAULTS, LINE_DEFAULTS, LineFault, WireFault

if TYPE_CHECKING:
    from firmware_sim.bank import Bank
    from firmware_sim.fault_book import Fault

Action = Callable[["Bank", "Fault"], None]


class Family(StrEnum):
    """Where a fault sits."""

    SENSOR = "sensor"
    WIRE = "wire"
    ACTUATOR = "actuator"
    PLANT = "plant"
    CONTACT = "contact"
    DEVICE = "device"
    POWER = "power"


class Aim(StrEnum):
    """What a fault needs to be told.

    CHANNEL   --tag of a measurement (with --rack, or of the CDU without)
    LINK      --device, or a --tag that the device carries
    LINE      --device, the name of a serial line or gateway
    ACTUATOR  --tag XV-101..104 or FCV-101, with --rack
    VALVE     --tag XV-101..104, with --rack
    DETECTOR  --tag LDT-101..103, with --rack
    SWITCH    --tag of a limit switch, with --rack
    LEAK      --rack and --place (the manifold unless told), or no rack: the CDU's header or itself
    RACK      --rack
    CDU       nothing
    MAKER     --rack and --device of a maker's device that can have it
    SHELF     --rack and --device of a power or battery shelf, or a --tag of its loop
    BATTERY   the same of a battery shelf
    PSU       the same of a power shelf; the supply by its number as the value, or by the letter of the --tag
    ROOM      --rack of one with a room sensor
    IDENTITY  --device of a reference device, or a --tag that it carries
    PAIR      --rack, and a value that says which sensors
    """

    CHANNEL = "channel"
    LINK = "link"
    LINE = "line"
    ACTUATOR = "actuator"
    VALVE = "valve"
    DETECTOR = "detector"
    SWITCH = "switch"
    LEAK = "leak"
    RACK = "rack"
    CDU = "cdu"
    MAKER = "maker"
    SHELF = "shelf"
    BATTERY = "battery"
    PSU = "psu"
    ROOM = "room"
    IDENTITY = "identity"
    PAIR = "pair"


CHECKS: dict[Aim, Callable[[Bank, Fault], str | None]] = {
    Aim.CHANNEL: do.check_channel,
    Aim.LINK: do.check_link,
    Aim.LINE: do.check_line,
    Aim.ACTUATOR: do.check_actuator,
    Aim.VALVE: do.check_valve,
    Aim.DETECTOR: do.check_detector,
    Aim.SWITCH: do.check_switch,
    Aim.LEAK: plant.check_leak,
    Aim.RACK: do.check_rack,
    Aim.CDU: do.check_nothing,
    Aim.MAKER: makers.check_maker,
    Aim.SHELF: power.check_shelf,
    Aim.BATTERY: power.check_battery,
    Aim.PSU: power.check_psu,
    Aim.ROOM: power.check_room,
    Aim.IDENTITY: power.check_identity,
    Aim.PAIR: power.check_pair,
}


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One row of the table; ``default`` is the value when none is given, None meaning "none needed"."""

    name: str
    family: Family
    aim: Aim
    text: str
    begin: Action
    end: Action
    unit: str = "-"
    default: float | None = None
    needs_value: bool = False

    def document(self) -> dict[str, str | float | None]:
        return {
            "kind": self.name,
            "family": self.family.value,
            "aim": self.aim.value,
            "text": self.text,
            "unit": self.unit,
            "default": self.default,
        }

    def check(self, bank: Bank, fault: Fault) -> str | None:
        """What is wrong with ``fault`` as it is aimed, or None."""
        if self.needs_value and fault.value is None:
            return f"needs a value in {self.unit}"
        return CHECKS[self.aim](bank, fault)


def _sensor(fault: SensorFault, text: str, unit: str = "-", *, needs_value: bool = False) -> FaultKind:
    begin, end = do.sensor(fault)
    return FaultKind(fault.value, Family.SENSOR, Aim.CHANNEL, text, begin, end, unit, needs_value=needs_value)


def _wire(fault: WireFault, text: str, unit: str = "-") -> FaultKind:
    begin, end = do.wire(fault)
    return FaultKind(fault.value, Family.WIRE, Aim.LINK, text, begin, end, unit, DEFAULTS.get(fault))


def _line(fault: LineFault, text: str, unit: str = "-") -> FaultKind:
    begin, end = do.line(fault)
    return FaultKind(fault.value, Family.WIRE, Aim.LINE, text, begin, end, unit, LINE_DEFAULTS.get(fault))


def _maker(fault: DeviceFault) -> FaultKind:
    begin, end = makers.actions(fault)
    return FaultKind(fault.value, Family.DEVICE, Aim.MAKER, makers.TEXTS[fault], begin, end, "number", 1.0)


_OWN = "unit of the tag"
S, W, A, P, C = Family.SENSOR, Family.WIRE, Family.ACTUATOR, Family.PLANT, Family.CONTACT
E, PSU, SHELF, BATTERY, ROOM = Family.POWER, Aim.PSU, Aim.SHELF, Aim.BATTERY, Aim.ROOM

# fmt: off
TABLE: tuple[FaultKind, ...] = (
    _sensor(SensorFault.STUCK,      "keeps its last value, or the given one", _OWN),
    _sensor(SensorFault.DRIFT,      "wanders off", f"{_OWN}/s", needs_value=True),
    _sensor(SensorFault.NOISE,      "more noise, one sigma", _OWN, needs_value=True),
    _sensor(SensorFault.BIAS,       "off by a constant", _OWN, needs_value=True),
    _sensor(SensorFault.GAIN,       "off by a share of its value", "%", needs_value=True),
    _sensor(SensorFault.SLOW,       "another time constant", "s", needs_value=True),
    _sensor(SensorFault.SENTINEL,   "the maker's 'no value'", _OWN),
    _sensor(SensorFault.NAN,        "not a number"),
    _sensor(SensorFault.SWAP_WORDS, "the two words of the value exchanged"),
    _sensor(SensorFault.SPIKE,      "one wrong sample a second", _OWN, needs_value=True),
    FaultKind("frozen", S, Aim.LINK, "reads come from a gateway's old copy", do.freeze, do.thaw),

    _wire(WireFault.NO_REPLY,          "requests vanish"),
    _wire(WireFault.LATE_REPLY,        "replies come late, also after their timeout", "ms"),
    _wire(WireFault.GARBAGE,           "replies are random bytes"),
    _wire(WireFault.WRONG_TRANSACTION, "replies carry another transaction id"),
    _wire(WireFault.WRONG_UNIT,        "replies carry another unit id"),
    _wire(WireFault.WRONG_FUNCTION,    "replies carry another function code"),
    _wire(WireFault.SHORT_REPLY,       "reads give one register less"),
    _wire(WireFault.WRONG_ECHO,        "writes echo another value"),
    _wire(WireFault.SPLIT,             "replies come in pieces, this far apart", "ms"),
    _wire(WireFault.MERGE,             "a reply waits for the next, both leave together", "ms"),
    _wire(WireFault.DUPLICATE,         "every reply comes twice"),
    _wire(WireFault.CLOSE_AFTER_REPLY, "the connection is closed after each reply"),
    _wire(WireFault.ONE_CLIENT,        "only one connection is served"),
    _wire(WireFault.EXCEPTION,         "every request is answered with this exception", "code"),
    _wire(WireFault.GATEWAY_0B,        "the gateway says: target did not respond"),
    _wire(WireFault.HALF_OPEN,         "connections stay open and dead; 1: new ones too"),
    _wire(WireFault.SLOW_LINK,         "bytes a second of the link", "B/s"),
    _wire(WireFault.HALF_FRAME,        "the second half of every reply is lost"),
    _line(LineFault.ECHO,              "what is sent comes back before the reply"),
    _line(LineFault.LINE_NOISE,        "noise before every reply", "bytes"),
    _line(LineFault.BAD_CRC,           "replies carry a wrong CRC"),
    _line(LineFault.GATEWAY_FROZEN,    "the line stays open, nothing passes"),
    FaultKind("device_off", W, Aim.LINK, "the device has no power", do.device_off, do.device_on),

    FaultKind("actuator_stuck",   A, Aim.ACTUATOR, "does not move", plant.actuator_stuck, plant.actuator_well),
    FaultKind("actuator_slow",    A, Aim.ACTUATOR, "takes this many times its stroke", plant.actuator_slow, plant.actuator_well, "times", 4.0),
    FaultKind("partial", A, Aim.VALVE, "shuts only down to this travel", plant.actuator_partial, plant.actuator_well, "%open", 30.0),
    FaultKind("short_travel", A, Aim.ACTUATOR, "opens only up to this travel", plant.actuator_short, plant.actuator_well, "%open", 90.0),
    FaultKind("jumps",   A, Aim.ACTUATOR, "moves in jumps of this travel", plant.actuator_jumps, plant.actuator_well, "%open", 10.0),
    FaultKind("spring_broken",    A, Aim.VALVE, "stays where it is without its coil", plant.spring_broken, plant.actuator_well),
    FaultKind("confirms_but_does_not_move", A, Aim.ACTUATOR, "feedback follows the command, the valve does not",
              plant.confirms_only, plant.confirms_end),
    FaultKind("feedback_lies",    A, Aim.ACTUATOR, "feedback stays: 1 open, 0 shut, 2 both, 3 none", do.lie, do.truth, "code", 1.0),

    FaultKind("leak", P, Aim.LEAK, "a hole of this diameter", plant.leak, plant.leak_mended, "mm", 3.0),
    FaultKind("pump_trip", P, Aim.CDU, "this pump trips: 1 or 2, 0 for both", plant.pump_trip, plant.pump_back, "number", 0.0),
    FaultKind("supply_temperature_step", P, Aim.CDU, "supply set point moves by", plant.supply_step, plant.supply_back, "K", 10.0),
    FaultKind("strainer_blocked", P, Aim.RACK, "the rack's strainer is blocked to", plant.strainer, plant.strainer_clean, "%", 70.0),
    FaultKind("weak_hose", P, Aim.RACK, "a hose loses this at 200 kPa and nothing below 120 kPa", power.weak_hose, power.sound_hose, "mL/min", 50.0),
    FaultKind("swapped_sensors", P, Aim.PAIR, "supply and return exchanged: 0 temperatures, 1 pressures, 2 flows", power.exchanged, power.in_place, "code", 0.0),
    FaultKind("wrong_serial", P, Aim.IDENTITY, "the device says another serial than its own", power.strange_serial, power.own_serial),
    FaultKind("air", P, Aim.RACK, "share of air in the rack", plant.air, do.nothing, "%", 5.0),
    FaultKind("blocked_drain", P, Aim.RACK, "the drain line is blocked", plant.drain_blocked, plant.drain_free),
    FaultKind("cdu_mode", P, Aim.CDU, "0 fixed speed, 1 constant dP, 2 constant flow", plant.cdu_mode, plant.cdu_mode_back, "code", needs_value=True),
    FaultKind("facility_loss", P, Aim.CDU, "the facility side gives no cooling", plant.facility_loss, plant.facility_back),
    FaultKind("power_loss", P, Aim.RACK, "the rack's AC feeds are gone; 24 V live on their buffer", plant.power_loss, plant.power_back),
    FaultKind("feeder_off", P, Aim.RACK, "the feeder's breaker is locked off; 24 V live on a feed of their own", plant.feeder_off, plant.feeder_on),
    FaultKind("supply_24v_loss", P, Aim.RACK, "the rack's 24 V have no mains", plant.lose_24v, plant.back_24v),

    FaultKind("contactor_welded", P, Aim.RACK, "the power contactor stays as it is", plant.welded, plant.parted),
    FaultKind("busbar_backfed",   P, Aim.RACK, "a battery shelf keeps the bus-bar alive", plant.backfed, plant.not_backfed),
    FaultKind("passing",          A, Aim.ACTUATOR, "the shut valve still passes this Kv", plant.passing, plant.tight, "m3/h", 1.0),

    FaultKind("emergency_stop", C, Aim.RACK, "pressed; 1: its wire broken; cleared means released and reset", do.stop_pressed, do.stop_reset, "code", 0.0),
    FaultKind("stop_released",  C, Aim.RACK, "the button is released, not reset", do.stop_released, do.nothing),
    FaultKind("key_locked",     C, Aim.RACK, "HS-102 turned to lock-out", do.key_locked, do.key_free),
    FaultKind("sump_high",      C, Aim.RACK, "LSH-203 high, or its wire broken", do.sump_high, do.sump_low),
    FaultKind("cdu_trip",       C, Aim.RACK, "US-201, the CDU's trip contact, closes", do.cdu_trip_closed, do.cdu_trip_open),
    FaultKind("cable_break",    C, Aim.DETECTOR, "the detector's cable is broken", do.cable_break, do.cable_mended),
    FaultKind("contamination",  C, Aim.DETECTOR, "dirt on the detector; 1: shown at once", do.contaminate, do.clean, "code", 0.0),
    FaultKind("wet",            C, Aim.DETECTOR, "the detector is wetted; 1: shown at once", do.wet, do.dry, "code", 0.0),
    FaultKind("detector_stuck", C, Aim.DETECTOR, "its register stays as it is", do.detector_stuck, do.detector_free),
    FaultKind("switch_broken",  C, Aim.SWITCH, "a limit switch never reads made", do.switch_broken, do.switch_mended),

    FaultKind("psu_fault",    E, PSU, "the supply of this number gives nothing, and says so", power.psu_broken, power.psu_mended, "number", 1.0),
    FaultKind("psu_fan_bad",  E, PSU, "its fan stands still, and it says so; it gets hot under load", power.fan_stands, power.fan_runs, "number", 1.0),
    FaultKind("psu_sensor",   E, PSU, "its inlet sensor is broken, and it says so", power.inlet_lost, power.inlet_back, "number", 1.0),
    FaultKind("ac_lost",      E, PSU, "its AC is gone; 0: that of the whole shelf", power.ac_gone, power.ac_back, "number", 0.0),
    FaultKind("shelf_stuck_on",  E, SHELF, "its output stays on whatever is commanded", power.stuck_on, power.not_stuck_on),
    FaultKind("shelf_stuck_off", E, SHELF, "its output does not come on", power.stuck_off, power.not_stuck_off),
    FaultKind("old_firmware",    E, SHELF, "it runs firmware 1.0.0", power.old_firmware, power.new_firmware),
    FaultKind("battery_empty",   E, BATTERY, "its charge falls to", power.battery_emptied, do.nothing, "%", 0.0),
    FaultKind("battery_fault",   E, BATTERY, "its cells are off, and it says so", power.battery_broken, power.battery_mended),
    FaultKind("battery_not_inhibited", E, BATTERY, "the permit's inhibit (W6) does not reach it", power.not_inhibited, power.inhibited),
    FaultKind("door_open",  E, ROOM, "ZS-110: the rack's door is open, or its wire broken", power.door_opened, power.door_shut),
    FaultKind("humid_room", E, ROOM, "relative humidity at the rack", power.humid, power.not_humid, "%", 80.0),
    FaultKind("hot_room",   E, ROOM, "air at the rack", power.hot, power.not_hot, "degC", 38.0),

    *map(_maker, DeviceFault),
)
# fmt: on

KINDS: dict[str, FaultKind] = {kind.name: kind for kind in TABLE}

# One word for people; which kind it is follows from what it is aimed at.
_BY_TAG: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("stuck", do.ACTUATORS, "actuator_stuck"),
    ("slow", do.ACTUATORS, "actuator_slow"),
    ("stuck", do.DETECTORS, "detector_stuck"),
)


def kind_for(name: str, tag: str | None) -> FaultKind | None:
    """The kind that ``name`` means on ``tag``: `stuck` of XV-101 is `actuator_stuck`. None when there is no such name."""
    for word, tags, kind in _BY_TAG:
        if name == word and tag in tags:
            return KINDS[kind]
    return KINDS.get(name)
