"""ORv3 power supplies, their shelf and its management module. Everything is fixed point: raw / 2^p."""

from firmware_sim.parts.makers.device import DeviceFault, MakersDevice
from firmware_sim.parts.makers.surroundings import Surroundings
from firmware_sim.parts.registers import DeviceMap, Kind, Row, Table

_H = Table.HOLDING
_U16, _S16, _U32, _BITS, _ASCII = Kind.U16, Kind.S16, Kind.U32, Kind.BITS, Kind.ASCII
_FUNCTIONS = frozenset({3, 6, 16})
SUPPLIES = 6  # in a shelf
SHELVES = 8  # behind one bus-bar, as the GB200 reference rack has them
_GENERAL = ("PFC", "DCDC", "temperature", "communication", "", "", "", "", "PFC failed", "DCDC failed", "hot", "fan")
_AC = ("AC low", "AC high", "", "", "frequency low", "frequency high", "", "", "AC not ok", "bulk not ok", "relay off", "AC PFC failed", "one feed lost")  # fmt: skip
_DC = ("UVP", "OVP", "OCP", "short", "", "", "", "", "DC failed", "second MCU", "oring")
_HOT = ("outlet hot", "inlet hot", "oring hot", "sync hot", "LLC hot", "PFC hot", "clip 1 hot", "clip 2 hot", "fan stopped")  # fmt: skip
_COMM = ("primary MCU lost", "logic MCU lost", "", "", "", "", "", "", "modbus", "PMBus")

# fmt: off
_ALARMS = (
    Row(_H, 60, "general", _BITS, bits=_GENERAL),
    Row(_H, 61, "AC side", _BITS, bits=_AC),
    Row(_H, 62, "DC side", _BITS, bits=_DC),
    Row(_H, 63, "temperatures", _BITS, bits=_HOT),
    Row(_H, 64, "communication", _BITS, bits=_COMM),
)
_MEASURED = (
    Row(_H, 67, "fan 0", _U16, "rpm"), Row(_H, 68, "fan 1", _U16, "rpm"),
    Row(_H, 69, "inlet", _S16, "degC", 1 / 128), Row(_H, 70, "outlet", _S16, "degC", 1 / 128),
    Row(_H, 71, "hottest", _S16, "degC", 1 / 128), Row(_H, 72, "coldest", _S16, "degC", 1 / 128),
    Row(_H, 79, "output voltage", _U16, "V", 1 / 1024), Row(_H, 80, "output current", _U16, "A", 1 / 64),
    Row(_H, 82, "output power", _U16, "W", 1 / 8), Row(_H, 83, "bulk voltage", _U16, "V", 1 / 64),
    Row(_H, 85, "ITHD", _U16, "-", 1 / 512), Row(_H, 86, "power factor", _U16, "-", 1 / 512),
    Row(_H, 87, "input power", _U16, "W", 1 / 8), Row(_H, 88, "input voltage", _U16, "V", 1 / 64),
)

