"""Racks on paper for the tests of the core."""

import pytest

from tests.plant import PaperRack, flowing, isolated


@pytest.fixture
def rack() -> PaperRack:
    """A rack in service at 132 kW, holds at their full length."""
    return flowing()


@pytest.fixture
def shut_rack() -> PaperRack:
    """A rack proven shut, full and tested."""
    return isolated()
