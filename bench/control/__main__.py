"""`python -m bench.control`: flow control beside plain PI loops, figures into build/bench/report.json."""

import argparse
import sys
import time
from pathlib import Path

from rich.console import Console

from bench.control.report import document, tables
from bench.control.series import run_all
from bench.report import OUT, write


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 seeds and 2 h instead of 100 and a day")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    began_s = time.monotonic()
    results = run_all(quick=args.quick, first_seed=args.seed, workers=args.workers)
    report = document(results, quick=args.quick, seed=args.seed, duration_s=time.monotonic() - began_s)
    write(report, args.out)
    console = Console(width=None if sys.stdout.isatty() else 150)
    for table in tables(report):
        console.print(table)
    console.print(
        f"{args.out}: {'every target holds' if report['ok'] else 'NOT every target holds'}, {report['duration_s']:.0f} s"
    )
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
