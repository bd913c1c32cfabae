"""The virtual sensors' eyes: one scan's view as they see it, and SIF-11, which asks for two symptoms."""

from valvey.core.chart import State
from valvey.core.coolant import density_kg_m3, dew_point_c
from valvey.core.judges import DETECTORS, IMBALANCE_FRACTION, IMBALANCE_LPM
from valvey.core.memory import Inventory
from valvey.core.plausible import RETURNS
from valvey.core.verdict import NOT_ARMED, D, H, Judgement, U
from valvey.core.view import View
from valvey.core.virtual_sensors import Seen, VirtualSensors, movers

DEW_FLOOR_C = 18.0
"""Stands for the dew point where no room sensor can be believed: 27 °C at 58 %, the damp end of the usual hall."""
AGREES_FRACTION = 0.25
"""The flow by dP agrees with a leak when it lies this share of the gap away from either meter: neither meter alone explains it."""


def seen(view: View) -> Seen:
    """What the virtual sensors look at in this scan."""
    limits, number = view.limits, view.number
    air_c, humidity_pct = number("TT-110"), number("MT-110")
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
        position_pct=number("ZT-101"),
        level_pct=number("LT-201"),
        dew_c=DEW_FLOOR_C if air_c is None or humidity_pct is None else dew_point_c(air_c, humidity_pct),
        values={tag: number(tag) for tag in sorted(tags)},
    )


def imbalance_lpm(view: View, sensors: VirtualSensors) -> float | None:
    """Supply flow less return flow, both as volume at the supply's temperature; None when either meter cannot be believed.

    A temperature that cannot be believed costs the correction, at most 0.6 % at a rise of 12 K, not the judgement.
    """
    supply, ret = view.number("FT-101"), view.number("FT-102")
    if supply is None or ret is None:
        return None
    supply_c, return_c = view.number("TT-101"), sensors.returns.value_c
    if supply_c is None or return_c is None:
        return supply - ret
    return supply - ret * density_kg_m3(return_c) / density_kg_m3(supply_c)


def symptoms(view: View, sensors: VirtualSensors) -> tuple[str, ...]:
    """What else says that liquid is leaving the rack: names for people, none when nothing does."""
    bypassed = {bypass.name for bypass in view.memory.bypasses}
    found = [tag for tag in DETECTORS if tag not in bypassed and view.on(tag) is True]
    if _dp_agrees(view, sensors):
        found.append("dP-flow")
    if sensors.motion.kpa_falling:
        found.append("PT-102")
    if sensors.motion.level_falling:
        found.append("LT-201")
    return tuple(found)


def _dp_agrees(view: View, sensors: VirtualSensors) -> bool:
    """Whether the flow by dP lies clearly between the two meters: a leak half-way; a single wrong meter leaves it at the other."""
    supply, ret = view.number("FT-101"), view.number("FT-102")
    supply_kpa, return_kpa = view.number("PT-101"), view.number("PT-102")
    if supply is None or ret is None or supply_kpa is None or return_kpa is None:
        return False
    learned = sensors.resistance.flow_lpm(supply_kpa - return_kpa)
    flow = view.dp_flow_lpm() if learned is None else learned
    edge = AGREES_FRACTION * (supply - ret)
    return flow is not None and ret + edge <= flow <= supply - edge


def gross_imbalance(view: View, sensors: VirtualSensors) -> Judgement:
    """SIF-11: far more goes in than comes out, and a second symptom says the same.

    Armed with both valves proven open; while a valve slews or the flow changes it is UNKNOWN without being blind: a hold
    that has begun is kept. Value and limit are the imbalance and what is tolerated, L/min.
    """
    if not view.open_proven():
        return NOT_ARMED
    apart = imbalance_lpm(view, sensors)
    supply = view.number("FT-101")
    if apart is None or supply is None:
        return Judgement(U, "FT-101", None, None, view.at_s("FT-101"), blind=True)
    limit = max(IMBALANCE_LPM, IMBALANCE_FRACTION * supply)
    verdict = H
    if apart > limit:
        verdict = U if not sensors.motion.steady else D if symptoms(view, sensors) else H
    return Judgement(verdict, "FT-101", apart, limit, view.at_s("FT-101"))
