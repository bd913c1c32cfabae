"""What a pydantic model refused, in the words of whoever wrote the file or the message."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from fieldkit.errors import nearest

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One refused place: its path, what is wrong, what is allowed there and the nearest valid name, if any."""

    path: Path
    message: str
    allowed: str | None
    nearest: str | None
    kind: str
    """``unknown_key``, ``missing`` or ``value``."""


def problems_of(model: type[BaseModel], data: object, error: ValidationError) -> list[Problem]:
    """Return what ``error`` says of ``data``, one problem per place, in pydantic's order."""
    out: dict[Path, Problem] = {}
    for detail in error.errors(include_url=False, include_input=True):
        path = _path(data, detail["loc"], is_missing=detail["type"] == "missing")
        problem = _problem(
            path, _names(model, path), detail["type"], detail["msg"], detail.get("ctx", {}), detail["input"]
        )
        if (known := out.get(path)) is not None and known.message != problem.message:
            problem = replace(known, message=f"{known.message}, or {problem.message}")
        out[path] = problem
    return list(out.values())


def _problem(
    path: Path, names: tuple[str, ...], kind: str, message: str, context: dict[str, Any], value: object
) -> Problem:
    listed = ", ".join(names) or None
    if kind == "extra_forbidden":
        return Problem(path, "unknown key", listed, nearest(str(path[-1]), names), "unknown_key")
    if kind == "missing":
        return Problem(path, "is missing", None, None, "missing")
    if kind in {"enum", "literal_error"}:
        words = _quoted(str(context["expected"]))
        near = nearest(value, words) if isinstance(value, str) else None
        return Problem(path, f"{value!r} is not known", ", ".join(words), near, "value")
    if kind == "value_error":
        return Problem(path, str(context["error"]), None, None, "value")
    if kind == "string_pattern_mismatch":
        return Problem(path, f"{value!r} is written wrongly", f"the pattern {context['pattern']}", None, "value")
    shown = f"{value!r}: " if isinstance(value, str | int | float) else ""
    return Problem(path, shown + message[:1].lower() + message[1:], None, None, "value")


def _quoted(expected: str) -> list[str]:
    """Return the words of pydantic's ``'a', 'b' or 'c'``; numbers of a Literal stand there without quotes."""
    return [word.strip().strip("'") for word in expected.replace(" or ", ", ").split(",")]


def _path(data: object, loc: Path, *, is_missing: bool) -> Path:
    """Return ``loc`` without what pydantic adds to it (names of union members, ``[key]``) and data does not have."""
    path: list[str | int] = []
    for index, part in enumerate(loc):
        keys = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
        if part in keys:
            data = data[part]  # type: ignore[index]
        elif not (is_missing and index == len(loc) - 1):
            continue
        path.append(part)
    return tuple(path)


def _names(model: type[BaseModel], path: Path) -> tuple[str, ...]:
    """Return the keys that are valid at the last level of ``path``; empty where any key or an index is."""
    here: list[Any] = [model]
    names: dict[str, None] = {}
    for part in path:
        names = {}
        found: list[Any] = []
        for kind in here:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                names.update(dict.fromkeys(kind.model_fields))
                if isinstance(part, str) and part in kind.model_fields:
                    found += _members(kind.model_fields[part].annotation)
            elif args := get_args(kind):
                found += _members(args[-1] if args[-1] is not Ellipsis else args[0])
        here = found
    return tuple(names)


def _members(annotation: Any) -> Iterator[Any]:
    """Return the types of which ``annotation`` is a union, itself when it is none."""
    if get_origin(annotation) in {Union, UnionType}:
        for arg in get_args(annotation):
            yield from _members(arg)
    elif hasattr(annotation, "__metadata__"):
        yield from _members(get_args(annotation)[0])
    else:
        yield annotation
