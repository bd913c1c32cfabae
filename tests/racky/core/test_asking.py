"""What is asked of Valvey: once, again when it was refused, and never what nobody asked for in this boot."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from racky.core.asking import AGAIN, GRACE_S, Asked, ask, authorised, forgotten
from racky.core.life import Asking, Lifecycle
from racky.core.memory import Memory
from racky.core.setup import Setup
from racky.core.sight import AskTold, DaemonTold, Sight
from racky.core.view import View
from tests.racky.core.plans import SETUP, planned

WAY = frozenset({"FILLING", "TESTING"})
LIFE = Lifecycle(run=3, by="anna", why="new", boot_id="b")


def view(
    life: Lifecycle = LIFE,
    *told: AskTold,
    now_s: float = 100.0,
    state: str = "DRAINED",
    setup: Setup | None = None,
    **valvey: Any,
) -> View:
    daemon = DaemonTold(online=True, heard_s=now_s, state_s=now_s, state=state, step="bleed", state_seq=42)
    sight = Sight(now_s, replace(daemon, **valvey), told=told)
    return View(sight, Memory(boot_id="b", life=life), setup or planned())


def told(status: str, **fields: Any) -> AskTold:
    return AskTold("life-3-1", status, 100.0, **fields)


ASKED = replace(LIFE, asked=1, asking=Asking("life-3-1", "fill", 90.0))
ACCEPTED = replace(ASKED, asking=Asking("life-3-1", "fill", 90.0, 92.0))


def fill(of: View, args: Mapping[str, Any] | None = None) -> Asked:
    return ask(of, "fill", WAY, args)


def test_a_wish_is_asked_with_the_state_it_was_decided_on_and_says_who_wants_it() -> None:
    asked = fill(view(), {"x": 1})
    (one,) = asked.asks
    assert (one.key, one.request, one.expect_seq, one.args) == ("life-3-1", "fill", 42, {"x": 1})
    assert one.why == "admission of r01, asked by anna: new"
    assert asked.life.asking == Asking("life-3-1", "fill", 100.0)
    assert (asked.life.asked, asked.done, asked.failed) == (1, False, None)
    assert fill(view()).asks[0].args == {}


def test_until_it_is_answered_it_is_asked_with_the_same_key() -> None:
    asked = fill(view(ASKED))
    assert [one.key for one in asked.asks] == ["life-3-1"]
    assert asked.life == ASKED


def test_once_it_is_accepted_it_is_waited_for() -> None:
    asked = fill(view(ASKED, told("accepted"), state="FILLING"))
    assert (asked.asks, asked.failed, asked.done) == ((), None, False)
    assert asked.life.asking == Asking("life-3-1", "fill", 90.0, 100.0)
    told_on = fill(view(ACCEPTED, told("progress", step="bleed", percent=41.6), state="FILLING"))
    assert told_on.life.remark == "fill: bleed 42 %"
    assert fill(view(ACCEPTED, told("progress", step="bleed"), state="FILLING")).life.remark == "fill: bleed"
    assert fill(view(ACCEPTED, told("succeeded"), state="FILLING")).failed is None


def test_what_waits_for_its_lease_is_not_accepted_yet_and_may_still_be_refused() -> None:
    waiting = fill(view(ASKED, told("progress", step="hold", percent=0.0)))
    assert waiting.life.asking == Asking("life-3-1", "fill", 90.0)
    assert waiting.life.remark == "fill: hold 0 %"
    assert fill(view(waiting.life, now_s=100.0 + 2 * GRACE_S)).failed is None
    refused = fill(view(waiting.life, told("refused", reason="no lease")))
    assert (refused.failed, refused.life.asking, refused.life.quiet_s) == (None, None, 105.0)
    both = fill(view(ASKED, told("progress", step="hold"), told("refused", reason="no lease")))
    assert (both.failed, both.life.asking) == (None, None)


def test_what_ends_at_once_is_done_when_it_is_accepted() -> None:
    asked = ask(view(ASKED, told("accepted")), "fill", frozenset())
    assert (asked.done, asked.life.asking) == (True, None)


@pytest.mark.parametrize("status", ["refused", "expired"])
def test_a_refused_one_is_asked_again_after_a_while(status: str) -> None:
    asked = fill(view(ASKED, told(status, reason="no lease", would_allow="a lease")))
    assert (asked.asks, asked.failed, asked.life.asking) == ((), None, None)
    assert (asked.life.remark, asked.life.quiet_s) == ("Valvey: no lease (a lease)", 105.0)
    assert fill(view(asked.life, now_s=104.9)).asks == ()
    assert fill(view(asked.life, now_s=105.0)).asks[0].key == "life-3-2"
    assert fill(view(ASKED, told(status))).life.remark == f"Valvey: {status}"
    assert fill(view(ASKED, told(status), setup=SETUP)).life.quiet_s == 100.0


@pytest.mark.parametrize(
    ("status", "reason", "says"),
    [("failed", "a leak", "a leak"), ("cancelled", "", "'fill' was cancelled"), ("expired", "", "'fill' was expired")],
)
def test_one_that_was_accepted_and_ends_badly_has_failed(status: str, reason: str, says: str) -> None:
    asked = fill(view(ACCEPTED, told(status, reason=reason)))
    assert (asked.failed, asked.life.asking) == (says, None)


def test_an_answer_to_something_else_is_not_taken() -> None:
    asked = fill(view(ASKED, AskTold("life-2-1", "failed", 100.0), told("accepted"), state="FILLING"))
    assert asked.failed is None
    assert asked.life.asking == Asking("life-3-1", "fill", 90.0, 100.0)


def test_work_that_is_not_under_way_any_more_was_given_up() -> None:
    began = 92.0 + GRACE_S
    assert fill(view(ACCEPTED, now_s=began - 0.1)).failed is None
    assert fill(view(ACCEPTED, now_s=began)).failed == "'fill' was given up: Valvey is in DRAINED"
    assert fill(view(ACCEPTED, now_s=began, failed="decay")).failed == "'fill' was given up: decay"
    assert fill(view(ACCEPTED, now_s=began, state="TESTING")).failed is None


def test_work_that_is_under_way_is_not_asked_for() -> None:
    asked = fill(view(state="FILLING"))
    assert (asked.asks, asked.life.remark) == ((), "FILLING, bleed")


def test_another_wish_takes_the_place_of_one_that_is_not_needed_any_more() -> None:
    asked = ask(view(ASKED), "open", frozenset({"OPENING"}))
    assert [(one.key, one.request) for one in asked.asks] == [("life-3-2", "open")]


def test_nothing_is_asked_of_a_valvey_that_is_not_heard() -> None:
    asked = fill(view(ASKED, online=False))
    assert (asked.asks, asked.life.remark) == ((), "Valvey is not heard")


@pytest.mark.parametrize("boot_id", ["", "another"])
def test_nothing_is_asked_that_nobody_asked_for_in_this_boot(boot_id: str) -> None:
    life = replace(LIFE, boot_id=boot_id)
    asked = fill(view(life))
    assert (asked.asks, asked.life.remark) == ((), AGAIN)
    assert not authorised(view(life))
    assert not authorised(replace(view(life), memory=Memory(boot_id="", life=replace(LIFE, boot_id=""))))
    assert authorised(view())


def test_to_forget_leaves_the_rest_as_it_is() -> None:
    assert forgotten(ACCEPTED, "x") == replace(ACCEPTED, asking=None, remark="x")
