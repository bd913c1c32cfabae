"""Every way that two faults, people, timers, crashes and late scans can take, as far as the bounds go.

The exploration is breadth-first over a quotient: racks that agree in ``key`` (state, step, flags, latches, locks,
bypass, timers as none/running/half/due, coils, positions, faults) count as one, and one of them stands for all. Moves
of one scan: 0.3 s or 1.9 s of waiting (2 s is late), 2.1 s, each request, opening requests beside safer ones, each
fault of the set coming or going, and a restart at once, with unreadable memory, with a memory one scan old, after the
permit has lapsed, or in another boot. Every scan is held to the invariants by the bench.

Bounds: in CI, four fault sets of CI_NODES racks and, for each fault alone and each of 30 pairs, a seeded walk of WALK
moves; marked long, every fault alone to LONG_NODES racks and every pair to PAIR_NODES.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

import pytest

from tests.attack.bench import ALL_FAULTS, DEAF, DROPPED, Node, rack, recover, request, restart, scan, standing
from valvey.core.chart import OUTPUTS, State, Step
from valvey.core.facts import FactKind
from valvey.core.invariants import Passage
from valvey.core.memory import Memory
from valvey.core.requests import Request

RACK = rack()
CI_NODES, LONG_NODES, PAIR_NODES, WALK = 40, 500, 60, 40
STARTS = tuple(State)
SETS = ((), ("rope wet", "flows lost"), (DEAF, DROPPED), ("everything lost",))
PAIRS = tuple(combinations(ALL_FAULTS, 2))


def key(node: Node) -> object:
    memory, field, now_s = node.memory, node.field, node.now_s
    timers = tuple(
        sorted(
            (name, timer.verdict, timer.blind, min(4, int(timer.demand_s / 0.5)), min(3, int(timer.blind_s / 1.5)))
            for name, timer in memory.timers.items()
        )
    )
    return (
        memory.state, memory.step, memory.was, memory.readable, memory.armed, memory.emergency, memory.isolate_wanted,
        memory.forced, memory.tested, memory.inventory, memory.asked_in_startup, tuple(latch.row for latch in memory.latches),
        tuple(lock.owner for lock in memory.locks), tuple(one.name for one in memory.bypasses), timers,
        min(2, len(memory.starts_s)), min(5, int((now_s - memory.step_since_s) / 2.0)), memory.permit_rise_s is not None,
        tuple(field.coils.values()), field.at, field.fcv_pct > 12.0,
        None if field.ack_s is None else min(4, int((now_s - field.ack_s) / 2.0)),
        node.faults, node.asked, memory.steady_since_s is None, memory.failed, int(2.0 * field.litres), field.kpa,
        None if memory.work is None else (memory.work.mark_s is None, memory.work.flowed, int(memory.work.waited_s / 2.0)),
    )  # fmt: skip


def asks(node: Node) -> Iterator[tuple[Request, ...]]:
    """The requests of one scan: each alone, and opening ones beside safer ones."""
    memory = node.memory
    latched = sorted({latch.sif for latch in memory.latches})

    def ask(called: str, /, **args: Any) -> Request:
        return request(node, called, **args)

    opening = ask("open")
    yield (opening,)
    yield (replace(opening, expect_seq=memory.state_seq - 1),)
    yield (ask("dark"),)
    yield (ask("isolate"),)
    yield (ask("isolate", force=True), ask("cancel"))
    yield (ask("isolate", role="coordinator", trip=True), opening)
    yield (ask("emergency_stop"), opening)
    yield (ask("cancel"),)
    yield (ask("lock", owner="anna"), opening, ask("disarm"))
    yield (ask("unlock", owner="anna", role="supervisor"), opening)
    yield (ask("reset", sif=latched), opening)
    yield (ask("drain"),)
    yield (ask("fill"), ask("isolate"))
    yield (ask("fill"),)
    yield (ask("test"),)
    yield (ask("bypass", name="SIF-1", for_s=3.0),)
    yield (ask("commission"), opening)
    yield (ask("disarm"),)
    yield (ask("arm"),)


def moves(node: Node, faults: tuple[str, ...], older: Memory) -> Iterator[Node]:
    for dt_s in (0.3, 1.9, 2.1):
        yield scan(RACK, node, (), dt_s)[0]
    for requests in asks(node):
        yield scan(RACK, node, requests, 0.05)[0]
    for fault in faults:
        yield scan(RACK, replace(node, faults=node.faults ^ {fault}), (), 0.05)[0]
    yield restart(RACK, node, node.memory)
    yield restart(RACK, node, node.memory, after_s=9.0)
    yield restart(RACK, node, None)
    yield restart(RACK, node, older)
    yield restart(RACK, node, node.memory, boot_id="another boot")


def explore(faults: tuple[str, ...], most: int, starts: tuple[State, ...] = STARTS) -> dict[object, Node]:
    """Visit up to ``most`` racks breadth-first and return them by key."""
    seen: dict[object, Node] = {}
    todo: deque[tuple[Node, Memory]] = deque((standing(state), standing(state).memory) for state in starts)
    while todo and len(seen) < most:
        node, older = todo.popleft()
        if (name := key(node)) in seen:
            continue
        seen[name] = node
        todo.extend((after, node.memory) for after in moves(node, faults, older))
    return seen


def walk(faults: tuple[str, ...], length: int, seed: int) -> Node:
    """Take ``length`` moves by chance from a rack in service or a shut one."""
    chance = Random(seed)
    node = standing(chance.choice((State.FLOWING, State.COOLDOWN, State.ISOLATED)))
    older = node.memory
    for _ in range(length):
        older, (node, _passage) = node.memory, _one_move(node, faults, older, chance)
    return node


def _one_move(node: Node, faults: tuple[str, ...], older: Memory, chance: Random) -> tuple[Node, Passage | None]:
    what = chance.choice(("wait", "wait", "wait", "ask", "ask", "fault", "restart", "late"))
    if what == "wait":
        return scan(RACK, node, (), chance.choice((0.05, 0.3, 1.0, 1.9)))
    if what == "late":
        return scan(RACK, node, (), 2.1)
    if what == "ask":
        return scan(RACK, node, chance.choice(tuple(asks(node))), 0.05)
    if what == "fault":
        return scan(RACK, replace(node, faults=node.faults ^ {chance.choice(faults)}), (), 0.05)
    stored = chance.choice((node.memory, node.memory, node.memory, older, None))
    return restart(RACK, node, stored, after_s=chance.choice((0.5, 9.0, 16.0))), None


@pytest.mark.parametrize("faults", SETS, ids=lambda faults: " and ".join(faults) or "no fault")
def test_no_move_breaks_an_invariant(faults: tuple[str, ...]) -> None:
    seen = explore(faults, CI_NODES)
    assert len(seen) == CI_NODES
    assert {node.memory.state for node in seen.values()} == set(State)


@pytest.mark.parametrize("faults", [(fault,) for fault in ALL_FAULTS], ids=" ".join)
def test_no_walk_with_one_fault_breaks_an_invariant(faults: tuple[str, ...]) -> None:
    walk(faults, WALK, seed=len(faults[0]))


@pytest.mark.parametrize("faults", PAIRS[:: len(PAIRS) // 30], ids=" and ".join)
def test_no_walk_with_two_faults_breaks_an_invariant(faults: tuple[str, ...]) -> None:
    walk(faults, WALK, seed=len(faults[1]))


@pytest.mark.parametrize("faults", SETS[1:], ids=" and ".join)
def test_every_rack_finds_back_to_service_by_repair_and_people(faults: tuple[str, ...]) -> None:
    for seed in range(4):
        assert recover(RACK, walk(faults, 25, seed)).memory.state is State.FLOWING


@pytest.mark.parametrize("state", State)
def test_every_state_finds_back_to_service_by_people(state: State) -> None:
    assert recover(RACK, standing(state)).memory.state is State.FLOWING


def test_a_rack_is_drained_and_filled_again_by_people_alone() -> None:
    node = scan(RACK, standing(State.ISOLATED), (), 0.05)[0]
    for name, args in (("lock", {"owner": "anna"}), ("drain", {})):
        node, passage = scan(RACK, node, (request(node, name, **args),), 0.05)
        assert [fact.fields["status"] for fact in passage.facts(FactKind.ANSWER)] == ["accepted"]
    visited = []
    for _ in range(60):
        node, _passage = scan(RACK, node, (), 0.5)
        visited.append((node.memory.state, node.memory.step))
    assert (State.DRAINING, Step.DRAIN) in visited
    assert (node.memory.state, node.field.litres, node.memory.failed) == (State.DRAINED, 0.0, None)
    assert recover(RACK, node).memory.state is State.FLOWING


WORK_STEPS = [at for at in OUTPUTS if at[0] in {State.DRAINING, State.FILLING, State.TESTING}]


def amid(state: State, step: Step) -> Node:
    """A rack in the middle of its work, its field as the step demands it."""
    node, demand = standing(state), OUTPUTS[state, step]
    assert demand is not None
    coils = {
        "XS-101": False,
        "XV-101": demand.xv_101,
        "XV-102": demand.xv_102,
        "XV-103": demand.xv_103,
        "XV-104": demand.xv_104,
    }
    at = (2 * demand.xv_101, 2 * demand.xv_102)
    kpa = 190.0 if state is State.TESTING else 0.0
    return replace(node, memory=replace(node.memory, step=step), field=replace(node.field, coils=coils, at=at, kpa=kpa))


@pytest.mark.parametrize(("state", "step"), WORK_STEPS)
def test_no_two_moves_amid_planned_work_break_an_invariant(state: State, step: Step) -> None:
    node = amid(state, step)
    for fault in ("", *ALL_FAULTS[::3]):
        faults = (fault,) if fault else ()
        broken = replace(node, faults=frozenset(faults))
        for after in list(moves(broken, faults, node.memory)):
            scan(RACK, after, (), 1.0)


@pytest.mark.parametrize(("state", "step"), WORK_STEPS)
def test_a_guard_that_dies_amid_planned_work_opens_nothing_when_it_starts(state: State, step: Step) -> None:
    for stored in (amid(state, step).memory, None):
        node = restart(RACK, amid(state, step), stored)
        for _ in range(12):
            node, passage = scan(RACK, node, (), 0.5)
            assert not [tag for tag, value in passage.writes.items() if value]
        assert node.memory.state in {State.ISOLATING, State.ISOLATED}


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fault", ALL_FAULTS)
def test_no_fault_breaks_an_invariant_however_deep(fault: str) -> None:
    seen = explore((fault,), LONG_NODES)
    assert len(seen) == LONG_NODES


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fault", ALL_FAULTS)
def test_no_pair_of_faults_breaks_an_invariant(fault: str) -> None:
    for pair in PAIRS:
        if fault == pair[0]:
            explore(pair, PAIR_NODES)
            for seed in range(3):
                walk(pair, 4 * WALK, seed)
