"""The virtual sensors together: what is seen, what is concluded, which alarms are named, and SIF-11's two symptoms."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from fieldkit.coolant import density_kg_m3
from tests.plant import PaperRack
from valvey.core.mass_balance import LONG_S, WARM_UP_S
from valvey.core.memory import Bypass, Inventory
from valvey.core.plant_signs import Decay, Resistance
from valvey.core.sensing import gross_imbalance, seen, symptoms
from valvey.core.verdict import Verdict
from valvey.core.view import View
from valvey.core.virtual_sensors import (
    ONSET_S,
    OPEN_S,
    Motion,
    Seen,
    Sums,
    VirtualSensors,
    conditions,
    movers,
    observe,
    relearn,
)

FLOWING = Seen(
    rating_kw=132.0,
    nominal_lpm=198.0,
    valves_open=True,
    shut_101=False,
    shut_102=False,
    supply_lpm=198.0,
    return_lpm=198.0,
    supply_c=40.0,
    returns_c=(49.8, 49.8, 49.8),
    supply_kpa=310.0,
    return_kpa=216.0,
    load_kw=130.0,
    level_pct=80.0,
    dew_c=14.0,
    values={"TT-102A": 49.8, "ET-101": 130.0},
    milliamp={"PT-101": 12.0},
)
SHUT = replace(
    FLOWING, valves_open=False, shut_101=True, shut_102=True, full=True, supply_lpm=0.0, return_lpm=0.0, load_kw=0.0
)


def run(state: VirtualSensors, one: Seen, for_s: float, dt_s: float = 1.0) -> VirtualSensors:
    for _ in range(round(for_s / dt_s)):
        state = observe(state, one, dt_s)
    return state


@pytest.fixture(scope="module")
def settled() -> VirtualSensors:
    """An hour and a quarter of even work."""
    return run(VirtualSensors(), FLOWING, 4500)


def test_a_healthy_rack_raises_nothing(settled: VirtualSensors) -> None:
    assert conditions(settled) == ()


def test_scans_of_any_length_make_the_same_seconds(settled: VirtualSensors) -> None:
    leak = replace(FLOWING, return_lpm=196.0)
    fine, coarse = run(settled, leak, 30, 0.05), run(settled, leak, 30)
    assert conditions(fine) == conditions(coarse) == ("mass-balance",)
    assert fine.balance.excess_lpm == pytest.approx(coarse.balance.excess_lpm)


@pytest.mark.parametrize(
    ("change", "for_s", "told"),
    [
        ({"return_lpm": 195.0}, 30, "mass-balance"),
        ({"return_lpm": 202.0}, 30, "meters-apart"),
        ({"supply_lpm": None}, 900, "mass-balance-blind"),
        ({"load_kw": None}, 900, "mass-balance-blind"),
        ({"load_kw": 127.0, "returns_c": (46.0, 46.0, 46.0)}, 400, "heat-balance"),
        ({"supply_kpa": 350.0}, 2000, "fouling"),
        ({"supply_kpa": 280.0}, 2000, "bypass-flow"),
        ({"dew_c": 38.5}, 1, "dew-margin"),
        ({"shut_101": True}, 10, "valve-passing-xv-101"),
        ({"shut_102": True}, 10, "valve-passing-xv-102"),
        ({"returns_c": (49.8, None, 52.0)}, 30, "returns-apart"),
        ({"returns_c": (49.8, 49.8, 52.0)}, 30, "off-tt-102c"),
        ({"values": {"TT-102A": 49.8, "ET-101": 60.0}}, 120, "stuck-tt-102a"),
        ({"milliamp": {"PT-101": 3.5}}, 4, "current-pt-101"),
    ],
)
def test_each_condition_is_named_once_it_has_lasted(
    settled: VirtualSensors, change: dict[str, object], for_s: int, told: str
) -> None:
    worse = replace(FLOWING, **change)  # type: ignore[arg-type]
    assert told not in conditions(settled)
    state = run(settled, worse, for_s)
    assert told in conditions(state)


def test_a_shut_rack_that_loses_pressure_is_named(settled: VirtualSensors) -> None:
    state = run(settled, SHUT, 61)
    assert conditions(state) == ()
    assert conditions(run(state, replace(SHUT, supply_kpa=250.0), 1)) == ("pressure-decay",)


def test_a_rack_of_unknown_margin_and_temperatures_is_not_alarmed_for_it() -> None:
    blind = Seen(132.0, 198.0, shut_101=True, shut_102=True, full=True)
    assert conditions(run(VirtualSensors(), blind, 1000)) == ()


def test_shutting_the_valves_ends_the_balances_alarms(settled: VirtualSensors) -> None:
    leaking = run(settled, replace(FLOWING, return_lpm=195.0), 30)
    assert conditions(run(leaking, SHUT, 1)) == ()


def test_a_scan_of_more_than_a_second_is_not_judged(settled: VirtualSensors) -> None:
    assert observe(settled, FLOWING, 2.0).balance.settled_s == 0.0


def test_learning_anew_forgets_zero_and_resistance_only(settled: VirtualSensors) -> None:
    fresh = relearn(settled)
    assert (fresh.balance.learned_s, fresh.resistance.learned_s) == (0.0, 0.0)
    assert fresh.motion == settled.motion


def test_the_state_survives_being_written_down(settled: VirtualSensors) -> None:
    adapter = TypeAdapter(VirtualSensors)
    text = json.dumps(adapter.dump_python(settled, mode="json"), allow_nan=False)
    assert adapter.validate_json(text) == settled


def test_what_must_move_with_what() -> None:
    assert [(row.tag, row.lsb, row.driver, row.least) for row in movers(130.0, 200.0)] == [
        ("TT-102A", 0.02, "ET-101", 13.0),
        ("TT-102B", 0.02, "ET-101", 13.0),
        ("TT-102C", 0.02, "ET-101", 13.0),
        ("JT-101", 0.01, "ET-101", 13.0),
        ("ET-101", 0.01, "JT-101", 13.0),
        ("FT-101", 0.02, "ZT-101", 5.0),
        ("FT-102", 0.02, "ZT-101", 5.0),
        ("ZT-101", 0.02, "FCV-101", 5.0),
        ("PT-101", 0.02, "FT-101", 20.0),
        ("PT-102", 0.02, "FT-101", 20.0),
    ]


def test_nothing_has_to_move_in_a_rack_that_is_not_open(settled: VirtualSensors) -> None:
    moved = {"TT-102A": 49.8, "ET-101": 60.0}
    assert observe(settled, replace(FLOWING, values=moved), 1.0).still["TT-102A"].must_s == 1.0
    for not_open in (False, None):
        assert observe(settled, replace(FLOWING, valves_open=not_open, values=moved), 1.0).still == settled.still


@pytest.mark.parametrize("valves_open", [False, None])
def test_a_rack_that_is_not_proven_open_is_not_learned_from(settled: VirtualSensors, valves_open: bool | None) -> None:
    state = observe(settled, replace(FLOWING, valves_open=valves_open, supply_kpa=500.0), 0.5)
    assert state.resistance == settled.resistance
    assert observe(state, replace(FLOWING, valves_open=valves_open), 0.5).balance.settled_s == 0.0


def test_a_rack_that_leaks_is_not_learned_from(settled: VirtualSensors) -> None:
    leaking = run(settled, replace(FLOWING, return_lpm=195.0), 30)
    assert leaking.balance.settled_s >= LONG_S
    assert observe(leaking, replace(FLOWING, return_lpm=195.0, supply_kpa=500.0), 1.0).resistance == leaking.resistance


@pytest.mark.parametrize(
    ("kpa", "level", "falling"),
    [
        (212.0, 79.5, (False, False)),
        (211.9, 79.5, (True, False)),
        (212.0, 79.4, (False, True)),
        (None, None, (False, False)),
    ],
)
def test_pressure_and_level_fall_by_so_much_below_the_minutes_mean(
    kpa: float | None, level: float | None, falling: tuple[bool, bool]
) -> None:
    state = VirtualSensors(motion=Motion(return_kpa=215.0, level_pct=80.0))
    motion = observe(state, replace(FLOWING, return_kpa=kpa, level_pct=level), 1e-9).motion
    assert (motion.kpa_falling, motion.level_falling) == falling


def test_the_minutes_mean_follows_by_a_sixtieth_a_second_and_begins_with_the_first_value() -> None:
    first = observe(VirtualSensors(), FLOWING, 0.2).motion
    assert (first.return_kpa, first.level_pct, first.supply_lpm, first.return_lpm) == (216.0, 80.0, 198.0, 198.0)
    moved = replace(FLOWING, return_kpa=210.0, level_pct=74.0, supply_lpm=195.0, return_lpm=201.0)
    later = observe(replace(VirtualSensors(), motion=first), moved, 1.0).motion
    assert later.return_kpa == pytest.approx(215.9)
    assert later.level_pct == pytest.approx(79.9)
    assert later.supply_lpm == pytest.approx(197.0)
    assert later.return_lpm == pytest.approx(199.0)
    far = observe(replace(VirtualSensors(), motion=first), moved, 100.0).motion
    assert (far.return_kpa, far.level_pct, far.supply_lpm) == (210.0, 74.0, 195.0)


@pytest.mark.parametrize("lost", ["supply_lpm", "return_lpm", "supply_c", "load_kw"])
def test_a_lost_reading_begins_the_second_and_the_rest_anew(settled: VirtualSensors, lost: str) -> None:
    state = observe(run(settled, FLOWING, 0.5, 0.25), replace(FLOWING, **{lost: None}), 0.25)  # type: ignore[arg-type]
    assert state.sums == Sums()
    assert state.balance == replace(settled.balance, settled_s=0.0)


@pytest.mark.parametrize("change", [{"shut_101": False}, {"shut_102": False}, {"full": False}])
def test_a_rack_that_is_not_shut_at_both_ends_and_full_has_no_decay(
    settled: VirtualSensors, change: dict[str, Any]
) -> None:
    assert run(settled, SHUT, 30).decay == Decay(30.0)
    assert run(settled, replace(SHUT, **change), 30).decay == Decay()


def test_the_temperature_inside_is_the_mean_of_both_ends(settled: VirtualSensors) -> None:
    warm = replace(SHUT, supply_c=40.0, returns_c=(50.0, 50.0, 50.0))
    assert run(settled, warm, 60).decay.celsius == 45.0


@pytest.mark.parametrize(
    ("learned_s", "settled_s", "blind_s"),
    [(WARM_UP_S, LONG_S, 0.0), (WARM_UP_S - 1.0, LONG_S, 30.1), (WARM_UP_S, LONG_S - 1.0, 30.1)],
)
def test_the_balance_is_blind_until_its_zero_is_learned_and_the_rack_at_rest(
    settled: VirtualSensors, learned_s: float, settled_s: float, blind_s: float
) -> None:
    balance = replace(settled.balance, learned_s=learned_s, settled_s=settled_s)
    state = observe(replace(settled, balance=balance, blind_s=30.0), FLOWING, 0.1)
    assert state.blind_s == pytest.approx(blind_s)
    assert observe(replace(settled, blind_s=30.0), replace(FLOWING, valves_open=None), 0.1).blind_s == 0.0


def test_a_second_of_any_length_is_its_mean() -> None:
    short, exact = run(VirtualSensors(), FLOWING, 1.2, 0.4), run(VirtualSensors(), FLOWING, 1.0, 1.0)
    assert short.sums == Sums()
    for name in ("supply_lpm", "return_lpm", "return_c", "load_5", "load_30", "long_sum"):
        assert getattr(short.balance, name) == pytest.approx(getattr(exact.balance, name)), name
    assert short.balance.load_5 == pytest.approx(0.2 * 130.0 / 132.0)  # a fifth of the way from nought


@pytest.mark.parametrize(
    ("dt_s", "whole"), [(0.95, False), (1.0 - 2e-6, False), (1.0 - 1e-6, True), (1.0, True), (1.1, True)]
)
def test_a_second_is_whole_when_a_millionth_is_missing(settled: VirtualSensors, dt_s: float, whole: bool) -> None:
    state = observe(settled, FLOWING, dt_s)
    assert (state.sums == Sums()) is whole
    if whole:
        assert (state.balance.settled_s > settled.balance.settled_s) is (dt_s <= 1.0)


@pytest.mark.parametrize(("supply_lpm", "still"), [(39.6, False), (39.7, True), (198.0, True)])
def test_too_little_flow_is_not_judged(settled: VirtualSensors, supply_lpm: float, still: bool) -> None:
    assert observe(settled, replace(FLOWING, supply_lpm=supply_lpm), 0.5).sums.still is still


def test_a_suspicion_stands_while_the_valves_are_not_known_to_be_shut(settled: VirtualSensors) -> None:
    leaking = run(settled, replace(FLOWING, return_lpm=195.0), 30)
    for valves_open, stands in ((True, True), (None, True), (False, False)):
        assert observe(leaking, replace(FLOWING, valves_open=valves_open), 0.1).balance.leaking is stands


@pytest.mark.parametrize(("settled_s", "learned"), [(LONG_S, True), (LONG_S - 1.0, False)])
def test_the_resistance_is_learned_at_rest(settled: VirtualSensors, settled_s: float, learned: bool) -> None:
    state = replace(settled, balance=replace(settled.balance, settled_s=settled_s))
    changed = observe(state, replace(FLOWING, supply_kpa=330.0), 0.1).resistance != settled.resistance
    assert changed is learned


def test_what_is_tolerated_is_a_share_of_the_supply() -> None:
    for ret, apart in ((361.0, False), (359.9, True)):
        assert (
            bool(observe(VirtualSensors(), replace(FLOWING, supply_lpm=400.0, return_lpm=ret), 1.0).motion.apart_s)
            is apart
        )


def test_just_so_much_below_the_mean_is_not_falling() -> None:
    state = VirtualSensors(motion=Motion(5.0, return_kpa=216.0))
    motion = observe(state, replace(FLOWING, return_kpa=210.0, valves_open=None), 30.0).motion
    assert (motion.return_kpa, motion.kpa_falling, motion.open_s) == (213.0, False, 0.0)


def test_without_return_temperatures_the_second_begins_anew(settled: VirtualSensors) -> None:
    assert observe(settled, replace(FLOWING, returns_c=(None, None, None)), 0.5).balance.settled_s == 0.0


@pytest.mark.parametrize(
    ("present", "told"), [(25.0, ()), (25.01, ("fouling",)), (16.0, ()), (15.99, ("bypass-flow",))]
)
def test_a_quarter_more_and_a_fifth_less_are_tolerated(present: float, told: tuple[str, ...]) -> None:
    assert conditions(VirtualSensors(resistance=Resistance(20.0, present, 3600.0, 300.0))) == told


def test_a_current_out_of_range_is_counted_from_nought(settled: VirtualSensors) -> None:
    assert observe(settled, replace(FLOWING, milliamp={"PT-102": 2.0}), 0.5).currents_s == {"PT-102": 0.5}


# -- SIF-11 ------------------------------------------------------------------------------------------------------------


def view_of(rack: PaperRack, eyes: VirtualSensors | None = None) -> View:
    memory = rack.memory if eyes is None else replace(rack.memory, sensors=eyes)
    return View(rack.readings(), memory, rack.limits, rack.now_s)


def looked(rack: PaperRack, state: VirtualSensors, for_s: float = 15.0) -> VirtualSensors:
    for _ in range(round(for_s)):
        state = observe(state, seen(view_of(rack)), 1.0)
    return state


def burst(rack: PaperRack, **values: float | None) -> None:
    rack.values.update({"FT-101": 220.0, "FT-102": 170.0})
    rack.values.update({name.replace("_", "-"): value for name, value in values.items()})


@pytest.fixture
def eyes(rack: PaperRack) -> VirtualSensors:
    rack.values.update({"LT-201": 80.0})
    return looked(rack, VirtualSensors())


@pytest.mark.parametrize(
    ("values", "symptom"),
    [
        ({"LDT_101": 1.0}, "LDT-101"),
        ({"LDT_103": 1.0}, "LDT-103"),
        ({"PT_102": 210.0}, "PT-102"),
        ({"LT_201": 79.0}, "LT-201"),
        ({"PT_101": 310.0, "PT_102": 215.8}, "dP-flow"),
    ],
)
def test_gross_imbalance_with_a_second_symptom_is_a_demand(
    rack: PaperRack, eyes: VirtualSensors, values: dict[str, float], symptom: str
) -> None:
    burst(rack, **{"PT_101": 215.8, **values})
    eyes = looked(rack, eyes, 8.0)
    judgement = gross_imbalance(view_of(rack, eyes))
    assert symptoms(view_of(rack, eyes)) == (symptom,)
    assert judgement.verdict is Verdict.DEMAND
    assert judgement.value is not None
    assert judgement.value > 50.0  # more than the readings say: the return is warmer
    assert judgement.limit == 30.0


@pytest.mark.parametrize("supply_kpa", [332.0, 286.0])
def test_a_single_wrong_meter_is_no_demand(rack: PaperRack, eyes: VirtualSensors, supply_kpa: float) -> None:
    burst(rack, PT_101=supply_kpa)  # the flow by dP stands with one of the two meters
    eyes = looked(rack, eyes)
    assert symptoms(view_of(rack, eyes)) == ()
    assert gross_imbalance(view_of(rack, eyes)).verdict is Verdict.HEALTHY


def test_a_difference_within_tolerance_is_healthy_whatever_is_wet(rack: PaperRack, eyes: VirtualSensors) -> None:
    rack.values.update({"FT-101": 198.0, "FT-102": 175.0, "LDT-101": 1.0})
    assert gross_imbalance(view_of(rack, looked(rack, eyes))).verdict is Verdict.HEALTHY


def test_a_rack_just_opened_waits_and_is_not_blind(rack: PaperRack) -> None:
    burst(rack, LDT_101=1.0)
    judgement = gross_imbalance(view_of(rack, looked(rack, VirtualSensors(), OPEN_S - 1.0)))
    assert (judgement.verdict, judgement.blind) == (Verdict.UNKNOWN, False)
    assert gross_imbalance(view_of(rack, looked(rack, VirtualSensors(), OPEN_S))).verdict is Verdict.DEMAND


@pytest.mark.parametrize(
    ("supply", "ret", "changing"),
    [
        (200.25, 200.25, 0.25),
        (220.0, 205.0, 20.0),
        (190.0, 170.0, 30.0),
        (220.0, 190.0, 0.0),
        (190.0, 230.0, 0.0),
        (220.0, 200.0, 0.0),
    ],
)
def test_a_flow_that_changes_moves_both_meters_the_same_way(supply: float, ret: float, changing: float) -> None:
    assert Motion(OPEN_S, 200.0, 200.0).changing_lpm(supply, ret) == changing


def test_the_flows_count_as_apart_while_both_are_known_and_differ_by_more_than_is_tolerated() -> None:
    apart = replace(FLOWING, return_lpm=167.9)
    state = run(VirtualSensors(), apart, 30)
    assert state.motion.apart_s == 30.0
    assert run(state, apart, 200).motion.apart_s == ONSET_S
    for change in ({"return_lpm": 168.0}, {"return_lpm": None}, {"supply_lpm": None}):
        assert observe(state, replace(apart, **change), 1.0).motion.apart_s == 0.0


@pytest.mark.parametrize(
    "motion",
    [Motion(OPEN_S - 0.1, 200.0, 200.0), Motion(OPEN_S), Motion(OPEN_S, 200.0, None), Motion(OPEN_S, None, 200.0)],
)
def test_without_a_mean_nothing_is_known_of_the_change(motion: Motion) -> None:
    assert motion.changing_lpm(200.0, 200.0) is None


def test_valves_that_are_not_proven_open_disarm_it(rack: PaperRack, eyes: VirtualSensors) -> None:
    burst(rack, LDT_101=1.0, ZSO_101=0.0)
    assert gross_imbalance(view_of(rack, eyes)).verdict is Verdict.NOT_ARMED


@pytest.mark.parametrize("tag", ["FT-101", "FT-102"])
def test_without_a_meter_it_is_blind(rack: PaperRack, eyes: VirtualSensors, tag: str) -> None:
    burst(rack, LDT_101=1.0)
    rack.values[tag] = None
    judgement = gross_imbalance(view_of(rack, eyes))
    assert (judgement.verdict, judgement.blind) == (Verdict.UNKNOWN, True)
    assert symptoms(view_of(rack, eyes)) == ("LDT-101",)


def test_a_bypassed_detector_is_no_symptom(rack: PaperRack, eyes: VirtualSensors) -> None:
    burst(rack, LDT_101=1.0, PT_101=None)
    bypass = Bypass("LDT-101", "ann", "splashing", rack.now_s, rack.now_s + 60.0)
    view = view_of(rack, eyes)
    assert symptoms(replace(view, memory=replace(view.memory, bypasses=(bypass,)))) == ()


def test_without_temperatures_the_difference_is_taken_as_it_is(rack: PaperRack) -> None:
    burst(rack, TT_101=None)
    assert view_of(rack).imbalance() == (220.0, 170.0, 50.0, 30.0)
    rack.values.update({"TT-101": 40.0, "TT-102A": None, "TT-102B": None, "TT-102C": None})
    assert view_of(rack).imbalance() == (220.0, 170.0, 50.0, 30.0)
    rack.values["TT-102A"] = 50.0
    flows = view_of(rack).imbalance()
    assert flows is not None
    assert flows.apart_lpm == pytest.approx(220.0 - 170.0 * density_kg_m3(50.0) / density_kg_m3(40.0))
    rack.values["FT-102"] = None
    assert view_of(rack).imbalance() is None


def test_the_learned_resistance_gives_the_flow_by_dp(rack: PaperRack) -> None:
    rack.values.update({"PT-101": 260.0, "PT-102": 215.0})  # a rack of less resistance than its data sheet
    eyes = looked(rack, VirtualSensors(), 600.0)
    burst(rack)
    assert symptoms(view_of(rack, looked(rack, eyes, 5.0))) == ("dP-flow",)


def test_the_eyes_take_the_rooms_dew_point_or_a_floor_and_the_feeder_for_the_busbar(shut_rack: PaperRack) -> None:
    one = seen(view_of(shut_rack))
    assert (one.dew_c, one.load_kw, one.valves_open, one.shut_101) == (18.0, 0.0, False, True)
    assert one.full is (shut_rack.memory.inventory is Inventory.FULL)
    shut_rack.values.update({"TT-110": 27.0, "MT-110": 45.0, "ET-101": None, "JT-101": 3.0})
    one = seen(view_of(shut_rack))
    assert one.dew_c == pytest.approx(14.05, abs=0.05)
    assert one.load_kw == 3.0
