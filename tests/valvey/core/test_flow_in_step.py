"""The flow control in the scan: it has FCV-101 while the permit is on, takes it over without a jump, and hands it on."""

from dataclasses import replace

import pytest

from fieldkit.reading import Quality, Reading
from fieldkit.units import Unit
from tests.plant import BOOT
from tests.stored import reread
from tests.valvey.core.bench import alarms
from tests.valvey.core.wet_rack import WetRack, adopting, serving
from valvey.core import steering
from valvey.core.adoption import begin
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.flow_control import control
from valvey.core.flow_state import Bound, Ceiling, Control, Demand, Hunt, Learned, Mode, Seen, Source, Steering, Tuning
from valvey.core.limits import LPM_PER_KW
from valvey.core.requests import Request
from valvey.core.steering import CEILING_TAG, LISTEN_S, PERIOD_S, SILENT_S
from valvey.core.view import View


def commands(rack: WetRack, for_s: float, dt_s: float = 0.05) -> list[float]:
    """What was written to FCV-101, scan by scan."""
    out = []
    for _ in range(round(for_s / dt_s)):
        rack.scan(dt_s=dt_s)
        out.append(rack.writes["FCV-101"])
    return out


def ceiling(rack: WetRack, flow_lpm: float, age_s: float = 0.0) -> Reading:
    return Reading(CEILING_TAG, flow_lpm, Unit.L_MIN, Quality.GOOD, rack.now_s - age_s)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Reading]:
    """Readings that the shell makes, put beside the rack's own."""
    extra: dict[str, Reading] = {}
    plain = WetRack.readings
    monkeypatch.setattr(WetRack, "readings", lambda rack: plain(rack) | extra)
    return extra


# --- in service --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kv_true", [11.0, 15.0])
def test_the_flow_follows_the_load_whatever_the_branch_is(kv_true: float) -> None:
    rack = serving(kv_true=kv_true, load_kw=90.0)
    for load_kw in (90.0, 120.0):
        rack.values |= {"JT-101": load_kw, "ET-101": load_kw}
        rack.until_s(150.0)
        wanted = rack.steering.control.demand.setpoint_lpm
        assert rack.flow == pytest.approx(wanted, rel=0.02)
        assert 9.0 < (rack.values["TT-102A"] or 0.0) - 40.0 < 11.5
        assert rack.state is State.FLOWING
    assert rack.steering.control.learned.kv_rest_m3_h == pytest.approx(kv_true, rel=0.1)


def test_120_to_200_is_as_quick_in_the_whole_scan_as_its_motor() -> None:
    rack = serving(position_pct=57.0, load_kw=80.0)
    rack.ask("set_point", flow_lpm=120.0)
    rack.until_s(60.0)
    rack.ask("set_point", flow_lpm=200.0)
    began_s, flows = rack.now_s, []
    while rack.now_s < began_s + 60.0:
        rack.scan(dt_s=0.1)
        flows.append((rack.now_s - began_s, rack.flow))
    assert max(at_s for at_s, flow in flows if abs(flow / 200.0 - 1.0) > 0.05) < 15.0
    assert max(flow for _, flow in flows) < 1.02 * 200.0


def test_it_looks_every_fifth_of_a_second_however_often_the_rack_is_scanned() -> None:
    rack = serving().until_s(5.0)
    times = set()
    for _ in range(100):
        rack.scan(dt_s=0.02)
        times.add(rack.steering.at_s)
    assert len(times) == pytest.approx(10, abs=1)
    early = rack.steering.at_s
    rack.scan(dt_s=round(PERIOD_S - 0.003 - (rack.now_s - early), 6))
    assert rack.steering.at_s == early
    rack.scan(dt_s=0.002)
    assert rack.steering.at_s == rack.now_s


