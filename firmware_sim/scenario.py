"""Scenarios: what happens to a bench and when, and what must come of it, as a YAML file.

The same file plays on its own plant in stepped time (seeded: the same file gives the same trace) and on a running bench.
"""

import time
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fieldkit.yamlfile import check, load
from firmware_sim.bank import Bank
from firmware_sim.bench_config import BenchConfig, demo_bench
from firmware_sim.bench_file import BenchFile
from firmware_sim.client import ControlError, ask
from firmware_sim.fault_book import FaultRefusedError
from firmware_sim.parts.cdu import CduMode
from firmware_sim.snapshot import snapshot_of

_STRICT = ConfigDict(frozen=True, extra="forbid")
_POLL_S = 0.05
DONE = {"fault", "clear", "load", "mode", "expect"}


class FaultStep(BaseModel):
    """A fault to begin, as `firmware-sim fault add` takes it."""

    model_config = _STRICT

    kind: str
    rack: str | None = None
    tag: str | None = None
    device: str | None = None
    place: str | None = None
    value: float | None = None
    for_s: Annotated[float, Field(gt=0)] | None = None


class ClearStep(BaseModel):
    """Faults to end: those that fit all that is given."""

    model_config = _STRICT

    kind: str | None = None
    rack: str | None = None
    tag: str | None = None


class LoadStep(BaseModel):
    """What a rack's IT would draw from now on; with ``low_kw`` and ``period_s`` a square wave between the two loads."""

    model_config = _STRICT

    rack: str
    kw: Annotated[float, Field(ge=0, le=1000)]
    low_kw: float | None = None
    period_s: float | None = None


class Expectation(BaseModel):
    """A value of the snapshot, by its dotted path, that must lie between two bounds (true is 1, false 0)."""

    model_config = _STRICT

    path: str
    low: float | None = None
    high: float | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.low is None and self.high is None:
            raise ValueError("give low, high or both")
        return self

    def judge(self, snapshot: dict[str, Any], at_s: float) -> dict[str, Any]:
        """The check's result; a path that leads nowhere fails."""
        value: Any = snapshot
        for part in self.path.split("/"):
            value = value.get(part) if isinstance(value, dict) else None
        number = None if value is None or isinstance(value, str | dict | list) else float(value)
        ok = (
            number is not None
            and (self.low is None or number >= self.low)
            and (self.high is None or number <= self.high)
        )
        low = "" if self.low is None else f"{self.low:g} <= "
        high = "" if self.high is None else f" <= {self.high:g}"
        shown = "nothing" if number is None else f"{number:g}"
        return {"at_s": at_s, "text": f"{low}{self.path}{high}: {shown} at {at_s:g} s", "value": number, "ok": ok}


class Step(BaseModel):
    """One thing that happens ``at`` seconds after the scenario's begin."""

    model_config = _STRICT

    at: Annotated[float, Field(ge=0)]
    fault: FaultStep | None = None
    clear: ClearStep | None = None
    load: LoadStep | None = None
    mode: Literal["fixed_speed", "constant_dp", "constant_flow"] | None = None
    expect: Expectation | None = None

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        done = self.model_fields_set & DONE
        if len(done) != 1:
            raise ValueError(
                f"a step does one of {', '.join(sorted(DONE))}, not {', '.join(sorted(done)) or 'nothing'}"
            )
        return self

    @property
    def what(self) -> str:
        doing = self.model_dump(exclude_none=True, exclude={"at"})
        name, details = next(iter(doing.items()))
        if not isinstance(details, dict):
            return f"{name} {details}"
        return f"{name} " + " ".join(f"{key}={value}" for key, value in details.items())


