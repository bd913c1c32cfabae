"""``valvey field``: what the field says, read by the guard's own devices, decoded by its own code; never written."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from fieldkit.letters import judged_by_age
from fieldkit.reading import Quality, Reading
from fieldkit.wallclock import BootClock
from valvey.config_rack import RackConfig
from valvey.field import Field


async def run_reads(config: RackConfig, scans: int | None, show: Callable[[list[dict[str, Any]]], None]) -> None:
    """Read at the rack's own rates and ``show`` one row a tag after each scan; for ever when ``scans`` is None.

    Every lane is read in the first scan, and every read is waited for: a row says what this scan brought.
    """
    clock = BootClock()
    field = Field(config, clock, lambda _name, _what: None, writes=False)
    periods_s = {"fast": config.data.scan.fast_s, "normal": config.data.scan.normal_s, "slow": config.data.scan.slow_s}
    due_s = dict.fromkeys(periods_s, clock.now_s())
    begun_s, done = clock.now_s(), 0
    try:
        while scans is None or done < scans:
            now_s = clock.now_s()
            lanes = [lane for lane, when_s in due_s.items() if when_s <= now_s]
            for lane in lanes:
                due_s[lane] = now_s + periods_s[lane] * 0.99
            await asyncio.gather(*(_read(field, name, lanes) for name in field.devices))
            done += 1
            show(rows(config, field.readings, clock.now_s()))
            await clock.sleep_until(max(begun_s + done * periods_s["fast"], clock.now_s()))
    finally:
        await field.close()


async def _read(field: Field, name: str, lanes: list[str]) -> None:
    device = field.devices[name]
    for lane in device.lanes:
        if lane in lanes:
            await device.poll(lane)


def rows(config: RackConfig, readings: dict[str, Reading], now_s: float) -> list[dict[str, Any]]:
    """Return one row for each input tag, as INTERFACES pins it."""
    out: list[dict[str, Any]] = []
    for tag in config.inputs:
        reading = readings[tag]
        value, quality, reason = judged_by_age(reading, config.max_age_s(tag), now_s)
        out.append({
            "t_mono_s": round(now_s, 6),
            "rack": config.data.rack,
            "tag": tag,
            "value": value,
            "unit": str(reading.unit),
            "quality": str(quality),
            "reason": None if reason is None else str(reason),
            "age_s": round(max(0.0, now_s - reading.at_s), 6),
            **({"simulated": True} if config.data.simulated else {}),
        })  # fmt: skip
    return out


def as_lines(found: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(row, separators=(",", ":")) for row in found)


def as_text(found: list[dict[str, Any]]) -> str:
    """One scan for people."""
    lines = []
    for row in found:
        value = "-" if row["value"] is None else f"{row['value']:.6g}"
        doubt = "" if row["quality"] == Quality.GOOD else f"  {row['quality']} {row['reason']}"
        lines.append(f"{row['rack']} {row['tag']:8} {value:>12} {row['unit']:6} {row['age_s']:7.3f} s{doubt}")
    return "\n".join([*lines, ""])
