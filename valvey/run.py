"""``valvey run``: one rack from its configuration to a guarded loop, and to an end that leaves the outputs as found."""

import asyncio
import importlib.metadata
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

from fieldkit import logs
from fieldkit.envelope_parts import PointMeta
from fieldkit.journal import Journal
from fieldkit.service import InstanceLock, Watchdog, notify, stop_on_signals
from fieldkit.store import Store
from fieldkit.supervise import Death, Supervisor
from fieldkit.tag import WRITE_ACK
from fieldkit.units import Unit
from valvey import broker, scan
from valvey.config_rack import RackConfig, to_limits
from valvey.core.adoption import begin
from valvey.core.memory import Memory
from valvey.core.steering import CEILING_TAG
from valvey.core.step import setup
from valvey.desk import PATIENCE_S, Desk
from valvey.field import Field
from valvey.keeper import SYS_STORE, Keeper, StartsFile, find
from valvey.letters import Sender
from valvey.logbook import Logbook
from valvey.meta import metas
from valvey.paths import Paths
from valvey.recorder import Recorder
from valvey.safe_shutdown import SafeShutdown
from valvey.scan import Guard, ScanCounters
from valvey.wallclock import BootClock, WallClock

MOST_JOURNAL = 256 * 1024 * 1024
LAST_NEWS_LOOKS = 25
"""Times 10 ms: how long the end waits for the memory of what is still to be told."""
PSEUDO = {WRITE_ACK: Unit.SECOND, SYS_STORE: Unit.NONE, scan.SYS_GATE: Unit.NONE, CEILING_TAG: Unit.L_MIN}
"""Readings that the shell makes itself."""


def version() -> str:
    """The installed version; ``0`` from a bare source tree."""
    try:
        return importlib.metadata.version("racky-valvey")
    except importlib.metadata.PackageNotFoundError:
        return "0"


