"""A loop's file: refused for each reason alone, with its line, key, what is allowed and the nearest name."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fieldkit.errors import ConfigError
from tests.valvey.loop.loops import EXAMPLE, faults, loop, write
from valvey.cli import build
from valvey.core.loop.limits import Action, Bounds, Mode
from valvey.loop.cli import is_loop
from valvey.loop.config import load, to_limits

# fmt: off
WRONG: tuple[tuple[str, str, str, str], ...] = (
    ("loop: cdu1",                          "loop: CDU.1",                        "loop",                                "a-z0-9_-"),
    ("unit: 1",                             "unit: 300",                          "cdu.unit",                            "255"),
    ("timeout_s: 0.25",                     "timeout_s: 2.0",                     "cdu.timeout_s",                       "0.3"),
    ("profile: racky_cdu",                  "profile: racky_cdo",                 "cdu.profile",                         "no profile"),
    ("PT-201:  pt_201 ",                    "PT-201:  pt_20 ",                    "cdu.points.PT-201",                   "pt_20"),
    ("    FT-201:  ft_201\n",               "",                                   "cdu.points.FT-201",                   "missing"),
    ("speed: pump_speed",                   "speed: pump_sped",                   "cdu.speed",                           "pump_sped"),
    ("pump_trip: pump_trip",                "pump_trip: pump_tripp",              "cdu.pump_trip",                       "pump_tripp"),
    ("run: run_sp",                         "run: run_spp",                       "cdu.run",                             "run_spp"),
    ("run: run_sp",                         "run: mode",                          "cdu.run",                             "no command"),
    ("run: run_sp",                         "run: speed_sp",                      "cdu.run",                             "no command"),
    ("point: supply_sp, low: 20.0",         "point: supply_spp, low: 20.0",       "cdu.supply.point",                    "no point"),
    ("point: supply_sp, low: 20.0",         "point: tt_201, low: 20.0",           "cdu.supply.point",                    "no temperature"),
    ("point: supply_sp, low: 20.0",         "point: speed_sp, low: 20.0",         "cdu.supply.point",                    "no temperature"),
    ("point: supply_sp, low: 20.0",         "point: supply_sp, low: 45.0",        "cdu.supply.high",                     "not above low"),
    ("low: 20.0, high: 45.0",               "low: 20.0, high: 47.0",              "cdu.supply.high",                     "supply_h_c"),
    ("pump_stop: never",                    "pump_stop: always",                  "policy.pump_stop",                    "when_all_dark"),
    ("static-lost: tell",                   "static-lost: estop",                 "policy.events.static-lost",           "isolate"),
    ("static-lost: tell",                   "static-loss: tell",                  "policy.events.static-loss",           "static-lost"),
    ("least_lpm: 150.0\n  bypass_fitted: true ", "least_lpm: 350.0\n  bypass_fitted: false ",             "cdu.set_points.constant_flow.low",    "minimum flow"),
    ("point: mode,",                        "point: mod,",                        "cdu.mode.point",                      "mod"),
    ("constant_dp: 1,",                     "constant_dp: 0,",                    "cdu.mode",                            "same number"),
    ("point: dp_sp, low: 100.0",            "point: pt_201, low: 100.0",          "cdu.set_points.constant_dp.point",    "again and again"),
    ("point: dp_sp, low: 100.0",            "point: flow_sp, low: 100.0",         "cdu.set_points.constant_dp.point",    "L/min"),
    ("point: dp_sp, low: 100.0",            "point: dp_spp, low: 100.0",          "cdu.set_points.constant_dp.point",    "no point"),
    ("low: 40.0, high: 100.0",              "low: 4.0, high: 100.0",              "cdu.set_points.fixed_speed.low",      "all but stop"),
    ("low: 40.0, high: 100.0",              "low: 60.0, high: 50.0",              "cdu.set_points.fixed_speed.high",     "not above low"),
    ("low: 40.0, high: 100.0",              "low: 40.0, high: 120.0",             "cdu.set_points.fixed_speed.high",     "at most 100"),
    ("design_dp_kpa: 205.0",                "design_dp_kpa: 500.0",               "pumps.design_dp_kpa",                 "dead head"),
    ("armed: false ",                       "speed: 5.0 ",                        "speed",                               "real loop"),
    ("works_at_once: 1",                    "works_at_once: 99",                  "limits.works_at_once",                "8"),
    ("works_at_once: 1",                    "work_at_once: 1",                    "limits.work_at_once",                 "unknown"),
    ("rating_kw: 132.0",                    "rating_w: 132.0",                    "racks.r01.rating_w",                  "wrong unit"),
    ("volume_l: 45.0, sump: s1",            "volume_l: 45.0, sump: s2",           "racks.r01.sump",                      "no sump"),
    ("mqtt: {host: localhost, port: 1883,", "mqtt: {host: localhost, port: 0,",   "mqtt.port",                           "1"),
)
# fmt: on


def test_the_shipped_example_is_sound_and_becomes_the_cores_limits(tmp_path: Path) -> None:
    config = loop(tmp_path)
    limits = to_limits(config)
    assert list(limits.racks) == ["r01", "r02", "r03", "r04"]
    assert limits.bounds[Mode.CONSTANT_DP] == Bounds(100.0, 300.0)
    assert limits.modes == {0: Mode.FIXED_SPEED, 1: Mode.CONSTANT_DP, 2: Mode.CONSTANT_FLOW}
    assert (limits.dp_remote, limits.header_loss_kpa, limits.armed) == (True, 8.0, False)
    assert config.point_of == {
        "speed_sp": "speed_sp",
        "dp_sp": "dp_sp",
        "flow_sp": "flow_sp",
        "pumps_run": "run_sp",
        "supply_sp": "supply_sp",
    }
    assert (config.tags["SP-SUPPLY"], limits.supply) == ("supply_sp", Bounds(20.0, 45.0))
    assert (limits.pump_stop, limits.actions["static-lost"]) == (False, Action.TELL)
    assert config.tags["P-201-TRIP"] == "pump_trip"
    assert load(EXAMPLE).profile == config.profile


@pytest.mark.parametrize(("old", "new", "key", "told"), WRONG)
def test_each_fault_is_told_with_its_key(tmp_path: Path, old: str, new: str, key: str, told: str) -> None:
    found = faults(tmp_path, (old, new))
    assert key in {fault.key for fault in found}
    assert any(told in str(fault) for fault in found if fault.key == key), [str(fault) for fault in found]


def test_pumps_that_may_be_stopped_need_a_command_that_is_named(tmp_path: Path) -> None:
    allowed = ("pump_stop: never", "pump_stop: when_all_dark")
    assert to_limits(loop(tmp_path, allowed)).pump_stop
    line = next(line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if "run: run_sp" in line)
    (fault,) = faults(tmp_path, allowed, (line + "\n", ""))
    assert (fault.key, fault.allowed) == ("policy.pump_stop", "'run' under cdu, or never")
    unnamed = loop(tmp_path, (line + "\n", ""))
    assert "P-201-RUN" not in unnamed.tags
    assert "pumps_run" not in unnamed.point_of


def test_ten_faults_are_told_together(tmp_path: Path) -> None:
    chosen = [
        (old, new) for old, new, key, _ in WRONG if key.startswith(("cdu.points", "pumps", "limits.works", "cdu.unit"))
    ]
    found = faults(tmp_path, *chosen, ("low: 300.0", "low: 3.0"), ("sump: s1}", "sump: nowhere}"))
    assert len(found) >= 6
    assert [fault.line for fault in found] == sorted(fault.line or 0 for fault in found)


def test_a_loop_without_racks_or_a_listed_detector_is_refused(tmp_path: Path) -> None:
    text = write(tmp_path).read_text(encoding="utf-8")
    begin, end = text.index("racks:  "), text.index("limits:")
    path = tmp_path / "empty.yaml"
    path.write_text(text[:begin] + "racks: {}\n\n" + text[end:], encoding="utf-8")
    with pytest.raises(ConfigError, match="no rack is named"):
        load(path)
    found = faults(tmp_path, ("  pump_trip: pump_trip\n", "  pump_trip: pump_trip\n  detectors: [LDT-201, LDT-202]\n"))
    assert [fault.key for fault in found] == ["cdu.detectors.1"]


def test_a_mode_or_a_pump_trip_that_is_left_out_is_simply_not_used(tmp_path: Path) -> None:
    config = loop(
        tmp_path,
        ("    fixed_speed:   {point: speed_sp, low: 40.0, high: 100.0}      # %\n", ""),
        ("  pump_trip: pump_trip\n", ""),
        (
            "  supply: {point: supply_sp, low: 20.0, high: 45.0}   # degC; kept 2 K above the racks' dew points. Left out: never written\n",
            "",
        ),
        ("    LDT-201: ldt_201\n", ""),
    )
    assert Mode.FIXED_SPEED not in to_limits(config).bounds
    assert "SP-SPEED" not in config.tags
    assert "P-201-TRIP" not in config.tags
    assert ("SP-SUPPLY" in config.tags, "supply_sp" in config.point_of, to_limits(config).supply) == (
        False,
        False,
        None,
    )
    assert to_limits(config).detectors == ()


def test_a_file_that_is_not_there_and_a_broken_profile_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none.yaml")
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "racky_cdu.yaml").write_text("profile: racky_cdu\n", encoding="utf-8")
    path = tmp_path / "loop.yaml"
    path.write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ConfigError, match="points"):
        load(path)


def test_the_digest_is_of_what_the_loop_does_and_not_of_how_it_is_written(tmp_path: Path) -> None:
    same = loop(tmp_path, ("# A loop:", "# A loop, commented otherwise:")).digest
    other = loop(tmp_path, ("priority: 1,", "priority: 4,")).digest
    assert loop(tmp_path).digest == same != other


def test_a_loops_file_is_told_from_a_racks(tmp_path: Path) -> None:
    assert is_loop(EXAMPLE)
    assert not is_loop(EXAMPLE.parent / "rack.yaml")
    assert not is_loop(tmp_path / "none.yaml")
    bad = tmp_path / "bad.yaml"
    bad.write_text("- a\n- b\n", encoding="utf-8")
    assert not is_loop(bad)


def test_both_commands_check_a_loops_file(tmp_path: Path) -> None:
    runner, app = CliRunner(), build("check-config", "loop")
    for command in (["check-config"], ["loop", "check-config"]):
        good = runner.invoke(app, [*command, str(EXAMPLE), "-o", "json"])
        assert (good.exit_code, json.loads(good.stdout)["ok"]) == (0, True)
        assert "4 racks" in runner.invoke(app, [*command, str(EXAMPLE)]).stdout
        wrong = write(tmp_path, ("unit: 1", "unit: 300"))
        bad = runner.invoke(app, [*command, str(wrong), "-o", "json"])
        assert bad.exit_code == 2
        assert json.loads(bad.stdout)["errors"][0]["key"] == "cdu.unit"
        assert "1 fault\n" in runner.invoke(app, [*command, str(wrong)]).stdout
    assert runner.invoke(app, ["loop", "run", str(write(tmp_path, ("unit: 1", "unit: 300")))]).exit_code == 2
