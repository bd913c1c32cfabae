"""A limit on a measured value whose crossing is stamped."""

from dataclasses import dataclass

from firmware_sim.parts.channel import Channel
from firmware_sim.rig import Rig


@dataclass(slots=True)
class Watch:
    """One limit; ``name`` is what it is stamped as."""

    rig: Rig
    name: str
    channel: Channel
    below: float | None
    above: float | None
    crossed: bool = False

    def step(self) -> bool:
        """True when the value crossed, one way or the other."""
        shown = self.channel.shown
        crossed = (self.below is not None and shown < self.below) or (self.above is not None and shown > self.above)
        changed, self.crossed = crossed != self.crossed, crossed
        return changed
