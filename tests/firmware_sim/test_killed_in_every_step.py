"""Coordinator, guard, or both killed in each step of each procedure: the rack ends in a safe, named state, and nothing opens by itself.

One round - isolate, drain, fill with its test, return to service - is gone through once, and every place on the way is kept.
From each of them the deaths are played.
"""

from dataclasses import replace
from functools import cache

import pytest

from tests.firmware_sim.coordinated_bench import NEIGHBOUR, CoordinatedBench
from tests.firmware_sim.procedures_bench import _SLOW
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.leasing import Answer
from valvey.core.lending import SILENT
from valvey.core.loop.facts import LoopFactKind
from valvey.core.loop.memory import LoopMemory
from valvey.core.memory import Inventory, Memory

S = State
Place = tuple[State, Step]
TTL_S, GRACE_S = 30.0, 5.0
#: Every place of the round, and the work that it belongs to.
ROUND: tuple[tuple[str, State, Step], ...] = (
    ("isolate", S.UNLOADING, Step.ASK),
    ("isolate", S.UNLOADING, Step.UNLOAD),
    ("isolate", S.COOLDOWN, Step.COOL),
    ("isolate", S.COOLDOWN, Step.RAMP),
    ("isolate", S.ISOLATING, Step.SUPPLY),
    ("isolate", S.ISOLATING, Step.RETURN),
    ("isolate", S.ISOLATING, Step.PROVE),
    ("drain", S.DRAINING, Step.VENT),
    ("drain", S.DRAINING, Step.WATCH),
    ("drain", S.DRAINING, Step.DRAIN),
    ("fill", S.FILLING, Step.CRACK),
    ("fill", S.FILLING, Step.BLEED),
    ("fill", S.FILLING, Step.TOP),
    ("fill", S.TESTING, Step.SETTLE),
    ("fill", S.TESTING, Step.PRESSURE),
    ("fill", S.TESTING, Step.STROKE_101),
    ("fill", S.TESTING, Step.RESEAT_101),
    ("fill", S.TESTING, Step.STROKE_102),
    ("fill", S.TESTING, Step.RESEAT_102),
    ("open", S.OPENING, Step.THROTTLE),
    ("open", S.OPENING, Step.RETURN),
    ("open", S.OPENING, Step.SUPPLY),
    ("open", S.OPENING, Step.PROVE),
)
DONE = {"isolate": S.ISOLATED, "drain": S.DRAINED, "fill": S.ISOLATED, "open": S.FLOWING}
PLACES = [pytest.param(work, (state, step), id=f"{state}.{step}") for work, state, step in ROUND]
ONE_EACH = [
    pytest.param(work, (state, step), id=f"{state}.{step}")
    for work, state, step in (ROUND[3], ROUND[9], ROUND[11], ROUND[14], ROUND[22])
]
every_place = pytest.mark.parametrize(("work", "place"), PLACES)


@cache
def whole_round() -> dict[tuple[str, Place], CoordinatedBench]:
    """The round, and a copy of everything at the first scan in each of its places."""
    bench, kept = CoordinatedBench().run(3.0), dict[tuple[str, Place], CoordinatedBench]()

    def go(work: str) -> None:
        bench.accepted(work)
        end_s = bench.now_s + 900.0
        while bench.state is not DONE[work] or bench.memory.work is not None:
            if (work, bench.place) not in kept:
                kept[work, bench.place] = bench.copy()  # type: ignore[assignment]
            assert bench.now_s < end_s, (bench.place, bench.memory.failed)
            bench.scan(dt_s=0.5 if bench.memory.step in _SLOW else 0.1)

    go("isolate")
    bench.accepted("lock", owner="anna")
    go("drain")
    bench.run(3.0)
    bench.accepted("unlock", owner="anna")
    go("fill")
    bench.run(1.0)
    go("open")
    return kept


def at(work: str, place: Place) -> CoordinatedBench:
    bench = whole_round()[work, place].copy()
    assert isinstance(bench, CoordinatedBench)
    bench.facts, bench.loop_facts = [], []
    return bench