def test_a_scan_that_is_early_by_two_milliseconds_is_no_look_lost() -> None:
    rack = serving().until_s(5.0)
    due_s = steering.PERIOD_S - steering.EPSILON_S
    memory = replace(rack.memory, steering=replace(rack.steering, at_s=0.0))
    after = steering.steer(View(rack.readings(), memory, rack.limits, due_s), rack.tuning)
    assert after.steering is not None
    assert after.steering.at_s == due_s


def test_after_a_long_scan_no_more_than_two_seconds_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rack, seen = serving().until_s(5.0), list[float]()

    def spied(state: Control, readings: Seen, tuning: Tuning, dt_s: float) -> Control:
        seen.append(dt_s)
        return control(state, readings, tuning, dt_s)

    monkeypatch.setattr(steering, "control", spied)
    rack.scan(dt_s=0.7)
    rack.memory = replace(rack.memory, steering=replace(rack.steering, at_s=rack.now_s - 50.0))
    rack.scan(dt_s=0.2)
    assert seen == [pytest.approx(0.7), 2.0]


def test_an_unloading_rack_is_still_controlled_and_cancelled_it_goes_on_without_a_jump() -> None:
    rack = serving().until_s(10.0)
    rack.ask("isolate")
    rack.values |= {"JT-101": 100.0, "ET-101": 100.0}
    rack.until_s(200.0)
    assert (rack.state, rack.flow < 185.0) == (State.UNLOADING, True)
    before = rack.memory.fcv_pct
    rack.scan(Request("id-x", "cancel", "engineer", "desk", expect_seq=rack.memory.state_seq))
    assert rack.state is State.FLOWING
    assert rack.memory.fcv_pct == pytest.approx(before, abs=0.5)
    assert rack.steering.since_s < rack.now_s - 200.0  # it was never given away


def test_a_disarmed_rack_is_left_alone() -> None:
    rack = serving().until_s(5.0)
    view_memory = replace(rack.memory, armed=False)
    rack.memory = view_memory
    rack.scan()
    assert not rack.steering.active


# --- taking over -----------------------------------------------------------------------------------------------------


def test_it_begins_where_the_valve_stands_and_listens_before_it_moves_it() -> None:
    rack = serving(position_pct=60.0)
    rack.values |= {"JT-101": 132.0, "ET-101": 132.0}
    rack.scan()
    assert (rack.steering.active, rack.steering.control.mode, rack.steering.control.asked) == (True, Mode.DELTA_T, None)
    assert commands(rack, LISTEN_S - 0.05) == pytest.approx([60.0] * round((LISTEN_S - 0.05) / 0.05))
    assert max(commands(rack, 3.0)) > 70.0  # the load wants more than flows


def test_a_killed_process_moves_no_valve_and_goes_on_with_what_it_was_asked_and_has_learned() -> None:
    rack = serving(kv_true=10.5).until_s(30.0)
    rack.ask("set_point", flow_lpm=150.0)
    rack.until_s(100.0)
    before, at_pct = rack.steering.control, rack.values["ZT-101"]
    rack.memory = reread(rack.memory)
    rack.restart()
    rack.run(1.0)
    assert rack.state is State.FLOWING
    after = rack.steering.control
    assert (after.mode, after.asked) == (Mode.FLOW, 150.0)
    assert after.learned.kv_rest_m3_h == pytest.approx(before.learned.kv_rest_m3_h, rel=0.01)
    assert after.demand.setpoint_lpm == pytest.approx(150.0, abs=0.5)
    assert rack.writes["FCV-101"] == before.command_pct
    written = commands(rack, 60.0)
    assert max(written) - min(written) < rack.tuning.command_band_pct
    assert rack.values["ZT-101"] == pytest.approx(at_pct, abs=rack.tuning.command_band_pct)


