"""Gates: what is measured, between which limits it must lie, and what was found. A gate is data, never code.

What could not be measured has not passed.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from fieldkit.units import Unit
from racky.core.lifecycle_chart import STAGES, State


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate.

    stage      the state that it closes
    measure    name of what is measured (``measures.MEASURES``)
    low, high  limits in ``unit``, each met itself; None = no limit on that side
    text       what passes, for people;  action  what to do when it does not
    """

    id: str
    stage: State
    measure: str
    unit: Unit
    low: float | None
    high: float | None
    text: str
    action: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured; None: it could not be. ``detail``: what was seen, for people."""

    value: float | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one gate was shown, and whether it passed. ``at_s``: boot-time seconds."""

    gate: str
    stage: State
    text: str
    measured: float | None
    low: float | None
    high: float | None
    unit: str
    ok: bool
    at_s: float
    detail: str = ""
    action: str = ""

    def plain(self) -> dict[str, str | float | bool | None]:
        """The evidence as a report has it."""
        return {
            "gate": self.gate, "stage": self.stage, "text": self.text, "measured": self.measured, "low": self.low,
            "high": self.high, "unit": self.unit, "ok": self.ok, "at_s": self.at_s, "detail": self.detail, "action": self.action,
        }  # fmt: skip


def judge(gate: Gate, measured: Measured, at_s: float) -> Evidence:
    """Return the gate's evidence."""
    value = measured.value
    above = value is not None and (gate.low is None or value >= gate.low)
    ok = above and value is not None and (gate.high is None or value <= gate.high)
    shown = None if value is None else round(value, 6)
    detail = measured.detail or ("" if value is not None else "could not be measured")
    action = "" if ok else gate.action
    return Evidence(gate.id, gate.stage, gate.text, shown, gate.low, gate.high, gate.unit, ok, at_s, detail, action)


def broken_off(stage: State, why: str, at_s: float) -> Evidence:
    """The evidence of a stage whose work did not come to its end."""
    text, action = "the work of this stage comes to its end", "see what it says, then 'admit'"
    return Evidence("work", stage, text, None, None, None, Unit.NONE, False, at_s, why, action)


def unreached(one: Evidence) -> Evidence:
    """The evidence of a gate of such a stage: what was not measured was not reached."""
    return one if one.measured is not None else replace(one, detail="not reached", action="")


def tripped(stage: State, count: int, detail: str, action: str, at_s: float) -> Evidence:
    """The evidence of a trip while the rack was being proven."""
    return Evidence("no-trip", stage, "nothing trips", float(count), None, 0.0, Unit.NONE, False, at_s, detail, action)


def missing(gates: Iterable[Gate], report: Iterable[Evidence]) -> tuple[str, ...]:
    """Return the gates, by id, that no evidence shows as passed: empty only when **every** one passed."""
    passed = {one.gate for one in report if one.ok}
    return tuple(gate.id for gate in gates if gate.id not in passed)


def faults(gates: Sequence[Gate], known: Collection[str]) -> tuple[str, ...]:
    """Return what is wrong with a table of gates: names that stand twice, no limit, nothing measured, a stage without one."""
    out: list[str] = []
    for n, gate in enumerate(gates):
        if any(other.id == gate.id for other in gates[:n]):
            out.append(f"gate '{gate.id}' stands twice")
        if gate.measure not in known:
            out.append(f"gate '{gate.id}' measures '{gate.measure}'; allowed are {', '.join(sorted(known))}")
        if gate.low is None and gate.high is None:
            out.append(f"gate '{gate.id}' has no limit: it could not fail")
        if gate.low is not None and gate.high is not None and gate.low > gate.high:
            out.append(f"gate '{gate.id}': low {gate.low:g} is above high {gate.high:g}: it could not pass")
        if gate.stage not in STAGES:
            out.append(f"gate '{gate.id}': {gate.stage} has no gates; allowed are {', '.join(STAGES)}")
    bare = [stage for stage in STAGES if all(gate.stage is not stage for gate in gates)]
    return (*out, *(f"no gate closes {stage}" for stage in bare))
