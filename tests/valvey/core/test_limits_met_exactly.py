"""What a value does that meets its limit to the last bit, and the last step on either side of it."""

from dataclasses import replace
from math import nextafter
from typing import Any

import pytest

from tests.plant import PaperRack, flowing
from tests.valvey.core.bench import judged, verdict
from tests.valvey.core.works_bench import working
from valvey.core import draining, filling, testing
from valvey.core.chart import State, Step
from valvey.core.memory import Work
from valvey.core.verdict import Verdict
from valvey.core.view import View
from valvey.core.working import MOST_SHARE

S = State


@pytest.mark.parametrize("row", ["SIF-4", "SIF-4/low"])
def test_the_flow_that_the_load_needs_is_enough_and_the_last_bit_less_is_not(row: str) -> None:
    rack = flowing()
    rack.values["JT-101"] = 140.0  # more than the heat that the coolant carries: the load stays when the flow falls
    rack.scan()
    limit = judged(rack, row).limit
    assert limit is not None
    for lpm, wanted in ((limit, Verdict.HEALTHY), (nextafter(limit, 0.0), Verdict.DEMAND)):
        rack.values |= {"FT-101": lpm, "FT-102": lpm}
        rack.scan()
        assert verdict(rack, row) is wanted


def test_a_hold_of_the_second_stage_alone_is_frozen_while_the_load_is_low() -> None:
    rack = flowing()
    rack.values |= {"FT-101": 80.0, "FT-102": 80.0}  # between a quarter of the need and 45 percent of it
    rack.run(1.0)
    assert rack.memory.timers["SIF-4/low"].demand_s > 0.0
    assert verdict(rack, "SIF-4") is Verdict.HEALTHY
    rack.values |= {"JT-101": 5.0, "ET-101": 5.0, "FT-101": 0.0, "FT-102": 0.0}
    rack.scan()
    assert verdict(rack, "SIF-4/low") is Verdict.UNKNOWN


@pytest.mark.parametrize(("noise", "bled"), [(filling.CALM_SHARE, False), (nextafter(filling.CALM_SHARE, 0.0), True)])
def test_a_flow_is_calm_only_below_its_share_of_noise(noise: float, bled: bool) -> None:
    rack = working(S.FILLING, Step.BLEED)
    rack.values |= {"PT-101": 120.0, "PT-102": 120.0}
    rack.memory = replace(rack.memory, work=Work(rack.now_s, noise=noise, kpa=(120.0, 120.0)))
    view = View(rack.readings(), rack.memory, rack.limits, rack.now_s)
    assert filling.full(view)
    assert filling.flows(view)
    assert filling.bled(view) is bled


def _looking(rack: PaperRack, step: Step, *, since_s: float = 0.0, begun_s: float = 0.0, **work: Any) -> View:
    """A work whose step began ``since_s`` ago and the whole of it ``begun_s`` ago, with this record."""
    now_s = rack.now_s
    rack.memory = replace(
        rack.memory, step=step, step_since_s=now_s - since_s, since_s=now_s - begun_s, work=Work(now_s, **work)
    )
    return View(rack.readings(), rack.memory, rack.limits, now_s)


@pytest.mark.parametrize("short", [0.0, 0.5])
def test_every_limit_of_a_drain_is_reached_when_it_is_met(short: float) -> None:
    rack = working(S.DRAINING, Step.VENT)
    limits, met = rack.limits, not short
    assert draining.late(_looking(rack, Step.DRAIN, begun_s=limits.drain_overdue_s - short)) is met
    assert draining.waited_long(_looking(rack, Step.SUMP, waited_s=limits.sump_wait_s - short)) is met
    assert draining.overdrained(_looking(rack, Step.DRAIN, litres=MOST_SHARE * limits.volume_l - short)) is met
    assert draining.watched(_looking(rack, Step.WATCH, mark_s=rack.now_s - limits.watch_s + short)) is met
    kept, rise_kpa = (0.0, 0.0), limits.watch_rise_kpa - short
    rising = _looking(rack, Step.WATCH, kpa=(0.0, rise_kpa), mark_kpa=kept)
    assert draining.passing(rising) is met
    rack.values["ZSC-104"] = 0.0
    assert draining.vented(_looking(rack, Step.VENT, since_s=limits.vent_s - short)) is met


@pytest.mark.parametrize(("short", "held"), [(0.0, True), (0.5, False)])
def test_a_pressure_is_held_for_the_very_length_of_its_hold(short: float, held: bool) -> None:
    rack = working(S.TESTING, Step.PRESSURE)
    view = _looking(rack, Step.PRESSURE, mark_s=rack.now_s - rack.limits.test_hold_s + short)
    assert testing.held(view) is held


def _bleeding(*, kpa_short: float = 0.0, lpm: float = filling.LEAST_LPM, **work: Any) -> View:
    """A fill that passes liquid at its vent, to the very limits, with this record."""
    rack = working(S.FILLING, Step.BLEED)
    kpa = rack.limits.full_kpa - kpa_short
    rack.values |= {"PT-101": kpa, "PT-102": kpa, "FT-101": lpm}
    rack.memory = replace(rack.memory, work=Work(rack.now_s, kpa=(kpa, kpa), **work))
    return View(rack.readings(), rack.memory, rack.limits, rack.now_s)


def _all_of(view: View) -> dict[str, bool]:
    return {name: getattr(filling, name)(view) for name in ("full", "flows", "bled", "topped", "air_left", "overfull")}


@pytest.mark.parametrize(
    ("record", "true"),
    [
        ({}, {"full", "flows"}),
        ({"kpa_short": 0.5}, {"flows"}),
        ({"lpm": 0.5}, {"full"}),
        ({"noise": 0.0}, {"full", "flows", "bled"}),
        ({"noise": 0.0, "lpm": 0.5}, {"full"}),
        ({"noise": 0.0, "kpa_short": 0.5}, {"flows"}),
        ({"over": filling.OVER_SHARE}, {"full", "flows", "topped", "air_left"}),
        ({"over": filling.OVER_SHARE, "lpm": 0.5}, {"full"}),
        ({"over": filling.OVER_SHARE, "kpa_short": 0.5}, {"flows"}),
        ({"over": filling.OVER_SHARE, "noise": 0.0}, {"full", "flows", "bled", "topped"}),
        ({"over": filling.TOP_SHARE}, {"full", "flows", "topped"}),
        ({"over": filling.TOP_SHARE / 2}, {"full", "flows"}),
        ({"in": MOST_SHARE}, {"full", "flows", "topped", "air_left"}),
        ({"in": MOST_SHARE, "kpa_short": 0.5}, {"flows", "overfull"}),
        ({"in": MOST_SHARE * 0.99}, {"full", "flows"}),
    ],
    ids=lambda part: "-".join(map(str, sorted(part))),  # a set has no order: the name would change
)
def test_every_sign_of_a_fill_needs_all_that_it_is_made_of(record: dict[str, float], true: set[str]) -> None:
    volume_l = flowing().limits.volume_l
    shares = {"over": "over_l", "in": "litres"}
    view = _bleeding(**{shares.get(k, k): v * volume_l if k in shares else v for k, v in record.items()})
    assert {name for name, holds in _all_of(view).items() if holds} == true
