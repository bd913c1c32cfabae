"""RLE leak panels: LD2100 and 10K with distance, LDRA6 with six zones.

A zone tells a leak only after its delay; a broken cable tells nothing of water behind the break; silence and reset
clear themselves; with latching on, a leak stays until it is reset.
"""

import math
from dataclasses import dataclass

from firmware_sim.parts.makers.device import DeviceFault, MakersDevice
from firmware_sim.parts.makers.surroundings import Surroundings
from firmware_sim.parts.registers import DeviceMap, Kind, Row, Table

_I, _H = Table.INPUT, Table.HOLDING
_U16, _BITS, _F32 = Kind.U16, Kind.BITS, Kind.F32
_FUNCTIONS = frozenset({3, 4, 6, 16})
_LEAK_BITS = ("leak", "break", "contamination", "summary")
_ZONE_BITS = ("leak", "break", "contamination", "", "", "", "", "lost")
PLACES = ("LDT-101", "LDT-102", "LDT-103")
DISTANCE_M = 7.0  # where along the cable water stands, when it does
CABLE_M = 30.0
_DRY_UA, _DIRTY_UA, _WET_UA = 4.0, 40.0, 180.0

# fmt: off
LD2100 = DeviceMap(
    device="rle-seahawk-ld2100", vendor="RLE Technologies", product="LD2100", revision="2.40", max_connections=1, functions=_FUNCTIONS,
    rows=(
        Row(_I, 0, "status", _BITS, bits=_LEAK_BITS),
        Row(_I, 1, "distance", _U16, "as unit"),
        Row(_I, 2, "unit", _U16, note="1 ft, 0 m"),
        Row(_I, 3, "leakage current", _U16, "uA"),
        Row(_I, 4, "cable length", _U16, "as unit"),
        Row(_I, 5, "loop 1", _U16, "ohm"),
        Row(_I, 6, "loop 2", _U16, "ohm"),
        Row(_I, 7, "resistance per foot", _U16, "ohm", 0.001),
        Row(_I, 8, "firmware", _U16, scale=0.01),
        Row(_I, 9, "virtual zone alarms", _BITS),
        Row(_I, 10, "zones enabled", _BITS),
        *(Row(_I, 11 + 2 * n, f"zone {n + 1} status", _BITS, bits=_ZONE_BITS) for n in range(15)),
        Row(_H, 0, "leak threshold", _U16, "uA", writable=True, persistent=True, low=25, high=295),
        Row(_H, 1, "contamination threshold", _U16, "uA", writable=True, persistent=True, low=20, high=295),
        Row(_H, 2, "re-alarm delay", _U16, "h", writable=True, persistent=True, low=0, high=24),
        Row(_H, 3, "latching", _U16, writable=True, persistent=True, low=0, high=1),
        Row(_H, 4, "silence", _U16, writable=True, low=0, high=1, clears=True),
        Row(_H, 5, "reset", _U16, writable=True, low=0, high=1, clears=True),
        Row(_H, 15, "leak delay", _U16, "s", writable=True, persistent=True, low=5, high=995),
        Row(_H, 16, "contamination delay", _U16, "s", writable=True, persistent=True, low=5, high=995),
    ),
)

