"""Scans as compact rows, and back: what a recording holds, so that the same decisions can be made again. Pure.

A row is one scan's readings (value, sample time, quality) as ``step`` saw them, and what it decided. Fifty rows are a
part; the first part of a recording goes with the memory that its first scan began with.
"""

import base64
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from math import isnan, nan
from typing import Any

from pydantic import TypeAdapter

from fieldkit.letters import plain
from fieldkit.reading import Quality, Reading, Reason
from fieldkit.request import Answered
from fieldkit.units import Unit
from valvey.core import persist
from valvey.core.chart import State, Step
from valvey.core.facts import Fact
from valvey.core.gate import Outputs
from valvey.core.leasing import Answer
from valvey.core.limits import Limits
from valvey.core.memory import Memory
from valvey.core.requests import Request
from valvey.done import Done

FORMAT = 2
ROWS_A_PART = 50
_STATES, _STEPS = tuple(State), tuple(Step)
_CODES: tuple[tuple[Quality, Reason | None], ...] = tuple(
    (quality, reason) for quality in Quality for reason in (None, *Reason)
)
_CODE_OF = {pair: number for number, pair in enumerate(_CODES)}
_ABSENT = 255
_OUTPUTS = len(Outputs().items())
_DECIDED = _OUTPUTS + 4
"""Numbers at the end of a row: the outputs, state, step, state_seq, digest of the facts."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What the numbers of a row are: the tags in their order, with their units."""

    tags: tuple[str, ...]
    units: tuple[Unit, ...]

    @property
    def width(self) -> int:
        return 1 + 2 * len(self.tags) + _DECIDED


@dataclass(frozen=True, slots=True)
class Decided:
    """What one scan decided, as far as a row tells. Times are compared as they are: the arithmetic is the same."""

    outputs: tuple[float | None, ...]
    state: State
    step: Step
    state_seq: int
    facts: int


@dataclass(slots=True)
class Part:
    """Up to ROWS_A_PART scans and the memory that the first of them began with.

    known  answers given before, to ids that these scans hear again
    """

    memory: Memory
    rows: list["array[float]"] = field(default_factory=list)
    codes: list[bytes] = field(default_factory=list)
    requests: dict[int, tuple[Request, ...]] = field(default_factory=dict)
    known: tuple[Answered, ...] = ()
    answers: dict[int, tuple[Answer, ...]] = field(default_factory=dict)

    @property
    def full(self) -> bool:
        return len(self.rows) >= ROWS_A_PART

    def add(self, columns: Columns, done: Done) -> None:
        if done.requests:
            self.requests[len(self.rows)] = done.requests
            ids = {request.id for request in done.requests}
            self.known += tuple(answer for answer in done.before.answered if answer.id in ids)
        if done.answers:
            self.answers[len(self.rows)] = done.answers
        found = [done.readings.get(tag) for tag in columns.tags]
        row = array("d", [done.now_s])
        row.extend(nan if one is None or one.value is None else one.value for one in found)
        row.extend(nan if one is None else one.at_s for one in found)
        row.extend(_numbers(decided(done.scan.outputs, done.scan.memory, done.scan.facts)))
        self.rows.append(row)
        codes = bytes(_ABSENT if one is None else _CODE_OF[one.quality, one.reason] for one in found)
        self.codes.append(self.codes[-1] if self.codes and self.codes[-1] == codes else codes)


def decided(outputs: Outputs, memory: Memory, facts: Sequence[Fact]) -> Decided:
    told = [(str(fact.kind), plain(fact.fields)) for fact in facts]
    digest = zlib.crc32(repr(told).encode()) if told else 0
    values = tuple(value for _, value in outputs.items())
    return Decided(values, memory.state, memory.step, memory.state_seq, digest)


def _numbers(one: Decided) -> list[float]:
    outputs = [nan if value is None else value for value in one.outputs]
    return [*outputs, _STATES.index(one.state), _STEPS.index(one.step), float(one.state_seq), float(one.facts)]


