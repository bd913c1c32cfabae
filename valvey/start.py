"""``valvey run``, from the file it is given to its exit code.

Without the libraries of the command line, and with the collector of garbage off: while a rack's daemon starts, nobody
guards the rack. ``scan.settle`` deals with what is built here.
"""

import gc
import os
import sys
from pathlib import Path
from typing import NoReturn

from fieldkit.exit_codes import EXIT


def start(file: Path) -> NoReturn:
    """Guard the rack of ``file`` until SIGTERM, and end the process."""
    gc.disable()
    code = _guard(file)
    # A thread that hangs in a disk or a name server must not keep a stopped guard from ending.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _guard(file: Path) -> EXIT:
    from fieldkit.errors import ConfigError
    from fieldkit.service import AlreadyRunningError
    from fieldkit.supervise import EssentialTaskError
    from valvey.config import load
    from valvey.run import run

    try:
        run(load(file))
    except ConfigError as error:
        sys.stderr.write(f"valvey: {len(error.faults)} faults\n{error}\n")
        return EXIT.USAGE
    except AlreadyRunningError as error:
        sys.stderr.write(f"valvey: {error}\n")
        return EXIT.REFUSED
    except EssentialTaskError as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return EXIT.FAILED
    return EXIT.OK
