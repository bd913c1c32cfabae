"""The heartbeat of a device."""

from fieldkit.pulse import Pulse
from fieldkit.reading import Quality, Reading, Reason, bad
from fieldkit.units import Unit


def beat(count: float, at_s: float) -> Reading:
    return Reading("bench/heartbeat", count, Unit.NONE, Quality.GOOD, at_s)


def test_a_count_that_stands_still_for_the_time_and_the_polls_is_frozen() -> None:
    pulse = Pulse(limit_s=0.5, polls=3)
    assert [pulse.note(beat(7.0, t)) for t in (0.0, 0.3, 0.6, 0.9)] == [False, False, True, True]
    assert not pulse.note(beat(8.0, 1.2))


def test_two_slow_polls_alone_prove_nothing() -> None:
    pulse = Pulse(limit_s=0.5, polls=3)
    assert [pulse.note(beat(7.0, t)) for t in (0.0, 60.0, 120.0)] == [False, False, True]


def test_a_heartbeat_that_could_not_be_read_starts_the_count_again() -> None:
    pulse = Pulse(limit_s=0.5, polls=3)
    pulse.note(beat(7.0, 0.0))
    pulse.note(beat(7.0, 0.5))
    assert not pulse.note(bad("bench/heartbeat", Unit.NONE, 1.0, Reason.RANGE))
    assert not pulse.note(beat(7.0, 1.5))
