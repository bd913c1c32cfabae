"""What a work will do to the neighbours, to the loop's pressure and to the clock: worked out before it is begun."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt

from valvey.core.chart import State
from valvey.core.loop.limits import Mode
from valvey.core.loop.model import Circuit, header_loss
from valvey.core.loop.seen import LoopView

ATMOSPHERE_KPA = 101.3
UNITS: dict[Mode, str] = {Mode.FIXED_SPEED: "%", Mode.CONSTANT_DP: "kPa", Mode.CONSTANT_FLOW: "L/min"}
"""Unit of the set-point that each mode obeys."""
#: Seconds that a rack's own steps take beside what depends on its volume (SAFETY.md, section 6).
COOL_S, RAMP_S, STROKES_S, BLEED_S, OPEN_S = 30.0, 120.0, 10.0, 70.0, 110.0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One neighbour's flow now, and what it would become if the CDU's set-point stayed where it is. L/min."""

    now_lpm: float
    alone_lpm: float


@dataclass(frozen=True, slots=True)
class Plan:
    """One work, predicted.

    neighbours_pct   change of every neighbour's flow if the CDU's set-point stayed where it is
    neighbours       the same for each neighbour of which the flow is known
    set_point        where the set-point stands, in ``unit``
    moved_to         where the coordinator would put it so that the neighbours keep their flow; None: nowhere
    total_lpm        flow of the CDU afterwards
    time_s, volume_l   how long it takes, and what flows into or out of the rack
    return_kpa       lowest PT-202 on the way; None where it does not change
    missing          what had to be left out because nothing believable is known of it
    """

    work: str
    rack: str
    neighbours_pct: float | None
    moved_to: float | None
    unit: str
    total_lpm: float | None
    time_s: float
    volume_l: float
    return_kpa: float | None
    set_point: float | None = None
    neighbours: Mapping[str, Neighbour] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


def circuit(view: LoopView) -> Circuit | None:
    """The loop as it stands; None while CDU or every rack cannot be believed."""
    mode, dp_kpa = view.mode(), view.dp_kpa()
    if mode is None or dp_kpa is None or dp_kpa <= 0.0:
        return None
    branches = {}
    for name in view.limits.racks:
        flow = view.flow_lpm(name)
        if flow is not None and flow > 0.0:
            branches[name] = flow / sqrt(dp_kpa)
    if not branches:
        return None
    droop = view.memory.droop if view.memory.droop is not None else 0.0
    return Circuit(mode, branches, droop, header_loss(view.limits), view.limits.dp_remote)


def conductance_after(view: LoopView, work: str, rack: str, dp_kpa: float) -> float:
    """What the rack's branch will let through once the work is done (fill: while it is being done)."""
    row = view.limits.racks[rack]
    wanted = {"open": row.flow_nominal_lpm, "fill": view.limits.fill_lpm}.get(work, 0.0)
    return wanted / sqrt(dp_kpa)


def neighbours_pct(view: LoopView, work: str, rack: str) -> float | None:
    """Change of the neighbours' flow if nobody moves the set-point; None while not known. Only flow through the rack counts."""
    now, dp_kpa = circuit(view), view.dp_kpa()
    if now is None or dp_kpa is None:
        return None
    if work in {"drain", "test"}:
        return 0.0
    return now.change_pct(rack, conductance_after(view, work, rack, dp_kpa))


def return_after_fill_kpa(view: LoopView, rack: str) -> float | None:
    """Lowest PT-202 while ``rack`` is filled: the vessel's gas makes room for what make-up cannot bring in time."""
    static = view.cdu("PT-202")
    level = view.cdu("LT-201")
    if static is None:
        return None
    limits, row = view.limits, view.limits.racks[rack]
    stored_l = limits.reservoir_l * (0.0 if level is None else level / 100.0)
    made_up_l = min(stored_l, limits.makeup_lpm / limits.fill_lpm * row.volume_l)
    short_l = max(0.0, row.volume_l - made_up_l)
    gas_kpa_l = (limits.vessel_kpa + ATMOSPHERE_KPA) * limits.vessel_gas_l
    gas_l = gas_kpa_l / (static + ATMOSPHERE_KPA)
    return gas_kpa_l / (gas_l + short_l) - ATMOSPHERE_KPA


