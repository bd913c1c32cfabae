"""A rack's file of Racky for the tests: the shipped example, with changes."""

from pathlib import Path

from racky.config import RackyConfig, load

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "configs" / "racky.yaml"


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    """Write the shipped file with these texts replaced; profiles stay where they are."""
    text = SHIPPED.read_text(encoding="utf-8")
    for old, new in (("scan: {", f"profiles_dir: {ROOT / 'configs' / 'profiles'}\nscan: {{"), *changes):
        assert old in text, old
        text = text.replace(old, new, 1)
    path = folder / "racky.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def loaded(folder: Path, *changes: tuple[str, str]) -> RackyConfig:
    return load(written(folder, *changes))
