"""How the faults of shelves, batteries and the room begin and end, and what a rack may be delivered with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_sim.fault_actions import check_link, check_rack
from firmware_sim.parts.battery_shelf import BatteryShelf
from firmware_sim.parts.maps_power import PSUS, REVISION
from firmware_sim.parts.power_shelf import PowerShelf, Supply
from firmware_sim.parts.shelf import Shelf
from firmware_sim.power_rig import ROOM_C, ROOM_PCT, PowerRig
from firmware_sim.troubles import Pair

if TYPE_CHECKING:
    from firmware_sim.bank import Bank
    from firmware_sim.fault_book import Fault
    from firmware_sim.parts.firmware import Firmware
    from firmware_sim.rig import Rig

OLD_REVISION = "1.0.0"
SERIAL_AT = 912
_STRANGE = "?"
_PAIRS = {0: Pair.TEMPERATURES, 1: Pair.PRESSURES, 2: Pair.FLOWS}


# -- what a fault must be told -------------------------------------------------------------------------------------


def _firmware(bank: Bank, fault: Fault) -> Firmware | None:
    name = bank.endpoint_name(fault.rack, fault.device, fault.tag)
    return bank.endpoints[name].firmware if name is not None else None


def _check_kind(bank: Bank, fault: Fault, kind: type[Shelf]) -> str | None:
    if problem := check_rack(bank, fault):
        return problem
    if isinstance(_firmware(bank, fault), kind):
        return None
    shelves = _rig(bank, fault).power
    known = [] if shelves is None else [name for name, one in shelves.all_shelves().items() if isinstance(one, kind)]
    return f"device is {fault.device!r} and tag {fault.tag!r}; one of {', '.join(known) or 'none in this rack'}"


def check_shelf(bank: Bank, fault: Fault) -> str | None:
    return _check_kind(bank, fault, Shelf)


def check_battery(bank: Bank, fault: Fault) -> str | None:
    return _check_kind(bank, fault, BatteryShelf)


def check_psu(bank: Bank, fault: Fault) -> str | None:
    if problem := _check_kind(bank, fault, PowerShelf):
        return problem
    least = 1 if fault.kind.default else 0
    if _psu_of(fault) in range(least, len(PSUS) + 1):
        return None
    return f"value is {fault.value!r}; one of {least} to {len(PSUS)}, or a tag that ends with {PSUS[0]} to {PSUS[-1]}"


def check_room(bank: Bank, fault: Fault) -> str | None:
    if problem := check_rack(bank, fault):
        return problem
    power = _rig(bank, fault).power
    if power is not None and power.room is not None:
        return None
    known = [name for name, rig in bank.rigs.items() if rig.power is not None and rig.power.room is not None]
    return f"rack {fault.rack} has no room sensor; one of {', '.join(known) or 'no rack of this bench'}"


def check_identity(bank: Bank, fault: Fault) -> str | None:
    if problem := check_link(bank, fault):
        return problem
    firmware = _firmware(bank, fault)
    known = firmware is not None and firmware.input.covers(SERIAL_AT, 8)
    return None if known else f"{fault.device} keeps its serial elsewhere; one of the reference devices"


# -- finding things ----------------------------------------------------------------------------------------------------


def _rig(bank: Bank, fault: Fault) -> Rig:
    return bank.rigs[fault.rack or ""]


def _power(bank: Bank, fault: Fault) -> PowerRig:
    power = _rig(bank, fault).power
    assert power is not None  # ruff: ignore[assert] - check_room came first
    return power


def _shelf(bank: Bank, fault: Fault) -> Shelf:
    firmware = _firmware(bank, fault)
    assert isinstance(firmware, Shelf)  # ruff: ignore[assert] - check_shelf came first
    return firmware


def _battery(bank: Bank, fault: Fault) -> BatteryShelf:
    firmware = _firmware(bank, fault)
    assert isinstance(firmware, BatteryShelf)  # ruff: ignore[assert] - check_battery came first
    return firmware


def _psu_of(fault: Fault) -> float:
    """Number of the supply, 1 for A; the tag's letter wins. 0: all."""
    letter = (fault.tag or "")[-1:]
    return PSUS.index(letter) + 1 if letter in PSUS else fault.value or 0.0


def _supplies(bank: Bank, fault: Fault) -> list[Supply]:
    shelf = _shelf(bank, fault)
    assert isinstance(shelf, PowerShelf)  # ruff: ignore[assert] - check_psu came first
    number = int(_psu_of(fault))
    return shelf.supplies if number == 0 else [shelf.supplies[number - 1]]


# -- supplies ----------------------------------------------------------------------------------------------------------


