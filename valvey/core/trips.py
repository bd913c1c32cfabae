"""The cause-and-effect table: every safety function, when it is armed, how long it holds, what it does.

Rows are typed Python because a mistake here can hurt any site. A site tunes times and set-points inside the
bounds of its configuration; it cannot rewire what trips what.
"""

from dataclasses import dataclass

from fieldkit.frozen import replace
from valvey.core import judges, sensing
from valvey.core.chart import DEMANDED_OPEN, PERMIT_ON, PROVEN_SHUT_STATES, Event, State
from valvey.core.judges import Judge
from valvey.core.limits import Limits
from valvey.core.memory import Effect
from valvey.core.policy import Action

S = State
ALWAYS = frozenset(S)
RUNNING = ALWAYS - {S.STARTUP}
POWERED = PERMIT_ON | {S.STARTUP}
ASKABLE = ALWAYS - {S.ISOLATED, S.DRAINING, S.DRAINED, S.ESD}
SHUT_STATES = frozenset({S.ISOLATING, S.ISOLATED, S.DRAINING, S.DRAINED, S.TESTING, S.ESD})
PERMIT_OFF_STATES = RUNNING - PERMIT_ON
STATIC_STATES = DEMANDED_OPEN - {S.FILLING} | {S.STARTUP}
FLOW_STATES = frozenset({S.OPENING, S.FLOWING, S.UNLOADING, S.COOLDOWN})
OPEN_STATES = frozenset({S.FLOWING, S.UNLOADING, S.COOLDOWN})

#: SIFs that no bypass may name. SIF-10 is one of them because an accepted ``dark`` must act; a source that asks
#: wrongly is taken out of ``trip_sources``.
NEVER_BYPASSED = frozenset({"SIF-4", "SIF-7", "SIF-8", "SIF-10", "SIF-12", "SIF-13"})
#: SIFs whose hold is not shortened in the first seconds after adoption.
FULL_HOLD_AFTER_ADOPTION = frozenset({"SIF-9", "SIF-13"})


@dataclass(frozen=True, slots=True)
class Trip:
    """One row.

    key           name of the row; ``sif`` plus a stage where a SIF has several
    vote          how its inputs are voted and how that degrades, in words
    armed         states in which it is judged; anywhere else its verdict is NOT_ARMED
    hold_s        how long the demand must last; 0.0 = at once
    effect        what it does; NONE latches and tells only
    blind_s       without one believable vote for so long, ``blind_effect`` follows (None = alarm only)
    cap           asks for a power cap while it stands, instead of tripping
    event         the chart event, where it is not the effect's own
    shadow        judged and told, never acted on
    """

    key: str
    sif: str
    title: str
    vote: str
    armed: frozenset[State]
    judge: Judge
    hold_s: float
    effect: Effect
    blind_s: float | None = None
    blind_effect: Effect | None = None
    cap: bool = False
    event: Event | None = None
    shadow: bool = False


