"""The flow set-point at rest: it follows what racks ask for, slowly, and keeps header dP where valves can regulate."""

from dataclasses import replace
from math import exp, log

import pytest

from tests.stored import reread
from tests.valvey.core.loop.paper import DT_S, PaperLoop, limits
from valvey.core.chart import State
from valvey.core.leasing import Act
from valvey.core.limits import LPM_PER_KW
from valvey.core.loop import following, persist
from valvey.core.loop.facts import LoopFactKind
from valvey.core.loop.gate import STEP_FRACTION
from valvey.core.loop.holding import HELD
from valvey.core.loop.limits import Mode
from valvey.core.loop.memory import Written


def ask(loop: PaperLoop, *flows: float) -> None:
    for n, flow in enumerate(flows, start=1):
        loop.put(f"r{n}", points={"FY-101": flow})


def asking(*flows: float, **changes: object) -> PaperLoop:
    """A loop at rest in constant flow at 800 L/min, header dP as designed, whose racks ask for ``flows``."""
    loop = PaperLoop(limits(**changes))
    ask(loop, *flows)
    return loop.settled()


def set_point(loop: PaperLoop) -> float:
    value = loop.cdu["SP-FLOW"]
    assert value is not None
    return value


def writes(loop: PaperLoop) -> int:
    return sum(bool(scan.writes) for scan in loop.scans)


@pytest.mark.parametrize("each", [150.0, 240.0])
def test_it_goes_to_the_sum_of_what_racks_ask_for_and_rests_there(each: float) -> None:
    loop = asking(each, each, each, each).run(120.0)
    assert set_point(loop) == pytest.approx(4.0 * each, rel=following.BAND)
    before = writes(loop)
    loop.run(60.0)
    assert writes(loop) == before


@pytest.mark.parametrize(("dp_kpa", "followed"), [(0.05, True), (0.0, False), (-0.05, False)])
def test_any_header_dp_above_none_is_followed_and_none_is_not(dp_kpa: float, followed: bool) -> None:
    loop = asking(240.0, 240.0, 240.0, 240.0)
    loop.cdu |= {"PT-201": 150.0 + dp_kpa, "PT-202": 150.0}
    assert (following.look(loop.view())[1] is not None) is followed


def test_it_moves_by_half_a_percent_a_second_and_never_in_a_step_that_the_gate_would_stop() -> None:
    loop = asking(200.0, 200.0, 200.0, 200.0)
    ask(loop, 300.0, 300.0, 300.0, 100.0)
    assert set_point(loop) == 800.0
    loop.run(10.0)
    began_s = loop.now_s
    first = last = set_point(loop)
    for _ in range(20):
        loop.scan()
        assert set_point(loop) - last <= following.RATE_PER_S * DT_S * last * 1.001
        last = set_point(loop)
    assert last == pytest.approx(first * exp(following.RATE_PER_S * (loop.now_s - began_s)), rel=0.002)
    assert all(not scan.stopped for scan in loop.scans)
    assert following.RATE_PER_S * following.LONGEST_S < STEP_FRACTION


def test_after_a_long_pause_the_first_step_is_no_greater_than_that_of_two_seconds() -> None:
    loop = asking(200.0, 200.0, 200.0, 200.0)
    loop.memory = replace(loop.memory, asked=dict.fromkeys(loop.limits.racks, 230.0))
    ask(loop, 230.0, 230.0, 230.0, 230.0)
    loop.scan()
    assert set_point(loop) == pytest.approx(808.0)
    loop.scan()
    assert set_point(loop) == pytest.approx(808.0 * (1.0 + following.RATE_PER_S * DT_S))
    assert loop.memory.written is not None
    loop.memory = replace(loop.memory, written=replace(loop.memory.written, at_s=loop.now_s - 500.0))
    before = set_point(loop)
    loop.scan()
    assert set_point(loop) == pytest.approx(before * 1.01)


@pytest.mark.parametrize("each", [199.1, 200.9])
def test_a_difference_smaller_than_half_a_percent_is_left_alone(each: float) -> None:
    assert writes(asking(each, each, each, each).run(30.0)) == 0


@pytest.mark.parametrize("each", [198.9, 201.1])
def test_a_difference_of_more_than_half_a_percent_is_not(each: float) -> None:
    loop = asking(each, each, each, each).run(30.0)
    assert set_point(loop) == pytest.approx(4.0 * each)


