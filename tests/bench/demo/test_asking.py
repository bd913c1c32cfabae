"""A request at a rack's door: followed to its end, asked again when time alone lifts the refusal, late when there is none."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from bench.demo import asking
from bench.demo.asking import Asker, Progress
from bench.demo.listener import Listener, News
from bench.demo.screen import progress_text


class PaperBus(Listener):
    """A bus whose racks answer from a list: the responses to the first request, then to the second."""

    def __init__(self, *answers: Iterable[dict[str, Any]]) -> None:
        super().__init__("localhost", 1, "demo", lambda _rack, _event: None)
        self.racks["r03"] = News(state={"state_seq": 7})
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self._answers = [list(one) for one in answers]

    async def publish(self, topic: str, payload: bytes) -> None:
        body = json.loads(payload)
        self.sent.append((topic, body))
        self.responses[body["id"]] = self._answers.pop(0) if self._answers else []


def refusal(code: str) -> dict[str, Any]:
    return {"status": "refused", "code": code, "reason": f"because of {code}"}


DONE = {"status": "succeeded", "proof": {"state": "DRAINED"}}


class Told(list[Progress | None]):
    pass


def asker(bus: PaperBus, told: Told, now_s: Iterable[float] | None = None) -> Asker:
    times = iter(now_s or [0.0] * 1000)
    return Asker(bus, 1000.0, lambda: next(times), told.append)


async def test_a_request_names_the_state_it_is_meant_for_and_is_followed_to_its_end() -> None:
    told = Told()
    half = {"status": "progress", "step": "drain", "percent": 50.0, "eta_s": 90.0}
    bus = PaperBus([{"status": "accepted"}, {"status": "started", "step": "DRAINING"}, half, DONE])
    done = await asker(bus, told).ask("r03", "drain", "a test", within_s=60.0)
    where, body = bus.sent[0]
    assert where == "racky/v1/demo/r03/valvey/request/operator/demo"
    assert (body["request"], body["expect_seq"], body["why"]) == ("drain", 7, "a test")
    assert (done.ok, done.steps) == (True, ("DRAINING", "drain"))
    assert told == [Progress("r03", "drain", "drain", 50.0, 90.0), None]


@pytest.mark.parametrize("code", sorted(asking.AGAIN))
async def test_what_time_alone_lifts_is_asked_again(code: str) -> None:
    bus = PaperBus([refusal(code)], [refusal(code)], [DONE])
    done = await asker(bus, Told()).ask("r03", "fill", "a test", within_s=600.0)
    assert (done.ok, len(bus.sent), len(done.refusals)) == (True, 3, 2)
    assert len({body["id"] for _, body in bus.sent}) == 3


async def test_what_a_person_must_lift_is_not_asked_again() -> None:
    bus = PaperBus([refusal("no_lock")], [DONE])
    done = await asker(bus, Told()).ask("r03", "fill", "a test", within_s=600.0)
    assert (done.status, done.code, len(bus.sent)) == ("refused", "no_lock", 1)


async def test_asking_again_has_an_end() -> None:
    bus = PaperBus(*[[refusal("granted")]] * 5)
    done = await asker(bus, Told(), [0.0, 0.0, 60.0, 60.0, 60.0, 121.0]).ask("r03", "open", "a test", within_s=600.0)
    assert (done.status, done.code, done.took_s) == ("refused", "granted", 121.0)


async def test_no_end_in_time_is_said_so() -> None:
    done = await asker(PaperBus([]), Told(), [0.0, 31.0, 31.0]).ask("r03", "lock", "a test", within_s=30.0)
    assert (done.status, done.reason) == ("late", "no end within 30 s")


def test_progress_is_percent_time_left_and_step_and_hurried_time_is_told() -> None:
    now = Progress("r03", "drain", "vent", 12.4, 90.0)
    assert progress_text(now, 1.0) == "r03  drain: 12 %, 90 s left, step vent"
    assert progress_text(now, 5.0) == "r03  drain: 12 %, 90 s left (18 s at SPEED 5), step vent"
    assert progress_text(Progress("r03", "drain", "vent", 12.4, None), 5.0) == "r03  drain: 12 %, step vent"
