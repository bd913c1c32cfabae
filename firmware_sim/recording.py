"""Recordings of a running plant as the DSX event bus sends them: CSV of ``offset,topic,payload``.

Offsets are durations (``1m39.367s``, ``508.2ms``), payloads JSON with ``value`` and ``quality`` (1 is good); ``{{timestamp_ms}}`` may
stand for a time of replay. Only racks' readings are kept; everything else in a recording is passed over.
"""

import csv
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KINDS = {
    "RackPower": ("power_kw", "kW"),
    "RackLiquidFlow": ("flow_lpm", "LPM"),
    "RackLiquidSupplyTemperature": ("supply_c", "C"),
    "RackLiquidReturnTemperature": ("return_c", "C"),
}
"""Point type: our name, and the engineering unit it must have where the recording says one."""
_TOPIC = re.compile(r"BMS/v1/PUB/(Value|Metadata)/Rack/(\w+)/(.+)")
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|us|µs|ns|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
# Owner, site and pod are left out of a rack's name where they are there; a topic without a rack's name is a rack of its own.
_RACK = re.compile(r"[^/]*/[^/]*/[^/]*/((?:[^/]*/)??[^/]*rack[^/]*)/", re.IGNORECASE)
_SEGMENT = re.compile(r"([^/]*rack[^/]*)", re.IGNORECASE)

Series = list[tuple[float, float]]
"""(seconds, value), in the order of time; a value holds until the next."""


class RecordingError(ValueError):
    """A file that is no recording; the message names line and what was expected."""


@dataclass
class RecordedRack:
    """One rack's readings. Series may be empty: a rack need not have every sensor."""

    name: str
    power_kw: Series = field(default_factory=list)
    flow_lpm: Series = field(default_factory=list)
    supply_c: Series = field(default_factory=list)
    return_c: Series = field(default_factory=list)


def seconds_of(offset: str) -> float:
    """A duration in seconds. Raises ValueError."""
    parts = _PART.findall(offset)
    if not parts or "".join(number + unit for number, unit in parts) != offset:
        raise ValueError(f"{offset!r} is no duration such as 1m2.5s or 508.2ms")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def load(path: Path) -> list[RecordedRack]:
    """Racks of a recording in the order of their names. Raises RecordingError, OSError."""
    racks: dict[str, RecordedRack] = {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if rows.fieldnames is None or not {"offset", "topic", "payload"} <= set(rows.fieldnames):
            raise RecordingError(f"{path}: line 1 must name the columns offset, topic and payload")
        for row in rows:
            try:
                _take(racks, row)
            except ValueError as fault:
                raise RecordingError(f"{path}: line {rows.line_num}: {fault}") from fault
    for rack in racks.values():
        for name, _ in KINDS.values():
            getattr(rack, name).sort(key=lambda one: one[0])
    if not racks:
        raise RecordingError(f"{path}: no topic BMS/v1/PUB/Value/Rack/…: this is no recording of racks")
    return [racks[name] for name in sorted(racks)]


def _take(racks: dict[str, RecordedRack], row: dict[str, str | None]) -> None:
    topic = _TOPIC.fullmatch(row["topic"] or "")
    if topic is None or topic[2] not in KINDS:
        return
    name, unit = KINDS[topic[2]]
    payload = _payload(row["payload"] or "")
    said = payload.get("engUnit")
    if topic[1] == "Metadata":
        if said is not None and said != unit:
            raise ValueError(f"{topic[2]} of {topic[3]} is in {said!r}; only {unit!r} is read")
        return
    value = payload.get("value")
    if payload.get("quality") != 1 or isinstance(value, bool) or not isinstance(value, (int, float)):
        return  # not good, or not known
    at_s = seconds_of(row["offset"] or "")
    place = _RACK.match(topic[3]) or _SEGMENT.search(topic[3])
    rack = place[1] if place else topic[3]
    getattr(racks.setdefault(rack, RecordedRack(rack)), name).append((at_s, float(value)))


def _payload(text: str) -> dict[str, Any]:
    try:
        payload = json.loads(re.sub(r"\{\{\w+\}\}", "0", text))
    except ValueError as fault:
        raise ValueError(f"the payload is no JSON: {fault}") from None
    if not isinstance(payload, dict):
        raise ValueError("the payload is no JSON object")  # ruff: ignore[type-check-without-type-error] - a file is wrong, not a caller
    return payload


def held(series: Series, at_s: float) -> float | None:
    """The last value of ``series`` up to ``at_s``; None before the first."""
    value = None
    for when, one in series:
        if when > at_s:
            break
        value = one
    return value
