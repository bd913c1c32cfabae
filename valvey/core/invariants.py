"""The invariants I1..I12 of SAFETY §5, stated in code. The tests explore with them; nothing here runs in service.

Each takes a Passage, one scan with all that went in and all that came out, and returns what is wrong, or None.
Three need more than one scan: I6 is told how long nothing could be believed, I11 is folded over a history by
``asked_after``, and I12 is a property of the chart. I10 is no matter of one rack's data (who may write to which device
stands in its configuration): I4 states the core's part of it, that no tag but the rack's own six is ever written.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from fieldkit.chart import Row, reachable
from fieldkit.reading import Readings
from valvey.core.chart import DEMANDED_OPEN, OPENING_WORK, PERMIT_ON, Event, State, Step
from valvey.core.facts import Fact, FactKind
from valvey.core.gate import FILLING_MAX_PCT, PERMIT_REFRESH_S, STROKE, Evidence
from valvey.core.leasing import Answer
from valvey.core.memory import Effect, Memory
from valvey.core.requests import Request
from valvey.core.step import Scan, Setup, step
from valvey.core.view import View

#: With nothing believable the permit is demanded off within this many seconds, and lapses in the field with the last.
DARK_WITHIN_S = 6.0
PERMIT_OFF_WITHIN_S = 8.2
ENTERING_S = 0.5
_ISOLATION_VALVES = ("XV-101", "XV-102")
_CONTACTS = ("XS-101", *_ISOLATION_VALVES, "XV-103", "XV-104")


@dataclass(frozen=True, slots=True)
class Passage:
    """One scan: memory before, readings and requests in; the scan, the field's evidence and the gate's writes out.

    writes  by output tag, as they leave for the bus; the permit after the valve block was acknowledged
    answers  of the loop's coordinator, in
    """

    before: Memory
    readings: Readings
    requests: tuple[Request, ...]
    rack: Setup
    now_s: float
    scan: Scan
    evidence: Evidence
    writes: Mapping[str, float]
    answers: tuple[Answer, ...] = ()

    @property
    def after(self) -> Memory:
        return self.scan.memory

    def raises(self, tag: str) -> bool:
        """Whether ``tag`` is written energised although it is not read back so."""
        held = tag == self.evidence.stroking  # its device drops and raises the coil; the command stands
        return bool(self.writes.get(tag)) and self.evidence.coil.get(tag) is not True and not held

    def drops(self, tag: str) -> bool:
        """Whether ``tag`` is written de-energised (or 0 %)."""
        value = self.writes.get(tag)
        return value is not None and not value

    def facts(self, kind: FactKind) -> list[Fact]:
        return [fact for fact in self.scan.facts if fact.kind is kind]

    def events(self) -> list[object]:
        return [fact.fields["event"] for fact in self.facts(FactKind.TRANSITION)]


def i1_drain_and_feed_exclude_each_other(one: Passage) -> str | None:
    """XV-103 never opens unless both isolation valves are proven shut; they never rise unless the drain is.

    An isolation valve that is open already is not dropped because ZSC-103 is lost: OPEN_LOST shuts the rack then.
    """
    shut = one.evidence.shut
    if one.writes.get("XV-103") and not (shut.get("XV-101") is True and shut.get("XV-102") is True):
        return "XV-103 is commanded open and the isolation valves are not proven shut"
    for tag in _ISOLATION_VALVES:
        if one.raises(tag) and shut.get("XV-103") is not True:
            return f"{tag} rises and XV-103 is not proven shut"
    return None


def i2_permit_rises_only_on_entry(one: Passage) -> str | None:
    """The permit rises only with FLOWING entered by proven flow, and is never fed without acknowledged valve writes."""
    memory, fed = one.after, one.writes.get("XS-101")
    if one.raises("XS-101"):
        rise_s = memory.permit_rise_s
        if memory.state is not State.FLOWING or rise_s is None or one.now_s - rise_s > ENTERING_S:
            return f"XS-101 rises in {memory.state}, not by the write that enters FLOWING"
        proving = one.before.state is State.OPENING and one.before.step is Step.PROVE
        if rise_s == one.now_s and not (proving and Event.FLOW_PROVEN in one.events()):
            return "XS-101 rises and no flow was proven"
    age_s = one.evidence.valves_acknowledged_s
    if fed and (age_s is None or age_s >= PERMIT_REFRESH_S):
        return "XS-101 is fed and no valve write was acknowledged of late"
    if one.writes and memory.state not in PERMIT_ON and not one.drops("XS-101"):
        return f"XS-101 is not written off in {memory.state}"
    return None


def i3_nothing_rises_under_a_lock(one: Passage) -> str | None:
    """Neither an isolation valve nor the permit rises under a lock or a latch."""
    if one.after.locks or one.after.latches:
        for tag in ("XS-101", *_ISOLATION_VALVES):
            if one.raises(tag):
                return f"{tag} rises under {[lock.owner for lock in one.after.locks]}{one.after.latches}"
    return None


def i4_only_the_whitelist_is_written(one: Passage) -> str | None:
    """Nothing is written in STARTUP or disarmed; else only the rack's six outputs, in the states that use them."""
    state, writes = one.after.state, one.writes
    if writes and (state is State.STARTUP or not one.after.armed):
        return f"something is written in {state}, armed {one.after.armed}"
    serving = PERMIT_ON | {State.COOLDOWN}
    allowed = {
        "XS-101": PERMIT_ON,
        **dict.fromkeys(_ISOLATION_VALVES, OPENING_WORK | serving | {State.ISOLATING}),
        "XV-103": frozenset({State.DRAINING}),
        "XV-104": frozenset({State.DRAINING, State.FILLING}),
    }
    for tag, value in writes.items():
        if tag == STROKE:
            if state is not State.FLOWING or value not in {1.0, 2.0} or one.after.locks or one.after.latches:
                return f"{STROKE} is written {value} in {state}"
        elif tag == "FCV-101":
            full = state in serving or state is State.OPENING
            top = 100.0 if full else FILLING_MAX_PCT if state is State.FILLING else 0.0
            if not 0.0 <= value <= top:
                return f"FCV-101 is written to {value} % in {state}"
        elif tag not in _CONTACTS or value not in {0.0, 1.0} or (value and state not in allowed[tag]):
            return f"{tag} is written {value} in {state}"
    return None


