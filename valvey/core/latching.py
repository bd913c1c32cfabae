"""From due rows to latches and to the one event that matters most."""

from fieldkit.frozen import replace
from valvey.core.chart import PROVEN_SHUT_STATES, Event, State
from valvey.core.facts import Fact, FactKind
from valvey.core.judging import Due, Judged
from valvey.core.memory import Effect, Inventory, Memory
from valvey.core.view import View

S = State
#: SIFs after which nobody knows how much coolant the rack still holds.
LOSES_COOLANT = frozenset({"SIF-1", "SIF-6", "SIF-11"})

# fmt: off
#: By class of trip, most urgent first: its event, and the states in which it still has something to do.
URGENCY: tuple[tuple[Effect, Event, frozenset[State]], ...] = (
    (Effect.ESD,     Event.ESD,          frozenset(S) - {S.ESD}),
    (Effect.ISOLATE, Event.TRIP_ISOLATE, frozenset({S.STARTUP, S.OPENING, S.FLOWING, S.UNLOADING, S.COOLDOWN, S.ISOLATING, S.DRAINING, S.FILLING, S.TESTING})),
    (Effect.DARK,    Event.TRIP_DARK,    frozenset({S.STARTUP, S.OPENING, S.FLOWING, S.UNLOADING, S.FILLING, S.TESTING})),
)
#: What else a latch tells the world.
TELLS: dict[str, tuple[FactKind, str]] = {
    "SIF-6":  (FactKind.LOOP_EVENT,       "static pressure lost"),
    "SIF-9":  (FactKind.LOOP_EVENT,       "isolation not proven"),
    "SIF-13": (FactKind.SECOND_TRIP_PATH, "power not proven off"),
}
# fmt: on


def note(memory: Memory, judged: Judged, now_s: float) -> tuple[Memory, list[Fact]]:
    """Tell power caps and, once each, what a shadow row, a bypassed row or any row of a disarmed rack would have done."""
    facts: list[Fact] = []
    if judged.caps != memory.power_cap:
        facts.append(Fact(FactKind.POWER_CAP, now_s, {"rows": list(judged.caps)}))
        memory = replace(memory, power_cap=judged.caps)
    acting = () if memory.armed else judged.due
    rows = (*judged.shadows, *judged.bypassed, *acting)
    keys = tuple(sorted({due.trip.key for due in rows}))
    if keys != memory.would_trip:
        for due in rows:
            if due.trip.key not in memory.would_trip:
                seen = due.judgement
                fields = {
                    "row": due.trip.key,
                    "effect": due.effect,
                    "tag": seen.tag,
                    "value": seen.value,
                    "limit": seen.limit,
                    "bypassed": due in judged.bypassed,
                }
                facts.append(Fact(FactKind.WOULD_TRIP, now_s, fields))
        memory = replace(memory, would_trip=keys)
    return memory, facts


def latch(memory: Memory, judged: Judged, now_s: float) -> tuple[Memory, list[Fact]]:
    """Latch every due row once, oldest evidence first, so that the first-out stands first."""
    rows = {standing.row for standing in memory.latches}
    new = [due for due in judged.due if due.trip.key not in rows and not _only_told(memory, due)]
    facts: list[Fact] = []
    for due in sorted(new, key=lambda one: one.judgement.at_s - one.held_s):
        one = due.latch(now_s)
        memory = replace(memory, latches=(*memory.latches, one), state_seq=memory.state_seq + 1)
        if one.sif in LOSES_COOLANT:
            memory = replace(memory, inventory=Inventory.UNKNOWN, tested=False)
        fields = {
            "sif": one.sif, "row": one.row, "title": due.trip.title, "effect": one.effect, "tag": one.tag, "value": one.value,
            "limit": one.limit, "held_s": round(one.held_s, 4), "sample_s": due.judgement.at_s, "state": memory.state,
            "first_out": memory.latches[0].sif, "state_seq": memory.state_seq,
        }  # fmt: skip
        facts.append(Fact(FactKind.TRIP, now_s, fields))
        if one.sif in TELLS:
            kind, what = TELLS[one.sif]
            facts.append(Fact(kind, now_s, {"what": what, "sif": one.sif, "tag": one.tag}))
    return memory, facts


def _only_told(memory: Memory, due: Due) -> bool:
    """SIF-9 in planned work is held and told by its alarm; in an emergency it latches."""
    return due.trip.sif == "SIF-9" and memory.state is S.ISOLATING and not memory.emergency


def most_urgent(view: View, judged: Judged) -> Event | None:
    """The most urgent event among the due rows that still has something to do in this state."""
    if not judged.due:
        return None
    memory = view.memory
    # a leaking rack must be drainable: while it is proven shut there is nothing more to isolate
    isolated = (memory.state is S.ISOLATING and memory.emergency) or (memory.state is S.DRAINING and view.shut_proven())
    events = [_event(memory.state, due) for due in judged.due]
    for effect, plain, states in URGENCY:
        if memory.state not in states or (effect is Effect.ISOLATE and isolated):
            continue
        ours = [event for ours_effect, event in events if ours_effect is effect]
        if ours:
            return plain if plain in ours else ours[0]
    return None


_PLAIN = {effect: event for effect, event, _states in URGENCY}


def _event(state: State, due: Due) -> tuple[Effect, Event | None]:
    """Class and event of one due row. A rack that stands on being shut loses its proof by SIF-9."""
    if due.trip.sif == "SIF-9" and state in PROVEN_SHUT_STATES:
        return Effect.ESD, Event.PROOF_LOST
    return due.effect, due.trip.event or _PLAIN.get(due.effect)
