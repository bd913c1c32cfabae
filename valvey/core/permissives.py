"""Permissives: what must hold before opening work starts. Each says what forbids it and what would allow it."""

from collections.abc import Callable

from valvey.core import stroking
from valvey.core.chart import State
from valvey.core.lending import SILENT
from valvey.core.memory import Inventory
from valvey.core.standing import key_turned
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
    if owners:
        return f"locked by {owners}", "'unlock' by that owner or by a supervisor"
    return ("the lock-out key HS-102 is turned", "HS-102 turned back by whoever holds it") if key_turned(view) else None


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


GRANTED = "granted"
"""Code of the one refusal that waits for an answer first: the coordinator's."""


def granted(work: str) -> Permissive:
    """Return the permissive that ``work`` is under a lease of its own. A rack that still flows opens nothing by ``open``."""

    def granted(view: View) -> tuple[str, str] | None:
        memory = view.memory
        held = memory.grant is not None and memory.leasing.work == work
        if held or not view.limits.coordinator or memory.state is State.COOLDOWN:
            return None
        return memory.leasing.refusal or SILENT

    return granted


def locked(view: View) -> tuple[str, str] | None:
    if view.memory.locks:
        return None
    return ("nobody holds a lock", "'lock' the rack by name: nobody may fill it while it is worked on")


def proven_shut(view: View) -> tuple[str, str] | None:
    if view.shut_proven():
        return None
    return ("the isolation valves are not proven shut", "ZSC-101 and ZSC-102 good and made")


def drain_metered(view: View) -> tuple[str, str] | None:
    if view.number("FT-103") is not None:
        return None
    return ("the drain's flow meter (FT-103) cannot be believed", "a good reading of FT-103")


def fill_metered(view: View) -> tuple[str, str] | None:
    if view.number("FT-101") is not None:
        return None
    return ("the supply flow meter (FT-101) cannot be believed", "a good reading of FT-101")


def pressure_known(view: View) -> tuple[str, str] | None:
    if view.best("PT-101", "PT-102") is not None:
        return None
    return ("the pressure in the rack cannot be believed", "a good reading of PT-101 or PT-102")


def sump_free(view: View) -> tuple[str, str] | None:
    high = view.on("LSH-203")
    if high is False:
        return None
    return ("LSH-203 cannot be believed" if high is None else "the drain sump is high", "an empty sump, LSH-203 good")


def not_full(view: View) -> tuple[str, str] | None:
    """A rack that is said to be full but holds no pressure is not, as far as anybody can tell."""
    pressure = view.best("PT-101", "PT-102")
    empty = pressure is not None and pressure < view.limits.static_ll_kpa
    if view.memory.inventory is not Inventory.FULL or empty:
        return None
    return ("the rack is full", "'drain' it first, or 'test' it as it is")


def throttled(view: View) -> tuple[str, str] | None:
    position, most = view.number("ZT-101"), view.limits.fcv_fill_pct + view.limits.fcv_band_pct
    if position is not None and position <= most:
        return None
    shown = "cannot be believed" if position is None else f"stands at {position:.0f} %"
    return (f"FCV-101 {shown}", f"ZT-101 good and at most {most:.0f} %")


def partial_stroke(view: View) -> tuple[str, str] | None:
    """The valve controller times it, both valves stand proven open, and nothing else is under way."""
    memory = view.memory
    if memory.state is not State.FLOWING:
        return ("a partial stroke is made in service", "'test' in ISOLATED: it strokes both isolation valves fully")
    missing = ", ".join(tag for tag in stroking.TAGS if tag not in view.limits.stroke_tags)
    if missing:
        return (
            f"no device-timed partial stroke is set up for the valve controller: {missing} not in the file",
            "a valve controller that times it, and its four points; until then 'test' in ISOLATED strokes both fully",
        )
    lost = ", ".join(tag for tag in stroking.TAGS[1:] if view.on(tag) is None)
    if lost:
        return (f"{lost} cannot be believed", f"good readings of {lost}")
    if memory.stroking(view.now_s) is not None or view.on(stroking.RUNNING_TAG) is True:
        return ("a stroke test is running", "its end, two seconds from its start")
    if memory.isolate_wanted:
        return ("an isolation is under way", "its end, or 'cancel'")
    if not (view.open_proven() and view.coils_on()):
        return ("the isolation valves are not proven open", "ZSO-101, ZSO-102, XY-101 and XY-102 good and made")
    return None
