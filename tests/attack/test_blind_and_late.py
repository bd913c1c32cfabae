"""I6 to I9 and I11, each attacked by itself: no senses, hostile requests, repeated histories, late and repeated orders."""

from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import pytest

from tests.attack.bench import ALL_FAULTS, LIMITS, Node, rack, request, restart, scan, standing
from tests.attack.test_exploration import asks, walk
from tests.stored import reread
from valvey.core.chart import PERMIT_ON, State
from valvey.core.facts import FactKind
from valvey.core.invariants import i9_the_same_again_gives_the_same
from valvey.core.limits import TripTiming
from valvey.core.memory import Bypass, Memory
from valvey.core.policy import Action, PolicyRule
from valvey.core.requests import REQUESTS, Request
from valvey.core.step import setup
from valvey.core.trips import TRIPS

RACK = rack()


def serving() -> Node:
    node = standing(State.FLOWING)
    return replace(node, field=replace(node.field, coils={**node.field.coils, "XS-101": True}))


def hostile(node: Node, chance: Random) -> tuple[Request, ...]:
    """Whatever a client may send, with the right sequence number and every role."""
    args: list[dict[str, Any]] = [
        {}, {"trip": False}, {"name": "SIF-4", "for_s": 60}, {"name": "SIF-3", "for_s": 60}, {"fcv_pct": 100.0}, {"owner": "x"},
        {"sif": ["SIF-4", "SIF-8"]}, {"sif": []}, {"alarm": "a", "for_s": 60}, {"force": True},
    ]  # fmt: skip
    harmless = [name for name in REQUESTS if name not in {"emergency_stop", "dark", "isolate"}]
    return tuple(
        replace(
            request(node, chance.choice(harmless), role=chance.choice(("engineer", "supervisor", "coordinator"))),
            id=str(n), args=chance.choice(args),
        )
        for n in range(4)
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("state", [State.FLOWING, State.UNLOADING, State.OPENING])
def test_i6_a_rack_without_senses_goes_dark_within_six_seconds_whatever_is_asked(state: State, seed: int) -> None:
    """The bench holds every scan to "demanded off within 6 s" and the field to "off within 8.2 s"."""
    chance = Random(seed)
    node = serving() if state is State.FLOWING else standing(state)
    if state is State.UNLOADING:
        node = replace(node, field=replace(node.field, coils={**node.field.coils, "XS-101": True}))
    node = replace(node, faults=frozenset({"everything lost"}))
    began_s = node.now_s
    while node.now_s - began_s < 9.0:
        node, _passage = scan(RACK, node, hostile(node, chance), 0.2)
    assert node.memory.state not in PERMIT_ON
    assert not node.field.coils["XS-101"]


@pytest.mark.parametrize("fault", ALL_FAULTS)
def test_i7_every_trip_of_a_running_rack_is_written_in_its_scan(fault: str) -> None:
    """The bench holds each scan to I7; here every fault is left standing until its trip, in every open state."""
    for node in (serving(), standing(State.COOLDOWN), standing(State.OPENING)):
        now = replace(node, faults=frozenset({fault}))
        trips = 0
        for _ in range(60):
            now, passage = scan(RACK, now, (), 0.3)
            trips += len(passage.facts(FactKind.TRIP))
        assert trips == 0 or now.memory.latches


WRONG_LIMITS: tuple[dict[str, Any], ...] = (
    {},
    {"timing": {"SIF-7": TripTiming(3600.0, None)}},
    {"bypasses_at_once": 100},
    {"policy": ()},
    {"policy": (PolicyRule("all", ("LDT-101",), Action.SHADOW, 0.0),)},
    {"armed_in_file": False},
    {"trip_sources": frozenset()},
    {"adopt_s": 1e9, "late_s": 1e9},
)


@pytest.mark.parametrize("changes", WRONG_LIMITS, ids=str)
@pytest.mark.parametrize("state", State)
def test_i8_no_configuration_bypass_or_latch_keeps_the_button_from_acting(
    state: State, changes: dict[str, Any]
) -> None:
    bypasses = tuple(
        Bypass(name, "x", "y", 1.0, 1e9)
        for name in ("SIF-7", *(trip.key for trip in TRIPS), *(trip.sif for trip in TRIPS))
    )
    node = standing(state, bypasses=bypasses)
    node = replace(node, faults=frozenset({"button pressed"}))
    node, passage = scan(setup(replace(LIMITS, **changes)), node, (), 0.05)
    assert node.memory.state is State.ESD
    assert not any(passage.writes.values())


@pytest.mark.parametrize("seed", range(6))
def test_i9_a_history_replayed_gives_the_same_decisions(seed: int) -> None:
    """Also when the memory went through its stored form in between."""
    chance = Random(seed)
    node = walk(("rope wet", "flow low", "open limit gone"), 10, seed)
    for _ in range(25):
        requests = chance.choice(tuple(asks(node)))
        after, passage = scan(RACK, node, requests, 0.1)
        assert i9_the_same_again_gives_the_same(passage) is None
        stored = replace(passage, before=reread(passage.before))
        assert i9_the_same_again_gives_the_same(stored) is None
        node = after


# --- I11: an order that is late, doubled or from before


def opening_order(node: Node) -> Request:
    return request(node, "open", id="the-order")


def restarted(node: Node, stored: Memory | None, scans: int = 12) -> Node:
    node = restart(RACK, node, stored)
    for _ in range(scans):
        node, _passage = scan(RACK, node, (), 0.5)
    return node


@pytest.mark.parametrize("boot", ["the same boot", "another boot"])
@pytest.mark.parametrize("acted", [False, True])
def test_i11_an_order_from_before_a_restart_opens_nothing(acted: bool, boot: str) -> None:
    before = standing(State.ISOLATED)
    order = opening_order(before)
    at_crash = scan(RACK, before, (order,), 0.05)[0] if acted else before
    again = restart(RACK, at_crash, at_crash.memory, boot_id="boot-1" if boot == "the same boot" else "boot-2")
    for _ in range(12):
        again, passage = scan(RACK, again, (order,), 0.5)
        assert not any(passage.raises(tag) for tag in ("XV-101", "XV-102", "XS-101"))
    assert again.memory.state is State.ISOLATED


def test_i11_an_order_whose_memory_was_lost_in_the_crash_opens_nothing() -> None:
    before = standing(State.ISOLATED)
    order = opening_order(before)
    at_crash = scan(RACK, before, (order,), 0.05)[0]
    for stored in (before.memory, None):
        node = restarted(at_crash, stored)
        assert node.memory.state is State.ISOLATED
        node, passage = scan(RACK, node, (order,), 0.05)
        assert node.memory.state is State.ISOLATED
        assert [fact.fields["status"] for fact in passage.facts(FactKind.ANSWER)] == ["refused"]


@pytest.mark.parametrize("delay", [0, 1, 3, 20])
def test_i11_an_order_delayed_past_a_trip_and_its_reset_opens_nothing(delay: int) -> None:
    node = standing(State.ISOLATED)
    order = opening_order(node)
    node, _passage = scan(RACK, node, (request(node, "emergency_stop"),), 0.05)
    for _ in range(delay):
        node, _passage = scan(RACK, node, (), 0.5)
    node, _passage = scan(RACK, node, (request(node, "reset", sif=["SIF-7"]),), 0.05)
    for _ in range(20):
        node, passage = scan(RACK, node, (order,), 0.5)
        assert not any(passage.raises(tag) for tag in ("XV-101", "XV-102", "XS-101"))
    assert node.memory.state is State.ISOLATED


def test_i11_a_doubled_order_opens_once_and_not_again_after_the_rack_was_shut() -> None:
    node = standing(State.ISOLATED)
    order = opening_order(node)
    node, _passage = scan(RACK, node, (order, order), 0.05)
    assert node.memory.state is State.OPENING
    node, _passage = scan(RACK, node, (request(node, "cancel"), order), 0.05)
    for _ in range(20):
        node, _passage = scan(RACK, node, (order,), 0.5)
    assert node.memory.state is State.ISOLATED


@pytest.mark.parametrize(("when", "unreadable"), list(product(("opening", "flowing"), (False, True))))
def test_i11_an_opening_never_resumes_after_a_crash(when: str, unreadable: bool) -> None:
    node = standing(State.ISOLATED)
    node, _passage = scan(RACK, node, (opening_order(node),), 0.05)
    for _ in range(1 if when == "opening" else 40):
        node, _passage = scan(RACK, node, (), 0.3)
    assert node.memory.state is (State.OPENING if when == "opening" else State.FLOWING)
    crashed = restart(RACK, node, None if unreadable else node.memory, after_s=16.0)  # everything has lapsed meanwhile
    for _ in range(20):
        crashed, passage = scan(RACK, crashed, (), 0.5)
        assert not any(passage.raises(tag) for tag in ("XV-101", "XV-102", "XS-101"))
    assert crashed.memory.state is State.ISOLATED
