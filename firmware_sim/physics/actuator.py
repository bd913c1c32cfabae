"""Valve drives: spring-return on/off, and a motor that follows a position command within a dead band.

Positions are 0 (shut) to 1 (open). Both move in straight lines, so any step size gives the same track.
"""

import math


def moved(position: float, target: float, dt_s: float, stroke_s: float) -> float:
    """Position after ``dt_s`` at 1/``stroke_s`` per second towards ``target``; a stroke of 0 jumps."""
    if stroke_s <= 0.0:
        return target
    step = dt_s / stroke_s
    if abs(target - position) <= step + 1e-9:  # arrives, whatever rounding the steps before left
        return target
    return position + step if target > position else position - step


def travel_s(start: float, end: float, stroke_s: float) -> float:
    """Time of a travel."""
    return abs(end - start) * stroke_s


class Actuator:
    """An on/off drive with limit switches: opens while its coil is energised, a spring shuts it.

    Faults (set from outside): ``stuck`` does not move; ``slow`` multiplies the stroke; ``spring_broken`` stays where it is without
    its coil; ``lowest``/``highest`` bound the travel (a partial stroke).
    """

    __slots__ = ("close_s", "coil", "highest", "lowest", "open_s", "position", "slow", "spring_broken", "stuck")

    LIMIT = 0.01
    """A limit switch makes within this much of the end."""

    def __init__(self, open_s: float, close_s: float, position: float = 0.0) -> None:
        self.open_s = open_s
        self.close_s = close_s
        self.position = position
        self.coil = position > 0.5
        self.stuck = False
        self.slow = 1.0
        self.spring_broken = False
        self.lowest = 0.0
        self.highest = 1.0

    @property
    def open_limit(self) -> bool:
        """ZSO: fully open."""
        return self.position >= 1.0 - self.LIMIT

    @property
    def shut_limit(self) -> bool:
        """ZSC: fully shut."""
        return self.position <= self.LIMIT

    def advance(self, dt_s: float) -> None:
        """Move for ``dt_s``."""
        target = self.highest if self.coil else self.lowest
        if self.position == target or self.stuck or (self.spring_broken and not self.coil):
            return
        stroke_s = (self.open_s if target > self.position else self.close_s) * self.slow
        self.position = moved(self.position, target, dt_s, stroke_s)


class MotorActuator:
    """A modulating drive: starts when the command leaves its dead band, stops on it; holds without a command.

    command     wanted position 0..1, None when the command is lost
    feedback    position as its potentiometer tells it, quantised
    backlash    play between motor and stem; ``position`` is the stem

    Faults as in `Actuator`, without the spring and ``lowest``.
    """

    __slots__ = (
        "backlash",
        "command",
        "dead_band",
        "feedback_step",
        "highest",
        "moving",
        "position",
        "shaft",
        "slow",
        "stroke_s",
        "stuck",
    )

    def __init__(
        self,
        stroke_s: float,
        position: float,
        dead_band: float = 0.005,
        feedback_step: float = 0.001,
        backlash: float = 0.0,
    ) -> None:
        self.stroke_s = stroke_s
        self.position = position
        self.shaft = position
        self.dead_band = dead_band
        self.feedback_step = feedback_step
        self.backlash = backlash
        self.command: float | None = position
        self.moving = False
        self.stuck = False
        self.slow = 1.0
        self.highest = 1.0

    @property
    def open_limit(self) -> bool:
        """Fully open."""
        return self.position >= 1.0 - Actuator.LIMIT

    @property
    def shut_limit(self) -> bool:
        """Fully shut."""
        return self.position <= Actuator.LIMIT

    @property
    def feedback(self) -> float:
        """Position as the drive reports it, 0..1."""
        step = self.feedback_step
        return math.floor(self.shaft / step + 0.5) * step if step > 0.0 else self.shaft

    def advance(self, dt_s: float) -> None:
        """Move for ``dt_s``."""
        if self.command is None or self.stuck:
            self.moving = False
            return
        target = min(max(self.command, 0.0), self.highest)
        # The ends are always driven home: a valve told 0 % must not rest a dead band open.
        if not self.moving and (
            abs(target - self.shaft) > self.dead_band or (target in {0.0, 1.0} and self.shaft != target)
        ):
            self.moving = True
        if self.moving:
            self.shaft = moved(self.shaft, target, dt_s, self.stroke_s * self.slow)
            self.moving = self.shaft != target
        play = 0.5 * self.backlash
        self.position = min(max(self.position, self.shaft - play), self.shaft + play) if play else self.shaft
