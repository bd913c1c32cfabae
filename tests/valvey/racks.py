"""Rack files for tests: the shipped example with some of its text replaced."""

from pathlib import Path

from fieldkit.errors import ConfigError, Fault
from valvey.config import RackConfig, load

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "configs" / "rack.yaml"


def text_with(*edits: tuple[str, str]) -> str:
    """Return the example with each (old, new) replaced; each old must stand in it once."""
    text = EXAMPLE.read_text(encoding="utf-8")
    text = text.replace("policies/", f"{ROOT}/configs/policies/")
    for old, new in (("site: demo\n", f"site: demo\nprofiles_dir: {ROOT}/configs/profiles\n"), *edits):
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {EXAMPLE}"
        text = text.replace(old, new)
    return text


def write(folder: Path, *edits: tuple[str, str]) -> Path:
    path = folder / "rack.yaml"
    path.write_text(text_with(*edits), encoding="utf-8")
    return path


def rack(folder: Path, *edits: tuple[str, str]) -> RackConfig:
    return load(write(folder, *edits))


def faults(folder: Path, *edits: tuple[str, str]) -> tuple[Fault, ...]:
    """Return what is wrong with the example after ``edits``; empty when nothing is."""
    path = write(folder, *edits)
    try:
        load(path)
    except ConfigError as error:
        return error.faults
    return ()