@pytest.mark.parametrize(
    ("share", "correction"),
    [
        (0.95, 0.0), (1.0, 0.0), (1.15, 0.0), (0.9, 0.1 * log(0.95 / 0.9)), (1.7, -0.1 * log(1.7 / 1.15)), (0.1, 0.1), (9.0, -0.1),
    ],
)  # fmt: skip
def test_the_correction_is_nothing_in_the_band_and_bounded_beyond_it(share: float, correction: float) -> None:
    assert following.trim(share) == pytest.approx(correction, abs=1e-12)


@pytest.mark.parametrize(("dp_kpa", "sign"), [(340.0, -1.0), (120.0, 1.0)])
def test_a_header_dp_outside_its_band_corrects_the_sum(dp_kpa: float, sign: float) -> None:
    loop = asking(200.0, 200.0, 200.0, 200.0)
    loop.cdu["PT-201"] = 150.0 + dp_kpa
    loop.run(60.0)
    assert set_point(loop) == pytest.approx(800.0 * (1.0 + following.trim(dp_kpa / 205.0)), rel=following.BAND)
    assert sign * (set_point(loop) - 800.0) > 20.0


def test_it_stays_within_the_sites_bounds_and_above_the_pumps_least_flow() -> None:
    low = asking(80.0, 80.0, 80.0, 80.0, pump_least_lpm=400.0).run(400.0)
    assert set_point(low) == pytest.approx(400.0, rel=following.BAND)
    high = asking(400.0, 400.0, 400.0, 400.0).run(400.0)
    assert set_point(high) == pytest.approx(1200.0, rel=following.BAND)
    assert all(not scan.stopped for scan in (*low.scans, *high.scans))


def test_a_rack_that_tells_no_set_point_counts_by_its_load_the_bursts_of_which_are_waited_out() -> None:
    loop = PaperLoop()
    ask(loop, 200.0, 200.0, 200.0)
    loop.put("r4", points={"FT-101": 180.0, "FT-102": 180.0})
    need = 1.05 * LPM_PER_KW * 120.0
    loop.settled().run(60.0)
    assert set_point(loop) == pytest.approx(600.0 + need, rel=following.BAND)
    loop.put("r4", points={"JT-101": 60.0, "ET-101": 60.0})
    loop.scan()
    assert loop.memory.asked["r4"] == pytest.approx(
        need - (1.0 - exp(-DT_S / following.LOAD_FALL_S)) * (need - 100.0), rel=1e-6
    )
    low = loop.memory.asked["r4"]
    loop.put("r4", points={"JT-101": 120.0, "ET-101": 120.0})
    loop.scan()
    up = 1.0 - exp(-DT_S / following.SMOOTH_S)
    assert loop.memory.asked["r4"] == pytest.approx(low + up * (need - low))


@pytest.mark.parametrize(
    ("told", "begins"), [({"FT-101": 280.0, "FT-102": 280.0}, 280.0), ({}, 1.05 * LPM_PER_KW * 120.0)]
)
def test_a_rack_that_has_just_come_into_service_goes_on_from_what_it_takes(
    told: dict[str, float], begins: float
) -> None:
    loop = asking(200.0, 200.0, 200.0)
    loop.put("r4", state=State.OPENING)
    loop.run(1.0)
    assert "r4" not in loop.memory.asked
    loop.lose("r4", "FT-101", "FT-102")
    loop.put("r4", state=State.FLOWING, points=told)
    loop.scan()
    assert loop.memory.asked["r4"] == pytest.approx(begins)


def test_one_that_tells_at_once_what_it_asks_for_is_believed_at_once() -> None:
    loop = asking(200.0, 200.0, 200.0)
    loop.put("r4", state=State.OPENING)
    loop.run(1.0)
    loop.put("r4", state=State.FLOWING, points={"FY-101": 150.0, "FT-101": 280.0, "FT-102": 280.0})
    loop.scan()
    assert loop.memory.asked["r4"] == 150.0


def test_what_is_told_is_smoothed_alike_up_and_down() -> None:
    loop = asking(200.0, 200.0, 200.0, 200.0)
    ask(loop, 180.0, 220.0)
    loop.scan()
    part = 20.0 * (1.0 - exp(-DT_S / following.SMOOTH_S))
    assert loop.memory.asked["r1"] == pytest.approx(200.0 - part)
    assert loop.memory.asked["r2"] == pytest.approx(200.0 + part)


