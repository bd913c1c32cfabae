"""What each device on the bench says it is: by FC 0x2B/0x0E as `valvey probe` asks, and by its identity registers."""

import asyncio
from dataclasses import asdict, dataclass
from typing import Any

from fieldkit.config_bus import Bus
from fieldkit.point import PointType
from fieldkit.probing.asker import Asker, Refused, UnreachableError
from fieldkit.probing.matching import decoded, span_of
from fieldkit.probing.session import Asked, Session
from fieldkit.profile import Profile
from fieldkit.wires import Opener, serial, stream
from fieldkit.words import text
from valvey.config import RackConfig

REGISTERS = ("model", "firmware", "serial", "hardware")
"""Points that a profile may have to say what a device is."""


@dataclass(frozen=True, slots=True)
class Identity:
    """One device. ``objects``: of FC 0x2B/0x0E by name; ``registers``: by point; ``error``: why nothing is known."""

    bus: str
    way: str
    unit: int
    profile: str
    objects: dict[str, str]
    registers: dict[str, str]
    fits: bool | None
    error: str | None

    def document(self) -> dict[str, Any]:
        return asdict(self)


def identities(config: RackConfig) -> list[Identity]:
    """Ask every bus of the rack, one after the other."""
    return [asyncio.run(_ask(name, bus, config.profiles[name])) for name, bus in config.data.buses.items()]


async def _ask(name: str, bus: Bus, profile: Profile) -> Identity:
    line = None if bus.serial is None or bus.tcp is not None else bus.serial.line
    asker = Asker(bus.way, _opener(bus), line, bus.timeout_s, bus.min_gap_s or profile.min_gap_s)
    known = {bus.profile: profile}
    try:
        found = await Session(asker, Asked([bus.unit], known, bus.profile), lambda _text: None).run()
        if not found:
            return Identity(name, bus.way, bus.unit, bus.profile, {}, {}, None, "no answer")
        registers = await _registers(asker, bus.unit, profile)
        fits = found[0].matches[0].identity if found[0].matches else None
        return Identity(name, bus.way, bus.unit, bus.profile, found[0].objects, registers, fits, None)
    except UnreachableError as error:
        return Identity(name, bus.way, bus.unit, bus.profile, {}, {}, None, str(error))
    finally:
        asker.close()


def _opener(bus: Bus) -> Opener:
    if bus.rtu is not None:
        return serial(bus.rtu.port, bus.rtu.line)
    return stream(bus.host, bus.port, max(1.0, bus.timeout_s))


async def _registers(asker: Asker, unit: int, profile: Profile) -> dict[str, str]:
    out: dict[str, str] = {}
    for name in REGISTERS:
        point = profile.points.get(name)
        if point is None:
            continue
        data = await asker.read(unit, point.table, point.first, point.after - point.first)
        if isinstance(data, Refused):
            continue
        if point.type is PointType.STRING:
            out[name] = text(data) or data.hex(" ")
        else:
            (reading,) = decoded(span_of(point, name, profile.order_of(point)), data)
            out[name] = "BAD" if reading.value is None else f"{reading.value:g}"
    return out
