"""Facts about the tree itself that no other tool holds: what a reader or an installer relies on."""

import ast
import importlib.machinery
import importlib.util
import json
import re
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ("fieldkit", "valvey", "racky", "firmware_sim")
LOCKS = tuple(sorted((ROOT / "requirements").glob("*.txt")))
MAY_SLEEP = (ROOT / "tests" / "wire", ROOT / "tests" / "hil")
#: where a bug must end the process: a wide except would hide it
MUST_CRASH = ("valvey/core", "valvey/scan.py", "racky/core", "firmware_sim/physics", "firmware_sim/parts")
#: split, so that this file does not find itself
REGISTRY = re.compile(
    "|".join(("py" + r"pi\.org", "python" + r"hosted\.org", "npm" + r"js\.org", "extra-index" + "-url"))
)


def _tracked() -> list[Path]:
    """Every file of the tree that git would commit; without git, all but hidden and built ones."""
    listing = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(listing, capture_output=True, check=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        names = [str(path) for path in found if not path.parts[0].startswith((".venv", ".git", "build"))]
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _sources(*tops: str) -> list[Path]:
    return sorted(path for top in tops for path in (ROOT / top).rglob("*.py"))


def _lines(path: Path) -> int:
    return len(_text(path).splitlines())


def _requirements(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", _text(lock), flags=re.MULTILINE | re.IGNORECASE))


def _names_of(text: str) -> set[str]:
    return {name.lower().replace("_", "-") for name in re.findall(r"^[A-Za-z0-9_.-]+", text, flags=re.MULTILINE)}


def test_no_file_names_a_package_registry() -> None:
    naming = [path for path in _tracked() if REGISTRY.search(_text(path))]
    assert [str(path.relative_to(ROOT)) for path in naming] == []


def test_no_file_names_a_home_directory() -> None:
    home = re.compile(r"(?<![\w.-])/(?:root|home/[a-z][a-z0-9_-]*)/")
    assert [
        str(path.relative_to(ROOT)) for path in _tracked() if path != Path(__file__) and home.search(_text(path))
    ] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_locked_requirement_has_a_hash(lock: Path) -> None:
    entries = re.split(r"\n(?=\S)", _text(lock).strip())
    assert len(entries) == len(_requirements(lock)) > 0
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_smaller_locks_are_parts_of_the_developers() -> None:
    dev = _requirements(ROOT / "requirements" / "dev.txt").items()
    more = {lock.name: sorted(dict(_requirements(lock).items() - dev)) for lock in LOCKS}
    assert {name: names for name, names in more.items() if names} == {"fuzz.txt": ["atheris"]}


def test_every_dependency_is_locked_where_it_is_needed() -> None:
    project = tomllib.loads(_text(ROOT / "pyproject.toml"))
    extras = project["project"]["optional-dependencies"]
    needed = {
        "runtime.txt": [*project["project"]["dependencies"], *extras["fast"]],
        "demo.txt": [*extras["demo"], *project["dependency-groups"]["build"]],
        "dev.txt": extras["dev"],
        "fuzz.txt": extras["fuzz"],
    }
    for name, wanted in needed.items():
        locked = _names_of("\n".join(_requirements(ROOT / "requirements" / name)))
        assert _names_of("\n".join(wanted)) - locked == set(), f"{name}: run `make lock`"


def test_every_module_can_be_read_in_one_sitting() -> None:
    sizes = {str(path.relative_to(ROOT)): _lines(path) for path in _sources(*SHIPPED, "bench")}
    assert {name: lines for name, lines in sizes.items() if lines > 300} == {}
    assert statistics.median(sizes.values()) <= 120


def test_the_safety_case_stands_alone() -> None:
    """valvey/core imports itself, fieldkit, two pure libraries and the standard library: nothing of Valvey's shell."""
    allowed = {"fieldkit", "transitions", "pydantic", *sys.stdlib_module_names}
    for path in _sources("valvey/core"):
        froms = [node.module or "" for node in ast.walk(ast.parse(_text(path))) if isinstance(node, ast.ImportFrom)]
        plain = [
            n.name for node in ast.walk(ast.parse(_text(path))) if isinstance(node, ast.Import) for n in node.names
        ]
        strange = [name for name in froms + plain if name.split(".")[0] not in allowed]
        assert [name for name in strange if not f"{name}.".startswith("valvey.core.")] == [], path


def test_the_readme_fits_a_screen_or_two() -> None:
    assert _lines(ROOT / "README.md") <= 90


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", _text(ROOT / "Makefile"), flags=re.MULTILINE))
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / ".ci" / "stages.py"]
    named = {name for page in pages for name in re.findall(r"\bmake ([a-z][a-z-]*[a-z])\b", _text(page))}
    assert {"demo", "test"} <= named
    assert named - targets - {"and"} == set()


def test_every_page_that_a_page_links_to_exists() -> None:
    pages = [path for path in _tracked() if path.suffix == ".md"]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", _text(page))]
    assert [f"{page.name} -> {link}" for page, link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("adr", sorted((ROOT / "docs" / "decisions").glob("*.md")), ids=lambda path: path.name)
def test_a_decision_is_one_page_with_context_decision_and_consequences(adr: Path) -> None:
    headings = [line for line in _text(adr).splitlines() if line.startswith("#")]
    assert re.match(rf"# {int(adr.name[:4])}\. \w", headings[0])
    assert headings[1:] == ["## Context", "## Decision", "## Consequences"]
    assert _lines(adr) <= 60


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = sorted(int(path.name[:4]) for path in (ROOT / "docs" / "decisions").glob("*.md"))
    assert numbers == list(range(1, len(numbers) + 1)) != []


def _sleeps(path: Path) -> list[int]:
    """Lines that sleep for longer than one turn of the loop, in the programs that a test starts as well."""
    return _sleeps_in(ast.parse(_text(path)))


def _sleeps_in(tree: ast.AST) -> list[int]:
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    programs = [(node.lineno, node.value) for node in constants if isinstance(node.value, str)]
    lines = [line for line, program in programs if ".sleep(" in program and _sleeps_in(_parsed(program))]
    froms = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module in {"asyncio", "time"})
    names = {"asyncio.sleep", "time.sleep"} | {
        name.asname or name.name for node in froms for name in node.names if name.name == "sleep"
    }
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) in names)
    lines += [call.lineno for call in calls if ast.unparse(call.args[0]) != "0"]
    return lines


