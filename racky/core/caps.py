"""How much power the rack may draw now: the least of what the site gives, people ask, Valvey needs and the loop can cool."""

from dataclasses import dataclass, replace

from racky.core.facts import Fact, FactKind
from racky.core.memory import PreTrip
from racky.core.view import View

AGAIN_S = 30.0
"""A pre-trip that still stands after this is answered by a further cut."""
KEEP_S = 60.0
"""A pre-trip's cap is kept this long after Valvey asks no more, so that the load does not swing about the limit."""
DEADBAND = 0.02
"""A load this share over its cap is still obedient: meters differ by so much."""
UNLOADING = "UNLOADING"


@dataclass(frozen=True, slots=True)
class PreTripRow:
    """One safety function that asks for less power before it trips. ``share``: of the load then, at each cut."""

    sif: str
    share: float
    text: str


# fmt: off
PRE_TRIPS: tuple[PreTripRow, ...] = (
    PreTripRow("SIF-3", 0.80, "the return is hot"),
    PreTripRow("SIF-4", 0.50, "the flow is low for the load: below 45 % of need"),
    PreTripRow("SIF-5", 0.80, "the supply is hot"),
)
# fmt: on
OTHER_SHARE = 0.8
"""For a function that a later Valvey asks by."""
_SHARES = {row.sif: row.share for row in PRE_TRIPS}


@dataclass(frozen=True, slots=True)
class CapNow:
    """One bound of the rack's power, kW, and whose it is: ``rating``, ``site``, ``request``, ``SIF-3/cap``, ``loop``, ``unloading``."""

    source: str
    kw: float


def load_kw(view: View) -> float | None:
    """What the rack draws: its shelves' own sum, else the bus-bar's, else the feeder's; None when nobody knows."""
    shelves = [view.sight.number(shelf.power) for shelf in view.setup.shelves]
    known = [one for one in shelves if one is not None]
    if known and len(known) == len(shelves):
        return sum(known)
    busbar = view.sight.guarded("ET-101")
    return busbar if busbar is not None else view.sight.guarded("JT-101")


def caps(view: View) -> tuple[CapNow, ...]:
    """Every bound that holds now, the least first."""
    power, setup, sight = view.power, view.setup, view.sight
    out = [CapNow("rating", setup.rating_kw), CapNow("site", setup.budget_kw)]
    if power.cap is not None:
        out.append(CapNow("request", power.cap.kw))
    out += [CapNow(row, one.kw) for row, one in power.pretrip.items()]
    if sight.loop.cap_kw is not None and sight.hears_loop:
        out.append(CapNow("loop", sight.loop.cap_kw))
    if sight.hears_valvey and sight.valvey.state == UNLOADING:
        out.append(CapNow("unloading", 0.0))
    return tuple(sorted(out, key=lambda one: one.kw))


def look(view: View) -> tuple[View, list[Fact]]:
    """Return the view with its caps brought up to now, and a fact when the least of them changed."""
    power, now_s = view.power, view.now_s
    cap = power.cap if power.cap is None or power.cap.until_s is None or now_s < power.cap.until_s else None
    memory = replace(view.memory, power=replace(power, cap=cap, pretrip=_pretrip(view)))
    view = replace(view, memory=memory)
    least = caps(view)[0]
    if (least.source, least.kw) == power.least:
        return view, []
    power = replace(memory.power, least=(least.source, least.kw))
    memory = replace(memory, power=power, state_seq=memory.state_seq + 1)
    fact = Fact(FactKind.CAP, now_s, {"kw": least.kw, "source": least.source})
    return replace(view, memory=memory), [fact]


def _pretrip(view: View) -> dict[str, PreTrip]:
    """Caps that Valvey's pre-trips ask for. While Valvey is not heard they stay as they are."""
    sight, now_s = view.sight, view.now_s
    known = view.power.pretrip
    if not sight.hears_valvey:
        return dict(known)
    out = {row: one for row, one in known.items() if now_s - one.asked_s < KEEP_S}
    for row in sight.valvey.power_cap:
        share, one = _SHARES.get(row.split("/")[0], OTHER_SHARE), known.get(row)
        if one is None:
            load = load_kw(view)
            out[row] = PreTrip(share * (view.setup.rating_kw if load is None else load), now_s, now_s)
        elif now_s - one.cut_s >= AGAIN_S:
            out[row] = PreTrip(share * one.kw, now_s, now_s)
        else:
            out[row] = replace(one, asked_s=now_s)
    return out
