"""Requests at the door: whose they are, whether they are whole, whether they are of now."""

import json
from typing import Any

import pytest

from fieldkit.errors import Refusal
from fieldkit.inbox import MOST_A_SCAN, MOST_REMEMBERED, MOST_WAITING
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Properties
from fieldkit.request import Request
from tests.fieldkit.door import NOW_S, an_inbox

NONE = Properties()


class Door:
    """An inbox and what it refused."""

    def __init__(self, *, synced: bool = True) -> None:
        self.refusals: list[tuple[str, Refusal]] = []
        self.inbox = an_inbox(
            Request,
            safer=("emergency_stop", "dark", "isolate"),
            refuse=lambda client, refusal, _properties: self.refusals.append((client, refusal)),
            synced=synced,
        )

    def send(self, body: bytes, topic: str = "racky/v1/demo/r01/valvey/request/operator/ann", **how: Any) -> None:
        self.inbox.message(Incoming(topic, body, how.pop("retain", False), how.pop("properties", NONE), **how))

    def codes(self) -> list[str]:
        return [refusal.code for _, refusal in self.refusals]


def body(name: str = "dark", number: int = 1, **more: Any) -> bytes:
    fields = {"v": 1, "id": f"00000000-0000-4000-8000-{number:012d}", "request": name, **more}
    return json.dumps(fields).encode()


def test_role_and_client_come_from_the_topic_and_by_is_a_comment() -> None:
    door = Door()
    door.send(body(by="the king"))
    (request,) = door.inbox.take()
    assert (request.role, request.client, request.by) == ("operator", "ann", "the king")
    assert door.inbox.take() == ()


def test_safer_requests_are_heard_first() -> None:
    door = Door()
    door.send(body("set_point", 1))
    door.send(body("isolate", 2))
    assert [one.name for one in door.inbox.take()] == ["isolate", "set_point"]


@pytest.mark.parametrize(
    "topic",
    [
        "racky/v1/demo/r02/valvey/request/operator/ann",
        "racky/v1/demo/r01/racky/request/operator/ann",
        "racky/v1/demo/r01/valvey/state",
        "racky/v1/demo/r01/valvey/request/king/ann",
        "elsewhere",
    ],
)
def test_what_is_not_for_us_has_no_address_and_is_counted(topic: str) -> None:
    door = Door()
    door.send(body(), topic)
    assert (door.inbox.take(), door.refusals, door.inbox.counters.strange) == ((), [], 1)


def test_a_retained_request_is_refused_with_its_id() -> None:
    door = Door()
    door.send(body(), retain=True)
    ((client, refusal),) = door.refusals
    assert (client, refusal.code, refusal.about) == ("ann", "retained", "00000000-0000-4000-8000-000000000001")
    assert door.inbox.take() == ()


def test_a_message_over_the_limit_is_refused_with_its_length() -> None:
    door = Door()
    door.send(b"", too_long=5000)
    assert "5000" in door.refusals[0][1].reason


@pytest.mark.parametrize(
    ("times", "expired"),
    [
        ({}, False),
        ({"issued_at": NOW_S - 1.0, "expires_at": NOW_S + 1.0}, False),
        ({"expires_at": NOW_S - 0.1}, True),
        ({"issued_at": NOW_S + 4.9}, False),
        ({"issued_at": NOW_S + 5.1}, True),
        ({"issued_at": "2027-01-15T08:00:00Z"}, False),
    ],
)
def test_expiry_is_judged_against_the_wall_clock(times: dict[str, Any], expired: bool) -> None:
    door = Door()
    door.send(body("set_point", **times))
    assert door.inbox.take()[0].expired is expired


def test_an_unsynchronised_clock_judges_no_expiry_but_needs_none_for_a_request_without_times() -> None:
    door = Door(synced=False)
    door.send(body("set_point", 1, expires_at=NOW_S - 1.0))
    door.send(body("set_point", 2))
    assert [one.expired for one in door.inbox.take()] == [None, False]


def test_a_flood_is_refused_once_a_scan_and_an_emergency_stop_gets_through_it() -> None:
    door = Door()
    for number in range(5000):
        door.send(body("set_point", number))
    door.send(body("emergency_stop", 9000))
    taken = door.inbox.take()
    assert (len(taken), taken[0].name) == (MOST_A_SCAN + 1, "emergency_stop")
    assert (door.codes(), door.inbox.counters.flooded) == (["busy"], 5000 - MOST_A_SCAN)
    door.send(body("set_point", 9001))
    assert len(door.inbox.take()) == 1, "the next scan hears again"


def test_what_makes_safer_is_taken_even_when_its_queue_is_full_unless_its_like_waits() -> None:
    door = Door()
    for number in range(MOST_WAITING):
        door.inbox.put(Request(f"id-{number}", "dark", "operator", "ann"))
    door.send(body("dark", 1))
    door.send(body("isolate", 2))
    assert door.codes() == ["busy"]
    assert door.inbox.take()[-1].name == "isolate"


def test_an_unknown_request_is_left_to_the_core_to_refuse() -> None:
    door = Door()
    door.send(body("make_coffee"))
    assert door.inbox.take()[0].name == "make_coffee"


def test_the_correlation_of_a_request_is_remembered_for_its_answer_and_the_memory_is_bounded() -> None:
    door = Door()
    first = Properties(correlation=b"abc")
    door.send(body(number=0), properties=first)
    assert door.inbox.properties_of("ann", "00000000-0000-4000-8000-000000000000") == first
    for number in range(1, MOST_REMEMBERED + 1):
        door.inbox.take()
        door.send(body(number=number))
    assert door.inbox.properties_of("ann", "00000000-0000-4000-8000-000000000000") is None
