"""Values that are in range and cannot be true."""

import math

from hypothesis import given
from hypothesis import strategies as st

from fieldkit.plausibility import CONFIRM_WITHIN, FRESH, SETTLING_POLLS, Plausibility, PointState, Rule, judge, rules_of
from fieldkit.point import PointType
from fieldkit.reading import Quality, Reading, Reason, bad
from fieldkit.units import Unit
from tests.fieldkit.points import contact, number
from tests.fieldkit.test_profile import COMMAND, profile

RULE = Rule(max_rate=400.0)
"""400 L/min per second: a step of more than 100 L/min in one poll is impossible."""


def flow(value: float, at_s: float) -> Reading:
    return Reading("FT-101", value, Unit.L_MIN, Quality.GOOD, at_s)


def told(values: list[float], rule: Rule = RULE, state: PointState | None = None) -> list[Reason | None]:
    """Return the reasons of ``values``, 20 ms apart, after a settled 300 L/min."""
    state = PointState(300.0, 0.0, 0.0, None, 0) if state is None else state
    out: list[Reason | None] = []
    for n, value in enumerate(values):
        state, reading = judge(rule, state, flow(value, 0.02 * (n + 1)))
        assert reading.value == value
        assert (reading.quality is Quality.GOOD) == (reading.reason is None)
        out.append(reading.reason)
    return out


RATE = Reason.RATE


def test_a_possible_change_is_believed_at_once() -> None:
    assert told([310.0, 290.0, 200.0, 101.0]) == [None] * 4


def test_one_impossible_sample_is_doubted_and_forgotten() -> None:
    assert told([0.0, 300.0, 300.0, 300.0, 300.0]) == [RATE, None, None, None, None]


def test_a_step_that_two_samples_confirm_is_believed() -> None:
    assert told([0.0, 0.0, 0.0, 0.0]) == [RATE, RATE, None, None]


def test_two_of_three_are_enough_whichever_they_are() -> None:
    assert told([0.0, 300.0, 0.0, 0.0]) == [RATE, None, RATE, None]
    assert told([0.0, 0.0, 300.0, 0.0]) == [RATE, RATE, None, None]


def test_one_of_three_is_not_enough_and_the_count_starts_again() -> None:
    assert told([0.0, 300.0, 300.0, 0.0, 0.0, 0.0]) == [RATE, None, None, RATE, RATE, None]
    assert told([0.0, 300.0, 300.0, 300.0, 0.0]) == [RATE, None, None, None, RATE]


def test_a_fall_that_goes_on_confirms_itself() -> None:
    assert told([180.0, 60.0, 0.0]) == [RATE, RATE, None]


def test_samples_that_agree_with_nothing_stay_doubted() -> None:
    assert told([0.0, 600.0, 0.0, 600.0, 0.0, 600.0]) == [RATE] * 6


def test_a_sample_that_disagrees_with_the_doubt_starts_a_new_one() -> None:
    assert told([0.0, 150.0, 150.0, 150.0]) == [RATE, RATE, RATE, None]


def test_time_that_passed_makes_a_step_possible() -> None:
    state = PointState(300.0, 0.0, 0.0, None, 0)
    assert judge(RULE, state, flow(0.0, 0.7))[1].reason is RATE
    assert judge(RULE, state, flow(0.0, 0.8))[1].reason is None


def test_a_sample_judged_before_gets_the_same_verdict_and_confirms_nothing() -> None:
    state = PointState(300.0, 0.0, 0.0, None, 0)
    for _ in range(5):
        state, reading = judge(RULE, state, flow(0.0, 0.02))
        assert reading.reason is RATE
    state, reading = judge(RULE, state, flow(300.0, 0.04))
    again, same = judge(RULE, state, flow(300.0, 0.04))
    assert reading.reason is None
    assert (again, same.reason) == (state, None)


def test_a_bad_reading_passes_and_confirms_nothing() -> None:
    state, _ = judge(RULE, PointState(300.0, 0.0, 0.0, None, 0), flow(0.0, 0.02))
    lost = bad("FT-101", Unit.L_MIN, 0.04, Reason.TIMEOUT)
    assert judge(RULE, state, lost) == (state, lost)
    doubtful = Reading("FT-101", 0.0, Unit.L_MIN, Quality.UNCERTAIN, 0.04, Reason.RANGE)
    assert judge(RULE, state, doubtful) == (state, doubtful)


def test_after_a_reconnect_only_what_is_out_of_the_norm_is_doubted() -> None:
    rule = Rule(max_rate=None, norm=(50.0, 500.0))
    assert told([300.0, 0.0, 0.0, 0.0], rule, FRESH) == [None, Reason.RANGE, Reason.RANGE, None]
    assert told([0.0] * (SETTLING_POLLS + 1), rule, FRESH) == [Reason.RANGE] * SETTLING_POLLS + [None]
    assert told([0.0], Rule(), FRESH) == [None]


def test_a_first_value_is_no_step() -> None:
    assert told([599.0, 598.0], RULE, FRESH) == [None, None]


def test_while_settling_an_impossible_step_is_doubted_too() -> None:
    rule = Rule(max_rate=400.0, norm=(0.0, 600.0))
    assert told([300.0, 600.0, 300.0, 300.0], rule, FRESH) == [None, RATE, None, None]


def test_many_tags_are_kept_apart_and_contacts_pass_untouched() -> None:
    look = Plausibility({"FT-101": Rule(400.0, (50.0, 500.0))})
    wet = Reading("LDT-101", 1.0, Unit.NONE, Quality.GOOD, 0.0)
    assert look(wet) is wet
    for n in range(5):
        assert look(flow(300.0, 0.02 * n)).reason is None
    look.reconnected()
    assert look(flow(20.0, 9.0)).reason is Reason.RANGE


def test_rules_come_from_the_profile_and_the_site_and_never_for_contacts() -> None:
    points = {
        "xv": COMMAND,
        "xy": contact(0),
        "ft": number(2, PointType.F32, max_rate=400.0),
        "jt": number(4),
        "tt": number(5),
    }
    tags = {"XY-101": "xy", "FT-101": "ft", "JT-101": "jt", "TT-101": "tt"}
    rules = rules_of(profile(points), tags, {"TT-101": (20.0, 50.0), "XY-101": (0.0, 0.0)})
    assert rules == {"FT-101": Rule(400.0, None), "TT-101": Rule(None, (20.0, 50.0))}


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.floats(1e-3, 1e6))
def test_a_value_that_stays_is_believed_within_four_samples_whatever_came_before(
    values: list[float], rate: float
) -> None:
    rule, state = Rule(max_rate=rate, norm=(-1.0, 1.0)), FRESH
    for n, value in enumerate(values):
        state, _ = judge(rule, state, flow(value, float(n)))
    for n in range(CONFIRM_WITHIN + 1):
        state, reading = judge(rule, state, flow(values[-1], len(values) + 0.02 * n))
    assert reading.quality is Quality.GOOD
    assert reading.value is not None
    assert math.isfinite(reading.value)
