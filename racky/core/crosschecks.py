"""What readings say of each other: a sensor that the others contradict, a flow that the pressure does not explain, power
that does not add up. Each is a cause of its own, and what explains trips that a lying sensor brought about.
"""

from collections.abc import Iterable
from statistics import median

from racky.core.causes import Found
from racky.core.memory import Phase
from racky.core.signs import functions_of, slug
from racky.core.view import View

FLOW_APART = 0.15
"""Of the nominal flow. Meters are within 1 %, flow by dP within 8 %."""
RETURN_APART_K = 4.0
SUPPLY_APART_K = 5.0
"""The way from the CDU to the rack loses tenths; a swap or a stuck sensor shows more."""
SUPPLY_ON_S = 20.0
"""A step of the CDU's supply is so long under way, with the sensors' lag."""
BACKWARDS_K = 5.0
PRESSURE_APART_KPA = 50.0
LOW_SHARE = 0.45
"""Of the nominal flow: where SIF-4 asks for less power."""
HEADER_KPA = 60.0
OPEN_PCT = 30.0
CDU_HOT_C = 45.0
"""Warm-water supply (W45) ends here; racks ask for less power at 47."""
POWER_SHARE, POWER_KW = 0.10, 3.0
SHELF_EFFICIENCY = 0.965
"""ORv3 shelves at half load and more; what is left is within the share above."""
DEAD_KW, DEAD_V = 1.0, 10.0
_RETURNS = ("TT-102A", "TT-102B", "TT-102C")


def _open(view: View) -> bool:
    """Both isolation valves show themselves open."""
    return all((view.sight.guarded(tag) or 0.0) >= 0.5 for tag in ("ZSO-101", "ZSO-102"))


def _flowing(view: View) -> bool:
    flows = [view.sight.guarded(tag) for tag in ("FT-101", "FT-102")]
    return max((one for one in flows if one is not None), default=0.0) > 0.25 * view.setup.flow_nominal_lpm


def sensor_off(view: View) -> Iterable[Found]:
    """Sensors that believe themselves and are contradicted by two others."""
    for tag, evidence in (*_flows(view), *_returns(view), *_backwards(view), *_pressures(view)):
        yield Found(slug(tag), evidence, explains=functions_of(slug(tag)))
    for tag, evidence in _supply(view):
        yield Found(slug(tag), evidence, explains=functions_of(slug(tag)), on_s=SUPPLY_ON_S)


def _flows(view: View) -> Iterable[tuple[str, str]]:
    """Of FT-101, FT-102 and the flow by dP, the one that is far from the two others, which agree."""
    seen = {tag: view.sight.guarded(tag) for tag in ("FT-101", "FT-102", "FY-102")}
    known = {tag: flow for tag, flow in seen.items() if flow is not None}
    far = FLOW_APART * view.setup.flow_nominal_lpm
    if len(known) == len(seen) and _open(view):
        yield from ((tag, text) for tag, text in _odd(known, far, "L/min") if tag != "FY-102")


def _returns(view: View) -> Iterable[tuple[str, str]]:
    seen = {tag: view.sight.guarded(tag) for tag in _RETURNS}
    known = {tag: one for tag, one in seen.items() if one is not None}
    if len(known) == len(seen):
        yield from _odd(known, RETURN_APART_K, "degC")


def _odd(known: dict[str, float], far: float, unit: str) -> Iterable[tuple[str, str]]:
    """The one of three that is ``far`` from both others, which are nearer to each other than to it."""
    for tag, value in known.items():
        others = [one for name, one in known.items() if name != tag]
        nearest = min(abs(value - one) for one in others)
        if nearest > far and abs(others[0] - others[1]) < nearest:
            yield tag, f"{tag} shows {value:.1f} {unit}, the others {others[0]:.1f} and {others[1]:.1f}"


def _backwards(view: View) -> Iterable[tuple[str, str]]:
    """A supply well above the return: coolant is not cooled by a rack. One of the two sides lies, or they are swapped."""
    supply, back = view.sight.guarded("TT-101"), view.sight.guarded("TY-102")
    if supply is not None and back is not None and _flowing(view) and supply > back + BACKWARDS_K:
        yield "TT-101", f"TT-101 shows {supply:.1f} degC, the return {back:.1f}"


def _supply(view: View) -> Iterable[tuple[str, str]]:
    """TT-101 against the CDU's TT-201, while coolant flows between them."""
    ours, theirs = view.sight.guarded("TT-101"), view.sight.guarded("TT-201")
    if theirs is None:
        theirs = view.sight.looped("TT-201")
    if ours is not None and theirs is not None and _flowing(view) and abs(ours - theirs) > SUPPLY_APART_K:
        yield "TT-101", f"TT-101 shows {ours:.1f} degC, the CDU's TT-201 {theirs:.1f}"


