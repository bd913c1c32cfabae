"""The field of one rack: its devices from the configuration, the shared readings, and who writes to them.

Each device has a connection of its own, and the devices that carry outputs a second one for writes: nothing that can
be slow stands before a write. Devices behind one gateway or on one serial line share one link, where writes go first.
"""

import asyncio
from collections.abc import Callable

from fieldkit.bus import LinkError
from fieldkit.clock import Clock
from fieldkit.device import Device
from fieldkit.lanes import FastLane, SpareLanes
from fieldkit.links import Links
from fieldkit.reading import Reading
from valvey.config_rack import RackConfig
from valvey.writer import Writer

FAST_RECONNECT_S, RECONNECT_S = 1.0, 10.0
"""Longest wait between attempts to connect: for devices with fast points, and for others."""
WARM_S = 0.4
"""How long a start waits for its connections; a device that is away is no reason to guard nothing."""

Notice = Callable[[str, str], None]


class Field:
    """Devices, lanes and the writer of one rack.

    counters   of its links, by name
    readings   tag -> newest reading; every configured tag is in it from the start (NEVER_READ)
    writes     False builds no writer and no write connection: for tools that only read
    """

    def __init__(self, config: RackConfig, clock: Clock, notice: Notice, *, writes: bool = True) -> None:
        self.readings: dict[str, Reading] = {}
        self.devices: dict[str, Device] = {}
        outputs = config.outputs if writes else {}
        fast = {place.bus for place in config.inputs.values() if place.lane == "fast"}
        quick = fast | {place.bus for place in config.outputs.values()}
        caps_s = {name: FAST_RECONNECT_S if name in quick else RECONNECT_S for name in config.data.buses}
        links = Links(config.data.buses, {name: config.min_gap_s(name) for name in config.data.buses}, caps_s)
        self.counters = links.counters
        carriers = {place.bus for place in outputs.values()}
        for name, bus in config.data.buses.items():
            own = name in carriers and (bus.write_connection == "own" or links.shares(name))
            self.devices[name] = Device(
                name,
                bus.unit,
                config.profiles[name],
                links.read(name),
                config.read_from(name),
                self.readings,
                clock,
                write_bus=links.write(name) if own else None,
                norms=config.norms_of(name),
                notice=notice,
            )
        scan = config.data.scan
        devices = tuple(self.devices.values())
        self.fast = FastLane(devices)
        self.spare = SpareLanes(devices, {"normal": scan.normal_s, "slow": scan.slow_s}, clock)
        self.writer = Writer({tag: (self.devices[p.bus], p.point) for tag, p in outputs.items()}, self.readings, clock)

    async def warm(self, patience_s: float = WARM_S) -> list[str]:
        """Open every connection and use it once, without writing; return what did not answer, for people."""
        loop = asyncio.get_running_loop()
        tasks = {name: loop.create_task(_warm(device)) for name, device in self.devices.items()}
        await asyncio.wait(tasks.values(), timeout=patience_s)
        late = [name for name, task in tasks.items() if not task.done()]
        for task in tasks.values():
            task.cancel()
        ended = await asyncio.gather(*tasks.values(), return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error  # a bug: field trouble comes back as text
        told = [one for one in ended if isinstance(one, str) and one]
        return [*told, *(f"{name}: no answer in {patience_s:g} s" for name in late)]

    async def close(self, patience_s: float = 0.5) -> None:
        """End all reads and close every connection, bounded; outputs stay as they are."""
        await self.fast.close()
        await self.spare.close()
        tasks = [asyncio.create_task(device.close()) for device in self.devices.values()]
        _, late = await asyncio.wait(tasks, timeout=patience_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _warm(device: Device) -> str:
    try:
        await device.warm()
    except LinkError as error:
        return error.text
    return ""
