"""Power of a rack whose shelves are devices of their own: contactor, shelves, batteries, bus bar, load."""

import math

from firmware_sim.plant_config import RackConfig
from firmware_sim.rack_power import BUSBAR_TAU_S, LOAD_TAU_S, RackPower

BATTERY_V_SHARE = 0.96
"""The bus bar stands a little lower on batteries."""


class ShelvedPower(RackPower):
    """``mains``, ``shelves_kw``, ``battery_feeds`` and ``charging_kw`` are set before each step; the rest follows.

    mains          AC before the contactor
    shelves_kw     what the power shelves whose outputs are on can give together
    battery_feeds  a battery would take the bus bar over
    charging_kw    what the batteries want while power shelves feed
    """

    def __init__(self, config: RackConfig, on: bool) -> None:
        super().__init__(config, on)
        self.mains = True
        self.shelves_kw = 0.0
        self.battery_feeds = False
        self.charging_kw = 0.0

    @property
    def ac(self) -> bool:
        """AC behind the contactor."""
        return self.mains and self.permit_closed

    @property
    def shelves_feed(self) -> bool:
        return self.ac and self.shelves_kw > 0.0

    @property
    def on_battery(self) -> bool:
        return self.battery_feeds and not self.shelves_feed

    @property
    def limited(self) -> bool:
        """The load wants more than the shelves can give."""
        return self.shelves_feed and self.load_kw > self.shelves_kw

    @property
    def from_shelves_kw(self) -> float:
        """What the shelves give: the load, and what charges the batteries."""
        return self.busbar_kw + self.charges_kw if self.shelves_feed else 0.0

    @property
    def charges_kw(self) -> float:
        """What the shelves have left for charging."""
        return min(self.charging_kw, max(0.0, self.shelves_kw - self.busbar_kw)) if self.shelves_feed else 0.0

    @property
    def from_batteries_kw(self) -> float:
        return self.busbar_kw if self.on_battery else 0.0

    @property
    def feeder_kw(self) -> float:
        return self.from_shelves_kw / self._config.feeder_efficiency

    def feed(self, off_s: float) -> None:
        full_v = self._config.busbar_v
        if self.shelves_feed:
            self.busbar_v, self.busbar_kw = full_v, min(self.load_kw, self.shelves_kw)
        elif self.battery_feeds:
            self.busbar_v, self.busbar_kw = BATTERY_V_SHARE * full_v, self.load_kw
        elif self.backfed:
            self.busbar_v, self.busbar_kw = full_v, self.load_kw
        elif self.busbar_v > 0.0:
            self.busbar_v *= math.exp(-off_s / BUSBAR_TAU_S)
            self.busbar_kw *= math.exp(-off_s / LOAD_TAU_S)
            if self.busbar_v < 0.01:
                self.busbar_v = self.busbar_kw = 0.0
