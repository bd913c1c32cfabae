"""Racks at work for the mass balance's statistics: one in plain Python, or thousands as arrays of numpy, a second at a time."""

import math
import random
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from fieldkit.coolant import density_kg_m3
from valvey.core.mass_balance import SCALARS, Ops, Second

#: numpy where it is installed; nothing else of the project needs it.
np: Any = None if find_spec("numpy") is None else import_module("numpy")

NOMINAL_LPM, RATED_KW, SUPPLY_C = 198.0, 132.0, 40.0
KW_PER_LPM_K = 0.0669
SOLID_KJ_K, COOLANT_KJ_K, UA_KW_K = 55.0, 60.0, 6.6
SWELLING_L_K = 25.0 * 5.0e-4
"""Litres pushed out of the rack by a kelvin: what warms up with the load is 15 L of plates and hoses and part of the manifold."""
DAY_S = 86400


class Backend(Protocol):
    """Chance and choice for one rack or for many."""

    ops: Ops

    def full(self, value: float) -> Any: ...
    def uniform(self, low: float, high: float) -> Any: ...
    def normal(self) -> Any: ...
    def any(self, condition: Any) -> bool: ...
    def count(self, condition: Any) -> int: ...
    def whole(self, value: Any) -> Any: ...


class One:
    """One rack, in plain Python."""

    def __init__(self, racks: int, seed: int) -> None:
        del racks
        self.ops: Ops = SCALARS
        self._random = random.Random(seed)

    def full(self, value: float) -> Any:
        return value

    def uniform(self, low: float, high: float) -> Any:
        return self._random.uniform(low, high)

    def normal(self) -> Any:
        return self._random.gauss(0.0, 1.0)

    def any(self, condition: Any) -> bool:
        return bool(condition)

    def count(self, condition: Any) -> int:
        return int(condition)

    def whole(self, value: Any) -> Any:
        return math.floor(value)


class Many:
    """Racks as arrays of numpy, in single precision: what is judged is a thousandth, what it can tell apart a ten-millionth."""

    def __init__(self, racks: int, seed: int) -> None:
        self.ops: Ops = np
        self._racks = racks
        self._random = np.random.Generator(np.random.SFC64(seed))

    def full(self, value: float) -> Any:
        return np.full(self._racks, value, dtype=np.float32)

    def uniform(self, low: float, high: float) -> Any:
        return np.float32(low) + np.float32(high - low) * self._random.random(self._racks, dtype=np.float32)

    def normal(self) -> Any:
        return self._random.standard_normal(self._racks, dtype=np.float32)

    def any(self, condition: Any) -> bool:
        return bool(condition.any())

    def count(self, condition: Any) -> int:
        return int(condition.sum())

    def whole(self, value: Any) -> Any:
        return np.floor(value)


