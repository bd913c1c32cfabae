"""The rack model against a recorded plant.

``tests/data/plant_excerpt.csv`` holds three racks of the first 30 s of NVIDIA/dsx-exchange's example recording (Apache-2.0); the
longer one is read from the shared data where that is there.
"""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from firmware_sim.cli import app
from firmware_sim.energy import flow_by_load_lpm, pump_day
from firmware_sim.recording import RecordedRack, RecordingError, held, load, seconds_of
from firmware_sim.validate_plant import LIMIT_K, energy_of, judge, main

HERE = Path(__file__).resolve()
EXCERPT = HERE.parents[1] / "data" / "plant_excerpt.csv"
SHARED = Path(os.environ.get("RACKY_SHARED_DATA", HERE.parents[3] / "shared" / "data")) / "dsx_plant_sample.csv"
cli = CliRunner()


def recorded(seconds: int = 60, power: float = 40.0, supply: float = 32.0, ret: float = 43.9, flow: float = 48.0) -> RecordedRack:  # fmt: skip
    def every(value: float) -> list[tuple[float, float]]:
        return [(float(i), value) for i in range(seconds)]

    return RecordedRack("rack", every(power), every(flow), every(supply), every(ret))


def test_the_excerpts_racks_are_predicted_on_the_half_they_were_not_fitted_on() -> None:
    rows = {rack.name: judge(rack) for rack in load(EXCERPT)}
    assert set(rows) == {"rowE/rack01", "rowE/rack02", "rowE/rack05"}
    for name in ("rowE/rack02", "rowE/rack05"):
        row = rows[name]
        assert row.ok
        assert row.rms_k is not None
        assert row.rms_k < 0.05, "a bare heat balance reaches 0.1 K"
        assert row.fraction is not None
        assert 0.9 < row.fraction < 1.0
    assert rows["rowE/rack01"].why == "no flow, no supply temperature, no return temperature in the recording"


@pytest.mark.skipif(
    not SHARED.exists(), reason=f"{SHARED} is not here: the whole sample is not copied into the project"
)
def test_every_rack_with_flow_of_the_shared_sample_is_within_a_quarter_kelvin() -> None:
    rows = [judge(rack) for rack in load(SHARED)]
    assert len([row for row in rows if row.ok]) == 5
    assert [row.rack for row in rows if row.why] == ["rowE/rack01"]
    assert max(row.rms_k or 0.0 for row in rows) < 0.05


def test_only_the_first_half_is_fitted() -> None:
    rack = recorded()
    fitted = judge(rack).fraction
    rack.return_c = [(at_s, value + (0.5 if at_s >= 31 else 0.0)) for at_s, value in rack.return_c]
    row = judge(rack)
    assert row.fraction == fitted
    assert row.rms_k is not None
    assert row.rms_k > LIMIT_K
    assert not row.ok


@pytest.mark.parametrize(("ret", "fraction"), [(46.5, 1.0), (41.0, 0.9)])
def test_a_rack_whose_heat_is_not_its_power_fails_at_the_end_of_the_range(ret: float, fraction: float) -> None:
    row = judge(recorded(ret=ret))
    assert row.fraction == fraction
    assert not row.ok


def test_the_model_follows_a_load_step_that_the_recording_does_not() -> None:
    steps = recorded(120)  # 20 kW less in the second half, return temperature as before
    steps.power_kw = [(at_s, 40.0 if at_s < 60 else 20.0) for at_s, _ in steps.power_kw]
    still = judge(steps)
    assert still.bias_k is not None
    assert still.bias_k < -2.0, "the model cools, this recording does not"


@pytest.mark.parametrize(
    ("rack", "why"),
    [
        (recorded(flow=0.2), "no flow (0.2 L/min)"),
        (recorded(power=0.1), "no load (0.1 kW)"),
        (recorded(6), "known together for 5 s"),
        (RecordedRack("x", [(0.0, 1.0)]), "no flow, no supply temperature"),
    ],
)
def test_a_rack_that_cannot_be_judged_says_why_and_passes_nothing(rack: RecordedRack, why: str) -> None:
    row = judge(rack)
    assert why in row.why
    assert not row.ok
    assert row.rms_k is None
    assert "not judged" in row.line()


def test_the_command_prints_a_table_and_the_energy() -> None:
    result = cli.invoke(app, ["validate-plant", str(EXCERPT)])
    assert result.exit_code == 0
    assert "rowE/rack05" in result.stdout
    assert "2 racks judged, 2 within 0.25 K RMS" in result.stdout
    assert "SIMULATED pump energy" in result.stdout


def test_the_command_prints_one_json_document() -> None:
    result = cli.invoke(app, ["validate-plant", str(EXCERPT), "-o", "json"])
    document = json.loads(result.stdout)
    assert document["ok"] is True
    assert [row["ok"] for row in document["racks"]] == [None, True, True]
    assert document["energy"]["saved_pct"] > 0.0


