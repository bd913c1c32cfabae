"""The simulator's rack model against a running plant: ``firmware-sim validate-plant FILE``.

Each rack of the recording is fed with what was recorded: power, flow and supply temperature. One number per rack is fitted, on the
first half: the share of the power that goes into the liquid, 0.9..1.0. The return temperature of the second half is then predicted.
"""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean

from firmware_sim.demo_plant import rack_config
from firmware_sim.energy import PumpDay, pump_day
from firmware_sim.physics import thermal
from firmware_sim.rack_plant import RackPlant
from firmware_sim.recording import RecordedRack, RecordingError, held, load

LIMIT_K = 0.25
LEAST_FRACTION, MOST_FRACTION = 0.9, 1.0
STEP_S = 1.0
LEAST_S = 8.0
"""Shorter stretches have no two halves worth the name."""
LEAST_LPM, LEAST_KW = 1.0, 1.0
SENSOR_TAU_S = 4.0
"""Pocket Pt1000, as in the simulator's own transmitters."""


@dataclass(frozen=True, slots=True)
class Row:
    """One rack. ``why`` says why it was not judged; the numbers are then None.

    fraction     fitted liquid fraction;  fit_k, rms_k  RMS of first and second half, K;  bias_k  mean of the second half, K
    """

    rack: str
    why: str = ""
    seconds: float | None = None
    power_kw: float | None = None
    flow_lpm: float | None = None
    supply_c: float | None = None
    return_c: float | None = None
    fraction: float | None = None
    fit_k: float | None = None
    rms_k: float | None = None
    bias_k: float | None = None

    @property
    def ok(self) -> bool:
        return self.rms_k is not None and self.rms_k <= LIMIT_K

    def line(self) -> str:
        """The row as it is printed."""
        if self.why:
            return f"{self.rack:14} not judged: {self.why}"
        return (
            f"{self.rack:14} {self.power_kw:7.1f} {self.flow_lpm:8.1f} {self.supply_c:8.2f} {self.return_c:8.2f} {self.fraction:9.4f} "
            f"{self.fit_k:8.3f} {self.rms_k:9.3f} {'PASS' if self.ok else 'FAIL'}"
        )


HEAD = f"{'rack':14} {'kW':>7} {'L/min':>8} {'in °C':>8} {'out °C':>8} {'fraction':>9} {'fit K':>8} {'RMS K':>9}"


@dataclass(frozen=True, slots=True)
class Sample:
    """One second of a rack, readings held since they came."""

    power_kw: float
    flow_lpm: float
    supply_c: float
    return_c: float


def samples_of(rack: RecordedRack) -> list[Sample]:
    """The rack second by second from where all four readings are known to the last reading."""
    every = (rack.power_kw, rack.flow_lpm, rack.supply_c, rack.return_c)
    start_s, end_s = max(series[0][0] for series in every), max(series[-1][0] for series in every)
    out = []
    for i in range(int((end_s - start_s) / STEP_S) + 1):
        values = [held(series, start_s + i * STEP_S) for series in every]
        out.append(Sample(*(value for value in values if value is not None)))
    return out


def predict_c(name: str, samples: list[Sample], fraction: float) -> list[float]:
    """Return temperature that the simulator's rack model gives for what was recorded, as a sensor would show it.

    It starts where it would settle with the first seconds' readings: a stretch whose load stepped just before is predicted late by the
    rack's own time, about half a minute. Heat capacities are those of the simulator, scaled with the power (60 and 55 kJ/K at 132 kW).
    """
    first = samples[: max(1, round(5.0 / STEP_S))]
    rated_kw = max(sample.power_kw for sample in samples)
    config = replace(
        rack_config(name, rated_kw, first[0].power_kw),
        design_flow_lpm=fmean(sample.flow_lpm for sample in samples),
        solid_kj_k=55.0 * rated_kw / 132.0,
        coolant_kj_k=60.0 * rated_kw / 132.0,
        liquid_fraction=fraction,
    )
    rack = RackPlant(config, first[0].supply_c)
    rack.power.busbar_kw = fmean(sample.power_kw for sample in first)
    rack.flow_supply_lpm = rack.flow_return_lpm = fmean(sample.flow_lpm for sample in first)
    rack.settle(fmean(sample.supply_c for sample in first))
    shown, out = rack.t_return_c, []
    for sample in samples:
        out.append(shown)
        rack.power.busbar_kw = sample.power_kw
        rack.flow_supply_lpm = rack.flow_return_lpm = sample.flow_lpm
        rack.warm(sample.supply_c, STEP_S)
        shown = thermal.lag(shown, rack.t_return_c, STEP_S, SENSOR_TAU_S)
    return out


