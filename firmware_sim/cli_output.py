"""What the commands of ``firmware-sim`` share: options, output, exit codes, and the way to the running bench."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from firmware_sim.client import ControlError, ask, find_control

OK, FAILED, USAGE = 0, 1, 2


class Output(StrEnum):
    """How results are printed."""

    TEXT = "text"
    JSON = "json"


AsOutput = Annotated[Output, typer.Option("-o", "--output", help="text, or one JSON document on stdout")]
ControlOption = Annotated[str | None, typer.Option("--control", help="host:port of the bench's control port")]
PortsOption = Annotated[Path | None, typer.Option("--ports-file", help="file that names all ports of the bench")]


def fail(message: str, code: int) -> NoReturn:
    typer.echo(f"firmware-sim: {message}", err=True)
    raise typer.Exit(code)


def tell(result: Any, output: Output, text: str) -> None:
    typer.echo(json.dumps(result) if output is Output.JSON else text)


def command(control: str | None, ports_file: Path | None, do: str, **arguments: Any) -> Any:
    """One command to the running bench, or exit with its code."""
    try:
        return ask(find_control(control, ports_file), do, **arguments)
    except ControlError as error:
        fail(str(error), error.code)