class Watch:
    """What must not happen after a death: a coil that is energised again once the rack has left its work, or a permit that rises."""

    def __init__(self, bench: CoordinatedBench) -> None:
        self.bench, self.begun, self.left = bench, bench.state, False

    def run(self, for_s: float) -> None:
        bench, end_s = self.bench, self.bench.now_s + for_s
        before = dict(bench.commands)
        while bench.now_s < end_s - 1e-6:
            bench.scan(dt_s=0.5 if bench.memory.step in _SLOW else 0.1)
            self.left |= bench.state is not self.begun
            risen = [tag for tag, on in bench.commands.items() if on and not before[tag]]
            opening = bench.state in {S.OPENING, S.FILLING, S.TESTING, S.DRAINING}
            assert not risen or (opening and not self.left), (risen, bench.place)
            before = dict(bench.commands)

    def until(self, *wanted: State, most_s: float = 400.0) -> None:
        end_s = self.bench.now_s + most_s
        while self.bench.state not in wanted:
            assert self.bench.now_s < end_s, (self.bench.place, self.bench.memory.failed)
            self.run(0.5)


def test_the_round_goes_through_every_place_of_the_list_and_no_other() -> None:
    assert set(whole_round()) == {(work, (state, step)) for work, state, step in ROUND}


# --- the coordinator dies and does not come back ---------------------------------------------------------------------------


@every_place
def test_without_its_coordinator_closing_work_goes_on_and_opening_work_ends_shut(work: str, place: Place) -> None:
    bench = at(work, place)
    bench.kill()
    died_s, watch = bench.now_s, Watch(bench)
    watch.until(S.ISOLATED)
    bench.run(1.0)
    assert (bench.state, bench.latched) == (S.ISOLATED, ())
    assert not any(bench.commands.values())
    assert not bench.rack.permit_closed
    if work == "isolate":
        assert ended(bench) == ("isolate", "succeeded")
        lone = bench.told(FactKind.UNCOORDINATED)
        assert bool(lone) is (bench.now_s - died_s > TTL_S + 2.0)  # it was over before the lease was
    elif bench.memory.failed is None:
        assert ended(bench) == (work, "succeeded")  # the end was less than a lease away
        assert bench.now_s - died_s < TTL_S + 2.0
        assert place[0] is S.TESTING
    else:
        assert (bench.memory.failed, ended(bench)) == ("lease_lost", (work, "failed"))
        assert bench.memory.inventory is (Inventory.FULL if place[0] in {S.TESTING, S.OPENING} else Inventory.PART) or (
            place[0] is S.FILLING and bench.memory.inventory is Inventory.FULL
        )
    refused = bench.ask("open").fields
    assert refused["status"] == "refused"


def test_a_planned_isolation_waits_ten_seconds_for_a_coordinator_that_is_gone_and_says_that_it_is_alone() -> None:
    bench = CoordinatedBench()
    bench.run(3.0)
    bench.kill()
    bench.accepted("isolate")
    begun_s = bench.now_s
    bench.until(Step.UNLOAD)
    assert bench.now_s - begun_s == pytest.approx(10.0, abs=0.5)
    bench.run(0.2)
    assert bench.memory.uncoordinated
    (told,) = bench.told(FactKind.UNCOORDINATED)
    assert told.fields["reason"] == SILENT[0]
    bench.until(State.ISOLATED)
    refused = bench.run(1.0).ask("test").fields
    assert (refused["status"], refused["reason"]) == ("refused", SILENT[0])


# --- the coordinator comes back ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("work", "place"),
    [*ONE_EACH, *(pytest.param(*one.values, marks=pytest.mark.long, id=f"{one.id}-") for one in PLACES)],
)
def test_a_coordinator_that_comes_back_adopts_the_lease_and_the_work_ends_as_if_nothing_had_been(
    work: str, place: Place
) -> None:
    bench = at(work, place)
    before = bench.coordinator
    bench.kill()
    bench.run(3.0)
    bench.revive()
    begun_s = bench.now_s
    assert bench.coordinator.epoch == before.epoch + 1
    watch = Watch(bench)
    watch.begun = bench.state
    bench.until(DONE[work], most_s=900.0)
    bench.run(0.5)
    assert (bench.state, bench.memory.failed, bench.latched) == (DONE[work], None, ())
    assert ended(bench) == (work, "succeeded")
    early = [fact for fact in bench.of_loop(LoopFactKind.GRANTED) if fact.at_s - begun_s < TTL_S]
    assert early == []
    assert bench.told(FactKind.UNCOORDINATED) == [] or place == (S.UNLOADING, Step.ASK)
    for _ in range(round(TTL_S + GRACE_S) + 1):  # what was given back to a dead coordinator comes free by itself
        if bench.coordinator.leases:
            bench.scan(dt_s=1.0)
    assert bench.coordinator.leases == {}


