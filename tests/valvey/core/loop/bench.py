"""A whole loop in stepped time: the simulator's plant and devices below, the coordinator's step above, nothing in between.

The coordinator sees what a daemon would: the CDU's registers five times a second, and once a second what each rack's
transmitters show. Racks are worked on by hand: a script moves their valves as the rack's own procedures do. Their flow
control valves stand still otherwise, which is the hardest case for whoever has to keep the neighbours' flow.
"""

import struct
from collections import deque
from dataclasses import replace
from typing import Any, Self

from fieldkit.reading import Quality, Reading
from fieldkit.request import Request
from fieldkit.units import Unit
from firmware_sim.bank import Bank
from firmware_sim.bench_config import demo_bench
from firmware_sim.parts.registers import Answer
from firmware_sim.plant_config import CduMode
from valvey.core.chart import State
from valvey.core.leasing import Act
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.leases import Asked, Reply, begin
from valvey.core.loop.limits import Bounds, LoopLimits, Mode, RackRow
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.seen import RackSeen
from valvey.core.loop.step import LoopInputs, LoopScan, step

STEP_S, TELEMETRY_S = 0.2, 1.0
ADDRESS = {"dp_sp": 2, "flow_sp": 4, "speed_sp": 6, "supply_sp": 8}
TAGS = ("FT-101", "FT-102", "ZT-101", "PT-101", "PT-102", "JT-101", "ET-101")
EVER_S = 1e9


