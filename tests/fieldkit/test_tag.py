"""Tags and the table of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.tag import BY_TAG, TAGS, WRITE_ACK, Owner, Signal, Tag, parse_tag
from fieldkit.units import Unit

EXPECTED = frozenset({
    "XV-101",
    "XV-102",
    "XV-103",
    "XV-104",
    "FCV-101",
    "XS-101",
    "ZSO-101",
    "ZSC-101",
    "ZSO-102",
    "ZSC-102",
    "ZSC-103",
    "ZSC-104",
    "XY-101",
    "XY-102",
    "XY-103",
    "XY-104",
    "XSY-101",
    "XI-101",
    "HS-101",
    "HS-102",
    "LSH-203",
    "ZT-101",
    "FT-101",
    "FT-102",
    "FT-103",
    "TT-101",
    "TT-102A",
    "TT-102B",
    "TT-102C",
    "PT-101",
    "PT-102",
    "LDT-101",
    "LDT-102",
    "LDT-103",
    "LDA-101",
    "LDA-102",
    "LDA-103",
    "LDX-103",
    "JT-101",
    "ET-101",
    "EV-101",
    "PT-201",
    "PT-202",
    "FT-201",
    "TT-201",
})


def test_a_tag_is_letters_loop_and_suffix() -> None:
    tag = parse_tag("TT-102A")
    assert (tag.letters, tag.loop, tag.suffix, tag.area) == ("TT", 102, "A", 1)
    assert parse_tag("XV-101") == Tag("XV", 101)


@pytest.mark.parametrize(
    "text", ["", "FT101", "ft-101", "FT-1", "FT-1011", "FT-001", "FT-101AB", "FLOWS-101", "FT-101\n", WRITE_ACK]
)
def test_what_is_no_tag_is_told_how_a_tag_is_written(text: str) -> None:
    with pytest.raises(ValueError, match=r"LETTERS-LOOP\[SUFFIX\]"):
        parse_tag(text)


@given(st.from_regex(r"[A-Z]{1,4}-[1-9][0-9]{2}[A-Z]?", fullmatch=True))
def test_every_tag_reads_as_it_is_written(text: str) -> None:
    assert str(parse_tag(text)) == text


def test_every_tag_of_the_reference_plant_is_in_the_table_once() -> None:
    assert set(BY_TAG) >= EXPECTED
    assert len(BY_TAG) == len(TAGS)


@pytest.mark.parametrize("row", TAGS, ids=lambda row: row.tag)
def test_a_row_is_a_tag_with_a_range_that_rises_and_a_meaning_for_its_one(row: object) -> None:
    found = next(r for r in TAGS if r is row)
    assert parse_tag(found.tag).area in {1, 2, 3}
    assert found.description
    if found.signal is Signal.WIRED:
        assert found.range is None
        return
    assert found.range is not None
    assert found.range[0] < found.range[1]
    two_valued = found.signal in {Signal.COMMAND, Signal.CONTACT, Signal.READ_BACK}
    assert (found.means is not None) == two_valued
    assert (found.unit is Unit.NONE) == (two_valued or found.signal is Signal.CODED_COMMAND)


def test_only_valvey_commands() -> None:
    commands = {Signal.COMMAND, Signal.ANALOGUE_COMMAND, Signal.CODED_COMMAND}
    commanded = {row.tag: row.owner for row in TAGS if row.signal in commands}
    assert set(commanded) == {"XV-101", "XV-102", "XV-103", "XV-104", "FCV-101", "XS-101", "XK-101"}
    assert set(commanded.values()) == {Owner.VALVEY}
