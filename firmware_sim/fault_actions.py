"""How each fault begins and ends; ``faults.TABLE`` says which is which.

Every ``begin`` and ``end`` takes the bank and the fault. The ``check_…`` functions say what is wrong with a fault's aim.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from firmware_sim.parts.channel import SensorFault
from firmware_sim.parts.leak_panel import ZONES, Zone
from firmware_sim.rig import VALVES
from firmware_sim.troubles import Lie
from firmware_sim.wire_faults import LineFault, WireFault

if TYPE_CHECKING:
    from firmware_sim.bank import Bank
    from firmware_sim.fault_book import Fault
    from firmware_sim.rig import Rig

Pair = tuple[Callable[["Bank", "Fault"], None], Callable[["Bank", "Fault"], None]]
_LIES = {1: Lie.OPEN, 0: Lie.SHUT, 2: Lie.BOTH, 3: Lie.NONE}
ACTUATORS = (*VALVES, "FCV-101")
DETECTORS = ZONES
SWITCHES = ("ZSO-101", "ZSC-101", "ZSO-102", "ZSC-102", "ZSC-103", "ZSC-104")


# -- what a fault must be told -------------------------------------------------------------------------------------


def check_nothing(bank: Bank, fault: Fault) -> str | None:
    return None


def check_rack(bank: Bank, fault: Fault) -> str | None:
    if fault.rack in bank.rigs:
        return None
    return f"rack is {fault.rack!r}; one of {', '.join(bank.rigs)}"


def check_channel(bank: Bank, fault: Fault) -> str | None:
    if problem := fault.rack and check_rack(bank, fault):
        return problem
    known = bank.channels(fault.rack)
    if fault.tag in known:
        return None
    return f"tag is {fault.tag!r}; one of {', '.join(known)} (the CDU's without a rack)"


def check_link(bank: Bank, fault: Fault) -> str | None:
    if problem := fault.rack and check_rack(bank, fault):
        return problem
    if bank.endpoint_name(fault.rack, fault.device, fault.tag) is not None:
        return None
    return f"device is {fault.device!r} and tag {fault.tag!r}; devices are {', '.join(bank.devices_of(fault.rack))}"


def check_actuator(bank: Bank, fault: Fault) -> str | None:
    if fault.tag == "FCV-101":
        return check_rack(bank, fault)
    problem = check_valve(bank, fault)
    return f"{problem}, FCV-101" if problem and fault.rack in bank.rigs else problem


def check_valve(bank: Bank, fault: Fault) -> str | None:
    if problem := check_rack(bank, fault):
        return problem
    return None if fault.tag in VALVES else f"tag is {fault.tag!r}; one of {', '.join(VALVES)}"


def check_detector(bank: Bank, fault: Fault) -> str | None:
    if problem := check_rack(bank, fault):
        return problem
    zones = bank.rigs[fault.rack or ""].leak_panel.zones
    return None if fault.tag in zones else f"tag is {fault.tag!r}; one of {', '.join(zones)}"


def check_switch(bank: Bank, fault: Fault) -> str | None:
    return check_rack(bank, fault) or (
        None if fault.tag in SWITCHES else f"tag is {fault.tag!r}; one of {', '.join(SWITCHES)}"
    )


# -- sensors and links ----------------------------------------------------------------------------------------------


def sensor(kind: SensorFault) -> Pair:
    def begin(bank: Bank, fault: Fault) -> None:
        bank.channels(fault.rack)[fault.tag or ""].set_fault(kind, fault.value)

    def end(bank: Bank, fault: Fault) -> None:
        bank.channels(fault.rack)[fault.tag or ""].clear_fault(kind)

    return begin, end


def wire(kind: WireFault) -> Pair:
    def begin(bank: Bank, fault: Fault) -> None:
        bank.endpoint_of(fault).set_fault(kind, fault.value)

    def end(bank: Bank, fault: Fault) -> None:
        bank.endpoint_of(fault).clear_fault(kind)

    return begin, end


def check_line(bank: Bank, fault: Fault) -> str | None:
    if fault.device in bank.lines:
        return None
    return f"device is {fault.device!r}; one of its lines: {', '.join(bank.lines) or 'it has none'}"


def line(kind: LineFault) -> Pair:
    def begin(bank: Bank, fault: Fault) -> None:
        bank.lines[fault.device or ""].set_fault(kind, fault.value)

    def end(bank: Bank, fault: Fault) -> None:
        bank.lines[fault.device or ""].clear_fault(kind)

    return begin, end


def freeze(bank: Bank, fault: Fault) -> None:
    bank.endpoint_of(fault).freeze()


def thaw(bank: Bank, fault: Fault) -> None:
    bank.endpoint_of(fault).thaw()


def device_off(bank: Bank, fault: Fault) -> None:
    endpoint = bank.endpoint_of(fault)
    endpoint.firmware.stop(bank.now_s)
    endpoint.set_power(switched_on=False)


def device_on(bank: Bank, fault: Fault) -> None:
    """The device boots: what it did not keep is gone, and its old connections are reset."""
    endpoint = bank.endpoint_of(fault)
    endpoint.firmware.start(bank.now_s)
    endpoint.set_power(switched_on=True)


# -- contacts and detectors ---------------------------------------------------------------------------------------------


def nothing(bank: Bank, fault: Fault) -> None:
    """Some faults leave nothing to undo."""


def _rig(bank: Bank, fault: Fault) -> Rig:
    return bank.rigs[fault.rack or ""]


def stop_pressed(bank: Bank, fault: Fault) -> None:
    stop = _rig(bank, fault).stop
    if fault.value:
        stop.break_wire()
    else:
        stop.press()


def stop_released(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).stop.release()


def stop_reset(bank: Bank, fault: Fault) -> None:
    stop = _rig(bank, fault).stop
    stop.release()
    stop.reset()


def key_locked(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).key_locked = True


def key_free(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).key_locked = False


def sump_high(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).sump_high = True


def sump_low(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).sump_high = False


def cdu_trip_closed(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).cdu_trip = True


def cdu_trip_open(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).cdu_trip = False


def _zone(bank: Bank, fault: Fault) -> Zone:
    return _rig(bank, fault).leak_panel.zones[fault.tag or ""]


def cable_break(bank: Bank, fault: Fault) -> None:
    _zone(bank, fault).broken = True


def cable_mended(bank: Bank, fault: Fault) -> None:
    _zone(bank, fault).broken = False


def contaminate(bank: Bank, fault: Fault) -> None:
    zone = _zone(bank, fault)
    zone.contaminated = True
    if fault.value:
        zone.contaminated_for_s = 1e6  # longer than any delay


def clean(bank: Bank, fault: Fault) -> None:
    _zone(bank, fault).contaminated = False


def wet(bank: Bank, fault: Fault) -> None:
    zone = _zone(bank, fault)
    zone.wetted_by_hand = True
    zone.at_once = bool(fault.value)


def dry(bank: Bank, fault: Fault) -> None:
    zone = _zone(bank, fault)
    zone.wetted_by_hand = zone.at_once = False


def detector_stuck(bank: Bank, fault: Fault) -> None:
    _zone(bank, fault).frozen = True


def detector_free(bank: Bank, fault: Fault) -> None:
    _zone(bank, fault).frozen = False


def switch_broken(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).broken.add(fault.tag or "")


def switch_mended(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).broken.discard(fault.tag or "")


def lie(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).lies[fault.tag or ""] = _LIES.get(int(fault.value or 0), Lie.NONE)


def truth(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).lies.pop(fault.tag or "", None)
