"""Reference cases are worked out with the plant's own functions, and a function that is 1 % out is found."""

import importlib
import inspect
import json
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from firmware_sim import physics
from firmware_sim.cases.inputs import CaseError
from firmware_sim.check_physics import KINDS, main, run_cases, work_out

HERE = Path(__file__).resolve()
OWN = HERE.parents[1] / "data" / "physics_cases.json"
SHARED = Path(os.environ.get("RACKY_SHARED_DATA", HERE.parents[3] / "shared" / "data")) / "hydraulic_cases.json"


def own_cases() -> list[dict[str, Any]]:
    return list(json.loads(OWN.read_text(encoding="utf-8"))["cases"])


def public_functions() -> Iterator[Any]:
    for module in pkgutil.iter_modules(physics.__path__):
        for name, function in vars(importlib.import_module(f"firmware_sim.physics.{module.name}")).items():
            if (
                inspect.isfunction(function)
                and function.__module__.endswith(f".{module.name}")
                and not name.startswith("_")
            ):
                yield pytest.param(function, id=f"{module.name}.{name}")


def one_percent_more(result: Any) -> Any:
    if isinstance(result, float):
        return result * 1.01
    if isinstance(result, (list, tuple)):
        return type(result)(one_percent_more(item) for item in result)
    if is_dataclass(result) and not isinstance(result, type):
        return type(result)(*(one_percent_more(getattr(result, field.name)) for field in fields(result)))
    return result


