"""What a drain, a fill or a test has seen, after one look at the field."""

from dataclasses import replace
from typing import Any

import pytest

from tests.plant import PaperRack
from tests.valvey.core.works_bench import working
from valvey.core.chart import State, Step
from valvey.core.memory import Work
from valvey.core.view import View
from valvey.core.working import BLOCK_S, CALM_AFTER_S, CELSIUS_TAU_S, REST_S, observe

S = State


def seen(rack: PaperRack, after_s: float, work: Work | None = None, **values: float | None) -> Work:
    """The record after a look ``after_s`` from now; ``work`` as it was before."""
    rack.values |= {tag.replace("_", "-"): value for tag, value in values.items()}
    if work is not None:
        rack.memory = replace(rack.memory, work=work)
    rack.now_s += after_s
    return observe(View(rack.readings(), rack.memory, rack.limits, rack.now_s))


def begun(rack: PaperRack, **record: Any) -> Work:
    return Work(rack.now_s, **record)


def test_the_temperature_is_the_mean_of_supply_and_return_smoothed() -> None:
    rack = working(S.TESTING, Step.SETTLE)
    assert seen(rack, 0.5, TT_101=40.0, TT_102A=50.0, TT_102B=50.0, TT_102C=50.0).celsius == pytest.approx(45.0)
    later = seen(rack, 0.5, begun(rack, celsius=45.0), TT_101=42.0, TT_102A=52.0, TT_102B=52.0, TT_102C=52.0)
    assert later.celsius == pytest.approx(45.0 + 2.0 * 0.5 / CELSIUS_TAU_S)


@pytest.mark.parametrize(
    ("step", "shut", "marked"),
    [
        (Step.PRESSURE, 1.0, True),
        (Step.PRESSURE, 0.0, True),
        (Step.RESEAT_102, 1.0, True),
        (Step.RESEAT_102, 0.0, False),
        (Step.SETTLE, 1.0, False),
    ],
)
def test_a_hold_is_watched_in_its_steps_only(step: Step, shut: float, marked: bool) -> None:
    rack = working(S.TESTING, step)
    work = begun(rack, celsius=45.0, kpa=(180.0, 180.0))
    assert (seen(rack, 0.5, work, ZSC_102=shut).mark_s is not None) is marked


@pytest.mark.parametrize(("age_s", "marked"), [(REST_S - 0.5, False), (REST_S, True)])
def test_the_watch_of_a_drain_begins_when_the_rack_has_rested(age_s: float, marked: bool) -> None:
    rack = working(S.DRAINING, Step.WATCH)
    assert (seen(rack, age_s).mark_s is not None) is marked


@pytest.mark.parametrize(("below_kpa", "marked"), [(0.0, True), (0.5, False)])
def test_a_rack_is_full_from_its_very_limit_on(below_kpa: float, marked: bool) -> None:
    rack = working(S.FILLING, Step.BLEED)
    kpa = rack.limits.full_kpa - below_kpa
    work = seen(rack, 0.5, begun(rack, kpa=(kpa, kpa)), PT_101=kpa, PT_102=kpa)
    assert (work.mark_s is not None) is marked


def test_a_block_of_flow_ends_at_its_very_length_and_the_next_begins_from_nothing() -> None:
    rack = working(S.FILLING, Step.BLEED)
    kpa = rack.limits.full_kpa + 10.0
    before = begun(rack, kpa=(kpa, kpa), mark_s=rack.now_s - CALM_AFTER_S, flow=(BLOCK_S - 0.5, 0.0625, 0.0))
    work = seen(rack, 0.5, before, PT_101=kpa, PT_102=kpa, FT_101=0.0625)
    assert (work.noise, work.flow) == (0.0, (0.0, 0.0, 0.0))
    longer = replace(before, at_s=rack.now_s, flow=(BLOCK_S - 0.75, 0.0625, 0.0))
    work = seen(rack, 0.5, longer, FT_101=0.0625)
    assert (work.noise, work.flow[0]) == (None, BLOCK_S - 0.25)


def test_a_block_without_flow_has_no_noise() -> None:
    rack = working(S.FILLING, Step.BLEED)
    kpa = rack.limits.full_kpa + 10.0
    before = begun(rack, kpa=(kpa, kpa), mark_s=rack.now_s - CALM_AFTER_S, flow=(BLOCK_S, 0.0, 0.0), noise=0.5)
    assert seen(rack, 0.5, before, PT_101=kpa, PT_102=kpa, FT_101=0.0).noise is None
