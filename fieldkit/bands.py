"""A contact that is measured instead of switched: which raw values mean 1 and which 0, and that all others mean neither.

For a leak rope or a switch with an end-of-line resistor, read as a voltage or a current: a short circuit and a broken
wire lie beyond the bands.
"""

from fieldkit.model import Model


class Bands(Model):
    """Raw values, each band from its lower edge up to and without its upper one."""

    on: tuple[int | float, int | float]
    """[from, below]: reads 1, as the tag means it (wet, open, pressed)."""
    off: tuple[int | float, int | float]
    """[from, below]: reads 0."""

    def state(self, raw: float) -> bool | None:
        """Whether ``raw`` means 1; None when it is in neither band."""
        if self.on[0] <= raw < self.on[1]:
            return True
        return False if self.off[0] <= raw < self.off[1] else None

    def beyond(self, raw: float) -> bool:
        """Whether ``raw`` lies below both bands or above both: a short circuit or a broken wire."""
        return raw < min(self.on[0], self.off[0]) or raw >= max(self.on[1], self.off[1])

    def problems(self) -> list[str]:
        out = [f"bands.{name} must rise" for name, (low, high) in (("on", self.on), ("off", self.off)) if low >= high]
        if self.on[0] < self.off[1] and self.off[0] < self.on[1]:
            out.append("bands.on and bands.off overlap: a raw value means one of them at most")
        return out
