"""A rack on the bench: simulated by processes of our own, or real, with a person who does what wires cannot do.

Both offer the same to a test. What only a person can do on hardware is said to them; the bench sees in the readings
that it was done, and needs no key.
"""

import asyncio
import json
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.hil.file import COILS, SWITCHES, Loaded
from bench.hil.plan import Plan, Stand
from bench.hil.watch import Watch, WatchError
from bench.supervisor import Guard, Service
from fieldkit.wallclock import BootClock
from valvey.config import RackConfig
from valvey.field import Field

RACK = "r01"
START_S = 20.0
SETTLE_S = 10.0
"""How long a rack may take to be nominal when nobody has to do anything for it."""
REFRESH_S = 0.4
SHUT = {"ZSC-101": 1.0, "ZSC-102": 1.0, "ZSC-103": 1.0, "ZSC-104": 1.0}
QUIET = {"HS-101": 0.0, "HS-102": 0.0, "LDT-101": 0.0, "LDT-102": 0.0, "LDT-103": 0.0}
NOMINAL: dict[Stand, dict[str, float]] = {
    Stand.NOTHING: {},
    Stand.IN_SERVICE: {
        **QUIET, "XSY-101": 1.0, "XI-101": 1.0, "XY-101": 1.0, "XY-102": 1.0, "XY-103": 0.0, "XY-104": 0.0,
        "ZSO-101": 1.0, "ZSO-102": 1.0, "ZSC-103": 1.0, "ZSC-104": 1.0,
    },
    Stand.ISOLATED: {**QUIET, **SHUT, **dict.fromkeys(COILS.values(), 0.0), "XI-101": 0.0},
}  # fmt: skip
Say = Callable[[str], None]


