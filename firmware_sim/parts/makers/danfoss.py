"""Danfoss NovoCon M: an actuator that tells its position and an estimated flow, and takes no set point over Modbus."""

from firmware_sim.parts.makers.device import DeviceFault, MakersDevice
from firmware_sim.parts.makers.surroundings import Surroundings
from firmware_sim.parts.registers import DeviceMap, Kind, Row, Table

_H = Table.HOLDING
_F32, _S32, _BITS, _ASCII = Kind.F32, Kind.S32, Kind.BITS, Kind.ASCII

# fmt: off
NOVOCON = DeviceMap(
    device="danfoss-novocon-m", vendor="Danfoss", product="003Z8540", revision="1.21", max_connections=1,
    functions=frozenset({3, 4, 6, 16}), mirrored=True,
    rows=(
        Row(_H, 0x0110, "software version", _ASCII, words=25),
        Row(_H, 0x801E, "design flow",      _F32, "L/h", words=2, writable=True, persistent=True),
        Row(_H, 0x8104, "max design flow",  _F32, "%", words=2),
        Row(_H, 0x8120, "model",            _ASCII, words=25),
        Row(_H, 0x8140, "part number",      _ASCII, words=25),
        Row(_H, 0x8160, "manufacturer",     _ASCII, words=25),
        Row(_H, 0x81A0, "serial",           _ASCII, words=25),
        Row(_H, 0x81C2, "supply temperature", _F32, "degC", words=2),
        Row(_H, 0x8206, "analog output",    _F32, "V", words=2),
        Row(_H, 0x8300, "alarms",           _BITS, bits=("temperature range", "", "supply high", "supply low", "", "communication", "slave id")),
        Row(_H, 0x8301, "alarms 2",         _BITS, bits=("no signal", "movement", "calibration", "internal")),
        Row(_H, 0x8414, "minutes closed",   _S32, "min", words=2),
        Row(_H, 0x8416, "minutes open",     _S32, "min", words=2),
        Row(_H, 0x8608, "estimated flow",   _F32, "%", words=2),
        Row(_H, 0x860E, "spindle position", _F32, "%", words=2),
    ),
)
# fmt: on


class NovoCon(MakersDevice):
    """Follows the rack's flow control valve as if its analog input moved it."""

    supports = frozenset({
        DeviceFault.NOT_AVAILABLE, DeviceFault.ALL_ONES, DeviceFault.SENSOR, DeviceFault.BLOCKED, DeviceFault.WORN,
    })  # fmt: skip

    def __init__(self, serial: str = "NC-0001") -> None:
        super().__init__(NOVOCON, serial)
        for name, text in (("software version", "1.21"), ("model", "NovoCon M"), ("part number", "003Z8540")):
            self.write_text(name, text)
        self.write_text("manufacturer", "Danfoss A/S")
        self.write_text("serial", serial)
        self.put("design flow", 12_000.0)
        self.put("max design flow", 110.0)
        self.put("minutes closed", 1440)
        self._open_s = 3_600_000.0
        self.start(0.0)

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        broken = self.hit(DeviceFault.SENSOR)
        self._open_s += dt_s if seen.fcv_open_pct > 99.0 else 0.0
        self.measure("supply temperature", None if broken else seen.t_supply_c)
        self.measure("analog output", seen.fcv_open_pct / 10.0)
        self.measure("estimated flow", seen.fcv_open_pct * 1.1)
        self.measure("spindle position", seen.fcv_open_pct)
        self.put("minutes open", self._open_s / 60.0)
        self.bits("alarms", temperature_range=broken)
        self.bits("alarms 2", movement=DeviceFault.BLOCKED in self.faults)
