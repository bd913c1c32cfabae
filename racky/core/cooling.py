"""COOLING: Valvey fills, tests and opens; then FCV-101 is taken fully open and to nominal flow, and given back."""

from dataclasses import replace

from racky.core.asking import ask, authorised, forgotten
from racky.core.life import Lifecycle
from racky.core.lifecycle_did import SLACK_S, Did, age_s
from racky.core.plan import Plan
from racky.core.shown import NOMINAL, WIDE
from racky.core.view import View
from racky.core.watching import watching

FILL_WAY = frozenset({"FILLING", "TESTING", "ISOLATING"})
OPEN_WAY = frozenset({"OPENING"})
NO_WAY = frozenset[str]()
WIDE_PCT = 98.0
NEAR_SHARE = 0.03


def _paused(view: View, life: Lifecycle) -> Lifecycle:
    """Time that nobody here can use does not count: without a person's word of this boot nothing is asked."""
    return life if authorised(view) else replace(life, step_s=view.now_s)


def fill(view: View, _plan: Plan) -> Did:
    """Full and tested, by Valvey: a fill ends in its pressure and stroke tests."""
    valvey = view.sight.valvey
    if (
        view.sight.hears_valvey
        and valvey.tested is True
        and valvey.inventory == "full"
        and valvey.state not in FILL_WAY
    ):
        return Did(forgotten(view.life), ended=True)
    asking = view.life.asking  # a fill that is given up may leave the rack full: its end still counts
    under_way = asking.request if asking is not None and asking.request in {"fill", "test"} else None
    asked = ask(view, under_way or ("test" if valvey.inventory == "full" else "fill"), FILL_WAY)
    return Did(_paused(view, asked.life), asks=asked.asks, failed=asked.failed)


def open_(view: View, _plan: Plan) -> Did:
    if view.sight.hears_valvey and view.sight.valvey.state == "FLOWING":
        return Did(forgotten(view.life), ended=True)
    asked = ask(view, "open", OPEN_WAY)
    return Did(_paused(view, asked.life), asks=asked.asks, failed=asked.failed)


def _set(view: View, name: str, value: float | bool) -> Did:
    """Have Valvey take a set-point once; ``ended`` when it has."""
    point = f"{name} {value:g}"
    if view.life.set_point == point:
        return Did(view.life, ended=True)
    asked = ask(view, "set_point", NO_WAY, {name: value})
    life = _paused(view, asked.life)
    if asked.done:
        life = replace(life, set_point=point)
    return Did(life, asks=asked.asks)


def wide(view: View, plan: Plan) -> Did:
    """Open FCV-101 fully. What does not reach its end is judged where it stands."""
    did = _set(view, "fcv_pct", 100.0)
    zt = view.sight.guarded("ZT-101")
    reached = (zt is not None and zt >= WIDE_PCT) or age_s(view) >= plan.times.wide_most - SLACK_S
    return replace(did, ended=did.ended and reached)


def nominal(view: View, plan: Plan) -> Did:
    wanted = plan.design.flow_nominal_lpm
    did = _set(view, "flow_lpm", wanted)
    flow = view.sight.guarded("FT-101")
    near = (flow is not None and abs(flow - wanted) <= NEAR_SHARE * wanted) or age_s(
        view
    ) >= plan.times.nominal_most - SLACK_S
    return replace(did, ended=did.ended and near)


def auto(view: View, _plan: Plan) -> Did:
    """Give FCV-101 back to the flow control."""
    did = _set(view, "auto", value=True)
    return replace(did, life=replace(did.life, set_point="")) if did.ended else did


def resting(view: View, _plan: Plan) -> Did:
    """Out of the proof: FCV-101 goes back to the flow control, if this run has taken it."""
    if view.life.set_point and view.sight.valvey.state == "FLOWING":
        did = auto(view, _plan)
        return replace(did, ended=False)
    return Did(view.life)


watch_wide = watching(WIDE, lambda times: times.calm, lambda times: times.watch_wide)
watch_nominal = watching(NOMINAL, lambda times: times.calm, lambda times: times.watch_nominal)
