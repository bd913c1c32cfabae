"""Leases in the scan: opening work waits for the coordinator, a planned isolation ten seconds, and what is lost ends opening work.

The coordinator is the real one's rules of leases, a scan away.
"""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.lender import Lender
from tests.plant import BOOT, PaperRack, flowing, isolated
from tests.stored import reread
from tests.valvey.core.bench import last, transitions
from valvey.core.adoption import begin
from valvey.core.awaiting import ANSWER_S
from valvey.core.chart import OUTPUTS, State, Step
from valvey.core.facts import Fact, FactKind
from valvey.core.leasing import Act, Answer, Leasing
from valvey.core.lending import ALONE, SILENT, WAIT_S, WAITS, wanted
from valvey.core.loop.memory import Held
from valvey.core.memory import Inventory, Lock, Work
from valvey.core.procedures import STEPS
from valvey.core.requests import Request
from valvey.core.step import setup

S, K = State, FactKind
BUSY = ("r04: at most 1 at a time", "wait until r04 is done")
OPENING = (S.OPENING, S.DRAINING, S.FILLING, S.TESTING)
WORK_OF = {
    S.OPENING: "open", S.DRAINING: "drain", S.FILLING: "fill", S.TESTING: "fill", S.UNLOADING: "isolate", S.COOLDOWN: "isolate",
    S.ISOLATING: "isolate",
}  # fmt: skip


def lent(rack: PaperRack, lender: Lender | None = None) -> tuple[PaperRack, Lender]:
    """The rack on a loop that has a coordinator."""
    lender = Lender() if lender is None else lender
    rack.limits = replace(rack.limits, coordinator=True, name="demo/r03")
    rack.rack = setup(rack.limits)
    rack.lender = lender
    return rack, lender


def shut(lender: Lender | None = None) -> tuple[PaperRack, Lender]:
    return lent(isolated(), lender)


def serving(lender: Lender | None = None) -> tuple[PaperRack, Lender]:
    return lent(flowing(), lender)


def a_request(
    rack: PaperRack, name: str, request_id: str = "q", client: str = "ann", role: str = "operator"
) -> Request:
    return Request(request_id, name, role, client, {}, "ann", "a test", rack.memory.state_seq)


def leases(rack: PaperRack) -> list[str]:
    return [fact.fields["what"] for fact in rack.told(K.LEASE)]


def answers(rack: PaperRack, request_id: str = "q") -> list[tuple[str, str]]:
    found = (fact.fields for fact in rack.told(K.ANSWER) if fact.fields["id"] == request_id)
    return [(fields["status"], fields["code"]) for fields in found]


def progress(rack: PaperRack, request_id: str = "q") -> list[Fact]:
    return [fact for fact in rack.told(K.PROGRESS) if fact.fields["id"] == request_id]


def raised(rack: PaperRack, scans: int, dt_s: float = 0.05) -> set[str]:
    """Scan on; return the isolation valves and permit that were written on although they were read back off."""
    found: set[str] = set()
    for _ in range(scans):
        before = {
            tag: rack.values[read] for tag, read in (("XV-101", "XY-101"), ("XV-102", "XY-102"), ("XS-101", "XSY-101"))
        }
        rack.scan(dt_s=dt_s)
        found |= {tag for tag, value in before.items() if rack.writes.get(tag) and not value}
    return found


# --- opening work ------------------------------------------------------------------------------------------------------


def test_opening_work_waits_for_its_lease_and_begins_with_it() -> None:
    rack, lender = shut()
    rack.scan(a_request(rack, "open"))
    assert (rack.state, answers(rack)) == (S.ISOLATED, [])
    assert lender.said() == [(Act.ASK, "open")]
    assert lender.heard[0].args == {}
    (fact,) = progress(rack)
    assert (fact.fields["client"], fact.fields["request"], fact.fields["remark"]) == ("ann", "open", WAITS)
    assert (fact.fields["percent"], fact.fields["eta_s"], fact.fields["step"]) == (0.0, ANSWER_S, Step.HOLD)
    assert fact.fields["state"] is S.ISOLATED
    rack.scan()
    assert answers(rack) == [("accepted", "ok")]
    answer = last(rack, K.ANSWER).fields
    assert (answer["client"], answer["role"], answer["by"], answer["why"]) == ("ann", "operator", "ann", "a test")
    assert (rack.state, rack.memory.leased, rack.memory.grant) == (S.OPENING, True, "cdu1-7-1")
    assert rack.memory.waiting is None
    assert [one.fields["remark"] for one in progress(rack)] == [WAITS, ""]
    granted = last(rack, K.LEASE).fields
    assert granted == {"what": "granted", "work": "open", "id": "cdu1-7-1", "epoch": 7, "ttl_s": 30.0}


