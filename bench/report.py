"""A benchmark's report: what bench-report/1 says of every part alike. Each part brings its results and targets."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fieldkit.host import version

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "bench" / "report.json"


def document(
    part: str,
    *,
    quick: bool,
    seed: int,
    duration_s: float,
    results: Sequence[dict[str, Any]],
    targets: Sequence[dict[str, Any]],
    subjects: dict[str, str | None] | None = None,
    ratios: Sequence[dict[str, Any]] = (),
    ok: bool | None = None,
) -> dict[str, Any]:
    """Return the report. ``subjects`` is why of each contestant; ``ok`` is that of all targets unless given."""
    own = version()
    named = {"valvey": None} if subjects is None else subjects
    return {
        "schema": "bench-report/1",
        "simulated": True,
        "quick": quick,
        "part": part,
        "commit": commit(),
        "seed": seed,
        "duration_s": round(duration_s, 1),
        "machine": _machine(),
        "subjects": {name: {"version": own, "status": "ok", "why": why} for name, why in named.items()},
        "results": list(results),
        "ratios": list(ratios),
        "targets": list(targets),
        "ok": all(target["ok"] for target in targets) if ok is None else ok,
    }


def target(ident: str, op: str, limit: float, measured: float, **more: Any) -> dict[str, Any]:
    """One target; ``op`` is ``<=`` or ``>=``."""
    holds = measured <= limit if op == "<=" else measured >= limit
    return {"id": ident, "op": op, "limit": limit, "measured": measured, **more, "ok": holds}


def write(report: dict[str, Any], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def commit() -> str:
    """The short name of the checkout's commit; ``unknown`` without git."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, timeout=5, check=False
        )
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _machine() -> dict[str, Any]:
    cpu = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "unknown"
    )
    kib = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "ram_gib": round(kib / 2**20),
        "kernel": platform.release(),
        "python": sys.version.split()[0],
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
