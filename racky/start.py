"""``racky run``, from the file it is given to its exit code."""

from pathlib import Path
from typing import NoReturn

from fieldkit.cli_app import run_and_exit


def start(file: Path) -> NoReturn:
    """Work for the rack of ``file`` until SIGTERM, and end the process."""

    def work() -> None:
        from racky.config import load
        from racky.run import run

        run(load(file))

    run_and_exit("racky", work)
