"""The invariants find what breaks them: each gets an honest scan, and then forged ones."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.attack.bench import Node, rack, request, scan, standing
from valvey.core import invariants as i
from valvey.core.chart import Event, State, Step
from valvey.core.facts import Fact, FactKind
from valvey.core.gate import Evidence
from valvey.core.invariants import Passage
from valvey.core.memory import Effect, Latch, Lock, Memory

RACK = rack()
OFF = {"XS-101": 0.0, "XV-101": 0.0, "XV-102": 0.0, "XV-103": 0.0, "XV-104": 0.0, "FCV-101": 0.0}
LATCH = Latch("SIF-4", "SIF-4", Effect.DARK, 1.0, 1.0)


def honest(state: State, *names: str, faults: tuple[str, ...] = (), **changes: Any) -> Passage:
    node = replace(standing(state, **changes), faults=frozenset(faults))
    if state in {State.FLOWING, State.UNLOADING}:
        node = replace(node, field=replace(node.field, coils={**node.field.coils, "XS-101": True}))
    return scan(RACK, node, tuple(request(node, name) for name in names), 0.05)[1]


def forged(
    one: Passage,
    *,
    writes: Mapping[str, float] | None = None,
    memory: Memory | None = None,
    facts: tuple[Fact, ...] | None = None,
    **seen: Any,
) -> Passage:
    done = one.scan
    if memory is not None:
        done = replace(done, memory=memory)
    if facts is not None:
        done = replace(done, facts=facts)
    evidence = replace(one.evidence, **seen)
    return replace(one, scan=done, evidence=evidence, writes={**one.writes, **(writes or {})})


def in_state(one: Passage, state: State, **changes: Any) -> Memory:
    return replace(one.after, state=state, **changes)


@pytest.mark.parametrize("state", State)
def test_an_honest_scan_breaks_none(state: State) -> None:
    assert i.broken(honest(state)) == ()
    assert i.i9_the_same_again_gives_the_same(honest(state)) is None


def test_what_is_broken_is_told_by_name() -> None:
    bad = forged(honest(State.ISOLATED), writes={"XV-103": 1.0}, shut={})
    names = [what.split(":")[0] for what in i.broken(bad)]
    assert names == ["i1_drain_and_feed_exclude_each_other", "i4_only_the_whitelist_is_written"]


@pytest.mark.parametrize("lost", [True, None])
@pytest.mark.parametrize("tag", ["XV-101", "XV-102"])
def test_i1_finds_a_drain_opened_beside_an_isolation_valve(tag: str, lost: bool | None) -> None:
    one = honest(State.DRAINING)
    shut = {"XV-101": True, "XV-102": True, "XV-103": True}
    assert i.i1_drain_and_feed_exclude_each_other(forged(one, writes={"XV-103": 1.0}, shut=shut)) is None
    bad = forged(one, writes={"XV-103": 1.0}, shut={**shut, tag: False if lost else None})
    assert i.i1_drain_and_feed_exclude_each_other(bad) is not None


@pytest.mark.parametrize("drain", [False, None])
@pytest.mark.parametrize("tag", ["XV-101", "XV-102"])
def test_i1_finds_an_isolation_valve_raised_beside_the_drain(tag: str, drain: bool | None) -> None:
    one = honest(State.OPENING)
    coil = dict.fromkeys(OFF, False)
    good = forged(one, writes={**OFF, tag: 1.0}, coil=coil, shut={"XV-103": True})
    assert i.i1_drain_and_feed_exclude_each_other(good) is None
    bad = forged(good, shut={"XV-103": drain})
    assert i.i1_drain_and_feed_exclude_each_other(bad) == f"{tag} rises and XV-103 is not proven shut"
    held = forged(bad, coil={**coil, tag: True})
    assert i.i1_drain_and_feed_exclude_each_other(held) is None


def rising(**changes: Any) -> Passage:
    """FLOWING has just been entered, and the permit rises."""
    one = honest(State.OPENING)
    before = replace(one.before, step=Step.PROVE)
    memory = replace(one.after, state=State.FLOWING, permit_rise_s=one.now_s)
    moved = Fact(FactKind.TRANSITION, one.now_s, {"event": Event.FLOW_PROVEN})
    coil = dict.fromkeys(OFF, True) | {"XS-101": False}
    one = forged(one, writes={"XS-101": 1.0}, memory=memory, facts=(moved,), coil=coil)
    return replace(one, before=before, **changes)


def test_i2_lets_the_permit_rise_with_proven_flow_and_finds_every_other_rise() -> None:
    good = rising()
    assert i.i2_permit_rises_only_on_entry(good) is None
    bad = [
        forged(good, memory=in_state(good, State.UNLOADING)),
        forged(good, memory=in_state(good, State.OPENING)),
        forged(good, memory=replace(good.after, permit_rise_s=None)),
        forged(good, memory=replace(good.after, permit_rise_s=good.now_s - 0.51)),
        forged(good, facts=()),
        replace(good, before=replace(good.before, step=Step.SUPPLY)),
        replace(good, before=replace(good.before, state=State.FILLING)),
        forged(good, valves_acknowledged_s=None),
        forged(good, valves_acknowledged_s=2.0),
    ]
    assert [one for one in bad if i.i2_permit_rises_only_on_entry(one) is None] == []
    next_scan = replace(good, before=good.after, now_s=good.now_s + 0.4)
    assert i.i2_permit_rises_only_on_entry(forged(next_scan, facts=())) is None


@pytest.mark.parametrize("state", sorted(set(State) - {State.FLOWING, State.UNLOADING, State.STARTUP}))
def test_i2_finds_a_permit_that_is_not_written_off(state: State) -> None:
    one = honest(state)
    assert i.i2_permit_rises_only_on_entry(one) is None
    kept = {tag: value for tag, value in one.writes.items() if tag != "XS-101"}
    assert i.i2_permit_rises_only_on_entry(replace(one, writes=kept)) == f"XS-101 is not written off in {state}"
    assert i.i2_permit_rises_only_on_entry(replace(one, writes={})) is None
    held = forged(one, writes={"XS-101": 1.0}, coil={"XS-101": True})
    assert i.i2_permit_rises_only_on_entry(held) == f"XS-101 is not written off in {state}"


@pytest.mark.parametrize("tag", ["XS-101", "XV-101", "XV-102"])
def test_i3_finds_a_rise_under_a_lock_or_a_latch(tag: str) -> None:
    one = forged(honest(State.OPENING), writes={**OFF, tag: 1.0}, coil=dict.fromkeys(OFF, False))
    assert i.i3_nothing_rises_under_a_lock(one) is None
    for changes in ({"locks": (Lock("anna", "w", 1.0),)}, {"latches": (LATCH,)}):
        bad = forged(one, memory=replace(one.after, **changes))
        assert str(i.i3_nothing_rises_under_a_lock(bad)).startswith(f"{tag} rises under")
        held = forged(bad, coil=dict.fromkeys(OFF, True))
        assert i.i3_nothing_rises_under_a_lock(held) is None


def test_i4_finds_every_write_outside_the_whitelist() -> None:
    allowed = {
        "XS-101": {State.FLOWING, State.UNLOADING},
        "XV-101": {
            State.OPENING,
            State.FILLING,
            State.TESTING,
            State.FLOWING,
            State.UNLOADING,
            State.COOLDOWN,
            State.ISOLATING,
        },
        "XV-103": {State.DRAINING},
        "XV-104": {State.DRAINING, State.FILLING},
    }
    allowed["XV-102"] = allowed["XV-101"]
    rule = i.i4_only_the_whitelist_is_written
    for state in State:
        one = replace(honest(State.ISOLATED), writes={})
        one = forged(one, memory=in_state(one, state))
        assert rule(one) is None
        for tag in (*allowed, "FCV-101"):
            assert (rule(forged(one, writes={tag: 0.0})) is None) is (state is not State.STARTUP)
        for tag, states in allowed.items():
            assert (rule(forged(one, writes={tag: 1.0})) is None) is (state in states)
            assert rule(forged(one, writes={tag: 0.5})) is not None
        top = 100.0 if state in {State.OPENING, State.FLOWING, State.UNLOADING, State.COOLDOWN} else 12.0
        shut = state is not State.FILLING and top < 100.0
        assert (rule(forged(one, writes={"FCV-101": top})) is None) is not shut
        for pct in (-0.1, top + 0.1, float("nan"), *((0.05,) if shut else ())):
            assert rule(forged(one, writes={"FCV-101": pct})) is not None
        assert rule(forged(one, writes={"XV-105": 0.0})) is not None
    disarmed = forged(honest(State.ISOLATED), memory=replace(honest(State.ISOLATED).after, armed=False))
    assert rule(disarmed) is not None


def test_i4_lets_a_stroke_be_commanded_only_in_a_rack_in_service_that_nothing_holds() -> None:
    rule = i.i4_only_the_whitelist_is_written
    for state in State:
        one = replace(honest(State.ISOLATED), writes={})
        one = forged(one, memory=in_state(one, state))
        for value, known in ((1.0, True), (2.0, True), (0.0, False), (1.5, False), (3.0, False)):
            allowed = known and state is State.FLOWING
            assert (rule(forged(one, writes={"XK-101": value})) is None) is allowed, (state, value)
    one = forged(honest(State.FLOWING), writes={"XK-101": 1.0})
    assert rule(one) is None
    for held in ({"locks": (Lock("anna", "a", 1.0),)}, {"latches": (LATCH,)}):
        assert rule(forged(one, memory=replace(one.after, **held))) == "XK-101 is written 1.0 in FLOWING"


def test_i5_finds_a_latch_that_clears_by_itself() -> None:
    rule = i.i5_latches_stand_until_a_person_resets_them
    node = standing(
        State.COOLDOWN, latches=(LATCH, replace(LATCH, row="SIF-4/low"), replace(LATCH, sif="MEM", row="MEM"))
    )
    good = scan(RACK, node, (request(node, "reset", id="r", sif=["SIF-4"]),), 0.05)[1]
    assert [latch.sif for latch in good.after.latches] == ["MEM"]
    assert rule(good) is None
    reset = good.requests[0]
    assert rule(replace(good, requests=())) == "['SIF-4', 'SIF-4/low'] cleared by themselves"
    assert rule(replace(good, requests=(replace(reset, why=" "),))) is not None
    assert rule(replace(good, requests=(replace(reset, name="ack"),))) is not None
    assert rule(replace(good, requests=(replace(reset, id="x"),))) is not None
    assert rule(replace(good, requests=(replace(reset, args={"sif": ["MEM"]}),))) is not None
    assert rule(forged(good, memory=replace(good.after, latches=()))) == "['MEM'] cleared by themselves"
    refusal = replace(good.scan.facts[0], kind=FactKind.ANSWER, fields={"id": "r", "status": "refused"})
    assert rule(forged(good, facts=(refusal,))) is not None


def test_i6_finds_a_permit_that_outlives_the_senses() -> None:
    rule = i.i6_dark_when_nothing_can_be_believed
    serving = honest(State.FLOWING)
    assert rule(serving, 5.99) is None
    assert str(rule(serving, 6.0)).startswith("nothing could be believed for 6.00 s")
    assert rule(honest(State.STARTUP), 6.0) is not None
    assert rule(honest(State.COOLDOWN), 600.0) is None
    assert rule(honest(State.ISOLATED, armed=False), 600.0) is None
    silent = honest(State.COOLDOWN)
    assert (
        rule(replace(silent, scan=replace(silent.scan, outputs=replace(silent.scan.outputs, xs_101=None))), 6.0)
        is not None
    )
    assert (i.DARK_WITHIN_S, i.PERMIT_OFF_WITHIN_S, i.ENTERING_S) == (6.0, 8.2, 0.5)


def tripped(state: State, after: State, effect: Effect, writes: Mapping[str, float]) -> Passage:
    one = honest(state)
    trip = Fact(FactKind.TRIP, one.now_s, {"effect": effect})
    one = forged(one, memory=in_state(one, after), facts=(trip,))
    return replace(one, writes=writes)


def test_i7_finds_a_trip_whose_write_does_not_leave_in_its_scan() -> None:
    rule = i.i7_a_trip_is_written_in_its_scan
    held = {**OFF, "XV-101": 1.0, "XV-102": 1.0, "FCV-101": 60.0}
    assert rule(tripped(State.FLOWING, State.COOLDOWN, Effect.DARK, held)) is None
    assert rule(tripped(State.FLOWING, State.COOLDOWN, Effect.DARK, {**held, "XS-101": 1.0})) is not None
    assert rule(tripped(State.FLOWING, State.COOLDOWN, Effect.DARK, {})) is not None
    assert rule(tripped(State.FLOWING, State.FLOWING, Effect.NONE, {**held, "XS-101": 1.0})) is None
    shutting = {**OFF, "XV-102": 1.0}
    assert rule(tripped(State.FLOWING, State.ISOLATING, Effect.ISOLATE, shutting)) is None
    assert rule(tripped(State.FLOWING, State.ISOLATING, Effect.ISOLATE, held)) is not None
    assert rule(tripped(State.FLOWING, State.ESD, Effect.ESD, OFF)) is None
    for tag in OFF:
        assert rule(tripped(State.FLOWING, State.ESD, Effect.ESD, {**OFF, tag: 1.0})) is not None
    assert (
        rule(tripped(State.FLOWING, State.ESD, Effect.ESD, {k: v for k, v in OFF.items() if k != "XV-104"})) is not None
    )


@pytest.mark.parametrize(
    ("state", "effect", "excused"),
    [
        (State.FLOWING, Effect.DARK, False),
        (State.COOLDOWN, Effect.DARK, True),
        (State.COOLDOWN, Effect.ISOLATE, False),
        (State.ISOLATED, Effect.ISOLATE, True),
    ],
)
def test_i7_excuses_a_late_scan_that_had_nothing_left_to_take_away(state: State, effect: Effect, excused: bool) -> None:
    one = tripped(state, State.STARTUP, effect, {})
    late = Fact(FactKind.TRANSITION, one.now_s, {"event": Event.LATE})
    one = forged(one, facts=(*one.scan.facts, late))
    assert (i.i7_a_trip_is_written_in_its_scan(one) is None) is excused


def test_i8_finds_an_emergency_stop_that_does_not_act() -> None:
    rule = i.i8_nothing_keeps_the_emergency_stop_from_acting
    for one in (honest(State.FLOWING, faults=("button pressed",)), honest(State.FLOWING, "emergency_stop")):
        assert rule(one) is None
        bad = forged(one, memory=in_state(one, State.ISOLATING))
        assert rule(bad) == "the emergency stop was called for and the rack is ISOLATING"
        assert rule(replace(bad, before=replace(bad.before, armed=False))) is None
        assert rule(replace(bad, before=replace(bad.before, state=State.ESD))) is not None
    late = Fact(FactKind.TRANSITION, 1.0, {"event": Event.LATE})
    bad = forged(bad, facts=(*bad.scan.facts, late))
    assert rule(bad) is not None
    assert rule(replace(bad, before=replace(bad.before, state=State.ESD))) is None
    unasked = honest(State.FLOWING, "dark")
    assert rule(unasked) is None
    refused = honest(State.FLOWING)
    answer = Fact(FactKind.ANSWER, 1.0, {"request": "emergency_stop", "status": "refused", "id": "a"})
    assert rule(forged(refused, facts=(answer,))) is None


def test_i9_finds_a_decision_that_depends_on_something_else() -> None:
    one = honest(State.FLOWING, "isolate")
    assert i.i9_the_same_again_gives_the_same(one) is None
    other = forged(one, memory=replace(one.after, fcv_pct=61.0))
    assert i.i9_the_same_again_gives_the_same(other) == "the same inputs gave another decision"


@pytest.mark.parametrize("tag", ["XS-101", "XV-101", "XV-102"])
def test_i11_finds_a_rise_that_nobody_asked_for(tag: str) -> None:
    one = forged(honest(State.OPENING), writes={tag: 1.0}, coil=dict.fromkeys(OFF, False))
    assert i.i11_nothing_opens_unasked(one, asked=True) is None
    assert str(i.i11_nothing_opens_unasked(one, asked=False)).startswith(f"{tag} rises in OPENING and nobody asked")
    held = forged(one, coil=dict.fromkeys(OFF, True))
    assert i.i11_nothing_opens_unasked(held, asked=False) is None


def test_an_opening_request_stands_until_a_trip_a_late_scan_or_the_end_of_the_opening() -> None:
    opened = honest(State.ISOLATED, "open")
    assert opened.after.state is State.OPENING
    assert i.asked_after(False, opened)
    assert not i.asked_after(False, honest(State.ISOLATED, "commission"))
    assert not i.asked_after(False, honest(State.FLOWING, "open"))
    assert not i.asked_after(False, honest(State.OPENING))
    assert i.asked_after(True, honest(State.OPENING))
    assert i.asked_after(True, honest(State.FLOWING))
    assert not i.asked_after(True, honest(State.ISOLATED))
    assert not i.asked_after(True, honest(State.OPENING, "cancel"))
    for kind, fields in ((FactKind.TRIP, {"effect": Effect.DARK}), (FactKind.TRANSITION, {"event": Event.LATE})):
        ended = forged(opened, facts=(*opened.scan.facts, Fact(kind, 1.0, fields)))
        assert not i.asked_after(True, ended)
    for name in ("fill", "test"):
        answer = Fact(FactKind.ANSWER, 1.0, {"request": name, "status": "accepted"})
        assert i.asked_after(False, forged(honest(State.OPENING), facts=(answer,)))


def test_the_bench_stops_at_the_first_broken_invariant() -> None:
    node: Node = standing(State.OPENING)
    assert node.asked
    scan(RACK, node, (), 0.3)
    with pytest.raises(AssertionError, match="XV-102 rises in OPENING and nobody asked"):
        scan(RACK, replace(node, asked=False), (), 0.3)


def test_evidence_of_the_bench_knows_what_it_cannot_see() -> None:
    one = honest(State.FLOWING, faults=("everything lost",))
    assert set(one.evidence.coil.values()) == {None}
    assert isinstance(one.evidence, Evidence)


def test_every_invariant_of_one_scan_is_held_by_the_bench() -> None:
    assert [rule.__name__.split("_")[0] for rule in i.INVARIANTS] == ["i1", "i2", "i3", "i4", "i5", "i7", "i8"]
