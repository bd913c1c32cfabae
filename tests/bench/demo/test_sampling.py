"""The arithmetic behind the claims on neighbours: means over a window, and comparison with a load's own wave."""

import math

import pytest

from bench.demo.listener import Listener, News
from bench.demo.sampling import OF_CDU, OF_RACK, Samples, against_wave, furthest, rolling_mean, wave_of

T_S = [0.25 + 0.5 * n for n in range(240)]


def wavy(at_s: float) -> float:
    return 200.0 + 10.0 * math.sin(2.0 * math.pi * at_s / 30.0)


def test_a_rolling_mean_is_of_what_the_window_holds() -> None:
    assert rolling_mean([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0], 2.0) == [1.0, 2.0, 4.0, 6.0]


def test_a_flow_that_repeats_its_wave_does_not_deviate() -> None:
    values = [wavy(at_s) for at_s in T_S]
    wave = wave_of(T_S[:120], values[:120], 30.0, 0.0)
    assert max(abs(one) for one in against_wave(T_S, values, wave, 30.0, 0.0)) < 0.01


def test_a_flow_that_leaves_its_wave_deviates_by_as_much() -> None:
    values = [wavy(at_s) * (0.97 if at_s >= 60.0 else 1.0) for at_s in T_S]
    wave = wave_of(T_S[:120], values[:120], 30.0, 0.0)
    assert against_wave(T_S, values, wave, 30.0, 0.0)[-1] == pytest.approx(-3.0, abs=0.01)


def test_a_place_of_the_wave_that_was_never_seen_takes_its_neighbours_value() -> None:
    assert wave_of([0.0, 5.0], [1.0, 2.0], 10.0, 0.0, bins=5) == [1.0, 1.0, 2.0, 2.0, 1.0]


def test_the_furthest_value_keeps_its_sign() -> None:
    assert furthest([1.0, -3.0, 2.0]) == -3.0
    assert furthest([]) == 0.0


def snapshot(t_s: float, flow: float) -> dict[str, object]:
    rack = dict.fromkeys(OF_RACK, 0.0) | {"flow_supply_lpm": flow}
    return {"t_s": t_s, "racks": {"r01": {"true": rack}}, "cdu": {"true": dict.fromkeys(OF_CDU, 1.0)}}


def test_samples_hold_the_flow_beside_what_the_rack_asked_for_then() -> None:
    bus, samples = Listener("localhost", 1, "demo", lambda _rack, _event: None), Samples()
    samples.add(snapshot(1.0, 190.0), bus)
    bus.racks["r01"] = News(points={"FY-101": {"value": 200.0}})
    samples.add(snapshot(2.0, 190.0), bus)
    samples.add(snapshot(2.0, 150.0), bus)  # the same moment again
    bus.racks["r01"].points = {"FY-101": {"value": None}}
    samples.add(snapshot(3.0, 0.0), bus)
    assert samples.flow("r01") == [190.0, 190.0, 0.0]
    assert samples.asked["r01"] == [None, 200.0, None]
    assert samples.wish("r01") == [1.0, 0.95, 0.0]
    assert (samples.after(1.5), samples.after(2.0), samples.after(9.0)) == (1, 1, 3)