def head(columns: Columns, limits: Limits, memory: Memory) -> dict[str, Any]:
    """The first line of a recording."""
    return {
        "format": FORMAT,
        "tags": list(columns.tags),
        "units": [str(unit) for unit in columns.units],
        "limits": plain(asdict(limits)),
        "memory": persist.to_dict(memory),
    }


def pack(part: Part) -> dict[str, Any]:
    """A part as JSON has it."""
    data = b"".join(row.tobytes() for row in part.rows)
    return {
        "rows": len(part.rows),
        "data": base64.b64encode(zlib.compress(data, 1)).decode(),
        "codes": base64.b64encode(zlib.compress(b"".join(part.codes), 1)).decode(),
        "requests": {str(at): [asdict(one) for one in asked] for at, asked in part.requests.items()},
        "known": [asdict(answer) for answer in part.known],
        "answers": {str(at): [asdict(one) for one in heard] for at, heard in part.answers.items()},
    }


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    """Made when a recording is read: a daemon that only writes them does not pay for it at its start."""
    return TypeAdapter(kind)


@dataclass(frozen=True, slots=True)
class Frame:
    """One recorded scan: what ``step`` was given, and what it decided then."""

    now_s: float
    readings: Mapping[str, Reading]
    requests: tuple[Request, ...]
    decided: Decided
    answers: tuple[Answer, ...] = ()


def read_head(fields: Mapping[str, Any]) -> tuple[Columns, Limits, Memory]:
    """Return what ``head`` wrote. Raises ValueError."""
    if fields.get("format") != FORMAT:
        raise ValueError(f"the recording has format {fields.get('format')!r}; this version reads format {FORMAT}")
    try:
        columns = Columns(tuple(fields["tags"]), tuple(Unit(unit) for unit in fields["units"]))
        return columns, _reader(Limits).validate_python(fields["limits"]), persist.from_dict(fields["memory"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"the head of the recording is not whole: {error!r}") from None


def read_known(fields: Mapping[str, Any]) -> tuple[Answered, ...]:
    """Return the answers that a part knows of. Raises ValueError."""
    known: tuple[Answered, ...] = _reader(tuple[Answered, ...]).validate_python(fields.get("known", ()))
    return known


def unpack(columns: Columns, fields: Mapping[str, Any]) -> Iterable[Frame]:
    """Yield the scans of a part. Raises ValueError when it is not whole."""
    try:
        numbers = array("d", zlib.decompress(base64.b64decode(fields["data"])))
        codes = zlib.decompress(base64.b64decode(fields["codes"]))
        count = int(fields["rows"])
        requests = {
            int(at): _reader(tuple[Request, ...]).validate_python(asked) for at, asked in fields["requests"].items()
        }
        heard = fields.get("answers", {})  # a record of a version that had no coordinator has none
        answers = {int(at): _reader(tuple[Answer, ...]).validate_python(one) for at, one in heard.items()}
    except (KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ValueError(f"a part of the recording is not whole: {error!r}") from None
    n, width = len(columns.tags), columns.width
    if len(numbers) != count * width or len(codes) != count * n:
        raise ValueError(f"a part of the recording should have {count} rows of {width} numbers")
    for at in range(count):
        row, marks = numbers[at * width : (at + 1) * width], codes[at * n : (at + 1) * n]
        readings = {
            tag: Reading(
                tag, None if isnan(row[1 + i]) else row[1 + i], columns.units[i], *_quality(marks[i], row[1 + n + i])
            )
            for i, tag in enumerate(columns.tags)
            if marks[i] != _ABSENT
        }
        decided = _read_decided(row[1 + 2 * n :])
        yield Frame(row[0], readings, requests.get(at, ()), decided, answers.get(at, ()))


def _quality(code: int, at_s: float) -> tuple[Quality, float, Reason | None]:
    quality, reason = _CODES[code]
    return quality, at_s, reason


def _read_decided(numbers: "array[float]") -> Decided:
    outputs = tuple(None if isnan(value) else value for value in numbers[:_OUTPUTS])
    state, step, seq, facts = (int(value) for value in numbers[_OUTPUTS:])
    return Decided(outputs, _STATES[state], _STEPS[step], seq, facts)
