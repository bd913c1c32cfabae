"""``valvey run``: one rack from its configuration to a guarded loop, and to an end that leaves the outputs as found."""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

from fieldkit import topics
from fieldkit.envelope_parts import PointMeta
from fieldkit.host import Host, run_alone, version
from fieldkit.logbook import Logbook
from fieldkit.service import Watchdog, notify, stop_on_signals
from fieldkit.tag import SYS_STORE, WRITE_ACK
from fieldkit.units import Unit
from valvey import broker, scan
from valvey.config_check_buses import warnings
from valvey.config_rack import RackConfig, to_limits
from valvey.core.adoption import begin
from valvey.core.facts import FactKind
from valvey.core.memory import Memory
from valvey.core.steering import CEILING_TAG
from valvey.core.step import setup
from valvey.desk import PATIENCE_S, Desk
from valvey.done import Done
from valvey.field import Field
from valvey.keeper import Keeper, StartsFile, find
from valvey.link_news import LinkNews
from valvey.meta import metas
from valvey.paths import Paths
from valvey.recorder import Recorder
from valvey.safe_shutdown import SafeShutdown
from valvey.scan import Guard, ScanCounters

_WARN = frozenset({FactKind.TRIP, FactKind.SECOND_TRIP_PATH, FactKind.LOOP_EVENT, FactKind.POWER_CAP})
LAST_NEWS_LOOKS = 25
"""Times 10 ms: how long the end waits for the memory of what is still to be told."""
PSEUDO = {WRITE_ACK: Unit.SECOND, SYS_STORE: Unit.NONE, scan.SYS_GATE: Unit.NONE, CEILING_TAG: Unit.L_MIN}
"""Readings that the shell makes itself."""


class Daemon(Host):
    """One rack's daemon, put together."""

    def __init__(self, config: RackConfig, log: Logbook) -> None:
        data, paths = config.data, Paths.of(config)
        super().__init__(
            log,
            speed=data.speed,
            simulated=data.simulated,
            memory=paths.memory,
            journal=paths.journal,
            journal_mb=None if data.journal is None else data.journal.most_mb,
        )
        self.config, self.paths, self.limits = config, paths, to_limits(config)

    async def run(self) -> None:
        """Guard the rack until SIGTERM or SIGINT. Raises what ended the guard, if anything did."""
        config, data = self.config, self.config.data
        with stop_on_signals() as stop:
            field = Field(
                config, self.clock, lambda name, what: self.log.warn("device_changed", device=name, what=what)
            )
            for trouble in await field.warm():
                self.log.warn("device_did_not_answer_at_start", detail=trouble)
            for doubt in warnings(config):
                self.log.warn("configuration_was_doubtful", detail=str(doubt))
            self.store.open()
            memory, event_seq = self._begin()
            desk = self._desk(field, memory, event_seq)
            keeper = Keeper(
                self.store,
                field.readings,
                event_seq=lambda: desk.event_seq,
                starts=self._starts_file(),
                journal_fault=lambda: self.journal_trouble is not None,
            )
            desk.keeper = self.keeping = keeper
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
                take_requests=desk.inbox.take,
                take_answers=desk.leases.take,
                listeners=(keeper, recorder, desk, self._log),
                watchdog=Watchdog(),
                status=lambda now, counters: self._status(now, counters, desk),
            )
            if data.mqtt is not None:
                self.supervisor.start_helper("mqtt", lambda: self._talk(desk, guard.guarding))
            news = LinkNews(field.counters, lambda link, rose: self.log.note("link_had_trouble", link=link, **rose))
            self.supervisor.start_helper("links", lambda: news.run(asyncio.sleep))
            scan.settle()
            self.supervisor.start_essential("writer", field.writer.run)
            self.supervisor.start_essential("scan", guard.run)
            safely = SafeShutdown(desk.inbox, guard)
            with _on_signal(signal.SIGUSR1, safely.ask):
                await self.until_told(stop, safely.finished())
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
        sender = self.sender(topics.Daemon.VALVEY, data.site, data.rack, self.config.digest)
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
            loop=data.coordinator,
        )

    def _log(self, done: Done) -> None:
        for fact in done.scan.facts:
            self.log.fact(fact.kind, fact.fields, warn=fact.kind in _WARN)

    async def _talk(self, desk: Desk, guarding: asyncio.Event) -> None:
        """Run the session with the broker; an unreadable certificate or password is told and tried again."""
        await guarding.wait()
        await scan.import_beside("fieldkit.mqtt")
        session = desk.connect(broker.settings(self.config), self.notice)
        await self.talk(session)

    async def _end(self, field: Field, desk: Desk, keeper: Keeper, recorder: Recorder, guard: Guard) -> None:
        """Stop scanning, keep the memory, say goodbye: in this order, each bounded. Nothing is written to the field."""
        notify("STOPPING=1")
        for _ in range(LAST_NEWS_LOOKS):
            if not desk.has_news:
                break
            await asyncio.sleep(0.01)
        desk.release(self.clock.now_s() + PATIENCE_S)
        keeper.hand_over(guard.memory, self.clock.now_s())
        await self.say_goodbye(desk.session)
        await field.close()
        recorder.close()
        self.close_disks()
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
    lock = Paths.of(config).lock
    run_alone(lock, data.simulated, lambda log: Daemon(config, log).run(), rack=data.rack, daemon="valvey")
