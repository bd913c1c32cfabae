"""What all commands share: how a result is printed, common options, and one way to fail."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn, Protocol, TypeVar

import typer

from fieldkit.errors import ConfigError
from fieldkit.exit_codes import EXIT

C = TypeVar("C")


class Output(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"


ConfigArg = Annotated[Path, typer.Argument(metavar="CONFIG", help="the rack's configuration file")]
WhyOption = Annotated[str, typer.Option("--why", help="the reason, for the record")]
AsOutput = Annotated[Output, typer.Option("-o", "--output", help="text, or one JSON document on stdout")]


def program() -> str:
    """The name of the command that runs: ``valvey`` also when it was started as ``python -m valvey``."""
    first = Path(sys.argv[0])
    return first.parent.name if first.name == "__main__.py" else first.name


def shown(text: str) -> str:
    """``text`` for a terminal: what a device, a broker or a file put into it cannot steer it."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def fail(message: str, code: EXIT) -> NoReturn:
    typer.echo(f"{program()}: {shown(message)}", err=True)
    raise typer.Exit(int(code))


def loaded(load: Callable[[Path], C], path: Path) -> C:
    """Read and check a configuration file, or exit with every fault told."""
    try:
        return load(path)
    except ConfigError as error:
        fail(error.counted, EXIT.USAGE)


def checked(load: Callable[[Path], C], path: Path, output: Output) -> C:
    """The same for a command whose result are the faults: told on stdout, in the form asked for."""
    try:
        return load(path)
    except ConfigError as error:
        faults = [asdict(fault) for fault in error.faults]
        tell({"ok": False, "errors": faults, "digest": None}, output, error.counted)
        raise typer.Exit(int(EXIT.USAGE)) from error


class Pages(Protocol):
    """A module that draws pages from the code's own tables."""

    def stale(self, root: Path) -> list[Path]: ...
    def write(self, root: Path) -> None: ...


def draw_pages(command: str, pages: Pages, out: Path, *, check: bool) -> None:
    """Write the pages below ``out``, or only compare them and exit with 1 when one is stale; ``command`` writes them."""
    stale = pages.stale(out)
    if not check:
        pages.write(out)
    for path in stale:
        typer.echo(f"{path}: {f'is stale: run `{command}`' if check else 'written'}")
    if check and stale:
        raise typer.Exit(int(EXIT.FAILED))
    if not stale:
        typer.echo("all pages are as the code says")


def tell(document: Any, output: Output, text: str) -> None:
    """Print a result: exactly one document, or the text."""
    typer.echo(json.dumps(document) if output is Output.JSON else shown(text))
