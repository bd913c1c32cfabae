"""The set-point while a rack is worked on: which way it goes in each mode, how it is paced, and who may move it beside us."""

from dataclasses import replace
from math import exp, sqrt

import pytest

from tests.valvey.core.loop.paper import CDU, PaperLoop, limits
from valvey.core.chart import State
from valvey.core.leasing import Act
from valvey.core.loop.facts import LoopFactKind
from valvey.core.loop.gate import STEP_FRACTION
from valvey.core.loop.holding import HAND_S, _more_asked_lpm, follow
from valvey.core.loop.limits import Mode
from valvey.core.loop.memory import Written
from valvey.core.loop.model import series, valve_c
from valvey.core.loop.seen import SET_POINT_TAGS, SHUT

NUMBER = {Mode.FIXED_SPEED: 0.0, Mode.CONSTANT_DP: 1.0, Mode.CONSTANT_FLOW: 2.0}


def loop_in(mode: Mode, **changes: object) -> PaperLoop:
    loop = PaperLoop(limits(**changes))
    loop.cdu["CDU-MODE"] = NUMBER[mode]
    return loop.settled()


def throttle(loop: PaperLoop, rack: str = "r1", flow: float = 0.0) -> None:
    loop.put(rack, points={"FT-101": flow, "FT-102": flow})


def set_point(loop: PaperLoop, mode: Mode) -> float:
    value = loop.cdu[SET_POINT_TAGS[mode]]
    assert value is not None
    return value


def test_at_rest_nothing_is_written_in_any_mode() -> None:
    for mode in Mode:
        loop = loop_in(mode).run(30.0)
        assert all(not scan.writes for scan in loop.scans)


def test_constant_flow_loses_what_the_worked_rack_loses_and_gets_it_back() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW)
    loop.say("r1", "isolate")
    throttle(loop)
    loop.run(20.0)
    assert set_point(loop, Mode.CONSTANT_FLOW) == pytest.approx(600.0, rel=0.003)
    throttle(loop, flow=200.0)
    loop.run(20.0)
    assert set_point(loop, Mode.CONSTANT_FLOW) == pytest.approx(800.0, rel=0.003)


def test_fixed_speed_slows_down_by_what_the_pumps_droop_says() -> None:
    loop = loop_in(Mode.FIXED_SPEED)
    loop.say("r1", "isolate")
    throttle(loop)
    loop.run(20.0)
    droop = loop.memory.droop
    assert droop is not None
    wanted = 85.0 * ((210.0 + droop * 600.0**2) / (210.0 + droop * 800.0**2)) ** 0.5
    assert set_point(loop, Mode.FIXED_SPEED) == pytest.approx(wanted, rel=0.003)


def test_without_a_learned_droop_the_speed_is_left_to_the_trims() -> None:
    loop = PaperLoop(limits())
    loop.cdu |= {"CDU-MODE": 0.0, "P-201": None}
    loop.settled()
    loop.say("r1", "isolate")
    throttle(loop)
    loop.run(5.0)
    assert loop.memory.droop is None
    assert set_point(loop, Mode.FIXED_SPEED) == pytest.approx(85.0)


def test_constant_dp_stands_when_it_is_measured_at_the_racks_and_falls_by_the_header_loss_at_the_cdu() -> None:
    remote = loop_in(Mode.CONSTANT_DP, header_loss_kpa=16.0)
    near = loop_in(Mode.CONSTANT_DP, header_loss_kpa=16.0, dp_remote=False)
    for loop in (remote, near):
        loop.say("r1", "isolate")
        throttle(loop)
        loop.run(20.0)
    assert set_point(remote, Mode.CONSTANT_DP) == pytest.approx(210.0)
    assert set_point(near, Mode.CONSTANT_DP) == pytest.approx(210.0 - 16.0 * (1.0 - 0.75**2), rel=0.003)


def test_the_fast_trim_corrects_a_header_dp_that_is_not_what_it_was() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW)
    loop.put("r1", state=State.UNLOADING)
    loop.run(1.0)
    loop.cdu["PT-201"] = 150.0 + 231.0  # 10 % too much
    loop.run(4.0)
    assert set_point(loop, Mode.CONSTANT_FLOW) < 780.0
    loop.cdu["PT-201"] = 150.0
    loop.run(1.0)  # a dP of nothing teaches nothing
    loop.cdu["PT-201"] = 900.0
    loop.run(60.0)
    assert loop.memory.hold is not None
    assert loop.memory.hold.fast == pytest.approx(-0.3)