class Daemon:
    """One rack's daemon, put together."""

    def __init__(self, config: RackConfig, log: Logbook) -> None:
        data = config.data
        self.config, self.log = config, log
        self.clock = BootClock(speed=data.speed or 1.0, simulated=data.simulated)
        self.wall = WallClock(self.clock)
        self.limits = to_limits(config)
        self.paths = Paths.of(config)
        self.store = Store(self.paths.memory, self._disk)
        self.supervisor = Supervisor(self._died)
        self._keeper: Keeper | None = None
        most = data.journal.most_mb * 1024 * 1024 if data.journal is not None else MOST_JOURNAL
        self.journal = Journal(self.paths.journal, self._journal_disk, most_bytes=most)
        self._journal_trouble: str | None = None

    async def run(self) -> None:
        """Guard the rack until SIGTERM or SIGINT. Raises what ended the guard, if anything did."""
        config, data = self.config, self.config.data
        with stop_on_signals() as stop:
            field = Field(
                config, self.clock, lambda name, what: self.log.warn("device_changed", device=name, what=what)
            )
            for trouble in await field.warm():
                self.log.warn("device_did_not_answer_at_start", detail=trouble)
            self.store.open()
            memory, event_seq = self._begin()
            desk = self._desk(field, memory, event_seq)
            keeper = Keeper(
                self.store,
                field.readings,
                event_seq=lambda: desk.event_seq,
                starts=self._starts_file(),
                journal_fault=lambda: self._journal_trouble is not None,
            )
            desk.keeper = self._keeper = keeper
            self.journal.open_nowait()
            recorder = self._recorder(field)
            desk.refused_at_the_door = recorder.refused_at_the_door
            guard = Guard(
                memory,
                setup(self.limits),
                field.readings,
                (field.fast, field.spare),
                field.writer,
                self.clock,
                fast_s=data.scan.fast_s,
                take_requests=desk.take_requests,
                take_answers=desk.leases.take,
                listeners=(keeper, recorder, desk, self.log),
                watchdog=Watchdog(),
                status=lambda now, counters: self._status(now, counters, desk),
            )
            if data.mqtt is not None:
                self.supervisor.start_helper("mqtt", lambda: self._talk(desk, guard.guarding))
            scan.settle()
            self.supervisor.start_essential("writer", field.writer.run)
            self.supervisor.start_essential("scan", guard.run)
            safely = SafeShutdown(desk.inbox, guard)
            with _on_signal(signal.SIGUSR1, safely.ask):
                await self._until_told(stop, safely)
            await self._end(field, desk, keeper, recorder, guard)

    def _begin(self) -> tuple[Memory, int]:
        """Return the memory to start with, and the number of the first event."""
        starts, now_s = self._starts_file(), self.clock.now_s()
        found = find(self.store)
        if not found.readable:
            self.log.trouble("memory_not_readable", detail=found.trouble)
        memory = begin(
            found.memory,
            readable=found.readable,
            armed_in_file=self.config.data.armed,
            starts_s=starts.read(),
            boot_id=self.clock.boot_id(),
            now_s=now_s,
            limits=self.limits,
        )
        if trouble := starts.write(memory.starts_s):
            self.log.trouble("starts_not_counted", detail=trouble)
        self.log.note(
            "started",
            version=version(),
            simulated=self.config.data.simulated,
            state=str(memory.state),
            was=None if memory.was is None else str(memory.was),
            starts=len(memory.starts_s),
            armed=memory.armed,
            digest=self.config.digest,
        )
        return memory, found.event_seq

    def _desk(self, field: Field, memory: Memory, event_seq: int) -> Desk:
        data = self.config.data
        sender = Sender(
            site=data.site,
            rack=data.rack,
            simulated=data.simulated,
            version=version(),
            boot_id=self.clock.boot_id(),
            config_digest=self.config.digest,
            since_wall_s=self.wall.now_s(),
            wall_of=self.wall.of,
            synced=lambda: self.wall.synced,
        )
        points: dict[str, PointMeta] = metas(self.config, self.limits)
        return Desk(
            sender,
            field.readings,
            self.limits,
            points,
            memory,
            event_seq=event_seq,
            telemetry_s=data.mqtt.telemetry_s if data.mqtt is not None else 1.0,
            now_s=self.clock.now_s,
            judge_times_unsynced=data.simulated,
            loop=data.coordinator,
        )

    async def _talk(self, desk: Desk, guarding: asyncio.Event) -> None:
        """Run the session with the broker; an unreadable certificate or password is told and tried again."""
        await guarding.wait()
        await scan.import_beside("fieldkit.mqtt")
        session = desk.connect(broker.settings(self.config), lambda event, fields: self.log.note(event, **fields))
        await session.run()
        await asyncio.Event().wait()  # it was told to stop; the end of this task would be news otherwise

    async def _until_told(self, stop: asyncio.Event, safely: SafeShutdown) -> None:
        """Return at a signal, or when a safe shutdown has brought the rack where it can be left."""
        loop = asyncio.get_running_loop()
        tasks = [
            loop.create_task(stop.wait()),
            loop.create_task(self.supervisor.wait()),
            loop.create_task(safely.finished()),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if tasks[1].done():
                tasks[1].result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _end(self, field: Field, desk: Desk, keeper: Keeper, recorder: Recorder, guard: Guard) -> None:
        """Stop scanning, keep the memory, say goodbye: in this order, each bounded. Nothing is written to the field."""
        notify("STOPPING=1")
        session = desk.session
        for _ in range(LAST_NEWS_LOOKS):
            if not desk.has_news:
                break
            await asyncio.sleep(0.01)
        desk.release(self.clock.now_s() + PATIENCE_S)
        if session is not None:
            session.stop()
            await asyncio.sleep(0)
        keeper.hand_over(guard.memory, self.clock.now_s())
        if session is not None:
            for _ in range(150):
                if session.status.state == "stopped":
                    break
                await asyncio.sleep(0.01)
        await self.supervisor.stop(0.5)
        await field.close()
        recorder.close()
        if not self.journal.close(0.5):
            self.log.trouble("journal_not_written_at_the_end", detail="the disk did not take it in time")
        if not self.store.close(1.0):
            self.log.trouble("memory_not_kept_at_the_end", detail="the disk did not take it within 1 s")
        self.log.note("stopped", outputs="as found", scans=guard.counters.scans, missed=guard.counters.missed)

    def _status(self, memory: Memory, counters: ScanCounters, desk: Desk) -> str:
        mode = "SIMULATED: " if self.config.data.simulated else ""
        first = f", first-out {memory.latches[0].sif}" if memory.latches else ""
        broker = desk.session.status.state if desk.session is not None else "none"
        armed = "" if memory.armed else ", disarmed"
        return (
            f"{mode}{memory.state} {memory.step}{armed}{first}; scan {counters.scans}, "
            f"late {counters.late_s * 1e3:.1f} ms, missed {counters.missed}; broker {broker}"
        )

    def _starts_file(self) -> StartsFile:
        return StartsFile(self.paths.starts, self.clock.boot_id())

    def _recorder(self, field: Field) -> Recorder:
        units = {tag: reading.unit for tag, reading in field.readings.items()} | PSEUDO
        started = {
            "version": version(),
            "site": self.config.data.site,
            "rack": self.config.data.rack,
            "simulated": self.config.data.simulated,
            "boot_id": self.clock.boot_id(),
            "boot_s": self.clock.now_s(),
            "digest": self.config.digest,
        }
        fast_s = self.config.data.scan.fast_s
        return Recorder(self.journal, units, self.limits, fast_s=fast_s, started=started)

    def _journal_disk(self, trouble: str | None) -> None:
        self._journal_trouble = trouble
        if trouble is None:
            self.log.note("journal_works_again")
        else:
            self.log.trouble("journal_failed", detail=trouble)

    def _disk(self, trouble: str | None) -> None:
        if self._keeper is not None:
            self._keeper.trouble = trouble
        if trouble is None:
            self.log.note("storage_works_again")
        else:
            self.log.trouble("storage_failed", detail=trouble)

    def _died(self, death: Death) -> None:
        self.log.trouble("task_ended", task=death.name, detail=str(death))


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Uvloop where it is installed, else the loop of the standard library."""
    try:
        module = importlib.import_module("uvloop")
    except ImportError:
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = module.new_event_loop
    return factory


@contextmanager
def _on_signal(number: signal.Signals, act: Callable[[], None]) -> Generator[None, None, None]:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(number, act)
    try:
        yield
    finally:
        loop.remove_signal_handler(number)


def run(config: RackConfig) -> None:
    """Guard one rack until told to stop. Raises AlreadyRunningError, or what ended the guard."""
    data = config.data
    told = {"rack": data.rack, "daemon": "valvey", **({"simulated": "true"} if data.simulated else {})}
    log = Logbook(logs.configure("auto", "info", None, **told).bind(**told))
    daemon = Daemon(config, log)
    try:
        with InstanceLock(daemon.paths.lock), asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(daemon.run())
    finally:
        log.close()
