"""Limits to the last bit: what is just allowed and what is just not, and the numbers that nobody states in a file."""

from dataclasses import fields, replace
from math import exp, log

import pytest

from fieldkit.request import Request
from tests.valvey.core.loop.paper import PaperLoop, limits
from valvey.core.chart import State
from valvey.core.leasing import Act
from valvey.core.loop import alarms, events, holding, plan
from valvey.core.loop.events import falling
from valvey.core.loop.facts import LoopFactKind
from valvey.core.loop.leases import begin
from valvey.core.loop.limits import LoopLimits, Mode
from valvey.core.loop.memory import Deviation, Hold, Home, LoopMemory, Sample, Written
from valvey.core.loop.seen import MOVING, NOT_SEEN, SHUT, STILL_FRACTION, GrantSeen
from valvey.core.loop.sharing import Need, needs_lpm, share
from valvey.core.loop.works import WORKS, _can_move, judge
from valvey.loop.models import LoopTuning

WORKED = {"r1": {"FT-101": 0.0, "FT-102": 0.0}}


def shut_loop(**changes: object) -> PaperLoop:
    loop = PaperLoop(limits(**changes)).settled()
    loop.put("r1", state=State.ISOLATED, points={"FT-101": 0.0, "FT-102": 0.0})
    loop.cdu |= {"FT-201": 600.0, "SP-FLOW": 600.0}
    return loop


def test_a_file_that_states_nothing_and_the_core_mean_the_same_numbers() -> None:
    tuning, core = dict(LoopTuning()), {one.name: one.default for one in fields(LoopLimits)}
    assert {name: core[name] for name in tuning} == tuning
    assert (core["ttl_s"], core["grace_s"]) == (30.0, 5.0)
    assert (core["max_age_s"], core["telemetry_age_s"]) == (1.0, 3.0)
    assert core["detectors"] == ("LDT-201",)
    assert not core["armed"]


def test_which_states_take_no_flow_and_which_change_it() -> None:
    assert {State.ISOLATED, State.DRAINING, State.DRAINED, State.TESTING, State.ESD} == SHUT
    assert {State.OPENING, State.UNLOADING, State.ISOLATING, State.FILLING} == MOVING
    assert (NOT_SEEN.state, NOT_SEEN.online, NOT_SEEN.at_s) == (None, False, float("-inf"))
    assert not Request("i", "plan", "observer", "ann").expired
    assert [name for name, work in WORKS.items() if work.moves] == ["isolate", "fill", "open"]


@pytest.mark.parametrize(
    ("tag", "allowed", "refused"),
    [("LT-201", 20.0, 19.99), ("TT-201", 47.0, 47.01), ("P-201-TRIP", 0.0, 1.0)],
)
def test_the_cdu_is_healthy_to_the_limit_itself(tag: str, allowed: float, refused: float) -> None:
    loop = shut_loop()
    loop.cdu[tag] = allowed
    assert judge(loop.view(), loop.memory, "r1", "open") is None
    loop.cdu[tag] = refused
    assert judge(loop.view(), loop.memory, "r1", "open") is not None


def test_a_snapshot_is_believed_up_to_its_age_and_a_reading_up_to_its_own() -> None:
    loop = shut_loop()
    at_s = loop.now_s
    for age_s, fresh in ((3.0, True), (3.01, False)):
        loop.now_s = at_s + age_s
        assert loop.view().fresh("r1") is fresh
    view = loop.view()
    assert replace(view, now_s=view.now_s + 1.0).cdu("PT-201") == pytest.approx(360.0)
    assert replace(view, now_s=view.now_s + 1.01).cdu("PT-201") is None


def test_static_pressure_and_sump_room_are_enough_at_the_limit_itself() -> None:
    loop = shut_loop(makeup_lpm=0.0)
    left = plan.return_after_fill_kpa(loop.view(), "r1")
    assert left is not None
    loop.limits = replace(loop.limits, static_ll_kpa=left - 50.0)
    assert judge(loop.view(), loop.memory, "r1", "fill") is None
    loop.limits = replace(loop.limits, static_ll_kpa=left - 49.9)
    assert judge(loop.view(), loop.memory, "r1", "fill") is not None
    loop.memory = replace(loop.memory, sumps_l={"s1": 75.0})
    assert judge(loop.view(), loop.memory, "r1", "drain") is None
    loop.memory = replace(loop.memory, sumps_l={"s1": 75.1})
    assert judge(loop.view(), loop.memory, "r1", "drain") is not None


