"""One scan's readings as the safety functions see them: a value when it can be believed, else None."""

from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple

from fieldkit.coolant import density_kg_m3
from fieldkit.reading import Quality, Readings
from valvey.core.flow_setpoint import REFERENCE_K
from valvey.core.flow_state import Mode
from valvey.core.limits import LPM_PER_KW, Limits, tolerated_lpm
from valvey.core.memory import Effect, Memory
from valvey.core.plausible import RETURNS, voted

#: kW per (L/min · K) with PG25: rho·cp = 4.015 MJ/m3K.
KW_PER_LPM_K = 0.0669
#: Specific gravity of PG25 at 40 °C.
SG = 1.0145


#: The rack's own cooling: this share of the flow for a rise of 10 K is never taken from it, and so much more that the
#: return stays this far below its limit. SIF-4's stages are 0.25 and 0.45 of that flow.
OWN_SHARE = 0.60
OWN_ROOM_K = 3.0
#: Below this fraction of the nominal flow the return temperature no longer tells what the rack gives off.
CARRYING_FRACTION = 0.1


class Imbalance(NamedTuple):
    """Both flows as they are metered, their difference as volume at the supply's temperature, and what is tolerated of it."""

    supply_lpm: float
    return_lpm: float
    apart_lpm: float
    tolerated_lpm: float


@dataclass(frozen=True)  # no slots: it is copied a dozen times in a scan, see fieldkit.frozen
class View:
    """Readings, memory and limits at ``now_s``. UNCERTAIN, BAD and stale readings are None here."""

    readings: Readings
    memory: Memory
    limits: Limits
    now_s: float
    asked: frozenset[Effect] = frozenset()
    """Trip-class demands from outside that were accepted in this scan (SIF-7, SIF-10)."""
    believed: dict[str, float | None] = field(default_factory=dict)
    """What was worked out already in this scan; every row of the trip table asks for the same few values."""

    def number(self, tag: str) -> float | None:
        """The value of ``tag`` in its unit, when GOOD and fresh."""
        if tag in self.believed:
            return self.believed[tag]
        reading, value = self.readings.get(tag), None
        if reading is not None and reading.quality is Quality.GOOD:
            max_age_s = self.limits.max_age_s.get(tag, self.limits.default_max_age_s)
            value = reading.value if self.now_s - reading.at_s <= max_age_s else None
        self.believed[tag] = value
        return value

    def on(self, tag: str) -> bool | None:
        """A contact or bit: True, False, or None when it cannot be believed."""
        value = self.number(tag)
        return None if value is None else value >= 0.5

    def at_s(self, tag: str) -> float:
        """Sample time of ``tag``; now when it was never read."""
        reading = self.readings.get(tag)
        return self.now_s if reading is None else reading.at_s

    def best(self, *tags: str) -> float | None:
        """The greatest of the believable values."""
        values = [value for tag in tags if (value := self.number(tag)) is not None]
        return max(values) if values else None

    def dp_flow_lpm(self) -> float | None:
        """Flow through the rack worked out from PT-101 − PT-102 and the rack's Kv."""
        supply, ret = self.number("PT-101"), self.number("PT-102")
        if supply is None or ret is None:
            return None
        dp_bar = (supply - ret) / 100.0
        return self.limits.kv_rack * sqrt(max(0.0, dp_bar) / SG) * 1000.0 / 60.0

    def return_c(self) -> float | None:
        """Return temperature: the median of three, the hotter of two, or the one that is left.

        One that has been far from the two others for long is dropped (``plausible.vote``).
        """
        a, b, c = RETURNS
        return voted((self.number(a), self.number(b), self.number(c)), self.memory.sensors.returns.dropped)

    def heat_kw(self) -> float | None:
        """Power carried off by the coolant; None when so little flows that the heat stays in the rack."""
        flow, supply, ret = self.number("FT-101"), self.number("TT-101"), self.return_c()
        if flow is None or supply is None or ret is None or flow <= CARRYING_FRACTION * self.limits.flow_nominal_lpm:
            return None
        return max(0.0, KW_PER_LPM_K * flow * (ret - supply))

    def imbalance(self) -> Imbalance | None:
        """Supply flow against return flow; None when either meter cannot be believed.

        Without the temperatures the difference is taken as it is: they correct 0.6 % at a rise of 12 K.
        """
        supply, shown = self.number("FT-101"), self.number("FT-102")
        if supply is None or shown is None:
            return None
        ret = shown
        supply_c, return_c = self.number("TT-101"), self.return_c()
        if supply_c is not None and return_c is not None:
            ret *= density_kg_m3(return_c) / density_kg_m3(supply_c)
        return Imbalance(supply, shown, supply - ret, tolerated_lpm(supply))

    def load_kw(self) -> float | None:
        """The greatest of feeder, bus-bar and heat balance; None when not one can be believed."""
        if "load_kw" in self.believed:
            return self.believed["load_kw"]
        values = [
            value for value in (self.number("JT-101"), self.number("ET-101"), self.heat_kw()) if value is not None
        ]
        self.believed["load_kw"] = max(values) if values else None
        return self.believed["load_kw"]

    def need_lpm(self) -> float:
        """Flow that the present load needs; the rating's when the load is not known."""
        load_kw = self.load_kw()
        return LPM_PER_KW * (self.limits.rating_kw if load_kw is None else load_kw)

    def own_need_lpm(self) -> float:
        """The flow that nothing and nobody may take from the rack: its present load stays cool with it.

        The whole need when it is not known how warm the supply is.
        """
        supply_c = self.number("TT-101")
        room_k = 0.0 if supply_c is None else self.limits.return_h_c - OWN_ROOM_K - supply_c
        share = 1.0 if room_k <= REFERENCE_K else max(OWN_SHARE, REFERENCE_K / room_k)
        return share * self.need_lpm()

    def setpoint_lpm(self) -> float:
        """Flow that is wanted now: need + 5 %, between half and 1.25 times the nominal flow.

        Less where somebody has told the flow control to take less. Not where FCV-101 is held at an opening: no flow was
        named then, and the need is the safe side.
        """
        nominal, steering = self.limits.flow_nominal_lpm, self.memory.steering
        wanted = min(1.25 * nominal, max(0.5 * nominal, 1.05 * self.need_lpm()))
        if steering is None or not steering.active or steering.control.mode is Mode.POSITION:
            return wanted
        if steering.ceiling is None and steering.control.asked is None:
            return wanted
        return min(wanted, steering.control.demand.setpoint_lpm)

    def open_proven(self) -> bool:
        """Both ZSO good and made."""
        return self.on("ZSO-101") is True and self.on("ZSO-102") is True

    def shut_proven(self) -> bool:
        """Both ZSC good and made."""
        return self.on("ZSC-101") is True and self.on("ZSC-102") is True

    def coils_on(self) -> bool:
        """Both isolation valves' coils read back energised."""
        return self.on("XY-101") is True and self.on("XY-102") is True

    def flow_stopped(self) -> bool:
        """Supply and return flow both known and about nil."""
        nil = self.limits.closed_flow_fraction * self.limits.flow_nominal_lpm
        supply, ret = self.number("FT-101"), self.number("FT-102")
        return supply is not None and ret is not None and supply <= nil and ret <= nil

    def permit_dead(self) -> bool:
        """XI-101 off, no load and no voltage behind the shelves: the rack is proven without power."""
        load, volt = self.number("ET-101"), self.number("EV-101")
        dead_kw = self.limits.dead_load_fraction * self.limits.rating_kw
        dead = load is not None and load <= dead_kw and volt is not None and volt <= self.limits.dead_volt
        return dead and self.on("XI-101") is False
