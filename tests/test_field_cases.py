"""The table of the field cases is whole, and its page is as the table says."""

from pathlib import Path

import pytest

from tests.field_cases import table
from tests.field_cases.table import Case, cases, marked, page

A_TEST = "tests/test_field_cases.py::test_the_table_has_every_case_of_the_list_once"


def test_the_table_has_every_case_of_the_list_once() -> None:
    assert [case.id for case in cases()] == [f"P{number:03}" for number in range(1, table.TOTAL + 1)]


def test_the_generated_page_is_as_the_table_says() -> None:
    assert table.PAGE.read_text(encoding="utf-8") == page(cases()), "run `make field-cases`"


def test_markers_are_found_on_plain_and_asynchronous_tests_and_on_several_cases_at_once(tmp_path: Path) -> None:
    tests = table.ROOT / "tests"
    here = marked(tests)
    assert all(node.startswith("tests/") for nodes in here.values() for node in nodes)
    assert set(here) <= {case.id for case in cases()}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"title": "x", "door": "wire"}, "has a door and no test"),
        ({"title": "x", "tests": [A_TEST]}, "door is None"),
        ({"title": "x", "door": "window", "tests": [A_TEST]}, "door is 'window'"),
        ({"title": "x", "door": "unit", "tests": [A_TEST], "reason": "y"}, "has a reason why it cannot arise"),
        ({"title": "x", "door": "unit", "tests": ["tests/test_field_cases.py::test_gone"]}, "there is no test"),
        ({"title": "x", "resaon": "y"}, "no key resaon"),
    ],
)
def test_a_row_that_cannot_be_is_told(row: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        cases({"P001": row}, {})


def test_a_marker_without_a_row_is_told() -> None:
    with pytest.raises(ValueError, match=f"P999: marked by {A_TEST}"):
        cases({}, {"P999": [A_TEST]})


def test_the_page_counts_doors_and_shows_what_failed() -> None:
    rows = [
        Case("P001", "a", "wire", None, (A_TEST,)),
        Case("P002", "b", "unit", None, (A_TEST,)),
        Case("P003", "c", None, "because", ()),
        Case("P004", "d", None, None, ()),
    ]
    text = page(rows, frozenset({"P002"}))
    assert "4 cases: 2 tested (1 through a door of the daemon), 1 cannot arise, 1 open, 1 failed." in text
    assert "| P001 | a | wire | ok | `test_field_cases.py::" in text
    assert "| P002 | b | unit | FAILED |" in text
    assert "| P003 | c | - | cannot arise | because |" in text
    assert "| P004 | d | - | open |  |" in text