class Rack(ABC):
    """One rack in one stand; ``speed`` is simulated seconds per second, 1 on hardware.

    lasts  False once it cannot be brought back to its stand without a person or a new simulator
    """

    simulated = True

    def __init__(self, loaded: Loaded, stand: Stand, folder: Path, speed: float) -> None:
        self.bench, self.stand, self.folder, self.speed = loaded, stand, folder, speed
        self.watch = Watch(loaded.rack)
        self.lasts = True
        self.plan = Plan()
        self.strokes: dict[str, Any] = {}
        """By valve, what was seen of its stroke: one stroke answers several questions."""

    @property
    def config(self) -> RackConfig:
        return self.bench.rack

    # -- what both do alike -------------------------------------------------------------------------------------------

    def begin(self, plan: Plan) -> None:
        """A test begins: what it may do."""
        self.plan = plan

    def wrong(self) -> list[str]:
        """What is not nominal now, in words; empty when the rack stands as it should."""
        out = self.watch.holds(NOMINAL[self.stand]) + self.watch.unread() + self.left()
        if self.stand is Stand.IN_SERVICE and (state := self.state()) != "FLOWING":
            out.append(f"its Valvey says {state or 'nothing'}, not FLOWING")
        return out

    def await_nominal(self, within_s: float) -> list[str]:
        """Wait until nothing is wrong; return what still is at the end."""
        try:
            self.watch.wait(lambda: None if self.wrong() else True, within_s, "nominal")
        except WatchError as error:
            return self.wrong() or [str(error)]
        return []

    def settle(self, seconds: float) -> None:
        """Let the rack stand untouched, in its own time: Valvey is quicker than its sheet in its first seconds."""
        until_s = self.watch.now_s() + seconds / self.speed
        self.watch.wait(lambda: True if self.watch.now_s() > until_s else None, seconds + 5.0, "the end of the wait")

    def seconds(self, begun_s: float, ended_s: float) -> float:
        """Between two times of the watch, in the rack's time."""
        return (ended_s - begun_s) * self.speed

    def wait_for(self, tag: str, value: float, after_s: float, within_s: float) -> float:
        """``within_s`` is in the rack's time."""
        return self.watch.wait_for(tag, value, after_s, within_s / self.speed + 1.0)

    @property
    @abstractmethod
    def guard(self) -> Guard:
        """The rack's Valvey. Raises AssertionError when nobody guards it."""

    @property
    @abstractmethod
    def service(self) -> Service: ...

    @property
    @abstractmethod
    def log(self) -> Path: ...

    @property
    @abstractmethod
    def file(self) -> Path: ...

    def states(self) -> list[str]:
        """Where its Valvey's chart went, over all its lives."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines() if self.log.exists() else []
        found = [json.loads(line) for line in lines if line.startswith("{") and '"transition"' in line]
        return [str(one["to"]) for one in found if one.get("event") == "transition"]

    def state(self) -> str:
        return next(reversed(self.states()), "")

    def kill_guard(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End the rack's Valvey; nobody starts it again before ``start_guard``."""
        name = self.guard.name
        self.service.kill(name, number, restart=False)
        assert self.guard.await_end(8.0), "the Valvey did not end"

    def start_guard(self) -> None:
        """Start the rack's Valvey and wait until it has scanned once."""
        command = [sys.executable, "-m", "valvey", "run", str(self.file)]
        guard = self.service.start(RACK, command, restart=False)
        if not guard.await_life(len(guard.lives), START_S):
            raise AssertionError(f"the Valvey of {self.file} did not get ready:\n{self.service.tail(RACK, 12)}")

    def move(self, valve: str, value: float, hold_s: float) -> float:
        """Command one valve by hand for a while, the others shut, and return when the command was acknowledged.

        Written as the daemon writes, all valves in one block, refreshed before it expires.
        """
        return asyncio.run(self._move(valve, value, hold_s / self.speed))

    async def _move(self, valve: str, value: float, hold_s: float) -> float:
        place = self.config.data.tags[valve]
        valves = {tag: one for tag in SWITCHES if (one := self.config.data.tags.get(tag)) and one.bus == place.bus}
        demand = {one.point: value if tag == valve else 0.0 for tag, one in valves.items()}
        field = Field(self.config, BootClock(), lambda _name, _what: None)
        try:
            await field.devices[place.bus].write(dict.fromkeys(demand, 0.0))  # what lapsed is sealed out until then
            acknowledged_s = await field.devices[place.bus].write(demand)
            until_s = time.monotonic() + hold_s
            while (left_s := until_s - time.monotonic()) > 0.0:
                await asyncio.sleep(min(left_s, REFRESH_S / self.speed))
                await field.devices[place.bus].write(demand)
            return acknowledged_s
        finally:
            await field.close()

    # -- what they do differently ---------------------------------------------------------------------------------------

    @abstractmethod
    def left(self) -> list[str]:
        """Faults that are still there, in words."""

    @abstractmethod
    def undeclared(self) -> list[str]:
        """What was written since ``begin`` that the plan does not name; empty where nobody can see it."""

    @abstractmethod
    def wet(self, zone: str) -> float:
        """Have a leak detector wetted; return when it was seen wet."""

    @abstractmethod
    def silence(self, bus: str) -> float:
        """Have a device fall silent; return when its first point went BAD (its last good reading is older)."""

    @abstractmethod
    def heal(self, bus: str) -> None:
        """Have a silent device back, and wait until all its points read GOOD."""

    @abstractmethod
    def restore(self) -> list[str]:
        """End every fault and bring the rack back to its stand where it lasts; return what is still wrong."""

    @abstractmethod
    def close(self) -> None: ...


def first_bad(watch: Watch, config: RackConfig, bus: str, begun_s: float, within_s: float) -> float:
    """Wait until a point of a bus goes BAD; return when it did."""
    tags = [tag for tag, place in config.inputs.items() if place.bus == bus]

    def bad() -> float | None:
        times = [one.at_s for tag in tags for one in watch.since(tag, begun_s) if one.value is None]
        return min(times, default=None)

    return watch.wait(bad, within_s, f"no point of {bus} went BAD")


def await_good(watch: Watch, config: RackConfig, bus: str, within_s: float) -> None:
    """Wait until every point of a bus reads GOOD."""
    tags = [tag for tag, place in config.inputs.items() if place.bus == bus]
    watch.wait(
        lambda: True if all(watch.latest(tag).value is not None for tag in tags) else None,
        within_s,
        f"{bus} did not come back with all its points",
    )
