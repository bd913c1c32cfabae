"""Admission: in which order a request is judged, and what each refusal says."""

from dataclasses import replace

from fieldkit.request import Answered
from tests.attack.bench import Node, rack, request, standing, view_of
from valvey.core.admission import admit, is_trip_isolate
from valvey.core.chart import State
from valvey.core.memory import Lock
from valvey.core.requests import Request

RACK = rack()
SHUT = standing(State.ISOLATED)


def said(node: Node, asked: Request) -> Answered:
    return admit(view_of(RACK, node), asked)


def test_a_role_that_may_not_ask_is_told_who_may() -> None:
    answer = said(SHUT, request(SHUT, "arm", role="operator"))
    assert (answer.code, answer.reason, answer.allow) == (
        "role",
        "role 'operator' may not ask for 'arm'",
        "roles: engineer",
    )


def test_the_role_comes_before_the_arguments_and_these_before_the_reason() -> None:
    wrong = replace(request(SHUT, "lock", role="observer", nonsense=1), why="")
    assert said(SHUT, wrong).code == "role"
    assert said(SHUT, replace(wrong, role="operator")).code == "args"
    assert said(SHUT, replace(wrong, role="operator", args={"owner": "anna"})).code == "why"


def test_an_unknown_argument_is_told_the_known_ones() -> None:
    assert said(SHUT, request(SHUT, "open", now=True)).allow == "arguments of 'open': none"
    assert said(SHUT, request(SHUT, "isolate", now=True)).allow == "arguments of 'isolate': trip, force"


def test_an_opening_request_is_judged_by_its_time_before_its_state() -> None:
    running = standing(State.FLOWING)
    late = replace(request(running, "open"), expired=True)
    assert said(running, late).code == "expired"
    assert said(running, replace(late, expired=None)).code == "clock"
    assert said(running, replace(late, expired=False, expect_seq=9)).code == "expect_seq"
    assert said(running, replace(late, expired=False)).code == "state"


def test_a_wrong_sequence_number_is_told_both_numbers() -> None:
    answer = said(SHUT, replace(request(SHUT, "open"), expect_seq=7))
    assert answer.reason == "expect_seq is 7, state_seq is 10"
    assert answer.allow == "look at the state, then ask with expect_seq 10"


def test_a_lock_elsewhere_is_told_to_isolate_first() -> None:
    running = standing(State.FLOWING)
    answer = said(running, request(running, "lock", owner="anna"))
    assert (answer.code, answer.allow) == ("isolate_first", "'isolate' first")
    assert "not in FLOWING" in answer.reason


def test_the_first_permissive_that_fails_gives_its_name_and_both_sentences() -> None:
    locked = standing(State.ISOLATED, locks=(Lock("anna", "work", 1.0),), tested=False)
    answer = said(locked, request(locked, "open"))
    assert (answer.code, answer.reason) == ("no_lock", "locked by anna")
    assert answer.allow == "'unlock' by that owner or by a supervisor"


def test_a_known_id_gets_its_old_answer_before_anything_but_the_role_is_looked_at() -> None:
    old = Answered("a", "accepted", "ok", "", "")
    known = standing(State.FLOWING, answered=(Answered("b", "refused", "x", "y", "z"), old))
    again = replace(request(known, "open", id="a", nonsense=1), expired=True)
    assert said(known, again) is old
    assert said(known, replace(again, role="observer")).code == "role"
    assert said(known, replace(again, id="c")).code == "args"


def test_a_safer_request_is_never_answered_from_memory() -> None:
    known = standing(State.FLOWING, answered=(Answered("a", "refused", "x", "y", "z"),))
    assert said(known, request(known, "isolate", id="a")).status == "accepted"
    assert said(known, request(known, "unbypass", id="a", name="SIF-5")).code == "x"


def test_a_trip_class_isolate_is_heard_while_the_rack_is_shut_slowly_and_nowhere_else() -> None:
    for state in State:
        node = standing(state)
        answer = said(node, request(node, "isolate", role="coordinator", trip=True))
        planned = said(node, request(node, "isolate", role="coordinator"))
        unentitled = said(node, request(node, "isolate", role="operator", trip=True))
        assert unentitled.reason == planned.reason
        hurried = state in {State.UNLOADING, State.ISOLATING}
        assert answer.reason == ("" if hurried else planned.reason)
        assert not hurried or planned.reason == "already safer"


def test_only_an_isolate_is_an_isolate_of_trip_class() -> None:
    view = view_of(RACK, SHUT)
    assert is_trip_isolate(view, request(SHUT, "isolate", role="coordinator", trip=True))
    assert not is_trip_isolate(view, request(SHUT, "dark", role="coordinator", trip=True))
    assert not is_trip_isolate(view, request(SHUT, "isolate", role="coordinator", trip=False))
    assert not is_trip_isolate(view, request(SHUT, "isolate", role="operator", trip=True))