def _parsed(program: str) -> ast.AST:
    try:
        return ast.parse(program)
    except SyntaxError:  # prose that names it
        return ast.Module([], [])


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("import time\ntime.sleep(0.1)", [2]),
        ("from asyncio import sleep as nap\nsleep(1)\nasync def f(): await nap(1)", [3]),
        ("import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    await asyncio.sleep(0.001)", [4]),
        ("P = 'import time; time.sleep(1)'", [1]),
        ("P = 'never time.sleep() here'", []),
    ],
)
def test_a_sleep_is_found_wherever_it_hides(text: str, lines: list[int]) -> None:
    assert _sleeps_in(ast.parse(text)) == lines


def test_no_test_sleeps_but_on_a_real_wire() -> None:
    exempt = (*MAY_SLEEP, Path(__file__))
    pure = [path for path in _sources("tests") if not any(path.is_relative_to(top) for top in exempt)]
    assert {str(path.relative_to(ROOT)): lines for path in pure if (lines := _sleeps(path))} == {}


def test_nothing_catches_everything_where_a_bug_must_crash() -> None:
    files = [
        path for top in MUST_CRASH for path in ([ROOT / top] if top.endswith(".py") else _sources(top)) if path.exists()
    ]
    wide = re.compile(r"except(\s+(Base)?Exception\b.*)?:")
    assert {str(path.relative_to(ROOT)) for path in files if wide.search(_text(path))} == set()


def test_the_changelog_starts_with_what_is_not_released_or_this_version() -> None:
    version = tomllib.loads(_text(ROOT / "pyproject.toml"))["project"]["version"]
    headings = re.findall(r"^## \[([^\]]+)\]", _text(ROOT / "CHANGELOG.md"), flags=re.MULTILINE)
    assert headings[0] in {"Unreleased", version}


@pytest.fixture(scope="module")
def ci() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("ci_run", str(ROOT / ".ci" / "stages.py"))
    spec = importlib.util.spec_from_loader("ci_run", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_ci_reports_every_stage_and_goes_on_after_a_failed_one(ci: ModuleType, tmp_path: Path) -> None:
    report = tmp_path / "ci" / "stages.json"
    stages = (("one", "false", 5.0), ("two", "echo '=== 3 passed in 0.10s ==='", 5.0))
    rows, closings = ci.run_stages(stages, report, 30.0)
    assert [(row["stage"], row["ok"]) for row in rows] == [("one", False), ("two", True)]
    assert json.loads(report.read_text()) == rows
    assert closings == ["=== 3 passed in 0.10s ==="]


def test_ci_ends_a_stage_that_hangs_with_its_children(ci: ModuleType, tmp_path: Path) -> None:
    rows, _ = ci.run_stages((("hang", "tail -f /dev/null & wait", 1.0),), tmp_path / "stages.json", 30.0)
    assert [row["ok"] for row in rows] == [False]
    assert rows[0]["seconds"] < 5.0


def test_ci_stops_when_the_set_up_fails(ci: ModuleType, tmp_path: Path) -> None:
    rows, _ = ci.run_stages((("setup", "false", 5.0), ("test", "true", 5.0)), tmp_path / "stages.json", 30.0)
    assert [row["stage"] for row in rows] == ["setup"]


def test_ci_starts_as_a_shell_script() -> None:
    """CI runs `bash .ci/run`, whatever its first line says."""
    done = subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "stages.py" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
