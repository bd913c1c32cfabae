"""Permissives: what must hold before opening work starts. Each says what forbids it and what would allow it."""

from collections.abc import Callable

from valvey.core.chart import State
from valvey.core.memory import Inventory
from valvey.core.view import View

Permissive = Callable[[View], tuple[str, str] | None]
"""Returns None when met, else (what forbids it, what would allow it)."""


def armed(view: View) -> tuple[str, str] | None:
    return (
        None if view.memory.armed else ("the rack is disarmed", "an engineer's 'arm', with 'armed: true' in the file")
    )


def armed_in_file(view: View) -> tuple[str, str] | None:
    return (
        None
        if view.limits.armed_in_file
        else ("the configuration says 'armed: false'", "'armed: true' in the file, and a restart")
    )


def disarmed(view: View) -> tuple[str, str] | None:
    return ("the rack is armed already", "nothing: it acts") if view.memory.armed else None


def storage(view: View) -> tuple[str, str] | None:
    if view.on("SYS-STORE") is True:
        return ("memory or journal cannot be written", "a disk that can be written; see alarm storage-fault")
    return None


def no_latch(view: View) -> tuple[str, str] | None:
    names = ", ".join(sorted({latch.sif for latch in view.memory.latches}))
    return (f"latched: {names}", f"clear the cause, then 'reset' with sif: [{names}]") if names else None


def no_lock(view: View) -> tuple[str, str] | None:
    owners = ", ".join(lock.owner for lock in view.memory.locks)
    return (f"locked by {owners}", "'unlock' by that owner or by a supervisor") if owners else None


def full(view: View) -> tuple[str, str] | None:
    if view.memory.inventory is Inventory.FULL:
        return None
    return (
        f"inventory is {view.memory.inventory}",
        "'fill' the rack, or an engineer's 'commission' when it is ISOLATED",
    )


def tested(view: View) -> tuple[str, str] | None:
    if view.memory.tested:
        return None
    return ("the rack is not pressure-tested", "'test' the rack, or an engineer's 'commission' when it is ISOLATED")


def supply_in_band(view: View) -> tuple[str, str] | None:
    supply = view.number("TT-101")
    if supply is None:
        return ("the supply temperature (TT-101) cannot be believed", "a good reading of TT-101")
    limit = view.limits.supply_h_c
    return None if supply <= limit else (f"supply is {supply:.1f} degC", f"at most {limit:.1f} degC at TT-101")


def drain_shut(view: View) -> tuple[str, str] | None:
    return None if view.on("ZSC-103") is True else ("the drain valve is not proven shut", "ZSC-103 good and made")


def no_power(view: View) -> tuple[str, str] | None:
    return None if view.on("XI-101") is False else ("XI-101 does not prove the permit off", "XI-101 good and off")


def granted(view: View) -> tuple[str, str] | None:
    needs = view.limits.coordinator and view.memory.state is not State.COOLDOWN
    if needs and view.memory.grant is None:
        return (
            "no grant from the loop's coordinator",
            "a lease from the coordinator; planned opening work waits for it",
        )
    return None


def built(view: View) -> tuple[str, str] | None:
    return ("this version has no step sequence for it", "a version whose 'valvey draw' lists its steps")
