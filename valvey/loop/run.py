"""``valvey loop run``: one loop's coordinator from its configuration to its end, which leaves set-points as they are."""

import asyncio
from collections.abc import Sequence

from fieldkit.host import Host, run_alone, version
from fieldkit.logbook import Logbook
from fieldkit.service import Watchdog, notify, stop_on_signals
from fieldkit.topics import Daemon
from valvey.core.loop import leases
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.step import LoopInputs, LoopScan, state_of, step
from valvey.loop.cdu import Cdu
from valvey.loop.config import LoopConfig, to_limits
from valvey.loop.desk import LoopDesk
from valvey.loop.keeper import LoopKeeper, find
from valvey.loop.recorder import LoopRecorder
from valvey.loop.sender import metas
from valvey.loop.turns import Turn

LOOK_AGAIN_S = 0.01
K = LoopFactKind
_WARN = frozenset({K.EVENT, K.SHORT, K.EPOCH, K.LAPSED, K.TAKEN_BACK, K.STOP, K.ASKED})


class LoopDaemon(Host):
    """One loop's coordinator, put together."""

    def __init__(self, config: LoopConfig, log: Logbook) -> None:
        data = config.data
        folder = config.path(data.memory.directory)
        super().__init__(
            log,
            speed=data.speed,
            simulated=data.simulated,
            memory=folder / "loop.sqlite",
            journal=folder / "journal" if data.journal is None else config.path(data.journal.directory),
            journal_mb=None if data.journal is None else data.journal.most_mb,
        )
        self.config, self.limits = config, to_limits(config)
        self.memory = LoopMemory()
        self.steps = 0

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
            self.memory = leases.begin(left.memory or LoopMemory(), self.clock.now_s())
            desk = self._desk(cdu, left.event_seq)
            keeper = self.keeping = LoopKeeper(
                self.store, cdu.readings, lambda: desk.event_seq, lambda: self.journal_trouble is not None
            )
            desk.is_kept = keeper.is_kept
            keeper.hand_over(self.memory)
            self.log.note("started", version=version(), epoch=self.memory.epoch, digest=self.config.digest)
            self.journal.open_nowait()
            recorder = self._recorder()
            desk.refused_at_the_door = recorder.refused_at_the_door
            data = self.config.data
            self.supervisor.start_helper(
                "mqtt", lambda: self.talk_by(desk, data.mqtt, self.config.path, f"loop-{data.loop}")
            )
            self.supervisor.start_essential("loop", lambda: self._turn_for_ever(cdu, desk, keeper, recorder))
            await self.until_told(stop)
            await self._end(cdu, desk, keeper, recorder)

    async def turn(self, cdu: Cdu, desk: LoopDesk, keeper: LoopKeeper, recorder: LoopRecorder) -> LoopScan:
        """One step: read, decide, write, keep, record, tell."""
        await cdu.read()
        hearing = desk.hearing
        inputs = LoopInputs(
            dict(cdu.readings),
            dict(hearing.racks),
            hearing.take_asks(),
            hearing.inbox.take(),
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
        sender = self.sender(Daemon.LOOP, data.site, data.loop, self.config.digest)
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
        )

    async def _end(self, cdu: Cdu, desk: LoopDesk, keeper: LoopKeeper, recorder: LoopRecorder) -> None:
        """Stop, keep the memory, say goodbye: each bounded. The set-point stays where it is."""
        notify("STOPPING=1")
        await self.say_goodbye(desk.session)
        keeper.hand_over(self.memory)
        await cdu.close()
        recorder.close()
        self.close_disks()
        self.log.note("stopped", set_point="as found", steps=self.steps)

    def _status(self, desk: LoopDesk) -> str:
        mode = "SIMULATED: " if self.config.data.simulated else ""
        said = state_of(self.memory, self.limits, desk.others)
        told = "none" if desk.session is None else desk.session.status.state
        armed = "" if self.limits.armed else ", disarmed"
        return f"{mode}{said}{armed}, epoch {self.memory.epoch}, leases {len(self.memory.leases)}; broker {told}"

    def _log(self, facts: Sequence[LoopFact]) -> None:
        for fact in facts:
            self.log.fact(fact.kind, fact.fields, warn=fact.kind in _WARN)


def run(config: LoopConfig) -> None:
    """Coordinate one loop until told to stop. Raises AlreadyRunningError, or what ended it."""
    data = config.data
    lock = config.path(data.memory.runtime_directory) / "lock"
    run_alone(lock, data.simulated, lambda log: LoopDaemon(config, log).run(), loop=data.loop, daemon="loop")
