"""The CDU's controller: what it measures, and the set points it takes over the wire."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from firmware_sim.parts.channel import Channel, ChannelSpec
from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.maps import CDU as CDU_MAP
from firmware_sim.parts.noise import Noise, seed_of
from firmware_sim.parts.registers import Answer


class CduMode(IntEnum):
    """How the CDU drives its pumps, as its register numbers it."""

    FIXED_SPEED = 0
    CONSTANT_DP = 1
    CONSTANT_FLOW = 2


# fmt: off
CHANNELS: tuple[ChannelSpec, ...] = (
    ChannelSpec("PT-201", tau_s=0.05, noise=0.15, resolution=0.01, update_s=0.05, low=-100.0, high=1000.0),
    ChannelSpec("PT-202", tau_s=0.05, noise=0.15, resolution=0.01, update_s=0.05, low=-100.0, high=1000.0),
    ChannelSpec("FT-201", tau_s=1.0,  noise=0.5,  noise_share=0.002, resolution=0.1, update_s=0.1, low=-5000.0, high=5000.0),
    ChannelSpec("TT-201", tau_s=4.0,  noise=0.01, resolution=0.01, update_s=0.1, low=-50.0, high=150.0),
    ChannelSpec("TT-202", tau_s=4.0,  noise=0.01, resolution=0.01, update_s=0.1, low=-50.0, high=150.0),
    ChannelSpec("LT-201", tau_s=1.0,  noise=0.05, resolution=0.01, update_s=0.1, low=0.0, high=100.0),
)
# fmt: on

# Bounds of the set points: dP kPa, flow L/min, speed %, supply °C.
_BOUNDS = {2: (5.0, 600.0), 4: (1.0, 5000.0), 6: (0.0, 100.0), 8: (10.0, 60.0)}
LOW_LEVEL_PCT = 20.0
NO_LEVEL = 0xFFFF


@dataclass(frozen=True, slots=True)
class CduTruth:
    """What the plant's CDU is doing: the six measured values in the order of CHANNELS, then what it knows of itself."""

    measured: tuple[float, float, float, float, float, float]
    pump_speeds_pct: tuple[float, float]
    pump_kw: float
    makeup_lpm: float
    pump_trip: bool
    internal_leak: bool
    mode: CduMode
    sump_pct: float | None = None
    """Level of the drain sump; None where there is none."""


class CduController(Firmware):
    """Stepped with the plant's CDU; ``requested`` holds set points written since the last take."""

    heartbeat = 24

    def __init__(self, serial: str = "CDU-0001", seed: int = 0) -> None:
        super().__init__(CDU_MAP, serial)
        self.channels = {spec.tag: Channel(spec, Noise(seed_of(seed, serial + spec.tag))) for spec in CHANNELS}
        self._in_order = tuple(self.channels.values())
        self._requested = False
        self.holding.set_u16(1, 1)
        self.start(0.0)

    def set_points(self) -> tuple[CduMode, float, float, float]:
        """Mode, dP (kPa), flow (L/min) and speed (%) as the registers hold them."""
        return (
            CduMode(self.holding.get_u16(0)),
            self.holding.get_f32(2),
            self.holding.get_f32(4),
            self.holding.get_f32(6),
        )

    def show_set_points(self, mode: CduMode, dp_kpa: float, flow_lpm: float, speed_pct: float) -> None:
        """Set the registers from the plant, as a person at the CDU's own panel would."""
        self.holding.set_u16(0, mode)
        for address, value in ((2, dp_kpa), (4, flow_lpm), (6, speed_pct)):
            self.holding.set_f32(address, value)

    @property
    def supply_c(self) -> float:
        """Set-point of the supply temperature, °C, as the registers hold it."""
        return self.holding.get_f32(8)

    def show_supply(self, supply_c: float) -> None:
        """Set that register from the plant."""
        self.holding.set_f32(8, supply_c)

    @property
    def running(self) -> bool:
        """Whether the pumps are told to run."""
        return self.holding.get_u16(1) != 0

    def take_request(self) -> bool:
        """True once after set points were written."""
        requested, self._requested = self._requested, False
        return requested

    def write_registers(self, address: int, values: Sequence[int], now_s: float) -> Answer:
        """Whole values only: half a float is refused."""
        if not self.holding.covers(address, len(values)):
            return Answer.ILLEGAL_ADDRESS
        if address in {0, 1}:
            allowed = set(CduMode) if address == 0 else {0, 1}
            if len(values) > 1 or values[0] not in allowed:
                return Answer.ILLEGAL_VALUE
            self.holding.set_u16(address, values[0])
            self.note("CDU pumps command" if address else "CDU mode command", float(values[0]))
        else:
            if address % 2 or len(values) % 2:
                return Answer.ILLEGAL_VALUE
            pairs = [
                (address + offset, struct.unpack(">f", struct.pack(">HH", *values[offset : offset + 2]))[0])
                for offset in range(0, len(values), 2)
            ]
            if any(not _BOUNDS[at][0] <= value <= _BOUNDS[at][1] for at, value in pairs):
                return Answer.ILLEGAL_VALUE
            for at, value in pairs:
                self.holding.set_f32(at, value)
        self._requested = True
        return Answer.OK

    def step(self, truth: CduTruth, now_s: float, dt_s: float) -> None:
        for index, channel in enumerate(self._in_order):
            if channel.step(truth.measured[index], now_s, dt_s):
                self.input.set_f32(2 * index, channel.shown)
                if channel.swapped:
                    self.input.swap_words(2 * index)
        first, second = truth.pump_speeds_pct
        for address, value in ((12, max(first, second)), (14, first), (16, second), (18, truth.pump_kw)):
            self.input.set_f32(address, value)
        self.input.set_f32(20, truth.makeup_lpm)
        low_level = self.channels["LT-201"].shown < LOW_LEVEL_PCT
        makeup = truth.makeup_lpm > 0.0
        bits = truth.pump_trip | low_level << 1 | truth.internal_leak << 2 | makeup << 3
        self.show_bits(22, bits, ("P-201 trip", "LT-201 low", "LDT-201", "make-up running"))
        self.input.set_u16(23, truth.mode)
        self.input.set_u16(25, NO_LEVEL if truth.sump_pct is None else round(100.0 * min(100.0, truth.sump_pct)))
