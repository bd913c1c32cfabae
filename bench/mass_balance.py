"""How often the statistical mass balance cries wolf, and how soon it finds a leak.

    python -m bench.mass_balance [--quick] [--rack-days 25600] [--noise reading|second|shipped] [--seed 1] [--json] [--out FILE]

Runs `valvey.core.mass_balance.tick`, the function that runs in every rack, over racks at work: training jobs that switch
their load every 1 to 30 s, level changes, flow that follows, header pressure that moves, partial strokes of the isolation
valves, isolations, bubbles in the meters, meters that drift. With numpy it steps thousands of racks at once; without, one.
Beside it runs the exponential mean with 5.5 sigmas (weight 0.1, one sample a second) that it replaces, on the same samples.
"""

import argparse
import json
import math
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench.mass_balance_plant import DAY_S, Backend, One, Racks, backend_for, np
from bench.report import OUT, document, target, write
from fieldkit.coolant import density_kg_m3
from valvey.core import mass_balance
from valvey.core.mass_balance import Balance

#: One sigma of a meter's one-second mean, share of the flow.
NOISE = {
    "reading": 0.005 / math.sqrt(5.0),  # 0.5 % a reading, five readings a second (the normal lane)
    "second": 0.005,  # 0.5 % left in the mean of a second: what the exponential mean was laid out for
    "shipped": 0.0025 / math.sqrt(5.0),  # what firmware_sim's transmitters have at 200 L/min
}
YEAR_DAYS = 365.25
MOST_FOUND_S = 20.0
PART_DAYS = 3200.0
"""Rack-days of one part: each has racks of its own, and tells when it is done."""
EWMA_WEIGHT, EWMA_SIGMAS = 0.1, 5.5