def test_what_the_neighbours_would_lose_is_allowed_at_the_limit_itself() -> None:
    loop = shut_loop(armed=False, fill_lpm=50.0)
    lost = plan.predict(loop.view(), "fill", "r1").neighbours_pct
    assert lost is not None
    assert lost < -1.0
    loop.limits = replace(loop.limits, neighbour_loss_pct=-lost)
    assert judge(loop.view(), loop.memory, "r1", "fill") is None
    loop.limits = replace(loop.limits, neighbour_loss_pct=-lost - 0.01)
    refused = judge(loop.view(), loop.memory, "r1", "fill")
    assert refused is not None
    assert refused.code == "neighbours"


def test_a_set_point_that_is_not_read_cannot_make_a_fill_good() -> None:
    loop = shut_loop(fill_lpm=50.0)
    assert judge(loop.view(), loop.memory, "r1", "fill") is None
    loop.cdu["SP-FLOW"] = None
    assert judge(loop.view(), loop.memory, "r1", "fill") is not None


def test_the_pumps_minimum_is_enough_at_the_limit_itself() -> None:
    loop = PaperLoop(limits(bypass_fitted=False, pump_least_lpm=600.0)).settled()
    assert judge(loop.view(), loop.memory, "r1", "isolate") is None
    loop.limits = replace(loop.limits, pump_least_lpm=600.1)
    assert judge(loop.view(), loop.memory, "r1", "isolate") is not None


def test_drains_and_tests_change_no_neighbours_flow() -> None:
    loop = PaperLoop().settled()
    for work in ("drain", "test"):
        assert plan.neighbours_pct(loop.view(), work, "r1") == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("work", "time_s"), [("isolate", 160.0), ("drain", 205.0), ("fill", 200.0), ("open", 120.0), ("test", 20.0)]
)
def test_how_long_each_work_takes(work: str, time_s: float) -> None:
    assert plan.predict(PaperLoop().settled().view(), work, "r1").time_s == pytest.approx(time_s)


def samples(*levels: float, now_s: float, every_s: float = 5.0) -> tuple[Sample, ...]:
    count = len(levels)
    return tuple(Sample(now_s - every_s * (count - 1 - n), level, 150.0) for n, level in enumerate(levels))


def test_a_level_falls_when_it_lost_just_so_much_over_just_so_long() -> None:
    loop = PaperLoop(limits(level_fall_pct=0.5)).settled()

    def fell(*levels: float, **more: float) -> bool:
        loop.memory = replace(loop.memory, samples=samples(*levels, now_s=loop.now_s))
        return falling(loop.view(), **more) is not None

    flat = [90.0] * 11
    assert fell(90.0, *flat, 89.5)
    assert not fell(90.0, *flat, 89.51)
    assert not fell(*flat, 80.0)  # watched for 50 s only
    assert fell(*flat, 80.0, over_s=50.0)
    assert not fell(90.0, *flat, 89.0, since_s=loop.now_s)
    assert not fell(99.0, 90.0, *flat, 89.9)  # what was lost before the watch does not count
    assert not fell(*[90.0 + 0.1 * n for n in range(13)])


def test_pressure_falls_when_it_lost_just_so_much() -> None:
    loop = PaperLoop().settled()
    for last, fell in ((145.0, True), (145.1, False)):
        first = Sample(loop.now_s - 60.0, None, 150.0)
        loop.memory = replace(loop.memory, samples=(first, Sample(loop.now_s, None, last)))
        assert (falling(loop.view()) is not None) is fell


def test_racks_without_a_wish_beyond_their_least_take_no_part_of_the_rest() -> None:
    needs = {"a": Need(100.0, 100.0, 1), "b": Need(100.0, 50.0, 2)}
    assert share(needs, 180.0) == pytest.approx({"a": 100.0, "b": 80.0})
    assert share(needs, 150.0) == pytest.approx({"a": 100.0, "b": 50.0})


