"""Profiles from files: understood once, read every time."""

from pathlib import Path

import pytest

from fieldkit.errors import ConfigError
from fieldkit.profile_file import load

SHIPPED = Path(__file__).parents[2] / "configs" / "profiles" / "racky_leak-panel.yaml"


def test_one_text_is_one_profile() -> None:
    assert load(SHIPPED) is load(SHIPPED)


def test_a_file_that_has_changed_is_understood_anew(tmp_path: Path) -> None:
    file = tmp_path / "panel.yaml"
    text = SHIPPED.read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    assert load(file) == load(SHIPPED)
    file.write_text(text + "nonsense: 1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="nonsense"):
        load(file)


def test_a_file_that_is_not_there_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.yaml.*cannot be read"):
        load(tmp_path / "gone.yaml")
