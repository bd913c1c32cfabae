"""The room sensor at the rack: air temperature, relative humidity, and the contact of the door."""

from firmware_sim.parts.channel import Channel, ChannelSpec
from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.maps_power import ROOM, ROOM_BITS
from firmware_sim.parts.noise import Noise, seed_of

CHANNELS = (
    ChannelSpec("TT-110", tau_s=10.0, noise=0.02, resolution=0.1, update_s=1.0, low=-40.0, high=125.0),
    ChannelSpec("MT-110", tau_s=10.0, noise=0.1, resolution=0.1, update_s=1.0, low=0.0, high=100.0),
)


class RoomSensor(Firmware):
    """Stepped with the air at the rack."""

    heartbeat = 5

    def __init__(self, serial: str = "RM-0001", seed: int = 0) -> None:
        super().__init__(ROOM, serial)
        self.channels = {spec.tag: Channel(spec, Noise(seed_of(seed, serial + spec.tag))) for spec in CHANNELS}
        self.door_open = False
        self.start(0.0)

    def step(self, air_c: float, humidity_pct: float, now_s: float, dt_s: float) -> None:
        """Sample what is due. Units: degC, % relative humidity."""
        for address, channel, true in zip((0, 2), self.channels.values(), (air_c, humidity_pct), strict=True):
            if channel.step(true, now_s, dt_s):
                self.input.set_f32(address, channel.shown)
                if channel.swapped:
                    self.input.swap_words(address)
        self.show_bits(4, int(self.door_open), ROOM_BITS)
