"""The reference power shelf: six supplies behind the rack's contactor, and one output."""

from dataclasses import dataclass

from firmware_sim.parts.channel import Channel, ChannelSpec
from firmware_sim.parts.maps_power import POWER_SHELF, PSU_AT, PSU_STRIDE, PSUS, REVISION
from firmware_sim.parts.noise import Noise, seed_of
from firmware_sim.parts.shelf import Shelf

SOFT_START_S = 0.5
INPUT_V = 240.0
LEAST_RPM, MORE_RPM = 4000.0, 9000.0
FAN_FAULT_SHARE = 0.5
"""A fan below this share of what it was told shows its fault."""
WARM_K, HOT_C, WARM_TAU_S = 3.0, 50.0, 40.0
STILL_FAN_K = 28.0
"""What a loaded supply's inlet rises by at last when its fan stands still: its own heat comes back."""


@dataclass(slots=True)
class Supply:
    """One PSU.

    broken       fault: gives nothing;  fed  its AC feed is there;  sensor_broken  its inlet sensor
    fan_share    what the fan makes of what it is told, 1 = all
    """

    broken: bool = False
    fed: bool = True
    sensor_broken: bool = False
    fan_share: float = 1.0
    above_k: float = WARM_K

    @property
    def sound(self) -> bool:
        return self.fed and not self.broken


@dataclass(frozen=True, slots=True)
class ShelfTruth:
    """What a power shelf feels: AC behind the contactor, kW and V at its output, the air, whether more is wanted of it."""

    ac: bool
    kw: float
    volts: float
    air_c: float
    limited: bool = False


class PowerShelf(Shelf):
    """``drive`` moves the output, with every step of the bench; ``show`` brings the registers up to date."""

    def __init__(
        self, serial: str = "PS-0001", rating_kw: float = 33.0, number: int = 1, revision: str = REVISION, seed: int = 0
    ) -> None:
        self.supplies = [Supply() for _ in PSUS]
        super().__init__(POWER_SHELF, serial, number, revision)
        self.rating_kw = rating_kw
        spec = ChannelSpec(f"JT-{self.loop}", tau_s=0.2, noise=0.01, noise_share=0.001, resolution=0.01, low=0.0)
        self.channels = {spec.tag: Channel(spec, Noise(seed_of(seed, serial + spec.tag)))}
        self._power = self.channels[spec.tag]
        self._left_s = SOFT_START_S
        self._ac = False
        self._state_names = (f"XI-{self.loop}", f"AC at {self.loop}", f"limit of {self.loop}")
        self._psu_names = [(f"XA-{self.loop}{k}", f"SA-{self.loop}{k}", f"EA-{self.loop}{k}", "") for k in PSUS]

    @property
    def capacity_kw(self) -> float:
        """What it can feed now."""
        sound = sum(one.sound for one in self.supplies)
        return self.rating_kw * sound / len(self.supplies) if self.on else 0.0

    def drive(self, *, ac: bool, now_s: float, dt_s: float) -> None:
        """Follow the command and the feed: on after the soft start, off at once."""
        self._follow(now_s)
        self._ac = ac
        wanted = (self.commanded or self.stuck_on) and not self.stuck_off
        if not (wanted and ac and any(one.sound for one in self.supplies)):
            self.on, self._left_s = False, SOFT_START_S
        elif not self.on:
            self._left_s -= dt_s
            self.on = self._left_s <= 1e-9

    def show(self, truth: ShelfTruth, now_s: float, dt_s: float) -> None:
        image, volts = self.input, truth.volts if self.on else 0.0
        kw = truth.kw if self.on else 0.0
        if self._power.step(kw, now_s, dt_s):
            image.set_f32(2, self._power.shown)
            if self._power.swapped:
                image.swap_words(2)
        image.set_f32(4, volts)
        image.set_f32(6, 1000.0 * kw / volts if volts > 1.0 else 0.0)
        ac = self._ac and any(one.fed for one in self.supplies)
        self.show_bits(0, self.on | ac << 1 | (self.on and truth.limited) << 2, self._state_names)
        sharing = sum(one.sound for one in self.supplies)
        each_kw = kw / sharing if sharing else 0.0
        for number, supply in enumerate(self.supplies):
            self._show_supply(number, supply, each_kw if supply.sound else 0.0, volts, truth.air_c, dt_s)
        image.set_u16(56, self.mailbox.active)

    def _show_supply(self, number: int, supply: Supply, kw: float, volts: float, air_c: float, dt_s: float) -> None:
        image, at = self.input, PSU_AT + PSU_STRIDE * number
        ac = self._ac and supply.fed
        share = min(1.0, kw * len(self.supplies) / self.rating_kw)
        rises_k = WARM_K + STILL_FAN_K * max(0.0, 1.0 - supply.fan_share) * (share > 0.0)
        supply.above_k += (rises_k - supply.above_k) * min(1.0, dt_s / WARM_TAU_S)
        inlet_c = air_c + supply.above_k
        told_rpm = LEAST_RPM + MORE_RPM * share if ac else 0.0
        image.set_f32(at, kw)
        image.set_f32(at + 2, 0.0 if supply.broken or not ac else volts)
        self.show_celsius(at + 4, inlet_c, sound=not supply.sensor_broken)
        image.set_u16(at + 5, round(told_rpm * supply.fan_share))
        bits = supply.broken | (supply.fan_share < FAN_FAULT_SHARE) << 1 | (not ac) << 2 | (inlet_c > HOT_C) << 3
        self.show_bits(at + 6, bits, self._psu_names[number])
        image.set_u16(at + 7, round(10.0 * INPUT_V) if ac else 0)
