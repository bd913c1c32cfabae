"""The request table: who may ask for what, when, and what would allow it when it is refused."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fieldkit import request
from fieldkit.request import ENGINEERS, EVERYBODY, FLAG, LIST, STAFF, TEXT, Arg, Kind, number
from valvey.core import permissives
from valvey.core.chart import Event, State
from valvey.core.permissives import Permissive
from valvey.core.stroking import PASSED
from valvey.core.view import View


@dataclass(frozen=True, slots=True)
class Request(request.Request):
    """One request to a rack. ``waited``: it was asked in an earlier scan and has waited for the coordinator since."""

    waited: bool = False


#: One of these says what is wanted of the flow control; the rack's own limits bound them.
SET_POINTS: dict[str, Arg] = dict.fromkeys(
    ("fcv_pct", "flow_lpm", "delta_k", "power_kw"), number(0.0, 1e6, needed=False)
)

_OPERATION = STAFF | {"coordinator"}
#: Racky asks for these while it proves a new rack, after a person's word of this boot.
_PROVING = _OPERATION | {"racky"}
_ALL_STATES = frozenset(State)


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request.

    states  where it applies; elsewhere SAFER answers "already safer" and the others are refused
    event   the chart event it raises, None for requests that move nothing
    goal    states in which it has succeeded; empty = at once
    why     a reason must be given
    way     states on the way to the goal; in any other the request has failed
    proof   what the field must show before it counts as succeeded
    """

    name: str
    kind: Kind
    roles: frozenset[str]
    states: frozenset[State]
    text: str
    permissives: tuple[Permissive, ...] = ()
    args: Mapping[str, Arg] = field(default_factory=dict)
    event: Event | None = None
    goal: frozenset[State] = frozenset()
    why: bool = False
    way: frozenset[State] = frozenset()
    proof: Callable[[View], bool] = lambda _view: True


S, K = State, Kind
_LOCKABLE = frozenset({S.ISOLATED, S.DRAINED, S.ESD})
_DARKER = frozenset({S.STARTUP, S.OPENING, S.FLOWING, S.UNLOADING, S.COOLDOWN, S.FILLING, S.TESTING})
_ISOLABLE = frozenset({S.STARTUP, S.OPENING, S.FLOWING, S.COOLDOWN, S.FILLING, S.TESTING})
_CANCELLABLE = frozenset({S.OPENING, S.UNLOADING, S.COOLDOWN, S.DRAINING, S.FILLING, S.TESTING})
_UNKNOWN = frozenset({S.STARTUP})
_ADOPTED = _ALL_STATES - _UNKNOWN
_DARK = _ADOPTED - {S.FLOWING, S.UNLOADING}
_PROVEN = frozenset({S.ISOLATED, S.DRAINING, S.DRAINED, S.ESD})
_CLOSING = frozenset({S.OPENING, S.FLOWING, S.UNLOADING, S.COOLDOWN, S.ISOLATING, S.FILLING, S.TESTING, S.STARTUP})


def _permit_proven_off(view: View) -> bool:
    return view.on("XI-101") is False


def _permit_proven_on(view: View) -> bool:
    return view.on("XI-101") is True


def _tested(view: View) -> bool:
    return view.memory.tested


def _stroked(view: View) -> bool:
    return view.memory.stroke is not None and view.memory.stroke.outcome == PASSED


def _all_proven_off(view: View) -> bool:
    return view.shut_proven() and view.on("XI-101") is False


