"""The paper rack: a dict of readings that behaves as a flowing rack would, stepped by hand. No wire, no clock.

Valves follow their coils at once or after ``stroke_s``; values stay where a test puts them. Where a test says
nothing, the field does what it was told.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from fieldkit.reading import Quality, Reading, Reason
from fieldkit.request import Kind
from fieldkit.units import Unit
from valvey.core import gate
from valvey.core.adoption import begin
from valvey.core.chart import State
from valvey.core.facts import Fact, FactKind
from valvey.core.flow_state import Control, Demand, Learned, Mode, Steering
from valvey.core.leasing import Answer, Ask
from valvey.core.limits import Limits
from valvey.core.memory import Inventory, Memory
from valvey.core.policy import DEFAULT_POLICY
from valvey.core.requests import REQUESTS, Request
from valvey.core.step import Scan, Setup, setup, step

PERIOD_S = 0.05
BOOT = "boot-1"

CONTACTS = (
    "ZSO-101", "ZSC-101", "ZSO-102", "ZSC-102", "ZSC-103", "ZSC-104", "XY-101", "XY-102", "XY-103", "XY-104", "XSY-101",
    "XI-101", "HS-101", "HS-102", "LSH-203", "LDT-101", "LDT-102", "LDT-103", "LDA-101", "LDA-102", "LDA-103",
)  # fmt: skip
FLOWING_VALUES: dict[str, float] = {
    "ZSO-101": 1, "ZSC-101": 0, "ZSO-102": 1, "ZSC-102": 0, "ZSC-103": 1, "ZSC-104": 1,
    "XY-101": 1, "XY-102": 1, "XY-103": 0, "XY-104": 0, "XSY-101": 1, "XI-101": 1, "HS-101": 0, "HS-102": 0, "LSH-203": 0,
    "ZT-101": 60.0, "FT-101": 198.0, "FT-102": 198.0, "FT-103": 0.0, "TT-101": 40.0, "TT-102A": 50.0, "TT-102B": 50.0, "TT-102C": 50.0,
    "PT-101": 310.0, "PT-102": 215.8, "LDT-101": 0, "LDT-102": 0, "LDT-103": 0, "LDA-101": 0, "LDA-102": 0, "LDA-103": 0,
    "JT-101": 132.0, "ET-101": 130.0, "EV-101": 50.0,
}  # fmt: skip
SHUT_VALUES: dict[str, float] = {
    **FLOWING_VALUES,
    "ZSO-101": 0, "ZSC-101": 1, "ZSO-102": 0, "ZSC-102": 1, "XY-101": 0, "XY-102": 0, "XSY-101": 0, "XI-101": 0,
    "ZT-101": 0.0, "FT-101": 0.0, "FT-102": 0.0, "JT-101": 0.0, "ET-101": 0.0, "EV-101": 0.0, "TT-102A": 40.0, "TT-102B": 40.0, "TT-102C": 40.0,
    "PT-101": 215.0, "PT-102": 215.0,
}  # fmt: skip


@dataclass
class PaperRack:
    """A rack on paper. ``values`` may be set by the test; None = cannot be believed (timeout)."""

    limits: Limits
    memory: Memory
    values: dict[str, float | None]
    now_s: float = 1000.0
    stroke_s: float = 0.0
    follow: bool = True
    """Whether the field does what is written."""
    acknowledged: bool = True
    """Whether the valve controller acknowledges writes."""
    stale: set[str] = field(default_factory=set)
    """Tags whose sample time stands still."""
    qualities: dict[str, Quality] = field(default_factory=dict)
    scans: list[Scan] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    writes: dict[str, float] = field(default_factory=dict)
    stopped: dict[str, gate.Admission] = field(default_factory=dict)
    ack_s: float | None = None
    lender: Callable[[Iterable[Ask], float], list[Answer]] | None = None
    """The loop's coordinator; without one nobody answers."""
    answers: list[Answer] = field(default_factory=list)
    """What it said since the last scan."""
    _at_s: dict[str, float] = field(default_factory=dict)
    _moving: dict[str, tuple[bool, float]] = field(default_factory=dict)
    _ids: int = 0

    def __post_init__(self) -> None:
        self.rack: Setup = setup(self.limits)

    @property
    def state(self) -> State:
        return self.memory.state

    @property
    def latched(self) -> tuple[str, ...]:
        return tuple(latch.sif for latch in self.memory.latches)

    def readings(self) -> dict[str, Reading]:
        out = {}
        good, bad, none, now_s = Quality.GOOD, Quality.BAD, Unit.NONE, self.now_s
        for tag, value in self.values.items():
            at_s = self._at_s.setdefault(tag, now_s) if tag in self.stale else now_s
            self._at_s[tag] = at_s
            quality = self.qualities.get(tag, good if value is not None else bad)
            reason = None if quality is good else Reason.TIMEOUT
            out[tag] = Reading(tag, None if quality is bad else value, none, quality, at_s, reason)
        if self.ack_s is not None:
            out["WRITE-ACK"] = Reading("WRITE-ACK", self.ack_s, Unit.SECOND, Quality.GOOD, self.ack_s)
        return out

    def evidence(self) -> gate.Evidence:
        coils = {"XV-101": "XY-101", "XV-102": "XY-102", "XV-103": "XY-103", "XV-104": "XY-104", "XS-101": "XSY-101"}
        shut = {"XV-101": "ZSC-101", "XV-102": "ZSC-102", "XV-103": "ZSC-103"}
        rise_s, stroked = self.memory.permit_rise_s, self.memory.stroking(self.now_s)
        return gate.Evidence(
            coil={tag: self._believed(read) for tag, read in coils.items()},
            shut={tag: self._believed(read) for tag, read in shut.items()},
            entering=rise_s is not None and self.now_s - rise_s <= 0.5,
            valves_acknowledged_s=None if self.ack_s is None else self.now_s - self.ack_s,
            locked=bool(self.memory.locks or self.memory.latches),
            stroking=None if stroked is None else f"XV-{stroked}",
        )

    def _believed(self, tag: str) -> bool | None:
        value = self.values.get(tag)
        if value is None or tag in self.stale or tag in self.qualities:
            return None
        return value >= 0.5

    def scan(self, *requests: Request, dt_s: float = PERIOD_S) -> Scan:
        """One scan ``dt_s`` after the last."""
        self.now_s = round(self.now_s + dt_s, 6)  # whole milliseconds, so that times can be compared
        answers, self.answers = self.answers, []
        done = step(self.memory, self.readings(), requests, self.rack, self.now_s, answers)
        if self.lender is not None:
            self.answers += self.lender(done.asks, self.now_s)
        self.memory = done.memory
        self.scans.append(done)
        self.facts.extend(done.facts)
        self.writes, self.stopped = gate.pass_through(done.outputs, done.memory.state, self.evidence())
        if self.acknowledged and any(tag.startswith("XV") for tag in self.writes):
            self.ack_s = self.now_s
            if (
                "XS-101" in self.stopped
            ):  # the permit waits for the valve block's acknowledgement in the same write cycle
                self.writes, self.stopped = gate.pass_through(done.outputs, done.memory.state, self.evidence())
        if self.follow and self.acknowledged:
            self._obey()
        return done

    def _obey(self) -> None:
        for tag, value in self.writes.items():
            if tag == "FCV-101":
                self.values["ZT-101"] = value
            elif tag == "XS-101":
                self.values["XSY-101"] = self.values["XI-101"] = value
                if not value:
                    self.values.update({"JT-101": 0.0, "ET-101": 0.0, "EV-101": 0.0})
            else:
                self.values[f"XY-{tag[-3:]}"] = value
        for number in ("101", "102"):
            self._move(number, bool(self.values[f"XY-{number}"]))
        for number in ("103", "104"):
            self.values[f"ZSC-{number}"] = 0.0 if self.values[f"XY-{number}"] else 1.0
        if self.values["ZSC-101"] and self.values["ZSC-102"]:
            self.values.update({"FT-101": 0.0, "FT-102": 0.0})

    def _move(self, number: str, energised: bool) -> None:
        target, since_s = self._moving.get(number, (None, self.now_s))
        if target is not energised:
            since_s = self.now_s
            self._moving[number] = (energised, since_s)
        arrived = self.now_s - since_s >= self.stroke_s
        self.values[f"ZSO-{number}"] = float(energised and arrived)
        self.values[f"ZSC-{number}"] = float(not energised and arrived)

    def run(self, for_s: float, *requests: Request) -> "PaperRack":
        """Scan for ``for_s`` seconds; the requests arrive in the first scan."""
        for n in range(max(1, round(for_s / PERIOD_S))):
            self.scan(*(requests if n == 0 else ()))
        return self

    def ask(
        self, name: str, /, *, role: str = "engineer", client: str = "desk", why: str = "a test", **args: object
    ) -> Fact:
        """Ask for something with the present state_seq, scan until it is answered (mostly once), and return the answer."""
        self._ids += 1
        safer = REQUESTS[name].kind is Kind.SAFER
        request = Request(
            f"id-{self._ids}", name, role, client, args, "tester", why, None if safer else self.memory.state_seq
        )
        self.scan(request)
        while (answer := self.answer_to(request.id)) is None:
            self.scan()
        return answer

    def answer_to(self, request_id: str) -> Fact | None:
        answers = (fact for fact in self.facts[::-1] if fact.kind is FactKind.ANSWER)
        return next((fact for fact in answers if fact.fields["id"] == request_id), None)

    def told(self, kind: FactKind) -> list[Fact]:
        return [fact for fact in self.facts if fact.kind is kind]

    def restart(self, **changes: object) -> "PaperRack":
        """The process dies and starts again with what it remembered; nothing moves meanwhile."""
        stored = replace(self.memory, **changes)  # type: ignore[arg-type]
        self.memory = begin(
            stored, readable=True, armed_in_file=True, starts_s=(), boot_id=BOOT, now_s=self.now_s, limits=self.limits
        )
        self.ack_s = None
        return self


