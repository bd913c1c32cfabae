"""The command ``valvey``. Exit codes: 0 ok, 1 failed, 2 usage or bad configuration, 3 refused, 4 timed out, 5 unreachable.

A command's module is imported when it is asked for: what guards does not wait for what draws, nor for typer.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

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
    import typer

    app = typer.Typer(no_args_is_help=True, add_completion=False)

    @app.callback()
    def valvey() -> None:
        """Guards the coolant and the power permit of one rack."""

    for name in names:
        module, function = COMMANDS[name]
        found = getattr(import_module(module), function)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def main() -> None:
    """Entry point of the console script."""
    asked, rest = sys.argv[1:2], sys.argv[2:]
    if asked == ["run"] and len(rest) == 1 and not rest[0].startswith("-"):
        from valvey.start import start

        start(Path(rest[0]))
    build(*(asked if set(asked) <= COMMANDS.keys() and asked else COMMANDS))()
