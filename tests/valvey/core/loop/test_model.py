"""The loop as conductances: the design's coupling figures, what racks teach, and plans made of both."""

from math import exp, sqrt

import pytest

from tests.valvey.core.loop.paper import DEAD_KPA, PaperLoop, limits
from valvey.core.chart import State
from valvey.core.loop import model, plan
from valvey.core.loop.limits import Mode, RackRow

ROW = RackRow("r1", 132.0, 200.0)


@pytest.mark.parametrize(
    ("after_s", "share"), [(-5.0, 0.0), (0.0, 0.0), (0.5, 1.0 - exp(-0.5 / model.SMOOTH_S)), (1000.0, 1.0 - exp(-1.0))]
)
def test_a_snapshot_counts_by_the_time_since_the_last_one(after_s: float, share: float) -> None:
    known = model.learn(None, ROW, 200.0, 60.0, 200.0, 100.0)
    now = model.smoothed(known, ROW, 220.0, 60.0, 100.0 + after_s)
    assert now.flow_lpm == pytest.approx(200.0 + 20.0 * share)
    felt = model.felt_kpa(known, ROW, 220.0, 60.0)
    assert now.head_kpa == pytest.approx(known.head_kpa + share * (felt - known.head_kpa))
    assert now.rest == known.rest


def circuit(mode: Mode, racks: int = 8, droop_share: float = 0.0, **changes: object) -> model.Circuit:
    """``racks`` equal branches; the pumps lose ``droop_share`` of the header dP's size at their flow."""
    total = float(racks)
    values: dict[str, object] = {"droop": droop_share / total**2, "header": 0.0, "dp_remote": True} | changes
    return model.Circuit(mode, {f"r{n}": 1.0 for n in range(racks)}, **values)  # type: ignore[arg-type]


def test_one_of_eight_shuts_and_the_others_feel_what_the_design_says() -> None:
    assert circuit(Mode.CONSTANT_FLOW).change_pct("r1", 0.0) == pytest.approx(14.3, abs=0.05)
    assert circuit(Mode.CONSTANT_FLOW, 4).change_pct("r1", 0.0) == pytest.approx(33.3, abs=0.05)
    assert circuit(Mode.CONSTANT_DP).change_pct("r1", 0.0) == pytest.approx(0.0)
    assert circuit(Mode.FIXED_SPEED, droop_share=0.84).change_pct("r1", 0.0) == pytest.approx(5.7, abs=0.15)


def test_a_narrow_header_couples_racks_though_the_cdu_holds_its_dp() -> None:
    near = circuit(Mode.CONSTANT_DP, header=0.002, dp_remote=False)
    assert 0.0 < near.change_pct("r1", 0.0) < 3.0
    assert circuit(Mode.CONSTANT_DP, header=0.002).change_pct("r1", 0.0) == pytest.approx(0.0)


def test_a_rack_that_opens_takes_from_its_neighbours() -> None:
    assert circuit(Mode.CONSTANT_FLOW).change_pct("new", 1.0) == pytest.approx(-100.0 / 9.0)


def test_a_loop_without_flow_has_no_coupling_to_tell() -> None:
    still = model.Circuit(Mode.CONSTANT_FLOW, {}, 0.0, 0.0, True)
    assert still.change_pct("r1", 1.0) == pytest.approx(0.0)


def test_conductances_in_series() -> None:
    assert model.series(3.0, 4.0) == pytest.approx(2.4)
    assert model.series(0.0, 4.0) == pytest.approx(0.0)
    assert model.series(3.0, -1.0) == pytest.approx(0.0)


def test_the_valve_is_equal_percentage_and_linear_near_its_seat() -> None:
    full = model.valve_c(ROW, 100.0)
    assert full == pytest.approx(30.4 * model.C_OF_KV)
    assert model.valve_c(ROW, 50.0) == pytest.approx(full / sqrt(50.0))
    assert model.valve_c(ROW, 2.5) == pytest.approx(0.5 * model.valve_c(ROW, 5.0))
    assert model.valve_c(ROW, -1.0) == pytest.approx(0.0)


def test_the_rest_of_a_branch_is_learned_from_flow_position_and_dp() -> None:
    rest, valve, dp_kpa = 20.0, model.valve_c(ROW, 60.0), 210.0
    flow = model.series(rest, valve) * sqrt(dp_kpa)
    known = model.learn(None, ROW, flow, 60.0, dp_kpa, 10.0)
    assert known.rest == pytest.approx(rest)
    assert known.head_kpa == pytest.approx(dp_kpa)
    other = model.series(22.0, valve) * sqrt(dp_kpa)
    for n in range(600):
        known = model.learn(known, ROW, other, 60.0, dp_kpa, 11.0 + n)
    assert known.rest == pytest.approx(22.0, rel=0.01)
    assert known.flow_lpm == pytest.approx(other, rel=0.01)


