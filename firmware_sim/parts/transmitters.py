"""The loop transmitters of one rack: nine sensors with their lags, behind one Modbus device."""

import math

from firmware_sim.parts.channel import Channel, ChannelSpec
from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.maps import TRANSMITTER_TAGS, TRANSMITTERS
from firmware_sim.parts.noise import Noise, seed_of

# Lags and errors as the usual sheets give them: magnetic meter 1 s damping and 0.2 % of reading, Pt1000 in a pocket
# 4 s, pressure transmitter 50 ms. SIF-4's ladder needs flow meters of at most 2 s.
# fmt: off
CHANNELS: tuple[ChannelSpec, ...] = (
    ChannelSpec("FT-101",  tau_s=1.0,  noise=0.1,  noise_share=0.002, resolution=0.01,  update_s=0.04, low=-500.0, high=500.0),
    ChannelSpec("FT-102",  tau_s=1.0,  noise=0.1,  noise_share=0.002, resolution=0.01,  update_s=0.04, low=-500.0, high=500.0),
    ChannelSpec("FT-103",  tau_s=1.0,  noise=0.02, noise_share=0.002, resolution=0.01,  update_s=0.04, low=-60.0,  high=60.0),
    ChannelSpec("TT-101",  tau_s=4.0,  noise=0.01, resolution=0.01,   update_s=0.2,  low=-50.0,  high=150.0),
    ChannelSpec("TT-102A", tau_s=4.0,  noise=0.01, resolution=0.01,   update_s=0.2,  low=-50.0,  high=150.0),
    ChannelSpec("TT-102B", tau_s=4.0,  noise=0.01, resolution=0.01,   update_s=0.2,  low=-50.0,  high=150.0),
    ChannelSpec("TT-102C", tau_s=4.0,  noise=0.01, resolution=0.01,   update_s=0.2,  low=-50.0,  high=150.0),
    ChannelSpec("PT-101",  tau_s=0.05, noise=0.15, resolution=0.01,   update_s=0.04, low=-100.0, high=1000.0),
    ChannelSpec("PT-102",  tau_s=0.05, noise=0.15, resolution=0.01,   update_s=0.04, low=-100.0, high=1000.0),
)
# fmt: on
SLOW_S = 0.2  # channels that update no faster are sampled together


class Transmitters(Firmware):
    """Stepped with the nine true values, in the order of the map (L/min, degC, kPa gauge)."""

    heartbeat = 18

    def __init__(self, serial: str = "TX-0001", seed: int = 0) -> None:
        super().__init__(TRANSMITTERS, serial)
        self.channels = {spec.tag: Channel(spec, Noise(seed_of(seed, serial + spec.tag))) for spec in CHANNELS}
        places = tuple(enumerate(self.channels.values()))
        self._fast = tuple(place for place in places if place[1].spec.update_s < SLOW_S)
        self._slow = tuple(place for place in places if place[1].spec.update_s >= SLOW_S)
        self._slow_since_s = 0.0
        self._fault_bits = 0
        for index in range(len(CHANNELS)):
            self.input.set_f32(2 * index, math.nan)
        self.start(0.0)

    def step(self, true: tuple[float, ...], now_s: float, dt_s: float) -> None:
        """Sample what is due; a step of 0 s samples everything, so that a fault shows at once."""
        self._slow_since_s += dt_s
        self._sample(self._fast, true, now_s, dt_s)
        if self._slow_since_s + 1e-9 >= SLOW_S or dt_s <= 0.0:
            self._sample(self._slow, true, now_s, self._slow_since_s)
            self._slow_since_s = 0.0
        self.show_bits(19, self._fault_bits, _STATUS_NAMES)

    def _sample(
        self, places: tuple[tuple[int, Channel], ...], true: tuple[float, ...], now_s: float, dt_s: float
    ) -> None:
        for index, channel in places:
            if channel.step(true[index], now_s, dt_s):
                shown = channel.shown
                self.input.set_f32(2 * index, shown)
                if shown != shown:  # NaN
                    self._fault_bits |= 1 << index
                else:
                    self._fault_bits &= ~(1 << index)
                if channel.swapped:
                    self.input.swap_words(2 * index)


_STATUS_NAMES = tuple(f"{tag} in fault" for tag in TRANSMITTER_TAGS)
