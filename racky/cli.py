"""The command ``racky``: its commands, by name."""

from pathlib import Path
from typing import TYPE_CHECKING

from fieldkit import cli_app

if TYPE_CHECKING:
    import typer

TEXT = "The control point of one rack: its power, its health, its lifecycle. Asks Valvey; never touches a valve."
# fmt: off
COMMANDS: dict[str, tuple[str, str]] = {
    "run":          ("racky.cli_local", "run"),
    "check-config": ("racky.cli_local", "check_config"),
    "field":        ("racky.cli_local", "field"),
    "probe":        ("fieldkit.cli_probe", "probe"),
    "draw":         ("racky.cli_local", "draw"),
    "health":       ("racky.cli_mqtt",  "health"),
    "request":      ("racky.cli_mqtt",  "request"),
}
# fmt: on


def build(*names: str) -> "typer.Typer":
    """Return the application with these commands."""
    return cli_app.build(TEXT, COMMANDS, *names)


def main() -> None:
    """Entry point of the console script."""
    cli_app.main(TEXT, COMMANDS, _start)


def _start(file: Path) -> None:
    from racky.start import start

    start(file)
