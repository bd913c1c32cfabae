"""The chart: states, steps, events, what leads where, and what each step demands of the field.

Everything in this module is data. ``machine.py`` runs CHART; ``step.py`` writes OUTPUTS. For one event and
source the last row is unguarded; a guarded row may stand before it. A request without a row is refused with a
reason; a field event without a row is a bug and ends the process (the field expiries cover the gap).
"""

from dataclasses import dataclass
from enum import StrEnum

from fieldkit.chart import Row


class State(StrEnum):
    """Where the rack's loop is."""

    STARTUP = "STARTUP"
    OPENING = "OPENING"
    FLOWING = "FLOWING"
    UNLOADING = "UNLOADING"
    COOLDOWN = "COOLDOWN"
    ISOLATING = "ISOLATING"
    ISOLATED = "ISOLATED"
    DRAINING = "DRAINING"
    DRAINED = "DRAINED"
    FILLING = "FILLING"
    TESTING = "TESTING"
    ESD = "ESD"


class Step(StrEnum):
    """Where inside its state the rack is; the first step of a state is the first of its rows in OUTPUTS."""

    ADOPT = "adopt"
    THROTTLE = "throttle"
    RETURN = "return"
    SUPPLY = "supply"
    PROVE = "prove"
    SERVE = "serve"
    UNLOAD = "unload"
    COOL = "cool"
    RAMP = "ramp"
    HOLD = "hold"
    VENT = "vent"
    WATCH = "watch"
    DRAIN = "drain"
    CRACK = "crack"
    BLEED = "bleed"
    TOP = "top"
    PRESSURE = "pressure"
    STROKE_101 = "stroke_101"
    STROKE_102 = "stroke_102"
    SUMP = "sump"
    """Draining waits until the sump is not high any more."""
    SETTLE = "settle"
    """XV-101 shuts after a fill, before the pressure is held."""
    RESEAT_101 = "reseat_101"
    """XV-101 shuts again: the second half of its stroke."""
    RESEAT_102 = "reseat_102"
    ASK = "ask"
    """Unloading has begun, and waits for the coordinator's lease or ten seconds."""


class Event(StrEnum):
    """Everything that may move the chart."""

    ESD = "esd"
    TRIP_ISOLATE = "trip_isolate"
    TRIP_DARK = "trip_dark"
    # field events
    OPEN_LOST = "open_lost"
    PERMIT_LOST = "permit_lost"
    PROOF_LOST = "proof_lost"
    STEP_FAILED = "step_failed"
    LEASE_LOST = "lease_lost"
    PROVEN_SHUT = "proven_shut"
    FLOW_PROVEN = "flow_proven"
    UNLOADED = "unloaded"
    UNLOAD_OVERDUE = "unload_overdue"
    COOLED = "cooled"
    DRAINED = "drained"
    FILLED = "filled"
    TESTED = "tested"
    LATCHES_CLEAR = "latches_clear"
    LATE = "late"
    ADOPT_ESD = "adopt_esd"
    ADOPT_ISOLATING = "adopt_isolating"
    ADOPT_DRAINED = "adopt_drained"
    ADOPT_FLOWING = "adopt_flowing"
    ADOPT_COOLDOWN = "adopt_cooldown"
    # requests
    OPEN = "open"
    ISOLATE = "isolate"
    DRAIN = "drain"
    FILL = "fill"
    TEST = "test"
    CANCEL = "cancel"
    ARM = "arm"


class Guard(StrEnum):
    """Conditions that ``step.py`` works out from the readings and the memory, by name."""

    FIELD_OPEN = "field_open"
    """Adoption row 5's field (both ZSO made, both XV coils on), and rows 1 and 2 do not hold."""
    BOTH_OPEN = "both_open"
    """ZSO-101 and ZSO-102 good and made."""
    BOTH_SHUT = "both_shut"
    """ZSC-101 and ZSC-102 good and made."""
    EMPTY = "empty"
    """Inventory is empty."""


S, E, G = State, Event, Guard

PERMIT_ON = frozenset({S.FLOWING, S.UNLOADING})
"""States that demand the permit."""
PROVEN_SHUT_STATES = frozenset({S.ISOLATED, S.DRAINING, S.DRAINED, S.TESTING})
"""States that stand on both valves being proven shut."""
OPENING_WORK = frozenset({S.OPENING, S.FILLING, S.TESTING})
"""States in which the last gate lets an isolation valve's output rise."""
DEMANDED_OPEN = frozenset({S.OPENING, S.FLOWING, S.UNLOADING, S.COOLDOWN, S.FILLING, S.TESTING})
"""States in which at least one step demands an isolation valve open."""


