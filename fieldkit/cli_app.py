"""A daemon's command: its table of commands, and how it is started from a file.

A command's module is imported when it is asked for: what guards does not wait for what draws, nor for typer.
Exit codes: 0 ok, 1 failed, 2 usage or bad configuration, 3 refused, 4 timed out, 5 unreachable.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from fieldkit.exit_codes import EXIT

if TYPE_CHECKING:
    import typer


@dataclass(frozen=True)
class Command:
    """A daemon's command.

    text      its help
    commands  by name: module and function, or the module's application of sub-commands
    daemon    module whose ``start(FILE)`` runs the daemon and does not return
    """

    text: str
    commands: Mapping[str, tuple[str, str]]
    daemon: str

    def build(self, *names: str) -> "typer.Typer":
        """Return the application with these commands."""
        import typer

        app = typer.Typer(no_args_is_help=True, add_completion=False)
        app.callback(help=self.text)(lambda: None)
        for name in names:
            module, function = self.commands[name]
            found = getattr(import_module(module), function)
            if isinstance(found, typer.Typer):
                app.add_typer(found, name=name)
            else:
                app.command(name)(found)
        return app

    def main(self) -> None:
        """Run what the command line asks for; ``run FILE`` goes straight to the daemon."""
        asked, rest = sys.argv[1:2], sys.argv[2:]
        if asked == ["run"] and len(rest) == 1 and not rest[0].startswith("-"):
            import_module(self.daemon).start(Path(rest[0]))
        self.build(*(asked if set(asked) <= self.commands.keys() and asked else self.commands))()


def run_and_exit(program: str, work: Callable[[], None]) -> NoReturn:
    """Load and run a daemon by ``work``, and end the process with the exit code of how that ended."""
    code = _code_of(program, work)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # a thread that hangs in a disk or a name server must not keep a stopped daemon from ending


def _code_of(program: str, work: Callable[[], None]) -> EXIT:
    from fieldkit.errors import ConfigError
    from fieldkit.service import AlreadyRunningError
    from fieldkit.supervise import EssentialTaskError

    try:
        work()
    except ConfigError as error:
        sys.stderr.write(f"{program}: {error.counted}\n")
        return EXIT.USAGE
    except AlreadyRunningError as error:
        sys.stderr.write(f"{program}: {error}\n")
        return EXIT.REFUSED
    except EssentialTaskError as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return EXIT.FAILED
    return EXIT.OK