def i5_latches_stand_until_a_person_resets_them(one: Passage) -> str | None:
    """A latch goes only by an accepted reset of this scan that names it and gives a reason."""
    accepted = {fact.fields["id"] for fact in one.facts(FactKind.ANSWER) if fact.fields["status"] == "accepted"}
    named = {
        name
        for request in one.requests
        if request.name == "reset" and request.id in accepted and request.why.strip()
        for name in request.args["sif"]
    }
    rows = {latch.row for latch in one.after.latches}
    gone = [latch.row for latch in one.before.latches if latch.row not in rows and latch.sif not in named]
    return f"{gone} cleared by themselves" if gone else None


def i6_dark_when_nothing_can_be_believed(one: Passage, blind_for_s: float) -> str | None:
    """With every sensor bad for 6 s the permit is demanded off, whatever is asked meanwhile.

    The field's own expiry turns it off by 8.2 s where even that write does not arrive.
    """
    if blind_for_s < DARK_WITHIN_S or not one.after.armed:
        return None
    if one.scan.outputs.xs_101 is not False:
        return f"nothing could be believed for {blind_for_s:.2f} s and the permit is demanded in {one.after.state}"
    return None


def i7_a_trip_is_written_in_its_scan(one: Passage) -> str | None:
    """What a trip takes away leaves for the bus in the scan of its verdict; nothing withholds it."""
    trips = {fact.fields["effect"] for fact in one.facts(FactKind.TRIP)} - {Effect.NONE}
    had = one.before.state in (PERMIT_ON if trips == {Effect.DARK} else DEMANDED_OPEN)
    if not trips or (Event.LATE in one.events() and not had):  # a late scan, and nothing was left to take away
        return None
    if not one.drops("XS-101"):
        return f"{trips} and XS-101 is not written off"
    if trips & {Effect.ISOLATE, Effect.ESD} and not one.drops("XV-101"):
        return f"{trips} and XV-101 is not written off in {one.after.state}"
    if Effect.ESD in trips and not all(one.drops(tag) for tag in (*_CONTACTS, "FCV-101")):
        return f"an emergency stop leaves {dict(one.writes)}"
    return None


