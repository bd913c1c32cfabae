"""The command line: what it takes, what it refuses, and with which exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from fieldkit.cli_asking import arguments
from tests.valvey.racks import write
from valvey.cli import COMMANDS, build
from valvey.core.requests import REQUESTS

runner = CliRunner()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    shown = runner.invoke(build(*COMMANDS), [name, "--help"])
    assert shown.exit_code == 0
    assert "Usage" in shown.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["field", "absent.yaml"],
        ["request", "dark", "absent.yaml"],
        ["request", "drak", "--broker", "127.0.0.1:1", "--site", "a", "--rack", "b"],
        ["request", "dark"],
        ["request", "dark", "--broker", "nowhere", "--site", "a", "--rack", "b"],
        ["request", "dark", "--broker", "127.0.0.1:1", "--site", "a", "--rack", "b", "--expect-seq", "soon"],
        ["status", "--broker", "127.0.0.1:1"],
        ["shutdown", "absent.yaml"],
        ["replay", "absent"],
        ["make-coffee"],
    ],
)
def test_what_cannot_be_meant_is_usage(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert runner.invoke(build(*COMMANDS), words).exit_code == 2


def test_a_guard_without_a_sound_file_ends_before_it_begins(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "valvey", "run", str(tmp_path / "absent.yaml")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, "cannot be read" in ended.stderr) == (2, True)


def test_nobody_to_shut_down_is_unreachable(tmp_path: Path) -> None:
    edits = ("/var/lib/valvey/r01", str(tmp_path / "memory")), ("/run/valvey/r01", str(tmp_path / "run"))
    path = write(tmp_path, *edits)
    assert runner.invoke(build("shutdown"), ["shutdown", "--safe", str(path)]).exit_code == 5


def test_a_real_rack_is_given_no_seeded_record(tmp_path: Path) -> None:
    path = write(tmp_path)
    shown = runner.invoke(build("commission-record"), ["commission-record", str(path), "--why", "x"])
    assert shown.exit_code == 3


def test_an_empty_journal_has_nothing_to_replay(tmp_path: Path) -> None:
    shown = runner.invoke(build("replay"), ["replay", str(tmp_path)])
    assert shown.exit_code == 2
    assert "no recording" in shown.stderr


def test_arguments_become_the_types_that_the_request_has() -> None:
    assert arguments("reset", REQUESTS["reset"].args, ["sif=SIF-1,SIF-4"]) == {"sif": ["SIF-1", "SIF-4"]}
    assert arguments("reset", REQUESTS["reset"].args, ['sif=["SIF-1"]']) == {"sif": ["SIF-1"]}
    assert arguments("isolate", REQUESTS["isolate"].args, ["force=true"]) == {"force": True}
    assert arguments("lock", REQUESTS["lock"].args, ["owner=17"]) == {"owner": "17"}
    assert arguments("bypass", REQUESTS["bypass"].args, ["name=SIF-1", "for_s=60"]) == {
        "name": "SIF-1",
        "for_s": pytest.approx(60.0),
    }
    assert json.dumps(arguments("set_point", REQUESTS["set_point"].args, ["fcv_pct=55.5"]))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("isolate", "force"),
        ("isolate", "force=maybe"),
        ("isolate", "farce=true"),
        ("set_point", "fcv_pct=wide"),
        ("reset", "sif=[broken"),
        ("arm", "now=true"),
    ],
)
def test_arguments_that_cannot_be_read_are_usage(name: str, text: str) -> None:
    assert name in REQUESTS
    with pytest.raises(typer.Exit) as caught:
        arguments(name, REQUESTS[name].args, [text])
    assert caught.value.exit_code == 2
