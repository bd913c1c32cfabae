"""The reference battery shelf: it takes the bus-bar over when no power shelf feeds it, unless the permit's wire inhibits it."""

from dataclasses import dataclass

from firmware_sim.parts.channel import Channel, ChannelSpec
from firmware_sim.parts.maps_power import BATTERY_SHELF, REVISION
from firmware_sim.parts.noise import Noise, seed_of
from firmware_sim.parts.shelf import Shelf

CHARGE_C_RATE = 0.5
"""It charges with half its capacity an hour."""
FULL_PCT = 100.0
FLOAT_V = 52.0
WARM_K = 2.0


@dataclass(frozen=True, slots=True)
class BatteryTruth:
    """What a battery shelf feels: kW it feeds (below 0: takes), V of the bus-bar, the air."""

    kw: float
    volts: float
    air_c: float


class BatteryShelf(Shelf):
    """``drive`` moves the output, with every step of the bench; ``show`` brings the registers up to date.

    inhibit_broken  fault: the wire of W6 does not reach it
    broken          fault: its cells are off
    charge_pct      true state of charge
    armed           a power shelf has fed the bus-bar since the output came on: only then it takes over
    """

    def __init__(
        self,
        serial: str = "BS-0001",
        capacity_kwh: float = 3.0,
        number: int = 1,
        revision: str = REVISION,
        seed: int = 0,
    ) -> None:
        super().__init__(BATTERY_SHELF, serial, number, revision)
        self.capacity_kwh = capacity_kwh
        self.charge_pct = FULL_PCT
        self.inhibit_broken = self.broken = False
        self.armed = self.inhibited = False
        spec = ChannelSpec(f"QT-{self.loop}", tau_s=0.0, resolution=0.01, low=0.0, high=100.0)
        self.channels = {spec.tag: Channel(spec, Noise(seed_of(seed, serial + spec.tag)))}
        self._charge = self.channels[spec.tag]
        self._state_names = (
            f"XI-{self.loop}",
            f"XB-{self.loop}",
            "",
            f"inhibit of {self.loop}",
            f"{self.loop} empty",
            "",
        )

    @property
    def can_feed(self) -> bool:
        return self.on and self.armed

    @property
    def charges_kw(self) -> float:
        """What it wants to be charged with while power shelves feed the bus-bar."""
        return CHARGE_C_RATE * self.capacity_kwh if self.on and self.charge_pct < FULL_PCT else 0.0

    def drive(self, *, permit: bool, shelves_feed: bool, now_s: float) -> None:
        """Follow the command and the permit's wire; ``permit``: its coil is energised."""
        self._follow(now_s)
        self.inhibited = not (permit or self.inhibit_broken)
        wanted = (self.commanded or self.stuck_on) and not self.stuck_off
        self.on = wanted and not self.inhibited and not self.broken and self.charge_pct > 0.0
        self.armed = self.on and (self.armed or shelves_feed)

    def begin(self) -> None:
        super().begin()
        self.armed = True

    def move(self, kw: float, dt_s: float) -> None:
        """Feed ``kw`` (take, below 0) for ``dt_s``."""
        if kw:
            pct = self.charge_pct - 100.0 * kw * dt_s / 3600.0 / self.capacity_kwh
            self.charge_pct = min(FULL_PCT, max(0.0, pct))

    def show(self, truth: BatteryTruth, now_s: float, dt_s: float) -> None:
        image, kw = self.input, truth.kw
        feeding, empty = kw > 0.0, self.charge_pct <= 0.0
        bits = self.on | feeding << 1 | (kw < 0.0) << 2 | self.inhibited << 3 | empty << 4 | self.broken << 5
        self.show_bits(0, bits, self._state_names)
        if self._charge.step(self.charge_pct, now_s, dt_s):
            image.set_f32(2, self._charge.shown)
            if self._charge.swapped:
                image.swap_words(2)
        volts = 0.0 if self.broken else truth.volts if self.on and truth.volts > 1.0 else FLOAT_V
        image.set_f32(4, kw)
        image.set_f32(6, volts)
        image.set_f32(8, 1000.0 * kw / volts if volts > 1.0 else 0.0)
        self.show_celsius(10, truth.air_c + WARM_K + (5.0 if feeding else 0.0))
        image.set_u16(11, self.mailbox.active)
