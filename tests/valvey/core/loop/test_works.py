"""Works: what must hold before a lease is granted; each rule refuses alone, says why, and says what would help."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.valvey.core.loop.paper import PaperLoop, limits
from valvey.core.chart import State
from valvey.core.leasing import Act
from valvey.core.loop.limits import Bounds, Mode, RackRow
from valvey.core.loop.memory import LoopLatch
from valvey.core.loop.works import WORKS, room_l

Spoil = Callable[[PaperLoop], None]


def _with(**values: float | None) -> Spoil:
    def spoil(loop: PaperLoop) -> None:
        loop.cdu |= {name.replace("_", "-"): value for name, value in values.items()}

    return spoil


def _rack(**changes: object) -> Spoil:
    return lambda loop: loop.put("r1", **changes)  # type: ignore[arg-type]


def _quarrel(loop: PaperLoop) -> None:
    loop.others = True


def _silent(loop: PaperLoop) -> None:
    loop.put("r1", online=False)


def _latched(loop: PaperLoop) -> None:
    loop.memory = replace(loop.memory, latches=(LoopLatch("cdu-leak", loop.now_s, "wet"),))


def _busy(loop: PaperLoop) -> None:
    loop.put("r2", state=State.OPENING)


def _sharing(loop: PaperLoop) -> None:
    for name in ("r2", "r3", "r4"):
        loop.put(name, points={"JT-101": 200.0})
    loop.cdu |= {"PT-201": 165.0}
    loop.run(30.0)


def _sump_taken(loop: PaperLoop) -> None:
    loop.put("r2", state=State.DRAINING)


def _sump_high(loop: PaperLoop) -> None:
    loop.put("r3", points={"LSH-203": 1.0})


def _sump_full(loop: PaperLoop) -> None:
    loop.memory = replace(loop.memory, sumps_l={"s1": 80.0})


# fmt: off
REFUSALS: tuple[tuple[str, Spoil, str], ...] = (
    ("isolate", _quarrel,                                 "another coordinator"),
    ("isolate", _busy,                                    "at most 1"),
    ("drain",   _quarrel,                                 "another coordinator"),
    ("drain",   _silent,                                  "nothing is heard"),
    ("drain",   _sump_taken,                              "r2 drains into s1"),
    ("drain",   _sump_high,                               "LSH-203 of r3"),
    ("drain",   _sump_full,                               "room for 40 L, r1 holds 45 L"),
    ("fill",    _silent,                                  "nothing is heard"),
    ("fill",    _with(PT_202=None),                       "PT-202 cannot be believed"),
    ("fill",    _with(CDU_MODE=None),                     "mode cannot be believed"),
    ("fill",    _with(CDU_MODE=7.0),                      "mode cannot be believed"),
    ("fill",    _with(P_201_TRIP=1.0),                    "pump of the CDU"),
    ("fill",    _with(LT_201=12.0),                       "reservoir stands at 12 %"),
    ("fill",    _latched,                                 "cdu-leak"),
    ("fill",    _busy,                                    "at most 1"),
    ("fill",    _sharing,                                 "flow is short"),
    ("fill",    _with(PT_202=60.0, PT_201=270.0),         "PT-202 would fall to 60 kPa"),
    ("test",    _quarrel,                                 "another coordinator"),
    ("test",    _silent,                                  "nothing is heard"),
    ("open",    _with(TT_201=48.0),                       "supply is 48.0"),
    ("open",    _latched,                                 "cdu-leak"),
    ("open",    _with(FT_201=None),                       "FT-201 cannot be believed"),
    ("open",    _busy,                                    "at most 1"),
)
# fmt: on


@pytest.mark.parametrize("work", WORKS)
def test_a_healthy_loop_lets_a_shut_rack_be_worked_on(work: str) -> None:
    loop = PaperLoop().settled()
    loop.put("r1", state=State.ISOLATED, points={"FT-101": 0.0, "FT-102": 0.0})
    loop.cdu |= {"FT-201": 600.0, "SP-FLOW": 600.0}
    assert loop.say("r1", work).granted


@pytest.mark.parametrize(("work", "spoil", "reason"), REFUSALS)
def test_each_rule_refuses_alone_and_says_what_would_help(work: str, spoil: Spoil, reason: str) -> None:
    loop = PaperLoop().settled()
    loop.put("r1", state=State.ISOLATED, points={"FT-101": 0.0, "FT-102": 0.0})
    spoil(loop)
    reply = loop.say("r1", work)
    assert not reply.granted
    assert reason in reply.reason
    assert reply.would_allow


def test_a_rack_or_a_work_that_is_not_known_is_refused_by_name() -> None:
    loop = PaperLoop().settled()
    assert loop.say("r9", "open").would_allow == "one of r1, r2, r3, r4"
    assert "'dance'" in loop.say("r1", "dance").reason
    assert loop.memory.leases == {}


def test_a_rack_without_a_sump_cannot_be_drained() -> None:
    rows = {"r1": RackRow("r1", 132.0, 200.0)}
    loop = PaperLoop(limits(racks=rows)).settled()
    assert "no sump" in loop.say("r1", "drain").reason
    assert room_l(loop.limits, loop.memory, None) == pytest.approx(0.0)


def test_another_sump_is_another_matter() -> None:
    rows = {n: RackRow(n, 132.0, 200.0, sump=sump) for n, sump in (("r1", "s1"), ("r2", "s2"))}
    loop = PaperLoop(limits(racks=rows, sumps_l={"s1": 120.0, "s2": 120.0})).settled()
    assert loop.say("r1", "drain").granted
    assert loop.say("r2", "drain").granted


def test_a_rack_that_is_only_isolated_takes_no_sump() -> None:
    loop = PaperLoop().settled()
    assert loop.say("r2", "isolate").granted
    loop.put("r1", state=State.ISOLATED, points={"FT-101": 0.0, "FT-102": 0.0})
    assert loop.say("r1", "drain").granted


def test_the_last_rack_is_not_isolated_without_a_bypass_for_the_pumps() -> None:
    loop = PaperLoop(limits(bypass_fitted=False, pump_least_lpm=700.0)).settled()
    reply = loop.say("r1", "isolate")
    assert "600 L/min would be left" in reply.reason
    loop.cdu["FT-201"] = None  # nobody knows: closing work goes on
    assert loop.say("r1", "isolate").granted


def test_a_rack_that_the_cdu_cannot_serve_beside_the_others_is_not_opened() -> None:
    loop = PaperLoop()
    loop.put("r1", state=State.ISOLATED, points={"FT-101": 0.0, "FT-102": 0.0, "JT-101": 0.0, "ET-101": 0.0})
    loop.cdu |= {"PT-201": 270.0, "FT-201": 600.0}
    loop.settled()
    assert not loop.memory.short
    reply = loop.say("r1", "open")
    assert "would be needed" in reply.reason


@pytest.mark.parametrize(
    "changes",
    [{"armed": False}, {"bounds": {}}, {"bounds": {Mode.CONSTANT_FLOW: Bounds(300.0, 610.0)}}],
)
def test_a_fill_that_the_neighbours_would_feel_is_refused(changes: dict[str, object]) -> None:
    loop = PaperLoop(limits(fill_lpm=50.0, **changes)).settled()
    loop.put("r1", state=State.DRAINED, points={"FT-101": 0.0, "FT-102": 0.0})
    loop.cdu |= {"FT-201": 600.0, "SP-FLOW": 600.0}
    reply = loop.say("r1", "fill")
    assert "neighbours would lose is 7.7 %" in reply.reason


def test_a_fill_that_the_set_point_can_make_good_is_granted() -> None:
    loop = PaperLoop(limits(fill_lpm=50.0)).settled()
    loop.put("r1", state=State.DRAINED, points={"FT-101": 0.0, "FT-102": 0.0})
    loop.cdu |= {"FT-201": 600.0, "SP-FLOW": 600.0}
    assert loop.say("r1", "fill").granted


def test_a_fill_of_which_nobody_knows_what_it_does_is_refused() -> None:
    loop = PaperLoop().settled()
    for name in loop.limits.racks:
        loop.put(name, state=State.ISOLATED)
        loop.lose(name, "FT-101", "FT-102")
    assert "is not known" in loop.say("r1", "fill").reason


def test_a_drain_counts_the_whole_rack_into_its_sump_however_it_ends() -> None:
    loop = PaperLoop().settled()
    loop.put("r1", state=State.ISOLATED)
    granted = loop.say("r1", "drain")
    loop.say("r1", "drain", Act.GIVE_BACK, granted.id)
    assert loop.memory.sumps_l == {"s1": 45.0}
    loop.say("r1", "drain")
    loop.run(36.0)
    assert loop.memory.sumps_l == {"s1": 90.0}
    assert "room for 30 L" in loop.say("r1", "drain").reason
    before = loop.memory.state_seq
    assert loop.request("sump_emptied", sump="s1").fields["status"] == "succeeded"
    assert loop.memory.state_seq == before + 1
    assert loop.say("r1", "drain").granted


@pytest.mark.parametrize("state", [State.OPENING, State.UNLOADING, State.FILLING, State.ISOLATING])
def test_work_that_nobody_asked_for_takes_its_slot_all_the_same(state: State) -> None:
    loop = PaperLoop().settled()
    loop.put("r2", state=state)
    assert not loop.say("r1", "isolate").granted


def test_a_dark_rack_takes_a_slot_only_on_its_way_to_an_isolation() -> None:
    loop = PaperLoop().settled()
    loop.put("r2", state=State.COOLDOWN)
    assert loop.say("r1", "isolate").granted
    loop.put("r2", isolate_wanted=True)
    assert not loop.say("r3", "isolate").granted


def test_a_rack_that_is_shut_but_not_proven_does_not_block_the_loop_for_ever() -> None:
    loop = PaperLoop().settled()
    loop.put("r2", state=State.ISOLATING, points={"FT-101": 0.0, "FT-102": 0.0})
    assert loop.say("r1", "isolate").granted
