"""The figures as bench-report/1 and as tables."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from bench import report
from bench.control.runs import SUBJECTS
from bench.control.series import FASTEST_RAMP_S, REFERENCE, Series

_STEP = {"plant": REFERENCE}
_RAMPS = tuple({"plant": REFERENCE, "step_pct": step_pct, "ramp_s": FASTEST_RAMP_S} for step_pct in (20.0, -20.0))
_WHY = {
    "valvey": None,
    "pi_fixed": "PI, 0.15 % per L/min, 4 s: set up for speed",
    "pi_scheduled": "the same, gain after the valve's slope",
    "pi_tuned": "PI, 0.15 % per L/min, 8 s: best of 20 pairs on this very step",
    "limit": "perfect knowledge, no noise, no dead band: what the motor allows",
}


def spread(runs: Sequence[float]) -> dict[str, float]:
    """Median, p90 and the greatest."""
    ordered = sorted(runs)
    p90 = ordered[math.ceil(0.9 * len(ordered)) - 1]
    return {"median": round(statistics.median(ordered), 3), "p90": round(p90, 3), "max": round(ordered[-1], 3)}


def document(results: Sequence[Series], *, quick: bool, seed: int, duration_s: float) -> dict[str, Any]:
    rows = [
        {"id": one.id, "subject": one.subject, "params": one.params, "metric": metric, "runs": [round(run, 4) for run in runs], **spread(runs)}
        for one in results
        for metric, runs in one.runs.items()
    ]  # fmt: skip
    targets = [
        _target("control.step.into_5pct_s", rows, ("control.step", _STEP, "into_s"), 15.0),
        _target("control.step.overshoot_pct", rows, ("control.step", _STEP, "overshoot_pct"), 4.0),
        _target("control.reversals.per_h", rows, ("control.reversals", _STEP, "reversals_per_h"), 50.0),
        *(
            _target(
                f"control.dp_step.{ramp['step_pct']:+.0f}pct.{metric}", rows, ("control.dp_step", ramp, metric), limit
            )
            for ramp in _RAMPS
            for metric, limit in (("worst_pct", 8.5), ("beyond_5pct_s", 1.0))
        ),
    ]
    return report.document(
        "control",
        quick=quick,
        seed=seed,
        duration_s=duration_s,
        results=rows,
        targets=targets,
        subjects={name: _WHY[name] for name in SUBJECTS},
        ratios=_ratios(rows),
    )


def _row(rows: Sequence[dict[str, Any]], subject: str, what: tuple[str, dict[str, Any], str]) -> dict[str, Any]:
    return next(row for row in rows if (row["subject"], row["id"], row["params"], row["metric"]) == (subject, *what))


def _target(
    name: str, rows: Sequence[dict[str, Any]], what: tuple[str, dict[str, Any], str], limit: float
) -> dict[str, Any]:
    row = _row(rows, "valvey", what)
    return report.target(name, "<=", limit, row["median"], p90=row["p90"])


def _ratios(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Time into the band against each other subject's, seed by seed, per plant."""
    out = []
    for row in rows:
        if row["metric"] != "into_s" or row["subject"] == "valvey":
            continue
        ours = _row(rows, "valvey", (row["id"], row["params"], "into_s"))["runs"]
        theirs = row["runs"] if row["subject"] != "limit" else row["runs"] * len(ours)
        pairs = [a / b for a, b in zip(ours, theirs, strict=True)]
        out.append({
            "id": row["id"], "metric": "into_s", "of": "valvey", "to": row["subject"], "params": row["params"], "pairs": len(pairs),
            "median": round(statistics.median(pairs), 3), "min": round(min(pairs), 3), "max": round(max(pairs), 3),
        })  # fmt: skip
    return out


def tables(found: dict[str, Any]) -> list[Table]:
    """Every figure, median / p90, subjects side by side."""
    out = []
    for name in ("control.step", "control.reversals", "control.dp_step", "control.energy"):
        rows = [row for row in found["results"] if row["id"] == name]
        subjects = [subject for subject in SUBJECTS if any(row["subject"] == subject for row in rows)]
        table = Table("case", "figure", *subjects, title=f"{name} (SIMULATED; median / p90)")
        cells: dict[tuple[str, str], dict[str, str]] = {}
        for row in rows:
            case = ", ".join(
                str(value) if isinstance(value, str) else f"{key} {value:+g}" for key, value in row["params"].items()
            )
            cells.setdefault((case, row["metric"]), {})[row["subject"]] = f"{row['median']:.1f} / {row['p90']:.1f}"
        for (case, metric), by_subject in cells.items():
            table.add_row(case, metric, *(by_subject.get(subject, "") for subject in subjects))
        out.append(table)
    claims = Table("target", "measured", "p90", "limit", "", title="targets")
    for target in found["targets"]:
        verdict = "holds" if target["ok"] else "FAILS"
        claims.add_row(
            target["id"],
            f"{target['measured']:.2f}",
            f"{target['p90']:.2f}",
            f"{target['op']} {target['limit']:g}",
            verdict,
        )
    return [*out, claims]
