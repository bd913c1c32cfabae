"""Several requests in one scan, and requests beside a trip, a late scan or an adoption."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from tests.attack.bench import Node, rack, request, scan, standing, tell
from valvey.core.chart import PERMIT_ON, Event, State, Step
from valvey.core.facts import FactKind
from valvey.core.memory import Effect, Latch, Lock
from valvey.core.requests import Request

RACK = rack()


def codes(answers: list[dict[str, Any]]) -> list[str]:
    return [answer["code"] for answer in answers]


def asks(node: Node, *names: str) -> tuple[Request, ...]:
    """Requests by name with plain arguments; "trip" is a coordinator's trip-class isolate."""
    args: dict[str, dict[str, Any]] = {
        "lock": {"owner": "anna"},
        "unlock": {"owner": "anna", "role": "supervisor"},
        "reset": {"sif": ["SIF-4"]},
        "bypass": {"name": "SIF-5", "for_s": 60},
        "set_point": {"fcv_pct": 55.0},
    }
    out = []
    for place, name in enumerate(names):
        called, more = (
            ("isolate", {"role": "coordinator", "trip": True}) if name == "trip" else (name, args.get(name, {}))
        )
        out.append(request(node, called, id=f"{place}-{name}", **more))
    return tuple(out)


def ask(node: Node, *names: str, dt_s: float = 0.05) -> tuple[Node, list[dict[str, Any]]]:
    return tell(RACK, node, *asks(node, *names), dt_s=dt_s)


def with_latch(node: Node, sif: str = "SIF-4") -> Node:
    latch = Latch(sif, sif, Effect.DARK, node.now_s, node.now_s)
    return replace(node, memory=replace(node.memory, latches=(latch,)))


# --- two people in one scan


@pytest.mark.parametrize("order", list(permutations(("isolate", "emergency_stop", "dark"))))
def test_the_safest_of_several_demands_wins_in_any_order(order: tuple[str, ...]) -> None:
    node, answers = ask(standing(State.FLOWING), *order)
    assert [answer["status"] for answer in answers] == ["accepted"] * 3
    assert node.memory.state is State.ESD
    assert {latch.sif for latch in node.memory.latches} == {"SIF-7", "SIF-10"}


@pytest.mark.parametrize("order", [("lock", "open"), ("open", "lock")])
def test_a_lock_beats_an_opening_of_the_same_scan(order: tuple[str, ...]) -> None:
    node, answers = ask(standing(State.ISOLATED), *order)
    assert node.memory.state is State.ISOLATED
    assert [lock.owner for lock in node.memory.locks] == ["anna"]
    refusal = answers[order.index("open")]
    assert (refusal["status"], refusal["code"]) == ("refused", "overtaken")
    assert "state_seq became 11" in refusal["reason"]


@pytest.mark.parametrize("order", list(permutations(("isolate", "open"))))
@pytest.mark.parametrize("state", [State.ISOLATED, State.COOLDOWN])
def test_nothing_opens_beside_somebody_who_asks_to_shut(state: State, order: tuple[str, ...]) -> None:
    node, answers = ask(standing(state), *order)
    assert node.memory.state is state
    assert answers[order.index("open")]["code"] == "overtaken"
    assert answers[order.index("isolate")]["status"] == "accepted"


def test_a_dark_beats_the_opening_of_a_rack_that_cools_down() -> None:
    node, answers = ask(standing(State.COOLDOWN), "open", "dark")
    assert codes(answers) == ["overtaken", "ok"]
    assert node.memory.state is State.COOLDOWN
    assert [latch.sif for latch in node.memory.latches] == ["SIF-10"]


def test_an_unloading_is_not_cancelled_beside_somebody_who_wants_it() -> None:
    node, answers = ask(standing(State.UNLOADING), "cancel", "isolate")
    assert codes(answers) == ["overtaken", "ok"]
    assert node.memory.state is State.UNLOADING


@pytest.mark.parametrize("order", [("isolate", "cancel"), ("cancel", "isolate")])
def test_an_isolation_beats_a_cancel_of_the_same_scan(order: tuple[str, ...]) -> None:
    start = standing(State.COOLDOWN, isolate_wanted=True)
    node, answers = ask(start, *order)
    assert node.memory.isolate_wanted
    assert [answer["status"] for answer in answers] == ["accepted", "accepted"]
    assert answers[order.index("cancel")]["reason"] == "'isolate' came first in this scan"


