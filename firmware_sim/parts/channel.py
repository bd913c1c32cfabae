"""One measuring channel: a sensor's lag, its noise, its resolution, and what can be wrong with it."""

import math
from dataclasses import dataclass, field
from enum import StrEnum

from firmware_sim.parts.noise import Noise

_EARLY_S = 0.001  # a sample this little before its time is taken as due: steps do not fall on the sample grid


class SensorFault(StrEnum):
    """What a sensor, or the register that shows it, may do wrong; the value is in brackets."""

    STUCK = "stuck"  # shows its last value for ever, or [unit] when given
    DRIFT = "drift"  # wanders off by [unit/s]
    NOISE = "noise"  # adds noise of [unit], one sigma
    BIAS = "bias"  # is off by [unit]
    GAIN = "gain"  # is off by [%] of its value
    SLOW = "slow"  # its time constant is [s]
    SENTINEL = "sentinel"  # shows [unit], the maker's "no value"
    NAN = "nan"  # shows not-a-number
    SWAP_WORDS = "swap_words"  # shows its two words exchanged
    SPIKE = "spike"  # jumps by [unit] for one sample, once a second


@dataclass(frozen=True, slots=True)
class ChannelSpec:
    """What a channel is, from its sheet.

    tau_s       time constant of the first-order lag
    noise       one sigma, in the unit; noise_share adds a share of the value
    resolution  smallest step, in the unit; 0 for none
    update_s    how often the device takes a new sample
    """

    tag: str
    tau_s: float
    noise: float = 0.0
    noise_share: float = 0.0
    resolution: float = 0.0
    update_s: float = 0.0
    low: float = -math.inf
    high: float = math.inf


@dataclass(slots=True)
class Channel:
    """A stepped channel; ``shown`` is what the register says after the last step."""

    spec: ChannelSpec
    stream: Noise
    lagged: float = math.nan
    shown: float = math.nan
    swapped: bool = False
    faults: dict[SensorFault, float | None] = field(default_factory=dict)
    _due_s: float = -math.inf
    _drift: float = 0.0
    _spike_due_s: float = -math.inf
    _held: float = math.nan
    _since_s: float = 0.0
    _share: float = 0.0
    _share_key: tuple[float, float] = (0.0, 0.0)

    def set_fault(self, fault: SensorFault, value: float | None) -> None:
        self.faults[fault] = value
        if fault is SensorFault.STUCK:
            self._held = self.shown if value is None else value
        if fault is SensorFault.DRIFT:
            self._drift = 0.0
        self._due_s = -math.inf

    def clear_fault(self, fault: SensorFault) -> None:
        self.faults.pop(fault, None)
        self._due_s = -math.inf

    def step(self, true: float, now_s: float, dt_s: float) -> bool:
        """Follow ``true`` for ``dt_s``; True when ``shown`` was sampled anew."""
        self._since_s += dt_s
        if now_s + _EARLY_S < self._due_s:
            return False
        spec, since_s = self.spec, self._since_s
        self._due_s = now_s + spec.update_s
        self._since_s = 0.0
        if self.faults:
            shown = self._analog_faults(self._follow(true, since_s), now_s, since_s)
        else:
            lagged = self._follow(true, since_s)
            shown = lagged + self.stream.normal() * (spec.noise + spec.noise_share * abs(lagged))
        if spec.resolution > 0:
            shown = round(shown / spec.resolution) * spec.resolution
        shown = min(max(shown, spec.low), spec.high)
        self.swapped = False
        self.shown = self._register_faults(shown) if self.faults else shown
        return True

    def _follow(self, true: float, since_s: float) -> float:
        """The lag, exact for a value that stepped at the last sample."""
        tau_s = self.faults.get(SensorFault.SLOW) or self.spec.tau_s
        if self.lagged != self.lagged or tau_s <= 0.0:  # NaN: the first sample
            self.lagged = true
            return true
        key = (since_s, tau_s)
        if key != self._share_key:
            self._share_key, self._share = key, -math.expm1(-since_s / tau_s)
        self.lagged += (true - self.lagged) * self._share
        return self.lagged

    def _analog_faults(self, shown: float, now_s: float, since_s: float) -> float:
        faults, spec = self.faults, self.spec
        shown += self.stream.normal() * (spec.noise + spec.noise_share * abs(shown))
        shown += (faults.get(SensorFault.BIAS) or 0.0) + shown * (faults.get(SensorFault.GAIN) or 0.0) / 100.0
        if SensorFault.DRIFT in faults:
            self._drift += (faults[SensorFault.DRIFT] or 0.0) * since_s
            shown += self._drift
        if SensorFault.NOISE in faults:
            shown += self.stream.normal() * (faults[SensorFault.NOISE] or 0.0)
        if SensorFault.SPIKE in faults and now_s >= self._spike_due_s:
            self._spike_due_s = now_s + 1.0
            shown += faults[SensorFault.SPIKE] or 0.0
        return shown

    def _register_faults(self, shown: float) -> float:
        """Faults behind the amplifier, which no range limits; the worst wins."""
        faults = self.faults
        if SensorFault.STUCK in faults:
            shown = self._held
        if SensorFault.SENTINEL in faults:
            sentinel = faults[SensorFault.SENTINEL]
            shown = math.nan if sentinel is None else sentinel
        if SensorFault.NAN in faults:
            shown = math.nan
        self.swapped = SensorFault.SWAP_WORDS in faults
        return shown
