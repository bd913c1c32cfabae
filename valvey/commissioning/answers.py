"""What a person says to a line: at the terminal, or written down beforehand in a file for a bench."""

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

import typer
from pydantic import Field

from fieldkit.config_parts import Person as PersonName
from fieldkit.errors import ConfigError, nearest
from fieldkit.model import Model
from fieldkit.yamlfile import check, load
from valvey.commissioning.line import MOVING, Kind, Line

SIGN = "sign"
"""Stands among a file's answers for the signature at the end."""
_YES, _NO = frozenset({"y", "yes"}), frozenset({"n", "no"})


class QuitError(Exception):
    """The person leaves; what is done is kept."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One of: yes or no, a value read off the device, a reason for doing without the line, or nothing (later)."""

    yes: bool | None = None
    value: float | None = None
    tolerance: float | None = None
    waive: str = ""

    @property
    def later(self) -> bool:
        return self.yes is None and self.value is None and not self.waive


LATER = Answer()


class Asked(Protocol):
    """Whoever answers."""

    name: str

    def ask(self, line: Line, shown: str) -> Answer:
        """Answer to ``line``, told what the program sees of it. Raises QuitError."""
        ...

    def sign(self) -> bool:
        """Whether the person answers for the whole record."""
        ...


class Written(Model):
    """An answer with more than one word to it."""

    value: float | None = None
    tolerance: Annotated[float, Field(ge=0)] | None = None
    waive: Annotated[str, Field(min_length=3)] | None = None


class AnswersFile(Model):
    """Answers written down beforehand."""

    by: PersonName
    answers: dict[str, bool | float | str | Written] = Field(default_factory=dict)
    """By line: true, false, the value that the device shows, or {value, tolerance} or {waive: reason}; ``sign: true``."""
    otherwise: bool = False
    """Yes to every line that is not listed; only for a simulated rack."""


class FromFile:
    """Answers a file's words; a line that is not in it stays open."""

    def __init__(self, file: AnswersFile) -> None:
        self.name = file.by
        self._file = file

    def ask(self, line: Line, shown: str) -> Answer:
        said = self._file.answers.get(line.id)
        typer.echo(f"commission: {line.id}: {shown or line.what}: {'(not listed)' if said is None else said}", err=True)
        if said is None:
            return Answer(yes=True) if self._file.otherwise else LATER
        if isinstance(said, Written):
            return Answer(value=said.value, tolerance=said.tolerance, waive=said.waive or "")
        return parse(str(said)) if isinstance(said, str) else _plain(said)

    def sign(self) -> bool:
        said = self._file.answers.get(SIGN)
        return self._file.otherwise if said is None else said is True


class Terminal:
    """Asks, one line at a time."""

    def __init__(self, name: str) -> None:
        self.name = name

    def ask(self, line: Line, shown: str) -> Answer:
        typer.echo(f"\n{line.id}: {line.what}", err=True)
        if shown:
            typer.echo(f"  {shown}", err=True)
        while True:
            try:
                return parse(_input(f"  {_allowed(line)}: "))
            except ValueError as error:
                typer.echo(f"  {error}", err=True)

    def sign(self) -> bool:
        text = _input(f"\nAll lines are done. Sign as {self.name!r}? Write the name again to sign: ")
        return text.strip() == self.name


def parse(text: str) -> Answer:
    """Read ``y``, ``n``, a number, ``w reason``, ``s`` (later) or ``q``. Raises ValueError or QuitError."""
    word, _, rest = text.strip().partition(" ")
    if word in _YES | _NO and not rest:
        return Answer(yes=word in _YES)
    if word == "w" and len(rest.strip()) > 2:
        return Answer(waive=rest.strip())
    if word == "s" and not rest:
        return LATER
    if word == "q" and not rest:
        raise QuitError
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if rest or not math.isfinite(value):
        raise ValueError(f"{text.strip()!r}: write y, n, the value, `w` and a reason, s (later) or q (leave)")
    return Answer(value=value)


def read_file(path: Path, lines: Iterable[Line], *, simulated: bool) -> AnswersFile:
    """Return the answers in ``path``. Raises ConfigError: unreadable, or an answer to no line of this rack."""
    document = load(path)
    file = check(document, AnswersFile)
    known = {line.id for line in lines} | {SIGN}
    faults = [
        document.fault(("answers", name), "is no line of this rack", "see --dry-run", nearest(name, known))
        for name in file.answers
        if name not in known
    ]
    if file.otherwise and not simulated:
        text = "is for simulated racks: on a real one each line is answered by its name"
        faults.append(document.fault(("otherwise",), text, "otherwise: false"))
    for name, said in file.answers.items():
        if isinstance(said, str):
            try:
                parse(said)
            except (ValueError, QuitError):
                faults.append(
                    document.fault(
                        ("answers", name), f"{said!r} is no answer", "true, false, a number, {waive: reason}"
                    )
                )
    if faults:
        raise ConfigError(faults)
    return file


def _plain(said: bool | float) -> Answer:
    return Answer(yes=said) if isinstance(said, bool) else Answer(value=float(said))


def _allowed(line: Line) -> str:
    if line.kind in MOVING or line.kind in {Kind.CONTACT, Kind.LEAK}:
        return "y = do it now, s = later, q = leave"
    if line.kind is Kind.DEVICE:
        return "y / n, s = later, q = leave"
    return "the value, y = as shown, n = it shows something else, w REASON = do without, s = later, q = leave"


def _input(prompt: str) -> str:
    typer.echo(prompt, nl=False, err=True)
    text = sys.stdin.readline()
    if not text:
        raise QuitError
    return text