def test_two_requests_with_the_same_sequence_number_do_not_both_open() -> None:
    node, answers = ask(standing(State.ISOLATED), "open", "commission")
    assert node.memory.state is State.OPENING
    assert codes(answers) == ["ok", "overtaken"]
    node, answers = ask(standing(State.ISOLATED), "commission", "open")
    assert node.memory.state is State.ISOLATED
    assert codes(answers) == ["ok", "overtaken"]


def test_opening_requests_that_change_no_sequence_number_go_side_by_side() -> None:
    node, answers = ask(standing(State.FLOWING), "set_point", "bypass")
    assert codes(answers) == ["ok", "ok"]
    steering = node.memory.steering
    assert steering is not None
    assert (steering.control.asked, [one.name for one in node.memory.bypasses]) == (55.0, ["SIF-5"])


def test_the_chart_moves_once_for_two_requests_that_would_both_move_it() -> None:
    start = standing(State.COOLDOWN)
    node, answers = tell(
        RACK, start, *asks(start, "open"), replace(asks(start, "open")[0], id="second", client="panel")
    )
    assert codes(answers) == ["ok", "overtaken"]
    assert answers[1]["reason"] == "'open' came first in this scan"
    assert node.memory.state_seq == 11


# --- ids


def test_the_same_id_gets_the_same_answer_and_no_second_act() -> None:
    start = standing(State.ISOLATED)
    first, (answer,) = tell(RACK, start, request(start, "open", id="a"))
    assert first.memory.state is State.OPENING
    second, (again,) = tell(RACK, first, request(first, "open", id="a"))
    assert (again["status"], again["code"]) == (answer["status"], answer["code"]) == ("accepted", "ok")
    assert second.memory.state_seq == first.memory.state_seq
    third, (other,) = tell(RACK, second, request(second, "set_point", id="a", fcv_pct=20.0))
    assert other["status"] == "accepted"
    assert third.memory.fcv_pct == second.memory.fcv_pct


def test_a_refusal_is_repeated_as_well_though_it_would_be_accepted_now() -> None:
    locked = standing(State.ISOLATED, locks=(Lock("anna", "work", 1.0),))
    first, (answer,) = tell(RACK, locked, request(locked, "open", id="a"))
    assert answer["code"] == "no_lock"
    free = replace(first, memory=replace(first.memory, locks=()))
    second, (again,) = tell(RACK, free, request(free, "open", id="a"))
    assert again["code"] == "no_lock"
    assert second.memory.state is State.ISOLATED


def test_an_id_twice_in_one_scan_acts_once_and_both_get_its_answer() -> None:
    start = standing(State.ISOLATED)
    same = request(start, "bypass", id="a", name="SIF-5", for_s=60)
    other = replace(same, args={"name": "SIF-3", "for_s": 60})
    node, answers = tell(RACK, start, same, other)
    assert codes(answers) == ["ok", "ok"]
    assert [one.name for one in node.memory.bypasses] == ["SIF-5"]
    assert [answer.id for answer in node.memory.answered] == ["a"]


def test_an_id_whose_first_request_fails_while_acting_gets_that_refusal_twice() -> None:
    start = standing(State.ISOLATED)
    wrong = request(start, "unlock", id="a", owner="nobody")
    _node, answers = tell(RACK, start, wrong, wrong)
    assert codes(answers) == ["not_locked", "not_locked"]


def test_a_safer_request_acts_again_under_the_same_id() -> None:
    start = standing(State.FLOWING)
    first, _answers = tell(RACK, start, request(start, "isolate", id="a"))
    cancelled, _answers = tell(RACK, first, request(first, "cancel", id="b"))
    assert cancelled.memory.state is State.FLOWING
    again, (answer,) = tell(RACK, cancelled, request(cancelled, "isolate", id="a"))
    assert (answer["status"], again.memory.state) == ("accepted", State.UNLOADING)


def test_an_opening_request_may_not_borrow_the_answer_of_a_safer_one() -> None:
    start = standing(State.ISOLATED)
    stop, opening = request(start, "isolate", id="a"), request(start, "open", id="a")
    node, answers = tell(RACK, start, opening, stop)
    assert [answer["request"] for answer in answers] == ["open", "isolate"]
    assert codes(answers) == ["overtaken", "ok"]
    assert node.memory.pending == ()


