"""What each row of the trip table says of one look at the field: every vote, every limit on its very value."""

from collections.abc import Mapping
from dataclasses import replace
from math import nextafter

import pytest

from tests.plant import FLOWING_VALUES, commissioned, limits
from tests.valvey.core.bench import seen
from valvey.core import judges
from valvey.core.chart import PERMIT_ON, STROKED, State, Step
from valvey.core.limits import LPM_PER_KW
from valvey.core.memory import STROKE_S, Bypass, Effect, Stroke
from valvey.core.policy import Action, PolicyRule
from valvey.core.verdict import NOT_ARMED, D, H, Judgement, Timer, U, Verdict
from valvey.core.view import CARRYING_FRACTION, View

L = limits()
NOW_S = 1000.0
N = Verdict.NOT_ARMED


def look(values: Mapping[str, float | None] | None = None, asked: Effect | None = None, /, **memory: object) -> View:
    """A rack in service of which only these values are known."""
    changed = replace(commissioned(), steering=None, **memory)  # type: ignore[arg-type]
    return replace(seen(changed, values or {}), asked=frozenset() if asked is None else frozenset({asked}))


def above(limit: float) -> float:
    return nextafter(limit, float("inf"))


def below(limit: float) -> float:
    return nextafter(limit, 0.0)


# --- SIF-1 ---------------------------------------------------------------------------------------------------------------


def leaks(rule: PolicyRule, values: Mapping[str, float | None], **memory: object) -> Verdict:
    return judges.leak(rule)(look(values, **memory)).verdict


def test_a_rule_of_two_wants_two_wet_and_does_not_know_while_the_lost_ones_could_be_the_second() -> None:
    rule = PolicyRule("two", judges.DETECTORS, Action.ISOLATE, 0.0, count=2)
    wet, dry, lost = 1.0, 0.0, None
    for values, wanted in (
        ((wet, wet, dry), D), ((wet, wet, lost), D), ((wet, wet, wet), D), ((wet, dry, dry), H), ((wet, lost, dry), U),
        ((lost, lost, dry), U), ((lost, dry, dry), H), ((dry, dry, dry), H),
    ):  # fmt: skip
        assert leaks(rule, dict(zip(judges.DETECTORS, values, strict=True))) is wanted, values


def test_a_bypassed_detector_has_no_vote_and_without_any_the_rule_is_not_armed() -> None:
    rule = PolicyRule("one", ("LDT-101",), Action.ISOLATE, 0.0)
    bypass = (Bypass("LDT-101", "anna", "exchange", 0.0, 2000.0),)
    assert leaks(rule, {"LDT-101": 1.0}) is D
    assert leaks(rule, {"LDT-101": 1.0}, bypasses=bypass) is N
    assert judges.all_detectors_lost(look({"LDT-101": None, "LDT-102": 0.0})).verdict is H
    assert judges.all_detectors_lost(look({"LDT-101": None, "LDT-102": None})).verdict is U
    assert judges.all_detectors_lost(look({"LDT-101": 0.0, "LDT-102": None}, bypasses=bypass)).verdict is U
    both = (*bypass, replace(bypass[0], name="LDT-102"))
    assert judges.all_detectors_lost(look({}, bypasses=both)) == NOT_ARMED


def test_a_tray_is_wet_as_long_as_its_evidence_holds() -> None:
    rule = PolicyRule("tray", ("TRAY-7",), Action.ISOLATE, 0.0)
    for until_s, wanted in ((NOW_S, H), (above(NOW_S), D)):
        judged = judges.leak(rule)(look(evidence_s={"TRAY-7": until_s}))
        assert judged == Judgement(wanted, "TRAY-7", float(wanted is D), None, NOW_S)
    assert leaks(rule, {}) is H
    assert judges.leak(rule)(seen(commissioned(), {}, now_s=0.05)).verdict is H, (
        "nor is one without any, from the first moment"
    )


def test_a_second_symptom_is_another_detector_or_flows_that_differ_by_more_than_is_tolerated() -> None:
    rule = PolicyRule("floor", ("LDT-103",), Action.ISOLATE, 0.0, second_symptom=True)
    calm = {"LDT-101": 0.0, "LDT-102": 0.0, "LDT-103": 1.0, "FT-101": 198.0, "FT-102": 198.0}
    assert leaks(rule, calm) is H
    assert leaks(rule, calm | {"LDT-103": 0.0, "LDT-101": 1.0}) is H
    for detector in judges.RACK_DETECTORS:
        assert leaks(rule, calm | {detector: 1.0}) is D
        assert leaks(rule, calm | {detector: None}) is U
    assert leaks(rule, calm | {"FT-102": 100.0}) is D
    assert leaks(rule, calm | {"FT-102": None}) is U
    imbalance = look(calm).imbalance()
    assert imbalance is not None
    at_limit = calm | {"FT-102": 198.0 - imbalance.tolerated_lpm}
    assert leaks(rule, at_limit) is H


