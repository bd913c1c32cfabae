"""The command ``valvey``. Exit codes: 0 ok, 1 failed, 2 usage or bad configuration, 3 refused, 4 timed out, 5 unreachable.

Commands import what they need when they run: `valvey --help` does not wait for a Modbus client.
"""

import os
import sys
from typing import Annotated

import typer

from valvey.cli_parts import EXIT, ConfigArg, WhyOption, fail, load_config

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Guards the coolant and the power permit of one rack."
)


@app.command()
def run(config: ConfigArg) -> None:
    """Guard one rack until SIGTERM; a stop leaves valves and permit as found."""
    from fieldkit.service import AlreadyRunningError
    from fieldkit.supervise import EssentialTaskError
    from valvey.run import run as run_rack

    loaded = load_config(config)
    code = EXIT.OK
    try:
        run_rack(loaded)
    except AlreadyRunningError as error:
        typer.echo(f"valvey: {error}", err=True)
        code = EXIT.REFUSED
    except EssentialTaskError as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = EXIT.FAILED
    # A thread that hangs in a disk or a name server must not keep a stopped guard from ending.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@app.command("commission-record")
def commission_record(
    config: ConfigArg,
    why: WhyOption,
    state: Annotated[str, typer.Option(help="FLOWING or ISOLATED: how the simulated rack stands")] = "FLOWING",
) -> None:
    """Seed the memory of a SIMULATED rack as after its commissioning: full, tested, armed. Refused for a real rack."""
    from valvey.commissioning import RefusedError, record

    try:
        text = record(load_config(config), state, why)
    except RefusedError as error:
        fail(str(error), EXIT.REFUSED)
    typer.echo(text)


def whole() -> typer.Typer:
    """Return the application with every command; those of the configuration bring tables and drawings with them."""
    from valvey.cli_config import check_config, draw

    app.command("check-config")(check_config)
    app.command("draw")(draw)
    return app


def main() -> None:
    """Entry point of the console script. What guards or asks does not wait for what draws."""
    mine = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    if sys.argv[1:2] and sys.argv[1] in mine:
        app()
    else:
        whole()()
