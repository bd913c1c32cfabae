"""Disks to hurt: one that can be stalled, one that can be full. Both need root, as mounting does."""

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_TOOLS = ("mount", "umount", "mkfs.ext4", "fsfreeze")
_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
SIZE_MB = 48


def why_not() -> str | None:
    """What keeps this machine from having such disks; None when nothing does."""
    if os.geteuid() != 0:
        return "mounting a disk needs root"
    missing = [tool for tool in _TOOLS if shutil.which(tool, path=_PATH) is None]
    return f"not installed: {', '.join(missing)}" if missing else None


def can_be_mounted(folder: Path) -> bool:
    """Whether this machine really mounts one: containers often refuse it to their root."""
    if why_not() is not None:
        return False
    try:
        with loop_disk(folder):
            return True
    except subprocess.CalledProcessError:
        return False


@contextmanager
def loop_disk(folder: Path) -> Generator[Path, None, None]:
    """An ext4 of its own on a loop device; yields where it is mounted. Raises CalledProcessError."""
    image, where = folder / "disk.img", folder / "disk"
    where.mkdir(parents=True, exist_ok=True)
    with image.open("wb") as file:
        file.truncate(SIZE_MB * 1024 * 1024)
    _run("mkfs.ext4", "-q", "-F", str(image))
    _run("mount", "-o", "loop", str(image), str(where))
    try:
        yield where
    finally:
        _run("umount", str(where))
        image.unlink()


@contextmanager
def stalled(where: Path) -> Generator[None, None, None]:
    """Let every write to the disk mounted at ``where`` wait, as a disk does that retries for minutes."""
    _run("fsfreeze", "-f", str(where))
    try:
        yield
    finally:
        _run("fsfreeze", "-u", str(where))


@contextmanager
def full(where: Path) -> Generator[None, None, None]:
    """Leave not one byte free on the disk mounted at ``where``."""
    filler = where / "filler"
    with filler.open("wb", buffering=0) as file:
        size = 64 * 1024
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2
    try:
        yield
    finally:
        filler.unlink()


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PATH": _PATH})