def test_the_lease_is_kept_alive_while_the_work_lasts_and_given_back_when_it_ends() -> None:
    rack, lender = shut()
    rack.scan(a_request(rack, "open"))
    rack.values["FT-101"] = rack.values["FT-102"] = 0.0
    rack.run(25.0)
    assert transitions(rack)[-1] == ("open", "ISOLATED", "OPENING")
    assert lender.said() == [(Act.ASK, "open"), (Act.RENEW, "open"), (Act.RENEW, "open")]
    rack.values |= {"FT-101": 198.0, "FT-102": 198.0}
    rack.run(6.0)
    assert rack.state is S.FLOWING
    rack.run(0.1)
    assert lender.said()[-1] == (Act.GIVE_BACK, "open")
    assert lender.held is None
    assert (rack.memory.grant, rack.memory.leasing.work, rack.memory.leased) == (None, None, False)
    assert last(rack, K.LEASE).fields == {"what": "given_back", "work": "open", "id": "cdu1-7-1", "epoch": 7}
    count = len(lender.heard)
    rack.run(30.0)
    assert len(lender.heard) == count


@pytest.mark.parametrize("work", ["drain", "fill"])
def test_the_coordinator_is_told_how_much_a_drain_or_a_fill_will_move(work: str) -> None:
    rack, lender = shut()
    if work == "drain":
        rack.memory = replace(rack.memory, locks=(Lock("ann", "x", 0.0),))
    else:
        rack.memory = replace(rack.memory, inventory=Inventory.PART)
    rack.scan(a_request(rack, work))
    assert (lender.heard[0].work, lender.heard[0].args) == (work, {"volume_l": 45.0})
    rack.scan()
    assert (rack.state, rack.memory.leased) == ({"drain": S.DRAINING, "fill": S.FILLING}[work], True)


def test_opening_work_is_refused_with_the_coordinators_reason_and_what_would_allow_it() -> None:
    rack, lender = shut(Lender(refuses=BUSY))
    answer = rack.ask("open").fields
    assert (answer["status"], answer["code"], answer["reason"], answer["allow"]) == ("refused", "granted", *BUSY)
    assert rack.now_s == pytest.approx(rack.scans[0].memory.now_s + 0.05)  # at once
    told = next(fact.fields for fact in rack.told(K.LEASE))
    assert told == {"what": "refused", "work": "open", "id": None, "epoch": 7, "reason": BUSY[0], "allow": BUSY[1]}
    rack.run(20.0)
    assert rack.state is S.ISOLATED
    assert lender.said() == [(Act.ASK, "open")]  # nothing is asked for any more, and nothing was granted


@pytest.mark.parametrize("work", ["open", "drain", "fill", "test"])
def test_with_the_coordinator_gone_opening_work_is_refused_with_that_reason_after_four_seconds(work: str) -> None:
    rack, _ = shut(Lender(alive=False))
    if work == "drain":
        rack.memory = replace(rack.memory, locks=(Lock("ann", "x", 0.0),))
    if work == "fill":
        rack.memory = replace(rack.memory, inventory=Inventory.PART)
    began_s = rack.now_s
    answer = rack.ask(work).fields
    assert (answer["status"], answer["code"], answer["reason"], answer["allow"]) == ("refused", "granted", *SILENT)
    assert rack.now_s - began_s == pytest.approx(ANSWER_S + 0.05)
    assert rack.state is S.ISOLATED
    assert raised(rack, 20) | raised(rack, 20, dt_s=0.5) == set()


def test_who_asks_again_while_it_waits_is_told_that_it_waits_and_gets_the_same_answer_later() -> None:
    rack, _ = shut(Lender(late=True))
    rack.scan(a_request(rack, "open"))
    rack.run(1.95)
    rack.scan(a_request(rack, "open", client="ben"))
    assert answers(rack) == []
    again = progress(rack)[-1].fields
    assert (again["client"], again["eta_s"]) == ("ben", 2.0)
    assert rack.memory.waiting is not None
    assert rack.memory.waiting.client == "ann"
    rack.run(4.0)
    assert answers(rack) == [("refused", "granted")]
    rack.scan(a_request(rack, "open", client="ben"))
    assert answers(rack) == [("refused", "granted")] * 2


def test_the_same_request_twice_in_one_scan_waits_once() -> None:
    rack, lender = shut()
    rack.scan(a_request(rack, "open"), a_request(rack, "open"))
    assert len(progress(rack)) == 1
    rack.scan()
    assert answers(rack) == [("accepted", "ok")]
    assert len(lender.heard) == 1


