"""The runner of the tests: every file runs once, in one of the processes, and nothing that fails is lost."""

from collections import Counter
from pathlib import Path

import pytest

from tests.parts import PARTS
from tests.spread import deal, files, run, summary

TESTS = Path(__file__).resolve().parent


def test_every_file_is_dealt_once_and_the_hands_last_alike() -> None:
    hands = deal({"a": 5.0, "b": 4.0, "c": 3.0, "d": 3.0, "e": 0.1}, 2)
    assert hands == [["a", "d"], ["b", "c", "e"]]


def test_more_processes_than_files_get_no_empty_hand() -> None:
    assert deal({"a": 1.0}, 2) == [["a"]]


def test_what_takes_seconds_and_what_needs_sockets_is_left_out_of_the_quick_run() -> None:
    quick = {path.relative_to(TESTS).as_posix() for path in files(TESTS, parts=False)}
    whole = {path.relative_to(TESTS).as_posix() for path in files(TESTS, parts=True)}
    assert whole - quick == PARTS
    assert "test_spread.py" in quick
    assert [name for name in whole if name.startswith(("wire/", "hil/"))] == []
    assert len(quick) > len(PARTS)


@pytest.mark.parametrize(
    ("other", "good", "ended"),
    [
        ("def test_two(): pass", True, {"passed": 2}),
        ("def test_two(): assert False", False, {"passed": 1, "failed": 1}),
        ("import nothing_of_that_name", False, {"passed": 1}),
        ("import os\ndef test_two(): os._exit(0)", False, {"passed": 1, "died": 1}),
    ],
)
def test_whatever_one_process_does_the_whole_run_says_it(
    other: str, good: bool, ended: dict[str, int], tmp_path: Path
) -> None:
    for name, text in (("test_one.py", "def test_one(): pass"), ("test_two.py", other)):
        (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    hands = [[str(tmp_path / "test_one.py")], [str(tmp_path / "test_two.py")]]
    ok, counts, _took_s = run(hands, [f"--rootdir={tmp_path}", "-p", "no:pytest_cov"])
    assert (ok, counts) == (good, Counter(ended))


def test_the_closing_line_reads_like_that_of_pytest() -> None:
    assert summary({"passed": 3, "failed": 1}, 2.0).strip("=") == " 1 failed, 3 passed in 2.00s "
