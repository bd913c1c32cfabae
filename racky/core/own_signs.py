"""What Racky's own field shows that is a cause: shelves, supplies, batteries, room and door, and Racky's own state."""

from collections.abc import Iterable

from racky.core import caps
from racky.core.causes import Found
from racky.core.memory import Phase
from racky.core.signs import slug
from racky.core.view import View

LOW_CHARGE_PCT, EMPTY_CHARGE_PCT = 50.0, 10.0
FAN_SLOW_RPM = 1000.0
"""A fan of a supply under load never turns slower; a stopped one may still be shown as well."""
HOT_SUPPLY_C = 50.0
"""Inlet air of a supply: ORv3 rates them to 45 degC and derates above."""
HUMID_PCT = 80.0


def device_silent(view: View) -> Iterable[Found]:
    """Racky's own devices of which every point is lost."""
    lost = set(view.sight.lost())
    devices: dict[str, list[str]] = {}
    for tag in view.sight.max_age_s:
        devices.setdefault(view.setup.link_of.get(tag, ""), []).append(tag)
    for name, tags in devices.items():
        if name and all(tag in lost for tag in tags):
            yield Found(slug(name), f"{len(tags)} points cannot be read")


def sensor_bad(view: View) -> Iterable[Found]:
    """Racky's own points that are lost although their device answers."""
    silent = {one.name for one in device_silent(view)}
    for tag in view.sight.lost():
        if slug(view.setup.link_of.get(tag, "")) not in silent:
            reading = view.sight.readings.get(tag)
            reason = "never read" if reading is None else reading.reason or "stale"
            yield Found(slug(tag), f"{tag}: {reason}")


def psu_fault(view: View) -> Iterable[Found]:
    yield from _psus(view, "XA", "reports a fault", 0.5)


def psu_fan(view: View) -> Iterable[Found]:
    """A fan that reports a fault, or hardly turns while its supply gives power."""
    told = {one.name: one for one in _psus(view, "SA", "reports a bad fan", 0.5)}
    for shelf in view.setup.shelves:
        for psu in shelf.psus:
            speed, power = view.sight.number(shelf.psu("ST", psu)), view.sight.number(shelf.psu("JT", psu))
            if speed is not None and speed < FAN_SLOW_RPM and power is not None and power > 0.1:
                name = f"{shelf.number}{psu}".lower()
                told.setdefault(name, Found(name, f"{shelf.psu('ST', psu)} shows {speed:.0f} rpm"))
    yield from told.values()


def psu_hot(view: View) -> Iterable[Found]:
    yield from _psus(view, "TT", "is hot at its inlet", HOT_SUPPLY_C)


def ac_lost(view: View) -> Iterable[Found]:
    """A supply without mains while the permit is on: without it none has."""
    if (view.sight.guarded("XI-101") or 0.0) >= 0.5:
        yield from _psus(view, "EA", "has no mains", 0.5)


def _psus(view: View, letters: str, text: str, above: float) -> Iterable[Found]:
    for shelf in view.setup.shelves:
        for psu in shelf.psus:
            value = view.sight.number(shelf.psu(letters, psu))
            if value is not None and value >= above:
                yield Found(f"{shelf.number}{psu}".lower(), f"supply {psu} of shelf {shelf.number} {text}")


def output_stuck(view: View) -> Iterable[Found]:
    """Outputs that stay on although they were told off: the rack may have power that nobody wants."""
    for command in sorted(view.power.late):
        if not view.power.demand[command]:
            yield Found(slug(command), f"{command} is told off and does not show it")


def output_off(view: View) -> Iterable[Found]:
    """Outputs that should be on and are not: they went off by themselves, or by hand, or never came on."""
    for output in view.setup.outputs:
        shown = view.sight.on(output.feedback)
        wanted = view.power.demand.get(output.command, view.power.phase is Phase.ON)
        if view.power.phase is Phase.ON and wanted and shown is False:
            yield Found(slug(output.command), f"{output.feedback} shows off")


def on_battery(view: View) -> Iterable[Found]:
    for battery in view.setup.batteries:
        if view.sight.on(battery.feeding) is True:
            yield Found(f"{battery.number}", f"battery shelf {battery.number} feeds the bus-bar")


def battery_in_the_dark(view: View) -> Iterable[Found]:
    """A battery feeds the bus-bar although the permit is off: what SIF-13 is for."""
    permit = view.sight.guarded("XI-101")
    if permit is not None and permit < 0.5:
        yield from on_battery(view)


def battery_low(view: View) -> Iterable[Found]:
    for battery in view.setup.batteries:
        charge = view.sight.number(battery.charge)
        if charge is not None and charge < LOW_CHARGE_PCT:
            yield Found(f"{battery.number}", f"battery shelf {battery.number} is charged to {charge:.0f} %")


def door_open(view: View) -> Iterable[Found]:
    if view.sight.on("ZS-110") is True:
        yield Found(evidence="ZS-110 shows the door open")


def humid(view: View) -> Iterable[Found]:
    humidity = view.sight.number("MT-110")
    if humidity is not None and humidity > HUMID_PCT:
        yield Found(evidence=f"MT-110 shows {humidity:.0f} %")


def tray_wet(view: View) -> Iterable[Found]:
    for name, tray in view.memory.trays.items():
        if tray.until_s > view.now_s:
            yield Found(slug(name), f"tray {name} reports liquid")


def second_trip(view: View) -> Iterable[Found]:
    if view.power.phase is Phase.TRIPPED:
        yield Found(evidence=view.power.why, since_s=view.power.since_s)


def over_cap(view: View) -> Iterable[Found]:
    load, least = caps.load_kw(view), caps.caps(view)[0]
    if load is not None and load > least.kw * (1.0 + caps.DEADBAND):
        yield Found(evidence=f"{load:.0f} kW over the {least.kw:.0f} kW of {least.source}")


def shed(view: View) -> Iterable[Found]:
    if view.power.shed:
        yield Found(evidence=f"off: {', '.join(view.power.shed)}", since_s=view.power.shed_s)


def load_unknown(view: View) -> Iterable[Found]:
    if view.sight.hears_valvey and caps.load_kw(view) is None:
        yield Found(evidence="neither shelves, ET-101 nor JT-101 tell")


def power_off(view: View) -> Iterable[Found]:
    """The rack has shelves and they are not on: it can do no work."""
    power = view.power
    if view.setup.outputs and power.phase is not Phase.ON:
        yield Found(evidence=f"the power is {power.phase}: {power.why}", since_s=power.since_s)


def power_unknown(view: View) -> Iterable[Found]:
    if view.setup.outputs and view.power.phase is Phase.UNKNOWN:
        yield Found(evidence="not every shelf shows whether it is on")


def storage(view: View) -> Iterable[Found]:
    if view.sight.on("SYS-STORE") is True:
        yield Found(evidence="SYS-STORE shows a fault")


def disarmed(view: View) -> Iterable[Found]:
    if not view.setup.armed:
        yield Found(evidence="'armed: false' in Racky's file")


def memory_lost(view: View) -> Iterable[Found]:
    if not view.memory.readable:
        yield Found(evidence="the memory could not be read at the last start")
