"""The leak panel: three zones, each wet only after its delay, and broken cables that never read as dry."""

from collections.abc import Sequence
from dataclasses import dataclass

from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.maps import LEAK_PANEL
from firmware_sim.parts.registers import Answer

ZONES = ("LDT-101", "LDT-102", "LDT-103")
LEAK_DELAY, CONTAMINATION_DELAY = 15, 16
_DEFAULTS = {LEAK_DELAY: 5, CONTAMINATION_DELAY: 120}
_LOWEST, _HIGHEST = 5, 995  # s, both delays
_DRY_UA, _CONTAMINATED_UA, _WET_UA = 4, 40, 180
_EPSILON_S = 1e-9


@dataclass(slots=True)
class Zone:
    """One cable or spot detector; ``wet`` and ``contaminated`` are what lies on it now.

    at_once   wet shows without the delay (a tester's wet finger on a panel in test mode)
    frozen    the register stays as it is
    """

    wet: bool = False
    wetted_by_hand: bool = False
    at_once: bool = False
    broken: bool = False
    contaminated: bool = False
    frozen: bool = False
    distance_m: float = 0.0
    wet_for_s: float = 0.0
    contaminated_for_s: float = 0.0


class LeakPanel(Firmware):
    """Stepped at every tick; the caller sets ``zones[tag].wet`` and ``.distance_m`` from the plant."""

    heartbeat = 4

    def __init__(self, serial: str = "LP-0001") -> None:
        super().__init__(LEAK_PANEL, serial)
        self.zones = {tag: Zone() for tag in ZONES}
        self._names = {tag: (tag, f"{tag} cable break", f"{tag} contamination") for tag in ZONES}
        self._places = tuple(enumerate(self.zones.items()))
        self.persistent_writes = 0
        for address, default in _DEFAULTS.items():
            self.holding.set_u16(address, default)
        self.start(0.0)

    def start(self, now_s: float) -> None:
        for zone in self.zones.values():
            zone.wet_for_s = zone.contaminated_for_s = 0.0
        super().start(now_s)

    def write_registers(self, address: int, values: Sequence[int], now_s: float) -> Answer:
        if not self.holding.covers(address, len(values)):
            return Answer.ILLEGAL_ADDRESS
        if any(not _LOWEST <= value <= _HIGHEST for value in values):
            return Answer.ILLEGAL_VALUE
        for offset, value in enumerate(values):
            self.holding.set_u16(address + offset, value)
        self.persistent_writes += 1
        return Answer.OK

    def step(self, now_s: float, dt_s: float) -> None:
        leak_delay_s = self.holding.get_u16(LEAK_DELAY)
        contamination_delay_s = self.holding.get_u16(CONTAMINATION_DELAY)
        for address, (tag, zone) in self._places:
            wet = zone.wet or zone.wetted_by_hand
            # A broken cable carries no signal past the break: the panel then knows nothing of water.
            sees_water = wet and not zone.broken
            zone.wet_for_s = zone.wet_for_s + dt_s if sees_water else 0.0
            zone.contaminated_for_s = zone.contaminated_for_s + dt_s if zone.contaminated else 0.0
            if zone.frozen:
                continue
            shown = sees_water and (zone.at_once or zone.wet_for_s >= leak_delay_s - _EPSILON_S)
            contamination = zone.contaminated_for_s >= contamination_delay_s - _EPSILON_S
            self.show_bits(address, shown | zone.broken << 1 | contamination << 2, self._names[tag])
            if tag == "LDT-103":
                self.input.set_u16(3, round(zone.distance_m * 10) if shown else 0)
                current_ua = _WET_UA if sees_water else _CONTAMINATED_UA if zone.contaminated else _DRY_UA
                self.input.set_u16(5, 0 if zone.broken else current_ua)