def test_killed_while_the_valve_is_under_way_it_stays_where_it_is_found() -> None:
    rack = serving().until_s(10.0)
    rack.ask("set_point", fcv_pct=40.0)
    rack.until_s(3.0)
    assert rack.memory.fcv_pct < (rack.values["ZT-101"] or 0.0) - 5.0
    rack.restart()
    rack.now_s += 1.0
    found = rack.values["ZT-101"]
    rack.run(1.0)
    assert rack.memory.fcv_pct == found
    assert set(commands(rack, 1.5)) == {found}


def test_without_a_readable_memory_it_begins_at_the_measured_position() -> None:
    rack = serving().until_s(5.0)
    rack.memory = begin(
        None, readable=False, armed_in_file=True, starts_s=(), boot_id=BOOT, now_s=rack.now_s, limits=rack.limits
    )  # fmt: skip
    rack.ack_s = None
    found = rack.values["ZT-101"]
    rack.run(1.0)
    assert rack.state is State.FLOWING
    assert (rack.memory.fcv_pct, rack.writes["FCV-101"]) == (found, found)
    assert rack.steering.control.demand.setpoint_lpm == pytest.approx(rack.flow, rel=0.03)


def test_an_adopted_rack_forgets_the_header_and_the_swings_but_not_that_it_hunted() -> None:
    rack = adopting()
    old = serving().until_s(5.0).steering
    hunted = replace(old.control, hunt=Hunt(side=1, swings_s=(1.0, 2.0), turns_s=(3.0,), events=2, quiet_s=9.0))
    rack.memory = replace(rack.memory, steering=replace(old, control=hunted, active=True))
    rack.run(1.0)
    assert rack.state is State.FLOWING
    taken = next(s.memory.steering for s in rack.scans if s.memory.state is State.FLOWING)
    assert taken is not None
    assert (taken.control.hunt, taken.control.header.dp_kpa) == (Hunt(events=2), None)
    assert taken.control.demand == replace(hunted.demand, load_kw=None)
    assert taken.control.learned == hunted.learned


def test_a_rack_that_is_opened_anew_follows_its_load_and_doubts_what_it_had_learned() -> None:
    rack = serving(kv_true=10.5).until_s(30.0)
    rack.ask("set_point", fcv_pct=60.0)
    rack.until_s(60.0)
    known = rack.steering.control.learned
    rack.ask("dark")
    rack.run(0.5)
    assert not rack.steering.active
    rack.ask("reset", sif=["SIF-10"])
    rack.values |= {"ZT-101": 80.0}
    rack.memory = replace(rack.memory, fcv_pct=80.0)
    rack._flow()
    rack.ask("open")
    rack.run(6.0)
    assert rack.state is State.FLOWING
    entered = next(s.memory for s in rack.scans[::-1] if s.memory.permit_rise_s == s.memory.now_s)
    assert entered.steering is not None
    control = entered.steering.control
    assert (control.mode, control.asked, control.command_pct) == (Mode.DELTA_T, None, entered.fcv_pct)
    assert control.learned.kv_rest_m3_h == known.kv_rest_m3_h
    assert control.learned.bias_pct == known.bias_pct
    assert control.learned.kv_var == rack.tuning.kv_doubt**2 > known.kv_var


def test_a_trip_leaves_the_valve_where_it_was_sent_and_the_ramp_begins_there() -> None:
    rack = serving().until_s(30.0)
    sent = rack.memory.fcv_pct
    rack.ask("dark")
    rack.run(2.0)
    assert (rack.state, rack.steering.active) == (State.COOLDOWN, False)
    assert rack.writes["FCV-101"] == sent
    rack.memory = replace(rack.memory, isolate_wanted=True, step=Step.RAMP, step_since_s=rack.now_s, fcv_from_pct=sent)
    rack.scan()
    assert rack.writes["FCV-101"] == pytest.approx(sent, abs=0.1)
    rack.until_s(60.0)
    assert rack.writes["FCV-101"] == pytest.approx(0.5 * (sent + 10.0), abs=0.2)


