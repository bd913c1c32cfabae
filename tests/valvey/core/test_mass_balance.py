"""The statistical mass balance: what it calls a leak, what not, and what it learns."""

from dataclasses import replace
from math import inf, sqrt

import pytest

from fieldkit.coolant import density_kg_m3
from valvey.core import mass_balance
from valvey.core.mass_balance import (
    ASSUMED_VARIANCE,
    LONG_S,
    SCALARS,
    WARM_UP_S,
    Balance,
    Second,
    meters_apart,
    threshold_lpm,
    tick,
)

EVEN = Second(200.0, 200.0, 40.0, 40.0, 1.0, still=True)


def after(balance: Balance, second: Second, seconds: int) -> Balance:
    for _ in range(seconds):
        balance = tick(balance, second)
    return balance


@pytest.fixture(scope="module")
def settled() -> Balance:
    """A rack that has run evenly for two hours."""
    return after(Balance(), EVEN, 7200)


def seconds_to(balance: Balance, second: Second, limit: int = 100) -> float:
    for count in range(1, limit + 1):
        balance = tick(balance, second)
        if balance.leaking:
            return count
    return inf


def test_a_leak_of_one_percent_is_found_within_twenty_seconds(settled: Balance) -> None:
    assert seconds_to(settled, EVEN._replace(return_lpm=198.0)) <= 18


@pytest.mark.parametrize("flow", [100.0, 200.0, 240.0])
def test_the_limit_scales_with_the_flow(settled: Balance, flow: float) -> None:
    even = EVEN._replace(supply_lpm=flow, return_lpm=flow)
    there = after(settled, even, 120)
    assert threshold_lpm(there) / flow == pytest.approx(threshold_lpm(settled) / 200.0, rel=1e-3)
    assert seconds_to(there, even._replace(return_lpm=flow * 0.99)) <= 18
    assert seconds_to(there, even._replace(return_lpm=flow * 0.995)) == inf


def test_a_big_leak_is_found_in_a_few_seconds(settled: Balance) -> None:
    slow_meters = after(settled, EVEN._replace(supply_lpm=201.0, return_lpm=199.0), 0)
    found = seconds_to(slow_meters, EVEN._replace(supply_lpm=201.0, return_lpm=195.0))
    assert found <= 5


@pytest.mark.parametrize("leak_lpm", [8.0, 30.0, 80.0])
def test_a_leak_that_takes_the_return_flow_away_does_not_hide_itself(settled: Balance, leak_lpm: float) -> None:
    assert seconds_to(settled, EVEN._replace(supply_lpm=200.0 + 0.2 * leak_lpm, return_lpm=200.0 - 0.8 * leak_lpm)) <= 5


def test_one_second_of_nonsense_is_no_leak(settled: Balance) -> None:
    balance = tick(settled, EVEN._replace(return_lpm=190.0))
    assert not balance.leaking
    assert seconds_to(balance, EVEN, 40) == inf


def test_warm_liquid_takes_more_room_and_that_is_no_leak() -> None:
    hotter = density_kg_m3(40.0) / density_kg_m3(52.0)
    even = Second(200.0, 200.0 * hotter, 40.0, 52.0, 1.0, still=True)
    balance = after(Balance(), even, 900)
    assert balance.zero == pytest.approx(0.0, abs=1e-9)
    assert abs(balance.excess_lpm) < 1e-6


def test_the_zero_of_two_meters_that_differ_is_learned_and_scales_with_the_flow() -> None:
    balance = after(Balance(), EVEN._replace(return_lpm=198.4), 1200)
    assert balance.zero == pytest.approx(1.6 / 199.2, rel=1e-3)
    assert not balance.leaking
    assert seconds_to(after(balance, EVEN._replace(supply_lpm=100.0, return_lpm=99.2), 200), EVEN._replace(supply_lpm=100.0, return_lpm=99.2)) == inf  # fmt: skip
    assert not meters_apart(balance)


def test_nothing_is_judged_before_ten_minutes_of_learning() -> None:
    fresh = replace(Balance(), supply_lpm=200.0, return_lpm=200.0, return_c=40.0, load_5=1.0, load_30=1.0)
    young = after(fresh, EVEN, int(WARM_UP_S) - 20)
    assert not young.leaking
    assert seconds_to(young, EVEN._replace(return_lpm=190.0), 10) == inf