def test_one_request_waits_at_a_time() -> None:
    rack, lender = shut(Lender(late=True))
    rack.scan(a_request(rack, "test"), a_request(rack, "open", "z", "ben"))
    assert answers(rack, "z") == [("refused", "busy")]
    rack.scan(a_request(rack, "open", "y", "ben"))
    busy = last(rack, K.ANSWER).fields
    assert (busy["code"], busy["reason"]) == ("busy", "'test' of ann waits for the coordinator's answer")
    assert busy["allow"] == "ask again once it is answered, or 'cancel' it"
    rack.answers, lender.kept = lender.kept, []
    rack.scan()
    assert (answers(rack), rack.state) == ([("accepted", "ok")], S.TESTING)


def test_a_lease_counts_for_the_work_that_it_was_asked_for_and_no_other() -> None:
    rack, _ = shut()
    rack.scan(a_request(rack, "test"))
    rack.scan(a_request(rack, "open", "z", "ben"))  # the lease of the test is there in this scan
    assert (rack.state, answers(rack)) == (S.TESTING, [("accepted", "ok")])
    assert answers(rack, "z") == []
    rack.scan()
    assert answers(rack, "z") == [("refused", "expect_seq")]
    assert rack.state is S.TESTING


def test_what_it_was_judged_by_is_judged_again_when_the_lease_is_there() -> None:
    rack, lender = shut(Lender(late=True))
    rack.scan(a_request(rack, "open"))
    rack.values["TT-101"] = 48.0
    rack.answers, lender.kept, lender.late = lender.kept, [], False
    rack.scan()
    assert (answers(rack), rack.state) == ([("refused", "supply_in_band")], S.ISOLATED)
    rack.scan()
    assert lender.held is None


@pytest.mark.parametrize("name", ["emergency_stop", "dark", "isolate", "cancel"])
def test_whoever_asks_for_less_ends_the_wait(name: str) -> None:
    rack, lender = shut(Lender(late=True))
    rack.scan(a_request(rack, "open"))
    rack.scan(a_request(rack, name, "z", "ben"))
    assert answers(rack) == [("refused", "overtaken")]
    reason = next(f.fields["reason"] for f in rack.told(K.ANSWER) if f.fields["id"] == "q")
    assert reason == "something safer was asked for while it waited for the coordinator"
    assert answers(rack, "z") == [("accepted", "ok")]
    assert rack.memory.waiting is None
    assert lender.said() == [(Act.ASK, "open"), (Act.GIVE_BACK, "open")]
    rack.answers = lender.kept
    assert raised(rack, 20) | raised(rack, 20, dt_s=0.5) == set()


def test_whoever_asks_for_less_in_the_same_scan_comes_first() -> None:
    rack, lender = shut()
    rack.scan(a_request(rack, "open"), a_request(rack, "isolate", "z"))
    assert (answers(rack), progress(rack), lender.heard) == ([("refused", "overtaken")], [], [])


def test_nobody_ends_the_wait_whose_request_is_refused() -> None:
    rack, _ = shut(Lender(late=True))
    rack.scan(a_request(rack, "open"))
    rack.scan(a_request(rack, "isolate", "z", role="observer"))
    assert answers(rack, "z") == [("refused", "role")]
    assert rack.memory.waiting is not None


@pytest.mark.parametrize("what", ["lock", "trip", "restart", "boot", "late"])
def test_a_rack_that_is_not_as_it_was_when_it_was_asked_opens_nothing(what: str) -> None:
    rack, lender = shut(Lender(late=True))
    rack.scan(a_request(rack, "open"))
    match what:
        case "lock":
            rack.ask("lock", owner="ann")
        case "trip":
            rack.values["LDT-101"] = 1.0
            rack.run(0.7)
        case "late":
            rack.scan(dt_s=2.5)
        case _:
            reborn(rack, BOOT if what == "restart" else "boot-2")
    rack.answers = lender.kept
    assert raised(rack, 20) | raised(rack, 20, dt_s=0.5) == set()
    assert answers(rack) == [("refused", "expect_seq")]
    assert rack.state is S.ISOLATED
    assert rack.memory.grant is None


def test_a_rack_that_is_dark_and_flows_is_opened_without_a_lease_and_the_isolations_is_given_back() -> None:
    rack, lender = dark_and_isolating()
    rack.run(1.0)
    assert (rack.memory.grant, rack.state) == ("cdu1-7-1", S.COOLDOWN)
    rack.memory = replace(rack.memory, latches=())
    assert rack.ask("open").fields["status"] == "accepted"
    assert (rack.state, rack.memory.leased, rack.memory.grant) == (S.OPENING, False, None)
    rack.scan()
    assert lender.said()[-1] == (Act.GIVE_BACK, "isolate")
    rack.run(40.0)
    assert ("lease_lost", "OPENING", "ISOLATING") not in transitions(rack)