def limits_of(bank: Bank, **changes: object) -> LoopLimits:
    """What a site's file would say of the bench."""
    plant = bank.plant.config
    rated = sum(rack.design_flow_lpm for rack in plant.racks)
    base = LoopLimits(
        racks={
            rack.name: RackRow(
                rack.name, rack.rated_kw, rack.design_flow_lpm, 1 + n, rack.fcv_kvs, rack.fcv_rangeability, 45.0, "s1"
            )
            for n, rack in enumerate(plant.racks)
        },
        bounds={
            Mode.FIXED_SPEED: Bounds(30.0, 100.0),
            Mode.CONSTANT_DP: Bounds(80.0, 320.0),
            Mode.CONSTANT_FLOW: Bounds(200.0, 2.0 * rated),
        },
        dead_head_kpa=100.0 * plant.cdu.pump_dp0_bar,
        design_dp_kpa=205.0,
        rated_lpm=rated,
        armed=True,
        simulated=True,
        sumps_l={"s1": 120.0},
        dp_remote=plant.cdu.dp_node > 0,
        bypass_fitted=True,
        makeup_lpm=plant.cdu.makeup_max_lpm,
        reservoir_l=plant.cdu.reservoir_l,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


class LoopBench:
    """One loop under test. ``deviations`` holds each neighbour's 10 s mean of its true flow against ``reference``, in %."""

    def __init__(self, racks: int = 8, mode: CduMode = CduMode.CONSTANT_DP, seed: int = 1, **changes: object) -> None:
        bench = demo_bench(racks, mode=mode, seed=seed, attended_s=EVER_S, **_of_bench(changes))
        self.bank = Bank(bench)
        self.limits = limits_of(self.bank, **changes)
        self.memory = begin(LoopMemory(), 0.0)
        self.seen = {name: RackSeen(state=State.FLOWING, online=True) for name in self.bank.rigs}
        self.facts: list[LoopFact] = []
        self.replies: list[Reply] = []
        self.writes: list[tuple[float, dict[str, float]]] = []
        self.scan: LoopScan | None = None
        self.coordinated = True
        """Whether what the coordinator demands is written."""
        self.others = False
        self.reference: dict[str, float] = {}
        self.worst: dict[str, float] = {}
        self._window: deque[dict[str, float]] = deque(maxlen=round(10.0 / STEP_S))
        self._asks: list[Asked] = []
        self._requests: list[Request] = []
        self._told_s = float("-inf")
        self._ids = 0
        self._leased: dict[str, tuple[str, str]] = {}
        self._renewed_s = 0.0

    @property
    def now_s(self) -> float:
        return self.bank.now_s

    # -- time -------------------------------------------------------------------------------------------------------

    def run(self, for_s: float) -> Self:
        for _ in range(round(for_s / STEP_S)):
            self.turn()
        return self

    def turn(self) -> LoopScan:
        self.bank.advance(STEP_S)
        if self.now_s - self._told_s >= TELEMETRY_S - 1e-6:
            self._told_s = self.now_s
            self.tell()
        if self._leased and self.now_s - self._renewed_s >= 10.0:
            self._renewed_s = self.now_s
            for rack, (work, grant_id) in self._leased.items():
                self._say(rack, Act.RENEW, work, grant_id)
        inputs = LoopInputs(self.readings(), self.seen, tuple(self._asks), tuple(self._requests), self.others)
        self._asks, self._requests = [], []
        scan = step(self.memory, inputs, "cdu1", self.limits, self.now_s)
        self.memory, self.scan = scan.memory, scan
        self.facts += scan.facts
        self.replies += scan.replies
        if scan.writes and self.coordinated:
            self.writes.append((self.now_s, dict(scan.writes)))
            for point, value in scan.writes.items():
                self.write(point, value)
        self._watch()
        return scan

    def _watch(self) -> None:
        flows = {name: rack.flow_supply_lpm for name, rack in self.bank.plant.racks.items()}
        self._window.append(flows)
        if not self.reference or len(self._window) < (self._window.maxlen or 0):
            return
        for name, was in self.reference.items():
            mean = sum(one[name] for one in self._window) / len(self._window)
            pct = 100.0 * (mean / was - 1.0)
            if abs(pct) > abs(self.worst.get(name, 0.0)):
                self.worst[name] = pct

    def note_reference(self, *but: str) -> None:
        """Judge the flow of all racks but these against what they have now."""
        self.reference = {n: rack.flow_supply_lpm for n, rack in self.bank.plant.racks.items() if n not in but}
        self.worst = {}
        self._window.clear()

    def most_pct(self) -> float:
        """The worst 10 s mean of any neighbour, %."""
        return max(self.worst.values(), key=abs, default=0.0)

    # -- what is seen -----------------------------------------------------------------------------------------------

    def readings(self) -> dict[str, Reading]:
        cdu, now_s = self.bank.cdu, self.now_s
        values = {tag: channel.shown for tag, channel in cdu.channels.items()}
        mode, dp, flow, speed = cdu.set_points()
        values |= {"CDU-MODE": float(mode), "SP-DP": dp, "SP-FLOW": flow, "SP-SPEED": speed, "SP-SUPPLY": cdu.supply_c}
        bits = cdu.input.get_u16(22)
        values |= {"P-201": cdu.input.get_f32(12), "P-201-TRIP": float(bits & 1), "LDT-201": float(bits >> 2 & 1)}
        return {tag: Reading(tag, value, Unit.NONE, Quality.GOOD, now_s) for tag, value in values.items()}

    def tell(self) -> None:
        """Every rack's snapshot."""
        for name, rig in self.bank.rigs.items():
            channels = {tag: channel.shown for tag, _, channel in rig.channels()}
            points = {tag: channels[tag] for tag in TAGS if tag in channels}
            points |= {"LDT-101": 0.0, "LDT-102": 0.0, "LDT-103": 0.0, "LSH-203": 0.0}
            self.seen[name] = replace(self.seen[name], points=points, at_s=self.now_s)

    def put(self, rack: str, **changes: object) -> None:
        """Let a rack's retained state say something else."""
        self.seen[rack] = replace(self.seen[rack], **changes)  # type: ignore[arg-type]

    def told(self, kind: LoopFactKind) -> list[LoopFact]:
        return [fact for fact in self.facts if fact.kind is kind]

    # -- what is done -----------------------------------------------------------------------------------------------

    def write(self, point: str, value: float) -> None:
        words = struct.unpack(">HH", struct.pack(">f", value))
        assert self.bank.cdu.write_registers(ADDRESS[point], words, self.now_s) is Answer.OK
        assert self.bank.cdu.take_request()
        self.bank._take_set_points()

    def _say(self, rack: str, act: Act, work: str, grant_id: str | None) -> str:
        self._ids += 1
        ask_id = f"00000000-0000-0000-0000-{self._ids:012d}"
        self._asks.append(Asked(rack, ask_id, act, work, grant_id, None))
        return ask_id

    def ask(self, rack: str, work: str, act: Act = Act.ASK) -> Reply:
        """Ask for a lease and renew it from then on when it is granted; GIVE_BACK ends that."""
        known = self._leased.pop(rack, None)
        ask_id = self._say(rack, act, work, known[1] if known is not None else None)
        self.turn()
        reply = next(one for one in self.replies[::-1] if one.ask_id == ask_id)
        if reply.granted and reply.id is not None:
            self._leased[rack] = (work, reply.id)
        return reply

    def request(self, name: str, /, role: str = "engineer", why: str = "a test", **args: object) -> LoopFact:
        self._ids += 1
        request_id = f"request-{self._ids}"
        seq = self.memory.state_seq
        self._requests.append(Request(request_id, name, role, "edda", args, "", why, seq))
        self.turn()
        return next(fact for fact in self.facts[::-1] if fact.fields.get("id") == request_id)

    def drive(self, rack: str, coils: tuple[bool, bool, bool, bool, bool], fcv_pct: float) -> None:
        self.bank.rigs[rack].valves.hand_over(coils, fcv_pct, self.now_s)

    def isolate(self, rack: str) -> None:
        """As a planned isolation does: dark, throttle over 120 s, supply valve, return valve."""
        rig = self.bank.rigs[rack]
        start_pct = rig.plant.fcv.position * 100.0
        self.put(rack, state=State.COOLDOWN, isolate_wanted=True)
        rig.load_kw = 0.0
        for n in range(120):
            share = (n + 1) / 120.0
            self.drive(rack, (True, True, False, False, False), start_pct - share * max(0.0, start_pct - 10.0))
            self.run(1.0)
        self.put(rack, state=State.ISOLATING, isolate_wanted=False)
        self.drive(rack, (False, True, False, False, False), 0.0)
        self.run(6.0)
        self.drive(rack, (False, False, False, False, False), 0.0)
        self.run(6.0)
        self.put(rack, state=State.ISOLATED)

    def trip(self, rack: str) -> None:
        """As a leak does: both valves at once, supply first."""
        self.put(rack, state=State.ISOLATING, emergency=True, latches=("SIF-1",))
        self.drive(rack, (False, True, False, False, False), 0.0)
        self.run(4.0)
        self.drive(rack, (False, False, False, False, False), 0.0)
        self.run(6.0)
        self.put(rack, state=State.ISOLATED)

    def drain(self, rack: str) -> None:
        self.put(rack, state=State.DRAINING)
        self.drive(rack, (False, False, True, True, False), 0.0)
        self.run(180.0)
        self.drive(rack, (False, False, False, False, False), 0.0)
        self.run(5.0)
        self.put(rack, state=State.DRAINED)

    def fill(self, rack: str, fcv_pct: float = 8.0) -> None:
        """Supply open, return shut, vent open, throttled to the make-up rate."""
        self.put(rack, state=State.FILLING)
        self.drive(rack, (True, False, False, True, False), fcv_pct)
        rig = self.bank.rigs[rack]
        for _ in range(600):
            self.run(1.0)
            if rig.plant.air_pct < 1.0:
                break
        self.drive(rack, (False, False, False, False, False), 0.0)
        self.run(6.0)
        self.put(rack, state=State.ISOLATED)

    def open(self, rack: str, flow_lpm: float) -> None:
        """As a return to service does: return valve, supply valve, then FCV-101 at its own speed until the flow is there."""
        self.put(rack, state=State.OPENING)
        rig = self.bank.rigs[rack]
        self.drive(rack, (False, True, False, False, False), 10.0)
        self.run(12.0)
        self.drive(rack, (True, True, False, False, False), 10.0)
        self.run(6.0)
        pct = 10.0
        while rig.plant.flow_supply_lpm < flow_lpm and pct < 100.0:
            pct += STEP_S * 100.0 / 90.0
            self.drive(rack, (True, True, False, False, False), min(pct, 100.0))
            self.run(STEP_S)
        self.drive(rack, (True, True, False, False, False), rig.plant.fcv.position * 100.0)
        self.run(5.0)
        self.put(rack, state=State.FLOWING, latches=())


def _of_bench(changes: dict[str, object]) -> dict[str, Any]:
    """Take the settings that are the simulator's own out of ``changes``."""
    return {name: changes.pop(name) for name in ("kv_segment", "cdu", "power") if name in changes}