# fmt: off
_ROWS: tuple[RequestRow, ...] = (
    RequestRow("emergency_stop", K.SAFER,   EVERYBODY, _ALL_STATES, "everything to its fail position, latched (SIF-7)", goal=frozenset({S.ESD}), way=_UNKNOWN, proof=_all_proven_off),
    RequestRow("dark",           K.SAFER,   EVERYBODY, _DARKER,      "permit off, coolant goes on flowing; latched (SIF-10)", args={"trip": FLAG}, goal=_DARK, way=_UNKNOWN, proof=_permit_proven_off),
    RequestRow("isolate",        K.SAFER,   EVERYBODY, _ISOLABLE,    "unload, cool down, shut both valves; 'trip' from a trip source shuts at once", args={"trip": FLAG, "force": FLAG}, event=Event.ISOLATE, goal=_PROVEN, way=_CLOSING, proof=View.shut_proven),
    RequestRow("lock",           K.SAFER,   EVERYBODY, _LOCKABLE,    "an administrative lock, owned by a named person", args={"owner": TEXT}, why=True),
    RequestRow("cancel",         K.SAFER,   EVERYBODY, _CANCELLABLE, "end the planned work in its defined state", args={"id": Arg((str,), needed=False)}, event=Event.CANCEL),
    RequestRow("open",           K.OPENING, _PROVING, frozenset({S.ISOLATED, S.COOLDOWN}), "return to service: valves, proven flow, permit", (permissives.armed, permissives.storage, permissives.no_latch, permissives.no_lock, permissives.full, permissives.tested, permissives.drain_shut, permissives.supply_in_band, permissives.granted("open")), event=Event.OPEN, goal=frozenset({S.FLOWING}), way=frozenset({S.OPENING}), proof=_permit_proven_on),
    RequestRow("drain",          K.OPENING, _OPERATION, frozenset({S.ISOLATED}), "block, bleed and drain", (permissives.armed, permissives.storage, permissives.locked, permissives.proven_shut, permissives.drain_metered, permissives.pressure_known, permissives.sump_free, permissives.granted("drain")), event=Event.DRAIN, goal=frozenset({S.DRAINED}), way=frozenset({S.DRAINING})),
    RequestRow("fill",           K.OPENING, _PROVING, frozenset({S.ISOLATED, S.DRAINED}), "fill and vent", (permissives.armed, permissives.storage, permissives.no_latch, permissives.no_lock, permissives.not_full, permissives.no_power, permissives.proven_shut, permissives.drain_shut, permissives.throttled, permissives.fill_metered, permissives.pressure_known, permissives.sump_free, permissives.granted("fill")), event=Event.FILL, goal=frozenset({S.ISOLATED}), way=frozenset({S.FILLING, S.TESTING}), proof=_tested),
    RequestRow("test",           K.OPENING, _PROVING, frozenset({S.ISOLATED}), "pressure and stroke test", (permissives.armed, permissives.storage, permissives.no_latch, permissives.no_lock, permissives.full, permissives.no_power, permissives.proven_shut, permissives.drain_shut, permissives.pressure_known, permissives.granted("test")), event=Event.TEST, goal=frozenset({S.ISOLATED}), way=frozenset({S.TESTING}), proof=_tested),
    RequestRow("stroke",         K.OPENING, ENGINEERS, frozenset({S.ISOLATED, S.FLOWING, S.ESD}), "partial stroke of XV-101 or XV-102 in service, timed by the valve controller", (permissives.armed, permissives.storage, permissives.no_latch, permissives.no_lock, permissives.partial_stroke), args={"valve": TEXT}, goal=frozenset({S.FLOWING}), proof=_stroked),
    RequestRow("reset",          K.OPENING, STAFF,     _ADOPTED,     "clear the named latches whose cause is gone; opens nothing", args={"sif": LIST}, why=True),
    RequestRow("unlock",         K.OPENING, STAFF,     _ALL_STATES,  "remove a lock: its owner, or a supervisor", args={"owner": TEXT}, why=True),
    RequestRow("bypass",         K.OPENING, ENGINEERS, _ALL_STATES,  "bounded bypass of one SIF or detector", args={"name": TEXT, "for_s": number(1.0, 86400.0)}, why=True),
    RequestRow("unbypass",       K.OPENING, ENGINEERS, _ALL_STATES,  "end a bypass now", args={"name": TEXT}),
    RequestRow("shelve",         K.NOTE,    STAFF,     _ALL_STATES,  "shelve one alarm for a bounded time; trips never", args={"alarm": TEXT, "for_s": number(1.0, 28800.0)}, why=True),
    RequestRow("ack",            K.NOTE,    STAFF,     _ALL_STATES,  "acknowledge one alarm", args={"alarm": TEXT}),
    RequestRow("set_point",      K.OPENING, _PROVING, frozenset({S.FLOWING}), "what FCV-101 is for: an opening, a flow, a rise, a most of power, or the load alone (auto)", (permissives.armed,), args={**SET_POINTS, "auto": FLAG}),
    RequestRow("arm",            K.OPENING, frozenset({"engineer"}), frozenset({S.ISOLATED, S.DRAINED}), "begin to act: enters STARTUP and adopts the rack", (permissives.armed_in_file, permissives.disarmed), event=Event.ARM, why=True),
    RequestRow("disarm",         K.OPENING, frozenset({"engineer"}), frozenset({S.ISOLATED, S.DRAINED}), "read, judge and tell, but write nothing", (permissives.armed,), why=True),
    RequestRow("commission",     K.OPENING, frozenset({"engineer"}), frozenset({S.ISOLATED}), "record that the rack was filled and tested by hand", (permissives.no_power,), why=True),
    RequestRow("leak_evidence",  K.NOTE,    frozenset({"racky", "integration"}), _ALL_STATES, "a tray's own leak flag", args={"tray": TEXT, "wet": Arg((bool,)), "for_s": number(1.0, 3600.0)}),
)
# fmt: on
REQUESTS: dict[str, RequestRow] = {row.name: row for row in _ROWS}


def kind_of(row: RequestRow, state: State) -> Kind:
    """The class of a request in ``state``: cancelling an unloading makes things less safe, so it is OPENING there."""
    return Kind.OPENING if row.name == "cancel" and state is State.UNLOADING else row.kind