def test_the_fast_trim_moves_the_speed_by_half_since_dp_goes_with_its_square() -> None:
    loop = loop_in(Mode.FIXED_SPEED)
    loop.put("r1", state=State.UNLOADING)
    loop.run(1.0)
    hold = loop.memory.hold
    assert hold is not None
    for fast in (0.0, 0.1, -0.2):
        felt = replace(hold, fast=fast)
        after, speed = follow(loop.view(), felt, frozenset({"r1"}), 0.0)  # no time passes: the trim is as given
        assert after.fast == pytest.approx(fast)
        assert speed == pytest.approx(85.0 * exp(0.5 * fast), rel=1e-6)


@pytest.mark.parametrize("mode", Mode)
def test_the_slow_trim_gives_the_neighbours_back_what_they_feel_to_have_lost(mode: Mode) -> None:
    loop = loop_in(mode)
    loop.put("r1", state=State.UNLOADING)
    loop.run(3.0)
    start = set_point(loop, mode)
    for name in ("r2", "r3", "r4"):
        loop.put(name, points={"FT-101": 196.0, "FT-102": 196.0})
    loop.run(15.0)
    assert set_point(loop, mode) > start * 1.004
    assert loop.memory.hold is not None
    assert loop.memory.hold.deviations["r2"].worst_pct == pytest.approx(-2.0, abs=0.7)
    for name in ("r2", "r3", "r4"):
        loop.put(name, points={"FT-101": 100.0, "FT-102": 100.0})
    loop.run(60.0)
    assert loop.memory.hold.slow == pytest.approx(0.1)  # bounded


def test_after_a_silence_the_slow_trim_makes_one_whole_step_and_no_more() -> None:
    loop = loop_in(Mode.CONSTANT_DP, trim_s=5.0)
    loop.put("r1", state=State.UNLOADING)
    loop.run(3.0)
    loop.telling = False
    loop.run(12.0)
    loop.telling = True
    for name in ("r2", "r3", "r4"):
        loop.put(name, points={"FT-101": 196.0, "FT-102": 196.0})
    before = loop.memory.hold
    loop.scan()
    assert before is not None
    assert loop.memory.hold is not None
    assert loop.memory.hold.slow - before.slow == pytest.approx(0.04, abs=0.001)  # 2 % of flow are 4 % of head


def test_a_neighbour_that_moves_its_own_valve_is_no_reason_to_move_the_cdu() -> None:

    loop = loop_in(Mode.CONSTANT_DP)
    loop.say("r1", "isolate")
    loop.run(3.0)
    row, known = loop.limits.racks["r2"], loop.memory.learned["r2"]
    flow = series(known.rest, valve_c(row, 75.0)) * sqrt(known.head_kpa)
    loop.put("r2", points={"ZT-101": 75.0, "FT-101": flow, "FT-102": flow})
    loop.run(20.0)
    assert flow > 210.0
    assert set_point(loop, Mode.CONSTANT_DP) == pytest.approx(210.0)


def test_a_neighbour_of_which_nothing_good_is_told_has_no_say() -> None:
    loop = PaperLoop(limits())
    loop.lose("r4", "ZT-101")
    loop.settled()
    loop.lose("r2", "ZT-101")
    loop.lose("r3", "FT-101", "FT-102")
    loop.say("r1", "isolate")
    loop.run(5.0)
    assert loop.memory.hold is not None
    assert dict(loop.memory.hold.heads) == {}


def test_a_rack_that_joins_the_work_is_counted_from_its_own_beginning() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW, works_at_once=2)
    loop.say("r1", "isolate")
    throttle(loop)
    loop.run(15.0)
    loop.put("r2", state=State.ISOLATING)
    loop.scan()
    assert loop.memory.hold is not None
    assert not loop.memory.hold.granted
    throttle(loop, "r2")
    loop.run(15.0)
    assert set_point(loop, Mode.CONSTANT_FLOW) == pytest.approx(400.0, rel=0.005)


def test_a_worked_rack_that_falls_silent_counts_as_last_known_or_as_shut() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW)
    loop.say("r1", "isolate")
    throttle(loop, flow=150.0)
    loop.run(10.0)
    loop.lose("r1", "FT-101", "FT-102")
    loop.run(10.0)
    assert set_point(loop, Mode.CONSTANT_FLOW) == pytest.approx(800.0, rel=0.005)
    loop.put("r1", state=State.ISOLATED)
    assert State.ISOLATED in SHUT
    loop.run(10.0)
    assert set_point(loop, Mode.CONSTANT_FLOW) == pytest.approx(600.0, rel=0.005)


def test_what_work_did_to_the_neighbours_is_reported_at_its_end() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW)
    granted = loop.say("r1", "isolate")
    throttle(loop)
    loop.run(5.0)
    loop.put("r1", state=State.ISOLATED)
    loop.say("r1", "isolate", Act.GIVE_BACK, granted.id)
    loop.run(loop.limits.settle_s + 1.0)
    (told,) = loop.told(LoopFactKind.RELEASED)
    assert told.fields["coordinated"]
    assert told.fields["racks"] == ["r1"]
    assert set(told.fields["worst_pct"]) == {"r2", "r3", "r4"}
    assert loop.memory.hold is None


