"""Every request in every state from every role: accepted, or refused with a reason and what would allow it."""

from dataclasses import asdict, replace
from typing import Any

import pytest

from fieldkit.request import Kind
from tests.attack.bench import Node, rack, request, standing, tell, view_of
from valvey.core.admission import admit
from valvey.core.chart import State
from valvey.core.requests import REQUESTS, Request, kind_of

RACK = rack()
ALL = "STARTUP OPENING FLOWING UNLOADING COOLDOWN ISOLATING ISOLATED DRAINING DRAINED FILLING TESTING ESD"
PEOPLE = "operator engineer safety supervisor"
EVERYBODY = PEOPLE + " coordinator racky integration"
ROLES = (*EVERYBODY.split(), "observer", "nobody")

#: Name: class, states where it applies, roles, arguments of a plain one, code of the answer by a healthy armed rack.
TABLE: dict[str, tuple[str, str, str, dict[str, Any], str]] = {
    "emergency_stop": ("SAFER", ALL, EVERYBODY, {}, "ok"),
    "dark": ("SAFER", "STARTUP OPENING FLOWING UNLOADING COOLDOWN FILLING TESTING", EVERYBODY, {}, "ok"),
    "isolate": ("SAFER", "STARTUP OPENING FLOWING COOLDOWN FILLING TESTING", EVERYBODY, {}, "ok"),
    "lock": ("SAFER", "ISOLATED DRAINED ESD", EVERYBODY, {"owner": "anna"}, "ok"),
    "cancel": ("SAFER", "OPENING UNLOADING COOLDOWN DRAINING FILLING TESTING", EVERYBODY, {}, "ok"),
    "open": ("OPENING", "ISOLATED COOLDOWN", PEOPLE + " coordinator racky", {}, "ok"),
    "drain": ("OPENING", "ISOLATED", PEOPLE + " coordinator", {}, "locked"),
    "fill": ("OPENING", "ISOLATED DRAINED", PEOPLE + " coordinator racky", {}, "not_full"),
    "test": ("OPENING", "ISOLATED", PEOPLE + " coordinator racky", {}, "ok"),
    "stroke": ("OPENING", "ISOLATED FLOWING ESD", "engineer safety supervisor", {"valve": "XV-101"}, "partial_stroke"),
    "reset": ("OPENING", ALL.replace("STARTUP ", ""), PEOPLE, {"sif": ["SIF-4"]}, "not_latched"),
    "unlock": ("OPENING", ALL, PEOPLE, {"owner": "anna"}, "not_locked"),
    "bypass": ("OPENING", ALL, "engineer safety supervisor", {"name": "SIF-5", "for_s": 60}, "ok"),
    "unbypass": ("OPENING", ALL, "engineer safety supervisor", {"name": "SIF-5"}, "not_bypassed"),
    "shelve": ("NOTE", ALL, PEOPLE, {"alarm": "bad-lda-103", "for_s": 60.0}, "unknown"),
    "ack": ("NOTE", ALL, PEOPLE, {"alarm": "bad-lda-103"}, "unknown"),
    "set_point": ("OPENING", "FLOWING", PEOPLE + " coordinator racky", {"fcv_pct": 55.0}, "ok"),
    "arm": ("OPENING", "ISOLATED DRAINED", "engineer", {}, "disarmed"),
    "disarm": ("OPENING", "ISOLATED DRAINED", "engineer", {}, "ok"),
    "commission": ("OPENING", "ISOLATED", "engineer", {}, "ok"),
    "leak_evidence": ("NOTE", ALL, "racky integration", {"tray": "7", "wet": True, "for_s": 60.0}, "ok"),
}


def plain(node: Node, name: str, role: str = "", **changes: Any) -> Request:
    _kind, _states, roles, args, _code = TABLE[name]
    return replace(request(node, name, role=role or roles.split()[0], **args), **changes)


def one(node: Node, asked: Request) -> tuple[Node, dict[str, Any]]:
    after, answers = tell(RACK, node, asked)
    assert [answer["id"] for answer in answers] == [asked.id]
    return after, shaped(answers[0])


def judged(node: Node, asked: Request) -> dict[str, Any]:
    """The answer of the admission alone; a whole scan only where it lets the request act."""
    answer = admit(view_of(RACK, node), asked)
    return shaped(asdict(answer)) if answer.status == "refused" else one(node, asked)[1]