def _pressures(view: View) -> Iterable[tuple[str, str]]:
    """PT-101 and PT-102 against the header they lie between, and against each other where nothing flows."""
    ours = {tag: view.sight.guarded(tag) for tag in ("PT-101", "PT-102")}
    header = [view.sight.guarded("PT-201"), view.sight.guarded("PT-202")]
    known = {tag: one for tag, one in ours.items() if one is not None}
    ends = [one for one in header if one is not None]
    if len(known) < len(ours) or len(ends) < len(header):
        return
    low, high = min(ends) - PRESSURE_APART_KPA, max(ends) + PRESSURE_APART_KPA
    if _open(view):
        outside = {tag: one for tag, one in known.items() if not low <= one <= high}
    else:
        far = abs(known["PT-101"] - known["PT-102"]) > PRESSURE_APART_KPA and not _flowing(view)
        middle = sum(ends) / 2.0
        odd = max(known, key=lambda tag: abs(known[tag] - middle))
        outside = {odd: known[odd]} if far else {}
    for tag, value in outside.items():
        yield tag, f"{tag} shows {value:.0f} kPa, the header {min(ends):.0f} to {max(ends):.0f}"


def limit_switch(view: View) -> Iterable[Found]:
    """A valve in service whose switches say neither or both: its position is not known."""
    if view.sight.valvey.state != "FLOWING":
        return
    for number in ("101", "102"):
        opened, shut = view.sight.guarded(f"ZSO-{number}"), view.sight.guarded(f"ZSC-{number}")
        if opened is not None and shut is not None and (opened >= 0.5) is (shut >= 0.5):
            shows = "both limits" if opened >= 0.5 else "neither limit"
            yield Found(f"xv-{number}", f"XV-{number} shows {shows}")


def flow_blocked(view: View) -> Iterable[Found]:
    """Little flow although the header has pressure and the valves stand open: strainer, hose, cold plates."""
    flows = [view.sight.guarded(tag) for tag in ("FT-101", "FT-102")]
    known = [one for one in flows if one is not None]
    supply, back, valve = (view.sight.guarded(tag) for tag in ("PT-201", "PT-202", "ZT-101"))
    if not known or supply is None or back is None or valve is None or not _open(view):
        return
    flow, dp_kpa = max(known), supply - back
    if flow < LOW_SHARE * view.setup.flow_nominal_lpm and dp_kpa > HEADER_KPA and valve >= OPEN_PCT:
        yield Found(evidence=f"{flow:.0f} L/min at {dp_kpa:.0f} kPa of header and FCV-101 at {valve:.0f} %")


def cdu_hot(view: View) -> Iterable[Found]:
    """The CDU gives supply that no rack can use."""
    seen = [view.sight.guarded("TT-201"), view.sight.looped("TT-201")]
    known = [one for one in seen if one is not None]
    if known and max(known) > CDU_HOT_C:
        yield Found(evidence=f"TT-201 is {max(known):.1f} degC")


def mains_lost(view: View) -> Iterable[Found]:
    """The contactor is shut and nothing comes through it. Once seen it stands until a reading speaks against it.

    The shelves' supplies know it; where none can be read, a feeder that shows nothing on a rack that draws something does.
    """
    permit, feeder = view.sight.guarded("XI-101"), view.sight.guarded("JT-101")
    seen = "mains-lost" in view.memory.since_s
    closed = seen if permit is None else permit >= 0.5
    dead = (feeder is None and seen) or (feeder is not None and feeder < DEAD_KW)
    gone = mains_gone(view)
    if view.sight.hears_valvey and closed and (dead and not _idle(view) if gone is None else gone):
        yield Found(evidence="the permit is on and nothing comes through it")


def mains_gone(view: View) -> bool | None:
    """Whether no supply of any shelf has mains; None when none can be read."""
    seen = [view.sight.on(shelf.psu("EA", psu)) for shelf in view.setup.shelves for psu in shelf.psus]
    known = [lost for lost in seen if lost is not None]
    return all(known) if known else None


def _idle(view: View) -> bool:
    """Nobody draws anything: the shelves are not on, or the bus-bar has voltage and no load. A feeder at nothing is then not dead."""
    if view.setup.shelves and view.power.phase is not Phase.ON:
        return True
    volts, busbar = view.sight.guarded("EV-101"), view.sight.guarded("ET-101")
    feeding = any(view.sight.on(one.feeding) for one in view.setup.batteries)
    return volts is not None and volts >= DEAD_V and not feeding and (busbar is None or busbar < DEAD_KW)


def power_apart(view: View) -> Iterable[Found]:
    """Feeder, bus-bar, shelves and what the coolant carries off do not tell of the same power."""
    seen = dict(_powers(view))
    if len(seen) < 2:
        return
    middle = median(seen.values())
    far = max(POWER_KW, POWER_SHARE * max(seen.values()))
    for name, kw in seen.items():
        if abs(kw - middle) > far or (len(seen) == 2 and abs(kw - middle) > far / 2.0):
            told = ", ".join(f"{one} {value:.0f} kW" for one, value in seen.items())
            yield Found(evidence=f"{name} is apart: {told}")
            return


def _powers(view: View) -> Iterable[tuple[str, float]]:
    """What each way of measuring says of the power behind the shelves, kW."""
    feeder, busbar = view.sight.guarded("JT-101"), view.sight.guarded("ET-101")
    shelves = [view.sight.number(shelf.power) for shelf in view.setup.shelves]
    feeding = any(view.sight.on(one.feeding) for one in view.setup.batteries)
    if feeder is not None and not feeding:
        yield "feeder", feeder * SHELF_EFFICIENCY
    if busbar is not None:
        yield "bus-bar", busbar
    known = [one for one in shelves if one is not None]
    if known and len(known) == len(shelves) and not feeding:
        yield "shelves", sum(known)
