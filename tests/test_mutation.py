"""The mutation run itself: it must find what tests miss, and believe no excuse that is not true."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.mutants import apply, code_lines, mutants_of
from tests.mutation import Tally, complaints, how_many, read_equivalents, report_of

ROOT = Path(__file__).resolve().parent.parent

LIMIT = dedent('''
    """A toy."""

    TABLE = {"low": 10, "high": 20}  # a comment


    def judge(value: float, name: str = "low") -> bool:
        """Docstrings are no code."""
        if value < 0:
            raise ValueError("below 0")
        return value > TABLE[name]
''')


def _words(source: str) -> set[str]:
    return {f"{mutant.where}: {mutant.what}" for mutant in mutants_of(source, "toy.py")}


def test_comparisons_constants_returns_and_table_rows_are_broken() -> None:
    assert _words(LIMIT) == {
        "<module>: drop 'low' [0]",
        "<module>: drop 'high' [1]",
        "<module>: 10 up",
        "<module>: 20 up",
        "judge: Lt to LtE [0]",
        "judge: Lt to GtE [0]",
        "judge: 0 up",
        "judge: return None",
        "judge: Gt to GtE [0]",
        "judge: Gt to LtE [0]",
    }


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = a and b and c", {"And to Or", "drop operand [0]", "drop operand [1]", "drop operand [2]"}),
        ("x = min(a, b) + c", {"min to max", "Add to Sub"}),
        ("if ready: go()", {"negate condition"}),
        ("x = [i for i in y if i]", {"drop filter [0]"}),
        ("x = -a", {"drop minus"}),
        ("x = True", {"True to False"}),
        ("x = list(zip(a, b, strict=True))", set[str]()),
        ("x: Literal[3] = y", set[str]()),
        ("Rows = tuple[Literal[3], Any]", set[str]()),
        ("@dataclass(frozen=True)\nclass A: ...", set[str]()),
    ],
)
def test_each_kind_of_slip_has_its_mutants(source: str, words: set[str]) -> None:
    assert {mutant.what for mutant in mutants_of(source, "toy.py")} == words


def test_every_mutant_differs_from_the_original_and_from_the_others() -> None:
    texts = [ast.unparse(apply(LIMIT, mutant)) for mutant in mutants_of(LIMIT, "toy.py")]
    assert ast.unparse(ast.parse(LIMIT)) not in texts
    assert len(set(texts)) == len(texts)


def test_an_id_stays_when_lines_move() -> None:
    moved = LIMIT.replace("TABLE = ", "\n# moved\nTABLE = ")
    assert [m.id for m in mutants_of(moved, "toy.py")] == [m.id for m in mutants_of(LIMIT, "toy.py")]


def test_comments_blank_lines_and_docstrings_are_no_code() -> None:
    assert code_lines(LIMIT) == 5


CHECKS = dedent("""
    import pytest
    from toy.limit import judge

    def test_above() -> None:
        assert judge(11) and not judge(9) and judge(21, "high") and not judge(20, "high")

    def test_below_zero() -> None:
        with pytest.raises(ValueError):
            judge(-1)
        assert not judge(0)