def psu_broken(bank: Bank, fault: Fault) -> None:
    for supply in _supplies(bank, fault):
        supply.broken = True


def psu_mended(bank: Bank, fault: Fault) -> None:
    for supply in _supplies(bank, fault):
        supply.broken = False


def fan_stands(bank: Bank, fault: Fault) -> None:
    for supply in _supplies(bank, fault):
        supply.fan_share = 0.0


def fan_runs(bank: Bank, fault: Fault) -> None:
    for supply in _supplies(bank, fault):
        supply.fan_share = 1.0


def inlet_lost(bank: Bank, fault: Fault) -> None:
    for supply in _supplies(bank, fault):
        supply.sensor_broken = True


def inlet_back(bank: Bank, fault: Fault) -> None:
    for supply in _supplies(bank, fault):
        supply.sensor_broken = False


def ac_gone(bank: Bank, fault: Fault) -> None:
    for supply in _supplies(bank, fault):
        supply.fed = False


def ac_back(bank: Bank, fault: Fault) -> None:
    for supply in _supplies(bank, fault):
        supply.fed = True


# -- outputs and batteries -----------------------------------------------------------------------------------------------


def stuck_on(bank: Bank, fault: Fault) -> None:
    _shelf(bank, fault).stuck_on = True


def not_stuck_on(bank: Bank, fault: Fault) -> None:
    _shelf(bank, fault).stuck_on = False


def stuck_off(bank: Bank, fault: Fault) -> None:
    _shelf(bank, fault).stuck_off = True


def not_stuck_off(bank: Bank, fault: Fault) -> None:
    _shelf(bank, fault).stuck_off = False


def battery_emptied(bank: Bank, fault: Fault) -> None:
    """Once; it charges again when it can."""
    _battery(bank, fault).charge_pct = min(max(fault.value or 0.0, 0.0), 100.0)


def battery_broken(bank: Bank, fault: Fault) -> None:
    _battery(bank, fault).broken = True


def battery_mended(bank: Bank, fault: Fault) -> None:
    _battery(bank, fault).broken = False


def not_inhibited(bank: Bank, fault: Fault) -> None:
    _battery(bank, fault).inhibit_broken = True


def inhibited(bank: Bank, fault: Fault) -> None:
    _battery(bank, fault).inhibit_broken = False


# -- identity ------------------------------------------------------------------------------------------------------------


def old_firmware(bank: Bank, fault: Fault) -> None:
    _shelf(bank, fault).load(OLD_REVISION)


def new_firmware(bank: Bank, fault: Fault) -> None:
    _shelf(bank, fault).load(REVISION)


def strange_serial(bank: Bank, fault: Fault) -> None:
    if (firmware := _firmware(bank, fault)) is not None:
        _say_serial(firmware, _STRANGE + firmware.serial)


def own_serial(bank: Bank, fault: Fault) -> None:
    if (firmware := _firmware(bank, fault)) is not None:
        _say_serial(firmware, firmware.serial.removeprefix(_STRANGE))


def _say_serial(firmware: Firmware, serial: str) -> None:
    firmware.serial = serial
    firmware.input.set_text(SERIAL_AT, 8, serial)


# -- the room and the rack -------------------------------------------------------------------------------------------------


def door_opened(bank: Bank, fault: Fault) -> None:
    if (room := _power(bank, fault).room) is not None:
        room.door_open = True


def door_shut(bank: Bank, fault: Fault) -> None:
    if (room := _power(bank, fault).room) is not None:
        room.door_open = False


def humid(bank: Bank, fault: Fault) -> None:
    _power(bank, fault).humidity_pct = min(max(fault.value or 0.0, 0.0), 100.0)


def not_humid(bank: Bank, fault: Fault) -> None:
    _power(bank, fault).humidity_pct = ROOM_PCT


def hot(bank: Bank, fault: Fault) -> None:
    _power(bank, fault).air_c = fault.value or ROOM_C


def not_hot(bank: Bank, fault: Fault) -> None:
    _power(bank, fault).air_c = ROOM_C


def weak_hose(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).plant.weak_hose_lpm = max(fault.value or 0.0, 0.0) / 1000.0


def sound_hose(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).plant.weak_hose_lpm = 0.0


def check_pair(bank: Bank, fault: Fault) -> str | None:
    if problem := check_rack(bank, fault):
        return problem
    return (
        None
        if fault.value in _PAIRS
        else f"value is {fault.value!r}; one of 0 (temperatures), 1 (pressures), 2 (flows)"
    )


def exchanged(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).swapped.add(_PAIRS[int(fault.value or 0)])


def in_place(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).swapped.discard(_PAIRS[int(fault.value or 0)])
