"""A new rack on the simulator's plant: empty, its real Valvey core, Racky's lifecycle and power, and shelves on paper.

Stepped: no wire, no clock. Sensors have the noise of their sheets and, by seed, an error of their own within what the sheets
allow. Faults are put where they are in a real rack: in the water, in a sensor, in a drive, in a supply.
"""

from dataclasses import replace

from fieldkit.alarm import Phase as AlarmPhase
from fieldkit.reading import Quality, Reading
from fieldkit.request import Kind, Request
from fieldkit.units import Unit
from firmware_sim.parts.channel import Channel, ChannelSpec, SensorFault
from firmware_sim.parts.noise import Noise, seed_of
from firmware_sim.parts.transmitters import CHANNELS
from firmware_sim.plant_config import Start
from racky.core import answering, lifecycle, power
from racky.core.causes import Health
from racky.core.facts import Fact, FactKind
from racky.core.gates import Evidence
from racky.core.life import RunStatus, RunTold
from racky.core.lifecycle_chart import State, Step
from racky.core.memory import Memory
from racky.core.plan import Plan
from racky.core.setup import Setup
from racky.core.sight import AlarmTold, AskTold, DaemonTold, LatchTold, Sight
from racky.core.view import View
from tests.firmware_sim.procedures_bench import LIMITS, Bench
from tests.racky.core.plans import PLAN, identities, planned
from valvey.core.facts import FactKind as Told
from valvey.core.requests import REQUESTS
from valvey.core.requests import Request as ToValvey

BOOT = "boot-1"
LOOK_S = 0.5
#: One sigma of each sensor's own error: a third of what its sheet allows.
OWN_ERROR = {"FT": 0.0017, "TT": 0.03, "PT": 0.2, "JT": 0.0017, "ET": 0.0017}
EXTRA = (
    ChannelSpec("PT-201", tau_s=0.05, noise=0.15, resolution=0.01),
    ChannelSpec("PT-202", tau_s=0.05, noise=0.15, resolution=0.01),
    ChannelSpec("FT-201", tau_s=1.0, noise=0.3, noise_share=0.002, resolution=0.01),
    ChannelSpec("JT-101", tau_s=0.1, noise=0.02, noise_share=0.002, resolution=0.001),
    ChannelSpec("ET-101", tau_s=0.1, noise=0.02, noise_share=0.002, resolution=0.01),
)
SLOW = frozenset({Step.WATCH_WIDE, Step.WATCH_NOMINAL, Step.LOAD, Step.SETTLE, Step.WATCH, Step.DIAGNOSE, Step.ON})
#: Between the minutes in which something moves a scan each half second does.