def test_a_leak_is_not_learned_away(settled: Balance) -> None:
    leaking = after(settled, EVEN._replace(return_lpm=197.0), 3600)
    assert leaking.leaking
    assert leaking.zero < 0.0006


def test_the_alarm_ends_when_the_leak_does(settled: Balance) -> None:
    leaking = after(settled, EVEN._replace(return_lpm=197.0), 60)
    assert not after(leaking, EVEN, 40).leaking


def test_an_alarm_stands_while_nothing_can_be_judged(settled: Balance) -> None:
    leaking = after(settled, EVEN._replace(return_lpm=197.0), 60)
    assert after(leaking, EVEN._replace(still=False), 40).leaking


@pytest.mark.parametrize(
    "moving",
    [
        EVEN._replace(still=False),
        EVEN._replace(supply_lpm=220.0, return_lpm=220.0),
        EVEN._replace(supply_lpm=180.0, return_lpm=180.0),
        EVEN._replace(load_share=0.4),
        EVEN._replace(return_c=44.0),
    ],
    ids=["valves", "more-flow", "less-flow", "load", "heat"],
)
def test_what_moves_is_not_judged_until_eighteen_seconds_later(settled: Balance, moving: Second) -> None:
    balance = after(settled, moving, 6)
    assert balance.settled_s == 0.0
    balance = replace(
        tick(balance, EVEN), supply_lpm=200.0, return_lpm=200.0, return_c=40.0, load_5=1.0, load_30=1.0, settled_s=0.0
    )
    leak = EVEN._replace(return_lpm=197.0)
    assert seconds_to(balance, leak) >= LONG_S


def test_noisy_meters_raise_the_limit_and_quiet_ones_lower_it_to_its_floor() -> None:
    noisy = replace(
        Balance(), supply_lpm=200.0, return_lpm=200.0, return_c=40.0, load_5=1.0, load_30=1.0, learned_s=WARM_UP_S
    )
    quiet = after(noisy, EVEN, 4 * 3600)
    assert threshold_lpm(quiet) == pytest.approx(0.0075 * 200.0)
    for second in range(3 * 3600):
        shift = 2.0 if second % 36 < 18 else -2.0  # what 18 s do not even out
        noisy = tick(noisy, EVEN._replace(return_lpm=200.0 - 0.6 * shift))
    assert threshold_lpm(noisy) > 6.0 * sqrt(ASSUMED_VARIANCE) * 200.0


def test_more_out_than_in_is_a_wrong_meter_not_a_leak(settled: Balance) -> None:
    reversed_ = after(settled, EVEN._replace(return_lpm=203.0), 40)
    assert reversed_.reversed
    assert not reversed_.leaking
    assert meters_apart(reversed_)
    assert after(reversed_, EVEN._replace(still=False), 5).reversed
    assert not after(reversed_, EVEN, 40).reversed


def test_a_zero_that_is_no_calibration_is_a_wrong_meter() -> None:
    assert meters_apart(after(Balance(), EVEN._replace(return_lpm=196.0), 900))


def test_single_numbers_have_the_choices_of_arrays() -> None:
    assert SCALARS.where(True, 1, 2) == 1
    assert SCALARS.where(False, 1, 2) == 2
    assert (SCALARS.maximum(1, 2), SCALARS.minimum(1, 2)) == (2, 1)
    assert (SCALARS.sqrt(4.0), SCALARS.absolute(-4.0)) == (2.0, 4.0)


def test_sums_do_not_drift_in_a_day_of_changing_flows(settled: Balance) -> None:
    balance = settled
    for second in range(20000):
        flow = 150.0 + second % 97
        balance = tick(balance, EVEN._replace(supply_lpm=flow, return_lpm=flow * (0.99 + second % 7 * 0.001)))
    assert balance.long_sum == pytest.approx(sum(balance.window), abs=1e-12)
    assert balance.short_sum == pytest.approx(sum(balance.window[: mass_balance.SHORT_S]), abs=1e-12)