# fmt: off
TRIPS: tuple[Trip, ...] = (
    Trip("SIF-1/blind", "SIF-1",  "leak: every rack detector lost", "all",                ALWAYS,            judges.all_detectors_lost,                                          0.0,  Effect.NONE,    1800.0, Effect.DARK),
    Trip("SIF-2",       "SIF-2",  "over-pressure",                  "1oo1",               ALWAYS,            judges.over_pressure,                                               1.0,  Effect.ISOLATE, 5.0),
    Trip("SIF-3/cap",   "SIF-3",  "return hot",                     "2oo3, 1oo2, 1oo1",   POWERED,           judges.return_hot(lambda view: view.limits.return_h_c),             3.0,  Effect.NONE,    cap=True),
    Trip("SIF-3",       "SIF-3",  "return too hot",                 "2oo3, 1oo2, 1oo1",   POWERED,           judges.return_hot(lambda view: view.limits.return_hh_c),            3.0,  Effect.DARK,    30.0,   Effect.DARK),
    Trip("SIF-4",       "SIF-4",  "flow lost under load",           "2oo3, 1oo2, 1oo1",   POWERED,           judges.flow_lost(lambda view: view.limits.flow_ll_fraction, True),  1.0,  Effect.DARK,    3.0,    Effect.DARK),
    Trip("SIF-4/cap",   "SIF-4",  "flow low under load",            "2oo3, 1oo2, 1oo1",   POWERED,           judges.flow_lost(lambda view: view.limits.flow_l_fraction, False),  10.0, Effect.NONE,    cap=True),
    Trip("SIF-4/low",   "SIF-4",  "flow low under load",            "2oo3, 1oo2, 1oo1",   POWERED,           judges.flow_lost(lambda view: view.limits.flow_l_fraction, False),  15.0, Effect.DARK),
    Trip("SIF-5/cap",   "SIF-5",  "supply hot",                     "1oo1",               POWERED,           judges.supply_hot(lambda view: view.limits.supply_h_c),             10.0, Effect.NONE,    cap=True),
    Trip("SIF-5",       "SIF-5",  "supply too hot",                 "1oo1",               POWERED,           judges.supply_hot(lambda view: view.limits.supply_hh_c),            10.0, Effect.DARK,    5.0),
    Trip("SIF-6",       "SIF-6",  "static pressure lost",           "2oo2; lost + low",   STATIC_STATES,     judges.static_lost,                                                 5.0,  Effect.DARK,    5.0),
    Trip("SIF-7",       "SIF-7",  "emergency stop",                 "1oo1",               ALWAYS,            judges.emergency_stop,                                              0.0,  Effect.ESD,     5.0),
    Trip("SIF-8",       "SIF-8",  "outputs not acknowledged",       "1oo1",               RUNNING,           judges.not_acknowledged,                                            0.0,  Effect.DARK),
    Trip("SIF-9",       "SIF-9",  "not proven shut",                "2oo3",               SHUT_STATES,       judges.not_proven_shut,                                             0.0,  Effect.NONE,    30.0),
    Trip("SIF-10/dark", "SIF-10", "outside demand: dark",           "1oo1",               ASKABLE,           judges.asked(Effect.DARK, "US-201"),                                0.0,  Effect.DARK),
    Trip("SIF-10/isolate", "SIF-10", "outside demand: isolate",     "1oo1",               ASKABLE,           judges.asked(Effect.ISOLATE),                                       0.0,  Effect.ISOLATE),
    Trip("SIF-11",      "SIF-11", "gross imbalance",                "2 symptoms",         FLOW_STATES,       sensing.gross_imbalance,                                            2.0,  Effect.ISOLATE, 30.0),
    Trip("SIF-12",      "SIF-12", "valve left its open limit",      "1oo1",               PERMIT_ON,         judges.left_open_limit,                                             0.3,  Effect.DARK,    5.0),
    Trip("SIF-13",      "SIF-13", "power not proven off",           "1oo2",               PERMIT_OFF_STATES, judges.power_not_off,                                               1.0,  Effect.NONE,    5.0),
    Trip("OPEN_LOST/coil",  "OPEN_LOST",   "an isolation valve's coil is off",  "1oo1",  OPEN_STATES,       judges.coil_off,                                                    0.0,  Effect.ISOLATE, event=Event.OPEN_LOST),
    Trip("OPEN_LOST/shut",  "OPEN_LOST",   "an isolation valve is shut",        "1oo1",  OPEN_STATES,       judges.shut_limit_made,                                             1.0,  Effect.ISOLATE, event=Event.OPEN_LOST),
    Trip("OPEN_LOST/drain", "OPEN_LOST",   "the drain valve is not shut",       "1oo1",  OPEN_STATES,       judges.drain_not_shut,                                              1.0,  Effect.ISOLATE, event=Event.OPEN_LOST),
    Trip("PERMIT_LOST",     "PERMIT_LOST", "the contactor is off",              "1oo1",  PERMIT_ON,         judges.permit_off,                                                  0.5,  Effect.DARK,    event=Event.PERMIT_LOST),
    Trip("PROOF_LOST",      "PROOF_LOST",  "a shut limit is lost",              "1oo1",  PROVEN_SHUT_STATES, judges.shut_limit_lost,                                            1.0,  Effect.ESD,     event=Event.PROOF_LOST),
)
# fmt: on

_EFFECT_OF = {
    Action.SHADOW: Effect.ISOLATE,
    Action.ALARM: Effect.NONE,
    Action.DARK: Effect.DARK,
    Action.ISOLATE: Effect.ISOLATE,
    Action.ESD: Effect.ESD,
}


def rows_for(limits: Limits) -> tuple[Trip, ...]:
    """Return the table of one rack: a row of SIF-1 for each rule of its leak policy, then TRIPS with the site's shadows."""
    leak_rows = tuple(
        Trip(
            key=f"SIF-1/{rule.name}",
            sif="SIF-1",
            title=f"leak: {rule.name}",
            vote=f"{rule.count}oo{len(rule.detectors)}",
            armed=ALWAYS,
            judge=judges.leak(rule),
            hold_s=rule.persist_s,
            effect=_EFFECT_OF[rule.action],
            blind_s=5.0,
            shadow=rule.action in {Action.SHADOW, Action.ALARM},
        )
        for rule in limits.policy
    )
    shadowed = tuple(replace(row, shadow=True) if row.key in limits.shadows else row for row in TRIPS)
    return leak_rows + shadowed
