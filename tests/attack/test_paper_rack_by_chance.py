"""The paper rack led by chance: sensors, people, repeats, delays, restarts, in any order hypothesis can think of."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from fieldkit.reading import Reading
from tests.plant import BOOT, FLOWING_VALUES, PaperRack, flowing, isolated
from valvey.core.adoption import begin
from valvey.core.chart import Event, State
from valvey.core.facts import FactKind
from valvey.core.gate import Evidence
from valvey.core.invariants import (
    Passage,
    asked_after,
    broken,
    i9_the_same_again_gives_the_same,
    i11_nothing_opens_unasked,
)
from valvey.core.machine import ROWS
from valvey.core.requests import REQUESTS, Request
from valvey.core.step import Scan

#: What each kind of tag says when it demands something, and once more when it lies.
DEMANDS: dict[str, tuple[float, ...]] = {
    "LDT-101": (1.0,), "LDT-103": (1.0,), "HS-101": (1.0,), "HS-102": (1.0,), "PT-101": (600.0, 10.0), "PT-102": (10.0,),
    "TT-101": (55.0, 48.0), "TT-102A": (70.0,), "TT-102B": (70.0,), "FT-101": (10.0, 400.0, 60.0), "FT-102": (10.0, 60.0),
    "JT-101": (0.0, 230.0), "ET-101": (0.0, 60.0), "EV-101": (0.0, 50.0), "ZSO-101": (0.0, 1.0), "ZSC-101": (0.0, 1.0),
    "ZSO-102": (0.0, 1.0), "ZSC-102": (0.0, 1.0), "ZSC-103": (0.0, 1.0), "XY-101": (0.0, 1.0), "XSY-101": (0.0, 1.0),
    "XI-101": (0.0, 1.0), "ZT-101": (0.0, 100.0),
}  # fmt: skip
ARGS: dict[str, dict[str, Any]] = {
    "lock": {"owner": "anna"}, "unlock": {"owner": "anna"}, "bypass": {"name": "SIF-1", "for_s": 5.0}, "unbypass": {"name": "SIF-1"},
    "shelve": {"alarm": "disarmed", "for_s": 60.0}, "ack": {"alarm": "trip-sif-1"}, "set_point": {"fcv_pct": 30.0},
    "stroke": {"valve": "XV-101"}, "leak_evidence": {"tray": "1", "wet": True, "for_s": 5.0},
}  # fmt: skip


class WatchedRack(PaperRack):
    """A paper rack that keeps what its scan saw, and holds it to the invariants."""

    asked: bool = False
    seen: dict[str, Reading]
    field_seen: Evidence

    def readings(self) -> dict[str, Reading]:
        self.seen = super().readings()
        return self.seen

    def evidence(self) -> Evidence:
        self.field_seen = super().evidence()
        return self.field_seen

    def scan(self, *requests: Request, dt_s: float = 0.05) -> Scan:
        before = self.memory
        done = super().scan(*requests, dt_s=dt_s)
        passage = Passage(before, self.seen, requests, self.rack, self.now_s, done, self.field_seen, self.writes)
        self.asked = asked_after(self.asked, passage)
        wrong = [
            *broken(passage),
            i11_nothing_opens_unasked(passage, self.asked),
            i9_the_same_again_gives_the_same(passage),
        ]
        assert [what for what in wrong if what is not None] == []
        answers = [fact.fields["id"] for fact in passage.facts(FactKind.ANSWER)]
        assert answers == [one.id for one in requests]
        return done


def watched(rack: PaperRack) -> WatchedRack:
    """The same rack, watched; its flow returns when it is opened."""
    return WatchedRack(rack.limits, rack.memory, rack.values, rack.now_s, ack_s=rack.ack_s)


class Chance(RuleBasedStateMachine):
    """One rack, and everybody who may touch it."""

    rack: WatchedRack
    sent: list[Request]

    @initialize(shut=st.booleans(), stroke_s=st.sampled_from((0.0, 2.5)))
    def begin(self, shut: bool, stroke_s: float) -> None:
        self.rack = watched(isolated() if shut else flowing())
        self.rack.stroke_s = stroke_s
        self.sent = []

    @rule(scans=st.integers(1, 8), dt_s=st.sampled_from((0.05, 0.3, 1.9)))
    def wait(self, scans: int, dt_s: float) -> None:
        for _ in range(scans):
            self.rack.scan(dt_s=dt_s)

    @rule()
    def stall(self) -> None:
        self.rack.scan(dt_s=2.5)

    @rule(tag=st.sampled_from(sorted(DEMANDS)), which=st.integers(0, 2))
    def lie(self, tag: str, which: int) -> None:
        self.rack.values[tag] = DEMANDS[tag][which % len(DEMANDS[tag])]

    @rule(tag=st.sampled_from(sorted(FLOWING_VALUES)))
    def lose(self, tag: str) -> None:
        self.rack.values[tag] = None

    @rule(tag=st.sampled_from(sorted(FLOWING_VALUES)))
    def freeze(self, tag: str) -> None:
        self.rack.stale ^= {tag}

    @rule()
    def repair(self) -> None:
        rack = self.rack
        rack.stale.clear()
        both = rack.values["XY-101"] and rack.values["XY-102"]
        for tag, value in FLOWING_VALUES.items():
            if rack.values[tag] is None or tag[:2] in {"LD", "TT", "HS", "LS"}:
                rack.values[tag] = value
        rack.values |= {
            "FT-101": 198.0 if both else 0.0,
            "FT-102": 198.0 if both else 0.0,
            "PT-101": 310.0,
            "PT-102": 215.8,
        }

    @rule(works=st.booleans())
    def acknowledge(self, works: bool) -> None:
        self.rack.acknowledged = works

    @rule(
        names=st.lists(st.sampled_from(sorted(REQUESTS)), min_size=1, max_size=3),
        role=st.sampled_from(("engineer", "supervisor", "operator", "coordinator", "racky", "observer")),
        trip=st.booleans(),
        off=st.sampled_from((0, 0, 0, -1, 1)),
    )
    def ask(self, names: list[str], role: str, trip: bool, off: int) -> None:
        latched = sorted({latch.sif for latch in self.rack.memory.latches})
        requests = []
        for name in names:
            args = (
                {"trip": trip}
                if name in {"isolate", "dark"}
                else {"sif": latched}
                if name == "reset"
                else ARGS.get(name, {})
            )
            seq = self.rack.memory.state_seq + off
            requests.append(Request(f"id-{len(self.sent)}", name, role, "desk", args, "chance", "why not", seq))
            self.sent.append(requests[-1])
        self.rack.scan(*requests)

    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        """An old request comes again: as it was, or with today's sequence number."""
        if self.sent:
            old = data.draw(st.sampled_from(self.sent))
            new_seq = data.draw(st.booleans())
            self.rack.scan(replace(old, expect_seq=self.rack.memory.state_seq) if new_seq else old)

    @rule(readable=st.booleans(), after_s=st.sampled_from((0.5, 5.0, 700.0)), boot=st.sampled_from((BOOT, "another")))
    def crash(self, readable: bool, after_s: float, boot: str) -> None:
        rack = self.rack
        rack.now_s += after_s
        rack.memory = begin(
            rack.memory if readable else None, readable=readable, armed_in_file=True, starts_s=(), boot_id=boot,
            now_s=rack.now_s, limits=rack.limits,
        )  # fmt: skip
        rack.ack_s, rack.asked = None, False

    @invariant()
    def the_state_has_a_way_on(self) -> None:
        if hasattr(self, "rack"):
            assert (Event.ESD, self.rack.state) in ROWS
            assert self.rack.memory.armed or self.rack.state in {State.ISOLATED, State.DRAINED}


QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)


def test_no_story_breaks_an_invariant() -> None:
    run_state_machine_as_test(
        Chance, settings=settings(QUIET, max_examples=25, stateful_step_count=25, derandomize=True)
    )


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_no_long_story_breaks_an_invariant() -> None:
    run_state_machine_as_test(Chance, settings=settings(QUIET, max_examples=1500, stateful_step_count=60))
