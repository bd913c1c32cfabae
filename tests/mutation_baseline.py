"""What the tests do without a mutant: which runs which line, and how long each takes.

A line can run in three ways: when its module is imported; when a test file is collected (a module-level rack, a
parametrisation); in a test. What a fixture shared by a file does counts for each of its tests. What a cache holds
counts for the test that filled it, so every cache is emptied before each test here.
"""

import functools
import importlib
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any

import coverage
import pytest

from tests.mutants import Mutant
from tests.mutation_workers import NOTHING_WRONG, QUICK, file_of, hush, module_of, start
from tests.spread import deal

Line = tuple[str, int]
HANDS_PER_WORKER = 4
"""Files are dealt by their size, which says little about how long they take: small hands end at about the same time."""
_COLLECTED, _SHARED = "collect ", "share "


@dataclass(frozen=True)
class Baseline:
    """Sets of tests are numbers: bit n is ``tests[n]``.

    took_s         seconds of each test
    kept           tests that count; -1: all
    at_import      lines that run when their module is imported
    at_collection  tests of the files that run a line while they are collected
    touching       tests that run a line
    libraries      modules that the tests import and that import nothing of the package
    """

    tests: tuple[str, ...]
    took_s: tuple[float, ...]
    at_import: frozenset[Line]
    at_collection: Mapping[Line, int]
    touching: Mapping[Line, int]
    libraries: tuple[str, ...]
    kept: int = -1

    def without(self, failing: Collection[str]) -> "Baseline":
        """Return the same without some tests; their numbers stay."""
        mask = sum(1 << n for n, test in enumerate(self.tests) if test not in failing)
        touching = {line: tests & mask for line, tests in self.touching.items()}
        return replace(self, kept=self.kept & mask, touching=touching)

    @property
    def everything(self) -> int:
        return (1 << len(self.tests)) - 1 if self.kept < 0 else self.kept

    def tests_for(self, mutant: Mutant) -> tuple[int, int]:
        """Return every test that can tell: those that may run beside the original, those that need a fresh import."""
        first, last = mutant.span
        lines = [(mutant.path, line) for line in range(first, last + 1)]
        if any(line in self.at_import for line in lines):
            return 0, self.everything
        cold = functools.reduce(int.__or__, (self.at_collection.get(line, 0) for line in lines), 0)
        warm = functools.reduce(int.__or__, (self.touching.get(line, 0) for line in lines), 0)
        return warm & ~cold, cold & self.everything

    def import_libraries(self) -> None:
        """Import here, once, what every fork would import."""
        for name in self.libraries:
            with suppress(ImportError, AttributeError):
                importlib.import_module(name)

    def numbers(self, tests: int) -> list[int]:
        return [n for n, bit in enumerate(reversed(f"{tests:b}")) if bit == "1"]


class _Recorder:
    """A pytest plugin that names, for coverage, what runs: a test, a file's collection, a shared fixture of a file."""

    def __init__(self, seen: coverage.Coverage, package: str) -> None:
        self.seen, self.package, self.context = seen, package, ""
        self.took_s: Counter[str] = Counter()
        self.failed: list[str] = []
        self.emptied: list[Any] | None = None

    @contextmanager
    def _named(self, context: str) -> Generator[None, None, None]:
        before, self.context = self.context, context
        self.seen.switch_context(context)
        try:
            yield
        finally:
            self.context = before
            self.seen.switch_context(before)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        with self._named(_COLLECTED + file_of(collector.nodeid)):
            result = yield
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.emptied = self.emptied if self.emptied is not None else _caches(self.package)
        for empty in self.emptied:
            empty()
        with self._named(item.nodeid):
            result = yield
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Iterator[None]:
        shared = fixturedef.scope != "function"
        with self._named(_SHARED + file_of(request.node.nodeid) if shared else self.context):
            result = yield
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took_s[report.nodeid] += report.duration  # type: ignore[assignment]
        if report.failed:
            self.failed.append(report.nodeid)


def _caches(package: str) -> list[Any]:
    """What empties each cache of the tests and the package: of functions, and dicts that were empty when imported."""
    ours = [module for name, module in sys.modules.items() if name.split(".")[0] in {"tests", package.split(".")[0]}]
    values = [value for module in ours if isinstance(module, ModuleType) for value in vars(module).values()]
    emptying = {id(value): value.cache_clear for value in values if hasattr(value, "cache_clear")}
    emptying |= {id(value): value.clear for value in values if isinstance(value, dict) and not value}
    return list(emptying.values())


def _record(package: Path, tests: Sequence[str], out: Connection) -> None:
    """In a worker: run all tests; send (exit code, failed tests, Baseline)."""
    hush()
    seen = coverage.Coverage(data_file=None, source=[str(package)], config_file=False)
    recorder = _Recorder(seen, module_of(str(package)))
    sys.path.insert(0, os.getcwd())
    seen.start()
    for path in sorted(package.rglob("*.py")):
        importlib.import_module(module_of(str(path)))
    code = pytest.main([*tests, *QUICK, "--timeout=900"], plugins=[recorder])  # a record takes several times as long
    seen.stop()
    out.send((int(code), recorder.failed, _baseline_of(seen.get_data(), recorder, module_of(str(package)))))


