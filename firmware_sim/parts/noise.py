"""Seeded noise without a library: the same seed gives the same trace on every machine."""

import math

_MASK = (1 << 64) - 1
_TABLE_SIZE = 1024


def _splitmix(state: int) -> tuple[int, int]:
    """One step of splitmix64 (Steele, Lea, Flood 2014): the new state, and 64 well mixed bits."""
    state = (state + 0x9E3779B97F4A7C15) & _MASK
    mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return state, mixed ^ (mixed >> 31)


def _normal_table() -> tuple[float, ...]:
    """Standard normal deviates, drawn once by Box and Muller; walking it is cheaper than drawing."""
    state, values = 1, list[float]()
    while len(values) < _TABLE_SIZE:
        state, a = _splitmix(state)
        state, b = _splitmix(state)
        radius = math.sqrt(-2.0 * math.log((a + 1) / 2**64))
        angle = 2.0 * math.pi * b / 2**64
        values += [radius * math.cos(angle), radius * math.sin(angle)]
    return tuple(values)


_NORMAL = _normal_table()


def seed_of(seed: int, name: str) -> int:
    """A seed for one part, from the seed of the whole and the part's name."""
    state = seed & _MASK
    for byte in name.encode():
        state = _splitmix(state ^ byte)[1]
    return state


class Noise:
    """A stream of random numbers that belongs to one part."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def normal(self) -> float:
        """One standard normal deviate (from a table of 1024, so never beyond about 3.5)."""
        # Knuth's linear congruential step: its high bits are good enough to pick from a shuffled table.
        self._state = state = (self._state * 6364136223846793005 + 1442695040888963407) & _MASK
        return _NORMAL[state >> 54]

    def bits(self) -> int:
        """64 random bits."""
        self._state, bits = _splitmix(self._state)
        return bits

    def bytes(self, count: int) -> bytes:
        return b"".join(self.bits().to_bytes(8) for _ in range(count // 8 + 1))[:count]
