"""What every daemon tells in the same words: who it is, its alarms, its points; and values as JSON has them. Nothing is sent here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from pydantic import JsonValue

from fieldkit import envelope
from fieldkit.alarm import AlarmState
from fieldkit.envelope_parts import PointMeta, PointValue
from fieldkit.reading import Quality, Reading, Reason
from fieldkit.topics import Daemon, Kind, topic


@dataclass(frozen=True, slots=True)
class Sender:
    """Who tells: a daemon of a rack or of a loop (``node``).

    wall_of    boot time -> wall time
    synced     whether the wall clock may be believed
    """

    site: str
    node: str
    daemon: Daemon
    simulated: bool
    version: str
    boot_id: str
    config_digest: str
    since_wall_s: float
    wall_of: Callable[[float], float]
    synced: Callable[[], bool]

    def topic(self, kind: Kind, *rest: str) -> str:
        return str(topic(self.site, self.node, self.daemon, kind, *rest))


def availability(sender: Sender, status: Literal["online", "offline"]) -> envelope.Availability:
    return envelope.Availability(
        simulated=sender.simulated,
        status=status,
        version=sender.version,
        boot_id=sender.boot_id,
        since_wall_s=sender.since_wall_s,
    )


def judged_by_age(reading: Reading, max_age_s: float, now_s: float) -> tuple[float | None, Quality, Reason | None]:
    """Value, quality and reason as they stand at ``now_s``: what is too old is bad."""
    if reading.quality is not Quality.BAD and now_s - reading.at_s > max_age_s:
        return None, Quality.BAD, Reason.STALE
    return reading.value, reading.quality, reading.reason


def telemetry(
    sender: Sender, readings: Mapping[str, Reading], max_age_s: Callable[[str], float], now_s: float, seq: int
) -> envelope.Telemetry:
    """One snapshot of all points. ``max_age_s``: how old a tag's reading may be."""
    points = {}
    for tag, reading in readings.items():
        value, quality, reason = judged_by_age(reading, max_age_s(tag), now_s)
        age_s = round(max(0.0, now_s - reading.at_s), 4)
        points[tag] = PointValue(value=value, unit=reading.unit, quality=quality, reason=reason, age_s=age_s)
    return envelope.Telemetry(
        simulated=sender.simulated,
        boot_id=sender.boot_id,
        seq=seq,
        wall_s=sender.wall_of(now_s),
        wall_synced=sender.synced(),
        mono_s=now_s,
        points=points,
    )


def event(sender: Sender, fact: str, at_s: float, fields: Mapping[str, Any], seq: int) -> envelope.Event:
    return envelope.Event(
        simulated=sender.simulated,
        boot_id=sender.boot_id,
        seq=seq,
        wall_s=sender.wall_of(at_s),
        wall_synced=sender.synced(),
        mono_s=at_s,
        fact=fact,
        fields={name: plain(value) for name, value in fields.items()},
    )


def meta(sender: Sender, points: dict[str, PointMeta]) -> envelope.Meta:
    return envelope.Meta(simulated=sender.simulated, points=points)


def alarm(sender: Sender, one: AlarmState) -> envelope.Alarm:
    wall, row = sender.wall_of, one.row
    return envelope.Alarm(
        simulated=sender.simulated,
        id=row.id,
        state=one.phase,
        priority=row.priority,
        active=one.active,
        since_wall_s=wall(one.since_s),
        raised_wall_s=None if one.raised_s is None else wall(one.raised_s),
        count=one.count,
        cause=row.cause,
        consequence=row.consequence,
        action=row.action,
        respond_s=row.respond_s,
        runbook=row.runbook,
        trip=row.trip,
        by=None if one.by is None else line(one.by),
        why=None if one.why is None else line(one.why),
        until_wall_s=None if one.until_s is None else wall(one.until_s),
    )


def plain(value: Any) -> JsonValue:
    """``value`` as JSON has it: enumerations as their text, tuples and sets as lists, NaN as null."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value - value == 0.0 else None  # ruff: ignore[float-equality-comparison] - tells NaN and infinity
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, set | frozenset):
        return [plain(one) for one in sorted(value)]
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return str(value)


def line(text: str) -> str:
    """``text`` as it may stand in a payload's one-line field."""
    return "".join(c if c.isprintable() else " " for c in text)[:200]
