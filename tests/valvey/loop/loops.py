"""Loop files for tests: the shipped example with some of its text replaced."""

from pathlib import Path

from fieldkit.errors import ConfigError, Fault
from valvey.loop.config import LoopConfig, load

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "configs" / "loop.yaml"


def write(folder: Path, *edits: tuple[str, str]) -> Path:
    """Write the example with each (old, new) replaced; each old must stand in it."""
    text = EXAMPLE.read_text(encoding="utf-8")
    for old, new in (("site: demo\n", f"site: demo\nprofiles_dir: {ROOT}/configs/profiles\n"), *edits):
        assert old in text, f"{old!r} does not stand in {EXAMPLE}"
        text = text.replace(old, new, 1)
    path = folder / "loop.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def loop(folder: Path, *edits: tuple[str, str]) -> LoopConfig:
    return load(write(folder, *edits))


def faults(folder: Path, *edits: tuple[str, str]) -> tuple[Fault, ...]:
    """What is wrong with the example after ``edits``; empty when nothing is."""
    try:
        loop(folder, *edits)
    except ConfigError as error:
        return error.faults
    return ()