def test_a_rack_without_a_coordinator_asks_nobody() -> None:
    for rack, name, place in (
        (isolated(), "open", (S.OPENING, Step.THROTTLE)),
        (flowing(), "isolate", (S.UNLOADING, Step.UNLOAD)),
    ):
        rack.lender = lender = Lender()
        assert rack.ask(name).fields["status"] == "accepted"
        assert (rack.state, rack.memory.step) == place
        rack.run(20.0)
        assert (lender.heard, rack.told(K.LEASE), rack.told(K.UNCOORDINATED)) == ([], [], [])


# --- planned isolation ---------------------------------------------------------------------------------------------------


def dark_and_isolating(lender: Lender | None = None) -> tuple[PaperRack, Lender]:
    rack, lender = serving(lender)
    rack.ask("dark")
    rack.run(1.0)
    assert rack.state is S.COOLDOWN
    rack.values |= {"TT-102A": 41.0, "TT-102B": 41.0, "TT-102C": 41.0}
    rack.scan(a_request(rack, "isolate"))
    return rack, lender


def test_a_planned_isolation_goes_on_with_its_lease_and_keeps_it_until_the_rack_is_shut() -> None:
    rack, lender = serving()
    rack.scan(a_request(rack, "isolate"))
    assert (rack.state, rack.memory.step) == (S.UNLOADING, Step.ASK)
    assert rack.scans[-1].outputs.xs_101
    assert [fact.fields["remark"] for fact in progress(rack)] == [WAITS]
    rack.scan()
    assert (rack.memory.grant, rack.memory.step) == ("cdu1-7-1", Step.UNLOAD)
    rack.scan()
    assert [fact.fields["remark"] for fact in progress(rack)] == [WAITS, ""]
    rack.values |= {"JT-101": 1.0, "ET-101": 1.0, "TT-102A": 41.0, "TT-102B": 41.0, "TT-102C": 41.0}
    for _ in range(400):
        rack.scan(dt_s=0.5)
        if rack.state is S.ISOLATED:
            break
        assert (rack.memory.grant, rack.memory.uncoordinated) == ("cdu1-7-1", False)
    rack.scan()
    assert (rack.memory.grant, lender.held) == (None, None)
    assert {work for _, work in lender.said()} == {"isolate"}
    assert rack.told(K.UNCOORDINATED) == []
    assert leases(rack) == ["granted", "given_back"]


def test_without_an_answer_a_planned_isolation_waits_ten_seconds_then_goes_on_and_says_uncoordinated() -> None:
    rack, _ = serving(Lender(alive=False))
    rack.scan(a_request(rack, "isolate"))
    began_s = rack.now_s
    assert answers(rack) == [("accepted", "ok")]
    rack.run(WAIT_S - 0.05)
    assert (rack.memory.step, rack.memory.uncoordinated) == (Step.ASK, False)
    assert {fact.fields["remark"] for fact in progress(rack)} == {WAITS}
    rack.scan()
    assert (rack.memory.step, rack.memory.uncoordinated) == (Step.UNLOAD, True)
    assert rack.now_s - began_s == pytest.approx(WAIT_S)
    assert last(rack, K.UNCOORDINATED).fields == {"work": "isolate", "reason": SILENT[0], "allow": SILENT[1]}
    assert progress(rack)[-1].fields["remark"] == ALONE
    rack.values |= {"JT-101": 1.0, "ET-101": 1.0, "TT-102A": 41.0, "TT-102B": 41.0, "TT-102C": 41.0}
    for _ in range(400):
        rack.scan(dt_s=0.5)
        if rack.state is S.ISOLATED:
            break
        assert rack.memory.uncoordinated
    rack.scan()
    assert (rack.state, rack.memory.uncoordinated) == (S.ISOLATED, False)
    assert len(rack.told(K.UNCOORDINATED)) == 1
    assert rack.told(K.ENDED)[-1].fields["status"] == "succeeded"


def test_refused_it_asks_again_goes_on_with_the_reason_and_is_coordinated_again_once_granted() -> None:
    rack, lender = serving(Lender(refuses=BUSY))
    rack.scan(a_request(rack, "isolate"))
    rack.run(10.1)
    assert lender.said() == [(Act.ASK, "isolate")] * 3  # at 0, 5 and 10 s
    assert last(rack, K.UNCOORDINATED).fields["reason"] == BUSY[0]
    assert leases(rack) == ["refused"]
    lender.refuses = ("another reason", "x")
    rack.run(5.2)
    assert leases(rack) == ["refused", "refused"]
    lender.refuses = None
    rack.run(5.0)
    assert (rack.memory.grant, rack.memory.uncoordinated) == ("cdu1-7-1", False)
    assert progress(rack)[-1].fields["remark"] == ""


