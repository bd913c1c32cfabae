"""The lifecycle as causes of health."""

from dataclasses import replace

import pytest

from racky.core.causes import Blocks, Classification, Found
from racky.core.gates import broken_off, unreached
from racky.core.health import judge
from racky.core.health_rows import ROWS
from racky.core.life import Lifecycle
from racky.core.life_signs import not_admitted, quarantined
from racky.core.lifecycle_chart import State, Step
from racky.core.memory import Memory
from racky.core.sight import DaemonTold, Sight
from racky.core.view import View
from tests.racky.core.plans import SETUP, planned

REPORT = (
    broken_off(State.COOLING, "the rack does not hold its pressure", 7.0),
    unreached(broken_off(State.COOLING, "x", 7.0)),
)


def view(life: Lifecycle) -> View:
    return View(Sight(100.0, DaemonTold()), Memory(life=life), planned())


@pytest.mark.parametrize("state", State)
def test_every_state_but_production_and_maintenance_is_one_cause(state: State) -> None:
    found = [*quarantined(view(Lifecycle(state=state))), *not_admitted(view(Lifecycle(state=state)))]
    assert len(found) == (0 if state in {State.PRODUCTION, State.MAINTENANCE} else 1)


def test_a_quarantined_rack_says_by_what_it_was_refused() -> None:
    life = Lifecycle(state=State.QUARANTINED, since_s=7.0, report=REPORT, remark="by hand")
    assert [*quarantined(view(life))] == [
        Found(evidence="the work of this stage comes to its end: the rack does not hold its pressure", since_s=7.0)
    ]
    assert [*quarantined(view(replace(life, report=())))] == [Found(evidence="by hand", since_s=7.0)]


def test_a_rack_on_its_way_says_where_it_is_and_what_it_waits_for() -> None:
    life = Lifecycle(state=State.POWER, step=Step.ON, since_s=7.0)
    assert [*not_admitted(view(life))] == [Found(evidence="POWER, on", since_s=7.0)]
    assert [*not_admitted(view(replace(life, remark="waits")))] == [Found(evidence="POWER, on: waits", since_s=7.0)]


def test_without_a_plan_the_lifecycle_is_nobodys() -> None:
    for state in State:
        bare = replace(view(Lifecycle(state=state)), setup=SETUP)
        assert [*quarantined(bare), *not_admitted(bare)] == []


@pytest.mark.parametrize(("state", "name"), [(State.QUARANTINED, "quarantined"), (State.DISCOVERED, "not-admitted")])
def test_it_gets_no_work_and_may_be_powered(state: State, name: str) -> None:
    """Power on is part of the proof: the lifecycle may not forbid what it needs itself."""
    rows = tuple(row for row in ROWS if row.id in {"quarantined", "not-admitted"})
    health, _, _ = judge(view(Lifecycle(state=state)), rows)
    (cause,) = health.causes
    assert (cause.id, cause.blocks) == (name, frozenset({Blocks.ALLOCATION}))
    assert Classification.PREVENT_ALLOCATIONS in cause.classifications
