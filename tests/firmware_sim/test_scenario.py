"""Scenarios and bench files: the shipped ones play, and mistakes are told with their lines."""

from pathlib import Path

import pytest

from fieldkit.errors import ConfigError
from firmware_sim.bench_file import load_bench
from firmware_sim.scenario import load_scenario, play_stepped

SHIPPED = sorted((Path(__file__).parents[2] / "configs" / "scenarios").glob("*.yaml"))


def file(folder: Path, text: str) -> Path:
    path = folder / "file.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_scenario_plays_and_its_expectations_hold(path: Path) -> None:
    result = play_stepped(load_scenario(path))
    assert result["simulated"] is True
    assert [check["text"] for check in result["checks"] if not check["ok"]] == []
    assert result["steps"]


def test_a_scenario_repeats_itself_exactly(tmp_path: Path) -> None:
    text = """
    title: repeat
    ends_s: 3
    steps:
      - {at: 1, fault: {kind: leak, rack: r01, place: hose, value: 4}}
      - {at: 2, load: {rack: r02, kw: 10}}
    """
    path = file(tmp_path, text)
    assert play_stepped(load_scenario(path)) == play_stepped(load_scenario(path))


def test_a_failed_expectation_is_told_with_the_value_found(tmp_path: Path) -> None:
    text = """
    title: fails
    ends_s: 1
    steps:
      - {at: 0.5, expect: {path: racks/r01/true/flow_supply_lpm, high: 5}}
      - {at: 0.5, expect: {path: racks/r01/true/colour, low: 0}}
    """
    result = play_stepped(load_scenario(file(tmp_path, text)))
    assert not result["ok"]
    assert [check["ok"] for check in result["checks"]] == [False, False]
    assert "19" in result["checks"][0]["text"]
    assert "nothing" in result["checks"][1]["text"]


def test_a_fault_that_cannot_be_aimed_stops_the_scenario(tmp_path: Path) -> None:
    text = """
    title: no such rack
    ends_s: 1
    steps: [{at: 0, fault: {kind: key_locked, rack: r99}}]
    """
    with pytest.raises(ValueError, match=r"step at 0 s.*r99.*r01, r02"):
        play_stepped(load_scenario(file(tmp_path, text)))


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("title: x\nends_s: 1\nsteps:\n  - {at: 2, mode: constant_dp}\n", 1, "after ends_s"),
        ("title: x\nends_s: 1\nsteps:\n  - {at: 1}\n", 4, "not nothing"),
        ("title: x\nends_s: 1\nsteps:\n  - {at: 1, mode: turbo}\n", 4, "constant_flow"),
        ("title: x\nends_s: 1\ncolour: 1\nsteps:\n  - {at: 1, mode: constant_dp}\n", 3, "colour"),
        ("title: x\nends_s: 1\nsteps:\n  - {at: 1, expect: {path: t_s}}\n", 4, "low, high or both"),
    ],
)
def test_a_mistake_in_a_scenario_is_told_with_its_line(tmp_path: Path, text: str, line: int, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_scenario(file(tmp_path, text))
    assert any(fault.line == line and told in str(fault) for fault in caught.value.faults)


def test_the_shipped_bench_file_is_four_racks() -> None:
    config = load_bench(Path(__file__).parents[2] / "configs" / "sim" / "demo.yaml")
    assert [rack.name for rack in config.plant_config().racks] == ["r01", "r02", "r03", "r04"]


def test_a_bench_file_is_read_whole(tmp_path: Path) -> None:
    text = """
    simulated: true
    seed: 7
    mode: constant_flow
    racks:
      - {name: a, rated_kw: 150, load_kw: 90, plant: {xv_close_s: 2.5}}
      - {name: b, start: isolated}
    cdu: {static_kpa: 120, pumps: 3}
    """
    config = load_bench(file(tmp_path, text))
    plant = config.plant_config()
    assert (config.seed, plant.cdu.mode, plant.cdu.pumps, plant.cdu.static_kpa) == (7, "constant_flow", 3, 120)
    assert plant.racks[0].xv_close_s == pytest.approx(2.5)
    assert plant.racks[0].load_kw == pytest.approx(90.0)
    assert plant.racks[1].start == "isolated"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("racks: [{name: a}, {name: a}]\n", "different names"),
        ("racks: [{name: a, plant: {colour: 1}}]\n", "no size colour; known: .*xv_close_s"),
        ("racks: []\n", "racks"),
        ("racks: [{name: a}]\nsimulated: false\n", "simulated"),
        ("racks: [{name: A B}]\n", "name"),
    ],
)
def test_a_mistake_in_a_bench_file_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load_bench(file(tmp_path, text))