def test_the_answer_to_a_cancelled_unloading_is_remembered() -> None:
    start = standing(State.UNLOADING)
    first, _answers = tell(RACK, start, request(start, "cancel", id="a"))
    assert [answer.id for answer in first.memory.answered] == ["a"]


# --- beside a trip

LIQUID = frozenset({"rope wet"})
STOP = frozenset({"button pressed"})


def leaking(state: State, **changes: Any) -> Node:
    """A rack whose leak trips with the next scan of half a second."""
    node = replace(standing(state, **changes), faults=LIQUID)
    return scan(RACK, node, (), 0.05)[0]


@pytest.mark.parametrize("name", ["open", "set_point", "bypass", "commission", "disarm", "unlock", "reset"])
def test_an_opening_request_is_overtaken_by_the_trip_of_its_scan(name: str) -> None:
    for state in (State.FLOWING, State.ISOLATED, State.COOLDOWN):
        locked = standing(state, locks=(Lock("anna", "work", 1.0),)) if name == "unlock" else standing(state)
        if name == "reset":
            locked = with_latch(locked)
        node, (answer,) = ask(replace(locked, faults=STOP), name)
        assert node.memory.state is State.ESD
        assert answer["status"] == "refused"
        assert answer["code"] in {"overtaken", "state", "no_lock", "no_latch"}
        assert node.memory.armed
        assert node.memory.locks == locked.memory.locks
        assert set(locked.memory.latches) <= set(node.memory.latches)


def test_a_commissioning_does_not_overwrite_what_a_leak_of_the_same_scan_takes_away() -> None:
    start = leaking(State.ISOLATED)
    node, (answer,) = ask(start, "commission", dt_s=0.6)
    assert (answer["code"], node.memory.state) == ("overtaken", State.ISOLATED)
    assert (node.memory.inventory, node.memory.tested) == ("unknown", False)


def test_a_disarm_beside_a_trip_leaves_the_rack_armed() -> None:
    node, (answer,) = ask(replace(standing(State.ISOLATED), faults=STOP), "disarm")
    assert answer["reason"] == "'esd' came first in this scan"
    assert (node.memory.state, node.memory.armed) == (State.ESD, True)


@pytest.mark.parametrize("fault", ["contactor off", "rope wet", "button pressed"])
def test_an_isolate_beside_a_trip_is_accepted_and_follows_it(fault: str) -> None:
    node = standing(State.FLOWING)
    for _ in range(4):
        node = (
            scan(RACK, replace(node, faults=frozenset({fault})), (), 0.3)[0]
            if node.memory.state is State.FLOWING
            else node
        )
        if node.memory.state is not State.FLOWING:
            break
        after, (answer,) = ask(node, "isolate", dt_s=0.3)
        assert answer["status"] == "accepted"
        if after.memory.state is State.COOLDOWN:
            assert after.memory.isolate_wanted
    assert node.memory.state in {State.COOLDOWN, State.ISOLATING, State.ESD}


def test_an_isolate_beside_a_dark_trip_goes_on_from_the_cooling() -> None:
    node, answers = ask(standing(State.FLOWING), "isolate", "dark")
    assert codes(answers) == ["ok", "ok"]
    assert (node.memory.state, node.memory.isolate_wanted) == (State.COOLDOWN, True)
    assert [one.request for one in node.memory.pending] == ["isolate", "dark"]


def test_a_cancel_beside_a_trip_is_accepted_and_undoes_nothing_of_it() -> None:
    for state in (State.OPENING, State.FILLING, State.TESTING, State.DRAINING):
        node, answers = ask(standing(state), "cancel", "emergency_stop")
        assert codes(answers) == ["ok", "ok"]
        assert node.memory.state is State.ESD


def test_a_trip_class_isolate_of_an_entitled_source_shuts_at_once_from_every_open_state() -> None:
    for state in (State.OPENING, State.FLOWING, State.UNLOADING, State.COOLDOWN, State.FILLING, State.TESTING):
        node, (answer,) = ask(standing(state), "trip")
        assert (answer["status"], node.memory.state, node.memory.emergency) == ("accepted", State.ISOLATING, True)
        assert [latch.sif for latch in node.memory.latches] == ["SIF-10"]


