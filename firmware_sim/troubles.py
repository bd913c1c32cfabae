"""What can be wrong between a rack's plant and its devices: feedback that lies, valves that stick, harnesses exchanged."""

from dataclasses import dataclass
from enum import Enum

from firmware_sim.physics.actuator import Actuator, MotorActuator


class Lie(Enum):
    """What the limit switches (or the position feedback) of a valve show instead of the truth."""

    FOLLOWS_COMMAND = "follows_command"
    OPEN = "open"
    SHUT = "shut"
    NONE = "none"
    BOTH = "both"


class Pair(Enum):
    """Sensors of supply and return that a harness can exchange: their places among the transmitters' true values."""

    TEMPERATURES = (3, 4, 5, 6)
    PRESSURES = (7, 8)
    FLOWS = (0, 1)


def exchanged(true: tuple[float, ...], pairs: set[Pair]) -> tuple[float, ...]:
    """The true values as they arrive: the supply's sensor shows the return, and those of the return show the supply."""
    out = list(true)
    for pair in pairs:
        first, *others = pair.value
        out[first] = true[others[0]]
        for other in others:
            out[other] = true[first]
    return tuple(out)


@dataclass(slots=True)
class Jump:
    """A sticking valve: it holds until this share of its travel is due, then makes it at once."""

    share: float
    due: float = 0.0

    def step(self, drive: Actuator | MotorActuator, dt_s: float) -> None:
        drive.stuck = True
        wanted, stroke_s = _target(drive)
        self.due = self.due + dt_s / max(stroke_s, 1e-3) if wanted != drive.position else 0.0
        if self.due >= self.share:
            self.due = 0.0
            step = min(self.share, abs(wanted - drive.position))
            drive.position += step if wanted > drive.position else -step
            if isinstance(drive, MotorActuator):
                drive.shaft = drive.position


def _target(drive: Actuator | MotorActuator) -> tuple[float, float]:
    """Where the drive wants to go, and its stroke in seconds."""
    if isinstance(drive, MotorActuator):
        return (drive.position if drive.command is None else drive.command), drive.stroke_s
    return (drive.highest, drive.open_s) if drive.coil else (drive.lowest, drive.close_s)
