"""``valvey loop run CONFIG`` and ``valvey loop check-config CONFIG``: the coordinator of one CDU."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fieldkit.errors import ConfigError
from valvey.cli_parts import EXIT, AsOutput, Output, fail, tell

app = typer.Typer(no_args_is_help=True, help="The coordinator of one CDU shared by many racks.")
FileArg = Annotated[Path, typer.Argument(metavar="CONFIG", help="the loop's configuration file")]


@app.command()
def run(config: FileArg) -> None:
    """Coordinate one loop until SIGTERM; a stop leaves the CDU's set-point as it is."""
    from fieldkit.service import AlreadyRunningError
    from fieldkit.supervise import EssentialTaskError
    from valvey.loop.config import load
    from valvey.loop.run import run as run_loop

    try:
        loaded = load(config)
    except ConfigError as error:
        fail(f"{len(error.faults)} faults\n{error}", EXIT.USAGE)
    code = EXIT.OK
    try:
        run_loop(loaded)
    except AlreadyRunningError as error:
        typer.echo(f"valvey: {error}", err=True)
        code = EXIT.REFUSED
    except EssentialTaskError as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = EXIT.FAILED
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@app.command("check-config")
def check_config(config: FileArg, output: AsOutput = Output.TEXT) -> None:
    """Check a loop's file with its profile: every fault at once, with line, key, what is allowed and the nearest name."""
    from valvey.loop.config import load, to_limits

    try:
        loaded = load(config)
    except ConfigError as error:
        if output is Output.JSON:
            faults = [asdict(fault) for fault in error.faults]
            typer.echo(json.dumps({"ok": False, "errors": faults, "digest": None}, indent=1))
        else:
            typer.echo(f"{len(error.faults)} faults\n{error}")
        raise typer.Exit(int(EXIT.USAGE)) from error
    limits = to_limits(loaded)
    modes = ", ".join(sorted(limits.bounds)) or "none"
    text = f"{config}: ok, {len(limits.racks)} racks, set-points of {modes}, digest {loaded.digest}"
    tell({"ok": True, "errors": [], "digest": loaded.digest}, output, text)


def is_loop(path: Path) -> bool:
    """Whether a file describes a loop: it names one and no rack. One that cannot be read describes nothing."""
    from fieldkit import yamlfile

    try:
        document, _ = yamlfile.parse_what_can_be(path.read_bytes(), str(path))
    except (OSError, ConfigError):
        return False
    return "loop" in document.data and "rack" not in document.data