# --- what it is shown --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lost", "missing"),
    [
        ({"PT-201"}, "header_kpa"),
        ({"PT-202"}, "header_kpa"),
        ({"PT-101"}, "rack_kpa"),
        ({"PT-102"}, "rack_kpa"),
        ({"ZT-101"}, "position_pct"),
        ({"TT-101"}, "rise_k"),
        ({"TT-102A", "TT-102B", "TT-102C"}, "rise_k"),
        ({"JT-101", "ET-101"}, "load_kw"),
        ({"FT-101", "FT-102"}, "flow_lpm"),
    ],
)
@pytest.mark.parametrize("quality", [Quality.BAD, Quality.UNCERTAIN])
def test_nothing_but_good_readings_is_shown_to_it(lost: set[str], missing: str, quality: Quality) -> None:
    rack = serving().until_s(1.0)
    view = View(rack.readings(), rack.memory, rack.limits, rack.now_s)
    whole = steering.seen_by(view)
    assert whole.header_kpa == pytest.approx(200.0)
    assert whole.rack_kpa == pytest.approx((rack.values["PT-101"] or 0.0) - 160.0)
    assert whole.rise_k == pytest.approx((rack.values["TT-102A"] or 0.0) - 40.0)
    assert (whole.position_pct, whole.flow_lpm, whole.load_kw) == (rack.values["ZT-101"], rack.flow, 126.5)
    rack.qualities = dict.fromkeys(lost, quality)
    seen = steering.seen_by(View(rack.readings(), rack.memory, rack.limits, rack.now_s))
    assert getattr(seen, missing) is None
    for name in seen.__slots__:
        if name not in {missing}:
            assert getattr(seen, name) == getattr(whole, name)


@pytest.mark.parametrize(
    ("supply", "ret", "flow"),
    [
        (200.0, 200.0, 200.0),
        (200.0, 190.0, 200.0),
        (200.0, 189.9, 189.9),
        (180.0, 200.0, 180.0),
        (None, 190.0, 190.0),
        (200.0, None, 200.0),
        (None, None, None),
    ],
)
def test_of_two_meters_that_are_apart_the_lower_one_counts(
    supply: float | None, ret: float | None, flow: float | None
) -> None:
    rack = serving()
    rack.values |= {"FT-101": supply, "FT-102": ret}
    rack.now_s += 1.0
    assert steering.flow_lpm(View(rack.readings(), rack.memory, rack.limits, rack.now_s)) == flow


def test_when_every_reading_is_lost_the_valve_shuts_no_further_and_the_rack_goes_dark() -> None:
    rack = serving().until_s(30.0)
    sent = rack.memory.fcv_pct
    rack.lost = {tag for tag in rack.values if tag[:2] in {"FT", "PT", "TT", "JT", "ET", "ZT"}}
    for _ in range(200):
        rack.scan()
        assert sent <= rack.writes["FCV-101"] < sent + 5.0  # for the nominal flow: nobody knows what is needed
    assert rack.state is State.COOLDOWN


def test_without_the_headers_pressures_it_works_them_out_and_keeps_the_flow() -> None:
    rack = serving().until_s(60.0)
    rack.lost = {"PT-201", "PT-202"}
    rack.until_s(120.0)
    assert rack.steering.control.header.source is Source.RACK
    assert rack.flow == pytest.approx(1.05 * LPM_PER_KW * 126.5, rel=0.05)


# --- the rack's own need -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("supply_c", "share"),
    [(20.0, 0.6), (40.0, 0.6), (40.5, 10.0 / 16.5), (45.0, 10.0 / 12.0), (47.0, 1.0), (50.0, 1.0), (None, 1.0)],
)
def test_the_own_need_keeps_the_return_below_its_limit(supply_c: float | None, share: float) -> None:
    rack = serving(load_kw=100.0)
    rack.values["TT-101"] = supply_c
    rack.now_s += 1.0
    view = View(rack.readings(), rack.memory, rack.limits, rack.now_s)
    assert view.own_need_lpm() == pytest.approx(share * LPM_PER_KW * (view.load_kw() or 0.0))


