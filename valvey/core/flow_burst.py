"""What a load needed of late: the square wave of a training job must not turn FCV-101 round twice a period."""

from dataclasses import dataclass

#: A load that rests for no longer than this keeps its flow. What is wanted begins to fall once the load has been low for
#: this, at most for twice this.
BURST_S = 30.0


@dataclass(frozen=True, slots=True)
class Burst:
    """The most that the power needed in the present stretch of ``BURST_S`` and in the one before; ``age_s`` of the present."""

    most_lpm: float = 0.0
    before_lpm: float = 0.0
    age_s: float = 0.0

    @property
    def highest_lpm(self) -> float:
        return max(self.most_lpm, self.before_lpm)


def remember(old: Burst, needed_lpm: float | None, dt_s: float) -> Burst:
    """Return what was needed of late, after ``dt_s`` more seconds in which ``needed_lpm`` was; None: nobody can tell.

    A power reading that is missing for a moment takes nothing from what was known; one that stays away is forgotten in time.
    """
    known = 0.0 if needed_lpm is None else needed_lpm
    most, age_s = max(old.most_lpm, known), old.age_s + dt_s
    return Burst(known, most, 0.0) if age_s >= BURST_S else Burst(most, old.before_lpm, age_s)
