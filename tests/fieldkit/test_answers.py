"""What a client is told of its request: accepted or refused, on the way, and the end, each once and in this order."""

from typing import Any

from fieldkit.answers import responses
from fieldkit.envelope import Response, Status
from fieldkit.letters import Sender
from fieldkit.topics import Daemon

SENDER = Sender("demo", "r01", Daemon.VALVEY, True, "1", "boot", "d", 0.0, lambda at_s: 1000.0 + at_s, lambda: True)
ASKED: dict[str, Any] = {"id": "a", "request": "open", "client": "desk"}
ANSWER = {**ASKED, "status": "accepted", "code": "ok", "reason": "", "allow": "", "state": "OPENING", "state_seq": 7}


def told(kind: str, fields: dict[str, Any], *, pending: bool = False, at_once: bool = False) -> list[Response]:
    out = responses(SENDER, kind, 4.0, fields, pending=pending, at_once=at_once)
    assert all((one.id, one.request, one.wall_s, one.simulated) == ("a", "open", 1004.0, True) for one in out)
    return out


def test_what_takes_time_is_accepted_and_begun() -> None:
    accepted, started = told("answer", ANSWER, pending=True)
    assert (accepted.status, accepted.code, accepted.reason, accepted.state_seq) == (Status.ACCEPTED, "ok", None, 7)
    assert (started.status, started.step, started.state_seq) == (Status.STARTED, "OPENING", 7)


def test_what_is_done_at_once_has_succeeded_and_so_has_what_found_nothing_to_do() -> None:
    accepted, done = told("answer", ANSWER, at_once=True)
    assert (accepted.status, done.status, done.proof) == (Status.ACCEPTED, Status.SUCCEEDED, {"state": "OPENING"})
    accepted, done = told("answer", {**ANSWER, "reason": "already safer"})
    assert (accepted.reason, done.status) == ("already safer", Status.SUCCEEDED)


def test_a_request_whose_end_was_told_already_is_only_accepted_again() -> None:
    (accepted,) = told("answer", ANSWER)
    assert accepted.status is Status.ACCEPTED


def test_a_refusal_says_why_and_what_would_allow_it() -> None:
    (no,) = told("answer", {**ANSWER, "status": "refused", "code": "role", "reason": "not you", "allow": "ann"})
    assert (no.status, no.code, no.reason, no.would_allow) == (Status.REFUSED, "role", "not you", "ann")
    (never,) = told("answer", {**ANSWER, "status": "refused", "code": "never", "reason": "never"})
    assert never.would_allow == "nothing"


def test_progress_tells_step_share_and_time_left() -> None:
    (way,) = told("progress", {**ASKED, "step": "RAMP", "percent": 40.0, "eta_s": 9.0, "remark": ""})
    assert (way.status, way.step, way.percent, way.eta_s, way.reason) == (Status.PROGRESS, "RAMP", 40.0, 9.0, None)
    (waits,) = told("progress", {**ASKED, "step": "RAMP", "percent": 40.0, "eta_s": None, "remark": "sump"})
    assert (waits.eta_s, waits.reason) == (None, "sump")


def test_an_end_brings_its_proof_with_the_state() -> None:
    fields = {**ASKED, "status": "failed", "reason": "too slow", "proof": {"ZSO-101": float("nan")}, "state": "ESD"}
    (end,) = told("ended", fields)
    assert (end.status, end.reason, end.proof) == (Status.FAILED, "too slow", {"ZSO-101": None, "state": "ESD"})
    (good,) = told("ended", {**fields, "status": "succeeded", "reason": ""})
    assert (good.status, good.reason) == (Status.SUCCEEDED, None)
