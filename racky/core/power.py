"""The rack's power: on in sequence, off in reverse, caps kept, and the second trip path.

Orderliness, not safety: Valvey's permit cuts the power whether Racky lives or not. A rack that is found powered is left
powered; a broker or a Valvey that falls silent switches nothing.
"""

from collections.abc import Callable
from dataclasses import replace

from racky.core import caps, shedding
from racky.core.crosschecks import mains_gone
from racky.core.facts import Fact, FactKind
from racky.core.memory import Phase
from racky.core.outputs import demanded, entered, obeys, overdue, written
from racky.core.permissives import KEEP_ON, POWER_ON, missing
from racky.core.setup import Reclose
from racky.core.view import View

DARK = frozenset({"OPENING", "COOLDOWN", "ISOLATING", "ISOLATED", "DRAINING", "DRAINED", "FILLING", "TESTING", "ESD"})
"""States of Valvey in which the permit is off. In STARTUP it does not know yet what the rack is; a state of a chart that is not
known here switches nothing."""
SECOND_PATH = "SIF-13"
SECOND_PATH_ALARM = "power-on-dark"

Moved = tuple[View, list[Fact]]


def trip(view: View) -> Moved:
    """The second trip path: power is not proven off although the permit is. All shelves and batteries off, at once.

    What Valvey said last counts, heard now or not: its latch stands until a person resets it.
    """
    valvey, power = view.sight.valvey, view.power
    stands = valvey.latched(SECOND_PATH) or (view.sight.hears_valvey and valvey.active(SECOND_PATH_ALARM))
    if not stands or power.phase is Phase.TRIPPED:
        return view, []
    why = "power is not proven off although the permit is (SIF-13)"
    view, facts = _all_off(view, why)
    view, told = entered(view.powered(replace(view.power, wanted=False, tripped=why)), Phase.TRIPPED, why)
    outputs = [output.command for output in view.setup.outputs]
    return view, [Fact(FactKind.SECOND_TRIP_PATH, view.now_s, {"outputs": outputs}), *told, *facts]


def advance(view: View) -> tuple[View, dict[str, float], list[Fact]]:
    """Return the view a step further, and what to write."""
    view, facts = caps.look(view)
    view = _without_power(view)
    before = view.power.phase
    view, told = _PHASES[before](view)
    facts += told
    if view.power.phase is not before:  # what a new phase demands is not kept waiting for the next step
        view, told = _PHASES[view.power.phase](view)
        facts += told
    view, told = shedding.look(view)
    view, writes = written(view)
    return view, writes, [*facts, *told]


def off(view: View, why: str, *, hurry: bool = False, wanted: bool = False) -> Moved:
    """Begin to switch off in reverse order; ``hurry``: all at once."""
    return entered(view.powered(replace(view.power, wanted=wanted, hurry=hurry)), Phase.FALLING, why)


def on(view: View, why: str) -> Moved:
    """Begin to switch on in order. Every permissive must have been judged."""
    return entered(view.powered(replace(view.power, wanted=True, hurry=False)), Phase.RISING, why)


def _all_off(view: View, why: str) -> Moved:
    return demanded(view, {output.command: False for output in view.setup.outputs}, why)


def _without_power(view: View) -> View:
    """Note since when the least cap leaves no power at all: Valvey unloads the rack, or somebody wants it so."""
    power, now = view.power, caps.caps(view)[0].kw <= 0.0
    since_s = power.zero_s if power.zero_s is not None else view.now_s
    return view.powered(replace(power, zero_s=since_s if now else None))


def _loss(view: View) -> tuple[str, bool] | None:
    """Why a powered rack is switched off by itself, and whether in a hurry; None when it is not."""
    valvey, since_s = view.sight.valvey, view.power.zero_s
    if view.sight.hears_valvey and valvey.armed and valvey.state in DARK:
        return f"Valvey is in {valvey.state}: the power permit is off", True
    if since_s is not None and view.now_s - since_s >= view.setup.grace_s:
        return f"the power cap of {caps.caps(view)[0].source} is 0 kW", False
    return None


def _lost(view: View, why: str, *, hurry: bool) -> Moved:
    """Switch off although somebody wants it on: whether it comes back by itself is the site's choice."""
    wanted = view.power.wanted and view.setup.reclose is Reclose.AUTOMATIC
    return off(view, why, hurry=hurry, wanted=wanted)


