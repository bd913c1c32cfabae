"""Importing a library as if one of its optional parts were not installed."""

import importlib.util
import sys

import pytest

from fieldkit.without import without


def test_what_is_left_out_is_not_found_and_can_be_imported_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "antigravity", raising=False)
    with without("antigravity"), pytest.raises(ImportError):
        importlib.import_module("antigravity")
    assert "antigravity" not in sys.modules
    assert importlib.util.find_spec("antigravity") is not None


def test_it_can_be_imported_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="oops"), without("antigravity"):
        raise ValueError("oops")
    assert "antigravity" not in sys.modules


def test_what_is_imported_already_stays() -> None:
    with without("importlib"):
        assert importlib.import_module("importlib") is importlib
    assert sys.modules["importlib"] is importlib
