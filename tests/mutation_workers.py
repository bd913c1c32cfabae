"""What the workers of the mutation run share: processes that say nothing, and pytest without what costs time.

Each works in a fork of its own, so nothing that it imports or patches outlives it.
"""

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import pytest
from hypothesis import HealthCheck, Phase, settings

#: No rewritten asserts, no plugin that a verdict does not need: the tests are collected often, and nobody reads why.
QUICK = (
    "-q", "--no-header", "--tb=native", "--assert=plain", "-p", "no:pytest_cov", "-p", "no:xdist", "-p", "no:rerunfailures",
    "--hypothesis-profile=mutation", "-m", "not long",
)  # fmt: skip
NOTHING_WRONG = {int(pytest.ExitCode.OK), int(pytest.ExitCode.NO_TESTS_COLLECTED)}
_FORK = multiprocessing.get_context("fork")

settings.register_profile(  # the same examples in each run; one that fails is enough, nobody needs the smallest
    "mutation",
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


class Failed:
    """Remembers the first test that failed."""

    def __init__(self) -> None:
        self.test = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.test = self.test or report.nodeid


def file_of(test: str) -> str:
    return test.split("::", maxsplit=1)[0]


def module_of(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def hush() -> None:
    """A worker says nothing."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)


def start(target: Callable[..., None], *args: object) -> tuple[BaseProcess, Connection]:
    """Run ``target(*args, connection)`` in a fork; return the process and the other end."""
    here, there = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=target, args=(*args, there))
    process.start()
    there.close()
    return process, here