def test_a_dark_rack_waits_for_its_lease_before_its_flow_is_throttled() -> None:
    rack, _ = dark_and_isolating(Lender(alive=False))
    assert progress(rack)[-1].fields["remark"] == WAITS
    rack.run(39.9)
    assert (rack.memory.step, rack.memory.uncoordinated) == (Step.COOL, False)
    rack.run(0.2)
    assert (rack.memory.step, rack.memory.uncoordinated) == (Step.RAMP, True)


def test_a_dark_rack_with_its_lease_cools_as_one_that_needs_none() -> None:
    rack, _ = dark_and_isolating()
    rack.run(30.2)
    assert (rack.memory.step, rack.memory.uncoordinated) == (Step.RAMP, False)


def test_a_rack_that_only_cools_wants_no_lease() -> None:
    rack, lender = serving()
    rack.ask("dark")
    rack.run(20.0)
    assert (rack.state, lender.heard) == (S.COOLDOWN, [])


def test_a_cancelled_isolation_gives_its_lease_back() -> None:
    rack, lender = serving()
    rack.scan(a_request(rack, "isolate"))
    rack.run(1.0)
    rack.scan(a_request(rack, "cancel", "z"))
    assert answers(rack, "z") == [("accepted", "ok")]
    rack.scan()
    assert (rack.state, lender.held, rack.memory.grant) == (S.FLOWING, None, None)


def test_an_emergency_asks_nobody_and_withdraws_what_was_asked() -> None:
    rack, lender = serving(Lender(alive=False))
    rack.stroke_s = 3.0
    rack.scan(a_request(rack, "isolate"))
    lender.alive = True
    rack.values["LDT-101"] = 1.0
    rack.run(0.8)
    assert (rack.state, rack.memory.emergency) == (S.ISOLATING, True)
    assert lender.said() == [(Act.GIVE_BACK, "isolate")]
    assert not rack.memory.uncoordinated
    rack.run(20.0)
    assert len(lender.heard) == 1


def test_a_leak_in_planned_work_keeps_its_lease_until_the_rack_is_shut() -> None:
    rack, lender = serving()
    rack.scan(a_request(rack, "isolate"))
    rack.run(1.0)
    rack.stroke_s = 3.0
    rack.values["LDT-101"] = 1.0
    rack.run(1.0)
    assert (rack.state, rack.memory.grant) == (S.ISOLATING, "cdu1-7-1")
    assert "r3" in lender.memory.leases
    rack.run(12.0)
    assert (rack.state, lender.held) == (S.ISOLATED, None)


# --- lost and lapsed -------------------------------------------------------------------------------------------------------


def at(state: State, step: Step) -> tuple[PaperRack, Lender]:
    """A rack in one step of leased work, its field as the step demands it, its lease 2 s old."""
    demand = OUTPUTS[state, step]
    assert demand is not None
    rack, lender = lent(flowing() if demand.xv_101 and demand.xv_102 else isolated())
    on = {"XY-101": demand.xv_101, "XY-102": demand.xv_102, "XY-103": demand.xv_103, "XY-104": demand.xv_104}
    on |= {
        "XSY-101": demand.xs_101,
        "XI-101": demand.xs_101,
        "ZSC-103": not demand.xv_103,
        "ZSC-104": not demand.xv_104,
    }
    on |= {f"ZSO-{n}": value for n, value in (("101", demand.xv_101), ("102", demand.xv_102))}
    on |= {f"ZSC-{n}": not value for n, value in (("101", demand.xv_101), ("102", demand.xv_102))}
    rack.values |= {tag: float(value) for tag, value in on.items()}
    rack.values |= {"TT-102A": 41.0, "TT-102B": 41.0, "TT-102C": 41.0, "PT-202": 150.0}
    rack.values |= {"PT-101": 180.0, "PT-102": 180.0} if state is S.TESTING else {}
    rack.values |= {"PT-101": 0.0, "PT-102": 0.0} if state is S.DRAINING else {}
    rack.values |= {"FT-101": 20.0, "PT-101": 60.0, "PT-102": 60.0, "ZT-101": 10.0} if state is S.FILLING else {}
    if not demand.xs_101:
        rack.values |= {"JT-101": 0.0, "ET-101": 0.0, "EV-101": 0.0}
    held = Leasing(epoch=7, number=1, work=WORK_OF[state], since_s=rack.now_s, grant_id="cdu1-7-1")
    held = replace(held, until_s=rack.now_s + 28.0, next_s=rack.now_s + 8.0)
    rack.memory = replace(
        rack.memory, state=state, step=step, since_s=rack.now_s, step_since_s=rack.now_s, steady_since_s=None, grant="cdu1-7-1",
        leasing=held, leased=state in OPENING, work=Work(rack.now_s) if state in OPENING[1:] else None, permit_rise_s=None,
        inventory=Inventory.FULL if state is S.TESTING else Inventory.PART, isolate_wanted=state is S.COOLDOWN,
        shut_since_s=None, header_ref_kpa=None, return_ref_kpa=None,
        locks=(Lock("ann", "x", 0.0),) if state is S.DRAINING else (),
    )  # fmt: skip
    lender.memory = replace(
        lender.memory, number=1, leases={"r3": Held("r3", "cdu1-7-1", 7, WORK_OF[state], rack.now_s, rack.now_s)}
    )
    return rack, lender


