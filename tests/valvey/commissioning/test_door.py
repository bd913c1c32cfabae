"""The door before the gate: what the field must show while valves are moved without a guard, and what never passes."""

import pytest

from tests.plant import limits
from valvey.commissioning.door import ALL_OFF, Demand, found_safe, through, troubles, valves
from valvey.core.chart import State
from valvey.core.gate import Evidence, Outputs

SAFE = {
    "ZSC-101": 1.0, "ZSC-102": 1.0, "ZSC-103": 1.0, "ZSO-101": 0.0, "ZSO-102": 0.0, "XI-101": 0.0, "XSY-101": 0.0,
    "XY-101": 0.0, "XY-102": 0.0, "XY-103": 0.0, "XY-104": 0.0, "HS-101": 0.0, "HS-102": 0.0, "EV-101": 0.0,
    "ET-101": 0.0, "JT-101": 0.0, "PT-101": 100.0, "ZT-101": 0.0, "LDT-101": 0.0, "LDT-102": 0.0, "LDT-103": 0.0,
}  # fmt: skip
STROKE = valves(State.TESTING, "XV-101")
BOTH = valves(State.TESTING, "XV-101", "XV-102")
POWERED = valves(State.FLOWING, "XV-101", "XV-102", permit=True)
DRAIN = valves(State.DRAINING, "XV-103")


def in_the_way(demand: Demand, **changes: float | None) -> str:
    values: dict[str, float | None] = {**SAFE, **{tag.replace("_", "-"): value for tag, value in changes.items()}}
    return "; ".join(troubles(demand, values.get, limits(), SAFE))


def evidence(*coils: str, shut: bool | None = True, locked: bool = False) -> Evidence:
    tags = ("XV-101", "XV-102", "XV-103", "XV-104", "XS-101")
    return Evidence(
        coil={tag: tag in coils for tag in tags},
        shut=dict.fromkeys(("XV-101", "XV-102", "XV-103"), shut),
        entering=False,
        valves_acknowledged_s=0.1,
        locked=locked,
    )


@pytest.mark.parametrize("demand", [STROKE, BOTH, POWERED, DRAIN])
def test_a_rack_that_stands_shut_and_dead_may_be_moved(demand: Demand) -> None:
    assert in_the_way(demand) == ""


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        ("EV-101", 10.0), ("ET-101", 3.0), ("JT-101", 3.0), ("HS-101", 1.0), ("HS-102", 1.0), ("LDT-102", 1.0),
        ("PT-101", 540.0), ("XI-101", 1.0),
    ],
)  # fmt: skip
def test_each_sign_of_danger_and_each_blindness_stops_every_move(tag: str, value: float) -> None:
    for seen in (value, None):
        assert tag in in_the_way(STROKE, **{tag.replace("-", "_"): seen})


def test_under_a_permit_the_contactor_is_closed_and_the_busbar_has_to_stay_dead() -> None:
    assert in_the_way(POWERED, XI_101=1.0, ZSC_101=0.0, ZSC_102=0.0) == ""
    assert "feeder must be locked off" in in_the_way(POWERED, XI_101=1.0, EV_101=48.0)


def test_both_valves_open_only_behind_a_shut_control_valve() -> None:
    for pct in (10.0, None):
        assert "FCV-101 must be shut" in in_the_way(BOTH, ZT_101=pct)
        assert in_the_way(STROKE, ZT_101=pct) == ""


@pytest.mark.parametrize("valve", ["XV-103", "XV-104"])
def test_drain_and_vent_open_only_between_two_proven_shut_valves(valve: str) -> None:
    for value in (0.0, None):
        assert "proven shut" in in_the_way(valves(State.DRAINING, valve), ZSC_102=value)


def test_a_pressed_button_is_no_trouble_only_where_it_is_asked_for() -> None:
    pressed = Demand(State.TESTING, STROKE.outputs, stop=True)
    assert in_the_way(pressed, HS_101=1.0) == ""
    assert "HS-101" in in_the_way(STROKE, HS_101=1.0)


def test_a_rack_without_a_key_is_not_asked_for_it() -> None:
    values: dict[str, float | None] = {tag: value for tag, value in SAFE.items() if tag != "HS-102"}
    assert troubles(STROKE, values.get, limits(), values) == []


@pytest.mark.parametrize("tag", ["ZSC-101", "ZSC-102", "ZSC-103", "XI-101", "XSY-101", "XY-101", "XY-104"])
def test_a_rack_that_is_found_otherwise_is_not_touched(tag: str) -> None:
    assert found_safe(SAFE.get, SAFE) == []
    for value in (1.0 - SAFE[tag], None):
        (trouble,) = found_safe((SAFE | {tag: value}).get, SAFE)
        assert trouble.startswith(tag)


def test_the_gate_stands_behind_the_door() -> None:
    writes, stopped = through(STROKE, evidence())
    assert (writes["XV-101"], writes["XV-102"], writes["XS-101"], writes["FCV-101"], stopped) == (
        1.0,
        0.0,
        0.0,
        0.0,
        [],
    )
    writes, stopped = through(STROKE, evidence(shut=None))
    assert writes["XV-101"] == 0.0
    assert stopped == ["the gate does not pass XV-101 in the work of TESTING (safe)"]
    assert through(STROKE, evidence(locked=True))[1]
    assert through(DRAIN, evidence(shut=False))[1], "no drain without both valves proven shut"
    assert through(valves(State.TESTING, "XV-103"), evidence())[1], "no drain in another work than draining"
    assert through(valves(State.FILLING, fcv_pct=13.0), evidence())[1], "no more than a fill's throttle"
    assert through(valves(State.TESTING, permit=True), evidence())[1], "no permit in another state than service"


def test_the_permit_rises_only_over_energised_valves() -> None:
    writes, stopped = through(POWERED, evidence("XV-101", "XV-102"))
    assert (writes["XS-101"], stopped) == (1.0, [])
    assert through(POWERED, evidence())[1], "not over valves that are not open"


def test_what_lets_go_always_passes() -> None:
    for field in (evidence(), evidence("XV-101", "XS-101", shut=None, locked=True)):
        writes, stopped = through(ALL_OFF, field)
        assert (set(writes.values()), stopped) == ({0.0}, [])
    assert ALL_OFF.outputs == Outputs(False, False, False, False, False, 0.0)
