"""Exit codes, the same for every command."""

from enum import IntEnum


class EXIT(IntEnum):
    """See the names; README and systemd units rely on the numbers."""

    OK = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    TIMEOUT = 4
    UNREACHABLE = 5
