"""``racky run``, from the file it is given to its exit code."""

import os
import sys
from pathlib import Path
from typing import NoReturn

from fieldkit.exit_codes import EXIT


def start(file: Path) -> NoReturn:
    """Work for the rack of ``file`` until SIGTERM, and end the process."""
    code = _work(file)
    # A thread that hangs in a disk or a name server must not keep a stopped daemon from ending.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _work(file: Path) -> EXIT:
    from fieldkit.errors import ConfigError
    from fieldkit.service import AlreadyRunningError
    from fieldkit.supervise import EssentialTaskError
    from racky.config import load
    from racky.run import run

    try:
        run(load(file))
    except ConfigError as error:
        sys.stderr.write(f"racky: {len(error.faults)} faults\n{error}\n")
        return EXIT.USAGE
    except AlreadyRunningError as error:
        sys.stderr.write(f"racky: {error}\n")
        return EXIT.REFUSED
    except EssentialTaskError as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return EXIT.FAILED
    return EXIT.OK
