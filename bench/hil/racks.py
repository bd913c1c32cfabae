"""Which rack stands on the bench: at most one, built anew when a test needs another than the last one left."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from bench.hil.identity import identities
from bench.hil.plan import Plan
from bench.hil.real import RealRack
from bench.hil.report import Run
from bench.hil.simulated import SimulatedRack
from bench.hil.stand import Rack, Say
from bench.report import commit


class Racks:
    """The racks of one run.

    told  hears what the run was made with, once: name and value
    say   tells the person at the bench something
    """

    def __init__(self, bench: Path, folder: Path, run: Run, *, told: Callable[[str, object], None], say: Say) -> None:
        self._bench, self._folder, self._run, self._told, self._say = bench, folder, run, told, say
        self._standing: Rack | None = None
        self._built = 0

    @property
    def simulated(self) -> bool:
        return self._run.target == "sim"

    def stand(self, plan: Plan) -> Rack:
        """Return the rack in the plan's stand. Raises ConfigError, RigError, OSError."""
        rack, speed = self._standing, plan.speed if self.simulated else 1.0
        if rack is not None and rack.lasts and (rack.stand, rack.speed) == (plan.stand, speed):
            return rack
        self.clear()
        self._built += 1
        folder = self._folder / f"rack-{self._built}"
        folder.mkdir()
        if self.simulated:
            rack = SimulatedRack(self._bench, plan.stand, folder, speed)
        else:
            rack = RealRack(self._bench, plan.stand, folder, self._say)
        self._standing = rack
        if self._built == 1:
            self._about(rack)
        return rack

    def clear(self) -> None:
        """Take down what stands: a measurement with racks of its own needs the machine."""
        rack, self._standing = self._standing, None
        if rack is not None:
            rack.close()

    def _about(self, rack: Rack) -> None:
        run = self._run
        run.devices = identities(rack.config)
        run.about = {
            "target": "sim: everything is SIMULATED" if rack.simulated else "hil: hardware",
            "bench": f"{rack.bench.data.bench} ({rack.bench.path.name}, sha256 {rack.bench.digest})",
            "rack": f"{rack.config.data.site}/{rack.config.data.rack} ({rack.file.name})",
            "configuration digest": rack.config.digest,
            "software": f"racky-valvey {version('racky-valvey')}, commit {commit()}",
        }
        for key, value in run.about.items():
            self._told(key.replace(" ", "_"), value)
        for device in run.devices:
            says = {**device.objects, **device.registers} or {"error": device.error or "says nothing of itself"}
            self._told(f"device_{device.bus}", ", ".join(f"{key} {value}" for key, value in says.items()))