def _baseline_of(data: coverage.CoverageData, recorder: _Recorder, package: str) -> Baseline:
    lines: dict[Line, list[str]] = {
        (os.path.relpath(file), line): contexts
        for file in data.measured_files()
        for line, contexts in data.contexts_by_lineno(file).items()
    }
    # a test that only looks at a table runs no line of the package: all tests of a file that names it are kept
    ran = {file_of(context.rpartition(" ")[2]) for contexts in lines.values() for context in contexts if context}
    naming = {file for file in set(map(file_of, recorder.took_s)) if package in Path(file).read_text(encoding="utf-8")}
    kept = [test for test in recorder.took_s if file_of(test) in ran | naming]
    bit = {test: 1 << n for n, test in enumerate(kept)}
    of_file: dict[str, int] = defaultdict(int)
    for test in kept:
        of_file[file_of(test)] |= bit[test]
    at_import, collection, touching = set(), defaultdict[Line, int](int), defaultdict[Line, int](int)
    for line, contexts in lines.items():
        for context in contexts:
            if not context:
                at_import.add(line)
            elif context.startswith(_COLLECTED):
                collection[line] |= of_file[context.removeprefix(_COLLECTED)]
            elif context.startswith(_SHARED):
                touching[line] |= of_file[context.removeprefix(_SHARED)]
            else:
                touching[line] |= bit[context]
    took_s = tuple(recorder.took_s[test] for test in kept)
    return Baseline(tuple(kept), took_s, frozenset(at_import), dict(collection), dict(touching), _libraries())


def _libraries() -> tuple[str, ...]:
    """Everything imported by now that is neither under test nor a test; it is the tests' own that import a package."""
    ours = {"valvey", "racky", "firmware_sim", "bench", "tests", "conftest", "__main__", "__mp_main__"}
    found = [(name, getattr(module, "__file__", None)) for name, module in sys.modules.items()]
    return tuple(
        name
        for name, file in found
        if name.split(".")[0] not in ours and file and ("site-packages" in file or "fieldkit" in file)
    )


def merged(bases: Sequence[Baseline]) -> Baseline:
    """Return one record of several, each of other tests."""
    tests: list[str] = []
    took_s: list[float] = []
    collection, touching = defaultdict[Line, int](int), defaultdict[Line, int](int)
    for base in bases:
        for into, found in ((collection, base.at_collection), (touching, base.touching)):
            for line, mask in found.items():
                into[line] |= mask << len(tests)
        tests += base.tests
        took_s += base.took_s
    at_import = frozenset[Line]().union(*(base.at_import for base in bases))
    libraries = dict.fromkeys(name for base in bases for name in base.libraries)
    return Baseline(tuple(tests), tuple(took_s), at_import, dict(collection), dict(touching), tuple(libraries))


def files_of(tests: Sequence[str]) -> list[Path]:
    """Expand folders to their test files, without those that an ``--ignore=`` names."""
    ignored = [Path(word.removeprefix("--ignore=")) for word in tests if word.startswith("--ignore=")]
    given = [Path(word) for word in tests if not word.startswith("-")]
    found = [file for path in given for file in ([path] if path.is_file() else sorted(path.rglob("test_*.py")))]
    return [file for file in dict.fromkeys(found) if not any(file.is_relative_to(top) for top in ignored)]


def _dealt(package: Path, hands: Sequence[Sequence[str]], workers: int) -> Iterator[tuple[int, list[str], Baseline]]:
    """Record each hand in a process of its own, so many at a time; give what each sends as it ends."""
    waiting = list(hands)
    running: dict[Connection, BaseProcess] = {}
    while waiting or running:
        while waiting and len(running) < workers:
            process, answer = start(_record, package, waiting.pop(0))
            running[answer] = process
        ready = wait(list(running))
        for answer in [answer for answer in running if answer in ready]:
            try:
                yield answer.recv()
            except EOFError:
                raise SystemExit("mutation: a worker that runs the unchanged tests died") from None
            running.pop(answer).join()


def baseline(package: Path, tests: Sequence[str], *, workers: int = 1, leave_out_failing: bool = False) -> Baseline:
    """Run the tests as they are; raise SystemExit when one that touches the package does not pass, or leave it out."""
    hands = deal({str(file): float(file.stat().st_size) for file in files_of(tests)}, HANDS_PER_WORKER * workers)
    bases, failed = [], []
    for code, wrong, base in _dealt(package, hands, workers):
        if code not in {*NOTHING_WRONG, pytest.ExitCode.TESTS_FAILED}:
            raise SystemExit(f"mutation: the tests cannot be run: {', '.join(wrong) or f'pytest exit {code}'}")
        bases.append(base)
        failed += [test for test in wrong if test in set(base.tests)]
    base = merged(bases)
    if failed and not leave_out_failing:
        raise SystemExit(f"mutation: the tests fail without any mutant: {', '.join(failed)}")
    if failed:
        print(f"left out, since they fail without any mutant: {', '.join(failed)}")
    return base.without(failed) if failed else base
