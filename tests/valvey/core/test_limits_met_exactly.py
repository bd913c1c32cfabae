"""What a value does that meets its limit to the last bit, and the last step on either side of it."""

from dataclasses import replace
from math import nextafter

import pytest

from tests.plant import flowing
from tests.valvey.core.bench import judged, verdict
from tests.valvey.core.works_bench import working
from valvey.core import filling
from valvey.core.chart import State, Step
from valvey.core.memory import Work
from valvey.core.verdict import Verdict
from valvey.core.view import View

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
