"""Try mutants against tests, several at a time, each in a fork of its own.

Warm: pytest has collected all tests, then a fork per mutant puts it into the living function and runs the tests that
touch its line: a few hundredths of a second each. Cold: for what runs at import or while tests are collected, a fork
imports the changed module from memory and collects only the test files of its stage; most die in the first.

Every mutant goes on until a test fails, or all that can tell have passed.
"""

import ast
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType

import pytest

from tests.mutants import Mutant, apply
from tests.mutation_baseline import Baseline
from tests.mutation_swap import CannotSwapError, functions_in, swap
from tests.mutation_workers import NOTHING_WRONG, QUICK, Failed, file_of, hush, module_of, start

FIRST = 80
"""Tests of the first stage of a warm try."""
STAGES = (1, 3, 12)
"""Test files of the first stages of a cold try; the last stage has the rest."""
EXCUSED_S = 10.0
"""What is listed as equivalent is tried against the best tests for this long: the list's reason stands for the rest."""
COLD = "cold"
"""Outcome of a warm try that could not be made."""

GONE = "gone"
"""Told instead of an outcome: recorded tests that the collection did not find."""
SUSPECTED = "suspected"
"""Outcome of a mutant that is alive after the first stages of a quick hunt: no verdict."""

Told = Callable[[Mutant, str, str], None]
"""Takes (mutant, outcome, the test that failed)."""


@dataclass
class Orders:
    """Which tests to run first: those that killed this mutant before, then those that kill much in little time.

    Of a module that nothing was killed in yet, those come first whose file imports from it.

    hints    the test that killed a mutant in another run, by mutant id
    excused  mutants that are listed as equivalent
    quick    stop after the first stages: what is alive then is suspected
    """

    base: Baseline
    hints: Mapping[str, str]
    excused: frozenset[str] = frozenset()
    quick: bool = False
    number: dict[str, int] = field(init=False)
    near: Counter[tuple[str, int]] = field(default_factory=Counter)
    texts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.number = {test: n for n, test in enumerate(self.base.tests)}

    def _text(self, file: str) -> str:
        if file not in self.texts:
            path = Path(file)
            self.texts[file] = path.read_text(encoding="utf-8") if path.exists() else ""
        return self.texts[file]

    def learn(self, mutant: Mutant, killer: str) -> None:
        if killer in self.number:
            for near, weight in ((f"{mutant.path}::{mutant.where}", 4), (mutant.path, 1)):
                self.near[near, self.number[killer]] += weight

    def order(self, mutant: Mutant, tests: int) -> list[int]:
        hint = self.number.get(self.hints.get(mutant.id, ""), -1)
        home, stem = f"{mutant.path}::{mutant.where}", "/test_" + mutant.path.rpartition("/")[2]
        module = f"from {module_of(mutant.path)} import"

        def worth(n: int) -> float:
            likely = self.near[home, n] + self.near[mutant.path, n] + 0.05
            file = file_of(self.base.tests[n])
            likely += 0.5 if file.endswith(stem) or module in self._text(file) else 0.0
            return likely / (self.base.took_s[n] + 0.003)

        order = sorted(self.base.numbers(tests), key=lambda n: (n != hint, -worth(n), n))
        if mutant.id not in self.excused:
            return order
        most, spent_s = 0, 0.0
        while most < len(order) and spent_s < EXCUSED_S:
            spent_s += self.base.took_s[order[most]]
            most += 1
        return order[:most]

    def limit_s(self, order: Iterable[int]) -> float:
        return 30.0 + 6.0 * sum(self.base.took_s[n] for n in order)


@dataclass
class _Job:
    mutant: Mutant
    process: BaseProcess
    answer: Connection
    until_s: float
    rest: deque[Sequence[int]]
    """Stages still to come."""
    stage: int
    """How many it has had, with this one."""


