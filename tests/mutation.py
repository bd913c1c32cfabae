"""Break a package in many small ways; every one must fail a test. `make mutation` runs it over valvey/core.

First the tests run once, whole, with a record of which test touches which line. Then a forked worker per mutant
imports the changed module from memory and runs only the tests that touch the changed line, those first that killed
a mutant before, and stops at the first failure. A line that runs at import (a table) concerns every test.

A mutant that no test could ever tell from the original is listed in tests/mutation_equivalent.yaml with its reason;
an entry that names nothing, or that a test does kill, is an error.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import yaml

from tests.mutants import Mutant, code_lines, mutants_of
from tests.mutation_workers import Baseline, baseline, run_mutant, start

MIN_PER_100_LINES = 25.0
MAX_EQUIVALENT = 0.03
_PASSED = {int(pytest.ExitCode.OK), int(pytest.ExitCode.NO_TESTS_COLLECTED)}


@dataclass
class Tally:
    """Outcomes by mutant id, and which tests have killed before."""

    outcome: dict[str, str] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)

    def of(self, outcome: str) -> list[str]:
        return [mutant for mutant, what in self.outcome.items() if what == outcome]


@dataclass
class _Job:
    mutant: Mutant
    order: Sequence[str]
    process: BaseProcess
    answer: Connection
    until_s: float


class Hunt:
    """Try mutants in ``workers`` processes at a time.

    What survives the tests that touch its line gets all tests that touch the package: what a shared fixture or a
    cache computed once was recorded for one test only.
    """

    def __init__(self, sources: Mapping[str, str], base: Baseline, workers: int) -> None:
        self.sources, self.base, self.workers = sources, base, workers
        self.limit_s = 20.0 + 5.0 * sum(base.took_s.values())
        self.tally = Tally()

    def run(self, mutants: Iterable[Mutant]) -> Tally:
        running: list[_Job] = []
        for mutant in mutants:
            running.append(self._job(mutant, self.base.tests_for(mutant)))
            while len(running) >= self.workers:
                running = self._collect(running)
        while running:
            running = self._collect(running)
        return self.tally

    def _job(self, mutant: Mutant, tests: Collection[str]) -> _Job:
        everything = tests or self.base.took_s
        order = sorted(everything, key=lambda test: (-self.tally.kills[test], self.base.took_s[test], test))
        name = mutant.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        process, answer = start(run_mutant, name, mutant, self.sources[mutant.path], order)
        return _Job(mutant, order, process, answer, time.monotonic() + self.limit_s)

    def _collect(self, running: list[_Job]) -> list[_Job]:
        """Wait until one ends or is too late; return those that go on."""
        first_s = min(job.until_s for job in running)
        wait([job.process.sentinel for job in running], max(0.0, first_s - time.monotonic()))
        return [next_job for job in running if (next_job := self._next(job)) is not None]

    def _next(self, job: _Job) -> _Job | None:
        """The job itself while it runs, a second one when it needs all tests, None when it is done."""
        if job.process.is_alive():
            if time.monotonic() < job.until_s:
                return job
            job.process.kill()
            job.process.join()
            self._note(job.mutant, "timeout", "")
            return None
        job.process.join()
        try:
            code, failed = job.answer.recv()
        except EOFError:  # the mutant ended the interpreter
            code, failed = int(pytest.ExitCode.INTERRUPTED), ""
        if code not in _PASSED:
            self._note(job.mutant, "killed", failed)
            return None
        if len(job.order) < len(self.base.took_s):
            return self._job(job.mutant, self.base.took_s)
        self._note(job.mutant, "survived", "")
        return None

    def _note(self, mutant: Mutant, outcome: str, killer: str) -> None:
        self.tally.outcome[mutant.id] = outcome
        self.tally.kills[killer] += 1
        if outcome != "killed":
            print(f"{outcome}: {mutant.id}  ({mutant.path}:{mutant.line})", flush=True)


def read_equivalents(file: Path) -> dict[str, str]:
    """Reasons by mutant id; raise SystemExit for an entry without one."""
    rows = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else None
    reasons = {row["id"]: str(row.get("reason") or "").strip() for row in rows or []}
    if bare := [mutant for mutant, reason in reasons.items() if len(reason.split()) < 3]:
        raise SystemExit(f"mutation: {file}: no reason is given for {', '.join(bare)}")
    return reasons


def report_of(tally: Tally, reasons: Mapping[str, str], total: int, lines: int) -> dict[str, object]:
    equivalent = [{"id": mutant, "reason": reason} for mutant, reason in reasons.items()]
    survivors = [mutant for mutant in tally.of("survived") if mutant not in reasons]
    return {
        "mutants": total,
        "tried": len(tally.outcome),
        "killed": len(tally.of("killed")),
        "survived": len(survivors),
        "timeout": len(tally.of("timeout")),
        "equivalent": equivalent,
        "code_lines": lines,
        "survivors": survivors,
    }


def complaints(tally: Tally, reasons: Mapping[str, str], known: Collection[str], lines: int) -> list[str]:
    """Everything that makes the run a failure, in sentences."""
    out = [f"no test tells {mutant} from the original" for mutant in tally.of("survived") if mutant not in reasons]
    out += [f"{mutant} is listed as equivalent and does not exist" for mutant in reasons if mutant not in known]
    killed = {*tally.of("killed"), *tally.of("timeout")}
    out += [f"{mutant} is listed as equivalent, but a test tells it apart" for mutant in reasons if mutant in killed]
    if len(known) * 100.0 < MIN_PER_100_LINES * lines:
        out.append(f"{len(known)} mutants in {lines} code lines are fewer than {MIN_PER_100_LINES:.0f} per 100")
    if len(reasons) > MAX_EQUIVALENT * len(known):
        out.append(f"{len(reasons)} equivalents of {len(known)} mutants are more than {MAX_EQUIVALENT:.0%}")
    return out


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--package", type=Path, default=Path("valvey/core"))
    parser.add_argument("--tests", nargs="+", default=["tests", "--ignore=tests/wire", "-m", "not long"])
    parser.add_argument("--only", default="", help="mutants whose id contains this")
    parser.add_argument("--sample", type=int, default=0, help="try this many, chosen by --seed; 0 = all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--equivalents", type=Path, default=Path("tests/mutation_equivalent.yaml"))
    parser.add_argument("--report", type=Path, default=Path("build/mutation/report.json"))
    args = parser.parse_args(argv)
    began_s = time.monotonic()

    sources = {str(path): path.read_text(encoding="utf-8") for path in sorted(args.package.rglob("*.py"))}
    mutants = [mutant for path, source in sources.items() for mutant in mutants_of(source, path)]
    lines = sum(code_lines(source) for source in sources.values())
    reasons = read_equivalents(args.equivalents)
    chosen = [mutant for mutant in mutants if args.only in mutant.id]
    random.Random(args.seed).shuffle(chosen)  # over all modules, so that early kills teach
    if args.sample:
        chosen = chosen[: args.sample]
    print(f"{len(mutants)} mutants in {lines} code lines of {args.package}, {len(chosen)} to try", flush=True)

    hunt = Hunt(sources, baseline(args.package, args.tests), args.workers)
    tally = hunt.run(chosen)
    report = report_of(tally, reasons, len(mutants), lines)
    args.report.parent.mkdir(parents=True, exist_ok=True)
    args.report.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    found = complaints(tally, reasons, {mutant.id for mutant in mutants}, lines)
    print("\n".join(found))
    counted = ", ".join(f"{report[key]} {key}" for key in ("tried", "killed", "survived", "timeout"))
    print(f"{counted}, {len(reasons)} equivalent, in {time.monotonic() - began_s:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
