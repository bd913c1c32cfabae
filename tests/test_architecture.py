"""ARCHITECTURE.md is kept true: its blocks run as they stand, and every file it names exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_walk_of_one_register_holds_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert len(BLOCKS) == 6
    names: dict[str, object] = {}
    for number, block in enumerate(BLOCKS, 1):
        exec(compile(block, f"ARCHITECTURE.md block {number}", "exec"), names)


def test_every_file_that_the_page_names_exists() -> None:
    named = re.findall(r"`((?:fieldkit|valvey|racky|firmware_sim|bench|configs|tests)/[\w./-]*)`", PAGE)
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_table_that_the_page_names_stands_in_its_module() -> None:
    rows = re.findall(r"`(valvey/core/\w+\.py)` \(`([A-Z_]+)`(?:, `([A-Z_]+)`)?\)", PAGE)
    assert len(rows) >= 7
    for path, *tables in rows:
        source = (ROOT / path).read_text(encoding="utf-8")
        assert all(f"\n{table}" in source for table in tables if table), (path, tables)
