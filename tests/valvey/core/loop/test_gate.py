"""The last door before the CDU: three set-points, each in its own mode, within bounds, in small steps. Nothing else, ever."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.valvey.core.loop.paper import limits
from valvey.core.loop.gate import (
    ALLOWED,
    FLOORS,
    POINTS,
    RUN,
    STEP_FRACTION,
    SUPPLY,
    SUPPLY_STEP_C,
    CduEvidence,
    admit,
    pass_through,
)
from valvey.core.loop.limits import Bounds, Mode

BOUNDS = limits().bounds
PRESENT = {"speed_sp": 85.0, "dp_sp": 210.0, "flow_sp": 800.0}


def cdu(mode: Mode | None, present: float | None, *, armed: bool = True, alone: bool = True) -> CduEvidence:
    return CduEvidence(mode, present, armed, alone, may_stop=False, dark=False)


@pytest.mark.parametrize(("point", "mode"), ALLOWED.items())
def test_a_set_point_passes_in_its_own_mode_only(point: str, mode: Mode) -> None:
    value = PRESENT[point]
    assert admit(point, value, BOUNDS, cdu(mode, value))
    for other in set(Mode) - {mode}:
        assert not admit(point, value, BOUNDS, cdu(other, value))
    assert not admit(point, value, BOUNDS, cdu(None, value))
    assert not admit(point, value, BOUNDS, cdu(mode, None))
    assert not admit(point, value, BOUNDS, cdu(mode, value, armed=False))
    assert not admit(point, value, BOUNDS, cdu(mode, value, alone=False))
    assert not admit(point, value, {}, cdu(mode, value))


@pytest.mark.parametrize(("point", "mode"), ALLOWED.items())
def test_bounds_are_hard_to_the_last_bit(point: str, mode: Mode) -> None:
    bound = BOUNDS[mode]
    for edge, beyond in ((bound.low, bound.low - 1e-6), (bound.high, bound.high + 1e-6)):
        assert admit(point, edge, BOUNDS, cdu(mode, edge))
        assert not admit(point, beyond, BOUNDS, cdu(mode, edge))


@pytest.mark.parametrize(("point", "mode"), ALLOWED.items())
def test_no_bound_of_a_site_reaches_down_to_a_stop(point: str, mode: Mode) -> None:
    wide = dict.fromkeys(Mode, Bounds(0.0, 1e9))
    assert not admit(point, FLOORS[mode] - 0.1, wide, cdu(mode, FLOORS[mode]))
    assert not admit(point, 0.0, wide, cdu(mode, 0.0))
    assert admit(point, FLOORS[mode], wide, cdu(mode, FLOORS[mode]))


def test_twenty_percent_kilopascals_or_litres_a_minute_are_the_least() -> None:
    assert STEP_FRACTION == 0.05
    assert FLOORS == {Mode.FIXED_SPEED: 20.0, Mode.CONSTANT_DP: 20.0, Mode.CONSTANT_FLOW: 20.0}


def test_a_large_step_does_not_pass() -> None:
    most = STEP_FRACTION * 800.0
    assert admit("flow_sp", 800.0 - most, BOUNDS, cdu(Mode.CONSTANT_FLOW, 800.0))
    assert not admit("flow_sp", 800.0 - most - 0.01, BOUNDS, cdu(Mode.CONSTANT_FLOW, 800.0))
    assert not admit("flow_sp", 800.0 + most + 0.01, BOUNDS, cdu(Mode.CONSTANT_FLOW, 800.0))


@pytest.mark.parametrize("may_stop", [True, False])
@pytest.mark.parametrize("dark", [True, False])
@pytest.mark.parametrize("armed", [True, False])
@pytest.mark.parametrize("alone", [True, False])
def test_the_pumps_stop_only_where_a_site_allows_it_and_every_rack_is_dark(
    may_stop: bool, dark: bool, armed: bool, alone: bool
) -> None:
    seen = CduEvidence(Mode.CONSTANT_DP, 210.0, armed, alone, may_stop, dark)
    assert admit(RUN, 0.0, BOUNDS, seen) is (may_stop and dark and armed and alone)


@given(st.floats())
def test_the_pumps_are_never_started(value: float) -> None:
    seen = CduEvidence(Mode.CONSTANT_DP, 210.0, True, True, may_stop=True, dark=True)
    assert admit(RUN, value, BOUNDS, seen) is (value == 0.0)


def test_by_default_the_pumps_never_stop() -> None:
    assert limits().pump_stop is False
    assert not admit(RUN, 0.0, BOUNDS, cdu(Mode.CONSTANT_DP, 210.0))


SUPPLIED = replace(cdu(None, None), supply_c=22.0, supply=Bounds(20.0, 45.0))


@pytest.mark.parametrize(
    ("value", "present", "passes"),
    [
        (22.4, 22.0, True), (21.6, 22.0, True), (22.5, 22.0, True), (22.51, 22.0, False), (21.49, 22.0, False), (20.0, 20.2, True),
        (19.99, 20.2, False), (45.0, 44.8, True), (45.01, 44.8, False), (float("nan"), 22.0, False), (22.0, float("nan"), False),
    ],
)  # fmt: skip
def test_the_supply_set_point_passes_within_its_bounds_in_small_steps(
    value: float, present: float, passes: bool
) -> None:
    assert SUPPLY_STEP_C == 0.5
    assert admit(SUPPLY, value, BOUNDS, replace(SUPPLIED, supply_c=present)) is passes


@pytest.mark.parametrize("change", [{"armed": False}, {"alone": False}, {"supply": None}, {"supply_c": None}])
def test_the_supply_set_point_is_not_written_without_a_site_s_word_and_a_register(change: dict[str, Any]) -> None:
    assert admit(SUPPLY, 22.0, BOUNDS, SUPPLIED)
    assert not admit(SUPPLY, 22.0, BOUNDS, replace(SUPPLIED, **change))


@given(st.text(max_size=12) | st.sampled_from(["mode_sp", "mode", "pump_enable", "t_supply_sp"]), st.floats())
def test_what_is_not_listed_never_passes(point: str, value: float) -> None:
    for mode, armed in product(Mode, (True, False)):
        passed = admit(point, value, BOUNDS, cdu(mode, value, armed=armed))
        assert not passed or point in ALLOWED


def test_what_is_not_listed_does_not_pass_for_want_of_a_mode_either() -> None:
    wide: Any = {None: Bounds(0.0, 1e9), **BOUNDS}
    assert not admit("mode_sp", 50.0, wide, cdu(None, 50.0))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -0.0])
def test_no_strange_number_passes(value: float) -> None:
    assert not any(admit(point, value, BOUNDS, cdu(mode, PRESENT[point])) for point, mode in ALLOWED.items())
    assert not any(admit(point, PRESENT[point], BOUNDS, cdu(mode, value)) for point, mode in ALLOWED.items())


def test_only_what_is_admitted_passes_through() -> None:
    assert set(POINTS) == set(Mode)
    wanted = {"flow_sp": 790.0, "mode_sp": 1.0, "speed_sp": 85.0}
    assert pass_through(wanted, BOUNDS, cdu(Mode.CONSTANT_FLOW, 800.0)) == {"flow_sp": 790.0}
