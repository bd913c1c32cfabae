"""The rack of `--target sim`: a simulator and a Valvey of our own, on free ports of the loopback."""

from pathlib import Path

from bench.hil.file import load
from bench.hil.plan import Plan, Stand
from bench.hil.stand import RACK, SETTLE_S, Rack, await_good, first_bad
from bench.rig import RackPlan, Rig
from bench.supervisor import Guard, Service


class SimulatedRack(Rack):
    """Faults come from the simulator, and what was written is held against the plan by its stamps."""

    def __init__(self, bench: Path, stand: Stand, folder: Path, speed: float) -> None:
        start = "FLOWING" if stand is Stand.IN_SERVICE else "ISOLATED"
        self.rig = Rig(folder, [RackPlan(RACK, start=start)], speed=speed)
        self.rig.__enter__()
        try:
            super().__init__(load(bench, self.rig.config(RACK)), stand, folder, speed)
            self._since = self.rig.mark()
            if stand is Stand.IN_SERVICE:
                self.rig.start(restart=False)
            self.watch.__enter__()
        except BaseException:
            self.rig.close()
            raise

    @property
    def guard(self) -> Guard:
        return self.rig.guard(RACK)

    @property
    def service(self) -> Service:
        return self.rig.service

    @property
    def log(self) -> Path:
        return self.folder / "logs" / f"valvey-{RACK}.log"

    @property
    def file(self) -> Path:
        return self.rig.config(RACK)

    def begin(self, plan: Plan) -> None:
        super().begin(plan)
        self._since = self.rig.mark()

    def left(self) -> list[str]:
        return [f"the simulator has the fault {one['kind']}" for one in self.rig.ask("fault_list")]

    def undeclared(self) -> list[str]:
        may = {f"{tag} command" for tag in self.plan.writes}
        done = {stamp["what"] for stamp in self.rig.stamps(self._since, RACK, "command")}
        if not self.plan.writes and self.stand is not Stand.IN_SERVICE:
            done |= {f"register {stamp['what']}" for stamp in self.rig.stamps(self._since, RACK, "write")}
        return [f"{what} was written, and the test's plan does not say so" for what in sorted(done - may)]

    def wet(self, zone: str) -> float:
        begun_s = self.watch.now_s()
        self.rig.ask("fault_add", kind="wet", rack=RACK, tag=zone, value=1)
        return self.watch.wait_for(zone, 1.0, begun_s, 5.0)

    def silence(self, bus: str) -> float:
        begun_s = self.watch.now_s()
        shared = bus == "cdu"
        self.rig.ask("fault_add", kind="no_reply", rack=None if shared else RACK, device=bus)
        return first_bad(self.watch, self.config, bus, begun_s, 5.0)

    def fault(self, kind: str, **aim: object) -> None:
        """Begin one of the simulator's faults."""
        self.rig.ask("fault_add", kind=kind, rack=RACK, **aim)

    def heal(self, bus: str) -> None:
        self.rig.ask("fault_clear")
        await_good(self.watch, self.config, bus, 10.0)

    def restore(self) -> list[str]:
        self.rig.ask("fault_clear")
        if not self.lasts:
            return self.left()  # the rack is thrown away: the next test gets a new one
        return self.await_nominal(SETTLE_S)

    def close(self) -> None:
        self.watch.__exit__()
        self.rig.close()
