"""How the faults of actuators and of the plant itself begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_sim.parts.cdu import CduMode
from firmware_sim.physics.actuator import Actuator, MotorActuator
from firmware_sim.rig import Rig
from firmware_sim.troubles import Jump, Lie

if TYPE_CHECKING:
    from firmware_sim.bank import Bank
    from firmware_sim.fault_book import Fault


def _rig(bank: Bank, fault: Fault) -> Rig:
    return bank.rigs[fault.rack or ""]


def _drive(bank: Bank, fault: Fault) -> Actuator | MotorActuator:
    return _rig(bank, fault).actuator(fault.tag or "")


# -- actuators ----------------------------------------------------------------------------------------------------------


def actuator_stuck(bank: Bank, fault: Fault) -> None:
    _drive(bank, fault).stuck = True


def actuator_slow(bank: Bank, fault: Fault) -> None:
    _drive(bank, fault).slow = max(fault.value or 1.0, 0.01)


def actuator_partial(bank: Bank, fault: Fault) -> None:
    """The valve shuts only down to the given travel."""
    drive = _drive(bank, fault)
    if isinstance(drive, Actuator):
        drive.lowest = min(max((fault.value or 0.0) / 100, 0.0), 1.0)


def actuator_short(bank: Bank, fault: Fault) -> None:
    """The valve opens only up to the given travel."""
    _drive(bank, fault).highest = min(max((fault.value or 0.0) / 100, 0.0), 1.0)


def actuator_jumps(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).jumps[fault.tag or ""] = Jump(min(max((fault.value or 0.0) / 100, 0.01), 1.0))


def spring_broken(bank: Bank, fault: Fault) -> None:
    drive = _drive(bank, fault)
    if isinstance(drive, Actuator):
        drive.spring_broken = True


def actuator_well(bank: Bank, fault: Fault) -> None:
    """Repaired: any fault of the drive ends."""
    drive = _drive(bank, fault)
    drive.stuck = False
    drive.slow = 1.0
    drive.highest = 1.0
    if isinstance(drive, Actuator):
        drive.spring_broken = False
        drive.lowest = 0.0
    _rig(bank, fault).jumps.pop(fault.tag or "", None)


def confirms_only(bank: Bank, fault: Fault) -> None:
    """The spindle turns without the disc: the switches see a stroke, the water does not."""
    actuator_stuck(bank, fault)
    _rig(bank, fault).lies[fault.tag or ""] = Lie.FOLLOWS_COMMAND


def confirms_end(bank: Bank, fault: Fault) -> None:
    actuator_well(bank, fault)
    _rig(bank, fault).lies.pop(fault.tag or "", None)


# -- the plant ------------------------------------------------------------------------------------------------------------


def check_leak(bank: Bank, fault: Fault) -> str | None:
    places = bank.leak_places(fault.rack)
    if fault.rack is not None and fault.rack not in bank.rigs:
        return f"rack is {fault.rack!r}; one of {', '.join(bank.rigs)}, or none for the CDU"
    if fault.place not in places:
        return f"place is {fault.place!r}; one of {', '.join(places)}"
    return None if fault.value is None or fault.value >= 0.0 else f"a hole of {fault.value:g} mm"


def leak(bank: Bank, fault: Fault) -> None:
    bank.set_leak_mm(fault.rack, fault.place or "", fault.value or 0.0)


def leak_mended(bank: Bank, fault: Fault) -> None:
    bank.set_leak_mm(fault.rack, fault.place or "", 0.0)


def cdu_mode(bank: Bank, fault: Fault) -> None:
    bank.mode_before_fault = bank.cdu_mode()
    bank.set_cdu_mode(CduMode(int(fault.value or 0)))


def cdu_mode_back(bank: Bank, fault: Fault) -> None:
    bank.set_cdu_mode(bank.mode_before_fault)


def pump_trip(bank: Bank, fault: Fault) -> None:
    tripped = bank.plant.cdu.pump_tripped
    for number in range(1, len(tripped) + 1):
        if fault.value in {0.0, float(number)}:
            tripped[number - 1] = True


def pump_back(bank: Bank, fault: Fault) -> None:
    tripped = bank.plant.cdu.pump_tripped
    tripped[:] = [False] * len(tripped)


def supply_step(bank: Bank, fault: Fault) -> None:
    bank.plant.cdu.supply_offset_k = fault.value or 0.0


def supply_back(bank: Bank, fault: Fault) -> None:
    bank.plant.cdu.supply_offset_k = 0.0


def facility_loss(bank: Bank, fault: Fault) -> None:
    bank.plant.cdu.facility_available = 0.0


def facility_back(bank: Bank, fault: Fault) -> None:
    bank.plant.cdu.facility_available = 1.0


def strainer(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).plant.strainer_blockage = min(max((fault.value or 0.0) / 100, 0.0), 1.0)


def strainer_clean(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).plant.strainer_blockage = 0.0


def air(bank: Bank, fault: Fault) -> None:
    """Let air in once; the flow carries it out again."""
    plant = _rig(bank, fault).plant
    plant.add_air((fault.value or 0.0) / 100 * plant.config.volume_l)


def drain_blocked(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).plant.drain_blockage = 1.0


def drain_free(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).plant.drain_blockage = 0.0


def welded(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).plant.power.weld = True


def parted(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).plant.power.weld = False


def backfed(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).plant.power.backfed = True


def not_backfed(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).plant.power.backfed = False


def passing(bank: Bank, fault: Fault) -> None:
    """The seat no longer shuts."""
    _rig(bank, fault).plant.passing_kv[fault.tag or ""] = fault.value or 0.0


def tight(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).plant.passing_kv.pop(fault.tag or "", None)


def power_loss(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).mains = False


def power_back(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).mains = True


def feeder_off(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).feeder_off = True


def feeder_on(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).feeder_off = False


def lose_24v(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).cut_24v = True


def back_24v(bank: Bank, fault: Fault) -> None:
    _rig(bank, fault).cut_24v = False
