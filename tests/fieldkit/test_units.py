"""How one unit becomes another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.units import Unit, UnitError, convert, line


@pytest.mark.parametrize(
    ("value", "raw", "unit", "expected"),
    [
        (1.0, Unit.GAL_MIN, Unit.L_MIN, 3.785411784),
        (1.0, Unit.M3_H, Unit.L_MIN, 1000 / 60),
        (1.0, Unit.L_S, Unit.L_MIN, 60.0),
        (1.0, Unit.BAR, Unit.KPA, 100.0),
        (100.0, Unit.PSI, Unit.KPA, 689.4757293168),
        (212.0, Unit.DEG_F, Unit.DEG_C, 100.0),
        (-40.0, Unit.DEG_C, Unit.DEG_F, -40.0),
        (273.15, Unit.KELVIN, Unit.DEG_C, 0.0),
        (1500.0, Unit.W, Unit.KW, 1.5),
        (250.0, Unit.MICROAMPERE, Unit.AMPERE, 0.00025),
        (10.0, Unit.FOOT, Unit.METRE, 3.048),
        (20.0, Unit.MILLISECOND, Unit.SECOND, 0.02),
        (50.0, Unit.HERTZ, Unit.HERTZ, 50.0),
    ],
)
def test_a_known_value_is_converted(value: float, raw: Unit, unit: Unit, expected: float) -> None:
    assert convert(value, raw, unit) == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize(
    ("raw", "unit"),
    [(Unit.KPA, Unit.L_MIN), (Unit.DELTA_K, Unit.DEG_C), (Unit.PERCENT, Unit.PERCENT_OPEN), (Unit.NONE, Unit.KW)],
)
def test_two_different_things_are_never_converted(raw: Unit, unit: Unit) -> None:
    with pytest.raises(UnitError, match="no conversion from"):
        line(raw, unit)


@given(st.sampled_from(Unit), st.sampled_from(Unit), st.floats(-1e6, 1e6))
def test_there_and_back_is_the_same(raw: Unit, unit: Unit, value: float) -> None:
    try:
        there = convert(value, raw, unit)
    except UnitError:
        with pytest.raises(UnitError):
            line(unit, raw)
        return
    assert convert(there, unit, raw) == pytest.approx(value, rel=1e-9, abs=1e-6)
