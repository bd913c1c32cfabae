"""A valve controller on paper for the shell's tests: the real profile and the real device on a bus without a wire."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fieldkit import yamlfile
from fieldkit.bus import LinkError
from fieldkit.clock import SteppedClock
from fieldkit.device import Device
from fieldkit.profile import Profile
from fieldkit.reading import Reading, Reason
from tests.fieldkit.paper_bus import PaperBus
from valvey.writer import PERMIT, STROKE, VALVES, Writer

PROFILES = Path(__file__).resolve().parent.parent.parent / "configs" / "profiles"
POINTS = {tag: tag.lower().replace("-", "_") for tag in (*VALVES, PERMIT)} | {STROKE: "stroke_test"}
OPEN = {"XS-101": 1.0, "XV-101": 1.0, "XV-102": 1.0, "XV-103": 0.0, "XV-104": 0.0, "FCV-101": 60.0}
SHUT = dict.fromkeys(OPEN, 0.0)
VALVE_BLOCK, PERMIT_BLOCK, STROKE_BLOCK = 0, 8, 16
"""Addresses at which the writes begin."""


def profile(name: str = "racky_valve-controller") -> Profile:
    return yamlfile.check(yamlfile.load(PROFILES / f"{name}.yaml"), Profile)


class GatedBus(PaperBus):
    """Holds each write until ``open`` is set, so that a test can look in between."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()
        self.open.set()
        self.waiting = 0

    async def write(self, unit: int, table: str, address: int, words: Sequence[int], *, multiple: bool = False) -> None:
        self.waiting += 1
        await self.open.wait()
        self.waiting -= 1
        await super().write(unit, table, address, words, multiple=multiple)


class Rig:
    """A writer with its device."""

    def __init__(self, clock: SteppedClock) -> None:
        self.clock = clock
        self.bus = GatedBus()
        self.readings: dict[str, Reading] = {}
        self.device = Device("valve_controller", 1, profile(), self.bus, {}, self.readings, clock)
        self.writer = Writer({tag: (self.device, point) for tag, point in POINTS.items()}, self.readings, clock)

    def order(self) -> list[tuple[str, int]]:
        """What was written, as (block, first word)."""
        names = {VALVE_BLOCK: "valves", PERMIT_BLOCK: "permit", STROKE_BLOCK: "stroke"}
        return [(names[address], words[0]) for _, address, words in self.bus.wrote]

    def refuse(self, address: int | None) -> None:
        self.bus.fail[address] = LinkError(Reason.TIMEOUT, "no answer")


@asynccontextmanager
async def writing(clock: SteppedClock) -> AsyncGenerator[Rig]:
    rig = Rig(clock)
    task = asyncio.create_task(rig.writer.run())
    try:
        yield rig
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
