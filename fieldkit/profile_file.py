"""Profiles read from their files: one text is understood once, however many buses and racks use it."""

from functools import lru_cache
from pathlib import Path

from fieldkit import yamlfile
from fieldkit.profile import Profile


def load(path: Path) -> Profile:
    """Read one profile. Raises ConfigError naming each fault with its line."""
    return _understood(yamlfile.read(path), str(path))


@lru_cache(maxsize=64)
def _understood(raw: bytes, file: str) -> Profile:
    return yamlfile.check(yamlfile.parse(raw, file), Profile)
