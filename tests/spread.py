"""Run pytest in one process per core, each with test files of its own: `make unit`, `make test`, `make coverage`.

Most tests here take about a millisecond. A master that every report passes through, with workers that each collect
every file (pytest-xdist), would cost more than the tests do. Files are dealt out by what they took the last time, by
their size where that is not known.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.parts import PARTS

ROOT = Path(__file__).resolve().parent.parent
TOOK = ROOT / "build" / "test" / "took_s.json"
COVERAGE = ROOT / "build" / "test" / "coverage"
BYTES_PER_S = 20_000.0
"""What a test file takes that never ran here, by its length: about what ours take."""
ON_SOCKETS = ("wire", "hil")
_FORK = multiprocessing.get_context("fork")


class Heard:
    """Collects what a process has to report: seconds by file, and how many tests ended how."""

    def __init__(self) -> None:
        self.took_s: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took_s[report.nodeid.split("::")[0]] += report.duration  # type: ignore[assignment]
        if report.when == "call" or not report.passed:
            self.ended["error" if report.failed and report.when != "call" else report.outcome] += 1


def files(tests: Path, *, parts: bool) -> list[Path]:
    """Every test file but those on sockets, and without ``parts`` but those that take seconds."""
    found = (path for path in sorted(tests.rglob("test_*.py")) if path.relative_to(tests).parts[0] not in ON_SOCKETS)
    return [path for path in found if parts or path.relative_to(tests).as_posix() not in PARTS]


def deal(costs_s: Mapping[str, float], hands: int) -> list[list[str]]:
    """Deal the files out so that no hand lasts much longer than another: the dearest first, to whom has least."""
    out: list[list[str]] = [[] for _ in range(hands)]
    held_s = [0.0] * hands
    for name in sorted(costs_s, key=lambda name: (-costs_s[name], name)):
        least = held_s.index(min(held_s))
        out[least].append(name)
        held_s[least] += costs_s[name]
    return [sorted(hand) for hand in out if hand]


def summary(ended: Mapping[str, int], took_s: float) -> str:
    """Return one closing line like pytest's own."""
    words = ", ".join(f"{count} {how}" for how, count in sorted(ended.items()))
    return f" {words or 'no tests ran'} in {took_s:.2f}s ".center(100, "=")


def _costs_s(paths: Iterable[Path]) -> dict[str, float]:
    known: dict[str, float] = json.loads(TOOK.read_text(encoding="utf-8")) if TOOK.exists() else {}
    names = {path.relative_to(ROOT).as_posix(): path.stat().st_size / BYTES_PER_S for path in paths}
    return {name: known.get(name, guess_s) + 0.02 for name, guess_s in names.items()}


def _run(hand: Sequence[str], arguments: Sequence[str], output: int, coverage: str, answer: Connection) -> None:
    """In a process of its own: run pytest over these files; send (exit code, seconds by file, counts by outcome)."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ["COVERAGE_FILE"] = coverage
    heard = Heard()
    code = pytest.main([*hand, "-q", "-p", "no:xdist", *arguments], plugins=[heard])
    answer.send((int(code), dict(heard.took_s), dict(heard.ended)))


def run(hands: Sequence[Sequence[str]], arguments: Sequence[str]) -> tuple[bool, Counter[str], dict[str, float]]:
    """Run all hands at once, each one's output printed when it ends; return (all passed, counts, seconds by file)."""
    ended: Counter[str] = Counter()
    took_s: dict[str, float] = {}
    codes = []
    with ExitStack() as stack:
        jobs = []
        for number, hand in enumerate(hands):
            output = stack.enter_context(tempfile.TemporaryFile("w+b"))
            here, there = _FORK.Pipe(duplex=False)
            process = _FORK.Process(target=_run, args=(hand, arguments, output.fileno(), f"{COVERAGE}.{number}", there))
            process.start()
            there.close()
            jobs.append((process, here, output))
        for process, here, output in jobs:
            try:
                code, seconds, counts = here.recv()
            except EOFError:  # the process died without an answer
                code, seconds, counts = int(pytest.ExitCode.INTERNAL_ERROR), {}, {"died": 1}
            process.join()
            output.seek(0)
            print(output.read().decode(errors="replace"), flush=True)
            codes.append(code)
            took_s |= seconds
            ended.update(counts)
    nothing_wrong = {int(pytest.ExitCode.OK), int(pytest.ExitCode.NO_TESTS_COLLECTED)}
    return set(codes) <= nothing_wrong and pytest.ExitCode.OK in codes, ended, took_s


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--parts", action="store_true", help="the files that take seconds as well")
    parser.add_argument(
        "--coverage", action="store_true", help="measure coverage; fails under what pyproject.toml asks"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    args, arguments = parser.parse_known_args(argv)
    began_s = time.monotonic()
    COVERAGE.parent.mkdir(parents=True, exist_ok=True)
    for old in COVERAGE.parent.glob("coverage.*"):
        old.unlink()
    measuring = ["--cov", "--cov-report=", "--cov-fail-under=0"] if args.coverage else ["-p", "no:pytest_cov"]
    hands = deal(_costs_s(files(ROOT / "tests", parts=args.parts)), args.processes)
    good, ended, took_s = run(hands, ["-m", "not long", *measuring, *arguments])
    known = json.loads(TOOK.read_text(encoding="utf-8")) if TOOK.exists() else {}
    TOOK.write_text(json.dumps(known | took_s, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if args.coverage:
        tool = [sys.executable, "-m", "coverage"]
        subprocess.run([*tool, "combine", "-q", *map(str, COVERAGE.parent.glob("coverage.*"))], check=True)
        good &= subprocess.run([*tool, "report"], check=False).returncode == 0
    print(summary(ended, time.monotonic() - began_s), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
