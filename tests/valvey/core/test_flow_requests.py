"""The request ``set_point``: what may be asked, within which bounds, and that nothing jumps."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tests.plant import flowing
from tests.valvey.core.bench import last
from tests.valvey.core.wet_rack import WetRack, serving, wet
from valvey.core.chart import State
from valvey.core.facts import FactKind
from valvey.core.flow_state import Hunt, Mode


@pytest.fixture
def rack() -> WetRack:
    return serving().until_s(10.0)


def asking(name: str, value: float) -> dict[str, Any]:
    return {name: value}


def refusal(rack: WetRack, **args: Any) -> tuple[str, str, str]:
    before = rack.memory.steering
    answer = rack.ask("set_point", **args).fields
    assert answer["status"] == "refused"
    assert before is not None
    assert rack.memory.steering is not None
    assert rack.steering.control.mode is before.control.mode
    assert rack.told(FactKind.SET_POINT) == []
    return answer["code"], answer["reason"], answer["allow"]


ALLOWED = "one of fcv_pct, flow_lpm, delta_k, power_kw, or auto: true"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({}, "no set-point given"),
        ({"auto": False}, "no set-point given"),
        ({"flow_lpm": 150.0, "delta_k": 12.0}, "flow_lpm, delta_k given"),
        ({"fcv_pct": 50.0, "auto": True}, "fcv_pct and auto given"),
    ],
)
def test_exactly_one_thing_is_asked(rack: WetRack, args: dict[str, Any], told: str) -> None:
    assert refusal(rack, **args) == ("args", told, ALLOWED)


BOUNDS = {
    "fcv_pct": (10.0, 100.0, "10 to 100 %"),
    "flow_lpm": (99.0, 247.5, "99 to 247.5 L/min"),
    "delta_k": (5.0, 20.0, "5 to 20 K"),
    "power_kw": (0.0, 158.2, "0 to 158.2 kW"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_a_value_out_of_the_racks_bounds_is_refused_with_them(rack: WetRack, name: str) -> None:
    low, high, allow = BOUNDS[name]
    assert refusal(rack, **asking(name, high + 0.1))[2] == allow
    assert rack.ask("set_point", **asking(name, high - 0.1)).fields["status"] == "accepted"
    assert rack.ask("set_point", **asking(name, low)).fields["status"] == "accepted"
    if low > 0.0:
        code, reason, _ = refusal(replace_facts(rack), **asking(name, low - 0.1))
        assert code == "args"
        assert reason.startswith(f"{name} is {low - 0.1:g} ")


@pytest.mark.parametrize(("name", "most"), [("fcv_pct", 100.0), ("flow_lpm", 247.5), ("delta_k", 20.0)])
def test_the_greatest_value_is_allowed_itself(rack: WetRack, name: str, most: float) -> None:
    assert rack.ask("set_point", **asking(name, most)).fields["status"] == "accepted"


def replace_facts(rack: WetRack) -> WetRack:
    rack.facts = []
    return rack


MODES = {"fcv_pct": Mode.POSITION, "flow_lpm": Mode.FLOW, "delta_k": Mode.DELTA_T, "power_kw": Mode.POWER_LIMITED}


@pytest.mark.parametrize(
    ("name", "value"), [("fcv_pct", 60), ("flow_lpm", 150.0), ("delta_k", 14.0), ("power_kw", 80.0)]
)
def test_each_kind_of_set_point_is_taken_over_without_a_jump_and_told(rack: WetRack, name: str, value: float) -> None:
    before = rack.memory.fcv_pct
    assert rack.ask("set_point", **asking(name, value)).fields["status"] == "accepted"
    assert (rack.steering.control.mode, rack.steering.control.asked) == (MODES[name], value)
    assert rack.memory.fcv_pct == pytest.approx(before, abs=1.1)  # five percent of travel a second
    told = last(rack, FactKind.SET_POINT).fields
    assert (told["mode"], told[name], told["by"], told["client"], told["why"]) == (
        MODES[name],
        value,
        "tester",
        "desk",
        "a test",
    )
    flows = [rack.steering.control.demand.setpoint_lpm]
    for _ in range(60):
        rack.scan(dt_s=0.2)
        flows.append(rack.steering.control.demand.setpoint_lpm)
    steps = [abs(b - a) for a, b in pairwise(flows)]
    assert max(steps) <= 0.05 * 198.0 * 0.2 + 1.0  # the ramp of the request, and the load's own way
    assert rack.state is State.FLOWING


def test_auto_goes_back_to_the_load(rack: WetRack) -> None:
    rack.ask("set_point", flow_lpm=150.0)
    rack.until_s(30.0)
    rack.ask("set_point", auto=True)
    assert (rack.steering.control.mode, rack.steering.control.asked) == (Mode.DELTA_T, None)
    assert last(rack, FactKind.SET_POINT).fields["auto"] is True
    assert rack.steering.control.demand.setpoint_lpm == pytest.approx(150.0, abs=2.5)


NEEDS = {
    "fcv_pct": [({"ZT-101"}, "ZT-101")],
    "flow_lpm": [({"FT-101", "FT-102"}, "FT-101 or FT-102")],
    "delta_k": [({"JT-101", "ET-101"}, "JT-101 or ET-101"), ({"FT-101", "FT-102"}, "FT-101 or FT-102")],
    "power_kw": [({"JT-101", "ET-101"}, "JT-101 or ET-101"), ({"FT-101", "FT-102"}, "FT-101 or FT-102")],
}
VALUES = {"fcv_pct": 60.0, "flow_lpm": 150.0, "delta_k": 12.0, "power_kw": 80.0}


@pytest.mark.parametrize("name", NEEDS)
def test_what_a_set_point_needs_must_be_believed_and_what_it_does_not_need_may_be_lost(name: str) -> None:
    for lost, what in NEEDS[name]:
        rack = serving().until_s(5.0)
        rack.lost = lost
        rack.now_s += 0.1
        assert refusal(rack, **asking(name, VALUES[name])) == (
            "reading",
            f"{what} cannot be believed",
            f"a good reading of {what}",
        )
        assert rack.ask("set_point", auto=True).fields["status"] == "accepted"
    harmless = {"ZT-101"} if name != "fcv_pct" else {"JT-101", "ET-101"}
    rack = serving().until_s(5.0)
    rack.lost = harmless | {"FT-102"}
    assert rack.ask("set_point", **asking(name, VALUES[name])).fields["status"] == "accepted"


def test_whoever_asks_has_looked_at_a_valve_that_is_held(rack: WetRack) -> None:
    held = replace(rack.steering.control, hunt=Hunt(events=3))
    rack.memory = replace(rack.memory, steering=replace(rack.steering, control=held))
    rack.ask("set_point", auto=True)
    assert rack.steering.control.hunt.events == 0


@pytest.mark.parametrize("known", [False, True])
def test_asked_in_the_first_scan_of_service_it_is_not_lost(known: bool) -> None:
    rack = wet(flowing())
    if known:
        other = serving().until_s(5.0).steering
        rack.memory = replace(rack.memory, steering=replace(other, active=False))
    assert rack.ask("set_point", flow_lpm=150.0).fields["status"] == "accepted"
    assert (rack.steering.active, rack.steering.control.mode) == (True, Mode.FLOW)
    assert rack.steering.control.command_pct == 75.8


def test_out_of_service_there_is_nothing_to_set(rack: WetRack) -> None:
    rack.ask("dark")
    assert rack.ask("set_point", flow_lpm=150.0).fields["code"] == "state"
