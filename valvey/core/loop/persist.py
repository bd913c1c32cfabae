"""The coordinator's memory as bytes and back, with a format number. What cannot be read raises ValueError."""

import json
from dataclasses import fields, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fieldkit import alarm
from valvey.core.loop.alarms import BY_NAME
from valvey.core.loop.memory import FORMAT, LoopMemory

_MEMORY = TypeAdapter(LoopMemory)
_NAMES = frozenset(one.name for one in fields(LoopMemory))
_FLEETING = frozenset({"hold", "written", "asked", "theirs", "samples", "since_s", "isolated_s", "stop", "asked_of"})
"""What a start never believes, and so is not written."""


def to_dict(memory: LoopMemory, *, whole: bool = False) -> dict[str, Any]:
    """Return ``memory`` as plain data; ``whole``: with all that a start would not believe, for a recording."""
    left_out = {"alarms"} if whole else {"alarms", *_FLEETING}
    document: dict[str, Any] = _MEMORY.dump_python(memory, mode="json", exclude=left_out)
    document["alarms"] = [alarm.to_dict(state) for state in memory.alarms.values()]
    return document


def from_dict(document: Any, *, whole: bool = False) -> LoopMemory:
    """Return what ``to_dict`` wrote. Raises ValueError naming what is wrong."""
    if not isinstance(document, dict):
        raise ValueError(f"the memory is {type(document).__name__}, not an object")  # ruff: ignore[type-check-without-type-error] - a file is wrong, not a caller
    if document.get("format") != FORMAT:
        raise ValueError(f"the memory has format {document.get('format')!r}; this version reads format {FORMAT}")
    strange = sorted(set(document) ^ (_NAMES if whole else _NAMES - _FLEETING))
    if strange:
        raise ValueError(f"the memory is not whole: {', '.join(strange)} missing or unknown")
    states = document["alarms"]
    try:
        memory = _MEMORY.validate_python({name: one for name, one in document.items() if name != "alarms"})
        kept = {one["id"]: alarm.from_dict(BY_NAME[one["id"]], one) for one in states if one["id"] in BY_NAME}
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise ValueError(f"the memory cannot be read: {place}: {problem['msg']}") from None
    except (TypeError, KeyError) as error:
        raise ValueError(f"the alarms of the memory cannot be read: {error!r}") from None
    return replace(memory, alarms=kept)


def dump(memory: LoopMemory) -> bytes:
    return json.dumps(to_dict(memory), separators=(",", ":")).encode()


def load(data: bytes) -> LoopMemory:
    """Return what ``dump`` wrote. Raises ValueError."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the memory is no JSON document: {error}") from None
    return from_dict(document)