# --- SIF-2, 3, 5, 6: pressures and temperatures ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kpa", "shut", "wanted"),
    [
        (L.supply_hh_kpa, 0.0, H), (above(L.supply_hh_kpa), 0.0, D), (above(L.supply_hh_kpa), None, D),
        (above(L.supply_hh_kpa), 1.0, N), (None, 0.0, U),
    ],
)  # fmt: skip
def test_over_pressure(kpa: float | None, shut: float | None, wanted: Verdict) -> None:
    judged = judges.over_pressure(look({"PT-101": kpa, "ZSC-101": shut}))
    assert judged.verdict is wanted
    assert judged.blind is (wanted is U)


CARRIES = CARRYING_FRACTION * L.flow_nominal_lpm
HOT, COOL = above(65.0), 65.0


@pytest.mark.parametrize(
    ("flow", "ret", "temperatures", "wanted"),
    [
        (CARRIES, None, (HOT, HOT, HOT), N),
        (CARRIES, CARRIES, (HOT, HOT, HOT), N),
        (above(CARRIES), None, (HOT, HOT, COOL), D),
        (0.0, above(CARRIES), (COOL, HOT, HOT), D),
        (None, None, (HOT, COOL, HOT), D),
        (198.0, 198.0, (HOT, COOL, COOL), H),
        (198.0, 198.0, (HOT, None, COOL), D),
        (198.0, 198.0, (COOL, None, COOL), H),
        (198.0, 198.0, (None, None, HOT), D),
        (198.0, 198.0, (None, None, None), U),
    ],
)
def test_a_hot_return_is_judged_by_two_of_three_while_something_carries_the_heat_there(
    flow: float | None, ret: float | None, temperatures: tuple[float | None, ...], wanted: Verdict
) -> None:
    values = {"FT-101": flow, "FT-102": ret, **dict(zip(("TT-102A", "TT-102B", "TT-102C"), temperatures, strict=True))}
    judge = judges.return_hot(lambda _: 65.0)
    assert judge(look(values)).verdict is wanted
    assert judge(look(values, state=State.COOLDOWN)).verdict is N


@pytest.mark.parametrize(("celsius", "wanted"), [(47.0, H), (above(47.0), D), (None, U)])
def test_a_hot_supply(celsius: float | None, wanted: Verdict) -> None:
    judge = judges.supply_hot(lambda _: 47.0)
    assert judge(look({"TT-101": celsius})).verdict is wanted
    assert judge(look({"TT-101": celsius}, state=State.ISOLATED)).verdict is N


@pytest.mark.parametrize("state", State)
def test_the_permit_is_on_where_it_is_demanded_and_at_the_start_where_the_field_says_so(state: State) -> None:
    for contact in (1.0, 0.0, None):
        wanted = state in PERMIT_ON or (state is State.STARTUP and contact == 1.0)
        assert judges.permit_on(look({"XI-101": contact}, state=state)) is wanted


LOW, HIGH = below(L.static_ll_kpa), L.static_ll_kpa


@pytest.mark.parametrize(
    ("supply", "ret", "wanted"),
    [
        (LOW, LOW, D), (LOW, None, D), (None, LOW, D), (LOW, HIGH, H), (HIGH, LOW, H), (HIGH, HIGH, H), (None, HIGH, H),
        (HIGH, None, H), (None, None, U),
    ],
)  # fmt: skip
def test_static_pressure_is_lost_when_no_transmitter_says_otherwise(
    supply: float | None, ret: float | None, wanted: Verdict
) -> None:
    values = {"PT-101": supply, "PT-102": ret}
    assert judges.static_lost(look(values | {"ZSC-102": 0.0})).verdict is wanted
    assert judges.static_lost(look(values)).verdict is wanted
    assert judges.static_lost(look(values | {"ZSC-102": 1.0})).verdict is N


# --- SIF-4 ---------------------------------------------------------------------------------------------------------------


