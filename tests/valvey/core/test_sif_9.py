"""SIF-9: valves that have been told to shut are not proven shut."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from fieldkit.reading import Quality, Reading
from fieldkit.units import Unit
from tests.plant import PaperRack, commissioned, flowing, isolated, limits
from tests.valvey.core.bench import (
    alarms,
    coarse,
    flicker,
    judged,
    last,
    lose_link,
    rows,
    run_frozen,
    spoil,
    swap_words,
    verdict,
)
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.judges import shut_votes
from valvey.core.memory import Effect
from valvey.core.trips import TRIPS
from valvey.core.verdict import Verdict
from valvey.core.view import View

POSITION_S = 1.5 * 3.5
FLOW_S = POSITION_S + 4.0 * 1.0


def isolating(
    *, position: bool = True, flow: float = 0.0, values: Mapping[str, float] = MappingProxyType({})
) -> PaperRack:
    """A rack that a leak has just told to shut; ``position``: whether XV-101 makes its shut limit."""
    rack = flowing()
    rack.follow = False
    rack.values.update({"LDT-101": 1.0})
    rack.run(0.6)
    assert rack.state is State.ISOLATING
    shut(rack, position=position, flow=flow)
    rack.values.update(values)
    rack.facts.clear()
    return rack


def shut(rack: PaperRack, *, position: bool, flow: float) -> None:
    rack.values.update({
        "ZSO-101": 0.0, "ZSO-102": 0.0, "ZSC-101": float(position), "ZSC-102": 1.0, "FT-101": flow, "FT-102": flow, "XY-101": 0.0, "XY-102": 0.0,
        "XSY-101": 0.0, "XI-101": 0.0, "JT-101": 0.0, "ET-101": 0.0, "EV-101": 0.0,
    })  # fmt: skip


def wait(rack: PaperRack, age_s: float) -> None:
    """Run until the valves have been demanded shut for ``age_s``; only the end of it in short scans."""
    rack.scan()
    since_s = rack.memory.shut_since_s
    while since_s is not None and age_s - (rack.now_s - since_s) > 1.0:
        rack.scan(dt_s=0.5)
    while rack.memory.shut_since_s is None or rack.now_s - rack.memory.shut_since_s < age_s - 1e-6:
        rack.scan()


def test_an_open_limit_and_flow_latch_in_an_emergency_and_tell_the_loop() -> None:
    rack = isolating(position=False, flow=20.0)
    wait(rack, FLOW_S - 0.05)
    assert rack.latched == ("SIF-1",)
    rack.scan()
    rack.scan()
    assert (rack.state, rows(rack)[-1]) == (State.ISOLATING, "SIF-9")
    assert rack.memory.latches[-1].effect is Effect.NONE
    assert last(rack, FactKind.LOOP_EVENT).fields["what"] == "isolation not proven"
    assert (rack.writes["FCV-101"], rack.writes["XV-101"], rack.writes["XV-102"]) == (0.0, 0.0, 0.0)


def test_it_is_not_armed_until_one_and_a_half_strokes_have_passed() -> None:
    rack = isolating(position=False, flow=20.0)
    wait(rack, POSITION_S - 0.05)
    assert verdict(rack, "SIF-9") is Verdict.NOT_ARMED
    rack.run(0.1)
    assert verdict(rack, "SIF-9") is Verdict.UNKNOWN  # one sign; the flow meters still settle


def test_the_slower_of_the_two_valves_makes_the_window() -> None:
    rack = flowing(stroke_102_s=5.0)
    rack.follow = False
    rack.values.update({"LDT-101": 1.0})
    rack.run(0.6)
    shut(rack, position=False, flow=20.0)
    wait(rack, 7.45)
    assert verdict(rack, "SIF-9") is Verdict.NOT_ARMED
    rack.run(0.1)
    assert verdict(rack, "SIF-9") is Verdict.UNKNOWN


def test_the_windows_end_with_their_last_instant() -> None:
    tags = {"ZSC-101": 1.0, "ZSC-102": 1.0, "FT-101": 0.0, "FT-102": 0.0}
    seen = {}
    for age_s in (5.24, 5.25, 9.24, 9.25):
        readings = {tag: Reading(tag, value, Unit.NONE, Quality.GOOD, age_s) for tag, value in tags.items()}
        memory = replace(commissioned(State.ISOLATING), shut_since_s=0.0)
        seen[age_s] = [vote.verdict for vote in shut_votes(View(readings, memory, limits(), age_s))]
    unknown, healthy = Verdict.UNKNOWN, Verdict.HEALTHY
    assert seen == {
        5.24: [],
        5.25: [healthy, unknown, unknown],
        9.24: [healthy, unknown, unknown],
        9.25: [healthy, healthy, unknown],
    }


def test_slow_flow_meters_are_given_four_times_their_lag() -> None:
    rack = flowing(flow_tau_s=2.0)
    rack.follow = False
    rack.values.update({"LDT-101": 1.0})
    rack.run(0.6)
    shut(rack, position=False, flow=20.0)
    wait(rack, POSITION_S + 7.9)
    assert verdict(rack, "SIF-9") is Verdict.UNKNOWN
    rack.run(0.2)
    assert verdict(rack, "SIF-9") is Verdict.DEMAND


@pytest.mark.parametrize("flows", [{"FT-101": 9.95, "FT-102": 0.0}, {"FT-101": 0.0, "FT-102": 9.95}])
def test_more_than_five_percent_in_either_flow_meter_is_a_sign(flows: dict[str, float]) -> None:
    rack = isolating(position=False)
    rack.values.update(flows)
    wait(rack, FLOW_S + 0.1)
    assert verdict(rack, "SIF-9") is Verdict.DEMAND


def test_five_percent_are_no_sign() -> None:
    rack = isolating(position=False, flow=9.9)
    wait(rack, FLOW_S + 0.1)
    assert verdict(rack, "SIF-9") is Verdict.UNKNOWN


def test_one_sign_alone_is_an_alarm_and_no_demand() -> None:
    rack = isolating(position=False, flow=0.0)
    wait(rack, FLOW_S + 1.5)
    assert "SIF-9" not in rack.latched
    assert "valve-doubt" in alarms(rack)


def test_no_sign_is_healthy_and_the_rack_is_isolated() -> None:
    rack = isolating()
    wait(rack, FLOW_S + 1.5)
    assert (rack.state, verdict(rack, "SIF-9")) == (State.ISOLATED, Verdict.HEALTHY)
    assert "valve-doubt" not in alarms(rack)


def header(rack: PaperRack, supply: float, ret: float) -> None:
    rack.values.update({"PT-201": supply, "PT-202": ret})


@pytest.mark.parametrize("moved", ["PT-201", "PT-202"])
def test_a_rack_that_rises_with_a_header_and_an_open_limit_demand(moved: str) -> None:
    rack = isolating(position=False, flow=0.0, values={"PT-101": 215.0, "PT-201": 310.0, "PT-202": 215.0})
    wait(rack, FLOW_S + 0.1)
    assert verdict(rack, "SIF-9") is Verdict.UNKNOWN
    rack.values[moved] = (rack.values[moved] or 0.0) + 20.0
    rack.values["PT-101"] = 215.0 + 10.0  # half as much is following
    rack.scan()
    assert (verdict(rack, "SIF-9"), rack.latched[-1]) == (Verdict.DEMAND, "SIF-9")


def test_a_rack_that_falls_with_a_header_follows_it_as_well() -> None:
    rack = isolating(position=False, values={"PT-101": 215.0, "PT-201": 310.0})
    wait(rack, FLOW_S + 0.1)
    rack.values.update({"PT-201": 290.0, "PT-101": 200.0})
    rack.scan()
    assert verdict(rack, "SIF-9") is Verdict.DEMAND


def test_a_rack_that_holds_its_pressure_while_both_headers_move_is_a_healthy_sign() -> None:
    rack = isolating(position=True, flow=20.0, values={"PT-101": 215.0, "PT-201": 310.0, "PT-202": 215.0})
    wait(rack, FLOW_S + 0.1)
    rack.values.update({"PT-201": 330.0, "PT-202": 235.0, "PT-101": 224.9})
    rack.scan()
    assert verdict(rack, "SIF-9") is Verdict.HEALTHY  # position and header against one flow
    assert "valve-doubt" in alarms(rack.run(1.2))


def test_a_header_that_has_hardly_moved_says_nothing() -> None:
    rack = isolating(position=False, values={"PT-101": 215.0, "PT-201": 310.0})
    wait(rack, FLOW_S + 0.1)
    rack.values.update({"PT-201": 319.9, "PT-101": 319.9})
    rack.scan()
    assert verdict(rack, "SIF-9") is Verdict.UNKNOWN
    rack.values.update({"PT-201": 320.0})
    rack.scan()
    assert verdict(rack, "SIF-9") is Verdict.DEMAND


def test_without_header_pressures_it_takes_both_other_signs() -> None:
    for position, flow, expected in (
        (False, 20.0, Verdict.DEMAND),
        (False, 0.0, Verdict.UNKNOWN),
        (True, 20.0, Verdict.UNKNOWN),
        (True, 0.0, Verdict.HEALTHY),
    ):
        rack = isolating(position=position, flow=flow)
        wait(rack, FLOW_S + 0.1)
        assert verdict(rack, "SIF-9") is expected


def refs(rack: PaperRack) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    return rack.memory.header_ref_kpa, rack.memory.return_ref_kpa


def test_the_header_reference_is_taken_once_when_the_valves_had_to_be_shut() -> None:
    rack = isolating(position=False, values={"PT-101": 215.0, "PT-201": 310.0})
    wait(rack, POSITION_S - 0.1)
    assert refs(rack) == (None, None)
    wait(rack, POSITION_S + 0.1)
    assert refs(rack) == ((215.0, 310.0), None)
    rack.values.update({"PT-101": 200.0, "PT-201": 320.0, "PT-202": 210.0})
    rack.scan()
    assert refs(rack) == ((215.0, 310.0), (200.0, 210.0))
    rack.values.update({"PT-101": 190.0, "PT-201": 330.0, "PT-202": 220.0})
    rack.scan()
    assert refs(rack) == ((215.0, 310.0), (200.0, 210.0))


def test_no_reference_is_taken_of_a_pressure_that_cannot_be_believed() -> None:
    rack = isolating(values={"PT-201": 310.0})
    spoil(rack, "PT-101")
    wait(rack, POSITION_S + 0.2)
    assert rack.memory.header_ref_kpa is None


def test_the_reference_is_forgotten_when_the_rack_is_opened_again() -> None:
    rack = isolated()
    rack.memory = replace(rack.memory, header_ref_kpa=(215.0, 310.0), return_ref_kpa=(215.0, 215.0))
    rack.values["FT-101"] = 0.0
    rack.ask("open")
    rack.run(0.3)
    assert rack.memory.step in {Step.RETURN, Step.SUPPLY, Step.PROVE}
    assert (rack.memory.shut_since_s, rack.memory.header_ref_kpa, rack.memory.return_ref_kpa) == (None, None, None)


@pytest.mark.parametrize("lost", ["FT-101", "FT-102"])
def test_a_lost_flow_meter_is_not_a_flow_of_nothing(lost: str) -> None:
    rack = isolating()
    wait(rack, FLOW_S + 0.2)
    spoil(rack, lost)
    rack.scan()
    assert verdict(rack, "SIF-9") is Verdict.UNKNOWN


@pytest.mark.parametrize("lost", ["ZSC-101", "ZSC-102"])
def test_a_lost_limit_is_not_a_made_one(lost: str) -> None:
    rack = isolating(flow=20.0)
    spoil(rack, lost)
    wait(rack, FLOW_S + 0.2)
    assert (verdict(rack, "SIF-9"), judged(rack, "SIF-9").blind) == (Verdict.UNKNOWN, False)


def test_all_signs_lost_are_an_alarm_after_thirty_seconds() -> None:
    rack = isolating()
    wait(rack, FLOW_S)
    spoil(rack, "ZSC-101", "ZSC-102", "FT-101", "PT-101")
    rack.scan()
    assert judged(rack, "SIF-9").blind is False  # FT-102 still says that nothing flows
    spoil(rack, "FT-102")
    coarse(rack, 30.0, dt_s=1.5)
    assert "blind-sif-9" not in alarms(rack)
    rack.scan(dt_s=1.5)
    assert ("blind-sif-9" in alarms(rack), "SIF-9" in rack.latched) == (True, False)


def test_in_planned_work_it_only_tells_and_the_work_waits() -> None:
    rack = isolated()
    rack.memory = replace(rack.memory, state=State.ISOLATING, step=Step.PROVE, emergency=False)
    shut(rack, position=False, flow=20.0)
    rack.follow = False
    rack.run(3.0)
    assert (rack.state, rack.memory.step, rack.latched) == (State.ISOLATING, Step.PROVE, ())
    assert "valve-doubt" in alarms(rack)
    assert rack.told(FactKind.LOOP_EVENT) == []


def test_a_trip_in_planned_work_makes_it_latch() -> None:
    rack = isolated()
    rack.memory = replace(rack.memory, state=State.ISOLATING, step=Step.PROVE, emergency=False)
    shut(rack, position=False, flow=20.0)
    rack.follow = False
    rack.values["LDT-101"] = 1.0
    rack.run(0.7)
    assert (rack.state, rack.latched) == (State.ISOLATING, ("SIF-1", "SIF-9"))


@pytest.mark.parametrize("state", [State.ISOLATED, State.DRAINED])
def test_in_a_rack_that_stands_on_being_shut_it_ends_in_esd(state: State) -> None:
    rack = isolated()
    rack.memory = replace(rack.memory, state=state)
    rack.follow = False
    shut(rack, position=False, flow=20.0)
    rack.scan()
    assert (rack.state, rack.latched) == (State.ESD, ("SIF-9",))
    assert last(rack, FactKind.TRANSITION).fields["event"] == "proof_lost"


def test_in_esd_it_is_latched_beside_the_stop(rack: PaperRack) -> None:
    rack.follow = False
    rack.ask("emergency_stop")
    shut(rack, position=False, flow=20.0)
    wait(rack, FLOW_S + 0.1)
    assert (rack.state, rack.latched) == (State.ESD, ("SIF-7", "SIF-9"))


def test_it_is_armed_where_both_valves_are_demanded_shut(rack: PaperRack) -> None:
    shut_states = {State.ISOLATING, State.ISOLATED, State.DRAINING, State.DRAINED, State.TESTING, State.ESD}
    assert next(row for row in TRIPS if row.key == "SIF-9").armed == shut_states
    rack.scan()
    assert verdict(rack, "SIF-9") is Verdict.NOT_ARMED


def test_its_windows_are_not_shortened_after_an_adoption() -> None:
    rack = flowing()
    rack.follow = False
    rack.memory = replace(rack.memory, state=State.ISOLATING, step=Step.RETURN, emergency=True)
    rack.restart()
    shut(rack, position=False, flow=20.0)
    rack.run(0.5)
    assert (rack.state, verdict(rack, "SIF-9")) == (State.ISOLATING, Verdict.NOT_ARMED)


def test_a_restart_does_not_begin_its_windows_again() -> None:
    rack = isolating(position=False, flow=20.0)
    wait(rack, FLOW_S - 0.5)
    rack.restart()
    rack.run(0.3)
    assert rack.state is State.ISOLATING
    rack.run(0.4)
    assert "SIF-9" in rack.latched


def test_chatter_of_a_limit_is_a_demand_as_often_as_it_is_seen() -> None:
    rack = isolating(position=False, flow=20.0)
    wait(rack, FLOW_S - 0.1)
    flicker(rack, "ZSC-101", [1.0] * 6)
    assert "SIF-9" not in rack.latched
    flicker(rack, "ZSC-101", [0.0, 1.0])
    assert "SIF-9" in rack.latched


def test_a_sign_that_dies_half_way_does_not_prove_the_valves_shut() -> None:
    rack = isolating(position=False, flow=20.0)
    wait(rack, FLOW_S - 0.2)
    spoil(rack, "ZSC-101")
    rack.run(0.5)
    assert (verdict(rack, "SIF-9"), rack.state) == (Verdict.UNKNOWN, State.ISOLATING)


def test_a_flow_with_its_words_swapped_is_not_a_flow_of_nothing() -> None:
    rack = isolating(flow=40.0)
    (reading,) = swap_words(rack, "FT-101")
    assert reading.reason == "denormal"
    rack.values["FT-102"] = 0.0
    wait(rack, FLOW_S + 0.2)
    assert (verdict(rack, "SIF-9"), rack.state) == (Verdict.UNKNOWN, State.ISOLATING)


def test_frozen_limits_prove_nothing() -> None:
    rack = isolated()
    run_frozen(rack, 1.0, "ZSC-101", "ZSC-102")
    assert verdict(rack, "SIF-9") is Verdict.UNKNOWN


def test_a_lost_valve_controller_is_one_alarm_and_no_open_valve(shut_rack: PaperRack) -> None:
    lose_link(shut_rack, "valve_controller")
    shut_rack.run(2.0)
    assert (shut_rack.state, shut_rack.latched) == (State.ISOLATED, ())
    assert alarms(shut_rack) == {"link-valve-controller"}


def test_a_latch_is_reset_once_both_signs_are_clear() -> None:
    rack = isolating(position=False, flow=20.0)
    wait(rack, FLOW_S + 0.2)
    assert rack.ask("reset", sif=["SIF-9"]).fields["code"] == "cause_not_clear"
    rack.values.update({"ZSC-101": 1.0, "FT-101": 0.0, "FT-102": 0.0})
    rack.scan()
    assert rack.ask("reset", sif=["SIF-9"]).fields["status"] == "accepted"
