"""Keeping a cap: the cap is told to IT first; a load that does not obey it loses shelves, one after the other.

What is shed comes back in reverse order once there has been room for it long enough. The last shelf is never shed: under a
cap of nothing the rack is switched off in its order, batteries first.
"""

from dataclasses import replace

from racky.core.caps import DEADBAND, caps, load_kw
from racky.core.facts import Fact, FactKind
from racky.core.memory import Phase
from racky.core.outputs import demanded
from racky.core.view import View

ROOM = 0.95
"""Share of the cap that the load may reach with the shelf that comes back."""


def look(view: View) -> tuple[View, list[Fact]]:
    """Return the view after a shelf was shed or brought back, if it is time for that."""
    power, now_s = view.power, view.now_s
    if power.phase is not Phase.ON:
        return view.powered(replace(power, shed=(), over_s=None, room_s=None)), []
    load, cap = load_kw(view), caps(view)[0]
    on = [shelf.command for shelf in view.setup.shelves if power.demand.get(shelf.command, False)]
    over = load is not None and load > cap.kw * (1.0 + DEADBAND)
    room = load is not None and bool(power.shed) and _with_one_more(load, len(on)) <= ROOM * cap.kw
    over_s = (now_s if power.over_s is None else power.over_s) if over else None
    room_s = (now_s if power.room_s is None else power.room_s) if room else None
    view = view.powered(replace(power, over_s=over_s, room_s=room_s))
    rested = now_s - power.shed_s >= view.setup.shed_s
    if over_s is not None and now_s - over_s >= view.setup.grace_s and rested:
        return _shed(view, on, load, cap.source, cap.kw)
    if room_s is not None and now_s - room_s >= view.setup.restore_s:
        return _restore(view)
    return view, []


def _with_one_more(load_kw: float, on: int) -> float:
    """The load once one more shelf feeds it. Shelves share the load evenly."""
    return load_kw * (on + 1) / max(on, 1)


def _shed(view: View, on: list[str], load: float | None, source: str, cap_kw: float) -> tuple[View, list[Fact]]:
    order = [shelf.command for number in view.setup.shed for shelf in view.setup.shelves if shelf.number == number]
    due = [command for command in order if command in on]
    if not due or len(on) == 1:
        return view, []
    view, facts = demanded(view, {due[0]: False}, f"the load is over the cap of {source}")
    view = view.powered(replace(view.power, shed=(*view.power.shed, due[0]), shed_s=view.now_s, room_s=None))
    fields = {"output": due[0], "load_kw": load, "cap_kw": cap_kw, "source": source}
    return view, [*facts, Fact(FactKind.SHED, view.now_s, fields)]


def _restore(view: View) -> tuple[View, list[Fact]]:
    *left, last = view.power.shed
    view, facts = demanded(view, {last: True}, "there is room under the cap again")
    view = view.powered(replace(view.power, shed=tuple(left), shed_s=view.now_s, room_s=None))
    return view, [*facts, Fact(FactKind.RESTORED, view.now_s, {"output": last})]
