"""Memory as plain data and back: everything that survives a restart, with a format number; answers once given stand apart.

What cannot be read raises ValueError: the caller then starts as from an unreadable memory, never from half of one. An
older format is read: what it did not have yet is as in a new memory. A later one is not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fieldkit import memory_form
from fieldkit.frozen import replace
from fieldkit.request import Answered
from valvey.core.alarm_rows import row_of
from valvey.core.memory import FORMAT, Memory

_FIELDS = frozenset(one.name for one in fields(Memory))
_MEMORY = TypeAdapter(Memory)
_ANSWERED = TypeAdapter(tuple[Answered, ...])
_APART = frozenset({"answered"})
#: By format: the fields that it brought. Whatever else is missing was lost.
BROUGHT: dict[int, frozenset[str]] = {
    2: frozenset({"leasing", "waiting", "uncoordinated", "sensors", "sensors_s", "steering", "stroke"}),
}


def dump_answered(answered: Sequence[Answered]) -> bytes:
    """Return answers once given, oldest first: they only grow, and are kept apart from the rest."""
    return _ANSWERED.dump_json(tuple(answered))


def with_answers(memory: Memory, parts: Iterable[bytes]) -> Memory:
    """Return ``memory`` with the answers that ``dump_answered`` wrote in parts, oldest first. Raises ValueError."""
    try:
        answered = tuple(answer for part in parts for answer in _ANSWERED.validate_json(part))
    except ValidationError as error:
        raise ValueError(f"the answers of the memory cannot be read: {memory_form.first_problem(error)}") from None
    return replace(memory, answered=answered)


def to_dict(memory: Memory) -> dict[str, Any]:
    """Return ``memory`` without its answers as plain data."""
    return memory_form.plain(_MEMORY, memory, _APART)


def from_dict(document: Any) -> Memory:
    """Return the memory that ``to_dict`` wrote. Raises ValueError."""
    found, written = memory_form.opened(document, FORMAT)
    later = {name for number, names in BROUGHT.items() if number > written for name in names}
    memory_form.only(found, _FIELDS - _APART - later, _APART)
    return memory_form.believed(_MEMORY, found, FORMAT, row_of)