def flow_judged(values: Mapping[str, float | None], hold_by_load: bool = True, **memory: object) -> Judgement:
    return judges.flow_lost(lambda _: 0.25, hold_by_load)(look(values, **memory))


def dp_of(lpm: float) -> dict[str, float | None]:
    """Pressures whose difference drives that flow."""
    full = look(dict(FLOWING_VALUES)).dp_flow_lpm()
    assert full is not None
    return {"PT-101": 200.0 + 94.2 * (lpm / full) ** 2, "PT-102": 200.0}


LIMIT = 0.25 * LPM_PER_KW * 100.0
LESS, ENOUGH = below(LIMIT), LIMIT


@pytest.mark.parametrize(
    ("supply", "ret", "by_dp", "wanted", "tag"),
    [
        (LESS, LESS, 100.0, D, "FT-101"),
        (LESS, LESS, None, D, "FT-101"),
        (LESS, ENOUGH, None, D, "FT-101"),
        (ENOUGH, LESS, None, D, "FT-102"),
        (LESS, ENOUGH, 100.0, H, "FT-102"),
        (LESS, ENOUGH, 10.0, D, "FT-101"),
        (ENOUGH, ENOUGH, None, H, "FT-101"),
        (None, None, 10.0, D, "PT-101"),
        (None, None, 100.0, U, "FT-101"),
        (None, None, None, U, "FT-101"),
    ],
)
def test_flow_is_lost_by_two_of_three(
    supply: float | None, ret: float | None, by_dp: float | None, wanted: Verdict, tag: str
) -> None:
    values = {"JT-101": 100.0, "FT-101": supply, "FT-102": ret, **({} if by_dp is None else dp_of(by_dp))}
    judged = flow_judged(values)
    assert (judged.verdict, judged.tag, judged.blind, judged.hold_s) == (
        wanted,
        tag,
        values.keys() == {"JT-101", "FT-101", "FT-102"} and wanted is U,
        2.3,
    )
    assert judged.limit == LIMIT
    assert flow_judged(values, hold_by_load=False).hold_s is None
    assert flow_judged(values, state=State.COOLDOWN) == NOT_ARMED


@pytest.mark.parametrize(
    ("load_kw", "hold_s"), [(500.0, 1.0), (230.0, 1.0), (200.0, 1.15), (50.0, 3.0), (None, 230.0 / 132.0)]
)
def test_the_less_load_the_longer_the_hold_and_a_load_that_is_unknown_is_the_rating(
    load_kw: float | None, hold_s: float
) -> None:
    judged = flow_judged({"JT-101": load_kw, "FT-101": 1.0})
    assert judged.hold_s == pytest.approx(hold_s)
    assert judged.limit == pytest.approx(0.25 * LPM_PER_KW * (132.0 if load_kw is None else load_kw))


@pytest.mark.parametrize(
    ("timers", "wanted"),
    [
        ({}, N),
        ({"SIF-4": Timer(H, 0.0)}, N),
        ({"SIF-4": Timer(U, 0.0)}, N),
        ({"SIF-4": Timer(H, 0.05)}, U),
        ({"SIF-4": Timer(D, 0.0)}, U),
        ({"SIF-4/low": Timer(D, 0.0)}, U),
        ({"SIF-4/low": Timer(H, 0.05), "SIF-4": Timer()}, U),
        ({"SIF-3": Timer(D, 1.0), "SIF-5": Timer(D, 1.0), "SIF-40": Timer()}, N),
    ],
)
def test_a_low_load_disarms_it_but_freezes_a_hold_that_has_begun(timers: dict[str, Timer], wanted: Verdict) -> None:
    low_kw = L.armed_load_fraction * L.rating_kw
    values = {"JT-101": low_kw, "FT-101": 0.0, "FT-102": 0.0}
    judged = flow_judged(values, timers=timers)
    assert judged == (NOT_ARMED if wanted is N else Judgement(U, "FT-101", at_s=NOW_S))
    assert flow_judged(values | {"JT-101": above(low_kw)}, timers=timers).verdict is D


# --- SIF-7, 8, 10 -----------------------------------------------------------------------------------------------------------


def test_an_emergency_stop_is_the_button_or_who_asked() -> None:
    for contact, wanted in ((1.0, D), (0.0, H), (None, U)):
        assert judges.emergency_stop(look({"HS-101": contact})).verdict is wanted
        asked = judges.emergency_stop(look({"HS-101": contact}, Effect.ESD))
        assert asked == Judgement(D, "emergency_stop", 1.0, None, NOW_S)
        assert judges.emergency_stop(look({"HS-101": contact}, Effect.DARK)).verdict is wanted


