"""A rack that costs nothing to copy: a field of a dozen values, its wiring, and faults laid over what it shows.

Made for exploring: one scan is a function from Node to Node. The field obeys what is written unless a fault says
otherwise, and lapses by itself (permit 8 s, valves 15 s) when nothing is written.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fieldkit.reading import Quality, Reading, Reason
from fieldkit.units import Unit
from tests.plant import BOOT, FLOWING_VALUES, commissioned
from valvey.core import gate
from valvey.core.adoption import begin
from valvey.core.chart import FIRST_STEP, OPENING_WORK, Event, State
from valvey.core.facts import FactKind
from valvey.core.invariants import (
    PERMIT_OFF_WITHIN_S,
    Passage,
    asked_after,
    broken,
    i6_dark_when_nothing_can_be_believed,
    i11_nothing_opens_unasked,
)
from valvey.core.limits import Limits
from valvey.core.memory import Inventory, Memory, Work
from valvey.core.policy import DEFAULT_POLICY
from valvey.core.requests import Request
from valvey.core.step import Setup, setup, step
from valvey.core.view import View

PERMIT_EXPIRY_S = 8.0
VALVE_EXPIRY_S = 15.0
DRAIN_LPM, FILL_LPM = 12.0, 20.0
#: Every wait of a sequence fits into a few long scans, so that a short exploration sees their ends and deadlines.
LIMITS = Limits(
    policy=DEFAULT_POLICY,
    stroke_101_s=1.0, stroke_102_s=1.0, flow_tau_s=0.2, fcv_ramp_s=2.0, fcv_stroke_s=4.0, cool_hold_s=1.0, cool_overdue_s=4.0,
    prove_hold_s=1.0, prove_overdue_s=8.0, unload_overdue_s=5.0, planned_flow_wait_s=3.0, settled_flowing_s=10.0,
    volume_l=2.0, vent_s=1.0, watch_s=2.0, drain_blocked_s=15.0, drain_overdue_s=60.0, sump_wait_s=4.0, fill_overdue_s=40.0,
    test_hold_s=2.0, test_overdue_s=40.0,
)  # fmt: skip

#: What one fault makes the readings say, over what the field is; None = cannot be believed.
FAULTS: dict[str, Mapping[str, float | None]] = {
    "rope wet": {"LDT-101": 1.0},
    "rope lost": {"LDT-101": None},
    "all ropes lost": {"LDT-101": None, "LDT-102": None, "LDT-103": None},
    "floor wet": {"LDT-103": 1.0},
    "over-pressure": {"PT-101": 600.0},
    "supply pressure lost": {"PT-101": None},
    "static pressure gone": {"PT-101": 10.0, "PT-102": 10.0},
    "return hot": {"TT-102A": 70.0, "TT-102B": 70.0},
    "return temperatures lost": {"TT-102A": None, "TT-102B": None, "TT-102C": None},
    "flow low": {"FT-101": 10.0, "FT-102": 10.0},
    "flows lost": {"FT-101": None, "FT-102": None, "PT-102": None},
    "flow in a shut rack": {"FT-101": 60.0},
    "supply hot": {"TT-101": 55.0},
    "supply temperature lost": {"TT-101": None},
    "button pressed": {"HS-101": 1.0},
    "button lost": {"HS-101": None},
    "key turned": {"HS-102": 1.0},
    "open limit gone": {"ZSO-101": 0.0},
    "open limit lost": {"ZSO-101": None},
    "shut limit made": {"ZSC-101": 1.0},
    "shut limit gone": {"ZSC-101": 0.0},
    "shut limits lost": {"ZSC-101": None, "ZSC-102": None},
    "drain not shut": {"ZSC-103": 0.0},
    "drain limit lost": {"ZSC-103": None},
    "valve coil lost": {"XY-101": None},
    "permit coil lost": {"XSY-101": None},
    "contactor off": {"XI-101": 0.0},
    "contactor on": {"XI-101": 1.0},
    "contactor lost": {"XI-101": None},
    "power stays": {"ET-101": 40.0, "EV-101": 50.0},
    "loads lost": {"JT-101": None, "ET-101": None, "EV-101": None},
    "sump high": {"LSH-203": 1.0},
    "drain meter lost": {"FT-103": None},
    "vent not open": {"ZSC-104": 1.0},
    "store broken": {"SYS-STORE": 1.0},
    "everything lost": dict.fromkeys(FLOWING_VALUES),
}
#: Faults of the field itself.
DEAF, DROPPED, STUCK = "writes not acknowledged", "valve coil drops", "supply valve stuck"
ALL_FAULTS = (*FAULTS, DEAF, DROPPED, STUCK)


@dataclass(frozen=True, slots=True)
class Field:
    """Coils, where the isolation valves are (0 shut … 2 open), when the outputs were last written, and the liquid."""

    coils: Mapping[str, bool]
    at: tuple[int, int]
    fcv_pct: float
    permit_fed_s: float
    valves_fed_s: float
    ack_s: float | None
    litres: float = LIMITS.volume_l
    kpa: float = 215.0


@dataclass(frozen=True, slots=True)
class Node:
    """A rack at one moment, and what the folded invariants know of its past."""

    memory: Memory
    field: Field
    now_s: float
    faults: frozenset[str] = frozenset()
    asked: bool = False
    blind_since_s: float | None = None


class BrokenError(AssertionError):
    """An invariant does not hold."""


def readings(node: Node, now_s: float) -> dict[str, Reading]:
    field = node.field
    coils, (supply, ret) = field.coils, field.at
    contactor = coils["XS-101"] and supply and ret  # W2
    flow = 198.0 if supply == ret == 2 else 60.0 if supply and ret else 0.0
    load = 132.0 if contactor else 0.0
    filling = bool(supply and not ret and coils["XV-104"])
    supply_lpm = FILL_LPM if filling else flow
    values: dict[str, float | None] = {
        **FLOWING_VALUES,
        "ZSO-101": supply == 2, "ZSC-101": supply == 0, "ZSO-102": ret == 2, "ZSC-102": ret == 0,
        "XY-101": coils["XV-101"], "XY-102": coils["XV-102"], "XY-103": coils["XV-103"], "XY-104": coils["XV-104"],
        "ZSC-103": not coils["XV-103"], "ZSC-104": not coils["XV-104"], "XSY-101": coils["XS-101"], "XI-101": bool(contactor),
        "ZT-101": field.fcv_pct, "FT-101": supply_lpm, "FT-102": flow, "FT-103": DRAIN_LPM if coils["XV-103"] and field.litres else 0.0, "JT-101": load, "ET-101": load, "EV-101": 50.0 if contactor else 0.0,
        "PT-101": 310.0 if flow else field.kpa, "PT-102": 215.8 if flow else field.kpa, "TT-102A": 50.0 if contactor else 41.0,
        "TT-102B": 50.0 if contactor else 41.0, "TT-102C": 50.0 if contactor else 41.0, "PT-201": 320.0, "PT-202": 210.0, "SYS-STORE": 0.0,
    }  # fmt: skip
    for fault in node.faults & FAULTS.keys():
        values.update(FAULTS[fault])
    out = {
        tag: Reading(tag, None, Unit.NONE, Quality.BAD, now_s, Reason.TIMEOUT)
        if value is None
        else Reading(tag, float(value), Unit.NONE, Quality.GOOD, now_s)
        for tag, value in values.items()
    }
    if field.ack_s is not None:
        out["WRITE-ACK"] = Reading("WRITE-ACK", field.ack_s, Unit.SECOND, Quality.GOOD, field.ack_s)
    return out


def evidence(seen: Mapping[str, Reading], memory: Memory, ack_s: float | None, now_s: float) -> gate.Evidence:
    def bit(tag: str) -> bool | None:
        reading = seen[tag]
        return None if reading.value is None else reading.value >= 0.5

    rise_s, stroked = memory.permit_rise_s, memory.stroking(now_s)
    return gate.Evidence(
        coil={"XS-101": bit("XSY-101"), **{f"XV-{n}": bit(f"XY-{n}") for n in ("101", "102", "103", "104")}},
        shut={f"XV-{n}": bit(f"ZSC-{n}") for n in ("101", "102", "103")},
        entering=rise_s is not None and now_s - rise_s <= 0.5,
        valves_acknowledged_s=None if ack_s is None else now_s - ack_s,
        locked=bool(memory.locks or memory.latches),
        stroking=None if stroked is None else f"XV-{stroked}",
    )


def scan(rack: Setup, node: Node, requests: tuple[Request, ...], dt_s: float) -> tuple[Node, Passage]:
    """One scan ``dt_s`` after the last. Raises BrokenError when an invariant does not hold."""
    now_s, field = node.now_s + dt_s, _lapsed(node.field, node.now_s + dt_s)
    node = replace(node, field=_ran(_moved(field, node.faults), dt_s))
    seen = readings(node, now_s)
    done = step(node.memory, seen, requests, rack, now_s)
    before = evidence(seen, done.memory, field.ack_s, now_s)
    writes, _stopped = gate.pass_through(done.outputs, done.memory.state, before)
    acknowledged = DEAF not in node.faults and "XV-101" in writes
    field = replace(node.field, ack_s=now_s) if acknowledged else node.field
    after = evidence(seen, done.memory, field.ack_s, now_s)
    writes, _stopped = gate.pass_through(done.outputs, done.memory.state, after)  # the permit follows the valves
    passage = Passage(node.memory, seen, requests, rack, now_s, done, after, writes)
    asked = asked_after(node.asked, passage)
    blind = "everything lost" in node.faults
    late = Event.LATE in passage.events()  # a stalled process is the field expiry's business
    since_s = (now_s if late or node.blind_since_s is None else node.blind_since_s) if blind else None
    wrong = [
        *broken(passage),
        i11_nothing_opens_unasked(passage, asked),
        i6_dark_when_nothing_can_be_believed(passage, 0.0 if since_s is None else now_s - since_s),
    ]
    if found := [what for what in wrong if what is not None]:
        raise BrokenError(f"{found} from {node.memory.state}/{node.memory.step} with {sorted(node.faults)}")
    if DEAF not in node.faults:
        field = _written(field, writes, now_s)
    if since_s is not None and now_s - since_s >= PERMIT_OFF_WITHIN_S and field.coils["XS-101"]:
        raise BrokenError(f"nothing could be believed for {now_s - since_s:.2f} s and the permit is still on")
    return Node(done.memory, field, now_s, node.faults, asked, since_s), passage


def _lapsed(field: Field, now_s: float) -> Field:
    coils = dict(field.coils)
    if now_s - field.permit_fed_s >= PERMIT_EXPIRY_S:
        coils["XS-101"] = False
    if now_s - field.valves_fed_s >= VALVE_EXPIRY_S:
        coils |= dict.fromkeys(("XV-101", "XV-102", "XV-103", "XV-104"), False)
    return replace(field, coils=coils)


def _moved(field: Field, faults: frozenset[str]) -> Field:
    """Each valve moves by one place towards its coil."""
    coils = {**field.coils, "XV-101": False} if DROPPED in faults else field.coils
    supply, ret = (
        max(0, min(2, at + (1 if coils[tag] else -1))) for at, tag in zip(field.at, ("XV-101", "XV-102"), strict=True)
    )
    return replace(field, coils=coils, at=(field.at[0] if STUCK in faults else supply, ret))


def _ran(field: Field, dt_s: float) -> Field:
    """Liquid in and out: by gravity while the drain is open, through the supply valve while the vent is."""
    coils, (supply, ret), litres = field.coils, field.at, field.litres
    if coils["XV-103"]:
        litres = max(0.0, litres - DRAIN_LPM * dt_s / 60.0)
    filling = supply and not ret and coils["XV-104"]
    if filling:
        litres = min(LIMITS.volume_l, litres + FILL_LPM * dt_s / 60.0)
    full = litres >= LIMITS.volume_l
    if coils["XV-104"] or coils["XV-103"]:
        kpa = 150.0 if filling and full else 0.0
    else:
        kpa = 215.0 if full and (supply or ret) else field.kpa
    return replace(field, litres=litres, kpa=kpa)


def _written(field: Field, writes: Mapping[str, float], now_s: float) -> Field:
    if not writes:
        return field
    coils = {tag: bool(writes.get(tag, coil)) for tag, coil in field.coils.items()}
    return replace(
        field,
        coils=coils,
        fcv_pct=writes.get("FCV-101", field.fcv_pct),
        permit_fed_s=now_s if "XS-101" in writes else field.permit_fed_s,
        valves_fed_s=now_s if "XV-101" in writes else field.valves_fed_s,
    )


def restart(rack: Setup, node: Node, stored: Memory | None, after_s: float = 1.0, boot_id: str = BOOT) -> Node:
    """The process has died and starts again ``after_s`` later with ``stored``; None = what it left cannot be read."""
    now_s = node.now_s + after_s
    memory = begin(
        stored, readable=stored is not None, armed_in_file=True, starts_s=(), boot_id=boot_id, now_s=now_s, limits=rack.limits
    )  # fmt: skip
    field = replace(_lapsed(node.field, now_s), ack_s=None)
    return replace(node, memory=memory, field=field, now_s=now_s, asked=False, blind_since_s=None)


def recover(rack: Setup, node: Node, most: int = 200) -> Node:
    """Repair everything, and let people do what they can, until the rack is in service again or ``most`` scans are over."""
    node = replace(node, faults=frozenset(), blind_since_s=None)
    for _ in range(most):
        memory = node.memory
        if memory.state is State.FLOWING:
            break
        node, _passage = scan(rack, node, _next_request(node), 0.5)
    return node


def _next_request(node: Node) -> tuple[Request, ...]:
    """What a patient crew would ask for next."""
    memory, shut = node.memory, node.memory.state is State.ISOLATED
    if not memory.armed:
        return (request(node, "arm"),)
    if memory.locks:
        return (request(node, "unlock", role="supervisor", owner=memory.locks[0].owner),)
    if memory.bypasses:
        return (request(node, "unbypass", name=memory.bypasses[0].name),)
    if memory.latches or memory.state is State.ESD:
        return (request(node, "reset", sif=sorted({latch.sif for latch in memory.latches})),)
    if shut and not (memory.tested and memory.inventory is Inventory.FULL):
        return (request(node, "commission"),)
    if memory.state is State.DRAINED:
        return (request(node, "fill"),)
    if memory.state in {State.DRAINING, State.FILLING, State.TESTING}:
        return (request(node, "cancel"),)
    if memory.state is State.COOLDOWN and not memory.tested:
        return (request(node, "isolate"),)
    return (request(node, "open"),) if memory.state in {State.ISOLATED, State.COOLDOWN} else ()


def standing(state: State, **changes: Any) -> Node:
    """A healthy, commissioned, armed rack that stands in ``state`` at its first step."""
    now_s = 1000.0
    measured = {"work": Work(now_s)} if state in {State.DRAINING, State.FILLING, State.TESTING} else {}
    empty = {"inventory": Inventory.EMPTY, "tested": False} if state is State.DRAINED else {}
    memory = replace(
        commissioned(state), step=FIRST_STEP[state], was=state, since_s=now_s, step_since_s=now_s, now_s=now_s,
        armed_since_s=now_s, state_seq=10, **{**measured, **empty, **changes},
    )  # fmt: skip
    running = state in {State.FLOWING, State.UNLOADING, State.COOLDOWN, State.ISOLATING, State.STARTUP}
    coils = {
        "XS-101": state in {State.FLOWING, State.UNLOADING},
        "XV-101": running,
        "XV-102": running,
        "XV-103": False,
        "XV-104": False,
    }
    at = (2, 2) if running else (0, 0)
    asked = state in OPENING_WORK  # who is there has asked for it
    field = Field(coils, at, 60.0 if running else 0.0, now_s, now_s, now_s)
    if state is State.DRAINED:
        field = replace(field, litres=0.0, kpa=0.0)
    return Node(memory, field, now_s, asked=asked)


def rack() -> Setup:
    return setup(LIMITS)


Ask = Callable[[Node], Request | None]


def request(node: Node, called: str, /, *, role: str = "engineer", id: str | None = None, **args: Any) -> Request:
    """Ask with the present sequence number."""
    seq = node.memory.state_seq
    return Request(id or f"{called}-{seq}-{node.now_s:.2f}", called, role, "desk", args, "tester", "a test", seq)


def view_of(rack: Setup, node: Node) -> View:
    return View(readings(node, node.now_s), node.memory, rack.limits, node.now_s)


def tell(rack: Setup, node: Node, *requests: Request, dt_s: float = 0.05) -> tuple[Node, list[dict[str, Any]]]:
    """Scan once with ``requests`` and return their answers in the order of the requests."""
    after, passage = scan(rack, node, requests, dt_s)
    return after, [dict(fact.fields) for fact in passage.facts(FactKind.ANSWER)]