class Pool:
    """Run jobs, ``workers`` at a time. ``begin`` starts one stage of a mutant's tests in a process.

    What is alive after ``first`` stages has probably come to stay: it waits until all others have had theirs.
    """

    def __init__(
        self, orders: Orders, workers: int, told: Told, begin: Callable[[Mutant, Sequence[int]], tuple[BaseProcess, Connection]],
        *, first: int, until_s: float,
    ) -> None:  # fmt: skip
        self.orders, self.workers, self.told, self.begin = orders, workers, told, begin
        self.first, self.until_s = first, until_s
        self.running: list[_Job] = []
        self.waiting: list[_Job] = []

    def run(self, jobs: Iterable[tuple[Mutant, Iterable[Sequence[int]]]]) -> None:
        """Try each mutant against its stages; begin none after ``until_s``."""
        for mutant, stages in jobs:
            if time.monotonic() >= self.until_s:
                break
            self._start(mutant, deque(stages), 0)
        while self.waiting or self.running:
            while self.waiting and len(self.running) < self.workers:
                job = self.waiting.pop(0)
                self._start(job.mutant, job.rest, job.stage)
            if self.running:
                self._collect()

    def _start(self, mutant: Mutant, stages: deque[Sequence[int]], number: int) -> None:
        while len(self.running) >= self.workers:
            self._collect()
        if time.monotonic() >= self.until_s:
            return
        stage = stages.popleft()
        process, answer = self.begin(mutant, stage)
        until_s = time.monotonic() + self.orders.limit_s(stage)
        self.running.append(_Job(mutant, process, answer, until_s, stages, number + 1))

    def _collect(self) -> None:
        """Wait until one ends or is too late."""
        first_s = min(job.until_s for job in self.running)
        wait([job.process.sentinel for job in self.running], max(0.0, first_s - time.monotonic()))
        ended = [job for job in self.running if not job.process.is_alive() or time.monotonic() >= job.until_s]
        self.running = [job for job in self.running if job not in ended]
        for job in ended:
            self._end(job)

    def _end(self, job: _Job) -> None:
        if job.process.is_alive():
            job.process.kill()
            job.process.join()
            self.told(job.mutant, "timeout", "")
            return
        try:
            outcome, killer = job.answer.recv()
        except EOFError:  # the mutant ended the interpreter
            outcome, killer = "killed", ""
        job.process.join()
        job.answer.close()
        if outcome == "survived" and job.rest:
            if job.stage >= self.first and self.orders.quick:
                self.told(job.mutant, SUSPECTED, "")
            elif job.stage >= self.first:
                self.waiting.append(job)
            else:
                self._start(job.mutant, job.rest, job.stage)
            return
        if outcome == "killed":
            self.orders.learn(job.mutant, killer)
        self.told(job.mutant, outcome, killer)


class _Warm:
    """A pytest plugin: once all is collected, hunt instead of running the tests."""

    def __init__(
        self, mutants: Sequence[Mutant], sources: Mapping[str, str], orders: Orders, workers: int, until_s: float,
        out: Connection,
    ) -> None:  # fmt: skip
        self.mutants, self.sources, self.orders, self.out = mutants, sources, orders, out
        self.pool = Pool(orders, workers, self._tell, self._begin, first=1, until_s=until_s)
        self.items: dict[str, pytest.Item] = {}
        self.failed = Failed()

    def _tell(self, mutant: Mutant, outcome: str, killer: str) -> None:
        self.out.send((mutant.id, outcome, killer))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        base = self.orders.base
        self.items = {item.nodeid: item for item in session.items}
        kept = base.numbers(base.everything)
        if gone := [base.tests[n] for n in kept if base.tests[n] not in self.items]:
            self.out.send(("", GONE, ", ".join(gone)))
            return True
        for n in kept:
            patience_s = 5.0 + 10.0 * base.took_s[n]
            self.items[base.tests[n]].add_marker(pytest.mark.timeout(patience_s), append=False)
        session.config.pluginmanager.register(self.failed)
        self.living = functions_in(os.path.dirname(next(iter(self.sources))))
        gc.collect()
        gc.freeze()  # the forks share what is here already
        self.pool.run((mutant, self._stages(mutant)) for mutant in self.mutants)
        return True

    def _stages(self, mutant: Mutant) -> list[Sequence[int]]:
        order = self.orders.order(mutant, self.orders.base.tests_for(mutant)[0])
        return [stage for stage in (order[:FIRST], order[FIRST:]) if stage]

    def _begin(self, mutant: Mutant, order: Sequence[int]) -> tuple[BaseProcess, Connection]:
        return start(self._try, mutant, order)

    def _try(self, mutant: Mutant, order: Sequence[int], out: Connection) -> None:
        """In a fork: run the tests against the mutant until one fails."""
        try:
            swap(mutant, self.sources[mutant.path], self.living)
        except CannotSwapError:
            out.send((COLD, ""))
            return
        items = [self.items[self.orders.base.tests[n]] for n in order]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed.test:
                break
        out.send(("killed" if self.failed.test else "survived", self.failed.test))


