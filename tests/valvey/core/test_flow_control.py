"""The flow control as a whole: what it asks of FCV-101, alone and in a loop with a simulated branch."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from bench.control.plant import STEP_S, Branch, Plant, position_for
from valvey.core.flow_control import begin, control, troubles
from valvey.core.flow_model import dp_for, opening_for
from valvey.core.flow_setpoint import ask
from valvey.core.flow_state import (
    Control,
    Demand,
    Header,
    Hunt,
    Learned,
    Mode,
    Seen,
    Source,
    Trouble,
    Tuning,
    tuning_for,
)
from valvey.core.limits import Limits

TUNING = Tuning()
ALL_WELL = Seen(load_kw=None, flow_lpm=200.0, header_kpa=200.0, position_pct=75.0, rise_k=10.0)
SCAN_S = 0.2


def at_flow(setpoint_lpm: float, command_pct: float = 75.0, tuning: Tuning = TUNING, **changes: object) -> Control:
    """A control in flow mode that has arrived at its set-point, the header known at 200 kPa."""
    state = begin(command_pct, tuning, setpoint_lpm)
    header = Header(200.0, Source.HEADER, 200.0, (command_pct, 200.0), (command_pct, 200.0))
    return replace(replace(state, mode=Mode.FLOW, asked=setpoint_lpm, header=header), **changes)  # type: ignore[arg-type]


def opening(setpoint_lpm: float, dp_kpa: float = 200.0) -> float:
    found = opening_for(setpoint_lpm, dp_kpa, Learned(12.5), TUNING)
    assert found is not None
    return found


class TestBeginning:
    def test_it_takes_over_the_valve_where_it_stands(self) -> None:
        state = begin(64.0, TUNING, 150.0)
        assert (state.mode, state.asked, state.command_pct) == (Mode.DELTA_T, None, 64.0)
        assert state.demand == Demand(150.0, 150.0)
        assert state.learned == Learned(12.5, 0.0, 0.15**2, 0.0, 1.5**2)
        assert (state.header, state.hunt, state.short) == (Header(), Hunt(), False)

    def test_with_an_unknown_flow_it_begins_from_the_nominal_one(self) -> None:
        assert begin(64.0, TUNING).demand.setpoint_lpm == 198.0

    def test_its_memory_survives_as_json(self) -> None:
        adapter = TypeAdapter(Control)
        state = at_flow(180.0, hunt=Hunt(1, (3.0, 1.0), 50.0, -1, (4.0,), 2, 9.0))
        assert adapter.validate_json(adapter.dump_json(state)) == state
        assert adapter.validate_json(adapter.dump_json(begin(64.0, TUNING))) == begin(64.0, TUNING)


class TestOpening:
    def test_a_flow_is_asked_for_at_once_by_the_inverse_characteristic(self) -> None:
        state = control(at_flow(200.0, 57.0), replace(ALL_WELL, flow_lpm=120.0, position_pct=57.0), TUNING, 1e-6)
        assert state.command_pct == pytest.approx(opening(200.0), abs=1e-3)
        assert not state.short

    def test_changes_below_the_command_band_are_left_alone(self) -> None:
        right = opening(200.0)
        for off, moves in ((0.69, False), (0.71, True), (-0.69, False), (-0.71, True)):
            state = at_flow(200.0, right + off)
            seen = replace(ALL_WELL, flow_lpm=210.0, position_pct=right + off)
            assert (control(state, seen, TUNING, 1e-9).command_pct != state.command_pct) is moves

    def test_a_flow_within_one_percent_takes_twice_the_change(self) -> None:
        right = opening(200.0)
        for flow, off, moves in (
            (201.9, 1.39, False),
            (201.9, 1.41, True),
            (202.1, 1.39, True),
            (198.1, -1.39, False),
            (197.9, -1.39, True),
        ):
            state = at_flow(200.0, right + off)
            seen = replace(ALL_WELL, flow_lpm=flow, position_pct=right + off)
            assert (control(state, seen, TUNING, 1e-9).command_pct != state.command_pct) is moves, (flow, off)

    def test_the_edges_of_both_bands_move_the_valve(self) -> None:
        tuning = replace(TUNING, command_band_pct=0.5, error_band=0.01)
        state = at_flow(100.0, 99.5, tuning)
        weak = Seen(flow_lpm=101.0, header_kpa=10.0, position_pct=99.5)  # asks for 100 %
        state = replace(state, header=Header(10.0, Source.HEADER, 10.0, (99.5, 10.0), (99.5, 10.0)))
        assert control(state, weak, tuning, 1e-9).command_pct == 100.0
        assert control(state, replace(weak, flow_lpm=100.9), tuning, 1e-9).command_pct == 99.5

    def test_without_a_flow_reading_the_plain_band_holds(self) -> None:
        state = at_flow(200.0, opening(200.0) + 1.0)
        seen = replace(ALL_WELL, flow_lpm=None, position_pct=state.command_pct)
        assert control(state, seen, TUNING, 0.2).command_pct == pytest.approx(opening(200.0))

    def test_a_header_too_weak_opens_the_valve_wide_and_is_told(self) -> None:
        state = at_flow(240.0)
        state = replace(state, header=Header(100.0, Source.HEADER, 100.0))
        state = control(state, replace(ALL_WELL, header_kpa=100.0), TUNING, 0.2)
        assert (state.command_pct, state.short) == (100.0, True)

    def test_the_valve_is_never_asked_for_less_than_its_least_opening(self) -> None:
        tuning = replace(TUNING, least_pct=60.0)
        state = control(at_flow(100.0, 75.0, tuning), replace(ALL_WELL, flow_lpm=190.0), tuning, 0.2)
        assert state.command_pct == 60.0

    def test_an_unknown_header_holds_the_valve_and_what_was_told(self) -> None:
        for short in (False, True):
            state = replace(at_flow(200.0, 30.0, short=short), header=Header())
            after = control(state, Seen(position_pct=30.0, load_kw=100.0), TUNING, 0.2)
            assert (after.command_pct, after.short, after.mode, after.asked) == (30.0, short, Mode.FLOW, 200.0)

    def test_a_fixed_opening_is_reached_at_five_percent_a_second(self) -> None:
        for asked, once in ((80.0, 76.0), (60.0, 74.0), (75.5, 75.5), (75.0, 75.0)):
            state = ask(begin(75.0, TUNING, 200.0), Mode.POSITION, asked, TUNING)
            state = control(replace(state, short=True), ALL_WELL, TUNING, 0.2)
            assert (state.command_pct, state.short, state.mode, state.asked) == (once, False, Mode.POSITION, asked)
        assert control(replace(state, asked=None), ALL_WELL, TUNING, 0.2).command_pct == 75.0

    def test_going_back_from_a_fixed_opening_does_not_jump(self) -> None:
        flow = 200.0
        state = ask(at_flow(flow, opening(flow)), Mode.POSITION, None, TUNING)
        seen = replace(ALL_WELL, flow_lpm=flow, position_pct=state.command_pct)
        state = control(state, seen, TUNING, 0.2)
        back = control(ask(state, Mode.FLOW, None, TUNING), seen, TUNING, 0.2)
        assert back.command_pct == state.command_pct


class TestCalming:
    def test_each_event_widens_the_command_band_by_half(self) -> None:
        right = opening(200.0)
        for events, off, moves in ((1, 1.04, False), (1, 1.06, True), (2, 1.56, False), (2, 1.59, True)):
            state = at_flow(200.0, right + off, hunt=Hunt(events=events))
            seen = replace(ALL_WELL, flow_lpm=210.0, position_pct=right + off)
            assert (control(state, seen, TUNING, 1e-9).command_pct != state.command_pct) is moves

    def test_each_event_halves_what_is_learned_from_a_reading(self) -> None:
        seen = replace(ALL_WELL, flow_lpm=205.0)
        bias = [
            control(at_flow(200.0, hunt=Hunt(events=events)), seen, TUNING, 0.2).learned.bias_pct
            for events in (0, 1, 2)
        ]
        assert bias[1] == pytest.approx(0.5 * bias[0])
        assert bias[2] == pytest.approx(0.25 * bias[0])

    def test_after_three_the_valve_holds(self) -> None:
        held = Hunt(events=3)
        for flow, command in ((190.0, 60.0), (250.0, 90.0), (180.0, 60.0)):
            state = at_flow(200.0, command, hunt=held)
            seen = replace(ALL_WELL, flow_lpm=flow, position_pct=command)
            assert control(state, seen, TUNING, 0.2).command_pct == command

    def test_held_it_still_opens_for_a_rack_that_starves_or_whose_flow_is_unknown(self) -> None:
        held = Hunt(events=3)
        for flow in (179.9, None):
            seen = replace(ALL_WELL, flow_lpm=flow, position_pct=60.0)
            state = control(at_flow(200.0, 60.0, hunt=held), seen, TUNING, 0.2)
            assert state.command_pct > 70.0
            seen = replace(seen, position_pct=90.0)
            assert control(at_flow(200.0, 90.0, hunt=held), seen, TUNING, 0.2).command_pct == 90.0

    def test_hunting_is_counted_against_the_set_point(self) -> None:
        state = control(at_flow(150.0), ALL_WELL, TUNING, 0.2)
        assert (state.hunt.side, state.hunt.turn_pct) == (1, 75.0)


class TestTroubles:
    def test_a_loop_in_good_order_has_none(self) -> None:
        assert troubles(control(at_flow(200.0), replace(ALL_WELL, load_kw=120.0), TUNING, 0.2), TUNING) == frozenset()

    @pytest.mark.parametrize(
        ("changes", "trouble"),
        [
            ({"demand": Demand(1.0, 1.0, blind=True)}, {Trouble.NO_POWER}),
            ({"demand": Demand(1.0, 1.0, blind=True, lost=True)}, {Trouble.NO_NEED}),
            ({"header": Header(200.0, Source.METER)}, {Trouble.NO_HEADER}),
            ({"short": True}, {Trouble.SHORT}),
            ({"learned": Learned(12.5 * 1.569)}, {Trouble.BRANCH}),
            ({"learned": Learned(12.5 / 1.569)}, {Trouble.BRANCH}),
            ({"learned": Learned(12.5 * 1.567)}, set()),
            ({"learned": Learned(12.5 / 1.567)}, set()),
            ({"learned": Learned(12.5, 14.71)}, {Trouble.BRANCH}),
            ({"learned": Learned(12.5, -14.71)}, {Trouble.BRANCH}),
            ({"learned": Learned(12.5, 14.69)}, set()),
            ({"hunt": Hunt(events=1)}, {Trouble.HUNTING}),
            ({"hunt": Hunt(events=2)}, {Trouble.HUNTING}),
            ({"hunt": Hunt(events=3)}, {Trouble.HELD}),
        ],
    )
    def test_each_is_told(self, changes: dict[str, object], trouble: set[Trouble]) -> None:
        assert troubles(at_flow(200.0, **changes), TUNING) == trouble  # type: ignore[arg-type]

    def test_exactly_at_the_share_of_a_bound_is_not_at_it(self) -> None:
        tuning = replace(TUNING, kv_rest_m3_h=1.0, kv_bound=2.0, bias_most_pct=10.0)
        assert troubles(at_flow(200.0, learned=Learned(0.98 * 2.0, 0.98 * 10.0)), tuning) == frozenset()


class Loop:
    """The control and a branch with noise, lag, dead time and dead bands."""

    def __init__(self, flow_lpm: float, kv_factor: float = 1.0, branch: Branch | None = None, seed: int = 1) -> None:
        self.plant = Plant(branch or Branch(), flow_lpm, seed)
        self.tuning = Tuning(kv_rest_m3_h=12.5 * kv_factor, stroke_s=self.plant.branch.stroke_s)
        self.state = ask(begin(self.plant.position_pct, self.tuning, flow_lpm), Mode.FLOW, flow_lpm, self.tuning)
        self.flows: list[float] = []

    def want(self, flow_lpm: float) -> None:
        self.state = ask(self.state, Mode.FLOW, flow_lpm, self.tuning)

    def run(self, seconds: float, lose: Callable[[Seen], Seen] = lambda seen: seen) -> list[float]:
        """True flows of the stretch, one each STEP_S."""
        self.flows = []
        for _ in range(round(seconds / SCAN_S)):
            self.state = control(self.state, lose(self.plant.seen()), self.tuning, SCAN_S)
            for _ in range(round(SCAN_S / STEP_S)):
                self.plant.advance(self.state.command_pct)
                self.flows.append(self.plant.flow_lpm)
        return self.flows

    def last_outside_s(self, flow_lpm: float, band: float = 0.05) -> float:
        return max(
            ((at + 1) * STEP_S for at, flow in enumerate(self.flows) if abs(flow / flow_lpm - 1.0) > band), default=0.0
        )


@pytest.mark.parametrize("kv_factor", [0.7, 0.85, 1.0, 1.15, 1.3])
def test_a_great_step_takes_hardly_longer_than_the_motor_needs(kv_factor: float) -> None:
    loop = Loop(120.0, kv_factor)
    loop.run(200.0)
    loop.want(200.0)
    flows = loop.run(120.0)
    motor_s = 90.0 * (position_for(Branch(), 190.0) - position_for(Branch(), 120.0))
    assert loop.last_outside_s(200.0) < motor_s + 0.8
    assert max(flows) < 200.0 * 1.045


def test_a_loop_left_alone_hardly_moves_its_valve() -> None:
    loop = Loop(150.0, 0.8)
    loop.run(300.0)
    loop.plant.reversals = 0
    flows = loop.run(600.0)
    assert loop.plant.reversals <= 1
    assert max(abs(flow / 150.0 - 1.0) for flow in flows) < 0.035


@pytest.mark.parametrize(("share", "worst"), [(0.2, 0.045), (-0.2, 0.075)])
def test_a_header_that_moves_within_three_seconds_costs_little(share: float, worst: float) -> None:
    loop = Loop(200.0)
    loop.run(60.0)
    flows: list[float] = []
    for step in range(1, 16):
        loop.plant.header_kpa = 200.0 * (1.0 + share * step / 15.0)
        flows += loop.run(SCAN_S)
    flows += loop.run(30.0)
    assert max(abs(flow / 200.0 - 1.0) for flow in flows) < worst
    assert sum(STEP_S for flow in flows if abs(flow / 200.0 - 1.0) > 0.05) <= 1.5


@pytest.mark.parametrize("lost", ["header_kpa", "flow_lpm", "position_pct"])
def test_the_flow_is_found_without_any_one_of_its_instruments(lost: str) -> None:
    loop = Loop(120.0)
    loop.run(100.0)
    loop.want(200.0)
    loop.run(150.0, lambda seen: replace(seen, **{lost: None}))
    assert loop.flows[-1] == pytest.approx(200.0, rel=0.03)


def test_without_the_headers_pressures_the_racks_own_find_the_flow() -> None:
    loop = Loop(120.0, 1.3)

    def seen(what: Seen) -> Seen:
        return replace(what, rack_kpa=dp_for(loop.plant.flow_lpm, 13.0))

    loop.run(100.0, seen)
    loop.want(200.0)
    flows = loop.run(150.0, lambda what: replace(seen(what), header_kpa=None))
    assert loop.state.header.source is Source.RACK
    assert flows[-1] == pytest.approx(200.0, rel=0.03)
    assert max(flows) < 215.0


def test_a_strainer_that_clogs_is_found_out_and_compensated() -> None:
    loop = Loop(200.0)
    loop.run(200.0)
    loop.plant.branch = replace(loop.plant.branch, kv_rest=10.5)
    flows = loop.run(300.0)
    assert flows[-1] == pytest.approx(200.0, rel=0.03)
    assert loop.state.learned.kv_rest_m3_h < 12.0


def test_a_valve_that_sticks_winds_nothing_up() -> None:
    stuck = Loop(120.0)
    stuck.run(100.0)
    stuck.want(200.0)
    held = replace(stuck.plant.branch)
    command = stuck.plant.position_pct
    for _ in range(1500):  # five minutes in which the motor does not follow
        stuck.state = control(stuck.state, stuck.plant.seen(), stuck.tuning, SCAN_S)
        stuck.plant.advance(command)
        stuck.plant.advance(command)
    assert stuck.state.command_pct == pytest.approx(100.0 * position_for(held, 200.0), abs=2.0)
    flows = stuck.run(120.0)
    assert max(flows) < 206.0
    assert stuck.last_outside_s(200.0) < 16.0


def test_a_load_step_is_followed_through_the_whole_law() -> None:
    loop = Loop(120.0)
    loop.state = ask(loop.state, Mode.DELTA_T, None, loop.tuning)

    def heat(load_kw: float) -> Callable[[Seen], Seen]:
        return lambda seen: replace(seen, load_kw=load_kw, rise_k=load_kw / (0.0669 * loop.plant.flow_lpm))

    loop.run(300.0, heat(75.0))
    assert 0.0669 * loop.plant.flow_lpm * 10.0 == pytest.approx(75.0, rel=0.03)
    loop.run(60.0, heat(125.0))
    loop.run(400.0, heat(125.0))
    assert 0.0669 * loop.plant.flow_lpm * 10.0 == pytest.approx(125.0, rel=0.03)
    assert loop.state.hunt.events == 0


def test_every_number_of_the_law_is_the_designs() -> None:
    assert Tuning() == Tuning(
        flow_nominal_lpm=198.0, minimum_lpm=0.0, kvs_m3_h=30.4, rangeability=50.0, kv_rest_m3_h=12.5, stroke_s=90.0,
        delta_k=10.0, margin=1.05, rise_s=2.0, fall_s=90.0, trim_s=150.0, trim_most=0.20, still_per_s=0.02,
        ramp_per_s=0.05, command_band_pct=0.7, error_band=0.01, slew_band_pct=1.5, least_pct=10.0, meter_lag_s=2.0,
        meter_dead_s=1.0, meter_noise=0.005, kv_doubt=0.15, bias_doubt_pct=1.5, kv_memory_s=86400.0,
        bias_memory_s=7200.0, kv_bound=1.6, bias_most_pct=15.0, misfit_most=0.04,
    )  # fmt: skip


def test_a_racks_limits_make_its_tuning() -> None:
    limits = Limits(
        flow_nominal_lpm=300.0, kv_rack=17.0, kv_branch=16.0, fcv_kvs=50.0, fcv_rangeability=30.0, fcv_stroke_s=120.0,
        fcv_low_pct=12.0, flow_tau_s=1.5, flow_dead_s=0.5,
    )  # fmt: skip
    assert tuning_for(limits) == Tuning(
        flow_nominal_lpm=300.0, kvs_m3_h=50.0, rangeability=30.0, kv_rest_m3_h=16.0, stroke_s=120.0, least_pct=12.0,
        meter_lag_s=1.5, meter_dead_s=0.5,
    )  # fmt: skip


def test_a_ceiling_stands_above_half_of_nominal_and_below_the_racks_own_need() -> None:
    assert (Tuning(ceiling_lpm=150.0).low_lpm, Tuning(ceiling_lpm=150.0).high_lpm) == (99.0, 150.0)
    assert (Tuning(ceiling_lpm=80.0).low_lpm, Tuning(ceiling_lpm=80.0).high_lpm) == (80.0, 80.0)
    own = Tuning(ceiling_lpm=80.0, minimum_lpm=110.0)
    assert (own.low_lpm, own.high_lpm) == (110.0, 110.0)
    assert (Tuning(ceiling_lpm=400.0).low_lpm, Tuning(ceiling_lpm=400.0).high_lpm) == (99.0, 247.5)
