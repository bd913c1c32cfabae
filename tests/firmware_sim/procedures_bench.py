"""A guarded rack on the simulator's plant, stepped: core and gate against water, coils and wiring, without a wire.

One rack is guarded; a neighbour flows beside it. The readings are the plant's true values through the lags and noise of
the real transmitters; W2 and W4 are the simulator's own wiring. A scan every 0.1 s while something moves, every 0.5 s
while the rack waits, so that minutes of plant cost a second.
"""

from copy import deepcopy
from dataclasses import replace

from fieldkit.reading import Quality, Reading
from fieldkit.request import Kind
from fieldkit.units import Unit
from firmware_sim.demo_plant import demo_config
from firmware_sim.parts.channel import Channel
from firmware_sim.parts.noise import Noise, seed_of
from firmware_sim.parts.transmitters import CHANNELS
from firmware_sim.parts.wiring import COILS, Contacts, Wiring
from firmware_sim.physics.coolant import density_kg_m3
from firmware_sim.plant import Plant
from firmware_sim.plant_config import PlantConfig, Start
from firmware_sim.rack_plant import RackPlant
from valvey.core import gate
from valvey.core.adoption import begin
from valvey.core.chart import State, Step
from valvey.core.facts import Fact, FactKind
from valvey.core.leasing import Answer, Ask
from valvey.core.limits import Limits
from valvey.core.memory import Inventory, Memory
from valvey.core.policy import DEFAULT_POLICY
from valvey.core.requests import REQUESTS, Request
from valvey.core.step import Scan, setup, step

RACK = "r01"
OUTPUTS = ("XV-101", "XV-102", "XV-103", "XV-104", "XS-101")
LIMITS = Limits(
    rating_kw=132.0, flow_nominal_lpm=197.0, policy=DEFAULT_POLICY, volume_l=30.0, test_hold_s=60.0, cool_hold_s=5.0,
    stroke_101_s=3.5, stroke_102_s=3.5,
)  # fmt: skip
VOLUME_L = 30.0


def plant_config(start: Start = Start.FLOWING) -> PlantConfig:
    """Two racks of the demo; the guarded one is small and drains quickly, so that a run is short."""
    config = demo_config(2)
    sized = replace(config.racks[0], volume_l=VOLUME_L, drain_kv=4.0, start=start)
    return replace(config, racks=(sized, *config.racks[1:]))


