"""Whatever a device answers, every shipped profile makes readings of it: a value in its range, or BAD with a reason."""

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldkit.point import PointType, WordOrder
from fieldkit.profile import Profile, choose
from fieldkit.reading import Quality
from fieldkit.spans import Span, plan, want
from fieldkit.words import Decoder, EncodeError, encode
from fieldkit.yamlfile import check, load

PROFILES = sorted((Path(__file__).parents[2] / "configs" / "profiles").glob("*.yaml"))


@cache
def profile_of(path: Path) -> Profile:
    return check(load(path), Profile)


@cache
def spans_of(path: Path) -> tuple[tuple[Span, Decoder], ...]:
    profile = profile_of(path)
    names = [name for name, point in profile.points.items() if point.type is not PointType.STRING]
    return tuple((span, Decoder(span)) for span in plan(profile, [want(profile, name, name, "fast") for name in names]))


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_bytes_are_readings_in_range_or_bad(path: Path, data: st.DataObject) -> None:
    profile = profile_of(path)
    span, decoder = data.draw(st.sampled_from(spans_of(path)))
    size = 2 * span.count if span.table in {"holding", "input"} else (span.count + 7) // 8
    reply = data.draw(st.binary(min_size=size, max_size=size) | st.binary(max_size=2 * size))
    readings = decoder.decode(reply, 1.0)
    assert [reading.tag for reading in readings] == [item.tag for item in span.wanted]
    for reading in readings:
        low, high = profile.points[reading.tag].range or (0.0, 1.0)
        if reading.quality is Quality.GOOD:
            assert reading.value is not None
            assert low <= reading.value <= high
        else:
            assert (reading.value, reading.quality) == (None, Quality.BAD)
            assert reading.reason is not None


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_what_is_written_within_its_range_reads_as_what_was_written(path: Path) -> None:
    profile = profile_of(path)
    for name, point in profile.points.items():
        if not point.writable or point.range is None:
            continue
        low, high = point.range
        for share in (0.0, 0.25, 0.5, 1.0):
            value = low + share * (high - low)
            try:
                words = encode(point, value, profile.order_of(point))
            except EncodeError:
                continue  # between two counts, or the pattern that says "not available"
            (span,) = plan(profile, [want(profile, name, name, "fast")])
            (reading,) = Decoder(span).decode(b"".join(word.to_bytes(2, "big") for word in words), 1.0)
            factor, _ = point.conversion
            step = abs(factor) if point.type is not PointType.F32 else 1e-6 * max(1.0, abs(value))
            assert reading.value == pytest.approx(value, abs=0.51 * step), name


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_every_alternative_of_a_conflict_is_a_sound_profile_and_leads_back(path: Path) -> None:
    profile = profile_of(path)
    for name, conflict in profile.conflicts.items():
        for alternative in conflict.alternatives:
            other = choose(profile, name, alternative)
            assert other.conflicts[name].used == alternative
            assert other.points.keys() == profile.points.keys()
            assert choose(other, name, conflict.used) == profile


def test_wide_values_are_never_left_to_guess_their_order() -> None:
    """A device of low words first says so for each wide point, where a reader looks."""
    for path in PROFILES:
        profile = profile_of(path)
        if profile.word_order is WordOrder.CDAB:
            wide = [point for point in profile.points.values() if point.words == 2 and point.length is None]
            assert all(point.word_order is WordOrder.CDAB for point in wide), path.stem