def _warm(
    mutants: Sequence[Mutant], sources: Mapping[str, str], orders: Orders, workers: int, tests: Sequence[str],
    until_s: float, out: Connection,
) -> None:  # fmt: skip
    hush()
    sys.path.insert(0, os.getcwd())
    code = pytest.main([*tests, *QUICK], plugins=[_Warm(mutants, sources, orders, workers, until_s, out)])
    out.send(int(code))


def hunt_warm(
    mutants: Sequence[Mutant], sources: Mapping[str, str], orders: Orders, workers: int, tests: Sequence[str], told: Told,
    until_s: float,
) -> list[Mutant]:  # fmt: skip
    """Try those mutants whose line runs in tests only; return those that need a fresh import all the same.

    Raise SystemExit when a recorded test is not there: what it would have killed would pass for a survivor.
    """
    by_id = {mutant.id: mutant for mutant in mutants}
    process, answer = start(_warm, mutants, sources, orders, workers, tests, until_s)
    cold = []
    try:
        while not isinstance(message := answer.recv(), int):
            name, outcome, killer = message
            if outcome == GONE:
                raise SystemExit(
                    f"mutation: tests that ran for the record are not found again: {killer}; a test's name must be the "
                    "same in every collection (no set, address, time or chance in its parameters)"
                )
            if outcome == COLD:
                cold.append(by_id[name])
                continue
            orders.learn(by_id[name], killer)
            told(by_id[name], outcome, killer)
    except EOFError:
        raise SystemExit("mutation: the process that holds the collected tests died") from None
    process.join()
    if message not in NOTHING_WRONG:
        raise SystemExit(f"mutation: the tests could not be collected, pytest exit {message}")
    return cold


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


class _Chosen(Failed):
    """Run the given tests in the given order."""

    def __init__(self, order: Sequence[str]) -> None:
        super().__init__()
        self.place = {test: n for n, test in enumerate(order)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.place), key=lambda item: self.place[item.nodeid])


def _cold(mutant: Mutant, source: str, order: Sequence[str], out: Connection) -> None:
    """In a fork: import the mutant, collect the files of these tests and run them until one fails."""
    hush()
    sys.path.insert(0, os.getcwd())
    sys.meta_path.insert(0, _FromMemory(module_of(mutant.path), mutant.path, apply(source, mutant)))
    chosen = _Chosen(order)
    files = list(dict.fromkeys(map(file_of, order)))
    code = pytest.main([*files, "-x", *QUICK], plugins=[chosen])
    out.send(("survived" if int(code) in NOTHING_WRONG else "killed", chosen.test))


def hunt_cold(
    mutants: Iterable[tuple[Mutant, int]], sources: Mapping[str, str], orders: Orders, workers: int, told: Told, until_s: float
) -> None:  # fmt: skip
    """Try each mutant against its tests, with a fresh import of its module, the test files by stages."""
    tests = orders.base.tests

    def begin(mutant: Mutant, stage: Sequence[int]) -> tuple[BaseProcess, Connection]:
        return start(_cold, mutant, sources[mutant.path], [tests[n] for n in stage])

    orders.base.import_libraries()
    pool = Pool(orders, workers, told, begin, first=2, until_s=until_s)
    pool.run((mutant, stages_of(orders.order(mutant, concerned), tests)) for mutant, concerned in mutants)


def stages_of(order: Sequence[int], tests: Sequence[str]) -> list[list[int]]:
    """Cut the tests into stages by their files, in the order in which the files come first."""
    by_file: dict[str, list[int]] = {}
    for n in order:
        by_file.setdefault(file_of(tests[n]), []).append(n)
    files = deque(by_file)
    cut = []
    for most in (*STAGES, len(files)):
        stage = [n for _ in range(min(most, len(files))) for n in by_file[files.popleft()]]
        cut += [stage] if stage else []
    return cut
