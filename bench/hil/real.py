"""The rack of `--target hil`: devices that the bench's file names, and a person who does what wires cannot do."""

from pathlib import Path

from bench.hil.file import load
from bench.hil.plan import Stand, told
from bench.hil.stand import RACK, SETTLE_S, Rack, Say, await_good, first_bad
from bench.supervisor import Guard, Service


class RealRack(Rack):
    """What people must do is said by ``say``; that it was done is seen in the readings."""

    simulated = False

    def __init__(self, bench: Path, stand: Stand, folder: Path, say: Say) -> None:
        super().__init__(load(bench), stand, folder, 1.0)
        self._say = say
        self._service = Service(folder / "logs")
        self.watch.__enter__()
        if stand is Stand.IN_SERVICE:
            self.start_guard()

    @property
    def guard(self) -> Guard:
        return self._service.guards[RACK]

    @property
    def service(self) -> Service:
        return self._service

    @property
    def log(self) -> Path:
        return self.folder / "logs" / f"valvey-{RACK}.log"

    @property
    def file(self) -> Path:
        return self.config.file

    def left(self) -> list[str]:
        return []

    def undeclared(self) -> list[str]:
        return []

    def ask(self, text: str) -> None:
        """Tell the person what to do."""
        self._say(told(text, self.bench, self.plan.about))

    def wet(self, zone: str) -> float:
        begun_s = self.watch.now_s()
        self._say(f"wet {zone} now: {self.bench.data.zones[zone]}")
        return self.watch.wait_for(zone, 1.0, begun_s, self.bench.data.operator_s)

    def silence(self, bus: str) -> float:
        begun_s = self.watch.now_s()
        self._say(f"pull the cable of {bus} now ({self.config.data.buses[bus].way})")
        return first_bad(self.watch, self.config, bus, begun_s, self.bench.data.operator_s)

    def heal(self, bus: str) -> None:
        self._say(f"put the cable of {bus} back")
        await_good(self.watch, self.config, bus, self.bench.data.operator_s)

    def restore(self) -> list[str]:
        if self.stand is Stand.IN_SERVICE and self.guard.lives[-1].ended_s is not None:
            self.start_guard()
        if self.await_nominal(SETTLE_S):
            self._say(f"bring the rack back. It must be {self.stand}. Now: {'; '.join(self.wrong()[:6])}")
        return self.await_nominal(self.bench.data.operator_s)

    def close(self) -> None:
        self.watch.__exit__()
        self._service.close()
