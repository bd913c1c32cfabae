"""A rack's life on paper: a Valvey that does what it is asked, shelves that obey, meters that agree. A second a step.

Values stay where a test puts them; where it says nothing, everything is as in a good rack.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from fieldkit.alarm import Phase as AlarmPhase
from fieldkit.alarm import Priority
from fieldkit.coolant import density_kg_m3
from fieldkit.reading import Quality, Reading, Reason
from fieldkit.request import Request
from fieldkit.units import Unit
from racky.core import answering, lifecycle, persist, power
from racky.core.causes import Health
from racky.core.facts import Fact, FactKind
from racky.core.firmware import Order, Reply
from racky.core.gates import Evidence
from racky.core.inventory import Identity
from racky.core.life import Run, RunStatus, RunTold
from racky.core.lifecycle_chart import State, Step
from racky.core.memory import Maintenance, Memory, Phase
from racky.core.plan import Plan
from racky.core.sight import AlarmTold, AskTold, DaemonTold, LatchTold, Sight
from racky.core.view import View
from tests.racky.core.plans import PAPER, identities, on_paper
from tests.stored import reread

BOOT = "boot-1"
GOOD: dict[str, float | None] = {
    "FT-101": 197.0, "FT-102": 197.0 * density_kg_m3(40.0) / density_kg_m3(49.5), "TT-101": 40.0, "TT-102A": 49.5, "TT-102B": 49.5,
    "TT-102C": 49.6, "PT-101": 310.0, "PT-102": 219.0, "ZT-101": 75.0, "PT-201": 342.4, "PT-202": 142.0, "FT-201": 539.0,
    "LDT-101": 0.0, "LDT-102": 0.0, "LDT-103": 0.0, "XI-101": 1.0, "HS-102": 0.0,
}  # fmt: skip
WIDE: dict[str, float | None] = {"FT-101": 267.0, "FT-102": 267.0, "TT-102A": 40.0, "TT-102B": 40.0, "TT-102C": 40.0, "PT-101": 320.0, "PT-102": 154.2, "ZT-101": 100.0, "PT-201": 352.6, "FT-201": 539.0}  # fmt: skip


@dataclass
class PaperLife:
    """``values`` override what Valvey tells, ``own`` what Racky reads; None: cannot be believed."""

    plan: Plan = PAPER
    memory: Memory = field(default_factory=lambda: Memory(boot_id=BOOT))
    now_s: float = 1000.0
    boot_id: str = BOOT
    armed: bool = True
    values: dict[str, float | None] = field(default_factory=dict)
    wide: dict[str, float | None] = field(default_factory=dict)
    own: dict[str, float | None] = field(default_factory=dict)
    found: dict[str, Identity] = field(default_factory=identities)
    state: str = "DRAINED"
    step_name: str = "hold"
    inventory: str = "empty"
    tested: bool | None = False
    heard: bool = True
    failed: str | None = None
    latches: tuple[str, ...] = ()
    alarms: dict[str, Priority] = field(default_factory=dict)
    refuses: str | None = None
    """Why Valvey refuses everything."""
    silent: bool = False
    """Nothing comes back of anything asked."""
    gives_up: str | None = None
    """Why the next work that Valvey begins is given up."""
    on: dict[str, bool] = field(default_factory=dict)
    obeys: bool = True
    load_kw: float = 125.0
    outcomes: dict[str, RunStatus] = field(default_factory=dict)
    devices: dict[str, Callable[[Order, float], Reply]] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    points: list[dict[str, object]] = field(default_factory=list)
    runs: dict[str, RunTold] = field(default_factory=dict)
    wanted: tuple[Run, ...] = ()
    orders: tuple[Order, ...] = ()
    _told: list[AskTold] = field(default_factory=list)
    _replies: list[Reply] = field(default_factory=list)
    _orders: set[tuple[str, int]] = field(default_factory=set)
    _keys: set[str] = field(default_factory=set)
    _work: tuple[str, str, float] | None = None
    _wide: bool = False
    _ids: int = 0

    def __post_init__(self) -> None:
        self.setup = on_paper(self.plan, armed=self.armed)
        for output in self.setup.outputs:
            self.on.setdefault(output.command, False)

    # -- what is seen ---------------------------------------------------------------------------------------------------

    @property
    def life(self) -> State:
        return self.memory.life.state

    @property
    def place(self) -> tuple[State, Step]:
        return self.memory.life.state, self.memory.life.step

    @property
    def report(self) -> dict[str, Evidence]:
        return {one.gate: one for one in self.memory.life.report}

    @property
    def refused(self) -> set[str]:
        return {one.gate for one in self.memory.life.report if not one.ok}

    @property
    def remark(self) -> str:
        return self.memory.life.remark

    def _kw(self) -> float:
        burning = any(run.diagnostic == "burn-in" for run in self.wanted)
        return self.load_kw if burning and all(self.on.values()) else 0.0

    def _reading(self, tag: str, value: float | None) -> Reading:
        quality, reason = (Quality.GOOD, None) if value is not None else (Quality.BAD, Reason.TIMEOUT)
        return Reading(tag, value, Unit.NONE, quality, self.now_s, reason)

    def sight(self) -> Sight:
        kw = self._kw()
        values = GOOD | {"ET-101": kw, "JT-101": kw / 0.975}
        if self._wide:
            values |= WIDE | self.wide
        values |= self.values
        own: dict[str, float | None] = {}
        for shelf in self.setup.shelves:
            share = kw / max(1, sum(self.on.values())) if self.on[shelf.command] else 0.0
            own |= {shelf.feedback: float(self.on[shelf.command]), shelf.power: share}
            for psu in shelf.psus:
                own |= {
                    shelf.psu("JT", psu): share / 6.0, shelf.psu("ST", psu): 4000.0 + share, shelf.psu("XA", psu): 0.0,
                    shelf.psu("SA", psu): 0.0, shelf.psu("EA", psu): 0.0,
                }  # fmt: skip
        own |= self.own
        alarms = {name: AlarmTold(name, True, AlarmPhase.UNACK, one, "", "", 0.0) for name, one in self.alarms.items()}
        valvey = DaemonTold(
            online=self.heard, heard_s=self.now_s, state_s=self.now_s, state=self.state, step=self.step_name, state_seq=7, armed=True,
            inventory=self.inventory, tested=self.tested, latches=tuple(LatchTold(one, "", 0.0) for one in self.latches),
            failed=self.failed, alarms=alarms, points={tag: self._reading(tag, value) for tag, value in values.items() if tag != "FT-201"},
        )  # fmt: skip
        loop = DaemonTold(
            online=True,
            heard_s=self.now_s,
            state_s=self.now_s,
            points={"FT-201": self._reading("FT-201", values["FT-201"])},
        )
        told, self._told = tuple(self._told), []
        replies, self._replies = tuple(self._replies), []
        return Sight(
            self.now_s, valvey, loop, True, {tag: self._reading(tag, value) for tag, value in own.items()}, dict.fromkeys(own, 3.0),
            told=told, identities=dict(self.found), replies=replies, runs=dict(self.runs),
        )  # fmt: skip

    # -- time -----------------------------------------------------------------------------------------------------------

    def step(self, *requests: Request, dt_s: float = 1.0) -> lifecycle.Stepped:
        self.now_s += dt_s
        self._valvey()
        view = View(self.sight(), replace(self.memory, now_s=self.now_s), self.setup, Health())
        view, facts = power.trip(view)
        view, told = answering.expire(view)
        facts += told
        for request in requests:
            view, told = answering.answer(view, request)
            facts += told
        lived = lifecycle.advance(view)
        view, writes, told = power.advance(lived.view)
        self.memory = view.memory
        self.facts += [*facts, *lived.facts, *told]
        if self.obeys:
            self.on |= {command: value >= 0.5 for command, value in writes.items()}
        self._serve(lived)
        return lived

    def _serve(self, lived: lifecycle.Stepped) -> None:
        self.wanted, self.orders = lived.wanted.runs, lived.wanted.orders
        keys = {run.key: run for run in self.wanted}
        self.runs = {key: told for key, told in self.runs.items() if key in keys}
        for key, run in keys.items():
            ends = RunStatus.RUNNING if run.diagnostic == "burn-in" else RunStatus.PASSED
            self.runs[key] = RunTold(key, self.outcomes.get(run.diagnostic, ends), "its last line")
        for order in self.orders:
            if (order.device, order.id) not in self._orders and order.device in self.devices:
                self._orders.add((order.device, order.id))
                self._replies.append(self.devices[order.device](order, self.now_s))
        for ask in lived.asks:
            if ask.key in self._keys:
                continue
            self._keys.add(ask.key)
            self.asked.append(ask.request)
            self.points.append(dict(ask.args))
            assert ask.expect_seq == 7
            assert "anna" in ask.why
            if self.silent:
                continue
            if self.refuses is not None:
                self._told.append(AskTold(ask.key, "refused", self.now_s, self.refuses, "patience"))
                continue
            self._told.append(AskTold(ask.key, "accepted", self.now_s))
            if ask.request == "set_point":
                self._wide = "fcv_pct" in ask.args
            else:
                self.state = {"fill": "FILLING", "test": "TESTING", "open": "OPENING"}[ask.request]
                self._work = (ask.request, ask.key, self.now_s + 8.0)

    def _valvey(self) -> None:
        if self._work is None or self.now_s < self._work[2]:
            return
        request, key, _ = self._work
        self._work = None
        if self.gives_up is not None:
            self.state, self.failed = "ISOLATED", self.gives_up
            self._told.append(AskTold(key, "failed", self.now_s, self.gives_up))
            return
        if request == "open":
            self.state = "FLOWING"
        else:
            self.state, self.inventory, self.tested = "ISOLATED", "full", True
        self._told.append(AskTold(key, "succeeded", self.now_s))

    def run(self, for_s: float) -> "PaperLife":
        end_s = self.now_s + for_s
        while self.now_s < end_s:
            self.step()
        return self

    def until(self, *wanted: State | Step, most_s: float = 3000.0) -> "PaperLife":
        end_s = self.now_s + most_s
        while self.memory.life.state not in wanted and self.memory.life.step not in wanted:
            assert self.now_s < end_s, (self.place, self.remark)
            self.step()
        return self

    def ask(self, name: str, **args: object) -> Fact:
        self._ids += 1
        self.step(
            Request(f"p-{self._ids}", name, "engineer", "desk", args, "anna", "a new rack", self.memory.state_seq)
        )
        return [fact for fact in self.facts if fact.kind is FactKind.ANSWER][-1]

    def admit(self) -> "PaperLife":
        if self.life is State.DISCOVERED:
            self.until(State.IDENTIFIED)
        answer = self.ask("admit")
        assert answer.fields["status"] == "accepted", answer.fields
        return self

    def at(self, *wanted: State | Step) -> "PaperLife":
        return self.admit().until(*wanted)

    def restart(self, boot_id: str = BOOT, away_s: float = 5.0) -> "PaperLife":
        """Racky dies and comes back with what it wrote; what came back of asks and orders meanwhile is lost."""
        stored = reread(self.memory)
        self.now_s = self.now_s + away_s if boot_id == BOOT else 50.0
        if boot_id != BOOT and self._work is not None:
            self._work = (self._work[0], self._work[1], 60.0)
        self._told.clear()
        self._replies.clear()
        self.runs.clear()
        self.memory = persist.begin(stored, boot_id=boot_id, now_s=self.now_s)
        return self

    def maintain(self, for_s: float = 600.0) -> "PaperLife":
        self.memory = replace(self.memory, maintenance=Maintenance("anna", "hoses", self.now_s, self.now_s + for_s))
        return self

    def copy(self) -> "PaperLife":
        """The same rack once more: nothing that one does is seen by the other. What is frozen is shared."""
        return replace(
            self, values=dict(self.values), wide=dict(self.wide), own=dict(self.own), found=dict(self.found), alarms=dict(self.alarms),
            on=dict(self.on), outcomes=dict(self.outcomes), devices=dict(self.devices), facts=list(self.facts), asked=list(self.asked),
            points=list(self.points), runs=dict(self.runs), _told=list(self._told), _replies=list(self._replies),
            _orders=set(self._orders), _keys=set(self._keys),
        )  # fmt: skip

    def told(self, what: str) -> list[Fact]:
        return [fact for fact in self.facts if fact.kind is FactKind.LIFECYCLE and fact.fields["what"] == what]


def in_production() -> PaperLife:
    return PaperLife().at(State.PRODUCTION)


def powered(rack: PaperLife) -> bool:
    return rack.memory.power.phase in {Phase.RISING, Phase.ON}
