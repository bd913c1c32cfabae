"""What the commands share: exit codes, common options, and one way to fail."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from fieldkit.errors import ConfigError
from fieldkit.exit_codes import EXIT as EXIT

if TYPE_CHECKING:
    from valvey.config_rack import RackConfig


class Output(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"


ConfigArg = Annotated[Path, typer.Argument(metavar="CONFIG", help="the rack's configuration file")]
WhyOption = Annotated[str, typer.Option("--why", help="the reason, for the record")]
AsOutput = Annotated[Output, typer.Option("-o", "--output", help="text, or one JSON document on stdout")]


def fail(message: str, code: EXIT) -> NoReturn:
    typer.echo(f"valvey: {message}", err=True)
    raise typer.Exit(int(code))


def tell(document: Any, output: Output, text: str) -> None:
    """Print a result: exactly one document, or the text."""
    typer.echo(json.dumps(document) if output is Output.JSON else text)


def load_config(path: Path) -> "RackConfig":
    """Read and check a rack's file, or exit with every fault told."""
    from valvey.config import load

    try:
        return load(path)
    except ConfigError as error:
        fail(f"{len(error.faults)} faults\n{error}", EXIT.USAGE)