PLACES = sorted({(row.state, row.step) for row in STEPS})
OPENING_PLACES = [place for place in PLACES if place[0] in OPENING]
CLOSING_PLACES = [place for place in PLACES if place[0] not in OPENING and place != (S.UNLOADING, Step.ASK)]


def dead(rack: PaperRack, lender: Lender) -> None:
    lender.alive = False
    rack.memory = replace(rack.memory, leasing=replace(rack.memory.leasing, until_s=rack.now_s + 0.2))


def forgetful(rack: PaperRack, lender: Lender) -> None:
    lender.forget()
    rack.memory = replace(rack.memory, leasing=replace(rack.memory.leasing, next_s=rack.now_s + 0.2))


@pytest.mark.parametrize("lose", [dead, forgetful])
@pytest.mark.parametrize(("state", "step"), OPENING_PLACES)
def test_opening_work_that_loses_its_lease_ends_in_every_step(
    state: State, step: Step, lose: Callable[[PaperRack, Lender], None]
) -> None:
    rack, lender = at(state, step)
    lose(rack, lender)
    rack.run(0.15)
    assert rack.state is state, rack.memory.failed
    for _ in range(4):
        if rack.state is state:
            rack.scan()
    assert transitions(rack)[-1] == ("lease_lost", state, "ISOLATING")
    assert (rack.memory.failed, rack.memory.leased, rack.memory.grant) == ("lease_lost", False, None)
    assert leases(rack) == ["lapsed" if lose is dead else "lost"]
    assert raised(rack, 100, dt_s=0.5) == set()
    assert rack.state is S.ISOLATED
    assert lender.held is None or lose is dead
    assert "work-failed-lease-lost" in {name for name, one in rack.memory.alarms.items() if one.active}


@pytest.mark.parametrize("lose", [dead, forgetful])
@pytest.mark.parametrize(("state", "step"), CLOSING_PLACES)
def test_closing_work_that_loses_its_lease_goes_on_and_tells(
    state: State, step: Step, lose: Callable[[PaperRack, Lender], None]
) -> None:
    rack, lender = at(state, step)
    rack.follow = False
    rack.values |= {"ZSC-102": 0.0} if state is S.ISOLATING else {}
    lender.refuses = BUSY
    lose(rack, lender)
    rack.run(0.4)
    assert rack.state is state
    assert leases(rack)[0] == ("lapsed" if lose is dead else "lost")
    assert rack.memory.uncoordinated is (step is not Step.COOL)


def test_a_lease_lapses_thirty_seconds_after_the_last_answered_message_was_sent() -> None:
    rack, lender = shut()
    rack.scan(a_request(rack, "test"))
    rack.values |= {"PT-101": 180.0, "PT-102": 180.0, "PT-202": 150.0}
    sent_s = rack.now_s
    lender.late = True
    rack.run(29.95)
    assert (rack.state, rack.memory.grant) == (S.TESTING, "cdu1-7-1")
    rack.scan()
    assert rack.now_s - sent_s == pytest.approx(30.0)
    assert (rack.state, rack.memory.grant) == (S.ISOLATING, None)
    assert last(rack, K.ENDED).fields["reason"] == "the coordinator's lease was lost or ran out; the rack is ISOLATING"
    assert last(rack, K.LEASE).fields == {"what": "lapsed", "work": "test", "id": "cdu1-7-1", "epoch": 7}


# --- what is answered ------------------------------------------------------------------------------------------------------


