"""Imports that leave behind what a library only takes along because it happens to be installed."""

import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without(package: str) -> Generator[None, None, None]:
    """Import within this as if ``package``, which must be optional to what is imported, were not installed.

    No effect when it is imported already. Who imports it later gets it.
    """
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]  # the import system's own word for "not there"
    try:
        yield
    finally:
        del sys.modules[package]
