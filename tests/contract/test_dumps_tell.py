"""The dumps tell a right profile from a nearly right one: each slip that people make in a map fails a dump.

A slip is a register too early or late, another bit, the other polarity, a sign, the other word order, a scale ten times
too big, or a forgotten fault bit, sentinel or fault band.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from fieldkit.point import Point, PointType, WordOrder
from fieldkit.profile import Profile
from tests.contract import test_golden_dumps as golden

OTHER_ORDER = {WordOrder.ABCD: WordOrder.CDAB, WordOrder.CDAB: WordOrder.ABCD}
NAMES = sorted(path.stem for path in golden.PROFILES.glob("*.yaml"))
COMMON = {"firmware", "serial", "uptime"}  # of the reference devices: one set of registers, typed once


def slips(profile: Profile, point: Point) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "one register late", {"address": point.address + 1}
    if point.address:
        yield "one register early", {"address": point.address - 1}
    if point.bit is not None:
        yield "another bit", {"bit": (point.bit + 1) % 16}
    if point.invert is not None:
        yield "the other polarity", {"invert": not point.invert}
    if point.type is PointType.U16 and reaches_the_sign(point):
        yield "a sign", {"type": PointType.S16}
    if point.type is PointType.S16:
        yield "no sign", {"type": PointType.U16}
    if point.words == 2 and point.length is None:
        yield "words exchanged", {"word_order": OTHER_ORDER[profile.order_of(point)]}
    if point.scale is not None:
        scale = point.scale[0] / point.scale[1] if isinstance(point.scale, tuple) else point.scale
        yield "ten times the scale", {"scale": 10 * scale}
    for key, nothing in (("fault_bits", ()), ("sentinels", ()), ("fault_raw", None)):
        if getattr(point, key):
            yield f"no {key}", {key: nothing}


def reaches_the_sign(point: Point) -> bool:
    """True when a count of 0x8000 lies in the point's range, so that a sign would be seen."""
    if point.scale_by is not None or point.range is None:
        return False
    factor, offset = point.conversion
    return (point.range[1] - offset) / factor >= 0x8000


def holds(monkeypatch: pytest.MonkeyPatch, profile: Profile, name: str) -> bool:
    """True when every dump of the point still reads as typed."""
    page = golden.page(f"{profile.profile}.yaml")
    with monkeypatch.context() as patch:
        patch.setattr(golden, "profile_of", lambda _: profile)
        try:
            for dump in page["dumps"]:
                if name in dump["expect"]:
                    only = {**dump, "expect": {name: dump["expect"][name]}}
                    golden.test_a_dump_decodes_to_what_the_makers_page_says(profile.profile, only)
            for word in page.get("bits", []):
                if name in word["names"]:
                    golden.test_each_bit_of_a_word_is_the_one_that_the_makers_page_names(profile.profile, word)
        except (AssertionError, ValueError, IndexError, KeyError):
            return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_each_slip_in_each_point_fails_a_dump(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = golden.profile_of(name)
    unseen, made = [], 0
    for key, point in profile.points.items():
        if name.startswith("racky_") and key in COMMON:
            continue
        assert holds(monkeypatch, profile, key), f"{key} as it stands"
        for slip, change in slips(profile, point):
            wrong = profile.model_copy(update={"points": {**profile.points, key: point.model_copy(update=change)}})
            made += 1
            if holds(monkeypatch, wrong, key):
                unseen.append(f"{key}: {slip}")
    assert unseen == []
    assert made >= 2 * (len(profile.points) - len(COMMON))
