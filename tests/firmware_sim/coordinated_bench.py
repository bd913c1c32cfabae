"""A guarded rack and its loop's coordinator on one simulated plant, stepped: both cores, the plant, nothing in between.

Messages take one scan each way. The coordinator can die, at once and for good or until it is started again with what it
had on its disk; so can the guard (``restart``). One neighbour flows beside the rack.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fieldkit.reading import Quality, Reading
from fieldkit.request import Kind
from fieldkit.request import Request as AnyRequest
from fieldkit.units import Unit
from firmware_sim.plant_config import CduMode, Start
from tests.firmware_sim.procedures_bench import LIMITS, RACK, Bench
from tests.stored import reread
from valvey.core.chart import State, Step
from valvey.core.facts import Fact, FactKind
from valvey.core.leasing import Answer, Ask, held
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.leases import Asked, begin
from valvey.core.loop.limits import Bounds, LoopLimits, Mode, RackRow
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.requests import answer
from valvey.core.loop.seen import GrantSeen, LoopView, RackSeen
from valvey.core.loop.step import LoopInputs
from valvey.core.loop.step import step as loop_step
from valvey.core.requests import REQUESTS, Request
from valvey.core.step import Scan

LEASED = replace(LIMITS, coordinator=True, name=RACK)
NEIGHBOUR = "r02"
PERIOD_S = 0.5
MODES = {CduMode.FIXED_SPEED: 0.0, CduMode.CONSTANT_DP: 1.0, CduMode.CONSTANT_FLOW: 2.0}
TOLD = (
    "FT-101",
    "FT-102",
    "ZT-101",
    "PT-101",
    "PT-102",
    "JT-101",
    "ET-101",
    "XI-101",
    "LDT-101",
    "LDT-102",
    "LDT-103",
    "LSH-203",
)


class CoordinatedBench(Bench):
    """``loop`` is the coordinator's memory; None while it is dead. ``silent``: it lives, and no message gets through."""

    def __init__(self, start: Start = Start.FLOWING) -> None:
        super().__init__(start, LEASED)
        plant, cdu = self.plant.config, self.plant.cdu
        self.loop_limits = LoopLimits(
            racks={
                rack.name: RackRow(
                    rack.name,
                    rack.rated_kw,
                    rack.design_flow_lpm,
                    1,
                    rack.fcv_kvs,
                    rack.fcv_rangeability,
                    rack.volume_l,
                    "s1",
                )
                for rack in plant.racks
            },
            bounds={
                Mode.FIXED_SPEED: Bounds(30.0, 100.0),
                Mode.CONSTANT_DP: Bounds(80.0, 320.0),
                Mode.CONSTANT_FLOW: Bounds(100.0, 2000.0),
            },
            dead_head_kpa=100.0 * cdu.config.pump_dp0_bar,
            design_dp_kpa=205.0,
            rated_lpm=sum(rack.design_flow_lpm for rack in plant.racks),
            armed=True,
            simulated=True,
            bypass_fitted=True,
            sumps_l={"s1": 120.0},
            makeup_lpm=cdu.config.makeup_max_lpm,
            reservoir_l=cdu.config.reservoir_l,
        )
        self.loop: LoopMemory | None = begin(LoopMemory(), self.now_s - 60.0)
        self.disk = LoopMemory()
        self.silent = False
        self.loop_facts: list[LoopFact] = []
        self.neighbour_points: dict[str, float] = {}
        """What the neighbour shows otherwise than the plant has it."""
        self.neighbour_state = State.FLOWING
        self.other_points: dict[str, dict[str, float]] = {}
        """Racks that are nothing but what they show."""
        self.sheds = True
        """Racky takes the load off when the rack unloads."""
        self.least_lpm: float | None = None
        """Lowest flow of the neighbour since this was set to its flow."""
        self._heard: list[Asked] = []
        self._turned_s = self.now_s

    # -- the coordinator ------------------------------------------------------------------------------------------------

    def kill(self) -> None:
        """Let the coordinator die: what is on its disk is all that is left."""
        assert self.loop is not None
        self.loop = None
        self._heard = []

    def revive(self, *, disk: bool = True) -> None:
        """Start the coordinator again, with its disk or with an empty one."""
        self.loop = begin(self.disk if disk else LoopMemory(), self.now_s)

    @property
    def coordinator(self) -> LoopMemory:
        assert self.loop is not None
        return self.loop

    def of_loop(self, kind: LoopFactKind) -> list[LoopFact]:
        return [fact for fact in self.loop_facts if fact.kind is kind]

    def cdu_readings(self) -> dict[str, Reading]:
        cdu = self.plant.cdu
        values = {
            "PT-201": cdu.p_supply_kpa, "PT-202": cdu.p_return_kpa, "FT-201": cdu.flow_lpm, "TT-201": cdu.t_supply_c,
            "TT-202": cdu.t_return_c, "LT-201": cdu.level_pct, "P-201": max(cdu.pump_speed_pct), "P-201-TRIP": float(any(cdu.pump_tripped)),
            "LDT-201": 0.0, "CDU-MODE": MODES[cdu.mode], "SP-DP": cdu.dp_setpoint_kpa, "SP-FLOW": cdu.flow_setpoint_lpm,
            "SP-SPEED": cdu.speed_setpoint_pct,
        }  # fmt: skip
        return {tag: Reading(tag, value, Unit.NONE, Quality.GOOD, self.now_s) for tag, value in values.items()}

    def racks_seen(self) -> dict[str, RackSeen]:
        """Both racks as their retained states and snapshots tell."""
        memory, seen = self.memory, self.seen
        mine = {t: seen[t].value or 0.0 for t in TOLD if t in seen and seen[t].quality is Quality.GOOD}
        grants = (
            (GrantSeen(memory.leasing.grant_id, memory.leasing.epoch, memory.leasing.work or ""),)
            if memory.leasing.grant_id is not None and held(memory.leasing, self.now_s)
            else ()
        )
        rack, now_s = self.plant.racks[NEIGHBOUR], self.now_s
        other = {
            "FT-101": rack.flow_supply_lpm, "FT-102": rack.flow_return_lpm, "ZT-101": 100.0 * rack.fcv.position,
            "PT-101": rack.p_supply_kpa, "PT-102": rack.p_return_kpa, "JT-101": rack.feeder_kw, "ET-101": rack.busbar_kw,
            "LDT-101": 0.0, "LDT-102": 0.0, "LDT-103": 0.0, "LSH-203": 0.0, **self.neighbour_points,
        }  # fmt: skip
        latches = tuple(latch.sif for latch in memory.latches)
        return {
            RACK: RackSeen(memory.state, memory.isolate_wanted, memory.emergency, latches, grants, True, mine, now_s),
            **{
                name: RackSeen(State.FLOWING, online=True, points=points, at_s=now_s)
                for name, points in self.other_points.items()
            },
            NEIGHBOUR: RackSeen(self.neighbour_state, online=True, points=other, at_s=now_s),
        }

    def plan(self, view: LoopView, request: AnyRequest) -> Mapping[str, Any]:
        """The proof of a plan."""
        _, facts = answer(view, request)
        proof: Mapping[str, Any] = facts[-1].fields["proof"]
        return proof

    def _turn(self) -> None:
        if self.loop is None:
            return
        asks, self._heard = tuple(self._heard), []
        done = loop_step(
            self.loop, LoopInputs(self.cdu_readings(), self.racks_seen(), asks), "cdu1", self.loop_limits, self.now_s
        )
        self.loop = done.memory
        self.disk = reread(done.memory)
        self.loop_facts += done.facts
        if not self.silent:
            self.answers += tuple(
                Answer(one.ask_id, one.granted, one.id, one.epoch, one.ttl_s, one.work, one.reason, one.would_allow)
                for one in done.replies
            )
        cdu = self.plant.cdu
        cdu.dp_setpoint_kpa = done.writes.get("dp_sp", cdu.dp_setpoint_kpa)
        cdu.flow_setpoint_lpm = done.writes.get("flow_sp", cdu.flow_setpoint_lpm)
        cdu.speed_setpoint_pct = done.writes.get("speed_sp", cdu.speed_setpoint_pct)

    # -- both -----------------------------------------------------------------------------------------------------------

    def scan(self, *requests: Request, dt_s: float = 0.1) -> Scan:
        if self.sheds and self.place == (State.UNLOADING, Step.UNLOAD):
            self.rack.load_kw = 0.0  # Racky sheds when it sees the rack unloading
        done = super().scan(*requests, dt_s=dt_s)
        if not self.silent:
            self._heard += [_asked(ask) for ask in self.asks if self.loop is not None]
        if self.now_s - self._turned_s >= PERIOD_S - 1e-6 or self._heard:
            self._turned_s = self.now_s
            self._turn()
        if self.least_lpm is not None:
            self.least_lpm = min(self.least_lpm, self.plant.racks[NEIGHBOUR].flow_supply_lpm)
        return done

    def ask(self, name: str, /, *, role: str = "engineer", **args: object) -> Fact:
        """Ask, and scan until the answer is there: opening work waits for the coordinator first."""
        self._ids += 1
        request_id = f"id-{self._ids}"
        seq = None if REQUESTS[name].kind is Kind.SAFER else self.memory.state_seq
        self.scan(Request(request_id, name, role, "desk", args, "anna", "a test", seq))
        for _ in range(120):
            found = [fact for fact in self.told(FactKind.ANSWER) if fact.fields["id"] == request_id]
            if found:
                return found[-1]
            self.scan()
        raise AssertionError(f"{name} was never answered")


def _asked(ask: Ask) -> Asked:
    return Asked(RACK, ask.ask_id, ask.act, ask.work, ask.grant_id, ask.epoch)