def test_the_felt_head_follows_the_header_and_not_the_valve() -> None:
    known = model.learn(None, ROW, 200.0, 60.0, 210.0, 0.0)
    for opening in (45.0, 60.0, 80.0):
        flow = model.series(known.rest, model.valve_c(ROW, opening)) * sqrt(231.0)
        assert model.felt_kpa(known, ROW, flow, opening) == pytest.approx(231.0)
    assert model.felt_kpa(known, ROW, 10.0, 0.0) == pytest.approx(0.0)


def test_a_valve_that_passes_less_than_its_branch_does_not_upset_the_learning() -> None:
    known = model.learn(None, ROW, 400.0, 30.0, 200.0, 0.0)
    assert known.rest > 400.0 / sqrt(200.0)


def test_the_pumps_droop_is_learned_and_gives_the_capacity() -> None:
    droop = model.learn_droop(None, DEAD_KPA, 85.0, 210.0, 800.0, 0.2)
    assert droop == pytest.approx((DEAD_KPA * 0.85**2 - 210.0) / 800.0**2)
    other = model.learn_droop(droop, DEAD_KPA, 100.0, 190.0, 700.0, 0.5)
    target = (DEAD_KPA - 190.0) / 700.0**2
    assert other - droop == pytest.approx((1.0 - exp(-0.5 / model.SMOOTH_S)) * (target - droop))
    one_pump = droop
    for _ in range(200):
        one_pump = model.learn_droop(one_pump, DEAD_KPA, 100.0, 190.0, 700.0, 0.2)
    assert one_pump > 1.5 * droop
    both, single = model.capacity_lpm(limits(), droop), model.capacity_lpm(limits(), one_pump)
    assert both is not None
    assert single is not None
    assert both > 800.0 > single
    assert model.capacity_lpm(limits(), None) is None
    assert model.capacity_lpm(limits(), 0.0) is None
    assert model.capacity_lpm(limits(bounds={}), droop) == pytest.approx(both)


def test_nothing_is_learned_from_what_cannot_be_believed() -> None:
    loop = PaperLoop()
    loop.cdu["PT-202"] = None
    loop.run(1.0)
    assert (loop.memory.droop, dict(loop.memory.learned)) == (None, {})
    loop.cdu |= {"PT-202": 150.0, "P-201": None}
    loop.put("r1", state=State.COOLDOWN)
    loop.lose("r2", "ZT-101")
    loop.put("r3", points={"FT-101": 5.0, "FT-102": 5.0})
    loop.put("r4", points={"ZT-101": 6.0})
    loop.run(1.0)
    assert (loop.memory.droop, dict(loop.memory.learned)) == (None, {})
    loop.put("r4", points={"ZT-101": 60.0})
    loop.run(1.0)
    assert list(loop.memory.learned) == ["r4"]
    assert loop.memory.droop is None
    loop.cdu |= {"P-201": 85.0, "FT-201": 10.0}
    loop.run(1.0)
    assert loop.memory.droop is None  # too little flow to tell


def test_an_old_snapshot_is_learned_once() -> None:
    loop = PaperLoop()
    loop.run(1.0)
    loop.telling = False
    before = loop.memory.learned["r1"]
    loop.run(2.0)
    assert loop.memory.learned["r1"] == before


@pytest.mark.parametrize(
    ("work", "volume_l", "pct", "moved_to"),
    [("isolate", 0.0, 33.3, 600.0), ("drain", 45.0, 0.0, 800.0), ("test", 0.0, 0.0, 800.0)],
)
def test_a_plan_says_what_the_neighbours_would_feel_and_where_the_set_point_would_go(
    work: str, volume_l: float, pct: float, moved_to: float
) -> None:
    loop = PaperLoop().settled()
    found = plan.predict(loop.view(), work, "r2")
    assert found.neighbours_pct == pytest.approx(pct, abs=0.1)
    assert found.moved_to == pytest.approx(moved_to, abs=1.0)
    assert (found.unit, found.volume_l, found.missing) == ("L/min", volume_l, ())
    assert found.total_lpm == pytest.approx(600.0 if work == "isolate" else 800.0)
    assert found.time_s > 0.0
    assert found.set_point == pytest.approx(800.0)
    assert list(found.neighbours) == ["r1", "r3", "r4"]
    assert {one.now_lpm for one in found.neighbours.values()} == {200.0}
    alone = found.neighbours["r4"].alone_lpm
    assert alone == pytest.approx(2.0 * (100.0 + pct), abs=0.2)


def test_a_plan_names_neighbours_only_where_their_flow_is_known() -> None:
    loop = PaperLoop().settled()
    loop.put("r4", points={"FT-101": 0.0, "FT-102": 0.0})
    loop.lose("r3", "FT-101", "FT-102")
    assert list(plan.predict(loop.view(), "isolate", "r2").neighbours) == ["r1"]
    loop.cdu["CDU-MODE"] = None
    found = plan.predict(loop.view(), "isolate", "r2")
    assert (dict(found.neighbours), found.set_point) == ({}, None)


def test_a_plan_in_constant_dp_moves_nothing_and_in_fixed_speed_the_speed() -> None:
    loop = PaperLoop().settled()
    loop.cdu["CDU-MODE"] = 1.0
    assert plan.predict(loop.view(), "isolate", "r1").moved_to == pytest.approx(210.0)
    loop.cdu["CDU-MODE"] = 0.0
    found = plan.predict(loop.view(), "isolate", "r1")
    assert found.unit == "%"
    assert found.moved_to is not None
    assert found.moved_to < 85.0


