"""The table of the field cases: which test proves which, through which door, or why a case cannot arise here.

``cases.yaml`` has one row a case. A test proves a case by the marker ``@pytest.mark.field_case("P034")``, or by standing
in the row's ``tests``.
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import yaml

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(__file__).with_name("cases.yaml")
PAGE = ROOT / "docs" / "generated" / "field_cases.md"
REPORT = ROOT / "build" / "field_cases.json"
JUNIT = ROOT / "build" / "field_cases.xml"
DOORS = ("wire", "broker", "process", "files", "cli", "unit")
"""What a case comes in by: all but the last are doors of the running daemon."""
TOTAL = 107


@dataclass(frozen=True)
class Case:
    """One row.

    title   what people report, in a line
    door    one of DOORS; None while the case is open, or when it cannot arise
    reason  why it cannot arise here, None when it is tested
    tests   node ids of the tests that prove it
    """

    id: str
    title: str
    door: str | None
    reason: str | None
    tests: tuple[str, ...]

    @property
    def state(self) -> str:
        return "tested" if self.tests else "reasoned" if self.reason else "open"


def marked(folder: Path = ROOT / "tests") -> dict[str, list[str]]:
    """Return case -> node ids of the tests that carry its marker."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "field_case" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith("test_"):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.field_case":
                    for case in mark.args:
                        nodes = found.setdefault(str(ast.literal_eval(case)), [])
                        nodes.append(f"{path.relative_to(ROOT).as_posix()}::{node.name}")
    return found


def cases(
    rows: Mapping[str, Mapping[str, Any]] | None = None, marks: Mapping[str, list[str]] | None = None
) -> list[Case]:
    """Return every case. Raises ValueError naming all that is wrong with the rows and the markers."""
    rows = rows if rows is not None else yaml.safe_load(CASES.read_text(encoding="utf-8"))
    marks = marks if marks is not None else marked()
    wrong = [f"{case}: marked by {tests[0]}, and no row has it" for case, tests in marks.items() if case not in rows]
    out = []
    for name, row in rows.items():
        if unknown := set(row) - {"title", "door", "reason", "tests"}:
            wrong.append(f"{name}: no key {', '.join(sorted(unknown))}; allowed: title, door, reason, tests")
        tests = tuple(dict.fromkeys([*marks.get(name, []), *row.get("tests", [])]))
        case = Case(name, row["title"], row.get("door"), row.get("reason"), tests)
        out.append(case)
        wrong += [f"{name}: {problem}" for problem in _problems(case)]
    if wrong:
        raise ValueError("\n".join(wrong))
    return out


def _problems(case: Case) -> list[str]:
    out = []
    if not re.fullmatch(r"P\d{3}", case.id):
        out.append("a case is called P001..P107")
    if case.tests and case.reason:
        out.append("is tested and has a reason why it cannot arise")
    if case.tests and case.door not in DOORS:
        out.append(f"door is {case.door!r}; allowed: {', '.join(DOORS)}")
    if case.door and not case.tests:
        out.append("has a door and no test")
    for test in case.tests:
        path, _, function = test.partition("::")
        source = ROOT / path
        if not source.is_file() or not re.search(rf"^(async )?def {re.escape(function)}\(", source.read_text(), re.M):
            out.append(f"there is no test {test}")
    return out


def page(all_cases: Iterable[Case], failed: frozenset[str] = frozenset()) -> str:
    """Return the table as Markdown; ``failed`` are the cases whose tests did not all pass."""
    rows = list(all_cases)
    states = [case.state for case in rows]
    through = sum(case.door not in {None, "unit"} for case in rows)
    lines = [
        "# Field cases",
        "",
        "What people who do this job report, and the test that runs each case here. Written by `make field-cases`.",
        "",
        f"{len(rows)} cases: {states.count('tested')} tested ({through} through a door of the daemon), "
        f"{states.count('reasoned')} cannot arise, {states.count('open')} open, {len(failed)} failed.",
        "",
        "| case | what people report | door | result | proven by |",
        "|---|---|---|---|---|",
    ]
    for case in rows:
        result = (
            "FAILED" if case.id in failed else {"tested": "ok", "reasoned": "cannot arise", "open": "open"}[case.state]
        )
        proof = case.reason or "<br>".join(f"`{test.removeprefix('tests/')}`" for test in case.tests)
        lines.append(f"| {case.id} | {case.title} | {case.door or '-'} | {result} | {proof} |")
    return "\n".join(lines) + "\n"


def run(all_cases: Iterable[Case]) -> dict[str, bool]:
    """Run every test of the table; return test -> passed, skipped ones counted as not passed."""
    tests = sorted({test for case in all_cases for test in case.tests})
    JUNIT.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={JUNIT}", *tests]
    subprocess.run(command, cwd=ROOT, check=False)
    passed = dict.fromkeys(tests, True)
    ran = set()
    for one in ET.parse(JUNIT).getroot().iter("testcase"):
        name = f"{one.get('classname', '').replace('.', '/')}.py::{one.get('name', '').partition('[')[0]}"
        ran.add(name)
        passed[name] = passed.get(name, True) and not any(one.findall(tag) for tag in ("failure", "error", "skipped"))
    return {test: passed[test] and test in ran for test in tests}


def main(arguments: list[str]) -> int:
    """``--check``: compare the page with the table, run nothing. Otherwise run all, write page and report."""
    try:
        found = cases()
    except ValueError as error:
        print(error)
        return 2
    if arguments == ["--check"]:
        same = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page(found)
        print(f"{PAGE.relative_to(ROOT)}: {'is as the table says' if same else 'is stale: run `make field-cases`'}")
        return 0 if same else 1
    if arguments not in ([], ["--page"]):
        print("python -m tests.field_cases [--check | --page]")
        return 2
    passed = run(found) if not arguments else {test: True for case in found for test in case.tests}
    failed = frozenset(case.id for case in found if not all(passed[test] for test in case.tests))
    PAGE.write_text(page(found, failed), encoding="utf-8")
    if arguments:
        return 0
    report = [
        {
            "case": case.id,
            "test": case.tests[0] if case.tests else None,
            "tests": list(case.tests),
            "door": case.door,
            "reason": case.reason,
            "ok": case.id not in failed and case.state != "open",
        }
        for case in found
    ]
    REPORT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    still_open = [case.id for case in found if case.state == "open"]
    print(
        f"{len(found)} cases, {len(failed)} failed, {len(still_open)} open: {PAGE.relative_to(ROOT)}, {REPORT.relative_to(ROOT)}"
    )
    return 1 if failed else 0