""")


def _hunt(folder: Path, checks: str, only: str = "judge::Gt to") -> tuple[int, str, dict[str, object]]:
    """Hunt some mutants of the toy, by default the two of its last comparison."""
    for name, text in (("toy/limit.py", LIMIT), ("checks/test_limit.py", checks)):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    options = ["--package", "toy", "--tests", "checks", "--report", "report.json", "--only", only]
    said = subprocess.run(
        [sys.executable, "-m", "tests.mutation", *options],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    report = folder / "report.json"
    return said.returncode, said.stdout + said.stderr, json.loads(report.read_text()) if report.exists() else {}


BOUNDARY = "toy/limit.py::judge::Gt to GtE [0]::1"


def test_what_no_test_tells_apart_is_named_and_ends_the_run_non_zero(tmp_path: Path) -> None:
    code, said, report = _hunt(tmp_path, CHECKS.replace(' and not judge(20, "high")', ""))
    assert (code, report["survivors"], report["killed"]) == (1, [BOUNDARY], 1), said
    assert f"no test tells {BOUNDARY} from the original" in said


def test_a_run_without_survivors_succeeds(tmp_path: Path) -> None:
    code, said, report = _hunt(tmp_path, CHECKS)
    assert (code, report["survivors"], report["killed"]) == (0, [], 2), said


def test_a_test_that_only_looks_at_a_table_kills_too(tmp_path: Path) -> None:
    looks = "from toy.limit import TABLE\n\ndef test_table() -> None:\n    assert TABLE == {'low': 10, 'high': 20}\n"
    code, said, report = _hunt(tmp_path, looks, only="<module>")
    assert (code, report["survivors"], report["killed"]) == (0, [], 4), said


def test_tests_that_fail_without_a_mutant_stop_the_run(tmp_path: Path) -> None:
    code, said, report = _hunt(tmp_path, CHECKS + "\ndef test_wrong() -> None:\n    assert not judge(11)\n")
    assert (code, report) == (1, {})
    assert "checks/test_limit.py::test_wrong" in said


def test_a_recorded_test_that_is_not_found_again_stops_the_run(tmp_path: Path) -> None:
    named_by_chance = CHECKS.replace("def test_above()", """
import os
@pytest.mark.parametrize("process", [os.getpid()])
def test_above(process)""")  # fmt: skip
    code, said, report = _hunt(tmp_path, named_by_chance)
    assert (code, report) == (1, {}), said
    assert "not found again: checks/test_limit.py::test_above[" in said


@pytest.mark.parametrize(
    ("outcome", "excused", "complaint"),
    [
        ("killed", "m", "m is listed as equivalent, but a test tells it apart"),
        ("timeout", "m", "m is listed as equivalent, but a test tells it apart"),
        ("survived", "gone", "gone is listed as equivalent and does not exist"),
        ("survived", "gone", "no test tells m from the original"),
    ],
)
def test_an_excuse_must_be_true(outcome: str, excused: str, complaint: str) -> None:
    assert complaint in complaints(Tally({"m": outcome}), {excused: "why"}, {"m"}, lines=1)


def test_a_true_excuse_is_accepted_but_not_too_many_for_what_was_tried() -> None:
    others = dict.fromkeys(map(str, range(99)), "killed")
    assert complaints(Tally({"m": "survived", **others}), {"m": "why"}, {"m", *others}, lines=100) == []
    few = complaints(Tally({"m": "survived"}), {"m": "why"}, {"m", *others}, lines=1)
    assert few == ["1 equivalents of 1 mutants tried are more than 3%"]


def test_too_few_mutants_tried_for_the_code_are_an_error_however_many_there_are() -> None:
    few = complaints(Tally({"m": "killed"}), {}, {"m", "n", "o"}, lines=5)
    assert few == ["1 mutants tried for 5 code lines are fewer than 25 per 100"]


@pytest.mark.parametrize(
    ("sample", "only", "many"),
    [
        ("", False, 260),
        ("all", False, None),
        ("", True, None),
        ("all", True, None),
        ("70", False, 70),
        ("70", True, 70),
    ],
)
def test_a_run_tries_enough_for_the_code_unless_told_otherwise(sample: str, only: bool, many: int | None) -> None:
    assert how_many(sample, 1000, only=only)[1] == many


@pytest.mark.parametrize("sample", ["0", "-1", "most"])
def test_a_sample_that_is_no_number_is_refused_with_what_may_be_said(sample: str) -> None:
    with pytest.raises(SystemExit, match=f"SAMPLE is '{sample}'; it may be a number from 1, or `all`"):
        how_many(sample, 1000, only=False)


def test_the_report_says_what_was_chosen_and_how_dense_it_is() -> None:
    report = report_of(Tally({"m": "killed"}), {}, "in words", chosen=2, total=9, lines=5)
    told = [report[key] for key in ("choice", "chosen", "mutants", "tried", "tried_per_100_lines", "complete")]
    assert told == ["in words", 2, 9, 1, 20.0, False]


def test_an_excuse_needs_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "equivalent.yaml"
    file.write_text("- {id: m, reason: }\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="no reason is given for m"):
        read_equivalents(file)
