"""The virtual sensors' eyes: one scan's view as they see it, and SIF-11, which asks for two symptoms."""

from fieldkit.coolant import dew_point_c
from fieldkit.frozen import replace
from valvey.core.chart import OUTPUTS, State, Throttle
from valvey.core.judges import DETECTORS, voting
from valvey.core.memory import Inventory, Memory
from valvey.core.plausible import RETURNS
from valvey.core.verdict import NOT_ARMED, D, H, Judgement, U
from valvey.core.view import View
from valvey.core.virtual_sensors import ONSET_S, Seen, movers, observe

PERIOD_S = 0.2
"""They look so often: five looks make one second of the mass balance, and a scan in between costs nothing."""
EPSILON_S = 0.002
LONGEST_S = 2.0
DEW_FLOOR_C = 18.0
"""Stands for the dew point where no room sensor can be believed: 27 °C at 58 %, the damp end of the usual hall."""
AGREES_FRACTION = 0.25
"""The flow by dP agrees with a leak when it lies this share of the gap away from either meter: neither meter alone explains it."""


def seen(view: View) -> Seen:
    """What the virtual sensors look at in this scan."""
    limits, number = view.limits, view.number
    busbar_kw = number("ET-101")
    tags = {tag for row in movers(limits.rating_kw, limits.flow_nominal_lpm) for tag in (row.tag, row.driver)}
    return Seen(
        rating_kw=limits.rating_kw,
        nominal_lpm=limits.flow_nominal_lpm,
        valves_open=view.open_proven(),
        shut_101=view.on("ZSC-101"),
        shut_102=view.on("ZSC-102"),
        full=view.memory.state is State.ISOLATED and view.memory.inventory is Inventory.FULL,
        supply_lpm=number("FT-101"),
        return_lpm=number("FT-102"),
        supply_c=number("TT-101"),
        returns_c=(number(RETURNS[0]), number(RETURNS[1]), number(RETURNS[2])),
        supply_kpa=number("PT-101"),
        return_kpa=number("PT-102"),
        load_kw=number("JT-101") if busbar_kw is None else busbar_kw,
        level_pct=number("LT-201"),
        dew_c=dew_c(view),
        values={tag: number(tag) for tag in sorted(tags)} | {"FCV-101": _throttle_pct(view.memory)},
    )


def dew_c(view: View) -> float:
    """Dew point of the room's air, or the floor that stands for it, °C."""
    air_c, humidity_pct = view.number("TT-110"), view.number("MT-110")
    return DEW_FLOOR_C if air_c is None or humidity_pct is None else dew_point_c(air_c, humidity_pct)


def dew_margin_k(view: View) -> float | None:
    """How far the supply is above the dew point, K."""
    supply_c = view.number("TT-101")
    return None if supply_c is None else supply_c - dew_c(view)


def dp_flow_lpm(view: View) -> float | None:
    """Flow through the rack by its pressures and its learned resistance; by its Kv until that is learned."""
    supply_kpa, return_kpa = view.number("PT-101"), view.number("PT-102")
    if supply_kpa is None or return_kpa is None:
        return None
    learned = view.memory.sensors.resistance.flow_lpm(supply_kpa - return_kpa)
    return view.dp_flow_lpm() if learned is None else learned


def _throttle_pct(memory: Memory) -> float | None:
    """The position that FCV-101 is asked for; None where another step than KEEP says so."""
    row = OUTPUTS[memory.state, memory.step]
    return memory.fcv_pct if row is not None and row.fcv_101 is Throttle.KEEP else None


def look(view: View) -> Memory:
    """Return the memory after the virtual sensors' next look, when that is due.

    After a gap (a restart, a late scan) little time is counted: what was not seen proves nothing.
    """
    memory, dt_s = view.memory, view.now_s - view.memory.sensors_s
    if dt_s < PERIOD_S - EPSILON_S:
        return memory
    return replace(memory, sensors=observe(memory.sensors, seen(view), min(dt_s, LONGEST_S)), sensors_s=view.now_s)


def symptoms(view: View) -> tuple[str, ...]:
    """What else says that liquid is leaving the rack: names for people, none when nothing does."""
    motion = view.memory.sensors.motion
    found = [tag for tag in voting(view, DETECTORS) if view.on(tag) is True]
    if _dp_agrees(view):
        found.append("dP-flow")
    fresh = motion.apart_s < ONSET_S
    if motion.kpa_falling and fresh:
        found.append("PT-102")
    if motion.level_falling and fresh:
        found.append("LT-201")
    return tuple(found)


def _dp_agrees(view: View) -> bool:
    """Whether the flow by dP lies clearly between the two meters: a leak half-way; a single wrong meter leaves it at the other."""
    supply, ret, flow = view.number("FT-101"), view.number("FT-102"), dp_flow_lpm(view)
    if supply is None or ret is None or flow is None:
        return False
    edge = AGREES_FRACTION * (supply - ret)
    return ret + edge <= flow <= supply - edge


def gross_imbalance(view: View) -> Judgement:
    """SIF-11: far more goes in than comes out, and a second symptom says the same.

    Armed with both valves proven open. While the flow changes, meters of unlike lags differ: what that may explain is
    UNKNOWN without being blind, so that a hold that has begun is kept, and what it cannot explain is a demand: a leak
    makes the flow change itself. Value and limit are the imbalance and what is tolerated, L/min.
    """
    if not view.open_proven():
        return NOT_ARMED
    flows = view.imbalance()
    if flows is None:
        return Judgement(U, "FT-101", None, None, view.at_s("FT-101"), blind=True)
    verdict = H
    apart, limit = flows.apart_lpm, flows.tolerated_lpm
    if apart > limit:
        changing = view.memory.sensors.motion.changing_lpm(flows.supply_lpm, flows.return_lpm)
        verdict = U if changing is None or apart - changing <= limit else D if symptoms(view) else H
    return Judgement(verdict, "FT-101", apart, limit, view.at_s("FT-101"))
