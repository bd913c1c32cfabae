"""Faults of makers' devices themselves; each device says which of them it can have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from firmware_sim.parts.makers.device import DeviceFault, MakersDevice

if TYPE_CHECKING:
    from firmware_sim.bank import Bank
    from firmware_sim.fault_book import Fault

TEXTS: dict[DeviceFault, str] = {
    DeviceFault.NOT_AVAILABLE: "all its measurements read the maker's 'not available'",
    DeviceFault.ALL_ONES: "all its registers read 65535, as some do while they start",
    DeviceFault.SENSOR: "its sensor of this number is broken, and it says so",
    DeviceFault.FLOW_SENSOR: "its flow meter does not answer, and it says so",
    DeviceFault.BLOCKED: "its actuator, pump, fan or relay of this number does not move",
    DeviceFault.LEAK: "its zone of this number is wet",
    DeviceFault.CABLE_BREAK: "the cable of its zone of this number is broken",
    DeviceFault.CONTAMINATION: "dirt on its zone of this number",
    DeviceFault.LOOP_OPEN: "its current loop of this number is broken: 0 mA",
    DeviceFault.LOOP_FAILED: "the transmitter of its loop of this number failed: 21.5 mA",
    DeviceFault.INPUT_LOST: "its supply (of this number, in a shelf) has no input",
    DeviceFault.SATURATED: "its power register stands at its end",
    DeviceFault.WORN: "writes to registers that wear out fail",
}


def maker_of(bank: Bank, fault: Fault) -> MakersDevice | None:
    """The maker's device that the fault names, None when it names none."""
    name = bank.endpoint_name(fault.rack, fault.device, fault.tag)
    firmware = bank.endpoints[name].firmware if name is not None else None
    return firmware if isinstance(firmware, MakersDevice) else None


def check_maker(bank: Bank, fault: Fault) -> str | None:
    device = maker_of(bank, fault)
    if device is None:
        known = [f"--rack {name} --device {one}" for name, rig in bank.rigs.items() for one in rig.makers]
        return f"device is {fault.device!r} of rack {fault.rack!r}; one of {', '.join(known) or 'none on this bench'}"
    kind = DeviceFault(fault.kind.name)
    if kind not in device.supports:
        return f"{fault.device} has {', '.join(sorted(device.supports))}"
    return None


def actions(kind: DeviceFault) -> tuple[Callable[[Bank, Fault], None], Callable[[Bank, Fault], None]]:
    """How the fault begins and ends."""

    def begin(bank: Bank, fault: Fault) -> None:
        if (device := maker_of(bank, fault)) is not None:
            device.set_fault(kind, 1.0 if fault.value is None else fault.value)

    def end(bank: Bank, fault: Fault) -> None:
        if (device := maker_of(bank, fault)) is not None:
            device.clear_fault(kind)

    return begin, end
