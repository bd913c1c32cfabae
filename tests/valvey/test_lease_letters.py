"""A rack's leases on the bus."""

import pytest

from fieldkit import envelope
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Properties
from fieldkit.topics import parse_topic
from valvey import lease_letters
from valvey.core.leasing import Act, Answer, Ask

ID = "6e6b7b7e-8f3c-4d56-9a3b-2f0a0d8e5c11"
GRANT = envelope.Grant(simulated=True, ask_id=ID, granted=True, id="cdu1-3-1", epoch=3, ttl_s=30.0, work="fill")


def incoming(payload: bytes, *, retain: bool = False, too_long: int = 0) -> Incoming:
    return Incoming(lease_letters.answer_topic("demo", "cdu1", "r03"), payload, retain, Properties(), too_long)


def test_asks_and_answers_have_topics_of_the_loop_that_name_the_rack() -> None:
    assert lease_letters.ask_topic("demo", "cdu1", "r03") == "racky/v1/demo/cdu1/loop/lease/r03"
    assert lease_letters.answer_topic("demo", "cdu1", "r03") == "racky/v1/demo/cdu1/loop/grant/r03"
    assert parse_topic(lease_letters.ask_topic("demo", "cdu1", "r03")) is not None


def test_an_ask_goes_out_as_the_contract_has_it() -> None:
    ask = Ask(ID, Act.RENEW, "fill", "cdu1-3-1", 3, {"volume_l": 45.0}, 100.0)
    told = envelope.parse(envelope.Lease, envelope.dump(lease_letters.letter(ask, True)))
    assert isinstance(told, envelope.Lease)
    assert (told.act, told.work, told.grant_id, told.epoch, told.args) == (
        "renew",
        "fill",
        "cdu1-3-1",
        3,
        {"volume_l": 45.0},
    )


def test_an_answer_comes_back_as_the_core_has_it() -> None:
    found = lease_letters.answer_in(incoming(envelope.dump(GRANT)))
    assert found == Answer(ID, True, "cdu1-3-1", 3, 30.0, "fill", "", "")


def test_an_answer_at_its_bounds_is_taken_and_its_reason_made_one_line() -> None:
    last = {"ttl_s": 600.0, "epoch": 2**53, "id": "x" * 64, "reason": "a\nb" * 200, "would_allow": "c\td"}
    found = lease_letters.answer_in(incoming(envelope.dump(GRANT.model_copy(update=last))))
    assert found is not None
    assert (found.ttl_s, found.epoch, found.id) == (600.0, 2**53, "x" * 64)
    assert (found.reason, found.would_allow) == (("a b" * 200)[:200], "c d")


@pytest.mark.parametrize(
    "message",
    [
        incoming(b"{}"),
        incoming(b"", too_long=9999),
        incoming(envelope.dump(GRANT), retain=True),
        incoming(envelope.dump(GRANT), too_long=9999),
        *(
            incoming(envelope.dump(GRANT.model_copy(update=change)))
            for change in ({"ttl_s": 600.1}, {"epoch": 2**53 + 1}, {"id": "x" * 65}, {"id": "a\nb"})
        ),
    ],
)
def test_what_is_no_live_answer_is_none(message: Incoming) -> None:
    assert lease_letters.answer_in(message) is None
