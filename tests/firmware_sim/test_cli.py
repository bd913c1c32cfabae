"""The command line: maps, refusals and exit codes (a running bench is tested on the wire)."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from firmware_sim.cli import app
from firmware_sim.client import find_control
from firmware_sim.parts.maps import MAPS
from firmware_sim.parts.orv3_mailbox import revision_in

SCENARIOS = Path(__file__).parents[2] / "configs" / "scenarios"
cli = CliRunner()


@pytest.mark.parametrize("device", MAPS)
def test_map_prints_one_json_document(device: str) -> None:
    result = cli.invoke(app, ["map", device, "-o", "json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["device"] == device


def test_map_is_a_table_for_people() -> None:
    result = cli.invoke(app, ["map", "valve_controller"])
    assert "holding      8 u16" in result.stdout
    assert "watchdog permit" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["map", "toaster"], 2, "one of valve_controller"),
        (["run", "no-such-file.yaml"], 2, "no-such-file.yaml"),
        (["run", "a.yaml", "--racks", "2"], 2, "not both"),
        (["run", "--racks", "99"], 2, "64"),
        (["run", "a.yaml", "--power"], 2, "not both"),
        (["image", "no-such-folder/x.bin"], 1, "cannot write no-such-folder/x.bin"),
        (["image", "x.bin", "--revision", "1.1.0-beta"], 2, "allowed are 1 to 8"),
        (["run", "--racks", "1", "--control", "here"], 2, "host:port"),
        (["run", "--racks", "1", "--mode", "turbo"], 2, "turbo"),
        (["fault", "clear"], 2, "say which"),
        (["scenario", "no-such-file.yaml"], 2, "no-such-file.yaml"),
        (["snapshot", "--control", "127.0.0.1:1"], 5, "no simulator at 127.0.0.1:1"),
        (["snapshot", "--ports-file", "no-such-file.json"], 5, "no-such-file.json"),
        (["speed", "2", "--control", "127.0.0.1:1"], 5, "no simulator"),
    ],
)
def test_what_cannot_be_done_has_its_exit_code_and_says_why(arguments: list[str], code: int, told: str) -> None:
    result = cli.invoke(app, arguments)
    assert result.exit_code == code
    assert told in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("document", [{"control": "127.0.0.1:7"}, {"sim_control_url": "tcp://127.0.0.1:7"}])
def test_the_control_port_is_found_in_a_ports_file_or_a_run_file(tmp_path: Path, document: dict[str, str]) -> None:
    file = tmp_path / "x.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    assert find_control(None, file) == "127.0.0.1:7"
    assert find_control("tcp://[::1]:9", file) == "[::1]:9"


def test_fault_kinds_are_listed_with_their_units() -> None:
    rows = json.loads(cli.invoke(app, ["fault", "kinds", "-o", "json"]).stdout)
    assert {"leak", "stuck", "no_reply", "emergency_stop"} <= {row["kind"] for row in rows}
    assert next(row for row in rows if row["kind"] == "leak")["unit"] == "mm"


def test_an_image_for_an_update_is_the_same_every_time(tmp_path: Path) -> None:
    files = [tmp_path / "a.bin", tmp_path / "b.bin"]
    for file in files:
        assert cli.invoke(app, ["image", str(file), "--revision", "1.2.0", "--kib", "2"]).exit_code == 0
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert revision_in(first) == "1.2.0"
    assert len(first) == 20 + 2048


def test_a_scenario_that_fails_ends_with_1_and_its_document_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "fails.yaml"
    file.write_text("title: x\nends_s: 1\nsteps:\n  - {at: 1, expect: {path: t_s, high: 0}}\n", encoding="utf-8")
    result = cli.invoke(app, ["scenario", str(file), "-o", "json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["ok"] is False


def test_a_scenario_that_holds_ends_with_0() -> None:
    result = cli.invoke(app, ["scenario", str(SCENARIOS / "emergency_stop.yaml")])
    assert result.exit_code == 0
    assert "PASS" in result.stdout
