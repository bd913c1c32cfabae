"""True values of the plant over time, and what each rack asks for: what curves and claims are made of."""

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.demo.listener import Listener
from bench.demo.stage import Stage

#: Of each rack, as the simulator's snapshot names them.
OF_RACK = ("flow_supply_lpm", "p_supply_kpa", "t_return_c", "busbar_kw", "spilled_l", "inventory_l")
#: Told by the rack: the flow that its control asks for.
SET_POINT = "FY-101"
OF_CDU = ("flow_lpm", "p_supply_kpa", "p_return_kpa", "sump_l", "level_pct")


@dataclass
class Samples:
    """Values at the times ``t_s`` (simulated seconds), by name and rack."""

    t_s: list[float] = field(default_factory=list)
    racks: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    asked: dict[str, list[float | None]] = field(default_factory=dict)
    """Set-point of each rack's flow, L/min; None while its control has not the valve."""
    cdu: dict[str, list[float]] = field(default_factory=dict)

    def add(self, snapshot: dict[str, Any], bus: Listener) -> None:
        """Take a snapshot of the simulator and what racks told last; one that is not newer than the last is left out."""
        if self.t_s and snapshot["t_s"] <= self.t_s[-1]:
            return
        self.t_s.append(snapshot["t_s"])
        for name, rack in snapshot["racks"].items():
            rows = self.racks.setdefault(name, {key: [] for key in OF_RACK})
            for key in OF_RACK:
                rows[key].append(rack["true"][key])
            told = bus.racks[name].points.get(SET_POINT, {}) if name in bus.racks else {}
            self.asked.setdefault(name, []).append(told.get("value"))
        for key in OF_CDU:
            self.cdu.setdefault(key, []).append(snapshot["cdu"]["true"][key])

    def flow(self, rack: str) -> list[float]:
        return self.racks[rack]["flow_supply_lpm"]

    def wish(self, rack: str) -> list[float]:
        """Each flow against what the rack asked for then, or last while it asks for none; 1 until it has asked."""
        out, last = [], None
        for flow, asked in zip(self.flow(rack), self.asked[rack], strict=True):
            last = asked or last
            out.append(flow / last if last else 1.0)
        return out

    def after(self, at_s: float) -> int:
        """Index of the first sample at or after a time."""
        return bisect_left(self.t_s, at_s)


class Sampler:
    """Takes a snapshot every so many simulated seconds, until it is left. ``now_s`` is the time of the last one."""

    def __init__(self, stage: Stage, bus: Listener, every_s: float) -> None:
        self.samples = Samples()
        self._stage, self._bus, self._every_s = stage, bus, every_s
        self._task: asyncio.Task[None] | None = None

    @property
    def now_s(self) -> float:
        return self.samples.t_s[-1]

    async def __aenter__(self) -> "Sampler":
        self.samples.add(self._stage.ask("snapshot"), self._bus)
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_error: object) -> None:
        assert self._task is not None  # it was entered
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def until(self, due_s: float) -> None:
        """Return once a sample at or after ``due_s`` is there. Raises what ended the sampling."""
        assert self._task is not None  # it was entered
        while self.now_s < due_s:
            if self._task.done():
                self._task.result()
            await asyncio.sleep(min(0.5, max(0.01, (due_s - self.now_s) / self._stage.options.speed)))

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._every_s / self._stage.options.speed)
            self.samples.add(await asyncio.to_thread(self._stage.ask, "snapshot"), self._bus)


def rolling_mean(t_s: Sequence[float], values: Sequence[float], window_s: float) -> list[float]:
    """Mean of the values of the last ``window_s`` at each time; NaN-free: before a whole window has passed, of what there is."""
    out, total, first = [], 0.0, 0
    for n, (at_s, value) in enumerate(zip(t_s, values, strict=True)):
        total += value
        while t_s[first] <= at_s - window_s:
            total -= values[first]
            first += 1
        out.append(total / (n - first + 1))
    return out


def wave_of(
    t_s: Sequence[float], values: Sequence[float], period_s: float, origin_s: float, bins: int = 60
) -> list[float]:
    """Return the mean value at each of ``bins`` places of a period; an empty place takes its neighbour's."""
    sums, counts = [0.0] * bins, [0] * bins
    for at_s, value in zip(t_s, values, strict=True):
        place = _place(at_s, period_s, origin_s, bins)
        sums[place] += value
        counts[place] += 1
    known = [place for place in range(bins) if counts[place]]
    nearest = [min(known, key=lambda k: min(abs(k - p), bins - abs(k - p))) for p in range(bins)]
    return [sums[place] / counts[place] for place in nearest]


def against_wave(
    t_s: Sequence[float], values: Sequence[float], wave: Sequence[float], period_s: float, origin_s: float
) -> list[float]:
    """Return each value against the wave's at the same place of its period, %."""
    return [
        100.0 * (value / wave[_place(at_s, period_s, origin_s, len(wave))] - 1.0)
        for at_s, value in zip(t_s, values, strict=True)
    ]


def furthest(values: Sequence[float]) -> float:
    """The value that is furthest from zero, with its sign; 0 of nothing."""
    return max(values, key=abs, default=0.0)


def _place(at_s: float, period_s: float, origin_s: float, bins: int) -> int:
    return min(bins - 1, int((at_s - origin_s) / period_s % 1.0 * bins))
