"""The heartbeat of a device: a number that must move, or everything read with it is a frozen copy. Pure."""

from fieldkit.reading import Reading


class Pulse:
    """Frozen when the same count was read in ``polls`` polls or more over at least ``limit_s`` seconds."""

    def __init__(self, *, limit_s: float = 0.5, polls: int = 3) -> None:
        self._limit_s = limit_s
        self._polls = polls
        self._count: float | None = None
        self._since_s = 0.0
        self._seen = 0

    def note(self, reading: Reading) -> bool:
        """Take the heartbeat of one poll; return whether the device is frozen. Without a value nothing is known."""
        if reading.value is None or reading.value != self._count:
            self._count = reading.value
            self._since_s = reading.at_s
            self._seen = 1
            return False
        self._seen += 1
        return self._seen >= self._polls and reading.at_s - self._since_s >= self._limit_s
