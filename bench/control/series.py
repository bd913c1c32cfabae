"""Which scenarios run with which seeds and subjects, spread over processes."""

from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from bench.control.energy import DAYS, day_run
from bench.control.plant import Branch
from bench.control.runs import SUBJECTS, dp_run, step_run
from valvey.core.flow_state import Tuning

REFERENCE = "reference"
"""90 s stroke, 1 % dead band, 2 s meter, 1 s dead time of the meter, 0.5 % noise; the demo's 132 kW rack at 200 kPa."""
FASTEST_RAMP_S = 3.0
"""No header moves faster: drives of pumps ramp in 3 s and more, isolation valves take 2.5 to 5 s (PLANT.md)."""

_B, _T = Branch(), Tuning()
# fmt: off
PLANTS: dict[str, tuple[Branch, Tuning]] = {
    REFERENCE:                                  (_B,                                                          _T),
    "dead time before the motor":               (replace(_B, meter_dead_s=0.0, command_dead_s=1.0),           _T),
    "rangeability 30, known":                   (replace(_B, rangeability=30.0),                              replace(_T, rangeability=30.0)),
    "rangeability 30, taken for 50":            (replace(_B, rangeability=30.0),                              _T),
    "Kv_rest 17, Kvs 50":                       (replace(_B, kv_rest=17.0, kvs=50.0),                         replace(_T, kv_rest_m3_h=17.0, kvs_m3_h=50.0)),
    "header 300 kPa":                           (replace(_B, header_kpa=300.0),                               _T),
    "stroke 35 s":                              (replace(_B, stroke_s=35.0),                                  replace(_T, stroke_s=35.0)),
    "stroke 150 s":                             (replace(_B, stroke_s=150.0),                                 replace(_T, stroke_s=150.0)),
    "meter 0.5 s, no dead time":                (replace(_B, meter_s=0.5, meter_dead_s=0.0),                  _T),
    "feedback in steps of 0.5 %":               (replace(_B, feedback_step=0.005),                            _T),
}
# fmt: on


@dataclass(slots=True)
class Series:
    """All runs of one subject in one scenario."""

    id: str
    subject: str
    params: dict[str, Any]
    runs: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True, slots=True)
class _Job:
    id: str
    subject: str
    params: tuple[tuple[str, Any], ...]
    seed: int


def _run(job: _Job) -> dict[str, float]:
    params = dict(job.params)
    if job.id == "control.energy":
        day = next(day for day in DAYS if day.name == params["day"])
        return day_run(day, job.seed, params["hours"], reset=params["header"] == "reset")
    branch, tuning = PLANTS[params["plant"]]
    if job.id == "control.step":
        return step_run(job.subject, branch, tuning, job.seed)
    return dp_run(job.subject, branch, tuning, job.seed, params["step_pct"] / 100.0, params["ramp_s"])


def _jobs(quick: bool, first: int) -> Iterator[_Job]:
    many, few = (20, 3) if quick else (100, 20)
    for plant in PLANTS:
        for subject in SUBJECTS:
            seeds = 1 if subject == "limit" else many if plant == REFERENCE else few
            for seed in range(first, first + seeds):
                yield _Job("control.step", subject, (("plant", plant),), seed)
    for plant in (REFERENCE, "dead time before the motor"):
        for ramp_s in (FASTEST_RAMP_S, 0.0):
            for subject in SUBJECTS:
                seeds = 1 if subject == "limit" else many if plant == REFERENCE else few
                for seed in range(first, first + seeds):
                    for step_pct in (20.0, -20.0):
                        yield _Job(
                            "control.dp_step",
                            subject,
                            (("plant", plant), ("step_pct", step_pct), ("ramp_s", ramp_s)),
                            seed,
                        )
    for day in DAYS:
        for header in ("fixed", "reset"):
            yield _Job(
                "control.energy",
                "valvey",
                (("day", day.name), ("header", header), ("hours", 2.0 if quick else 24.0)),
                first,
            )


def run_all(*, quick: bool, first_seed: int, workers: int) -> list[Series]:
    """Run everything; the result does not depend on ``workers``."""
    out: dict[tuple[Any, ...], Series] = {}
    jobs = list(_jobs(quick, first_seed))
    with ProcessPoolExecutor(workers) as pool:
        order = sorted(jobs, key=lambda job: job.id != "control.energy")  # the long ones first
        done = dict(zip(order, pool.map(_run, order, chunksize=4), strict=True))
    for job in jobs:
        key = (job.id, job.subject, job.params)
        one = out.setdefault(key, Series(job.id, job.subject, dict(job.params)))
        for metric, value in done[job].items():
            if metric == "reversals_per_h":
                other = out.setdefault(
                    ("control.reversals", *key), Series("control.reversals", job.subject, dict(job.params))
                )
                other.runs[metric].append(value)
            else:
                one.runs[metric].append(value)
    return list(out.values())
