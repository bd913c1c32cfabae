"""The coordinator's memory as plain data and back, with a format number. What cannot be read raises ValueError."""

from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter

from fieldkit import memory_form
from valvey.core.loop.alarms import BY_NAME
from valvey.core.loop.memory import FORMAT, LoopMemory

_MEMORY = TypeAdapter(LoopMemory)
_NAMES = frozenset(one.name for one in fields(LoopMemory))
_FLEETING = frozenset({
    "hold", "written", "asked", "theirs", "samples", "since_s", "isolated_s", "stop", "asked_of", "raised",
})  # fmt: skip
"""What a start never believes, and so is not written."""


def to_dict(memory: LoopMemory, *, whole: bool = False) -> dict[str, Any]:
    """Return ``memory`` as plain data; ``whole``: with all that a start would not believe, for a recording."""
    return memory_form.plain(_MEMORY, memory, () if whole else _FLEETING)


def from_dict(document: Any, *, whole: bool = False) -> LoopMemory:
    """Return what ``to_dict`` wrote. Raises ValueError naming what is wrong."""
    found, _ = memory_form.opened(document, FORMAT)
    memory_form.only(found, _NAMES if whole else _NAMES - _FLEETING)
    return memory_form.believed(_MEMORY, found, FORMAT, BY_NAME.get)
