"""From another daemon's payloads (contract 1) to what Racky knows of it. Nothing is received here.

Its wall-clock times become times of ours by its own stamps: how long ago something was by its clock, counted back from
when we heard it. Its clock need not agree with ours.
"""

from collections.abc import Mapping
from dataclasses import replace

from pydantic import JsonValue

from fieldkit import envelope
from fieldkit.reading import Reading
from racky.core.sight import AlarmTold, DaemonTold, LatchTold

RETAINED_S = 1.0
"""A message that is live is under way for less."""


def availability(known: DaemonTold, told: envelope.Availability) -> DaemonTold:

    return replace(known, online=told.status == "online")


def state(known: DaemonTold, told: envelope.State, now_s: float, rack: str) -> DaemonTold:
    """``rack``: ours, for what a coordinator says of it."""
    known, offset_s = _placed(known, now_s - told.wall_s)
    detail, failed = told.detail, told.detail.get("failed")
    return replace(
        known,
        state_s=now_s,
        state=told.state,
        step=told.step,
        since_s=told.since_wall_s + offset_s,
        state_seq=told.state_seq,
        armed=told.armed,
        inventory=told.inventory,
        tested=told.tested,
        latches=tuple(LatchTold(one.sif, one.cause, one.since_wall_s + offset_s) for one in told.latches),
        locks=tuple(one.owner for one in told.locks),
        bypasses=tuple(one.what for one in told.bypasses),
        power_cap=_names(detail.get("power_cap")),
        cap_kw=_cap_kw(detail, rack),
        failed=failed if isinstance(failed, str) else None,
    )


def telemetry(known: DaemonTold, told: envelope.Telemetry, now_s: float) -> DaemonTold:
    points = {
        tag: Reading(tag, one.value, one.unit, one.quality, now_s - one.age_s, one.reason)
        for tag, one in told.points.items()
    }
    known, _ = _placed(known, now_s - told.wall_s)
    return replace(known, heard_s=now_s, points=points)


def alarm(known: DaemonTold, told: envelope.Alarm) -> DaemonTold:
    since_s = (told.since_wall_s if told.raised_wall_s is None else told.raised_wall_s) + (known.offset_s or 0.0)
    one = AlarmTold(told.id, told.active, told.state, told.priority, told.cause, told.action, since_s, told.runbook)
    return replace(known, alarms={**known.alarms, told.id: one})


def cleared(known: DaemonTold, alarm_id: str) -> DaemonTold:
    """An alarm that is normal again: its retained message was taken away."""
    return replace(known, alarms={name: one for name, one in known.alarms.items() if name != alarm_id})


def _placed(known: DaemonTold, offset_s: float) -> tuple[DaemonTold, float]:
    """Note the offset of its clock, and give what came before it, or came retained and long after it was said, its time.

    A retained message is as old as nobody knows: its offset is too great by that. So the least one is the true one.
    """
    shift_s = offset_s - (known.offset_s or 0.0)
    if known.offset_s is not None and shift_s > -RETAINED_S:
        return replace(known, offset_s=offset_s), offset_s
    alarms = {name: replace(one, since_s=one.since_s + shift_s) for name, one in known.alarms.items()}
    latches = tuple(replace(one, since_s=one.since_s + shift_s) for one in known.latches)
    since_s = known.since_s + shift_s if known.state_s is not None else known.since_s
    return replace(known, offset_s=offset_s, alarms=alarms, latches=latches, since_s=since_s), offset_s


def _names(value: JsonValue) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, list) else ()


def _cap_kw(detail: Mapping[str, JsonValue], rack: str) -> float | None:
    ceilings = detail.get("ceilings")
    ours = ceilings.get(rack) if isinstance(ceilings, dict) else None
    power_kw = ours.get("power_kw") if isinstance(ours, dict) else None
    return float(power_kw) if isinstance(power_kw, int | float) else None
