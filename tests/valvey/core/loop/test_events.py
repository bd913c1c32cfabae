"""Loop events: what only the whole loop can show, with a second witness where one alone may lie; they latch and move nothing."""

import pytest

from tests.valvey.core.loop.paper import PaperLoop, limits
from valvey.core.chart import State
from valvey.core.loop.events import falling
from valvey.core.loop.facts import LoopFactKind


@pytest.fixture
def loop() -> PaperLoop:
    return PaperLoop().settled()


def latched(loop: PaperLoop) -> list[str]:
    return [latch.name for latch in loop.memory.latches]


def drain(loop: PaperLoop, tag: str, per_s: float, for_s: float) -> None:
    """Let level or pressure fall."""
    for _ in range(round(for_s)):
        value = loop.cdu[tag]
        assert value is not None
        loop.cdu[tag] = value - per_s
        loop.scan(dt_s=1.0)


def test_one_wet_rack_is_its_own_affair_and_two_are_the_loops(loop: PaperLoop) -> None:
    loop.put("r1", points={"LDT-101": 1.0})
    loop.run(10.0)
    assert latched(loop) == []
    loop.put("r3", points={"LDT-103": 1.0})
    loop.run(1.5)
    assert latched(loop) == []
    loop.run(1.0)
    assert latched(loop) == ["racks-leak"]
    assert loop.memory.latches[0].racks == ("r1", "r3")
    assert "racks-leak" in loop.alarms()
    loop.run(10.0)
    assert len(loop.told(LoopFactKind.EVENT)) == 1


def test_only_wet_bits_count_not_imbalance_nor_silence(loop: PaperLoop) -> None:
    for name in ("r1", "r2"):
        loop.put(name, points={"FT-102": 120.0})
        loop.lose(name, "LDT-101", "LDT-102", "LDT-103")
    loop.run(10.0)
    assert latched(loop) == []
    for name in ("r1", "r2"):
        loop.put(name, points={"LDT-101": 1.0})
    loop.telling = False
    loop.now_s += 10.0
    loop.run(5.0)
    assert latched(loop) == []  # what nobody tells any more is no witness


def test_nothing_is_demanded_of_racks_or_pumps_for_an_event(loop: PaperLoop) -> None:
    for name in ("r1", "r2", "r3"):
        loop.put(name, points={"LDT-101": 1.0})
    loop.run(10.0)
    assert latched(loop) == ["racks-leak"]
    assert all(not scan.writes for scan in loop.scans)


def test_a_wet_cdu_needs_a_second_witness(loop: PaperLoop) -> None:
    loop.run(70.0)
    loop.cdu["LDT-201"] = 1.0
    loop.run(70.0)
    assert latched(loop) == []
    drain(loop, "LT-201", 0.01, 80.0)
    assert latched(loop) == ["cdu-leak"]
    assert "LT-201 fell by" in loop.memory.latches[0].cause


def test_falling_pressure_is_a_second_witness_too(loop: PaperLoop) -> None:
    loop.run(70.0)
    loop.cdu["LDT-201"] = 1.0
    drain(loop, "PT-202", 0.1, 80.0)
    assert "PT-202 fell by" in loop.memory.latches[0].cause


def test_two_detectors_of_the_cdu_are_enough() -> None:
    loop = PaperLoop(limits(detectors=("LDT-201", "LDT-202"))).settled()
    loop.cdu |= {"LDT-201": 1.0, "LDT-202": 1.0}
    loop.run(3.0)
    assert latched(loop) == ["cdu-leak"]
    loop.cdu |= {"LDT-201": 0.0, "LDT-202": 0.0}


def test_a_falling_level_alone_is_no_leak_of_the_cdu(loop: PaperLoop) -> None:
    drain(loop, "LT-201", 0.02, 150.0)
    assert latched(loop) == []


def test_a_lost_level_is_not_a_falling_one(loop: PaperLoop) -> None:
    loop.run(30.0)
    loop.cdu |= {"LT-201": None, "PT-202": None}
    loop.run(70.0)
    assert falling(loop.view()) is None


def test_an_isolation_that_is_not_proven_is_the_loops_affair_at_once(loop: PaperLoop) -> None:
    loop.put("r2", state=State.ISOLATING, latches=("SIF-1", "SIF-9"))
    loop.scan()
    assert latched(loop) == ["not-proven"]
    assert loop.memory.latches[0].racks == ("r2",)


def test_liquid_that_is_still_lost_a_minute_after_a_proven_isolation_leaks_upstream(loop: PaperLoop) -> None:
    loop.put("r2", state=State.ISOLATING, latches=("SIF-1",))
    drain(loop, "LT-201", 0.02, 30.0)
    loop.put("r2", state=State.ISOLATED)
    drain(loop, "LT-201", 0.02, 55.0)
    assert latched(loop) == []
    drain(loop, "LT-201", 0.02, 10.0)
    assert latched(loop) == ["leak-upstream"]
    assert "r2 is proven shut" in loop.memory.latches[0].cause


def test_a_level_that_stands_after_the_isolation_is_no_leak(loop: PaperLoop) -> None:
    loop.put("r2", state=State.ISOLATED, latches=("SIF-1",))
    drain(loop, "LT-201", 0.02, 30.0)
    loop.run(150.0)
    assert latched(loop) == []
    loop.put("r2", latches=())
    loop.scan()
    assert dict(loop.memory.isolated_s) == {}


def test_a_rack_that_was_isolated_by_plan_is_no_witness_of_a_leak(loop: PaperLoop) -> None:
    loop.put("r2", state=State.ISOLATED)
    drain(loop, "LT-201", 0.02, 150.0)
    assert latched(loop) == []


def test_an_event_stands_until_a_person_resets_it_by_name_with_its_cause_gone(loop: PaperLoop) -> None:
    loop.put("r2", latches=("SIF-9",))
    loop.run(1.0)
    refused = loop.request("reset", event="not-proven").fields
    assert (refused["status"], refused["code"]) == ("refused", "not_clear")
    loop.put("r2", latches=())
    loop.run(1.0)
    assert latched(loop) == ["not-proven"]
    assert loop.request("reset", event=["cdu-leak"]).fields["allow"] == "latched: not-proven"
    before = loop.memory.state_seq
    assert loop.request("reset", event=["not-proven"]).fields["status"] == "succeeded"
    assert loop.memory.state_seq == before + 1  # what was decided on the latched loop is refused from now on
    assert latched(loop) == []
    assert [fact.fields["by"] for fact in loop.told(LoopFactKind.RESET)] == ["Edda"]
    loop.run(3.0)
    assert "not-proven" not in loop.alarms()