def i8_nothing_keeps_the_emergency_stop_from_acting(one: Passage) -> str | None:
    """HS-101 pressed, or an accepted emergency_stop: a rack that was armed is in ESD after the same scan."""
    if not one.before.armed:
        return None  # W1 acts
    pressed = View(one.readings, one.before, one.rack.limits, one.now_s).on("HS-101") is True
    asked = any(
        fact.fields["request"] == "emergency_stop" and fact.fields["status"] == "accepted"
        for fact in one.facts(FactKind.ANSWER)
    )
    held = one.before.state is State.ESD and Event.LATE in one.events()  # adopted as ESD again; all is off meanwhile
    if (pressed or asked) and one.after.state is not State.ESD and not held:
        return f"the emergency stop was called for and the rack is {one.after.state}"
    return None


def i9_the_same_again_gives_the_same(one: Passage) -> str | None:
    """A scan is a function of its inputs: replaying them gives the same memory, outputs and facts."""
    again = step(one.before, one.readings, one.requests, one.rack, one.now_s, one.answers)
    return None if again == one.scan else "the same inputs gave another decision"


def asked_after(asked: bool, one: Passage) -> bool:
    """Whether, after this scan, a person's opening request of this boot stands that no trip and no start has ended.

    A new process begins with False: whoever restarts it folds from there.
    """
    if Event.LATE in one.events() or one.facts(FactKind.TRIP):
        return False
    opened = any(
        fact.fields["status"] == "accepted" and fact.fields["request"] in {"open", "fill", "test"}
        for fact in one.facts(FactKind.ANSWER)
    )
    return (asked or opened) and one.after.state in OPENING_WORK | PERMIT_ON


def i11_nothing_opens_unasked(one: Passage, asked: bool) -> str | None:
    """No isolation valve and no permit rises unless a person asked in this boot and after the last trip.

    ``asked``  what ``asked_after`` says of this scan
    """
    for tag in ("XS-101", *_ISOLATION_VALVES):
        if one.raises(tag) and not asked:
            return f"{tag} rises in {one.after.state} and nobody asked for it since the last trip or start"
    return None


#: What repair and people may raise: the completions of a healthy field, and the requests of the chart.
BY_REPAIR_AND_PEOPLE = frozenset({
    *(Event.FLOW_PROVEN, Event.UNLOADED, Event.UNLOAD_OVERDUE, Event.COOLED, Event.PROVEN_SHUT),
    *(Event.DRAINED, Event.FILLED, Event.TESTED, Event.LATCHES_CLEAR),
    *(Event.ADOPT_ESD, Event.ADOPT_ISOLATING, Event.ADOPT_DRAINED, Event.ADOPT_FLOWING, Event.ADOPT_COOLDOWN),
    *(Event.OPEN, Event.ISOLATE, Event.DRAIN, Event.FILL, Event.TEST, Event.CANCEL),
})  # fmt: skip


def i12_states_without_a_way_back(rows: Iterable[Row], without: frozenset[Event] = frozenset()) -> tuple[State, ...]:
    """The states from which no chain of repair and requests leads to FLOWING; empty for a sound chart.

    ``without``  events that this version has no step sequence for
    """
    usable = [row for row in rows if row.event in BY_REPAIR_AND_PEOPLE - without]
    return tuple(state for state in State if State.FLOWING not in reachable(usable, state))


INVARIANTS: tuple[Callable[[Passage], str | None], ...] = (
    i1_drain_and_feed_exclude_each_other,
    i2_permit_rises_only_on_entry,
    i3_nothing_rises_under_a_lock,
    i4_only_the_whitelist_is_written,
    i5_latches_stand_until_a_person_resets_them,
    i7_a_trip_is_written_in_its_scan,
    i8_nothing_keeps_the_emergency_stop_from_acting,
)
"""Those that one scan can show; I9 costs a second scan and stands apart."""


def broken(one: Passage) -> tuple[str, ...]:
    """What is wrong with one scan, by the invariant's name; empty when nothing is."""
    found = ((rule.__name__, rule(one)) for rule in INVARIANTS)
    return tuple(f"{name}: {what}" for name, what in found if what is not None)
