"""How far a request is: percent and time left by the steps' own estimates."""

from dataclasses import replace
from itertools import pairwise

import pytest

from tests.plant import PaperRack, flowing, isolated
from tests.valvey.core.works_bench import working
from valvey.core.chart import OUTPUTS, State, Step
from valvey.core.facts import FactKind
from valvey.core.procedures import STEPS
from valvey.core.progress import WAYS, progress
from valvey.core.requests import REQUESTS
from valvey.core.view import View

S = State


def at(rack: PaperRack, request: str, later_s: float = 0.0) -> tuple[float, float] | None:
    found = progress(View(rack.readings(), rack.memory, rack.limits, rack.now_s + later_s), request)
    return None if found is None else (found.percent, found.eta_s)


@pytest.mark.parametrize("request_name", WAYS)
def test_a_way_is_made_of_steps_that_there_are_in_states_on_the_way(request_name: str) -> None:
    row, legs = REQUESTS[request_name], WAYS[request_name]
    assert [leg for leg in legs if leg[:2] not in OUTPUTS] == []
    assert {state for state, _step, _s in legs} <= row.way | row.goal
    assert len({leg[:2] for leg in legs}) == len(legs)


@pytest.mark.parametrize("request_name", WAYS)
def test_each_step_is_followed_by_the_next_of_the_way_or_leaves_its_state(request_name: str) -> None:
    then = {(row.state, row.step): row.then for row in STEPS}
    for (state, step, _a), (after, following, _b) in pairwise(WAYS[request_name]):
        assert then[state, step] == following if after is state else then[state, step] not in list(Step)


def test_a_drain_is_measured_by_its_volume_and_waits_at_the_same_place() -> None:
    # 10 s of vent, 62 s of watch, 450 s of drain at 6 L/min
    assert at(working(S.DRAINING, Step.VENT), "drain", 5.0) == pytest.approx((100 * 5 / 522, 517.0), abs=0.1)
    assert at(working(S.DRAINING, Step.VENT), "drain", 50.0) == pytest.approx((100 * 10 / 522, 512.0), abs=0.1)
    half = pytest.approx((100 * (72 + 225) / 522, 225.0), abs=0.1)
    assert at(working(S.DRAINING, Step.DRAIN, litres=22.5), "drain") == half
    assert at(working(S.DRAINING, Step.SUMP, litres=22.5), "drain", 300.0) == half
    assert at(working(S.DRAINING, Step.DRAIN, litres=49.0), "drain") == (100.0, 0.0)


def test_an_isolation_counts_the_ten_seconds_for_its_coordinator_where_there_is_one() -> None:
    # 60 s of unloading, 60 s of cooling, 120 s of ramp, two strokes of 3.5 s, 5 s of proof
    alone, shared = flowing(), flowing()
    shared.limits = replace(shared.limits, coordinator=True)
    for rack in (alone, shared):
        rack.memory = replace(rack.memory, state=S.UNLOADING, step=Step.UNLOAD, step_since_s=rack.now_s)
    assert at(alone, "isolate", 30.0) == pytest.approx((100 * 30 / 252, 222.0), abs=0.1)
    assert at(shared, "isolate", 30.0) == pytest.approx((100 * 40 / 262, 222.0), abs=0.1)
    shared.memory = replace(shared.memory, step=Step.ASK)
    assert at(shared, "isolate", 4.0) == pytest.approx((100 * 4 / 262, 258.0), abs=0.1)


def test_a_hold_that_has_not_begun_makes_no_way() -> None:
    total_s = 125.0 + 4 * 3.5 + 30.0
    assert at(working(S.TESTING, Step.PRESSURE), "test", 60.0) == (0.0, total_s)
    rack = working(S.TESTING, Step.PRESSURE).run(0.05)
    assert at(rack, "test", 60.0) == pytest.approx((100.0 * 60.0 / total_s, total_s - 60.0), abs=0.1)


@pytest.mark.parametrize("request_name", [*WAYS, "reset"])
def test_a_rack_that_is_not_on_the_way_has_no_progress(request_name: str) -> None:
    assert at(isolated(), request_name) is None


def test_a_client_is_told_at_each_step_and_tenth_and_not_in_between() -> None:
    rack = isolated()
    rack.ask("lock", owner="anna")
    rack.ask("drain")
    rack.values |= {"PT-101": 0.0, "PT-102": 0.0, "FT-103": 0.0}
    rack.run(9.0)
    told = rack.told(FactKind.PROGRESS)
    assert [(fact.fields["step"], fact.fields["percent"]) for fact in told] == [(Step.VENT, 0.0)]
    rack.run(60.0)
    told = rack.told(FactKind.PROGRESS)
    assert [fact.fields["step"] for fact in told] == [Step.VENT, Step.WATCH, Step.WATCH]
    assert told[-1].fields["percent"] == pytest.approx(10.0, abs=0.1)
    fields = told[-1].fields
    assert (fields["client"], fields["request"], fields["state"], fields["id"]) == ("desk", "drain", S.DRAINING, "id-2")
    assert fields["eta_s"] == pytest.approx(0.9 * 522.0, abs=1.0)
