"""Which units are asked."""

import pytest

from fieldkit.probing.asker import Refused, units_of


def test_units_are_named_one_by_one_or_by_range_and_each_once() -> None:
    assert list(units_of("7", on_line=True)) == [7]
    assert list(units_of("3,1-3,200-201", on_line=True)) == [3, 1, 2, 200, 201]
    assert list(units_of("0,255", on_line=False)) == [0, 255]


@pytest.mark.parametrize("text", ["", "x", "1-", "-1", "5-3", "1,,2", "256", "1-256"])
def test_what_is_no_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="units"):
        units_of(text, on_line=False)


@pytest.mark.parametrize("text", ["0", "0-5", "248", "200-248"])
def test_a_serial_line_has_no_unit_that_means_everybody(text: str) -> None:
    with pytest.raises(ValueError, match=r"1\.\.247"):
        units_of(text, on_line=True)


def test_a_gateways_word_that_nobody_is_there_is_silence_and_a_devices_refusal_is_an_answer() -> None:
    assert [Refused(code, "").silent for code in (None, 10, 11, 1, 2, 4)] == [True, True, True, False, False, False]
