"""The runner of the tests: every file runs once, in one of the processes, and nothing that fails is lost."""

from collections import Counter
from pathlib import Path

import pytest

from tests.parts import ALONE, PARTS
from tests.spread import Outcome, deal, files, files_on_wires, summary

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
    assert "test_architecture.py" in quick
    assert [name for name in whole if name.startswith(("wire/", "hil/"))] == []
    assert len(quick) > len(PARTS)


@pytest.mark.parametrize(
    ("other", "good", "ended"),
    [
        ("def test_two(): pass", True, {"passed": 2}),
        ("def test_two(): assert False", False, {"passed": 1, "failed": 1}),
        ("import nothing_of_that_name", False, {"passed": 1}),
        ("import os\ndef test_two(): os._exit(0)", False, {"passed": 1, "died": 1}),
        ("import sys\ndef test_two(request): request.config.add_cleanup(sys.exit)", False, {"passed": 2}),
    ],
)
def test_whatever_one_process_does_the_whole_run_says_it(
    other: str, good: bool, ended: dict[str, int], tmp_path: Path
) -> None:
    for name, text in (("test_one.py", "def test_one(): pass"), ("test_two.py", other)):
        (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    hands = [[str(tmp_path / "test_one.py")], [str(tmp_path / "test_two.py")]]
    outcome = Outcome()
    outcome.run(hands, [f"--rootdir={tmp_path}", "-p", "no:pytest_cov"])
    assert (outcome.good, outcome.ended) == (good, Counter(ended))


@pytest.mark.parametrize(
    ("other", "good", "ended"),
    [
        ("def test_other(): pass", True, {"passed": 7}),
        ("def test_other(): assert False", False, {"passed": 6, "failed": 1}),
        ("import os\ndef test_other(): os._exit(0)", False, {"died": 1}),
        ("import nothing_of_that_name", False, {}),
        ("import pytest\n@pytest.fixture\ndef broken(): 1 / 0\ndef test_other(broken): pass", False, {"passed": 6, "error": 1}),
    ],
)  # fmt: skip
def test_in_turns_every_file_runs_in_one_process_and_nothing_that_fails_is_lost(
    other: str, good: bool, ended: dict[str, int], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    waiting = (
        "import pathlib, threading, pytest\n"
        "ran = pathlib.Path(__file__ + '.ran')\n"
        "@pytest.fixture(scope='module')\n"
        "def one():\n"
        "    yield\n"
        "    ran.write_text('x' + (ran.read_text() if ran.exists() else ''))\n"
        "def test_one(one): threading.Event().wait(0.02)\n"
        "def test_two(one): pass\n"
    )
    hand = [str(tmp_path / f"test_{number}.py") for number in range(4)]
    for name, text in zip(hand, (*[waiting] * 3, other + "\n"), strict=True):
        Path(name).write_text(text, encoding="utf-8")
    outcome = Outcome()
    outcome.run([hand, hand], [f"--rootdir={tmp_path}", "-p", "no:pytest_cov"], in_turns=True)
    assert outcome.good is good
    if "died" in ended:
        assert outcome.ended["died"] == 1
    else:
        assert outcome.ended == Counter(ended)
        told = [line for line in capfd.readouterr().out.splitlines() if ".py: " in line]
        assert len(told) == len(ended and hand)
        ran = [Path(f"{name}.ran").read_text(encoding="ascii") for name in hand[:3] if ended]
        assert ran == ["x"] * len(ran), "what a module starts is started once and ended"


def test_a_round_that_selects_nothing_is_no_failure_as_long_as_another_one_ran(tmp_path: Path) -> None:
    outcome = Outcome()
    for name in ("one", "two"):
        (tmp_path / f"test_{name}.py").write_text(f"def test_{name}(): pass\n", encoding="utf-8")
        outcome.run([[str(tmp_path / f"test_{name}.py")]], [f"--rootdir={tmp_path}", "-k", "two"], in_turns=True)
        assert outcome.good is (name == "two")


def test_every_file_on_sockets_runs_in_company_or_alone() -> None:
    together, alone = files_on_wires(TESTS)
    assert {path.relative_to(TESTS).as_posix() for path in alone} == ALONE
    assert sorted(together + alone) == sorted((TESTS / "wire").rglob("test_*.py"))
    assert len(together) > len(alone)


def test_the_closing_line_reads_like_that_of_pytest() -> None:
    assert summary({"passed": 3, "failed": 1}, 2.0).strip("=") == " 1 failed, 3 passed in 2.00s "
