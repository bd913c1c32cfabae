"""``racky field``: what Racky's field says, read by the daemon's own devices, decoded by its own code; never written."""

import asyncio
from collections.abc import Callable
from typing import Any

from fieldkit.rows import rows
from fieldkit.wallclock import BootClock
from racky.config import RackyConfig
from racky.field import Field


async def run_reads(config: RackyConfig, scans: int | None, show: Callable[[list[dict[str, Any]]], None]) -> None:
    """Read all lanes of all devices each period and ``show`` one row a tag; for ever when ``scans`` is None."""
    clock = BootClock()
    field = Field(config, clock, lambda _name, _what: None)
    begun_s, done, ages = clock.now_s(), 0, config.max_age_s
    try:
        while scans is None or done < scans:
            await asyncio.gather(*(_read(field, name) for name in field.devices))
            done += 1
            data = config.data
            show(rows(data.rack, data.simulated, config.inputs, field.readings, lambda tag: ages[tag], clock.now_s()))
            if scans is None or done < scans:
                await clock.sleep_until(max(begun_s + done * data.scan.period_s, clock.now_s()))
    finally:
        await field.close()


async def _read(field: Field, name: str) -> None:
    device = field.devices[name]
    for lane in device.lanes:
        await device.poll(lane)
