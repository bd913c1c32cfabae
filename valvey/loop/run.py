"""``valvey loop run``: one loop's coordinator from its configuration to its end, which leaves set-points as they are."""

import asyncio
import uuid
from collections.abc import Sequence

from fieldkit import logs
from fieldkit.journal import Journal
from fieldkit.service import InstanceLock, Watchdog, notify, stop_on_signals
from fieldkit.store import Store
from fieldkit.supervise import Death, Supervisor
from valvey import broker
from valvey.core.loop import leases
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.step import LoopInputs, LoopScan, state_of, step
from valvey.letters import plain
from valvey.logbook import Logbook
from valvey.loop.cdu import Cdu
from valvey.loop.config import LoopConfig, to_limits
from valvey.loop.desk import LoopDesk
from valvey.loop.keeper import LoopKeeper, find
from valvey.loop.recorder import LoopRecorder
from valvey.loop.sender import LoopSender, metas
from valvey.loop.turns import Turn
from valvey.run import MOST_JOURNAL, loop_factory, version
from valvey.wallclock import BootClock, WallClock

LOOK_AGAIN_S = 0.01
K = LoopFactKind
_WARN = frozenset({K.EVENT, K.SHORT, K.EPOCH, K.LAPSED, K.TAKEN_BACK, K.STOP, K.ASKED})


