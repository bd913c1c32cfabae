"""Tests on real sockets and real processes share a machine with whatever else it does.

A bound on time that fails is tried again, at most twice and never silently: the closing line counts the reruns. A
fault of the code fails each time.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=1))
