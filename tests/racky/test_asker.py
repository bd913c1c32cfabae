"""What is asked of Valvey: each wish once, and what comes back of it under its own key."""

from fieldkit import envelope
from racky.asker import ANSWER_S, MOST_OPEN, Asker
from racky.core.ask import Ask

WISH = Ask(
    "leak_evidence/t3", "leak_evidence", "tray t3 reports liquid\nindeed", {"tray": "t3", "wet": True, "for_s": 60.0}
)


def asker() -> Asker:
    numbers = iter(range(1, 1000))
    return Asker("demo", "r01", "racky-r01", new_id=lambda: f"00000000-0000-4000-8000-{next(numbers):012d}")


def answer(request: envelope.Request, status: str, **more: object) -> envelope.Response:
    fields = {
        "simulated": False,
        "id": request.id,
        "request": request.request,
        "status": envelope.Status(status),
        "wall_s": 1.0,
    }
    return envelope.Response(**(fields | more))  # type: ignore[arg-type]


def test_it_asks_in_the_role_racky_under_its_own_name() -> None:
    ((where, request),) = asker().send([WISH], 0.0)
    assert where == "racky/v1/demo/r01/valvey/request/racky/racky-r01"
    assert request.why == "tray t3 reports liquid indeed"
    assert isinstance(envelope.parse_request(request.model_dump_json(exclude_none=True).encode()), envelope.Request)


def test_a_wish_is_sent_once_until_it_has_ended() -> None:
    one = asker()
    ((_, first),) = one.send([WISH, WISH], 0.0)
    assert one.send([WISH], 1.0) == []
    one.heard(answer(first, "accepted", code="ok"), 1.0)
    assert one.send([WISH], 2.0) == []
    one.heard(answer(first, "succeeded", proof={}), 2.0)
    assert len(one.send([WISH], 3.0)) == 1
    assert [told.status for told in one.take(3.0)] == ["accepted", "succeeded"]
    assert one.take(3.0) == ()


def test_a_refusal_says_why_and_what_would_allow_it() -> None:
    one = asker()
    ((_, request),) = one.send([WISH], 0.0)
    one.heard(answer(request, "refused", code="role", reason="no", would_allow="yes"), 0.5)
    (told,) = one.take(0.5)
    assert (told.key, told.reason, told.would_allow, told.ended) == (WISH.key, "no", "yes", True)


def test_what_nobody_answers_has_expired_and_may_be_asked_again() -> None:
    one = asker()
    one.send([WISH], 0.0)
    assert one.take(ANSWER_S - 0.1) == ()
    (told,) = one.take(ANSWER_S)
    assert (told.status, told.ended) == ("expired", True)
    assert len(one.send([WISH], ANSWER_S)) == 1


def test_answers_to_somebody_else_and_answers_that_come_too_late_say_nothing() -> None:
    one = asker()
    ((_, request),) = one.send([WISH], 0.0)
    one.take(ANSWER_S)
    one.heard(answer(request, "accepted", code="ok"), ANSWER_S)
    one.heard(
        envelope.Response(simulated=False, id=None, request=None, status=envelope.Status.ACCEPTED, wall_s=1.0), 0.0
    )
    assert one.take(ANSWER_S) == ()


def test_what_was_under_way_when_valvey_started_anew_is_asked_again() -> None:
    one = asker()
    ((_, request),) = one.send([WISH], 0.0)
    one.heard(answer(request, "accepted", code="ok"), 0.1)
    one.forget()
    assert len(one.send([WISH], 0.2)) == 1


def test_no_flood_of_wishes_is_ever_sent() -> None:
    one = asker()
    wishes = [Ask(f"w{n}", "leak_evidence", "why") for n in range(3 * MOST_OPEN)]
    assert len(one.send(wishes, 0.0)) == MOST_OPEN