def test_a_trip_class_isolate_hurries_a_slow_isolation_on() -> None:
    node, (answer,) = ask(standing(State.ISOLATING), "trip")
    assert (answer["status"], node.memory.emergency) == ("accepted", True)


def test_a_trip_class_isolate_from_anybody_else_is_planned_work() -> None:
    start = standing(State.FLOWING)
    node, _answers = tell(RACK, start, request(start, "isolate", role="operator", trip=True))
    assert (node.memory.state, node.memory.latches) == (State.UNLOADING, ())


def test_a_null_or_false_trip_is_planned_work_too() -> None:
    for trip in (None, False):
        start = standing(State.FLOWING)
        node, _answers = tell(RACK, start, request(start, "isolate", role="coordinator", trip=trip))
        assert node.memory.state is State.UNLOADING


# --- STARTUP, late scans, disarmed


def test_an_isolate_in_startup_waits_for_the_adoption_and_keeps_its_force() -> None:
    start = standing(State.STARTUP)
    start = replace(start, memory=replace(start.memory, was=State.FLOWING))
    start = replace(start, field=replace(start.field, coils={**start.field.coils, "XS-101": True}))
    start, _passage = scan(RACK, start, (), 0.05)
    node, _answers = tell(RACK, start, request(start, "isolate", force=True))
    memory = node.memory
    assert memory.isolate_wanted
    assert memory.forced
    states = [memory.state]
    for _ in range(4):
        node, _passage = scan(RACK, node, (), 0.05)
        states.append(node.memory.state)
    assert State.FLOWING in states
    assert states[-1] is State.UNLOADING


@pytest.mark.parametrize("state", [State.FLOWING, State.COOLDOWN])
def test_an_isolate_in_a_late_scan_waits_for_the_adoption(state: State) -> None:
    node, (answer,) = ask(standing(state), "isolate", dt_s=2.5)
    assert (answer["status"], node.memory.state) == ("accepted", State.STARTUP)
    assert node.memory.isolate_wanted
    assert node.memory.asked_in_startup


def test_a_cancel_in_a_late_scan_is_kept_in_mind() -> None:
    node, (answer,) = ask(standing(State.COOLDOWN, isolate_wanted=True), "cancel", dt_s=2.5)
    assert (answer["status"], node.memory.state, node.memory.isolate_wanted) == ("accepted", State.STARTUP, False)


@pytest.mark.parametrize("name", ["open", "disarm", "commission", "bypass"])
def test_an_opening_request_is_overtaken_by_a_late_scan(name: str) -> None:
    node, (answer,) = ask(standing(State.ISOLATED), name, dt_s=2.5)
    assert (answer["code"], node.memory.state, node.memory.armed) == ("overtaken", State.STARTUP, True)
    assert answer["reason"] == "'late' came first in this scan"


def test_a_note_is_heard_beside_a_trip() -> None:
    start = replace(standing(State.FLOWING), faults=STOP)
    evidence = request(start, "leak_evidence", role="racky", tray="7", wet=True, for_s=60)
    _node, (answer,) = tell(RACK, start, evidence)
    assert answer["status"] == "accepted"


@pytest.mark.parametrize("name", ["emergency_stop", "dark", "isolate", "cancel", "trip"])
@pytest.mark.parametrize("state", [State.ISOLATED, State.DRAINED])
def test_a_disarmed_rack_accepts_what_is_safer_and_says_that_it_acts_on_nothing(state: State, name: str) -> None:
    node, (answer,) = ask(standing(state, armed=False), name)
    assert answer["status"] == "accepted"
    assert answer["reason"] in {"already safer", "disarmed: nothing is written; the wired emergency stop acts"}
    assert (node.memory.state, node.memory.latches, node.memory.pending) == (state, (), ())


def test_a_disarmed_rack_can_be_locked_and_commissioned_and_armed_but_not_opened() -> None:
    node, answers = ask(standing(State.ISOLATED, armed=False), "lock")
    assert [lock.owner for lock in node.memory.locks] == ["anna"]
    node, answers = ask(standing(State.ISOLATED, armed=False), "open")
    assert codes(answers) == ["armed"]
    node, answers = ask(standing(State.ISOLATED, armed=False), "arm")
    assert codes(answers) == ["ok"]
    assert (node.memory.state, node.memory.step, node.memory.was) == (State.STARTUP, Step.ADOPT, State.ISOLATED)
    node, answers = ask(standing(State.DRAINED, armed=False), "commission")
    assert codes(answers) == ["state"]