class Racks:
    """Racks at work, a second at a time. All true flows are volumes at the meter that sees them, L/min.

    restless   False: full load and nothing ever happens, as for measuring how soon a leak is found
    """

    def __init__(self, backend: Backend, noise: float, restless: bool = True) -> None:
        b = self._b = backend
        self._noise, self._restless = noise, restless
        self._up, self._down = b.full(0.39), b.full(0.011)
        self.load_kw = b.full(RATED_KW)
        self.high = b.full(RATED_KW)
        self.low = b.full(RATED_KW)
        self.half_s = b.uniform(1.0, 30.0)
        self.phase = b.uniform(0.0, 1.0)
        self.regime_s = b.uniform(0.0, 600.0)
        self.wanted_kw = b.full(RATED_KW)
        self.flow = b.full(200.0)
        self.header = b.full(1.0)
        self.header_s = b.uniform(0.0, 3600.0)
        self.shut_s = b.full(0.0)
        self.valve_s = b.uniform(0.0, 7.0 * DAY_S)
        self.solid_c = b.full(SUPPLY_C + 10.0 + RATED_KW / UA_KW_K)
        self.coolant_c = b.full(SUPPLY_C + 10.0)
        self.return_c = b.full(SUPPLY_C + 10.0)
        # Calibration by the data sheet (0.4 % and 0.05 L/min), lags that differ, a bias of the temperatures.
        self.gain = (b.uniform(-0.004, 0.004), b.uniform(-0.004, 0.004))
        self.offset = (b.uniform(-0.05, 0.05), b.uniform(-0.05, 0.05))
        self.follow = tuple(1.0 - math.e ** (-1.0 / tau) for tau in (b.uniform(0.8, 1.2), b.uniform(0.8, 1.2)))
        self.bias_k = b.uniform(-0.2, 0.2)
        self.meter = (b.full(200.0), b.full(200.0))

    def second(self, leak_lpm: Any = 0.0) -> Second:
        """Let a second pass and return what was read in it."""
        b, where = self._b, self._b.ops.where
        if self._restless:
            self._work()
        mean_kw = self.wanted_kw
        self.wanted_kw = mean_kw + (self.load_kw - mean_kw) * where(self.load_kw > mean_kw, self._up, self._down)
        wanted = 1.05 * self.wanted_kw / (KW_PER_LPM_K * 10.0)
        wanted = b.ops.minimum(b.ops.maximum(wanted, 0.5 * NOMINAL_LPM), 1.25 * NOMINAL_LPM) * self.header
        if not self._restless:
            wanted = b.full(200.0)
        opened = self.shut_s <= 0.0
        step = b.ops.minimum(b.ops.maximum(wanted - self.flow, -0.03 * self.flow), 0.03 * self.flow)
        self.flow = where(opened, b.ops.maximum(self.flow + step, 20.0), self.flow * 0.4)

        before_c = self.coolant_c
        given_kw = UA_KW_K * (self.solid_c - before_c)
        power_kw = where(opened, self.load_kw, 0.0)
        self.solid_c += (power_kw - given_kw) / SOLID_KJ_K
        self.coolant_c = before_c + (given_kw - KW_PER_LPM_K * self.flow * (before_c - SUPPLY_C)) / COOLANT_KJ_K
        self.return_c += (self.coolant_c - self.return_c) / 6.0
        swelling_lpm = 60.0 * SWELLING_L_K * (self.coolant_c - before_c)
        out = (self.flow - leak_lpm + swelling_lpm) * (density_kg_m3(SUPPLY_C) / density_kg_m3(self.coolant_c))

        meters, read = [], []
        for i, true in enumerate((self.flow, out)):
            meter = self.meter[i] + (true - self.meter[i]) * self.follow[i]
            meters.append(meter)
            read.append(meter * (1.0 + self.gain[i] + self._noise * b.normal()) + self.offset[i])
        self.meter = (meters[0], meters[1])
        if self._restless:
            read[1] = self._bubbles(read[1])
        still = opened & (self.flow > 0.2 * NOMINAL_LPM)
        return Second(read[0], read[1], b.full(SUPPLY_C), self.return_c + self.bias_k, self.load_kw / RATED_KW, still)

    def _work(self) -> None:
        b, where = self._b, self._b.ops.where
        self.regime_s -= 1.0
        if b.any(due := self.regime_s <= 0.0):
            self.high = where(due, RATED_KW * b.uniform(0.3, 1.0), self.high)
            swings = b.uniform(0.0, 1.0) < 0.6
            self.low = where(due, self.high * where(swings, b.uniform(0.3, 1.0), 1.0), self.low)
            self.half_s = where(due, b.uniform(1.0, 30.0), self.half_s)
            self.regime_s = where(due, b.uniform(60.0, 3600.0), self.regime_s)
        self.phase += 0.5 / self.half_s
        self.phase = self.phase - b.whole(self.phase)
        self.load_kw = where(self.phase < 0.5, self.high, self.low)
        self.header_s -= 1.0
        if b.any(due := self.header_s <= 0.0):
            self.header = where(due, b.uniform(0.95, 1.05), self.header)
            self.header_s = where(due, b.uniform(60.0, 7200.0), self.header_s)
        self.valve_s -= 1.0
        self.shut_s -= 1.0
        if b.any(due := self.valve_s <= 0.0):
            stroke = b.uniform(0.0, 1.0) < 0.7
            self.shut_s = where(due, where(stroke, 2.0, b.uniform(600.0, 7200.0)), self.shut_s)
            self.valve_s = where(due, b.uniform(1.0, 7.0) * DAY_S, self.valve_s)
            drift = where(due, 0.0005 * b.normal(), 0.0)  # 0.05 % in some days
            self.gain = (self.gain[0] + drift, self.gain[1])

    def _bubbles(self, flow: Any) -> Any:
        """Once a day a second of nonsense from one meter."""
        chance = self._b.uniform(0.0, 1.0) if isinstance(self._b, One) else self._pooled()
        return self._b.ops.where(chance < 1.0 / DAY_S, 0.6 * flow, flow)

    def _pooled(self) -> Any:
        """Cheap chance for many: one draw turned by a step that never repeats soon."""
        if not hasattr(self, "_pool"):
            self._pool = self._b.uniform(0.0, 1.0)
        self._pool = self._pool + 0.6180339887498949
        self._pool = self._pool - self._b.whole(self._pool)
        return self._pool


def backend_for(racks: int, seed: int) -> Backend:
    """Many racks with numpy, else one."""
    return One(1, seed) if np is None or racks == 1 else Many(racks, seed)