def _same(event: Event, sources: tuple[State, ...]) -> tuple[Row, ...]:
    return tuple(Row(event, state, state) for state in sources)


def _all(event: Event, sources: tuple[State, ...], dest: State) -> tuple[Row, ...]:
    return tuple(Row(event, state, dest) for state in sources)


# fmt: off
CHART: tuple[Row, ...] = (
    # trips: every state has a row that cannot be refused
    *_all(E.ESD, tuple(S), S.ESD),
    *_all(E.TRIP_ISOLATE, (S.STARTUP, S.OPENING, S.FLOWING, S.UNLOADING, S.COOLDOWN, S.FILLING, S.TESTING), S.ISOLATING),
    *_same(E.TRIP_ISOLATE, (S.ISOLATING, S.ISOLATED, S.DRAINED, S.ESD)),
    Row(E.TRIP_ISOLATE,   S.DRAINING,  S.DRAINING,  G.BOTH_SHUT),
    Row(E.TRIP_ISOLATE,   S.DRAINING,  S.ESD),
    Row(E.TRIP_DARK,      S.STARTUP,   S.COOLDOWN,  G.FIELD_OPEN),
    Row(E.TRIP_DARK,      S.STARTUP,   S.ISOLATING),
    Row(E.TRIP_DARK,      S.OPENING,   S.COOLDOWN,  G.BOTH_OPEN),
    Row(E.TRIP_DARK,      S.OPENING,   S.ISOLATING),
    *_all(E.TRIP_DARK, (S.FLOWING, S.UNLOADING), S.COOLDOWN),
    *_all(E.TRIP_DARK, (S.FILLING, S.TESTING), S.ISOLATING),
    *_same(E.TRIP_DARK, (S.COOLDOWN, S.ISOLATING, S.ISOLATED, S.DRAINING, S.DRAINED, S.ESD)),
    # the field is not as demanded
    *_all(E.OPEN_LOST, (S.FLOWING, S.UNLOADING, S.COOLDOWN), S.ISOLATING),
    *_all(E.PERMIT_LOST, (S.FLOWING, S.UNLOADING), S.COOLDOWN),
    *_all(E.PROOF_LOST, (S.ISOLATED, S.DRAINING, S.DRAINED, S.TESTING), S.ESD),
    *_all(E.STEP_FAILED, (S.OPENING, S.FILLING, S.TESTING, S.DRAINING), S.ISOLATING),
    *_all(E.LEASE_LOST, (S.OPENING, S.FILLING, S.TESTING, S.DRAINING), S.ISOLATING),
    *_all(E.LATE, tuple(S), S.STARTUP),
    # completions
    Row(E.FLOW_PROVEN,    S.OPENING,   S.FLOWING),
    Row(E.UNLOADED,       S.UNLOADING, S.COOLDOWN),
    Row(E.UNLOAD_OVERDUE, S.UNLOADING, S.FLOWING),
    Row(E.COOLED,         S.COOLDOWN,  S.ISOLATING),
    Row(E.PROVEN_SHUT,    S.ISOLATING, S.DRAINED,   G.EMPTY),
    Row(E.PROVEN_SHUT,    S.ISOLATING, S.ISOLATED),
    Row(E.DRAINED,        S.DRAINING,  S.DRAINED),
    Row(E.FILLED,         S.FILLING,   S.TESTING),
    Row(E.TESTED,         S.TESTING,   S.ISOLATED),
    Row(E.LATCHES_CLEAR,  S.ESD,       S.ISOLATING),
    # adoption
    Row(E.ADOPT_ESD,       S.STARTUP,  S.ESD),
    Row(E.ADOPT_ISOLATING, S.STARTUP,  S.ISOLATING),
    Row(E.ADOPT_DRAINED,   S.STARTUP,  S.DRAINED),
    Row(E.ADOPT_FLOWING,   S.STARTUP,  S.FLOWING),
    Row(E.ADOPT_COOLDOWN,  S.STARTUP,  S.COOLDOWN),
    # requests
    *_all(E.OPEN, (S.ISOLATED, S.COOLDOWN), S.OPENING),
    Row(E.ISOLATE,        S.FLOWING,   S.UNLOADING),
    *_all(E.ISOLATE, (S.OPENING, S.FILLING, S.TESTING), S.ISOLATING),
    Row(E.ISOLATE,        S.COOLDOWN,  S.COOLDOWN),
    Row(E.DRAIN,          S.ISOLATED,  S.DRAINING),
    *_all(E.FILL, (S.ISOLATED, S.DRAINED), S.FILLING),
    Row(E.TEST,           S.ISOLATED,  S.TESTING),
    Row(E.CANCEL,         S.UNLOADING, S.FLOWING),
    Row(E.CANCEL,         S.COOLDOWN,  S.COOLDOWN),
    *_all(E.CANCEL, (S.OPENING, S.DRAINING, S.FILLING, S.TESTING), S.ISOLATING),
    *_all(E.ARM, (S.ISOLATED, S.DRAINED), S.STARTUP),
)
# fmt: on