def test_who_asks_trips_and_silence_never_does() -> None:
    judge = judges.asked(Effect.DARK, "HS-103")
    for contact in (1.0, 0.0, None):
        assert judge(look({"HS-103": contact}, Effect.DARK)) == Judgement(D, "request", 1.0, None, NOW_S)
    assert judge(look({"HS-103": 1.0})) == Judgement(D, "HS-103", 1.0, None, NOW_S)
    assert judge(look({"HS-103": 1.0}, Effect.ESD)).tag == "HS-103"
    for contact in (0.0, None):
        assert judge(look({"HS-103": contact})) == Judgement(H, "request", 1.0, None, NOW_S)
    bare = judges.asked(Effect.DARK)
    assert bare(look({"": 1.0})) == Judgement(H, "request", 1.0, None, NOW_S)


@pytest.mark.parametrize(
    ("ack_age_s", "armed_age_s", "age_s", "wanted"),
    [
        (None, L.write_dark_s, L.write_dark_s, D),
        (None, 1.0, 1.0, H),
        (L.write_dark_s, 50.0, L.write_dark_s, D),
        (L.write_dark_s - 0.125, 50.0, L.write_dark_s - 0.125, H),
        (50.0, 1.0, 1.0, H),
    ],
)
def test_a_write_is_missed_from_the_last_acknowledgement_or_from_arming(
    ack_age_s: float | None, armed_age_s: float, age_s: float, wanted: Verdict
) -> None:
    view = look({} if ack_age_s is None else {"WRITE-ACK": 0.0}, armed_since_s=NOW_S - armed_age_s)
    if ack_age_s is not None:
        ack = replace(view.readings["WRITE-ACK"], at_s=NOW_S - ack_age_s)
        view = replace(view, readings={"WRITE-ACK": ack})
    assert judges.not_acknowledged(view) == Judgement(wanted, "WRITE-ACK", age_s, L.write_dark_s, NOW_S - age_s)
    disarmed = replace(view, memory=replace(view.memory, armed=False))
    assert judges.not_acknowledged(disarmed) == NOT_ARMED


# --- SIF-9 -----------------------------------------------------------------------------------------------------------------

STROKE = replace(L, stroke_101_s=2.0, stroke_102_s=4.0, flow_tau_s=2.0)
SHUT = {"ZSC-101": 1.0, "ZSC-102": 1.0, "FT-101": 0.0, "FT-102": 0.0, "PT-101": 200.0, "PT-201": 320.0, "PT-202": 150.0}
REFS = {"header_ref_kpa": (200.0, 300.0), "return_ref_kpa": (200.0, 150.0)}


def votes(values: Mapping[str, float | None], age_s: float = 60.0, /, **memory: object) -> list[Verdict]:
    view = look(values, shut_since_s=NOW_S - age_s, **(REFS | memory))
    return [vote.verdict for vote in judges.shut_votes(replace(view, limits=STROKE))]


def test_nothing_is_judged_before_the_slower_valve_had_half_as_much_again_as_its_stroke() -> None:
    assert judges.shut_votes(look(SHUT)) == []
    assert votes(SHUT, 5.875) == []
    assert votes(SHUT, 6.0) == [H, U, U]
    swapped = replace(STROKE, stroke_101_s=4.0, stroke_102_s=2.0)
    early = replace(look(SHUT, shut_since_s=NOW_S - 5.875), limits=swapped)
    assert judges.shut_votes(early) == []
    assert judges.not_proven_shut(early) == NOT_ARMED


def test_flow_is_no_vote_before_it_can_have_come_to_rest() -> None:
    flows = SHUT | {"FT-101": 100.0}
    assert votes(flows, 6.0 + 4.0 * STROKE.flow_tau_s - 0.125) == [H, U, U]
    assert votes(flows, 6.0 + 4.0 * STROKE.flow_tau_s) == [H, D, U]


def test_either_valve_and_either_meter_count() -> None:
    nil = L.closed_flow_fraction * L.flow_nominal_lpm
    for valve in ("ZSC-101", "ZSC-102"):
        assert votes(SHUT | {valve: 0.0})[0] is D
        assert votes(SHUT | {valve: None})[0] is U
    for meter in ("FT-101", "FT-102"):
        assert votes(SHUT | {meter: nil})[1] is H
        assert votes(SHUT | {meter: above(nil)})[1] is D
        assert votes(SHUT | {meter: None})[1] is U


