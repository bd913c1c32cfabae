"""The tags of a rack's power."""

import pytest

from fieldkit.tag import BY_TAG, Owner
from fieldkit.tag_power import POWER_TAGS, row_of


@pytest.mark.parametrize(
    ("tag", "row"),
    [
        ("XS-111", "XS-111"),
        ("XI-114", "XI-111"),
        ("JT-113", "JT-111"),
        ("JT-113C", "JT-111A"),
        ("EA-119F", "EA-111A"),
        ("QT-122", "QT-121"),
        ("CT-130C", "CT-130A"),
        ("TT-110", "TT-110"),
        ("FT-101", "FT-101"),
    ],
)
def test_every_shelf_and_supply_has_the_row_of_the_first(tag: str, row: str) -> None:
    found = row_of(tag)
    assert found is not None
    assert found.tag == row


@pytest.mark.parametrize("tag", ["XS-199", "QT-111", "JT-12", "", "EV-111"])
def test_what_is_no_tag_of_the_plant_has_no_row(tag: str) -> None:
    assert row_of(tag) is None


def test_all_of_it_is_racky_s_and_stands_in_no_other_table() -> None:
    assert {row.owner for row in POWER_TAGS} == {Owner.RACKY}
    assert not {row.tag for row in POWER_TAGS} & BY_TAG.keys()
