"""What a mutation run leaves for the next: verdicts, each with the digest of the tree it was reached in.

A run that was interrupted goes on where it ended as long as no file has changed. After a change every mutant is tried
again, but first against the test that killed it before: that takes moments.
"""

import hashlib
import json
import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUFFIXES = frozenset({".py", ".yaml", ".yml", ".json", ".csv", ".toml", ".md", ".svg"})


def digest_of(tops: Iterable[Path], tests: str) -> str:
    """Return sha256 over the names and contents of all that can decide a verdict, and over what is run of it."""
    whole = hashlib.sha256(tests.encode())
    for top in tops:
        for path in sorted([top] if top.is_file() else top.rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                whole.update(f"{path}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    return whole.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Verdict:
    """``killer``: the test that failed; empty where none did."""

    outcome: str
    killer: str


class Store:
    """A folder with a line per verdict, written as it comes, and the record of the tests without a mutant."""

    def __init__(self, folder: Path, tree: str) -> None:
        self.folder, self.tree = folder, tree
        self.known: dict[str, Verdict] = {}
        """Verdicts of this very tree, by mutant id."""
        self.hints: dict[str, str] = {}
        """Last killer of each mutant in any tree."""
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "verdicts.jsonl"
        text = self._file.read_text(encoding="utf-8") if self._file.exists() else ""
        self._begin = "" if text.endswith("\n") or not text else "\n"
        for line in text.splitlines():
            try:
                row = json.loads(line)
            except ValueError:  # the last line of a run that was killed
                continue
            if row["tree"] == tree:
                self.known[row["id"]] = Verdict(row["outcome"], row["killer"])
            if row["killer"]:
                self.hints[row["id"]] = row["killer"]

    def note(self, mutant: str, verdict: Verdict) -> None:
        self.known[mutant] = verdict
        row = {"tree": self.tree, "id": mutant, "outcome": verdict.outcome, "killer": verdict.killer}
        with self._file.open("a", encoding="utf-8") as file:
            file.write(self._begin + json.dumps(row) + "\n")
            self._begin = ""

    def recall(self, name: str) -> Any:
        """Return what was kept under that name for this tree, or None."""
        path = self.folder / f"{name}-{self.tree}.pickle"
        return pickle.loads(path.read_bytes()) if path.exists() else None  # written by ourselves, in build/

    def keep(self, name: str, thing: Any) -> None:
        for old in self.folder.glob(f"{name}-*.pickle"):
            old.unlink()
        (self.folder / f"{name}-{self.tree}.pickle").write_bytes(pickle.dumps(thing))
