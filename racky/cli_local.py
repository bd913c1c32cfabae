"""Commands that work on this machine alone: ``run``, ``check-config``, ``field``, ``draw``."""

from pathlib import Path
from typing import Annotated

import typer

from fieldkit.cli_field import Rows, RowsOption, ScansOption, print_reads
from fieldkit.cli_parts import AsOutput, ConfigArg, Output, checked, draw_pages, tell
from fieldkit.cli_parts import loaded as loaded_or_exit
from racky.config import RackyConfig, load


def load_config(path: Path) -> RackyConfig:
    """Read and check a rack's file of Racky, or exit with every fault told."""
    return loaded_or_exit(load, path)


def run(config: ConfigArg) -> None:
    """Work for one rack until SIGTERM; a stop leaves all outputs as they are."""
    from racky.start import start

    start(config)


def check_config(config: ConfigArg, output: AsOutput = Output.TEXT) -> None:
    """Check a rack's file of Racky with its profiles, gates and manifest: every fault at once, with line, key and what is allowed."""
    loaded = checked(load, config, output)
    power, gates = loaded.data.power, len(loaded.gates)
    text = (
        f"{config}: ok, power shelves: {len(power.shelves)}, battery shelves: {len(power.batteries)}, tags: {len(loaded.inputs)}, "
        f"gates: {gates or 'no lifecycle'}, digest {loaded.digest}"
    )
    tell({"ok": True, "errors": [], "digest": loaded.digest}, output, text)


def field(config: ConfigArg, output: RowsOption = Rows.TEXT, scans: ScansOption = None) -> None:
    """Read the field as the daemon does, and print every reading with its quality. Writes nothing."""
    from racky.reader import run_reads

    loaded = load_config(config)
    print_reads(lambda show: run_reads(loaded, scans, show), output)


def draw(
    check: Annotated[bool, typer.Option("--check", help="compare instead of writing; names each stale page")] = False,
    out: Annotated[Path, typer.Option("--out", help="the project's directory")] = Path(),
) -> None:
    """Write Racky's pages of docs/generated from the code's own tables."""
    from racky import draw as pages

    draw_pages("racky draw", pages, out, check=check)