def fit(name: str, samples: list[Sample]) -> float:
    """The liquid fraction with the least squared error over ``samples``: the model is all but linear in it."""
    low, high = (predict_c(name, samples, fraction) for fraction in (LEAST_FRACTION, MOST_FRACTION))
    slopes = [b - a for a, b in zip(low, high, strict=True)]
    misses = [sample.return_c - a for sample, a in zip(samples, low, strict=True)]
    square = sum(slope * slope for slope in slopes)
    share = sum(slope * miss for slope, miss in zip(slopes, misses, strict=True)) / square
    return LEAST_FRACTION + (MOST_FRACTION - LEAST_FRACTION) * min(1.0, max(0.0, share))


def judge(rack: RecordedRack) -> Row:
    """Fit one rack on its first half and predict its second; a rack that cannot be judged says why."""
    kinds = {
        "power": rack.power_kw,
        "flow": rack.flow_lpm,
        "supply temperature": rack.supply_c,
        "return temperature": rack.return_c,
    }
    missing = [kind for kind, series in kinds.items() if not series]
    if missing:
        return Row(rack.name, f"no {', no '.join(missing)} in the recording")
    flow_lpm, power_kw = fmean(value for _, value in rack.flow_lpm), fmean(value for _, value in rack.power_kw)
    if flow_lpm < LEAST_LPM:
        return Row(rack.name, f"no flow ({flow_lpm:.1f} L/min)")
    if power_kw < LEAST_KW:
        return Row(rack.name, f"no load ({power_kw:.1f} kW)")
    samples = samples_of(rack)
    seconds = (len(samples) - 1) * STEP_S
    if seconds < LEAST_S:
        return Row(
            rack.name,
            f"power, flow and both temperatures are known together for {max(seconds, 0.0):.0f} s, less than {LEAST_S:.0f}",
        )
    half = len(samples) // 2
    fraction = fit(rack.name, samples[:half])
    misses = [a - sample.return_c for a, sample in zip(predict_c(rack.name, samples, fraction), samples, strict=True)]
    return Row(
        rack.name,
        "",
        seconds,
        fmean(sample.power_kw for sample in samples),
        fmean(sample.flow_lpm for sample in samples),
        fmean(sample.supply_c for sample in samples),
        fmean(sample.return_c for sample in samples),
        fraction,
        _rms(misses[:half]),
        _rms(misses[half:]),
        fmean(misses[half:]),
    )


def _rms(values: list[float]) -> float:
    return math.sqrt(fmean(value * value for value in values))


def energy_of(racks: list[RecordedRack]) -> PumpDay | None:
    """Pump energy of a day at the loads recorded with flow; None when no rack has any."""
    loads = [fmean(value for _, value in rack.power_kw) for rack in racks if rack.power_kw and rack.flow_lpm]
    return pump_day([loads]) if loads else None


def main(path: Path, *, json_output: bool = False, tell: Callable[[str], None] = print) -> int:
    """Judge a recording and tell a table, or one JSON document. Exit code: 0 all judged racks pass, 1 not, 2 no recording."""
    try:
        racks = load(path)
    except (OSError, RecordingError, UnicodeDecodeError) as fault:
        tell(json.dumps({"ok": False, "error": str(fault)}) if json_output else f"firmware-sim: {fault}")
        return 2
    rows = [judge(rack) for rack in racks]
    judged = [row for row in rows if not row.why]
    ok = bool(judged) and all(row.ok for row in judged)
    day = energy_of(racks)
    if json_output:
        document = {
            "file": str(path),
            "limit_k": LIMIT_K,
            "racks": [asdict(row) | {"ok": row.ok if not row.why else None} for row in rows],
            "energy": None if day is None else asdict(day) | {"saved_pct": day.saved_pct},
            "ok": ok,
        }
        tell(json.dumps(document))
    else:
        tell("\n".join([HEAD, *(row.line() for row in rows)]))
        worst = max((row.rms_k or 0.0 for row in judged), default=math.nan)
        tell(f"{len(judged)} racks judged, {sum(row.ok for row in judged)} within {LIMIT_K} K RMS, worst {worst:.3f} K")
        if day is not None:
            tell(day.line())
    return 0 if ok else 1