def shaped(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["status"] in {"accepted", "refused"}
    if answer["status"] == "refused":
        assert answer["reason"]
        assert answer["allow"]
        assert answer["code"] != "ok"
    else:
        assert (answer["code"], answer["allow"]) == ("ok", "")
    return answer


def test_the_table_by_hand_has_every_request_and_class() -> None:
    assert {name: row.kind for name, row in REQUESTS.items()} == {name: row[0] for name, row in TABLE.items()}
    assert [name for name, row in REQUESTS.items() if row.name != name] == []


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("name", TABLE)
def test_every_request_in_every_state_from_every_role_gets_an_answer(name: str, state: State) -> None:
    kind, states, roles, _args, code = TABLE[name]
    node = standing(state)
    quiet, _answers = tell(RACK, node)
    for place, role in enumerate(ROLES):
        asked = plain(node, name, role)
        after, answer = (node, judged(node, asked)) if place else one(node, asked)
        if role not in roles.split():
            assert answer["code"] == "role"
        elif state in states.split():
            if (name, state) == ("fill", State.DRAINED):
                code = "ok"  # here the rack is empty
            assert (answer["code"], answer["reason"] == "") == (code, code == "ok" and name != "leak_evidence")
        elif name == "lock":
            assert answer["code"] == "isolate_first"
        elif kind == "SAFER":
            assert (answer["code"], answer["reason"]) == ("ok", "already safer")
        else:
            assert answer["code"] == "state"
            assert state in answer["reason"]
            assert all(allowed in answer["allow"] for allowed in states.split())
        if not place and (answer["status"] == "refused" or answer["reason"]):
            assert after.memory.latches == quiet.memory.latches
            assert (after.memory.state, after.memory.armed) == (quiet.memory.state, quiet.memory.armed)


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row[0] == "SAFER"])
@pytest.mark.parametrize("state", State)
def test_a_safer_request_is_never_refused_for_time_sequence_or_a_repeated_id(name: str, state: State) -> None:
    node = standing(state)
    _after, wanted = one(node, plain(node, name))
    late: list[dict[str, Any]] = [
        {"expired": True},
        {"expired": None},
        {"expect_seq": None},
        {"expect_seq": 3},
        {"expired": True, "expect_seq": -1},
    ]
    if kind_of(REQUESTS[name], state) is not Kind.SAFER:
        late.clear()
    for changes in late:
        after, answer = one(node, plain(node, name, **changes))
        assert (answer["status"], answer["reason"]) == (wanted["status"], wanted["reason"])
        again, answer = one(after, plain(node, name, **changes))
        assert answer["status"] == "accepted" or name == "lock"
        assert again.memory.state is not State.FLOWING or state is State.FLOWING


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row[0] == "OPENING"])
def test_an_opening_request_needs_the_present_sequence_number_and_its_time(name: str) -> None:
    for word in TABLE[name][1].split():
        node = standing(State(word))
        refusals: dict[str, dict[str, Any]] = {
            "expired": {"expired": True},
            "clock": {"expired": None},
            "expect_seq": {"expect_seq": None},
        }
        for code, changes in refusals.items():
            assert judged(node, plain(node, name, **changes))["code"] == code
        for seq in (9, 11, 0, -1, 10**30):
            answer = judged(node, plain(node, name, expect_seq=seq))
            assert answer["code"] == "expect_seq"
            assert "10" in answer["allow"]


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row[0] == "NOTE"])
def test_a_note_needs_no_sequence_number(name: str) -> None:
    node = standing(State.FLOWING)
    forms: list[dict[str, Any]] = [{"expect_seq": None}, {"expect_seq": 3}, {"expired": None}, {"expired": True}]
    for changes in forms:
        assert one(node, plain(node, name, **changes))[1]["code"] == TABLE[name][4]


def test_cancelling_an_unloading_makes_things_less_safe_so_it_is_an_opening_request() -> None:
    node = standing(State.UNLOADING)
    forms: list[dict[str, Any]] = [{"expired": True}, {"expect_seq": None}, {"expect_seq": 9}]
    for changes in forms:
        after, answer = one(node, plain(node, "cancel", **changes))
        assert answer["status"] == "refused"
        assert after.memory.state is State.UNLOADING
    after, answer = one(node, plain(node, "cancel"))
    assert answer["status"] == "accepted"
    assert after.memory.state is State.FLOWING


@pytest.mark.parametrize("state", State)
def test_only_the_cancelling_of_an_unloading_changes_its_class_with_the_state(state: State) -> None:
    for name, row in REQUESTS.items():
        odd = name == "cancel" and state is State.UNLOADING
        assert kind_of(row, state) is (Kind.OPENING if odd else row.kind)


