"""What a rack's IT would draw over time, beside a constant: the square wave of a training job."""

from dataclasses import dataclass

LEAST_PERIOD_S, MOST_PERIOD_S = 0.2, 600.0


@dataclass(frozen=True, slots=True)
class SquareWave:
    """``high_kw`` for the first half of each period, ``low_kw`` for the second; simulated seconds.

    Raises ValueError for a period outside 0.2..600 s, or a low load above the high one.
    """

    high_kw: float
    low_kw: float
    period_s: float
    begins_s: float = 0.0

    def __post_init__(self) -> None:
        if not LEAST_PERIOD_S <= self.period_s <= MOST_PERIOD_S:
            raise ValueError(f"period_s is {self.period_s:g}; from {LEAST_PERIOD_S:g} to {MOST_PERIOD_S:g}")
        if not 0.0 <= self.low_kw <= self.high_kw:
            raise ValueError(f"low_kw is {self.low_kw:g}; from 0 to kw ({self.high_kw:g})")

    def at(self, now_s: float) -> float:
        """The load at a simulated time, kW."""
        share = ((now_s - self.begins_s) / self.period_s) % 1.0
        return self.high_kw if share < 0.5 else self.low_kw
