"""A rack's file of Racky: the shipped one is accepted, and every fault of a wrong one is told at once, where it is."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fieldkit.errors import ConfigError, Fault
from racky.cli import COMMANDS, build
from racky.config import load
from racky.core.setup import Reclose
from racky.to_setup import to_setup
from tests.racky.files import ROOT, SHIPPED, loaded, written

LIFE = f"""
lifecycle:
  gates: {ROOT / "configs" / "lifecycle" / "gates.yaml"}
  manifest: manifest.yaml
  expected: {{power_shelf_1: {{model: racky-pwr-shelf}}, room: {{model: racky-room, serial: "R-1"}}}}
  diagnostics: [{{id: dcgm, command: [/usr/bin/true], timeout_s: 60.0}}]
mqtt:"""


def faults(folder: Path, *changes: tuple[str, str]) -> list[Fault]:
    with pytest.raises(ConfigError) as caught:
        load(written(folder, *changes))
    return list(caught.value.faults)


def test_the_shipped_file_is_accepted_and_switches_nothing() -> None:
    config = load(SHIPPED)
    setup = to_setup(config)
    assert not setup.armed
    assert setup.reclose is Reclose.MANUAL
    assert [shelf.number for shelf in setup.shelves] == [111, 112, 113, 114]
    assert [battery.number for battery in setup.batteries] == [121]
    assert setup.plan is None


def test_tags_follow_from_the_numbers_of_shelves_and_supplies(tmp_path: Path) -> None:
    config = loaded(tmp_path)
    assert config.inputs["EA-113F"].point == "psu_f_ac_fault"
    assert config.inputs["XB-121"].bus == "battery_shelf_1"
    assert {place.point for place in config.outputs.values()} == {"output"}
    assert sorted(config.outputs) == ["XS-111", "XS-112", "XS-113", "XS-114", "XS-121"]
    assert not config.outputs.keys() & config.inputs.keys()
    assert config.max_age_s["XI-111"] == pytest.approx(2.0)
    assert config.max_age_s["ST-111A"] == pytest.approx(6.0)


def test_no_output_of_racky_s_is_a_valve_or_the_permit(tmp_path: Path) -> None:
    assert all(tag.startswith("XS-1") and tag[4] in "12" for tag in loaded(tmp_path).outputs)


@pytest.mark.parametrize(
    ("old", "new", "key", "says"),
    [
        ("budget_kw: 132.0", "budget_kw: 140.0", "power.budget_kw", "above the rating"),
        ("shed: [114, 113]", "shed: [114, 119]", "power.shed.1", "no shelf 119"),
        ("number: 112", "number: 111", "power.shelves.1.number", "stands twice"),
        ("bus: power_shelf_3,", "bus: power_shelf_33,", "power.shelves.2", "no bus 'power_shelf_33'"),
        ("point: mt_110", "point: mt_111", "tags.MT-110", "no point 'mt_111'"),
        ("MT-110:", "FT-101:", "tags.FT-101", "no tag of Racky's own"),
        ("192.168.10.22:502", "192.168.10.21:502", "buses.power_shelf_2.tcp", "same device as bus power_shelf_1"),
        ("profile: racky_room", "profile: racky_rom", "buses.room.profile", "no profile 'racky_rom'"),
        ("simulated: false", "simulated: false\nspeed: 2.0", "speed", "real rack"),
        ("reclose: manual", "reclose: perhaps", "power.reclose", "perhaps"),
        ("budget_kw: 132.0", "budget: 132.0", "power.budget", "its unit is missing"),
    ],
)
def test_a_fault_is_told_with_its_line_and_key(tmp_path: Path, old: str, new: str, key: str, says: str) -> None:
    found = faults(tmp_path, (old, new))
    told = next(fault for fault in found if fault.key.startswith(key))
    assert told.line is not None
    assert says in f"{told.message} {told.allowed}"


def test_an_output_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    found = faults(tmp_path, ("bus: battery_shelf_1}", "bus: battery_shelf_1, points: {command: output_on}}"))
    assert "no output that can be switched" in found[0].message


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        ("shed: [114, 113]", "shed: [9]"),
        ("reclose: manual", "recluse: manual"),
        ("loop: cdu1", "loup: cdu1"),
    )
    assert len(found) >= 3


def test_a_lifecycle_has_its_gates_and_its_manifest(tmp_path: Path) -> None:
    (tmp_path / "manifest.yaml").write_text('releases: {racky-pwr-shelf: {revision: "1.0.0"}}\n')
    plan = to_setup(loaded(tmp_path, ("\nmqtt:", LIFE))).plan
    assert plan is not None
    assert [one.device for one in plan.expected] == ["power_shelf_1", "room"]
    assert plan.manifest[0].revision == "1.0.0"
    assert any(gate.id == "tightness" for gate in plan.gates)
    assert plan.diagnostics[0].timeout_s == pytest.approx(60.0)


def test_a_manifest_that_is_not_there_is_told_by_its_name(tmp_path: Path) -> None:
    assert "manifest.yaml" in str(faults(tmp_path, ("\nmqtt:", LIFE))[0])


def test_the_command_tells_every_fault_as_one_document(tmp_path: Path) -> None:
    path = written(tmp_path, ("shed: [114, 113]", "shed: [9]"))
    done = CliRunner().invoke(build(*COMMANDS), ["check-config", str(path), "-o", "json"])
    document = json.loads(done.stdout)
    assert (done.exit_code, document["ok"], document["digest"]) == (2, False, None)
    assert {"file", "line", "key", "message", "allowed", "nearest"} == set(document["errors"][0])
    good = CliRunner().invoke(build(*COMMANDS), ["check-config", str(SHIPPED)])
    assert (good.exit_code, "battery shelves: 1" in good.stdout) == (0, True)
