"""``valvey loop run CONFIG`` and ``valvey loop check-config CONFIG``: the coordinator of one CDU."""

from pathlib import Path
from typing import Annotated

import typer

from fieldkit.cli_app import run_and_exit
from fieldkit.cli_parts import AsOutput, Output, checked, loaded, tell
from fieldkit.errors import ConfigError

app = typer.Typer(no_args_is_help=True, help="The coordinator of one CDU shared by many racks.")
FileArg = Annotated[Path, typer.Argument(metavar="CONFIG", help="the loop's configuration file")]


@app.command()
def run(config: FileArg) -> None:
    """Coordinate one loop until SIGTERM; a stop leaves the CDU's set-point as it is."""
    from valvey.loop.config import load
    from valvey.loop.run import run as run_loop

    found = loaded(load, config)
    run_and_exit("valvey", lambda: run_loop(found))


@app.command("check-config")
def check_config(config: FileArg, output: AsOutput = Output.TEXT) -> None:
    """Check a loop's file with its profile: every fault at once, with line, key, what is allowed and the nearest name."""
    from valvey.loop.config import load, to_limits

    found = checked(load, config, output)
    limits = to_limits(found)
    modes = ", ".join(sorted(limits.bounds)) or "none"
    text = f"{config}: ok, {len(limits.racks)} racks, set-points of {modes}, digest {found.digest}"
    tell({"ok": True, "errors": [], "digest": found.digest}, output, text)


def is_loop(path: Path) -> bool:
    """Whether a file describes a loop: it names one and no rack. One that cannot be read describes nothing."""
    from fieldkit import yamlfile

    try:
        document, _ = yamlfile.parse_what_can_be(path.read_bytes(), str(path))
    except (OSError, ConfigError):
        return False
    return "loop" in document.data and "rack" not in document.data
