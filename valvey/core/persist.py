"""Memory as bytes and back: everything that survives a restart, in one JSON document with a format number.

Alarms are written by id and state; their texts come from the table of the version that reads them. What cannot be
read raises ValueError: the caller then starts as from an unreadable memory, never from half of one. An older format is
read: what it did not have yet is as in a new memory. A later one is not.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fieldkit import alarm
from fieldkit.alarm import AlarmState
from fieldkit.frozen import replace
from fieldkit.request import Answered
from valvey.core.alarm_rows import row_of
from valvey.core.memory import FORMAT, Memory

_FIELDS = frozenset(one.name for one in fields(Memory))
_MEMORY = TypeAdapter(Memory)
_ANSWERED = TypeAdapter(tuple[Answered, ...])
_APART = {"answered"}
#: By format: the fields that it brought. Whatever else is missing was lost.
BROUGHT: dict[int, frozenset[str]] = {
    2: frozenset({"leasing", "waiting", "uncoordinated", "sensors", "sensors_s", "steering", "stroke"}),
}


def dump(memory: Memory) -> bytes:
    """Return the whole of ``memory``."""
    head = json.dumps(to_dict(memory), separators=(",", ":"))
    return head[:-1].encode() + b',"answered":' + dump_answered(memory.answered) + b"}"


def dump_answered(answered: Sequence[Answered]) -> bytes:
    """Return answers once given, oldest first: they only grow, and may be kept apart from the rest."""
    return _ANSWERED.dump_json(tuple(answered))


def load(data: bytes) -> Memory:
    """Return what ``dump`` wrote.

    Raises ValueError naming what is wrong: no JSON, another format, a missing or impossible field.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the memory is no JSON document: {error}") from None
    return from_dict(document)


def with_answers(memory: Memory, parts: Iterable[bytes]) -> Memory:
    """Return ``memory`` with the answers that ``dump_answered`` wrote in parts, oldest first. Raises ValueError."""
    try:
        answered = tuple(answer for part in parts for answer in _ANSWERED.validate_json(part))
    except ValidationError as error:
        raise ValueError(f"the answers of the memory cannot be read: {_first(error)}") from None
    return replace(memory, answered=answered)


def to_dict(memory: Memory) -> dict[str, Any]:
    """Return ``memory`` without its answers as plain data."""
    document: dict[str, Any] = _MEMORY.dump_python(replace(memory, alarms={}), mode="json", exclude=_APART)
    document["alarms"] = [alarm.to_dict(state) for state in memory.alarms.values()]
    return document


def from_dict(document: Any) -> Memory:
    """Return the memory that ``to_dict`` wrote. Raises ValueError."""
    if not isinstance(document, dict):
        raise ValueError(f"the memory is {type(document).__name__}, not an object")  # ruff: ignore[type-check-without-type-error] - a file is wrong, not a caller
    written = document.get("format")
    if not isinstance(written, int) or not 1 <= written <= FORMAT:
        raise ValueError(f"the memory has format {written!r}; this version reads formats 1 to {FORMAT}")
    later = {name for number, names in BROUGHT.items() if number > written for name in names}
    unknown = sorted(set(document) - _FIELDS | set(document) & later)
    missing = sorted(_FIELDS - _APART - later - set(document))
    if unknown or missing:
        raise ValueError(f"the memory is not whole: unknown {unknown}, missing {missing}")
    rest = document | {"format": FORMAT}
    alarms = rest.pop("alarms")
    try:
        memory = _MEMORY.validate_python(rest)
        return replace(memory, alarms=_alarms(alarms))
    except ValidationError as error:
        raise ValueError(f"the memory cannot be read: {_first(error)}") from None
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"the alarms of the memory cannot be read: {error!r}") from None


def _alarms(states: Sequence[Mapping[str, Any]]) -> dict[str, AlarmState]:
    """The alarms that this version still has a row for."""
    out: dict[str, AlarmState] = {}
    for state in states:
        row = row_of(state["id"])
        if row is not None:
            out[row.id] = alarm.from_dict(row, state)
    return out


def _first(error: ValidationError) -> str:
    problem = error.errors()[0]
    place = ".".join(map(str, problem["loc"])) or "the document"
    return f"{place}: {problem['msg']}"