def test_a_recording_that_fails_ends_with_one(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(EXCERPT.read_text(encoding="utf-8").replace('""value"":46.', '""value"":49.'), encoding="utf-8")
    assert main(wrong, tell=lambda _: None) == 1


def test_racks_with_power_only_are_no_success(tmp_path: Path) -> None:
    lines = EXCERPT.read_text(encoding="utf-8").splitlines()
    alone = tmp_path / "alone.csv"
    alone.write_text("\n".join([lines[0], *(line for line in lines if "rack01" in line)]), encoding="utf-8")
    told: list[str] = []
    assert main(alone, tell=told.append) == 1
    assert energy_of(load(alone)) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n1,2\n", "line 1 must name the columns"),
        ("offset,topic,payload\n", "no recording of racks"),
        ('offset,topic,payload\n1s,BMS/v1/PUB/Value/Rack/RackPower/a/b/c/rack1/x,nonsense\n', "line 2: the payload is no JSON"),
        ('offset,topic,payload\n1s,BMS/v1/PUB/Value/Rack/RackPower/a/b/c/rack1/x,[1]\n', "no JSON object"),
        ('offset,topic,payload\nsoon,BMS/v1/PUB/Value/Rack/RackPower/a/b/c/rack1/x,"{""value"":1,""quality"":1}"\n', "'soon' is no duration"),
        ('offset,topic,payload\n1s,BMS/v1/PUB/Metadata/Rack/RackLiquidFlow/a/b/c/rack1/x,"{""engUnit"":""GPM""}"\n', "only 'LPM' is read"),
    ],
)  # fmt: skip
def test_what_is_no_recording_is_refused_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "file.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(RecordingError, match=told):
        load(file)
    result = cli.invoke(app, ["validate-plant", str(file), "-o", "json"])
    assert result.exit_code == 2
    assert told in json.loads(result.stdout)["error"]


def test_a_file_that_is_not_there_is_a_usage_error() -> None:
    result = cli.invoke(app, ["validate-plant", "no-such.csv"])
    assert result.exit_code == 2
    assert "no-such.csv" in result.output


@pytest.mark.parametrize(
    ("tail", "name"),
    [
        ("nvidia/titan/pod1C/rowE/rack02/energyValve/flow/value", "rowE/rack02"),
        ("a/b/c/rack9/x", "rack9"),
        ("site/Rack7/flow", "Rack7"),
        ("E05/flow", "E05/flow"),
    ],
)
def test_a_rack_is_named_by_its_topic(tmp_path: Path, tail: str, name: str) -> None:
    file = tmp_path / "file.csv"
    row = f'0s,BMS/v1/PUB/Value/Rack/RackPower/{tail},"{{""value"":1,""quality"":1}}"'
    file.write_text(f"offset,topic,payload\n{row}\n", encoding="utf-8")
    assert [rack.name for rack in load(file)] == [name]


def test_readings_that_are_not_good_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "file.csv"
    topic = "BMS/v1/PUB/Value/Rack/RackPower/a/b/c/rack9/x"
    rows = [f'{i}s,{topic},"{{""value"":{value},""quality"":{quality}}}"' for i, (value, quality) in enumerate([(5, 1), (7, 0), ("null", 1), ("true", 1), (6, 1)])]  # fmt: skip
    file.write_text("\n".join(["offset,topic,payload", *rows]), encoding="utf-8")
    (rack,) = load(file)
    assert rack.name == "rack9"
    assert rack.power_kw == [(0.0, 5.0), (4.0, 6.0)]


@pytest.mark.parametrize(("text", "seconds"), [("0s", 0.0), ("508.5ms", 0.5085), ("1m39.5s", 99.5), ("1h2m3s", 3723.0), ("15µs", 15e-6)])  # fmt: skip
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "s", "1s2", "-1s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        seconds_of(text)


def test_a_value_holds_until_the_next() -> None:
    series = [(1.0, 10.0), (2.0, 20.0)]
    assert [held(series, at_s) for at_s in (0.5, 1.0, 1.9, 2.0, 9.0)] == [None, 10.0, 10.0, 20.0, 20.0]


# -- energy ------------------------------------------------------------------------------------------------------------


def test_flow_follows_the_load_within_the_bounds_of_the_control_law() -> None:
    assert flow_by_load_lpm(100.0, 132.0) == pytest.approx(1.05 * 149.0)
    assert flow_by_load_lpm(10.0, 132.0) == pytest.approx(0.5 * 1.49 * 132.0)
    assert flow_by_load_lpm(132.0, 132.0) == pytest.approx(1.05 * 1.49 * 132.0)
    assert flow_by_load_lpm(400.0, 132.0) == pytest.approx(1.25 * 1.49 * 132.0)


def test_less_heat_costs_less_pump_energy_and_lowered_dp_less_still() -> None:
    low, high = pump_day([[40.0] * 3]), pump_day([[110.0] * 3])
    assert low.open_kwh == pytest.approx(high.open_kwh)
    assert low.lowered_kwh < low.by_load_kwh < high.by_load_kwh
    assert low.saved_pct > high.saved_pct


def test_a_day_is_its_profile_over_and_over() -> None:
    mixed = pump_day([[70.0, 70.0], [110.0, 110.0]])
    low, high = pump_day([[70.0, 70.0]]), pump_day([[110.0, 110.0]])
    assert mixed.by_load_kwh == pytest.approx(0.5 * (low.by_load_kwh + high.by_load_kwh))
    assert mixed.load_kw == pytest.approx(180.0)


@pytest.mark.parametrize("profile", [[], [[]]])
def test_a_day_without_load_is_refused(profile: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        pump_day(profile)
