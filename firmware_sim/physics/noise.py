"""Seeded noise that is the same on every machine and every release of Python (SplitMix64)."""

_MASK = 0xFFFF_FFFF_FFFF_FFFF


class Noise:
    """A stream of numbers fixed by its seed and its name, so that adding one stream leaves the others as they were."""

    __slots__ = ("_state",)

    def __init__(self, seed: int, name: str = "") -> None:
        state = seed & _MASK
        for byte in name.encode():
            state = ((state ^ byte) * 0x0000_0100_0000_01B3) & _MASK
        self._state = state

    def uniform(self) -> float:
        """The next number from 0 (included) to 1 (excluded)."""
        self._state = (self._state + 0x9E37_79B9_7F4A_7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB) & _MASK
        return ((z ^ (z >> 31)) >> 11) * (1.0 / (1 << 53))

    def normal(self) -> float:
        """The next number about 0 with deviation 1 (sum of twelve uniforms: bounded at ±6, which suits a sensor)."""
        return sum(self.uniform() for _ in range(12)) - 6.0
