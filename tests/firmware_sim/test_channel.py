"""Measuring channels: lag, noise, resolution, and each sensor fault."""

import math
import statistics

import pytest

from firmware_sim.parts.channel import Channel, ChannelSpec, SensorFault
from firmware_sim.parts.noise import Noise, seed_of
from firmware_sim.parts.transmitters import CHANNELS, Transmitters

QUIET = ChannelSpec("FT-101", tau_s=1.0)


def follow(channel: Channel, true: float, start_s: float, seconds: float) -> list[float]:
    """Step in 40 ms and return what was shown."""
    shown = []
    for n in range(round(seconds / 0.04)):
        channel.step(true, start_s + (n + 1) * 0.04, 0.04)
        shown.append(channel.shown)
    return shown


def settled(spec: ChannelSpec = QUIET, true: float = 200.0) -> Channel:
    channel = Channel(spec, Noise(1))
    channel.step(true, 0.0, 0.0)
    return channel


def test_a_step_is_followed_to_63_percent_after_one_time_constant() -> None:
    assert follow(settled(), 100.0, 0.0, 1.0)[-1] == pytest.approx(100.0 + 100.0 * math.exp(-1.0))


def test_the_lag_is_the_same_however_time_is_cut() -> None:
    coarse = settled()
    coarse.step(100.0, 1.0, 1.0)
    assert coarse.shown == pytest.approx(follow(settled(), 100.0, 0.0, 1.0)[-1])


def test_noise_has_the_given_sigma_and_the_same_seed_gives_the_same_trace() -> None:
    spec = ChannelSpec("FT-101", tau_s=1.0, noise=0.5)
    first, again = (follow(Channel(spec, Noise(7)), 200.0, 0.0, 100.0) for _ in range(2))
    assert first == again
    assert statistics.pstdev(first) == pytest.approx(0.5, rel=0.1)
    assert first != follow(Channel(spec, Noise(8)), 200.0, 0.0, 100.0)


def test_values_are_shown_in_steps_of_the_resolution_and_within_the_range() -> None:
    channel = settled(ChannelSpec("PT-101", tau_s=0.0, resolution=0.5, high=1000.0))
    assert follow(channel, 200.3, 0.0, 0.1)[-1] == pytest.approx(200.5)
    assert follow(channel, 5000.0, 0.1, 0.1)[-1] == pytest.approx(1000.0)


def test_a_new_sample_is_taken_only_as_often_as_the_device_does() -> None:
    channel = settled(ChannelSpec("JT-101", tau_s=0.0, update_s=1.0))
    shown = follow(channel, 100.0, 0.0, 2.0)
    assert shown.index(100.0) >= 24
    assert set(shown) == {200.0, 100.0}


@pytest.mark.parametrize(
    ("fault", "value", "lowest", "highest"),
    [
        (SensorFault.STUCK, None, 200.0, 200.0),
        (SensorFault.STUCK, 42.0, 42.0, 42.0),
        (SensorFault.BIAS, 7.0, 107.0, 107.1),
        (SensorFault.DRIFT, -1.0, 89.9, 90.1),
        (SensorFault.SENTINEL, -9999.0, -9999.0, -9999.0),
        (SensorFault.SLOW, 100.0, 190.0, 191.0),
    ],
)
def test_ten_seconds_after_a_step_from_200_to_100_a_faulty_sensor_shows(
    fault: SensorFault, value: float | None, lowest: float, highest: float
) -> None:
    channel = settled()
    channel.set_fault(fault, value)
    assert lowest <= follow(channel, 100.0, 0.0, 10.0)[-1] <= highest
    channel.clear_fault(fault)
    assert follow(channel, 100.0, 10.0, 30.0)[-1] == pytest.approx(100.0, abs=0.01)


def test_nan_and_an_unnamed_sentinel_are_not_a_number() -> None:
    for fault in (SensorFault.NAN, SensorFault.SENTINEL):
        channel = settled()
        channel.set_fault(fault, None)
        assert math.isnan(follow(channel, 200.0, 0.0, 0.1)[-1])


def test_noise_fault_widens_the_trace_and_a_spike_is_one_sample_a_second() -> None:
    noisy = settled()
    noisy.set_fault(SensorFault.NOISE, 3.0)
    assert statistics.pstdev(follow(noisy, 200.0, 0.0, 40.0)) == pytest.approx(3.0, rel=0.15)
    spiky = settled()
    spiky.set_fault(SensorFault.SPIKE, 50.0)
    shown = follow(spiky, 200.0, 0.0, 5.0)
    assert shown.count(250.0) == 5
    assert shown.count(200.0) == len(shown) - 5


def test_swapped_words_show_only_in_the_register() -> None:
    device = Transmitters()
    true = (200.0, 200.0, 0.0, 40.0, 50.0, 50.0, 50.0, 300.0, 250.0)
    device.step(true, 0.0, 0.0)
    straight = device.input.read(0, 2)
    device.channels["FT-101"].set_fault(SensorFault.SWAP_WORDS, None)
    device.channels["FT-101"].set_fault(SensorFault.STUCK, None)
    device.step(true, 0.04, 0.0)
    assert device.input.read(0, 2) == straight[2:] + straight[:2]


def test_a_channel_in_fault_reads_nan_and_sets_its_status_bit() -> None:
    device = Transmitters()
    true = (200.0, 200.0, 0.0, 40.0, 50.0, 50.0, 50.0, 300.0, 250.0)
    device.step(true, 0.0, 0.0)
    assert device.input.get_u16(19) == 0
    device.channels["TT-102B"].set_fault(SensorFault.NAN, None)
    device.step(true, 0.01, 0.0)
    assert device.input.get_u16(19) == 1 << 5
    assert math.isnan(device.input.get_f32(10))
    device.channels["TT-102B"].clear_fault(SensorFault.NAN)
    device.step(true, 0.02, 0.0)
    assert device.input.get_u16(19) == 0


def test_the_flow_meters_are_as_fast_as_the_ladder_of_sif_4_needs() -> None:
    assert all(spec.tau_s <= 2.0 for spec in CHANNELS if spec.tag.startswith("FT"))


def test_parts_draw_from_streams_of_their_own() -> None:
    assert len({seed_of(1, "r01"), seed_of(1, "r02"), seed_of(2, "r01")}) == 3
    assert Noise(3).bytes(20) == Noise(3).bytes(20)