def test_where_no_rack_tells_what_it_asks_for_nothing_is_followed() -> None:
    loop = PaperLoop().settled()
    loop.cdu["PT-201"] = 500.0
    assert writes(loop.run(60.0)) == 0


@pytest.mark.parametrize("mode", [0.0, 1.0])
def test_in_the_other_modes_nothing_is_followed(mode: float) -> None:
    loop = PaperLoop()
    loop.cdu["CDU-MODE"] = mode
    ask(loop, 150.0, 150.0, 150.0, 150.0)
    assert writes(loop.settled().run(60.0)) == 0


def test_a_rack_that_is_not_heard_keeps_what_it_asked_for_and_the_set_point_where_it_is() -> None:
    loop = asking(200.0, 200.0, 200.0, 200.0).run(5.0)
    loop.put("r4", at_s=loop.now_s)
    loop.telling = False
    for _ in range(60):
        loop.scan()
        for name in ("r1", "r2", "r3"):
            loop.put(name, points={"FY-101": 120.0}, at_s=loop.now_s)
    assert loop.memory.asked["r1"] == pytest.approx(120.0, rel=0.01)
    assert loop.memory.asked["r4"] == pytest.approx(200.0)
    assert 780.0 < set_point(loop) <= 800.0  # of the first seconds, in which r4 was still believed
    before = writes(loop)
    for _ in range(60):
        loop.scan()
        for name in ("r1", "r2", "r3"):
            loop.put(name, points={"FY-101": 120.0}, at_s=loop.now_s)
    assert writes(loop) == before


def test_a_rack_of_which_no_state_was_ever_told_holds_it_too() -> None:
    loop = PaperLoop()
    loop.put("r4", state=None)
    ask(loop, 150.0, 150.0, 150.0)
    loop.lose("r4", "FT-101", "FT-102")
    assert writes(loop.settled().run(30.0)) == 0
    assert "r4" not in loop.memory.asked
    loop.put("r4", state=State.FLOWING, points={"FY-101": 150.0})
    loop.run(120.0)
    assert set_point(loop) == pytest.approx(600.0, rel=following.BAND)
    loop.put("r4", state=None)
    loop.scan()
    assert loop.memory.asked["r4"] == pytest.approx(150.0, rel=0.01)


def test_a_rack_that_was_never_heard_asks_for_nothing_that_is_known() -> None:
    loop = PaperLoop()
    loop.put("r4", at_s=float("-inf"))
    loop.telling = False
    loop.scan()
    assert loop.memory.asked == {}


def test_shut_racks_take_nothing_and_one_that_cools_down_counts_by_its_meters() -> None:
    loop = PaperLoop()
    loop.put("r1", state=State.ISOLATED, points={"FT-101": 3.0, "FT-102": 3.0})
    loop.put("r2", state=State.COOLDOWN, points={"FT-101": 190.0, "FT-102": 190.0})
    ask(loop, 200.0, 200.0, 200.0, 200.0)
    loop.settled().run(180.0)
    assert set(loop.memory.asked) == {"r3", "r4"}
    assert set_point(loop) == pytest.approx(590.0, rel=following.BAND)
    loop.lose("r2", "FT-101", "FT-102")
    ask(loop, 0.0, 0.0, 250.0, 250.0)
    before = set_point(loop)
    loop.run(30.0)
    assert set_point(loop) == before


@pytest.mark.parametrize("lost", ["SP-FLOW", "PT-201"])
def test_it_stands_while_the_cdu_cannot_be_believed(lost: str) -> None:
    loop = asking(150.0, 150.0, 150.0, 150.0)
    loop.scans.clear()
    before = loop.cdu[lost]
    loop.cdu[lost] = None
    loop.scan()  # nothing was written yet but in settling, which is cleared
    loop.scans.clear()
    loop.run(10.0)
    assert writes(loop) == 0
    loop.cdu[lost] = before


def test_a_header_dp_of_nothing_corrects_nothing() -> None:
    loop = asking(150.0, 150.0, 150.0, 150.0)
    loop.cdu["PT-201"] = 150.0
    loop.scans.clear()
    assert writes(loop.run(10.0)) == 0


