"""A loop on paper: the CDU's readings and every rack's messages are set by hand, and stepped by hand."""

from dataclasses import dataclass, field, replace

from fieldkit.reading import Quality, Reading
from fieldkit.request import Request
from fieldkit.units import Unit
from valvey.core.chart import State
from valvey.core.leasing import Act
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.leases import Asked, Reply, begin
from valvey.core.loop.limits import Bounds, LoopLimits, Mode, RackRow
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.seen import LoopView, RackSeen
from valvey.core.loop.step import LoopInputs, LoopScan, step

DT_S = 0.5
RATED = 800.0
DEAD_KPA = 450.0
CDU = {
    "PT-201": 360.0, "PT-202": 150.0, "FT-201": RATED, "TT-201": 40.0, "TT-202": 50.0, "LT-201": 90.0, "P-201": 85.0, "P-201-TRIP": 0.0,
    "LDT-201": 0.0, "CDU-MODE": 2.0, "SP-DP": 210.0, "SP-FLOW": RATED, "SP-SPEED": 85.0, "SP-SUPPLY": 40.0,
    "P-201-RUN": 1.0,
}  # fmt: skip
RACK = {
    "FT-101": 200.0, "FT-102": 200.0, "ZT-101": 60.0, "JT-101": 120.0, "ET-101": 118.0, "LDT-101": 0.0, "LDT-102": 0.0,
    "LDT-103": 0.0, "LSH-203": 0.0, "XI-101": 1.0,
}  # fmt: skip


def limits(**changes: object) -> LoopLimits:
    base = LoopLimits(
        racks={f"r{n}": RackRow(f"r{n}", 132.0, 200.0, n, 30.4, 50.0, 45.0, "s1") for n in range(1, 5)},
        bounds={
            Mode.FIXED_SPEED: Bounds(40.0, 100.0),
            Mode.CONSTANT_DP: Bounds(80.0, 300.0),
            Mode.CONSTANT_FLOW: Bounds(300.0, 1200.0),
        },
        dead_head_kpa=DEAD_KPA,
        design_dp_kpa=205.0,
        rated_lpm=RATED,
        armed=True,
        simulated=True,
        sumps_l={"s1": 120.0},
        bypass_fitted=True,
        makeup_lpm=40.0,
        reservoir_l=200.0,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


@dataclass
class PaperLoop:
    """One loop. ``cdu`` and ``racks`` are what is read and told; None there = not good, a missing rack = not heard of."""

    limits: LoopLimits = field(default_factory=limits)
    memory: LoopMemory = field(default_factory=LoopMemory)
    cdu: dict[str, float | None] = field(default_factory=lambda: dict(CDU))
    now_s: float = 1000.0
    others: bool = False
    write_failed: bool = False
    obey: bool = True
    """The CDU's registers take what is written."""
    telling: bool = True
    """Racks go on sending snapshots."""
    racks: dict[str, RackSeen] = field(default_factory=dict)
    facts: list[LoopFact] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    scans: list[LoopScan] = field(default_factory=list)
    ids: int = 0

    def __post_init__(self) -> None:
        if not self.racks:
            self.racks = {
                name: RackSeen(state=State.FLOWING, online=True, points=dict(RACK)) for name in self.limits.racks
            }
        self.memory = begin(self.memory, self.now_s)

    def readings(self) -> dict[str, Reading]:
        out = {}
        for tag, value in self.cdu.items():
            quality = Quality.BAD if value is None else Quality.GOOD
            out[tag] = Reading(tag, value, Unit.NONE, quality, self.now_s)
        return out

    def view(self, **changes: object) -> LoopView:
        base = LoopView(self.readings(), self.racks, self.memory, self.limits, self.now_s, self.others)
        return replace(base, **changes)  # type: ignore[arg-type]

    def scan(self, *asks: Asked, requests: tuple[Request, ...] = (), dt_s: float = DT_S) -> LoopScan:
        self.now_s += dt_s
        if self.telling:
            self.racks = {name: replace(seen, at_s=self.now_s) for name, seen in self.racks.items()}
        self.inputs = LoopInputs(self.readings(), dict(self.racks), asks, requests, self.others, self.write_failed)
        done = step(self.memory, self.inputs, "cdu1", self.limits, self.now_s)
        risen = done.memory.state_seq - self.memory.state_seq
        told = sum(fact.kind is not LoopFactKind.ALARM for fact in done.facts)
        assert 0 <= risen <= told, "what a decision was made on is never counted back, nor twice"
        self.memory = done.memory
        self.scans.append(done)
        self.facts += done.facts
        self.replies += done.replies
        if self.obey:
            names = {
                "speed_sp": "SP-SPEED",
                "dp_sp": "SP-DP",
                "flow_sp": "SP-FLOW",
                "pumps_run": "P-201-RUN",
                "supply_sp": "SP-SUPPLY",
            }
            self.cdu |= {names[point]: value for point, value in done.writes.items()}
        return done

    def run(self, for_s: float) -> "PaperLoop":
        for _ in range(round(for_s / DT_S)):
            self.scan()
        return self

    def settled(self) -> "PaperLoop":
        """Past the time in which nothing is granted."""
        for _ in range(7):
            self.scan(dt_s=5.0)
        return self

    def put(self, rack: str, /, points: dict[str, float] | None = None, **changes: object) -> None:
        seen = replace(self.racks[rack], **changes)  # type: ignore[arg-type]
        self.racks[rack] = seen if points is None else replace(seen, points={**seen.points, **points})

    def lose(self, rack: str, *tags: str) -> None:
        seen = self.racks[rack]
        self.racks[rack] = replace(seen, points={t: v for t, v in seen.points.items() if t not in tags})

    def say(
        self, rack: str, work: str, act: Act = Act.ASK, grant_id: str | None = None, epoch: int | None = None
    ) -> Reply:
        self.ids += 1
        ask_id = f"00000000-0000-0000-0000-{self.ids:012d}"
        self.scan(Asked(rack, ask_id, act, work, grant_id, epoch))
        return next(reply for reply in self.replies[::-1] if reply.ask_id == ask_id)

    def request(
        self, name: str, /, *, role: str = "engineer", why: str = "a test", seq: int | None = None, expired: bool = False, **args: object
    ) -> LoopFact:  # fmt: skip
        self.ids += 1
        seq = self.memory.state_seq if seq is None else seq
        one = Request(f"request-{self.ids}", name, role, "edda", args, "Edda", why, seq, expired)
        self.scan(requests=(one,))
        return next(f for f in self.facts[::-1] if f.kind is LoopFactKind.ANSWER and f.fields["id"] == one.id)

    def told(self, kind: LoopFactKind) -> list[LoopFact]:
        return [fact for fact in self.facts if fact.kind is kind]

    def alarms(self) -> set[str]:
        return {name for name, state in self.memory.alarms.items() if state.active}
