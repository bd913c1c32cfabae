"""Power of one rack: contactor, feeder, bus bar, load."""

import math

from firmware_sim.plant_config import RackConfig

CONTACTOR_S = 0.1
"""Time from the coil to the contacts, both ways."""
BUSBAR_TAU_S = 1.2
"""The shelves' output capacitors and bleeders: below a tenth of the voltage in 2.8 s."""
LOAD_TAU_S = 0.05
"""What is left of the load's current while the bus bar collapses."""


class RackPower:
    """``permit_coil`` and ``load_kw`` are set; the rest follows.

    weld     fault: the contacts stay as they are whatever the coil does
    backfed  fault: a battery shelf keeps the bus bar alive without the feeder
    """

    def __init__(self, config: RackConfig, on: bool) -> None:
        self._config = config
        self.permit_coil = on
        self.permit_closed = on
        self.load_kw = config.load_kw
        self.weld = False
        self.backfed = False
        self._left_s = CONTACTOR_S
        self.busbar_v = config.busbar_v if on else 0.0
        self.busbar_kw = self.load_kw if on else 0.0

    @property
    def feeder_kw(self) -> float:
        """What the feed delivers: the load and the shelves' losses."""
        return self.busbar_kw / self._config.feeder_efficiency if self.permit_closed else 0.0

    def advance(self, dt_s: float) -> None:
        """Contacts follow the coil after their delay; the bus bar follows the contacts."""
        off_s = dt_s
        if self.permit_coil == self.permit_closed or self.weld:
            self._left_s = CONTACTOR_S
        else:
            self._left_s -= dt_s
            if self._left_s <= 1e-9:
                self.permit_closed = self.permit_coil
                off_s, self._left_s = -self._left_s, CONTACTOR_S
        self.feed(off_s)

    def feed(self, off_s: float) -> None:
        """What stands on the bus bar now; ``off_s``: how much of the step the contacts have been open."""
        if self.permit_closed or self.backfed:
            self.busbar_v = self._config.busbar_v
            self.busbar_kw = self.load_kw
        elif self.busbar_v > 0.0:
            self.busbar_v *= math.exp(-off_s / BUSBAR_TAU_S)
            self.busbar_kw *= math.exp(-off_s / LOAD_TAU_S)
            if self.busbar_v < 0.01:
                self.busbar_v = self.busbar_kw = 0.0
