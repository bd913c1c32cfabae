"""The command ``racky``. Exit codes: 0 ok, 1 failed, 2 usage or bad configuration, 3 refused, 4 timed out, 5 unreachable.

A command's module is imported when it is asked for.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

# fmt: off
COMMANDS: dict[str, tuple[str, str]] = {
    "run":          ("racky.cli_local", "run"),
    "check-config": ("racky.cli_local", "check_config"),
    "field":        ("racky.cli_local", "field"),
    "draw":         ("racky.cli_local", "draw"),
    "health":       ("racky.cli_mqtt",  "health"),
    "request":      ("racky.cli_mqtt",  "request"),
}
# fmt: on


def build(*names: str) -> "typer.Typer":
    """Return the application with these commands."""
    import typer

    app = typer.Typer(no_args_is_help=True, add_completion=False)

    @app.callback()
    def racky() -> None:
        """The control point of one rack: its power, its health, its lifecycle. Asks Valvey; never touches a valve."""

    for name in names:
        module, function = COMMANDS[name]
        app.command(name)(getattr(import_module(module), function))
    return app


def main() -> None:
    """Entry point of the console script."""
    asked, rest = sys.argv[1:2], sys.argv[2:]
    if asked == ["run"] and len(rest) == 1 and not rest[0].startswith("-"):
        from racky.start import start

        start(Path(rest[0]))
    build(*(asked if set(asked) <= COMMANDS.keys() and asked else COMMANDS))()