def test_an_accepted_emergency_stop_of_an_armed_rack_stops_it_from_every_state() -> None:
    for state in set(State) - {State.ESD}:
        node, (answer,) = ask(standing(state), "emergency_stop")
        assert (answer["status"], node.memory.state) == ("accepted", State.ESD)
        assert [latch.sif for latch in node.memory.latches] == ["SIF-7"]


def test_an_emergency_stop_is_latched_also_by_a_rack_that_is_in_esd_for_another_reason() -> None:
    start = with_latch(standing(State.ESD), "PROOF_LOST")
    node, (answer,) = ask(start, "emergency_stop")
    assert (answer["reason"], node.memory.state) == ("", State.ESD)
    assert [latch.sif for latch in node.memory.latches] == ["PROOF_LOST", "SIF-7"]


def test_an_emergency_stop_beside_its_own_reset_stands() -> None:
    start = with_latch(standing(State.ESD), "SIF-7")
    reset = request(start, "reset", id="reset", sif=["SIF-7"])
    node, answers = tell(RACK, start, reset, request(start, "emergency_stop", id="stop"))
    assert codes(answers) == ["cause_not_clear", "ok"]
    assert (node.memory.state, len(node.memory.latches)) == (State.ESD, 1)
    node, answers = tell(RACK, node, request(node, "reset", sif=["SIF-7"]))
    assert (codes(answers), node.memory.state) == (["ok"], State.ISOLATING)


def test_a_dark_takes_the_permit_away_in_the_scan_in_which_it_is_heard() -> None:
    for state in (State.OPENING, *PERMIT_ON, State.FILLING, State.TESTING):
        start = standing(state)
        node, passage = scan(RACK, start, asks(start, "dark"), 0.05)
        assert node.memory.state not in PERMIT_ON
        assert passage.drops("XS-101")
        assert [latch.sif for latch in node.memory.latches] == ["SIF-10"]


def test_clearing_the_last_latch_in_esd_moves_on_and_beside_a_trip_it_does_not() -> None:
    node, (answer,) = ask(with_latch(standing(State.ESD)), "reset")
    assert (answer["code"], node.memory.state) == ("ok", State.ISOLATING)
    both = with_latch(standing(State.ESD))
    both = replace(
        both, memory=replace(both.memory, latches=(*both.memory.latches, *with_latch(both, "SIF-5").memory.latches))
    )
    node, (answer,) = ask(both, "reset")
    assert (answer["code"], node.memory.state) == ("ok", State.ESD)
    node, (answer,) = ask(with_latch(standing(State.ESD)), "reset", dt_s=2.5)
    assert (answer["code"], node.memory.state) == ("overtaken", State.STARTUP)


def test_a_refused_reset_clears_no_emergency_shutdown() -> None:
    node, answers = ask(standing(State.ESD), "reset")
    assert codes(answers) == ["not_latched"]
    assert node.memory.state is State.ESD


def test_clearing_the_last_latch_outside_esd_is_no_move_of_the_chart() -> None:
    node, answers = ask(with_latch(standing(State.COOLDOWN)), "reset", "bypass")
    assert codes(answers) == ["ok", "overtaken"]
    assert answers[1]["reason"] == "state_seq became 11 in this scan"
    assert node.memory.state is State.COOLDOWN


def test_every_answer_is_told_in_the_order_of_the_requests() -> None:
    start = standing(State.FLOWING)
    _node, passage = scan(RACK, start, asks(start, "set_point", "isolate", "open", "lock"), 0.05)
    told = passage.facts(FactKind.ANSWER)
    assert [fact.fields["request"] for fact in told] == ["set_point", "isolate", "open", "lock"]
    assert passage.events() == [Event.ISOLATE]


def test_a_force_is_kept_only_when_it_was_given() -> None:
    start = standing(State.FLOWING)
    for args, forced in (({"force": True}, True), ({"force": False}, False), ({"force": None}, False), ({}, False)):
        node, _answers = tell(
            RACK, replace(start, memory=replace(start.memory, forced=True)), request(start, "isolate", **args)
        )
        assert (node.memory.state, node.memory.forced) == (State.UNLOADING, forced)