def _unknown(view: View) -> Moved:
    """Adopt what is found. A fall goes on; a rise does not."""
    shown = {output.command: view.sight.on(output.feedback) for output in view.setup.outputs}
    if None in shown.values():
        return view, []
    if view.power.was is Phase.FALLING:
        return entered(view, Phase.FALLING, "a restart had cut the switching off short")
    return _found(view, [command for command, on in shown.items() if on])


def _found(view: View, found: list[str]) -> Moved:
    """Take the outputs as they are found: what is on is wanted on and never written, what is off is left off."""
    shed = tuple(command for command in view.power.shed if command not in found and found)
    demand = {**dict.fromkeys(found, True), **dict.fromkeys(shed, False)}
    asked_s = dict.fromkeys(demand, view.now_s - view.setup.output_s)
    wanted = bool(found) or (view.power.phase is Phase.UNKNOWN and view.power.wanted)
    power = replace(view.power, demand=demand, asked_s=asked_s, said_s={}, late=frozenset(), shed=shed, wanted=wanted)
    return entered(view.powered(power), *((Phase.ON, "found on") if found else (Phase.OFF, "found off")))


def _off(view: View) -> Moved:
    power, now_s = view.power, view.now_s
    strange = [o.command for o in view.setup.outputs if view.sight.on(o.feedback) and o.command not in power.demand]
    if strange:
        return _found(view, strange)
    if not power.wanted or view.setup.reclose is not Reclose.AUTOMATIC or missing(view, POWER_ON) is not None:
        return view.powered(replace(power, allowed_s=None)), []
    allowed_s = now_s if power.allowed_s is None else power.allowed_s
    if now_s - allowed_s < view.setup.settle_s:
        return view.powered(replace(power, allowed_s=allowed_s)), []
    return on(view, "everything allows power again (reclose: automatic)")


def _rising(view: View) -> Moved:
    power, now_s = view.power, view.now_s
    loss, lack = _loss(view), missing(view, KEEP_ON)
    if loss is not None:
        return _lost(view, loss[0], hurry=loss[1])
    if lack is not None:
        return _lost(view, lack.reason, hurry=False)
    for output in view.setup.outputs:
        if not power.demand.get(output.command, False):
            rested = all(now_s - at_s >= view.setup.pause_s for at_s in power.asked_s.values())
            return demanded(view, {output.command: True}, "power on, in sequence") if rested else (view, [])
        if obeys(view, output.command) is not True:
            late = f"{output.feedback} did not show on within {view.setup.output_s:g} s"
            return off(view, late) if overdue(view, output.command) else (view, [])
    return entered(view, Phase.ON, "every output is on")


def _on(view: View) -> Moved:
    loss = _loss(view)
    if loss is not None:
        return _lost(view, loss[0], hurry=loss[1])
    if any(view.sight.on(output.feedback) is not False for output in view.setup.outputs):
        return view, []
    if mains_gone(view):
        return _lost(view, "the mains are gone", hurry=True)
    return _found(view, [])


def _falling(view: View) -> Moved:
    power = view.power
    if power.hurry:
        view, facts = _all_off(view, power.why)
    else:
        view, facts = _next_off(view)
    power = view.power
    down = [not power.demand.get(o.command, True) and _done(view, o.command) for o in view.setup.outputs]
    if not all(down):
        return view, facts
    view, told = entered(view, Phase.OFF, power.why)
    return view, [*facts, *told]


def _next_off(view: View) -> Moved:
    power, now_s = view.power, view.now_s
    for output in reversed(view.setup.outputs):
        if power.demand.get(output.command, True):
            last_s = max((power.asked_s[tag] for tag, on in power.demand.items() if not on), default=power.since_s)
            first = all(power.demand.values())
            rested = first or now_s - last_s >= view.setup.pause_s
            return demanded(view, {output.command: False}, power.why) if rested else (view, [])
        if not _done(view, output.command):
            return view, []
    return view, []


def _done(view: View, command: str) -> bool:
    """Whether an output that has to be off is off, or has had its time."""
    return obeys(view, command) is True or overdue(view, command)


def _tripped(view: View) -> Moved:
    return _all_off(view, view.power.why)


_PHASES: dict[Phase, Callable[[View], Moved]] = {
    Phase.UNKNOWN: _unknown,
    Phase.OFF: _off,
    Phase.RISING: _rising,
    Phase.ON: _on,
    Phase.FALLING: _falling,
    Phase.TRIPPED: _tripped,
}
