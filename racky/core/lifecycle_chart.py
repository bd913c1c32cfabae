"""The rack's life as a chart: states, events, what leads where, and what each state is for. All of it is data.

For one event and source the last row is unguarded; a guarded row may stand before it. A request without a row is refused.
"""

from enum import StrEnum

from fieldkit.chart import Row


class State(StrEnum):
    """Where in its life the rack is."""

    DISCOVERED = "DISCOVERED"
    """Something is there. Its devices are read and compared with what was ordered."""
    IDENTIFIED = "IDENTIFIED"
    """Every device is the one expected. Waits for a person's ``admit``."""
    FIRMWARE = "FIRMWARE"
    """Devices behind the manifest are updated, one at a time, while the rack carries no power."""
    COOLING = "COOLING"
    """Valvey fills, pressure-tests and strokes; then the flow is proven wide open and at nominal."""
    POWER = "POWER"
    """Shelves are switched on in sequence."""
    VALIDATION = "VALIDATION"
    """The rack carries its load for a while, and is measured."""
    PRODUCTION = "PRODUCTION"
    """Every gate passed: the only state in which the rack is given work."""
    QUARANTINED = "QUARANTINED"
    """A gate refused the rack. Its evidence stands in the report."""
    MAINTENANCE = "MAINTENANCE"
    """Somebody works at it: no work for it, no calls outside. Trips act as ever. Ends by itself."""
    RETIRED = "RETIRED"
    """Taken out of service for good."""


class Event(StrEnum):
    """Everything that may move the chart."""

    PASSED = "passed"
    """Every gate of the present state passed."""
    REFUSED = "refused"
    """A gate of the present state did not."""
    TRIPPED = "tripped"
    """Valvey or the second trip path acted while the rack was being proven."""
    CHANGED = "changed"
    """A device is another one, or the coolant was opened, since the rack was admitted."""
    MAINTAINED = "maintained"
    """Maintenance began."""
    RELEASED = "released"
    """Maintenance ended, by somebody or by itself."""
    # requests
    ADMIT = "admit"
    QUARANTINE = "quarantine"
    RETIRE = "retire"
    DISCOVER = "discover"


class Guard(StrEnum):
    """Conditions that ``lifecycle.py`` works out, by name. ``at_…``: where a run goes on, its devices unchanged."""

    AT_FIRMWARE = "at_firmware"
    AT_COOLING = "at_cooling"
    """Refused by the coolant's gates, or by later ones and the coolant does not flow any more."""
    AT_POWER = "at_power"
    """Refused by the power's gates or under load, and the coolant flows. A refused rack is switched off, so power comes first."""
    UNCHANGED = "unchanged"
    """The rack was in PRODUCTION before, its devices are those admitted, and its coolant was not opened since."""


class Step(StrEnum):
    """Where inside its state the rack is; the first step of a state is the first of its rows in STEPS."""

    IDENTIFY = "identify"
    WAIT = "wait"
    UPDATE = "update"
    FILL = "fill"
    OPEN = "open"
    WIDE = "wide"
    """FCV-101 goes fully open."""
    WATCH_WIDE = "watch_wide"
    NOMINAL = "nominal"
    """The flow goes to nominal."""
    WATCH_NOMINAL = "watch_nominal"
    AUTO = "auto"
    """The flow control gets FCV-101 back."""
    ON = "on"
    LOAD = "load"
    """The burn-in load comes up."""
    SETTLE = "settle"
    """Temperatures become steady."""
    WATCH = "watch"
    DIAGNOSE = "diagnose"
    """The site's own diagnostics, one after the other."""
    HOLD = "hold"


S, E, G = State, Event, Guard

# fmt: off
STEPS: dict[State, tuple[Step, ...]] = {
    S.DISCOVERED:  (Step.IDENTIFY,),
    S.IDENTIFIED:  (Step.WAIT,),
    S.FIRMWARE:    (Step.UPDATE,),
    S.COOLING:     (Step.FILL, Step.OPEN, Step.WIDE, Step.WATCH_WIDE, Step.NOMINAL, Step.WATCH_NOMINAL, Step.AUTO),
    S.POWER:       (Step.ON,),
    S.VALIDATION:  (Step.LOAD, Step.SETTLE, Step.WATCH, Step.DIAGNOSE),
    S.PRODUCTION:  (Step.HOLD,),
    S.QUARANTINED: (Step.HOLD,),
    S.MAINTENANCE: (Step.HOLD,),
    S.RETIRED:     (Step.HOLD,),
}
# fmt: on

PROVING = (S.FIRMWARE, S.COOLING, S.POWER, S.VALIDATION)
"""States in which the rack is being proven, in their order."""
STAGES = (S.DISCOVERED, *PROVING)
"""States that have gates."""
_IN_USE = tuple(state for state in State if state not in {S.MAINTENANCE, S.RETIRED})


def _all(event: Event, sources: tuple[State, ...], dest: State) -> tuple[Row, ...]:
    return tuple(Row(event, state, dest) for state in sources)


# fmt: off
CHART: tuple[Row, ...] = (
    Row(E.PASSED,     S.DISCOVERED,  S.IDENTIFIED),
    Row(E.PASSED,     S.FIRMWARE,    S.COOLING),
    Row(E.PASSED,     S.COOLING,     S.POWER),
    Row(E.PASSED,     S.POWER,       S.VALIDATION),
    Row(E.PASSED,     S.VALIDATION,  S.PRODUCTION),
    *_all(E.REFUSED, STAGES, S.QUARANTINED),
    *_all(E.TRIPPED, PROVING, S.QUARANTINED),
    *_all(E.CHANGED, (S.IDENTIFIED, S.PRODUCTION), S.DISCOVERED),
    *_all(E.MAINTAINED, _IN_USE, S.MAINTENANCE),
    Row(E.RELEASED,   S.MAINTENANCE, S.PRODUCTION,  G.UNCHANGED),
    Row(E.RELEASED,   S.MAINTENANCE, S.DISCOVERED),
    # requests
    Row(E.ADMIT,      S.IDENTIFIED,  S.FIRMWARE),
    *(Row(E.ADMIT, state, state) for state in PROVING),  # whoever asks again takes it on after a new boot
    Row(E.ADMIT,      S.QUARANTINED, S.FIRMWARE,    G.AT_FIRMWARE),
    Row(E.ADMIT,      S.QUARANTINED, S.COOLING,     G.AT_COOLING),
    Row(E.ADMIT,      S.QUARANTINED, S.POWER,       G.AT_POWER),
    Row(E.ADMIT,      S.QUARANTINED, S.DISCOVERED),
    *_all(E.QUARANTINE, (S.IDENTIFIED, *PROVING, S.PRODUCTION), S.QUARANTINED),
    *_all(E.DISCOVER, (S.IDENTIFIED, S.QUARANTINED, S.PRODUCTION, S.RETIRED), S.DISCOVERED),
    *_all(E.RETIRE, (S.DISCOVERED, S.IDENTIFIED, S.PRODUCTION, S.QUARANTINED, S.MAINTENANCE), S.RETIRED),
)
# fmt: on


def after(state: State, event: Event, guards: frozenset[Guard] = frozenset()) -> State | None:
    """Return the state that ``event`` leads to; None when the chart has no such row."""
    for row in CHART:
        if (row.event, row.source) == (event, state) and (row.guard is None or row.guard in guards):
            return State(row.dest)
    return None