def test_a_neighbours_deviation_is_the_mean_of_ten_seconds_in_percent() -> None:
    loop = PaperLoop().settled()
    loop.put("r1", state=State.UNLOADING)
    loop.run(3.0)
    loop.put("r2", points={"FT-101": 202.0, "FT-102": 202.0})
    loop.run(25.0)
    assert loop.memory.hold is not None
    found = loop.memory.hold.deviations["r2"]
    assert found.now_pct == pytest.approx(0.92, abs=0.02)
    assert found.worst_pct == pytest.approx(found.now_pct)


def test_a_drain_and_a_test_take_no_slot() -> None:
    loop = shut_loop()
    assert loop.say("r1", "drain").granted
    assert loop.say("r2", "isolate").granted
    other = shut_loop()
    assert other.say("r1", "test").granted
    assert other.memory.hold is None  # and move no set-point
    assert other.say("r2", "isolate").granted


def test_level_and_pressure_are_noted_every_five_seconds() -> None:
    loop = PaperLoop()
    for _ in range(4):
        loop.scan(dt_s=5.0)
    assert [one.at_s for one in loop.memory.samples] == [1005.0, 1010.0, 1015.0, 1020.0]
    loop.scan(dt_s=4.99)
    assert len(loop.memory.samples) == 4


def test_a_higher_epoch_is_one_change_of_state() -> None:
    loop = PaperLoop().settled()
    before = loop.memory.state_seq
    loop.put("r2", grants=(GrantSeen("x", 9, "fill"),))
    loop.scan()
    assert (loop.memory.epoch, loop.memory.state_seq) == (10, before + 1)


@pytest.mark.parametrize(
    ("flow", "opening", "learned"), [(20.0, 60.0, True), (19.9, 60.0, False), (200.0, 8.0, True), (200.0, 7.9, False)]
)
def test_a_rack_teaches_at_a_tenth_of_its_flow_and_eight_percent_of_its_valve(
    flow: float, opening: float, learned: bool
) -> None:
    loop = PaperLoop()
    loop.put("r1", points={"FT-101": flow, "FT-102": flow, "ZT-101": opening})
    loop.scan()
    assert ("r1" in loop.memory.learned) is learned


def test_a_leak_upstream_is_told_after_the_whole_watch_and_not_a_second_sooner() -> None:
    loop = PaperLoop().settled()
    loop.put("r2", state=State.ISOLATED, latches=("SIF-1",))
    for second in range(1, 66):
        level = loop.cdu["LT-201"]
        assert level is not None
        loop.cdu["LT-201"] = level - 0.02
        loop.scan(dt_s=1.0)
        assert bool(loop.memory.latches) is (second > 60), second