class Admission:
    """One rack on its way. ``swapped`` exchanges sensors; ``bent`` multiplies what a tag shows."""

    def __init__(self, seed: int = 1, plan: Plan = PLAN, start: Start = Start.DRAINED) -> None:
        self.field = Bench(start, LIMITS)
        self.seed = seed
        self.setup: Setup = planned(plan)
        self.memory = Memory(boot_id=BOOT)
        self.facts: list[Fact] = []
        self.swapped: dict[str, str] = {}
        self.bent: dict[str, float] = {}
        self.on = dict.fromkeys((output.command for output in self.setup.outputs), False)
        self.identities = identities()
        self.psu: dict[str, float] = {}
        self.diagnostics: dict[str, RunStatus] = {}
        self.runs: dict[str, RunTold] = {}
        self.asked: dict[str, str] = {}
        self._told: list[AskTold] = []
        self._heard = 0
        self._ids = 0
        self._noise = Noise(seed_of(seed, "supplies"))
        own = Noise(seed_of(seed, "own errors"))
        self.field.channels = {spec.tag: Channel(spec, Noise(seed_of(seed, spec.tag))) for spec in CHANNELS}
        self.extra = {spec.tag: Channel(spec, Noise(seed_of(seed, spec.tag))) for spec in EXTRA}
        self.errors = {tag: own.normal() * OWN_ERROR[tag[:2]] for tag in (*self.field.channels, *self.extra)}
        for tag, channel in self.field.channels.items():
            if tag[:2] in {"TT", "PT"}:
                channel.set_fault(SensorFault.BIAS, self.errors[tag])

    # -- what is seen ---------------------------------------------------------------------------------------------------

    def _show(self, dt_s: float) -> None:
        """What Valvey reads beside the bench's own channels: errors in proportion, swapped wires, and the CDU."""
        cdu, rack, shows = self.field.plant.cdu, self.field.rack, self.field.shows
        true = {"PT-201": cdu.p_supply_kpa, "PT-202": cdu.p_return_kpa, "FT-201": cdu.flow_lpm, "JT-101": rack.feeder_kw, "ET-101": rack.busbar_kw}  # fmt: skip
        for tag, channel in self.extra.items():
            channel.step(true[tag], self.field.plant.now_s, dt_s)
            error = self.errors[tag]
            shows[tag] = channel.shown + error if tag[:2] == "PT" else channel.shown * (1.0 + error)
        channels = self.field.channels
        for tag in ("FT-101", "FT-102", "FT-103"):
            shows[tag] = channels[tag].shown * (1.0 + self.errors[tag]) * self.bent.get(tag, 1.0)
        for tag, other in self.swapped.items():
            shows[tag] = channels[other].shown
        if rack.wet:
            shows |= dict.fromkeys(("LDA-101", "LDA-102", "LDA-103"), 0.0)

    def sight(self) -> Sight:
        now_s, memory = self.field.now_s, self.field.memory
        alarms = {
            name: AlarmTold(name, one.active, AlarmPhase.UNACK, one.row.priority, "", "", now_s)
            for name, one in memory.alarms.items()
            if one.active
        }
        told = DaemonTold(
            online=True, heard_s=now_s, state_s=now_s, state=str(memory.state), step=str(memory.step), since_s=now_s,
            state_seq=memory.state_seq, armed=memory.armed, inventory=str(memory.inventory), tested=memory.tested,
            latches=tuple(LatchTold(one.sif, "", now_s) for one in memory.latches),
            locks=tuple(lock.owner for lock in memory.locks), failed=memory.failed, alarms=alarms,
            points={tag: one for tag, one in self.field.seen.items() if tag != "FT-201"},
        )  # fmt: skip
        loop = DaemonTold(
            online=True,
            heard_s=now_s,
            state_s=now_s,
            points={"FT-201": self._reading("FT-201", self.field.shows["FT-201"])},
        )
        readings = {tag: self._reading(tag, value) for tag, value in self._own().items()}
        self._told, heard = [], tuple(self._told)
        return Sight(
            now_s, told, loop, True, readings, dict.fromkeys(readings, 3.0), told=heard, identities=self.identities, runs=dict(self.runs)
        )  # fmt: skip

    def _reading(self, tag: str, value: float) -> Reading:
        return Reading(tag, float(value), Unit.NONE, Quality.GOOD, self.field.now_s)

    def _own(self) -> dict[str, float]:
        """The shelves on paper: those that are on share the load, each with its fans."""
        on = [shelf for shelf in self.setup.shelves if self.on[shelf.command]]
        out: dict[str, float] = {}
        for shelf in self.setup.shelves:
            is_on = shelf in on
            kw = self.field.rack.busbar_kw / len(on) if is_on else 0.0
            out |= {shelf.feedback: float(is_on), shelf.power: kw * (1.0 + 0.002 * self._noise.normal())}
            for psu in shelf.psus:
                share = kw / len(shelf.psus)
                out |= {
                    shelf.psu("JT", psu): share * (1.0 + 0.02 * self._noise.normal()), shelf.psu("EV", psu): 50.0 * is_on,
                    shelf.psu("TT", psu): 30.0, shelf.psu("ST", psu): 4000.0 + 9000.0 * share / 5.5 + 60.0 * self._noise.normal(),
                    shelf.psu("XA", psu): 0.0, shelf.psu("SA", psu): 0.0, shelf.psu("EA", psu): 0.0,
                }  # fmt: skip
        return out | {tag: out[tag] * share if tag.startswith("ST") else share for tag, share in self.psu.items()}

    # -- time -----------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self.memory.life.state

    @property
    def report(self) -> dict[str, Evidence]:
        return {one.gate: one for one in self.memory.life.report}

    @property
    def refused(self) -> set[str]:
        return {one.gate for one in self.memory.life.report if not one.ok}

    def look(self, *requests: Request) -> None:
        """Half a second of plant, then one look of Racky's."""
        dt_s = 0.5 if self.memory.life.step in SLOW else 0.1
        for _ in range(round(LOOK_S / dt_s)):
            self._show(dt_s)
            self.field.scan(dt_s=dt_s)
        self._hear()
        view = View(self.sight(), replace(self.memory, now_s=self.field.now_s), self.setup, Health())
        view, facts = power.trip(view)
        for request in requests:
            view, told = answering.answer(view, request)
            facts += told
        lived = lifecycle.advance(view)
        view, writes, told = power.advance(lived.view)
        self.memory = view.memory
        self.facts += [*facts, *lived.facts, *told]
        for command, value in writes.items():
            self.on[command] = value >= 0.5 and self.field.rack.permit_closed
        self._work(lived)

    def _work(self, lived: lifecycle.Stepped) -> None:
        wanted = {run.key: run for run in lived.wanted.runs}
        self.runs = {key: told for key, told in self.runs.items() if key in wanted}
        for key, run in wanted.items():
            ends = self.diagnostics.get(
                run.diagnostic, RunStatus.RUNNING if run.diagnostic == "burn-in" else RunStatus.PASSED
            )
            self.runs.setdefault(key, RunTold(key, ends))
        loaded = any(run.diagnostic == "burn-in" for run in wanted.values()) and all(self.on.values())
        self.field.rack.load_kw = 125.0 if loaded else 0.0
        for ask in lived.asks:
            if ask.key in self.asked.values():
                continue
            self._ids += 1
            name = f"r-{self._ids}"
            self.asked[name] = ask.key
            seq = None if REQUESTS[ask.request].kind is Kind.SAFER else ask.expect_seq
            self.field.scan(ToValvey(name, ask.request, "racky", "racky-r01", dict(ask.args), "racky", ask.why, seq))

    def _hear(self) -> None:
        """Answers and ends of what was asked."""
        for fact in self.field.facts[self._heard :]:
            key = self.asked.get(str(fact.fields.get("id", "")))
            if key is None or fact.kind not in {Told.ANSWER, Told.ENDED, Told.PROGRESS}:
                continue
            fields = fact.fields
            status = str(fields.get("status", "progress"))
            self._told.append(
                AskTold(key, status, fact.at_s, str(fields.get("reason", "")), str(fields.get("allow", "")), str(fields.get("step", "")) or None, fields.get("percent"))
            )  # fmt: skip
        self._heard = len(self.field.facts)

    def ask(self, name: str, why: str = "a new rack", **args: object) -> Fact:
        self._ids += 1
        self.look(Request(f"p-{self._ids}", name, "engineer", "desk", args, "anna", why, self.memory.state_seq))
        return [fact for fact in self.facts if fact.kind is FactKind.ANSWER][-1]

    def until(self, *wanted: State | Step, most_s: float = 3000.0) -> "Admission":
        end_s = self.field.now_s + most_s
        while self.memory.life.state not in wanted and self.memory.life.step not in wanted:
            assert self.field.now_s < end_s, (
                self.memory.life.state,
                self.memory.life.step,
                self.memory.life.remark,
                self.field.place,
            )
            self.look()
        return self

    def admitted(self) -> "Admission":
        """Ask for the admission and let it come to its end."""
        self.until(State.IDENTIFIED)
        assert self.ask("admit").fields["status"] == "accepted"
        return self.until(State.PRODUCTION, State.QUARANTINED)

    def shown(self) -> str:
        return "\n".join(
            f"{'ok ' if one.ok else 'NOT'} {one.stage:<11} {one.gate:<18} {one.measured} [{one.low}..{one.high}] {one.unit}  {one.detail}"
            for one in self.memory.life.report
        )
