"""``valvey field``: what the field says, read by the guard's own devices, decoded by its own code; never written."""

import asyncio
from collections.abc import Callable
from typing import Any

from fieldkit import rows as printed
from fieldkit.reading import Reading
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
    """Return one row for each input tag."""
    data = config.data
    return printed.rows(data.rack, data.simulated, config.inputs, readings, config.max_age_s, now_s)