def put_everywhere(monkeypatch: pytest.MonkeyPatch, old: Callable[..., Any], new: Callable[..., Any]) -> None:
    """Replace a function wherever the simulator has imported it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("firmware_sim"):
            for attribute, value in list(vars(module).items()):
                if value is old:
                    monkeypatch.setattr(module, attribute, new)


def finds_a_fault(case: dict[str, Any]) -> bool:
    try:
        return not all(row.ok for row in run_cases({"cases": [case]}))
    except CaseError:
        return True


def test_every_own_reference_case_is_met() -> None:
    rows = run_cases({"cases": own_cases()})
    assert [row.line() for row in rows if not row.ok] == []
    assert len(rows) > 150


def test_every_kind_has_a_reference_case() -> None:
    assert {case["type"] for case in own_cases()} == set(KINDS)


@pytest.mark.skipif(not SHARED.is_file(), reason=f"the public cases are not at {SHARED} (set RACKY_SHARED_DATA)")
def test_all_140_public_values_are_met() -> None:
    rows = run_cases(json.loads(SHARED.read_text(encoding="utf-8")))
    assert [row.line() for row in rows if not row.ok] == []
    assert len(rows) == 140


@pytest.mark.parametrize("function", list(public_functions()))
def test_a_physics_function_that_is_one_percent_out_fails_a_case(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_everywhere(monkeypatch, function, lambda *args, **kwargs: one_percent_more(function(*args, **kwargs)))
    assert any(finds_a_fault(case) for case in own_cases())


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in own_cases()])
def test_what_is_expected_and_the_name_of_a_case_never_change_its_values(case: dict[str, Any]) -> None:
    wrong = {name: wanted | {"value": wanted["value"] + 1000.0} for name, wanted in case["expected"].items()}
    rows = run_cases({"cases": [case]})
    others = run_cases({"cases": [case | {"id": "X", "expected": wrong}]})
    assert [row.value for row in rows] == [row.value for row in others]
    assert not any(row.ok for row in others)


def test_lists_in_the_inputs_give_a_value_for_each_item() -> None:
    kinds = {case["type"]: case["inputs"] for case in own_cases()}
    valve = work_out("valve_characteristic", "v", kinds["valve_characteristic"] | {"positions": [0.0, 0.03, 0.6]})
    assert valve["kv_eqpct_000"] == (0.0, "m3/h")
    assert valve["qrel_eqpct_000"] == (0.0, "-")
    assert {"kv_eqpct_003", "kv_linear_060", "qrel_linear_060"} <= set(valve)
    pumps = work_out("pump_affinity", "p", kinds["pump_affinity"] | {"speeds": [0.9, 0.65]})
    assert pumps["q_at_065"][0] / pumps["q_at_090"][0] == pytest.approx(65 / 90)
    assert {"hyd_power_at_090", "shaft_power_at_100", "q_two_parallel"} <= set(pumps)
    assert "leak_3.5mm" in work_out("orifice_leak", "o", kinds["orifice_leak"] | {"hole_diameters_mm": [3.5]})
    assert "T_solid_at_2.5s" in work_out(
        "loss_of_flow_two_node", "l", kinds["loss_of_flow_two_node"] | {"times_s": [2.5]}
    )
    assert "q_branch_6" in work_out("header_ladder", "h", kinds["header_ladder"] | {"kv_branch": [9.0] * 6})
    assert "kv_needed_at_3.00bar" in work_out(
        "picv_flow_control", "c", kinds["picv_flow_control"] | {"header_dps_bar": [3.0]}
    )


@pytest.mark.parametrize(("racks", "isolated"), [(8, 1), (4, 1), (8, 3), (2, 1)])
def test_constant_flow_shares_what_the_isolated_racks_had(racks: int, isolated: int) -> None:
    inputs = next(case["inputs"] for case in own_cases() if case["type"] == "parallel_one_isolated")
    out = work_out("parallel_one_isolated", "i", inputs | {"n_branches": racks, "isolated": isolated})
    assert out["const_flow_branch_flow_change"][0] == pytest.approx(100.0 * isolated / (racks - isolated))
    assert out["const_dp_branch_flow_change"][0] == pytest.approx(0.0, abs=1e-6)
    assert 0.0 < out["fixed_speed_branch_flow_change"][0] < out["const_flow_branch_flow_change"][0]


def test_isolating_every_rack_is_answered_without_a_flow() -> None:
    inputs = next(case["inputs"] for case in own_cases() if case["type"] == "parallel_one_isolated")
    out = work_out("parallel_one_isolated", "i", inputs | {"isolated": 8})
    assert out["fixed_speed_branch_flow_change"] == (-100.0, "%")
    assert "const_flow_branch_flow_change" not in out


def test_a_line_reads_as_the_interface_says() -> None:
    case = next(case for case in own_cases() if case["type"] == "parallel_equal")
    expected = {"q_total": {"value": 85.7044, "unit": "m3/h", "tol": 0.005, "tol_kind": "rel"}}
    row = run_cases({"cases": [case | {"id": "PUB-03", "expected": expected}]})[0]
    assert row.line() == "PUB-03 q_total 85.70 m3/h expected 85.7044 rel 0.005 PASS"


def test_a_value_that_the_case_does_not_give_fails_and_names_those_it_gives() -> None:
    case = next(case for case in own_cases() if case["type"] == "rack_heat_balance")
    row = run_cases({"cases": [case | {"expected": {"T_in": {"value": 1, "unit": "K", "tol": 1, "tol_kind": "abs"}}}]})[
        0
    ]
    assert not row.ok
    assert "T_out" in row.line()


# fmt: off
UNUSABLE = [
    ([], "cases"),
    ({"cases": [{"id": "A", "type": "perpetual_motion", "inputs": {}, "expected": {}}]}, "known are fluid_properties"),
    ({"cases": [{"id": "A", "type": "orifice_leak", "inputs": {}, "expected": {}}]}, "A: inputs.gauge_pressure_bar is missing"),
    ({"cases": [{"id": "A", "type": "fluid_properties", "inputs": {"fluid": "R134a", "T_C": 20}, "expected": {}}]}, "R134a"),
    ({"cases": [{"id": "A", "type": "fluid_properties", "inputs": {"T_C": "warm"}, "expected": {}}]}, "finite number"),
    ({"cases": [{"id": "A", "type": "fluid_properties", "inputs": {"T_C": 20}}]}, "A: expected must be an object"),
    ({"cases": [{"id": "A", "type": "fluid_properties", "inputs": {"T_C": 20}, "expected": {"rho": 1}}]}, "expected.rho"),
]
# fmt: on


@pytest.mark.parametrize(("document", "told"), UNUSABLE)
def test_a_document_that_cannot_be_used_says_what_is_wrong(
    document: Any, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CaseError, match=told):
        run_cases(document)
    file = tmp_path / "cases.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    assert main(file) == 2
    assert told in capsys.readouterr().err


def test_the_exit_code_and_the_last_line_tell_how_many_failed(tmp_path: Path) -> None:
    case = next(case for case in own_cases() if case["type"] == "dew_point")
    wrong = {"dew_point": {"value": 0.0, "unit": "degC", "tol": 0.1, "tol_kind": "abs"}}
    file = tmp_path / "cases.json"
    told: list[str] = []
    file.write_text(json.dumps({"cases": [case, case | {"expected": wrong}]}), encoding="utf-8")
    assert main(file, tell=told.append) == 1
    assert told[-1] == "1 passed, 1 failed"
    told.clear()
    assert main(file, json_output=True, tell=told.append) == 1
    document = json.loads(told[0])
    assert (document["passed"], document["failed"], document["ok"], len(told)) == (1, 1, False, 1)


def test_a_file_that_is_not_there_is_exit_code_2(tmp_path: Path) -> None:
    assert main(tmp_path / "none.json") == 2