def test_a_plan_of_a_fill_tells_the_lowest_return_pressure() -> None:
    loop = PaperLoop().settled()
    loop.put("r1", state=State.DRAINED, points={"FT-101": 0.0, "FT-102": 0.0})
    found = plan.predict(loop.view(), "fill", "r1")
    assert found.return_kpa == pytest.approx(150.0)  # make-up is faster than the fill
    dry = PaperLoop(limits(makeup_lpm=0.0)).settled()
    found = plan.predict(dry.view(), "fill", "r1")
    assert found.return_kpa == pytest.approx(251.3 * 60.0 / 105.0 - 101.3, abs=0.1)
    loop.cdu["LT-201"] = None
    unknown = plan.predict(loop.view(), "fill", "r1")
    assert unknown.return_kpa is not None
    assert unknown.return_kpa < 60.0


def test_a_plan_names_what_is_not_known() -> None:
    loop = PaperLoop().settled()
    loop.cdu |= {"PT-202": None, "FT-201": None}
    found = plan.predict(loop.view(), "fill", "r1")
    assert (found.neighbours_pct, found.moved_to, found.total_lpm, found.return_kpa) == (None, None, None, None)
    assert len(found.missing) == 3
    loop.cdu["CDU-MODE"] = None
    assert plan.predict(loop.view(), "open", "r1").unit == ""


def test_a_dark_rack_is_isolated_sooner_and_an_opening_takes_its_neighbours_flow() -> None:
    loop = PaperLoop().settled()
    served = plan.predict(loop.view(), "isolate", "r1").time_s
    loop.put("r1", state=State.COOLDOWN)
    assert plan.predict(loop.view(), "isolate", "r1").time_s < served
    loop.put("r1", state=State.ISOLATED, points={"FT-101": 0.0, "FT-102": 0.0})
    found = plan.predict(loop.view(), "open", "r1")
    assert found.neighbours_pct is not None
    assert found.neighbours_pct < -20.0


def with_pressures(mode: float, kpa: float = 290.0) -> PaperLoop:
    loop = PaperLoop()
    loop.cdu["CDU-MODE"] = mode
    for name in loop.limits.racks:
        loop.put(name, points={"PT-101": kpa})
    return loop.settled()


def test_also_a_rack_that_takes_next_to_nothing_feels_two_others_shut() -> None:
    loop = with_pressures(2.0)
    loop.put("r3", points={"FT-101": 1.0, "FT-102": 1.0})
    loop.put("r4", state=State.ISOLATED, points={"FT-101": 0.0, "FT-102": 0.0})
    found = plan.two_shut_kpa(loop.view())
    assert found is not None
    assert found[1] == "r3"


@pytest.mark.parametrize(("run", "stopped"), [(1.0, False), (0.5, False), (0.0, True), (None, False)])
def test_pumps_stand_still_only_where_their_register_says_so(run: float | None, stopped: bool) -> None:
    loop = PaperLoop()
    loop.cdu["P-201-RUN"] = run
    assert loop.view().stopped() is stopped


def test_two_racks_that_shut_at_once_bring_the_others_pressure_up_by_the_cdus_mode() -> None:
    share = (290.0 - 150.0) / 210.0
    flow = plan.two_shut_kpa(with_pressures(2.0).view())
    assert flow is not None
    assert flow[0] == pytest.approx(150.0 + share * DEAD_KPA)  # four times the dP, but no more than the pumps can
    held = plan.two_shut_kpa(with_pressures(1.0).view())
    assert held is not None
    assert held[0] == pytest.approx(290.0)
    speed = plan.two_shut_kpa(with_pressures(0.0).view())
    assert speed is not None
    assert held[0] < speed[0] < flow[0]
    assert speed[1] in {"r1", "r2", "r3", "r4"}


def test_what_is_not_known_of_pressures_refuses_no_mode() -> None:
    loop = with_pressures(2.0)
    for name in loop.limits.racks:
        loop.lose(name, "PT-101")
    assert plan.two_shut_kpa(loop.view()) is None
    loop = with_pressures(2.0)
    for name in ("r1", "r2"):
        loop.put(name, points={"FT-101": 0.0, "FT-102": 0.0})
    assert plan.two_shut_kpa(loop.view()) is None  # two flow: nobody would be left
    loop.cdu["PT-201"] = None
    assert plan.two_shut_kpa(loop.view()) is None


def test_a_mode_that_would_carry_a_trip_on_to_a_neighbour_is_refused_and_alarmed() -> None:
    loop = with_pressures(2.0, 340.0)
    loop.put("r4", state=State.ISOLATED)
    loop.run(35.0)
    reply = loop.say("r4", "open")
    assert "if two racks shut at once in this mode" in reply.reason
    assert "mode-refused" in loop.alarms()
    calm = with_pressures(1.0, 340.0)
    calm.run(35.0)
    assert "mode-refused" not in calm.alarms()
