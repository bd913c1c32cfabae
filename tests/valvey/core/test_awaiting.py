"""A request that waits for the coordinator: when it begins to, when it is judged again, and what ends the wait."""

from dataclasses import replace

import pytest

from fieldkit.request import Answered
from tests.plant import PaperRack, isolated
from valvey.core.awaiting import ANSWER_S, attend
from valvey.core.facts import FactKind
from valvey.core.hearing import hear
from valvey.core.leasing import Leasing
from valvey.core.lending import WAITS
from valvey.core.memory import Memory, Waiting
from valvey.core.requests import Request
from valvey.core.view import View


def rack(**fields: object) -> PaperRack:
    one = isolated()
    one.limits = replace(one.limits, coordinator=True)
    one.memory = replace(one.memory, **fields)  # type: ignore[arg-type]
    return one


def a_request(name: str = "open", request_id: str = "q", client: str = "ann", seq: int | None = None) -> Request:
    return Request(
        request_id, name, "operator", client, {}, "Ann", "a test", isolated().memory.state_seq if seq is None else seq
    )


def waiting(since_s: float, name: str = "open", seq: int | None = None) -> Waiting:
    one = a_request(name, seq=seq)
    return Waiting(one.id, one.name, one.role, one.client, {}, one.by, one.why, one.expect_seq, since_s)


def heard(
    one: PaperRack, *requests: Request
) -> tuple[Memory, tuple[Request, ...], dict[int, tuple[str, str]], list[dict[str, object]]]:
    seen = View(one.readings(), one.memory, one.limits, one.now_s)
    memory, all_of_them, found, facts = attend(seen, requests)
    assert {(fact.kind, fact.at_s) for fact in facts} <= {(FactKind.PROGRESS, one.now_s)}
    answers = {place: (answer.id, answer.code) for place, answer in found.answers.items()}
    return memory, all_of_them, answers, [dict(fact.fields) for fact in facts]


def test_with_nothing_asked_nothing_changes() -> None:
    one = rack()
    memory, requests, answers, facts = heard(one)
    assert memory is one.memory
    assert (requests, answers, facts) == ((), {}, [])


def test_a_request_for_opening_work_begins_to_wait_whole() -> None:
    one = rack()
    memory, requests, answers, (fact,) = heard(one, a_request())
    assert memory.waiting == waiting(one.now_s)
    assert (requests, answers) == ((a_request(),), {})
    assert fact == {
        "id": "q", "client": "ann", "request": "open", "state": "ISOLATED", "step": "hold", "percent": 0.0, "eta_s": ANSWER_S,
        "remark": WAITS,
    }  # fmt: skip


def test_what_waits_goes_on_to_wait() -> None:
    one = rack(waiting=waiting(isolated().now_s - 1.25))
    memory, requests, answers, facts = heard(one)
    assert memory is one.memory
    assert (requests, answers, facts) == ((), {}, [])
    memory, requests, answers, (fact,) = heard(one, a_request(client="ben"))
    assert (memory.waiting, answers) == (one.memory.waiting, {})
    assert (fact["client"], fact["eta_s"]) == ("ben", 2.8)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"leasing": Leasing(work="open", grant_id="g"), "grant": "g"}, "ok"),
        ({"leasing": Leasing(work="open", refusal=("busy", "wait"))}, "granted"),
    ],
)
def test_it_is_judged_again_with_the_coordinators_answer(fields: dict[str, object], code: str) -> None:
    one = rack(waiting=waiting(isolated().now_s), **fields)
    memory, requests, answers, facts = heard(one)
    assert (memory.waiting, answers, facts) == (None, {0: ("q", code)}, [])
    assert requests == (replace(a_request(), waited=True),)


@pytest.mark.parametrize(("age_s", "due"), [(ANSWER_S - 0.01, False), (ANSWER_S, True)])
def test_it_is_judged_again_when_its_time_is_over(age_s: float, due: bool) -> None:
    memory, _, answers, _ = heard(rack(waiting=waiting(isolated().now_s - age_s)))
    assert (memory.waiting is None) is due
    assert answers == ({0: ("q", "granted")} if due else {})


