"""Belimo Energy Valve V4: flow control valve with a flow meter and two temperatures.

Quirks: the low word of 32-bit values first; what a model has not, and what no row lists, reads 65535; function 06 is
not served; the persistent registers above 100 wear out; the watchdog is off as delivered and re-armed by writes of set
point or override alone.
"""

from firmware_sim.parts.makers.device import DeviceFault, MakersDevice
from firmware_sim.parts.makers.surroundings import Surroundings
from firmware_sim.parts.registers import DeviceMap, Kind, Row, Table

_H = Table.HOLDING
_U16, _S16, _U32, _BITS = Kind.U16, Kind.S16, Kind.U32, Kind.BITS
WATCHDOG_S = 120.0
SERVICE_BITS = (
    *("excessive use", "travel increased", "cannot move", "", "", "", "", ""),
    *("internal activity", "service gear", "service watchdog", "", "", "", "", ""),
)
ERROR_BITS = (
    *("no actuator", "gear disengaged", "blocked", "reverse flow", "set point not reached", "flow when shut"),
    *(
        "flow above nominal",
        "flow measurement",
        "T1",
        "T2",
        "flow sensor lost",
        "freeze",
        "glycol",
        "power not reached",
    ),
    *("end of life", "watchdog expired"),
)
NOMINAL_LPM = 500.0  # DN65: 28.8 m3/h is 480; a round number

# fmt: off
BELIMO = DeviceMap(
    device="belimo-energy-valve-v4", vendor="Belimo", product="EV065R2+BAC", revision="4.1", order="CDAB", max_connections=1,
    functions=frozenset({2, 3, 4, 16, 0x2B}), mirrored=True, unused=0xFFFF,
    watchdogs={"bus": "off as delivered; with a bus fail action set it fires 120 s after the last write of 0 or 1"},
    rows=(
        Row(_H,   0, "set point",        _U16, "%", 0.01, writable=True, low=0, high=10000, watchdog="bus"),
        Row(_H,   1, "override",         _U16, writable=True, low=0, high=5, watchdog="bus", note="0 none, 1 open, 2 close, 3 min, 4 mid, 5 max"),
        Row(_H,   2, "command",          _U16, writable=True, low=0, high=4, clears=True),
        Row(_H,   3, "actuator type",    _U16, note="4 Energy Valve"),
        Row(_H,   4, "position",         _U16, "%", 0.01),
        Row(_H,   5, "angle",            _U16, "deg", 0.01),
        Row(_H,   6, "relative flow",    _U16, "%", 0.01),
        Row(_H,   7, "flow L/s",         _U16, "L/s", 0.01),
        Row(_H,   8, "flow gpm",         _U16, "gal/min", 0.1),
        Row(_H,  11, "analog set point", _U16, "%", 0.01),
        Row(_H,  13, "sensor 1",         _S16, "degC", 0.01, missing=0xFFFF),
        Row(_H,  16, "flow set point",   _U16, "gal/min", 0.1),
        Row(_H,  19, "T1",               _S16, "degC", 0.01, missing=0xFFFF),
        Row(_H,  21, "T2",               _S16, "degC", 0.01, missing=0xFFFF),
        Row(_H,  25, "glycol",           _U16, "%", 0.01),
        Row(_H,  27, "cooling power",    _U32, "W", words=2),
        Row(_H,  33, "heating power",    _U32, "W", words=2),
        Row(_H,  65, "cooling energy",   _U32, "kWh", words=2),
        Row(_H,  71, "heating energy",   _U32, "kWh", words=2),
        Row(_H,  99, "bus termination",  _U16, writable=True, low=0, high=1),
        Row(_H, 100, "serial 1",         _U16),
        Row(_H, 101, "serial 2",         _U16),
        Row(_H, 102, "serial 4",         _U16),
        Row(_H, 103, "firmware",         _U16, note="reads 0 on 4.x"),
        Row(_H, 104, "service",          _BITS, bits=SERVICE_BITS),
        Row(_H, 105, "Vmin",             _U16, "%", 0.01, writable=True, persistent=True, low=0, high=10000),
        Row(_H, 106, "Vmax",             _U16, "%", 0.01, writable=True, persistent=True, low=2000, high=10000),
        Row(_H, 107, "sensor 1 type",    _U16, writable=True, persistent=True, low=0, high=4),
        Row(_H, 108, "bus fail action",  _U16, writable=True, persistent=True, low=0, high=6),
        Row(_H, 116, "control mode",     _U16, writable=True, persistent=True, low=0, high=3),
        Row(_H, 117, "flow unit",        _U16, writable=True, persistent=True, low=0, high=6),
        Row(_H, 118, "set point source", _U16, writable=True, persistent=True, low=0, high=1),
        Row(_H, 157, "errors",           _BITS, bits=ERROR_BITS),
        Row(_H, 158, "errors 2",         _BITS, bits=("no dP", "dP not reached", "minimum position")),
        Row(_H, 166, "Pmax",             _U32, "W", words=2),
        *(Row(Table.DISCRETE, 1664 + n, f"service bit {n}", Kind.BIT) for n in range(16)),
    ),
)
# fmt: on
_ACTIONS = {1: 100.0, 2: 0.0, 3: 100.0, 4: 0.0, 5: 50.0}
_OVERRIDES = {1: 100.0, 2: 0.0, 3: 0.0, 4: 50.0, 5: 100.0}


