"""The flow control's alarms: one for each trouble, none while it has not FCV-101, each with its runbook."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.valvey.core.bench import alarms
from tests.valvey.core.wet_rack import WetRack, serving
from valvey.core import flow_alarms
from valvey.core.alarm_rows import BY_NAME
from valvey.core.flow_state import Bound, Ceiling, Control, Header, Hunt, Source, Trouble
from valvey.core.steering import SILENT_S
from valvey.core.view import View

RUNBOOK = Path(__file__).parents[3] / "docs" / "operations" / "runbooks.md"
OTHERS = ("flow-ceiling", "ceiling-stale", "stroke-failed")
HEADER = ("PT-201", "PT-202")


def found(rack: WetRack) -> set[str]:
    return set(flow_alarms.conditions(View(rack.readings(), rack.memory, rack.limits, rack.now_s)))


def with_control(rack: WetRack, control: Control) -> WetRack:
    rack.memory = replace(rack.memory, steering=replace(rack.steering, control=control))
    return rack


@pytest.fixture
def rack() -> WetRack:
    rack = serving().until_s(10.0)
    rack.limits = replace(rack.limits, max_age_s={**rack.limits.max_age_s, **dict.fromkeys(HEADER, 0.5)})
    return rack


def test_a_rack_without_trouble_has_none(rack: WetRack) -> None:
    assert found(rack) == set()
    rack.until_s(40.0)
    assert alarms(rack) == set()


def test_each_trouble_has_its_alarm(rack: WetRack) -> None:
    control = rack.steering.control
    demand, learned = control.demand, control.learned
    made = {
        Trouble.NO_POWER: replace(control, demand=replace(demand, blind=True)),
        Trouble.NO_NEED: replace(control, demand=replace(demand, blind=True, lost=True)),
        Trouble.NO_HEADER: replace(control, header=Header(source=Source.METER)),
        Trouble.SHORT: replace(control, short=True),
        Trouble.BRANCH: replace(control, learned=replace(learned, bias_pct=15.0)),
        Trouble.HUNTING: replace(control, hunt=Hunt(events=1)),
        Trouble.HELD: replace(control, hunt=Hunt(events=3)),
    }
    assert made.keys() == set(Trouble) == flow_alarms.NAMES.keys()
    for trouble, state in made.items():
        assert found(with_control(rack, state)) == {flow_alarms.NAMES[trouble]}


@pytest.mark.parametrize("missing", HEADER)
def test_a_rack_that_has_not_the_headers_transmitters_is_not_alarmed_for_ever(rack: WetRack, missing: str) -> None:
    ages = {tag: age_s for tag, age_s in rack.limits.max_age_s.items() if tag != missing}
    rack.limits = replace(rack.limits, max_age_s=ages)
    without = replace(rack.steering.control, header=Header(source=Source.RACK), short=True)
    assert found(with_control(rack, without)) == {"flow-short"}


def test_a_rack_of_which_nothing_else_is_read_is_told_all_the_same(rack: WetRack) -> None:
    rack.limits = replace(rack.limits, max_age_s=dict.fromkeys(HEADER, 0.5))
    assert found(with_control(rack, replace(rack.steering.control, header=Header(source=Source.RACK)))) == {
        "header-unknown"
    }


def test_a_ceiling_and_a_silent_coordinator_are_told(rack: WetRack) -> None:
    steering = rack.steering
    heard_s = rack.now_s - SILENT_S
    rack.memory = replace(rack.memory, steering=replace(steering, bound=Bound.CEILING, ceiling=Ceiling(150.0, heard_s)))
    assert found(rack) == {"flow-ceiling"}
    later = replace(steering, ceiling=Ceiling(150.0, heard_s - 0.1))
    rack.memory = replace(rack.memory, steering=later)
    assert found(rack) == {"ceiling-stale"}


def test_nothing_is_told_while_it_has_not_the_valve(rack: WetRack) -> None:
    short = replace(rack.steering, control=replace(rack.steering.control, short=True), active=False)
    rack.memory = replace(rack.memory, steering=short)
    assert found(rack) == set()
    rack.memory = replace(rack.memory, steering=None)
    assert found(rack) == set()


def test_a_lost_power_meter_is_alarmed_after_ten_seconds_and_ends_when_it_is_back() -> None:
    rack = serving().until_s(10.0)
    rack.lost = {"JT-101", "ET-101"}
    rack.until_s(9.0)
    assert "power-unknown" not in alarms(rack)
    rack.until_s(3.0)
    assert "power-unknown" in alarms(rack)


@pytest.mark.parametrize("name", [*flow_alarms.NAMES.values(), *OTHERS])
def test_each_alarm_has_a_row_and_a_runbook(name: str) -> None:
    assert BY_NAME[name].runbook == f"docs/operations/runbooks.md#{name}"
    assert f"\n## {name}\n" in RUNBOOK.read_text(encoding="utf-8")
