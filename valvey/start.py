"""``valvey run``, from the file it is given to its exit code.

Without the libraries of the command line, and with the collector of garbage off: while a rack's daemon starts, nobody
guards the rack. ``scan.settle`` deals with what is built here.
"""

import gc
from pathlib import Path
from typing import NoReturn

from fieldkit.cli_app import run_and_exit


def start(file: Path) -> NoReturn:
    """Guard the rack of ``file`` until SIGTERM, and end the process."""
    gc.disable()

    def work() -> None:
        from valvey.config import load
        from valvey.run import run

        run(load(file))

    run_and_exit("valvey", work)
