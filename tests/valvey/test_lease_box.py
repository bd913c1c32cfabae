"""The way between a rack and its coordinator: what goes out, what comes in, and what nobody believes."""

import pytest

from fieldkit import envelope
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Keep, Properties
from valvey.core.leasing import Act, Answer, Ask
from valvey.lease_box import EXPIRY_S, MOST_A_SCAN, LeaseBox

ID = "00000000-0000-4000-8000-000000000001"
ASK = Ask(ID, Act.ASK, "open", None, 3, {}, 100.0)
TOPIC = "racky/v1/demo/cdu1/loop/grant/r03"


def box(loop: str | None = "cdu1") -> LeaseBox:
    return LeaseBox("demo", loop, "r03", True)


def incoming(number: int = 1, payload: bytes | None = None) -> Incoming:
    grant = envelope.Grant(
        simulated=True, ask_id=f"{ID[:-1]}{number % 10}", granted=True, id="a", epoch=3, ttl_s=30.0, work="open"
    )
    return Incoming(TOPIC, envelope.dump(grant) if payload is None else payload, False, Properties())


def test_an_ask_goes_to_the_coordinators_topic_is_never_kept_and_ends_by_itself() -> None:
    (letter,) = box().letters([ASK])
    assert letter.topic == "racky/v1/demo/cdu1/loop/lease/r03"
    assert (letter.qos, letter.retain, letter.keep) == (1, False, Keep.EVERY)
    assert letter.properties is not None
    assert letter.properties.expiry_s == EXPIRY_S
    told = envelope.parse(envelope.Lease, letter.payload)
    assert isinstance(told, envelope.Lease)
    assert (told.ask_id, told.act, told.work, told.epoch, told.simulated) == (ID, "ask", "open", 3, True)


def test_answers_are_handed_over_once_in_their_order() -> None:
    ours = box()
    assert ours.filters() == [TOPIC]
    for number in (1, 2):
        ours.message(incoming(number))
    assert [answer.ask_id[-1] for answer in ours.take()] == ["1", "2"]
    assert ours.take() == ()
    assert ours.counters.taken == 2


@pytest.mark.parametrize("payload", [b"", b"{", b"\xff", b"[" * 5000, b'{"v":1}', b"null"])
def test_what_is_no_answer_is_counted_and_dropped(payload: bytes) -> None:
    ours = box()
    ours.message(incoming(payload=payload))
    assert (ours.take(), ours.counters.strange, ours.counters.taken) == ((), 1, 0)


def test_a_flood_is_not_looked_into_and_does_not_outlast_the_scan() -> None:
    ours = box()
    for number in range(MOST_A_SCAN + 5):
        ours.message(incoming(number))
    assert (len(ours.take()), ours.counters.flooded) == (MOST_A_SCAN, 5)
    ours.message(incoming(7))
    (answer,) = ours.take()
    assert answer == Answer(f"{ID[:-1]}7", True, "a", 3, 30.0, "open")


def test_a_rack_without_a_coordinator_listens_to_nobody_and_says_nothing() -> None:
    ours = box(None)
    assert (ours.topic, ours.filters(), list(ours.letters([ASK]))) == (None, [], [])
