"""Commands that work on this machine alone: ``run``, ``field``, ``shutdown``, ``commission-record``, ``replay``."""

import fcntl
import os
import signal
import time
from pathlib import Path
from typing import Annotated

import typer

from fieldkit.cli_field import Rows, RowsOption, ScansOption, print_reads
from valvey.cli_parts import EXIT, AsOutput, ConfigArg, Output, WhyOption, fail, load_config, tell


def run(config: ConfigArg) -> None:
    """Guard one rack until SIGTERM; a stop leaves valves and permit as found."""
    from valvey.start import start

    start(config)


def commission_record(
    config: ConfigArg,
    why: WhyOption,
    state: Annotated[str, typer.Option(help="FLOWING or ISOLATED: how the simulated rack stands")] = "FLOWING",
) -> None:
    """Seed the memory of a SIMULATED rack as after its commissioning: full, tested, armed. Refused for a real rack."""
    from valvey.seeding import RefusedError, record

    try:
        text = record(load_config(config), state, why)
    except RefusedError as error:
        fail(str(error), EXIT.REFUSED)
    typer.echo(text)


def field(config: ConfigArg, output: RowsOption = Rows.TEXT, scans: ScansOption = None) -> None:
    """Read the field as the guard does, and print every reading with its quality. Writes nothing."""
    from valvey.reader import run_reads

    loaded = load_config(config)
    print_reads(lambda show: run_reads(loaded, scans, show), output)


def replay(
    journal: Annotated[Path, typer.Argument(help="a journal's directory, or one of its segments")],
    output: AsOutput = Output.TEXT,
) -> None:
    """Run the logic again over every recording of a rack's or a loop's journal; exit code 1 when it decides otherwise."""
    from valvey.loop.replay import run as run_loop
    from valvey.replay import replay as run_again
    from valvey.replay import run as run_rack
    from valvey.replay import text

    try:
        found = run_again(journal, {"rack": run_rack, "loop": run_loop})
    except OSError as error:
        fail(f"{journal}: {error.strerror}", EXIT.USAGE)
    if not found:
        fail(
            f"{journal}: holds no recording; one is made around each trip, and of a loop around each event and work",
            EXIT.USAGE,
        )
    equal = all(one.equal for one in found)
    tell({"equal": equal, "recordings": [one.document() for one in found]}, output, text(found))
    if not equal:
        raise typer.Exit(int(EXIT.FAILED))


def shutdown(
    config: ConfigArg,
    safe: Annotated[bool, typer.Option("--safe", help="DARK, then planned isolation, then the daemon's end")] = False,
    timeout_s: Annotated[float, typer.Option("--timeout", min=1.0, help="seconds to wait for the end")] = 1200.0,
) -> None:
    """Take a rack out of service and end its daemon on this machine; under systemd, `systemctl stop` comes after."""
    from valvey.paths import Paths

    if not safe:
        fail(
            "a plain stop (SIGTERM, systemctl stop) leaves the rack as found; say --safe to take it out of service",
            EXIT.USAGE,
        )
    lock = Paths.of(load_config(config)).lock
    pid = _holder(lock)
    if pid is None:
        fail(f"no daemon holds {lock}: nothing to shut down on this machine", EXIT.UNREACHABLE)
    os.kill(pid, signal.SIGUSR1)
    typer.echo(f"valvey: process {pid} was asked; waiting for its end", err=True)
    until_s = time.monotonic() + timeout_s
    while _holder(lock) == pid:
        if time.monotonic() > until_s:
            fail(
                f"process {pid} still works at it after {timeout_s:g} s; `valvey status` says where it is", EXIT.TIMEOUT
            )
        time.sleep(0.1)
    typer.echo("valvey: the rack is shut and without power; its daemon has ended", err=True)


def _holder(lock: Path) -> int | None:
    """The process that holds a lock file; None when nobody does."""
    try:
        with lock.open("r+", encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                text = file.readline().strip()
                return int(text) if text.isdecimal() else None
    except OSError:
        return None
    return None