def test_the_cdu_may_be_asked_for_just_what_it_can_give(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = shut_loop()
    needed = sum(needs_lpm(loop.view()).values()) + 200.0
    monkeypatch.setattr("valvey.core.loop.works.capacity_lpm", lambda _limits, _droop: needed)
    assert judge(loop.view(), loop.memory, "r1", "open") is None
    monkeypatch.setattr("valvey.core.loop.works.capacity_lpm", lambda _limits, _droop: needed - 0.1)
    refused = judge(loop.view(), loop.memory, "r1", "open")
    assert refused is not None
    assert refused.code == "capacity"


def test_a_mode_in_which_two_shut_racks_reach_the_limit_itself_is_refused() -> None:
    loop = shut_loop()
    for name in ("r2", "r3", "r4"):
        loop.put(name, points={"PT-101": 290.0})
    found = plan.two_shut_kpa(loop.view())
    assert found is not None
    loop.limits = replace(loop.limits, supply_hh_kpa=found[0])
    refused = judge(loop.view(), loop.memory, "r1", "open")
    assert refused is not None
    assert refused.code == "mode"
    loop.limits = replace(loop.limits, supply_hh_kpa=found[0] + 0.1)
    assert judge(loop.view(), loop.memory, "r1", "open") is None


def test_a_set_point_may_be_written_again_when_just_its_time_has_passed() -> None:
    loop = PaperLoop().settled()
    view = loop.view()
    for since_s, written in ((0.4, True), (0.39, False)):
        before = Written(Mode.CONSTANT_FLOW, 800.0, view.now_s - since_s)
        now = replace(view, memory=replace(loop.memory, written=before), limits=replace(loop.limits, write_s=0.4))
        now = replace(now, now_s=before.at_s + since_s)
        assert (holding.paced(now, 790.0) is not None) is written


def test_what_work_did_is_told_in_hundredths_of_a_percent_and_tenths_of_a_second() -> None:
    loop = PaperLoop().settled()
    done = Hold(
        Mode.CONSTANT_FLOW, loop.now_s - 50.06, 800.0, 800.0, 210.0, flows={"r1": 200.0}, heads={}, quiet_s=loop.now_s - 40.0,
        deviations={"r9": Deviation(0.12345, -1.23456)},
    )  # fmt: skip
    loop.memory = replace(loop.memory, hold=done)
    _, _, (told,) = holding.look(loop.view(), 0.5)
    assert (told.fields["worst_pct"]["r9"], told.fields["settled_pct"]["r9"]) == (-1.23, 0.12)
    assert told.fields["took_s"] == 50.1


def test_the_least_header_dp_still_makes_a_circuit_and_none_does_not() -> None:
    loop = PaperLoop().settled()
    loop.cdu["PT-201"] = 150.05
    assert plan.circuit(loop.view()) is not None
    loop.cdu["PT-201"] = 150.0
    assert plan.circuit(loop.view()) is None


def test_samples_are_kept_for_the_watch_and_two_more() -> None:
    loop = PaperLoop().settled()
    for _ in range(40):
        loop.scan(dt_s=5.0)
    assert len(loop.memory.samples) == 15
    assert loop.now_s - loop.memory.samples[0].at_s == 70.0


def test_a_sample_is_kept_to_the_very_end_of_its_time() -> None:
    loop = PaperLoop().settled()
    ages = (70.1, 70.0, 12.0)
    loop.memory = replace(loop.memory, samples=tuple(Sample(loop.now_s - age, 90.0, 150.0) for age in ages))
    kept = events.sampled(loop.view()).samples
    assert [loop.now_s - one.at_s for one in kept] == pytest.approx([70.0, 12.0, 0.0])


@pytest.mark.parametrize(("above_pct", "low"), [(0.0, False), (-0.1, True)])
def test_the_reservoir_is_low_below_its_limit(above_pct: float, low: bool) -> None:
    loop = PaperLoop().settled()
    loop.cdu["LT-201"] = loop.limits.level_l_pct + above_pct
    assert ("low-level" in set(alarms.conditions(loop.view()))) is low


def test_one_rack_that_is_not_heard_is_told_beside_others_that_are() -> None:
    loop = PaperLoop().settled()
    assert "rack-unseen" not in set(alarms.conditions(loop.view()))
    silent = replace(loop.racks["r2"], at_s=loop.now_s - 3.1)
    assert "rack-unseen" in set(alarms.conditions(loop.view(racks={**loop.racks, "r2": silent})))


@pytest.mark.parametrize("worked_on", [False, True])
def test_a_branch_is_learned_from_at_rest_and_left_alone_while_work_moves_the_flow(worked_on: bool) -> None:
    loop = PaperLoop().settled()
    before = loop.memory.learned["r2"].rest
    if worked_on:
        loop.put("r1", state=State.UNLOADING)
        loop.scan()
        before = loop.memory.learned["r2"].rest
    loop.put("r2", points={"FT-101": 150.0, "FT-102": 150.0})
    loop.run(120.0)
    assert (loop.memory.learned["r2"].rest < 0.99 * before) is not worked_on
    assert loop.memory.learned["r2"].flow_lpm == pytest.approx(150.0, rel=0.01)


def test_a_hold_ends_when_nothing_has_moved_for_just_its_time() -> None:
    loop = PaperLoop().settled()
    for quiet_s, ended in ((30.0, True), (29.9, False)):
        hold = Hold(
            Mode.CONSTANT_FLOW, 0.0, 800.0, 800.0, 210.0, flows={"r1": 200.0}, heads={}, quiet_s=loop.now_s - quiet_s
        )
        loop.memory = replace(loop.memory, hold=hold)
        memory, _, facts = holding.look(loop.view(), 0.5)
        assert (memory.hold is None, bool(facts)) == (ended, ended)


def test_a_loop_in_which_nothing_flows_is_no_circuit() -> None:
    loop = PaperLoop().settled()
    for name in loop.limits.racks:
        loop.put(name, points={"FT-101": 0.0, "FT-102": 0.0})
    assert plan.circuit(loop.view()) is None


def test_a_mode_without_bounds_is_not_paced() -> None:
    loop = PaperLoop().settled()
    assert holding.paced(loop.view(limits=replace(loop.limits, bounds={})), 790.0) is None
    assert holding.paced(loop.view(), 790.0) is not None


def test_a_start_is_one_change_of_state_and_one_epoch() -> None:
    begun = begin(LoopMemory(epoch=4, state_seq=7), 5.0)
    assert (begun.epoch, begun.state_seq) == (5, 8)


def test_the_header_dp_is_never_held_below_a_fifth_of_what_it_was() -> None:
    loop = PaperLoop(limits(header_loss_kpa=1e5)).settled()
    loop.cdu["CDU-MODE"] = 0.0
    loop.put("r1", points={"FT-101": 0.0, "FT-102": 0.0})
    hold = Hold(Mode.FIXED_SPEED, loop.now_s, 85.0, 800.0, 210.0, flows={"r1": 200.0}, heads={})
    view = loop.view(memory=replace(loop.memory, droop=None))
    _, wanted = holding.follow(view, hold, frozenset({"r1"}), 0.0)
    assert wanted == pytest.approx(85.0 * 0.2**0.5)


def test_a_step_home_waits_for_its_share_of_the_half_percent_a_minute() -> None:
    loop = PaperLoop().settled()
    home = Home(Mode.CONSTANT_FLOW, 900.0, frozenset(loop.limits.racks))
    for since_s, stepped in ((12.61, True), (12.59, False)):
        written = Written(Mode.CONSTANT_FLOW, 800.0, loop.now_s - since_s)
        view = loop.view(memory=replace(loop.memory, home=home, written=written, hold=None))
        _, wanted, _ = holding.look(view, 0.5)
        assert (wanted is not None) is stepped


def test_a_worked_rack_of_which_no_flow_is_known_counts_as_none() -> None:
    loop = PaperLoop().settled()
    loop.lose("r1", "FT-101", "FT-102")
    loop.say("r1", "isolate")
    hold = loop.memory.hold
    assert hold is not None
    assert dict(hold.flows) == {"r1": 0.0}
    loop.lose("r2", "FT-101", "FT-102")
    loop.put("r2", state=State.ISOLATING)
    loop.scan()
    assert loop.memory.hold is not None
    assert loop.memory.hold.flows["r2"] == 0.0


@pytest.mark.parametrize(("flow_lpm", "moving"), [(10.0, False), (10.1, True)])
def test_a_rack_being_isolated_moves_until_its_flow_is_as_good_as_none(flow_lpm: float, moving: bool) -> None:
    assert STILL_FRACTION * limits().racks["r2"].flow_nominal_lpm == pytest.approx(10.0)
    loop = PaperLoop().settled()
    loop.put("r2", state=State.ISOLATING, points={"FT-101": flow_lpm, "FT-102": flow_lpm})
    assert loop.view().moving("r2") is moving


def loses(loop: PaperLoop, for_s: int, per_s: float = 0.02) -> None:
    for _ in range(for_s):
        level = loop.cdu["LT-201"]
        assert level is not None
        loop.cdu["LT-201"] = level - per_s
        loop.scan(dt_s=1.0)


def test_a_second_rack_that_leaks_explains_the_loss_until_it_too_has_been_shut_for_the_whole_watch() -> None:
    loop = PaperLoop().settled()
    loop.put("r2", state=State.ISOLATED, latches=("SIF-1",))
    loses(loop, 40, 0.0)
    loop.put("r3", state=State.ISOLATING, latches=("SIF-1",))
    loses(loop, 60)
    assert not loop.memory.latches  # it leaks, and is not shut
    loop.put("r3", state=State.ISOLATED)
    loses(loop, 27, 0.05)
    loses(loop, 48, 0.0)
    assert not loop.memory.latches  # what was lost before it was shut is no leak upstream
    loses(loop, 40)
    assert [latch.racks for latch in loop.memory.latches] == [("r2", "r3")]


def test_a_set_point_may_go_to_the_bound_itself_for_a_fill() -> None:
    loop = shut_loop()
    found = plan.predict(loop.view(), "fill", "r1")
    bound = loop.limits.bounds[Mode.CONSTANT_FLOW]
    for moved, can in ((bound.low, True), (bound.low - 0.1, False), (bound.high, True), (bound.high + 0.1, False)):
        assert _can_move(loop.view(), replace(found, moved_to=moved)) is can


def test_a_rack_of_which_no_flow_is_known_takes_none_from_the_total() -> None:
    loop = PaperLoop().settled()
    loop.lose("r1", "FT-101", "FT-102")
    assert plan.total_after_lpm(loop.view(), "isolate", "r1") == 800.0


def test_without_a_header_dp_nothing_is_held() -> None:
    loop = PaperLoop().settled()
    loop.cdu["PT-201"] = 150.0
    loop.say("r1", "isolate")
    assert loop.memory.hold is None


def test_in_constant_dp_the_cdu_itself_is_the_fast_trim() -> None:
    loop = PaperLoop().settled()
    hold = Hold(Mode.CONSTANT_DP, loop.now_s, 210.0, 800.0, 250.0, flows={"r1": 200.0}, heads={})
    after, _ = holding.follow(loop.view(), hold, frozenset({"r1"}), 1.0)
    assert after.fast == 0.0
    other, _ = holding.follow(loop.view(), replace(hold, mode=Mode.CONSTANT_FLOW), frozenset({"r1"}), 1.0)
    assert other.fast == pytest.approx((1.0 - exp(-0.5)) * log(250.0 / 210.0))
    loop.cdu["PT-201"] = None
    blind, _ = holding.follow(loop.view(), replace(hold, mode=Mode.CONSTANT_FLOW), frozenset({"r1"}), 1.0)
    assert blind.fast == 0.0


def test_a_neighbour_that_felt_no_head_has_no_say() -> None:
    loop = PaperLoop().settled()
    hold = Hold(Mode.CONSTANT_FLOW, 0.0, 800.0, 800.0, 210.0, flows={"r1": 200.0}, heads={"r2": 0.0, "r3": 210.0})
    after, _ = holding.follow(loop.view(), hold, frozenset({"r1"}), 1.0)
    assert "r2" not in after.deviations
    assert "r3" in after.deviations


def test_a_step_home_is_a_little_more_than_what_is_worth_a_write() -> None:
    loop = PaperLoop().settled()
    home = Home(Mode.CONSTANT_FLOW, 900.0, frozenset(loop.limits.racks))
    _, wanted, _ = holding.look(loop.view(memory=replace(loop.memory, home=home, hold=None)), 0.5)
    assert wanted == pytest.approx(800.84)


def test_make_up_brings_no_more_than_the_reservoir_holds() -> None:
    loop = shut_loop(makeup_lpm=1000.0)
    loop.cdu["LT-201"] = 10.0
    gas_kpa_l = (150.0 + 101.3) * 60.0
    assert plan.return_after_fill_kpa(loop.view(), "r1") == pytest.approx(gas_kpa_l / (60.0 + 25.0) - 101.3, abs=1e-9)


def test_the_droop_is_learned_above_a_tenth_of_the_rated_flow_and_with_time() -> None:
    loop = PaperLoop()
    loop.cdu["FT-201"] = 80.0
    loop.scan()
    assert loop.memory.droop is None
    loop.cdu["FT-201"] = 800.0
    loop.scan()
    known = loop.memory.droop
    assert known is not None
    loop.cdu["P-201"] = 95.0
    loop.scan(dt_s=0.0)
    assert loop.memory.droop == known
    loop.scan()
    assert loop.memory.droop > known


def test_a_change_of_a_thousandth_is_worth_a_write() -> None:
    loop = PaperLoop().settled()
    loop.cdu["SP-FLOW"] = 1000.0
    assert holding.paced(loop.view(), 1001.0) is not None
    assert holding.paced(loop.view(), 1000.9) is None


def test_beginning_to_serve_is_one_change_of_state() -> None:
    loop = PaperLoop()
    for _ in range(5):
        loop.scan(dt_s=5.0)
    before = loop.memory.state_seq
    loop.scan(dt_s=5.0)
    assert [fact.at_s for fact in loop.told(LoopFactKind.SERVING)] == [loop.now_s]
    assert loop.memory.state_seq == before + 1


def test_who_acknowledged_is_whom_the_request_names() -> None:
    loop = PaperLoop().settled()
    loop.cdu["P-201-TRIP"] = 1.0
    loop.run(1.0)
    loop.request("ack", alarm="pump-trip")
    assert loop.memory.alarms["pump-trip"].by == "Edda"


def test_an_ask_of_our_own_epoch_is_no_news() -> None:
    loop = PaperLoop().settled()
    epoch = loop.memory.epoch
    assert loop.say("r1", "isolate", epoch=epoch).epoch == epoch
    assert loop.memory.epoch == epoch


def test_a_twentieth_of_the_flow_is_always_asked_for() -> None:
    loop = PaperLoop().settled()
    loop.put("r1", points={"FT-101": 0.0, "FT-102": 0.0})
    hold = Hold(Mode.CONSTANT_FLOW, loop.now_s, 800.0, 800.0, 210.0, flows={"r1": 800.0}, heads={})
    _, wanted = holding.follow(loop.view(), hold, frozenset({"r1"}), 0.0)
    assert wanted == pytest.approx(40.0)


def test_a_drain_of_a_rack_without_a_sump_fills_none() -> None:
    rack = replace(limits().racks["r1"], sump=None)
    loop = PaperLoop(limits(racks={**limits().racks, "r1": rack}))
    assert loop.say("r1", "drain", Act.RENEW, "of-before").granted
    loop.say("r1", "drain", Act.GIVE_BACK, "of-before")
    assert dict(loop.memory.sumps_l) == {}


def test_what_is_lost_in_the_second_half_of_the_watch_counts_from_its_very_beginning() -> None:
    loop = PaperLoop().settled()
    loop.put("r2", state=State.ISOLATED, latches=("SIF-1",))
    loop.scan(dt_s=1.0)
    since_s = loop.memory.isolated_s["r2"]
    while loop.now_s < since_s + 35.0:
        loop.scan(dt_s=1.0)
    loop.cdu["LT-201"] = 89.0
    while loop.now_s < since_s + 62.0:
        loop.scan(dt_s=1.0)
    assert [latch.name for latch in loop.memory.latches] == ["leak-upstream"]


def test_of_unequal_racks_the_two_with_most_flow_are_thought_away() -> None:
    loop = PaperLoop().settled()
    for name, flow in (("r1", 100.0), ("r2", 100.0), ("r3", 300.0), ("r4", 300.0)):
        loop.put(name, points={"FT-101": flow, "FT-102": flow, "PT-101": 300.0 if name != "r2" else 310.0})
    found = plan.two_shut_kpa(loop.view())
    assert found is not None
    assert found[1] == "r2"
    assert found[0] == pytest.approx(150.0 + 160.0 / 210.0 * 450.0)  # no more than the pumps' dead head


def test_a_renewal_of_another_lease_is_not_the_renewal_of_the_one_that_is_held() -> None:
    loop = PaperLoop().settled()
    granted = loop.say("r1", "isolate")
    assert not loop.say("r1", "isolate", Act.RENEW, "of-another").granted
    assert [held.id for held in loop.memory.leases.values()] == [granted.id]


def test_accepting_a_stop_is_one_change_of_state() -> None:
    loop = PaperLoop(limits(pump_stop=True)).settled()
    before = loop.memory.state_seq
    assert loop.request("stop_pumps", role="safety").fields["status"] == "accepted"
    assert loop.memory.state_seq == before + 1


def test_in_constant_dp_at_the_cdu_the_set_point_goes_with_the_square_of_the_flows() -> None:
    loop = PaperLoop(limits(dp_remote=False, header_loss_kpa=80.0)).settled()
    loop.cdu["CDU-MODE"] = 1.0
    found = plan.predict(loop.view(), "isolate", "r1")
    assert found.neighbours_pct is not None
    assert found.neighbours_pct > 3.0
    assert found.moved_to == pytest.approx(210.0 / (1.0 + found.neighbours_pct / 100.0) ** 2)
