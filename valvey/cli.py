"""The command ``valvey``: its commands, by name."""

from pathlib import Path
from typing import TYPE_CHECKING

from fieldkit import cli_app

if TYPE_CHECKING:
    import typer

TEXT = "Guards the coolant and the power permit of one rack."
# fmt: off
COMMANDS: dict[str, tuple[str, str]] = {
    "run":               ("valvey.cli_local",  "run"),
    "check-config":      ("valvey.cli_config", "check_config"),
    "field":             ("valvey.cli_local",  "field"),
    "status":            ("valvey.cli_mqtt",   "status"),
    "request":           ("valvey.cli_mqtt",   "request"),
    "arm":               ("valvey.cli_mqtt",   "arm"),
    "shutdown":          ("valvey.cli_local",  "shutdown"),
    "replay":            ("valvey.cli_local",  "replay"),
    "probe":             ("fieldkit.cli_probe", "probe"),
    "commission-record": ("valvey.cli_local",  "commission_record"),
    "draw":              ("valvey.cli_config", "draw"),
    "loop":              ("valvey.loop.cli",   "app"),
}
# fmt: on


def build(*names: str) -> "typer.Typer":
    """Return the application with these commands."""
    return cli_app.build(TEXT, COMMANDS, *names)


def main() -> None:
    """Entry point of the console script."""
    cli_app.main(TEXT, COMMANDS, _start)


def _start(file: Path) -> None:
    from valvey.start import start

    start(file)