PSU = DeviceMap(
    device="orv3-psu", vendor="Delta", product="ORV3-PSU-3000", revision="2.1", unit_id=200, max_connections=1, functions=_FUNCTIONS,
    rows=(
        Row(_H, 0, "part number", _ASCII, words=8), Row(_H, 8, "model", _ASCII, words=8), Row(_H, 16, "made on", _ASCII, words=8),
        Row(_H, 24, "serial", _ASCII, words=16), Row(_H, 40, "work order", _ASCII, words=4),
        Row(_H, 44, "hardware", _ASCII, words=4), Row(_H, 48, "firmware", _ASCII, words=4),
        Row(_H, 52, "up time", _U32, "s", words=2), Row(_H, 54, "since on", _U32, "s", words=2),
        Row(_H, 56, "AC cycles"), Row(_H, 57, "AC outages"),
        *_ALARMS, *_MEASURED,
        Row(_H, 73, "position", _U32, words=2), Row(_H, 75, "CRC errors", _U32, words=2), Row(_H, 77, "timeouts", _U32, words=2),
        Row(_H, 81, "share current", _U16, "A", 1 / 64), Row(_H, 84, "frequency", _U16, "Hz"),
        Row(_H, 89, "input current", _U16, "A", 1 / 1024), Row(_H, 90, "fault counter"),
        Row(_H, 92, "cycled at", _U32, "s", words=2),
        Row(_H, 94, "settings", _BITS, writable=True), Row(_H, 95, "baud", writable=True, persistent=True),
        Row(_H, 96, "fan duty", _U16, "%", writable=True, low=0, high=100), Row(_H, 97, "LED", _BITS, writable=True),
        Row(_H, 98, "unix time", _U32, "s", words=2, writable=True),
        Row(_H, 101, "Vin min", _U16, "V", 1 / 64), Row(_H, 102, "Vin max", _U16, "V", 1 / 64),
        Row(_H, 103, "Vout high", _U16, "V", 1 / 1024), Row(_H, 104, "Vout low", _U16, "V", 1 / 1024),
    ),
)
HPR = DeviceMap(
    device="orv3-hpr-psu", vendor="Delta", product="ECD17020037", revision="1.0", unit_id=144, max_connections=1, functions=_FUNCTIONS,
    rows=(
        Row(_H, 0, "part number", _ASCII, words=8), *_ALARMS, *_MEASURED,
        Row(_H, 65, "input power now", _U16, "W", 1 / 8), Row(_H, 66, "input current now", _U16, "A", 1 / 1024),
        Row(_H, 90, "unix time", _U32, "s", words=2, writable=True), Row(_H, 94, "settings", _BITS, writable=True),
    ),
)
SHELF = DeviceMap(
    device="delta-power-shelf", vendor="Delta", product="ECD68000049", revision="1.0", max_connections=1, functions=_FUNCTIONS,
    rows=(
        *(row for k in range(SUPPLIES) for row in (
            Row(_H, 0x101 + 0x10 * k, f"supply {k + 1} voltage", _U16, "V", 1 / 64),
            Row(_H, 0x102 + 0x10 * k, f"supply {k + 1} current", _U16, "A", 1 / 1024))),
        Row(_H, 0x188, "maker", _ASCII, words=8), Row(_H, 0x190, "spare part", _ASCII, words=8), Row(_H, 0x198, "model", _ASCII, words=8),
        Row(_H, 0x1A8, "serial", _ASCII, words=16), Row(_H, 0x1B8, "made on", _ASCII, words=8),
    ),
)
PMM = DeviceMap(
    device="delta-pmm", vendor="Delta", product="ECD70000020", revision="1.0", max_connections=1, functions=_FUNCTIONS,
    rows=(
        Row(_H, 0x50, "unix time", _U32, "s", words=2, writable=True),
        Row(_H, 0x59, "alarms", _BITS, bits=("missing", "EEPROM", "", "", "modules", "PMM", "serial link", "", "module alerts", "clip warm", "clip hot", "", "share cable")),
        Row(_H, 0x5D, "modules lost", _BITS, bits=tuple(f"module {n}" for n in range(1, SUPPLIES + 1))),
    ),
)
# fmt: on
_EFFICIENCY = 0.97
_INPUT_V = 240.0
_BOOTED_AT = 1_790_000_000  # unix time of the last power cycle