def test_a_request_that_does_not_exist_is_told_those_that_do() -> None:
    node = standing(State.FLOWING)
    for name in ("", "opn", "OPEN", "__class__", "open "):
        _after, answer = one(node, Request("x", name, "engineer", "desk"))
        assert answer["code"] == "unknown"
        assert answer["allow"].startswith("one of: emergency_stop, dark, isolate, lock, cancel, open")


@pytest.mark.parametrize("name", [name for name, row in REQUESTS.items() if row.why])
@pytest.mark.parametrize("why", ["", "   ", "\n\t"])
def test_what_must_be_explained_is_refused_without_a_reason(name: str, why: str) -> None:
    node = standing(State.ISOLATED)
    _after, answer = one(node, plain(node, name, why=why))
    assert answer["code"] == "why"


def test_what_needs_a_reason() -> None:
    needing = {"lock", "reset", "unlock", "bypass", "shelve", "arm", "disarm", "commission"}
    assert {name for name, row in REQUESTS.items() if row.why} == needing
    node = standing(State.FLOWING)
    assert one(node, plain(node, "set_point", why=""))[1]["status"] == "accepted"


HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 10**400, -(10**400), 0.0, -0.0, 1e308, float("nan"), float("inf"), float("-inf"), "", "x", "\x00",
    "SIF-7", "ü" * 10_000, [], [[]], [None], [{}], ["SIF-7", 1], [["SIF-7"]], {}, {"a": {"b": []}}, [float("nan")], b"bytes", object(),
)  # fmt: skip


@pytest.mark.parametrize("state", [State.STARTUP, State.FLOWING, State.UNLOADING, State.ISOLATED, State.ESD])
@pytest.mark.parametrize("name", TABLE)
def test_hostile_arguments_are_answered_and_never_raise(name: str, state: State) -> None:
    """Each argument of each request, and one that it has not, with each of the hostile values."""
    node = standing(state)
    for argument in (*REQUESTS[name].args, "surplus"):
        for value in HOSTILE:
            args = {**TABLE[name][3], argument: value}
            answer = judged(node, plain(node, name, args=args))
            if argument == "surplus":
                assert answer["code"] == "args"
                assert "'surplus'" in answer["reason"]


@pytest.mark.parametrize(
    "name", [name for name, row in REQUESTS.items() if any(arg.needed for arg in row.args.values())]
)
def test_a_missing_or_null_argument_is_named(name: str) -> None:
    node = standing(State.ISOLATED)
    for argument in TABLE[name][3]:
        for args in ({k: v for k, v in TABLE[name][3].items() if k != argument}, {**TABLE[name][3], argument: None}):
            answer = judged(node, plain(node, name, args=args))
            assert answer["code"] == "args"
            assert f"'{argument}' is missing" in answer["reason"]
            assert f"needs '{argument}'" in answer["allow"]


BOUNDS = {
    ("set_point", "fcv_pct"): (State.FLOWING, 10.0, 100.0),
    ("bypass", "for_s"): (State.ISOLATED, 1.0, 14400.0),
    ("shelve", "for_s"): (State.ISOLATED, 1.0, 28800.0),
    ("leak_evidence", "for_s"): (State.ISOLATED, 1.0, 3600.0),
}


@pytest.mark.parametrize(("name", "argument"), BOUNDS)
def test_numbers_are_accepted_up_to_their_bounds_and_not_beyond(name: str, argument: str) -> None:
    state, low, high = BOUNDS[name, argument]
    node, args = standing(state), TABLE[name][3]
    for value in (low, high, int(low)):
        assert one(node, plain(node, name, args={**args, argument: value}))[1]["code"] == TABLE[name][4]
    for value in (low - 1e-6, high + 1e-6, high * 10.0, 86401, -low, float("nan"), True):
        assert one(node, plain(node, name, args={**args, argument: value}))[1]["code"] == "args"


def test_an_argument_of_the_wrong_kind_is_told_the_right_one() -> None:
    node = standing(State.FLOWING)
    _after, answer = one(node, plain(node, "set_point", args={"fcv_pct": "wide open"}))
    assert answer["allow"] == "'fcv_pct' is a number"
    _after, answer = one(node, plain(node, "set_point", args={"fcv_pct": 5.0}))
    assert answer["allow"] == "10 to 100 %"
