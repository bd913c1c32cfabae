"""Commands that need nothing but files: ``valvey check-config`` and ``valvey draw``."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from fieldkit.cli_parts import draw_pages
from fieldkit.errors import ConfigError, Fault
from valvey import draw as pages
from valvey.cli_parts import Output
from valvey.config import RackConfig, load, to_limits
from valvey.config_check_buses import warnings
from valvey.ladder import Response, responses, rungs
from valvey.lines import LANES, line_plans
from valvey.loop import cli as loop_cli
from valvey.loop.cli import is_loop

BAD_CONFIGURATION = 2
WIDTH = 160
"""Columns where no terminal says how wide it is, so that a pipe gets whole lines."""


def check_config(
    file: Annotated[Path, typer.Argument(help="a rack's file, or a loop's")],
    record: Annotated[
        Path | None, typer.Argument(help="with --require-commissioned: the record, where it is not beside the memory")
    ] = None,
    require: Annotated[
        bool, typer.Option("--require-commissioned", help="demand the complete, signed record of `valvey commission`")
    ] = False,
    output: Annotated[str, typer.Option("-o", "--output", help="text or json")] = "text",
) -> None:
    """Check a rack's file with its profiles and policy: every fault at once, or the response time of every function."""
    if output not in {"text", "json"}:
        raise typer.BadParameter("text or json", param_hint="-o")
    if record is not None and not require:
        raise typer.BadParameter("a record is looked at with --require-commissioned only", param_hint="RECORD")
    if is_loop(file):
        if require:
            raise typer.BadParameter("a loop is not commissioned; its racks are", param_hint="--require-commissioned")
        loop_cli.check_config(file, Output(output))
        return
    try:
        config = load(file)
        if require:
            _demand(config, record)
    except ConfigError as error:
        if output == "json":
            _print({"ok": False, "errors": [asdict(fault) for fault in error.faults], "digest": None})
        else:
            _faults(error.faults)
        raise typer.Exit(BAD_CONFIGURATION) from error
    limits = to_limits(config)
    sheet = responses(config, limits)
    if output == "json":
        times = [{**asdict(line), "total_s": line.total_s} for line in sheet]
        ladder = [
            {"name": one.name, "value_s": one.value_s, "limit_s": one.limit_s, "because": one.because}
            for one in rungs(config, limits)
        ]
        document = {"ok": True, "errors": [], "digest": config.digest, "response_times": times, "ladder": ladder}
        lines = [
            {
                "line": one.way,
                "settings": str(one.settings.line),
                "buses": one.buses,
                "share": round(one.share, 4),
                "cycle_s": {e.lane: round(one.cycle_s(e.lane), 4) for e in one.exchanges if e.lane is not None},
            }
            for one in line_plans(config)
        ]
        _print({**document, "lines": lines, "warnings": [asdict(one) for one in warnings(config)]})
    else:
        _sheet(config, sheet)
        _lines(config)


def _demand(config: RackConfig, record: Path | None) -> None:
    """Raise ConfigError with all that the rack's record lacks."""
    from valvey.commissioning.demanded import faults_of
    from valvey.paths import Paths

    if found := faults_of(config, Paths.of(config).signoff if record is None else record):
        raise ConfigError(found)


def draw(
    check: Annotated[bool, typer.Option("--check", help="compare instead of writing; names each stale page")] = False,
    out: Annotated[Path, typer.Option("--out", help="the project's directory")] = Path(),
) -> None:
    """Write docs/generated and the tables of SAFETY.md from the code's own tables."""
    draw_pages("valvey draw", pages, out, check=check)


def _print(document: dict[str, Any]) -> None:
    typer.echo(json.dumps(document, indent=1, ensure_ascii=False))


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDTH)


def _faults(faults: tuple[Fault, ...]) -> None:
    table = Table(
        "where", "key", "what is wrong", "allowed", title=f"{len(faults)} faults" if len(faults) > 1 else "1 fault"
    )
    for fault in faults:
        where = fault.file if fault.line is None else f"{fault.file}:{fault.line}"
        near = f"; did you mean {fault.nearest}?" if fault.nearest is not None else ""
        table.add_row(*(_plain(text) for text in (where, fault.key, fault.message + near, fault.allowed or "")))
    _console().print(table)


def _plain(text: str) -> str:
    return text.replace("[", r"\[")


def _sheet(config: RackConfig, sheet: tuple[Response, ...]) -> None:
    table = Table(title=f"response times of {config.data.site}/{config.data.rack}, in s, from the cause to the effect")
    for name in ("function", "effect"):
        table.add_column(name)
    for name in ("lag", "device", "scan", "hold", "write", "act", "total", "limit"):
        table.add_column(name, justify="right")
    for line in sheet:
        parts = (line.lag_s, line.delay_s, line.scan_s, line.hold_s, line.write_s, line.act_s, line.total_s)
        limit = "-" if line.limit_s is None else f"{line.limit_s:.2f}"
        table.add_row(line.row, line.effect, *(f"{part:.2f}" for part in parts), limit)
    console = _console()
    console.print(table)
    console.print(f"{config.file}: ok, digest {config.digest}")


def _lines(config: RackConfig) -> None:
    """How busy the serial lines are, and what would be better done another way."""
    plans = line_plans(config)
    if plans:
        table = Table("line", "settings", "devices", title="serial lines, times in s")
        for name in ("busy", *LANES):
            table.add_column(name, justify="right")
        for one in plans:
            cycles = [
                f"{one.cycle_s(lane):.3f}" if any(e.lane == lane for e in one.exchanges) else "-" for lane in LANES
            ]
            names = ", ".join(one.buses)
            table.add_row(_plain(one.way), str(one.settings.line), names, f"{100 * one.share:.0f} %", *cycles)
        _console().print(table)
    for fault in warnings(config):
        typer.echo(f"warning: {fault}", err=True)
