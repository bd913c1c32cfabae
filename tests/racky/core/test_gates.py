"""Gates: limits are met themselves, what was not measured has not passed, and a table of gates can be wrong."""

from dataclasses import replace

import pytest

from fieldkit.units import Unit
from racky.core.gates import Evidence, Gate, Measured, broken_off, faults, judge, missing, unreached
from racky.core.lifecycle import KNOWN
from racky.core.lifecycle_chart import STAGES, State
from tests.racky.core.plans import GATES

GATE = Gate("rise", State.VALIDATION, "delta_k", Unit.DELTA_K, 6.0, 13.0, "it warms", "look")


@pytest.mark.parametrize(
    ("low", "high", "value", "ok"),
    [
        (6.0, 13.0, 6.0, True),
        (6.0, 13.0, 13.0, True),
        (6.0, 13.0, 5.999, False),
        (6.0, 13.0, 13.001, False),
        (None, 0.0, -5.0, True),
        (None, 0.0, 1.0, False),
        (1.0, None, 99.0, True),
        (1.0, None, 0.0, False),
        (6.0, 13.0, None, False),
        (None, 13.0, None, False),
        (6.0, 13.0, float("nan"), False),
    ],
)
def test_a_gate_passes_exactly_between_its_limits(
    low: float | None, high: float | None, value: float | None, ok: bool
) -> None:
    evidence = judge(replace(GATE, low=low, high=high), Measured(value), 5.0)
    assert (evidence.ok, evidence.at_s, evidence.unit) == (ok, 5.0, "delta_K")
    assert evidence.action == ("" if ok else "look")


def test_evidence_says_what_was_seen_or_that_nothing_was() -> None:
    assert judge(GATE, Measured(7.0, "40 to 47"), 0.0).detail == "40 to 47"
    assert judge(GATE, Measured(7.0), 0.0).detail == ""
    nothing = judge(GATE, Measured(None), 0.0)
    assert (nothing.detail, nothing.measured) == ("could not be measured", None)
    assert nothing.plain() == {
        "gate": "rise", "stage": "VALIDATION", "text": "it warms", "measured": None, "low": 6.0, "high": 13.0, "unit": "delta_K",
        "ok": False, "at_s": 0.0, "detail": "could not be measured", "action": "look",
    }  # fmt: skip


def test_what_a_broken_off_stage_did_not_reach_is_not_blamed() -> None:
    work = broken_off(State.COOLING, "no pressure", 3.0)
    assert (work.gate, work.ok, work.detail, work.stage) == ("work", False, "no pressure", State.COOLING)
    assert unreached(judge(GATE, Measured(None), 0.0)).detail == "not reached"
    found = judge(GATE, Measured(20.0, "hot"), 0.0)
    assert unreached(found) is found


def test_only_evidence_that_passed_takes_a_gate_from_the_missing() -> None:
    other = replace(GATE, id="other")
    passed = judge(GATE, Measured(7.0), 0.0)
    assert missing((GATE, other), (passed,)) == ("other",)
    assert missing((GATE,), (replace(passed, ok=False),)) == ("rise",)
    assert missing((GATE,), ()) == ("rise",)
    assert missing((GATE,), (passed,)) == ()


def test_the_shipped_gates_are_sound() -> None:
    assert faults(GATES, KNOWN) == ()
    assert {gate.stage for gate in GATES} == set(STAGES)


@pytest.mark.parametrize(
    ("gate", "says"),
    [
        (replace(GATE, id="load"), "gate 'load' stands twice"),
        (replace(GATE, id="new", measure="luck"), "gate 'new' measures 'luck'; allowed are "),
        (replace(GATE, id="new", low=None, high=None), "gate 'new' has no limit: it could not fail"),
        (replace(GATE, id="new", low=2.0, high=1.0), "gate 'new': low 2 is above high 1: it could not pass"),
        (replace(GATE, id="new", stage=State.RETIRED), "gate 'new': RETIRED has no gates"),
    ],
)
def test_a_gate_that_cannot_do_its_work_is_found(gate: Gate, says: str) -> None:
    (told,) = faults((*GATES, gate), KNOWN)
    assert told.startswith(says)


def test_a_gate_may_demand_one_value() -> None:
    assert faults((*GATES, replace(GATE, id="new", low=1.0, high=1.0)), KNOWN) == ()


def test_a_stage_without_a_gate_is_found() -> None:
    assert faults([gate for gate in GATES if gate.stage is not State.POWER], KNOWN) == ("no gate closes POWER",)


def test_evidence_is_rounded_for_people_after_it_was_judged() -> None:
    evidence: Evidence = judge(replace(GATE, high=13.0), Measured(13.0000001), 0.0)
    assert (evidence.ok, evidence.measured) == (False, 13.0)
