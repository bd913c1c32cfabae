"""``racky run``: one rack's Racky from its configuration to its end, which leaves all outputs as they are."""

import asyncio

from fieldkit.host import Host, run_alone, version
from fieldkit.logbook import Logbook
from fieldkit.service import Watchdog, notify, stop_on_signals
from fieldkit.tag import SYS_STORE
from fieldkit.topics import Daemon as Branch
from racky.config import RackyConfig
from racky.core import persist
from racky.core.facts import FactKind
from racky.core.memory import Memory
from racky.core.sight import Sight
from racky.core.step import Scan, step
from racky.desk import Desk
from racky.diagnostics import Diagnostics
from racky.field import Field
from racky.keeper import PERIOD_S, Keeper, find
from racky.recorder import Recorder
from racky.sender import metas
from racky.to_setup import to_setup

K = FactKind
_WARN = frozenset({K.SECOND_TRIP_PATH, K.SHED, K.EVIDENCE})


class Daemon(Host):
    """One rack's Racky, put together."""

    def __init__(self, config: RackyConfig, log: Logbook) -> None:
        data = config.data
        folder = config.path(data.memory.directory)
        super().__init__(
            log,
            speed=data.speed,
            simulated=data.simulated,
            memory=folder / "racky.sqlite",
            journal=folder / "journal" if data.journal is None else config.path(data.journal.directory),
            journal_mb=None if data.journal is None else data.journal.most_mb,
        )
        self.config, self.setup = config, to_setup(config)
        self.max_age_s = {**config.max_age_s, SYS_STORE: PERIOD_S}
        commands = {} if data.lifecycle is None else {one.id: one.command for one in data.lifecycle.diagnostics}
        self.diagnostics = Diagnostics(commands, self.clock.speed)
        self.memory = Memory()
        self.steps = 0

    async def run(self) -> None:
        """Work until SIGTERM or SIGINT. Raises what ended the loop, if anything did."""
        with stop_on_signals() as stop:
            field = Field(
                self.config,
                self.clock,
                lambda name, what: self.log.warn("device_changed", device=name, what=what),
                self.clock.speed,
            )
            self.store.open()
            event_seq = self._begin()
            desk = self._desk(field, event_seq)
            keeper = self.keeping = Keeper(
                self.store, field.readings, lambda: desk.event_seq, lambda: self.journal_trouble is not None
            )
            self.journal.open_nowait()
            recorder = self._recorder()
            desk.refused_at_the_door = recorder.refused_at_the_door
            data = self.config.data
            self.supervisor.start_helper(
                "mqtt", lambda: self.talk_by(desk, data.mqtt, self.config.path, f"racky-{data.rack}")
            )
            self.supervisor.start_essential("loop", lambda: self._turn_for_ever(field, desk, keeper, recorder))
            await self.until_told(stop)
            await self._end(field, desk, keeper, recorder)

    async def turn(self, field: Field, desk: Desk, keeper: Keeper, recorder: Recorder) -> Scan:
        """One step: read, decide, write, keep, record, tell."""
        await field.read()
        now_s, hearing = self.clock.now_s(), desk.hearing
        keeper.show(now_s)
        requests = hearing.inbox.take()
        sight = Sight(
            now_s,
            hearing.valvey,
            hearing.loop,
            self.config.data.coordinator is not None,
            dict(field.readings),
            self.max_age_s,
            hearing.asker.take(now_s),
            dict(field.identities),
            field.take_replies(),
            dict(self.diagnostics.told),
        )
        scan = step(self.memory, sight, requests, self.setup, now_s)
        self.memory = scan.memory
        stopped = field.write(scan.writes)
        for order in field.order(scan.wanted.orders):
            self.log.trouble("order_stopped_by_the_gate", device=order.device, address=order.address)
        self.diagnostics.want(scan.wanted.runs)
        for tag in stopped:
            self.log.trouble("write_stopped_by_the_gate", tag=tag)
        keeper.take(scan)
        recorder(requests, scan, stopped)
        desk.tell(scan)
        for fact in scan.facts:
            self.log.fact(fact.kind, fact.fields, warn=fact.kind in _WARN)
        self.steps += 1
        return scan

    async def _turn_for_ever(self, field: Field, desk: Desk, keeper: Keeper, recorder: Recorder) -> None:
        period_s, watchdog = self.config.data.scan.period_s, Watchdog()
        due_s = self.clock.now_s()
        while True:
            scan = await self.turn(field, desk, keeper, recorder)
            status = self._status(scan, desk)
            if self.steps == 1:
                notify("READY=1", f"STATUS={status}")
            watchdog.feed(asyncio.get_running_loop().time(), status)
            due_s = max(due_s + period_s, self.clock.now_s())
            await self.clock.sleep_until(due_s)

    def _begin(self) -> int:
        """Take over what the last process left; return the number of the first event."""
        left, data = find(self.store), self.config.data
        if not left.readable:
            self.log.trouble("memory_not_readable", detail=left.trouble)
        boot_id, now_s = self.clock.boot_id(), self.clock.now_s()
        self.memory = persist.begin(left.memory or Memory(), boot_id=boot_id, now_s=now_s, readable=left.readable)
        self.log.note(
            "started", version=version(), simulated=data.simulated, armed=data.armed, digest=self.config.digest,
            was=None if self.memory.power.was is None else str(self.memory.power.was),
        )  # fmt: skip
        return left.event_seq

    def _desk(self, field: Field, event_seq: int) -> Desk:
        data = self.config.data
        sender = self.sender(Branch.RACKY, data.site, data.rack, self.config.digest)
        return Desk(
            sender,
            field.readings,
            self.max_age_s,
            self.setup,
            metas(self.config),
            self.memory,
            event_seq=event_seq,
            telemetry_s=data.mqtt.telemetry_s,
            now_s=self.clock.now_s,
            client=data.mqtt.username or f"racky-{data.rack}",
            loop=data.coordinator,
        )

    def _recorder(self) -> Recorder:
        data = self.config.data
        started = {
            "version": version(), "site": data.site, "rack": data.rack, "simulated": data.simulated, "armed": data.armed,
            "boot_id": self.clock.boot_id(), "boot_s": self.clock.now_s(), "digest": self.config.digest,
        }  # fmt: skip
        return Recorder(self.journal, started)

    async def _end(self, field: Field, desk: Desk, keeper: Keeper, recorder: Recorder) -> None:
        """Stop, keep the memory, say goodbye: each bounded. Outputs stay as they are."""
        notify("STOPPING=1")
        await self.say_goodbye(desk.session)
        keeper.hand_over(self.memory)
        await self.diagnostics.close()
        await field.close()
        recorder.close()
        self.close_disks()
        self.log.note("stopped", outputs="as found", steps=self.steps)

    def _status(self, scan: Scan, desk: Desk) -> str:
        mode = "SIMULATED: " if self.config.data.simulated else ""
        first = f", {scan.health.causes[0].id}" if scan.health.causes else ", healthy"
        told = "none" if desk.session is None else desk.session.status.state
        armed = "" if self.setup.armed else ", disarmed"
        return f"{mode}power {scan.memory.power.phase}{first}{armed}; broker {told}"


def run(config: RackyConfig) -> None:
    """Work for one rack until told to stop. Raises AlreadyRunningError, or what ended it."""
    data = config.data
    lock = config.path(data.memory.runtime_directory) / "lock"
    run_alone(lock, data.simulated, lambda log: Daemon(config, log).run(), rack=data.rack, daemon="racky")