class LoopDaemon:
    """One loop's coordinator, put together."""

    def __init__(self, config: LoopConfig, log: Logbook) -> None:
        data = config.data
        self.config, self.log = config, log
        self.clock = BootClock(speed=data.speed or 1.0, simulated=data.simulated)
        self.wall = WallClock(self.clock)
        self.limits = to_limits(config)
        most = data.journal.most_mb * 1024 * 1024 if data.journal is not None else MOST_JOURNAL
        folder = data.journal.directory if data.journal is not None else f"{data.memory.directory}/journal"
        self.journal = Journal(config.path(folder), self._journal_disk, most_bytes=most)
        self.store = Store(config.path(data.memory.directory) / "loop.sqlite", self._disk)
        self.supervisor = Supervisor(self._died)
        self.memory = LoopMemory()
        self.steps = 0
        self._keeper: LoopKeeper | None = None

    async def run(self) -> None:
        """Coordinate until SIGTERM or SIGINT. Raises what ended the loop, if anything did."""
        with stop_on_signals() as stop:
            cdu = Cdu(
                self.config, self.clock, lambda name, what: self.log.warn("device_changed", device=name, what=what)
            )
            if trouble := await cdu.warm():
                self.log.warn("device_did_not_answer_at_start", detail=trouble)
            self.store.open()
            left = find(self.store)
            if left.trouble:
                self.log.trouble("memory_not_readable", detail=left.trouble)
            self.memory = leases.begin(left.memory, self.clock.now_s())
            desk = self._desk(cdu, left.event_seq)
            keeper = self._keeper = LoopKeeper(self.store, cdu.readings, lambda: desk.event_seq)
            keeper.hand_over(self.memory)
            self.log.note("started", version=version(), epoch=self.memory.epoch, digest=self.config.digest)
            self.journal.open_nowait()
            recorder = self._recorder()
            desk.refused_at_the_door = recorder.refused_at_the_door
            self.supervisor.start_helper("mqtt", lambda: self._talk(desk))
            self.supervisor.start_essential("loop", lambda: self._turn_for_ever(cdu, desk, keeper, recorder))
            await self._until_told(stop)
            await self._end(cdu, desk, keeper, recorder)

    async def turn(self, cdu: Cdu, desk: LoopDesk, keeper: LoopKeeper, recorder: LoopRecorder) -> LoopScan:
        """One step: read, decide, write, keep, record, tell."""
        await cdu.read()
        hearing = desk.hearing
        inputs = LoopInputs(
            dict(cdu.readings),
            dict(hearing.racks),
            hearing.take_asks(),
            hearing.take_requests(),
            desk.others,
            cdu.write_failed,
        )
        before, now_s = self.memory, self.clock.now_s()
        scan = step(before, inputs, self.config.data.loop, self.limits, now_s)
        self.memory = scan.memory
        acknowledged = await cdu.write(scan.writes)
        desk.tell(scan, keeper.take(scan))
        recorder(Turn(now_s, before, inputs, scan, acknowledged))
        self._log(scan.facts)
        self.steps += 1
        return scan

    async def _turn_for_ever(self, cdu: Cdu, desk: LoopDesk, keeper: LoopKeeper, recorder: LoopRecorder) -> None:
        period_s, watchdog = self.config.data.scan.period_s, Watchdog()
        due_s = self.clock.now_s()
        while True:
            await self.turn(cdu, desk, keeper, recorder)
            status = self._status(desk)
            if self.steps == 1:
                notify("READY=1", f"STATUS={status}")
            watchdog.feed(asyncio.get_running_loop().time(), status)
            due_s = max(due_s + period_s, self.clock.now_s())
            while (left_s := due_s - self.clock.now_s()) > 0.0:
                desk.release(self.clock.now_s())  # a lease does not wait for the next step when the disk was quick
                await asyncio.sleep(min(left_s / self.clock.speed, LOOK_AGAIN_S if desk.waits else 1.0))

    def _recorder(self) -> LoopRecorder:
        started = {
            "version": version(),
            "loop": self.config.data.loop,
            "boot_id": self.clock.boot_id(),
            "epoch": self.memory.epoch,
            "digest": self.config.digest,
            "armed": self.limits.armed,
            "simulated": self.limits.simulated,
        }
        loop, period_s = self.config.data.loop, self.config.data.scan.period_s
        return LoopRecorder(self.journal, loop, self.limits, period_s=period_s, started=started)

    def _desk(self, cdu: Cdu, event_seq: int) -> LoopDesk:
        data = self.config.data
        sender = LoopSender(
            site=data.site,
            rack=data.loop,
            simulated=data.simulated,
            version=version(),
            boot_id=self.clock.boot_id(),
            config_digest=self.config.digest,
            since_wall_s=self.wall.now_s(),
            wall_of=self.wall.of,
            synced=lambda: self.wall.synced,
        )
        return LoopDesk(
            sender,
            tuple(data.racks),
            cdu.readings,
            self.limits,
            metas(self.config, self.limits),
            self.memory,
            event_seq=event_seq,
            telemetry_s=data.mqtt.telemetry_s,
            now_s=self.clock.now_s,
            client=data.mqtt.username or f"loop-{data.loop}",
            is_kept=lambda ticket: self._keeper is not None and self._keeper.is_kept(ticket),
        )

    async def _talk(self, desk: LoopDesk) -> None:
        """Run the session. Each process has a client id of its own, so that two see each other instead of falling out."""
        mqtt = self.config.data.mqtt
        client_id = mqtt.client_id or f"loop-{self.config.data.loop}-{uuid.uuid4().hex[:8]}"
        settings = broker.settings_of(mqtt, self.config.path, client_id)
        session = desk.connect(settings, lambda event, fields: self.log.note(event, **fields))
        await session.run()
        await asyncio.Event().wait()  # it was told to stop; the end of this task would be news otherwise

    async def _until_told(self, stop: asyncio.Event) -> None:
        tasks = [asyncio.ensure_future(stop.wait()), asyncio.ensure_future(self.supervisor.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if tasks[1].done():
                tasks[1].result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _end(self, cdu: Cdu, desk: LoopDesk, keeper: LoopKeeper, recorder: LoopRecorder) -> None:
        """Stop, keep the memory, say goodbye: each bounded. The set-point stays where it is."""
        notify("STOPPING=1")
        session = desk.session
        if session is not None:
            session.stop()
            for _ in range(150):
                if session.status.state == "stopped":
                    break
                await asyncio.sleep(0.01)
        await self.supervisor.stop(0.5)
        keeper.hand_over(self.memory)
        await cdu.close()
        if not self.store.close(1.0):
            self.log.trouble("memory_not_kept_at_the_end", detail="the disk did not take it within 1 s")
        recorder.close()
        if not self.journal.close(0.5):
            self.log.trouble("journal_not_written_at_the_end", detail="the disk did not take it in time")
        self.log.note("stopped", set_point="as found", steps=self.steps)

    def _status(self, desk: LoopDesk) -> str:
        mode = "SIMULATED: " if self.config.data.simulated else ""
        said = state_of(self.memory, self.limits, desk.others)
        told = "none" if desk.session is None else desk.session.status.state
        armed = "" if self.limits.armed else ", disarmed"
        return f"{mode}{said}{armed}, epoch {self.memory.epoch}, leases {len(self.memory.leases)}; broker {told}"

    def _log(self, facts: Sequence[LoopFact]) -> None:
        for fact in facts:
            fields = {"what" if name == "event" else name: plain(value) for name, value in fact.fields.items()}
            (self.log.warn if fact.kind in _WARN else self.log.note)(str(fact.kind), **fields)

    def _disk(self, trouble: str | None) -> None:
        if self._keeper is not None:
            self._keeper.trouble = trouble
        if trouble is None:
            self.log.note("storage_works_again")
        else:
            self.log.trouble("storage_failed", detail=trouble)

    def _journal_disk(self, trouble: str | None) -> None:
        """Tell of it only: what is granted waits for the memory, not for the journal."""
        if trouble is None:
            self.log.note("journal_works_again")
        else:
            self.log.trouble("journal_failed", detail=trouble)

    def _died(self, death: Death) -> None:
        self.log.trouble("task_ended", task=death.name, detail=str(death))


def run(config: LoopConfig) -> None:
    """Coordinate one loop until told to stop. Raises AlreadyRunningError, or what ended it."""
    data = config.data
    told = {"loop": data.loop, "daemon": "loop", **({"simulated": "true"} if data.simulated else {})}
    log = Logbook(logs.configure("auto", "info", None, **told).bind(**told))
    daemon = LoopDaemon(config, log)
    lock = config.path(data.memory.runtime_directory) / "lock"
    try:
        with InstanceLock(lock), asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(daemon.run())
    finally:
        log.close()