def fresh(backend: Backend) -> Balance:
    """The state of a rack that was never looked at, for every rack of the backend."""
    full, start = backend.full, Balance()
    no = full(0.0) > 1.0
    return Balance(
        window=tuple(full(0.0) for _ in start.window),
        long_sum=full(0.0), short_sum=full(0.0), zero=full(0.0), variance=full(start.variance), learned_s=full(0.0), settled_s=full(0.0),
        supply_lpm=full(0.0), return_lpm=full(0.0), return_c=full(0.0), load_5=full(0.0), load_30=full(0.0), excess_lpm=full(0.0), leaking=no, reversed=no,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quiet:
    """False alarms of racks without a leak. ``judged`` is the share of the time in which a leak could have been found."""

    rack_days: float
    alarms: int
    baseline_alarms: int
    judged: float

    def plus(self, other: "Quiet") -> "Quiet":
        days = self.rack_days + other.rack_days
        judged = (self.judged * self.rack_days + other.judged * other.rack_days) / days
        return Quiet(days, self.alarms + other.alarms, self.baseline_alarms + other.baseline_alarms, judged)


def false_alarms(rack_days: float, noise: float, seed: int, racks: int = 1000) -> Quiet:
    """Run racks without a leak and count the alarms that begin."""
    b = backend_for(racks, seed)
    racks = 1 if isinstance(b, One) else racks
    plant, balance = Racks(b, noise), fresh(b)
    seconds = math.ceil(rack_days * DAY_S / racks)
    alarms = baseline_alarms = judged = 0
    ewma, standing, where = b.full(0.0), b.full(0.0) > 1.0, b.ops.where
    limit = EWMA_SIGMAS * math.sqrt(2.0) * noise * math.sqrt(EWMA_WEIGHT / (2.0 - EWMA_WEIGHT))
    for _ in range(seconds):
        before = balance
        balance = mass_balance.tick(before, plant.second(), b.ops)
        alarms += b.count(balance.leaking & (before.leaking == False))  # ruff: ignore[true-false-comparison] - `not` takes no array
        usable = (balance.settled_s >= mass_balance.LONG_S) & (balance.learned_s >= mass_balance.WARM_UP_S)
        judged += b.count(usable)
        ewma = where(usable, ewma + EWMA_WEIGHT * (balance.window[0] - balance.zero - ewma), 0.0)
        over = ewma > limit
        baseline_alarms += b.count(over & (standing == False))  # ruff: ignore[true-false-comparison]
        standing = over | (standing & (ewma > 0.5 * limit))
    return Quiet(seconds * racks / DAY_S, alarms, baseline_alarms, judged / (seconds * racks))


def found_after_s(
    leaks: int, noise: float, seed: int, leak_lpm: float = 2.0, racks: int = 1000, most_s: int = 120
) -> list[float]:
    """Seconds from a leak's beginning, somewhere within a second, to its alarm at 200 L/min; ``most_s`` when it was not found."""
    out: list[float] = []
    while len(out) < leaks:
        b = backend_for(min(racks, leaks), seed + len(out))
        plant = Racks(b, noise, restless=False)
        balance = replace(fresh(b), learned_s=b.full(mass_balance.ZERO_S), supply_lpm=b.full(200.0), return_lpm=b.full(200.0), return_c=b.full(50.0),
                          load_5=b.full(1.0), load_30=b.full(1.0), zero=_true_zero(plant),
                          variance=b.full(2.0 * noise**2 / mass_balance.LONG_S))  # fmt: skip
        for _ in range(120):
            balance = mass_balance.tick(balance, plant.second(), b.ops)
        start = b.uniform(0.0, 1.0)
        found_s = b.full(float(most_s))
        for second in range(1, most_s + 1):
            balance = mass_balance.tick(balance, plant.second(leak_lpm * (1.0 - start if second == 1 else 1.0)), b.ops)
            found_s = b.ops.where(balance.leaking, b.ops.minimum(found_s, second - start), found_s)
        out += [float(found_s)] if isinstance(b, One) else [float(one) for one in found_s]
    return sorted(out[:leaks])


def _true_zero(plant: Racks) -> Any:
    """What a rack would have learned in hours at 200 L/min, to within its noise."""
    slope = (0.317671 + 2.0 * 0.00253732 * 50.0) / density_kg_m3(50.0)
    return plant.gain[0] - plant.gain[1] + (plant.offset[0] - plant.offset[1]) / 200.0 + slope * plant.bias_k


def upper_95(events: int) -> float:
    """The greatest mean of a Poisson count that makes ``events`` or fewer at least 5 % likely."""
    low, high = 0.0, 10.0 + 3.0 * events
    for _ in range(100):
        mean = 0.5 * (low + high)
        term = total = math.exp(-mean)
        for k in range(1, events + 1):
            term *= mean / k
            total += term
        low, high = (mean, high) if total > 0.05 else (low, mean)
    return high


def report(quiet: Quiet, found_s: list[float], noise: float) -> dict[str, Any]:
    """The figures, and whether they are what is asked for."""
    years = quiet.rack_days / YEAR_DAYS
    bound = upper_95(quiet.alarms) / years
    median = found_s[len(found_s) // 2]
    return {
        "simulated": True, "noise_share_of_a_second": noise, **asdict(quiet), "rack_years": years,
        "alarms_per_20_rack_years_at_95": 20.0 * bound, "rack_years_per_alarm_at_95": 1.0 / bound,
        "leaks": len(found_s), "found_s_median": median, "found_s_p90": found_s[len(found_s) * 9 // 10],
        "ok": 20.0 * bound <= 1.0 and median <= MOST_FOUND_S,
    }  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Entry point; exit code 1 when the figures are not what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.mass_balance", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rack-days", type=float, default=25_600.0)
    parser.add_argument(
        "--quick", action="store_true", help="a rack-day and 100 leaks: shows that it runs, proves no rate"
    )
    parser.add_argument("--noise", choices=NOISE, default="reading")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--racks", type=int, default=4000, help="stepped at once")
    parser.add_argument("--leaks", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT, help="bench-report/1")
    options = parser.parse_args(argv)
    if options.quick:
        options.rack_days, options.leaks, options.racks, options.processes = 1.0, 100, 100, 1
    noise, parts = NOISE[options.noise], max(1, math.ceil(options.rack_days / PART_DAYS))
    if np is None:
        sys.stderr.write("numpy is not there: one rack at a time, about 10 s a rack-day\n")
    start_s, quiet = time.monotonic(), None
    with ProcessPoolExecutor(options.processes) as pool:
        runs = [
            pool.submit(false_alarms, options.rack_days / parts, noise, options.seed * 1000 + i, options.racks)
            for i in range(parts)
        ]
        for run in runs:
            quiet = run.result() if quiet is None else quiet.plus(run.result())
            if parts > 1:
                sys.stderr.write(f"{quiet.rack_days:.0f} rack-days, {quiet.alarms} alarms\n")
    assert quiet is not None
    figures = report(quiet, found_after_s(options.leaks, noise, options.seed), noise)
    figures["took_s"] = round(time.monotonic() - start_s, 1)
    print(json.dumps(figures) if options.json else "\n".join(f"{key:32} {value}" for key, value in figures.items()))
    written = as_document(figures, quick=options.quick, seed=options.seed)
    write(written, options.out)
    return 0 if written["ok"] else 1


def as_document(figures: dict[str, Any], *, quick: bool, seed: int) -> dict[str, Any]:
    """The figures as bench-report/1. A quick run proves no rate: there only that nothing cried wolf is asked."""
    params = {"noise_share_of_a_second": figures["noise_share_of_a_second"], "rack_days": figures["rack_days"]}
    kinds = (
        ("mass_balance.false_alarms", "valvey", "alarms", figures["alarms"]),
        ("mass_balance.false_alarms", "ewma", "alarms", figures["baseline_alarms"]),
        ("mass_balance.judged", "valvey", "share", figures["judged"]),
        ("mass_balance.found", "valvey", "s", figures["found_s_median"]),
        ("mass_balance.found_p90", "valvey", "s", figures["found_s_p90"]),
    )
    results = [
        {"id": ident, "subject": who, "params": params, "metric": metric, "runs": [value], "median": value}
        for ident, who, metric, value in kinds
    ]
    rate = ("mass_balance.alarms_quick", 0.0, figures["alarms"])
    if not quick:
        rate = ("mass_balance.alarms_per_20_rack_years_at_95", 1.0, figures["alarms_per_20_rack_years_at_95"])
    return document(
        "mass_balance",
        quick=quick,
        seed=seed,
        duration_s=figures["took_s"],
        results=results,
        targets=[
            target(rate[0], "<=", rate[1], rate[2]),
            target("mass_balance.found_s_median", "<=", MOST_FOUND_S, figures["found_s_median"]),
        ],
        subjects={"valvey": None, "ewma": f"weight {EWMA_WEIGHT:g}, {EWMA_SIGMAS:g} sigmas, on the same samples"},
    )


if __name__ == "__main__":
    sys.exit(main())
