"""How long from a leak to the write that acts on it: ``python -m bench.latency [--quick]``. Everything is SIMULATED."""

import argparse
import math
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.demands import FAST_SCAN_S, HOLD_S, LIMIT_MS, Demand, cases, round_of
from bench.demo.broker import start_broker
from bench.demo.processes import Children
from bench.report import OUT, document, target, write


def percentile(values: Sequence[float], share: float) -> float:
    """Nearest rank: the smallest value that at least ``share`` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one case; milliseconds, hold subtracted."""

    case: str
    demands: tuple[Demand, ...] = field(repr=False)

    @property
    def median(self) -> float:
        return percentile([one.latency_ms for one in self.demands], 0.5)

    @property
    def p99(self) -> float:
        return percentile([one.latency_ms for one in self.demands], 0.99)

    @property
    def p99_beyond_machine(self) -> float:
        return percentile([one.beyond_machine_ms for one in self.demands], 0.99)

    @property
    def slowest(self) -> Demand:
        return max(self.demands, key=lambda one: one.latency_ms)

    @property
    def first(self) -> "Figures":
        """Of the first demands after a start only."""
        return Figures(f"{self.case}, first after start", tuple(one for one in self.demands if one.first))

    def text(self) -> str:
        slowest = self.slowest
        return (
            f"{self.case:34} {len(self.demands):4} demands  median {self.median:6.2f}  p99 {self.p99:6.2f}  "
            f"max {slowest.latency_ms:6.2f} ms  ({slowest.rack} {slowest.write}: {slowest.cause()})"
        )

    def document(self) -> dict[str, Any]:
        values = [one.latency_ms for one in self.demands]
        return {
            "id": "leak_to_write",
            "subject": "valvey",
            "params": {"case": self.case, "hold_s": HOLD_S, "fast_s": FAST_SCAN_S, "demands": len(values)},
            "metric": "ms",
            "runs": [round(value, 3) for value in values],
            "median": round(self.median, 3),
            "p50": round(self.median, 3),
            "p99": round(self.p99, 3),
            "p999": round(percentile(values, 0.999), 3),
            "max": round(max(values), 3),
            "max_cause": self.slowest.cause(),
            "p99_beyond_machine": round(self.p99_beyond_machine, 3),
        }


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.latency", description="Leak → write. Everything is SIMULATED."
    )
    parser.add_argument(
        "--quick", action="store_true", help="12 demands a case instead of 200 quiet and 48 of the others"
    )
    parser.add_argument("--racks", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    chance, begun_s, found = random.Random(given.seed), time.monotonic(), list[Figures]()
    with tempfile.TemporaryDirectory(prefix="latency-") as name, ExitStack() as stack:
        folder = Path(name)
        children = Children(folder / "logs")
        stack.callback(children.stop)
        broker = start_broker(children, folder, None)
        for case in cases(children.pid(broker.kind), folder):
            wanted = 2 * given.racks if given.quick else 200 if case.name == "quiet" else 48
            demands: list[Demand] = []
            while len(demands) < wanted:
                place = folder / f"{case.name}-{len(demands)}".replace(" ", "-")
                demands += round_of(case, place, given.racks, chance, broker=(broker.host, broker.port))
            found.append(Figures(case.name, tuple(demands[:wanted])))
            print(found[-1].text(), flush=True)
    found.append(found[0].first)
    print(found[-1].text())
    report = _report(found, given, time.monotonic() - begun_s)
    write(report, given.out)
    print(f"p99 <= {LIMIT_MS:g} ms: {'holds' if report['ok'] else 'FAILS'}; see {given.out}")
    return 0 if report["ok"] else 1


def _report(found: Sequence[Figures], given: argparse.Namespace, duration_s: float) -> dict[str, Any]:
    return document(
        "latency",
        quick=given.quick,
        seed=given.seed,
        duration_s=duration_s,
        results=[one.document() for one in found],
        targets=[target(one.case, "<=", LIMIT_MS, round(one.p99, 3)) for one in found],
    )


if __name__ == "__main__":
    sys.exit(main())
