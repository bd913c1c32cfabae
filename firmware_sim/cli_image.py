"""``firmware-sim image``: a firmware image that the simulated shelves accept."""

from pathlib import Path
from typing import Annotated

import typer

from firmware_sim.cli_output import FAILED, USAGE, fail
from firmware_sim.parts.noise import Noise, seed_of


def image(
    file: Annotated[Path, typer.Argument(help="where to write it")],
    revision: Annotated[str, typer.Option(help="1 to 8 characters")] = "1.1.0",
    kib: Annotated[int, typer.Option(min=1, max=1024, help="size of its body")] = 4,
) -> None:
    """Write a firmware image; the same revision and size give the same bytes."""
    from firmware_sim.parts.orv3_mailbox import build_image

    try:
        data = build_image(revision, Noise(seed_of(kib, revision)).bytes(1024 * kib))
    except ValueError as error:
        fail(str(error), USAGE)
    try:
        file.write_bytes(data)
    except OSError as error:
        fail(f"cannot write {file}: {error.strerror}", FAILED)
    typer.echo(f"SIMULATED firmware {revision}: {len(data)} bytes in {file}")
