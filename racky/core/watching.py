"""Steps that watch: every reading that a measure may want goes into a window, for a while."""

from collections.abc import Callable
from dataclasses import replace

from fieldkit.alarm import Priority
from racky.core import windows
from racky.core.burn_in import GUARDED, HEADERS
from racky.core.lifecycle_did import Act, Did, age_s
from racky.core.plan import Plan, Times
from racky.core.shown import ALARMS, LATCHES
from racky.core.view import View
from racky.core.windows import Window

GRAVE = frozenset({Priority.CRITICAL, Priority.HIGH, Priority.MEDIUM})
"""Alarms that a rack may not be admitted under; a low one is a remark."""


def watching(name: str, calm: Callable[[Times], float], for_s: Callable[[Times], float]) -> Act:
    def watch(view: View, plan: Plan) -> Did:
        life, rest_s = view.life, calm(plan.times)
        if age_s(view) < rest_s:
            return Did(life)
        window = life.windows.get(name)
        if window is None or window.began_s < life.step_s:  # of an earlier try
            window = Window(view.now_s)
        if windows.due(window, view.now_s):
            window = windows.seen(window, sampled(view, plan), view.now_s)
        return Did(
            replace(life, windows={**life.windows, name: window}), ended=age_s(view) >= rest_s + for_s(plan.times)
        )

    return watch


def sampled(view: View, plan: Plan) -> dict[str, float | None]:
    """Every reading that a measure may want, now."""
    sight = view.sight
    values: dict[str, float | None] = {tag: sight.guarded(tag) for tag in (*GUARDED, *plan.design.detectors)}
    for tag in HEADERS:
        own = sight.guarded(tag)
        values[tag] = sight.looped(tag) if own is None else own
    for shelf in view.setup.shelves:
        values[shelf.power] = sight.number(shelf.power)
        for psu in shelf.psus:
            values |= {
                tag: sight.number(tag) for letters in ("JT", "ST", "XA", "SA", "EA") if (tag := shelf.psu(letters, psu))
            }
    heard = sight.hears_valvey
    values[LATCHES] = float(len(sight.valvey.latches)) if heard else None
    grave = [one for one in sight.valvey.alarms.values() if one.active and one.priority in GRAVE]
    values[ALARMS] = float(len(grave)) if heard else None
    return values