def test_a_held_opening_still_lets_the_own_need_pass() -> None:
    rack = serving().until_s(20.0)
    assert rack.ask("set_point", fcv_pct=20.0).fields["status"] == "accepted"
    rack.until_s(200.0)
    need = 0.6 * LPM_PER_KW * 126.5
    assert rack.flow == pytest.approx(need, rel=0.03)
    assert rack.steering.bound is Bound.OWN_NEED
    assert rack.state is State.FLOWING
    assert "SIF-4" not in rack.latched
    rack.values |= {"JT-101": 30.0, "ET-101": 30.0}
    rack.until_s(200.0)
    assert rack.memory.fcv_pct == pytest.approx(20.0, abs=8.0)


def test_a_held_opening_does_not_turn_at_every_flicker_of_the_need() -> None:
    rack = serving().until_s(20.0)
    rack.ask("set_point", fcv_pct=20.0)
    rack.until_s(120.0)
    sent = rack.memory.fcv_pct
    for n in range(50):
        load_kw = 126.5 + 0.3 * (n % 2)
        rack.values |= {"JT-101": load_kw, "ET-101": load_kw}
        rack.scan(dt_s=0.2)
        assert rack.memory.fcv_pct == sent


def test_a_held_opening_shuts_no_further_when_no_meter_can_be_believed() -> None:
    rack = serving().until_s(20.0)
    rack.ask("set_point", fcv_pct=60.0)
    rack.scan(dt_s=0.2)
    rack.lost = {"FT-101", "FT-102"}
    sent = rack.memory.fcv_pct
    for _ in range(10):
        rack.scan(dt_s=0.2)
        assert rack.memory.fcv_pct == sent
    rack.ask("set_point", fcv_pct=90.0)
    rack.until_s(1.0)
    assert rack.memory.fcv_pct > sent  # opening is always allowed


def test_a_held_opening_is_kept_also_when_nothing_tells_what_it_gives() -> None:
    rack = adopting(lost={"ZT-101", "PT-201"})
    held = Control(Mode.POSITION, 74.0, 75.8, Demand(190.0, 190.0), Learned(12.5))
    rack.memory = replace(rack.memory, steering=Steering(held))
    rack.run(LISTEN_S + 3.0)
    assert rack.steering.control.header.dp_kpa is None
    assert (rack.memory.fcv_pct, rack.steering.bound) == (74.0, None)


def test_a_low_flow_set_point_is_lifted_to_the_own_need_of_a_hot_supply() -> None:
    rack = serving().until_s(20.0)
    rack.values["TT-101"] = 46.0
    rack.ask("set_point", flow_lpm=100.0)
    for _ in range(200):
        rack.scan(dt_s=0.5)
        rack.values["TT-101"] = 46.0
    assert rack.steering.bound is Bound.OWN_NEED
    assert rack.steering.control.demand.setpoint_lpm == pytest.approx(10.0 / 11.0 * LPM_PER_KW * 126.5, rel=0.02)


# --- the coordinator's ceiling ---------------------------------------------------------------------------------------


def test_a_ceiling_is_kept_and_told_and_ends_when_the_coordinator_says_so(told: dict[str, Reading]) -> None:
    rack = serving().until_s(20.0)
    for _ in range(120):
        told[CEILING_TAG] = ceiling(rack, 150.0)
        rack.scan(dt_s=0.5)
    assert rack.flow == pytest.approx(150.0, rel=0.02)
    assert rack.steering.bound is Bound.CEILING
    assert "flow-ceiling" in alarms(rack)
    for _ in range(160):
        told[CEILING_TAG] = ceiling(rack, 0.0)
        rack.scan(dt_s=0.5)
    assert rack.steering.ceiling is None
    assert rack.flow == pytest.approx(1.05 * LPM_PER_KW * 126.5, rel=0.03)
    assert "flow-ceiling" not in alarms(rack)