def test_work_that_nobody_granted_is_followed_and_reported_as_uncoordinated() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW)
    loop.put("r1", state=State.ISOLATING)
    loop.scan()
    throttle(loop)
    loop.run(10.0)
    loop.put("r1", state=State.ISOLATED)
    loop.run(loop.limits.settle_s + 2.0)
    (told,) = loop.told(LoopFactKind.RELEASED)
    assert not told.fields["coordinated"]
    assert set_point(loop, Mode.CONSTANT_FLOW) == pytest.approx(600.0, rel=0.005)


def test_a_change_of_mode_begins_anew_from_where_things_stand() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW)
    loop.say("r1", "isolate")
    loop.run(2.0)
    loop.cdu["CDU-MODE"] = 1.0
    loop.run(1.0)
    assert loop.memory.hold is not None
    assert loop.memory.hold.mode is Mode.CONSTANT_DP
    assert loop.memory.home is None
    assert "mode" in loop.told(LoopFactKind.RELEASED)[0].fields["why"]


@pytest.mark.parametrize("lost", ["CDU-MODE", "SP-FLOW", "PT-201", "FT-201"])
def test_nothing_is_held_while_the_cdu_cannot_be_believed(lost: str) -> None:
    loop = PaperLoop(limits())
    loop.settled()
    loop.cdu[lost] = None
    loop.put("r1", state=State.ISOLATING)
    throttle(loop)
    loop.run(5.0)
    assert loop.memory.hold is None
    assert all(not scan.writes for scan in loop.scans)


def test_a_mode_without_bounds_is_never_written() -> None:
    loop = PaperLoop(limits(bounds={}))
    loop.settled()
    loop.say("r1", "isolate")
    throttle(loop)
    loop.run(10.0)
    assert loop.memory.hold is None
    assert all(not scan.writes for scan in loop.scans)


def test_a_set_point_that_is_lost_during_the_work_is_not_written_blindly() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW)
    loop.say("r1", "isolate")
    loop.run(1.0)
    throttle(loop)
    loop.cdu["SP-FLOW"] = None
    loop.run(5.0)
    assert all(not scan.writes for scan in loop.scans)


def test_steps_are_small_seldom_and_end_at_the_bound() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW, works_at_once=9)
    for name in loop.limits.racks:
        loop.put(name, state=State.ISOLATING)
    loop.scan()
    for name in loop.limits.racks:
        throttle(loop, name)
    before, last_s = 800.0, float("-inf")
    for _ in range(120):
        done = loop.scan(dt_s=0.1)
        if done.writes:
            value = done.writes["flow_sp"]
            assert abs(value - before) <= STEP_FRACTION * before
            assert loop.now_s - last_s >= loop.limits.write_s - 1e-9
            before, last_s = value, loop.now_s
        assert done.stopped == {}
    assert before == pytest.approx(300.0)


def test_a_disarmed_coordinator_writes_nothing_and_says_so() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW, armed=False)
    loop.say("r1", "isolate")
    throttle(loop)
    loop.run(10.0)
    assert all(not scan.writes for scan in loop.scans)
    assert any(scan.stopped for scan in loop.scans)
    assert loop.memory.written is None
    assert loop.told(LoopFactKind.TAKEN_BACK) == []
    assert "disarmed" in loop.alarms()


def test_beside_another_coordinator_nothing_is_written() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW)
    loop.say("r1", "isolate")
    loop.others = True
    throttle(loop)
    loop.run(10.0)
    assert all(not scan.writes for scan in loop.scans)
    assert "two-coordinators" in loop.alarms()


def test_somebody_who_changes_the_set_point_by_hand_has_the_last_word() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW)
    loop.say("r1", "isolate")
    throttle(loop)
    loop.run(10.0)
    loop.cdu["SP-FLOW"] = 700.0
    loop.run(6.0)
    (told,) = loop.told(LoopFactKind.TAKEN_BACK)
    assert told.fields["found"] == pytest.approx(700.0)
    assert set_point(loop, Mode.CONSTANT_FLOW) == pytest.approx(700.0, rel=0.02)
    assert loop.memory.hold is not None
    assert loop.memory.hold.anchor == pytest.approx(700.0)


def test_what_a_worked_rack_asks_for_is_no_more_asked_by_the_neighbours() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW)
    loop.put("r1", state=State.UNLOADING)
    loop.run(1.0)
    hold = loop.memory.hold
    assert hold is not None
    view = loop.view(memory=replace(loop.memory, asked={"r2": 150.0, "r3": 230.0}))
    hold = replace(hold, asked={"r2": 200.0, "r3": 200.0, "r4": 200.0}, flows={"r1": 200.0, "r2": 200.0})
    assert _more_asked_lpm(view, hold) == pytest.approx(30.0)  # r2 is worked on now; r4 is not heard