def limits(**changes: object) -> Limits:
    known = dict.fromkeys(FLOWING_VALUES, 0.5)
    links = {tag: "valve_controller" for tag in FLOWING_VALUES if tag[:2] in {"ZS", "XY", "XS", "XI", "HS", "LS", "ZT"}}
    links |= {tag: "transmitters" for tag in FLOWING_VALUES if tag[:2] in {"FT", "TT", "PT"}}
    links |= {tag: "leak_panel" for tag in FLOWING_VALUES if tag.startswith("LD")}
    links |= {"JT-101": "feeder", "ET-101": "busbar", "EV-101": "busbar"}
    base = Limits(policy=DEFAULT_POLICY, max_age_s=known, link_of=links)
    return replace(base, **changes)  # type: ignore[arg-type]


#: Somebody has put FCV-101 at 60 %: on paper the flow does not follow the valve, so nothing else keeps it anywhere.
AT_60_PCT = Steering(Control(Mode.POSITION, 60.0, 60.0, Demand(198.0, 198.0), Learned(12.5)))


def commissioned(state: State = State.FLOWING) -> Memory:
    """What a commissioned rack remembers."""
    return Memory(
        boot_id=BOOT,
        state=state,
        was=state,
        armed=True,
        inventory=Inventory.FULL,
        tested=True,
        fcv_pct=60.0,
        steering=AT_60_PCT,
        now_s=990.0,
    )