def test_a_lower_epoch_grants_nothing_and_is_told_once() -> None:
    rack, lender = shut(Lender(alive=False))
    rack.memory = replace(rack.memory, leasing=Leasing(epoch=9))
    rack.scan(a_request(rack, "open"))
    ask = rack.scans[-1].asks[0]
    assert ask.epoch == 9
    lower = Answer(ask.ask_id, True, "cdu1-8-1", 8, 30.0, "open")
    rack.answers = [lower, lower]
    rack.scan()
    rack.answers = [lower]
    rack.scan()
    assert (rack.state, rack.memory.grant) == (S.ISOLATED, None)
    told = [fact.fields for fact in rack.told(K.LEASE)]
    assert told == [{"what": "lower_epoch", "work": "open", "id": None, "epoch": 9, "answered": 8}]
    rack.answers = [replace(lower, epoch=7), replace(lower, id="cdu1-9-1", epoch=9)]
    rack.scan()
    assert (rack.state, rack.memory.grant) == (S.OPENING, "cdu1-9-1")
    assert leases(rack) == ["lower_epoch", "lower_epoch", "granted"]
    assert lender.heard == []


def test_an_answer_that_comes_twice_or_too_late_changes_nothing() -> None:
    rack, lender = shut(Lender(late=True))
    rack.scan(a_request(rack, "open"))
    (answer,) = lender.kept
    rack.run(ANSWER_S + 0.1)
    assert answers(rack) == [("refused", "granted")]
    rack.answers = [answer, answer]
    assert raised(rack, 20) | raised(rack, 20, dt_s=0.5) == set()
    assert (rack.memory.grant, leases(rack)) == (None, [])


def test_an_answer_that_comes_twice_grants_once() -> None:
    rack, lender = shut(Lender(late=True))
    rack.scan(a_request(rack, "open"))
    rack.answers = lender.kept * 3
    rack.scan()
    assert (rack.state, leases(rack)) == (S.OPENING, ["granted"])


def test_a_coordinator_that_starts_anew_is_presented_the_lease_and_takes_a_higher_epoch() -> None:
    rack, lender = at(S.DRAINING, Step.WATCH)
    lender.restart(rack.now_s)
    lender.memory = replace(lender.memory, leases={})  # its record was lost too
    rack.run(9.0)
    assert (rack.state, rack.memory.grant, rack.memory.leasing.epoch) == (S.DRAINING, "cdu1-7-1", 8)
    assert lender.held is not None
    assert lender.held.adopted


def test_the_ids_of_two_racks_and_of_two_boots_differ() -> None:
    said = set()
    for name, boot in (("demo/r03", BOOT), ("demo/r04", BOOT), ("demo/r03", "boot-2")):
        rack, lender = shut()
        rack.limits = replace(rack.limits, name=name)
        rack.rack = setup(rack.limits)
        rack.memory = replace(rack.memory, boot_id=boot)
        rack.scan(a_request(rack, "open"))
        said.add(lender.heard[0].ask_id)
    assert len(said) == 3


# --- restarts --------------------------------------------------------------------------------------------------------------


def reborn(rack: PaperRack, boot_id: str) -> PaperRack:
    """The process dies and starts again with what was on the disk; nothing moves meanwhile."""
    stored = reread(rack.memory)
    rack.memory = begin(
        stored, readable=True, armed_in_file=True, starts_s=(), boot_id=boot_id, now_s=rack.now_s, limits=rack.limits
    )
    rack.ack_s = None
    return rack


@pytest.mark.parametrize("boot_id", [BOOT, "boot-2"])
@pytest.mark.parametrize(("state", "step"), OPENING_PLACES)
def test_opening_work_ends_with_its_process_in_every_step_and_its_lease_opens_nothing(
    state: State, step: Step, boot_id: str
) -> None:
    rack, lender = at(state, step)
    reborn(rack, boot_id)
    assert raised(rack, 20) | raised(rack, 80, dt_s=0.5) == set()
    assert rack.state is S.ISOLATED, rack.memory
    assert (rack.memory.grant, rack.memory.leased, rack.memory.leasing.work) == (None, False, None)
    given_back = (Act.GIVE_BACK, WORK_OF[state]) in lender.said()
    assert given_back is (boot_id == BOOT)
    assert rack.memory.leasing.epoch == 7


@pytest.mark.parametrize("boot_id", [BOOT, "boot-2"])
@pytest.mark.parametrize(("state", "step"), [place for place in CLOSING_PLACES if place[0] is not S.UNLOADING])
def test_closing_work_goes_on_after_its_process_died_in_every_step(state: State, step: Step, boot_id: str) -> None:
    rack, lender = at(state, step)
    reborn(rack, boot_id)
    assert raised(rack, 20) | raised(rack, 380, dt_s=0.5) == set()
    assert rack.state is S.ISOLATED, rack.memory
    assert rack.memory.grant is None
    if boot_id == BOOT:
        assert lender.said()[0] == (Act.RENEW, "isolate")
    elif state is S.COOLDOWN:
        assert lender.said()[0] == (Act.ASK, "isolate")


