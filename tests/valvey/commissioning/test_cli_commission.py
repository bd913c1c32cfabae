"""The command's own doors: what it refuses before it looks at any device, and a plan that touches nothing."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fieldkit.service import InstanceLock
from tests.valvey.commissioning.test_files import a_rack, shut
from valvey.cli import build
from valvey.commissioning.plan import lines_of
from valvey.paths import Paths


def commission(path: Path, *words: str) -> Result:
    return CliRunner().invoke(build("commission", "check-config"), ["commission", str(path), *words])


def test_a_dry_run_prints_every_line_and_touches_nothing(tmp_path: Path) -> None:
    config = a_rack(tmp_path)
    shown = commission(config.file, "--dry-run", "-o", "json")
    document = json.loads(shown.stdout)
    assert [one["id"] for one in document["lines"]] == [line.id for line in lines_of(config)]
    assert (shown.exit_code, document["digest"]) == (0, config.digest)
    assert {one.name for one in tmp_path.iterdir()} == {"rack.yaml"}
    assert "43 lines" in commission(config.file, "--dry-run").stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--line", "valve/XV-105"), "did you mean 'valve/XV-10"),
        (("--answers", "{answers}"), "is no line of this rack"),
    ],
)
def test_what_the_rack_does_not_have_is_refused_by_its_name(tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    answers = tmp_path / "answers.yaml"
    answers.write_text("by: ann\nanswers: {valve/XV-109: true}\n", encoding="utf-8")
    shown = commission(a_rack(tmp_path).file, *(word.format(answers=answers) for word in words))
    assert (shown.exit_code, why in shown.stderr) == (2, True), shown.stderr


def test_a_guarded_rack_and_an_armed_one_are_refused_before_any_device_is_asked(tmp_path: Path) -> None:
    config = a_rack(tmp_path, shut(armed=True))
    shown = commission(config.file)
    assert (shown.exit_code, "it is armed" in shown.stderr) == (3, True), shown.stderr
    with InstanceLock(Paths.of(config).lock):
        shown = commission(config.file)
    assert (shown.exit_code, "holds it" in shown.stderr) == (3, True), shown.stderr


def test_check_config_demands_a_record_only_of_a_rack_and_only_when_asked(tmp_path: Path) -> None:
    path = a_rack(tmp_path).file
    runner, app = CliRunner(), build("commission", "check-config")
    assert runner.invoke(app, ["check-config", str(path)]).exit_code == 0
    shown = runner.invoke(app, ["check-config", str(path), "--require-commissioned", "-o", "json"])
    assert (shown.exit_code, json.loads(shown.stdout)["errors"][0]["message"][:15]) == (2, "is not there: t")
    other = tmp_path / "other.json"
    shown = runner.invoke(app, ["check-config", str(path), str(other), "--require-commissioned", "-o", "json"])
    assert (shown.exit_code, json.loads(shown.stdout)["errors"][0]["file"]) == (2, str(other))
    assert runner.invoke(app, ["check-config", str(path), str(other)]).exit_code == 2
