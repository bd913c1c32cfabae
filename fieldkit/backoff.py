"""When to try again: doubling waits between a floor and a cap, with jitter, for ever."""

import random


class Backoff:
    """The wait before the next attempt.

    floor_s, cap_s  shortest wait (never 0: that would be a busy loop) and longest
    """

    def __init__(self, floor_s: float, cap_s: float) -> None:
        if floor_s <= 0.0:
            raise ValueError(f"the shortest wait between attempts must be above 0 s, not {floor_s}")
        self._floor_s = floor_s
        self._cap_s = max(floor_s, cap_s)
        self._next_s = floor_s
        self._due_s = 0.0

    def failed(self, now_s: float) -> float:
        """Note a failed attempt; return the wait before the next, up to 30 % shorter so that many do not come together."""
        wait_s = max(self._floor_s, self._next_s * random.uniform(0.7, 1.0))  # ruff: ignore[suspicious-non-cryptographic-random-usage]
        self._due_s = now_s + wait_s
        self._next_s = min(self._cap_s, 2.0 * self._next_s)
        return wait_s

    def succeeded(self) -> None:
        """Start again from the floor; the next attempt is due at once."""
        self._next_s = self._floor_s
        self._due_s = 0.0

    def left_s(self, now_s: float) -> float:
        """Seconds until the next attempt is due; 0 or less when it is."""
        return self._due_s - now_s