@pytest.mark.parametrize("boot_id", [BOOT, "boot-2"])
@pytest.mark.parametrize("step", [Step.ASK, Step.UNLOAD])
def test_a_half_done_unloading_is_cancelled_with_its_process_and_its_lease_given_back(step: Step, boot_id: str) -> None:
    rack, lender = at(S.UNLOADING, step)
    reborn(rack, boot_id)
    rack.run(5.0)
    assert (rack.state, rack.memory.grant) == (S.FLOWING, None)
    assert (lender.held is None) is (boot_id == BOOT)


def test_a_new_process_presents_its_lease_at_once_and_believes_no_answer_to_the_one_before() -> None:
    rack, lender = at(S.COOLDOWN, Step.RAMP)
    rack.memory = replace(rack.memory, leasing=replace(rack.memory.leasing, next_s=rack.now_s))
    lender.late = True
    rack.scan()
    assert lender.said() == [(Act.RENEW, "isolate")]
    until_s = rack.memory.leasing.until_s
    reborn(rack, BOOT)
    rack.answers = lender.kept
    rack.scan()
    assert rack.memory.leasing.until_s == until_s
    assert lender.said() == [(Act.RENEW, "isolate")] * 2
    assert lender.heard[0].ask_id != lender.heard[1].ask_id


# --- by chance -------------------------------------------------------------------------------------------------------------


def test_whatever_the_coordinator_does_opening_work_goes_on_only_under_a_lease() -> None:
    seen = set[tuple[State, bool]]().union(*(by_chance(seed) for seed in range(8)))
    assert seen >= {(state, True) for state in (*OPENING, S.UNLOADING, S.COOLDOWN, S.ISOLATING)} | {(S.FLOWING, False)}


def by_chance(seed: int) -> set[tuple[State, bool]]:
    """Answers lost, late, doubled and refused, coordinators that die and start, restarts, leaks, and people who ask for all of it."""
    chance = random.Random(seed)
    rack, lender = shut() if seed % 2 else serving()
    epoch, seen = 0, set[tuple[State, bool]]()
    for number in range(200):
        match chance.randrange(20):
            case 0:
                lender.alive = chance.random() < 0.7
            case 1:
                lender.late = chance.random() < 0.3
            case 2:
                rack.answers += lender.kept + chance.choices(lender.kept, k=2) if lender.kept else []
            case 3:
                lender.refuses = BUSY if chance.random() < 0.3 else None
            case 4 if chance.random() < 0.3:
                lender.restart(rack.now_s)
            case 5 if chance.random() < 0.3:
                reborn(rack, chance.choice([rack.memory.boot_id, f"boot-{number}"]))
            case 6 if chance.random() < 0.2:
                rack.values["LDT-101"] = 1.0 - (rack.values["LDT-101"] or 0.0)
        if rack.state is S.ISOLATED:  # people have mended it, and want something of it
            name = chance.choice(["open", "drain", "fill", "test"])
            locks = (Lock("ann", "x", 0.0),) if name == "drain" else ()
            inventory = Inventory.PART if name == "fill" else Inventory.FULL
            rack.memory = replace(rack.memory, latches=(), locks=locks, inventory=inventory, tested=True)
        else:
            name = chance.choice(["open", "drain", "fill", "test", "isolate", "cancel", "dark", *[""] * 20])
        asked = [a_request(rack, name, f"n{number}")] if name else []
        before, was = rack.memory, rack.state
        rack.scan(*asked, dt_s=chance.choice([0.05, 0.5, 1.5]))
        for _ in range(chance.randrange(4)):
            rack.scan(dt_s=0.5)
        memory = rack.memory
        if memory.state in OPENING and memory.leased:
            assert memory.grant is not None
            assert memory.leasing.work in {WORK_OF[memory.state], "test"}
        elif memory.state in OPENING:
            assert memory.state is S.OPENING
            assert was in {S.COOLDOWN, S.OPENING}
        seen.add((memory.state, memory.grant is not None))
        if memory.grant is not None:
            assert rack.now_s < memory.leasing.until_s
            assert memory.leasing.until_s <= rack.now_s + 30.0
        assert memory.leasing.epoch >= epoch
        assert before.state_seq <= memory.state_seq
        epoch = memory.leasing.epoch
    return seen


def test_work_whose_lease_is_gone_asks_for_no_other() -> None:
    rack, _ = at(S.DRAINING, Step.WATCH)
    assert wanted(rack.memory) == "drain"
    assert wanted(replace(rack.memory, grant=None)) is None
    assert wanted(replace(rack.memory, leased=False)) is None