@pytest.mark.parametrize(("after_s", "noticed"), [(HAND_S, 1), (HAND_S - 0.01, 0)])
def test_another_set_point_is_somebody_elses_once_the_register_has_had_its_time(after_s: float, noticed: int) -> None:
    loop = loop_in(Mode.CONSTANT_FLOW)
    at_s = 1000.0
    loop.memory = replace(loop.memory, now_s=at_s, written=Written(Mode.CONSTANT_FLOW, 780.0, at_s))
    loop.now_s = at_s + after_s - 0.5
    loop.scan()
    assert len(loop.told(LoopFactKind.TAKEN_BACK)) == noticed


def test_a_write_that_failed_is_no_change_by_somebody_else() -> None:
    loop = loop_in(Mode.CONSTANT_FLOW)
    loop.obey = False
    loop.say("r1", "isolate")
    loop.write_failed = True
    throttle(loop)
    loop.run(10.0)
    assert loop.told(LoopFactKind.TAKEN_BACK) == []
    loop.write_failed, loop.obey = False, True
    loop.run(20.0)
    assert set_point(loop, Mode.CONSTANT_FLOW) == pytest.approx(600.0, rel=0.003)


def moved_home(mode: Mode = Mode.CONSTANT_DP) -> PaperLoop:
    """Work is over, every rack is back, and corrections have left the set-point elsewhere."""
    loop = loop_in(mode, home_pct_per_min=6.0)
    loop.put("r1", state=State.UNLOADING)
    loop.run(2.0)
    for name in ("r2", "r3", "r4"):
        loop.put(name, points={"FT-101": 199.0, "FT-102": 199.0})
    loop.run(60.0)
    for name in ("r2", "r3", "r4"):
        loop.put(name, points={"FT-101": 200.0, "FT-102": 200.0})
    loop.put("r1", state=State.FLOWING)
    return loop


def test_once_every_rack_is_back_the_set_point_goes_home_slowly() -> None:
    loop = moved_home()
    loop.run(loop.limits.settle_s + 1.0)
    away = set_point(loop, Mode.CONSTANT_DP)
    assert away > 211.0
    loop.run(10.0)
    after = set_point(loop, Mode.CONSTANT_DP)
    assert 210.0 < after < away
    assert away - after < 0.013 * 210.0
    loop.run(60.0)
    assert set_point(loop, Mode.CONSTANT_DP) == pytest.approx(210.0, rel=0.0012)


def test_a_set_point_that_stands_too_low_goes_home_upwards() -> None:
    loop = moved_home()
    assert loop.memory.home is not None
    loop.memory = replace(loop.memory, home=replace(loop.memory.home, set_point=230.0))
    loop.run(loop.limits.settle_s + 10.0)
    after = set_point(loop, Mode.CONSTANT_DP)
    loop.run(10.0)
    assert after < set_point(loop, Mode.CONSTANT_DP) <= 230.0


def test_it_does_not_go_home_while_a_rack_is_out_or_another_mode_is_on() -> None:
    loop = moved_home()
    loop.put("r1", state=State.ISOLATED)
    loop.run(loop.limits.settle_s + 1.0)
    away = set_point(loop, Mode.CONSTANT_DP)
    loop.run(20.0)
    assert set_point(loop, Mode.CONSTANT_DP) == pytest.approx(away)
    loop.put("r1", state=State.FLOWING)
    loop.cdu |= {"CDU-MODE": 2.0}
    loop.run(20.0)
    assert set_point(loop, Mode.CONSTANT_FLOW) == pytest.approx(800.0)
    loop.cdu |= {"CDU-MODE": 1.0, "SP-DP": None}
    loop.run(5.0)


def test_a_loop_first_seen_with_a_rack_out_knows_no_home() -> None:
    loop = PaperLoop()
    loop.put("r1", state=State.ISOLATED, points={"FT-101": 0.0, "FT-102": 0.0})
    loop.cdu |= {"FT-201": 600.0, "SP-FLOW": 600.0}
    loop.settled()
    assert loop.say("r1", "open").granted
    throttle(loop, flow=200.0)
    loop.run(10.0)
    assert loop.memory.home is None
    assert set_point(loop, Mode.CONSTANT_FLOW) > 700.0


def test_the_home_is_kept_through_several_works() -> None:
    loop = moved_home()
    home = loop.memory.home
    loop.run(loop.limits.settle_s + 1.0)
    loop.say("r2", "isolate")
    assert loop.memory.home == home
    assert CDU["SP-DP"] == pytest.approx(home.set_point if home is not None else None)