def test_a_ceiling_never_takes_what_the_rack_itself_needs(told: dict[str, Reading]) -> None:
    rack = serving().until_s(20.0)
    for _ in range(120):
        told[CEILING_TAG] = ceiling(rack, 50.0)
        rack.scan(dt_s=0.5)
    assert rack.flow == pytest.approx(0.6 * LPM_PER_KW * 126.5, rel=0.03)
    assert rack.steering.bound is Bound.OWN_NEED
    assert rack.state is State.FLOWING


@pytest.mark.parametrize(("flow_lpm", "why"), [(198.0, ()), (120.0, ()), (75.0, ("SIF-12",))])
def test_a_lost_open_limit_is_judged_by_the_flow_that_the_ceiling_leaves(
    flow_lpm: float, why: tuple[str, ...], told: dict[str, Reading]
) -> None:
    """Need is 189 L/min: 120 would be too little of it, and is all that is asked for."""
    rack = serving().until_s(20.0)
    for _ in range(120):
        told[CEILING_TAG] = ceiling(rack, 120.0)
        rack.scan(dt_s=0.5)
    rack.follow = rack.wet = False
    rack.values |= {"ZSO-101": 0.0, "FT-101": flow_lpm, "FT-102": flow_lpm}
    for _ in range(10):
        told[CEILING_TAG] = ceiling(rack, 120.0)
        rack.scan(dt_s=0.05)
    assert tuple(latch.sif for latch in rack.memory.latches) == why


@pytest.mark.parametrize(("mode", "limit"), [(Mode.FLOW, 130.0), (Mode.POSITION, 1.05 * LPM_PER_KW * 126.5)])
def test_the_wanted_flow_is_less_only_where_a_flow_was_named(mode: Mode, limit: float) -> None:
    rack = serving().until_s(20.0)
    state = rack.steering
    state = replace(state, control=replace(state.control, mode=mode, asked=130.0, demand=Demand(130.0, 130.0)))
    view = View(rack.readings(), replace(rack.memory, steering=state), rack.limits, rack.now_s)
    assert view.setpoint_lpm() == pytest.approx(limit, rel=0.01)
    idle = replace(rack.memory, steering=replace(state, active=False))
    assert View(rack.readings(), idle, rack.limits, rack.now_s).setpoint_lpm() == pytest.approx(
        1.05 * LPM_PER_KW * 126.5, rel=0.01
    )


def test_a_ceiling_below_half_of_nominal_holds_for_a_rack_that_needs_less(told: dict[str, Reading]) -> None:
    rack = serving(load_kw=60.0).until_s(20.0)
    for _ in range(200):
        told[CEILING_TAG] = ceiling(rack, 80.0)
        rack.scan(dt_s=0.5)
    assert rack.flow == pytest.approx(80.0, rel=0.03)
    assert rack.steering.bound is Bound.CEILING


def test_a_silent_coordinators_ceiling_is_held_and_then_released_slowly(told: dict[str, Reading]) -> None:
    rack = serving().until_s(20.0)
    told[CEILING_TAG] = ceiling(rack, 130.0)
    rack.until_s(SILENT_S)
    assert rack.steering.ceiling == Ceiling(130.0, told[CEILING_TAG].at_s)
    assert "ceiling-stale" not in alarms(rack)
    rack.until_s(60.0)
    assert rack.steering.ceiling is not None
    assert rack.steering.ceiling.flow_lpm == pytest.approx(130.0 + 0.1 * 198.0, abs=0.2)
    assert "ceiling-stale" in alarms(rack)
    rack.until_s(300.0)
    assert rack.steering.ceiling is None
    assert rack.flow == pytest.approx(1.05 * LPM_PER_KW * 126.5, rel=0.05)
    assert alarms(rack) & {"ceiling-stale", "flow-ceiling"} == set()