def starting(was: State = State.FLOWING, values: dict[str, float] | None = None, **changes: object) -> PaperRack:
    """A rack whose process has just started."""
    ours = limits(**changes)
    memory = begin(
        commissioned(was), readable=True, armed_in_file=True, starts_s=(), boot_id=BOOT, now_s=1000.0, limits=ours
    )
    field_values = FLOWING_VALUES if was in {State.FLOWING, State.UNLOADING, State.COOLDOWN} else SHUT_VALUES
    return PaperRack(ours, memory, dict(field_values if values is None else values))


_SETTLED: dict[tuple[State, str], PaperRack] = {}
"""Racks in service and proven shut, by their limits, made once: a test gets a copy."""


def copied(rack: PaperRack) -> PaperRack:
    """A rack that stands as this one does, and has told nothing yet."""
    return replace(
        rack, values=dict(rack.values), stale=set(), qualities={}, scans=[], facts=[], writes=dict(rack.writes), stopped={},
        answers=[], _at_s={}, _moving=dict(rack._moving),
    )  # fmt: skip


def _settled(state: State, for_s: float, changes: dict[str, object]) -> PaperRack:
    key = (state, repr(sorted(changes.items())))
    if key not in _SETTLED:
        rack = starting(state, None, **changes).run(1.0)
        while rack.now_s < 1000.0 + for_s:
            rack.scan(dt_s=0.5)
        assert rack.state is state, rack.memory
        _SETTLED[key] = rack
    return copied(_SETTLED[key])


def flowing(**changes: object) -> PaperRack:
    """A rack in service for a while: adopted, settled, holds at their full length."""
    return _settled(State.FLOWING, 6.0, changes)


def isolated(**changes: object) -> PaperRack:
    """A rack proven shut, full and tested."""
    return _settled(State.ISOLATED, 12.0, changes)
