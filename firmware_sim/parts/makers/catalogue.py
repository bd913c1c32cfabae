"""Every maker's device by its name, as the bench file and the command line name it."""

from collections.abc import Callable

from firmware_sim.parts.makers.belimo import BELIMO, EnergyValve
from firmware_sim.parts.makers.danfoss import NOVOCON, NovoCon
from firmware_sim.parts.makers.device import MakersDevice
from firmware_sim.parts.makers.inputs_outputs import LOOPS, MOXA, RELAYS, CurrentLoops, IoLogik, RelayBoard
from firmware_sim.parts.makers.meters import PM5560, XERUS, Pm5560, XerusPdu
from firmware_sim.parts.makers.psu import HPR, PMM, PSU, SHELF, Pmm, PowerShelf, Supply
from firmware_sim.parts.makers.rle import LD2100, LDRA6, SEAHAWK_10K, Ld2100, Ldra6, SeaHawk10K
from firmware_sim.parts.makers.rpu import RPU, Rpu
from firmware_sim.parts.registers import DeviceMap

_MAKES: tuple[tuple[DeviceMap, Callable[[str], MakersDevice]], ...] = (
    (BELIMO, EnergyValve),
    (NOVOCON, NovoCon),
    (LD2100, Ld2100),
    (SEAHAWK_10K, SeaHawk10K),
    (LDRA6, Ldra6),
    (RPU, Rpu),
    (PSU, lambda serial: Supply(PSU, serial)),
    (HPR, lambda serial: Supply(HPR, serial)),
    (SHELF, PowerShelf),
    (PMM, Pmm),
    (XERUS, XerusPdu),
    (PM5560, Pm5560),
    (MOXA, IoLogik),
    (RELAYS, RelayBoard),
    (LOOPS, CurrentLoops),
)
MAKERS_MAPS: dict[str, DeviceMap] = {device_map.device: device_map for device_map, _ in _MAKES}
MAKERS: dict[str, Callable[[str], MakersDevice]] = {device_map.device: make for device_map, make in _MAKES}
"""Device name -> what makes one, given its serial number."""