def total_after_lpm(view: LoopView, work: str, rack: str) -> float | None:
    """The CDU's flow afterwards, neighbours unchanged."""
    total = view.cdu("FT-201")
    if total is None:
        return None
    now = view.flow_lpm(rack) or 0.0
    wanted = {"open": view.limits.racks[rack].flow_nominal_lpm, "fill": view.limits.fill_lpm, "isolate": 0.0}
    return total - now + wanted.get(work, now)


def two_shut_kpa(view: LoopView) -> tuple[float, str] | None:
    """Highest PT-101 of the racks left, and whose, if the two with most flow shut at once and nobody moved the set-point.

    A rack's share of the header dP that stands at its PT-101 stays what it is, as its valves do. None while not known.
    """
    now, dp_kpa, back_kpa = circuit(view), view.dp_kpa(), view.cdu("PT-202")
    if now is None or dp_kpa is None or back_kpa is None:
        return None
    gone = sorted(now.branches, key=lambda name: now.branches[name])[-2:]
    left = sum(c for name, c in now.branches.items() if name not in gone)
    if left <= 0.0:
        return None
    stretched = dp_kpa * (now.stretch(left) / now.stretch(sum(now.branches.values()))) ** 2
    risen = max(min(stretched, view.limits.dead_head_kpa), dp_kpa)
    inside = {name: kpa for name in now.branches.keys() - set(gone) if (kpa := view.point(name, "PT-101")) is not None}
    if not inside:
        return None
    worst = max(inside, key=lambda name: inside[name])
    return back_kpa + (inside[worst] - back_kpa) / dp_kpa * risen, worst


def predict(view: LoopView, work: str, rack: str) -> Plan:
    """Return the plan of ``work`` on ``rack``; KeyError for a rack that is not on this loop."""
    row = view.limits.racks[rack]
    pct, total = neighbours_pct(view, work, rack), total_after_lpm(view, work, rack)
    set_point, mode = view.set_point(), view.mode()
    moved = None
    if pct is not None and set_point is not None and mode is not None:
        # Flow of the others goes with the square root of dP, and as speed and total flow themselves.
        power = 2.0 if mode is Mode.CONSTANT_DP else 1.0
        moved = set_point / (1.0 + pct / 100.0) ** power
    missing = [] if pct is not None else ["neighbours' flow: CDU or racks cannot be believed"]
    missing += [] if total is not None else ["total flow: FT-201 cannot be believed"]
    volume = {"drain": row.volume_l, "fill": row.volume_l}.get(work, 0.0)
    return_kpa = return_after_fill_kpa(view, rack) if work == "fill" else None
    if work == "fill" and return_kpa is None:
        missing.append("pressure after the fill: PT-202 cannot be believed")
    unit = "" if mode is None else UNITS[mode]
    flows = {name: flow for name in view.limits.racks if name != rack and (flow := view.flow_lpm(name))}
    neighbours = {} if pct is None else {n: Neighbour(flow, flow * (1.0 + pct / 100.0)) for n, flow in flows.items()}
    time_s = _time_s(view, work, rack)
    return Plan(work, rack, pct, moved, unit, total, time_s, volume, return_kpa, set_point, neighbours, tuple(missing))


def _time_s(view: LoopView, work: str, rack: str) -> float:
    limits, row = view.limits, view.limits.racks[rack]
    match work:
        case "isolate":
            dark = view.rack(rack).state in {State.COOLDOWN, State.ISOLATING}
            return STROKES_S + RAMP_S + (0.0 if dark else COOL_S)
        case "drain":
            return BLEED_S + 60.0 * row.volume_l / limits.drain_lpm
        case "fill":
            return 2.0 * STROKES_S + 60.0 * row.volume_l / limits.fill_lpm
        case "open":
            return STROKES_S + OPEN_S
        case _:
            return 2.0 * STROKES_S
