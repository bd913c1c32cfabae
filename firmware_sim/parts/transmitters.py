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
    ChannelSpec("FT-101",  tau_s=1.0,  noise=0.1,  noise_share=0.002, resolution=0.01,  update_s=0.05, low=-500.0, high=500.0),
    ChannelSpec("FT-102",  tau_s=1.0,  noise=0.1,  noise_share=0.002, resolution=0.01,  update_s=0.05, low=-500.0, high=500.0),
    ChannelSpec("FT-103",  tau_s=1.0,  noise=0.02, noise_share=0.002, resolution=0.01,  update_s=0.05, low=-60.0,  high=60.0),
    ChannelSpec("TT-101",  tau_s=4.0,  noise=0.01, resolution=0.01,   update_s=0.1,  low=-50.0,  high=150.0),
    ChannelSpec("TT-102A", tau_s=4.0,  noise=0.01, resolution=0.01,   update_s=0.1,  low=-50.0,  high=150.0),
    ChannelSpec("TT-102B", tau_s=4.0,  noise=0.01, resolution=0.01,   update_s=0.1,  low=-50.0,  high=150.0),
    ChannelSpec("TT-102C", tau_s=4.0,  noise=0.01, resolution=0.01,   update_s=0.1,  low=-50.0,  high=150.0),
    ChannelSpec("PT-101",  tau_s=0.05, noise=0.15, resolution=0.01,   update_s=0.02, low=-100.0, high=1000.0),
    ChannelSpec("PT-102",  tau_s=0.05, noise=0.15, resolution=0.01,   update_s=0.02, low=-100.0, high=1000.0),
)
# fmt: on
MAX_FLOW_METER_TAU_S = 2.0


class Transmitters(Firmware):
    """Stepped with the nine true values, in the order of the map (L/min, degC, kPa gauge)."""

    heartbeat = 18

    def __init__(self, serial: str = "TX-0001", seed: int = 0) -> None:
        super().__init__(TRANSMITTERS, serial)
        self.channels = {spec.tag: Channel(spec, Noise(seed_of(seed, serial + spec.tag))) for spec in CHANNELS}
        self._in_order = tuple(self.channels.values())
        for index in range(len(CHANNELS)):
            self.input.set_f32(2 * index, math.nan)
        self.start(0.0)

    def step(self, true: tuple[float, ...], now_s: float, dt_s: float) -> None:
        fault_bits = 0
        for index, channel in enumerate(self._in_order):
            if channel.step(true[index], now_s, dt_s):
                self.input.set_f32(2 * index, channel.shown)
                if channel.swapped:
                    self.input.swap_words(2 * index)
            if channel.shown != channel.shown:  # NaN
                fault_bits |= 1 << index
        self.show_bits(19, fault_bits, _STATUS_NAMES)


_STATUS_NAMES = tuple(f"{tag} in fault" for tag in TRANSMITTER_TAGS)
