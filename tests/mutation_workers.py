"""What the workers of the mutation run do: run the tests whole with a record of lines, or some against one mutant.

Each works in a fork of its own, so nothing that it imports or patches outlives it.
"""

import ast
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType

import coverage
import pytest

from tests.mutants import Mutant, apply

#: What the tests import from here is imported once, before the forks. No pytest plugin: pytest wants to rewrite those.
_SHARED = {"pydantic", "pydantic_core", "yaml", "transitions", "fieldkit"}
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Baseline:
    """What the tests do without a mutant.

    touching   test ids by (path, line); a line that runs at import has None instead
    took_s     seconds of each test of a file that names the package or touches a line of it: a test that only looks
               at a table runs no line of the package
    """

    touching: Mapping[tuple[str, int], frozenset[str] | None]
    took_s: Mapping[str, float]

    def tests_for(self, mutant: Mutant) -> frozenset[str]:
        """Every test that can tell: those that touch a line of the statement, all for what runs at import."""
        first, last = mutant.span
        lines = [self.touching.get((mutant.path, line), frozenset()) for line in range(first, last + 1)]
        return frozenset(self.took_s) if None in lines else frozenset().union(*(tests for tests in lines if tests))


class _Durations:
    def __init__(self) -> None:
        self.took_s: Counter[str] = Counter()
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took_s[report.nodeid] += report.duration  # type: ignore[assignment]
        if report.failed:
            self.failed.append(report.nodeid)


class _Chosen:
    """Run the given tests in the given order, and remember what failed."""

    def __init__(self, order: Sequence[str]) -> None:
        self.place = {nodeid: n for n, nodeid in enumerate(order)}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.place), key=lambda item: self.place[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


class _FromMemory(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import one module from a syntax tree instead of its file."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        self.name, self.path, self.tree = name, path, tree

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return (
            importlib.util.spec_from_file_location(fullname, self.path, loader=self) if fullname == self.name else None
        )

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.tree, self.path, "exec"), module.__dict__)


def _run_baseline(package: Path, tests: Sequence[str], out: Connection) -> None:
    """In a worker: run all tests with coverage by test; send (exit code, failed, touching, took_s)."""
    _hush()
    durations = _Durations()
    seen = coverage.Coverage(data_file=None, source=[str(package)], config_file=False)
    current = ""

    class Contexts:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
            nonlocal current
            current = item.nodeid
            seen.switch_context(current)
            result = yield
            seen.switch_context("")
            return result

    seen.start()
    code = pytest.main([*tests, "-q"], plugins=[durations, Contexts()])
    seen.stop()
    data, touching = seen.get_data(), {}
    for file in data.measured_files():
        for line, contexts in data.contexts_by_lineno(file).items():
            path = os.path.relpath(file)
            touching[path, line] = None if "" in contexts else frozenset(contexts)
    concerned = {_file(test) for found in touching.values() for test in found or ()}
    dotted = ".".join(package.parts)
    concerned |= {file for file in map(_file, durations.took_s) if dotted in Path(file).read_text(encoding="utf-8")}
    took_s = {test: spent_s for test, spent_s in durations.took_s.items() if _file(test) in concerned}
    shared = [name for name in sys.modules if name.split(".")[0] in _SHARED]
    out.send((int(code), durations.failed, touching, took_s, shared))


def _file(nodeid: str) -> str:
    return nodeid.split("::")[0]


def run_mutant(name: str, mutant: Mutant, source: str, order: Sequence[str], out: Connection) -> None:
    """In a worker: run ``order`` against one mutant; send (pytest's exit code, the test that failed)."""
    _hush()
    sys.meta_path.insert(0, _FromMemory(name, mutant.path, apply(source, mutant)))
    chosen = _Chosen(order)
    files = list(dict.fromkeys(map(_file, order)))
    code = pytest.main([*files, "-x", "-q", "--no-header", "--tb=no", "--hypothesis-seed=0"], plugins=[chosen])
    out.send((int(code), chosen.failed))


def _hush() -> None:
    """A worker says nothing, and what it writes to sys.path or modules ends with it."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)


def start(target: Callable[..., None], *args: object) -> tuple[BaseProcess, Connection]:
    here, there = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=target, args=(*args, there))
    process.start()
    there.close()
    return process, here


def baseline(package: Path, tests: Sequence[str]) -> Baseline:
    """Run the tests as they are; raise SystemExit when one that touches the package does not pass."""
    process, answer = start(_run_baseline, package, tests)
    try:
        code, failed, touching, took_s, shared = answer.recv()
    except EOFError:
        raise SystemExit("mutation: the worker that runs the unchanged tests died") from None
    process.join()
    relevant = [test for test in failed if test in took_s]
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} or relevant:
        failed = relevant or failed
        raise SystemExit(f"mutation: the tests fail without any mutant: {', '.join(failed) or f'pytest exit {code}'}")
    under_test = package.parts[0]
    for name in shared:
        if name.split(".")[0] != under_test:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    return Baseline(touching, took_s)
