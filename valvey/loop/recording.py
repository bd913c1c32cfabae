"""Steps of the coordinator as rows, and back, so that the same decisions can be made again. Pure.

A row holds what came in since the row before - readings and racks that changed, asks, requests - and a digest of what was
decided. Fifty rows are a part, which begins with everything and with the memory that its first step began with.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fieldkit.letters import plain
from fieldkit.reading import Quality, Reading, Reason
from fieldkit.request import Request
from fieldkit.units import Unit
from valvey.core.loop import persist
from valvey.core.loop.leases import Asked
from valvey.core.loop.limits import LoopLimits
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.seen import RackSeen
from valvey.core.loop.step import LoopInputs, LoopScan
from valvey.loop.turns import Turn

FORMAT = 1
ROWS_A_PART = 50
_READERS: dict[Any, TypeAdapter[Any]] = {}


@dataclass(slots=True)
class Part:
    """Up to ROWS_A_PART steps."""

    turns: list[Turn] = field(default_factory=list)

    @property
    def full(self) -> bool:
        return len(self.turns) >= ROWS_A_PART


@dataclass(frozen=True, slots=True)
class Frame:
    """One recorded step: what it was given, and what it decided then, as ``digest`` and state sequence."""

    now_s: float
    inputs: LoopInputs
    digest: int
    state_seq: int


def digest(scan: LoopScan) -> int:
    """A number that differs when anything was decided otherwise: writes, answers, what racks are asked, facts."""
    told = (
        sorted(scan.writes.items()),
        sorted(scan.stopped.items()),
        [asdict(reply) for reply in scan.replies],
        [asdict(one) for one in scan.asked],
        [(str(fact.kind), plain(fact.fields)) for fact in scan.facts],
        sorted(scan.memory.ceilings.items()),
    )
    return zlib.crc32(repr(told).encode())


def head(loop: str, limits: LoopLimits, part: Part) -> dict[str, Any]:
    """The first line of a recording that begins with ``part``."""
    memory = persist.to_dict(part.turns[0].before, whole=True)
    return {
        "of": "loop",
        "format": FORMAT,
        "loop": loop,
        "packed": _packed({"limits": _plain(limits), "memory": memory}),
    }


def pack(part: Part) -> dict[str, Any]:
    """A part as JSON has it."""
    rows, readings, racks = [], dict[str, Reading](), dict[str, RackSeen]()
    for turn in part.turns:
        inputs = turn.inputs
        rows.append({
            "t": turn.now_s,
            "r": [_of_reading(one) for tag, one in inputs.readings.items() if readings.get(tag) is not one],
            "k": {name: _plain(one) for name, one in inputs.racks.items() if racks.get(name) is not one},
            "a": [_plain(one) for one in inputs.asks],
            "q": [_plain(one) for one in inputs.requests],
            "o": inputs.others,
            "w": inputs.write_failed,
            "d": digest(turn.scan),
            "s": turn.scan.memory.state_seq,
        })
        readings, racks = dict(inputs.readings), dict(inputs.racks)
    return {"rows": len(rows), "packed": _packed(rows)}


def read_head(fields: Mapping[str, Any]) -> tuple[str, LoopLimits, LoopMemory]:
    """Return what ``head`` wrote. Raises ValueError."""
    if fields.get("format") != FORMAT:
        raise ValueError(f"the recording has format {fields.get('format')!r}; this version reads format {FORMAT}")
    found = _unpacked(fields)
    try:
        limits = _reader(LoopLimits).validate_python(found["limits"])
        return str(fields["loop"]), limits, persist.from_dict(found["memory"], whole=True)
    except (KeyError, TypeError, ValidationError) as error:
        raise ValueError(f"the head of the recording is not whole: {error!r}") from None


def unpack(fields: Mapping[str, Any], number: int) -> Iterable[Frame]:
    """Yield the steps of part ``number``. Raises ValueError when it is not whole, or another."""
    if fields.get("part") != number:
        raise ValueError(f"part {number} of the recording is missing")
    rows = _unpacked(fields)
    if not isinstance(rows, list) or len(rows) != fields.get("rows"):
        raise ValueError(f"a part of the recording should have {fields.get('rows')} rows")
    readings, racks = dict[str, Reading](), dict[str, RackSeen]()
    for row in rows:
        try:
            readings = {**readings, **{one[0]: _reading(one) for one in row["r"]}}
            racks = {**racks, **{name: _reader(RackSeen).validate_python(one) for name, one in row["k"].items()}}
            inputs = LoopInputs(
                readings,
                racks,
                tuple(_reader(Asked).validate_python(one) for one in row["a"]),
                tuple(_reader(Request).validate_python(one) for one in row["q"]),
                row["o"],
                row["w"],
            )
            frame = Frame(row["t"], inputs, row["d"], row["s"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"a row of the recording is not whole: {error!r}") from None
        yield frame


def _of_reading(one: Reading) -> list[Any]:
    return [
        one.tag,
        one.value,
        str(one.unit),
        str(one.quality),
        one.at_s,
        None if one.reason is None else str(one.reason),
    ]


def _reading(row: list[Any]) -> Reading:
    tag, value, unit, quality, at_s, reason = row
    return Reading(tag, value, Unit(unit), Quality(quality), at_s, None if reason is None else Reason(reason))


def _reader(kind: Any) -> TypeAdapter[Any]:
    """Made when it is first needed: a daemon that records nothing does not pay for it at its start."""
    if kind not in _READERS:
        _READERS[kind] = TypeAdapter(kind)
    return _READERS[kind]


def _plain(value: object) -> Any:
    return _reader(type(value)).dump_python(value, mode="json")


def _packed(document: Any) -> str:
    """Compact text; a time before all times stays what it is, which strict JSON could not say."""
    return base64.b64encode(zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 1)).decode()


def _unpacked(fields: Mapping[str, Any]) -> Any:
    try:
        return json.loads(zlib.decompress(base64.b64decode(fields["packed"])))
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(f"a part of the recording is not whole: {error!r}") from None