def test_whatever_is_more_than_nothing_is_a_ceiling(told: dict[str, Reading]) -> None:
    rack = serving().until_s(20.0)
    told[CEILING_TAG] = ceiling(rack, 5e-324)
    rack.until_s(1.0)
    assert rack.steering.ceiling == Ceiling(5e-324, told[CEILING_TAG].at_s)


def test_a_ceiling_heard_again_stands_again(told: dict[str, Reading]) -> None:
    rack = serving().until_s(20.0)
    told[CEILING_TAG] = ceiling(rack, 130.0)
    rack.until_s(SILENT_S + 30.0)
    told[CEILING_TAG] = ceiling(rack, 130.0)
    rack.until_s(1.0)
    assert rack.steering.ceiling == Ceiling(130.0, told[CEILING_TAG].at_s)


@pytest.mark.parametrize("quality", [Quality.BAD, Quality.UNCERTAIN])
def test_a_ceiling_that_cannot_be_believed_is_none(told: dict[str, Reading], quality: Quality) -> None:
    rack = serving().until_s(20.0)
    told[CEILING_TAG] = replace(ceiling(rack, 130.0), quality=quality)
    rack.until_s(1.0)
    assert rack.steering.ceiling is None


def test_a_ceiling_survives_a_restart_and_its_time_another_boot(told: dict[str, Reading]) -> None:
    rack = serving().until_s(20.0)
    told[CEILING_TAG] = ceiling(rack, 130.0)
    rack.until_s(2.0)
    told.clear()
    heard_s = rack.steering.ceiling.heard_s if rack.steering.ceiling is not None else 0.0
    rack.restart()
    rack.run(1.5)
    assert rack.steering.ceiling == Ceiling(130.0, heard_s)
    later = replace(rack.steering, ceiling=Ceiling(130.0, rack.now_s + 5000.0), active=False)
    rack.memory = replace(rack.memory, steering=later)
    rack.scan()
    assert rack.steering.ceiling == Ceiling(130.0, rack.now_s)


@pytest.mark.parametrize(
    ("left_lpm", "flow_lpm", "bound"),
    [(130.0, 130.0, Bound.CEILING), (50.0, 0.6 * LPM_PER_KW * 126.5, Bound.OWN_NEED), (0.0, 175.8, None)],
)
def test_a_held_opening_gives_way_to_a_ceiling(
    told: dict[str, Reading], left_lpm: float, flow_lpm: float, bound: Bound | None
) -> None:
    rack = serving().until_s(20.0)
    rack.ask("set_point", fcv_pct=70.0)
    for _ in range(120):
        told[CEILING_TAG] = ceiling(rack, left_lpm)
        rack.scan(dt_s=0.5)
    assert rack.flow == pytest.approx(flow_lpm, rel=0.03)
    assert rack.steering.bound is bound


def test_a_ceiling_at_the_own_need_itself_is_the_own_need(told: dict[str, Reading]) -> None:
    rack = serving().until_s(20.0)
    rack.ask("set_point", fcv_pct=70.0)
    for _ in range(120):
        need = View(rack.readings(), rack.memory, rack.limits, rack.now_s).own_need_lpm()
        told[CEILING_TAG] = ceiling(rack, need)
        rack.scan(dt_s=0.5)
    assert rack.steering.bound is Bound.OWN_NEED


# --- what limits it ------------------------------------------------------------------------------------------------------


def test_it_says_what_limits_the_flow() -> None:
    rack = serving(load_kw=20.0).until_s(250.0)
    assert rack.steering.bound is Bound.LEAST
    rack.values |= {"JT-101": 100.0, "ET-101": 100.0}
    assert rack.until_s(30.0).steering.bound is None
    rack.values |= {"JT-101": 200.0, "ET-101": 200.0}
    assert rack.until_s(60.0).steering.bound is Bound.MOST
    rack.header_kpa = 90.0
    assert rack.until_s(100.0).steering.bound is Bound.VALVE
    assert "flow-short" in alarms(rack)
    held = replace(rack.steering.control, hunt=Hunt(events=3))
    rack.memory = replace(rack.memory, steering=replace(rack.steering, control=held))
    assert rack.until_s(1.0).steering.bound is Bound.HUNTING
    assert "flow-held" in alarms(rack)


