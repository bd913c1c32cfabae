"""What a daemon stands on: clock, disk, journal, supervisor, and the way it begins and ends. A rack's guard and a loop's coordinator."""

import asyncio
import importlib
import importlib.metadata
import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fieldkit import logs
from fieldkit.journal import Journal
from fieldkit.logbook import Logbook
from fieldkit.service import InstanceLock
from fieldkit.store import Store
from fieldkit.supervise import Death, Supervisor
from fieldkit.wallclock import BootClock, WallClock

if TYPE_CHECKING:
    from fieldkit.config_parts import Mqtt
    from fieldkit.letters import Sender
    from fieldkit.mqtt import MqttSession
    from fieldkit.mqtt_types import Settings
    from fieldkit.topics import Daemon

MOST_JOURNAL_MB = 256
SESSION_END_LOOKS = 150
"""Times 10 ms: how long the end waits for the broker."""


class Keeping(Protocol):
    """Whoever keeps the memory: told when the disk begins to fail, and with None when it works again."""

    trouble: str | None


class Connects(Protocol):
    """A daemon's desk, as far as it makes the session."""

    def connect(self, settings: "Settings", notice: Callable[[str, dict[str, object]], None]) -> "MqttSession": ...


class Host:
    """One daemon's ground.

    speed    how much faster than real time everything runs; only on a bench
    memory   the store's database
    journal  folder of the record, and how many MB it may take (None: the default)
    """

    def __init__(
        self, log: Logbook, *, speed: float | None, simulated: bool, memory: Path, journal: Path, journal_mb: int | None
    ) -> None:
        self.log, self.simulated = log, simulated
        self.clock = BootClock(speed=speed or 1.0, simulated=simulated)
        self.wall = WallClock(self.clock)
        self.store = Store(memory, self._disk)
        most = (MOST_JOURNAL_MB if journal_mb is None else journal_mb) * 1024 * 1024
        self.journal = Journal(journal, self._journal_disk, most_bytes=most)
        self.supervisor = Supervisor(self._died)
        self.keeping: Keeping | None = None
        self.journal_trouble: str | None = None

    def sender(self, daemon: "Daemon", site: str, node: str, digest: str) -> "Sender":
        """Who this daemon is, in what it tells."""
        from fieldkit.letters import Sender

        return Sender(
            site=site,
            node=node,
            daemon=daemon,
            simulated=self.simulated,
            version=version(),
            boot_id=self.clock.boot_id(),
            config_digest=digest,
            since_wall_s=self.wall.now_s(),
            wall_of=self.wall.of,
            synced=lambda: self.wall.synced,
        )

    def notice(self, event: str, fields: dict[str, object]) -> None:
        """Log what a session says of itself."""
        self.log.note(event, **fields)

    async def until_told(self, stop: asyncio.Event, *others: Coroutine[Any, Any, Any]) -> None:
        """Return at a signal, or when one of ``others`` has ended. Raises what ended an essential task."""
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(one) for one in (self.supervisor.wait(), stop.wait(), *others)]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if tasks[0].done():
                tasks[0].result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def talk(self, session: "MqttSession") -> None:
        """Run the session with the broker to the daemon's end."""
        await session.run()
        await asyncio.Event().wait()  # it was told to stop; the end of this task would be news otherwise

    async def talk_by(self, desk: Connects, mqtt: "Mqtt", path: Callable[[str], Path], name: str) -> None:
        """Do the same for a desk and its daemon's file.

        Each process has a client id of its own: a hung one does not throw its successor out, and two see each other.
        """
        from fieldkit.broker import settings_of

        settings = settings_of(mqtt, path, mqtt.client_id or f"{name}-{uuid.uuid4().hex[:8]}")
        await self.talk(desk.connect(settings, self.notice))

    async def say_goodbye(self, session: "MqttSession | None") -> None:
        """Let the session end, bounded, and then the tasks."""
        if session is not None:
            session.stop()
            await asyncio.sleep(0)
        for _ in range(SESSION_END_LOOKS):
            if session is None or session.status.state == "stopped":
                break
            await asyncio.sleep(0.01)
        await self.supervisor.stop(0.5)

    def close_disks(self) -> None:
        """Let journal and memory get to the disk, each bounded; what did not is told."""
        if not self.journal.close(0.5):
            self.log.trouble("journal_not_written_at_the_end", detail="the disk did not take it in time")
        if not self.store.close(1.0):
            self.log.trouble("memory_not_kept_at_the_end", detail="the disk did not take it within 1 s")

    def _disk(self, trouble: str | None) -> None:
        if self.keeping is not None:
            self.keeping.trouble = trouble
        if trouble is None:
            self.log.note("storage_works_again")
        else:
            self.log.trouble("storage_failed", detail=trouble)

    def _journal_disk(self, trouble: str | None) -> None:
        self.journal_trouble = trouble
        if trouble is None:
            self.log.note("journal_works_again")
        else:
            self.log.trouble("journal_failed", detail=trouble)

    def _died(self, death: Death) -> None:
        self.log.trouble("task_ended", task=death.name, detail=str(death))


def run_alone(lock: Path, simulated: bool, begin: Callable[[Logbook], Coroutine[Any, Any, None]], **who: str) -> None:
    """Run a daemon to its end under its lock. Raises AlreadyRunningError, or what ended it."""
    told = {**who, **({"simulated": "true"} if simulated else {})}
    log = Logbook(logs.configure("auto", "info", None, **told).bind(**told))
    try:
        with InstanceLock(lock), asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(begin(log))
    finally:
        log.close()


def version() -> str:
    """The installed version; ``0`` from a bare source tree."""
    try:
        return importlib.metadata.version("racky-valvey")
    except importlib.metadata.PackageNotFoundError:
        return "0"


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Uvloop where it is installed, else the loop of the standard library."""
    try:
        module = importlib.import_module("uvloop")
    except ImportError:
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = module.new_event_loop
    return factory
