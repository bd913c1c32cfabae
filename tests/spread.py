"""Run pytest in one process per core: `make unit`, `make test`, `make coverage`, `make wire`.

Most tests here take about a millisecond. A master that every report passes through, with workers that each collect
every file (pytest-xdist), would cost more than the tests do. Files are dealt out by what they took the last time, by
their size where that is not known.

Tests on sockets mostly wait. There each process has collected every file and takes the next one when it is free; what
measures milliseconds, or starves others with processes in real time, runs alone afterwards (``ALONE``).
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
from contextlib import AbstractContextManager, ExitStack
from itertools import groupby, pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

import pytest

from tests.parts import ALONE, PARTS

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
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


class Counting(Protocol):
    """A number that processes share, as ``multiprocessing.Value`` makes one."""

    value: int

    def get_lock(self) -> AbstractContextManager[bool]: ...


class Turns:
    """Lets processes that collected the same files take them one by one; ``taken`` counts, ``tell`` is told each file's end."""

    def __init__(self, taken: Counting, heard: Heard, tell: int) -> None:
        self.taken, self.heard, self.tell = taken, heard, tell

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly:
            return None  # pytest's own loop knows what to do with files that cannot be imported
        files = [list(items) for _, items in groupby(session.items, key=lambda item: item.path)]
        while (number := self._next()) < len(files):
            before, began_s = self.heard.ended.copy(), time.monotonic()
            for item, following in pairwise([*files[number], None]):
                assert item is not None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
            name = files[number][0].nodeid.split("::")[0]
            line = f"{name}: {words(self.heard.ended - before)} in {time.monotonic() - began_s:.1f} s\n"
            os.write(self.tell, line.encode())
        return True

    def _next(self) -> int:
        with self.taken.get_lock():
            self.taken.value += 1
            return self.taken.value - 1


def files(tests: Path, *, parts: bool) -> list[Path]:
    """Every test file but those on sockets, and without ``parts`` but those that take seconds."""
    found = (path for path in sorted(tests.rglob("test_*.py")) if path.relative_to(tests).parts[0] not in ON_SOCKETS)
    return [path for path in found if parts or path.relative_to(tests).as_posix() not in PARTS]


def files_on_wires(tests: Path) -> tuple[list[Path], list[Path]]:
    """The test files on sockets: those that bear company, and those that run alone."""
    together: list[Path] = []
    alone: list[Path] = []
    for path in sorted((tests / "wire").rglob("test_*.py")):
        (alone if path.relative_to(tests).as_posix() in ALONE else together).append(path)
    return together, alone


def deal(costs_s: Mapping[str, float], hands: int) -> list[list[str]]:
    """Deal the files out so that no hand lasts much longer than another: the dearest first, to whom has least."""
    out: list[list[str]] = [[] for _ in range(hands)]
    held_s = [0.0] * hands
    for name in sorted(costs_s, key=lambda name: (-costs_s[name], name)):
        least = held_s.index(min(held_s))
        out[least].append(name)
        held_s[least] += costs_s[name]
    return [sorted(hand) for hand in out if hand]


def words(ended: Mapping[str, int]) -> str:
    """Say how many tests ended how."""
    return ", ".join(f"{count} {how}" for how, count in sorted(ended.items())) or "no tests ran"


def summary(ended: Mapping[str, int], took_s: float) -> str:
    """Return one closing line like pytest's own."""
    return f" {words(ended)} in {took_s:.2f}s ".center(100, "=")


def _costs_s(paths: Iterable[Path]) -> dict[str, float]:
    known: dict[str, float] = json.loads(TOOK.read_text(encoding="utf-8")) if TOOK.exists() else {}
    names = {path.relative_to(ROOT).as_posix(): path.stat().st_size / BYTES_PER_S for path in paths}
    return {name: known.get(name, guess_s) + 0.02 for name, guess_s in names.items()}


def _dearest_first(paths: Iterable[Path]) -> list[str]:
    costs_s = _costs_s(paths)
    return sorted(costs_s, key=lambda name: (-costs_s[name], name))


def _run(
    hand: Sequence[str],
    arguments: Sequence[str],
    output: int,
    coverage: str,
    answer: Connection,
    taken: Counting | None,
) -> None:
    """In a process of its own: run pytest over these files; send (exit code, seconds by file, counts by outcome)."""
    tell = os.dup(1)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ["COVERAGE_FILE"] = coverage
    heard = Heard()
    plugins: list[object] = [heard] if taken is None else [heard, Turns(taken, heard, tell)]
    code: int = pytest.ExitCode.INTERNAL_ERROR
    try:
        code = pytest.main([*hand, "-q", "-p", "no:xdist", *arguments], plugins=plugins)
    finally:  # also when pytest's own end fails, as by a process that a test left running
        answer.send((int(code), dict(heard.took_s), dict(heard.ended)))


class Outcome:
    """What processes reported so far: their exit codes, seconds by file, and how many tests ended how."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.took_s: dict[str, float] = {}
        self.ended: Counter[str] = Counter()

    @property
    def good(self) -> bool:
        """Whether some tests ran, and all of them passed."""
        nothing_wrong = {int(pytest.ExitCode.OK), int(pytest.ExitCode.NO_TESTS_COLLECTED)}
        return set(self.codes) <= nothing_wrong and pytest.ExitCode.OK in self.codes

    def run(self, hands: Sequence[Sequence[str]], arguments: Sequence[str], *, in_turns: bool = False) -> None:
        """Run all hands at once, each one's output printed when it ends.

        ``in_turns``: all hands are the same files, of which each runs in one of them.
        """
        taken = _FORK.Value("i", 0) if in_turns else None
        with ExitStack() as stack:
            jobs = []
            for number, hand in enumerate(hands):
                output = stack.enter_context(tempfile.TemporaryFile("w+b"))
                here, there = _FORK.Pipe(duplex=False)
                given = (hand, arguments, output.fileno(), f"{COVERAGE}.{number}", there, taken)
                process = _FORK.Process(target=_run, args=given)
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
                self.codes.append(code)
                self.took_s |= seconds
                self.ended.update(counts)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--parts", action="store_true", help="the files that take seconds as well")
    parser.add_argument("--wire", action="store_true", help="the files on sockets, and no others")
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
    outcome, arguments = Outcome(), ["-m", "not long", *measuring, *arguments]
    if args.wire:
        together, alone = (_dearest_first(some) for some in files_on_wires(TESTS))
        outcome.run([together] * args.processes, ["-rfER", *arguments], in_turns=True)
        outcome.run([alone], ["-rfER", *arguments], in_turns=True)
    else:
        hands = deal(_costs_s(files(TESTS, parts=args.parts)), args.processes)
        outcome.run(hands, ["-p", "no:rerunfailures", *arguments])
    known = json.loads(TOOK.read_text(encoding="utf-8")) if TOOK.exists() else {}
    TOOK.write_text(json.dumps(known | outcome.took_s, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    good = outcome.good
    if args.coverage:
        tool = [sys.executable, "-m", "coverage"]
        subprocess.run([*tool, "combine", "-q", *map(str, COVERAGE.parent.glob("coverage.*"))], check=True)
        good &= subprocess.run([*tool, "report"], check=False).returncode == 0
    print(summary(outcome.ended, time.monotonic() - began_s), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
