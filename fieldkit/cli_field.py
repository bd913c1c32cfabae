"""What every daemon's ``field`` command shares: its options, and the printing of readings until told to stop."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from enum import StrEnum
from typing import Annotated, Any

import typer

from fieldkit.rows import as_lines, as_text


class Rows(StrEnum):
    """How readings are printed."""

    TEXT = "text"
    JSONL = "jsonl"


RowsOption = Annotated[Rows, typer.Option("-o", "--output", help="text, or one JSON object a line")]
ScansOption = Annotated[int | None, typer.Option("--scans", min=1, help="stop after so many; for ever unless given")]
Show = Callable[[list[dict[str, Any]]], None]


def print_reads(reads: Callable[[Show], Coroutine[Any, Any, None]], output: Rows) -> None:
    """Print what ``reads`` shows, scan by scan, until it ends or nobody listens any more."""
    form = as_lines if output is Rows.JSONL else as_text

    def show(rows: list[dict[str, Any]]) -> None:
        sys.stdout.write(form(rows) + "\n")
        sys.stdout.flush()

    with suppress(KeyboardInterrupt, BrokenPipeError):
        asyncio.run(reads(show))