def test_a_valve_on_its_way_to_an_opening_is_not_limited() -> None:
    rack = serving().until_s(20.0)
    rack.ask("set_point", fcv_pct=70.0)
    assert rack.until_s(0.4).steering.bound is None


# --- COOLDOWN's ramp comes to an end ---------------------------------------------------------------------------------


def ramping(**changes: object) -> WetRack:
    """A dark rack whose planned isolation has reached the ramp."""
    rack = serving().until_s(10.0)
    rack.ask("isolate", force=True)
    for tag in ("JT-101", "ET-101"):
        rack.values[tag] = 0.0
    rack.until_s(3.0, 0.5)
    assert rack.state is State.COOLDOWN
    rack.until_s(40.0, 0.5)
    assert rack.memory.step is Step.RAMP
    return rack


def ended(rack: WetRack) -> tuple[str, str]:
    fields = rack.told(FactKind.ENDED)[-1].fields
    return fields["status"], fields["reason"]


def test_a_ramp_whose_valve_is_seen_to_throttle_ends_after_its_time() -> None:
    rack = ramping()
    rack.until_s(100.0, 0.5)
    assert rack.state is State.COOLDOWN
    rack.until_s(25.0, 0.5)
    assert rack.state in {State.ISOLATING, State.ISOLATED}


@pytest.mark.parametrize("how", ["lost", "stuck"])
def test_a_ramp_whose_valve_cannot_be_seen_to_throttle_ends_after_the_whole_travel(how: str) -> None:
    rack = ramping()
    if how == "lost":
        rack.lost = {"ZT-101"}
    else:
        rack.stuck = True
    began_s = rack.memory.step_since_s
    while rack.state is State.COOLDOWN:
        rack.scan(dt_s=0.5)
        assert rack.now_s < began_s + 300.0
    assert rack.now_s - began_s == pytest.approx(120.0 + 90.0, abs=1.0)
    assert rack.state is State.ISOLATING


@pytest.mark.parametrize("how", ["EV-101", "ET-101", "XI-101"])
def test_a_ramp_without_proof_that_the_power_is_off_is_given_up_dark_with_its_flow(how: str) -> None:
    rack = ramping()
    from_pct = rack.memory.fcv_from_pct
    rack.lost = {how}
    began_s = rack.memory.step_since_s
    while rack.memory.step is Step.RAMP:
        rack.scan(dt_s=0.5)
        assert rack.now_s < began_s + 400.0
    assert rack.now_s - began_s == pytest.approx(120.0 + 90.0 + 60.0, abs=1.0)
    assert (rack.state, rack.memory.step, rack.memory.isolate_wanted) == (State.COOLDOWN, Step.COOL, False)
    assert (rack.memory.failed, rack.memory.fcv_pct) == ("power_unproven", from_pct)
    assert rack.writes["XS-101"] == 0.0
    rack.run(1.0)
    assert "work-failed-power-unproven" in alarms(rack)
    status, reason = ended(rack)
    assert status == "failed"
    assert "not proven off" in reason
    rack.until_s(320.0, 1.0)
    assert (rack.state, rack.memory.step) == (State.COOLDOWN, Step.COOL)  # nobody wants it any more: no deadline
    rack.lost = set()
    rack.values |= {how: 0.0}
    rack.ask("isolate")
    assert rack.memory.failed is None
    rack.until_s(200.0, 0.5)
    assert rack.state in {State.ISOLATING, State.ISOLATED}