SEAHAWK_10K = DeviceMap(
    device="rle-seahawk-10k", vendor="RLE Technologies", product="SeaHawk 10K", revision="3.0.1", order="CDAB", max_connections=1, functions=_FUNCTIONS,
    rows=(
        Row(_I, 0, "status", _BITS, bits=_LEAK_BITS),
        Row(_I, 1, "distance", _U16, "as unit", note="0.1 m or 1 ft"),
        Row(_I, 2, "unit", _U16, note="0 m, 1 ft"),
        Row(_I, 3, "leakage current", _U16, "uA"),
        Row(_I, 4, "cable length", _U16, "as unit", note="0.1 m or 1 ft"),
        Row(_I, 5, "loop 1", _U16, "ohm"),
        Row(_I, 6, "loop 2", _U16, "ohm"),
        Row(_I, 7, "resistance per foot", _U16, "ohm", 0.001),
        Row(_I, 8, "firmware", _U16, note="301 = 3.0.1"),
        Row(_I, 8000, "distance m", _F32, "m", words=2),
        Row(_I, 8002, "cable length m", _F32, "m", words=2),
        Row(_H, 0, "leak threshold", _U16, "uA", writable=True, persistent=True, low=25, high=295),
        Row(_H, 1, "contamination threshold", _U16, "uA", writable=True, persistent=True, low=20, high=295),
        Row(_H, 2, "re-alarm delay", _U16, "h", writable=True, persistent=True, low=0, high=24),
        Row(_H, 3, "latching", _U16, writable=True, persistent=True, low=0, high=1),
        Row(_H, 4, "silence", _U16, writable=True, low=0, high=1, clears=True),
        Row(_H, 5, "reset", _U16, writable=True, low=0, high=1, clears=True),
        Row(_H, 6, "sample size", _U16, writable=True, persistent=True, low=4, high=25),
        Row(_H, 7, "milliohm per foot", _U16, "ohm", 0.001, writable=True, persistent=True, low=2000, high=4240),
        Row(_H, 8, "AC rejection", _U16, writable=True, persistent=True, low=0, high=1),
        Row(_H, 15, "leak delay", _U16, "s", writable=True, persistent=True, low=5, high=995),
        Row(_H, 16, "contamination delay", _U16, "s", writable=True, persistent=True, low=5, high=995),
    ),
)

LDRA6 = DeviceMap(
    device="rle-ldra6", vendor="RLE Technologies", product="LDRA6", revision="1.10", max_connections=1, functions=_FUNCTIONS,
    rows=(
        Row(_I, 0, "status", _BITS, bits=(*(f"leak {n}" for n in range(1, 7)), "", "", *(f"break {n}" for n in range(1, 7)))),
        *(Row(_I, n, f"current {n}", _U16, "uA") for n in range(1, 7)),
        Row(_I, 7, "input selection", _BITS),
        Row(_I, 9, "firmware", _U16, scale=0.01),
        *(Row(_H, n, f"threshold {n + 1}", _U16, "uA", writable=True, persistent=True, low=25, high=295) for n in range(6)),
        Row(_H, 9, "silence", _U16, writable=True, low=0, high=1, clears=True),
        Row(_H, 10, "reset", _U16, writable=True, low=0, high=1, clears=True),
    ),
)
# fmt: on
_FAULTS = frozenset({
    DeviceFault.ALL_ONES,
    DeviceFault.LEAK,
    DeviceFault.CABLE_BREAK,
    DeviceFault.CONTAMINATION,
    DeviceFault.WORN,
})  # fmt: skip


@dataclass(slots=True)
class Cable:
    """What a panel knows of one cable; the delays are the panel's."""

    wet_s: float = 0.0
    dirty_s: float = 0.0
    leak: bool = False
    dirty: bool = False
    broken: bool = False
    current_ua: float = _DRY_UA

    def step(
        self, *, wet: bool, dirty: bool, broken: bool, dt_s: float, delays_s: tuple[float, float], latching: bool
    ) -> None:
        seen = wet and not broken
        self.wet_s = self.wet_s + dt_s if seen else 0.0
        self.dirty_s = self.dirty_s + dt_s if dirty else 0.0
        self.leak = (seen and self.wet_s >= delays_s[0] - 1e-9) or (self.leak and latching)
        self.dirty = dirty and self.dirty_s >= delays_s[1] - 1e-9
        self.broken = broken
        self.current_ua = 0.0 if broken else _WET_UA if seen else _DIRTY_UA if dirty else _DRY_UA


