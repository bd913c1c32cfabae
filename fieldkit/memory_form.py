"""The form in which a core's memory is kept: plain data with a format number, its alarms by id and state.

The texts of alarms come from the table of the version that reads them. What cannot be read raises ValueError: the caller
then starts as from an unreadable memory, never from half of one.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from fieldkit import alarm
from fieldkit.alarm import AlarmState
from fieldkit.alarms import RowOf


class WithAlarms(Protocol):
    """A memory: a frozen dataclass that has alarms by id."""

    @property
    def alarms(self) -> Mapping[str, AlarmState]: ...


M = TypeVar("M", bound=WithAlarms)


def plain(form: TypeAdapter[M], memory: M, without: Collection[str] = ()) -> dict[str, Any]:
    """Return ``memory`` as plain data, but for the fields ``without``."""
    document: dict[str, Any] = form.dump_python(memory, mode="json", exclude={"alarms", *without})
    document["alarms"] = [alarm.to_dict(state) for state in memory.alarms.values()]
    return document


def opened(document: Any, newest: int) -> tuple[dict[str, Any], int]:
    """Return a document and its format, where that is one that this version reads: 1 to ``newest``."""
    if not isinstance(document, dict):
        raise ValueError(f"the memory is {type(document).__name__}, not an object")  # ruff: ignore[type-check-without-type-error] - a file is wrong, not a caller
    written = document.get("format")
    if not isinstance(written, int) or not 1 <= written <= newest:
        raise ValueError(f"the memory has format {written!r}; this version reads formats 1 to {newest}")
    return document, written


def only(document: Mapping[str, Any], wanted: Set[str], allowed: Set[str] = frozenset()) -> None:
    """Refuse a document without all fields ``wanted``, or with others than these and the ``allowed``."""
    unknown, missing = sorted(document.keys() - wanted - allowed), sorted(wanted - document.keys())
    if unknown or missing:
        raise ValueError(f"the memory is not whole: unknown {unknown}, missing {missing}")


def believed(form: TypeAdapter[M], document: Mapping[str, Any], newest: int, row_of: RowOf) -> M:
    """Return the memory that stands in ``document``, of format ``newest`` from now on. An alarm without a row is dropped."""
    fields = {**document, "format": newest}
    states = fields.pop("alarms", ())
    try:
        memory = form.validate_python(fields)
        return replace(memory, alarms=_alarms(states, row_of))  # type: ignore[type-var]  # WithAlarms: a frozen dataclass
    except ValidationError as error:
        raise ValueError(f"the memory cannot be read: {first_problem(error)}") from None
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"the alarms of the memory cannot be read: {error!r}") from None


def first_problem(error: ValidationError) -> str:
    """The first place that was refused, and why."""
    problem = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, problem["loc"])) or "the document"
    return f"{place}: {problem['msg']}"


def _alarms(states: Sequence[Mapping[str, Any]], row_of: RowOf) -> dict[str, AlarmState]:
    rows = [(row_of(state["id"]), state) for state in states]
    return {row.id: alarm.from_dict(row, state) for row, state in rows if row is not None}
