"""A reading and when its value may be used."""

import pytest

from fieldkit.reading import Quality, Reading, Reason, bad
from fieldkit.units import Unit

GOOD = Reading("FT-101", 120.5, Unit.L_MIN, Quality.GOOD, 10.0)


def test_a_good_reading_is_usable_until_it_is_too_old() -> None:
    assert [GOOD.usable_value(now_s, 0.5) for now_s in (10.0, 10.5, 10.6)] == [120.5, 120.5, None]


@pytest.mark.parametrize(("quality", "reason"), [(Quality.UNCERTAIN, Reason.RATE), (Quality.BAD, Reason.NAN)])
def test_what_is_not_good_is_not_usable_however_fresh(quality: Quality, reason: Reason) -> None:
    assert Reading("FT-101", 120.5, Unit.L_MIN, quality, 10.0, reason).usable_value(10.0, 0.5) is None


def test_a_bad_reading_has_a_reason_and_no_value() -> None:
    assert bad("FT-101", Unit.L_MIN, 10.0, Reason.TIMEOUT) == Reading(
        "FT-101", None, Unit.L_MIN, Quality.BAD, 10.0, Reason.TIMEOUT
    )