@pytest.mark.parametrize(("work", "place"), ONE_EACH)
def test_a_coordinator_that_lost_its_disk_takes_an_epoch_above_the_racks_and_adopts_what_is_presented(
    work: str, place: Place
) -> None:
    bench = at(work, place)
    bench.memory, bench.loop = _in_epoch(bench, 41)
    lease_id = bench.memory.leasing.grant_id
    bench.kill()
    bench.run(3.0)
    bench.revive(disk=False)
    assert bench.coordinator.epoch == 1
    bench.run(20.0)
    assert bench.coordinator.epoch == 42
    assert [fact.fields["id"] for fact in bench.of_loop(LoopFactKind.ADOPTED)] == [lease_id]
    assert bench.memory.leasing.epoch == 42
    assert bench.memory.grant == lease_id


@pytest.mark.parametrize(("work", "place"), ONE_EACH)
def test_a_coordinator_of_a_lower_epoch_is_not_obeyed_and_the_lease_runs_out(work: str, place: Place) -> None:
    bench = at(work, place)
    bench.memory, _ = _in_epoch(bench, 41)
    grant = bench.memory.grant
    bench.kill()
    watch, end_s = Watch(bench), bench.now_s + TTL_S + 1.0
    while bench.now_s < end_s:
        watch.run(0.1)
        bench.answers = tuple(Answer(ask.ask_id, True, grant, 40, TTL_S, ask.work) for ask in bench.asks)
    assert (bench.memory.grant, bench.memory.leasing.epoch) == (None, 41)
    assert [fact.fields["what"] for fact in bench.told(FactKind.LEASE)][:1] == ["lower_epoch"]
    assert work == "isolate" or bench.memory.failed == "lease_lost"
    watch.until(S.ISOLATED)


# --- the guard dies, or both do ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("both", [False, pytest.param(True, marks=pytest.mark.long)], ids=["guard", "both"])
@every_place
def test_a_guard_that_dies_comes_back_into_a_named_state_and_opens_nothing(work: str, place: Place, both: bool) -> None:
    bench = at(work, place)
    permit = bench.commands["XS-101"]
    if both:
        bench.kill()
    bench.restart()
    if both:
        bench.revive()
    before = dict(bench.commands)
    for _ in range(450):
        bench.scan()
        assert not [tag for tag, on in bench.commands.items() if on and not before[tag]], bench.place
    wanted = {S.UNLOADING: S.FLOWING, S.COOLDOWN: S.COOLDOWN}.get(place[0], S.ISOLATED)
    assert bench.state in {wanted, S.COOLDOWN if work == "open" else wanted}, bench.place
    assert bench.commands["XS-101"] is (permit and wanted is S.FLOWING)
    assert not bench.memory.work
    assert bench.memory.tested is (work in {"isolate", "open"}) or bench.state is S.COOLDOWN
    held = bench.coordinator.leases
    assert not held or bench.memory.isolate_wanted


def test_the_neighbour_does_not_notice_any_of_it() -> None:
    bench = at("fill", (S.FILLING, Step.BLEED))
    flow = bench.plant.racks[NEIGHBOUR].flow_supply_lpm
    bench.least_lpm = flow
    bench.kill()
    bench.until(S.ISOLATED)
    assert bench.least_lpm > 0.98 * flow


def ended(bench: CoordinatedBench) -> tuple[str, str]:
    fields = bench.told(FactKind.ENDED)[-1].fields
    return fields["request"], fields["status"]


def _in_epoch(bench: CoordinatedBench, epoch: int) -> tuple[Memory, LoopMemory]:
    """Rack and coordinator as they would be had the coordinator started so often."""
    loop = bench.coordinator
    leases = {rack: replace(one, epoch=epoch) for rack, one in loop.leases.items()}
    memory = replace(bench.memory, leasing=replace(bench.memory.leasing, epoch=epoch))
    return memory, replace(loop, epoch=epoch, leases=leases)