class Throttle(StrEnum):
    """What a step asks of FCV-101."""

    SHUT = "shut"
    LOW = "low"
    """At most the low position that ``limits.fcv_low_pct`` names."""
    FILL = "fill"
    """The position that ``limits.fcv_fill_pct`` names: no more than the make-up gives."""
    KEEP = "keep"
    """The position that the memory holds (flow control's, or as adopted)."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What one step wants of the field: True energises, False de-energises, fcv throttles."""

    xs_101: bool
    xv_101: bool
    xv_102: bool
    xv_103: bool
    xv_104: bool
    fcv_101: Throttle


_OPEN_KEEP = Demand(False, True, True, False, False, Throttle.KEEP)
_SHUT = Demand(False, False, False, False, False, Throttle.SHUT)

# fmt: off
OUTPUTS: dict[tuple[State, Step], Demand | None] = {
    #                                     XS-101 XV-101 XV-102 XV-103 XV-104 FCV-101
    (S.STARTUP,   Step.ADOPT):      None,  # no write at all: a running rack is left as found
    (S.OPENING,   Step.THROTTLE):   Demand(False, False, False, False, False, Throttle.LOW),
    (S.OPENING,   Step.RETURN):     Demand(False, False, True,  False, False, Throttle.LOW),
    (S.OPENING,   Step.SUPPLY):     Demand(False, True,  True,  False, False, Throttle.LOW),
    (S.OPENING,   Step.PROVE):      _OPEN_KEEP,
    (S.FLOWING,   Step.SERVE):      Demand(True,  True,  True,  False, False, Throttle.KEEP),
    (S.UNLOADING, Step.UNLOAD):     Demand(True,  True,  True,  False, False, Throttle.KEEP),
    (S.UNLOADING, Step.ASK):        Demand(True,  True,  True,  False, False, Throttle.KEEP),
    (S.COOLDOWN,  Step.COOL):       _OPEN_KEEP,
    (S.COOLDOWN,  Step.RAMP):       _OPEN_KEEP,
    (S.ISOLATING, Step.SUPPLY):     Demand(False, False, True,  False, False, Throttle.SHUT),
    (S.ISOLATING, Step.RETURN):     _SHUT,
    (S.ISOLATING, Step.PROVE):      _SHUT,
    (S.ISOLATED,  Step.HOLD):       _SHUT,
    (S.DRAINING,  Step.VENT):       Demand(False, False, False, False, True,  Throttle.SHUT),
    (S.DRAINING,  Step.WATCH):      _SHUT,
    (S.DRAINING,  Step.DRAIN):      Demand(False, False, False, True,  True,  Throttle.SHUT),
    (S.DRAINING,  Step.SUMP):       _SHUT,
    (S.DRAINED,   Step.HOLD):       _SHUT,
    (S.FILLING,   Step.CRACK):      Demand(False, True,  False, False, True,  Throttle.FILL),
    (S.FILLING,   Step.BLEED):      Demand(False, True,  False, False, True,  Throttle.FILL),
    (S.FILLING,   Step.TOP):        Demand(False, True,  False, False, True,  Throttle.FILL),
    (S.TESTING,   Step.PRESSURE):   _SHUT,
    (S.TESTING,   Step.SETTLE):     _SHUT,
    (S.TESTING,   Step.STROKE_101): Demand(False, True,  False, False, False, Throttle.SHUT),
    (S.TESTING,   Step.RESEAT_101): _SHUT,
    (S.TESTING,   Step.STROKE_102): Demand(False, False, True,  False, False, Throttle.SHUT),
    (S.TESTING,   Step.RESEAT_102): _SHUT,
    (S.ESD,       Step.HOLD):       _SHUT,
}
# fmt: on

STROKED: dict[Step, str] = {
    Step.SETTLE: "101",
    Step.STROKE_101: "101",
    Step.RESEAT_101: "101",
    Step.STROKE_102: "102",
    Step.RESEAT_102: "102",
}
"""Steps of TESTING in which one isolation valve is on its way, by its number; the other stands proven shut."""

FIRST_STEP: dict[State, Step] = {}
for _state, _step in OUTPUTS:
    FIRST_STEP.setdefault(_state, _step)