def test_it_is_judged_again_when_the_rack_has_moved_on() -> None:
    memory, _, answers, _ = heard(rack(waiting=waiting(isolated().now_s, seq=isolated().memory.state_seq - 1)))
    assert (memory.waiting, answers) == (None, {0: ("q", "expect_seq")})


def test_it_comes_after_what_was_asked_in_the_scan() -> None:
    one = rack(waiting=waiting(isolated().now_s - ANSWER_S))
    memory, requests, answers, _ = heard(one, a_request("ack", "z"))
    assert [request.id for request in requests] == ["z", "q"]
    assert answers[1] == ("q", "granted")
    assert memory.waiting is None


def test_another_may_wait_in_the_scan_in_which_the_first_is_answered() -> None:
    one = rack(waiting=waiting(isolated().now_s - ANSWER_S))
    memory, _, answers, _ = heard(one, a_request("test", "z"))
    assert memory.waiting is not None
    assert (memory.waiting.id, memory.waiting.name) == ("z", "test")
    assert answers == {1: ("q", "granted")}


def test_who_asks_for_something_else_meanwhile_is_refused_as_busy() -> None:
    one = rack(waiting=waiting(isolated().now_s))
    memory, _, answers, facts = heard(one, a_request("test", "z"))
    assert (memory.waiting, answers, facts) == (one.memory.waiting, {0: ("z", "busy")}, [])


def test_of_two_in_one_scan_the_first_waits() -> None:
    memory, _, answers, facts = heard(rack(), a_request("test"), a_request("open", "z"))
    assert memory.waiting is not None
    assert (memory.waiting.name, answers, len(facts)) == ("test", {1: ("z", "busy")}, 1)


def test_who_has_waited_and_who_was_answered_before_does_not_wait_again() -> None:
    for asked, answered in (
        (replace(a_request(), waited=True), ()),
        (a_request(), (Answered("q", "refused", "granted", "no grant", "ask the coordinator"),)),
    ):
        one = rack(answered=answered)
        heard_now = hear(View(one.readings(), one.memory, one.limits, one.now_s), [asked])
        assert heard_now.waits is None
        assert heard_now.answers[0].code == "granted"
    one = rack()
    assert hear(View(one.readings(), one.memory, one.limits, one.now_s), [a_request()]).waits == (0, a_request())


def test_an_id_twice_in_one_scan_waits_once_and_is_answered_once_it_is_known() -> None:
    memory, _, answers, facts = heard(rack(), a_request(), a_request())
    assert (memory.waiting, answers, len(facts)) == (waiting(isolated().now_s), {}, 1)
    one = isolated(coordinator=True)
    asked = replace(a_request(), expect_seq=one.memory.state_seq)
    assert [fact for fact in one.scan(asked, asked).facts if fact.kind is FactKind.ANSWER] == []
    assert one.memory.waiting is not None


@pytest.mark.parametrize("name", ["cancel", "dark", "isolate", "emergency_stop"])
def test_whoever_asks_for_less_ends_it(name: str) -> None:
    one = rack(waiting=waiting(isolated().now_s))
    memory, requests, answers, facts = heard(one, a_request(name, "z"))
    assert (memory.waiting, facts) == (None, [])
    assert answers == {0: ("z", "ok"), 1: ("q", "overtaken")}
    assert requests == (a_request(name, "z"), replace(a_request(), waited=True))
    memory, requests, answers, facts = heard(rack(), a_request(), a_request(name, "z"))
    assert (memory.waiting, facts, answers) == (None, [], {0: ("q", "overtaken"), 1: ("z", "ok")})
    assert len(requests) == 2


def test_an_overtaken_request_is_told_why_and_what_to_do() -> None:
    one = rack(waiting=waiting(isolated().now_s))
    found = attend(View(one.readings(), one.memory, one.limits, one.now_s), [a_request("dark", "z")])[2].answers[1]
    assert (found.status, found.reason, found.allow) == (
        "refused",
        "something safer was asked for while it waited for the coordinator",
        "look at the state, then ask again",
    )


@pytest.mark.parametrize("name", ["lock", "ack", "reset"])
def test_what_does_not_ask_for_less_does_not_end_it(name: str) -> None:
    one = rack(waiting=waiting(isolated().now_s))
    assert heard(one, a_request(name, "z"))[0].waiting == one.memory.waiting