def test_what_a_person_sets_stands_until_header_dp_leaves_its_band() -> None:
    loop = asking(190.0, 190.0, 190.0, 190.0).run(120.0)
    loop.run(3.0)
    loop.cdu["SP-FLOW"] = 830.0
    loop.run(30.0)
    assert len(loop.told(LoopFactKind.TAKEN_BACK)) == 1
    assert loop.memory.theirs
    assert set_point(loop) == 830.0
    loop.cdu["PT-201"] = 150.0 + 1.2 * 205.0
    loop.scan()
    assert not loop.memory.theirs
    assert set_point(loop) < 830.0
    loop.cdu["PT-201"] = 150.0 + 205.0
    loop.run(60.0)
    assert set_point(loop) == pytest.approx(760.0, rel=following.BAND)


@pytest.mark.parametrize("theirs", [False, True])
def test_what_a_person_sets_in_another_mode_is_no_word_on_the_flow(theirs: bool) -> None:
    loop = asking(200.0, 200.0, 200.0, 200.0)
    loop.cdu |= {"CDU-MODE": 1.0, "SP-DP": 150.0}
    written = Written(Mode.CONSTANT_DP, 210.0, loop.now_s - 10.0)
    loop.memory = replace(loop.memory, written=written, theirs=theirs)
    loop.scan()
    assert len(loop.told(LoopFactKind.TAKEN_BACK)) == 1
    assert loop.memory.theirs is theirs


def test_during_work_what_the_neighbours_ask_for_is_fed_forward() -> None:
    loop = asking(200.0, 200.0, 200.0, 200.0)
    loop.say("r1", "isolate")
    loop.put("r1", state=State.COOLDOWN, isolate_wanted=True, points={"FT-101": 100.0, "FT-102": 100.0})
    loop.run(20.0)
    assert loop.memory.hold is not None
    assert dict(loop.memory.hold.asked) == pytest.approx(dict.fromkeys(("r1", "r2", "r3", "r4"), 200.0))
    assert set_point(loop) == pytest.approx(700.0, rel=0.003)
    ask(loop, 200.0, 220.0, 230.0, 210.0)
    loop.run(60.0)
    assert set_point(loop) == pytest.approx(760.0, rel=0.003)
    loop.lose("r2", "FY-101", "FT-101", "FT-102")
    loop.put("r2", state=State.ISOLATED)
    loop.run(20.0)
    assert set_point(loop) == pytest.approx(540.0, rel=0.003)
    for dp_kpa, lost in (
        (266.5, HELD * log(210.0 / 266.5)),
        (195.0, HELD * log(210.0 / 195.0)),
        (2000.0, -0.1),
        (60.0, 0.1),
    ):
        loop.cdu["PT-201"] = 150.0 + dp_kpa
        loop.run(10.0)
        wanted = 540.0 * (1.0 + following.trim(dp_kpa / 205.0) + lost)
        assert set_point(loop) == pytest.approx(wanted, rel=0.002)
    for nothing in (None, 150.0):  # no pressure, no correction
        loop.cdu["PT-201"] = nothing
        loop.run(5.0)
        assert set_point(loop) == pytest.approx(540.0, rel=0.003)


def test_after_the_work_it_goes_on_following() -> None:
    loop = asking(200.0, 200.0, 200.0, 200.0)
    granted = loop.say("r1", "isolate")
    loop.put("r1", state=State.COOLDOWN, isolate_wanted=True, points={"FT-101": 0.0, "FT-102": 0.0})
    loop.run(20.0)
    loop.put("r1", state=State.ISOLATED)
    loop.say("r1", "isolate", Act.GIVE_BACK, granted.id)
    loop.run(loop.limits.settle_s + 2.0)
    assert loop.memory.hold is None
    assert set_point(loop) == pytest.approx(600.0, rel=following.BAND)
    ask(loop, 200.0, 160.0, 160.0, 160.0)
    loop.run(120.0)
    assert set_point(loop) == pytest.approx(480.0, rel=following.BAND)


def test_a_neighbour_that_tells_no_set_point_when_work_begins_has_no_part_in_the_feed_forward() -> None:
    loop = asking(200.0, 200.0, 200.0)
    loop.say("r1", "isolate")
    assert loop.memory.hold is not None
    assert set(loop.memory.hold.asked) == {"r1", "r2", "r3"}


def test_a_start_believes_nothing_of_what_was_asked_before_it() -> None:
    loop = asking(200.0, 200.0, 200.0, 200.0)
    after = reread(replace(loop.memory, theirs=True))
    assert (after.asked, after.theirs) == ({}, False)
    whole = persist.from_dict(persist.to_dict(replace(loop.memory, theirs=True), whole=True), whole=True)
    assert (whole.asked, whole.theirs) == (loop.memory.asked, True)
