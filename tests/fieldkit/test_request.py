"""What every daemon refuses of a request, in the same words."""

from dataclasses import replace
from typing import Any

import pytest

from fieldkit.errors import Refusal
from fieldkit.request import (
    EVERYBODY,
    FLAG,
    LIST,
    STAFF,
    TEXT,
    Answered,
    Arg,
    Request,
    accepted,
    no_reason,
    number,
    refused,
    refused_as,
    unknown,
    untimely,
    wrong_args,
    wrong_role,
)

ASKED = Request("a", "sing", "operator", "desk", why="a test", expect_seq=7)


def test_who_asks_is_the_person_where_one_is_named_and_else_the_client() -> None:
    assert ASKED.who == "desk"
    assert replace(ASKED, by="anna").who == "anna"


def test_an_answer_carries_the_id_of_its_request() -> None:
    assert accepted(ASKED) == Answered("a", "accepted", "ok", "", "")
    assert accepted(ASKED, "as it is") == Answered("a", "accepted", "ok", "as it is", "")
    no = Answered("a", "refused", "code", "reason", "allow")
    assert refused(ASKED, "code", "reason", "allow") == no
    assert refused_as(ASKED, Refusal("code", "reason", "allow", "another id")) == no


def test_a_request_that_does_not_exist_is_told_those_that_do() -> None:
    assert unknown(ASKED, ("hum", "whistle")) == Refusal(
        "unknown", "there is no request 'sing'", "one of: hum, whistle"
    )


def test_a_role_that_may_not_ask_is_told_who_may() -> None:
    assert wrong_role(ASKED, STAFF) is None
    assert wrong_role(ASKED, frozenset({"safety", "engineer"})) == Refusal(
        "role", "role 'operator' may not ask for 'sing'", "roles: engineer, safety"
    )


def test_those_who_only_look_may_ask_for_nothing_that_acts() -> None:
    assert STAFF < EVERYBODY
    assert "observer" not in EVERYBODY


@pytest.mark.parametrize(
    ("args", "reason", "allow"),
    [
        ({"text": "x", "loud": 1}, "unknown argument 'loud'", "arguments of 'sing': text, flag, list, for_s, any"),
        ({}, "argument 'text' is missing", "'sing' needs 'text'"),
        ({"text": None}, "argument 'text' is missing", "'sing' needs 'text'"),
        ({"text": 1.0}, "argument 'text' is not a text", "'text' is a text"),
        ({"text": "x", "flag": 1}, "argument 'flag' is not true or false", "'flag' is true or false"),
        ({"text": "x", "list": "x"}, "argument 'list' is not a list", "'list' is a list"),
        ({"text": "x", "for_s": "1"}, "argument 'for_s' is not a number", "'for_s' is a number"),
        ({"text": "x", "for_s": True}, "argument 'for_s' is not a number", "'for_s' is a number"),
        ({"text": "x", "for_s": 0.99}, "argument 'for_s' is out of range", "1 to 2.5"),
        ({"text": "x", "for_s": 2.51}, "argument 'for_s' is out of range", "1 to 2.5"),
        ({"text": "x", "for_s": float("nan")}, "argument 'for_s' is out of range", "1 to 2.5"),
        ({"text": "x", "any": {}}, "argument 'any' is not a text or a list", "'any' is a text or a list"),
    ],
)
def test_a_wrong_argument_is_named_with_what_is_allowed(args: dict[str, Any], reason: str, allow: str) -> None:
    known = {
        "text": TEXT, "flag": FLAG, "list": replace(LIST, needed=False), "for_s": number(1.0, 2.5, needed=False),
        "any": Arg((str, list), needed=False),
    }  # fmt: skip
    assert wrong_args(replace(ASKED, args=args), known) == Refusal("args", reason, allow)


@pytest.mark.parametrize("for_s", [1, 1.0, 2.5, None])
def test_numbers_are_taken_up_to_their_bounds_and_null_counts_as_left_out(for_s: float | None) -> None:
    assert wrong_args(replace(ASKED, args={"for_s": for_s}), {"for_s": number(1.0, 2.5, needed=False)}) is None


def test_a_number_needs_no_bounds_and_must_be_given_unless_said_otherwise() -> None:
    assert wrong_args(replace(ASKED, args={"kw": -1e300}), {"kw": Arg((float,))}) is None
    assert wrong_args(replace(ASKED, args={"kw": 1e300}), {"kw": Arg((float,))}) is None
    assert wrong_args(ASKED, {"kw": number(0.0, 1.0)}) == Refusal(
        "args", "argument 'kw' is missing", "'sing' needs 'kw'"
    )


def test_without_arguments_none_are_allowed() -> None:
    assert wrong_args(ASKED, {}) is None
    assert wrong_args(replace(ASKED, args={"x": 1}), {}) == Refusal(
        "args", "unknown argument 'x'", "arguments of 'sing': none"
    )


@pytest.mark.parametrize("why", ["", "  ", "\n"])
def test_blanks_are_no_reason(why: str) -> None:
    assert no_reason(ASKED) is None
    assert no_reason(replace(ASKED, why=why)) == Refusal("why", "'sing' needs a reason", "a non-empty 'why'")


def test_what_is_too_old_or_cannot_be_dated_or_was_decided_on_another_state_may_not_act() -> None:
    assert untimely(ASKED, 7) is None
    for change, code, allow in (
        ({"expired": None}, "clock", "a synchronised clock, or no 'expires_at'"),
        ({"expired": True}, "expired", "a fresh request within its expiry"),
        ({"expect_seq": 6}, "expect_seq", "look at the state, then ask with expect_seq 7"),
        ({"expect_seq": None}, "expect_seq", "look at the state, then ask with expect_seq 7"),
    ):
        refusal = untimely(replace(ASKED, **change), 7)
        assert refusal is not None
        assert (refusal.code, refusal.would_allow) == (code, allow)
    late = untimely(replace(ASKED, expect_seq=6), 7)
    assert late is not None
    assert late.reason == "expect_seq is 6, state_seq is 7"
