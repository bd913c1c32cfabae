"""What is told to people when something they wrote cannot be taken: faults in files, refusals of requests."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in one file.

    file     path as the user gave it
    line     1-based line of the key, None when there is none (an unreadable file)
    key      dotted path of the key, e.g. ``points.ft_101.unit``; empty for the file as a whole
    message  what is wrong
    allowed  what would be accepted, None when the message says it all
    nearest  the valid name nearest to what was written, None when none is near
    """

    file: str
    line: int | None
    key: str
    message: str
    allowed: str | None = None
    nearest: str | None = None

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        text = f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"
        if self.nearest is not None:
            text += f"; did you mean {self.nearest!r}?"
        if self.allowed is not None:
            text += f" (allowed: {self.allowed})"
        return text


class ConfigError(ValueError):
    """Everything that is wrong with a configuration, told at once. ``faults`` is never empty."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    @property
    def counted(self) -> str:
        """How many there are, and then each on its line."""
        return f"{'1 fault' if len(self.faults) == 1 else f'{len(self.faults)} faults'}\n{self}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer to something that is not done.

    code         one lower-case word for programs, e.g. ``unknown_field``
    reason       what is wrong, for people
    would_allow  what would have to be different for it to be accepted
    about        id of the request it answers, None when that could not be read
    """

    code: str
    reason: str
    would_allow: str
    about: str | None = None


def nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the one of ``names`` most like ``word``, capital letters aside; None when none is like it."""
    folded = {name.casefold(): name for name in sorted(names, reverse=True)}
    found = get_close_matches(word.casefold(), sorted(folded), n=1, cutoff=0.6)
    return folded[found[0]] if found else None
