"""Generated pages on disk: which are stale, and writing them. The first line of a page says whose it is."""

from collections.abc import Iterable, Mapping
from pathlib import Path


def stale(root: Path, wanted: Mapping[Path, str], folders: Iterable[Path], ours: str) -> list[Path]:
    """Return the pages under ``root`` that are missing, differ, or that nobody makes any more, sorted.

    wanted   text by path;  folders  where pages of ours may be;  ours  the line that each of ours begins with
    """
    files = (path for folder in folders for path in (root / folder).glob("*"))
    found = {path.relative_to(root) for path in files if path.is_file() and path.read_bytes().startswith(ours.encode())}
    differing = {path for path, text in wanted.items() if not _same(root / path, text)}
    return sorted(differing | (found - wanted.keys()))


def write(root: Path, wanted: Mapping[Path, str], folders: Iterable[Path], ours: str) -> None:
    """Write every page under ``root`` and remove those of ours that nobody makes any more."""
    for path in stale(root, wanted, folders, ours):
        if path not in wanted:
            (root / path).unlink()
    for path, text in wanted.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text
