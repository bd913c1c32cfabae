"""The inputs of one case, read by name, with an error that says which is missing or wrong."""

import math
from collections.abc import Callable, Mapping
from typing import cast


class CaseError(ValueError):
    """A document, a case or an input that cannot be used; the message names it and says what is allowed."""


Outputs = dict[str, tuple[float, str]]
"""What a case gives: name -> (value, unit)."""


class Inputs:
    """Inputs of one case."""

    def __init__(self, case_id: str, values: Mapping[str, object]) -> None:
        self._case_id = case_id
        self._values = values

    def has(self, key: str) -> bool:
        """True when the case gives ``key``."""
        return self._values.get(key) is not None

    def number(self, key: str, default: float | None = None, *, above: float | None = None) -> float:
        """A finite number; ``default`` when it is not given; more than ``above`` where one is set."""
        if not self.has(key):
            if default is not None:
                return default
            raise CaseError(f"{self._case_id}: inputs.{key} is missing; it must be a number")
        return self._checked(key, self._values[key], above)

    def count(self, key: str, default: int | None = None, *, least: int = 0) -> int:
        """A whole number of at least ``least``."""
        value = self.number(key, default)
        if value != int(value) or value < least:
            raise CaseError(
                f"{self._case_id}: inputs.{key} is {value:g}; it must be a whole number of at least {least}"
            )
        return int(value)

    def numbers(self, key: str, *, above: float | None = None) -> list[float]:
        """A list of finite numbers; a single number is a list of one."""
        value = self._values.get(key)
        if isinstance(value, list):
            return [self._checked(f"{key}[{i}]", item, above) for i, item in enumerate(value)]
        if value is None:
            raise CaseError(f"{self._case_id}: inputs.{key} is missing; it must be a list of numbers")
        return [self._checked(key, value, above)]

    def parts(self, key: str) -> list["Inputs"]:
        """A list of objects."""
        value = self._values.get(key)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise CaseError(f"{self._case_id}: inputs.{key} must be a list of objects")
        return [Inputs(f"{self._case_id}: {key}[{i}]", cast("dict[str, object]", item)) for i, item in enumerate(value)]

    def pg25(self) -> None:
        """Refuse a fluid whose properties are not known."""
        fluid = self._values.get("fluid", "PG25")
        if not str(fluid).upper().startswith("PG25"):
            raise CaseError(f"{self._case_id}: inputs.fluid is {fluid!r}; the coolant known here is PG25")

    def _checked(self, key: str, value: object, above: float | None) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise CaseError(f"{self._case_id}: inputs.{key} is {value!r}; it must be a finite number")
        if above is not None and value <= above:
            raise CaseError(f"{self._case_id}: inputs.{key} is {value:g}; it must be more than {above:g}")
        return float(value)


def percent_key(share: float) -> str:
    """A share of 1 as three digits of percent, the way keys name it: 0.1 -> ``010``."""
    return f"{share * 100.0:03.0f}"


def first_time(reached: Callable[[float], float], until: float) -> float:
    """First time at which a rising ``reached(t)`` is 0 or more; infinite when never before ``until``."""
    if reached(0.0) >= 0.0:
        return 0.0
    low, high = 0.0, 1.0
    while reached(high) < 0.0:
        low, high = high, 2.0 * high
        if high > until:
            return math.inf
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reached(middle) >= 0.0 else (middle, high)
    return high
