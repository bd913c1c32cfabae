"""Permissives: what must hold before power is switched on. Each says what forbids it and what would allow it."""

from collections.abc import Callable, Iterable

from fieldkit.errors import Refusal
from racky.core import caps
from racky.core.causes import Blocks
from racky.core.memory import Phase
from racky.core.view import View

Permissive = Callable[[View], tuple[str, str] | None]
"""Returns None when met, else (what forbids it, what would allow it)."""

FLOW_FRACTION = 0.25
"""Of the nominal flow: below it nothing may be powered. The worst part-load need that a rack's own control aims at is above."""
FLOW_TAGS = ("FT-101", "FT-102")
IN_SERVICE = "FLOWING"


def armed(view: View) -> tuple[str, str] | None:
    if view.setup.armed:
        return None
    return ("Racky is disarmed: it writes nothing", "'armed: true' in Racky's file, and a restart")


def storage(view: View) -> tuple[str, str] | None:
    if view.sight.on("SYS-STORE") is True:
        return ("memory or journal cannot be written", "a disk that can be written; see alarm storage-fault")
    return None


def valvey_heard(view: View) -> tuple[str, str] | None:
    if view.sight.hears_valvey:
        return None
    return ("the rack's Valvey is not heard", "Valvey running, and the broker between")


def valvey_armed(view: View) -> tuple[str, str] | None:
    if view.sight.valvey.armed is True:
        return None
    return ("the rack's Valvey is disarmed: only the wiring protects", "an engineer's 'arm' at Valvey")


def no_latch(view: View) -> tuple[str, str] | None:
    names = ", ".join(dict.fromkeys(latch.sif for latch in view.sight.valvey.latches))
    return (f"latched: {names}", f"clear the cause, then 'reset' with sif: [{names}] at Valvey") if names else None


def no_lock(view: View) -> tuple[str, str] | None:
    owners = ", ".join(view.sight.valvey.locks)
    return (f"locked by {owners}", "'unlock' at Valvey by that owner or by a supervisor") if owners else None


def key_free(view: View) -> tuple[str, str] | None:
    """Only a key that shows itself turned forbids: a rack need not have one."""
    turned = view.sight.guarded("HS-102")
    if turned is None or turned < 0.5:
        return None
    return ("the lock-out key HS-102 is turned", "whoever holds the key turns it back")


def in_service(view: View) -> tuple[str, str] | None:
    state = view.sight.valvey.state
    return None if state == IN_SERVICE else (f"the rack's coolant is in {state}", "'open' at Valvey: FLOWING")


def flow_proven(view: View) -> tuple[str, str] | None:
    """Both meters show enough: a dead meter proves nothing."""
    least = FLOW_FRACTION * view.setup.flow_nominal_lpm
    for tag in FLOW_TAGS:
        flow = view.sight.guarded(tag)
        if flow is None:
            return (f"the flow is not proven: {tag} cannot be believed", f"a good reading of {tag}")
        if flow < least:
            return (f"the flow is not proven: {tag} shows {flow:.0f} L/min", f"at least {least:.0f} L/min at {tag}")
    return None


def permit_on(view: View) -> tuple[str, str] | None:
    permit = view.sight.guarded("XI-101")
    if permit is not None and permit >= 0.5:
        return None
    return ("the power permit (XI-101) is not proven on", "Valvey in FLOWING, XI-101 good and on")


def trays_dry(view: View) -> tuple[str, str] | None:
    wet = ", ".join(sorted(name for name, tray in view.memory.trays.items() if tray.until_s > view.now_s))
    return (f"liquid is reported in {wet}", "a dry tray, told by 'leak_evidence' with wet: false") if wet else None


def not_tripped(view: View) -> tuple[str, str] | None:
    if view.power.phase is not Phase.TRIPPED:
        return None
    return ("the second trip path has acted", "its cause gone, then 'reset' at Racky")


def outputs_known(view: View) -> tuple[str, str] | None:
    for output in view.setup.outputs:
        if view.sight.on(output.feedback) is None:
            return (f"{output.feedback} cannot be believed", f"a good reading of {output.feedback}")
    return None


def not_falling(view: View) -> tuple[str, str] | None:
    if view.power.phase not in {Phase.FALLING, Phase.UNKNOWN}:
        return None
    return (f"the power is in {view.power.phase}", "its end: OFF")


def mains(view: View) -> tuple[str, str] | None:
    """Every shelf has at least one supply that does not report its mains lost."""
    for shelf in view.setup.shelves:
        if not any(view.sight.on(shelf.psu("EA", psu)) is False for psu in shelf.psus):
            return (f"no supply of shelf {shelf.number} is known to have mains", f"EA-{shelf.number} good and off")
    return None


def out_of_maintenance(view: View) -> tuple[str, str] | None:
    now = view.memory.maintenance
    return None if now is None else (f"in maintenance by {now.by}", "'end_maintenance', or its end")


def second_path_clear(view: View) -> tuple[str, str] | None:
    if not view.sight.hears_valvey:
        return ("Valvey is not heard: nobody knows whether the power is off", "Valvey running, and the broker between")
    if view.sight.valvey.latched("SIF-13"):
        return ("SIF-13 stands at Valvey: power is not proven off", "the power proven off, SIF-13 reset at Valvey")
    return None


def tripped(view: View) -> tuple[str, str] | None:
    if view.power.phase is Phase.TRIPPED:
        return None
    return ("nothing is tripped", "nothing to reset")


def healthy(view: View) -> tuple[str, str] | None:
    """No cause of bad health forbids power."""
    first = next((cause for cause in view.health.causes if Blocks.POWER_ON in cause.blocks), None)
    return None if first is None else (f"{first.id}: {first.text}", first.action)


def power_left(view: View) -> tuple[str, str] | None:
    least = caps.caps(view)[0]
    return None if least.kw > 0.0 else (f"the power cap of {least.source} is 0 kW", "a cap above 0 kW")


def missing(view: View, permissives: Iterable[Permissive]) -> Refusal | None:
    """The first permissive that is not met, as the refusal that it is; its name is the code."""
    for permissive in permissives:
        lack = permissive(view)
        if lack is not None:
            return Refusal(permissive.__name__, *lack)
    return None


# fmt: off
KEEP_ON: tuple[Permissive, ...] = (valvey_heard, valvey_armed, no_latch, in_service, permit_on, flow_proven, trays_dry)
"""What must go on to hold while the power rises."""
POWER_ON: tuple[Permissive, ...] = (
    armed, storage, valvey_heard, valvey_armed, not_tripped, no_latch, no_lock, key_free, in_service, permit_on, flow_proven,
    trays_dry, out_of_maintenance, not_falling, power_left, outputs_known, mains, healthy,
)
RESET: tuple[Permissive, ...] = (tripped, second_path_clear)
# fmt: on