class Scenario(BaseModel):
    """A whole file; without ``bench`` it plays on the demo's four racks."""

    model_config = _STRICT

    title: str
    bench: BenchFile | None = None
    ends_s: Annotated[float, Field(gt=0, le=86_400)]
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _in_time(self) -> Self:
        late = [step.at for step in self.steps if step.at > self.ends_s]
        if late:
            raise ValueError(f"steps at {late} s are after ends_s {self.ends_s:g} s")
        return self

    def bench_config(self) -> BenchConfig:
        return self.bench.config() if self.bench is not None else demo_bench()

    def in_order(self) -> list[Step]:
        return sorted(self.steps, key=lambda step: step.at)


def load_scenario(path: Path) -> Scenario:
    """Read a scenario. Raises ConfigError naming every fault with its line."""
    return check(load(path), Scenario)


def play_stepped(scenario: Scenario) -> dict[str, Any]:
    """Play on an own plant, as fast as the machine can. Nobody controls it: the firmwares alone act.

    Raises ValueError for a fault that cannot be aimed.
    """
    bank = Bank(scenario.bench_config())
    steps, checks = [], []
    for step in scenario.in_order():
        if step.at > bank.now_s:
            bank.advance(step.at - bank.now_s)
        if step.expect is not None:
            checks.append(step.expect.judge(snapshot_of(bank), step.at))
            continue
        steps.append({"at_s": step.at, "what": step.what})
        _do(bank, step)
    if scenario.ends_s > bank.now_s:
        bank.advance(scenario.ends_s - bank.now_s)
    trace = [stamp.document() for stamp in bank.stamps.find(limit=100_000)]
    return _result(scenario, steps, checks) | {"trace": trace, "end": snapshot_of(bank)}


def _do(bank: Bank, step: Step) -> None:
    if step.fault is not None:
        try:
            bank.book.add(**step.fault.model_dump())
        except FaultRefusedError as error:
            raise ValueError(f"step at {step.at:g} s: {error}") from error
    elif step.clear is not None:
        bank.book.clear(**step.clear.model_dump())
    elif step.load is not None:
        if step.load.rack not in bank.rigs:
            raise ValueError(f"step at {step.at:g} s: no rack {step.load.rack!r}; racks are {', '.join(bank.rigs)}")
        try:
            bank.set_load(**step.load.model_dump())
        except ValueError as error:
            raise ValueError(f"step at {step.at:g} s: {error}") from error
    elif step.mode is not None:
        bank.set_cdu_mode(CduMode[step.mode.upper()])


def play_on_bench(scenario: Scenario, control: str) -> dict[str, Any]:
    """Play on a running bench, at its speed. Raises ControlError."""
    begin_s = float(ask(control, "snapshot")["t_s"])
    steps, checks = [], []
    for step in scenario.in_order():
        snapshot = _wait_until(control, begin_s + step.at)
        if step.expect is not None:
            checks.append(step.expect.judge(snapshot, step.at))
            continue
        steps.append({"at_s": step.at, "what": step.what})
        if step.fault is not None:
            ask(control, "fault_add", **step.fault.model_dump())
        elif step.clear is not None:
            ask(control, "fault_clear", **step.clear.model_dump())
        elif step.load is not None:
            ask(control, "load", **step.load.model_dump())
        elif step.mode is not None:
            ask(control, "cdu_mode", mode=step.mode)
    end = _wait_until(control, begin_s + scenario.ends_s)
    return _result(scenario, steps, checks) | {"end": end}


def _wait_until(control: str, due_s: float) -> dict[str, Any]:
    """The snapshot at simulated time ``due_s`` or shortly after."""
    while True:
        snapshot: dict[str, Any] = ask(control, "snapshot")
        left_s = due_s - float(snapshot["t_s"])
        if left_s <= 0.0:
            return snapshot
        time.sleep(max(left_s / float(snapshot["speed"]) * 0.9, _POLL_S / 10))


def _result(scenario: Scenario, steps: list[dict[str, Any]], checks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "simulated": True,
        "title": scenario.title,
        "ok": all(check["ok"] for check in checks),
        "steps": steps,
        "checks": checks,
    }


__all__ = ["ControlError", "Scenario", "load_scenario", "play_on_bench", "play_stepped"]