class Bench:
    """A commissioned rack, adopted in service (or shut), and the people around it."""

    def __init__(
        self, start: Start = Start.FLOWING, limits: Limits = LIMITS, config: PlantConfig | None = None
    ) -> None:
        self.plant = Plant(config or plant_config(start))
        self.rack: RackPlant = self.plant.racks[RACK]
        self.rack.load_kw = 132.0 if start is Start.FLOWING else 0.0
        self.setup = setup(limits)
        self.limits = limits
        self.start_s = 1000.0
        self.wiring = Wiring()
        self.channels = {spec.tag: Channel(spec, Noise(seed_of(1, spec.tag))) for spec in CHANNELS}
        self.commands = dict.fromkeys(OUTPUTS, False)
        self.lost: set[str] = set()
        self.shows: dict[str, float] = {}
        self.sump_high = self.key = False
        self.ack_s: float | None = self.start_s
        self.facts: list[Fact] = []
        self.stopped: dict[str, gate.Admission] = {}
        self.seen: dict[str, Reading] = {}
        self.answers: tuple[Answer, ...] = ()
        """What the loop's coordinator says in the next scan."""
        self.asks: tuple[Ask, ...] = ()
        """What the last scan asked of it."""
        self._ids = 0
        state, inventory = _BEGINS[start]
        if state is State.FLOWING:
            self.commands |= {"XV-101": True, "XV-102": True, "XS-101": True}
        self.memory = Memory(
            state=state, step=Step.SERVE if state is State.FLOWING else Step.HOLD, was=state, armed=True, now_s=self.start_s,
            since_s=self.start_s, step_since_s=self.start_s, armed_since_s=self.start_s, inventory=inventory,
            tested=inventory is Inventory.FULL,
            fcv_pct=100.0 * self.rack.fcv.position,
        )  # fmt: skip
        self._wire()

    @property
    def now_s(self) -> float:
        return self.start_s + self.plant.now_s

    @property
    def state(self) -> State:
        return self.memory.state

    @property
    def place(self) -> tuple[State, Step]:
        return self.memory.state, self.memory.step

    # -- the field --------------------------------------------------------------------------------------------------

    def contacts(self) -> Contacts:
        rack = self.rack
        return Contacts(
            rack.xv_101.open_limit, rack.xv_101.shut_limit, rack.xv_102.open_limit, rack.xv_102.shut_limit, rack.xv_103.shut_limit,
            rack.xv_104.shut_limit, rack.permit_closed, True, self.key, not (self.sump_high or self.plant.cdu.sump_high),
            100.0 * rack.fcv.feedback,
        )  # fmt: skip

    def _wire(self) -> None:
        self.wiring.settle([self.commands[tag] for tag in OUTPUTS], self.contacts())
        coils, rack = self.wiring.coils, self.rack
        assert len(coils) == len(COILS)
        rack.xv_101_coil, rack.xv_102_coil, rack.xv_103_coil, rack.xv_104_coil, rack.permit_coil = coils

    def readings(self) -> dict[str, Reading]:
        contacts, rack, cdu = self.contacts(), self.rack, self.plant.cdu
        coils = {
            f"XY-{tag[-3:]}" if tag != "XS-101" else "XSY-101": on
            for tag, on in zip(OUTPUTS, self.wiring.coils, strict=True)
        }
        values: dict[str, float] = {
            **coils,
            "ZSO-101": contacts.zso_101, "ZSC-101": contacts.zsc_101, "ZSO-102": contacts.zso_102, "ZSC-102": contacts.zsc_102,
            "ZSC-103": contacts.zsc_103, "ZSC-104": contacts.zsc_104, "XI-101": contacts.permit_closed, "HS-101": False,
            "HS-102": contacts.key_locked, "LSH-203": not contacts.sump_not_high, "ZT-101": contacts.fcv_open_pct,
            **{tag: channel.shown for tag, channel in self.channels.items()},
            **{tag: rack.wet[tag] for tag in ("LDT-101", "LDT-102", "LDT-103")},
            "JT-101": rack.feeder_kw, "ET-101": rack.busbar_kw, "EV-101": rack.busbar_v,
            "PT-201": cdu.p_supply_kpa, "PT-202": cdu.p_return_kpa, "LT-201": cdu.level_pct,
            **self.shows,
        }  # fmt: skip
        out = {
            tag: Reading(tag, None if tag in self.lost else float(value), Unit.NONE, Quality.BAD if tag in self.lost else Quality.GOOD, self.now_s)
            for tag, value in values.items()
        }  # fmt: skip
        if self.ack_s is not None:
            out["WRITE-ACK"] = Reading("WRITE-ACK", self.ack_s, Unit.SECOND, Quality.GOOD, self.ack_s)
        return out

    def _bit(self, tag: str) -> bool | None:
        value = self.seen[tag].value
        return None if value is None else value >= 0.5

    def evidence(self) -> gate.Evidence:
        memory, rise_s, stroked = self.memory, self.memory.permit_rise_s, self.memory.stroking(self.now_s)
        return gate.Evidence(
            coil={"XS-101": self._bit("XSY-101"), **{tag: self._bit(f"XY-{tag[-3:]}") for tag in OUTPUTS[:-1]}},
            shut={f"XV-{number}": self._bit(f"ZSC-{number}") for number in ("101", "102", "103")},
            entering=rise_s is not None and self.now_s - rise_s <= 0.5,
            valves_acknowledged_s=None if self.ack_s is None else self.now_s - self.ack_s,
            locked=bool(memory.locks or memory.latches),
            stroking=None if stroked is None else f"XV-{stroked}",
        )

    # -- time -----------------------------------------------------------------------------------------------------------

    def scan(self, *requests: Request, dt_s: float = 0.1) -> Scan:
        """Let ``dt_s`` of plant pass, look, decide, write."""
        before_s = self.plant.now_s
        while self.plant.now_s < before_s + dt_s - 1e-6:
            self.plant.advance(0.1)
            self._wire()
            rack = self.rack
            # the return meter's liquid is warm
            expansion = density_kg_m3(rack.t_supply_c) / density_kg_m3(rack.t_return_c)
            truth = (
                rack.flow_supply_lpm, rack.flow_return_lpm * expansion, rack.flow_drain_lpm, rack.t_supply_c, rack.t_return_c, rack.t_return_c,
                rack.t_return_c, rack.p_supply_kpa, rack.p_return_kpa,
            )  # fmt: skip
            for channel, true in zip(self.channels.values(), truth, strict=True):
                channel.step(true, self.plant.now_s, 0.1)
        self.seen = self.readings()
        answers, self.answers = self.answers, ()
        done = step(self.memory, self.seen, requests, self.setup, self.now_s, answers)
        self.asks = done.asks
        self.memory = done.memory
        self.facts += done.facts
        self.ack_s = self.now_s
        writes, self.stopped = gate.pass_through(done.outputs, done.memory.state, self.evidence())
        self.commands |= {tag: bool(writes[tag]) for tag in OUTPUTS if tag in writes}
        if "FCV-101" in writes:
            self.rack.fcv_command_pct = writes["FCV-101"]
        self._wire()
        return done

    def run(self, for_s: float, dt_s: float = 0.1) -> "Bench":
        end_s = self.now_s + for_s
        while self.now_s < end_s - 1e-6:
            self.scan(dt_s=dt_s)
        return self

    def until(self, *wanted: State | Step, most_s: float = 1200.0) -> "Bench":
        """Run until the rack is in one of the states or steps; long scans where only time passes."""
        end_s = self.now_s + most_s
        while self.memory.state not in wanted and self.memory.step not in wanted:
            assert self.now_s < end_s, f"{self.place} after {most_s} s, failed {self.memory.failed}"
            self.scan(dt_s=0.5 if self.memory.step in _SLOW else 0.1)
        return self

    def ask(self, name: str, /, *, role: str = "engineer", **args: object) -> Fact:
        """Ask with the present state_seq, scan once, and return the answer."""
        self._ids += 1
        seq = None if REQUESTS[name].kind is Kind.SAFER else self.memory.state_seq
        self.scan(Request(f"id-{self._ids}", name, role, "desk", args, "anna", "a test", seq))
        return self.told(FactKind.ANSWER)[-1]

    def told(self, kind: FactKind) -> list[Fact]:
        return [fact for fact in self.facts if fact.kind is kind]

    def accepted(self, name: str, /, **args: object) -> "Bench":
        answer = self.ask(name, **args)  # type: ignore[arg-type]
        assert answer.fields["status"] == "accepted", dict(answer.fields)
        return self

    @property
    def alarms(self) -> set[str]:
        return {name for name, state in self.memory.alarms.items() if state.active}

    @property
    def latched(self) -> tuple[str, ...]:
        return tuple(latch.sif for latch in self.memory.latches)

    def steps(self) -> list[str]:
        """Every place the rack went through, from its progress and its moves."""
        return [f"{fact.fields['state']}/{fact.fields['step']}" for fact in self.told(FactKind.PROGRESS)]

    def restart(self, after_s: float = 1.0, boot_id: str = "") -> "Bench":
        """The process dies and starts again with what it remembered; the field stays as it is meanwhile."""
        self.plant.advance(after_s)
        self.memory = begin(
            self.memory, readable=True, armed_in_file=True, starts_s=(), boot_id=boot_id, now_s=self.now_s, limits=self.limits
        )  # fmt: skip
        self.ack_s = None
        return self

    def copy(self) -> "Bench":
        return deepcopy(self)


_BEGINS = {
    Start.FLOWING: (State.FLOWING, Inventory.FULL),
    Start.ISOLATED: (State.ISOLATED, Inventory.FULL),
    Start.DRAINED: (State.DRAINED, Inventory.EMPTY),
}
_SLOW = frozenset({Step.COOL, Step.RAMP, Step.WATCH, Step.DRAIN, Step.PRESSURE, Step.SUMP})
