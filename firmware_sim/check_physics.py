"""Work reference cases out with the plant's own functions and compare: ``firmware-sim check-physics FILE``.

A document is JSON: ``{"cases": [{"id", "type", "inputs": {…}, "expected": {name: {"value", "unit", "tol", "tol_kind": "rel"|"abs"}}}]}``.
Values are worked out from ``type`` and ``inputs`` alone; ``expected`` is read afterwards, to compare.
"""

import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, cast

from firmware_sim.cases import hydraulic, liquid, thermal
from firmware_sim.cases.inputs import CaseError, Inputs, Outputs

# fmt: off
KINDS: dict[str, Callable[[Inputs], Outputs]] = {
    "fluid_properties":        thermal.fluid_properties,
    "valve_characteristic":    hydraulic.valve_characteristic,
    "parallel_equal":          hydraulic.parallel_equal,
    "parallel_one_isolated":   hydraulic.parallel_one_isolated,
    "header_ladder":           hydraulic.header_ladder,
    "pump_affinity":           hydraulic.pump_affinity,
    "picv_flow_control":       hydraulic.picv_flow_control,
    "rack_heat_balance":       thermal.rack_heat_balance,
    "return_mixing":           thermal.return_mixing,
    "cdu_heat_exchanger":      thermal.cdu_heat_exchanger,
    "water_hammer":            liquid.water_hammer,
    "gravity_drain":           liquid.gravity_drain,
    "loss_of_flow_two_node":   thermal.loss_of_flow_two_node,
    "partial_flow_step":       thermal.partial_flow_step,
    "orifice_leak":            liquid.orifice_leak,
    "pressure_decay_isolated": liquid.pressure_decay_isolated,
    "thermal_expansion":       thermal.thermal_expansion,
    "isolation_valve_closing": hydraulic.isolation_valve_closing,
    "transport_delay":         liquid.transport_delay,
    "leak_mass_balance":       hydraulic.leak_mass_balance,
    "liquid_inertia":          liquid.liquid_inertia,
    "modbus_rtu_timing":       liquid.modbus_rtu_timing,
    "trapped_liquid":          thermal.trapped_liquid,
    "coldplate_conductance":   thermal.coldplate_conductance,
    "dew_point":               thermal.dew_point,
    "relief_flows":            liquid.relief_flows,
    "pump_ramp":               liquid.pump_ramp,
}
# fmt: on


@dataclass(frozen=True, slots=True)
class Row:
    """One value of one case.

    value   None when the case gives no value of that name
    tol     share of ``expected`` when ``tol_kind`` is rel, else in ``unit``
    """

    id: str
    name: str
    value: float | None
    unit: str
    expected: float
    tol: float
    tol_kind: Literal["rel", "abs"]
    ok: bool
    note: str = ""

    def line(self) -> str:
        """The row as it is printed."""
        verdict = "PASS" if self.ok else "FAIL"
        value = "none" if self.value is None else shown(self.value)
        note = f" ({self.note})" if self.note else ""
        return f"{self.id} {self.name} {value} {self.unit} expected {self.expected:.10g} {self.tol_kind} {self.tol:g} {verdict}{note}"


def shown(value: float) -> str:
    """A value to four significant digits, to one decimal from 1000 on."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:.1f}" if abs(value) >= 1000.0 else f"{value:#.4g}"


def work_out(kind: str, case_id: str, inputs: Mapping[str, object]) -> Outputs:
    """Values that a case of this kind gives. Raises CaseError for an unknown kind or an input that cannot be used."""
    if kind not in KINDS:
        raise CaseError(f"{case_id}: type {kind!r} is not known; known are {', '.join(KINDS)}")
    try:
        return KINDS[kind](Inputs(case_id, inputs))
    except CaseError:
        raise
    except (ArithmeticError, ValueError) as fault:
        raise CaseError(f"{case_id}: these inputs have no answer as {kind}: {fault}") from fault


def run_cases(document: object) -> list[Row]:
    """A row for every expected value, in the document's order. Raises CaseError for a document that cannot be used."""
    if not isinstance(document, dict) or not isinstance(document.get("cases"), list):
        raise CaseError('a document of cases is {"cases": [{"id", "type", "inputs", "expected"}, …]}')
    rows: list[Row] = []
    # Kinds first: one that is not known is found before anything is worked out.
    cases = [_case(case, i) for i, case in enumerate(cast("list[object]", document["cases"]))]
    for case_id, kind, inputs, expected in cases:
        outputs = work_out(kind, case_id, inputs)
        rows.extend(_compared(case_id, name, outputs, wanted) for name, wanted in expected.items())
    return rows


def _case(case: object, index: int) -> tuple[str, str, Mapping[str, object], Mapping[str, object]]:
    if not isinstance(case, dict):
        raise CaseError(f"cases[{index}] must be an object")
    case_id, kind = str(case.get("id", f"cases[{index}]")), str(case.get("type", ""))
    if kind not in KINDS:
        raise CaseError(f"{case_id}: type {kind!r} is not known; known are {', '.join(KINDS)}")
    for key in ("inputs", "expected"):
        if not isinstance(case.get(key), dict):
            raise CaseError(f"{case_id}: {key} must be an object")
    return case_id, kind, case["inputs"], case["expected"]


def _compared(case_id: str, name: str, outputs: Outputs, wanted: object) -> Row:
    if (
        not isinstance(wanted, dict)
        or not {"value", "tol", "tol_kind"} <= set(wanted)
        or wanted["tol_kind"] not in {"rel", "abs"}
    ):
        raise CaseError(f'{case_id}: expected.{name} must be {{"value", "unit", "tol", "tol_kind": "rel" or "abs"}}')
    checked = Inputs(f"{case_id}: expected.{name}", wanted)
    expected, tol = checked.number("value"), checked.number("tol")
    kind: Literal["rel", "abs"] = "rel" if wanted["tol_kind"] == "rel" else "abs"
    if name not in outputs:
        note = f"no such value; known are {', '.join(sorted(outputs))}"
        return Row(case_id, name, None, str(wanted.get("unit", "-")), expected, tol, kind, ok=False, note=note)
    value, unit = outputs[name]
    allowed = tol * abs(expected) if kind == "rel" else tol
    return Row(
        case_id, name, value, str(wanted.get("unit", unit)), expected, tol, kind, ok=abs(value - expected) <= allowed
    )


def main(path: Path | str, *, json_output: bool = False, tell: Callable[[str], None] = print) -> int:
    """Check a file of cases and tell the result line by line; what is wrong with the file goes to stderr.

    json_output   one JSON document instead: ``{"rows", "passed", "failed", "ok"}``, or ``{"ok": false, "error"}``
    Returns the exit code: 0 all passed, 1 some failed, 2 a file that cannot be used.
    """
    try:
        rows = run_cases(json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError) as fault:  # CaseError, broken JSON and broken UTF-8 are ValueErrors
        sys.stderr.write(f"{path}: {fault}\n")
        if json_output:
            tell(json.dumps({"ok": False, "error": f"{path}: {fault}"}))
        return 2
    failed = sum(not row.ok for row in rows)
    if json_output:
        tell(
            json.dumps({
                "rows": [_as_json(row) for row in rows],
                "passed": len(rows) - failed,
                "failed": failed,
                "ok": failed == 0,
            })
        )
    else:
        for row in rows:
            tell(row.line())
        tell(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _as_json(row: Row) -> dict[str, object]:
    """JSON has no infinity: a value that is not finite becomes null."""
    return asdict(row) if row.value is None or math.isfinite(row.value) else asdict(row) | {"value": None}