class SeaHawk(MakersDevice):
    """One cable through tray, pan and floor; ``metric`` is its unit switch, ``per_metre`` what its integers count."""

    supports = _FAULTS

    def __init__(self, device_map: DeviceMap, serial: str, *, per_metre: int, metric: bool = True) -> None:
        super().__init__(device_map, serial)
        self.metric = metric
        self._per_metre = per_metre
        self.cable = Cable()
        for name, value in (("leak threshold", 150), ("contamination threshold", 50), ("leak delay", 10)):
            self.put(name, value)
        for name, reading in (("contamination delay", 120), ("loop 1", 820), ("loop 2", 815), ("firmware", 2.4)):
            self.put(name, reading)
        self.put("resistance per foot", 2.8)
        self.start(0.0)

    def accepted(self, row: Row, raw: tuple[int, ...], now_s: float) -> None:
        super().accepted(row, raw, now_s)
        if row.name == "reset" and raw[0]:
            self.cable = Cable()

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        wet = any(seen.wet.get(place, False) for place in PLACES) or DeviceFault.LEAK in self.faults
        self.cable.step(
            wet=wet,
            dirty=DeviceFault.CONTAMINATION in self.faults,
            broken=DeviceFault.CABLE_BREAK in self.faults,
            dt_s=dt_s,
            delays_s=(self.value("leak delay"), self.value("contamination delay")),
            latching=bool(self.value("latching")),
        )
        cable = self.cable
        distance_m = DISTANCE_M if cable.leak else 0.0
        per_metre = float(self._per_metre) if self.metric else 1.0 / 0.3048
        alarm = cable.leak or cable.broken or cable.dirty
        self.bits("status", leak=cable.leak, **{"break": cable.broken}, contamination=cable.dirty, summary=alarm)
        self.put("distance", math.floor(distance_m * per_metre + 0.5))
        self.put("unit", 0 if self.metric else 1)
        self.put("leakage current", cable.current_ua)
        self.put("cable length", math.floor(CABLE_M * per_metre + 0.5))
        self.show_more(distance_m)

    def show_more(self, distance_m: float) -> None:
        """What only this model has."""


class Ld2100(SeaHawk):
    """With one zone read for it by Modbus."""

    def __init__(self, serial: str = "LD-0001") -> None:
        super().__init__(LD2100, serial, per_metre=1)
        self.put("zones enabled", 1)

    def show_more(self, distance_m: float) -> None:
        cable = self.cable
        self.put("virtual zone alarms", float(cable.leak))
        self.bits("zone 1 status", leak=cable.leak, **{"break": cable.broken}, contamination=cable.dirty)


class SeaHawk10K(SeaHawk):
    """Integers in decimetres, and the same as floats in metres."""

    def __init__(self, serial: str = "SH-0001") -> None:
        super().__init__(SEAHAWK_10K, serial, per_metre=10)
        for name, value in (("firmware", 301), ("sample size", 12), ("AC rejection", 1), ("milliohm per foot", 2.8)):
            self.put(name, value)

    def show_more(self, distance_m: float) -> None:
        self.put("distance m", distance_m)
        self.put("cable length m", CABLE_M)


class Ldra6(MakersDevice):
    """Zones 1 to 3 lie in tray, pan and floor; 4 to 6 are dry unless a fault wets them. Its delay is a switch: 15 s."""

    supports = _FAULTS
    delay_s = 15.0

    def __init__(self, serial: str = "LR-0001") -> None:
        super().__init__(LDRA6, serial)
        self.cables = {n: Cable() for n in range(1, 7)}
        for n in range(1, 7):
            self.put(f"threshold {n}", 150)
        self.put("firmware", 1.1)
        self.start(0.0)

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        on: dict[str, bool] = {}
        for n, cable in self.cables.items():
            place = PLACES[n - 1] if n <= len(PLACES) else ""
            cable.step(
                wet=seen.wet.get(place, False) or self.hit(DeviceFault.LEAK, n),
                dirty=self.hit(DeviceFault.CONTAMINATION, n),
                broken=self.hit(DeviceFault.CABLE_BREAK, n),
                dt_s=dt_s,
                delays_s=(self.delay_s, self.delay_s),
                latching=False,
            )
            on |= {f"leak_{n}": cable.leak, f"break_{n}": cable.broken}
            self.put(f"current {n}", cable.current_ua)
        self.bits("status", **on)
