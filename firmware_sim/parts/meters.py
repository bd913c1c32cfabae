"""The two power meters of a rack: the bus-bar behind the shelves (sees battery power), and the feeder before them."""

import math
from collections.abc import Sequence

from firmware_sim.parts.channel import Channel, ChannelSpec
from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.maps import BUSBAR_METER, FEEDER_METER
from firmware_sim.parts.noise import Noise, seed_of
from firmware_sim.parts.registers import Answer, Image

FEEDER_VOLTS = 415.0  # line to line; 4-wire 415/240 V is the usual feed of 48 V shelves
FEEDER_HZ = 50.0
FEEDER_POWER_FACTOR = 0.98

# The feeder meter computes once a second (PM5xxx, one-second values); the bus-bar meter is a fast shunt.
_BUSBAR_V = ChannelSpec("EV-101", tau_s=0.05, noise=0.01, resolution=0.01, update_s=0.05, low=0.0)
_BUSBAR_KW = ChannelSpec("ET-101", tau_s=0.1, noise=0.02, noise_share=0.002, resolution=0.01, update_s=0.05, low=0.0)
_FEEDER_KW = ChannelSpec("JT-101", tau_s=0.1, noise=0.02, noise_share=0.002, resolution=0.001, update_s=1.0, low=0.0)


def _show(image: Image, address: int, channel: Channel) -> None:
    image.set_f32(address, channel.shown)
    if channel.swapped:
        image.swap_words(address)


class BusbarMeter(Firmware):
    """ET-101 (kW), EV-101 (V) and the current behind the shelves."""

    heartbeat = 6

    def __init__(self, serial: str = "BM-0001", seed: int = 0) -> None:
        super().__init__(BUSBAR_METER, serial)
        self.channels = {
            spec.tag: Channel(spec, Noise(seed_of(seed, serial + spec.tag))) for spec in (_BUSBAR_V, _BUSBAR_KW)
        }
        self.start(0.0)

    def step(self, volts: float, kw: float, now_s: float, dt_s: float) -> None:
        voltage, power = self.channels["EV-101"], self.channels["ET-101"]
        if voltage.step(volts, now_s, dt_s):
            _show(self.input, 0, voltage)
        if power.step(kw, now_s, dt_s):
            _show(self.input, 2, power)
            self.input.set_f32(4, 1000.0 * kw / volts if volts > 1.0 else 0.0)


class FeederMeter(Firmware):
    """JT-101 as a PM5xxx shows it; without voltage its power reads 0, and it lives on its own supply."""

    def __init__(self, serial: str = "PM-0001", seed: int = 0) -> None:
        super().__init__(FEEDER_METER, serial)
        self.channels = {"JT-101": Channel(_FEEDER_KW, Noise(seed_of(seed, serial)))}
        for address in (2999, 3019, 3059, 3109):
            self.holding.set_f32(address, math.nan)
        self.start(0.0)

    def write_registers(self, address: int, values: Sequence[int], now_s: float) -> Answer:
        return Answer.ILLEGAL_ADDRESS

    def step(self, kw: float, mains: bool, now_s: float, dt_s: float) -> None:
        power = self.channels["JT-101"]
        if power.step(kw, now_s, dt_s):
            _show(self.holding, 3059, power)
            volts = FEEDER_VOLTS if mains else 0.0
            self.holding.set_f32(3019, volts)
            self.holding.set_f32(3109, FEEDER_HZ if mains else math.nan)
            phase_a = 1000.0 * kw / (math.sqrt(3.0) * FEEDER_VOLTS * FEEDER_POWER_FACTOR) if mains else 0.0
            self.holding.set_f32(2999, phase_a)
