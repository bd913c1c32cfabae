"""A file read as far as it can be: every fault of its form, and a draft without the faulty parts to check the rest."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from fieldkit.errors import ConfigError, Fault
from fieldkit.schema_faults import Path, Problem, problems_of
from fieldkit.yamlfile import Document

M = TypeVar("M", bound=BaseModel)

_ROUNDS = 200
"""More repairs than a file of sane length can need."""
# fmt: off
UNITS = {
    "s": "seconds", "ms": "milliseconds", "min": "minutes", "h": "hours", "lpm": "L/min", "lps": "L/s", "gpm": "gal/min", "m3_h": "m3/h",
    "kpa": "kPa", "bar": "bar", "mbar": "mbar", "psi": "psi", "mpa": "MPa", "c": "degC", "f": "degF", "k": "K", "pct": "%", "fraction": "a fraction of 1",
    "kw": "kW", "w": "W", "mw": "MW", "v": "V", "mv": "mV", "mb": "MB", "kb": "kB",
}
# fmt: on
_UNIT = re.compile(rf"^(?P<stem>.+)_(?P<unit>{'|'.join(sorted(UNITS, key=len, reverse=True))})$")


@dataclass(slots=True)
class Draft(Generic[M]):
    """One file under check.

    model   the file without its faulty parts; neutral values stand where a needed part is faulty
    faults  what was found so far
    gone    paths that were left out or replaced; nothing more is said about what stands there
    """

    document: Document
    model: M
    faults: list[Fault]
    gone: set[Path] = field(default_factory=set)

    def add(self, path: Path, message: str, allowed: str | None = None, near: str | None = None) -> None:
        """Note a fault at ``path``, unless its value is not the file's own any more."""
        if not any(path[: len(gone)] == gone for gone in self.gone):
            self.faults.append(self.document.fault(path, message, allowed, near))

    def has(self, path: Path) -> bool:
        """Whether the file says something there, right or wrong."""
        return path in self.document.lines


def read(document: Document, faults: list[Fault], model: type[M], neutral: dict[str, Any]) -> Draft[M]:
    """Return ``document`` as a draft of ``model``.

    neutral  valid values by section, taken where the file's own are missing or faulty
    Raises ConfigError, with all that was found, when not even a draft is left.
    """
    faults, gone, data = list(faults), set[Path](), deepcopy(document.data)
    for _ in range(_ROUNDS):
        try:
            return Draft(document, model.model_validate_json(json.dumps(data), strict=True), faults, gone)
        except ValidationError as error:
            problems = problems_of(model, data, error)
        # A key in the wrong unit is told first: the key that is missing for it takes the part around both out.
        problems.sort(key=lambda problem: _right_unit(problem) is None)
        meant = {(*problem.path[:-1], right) for problem in problems if (right := _right_unit(problem)) is not None}
        for problem in problems:
            if problem.path not in meant and not any(problem.path[: len(path)] == path for path in gone):
                faults.append(_fault(document, model, problem))
            gone.add(_mended(data, problem, neutral))
        if () in gone:
            break
    raise ConfigError(faults)


def _mended(data: dict[str, Any], problem: Problem, neutral: dict[str, Any]) -> Path:
    """Take one problem out of ``data``; return the path of what was left out or replaced, () when that is all."""
    path = problem.path
    value = _at(neutral, path)
    if value is not None:
        around = _at(data, path[:-1])
        if isinstance(around, dict):
            around[path[-1]] = deepcopy(value)
        return path
    if problem.kind == "missing":
        path = path[:-1]
    while path and isinstance(_at(data, path[:-1]), list):
        path = path[:-1]
    if not path:
        return path
    around = _at(data, path[:-1])
    if isinstance(around, dict):  # else the part around it is out already
        around.pop(path[-1], None)
    return path


def _at(data: Any, path: Path) -> Any:
    for part in path:
        if isinstance(data, dict):
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return None
    return data


def _right_unit(problem: Problem) -> str | None:
    """Return the key that was meant when an unknown key differs from it in its unit alone."""
    if problem.kind != "unknown_key" or problem.allowed is None:
        return None
    stem = _stem(str(problem.path[-1]))
    return next((name for name in problem.allowed.split(", ") if _stem(name) == stem != name), None)


def _fault(document: Document, model: type[BaseModel], problem: Problem) -> Fault:
    key, right = str(problem.path[-1]) if problem.path else "", _right_unit(problem)
    if right is not None:
        message = "wrong unit" if _stem(key) != key else "its unit is missing"
        return document.fault(
            problem.path, message, f"{right}, in {UNITS[right.removeprefix(_stem(right) + '_')]}", right
        )
    allowed = problem.allowed if problem.kind == "unknown_key" else allowed_at(model, problem.path) or problem.allowed
    return document.fault(problem.path, problem.message, allowed, problem.nearest)


def _stem(key: str) -> str:
    found = _UNIT.match(key)
    return key if found is None else found["stem"]


def allowed_at(model: type[BaseModel], path: Path) -> str | None:
    """Return what the model allows at ``path``, in words; None where it says nothing."""
    schema = _schema(model)
    here = [schema]
    for part in path:
        here = [step for one in here for step in _into(_flat(one, schema), part)]
    texts = [text for one in here for kind in _flat(one, schema) if (text := in_words(kind))]
    return " or ".join(dict.fromkeys(texts)) or None


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _flat(one: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the members of a union, references followed."""
    if "$ref" in one:
        return _flat(schema["$defs"][one["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in one:
        return [kind for member in one["anyOf"] for kind in _flat(member, schema)]
    return [one]


def _into(kinds: list[dict[str, Any]], part: str | int) -> Iterator[dict[str, Any]]:
    for kind in kinds:
        if isinstance(part, int):
            if isinstance(kind.get("items"), dict):
                yield kind["items"]
        elif part in kind.get("properties", {}):
            yield kind["properties"][part]
        elif isinstance(kind.get("additionalProperties"), dict):
            yield kind["additionalProperties"]
        else:
            yield from kind.get("patternProperties", {}).values()


def in_words(kind: dict[str, Any]) -> str:
    """Return one JSON-schema type in words, with its bounds."""
    if "const" in kind:
        return str(kind["const"]).lower() if isinstance(kind["const"], bool) else str(kind["const"])
    if "enum" in kind:
        return ", ".join(str(word) for word in kind["enum"])
    name = {"number": "a number", "integer": "a whole number", "boolean": "true or false", "null": "null"}.get(
        kind.get("type", "")
    )
    if name is None:
        if "pattern" in kind:
            return f"text like {kind['pattern']}"
        if kind.get("properties"):
            return f"{{{', '.join(kind['properties'])}}}"
        return {"string": "text", "array": "a list", "object": "keys"}.get(kind.get("type", ""), "")
    low = [f"at least {kind['minimum']:g}"] if "minimum" in kind else []
    low += [f"above {kind['exclusiveMinimum']:g}"] if "exclusiveMinimum" in kind else []
    high = [f"at most {kind['maximum']:g}"] if "maximum" in kind else []
    high += [f"below {kind['exclusiveMaximum']:g}"] if "exclusiveMaximum" in kind else []
    return " ".join([name, " and ".join(low + high)]).strip()