@pytest.mark.parametrize(
    ("rack_kpa", "header_kpa", "wanted"),
    [
        (205.0, 310.0, D),  # moved by 10, half of it followed
        (204.9, 310.0, H),
        (205.0, 309.9, U),  # has not moved far enough
        (195.0, 290.0, D),
        (195.1, 290.0, H),
        (205.0, 290.0, H),  # the other way
        (None, 310.0, U),
        (205.0, None, U),
    ],
)
@pytest.mark.parametrize("header", ["PT-201", "PT-202"])
def test_a_rack_that_moves_half_as_far_as_a_header_is_joined_to_it(
    header: str, rack_kpa: float | None, header_kpa: float | None, wanted: Verdict
) -> None:
    mine, other = ("header_ref_kpa", "return_ref_kpa") if header == "PT-201" else ("return_ref_kpa", "header_ref_kpa")
    values = {"ZSC-101": 1.0, "ZSC-102": 1.0, "FT-101": 0.0, "FT-102": 0.0, "PT-101": rack_kpa, header: header_kpa}
    found = votes(values, **{mine: (200.0, 300.0), other: None})[2]
    assert found is (U if wanted is H else wanted)  # nothing is known of the other header
    assert votes(values, header_ref_kpa=None, return_ref_kpa=None)[2] is U


def test_what_a_rack_is_compared_with_is_told() -> None:
    view = look({"PT-101": 207.0, "PT-201": 310.0}, shut_since_s=NOW_S - 60.0, **REFS)
    vote = judges.shut_votes(view)[2]
    assert (vote.verdict, vote.tag, vote.value, vote.limit) == (D, "PT-101", 207.0, 200.0)


def test_a_rack_is_shut_off_from_the_headers_when_both_have_moved_and_it_has_not() -> None:
    assert votes(SHUT | {"PT-202": 120.0})[2] is H
    assert votes(SHUT)[2] is U


@pytest.mark.parametrize(
    ("position", "flow", "joined", "wanted"),
    [
        (0.0, 100.0, None, D), (0.0, 0.0, None, U), (1.0, 0.0, None, H), (1.0, 100.0, None, U), (0.0, None, None, U),
        (1.0, None, None, U), (0.0, 0.0, True, D), (1.0, 100.0, True, D), (1.0, 0.0, True, H), (None, None, True, U),
    ],
)  # fmt: skip
def test_two_of_three_say_that_a_rack_is_not_shut(
    position: float | None, flow: float | None, joined: bool | None, wanted: Verdict
) -> None:
    values = {"ZSC-101": position, "ZSC-102": position, "FT-101": flow, "FT-102": flow}
    if joined:
        values |= {"PT-101": 220.0, "PT-201": 320.0, "PT-202": 150.0}
    view = look(values, shut_since_s=NOW_S - 60.0, **REFS)
    assert judges.not_proven_shut(view).verdict is wanted


# --- SIF-12, 13 and the lost proofs --------------------------------------------------------------------------------------------

WANTED = look({"JT-101": 132.0}).setpoint_lpm()
OPEN = {
    "ZSO-101": 1.0,
    "ZSO-102": 1.0,
    "ZSC-101": 0.0,
    "ZSC-102": 0.0,
    "JT-101": 132.0,
    "FT-101": WANTED,
    "FT-102": WANTED,
}
FEW = {"FT-101": below(0.7 * WANTED), "FT-102": 0.0}


@pytest.mark.parametrize("number", ["101", "102"])
def test_an_open_limit_is_lost_with_a_second_sign_only(number: str) -> None:
    def judged(**changes: float | None) -> Verdict:
        named = {"zso": f"ZSO-{number}", "zsc": f"ZSC-{number}"}
        return judges.left_open_limit(look(OPEN | {named[key]: value for key, value in changes.items()})).verdict

    assert [judged(), judged(zso=0.0), judged(zso=0.0, zsc=1.0), judged(zso=1.0, zsc=1.0)] == [H, H, D, H]
    assert [judged(zso=None, zsc=1.0), judged(zso=0.0, zsc=None), judged(zso=None), judged(zsc=None)] == [U, U, H, H]
    lost = OPEN | {f"ZSO-{number}": 0.0}
    assert judges.left_open_limit(look(lost | FEW)).verdict is D
    assert judges.left_open_limit(look(lost | FEW | {"FT-102": 0.7 * WANTED})).verdict is H
    assert judges.left_open_limit(look(lost | {"FT-101": None, "FT-102": None})).verdict is U
    assert judges.left_open_limit(look(OPEN | FEW)).verdict is H


