"""Power meters of makers: a Xerus rack PDU and a Schneider PM5560 with its whole list."""

import math

from firmware_sim.parts.makers.device import DeviceFault, MakersDevice
from firmware_sim.parts.makers.surroundings import Surroundings
from firmware_sim.parts.registers import DeviceMap, Kind, Row, Table

_H, _F32 = Table.HOLDING, Kind.F32
_VOLTS, _HZ, _PF = 415.0, 50.0, 0.98
_NEUTRAL_V = _VOLTS / math.sqrt(3.0)


def _f32(address: int, name: str, unit: str, scale: float = 1.0, note: str = "") -> Row:
    return Row(_H, address, name, _F32, unit, scale, words=2, note=note)


# fmt: off
XERUS = DeviceMap(
    device="raritan-xerus-pdu", vendor="Raritan", product="PX4-5860", revision="4.3.0", max_connections=8,
    functions=frozenset({1, 3, 5, 6, 15, 16, 0x2B}),
    rows=(
        *(Row(_H, n, name) for n, name in enumerate(("register set", "inlets", "OCPs", "outlets", "transfer switches"))),
        Row(_H, 2048, "sensor 1 type"), Row(_H, 2049, "sensor 1 state"), _f32(2050, "sensor 1", "-", note="unit by its type"),
        Row(_H, 8193, "active inlet"),
        _f32(0x3008, "inlet V", "V"), _f32(0x300A, "inlet A", "A"), _f32(0x300C, "inlet peak A", "A"),
        _f32(0x3010, "unbalance", "%"), _f32(0x3012, "inlet W", "W"), _f32(0x3014, "inlet VA", "VA"),
        _f32(0x3016, "inlet PF", "-"), _f32(0x3020, "inlet phase", "deg"), _f32(0x3022, "inlet Hz", "Hz"), _f32(0x3024, "inlet var", "var"),
        _f32(16394, "OCP 1 A", "A"),
        _f32(32776, "outlet 1 V", "V"), _f32(32778, "outlet 1 A", "A"), _f32(32786, "outlet 1 W", "W"),
    ),
)

# List numbers, as Schneider prints them; the wire is one less.
_LIST = (
    (2700, "energy", "kWh"), (3000, "I1", "A"), (3002, "I2", "A"), (3004, "I3", "A"), (3010, "I avg", "A"),
    (3020, "U12", "V"), (3022, "U23", "V"), (3024, "U31", "V"), (3026, "U LL", "V"),
    (3028, "U1", "V"), (3030, "U2", "V"), (3032, "U3", "V"), (3036, "U LN", "V"),
    (3054, "P1", "kW"), (3056, "P2", "kW"), (3058, "P3", "kW"), (3060, "P", "kW"),
    (3068, "Q", "kvar"), (3076, "S", "kVA"), (3084, "PF", "-"), (3110, "F", "Hz"),
)
PM5560 = DeviceMap(
    device="schneider-pm5560", vendor="Schneider Electric", product="PM5560", revision="2.9.0", max_connections=4, functions=frozenset({3, 0x2B}),
    rows=tuple(_f32(number - 1, name, unit, note=f"list {number}") for number, name, unit in _LIST),
)
# fmt: on
_FAULTS = frozenset({DeviceFault.NOT_AVAILABLE, DeviceFault.ALL_ONES, DeviceFault.INPUT_LOST})


class XerusPdu(MakersDevice):
    """Feeds the rack's shelves; outlet 1 and breaker 1 carry a sixth of it."""

    on_24v = False
    supports = _FAULTS

    def __init__(self, serial: str = "PX-0001") -> None:
        super().__init__(XERUS, serial)
        for name, value in (("register set", 2), ("inlets", 1), ("OCPs", 6), ("outlets", 24), ("transfer switches", 0)):
            self.put(name, value)
        for name, value in (("sensor 1 type", 1), ("sensor 1 state", 4), ("active inlet", 1)):
            self.put(name, value)
        self._peak_a = 0.0
        self.start(0.0)

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        fed = seen.mains and DeviceFault.INPUT_LOST not in self.faults
        watts = 1000.0 * seen.feeder_kw if fed else 0.0
        amperes = watts / (math.sqrt(3.0) * _VOLTS * _PF)
        self._peak_a = max(self._peak_a, amperes)
        reactive = watts * math.tan(math.acos(_PF))
        values = {
            "inlet V": _VOLTS if fed else 0.0,
            "inlet A": amperes,
            "inlet peak A": self._peak_a,
            "unbalance": 1.5,
            "inlet W": watts,
            "inlet VA": watts / _PF,
            "inlet PF": _PF,
            "inlet phase": math.degrees(math.acos(_PF)),
            "inlet Hz": _HZ if fed else None,
            "inlet var": reactive,
            "OCP 1 A": amperes / 6.0,
            "outlet 1 V": _NEUTRAL_V if fed else 0.0,
            "outlet 1 A": amperes / 6.0,
            "outlet 1 W": watts / 6.0,
            "sensor 1": 24.5,
        }
        for name, value in values.items():
            self.measure(name, value)


class Pm5560(MakersDevice):
    """The rack's feeder; what it cannot measure without voltage is not a number."""

    on_24v = False
    supports = _FAULTS

    def __init__(self, serial: str = "PM-0001") -> None:
        super().__init__(PM5560, serial)
        self._energy_kwh = 123_456.0
        self.start(0.0)

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        fed = seen.mains and DeviceFault.INPUT_LOST not in self.faults
        kw = seen.feeder_kw if fed else 0.0
        self._energy_kwh += kw * dt_s / 3600.0
        amperes = 1000.0 * kw / (math.sqrt(3.0) * _VOLTS * _PF)
        volts, neutral = (_VOLTS, _NEUTRAL_V) if fed else (0.0, 0.0)
        shares = {"1": 0.34, "2": 0.33, "3": 0.33}
        for phase, share in shares.items():
            self.measure(f"I{phase}", amperes * 3.0 * share)
            self.measure(f"P{phase}", kw * share)
            self.measure(f"U{phase}", neutral)
        for name in ("U12", "U23", "U31", "U LL"):
            self.measure(name, volts)
        values = {
            "U LN": neutral,
            "I avg": amperes,
            "P": kw,
            "Q": kw * math.tan(math.acos(_PF)),
            "S": kw / _PF,
            "PF": _PF if fed else None,
            "F": _HZ if fed else None,
            "energy": self._energy_kwh,
        }
        for name, value in values.items():
            self.measure(name, value)
