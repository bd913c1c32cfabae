"""Racky's core on paper: a rack in service, its shelves obeying after a while, stepped by hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fieldkit.reading import Quality, Reading, Reason
from fieldkit.request import Kind, Request
from fieldkit.units import Unit
from racky.core.facts import Fact, FactKind
from racky.core.memory import Memory, Phase
from racky.core.requests import REQUESTS
from racky.core.setup import Battery, Setup, Shelf
from racky.core.sight import AskTold, DaemonTold, LatchTold, Sight
from racky.core.step import Scan, step
from racky.core.view import View

SETUP = Setup(
    "r01", rating_kw=120.0, budget_kw=110.0, armed=True, shed=(113, 112, 111),
    shelves=tuple(Shelf(number, psus=("A", "B")) for number in (111, 112, 113)), batteries=(Battery(121),),
    link_of={"JT-111": "shelf_1", "XI-111": "shelf_1"},
)  # fmt: skip
VALVEY_POINTS = {
    "FT-101": 190.0, "FT-102": 190.0, "TT-101": 40.0, "TT-102A": 50.0, "TT-102B": 50.0, "TT-102C": 50.0, "PT-101": 310.0, "PT-102": 216.0,
    "PT-201": 320.0, "PT-202": 200.0, "TT-201": 40.0, "ZSO-101": 1.0, "ZSC-101": 0.0, "ZSO-102": 1.0, "ZSC-102": 0.0, "XI-101": 1.0,
    "LDT-101": 0.0, "LDT-102": 0.0, "ET-101": 90.0, "JT-101": 93.0, "EV-101": 50.0, "ZT-101": 60.0, "FY-102": 190.0, "TY-102": 50.0, "HS-102": 0.0,
}  # fmt: skip

VALVEY = DaemonTold(online=True, state="FLOWING", armed=True, inventory="full", tested=True, state_s=0.0)
LOOP = DaemonTold(online=True, state="SERVING", armed=True, state_s=0.0)


def reading(tag: str, value: float | None, at_s: float, reason: Reason | None = None) -> Reading:
    if value is None:
        return Reading(tag, None, Unit.NONE, Quality.BAD, at_s, reason or Reason.TIMEOUT)
    return Reading(tag, value, Unit.NONE, Quality.GOOD, at_s)


@dataclass
class PaperRacky:
    """``points`` and ``own`` may be set by a test; None = cannot be believed. ``obeys``: commands that are followed."""

    setup: Setup = SETUP
    memory: Memory = field(default_factory=Memory)
    now_s: float = 100.0
    points: dict[str, float | None] = field(default_factory=lambda: dict(VALVEY_POINTS))
    own: dict[str, float | None] = field(default_factory=dict)
    valvey: DaemonTold = field(default_factory=lambda: VALVEY)
    loop: DaemonTold = field(default_factory=lambda: LOOP)
    heard: bool = True
    obeys: bool = True
    follows_load: bool = True
    stuck: set[str] = field(default_factory=set)
    scans: list[Scan] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    told: tuple[AskTold, ...] = ()
    load_kw: float = 90.0
    _heard_s: float = 100.0
    _ids: int = 0

    def __post_init__(self) -> None:
        for output in self.setup.outputs:
            self.own.setdefault(output.feedback, 1.0)
        for shelf in self.setup.shelves:
            self.own.setdefault(shelf.power, self.load_kw / len(self.setup.shelves))
            for psu in shelf.psus:
                for letters, value in (
                    ("XA", 0.0),
                    ("SA", 0.0),
                    ("EA", 0.0),
                    ("ST", 9000.0),
                    ("JT", 5.0),
                    ("TT", 25.0),
                ):
                    self.own.setdefault(shelf.psu(letters, psu), value)
        for battery in self.setup.batteries:
            self.own.setdefault(battery.charge, 95.0)
            self.own.setdefault(battery.feeding, 0.0)
        for tag, value in (("ZS-110", 0.0), ("TT-110", 24.0), ("MT-110", 40.0), ("SYS-STORE", 0.0)):
            self.own.setdefault(tag, value)

    def sight(self) -> Sight:
        now_s = self.now_s
        self._heard_s = now_s if self.heard else self._heard_s
        points = {tag: reading(tag, value, self._heard_s) for tag, value in self.points.items()}
        valvey = replace(self.valvey, heard_s=self._heard_s, points=points)
        loop = replace(self.loop, heard_s=now_s)
        own = {tag: reading(tag, value, now_s) for tag, value in self.own.items()}
        told, self.told = self.told, ()
        return Sight(now_s, valvey, loop, True, own, dict.fromkeys(own, 2.0), told)

    def view(self, **changes: Any) -> View:
        return View(self.sight(), replace(self.memory, **changes), self.setup)

    def step(self, *requests: Request, dt_s: float = 0.5) -> Scan:
        self.now_s = round(self.now_s + dt_s, 6)
        scan = step(self.memory, self.sight(), requests, self.setup, self.now_s)
        self.memory = scan.memory
        self.scans.append(scan)
        self.facts.extend(scan.facts)
        if self.obeys:
            self._obey(scan.writes)
        return scan

    def _obey(self, writes: Mapping[str, float]) -> None:
        for tag, value in writes.items():
            if tag not in self.stuck:
                self.own[tag.replace("XS-", "XI-")] = value
        on = [shelf for shelf in self.setup.shelves if self.own[shelf.feedback]]
        for shelf in self.setup.shelves if self.follows_load else ():
            self.own[shelf.power] = self.load_kw / len(self.setup.shelves) if shelf in on else 0.0
        if self.follows_load:
            busbar_kw = self.load_kw * len(on) / max(1, len(self.setup.shelves))
            self.points |= {"ET-101": busbar_kw, "JT-101": busbar_kw / 0.965}

    def run(self, for_s: float, dt_s: float = 0.5) -> "PaperRacky":
        for _ in range(round(for_s / dt_s)):
            self.step(dt_s=dt_s)
        return self

    def ask(self, name: str, /, *, role: str = "engineer", why: str = "a test", **args: Any) -> Fact:
        """Ask with the present state_seq and return the answer."""
        self._ids += 1
        return self.send(Request(f"id-{self._ids}", name, role, "desk", args, "anna", why, self.memory.state_seq))

    def send(self, request: Request) -> Fact:
        self.step(request)
        return next(f for f in reversed(self.facts) if f.kind is FactKind.ANSWER and f.fields["id"] == request.id)

    def kinds(self, kind: FactKind) -> list[Fact]:
        return [fact for fact in self.facts if fact.kind is kind]

    def phase(self) -> Phase:
        """A call, so that a test may ask for it again."""
        return self.memory.power.phase

    @property
    def causes(self) -> list[str]:
        return [cause.id for cause in self.scans[-1].health.causes]

    def latched(self, *sifs: str) -> None:
        latches = tuple(LatchTold(sif, f"{sif}: a test", self.now_s) for sif in sifs)
        self.valvey = replace(self.valvey, latches=latches)

    def shown(self) -> list[float | None]:
        """Feedback of all outputs, in order."""
        return [self.own[output.feedback] for output in self.setup.outputs]


_SETTLED: dict[str, PaperRacky] = {}
"""One rack that is on and one that is off, made once: a test gets a copy."""


def running(**changes: Any) -> PaperRacky:
    """A rack found on, as at a start of Racky."""
    return _settled("on", changes)


def switched_off(**changes: Any) -> PaperRacky:
    """A rack in service whose shelves a person has switched off."""
    return _settled("off", changes)


def _settled(state: str, changes: dict[str, Any]) -> PaperRacky:
    if changes or state not in _SETTLED:
        rack = PaperRacky(replace(SETUP, **changes)).run(2.0)
        assert rack.phase() is Phase.ON
        assert rack.scans[-1].health.healthy, rack.causes
        if state == "off":
            rack.ask("power_off")
            rack.run(15.0)
            assert rack.phase() is Phase.OFF
        if changes:
            return rack
        _SETTLED[state] = rack
    one = _SETTLED[state]
    return replace(
        one, points=dict(one.points), own=dict(one.own), stuck=set(), scans=list(one.scans), facts=list(one.facts)
    )


def kind_of(rack: PaperRacky, name: str) -> Kind:
    return REQUESTS[name].kind(rack.view(), Request("x", name, "engineer", "desk"))