@pytest.mark.parametrize(("number", "other"), [("101", "102"), ("102", "101")])
def test_the_valve_that_its_device_strokes_has_not_lost_its_limit_or_its_coil(number: str, other: str) -> None:
    stroked = {"stroke": Stroke(number, NOW_S - STROKE_S)}
    lost = OPEN | {f"ZSO-{number}": 0.0, f"ZSC-{number}": 1.0}
    assert judges.left_open_limit(look(lost, **stroked)).verdict is H
    assert judges.left_open_limit(look(lost | {f"ZSO-{other}": 0.0, f"ZSC-{other}": 1.0}, **stroked)).verdict is D
    coils = {f"XY-{number}": 0.0, f"XY-{other}": 1.0}
    assert judges.coil_off(look(coils)).verdict is D
    assert judges.coil_off(look(coils, **stroked)).verdict is H
    assert judges.coil_off(look(coils | {f"XY-{other}": 0.0}, **stroked)).verdict is D


@pytest.mark.parametrize(
    ("contact", "load_kw", "volt", "age_s", "wanted"),
    [
        (0.0, 2.64, 50.0, 9.875, H),
        (0.0, 2.64, 50.0, L.permit_off_volt_s, D),
        (0.0, 2.64, L.dead_volt, L.permit_off_volt_s, H),
        (0.0, 2.65, 0.0, 9.875, D),
        (1.0, 0.0, 0.0, 9.875, D),
        (None, 0.0, 0.0, 9.875, U),
        (0.0, None, 0.0, 9.875, U),
        (0.0, 0.0, None, 9.875, H),
        (0.0, 0.0, None, L.permit_off_volt_s, U),
    ],
)
def test_power_is_not_off_by_contact_load_or_after_a_while_voltage(
    contact: float | None, load_kw: float | None, volt: float | None, age_s: float, wanted: Verdict
) -> None:
    values = {"XI-101": contact, "ET-101": load_kw, "EV-101": volt}
    assert judges.power_not_off(look(values, permit_off_since_s=NOW_S - age_s)).verdict is wanted
    assert judges.power_not_off(look(values)) == NOT_ARMED


@pytest.mark.parametrize(("rise_age_s", "armed"), [(None, True), (0.0, False), (0.875, False), (1.0, True)])
def test_a_permit_that_has_just_risen_has_a_second_to_arrive(rise_age_s: float | None, armed: bool) -> None:
    rise_s = None if rise_age_s is None else NOW_S - rise_age_s
    assert judges.permit_off(look({"XI-101": 0.0}, permit_rise_s=rise_s)).verdict is (D if armed else N)
    assert judges.permit_off(look({"XI-101": 1.0}, permit_rise_s=rise_s)).verdict is (H if armed else N)


@pytest.mark.parametrize(("number", "other"), [("101", "102"), ("102", "101")])
def test_a_shut_limit_is_told_as_made_or_lost_of_either_valve(number: str, other: str) -> None:
    shut, left = {"ZSC-101": 1.0, "ZSC-102": 1.0}, {"ZSC-101": 0.0, "ZSC-102": 0.0}
    assert judges.shut_limit_made(look(left)).verdict is H
    assert judges.shut_limit_made(look(left | {f"ZSC-{number}": 1.0})).verdict is D
    assert judges.shut_limit_made(look(left | {f"ZSC-{number}": None})).verdict is U
    assert judges.shut_limit_lost(look(shut)).verdict is H
    assert judges.shut_limit_lost(look(shut | {f"ZSC-{number}": 0.0})).verdict is D
    for step in (step for step in Step if STROKED.get(step) == number):
        assert judges.shut_limit_lost(look(shut | {f"ZSC-{number}": 0.0}, step=step)).verdict is H
        assert judges.shut_limit_lost(look(shut | {f"ZSC-{other}": 0.0}, step=step)).verdict is D


def test_the_drain_is_not_shut_when_its_limit_is_not_made() -> None:
    for value, wanted in ((1.0, H), (0.0, D), (None, U)):
        assert judges.drain_not_shut(look({"ZSC-103": value})).verdict is wanted
