"""Racky's field: its devices, what they read, who they say they are, and what is written to them through one gate."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fieldkit.bus import Bus, LinkError
from fieldkit.clock import Clock
from fieldkit.device import Device
from fieldkit.lanes import FastLane, SpareLanes
from fieldkit.links import Links
from fieldkit.point import PointType, Table
from fieldkit.reading import Reading
from fieldkit.words import text
from racky.config import RackyConfig
from racky.core.firmware import Order, Reply
from racky.core.inventory import Identity
from racky.whitelist import Whitelist

RECONNECT_S = 10.0
PATIENCE_SHARE = 0.5
"""Share of a period that a step waits for its fast reads; who is late is read in the next."""
MOST_REPLIES = 64

Notice = Callable[[str, str], None]


@dataclass(slots=True)
class FieldCounters:
    """Totals since start."""

    writes: int = 0
    failed: int = 0
    orders: int = 0


class Field:
    """Devices and lanes of one rack's Racky.

    readings    tag -> newest reading; every configured tag is in it from the start
    identities  what the devices say of themselves, by bus
    replies     what came back of orders since the last look
    speed       how much faster time runs, on a bench
    """

    def __init__(self, config: RackyConfig, clock: Clock, notice: Notice, speed: float = 1.0) -> None:
        self.config = config
        self._patience_s = PATIENCE_SHARE * config.data.scan.period_s / speed
        self.readings: dict[str, Reading] = {}
        self.identities: dict[str, Identity] = {}
        self.replies: list[Reply] = []
        self.counters = FieldCounters()
        self.devices: dict[str, Device] = {}
        self._clock = clock
        data = config.data
        self.gate = Whitelist(config.outputs.keys(), expected(config), data.armed)
        links = Links(
            data.buses, {name: config.min_gap_s(name) for name in data.buses}, dict.fromkeys(data.buses, RECONNECT_S)
        )
        self.links = links.counters
        self._buses: dict[str, Bus] = {}
        for name, bus in data.buses.items():
            tags = {tag: (place.point, place.lane) for tag, place in config.inputs.items() if place.bus == name}
            self._buses[name] = way = links.read(name)
            self.devices[name] = Device(
                name, bus.unit, config.profiles[name], way, tags, self.readings, clock, notice=notice
            )
        devices = tuple(self.devices.values())
        self.fast = FastLane(devices)
        self.spare = SpareLanes(devices, {"normal": data.scan.normal_s, "slow": data.scan.slow_s}, clock)
        self._working: dict[str, asyncio.Task[None]] = {}
        self._asked_s: dict[str, float] = {}
        self._bug: BaseException | None = None

    async def read(self) -> None:
        """Read what is due; return when all who can be expected to answer have, or after part of the period.

        Raises what was no field trouble.
        """
        self.fast.send()
        await self.fast.gather(self._patience_s)
        for _ in self.devices:
            self.spare.start_due(self.fast)
        for name in self.devices:
            self._identify(name)
        if self._bug is not None:
            raise self._bug

    def write(self, writes: Mapping[str, float]) -> list[str]:
        """Begin what the gate lets pass, a device at a time and never waited for; return the tags that it stopped.

        Whether it was obeyed is shown by feedback alone: what failed is decided again in a later step.
        """
        passed = self.gate.passed(writes)
        for tag, value in passed.items():
            place = self.config.outputs[tag]
            self._begin(f"write {tag}", partial(self._write, self.devices[place.bus], place.point, value))
        return [tag for tag in writes if tag not in passed]

    def order(self, orders: Iterable[Order]) -> list[Order]:
        """Begin the orders of an update; return those that the gate stopped. An order is done once, whatever comes of it."""
        stopped = []
        for one in orders:
            name = f"order {one.device} {one.id}"
            if name in self._asked_s:
                continue
            self._asked_s[name] = self._clock.now_s()
            if self.gate.order(one):
                self._begin(name, partial(self._order, one))
            else:
                stopped.append(one)
                self._reply(Reply(one.id, ok=False, error="not allowed by the list of what Racky may write"))
        while len(self._asked_s) > 8 * MOST_REPLIES:
            self._asked_s.pop(next(iter(self._asked_s)))
        return stopped

    def take_replies(self) -> tuple[Reply, ...]:
        replies, self.replies = tuple(self.replies), []
        return replies

    async def close(self, patience_s: float = 0.5) -> None:
        """End all reads and close every connection, bounded; outputs stay as they are."""
        await self.fast.close()
        await self.spare.close()
        working = list(self._working.values())
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        tasks = [asyncio.create_task(device.close()) for device in self.devices.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=patience_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _write(self, device: Device, point: str, value: float) -> None:
        self.counters.writes += 1
        try:
            await device.write({point: value})
        except LinkError:
            self.counters.failed += 1

    async def _order(self, order: Order) -> None:
        bus, unit = self._buses[order.device], self.config.data.buses[order.device].unit
        self.counters.orders += 1
        try:
            if order.words:
                await bus.write(unit, Table.HOLDING, order.address, list(order.words), multiple=len(order.words) > 1)
                reply = Reply(order.id, ok=True)
            else:
                table = Table.INPUT if order.input else Table.HOLDING
                data = await bus.read(unit, table, order.address, order.count)
                words = tuple(int.from_bytes(data[n : n + 2], "big") for n in range(0, len(data), 2))
                reply = Reply(order.id, ok=True, words=words)
        except LinkError as error:
            reply = Reply(order.id, ok=False, error=error.text)
        self._reply(reply)

    def _reply(self, reply: Reply) -> None:
        self.replies = [*self.replies[1 - MOST_REPLIES :], reply]

    def _identify(self, name: str) -> None:
        """Ask a device who it is, once in a slow period."""
        key, now_s = f"identify {name}", self._clock.now_s()
        if self.config.data.lifecycle is None or key in self._working:
            return
        if now_s - self._asked_s.get(key, float("-inf")) >= self.config.data.scan.slow_s:
            self._asked_s[key] = now_s
            self._begin(key, partial(self._who, name))

    async def _who(self, name: str) -> None:
        stated = self.config.data.lifecycle
        profile, unit = self.devices[name].profile, self.config.data.buses[name].unit
        points = (stated.identity.model, stated.identity.serial, stated.identity.firmware) if stated is not None else ()
        told: list[str] = []
        try:
            for point in (profile.points.get(one) for one in points):
                if point is None or point.type is not PointType.STRING:
                    told.append("")
                else:
                    told.append(text(await self._buses[name].read(unit, point.table, point.address, point.words)) or "")
        except LinkError:
            return  # who cannot be read now is who it was
        model, serial, firmware = (one.strip(" \0") for one in told)
        self.identities[name] = Identity(name, profile.maker, model, serial, firmware)

    def _begin(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start ``work`` aside unless the one of this name is still under way. What it raises is no field trouble."""
        if name in self._working:
            return
        task = asyncio.get_running_loop().create_task(work())
        self._working[name] = task

        def ended(done: asyncio.Task[None]) -> None:
            self._working.pop(name, None)
            if not done.cancelled() and (error := done.exception()) is not None:
                self._bug = self._bug or error

        task.add_done_callback(ended)


def expected(config: RackyConfig) -> tuple[str, ...]:
    """The devices that the lifecycle may update."""
    return () if config.data.lifecycle is None else tuple(config.data.lifecycle.expected)
