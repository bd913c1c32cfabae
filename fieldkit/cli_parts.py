"""What all commands share: how a result is printed, common options, and one way to fail."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from fieldkit.exit_codes import EXIT


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


def fail(message: str, code: EXIT) -> NoReturn:
    typer.echo(f"{program()}: {message}", err=True)
    raise typer.Exit(int(code))


def tell(document: Any, output: Output, text: str) -> None:
    """Print a result: exactly one document, or the text."""
    typer.echo(json.dumps(document) if output is Output.JSON else text)