class EnergyValve(MakersDevice):
    """Drives the rack's FCV-101 once its set point was written."""

    supports = frozenset({
        DeviceFault.NOT_AVAILABLE, DeviceFault.ALL_ONES, DeviceFault.SENSOR, DeviceFault.FLOW_SENSOR,
        DeviceFault.BLOCKED, DeviceFault.WORN,
    })  # fmt: skip

    def __init__(self, serial: str = "EV-0001") -> None:
        super().__init__(BELIMO, serial)
        for name, value in (("serial 1", 224), ("serial 2", 31012), ("serial 4", 17), ("actuator type", 4)):
            self.put(name, value)
        for name, setting in (("Vmax", 100.0), ("set point source", 1), ("flow unit", 3), ("Pmax", 350_000)):
            self.put(name, setting)
        self._told = False
        self._now_s = self._written_s = self._seen_pct = 0.0
        self._energy_ws = 4_200_000.0 * 3600.0
        self.start(0.0)

    def start(self, now_s: float) -> None:
        self._told, self._written_s = False, now_s
        for name in ("set point", "override"):
            self.put(name, 0)
        super().start(now_s)

    @property
    def fcv_command_pct(self) -> float | None:
        if not self._told:
            return None
        if DeviceFault.BLOCKED in self.faults:
            return self._seen_pct
        if self._expired and (action := _ACTIONS.get(int(self.value("bus fail action")))) is not None:
            return action
        override = int(self.value("override"))
        return _OVERRIDES.get(override, self.value("set point"))

    @property
    def _expired(self) -> bool:
        return bool(self.value("bus fail action")) and self._now_s - self._written_s >= WATCHDOG_S

    def accepted(self, row: Row, raw: tuple[int, ...], now_s: float) -> None:
        super().accepted(row, raw, now_s)
        if row.address <= 1:
            self._told, self._written_s = True, now_s

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        self._now_s, self._seen_pct = now_s, seen.fcv_open_pct
        lost, t1, t2 = (
            DeviceFault.FLOW_SENSOR in self.faults,
            self.hit(DeviceFault.SENSOR, 1),
            self.hit(DeviceFault.SENSOR, 2),
        )
        flow = None if lost else max(seen.flow_lpm, 0.0)
        self.measure("position", seen.fcv_open_pct)
        self.measure("angle", seen.fcv_open_pct * 0.9)
        self.measure("relative flow", None if flow is None else 100.0 * flow / NOMINAL_LPM)
        self.measure("flow L/s", None if flow is None else flow / 60.0)
        self.measure("flow gpm", None if flow is None else flow / 3.785411784)
        self.measure("analog set point", None)  # no analog signal is wired
        self.measure("sensor 1", None)  # none is fitted
        self.measure("flow set point", self.value("set point") / 100.0 * NOMINAL_LPM / 3.785411784)
        self.measure("T1", None if t1 else seen.t_return_c)
        self.measure("T2", None if t2 else seen.t_supply_c)
        self.measure("glycol", 25.0)
        power_w = 0.0 if flow is None else max(flow / 60.0 * 3870.0 * (seen.t_return_c - seen.t_supply_c), 0.0)
        self._energy_ws += power_w * dt_s
        self.measure("cooling power", power_w)
        self.measure("heating power", 0.0)
        self.measure("cooling energy", self._energy_ws / 3.6e6)
        self.measure("heating energy", 0.0)
        blocked = DeviceFault.BLOCKED in self.faults
        shut = seen.fcv_open_pct < 1.0 and seen.flow_lpm > 5.0
        self.bits("errors", blocked=blocked, flow_when_shut=shut, flow_measurement=lost, flow_sensor_lost=lost,
                  T1=t1, T2=t2, watchdog_expired=self._expired)  # fmt: skip
        self.bits("errors 2")
        self.bits("service", cannot_move=blocked, service_watchdog=self._expired)
        for n in range(16):
            self.discretes[1664 + n] = bool(int(self.value("service")) >> n & 1)