class Supply(MakersDevice):
    """One supply of many, which share the bus-bar's load."""

    on_24v = False
    supports = frozenset({
        DeviceFault.ALL_ONES, DeviceFault.SENSOR, DeviceFault.BLOCKED, DeviceFault.INPUT_LOST, DeviceFault.SATURATED,
        DeviceFault.WORN,
    })  # fmt: skip

    def __init__(self, device_map: DeviceMap, serial: str) -> None:
        super().__init__(device_map, serial)
        if not any(row.persistent for row in device_map.rows):
            self.supports = self.supports - {DeviceFault.WORN}
        self.write_text("part number", device_map.product)
        if "model" in self.rows:
            for name, text in (("model", device_map.product), ("made on", "2026-03-14"), ("serial", serial)):
                self.write_text(name, text)
            for name, text in (("work order", "WO4711"), ("hardware", "X03"), ("firmware", "2.1.0")):
                self.write_text(name, text)
            for name, value in (("AC cycles", 12), ("AC outages", 3), ("position", 0x30005), ("Vin min", 180.0)):
                self.put(name, value)
            for name, value in (("Vin max", 305.0), ("Vout high", 51.0), ("Vout low", 48.0), ("cycled at", _BOOTED_AT)):
                self.put(name, value)
            self.put("CRC errors", 65_540)
            self.put("baud", 19_200 // 100)
        self.start(0.0)

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        fed = seen.mains and seen.permit_closed and DeviceFault.INPUT_LOST not in self.faults
        saturated, stopped = DeviceFault.SATURATED in self.faults, DeviceFault.BLOCKED in self.faults
        output_w = 1000.0 * seen.busbar_kw / (SHELVES * SUPPLIES) if fed else 0.0
        if saturated:
            output_w = 1e6
        volts = seen.busbar_v if fed else 0.0
        input_w = output_w / _EFFICIENCY
        inlet_c = 150.0 if self.hit(DeviceFault.SENSOR) else 27.5
        for name, value in (
            *(("fan 0", 0.0 if stopped else 9000.0), ("fan 1", 9120.0 if fed else 0.0), ("inlet", inlet_c)),
            *(("outlet", 46.25), ("hottest", 71.5), ("coldest", -3.25), ("output voltage", volts)),
            *(("output current", output_w / volts if volts > 1.0 else 0.0), ("output power", output_w)),
            *(("bulk voltage", 420.0 if fed else 0.0), ("ITHD", 4.5), ("power factor", 0.99 if fed else 0.0)),
            *(("input power", input_w), ("input voltage", _INPUT_V if fed else 0.0)),
        ):
            self.put(name, value)
        amperes = input_w / _INPUT_V
        if "share current" in self.rows:
            for name, value in (
                ("share current", 55.0),
                ("frequency", 50.0 if fed else 0.0),
                ("input current", amperes),
            ):
                self.put(name, value)
            self.put("since on", now_s - self.started_s)
            self.put("up time", 7_000_000 + now_s)
        else:
            self.put("input power now", input_w)
            self.put("input current now", amperes)
        self.bits("general", PFC_failed=not fed, fan=stopped)
        self.bits("AC side", AC_low=not fed, AC_not_ok=not fed)
        self.bits("DC side")
        self.bits("temperatures", inlet_hot=inlet_c > 60.0, fan_stopped=stopped)
        self.bits("communication", modbus=True)


class PowerShelf(MakersDevice):
    """Six supplies behind one address."""

    on_24v = False
    supports = frozenset({DeviceFault.ALL_ONES, DeviceFault.INPUT_LOST})

    def __init__(self, serial: str = "PS-0001") -> None:
        super().__init__(SHELF, serial)
        for name, text in (("maker", "Delta"), ("spare part", "SP-0815"), ("model", SHELF.product), ("serial", serial)):
            self.write_text(name, text)
        self.write_text("made on", "2026-02-01")
        self.start(0.0)

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        fed = seen.mains and seen.permit_closed
        for k in range(1, SUPPLIES + 1):
            alive = fed and not self.hit(DeviceFault.INPUT_LOST, k)
            volts = seen.busbar_v if alive else 0.0
            amperes = 1000.0 * seen.busbar_kw / (SHELVES * SUPPLIES) / volts if volts > 1.0 else 0.0
            self.put(f"supply {k} voltage", volts)
            self.put(f"supply {k} current", amperes)


class Pmm(MakersDevice):
    """The shelf's alarms."""

    on_24v = False
    supports = frozenset({DeviceFault.ALL_ONES, DeviceFault.INPUT_LOST, DeviceFault.SENSOR})

    def __init__(self, serial: str = "PMM-0001") -> None:
        super().__init__(PMM, serial)
        self.start(0.0)

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        lost = {f"module_{n}": self.hit(DeviceFault.INPUT_LOST, n) for n in range(1, SUPPLIES + 1)}
        self.bits("modules lost", **lost)
        self.bits("alarms", modules=any(lost.values()), module_alerts=any(lost.values()), clip_hot=DeviceFault.SENSOR in self.faults)  # fmt: skip
        self.put("unix time", _BOOTED_AT + now_s)
