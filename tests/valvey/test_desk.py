"""The desk: what is told, when, in which order, and under which flags."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from fieldkit.clock import SteppedClock
from fieldkit.envelope import PAYLOADS, Grant, dump
from fieldkit.letters import Sender
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Outgoing, Properties
from fieldkit.reading import Quality, Reading, Reason, bad
from fieldkit.topics import Daemon, parse_topic
from fieldkit.units import Unit
from tests.plant import PaperRack, flowing
from tests.valvey.told import done_of
from valvey.core.chart import State, Step
from valvey.core.facts import Fact, FactKind
from valvey.core.leasing import Act, Ask, Leasing
from valvey.core.lending import WAITS
from valvey.core.memory import Lock, Memory, Waiting, Work
from valvey.desk import PATIENCE_S, Desk

BASE = "racky/v1/demo/r01/valvey"


class PaperKeeper:
    """Hands out tickets; ``kept`` says which are on the disk."""

    def __init__(self) -> None:
        self.ticket = 0
        self.kept = 0

    def is_kept(self, ticket: int) -> bool:
        return ticket <= self.kept


class Rig:
    def __init__(self, clock: SteppedClock, memory: Memory | None = None, loop: str | None = None) -> None:
        self.clock, self.readings = clock, dict[str, Reading]()
        self.memory = memory if memory is not None else Memory(now_s=clock.now_s())
        sender = Sender(
            "demo", "r01", Daemon.VALVEY, True, "1.2", "boot-1", "digest", 1e9, lambda s: 1e9 + s, lambda: True
        )
        rack = flowing()
        self.desk = Desk(
            sender, self.readings, rack.limits, {}, self.memory,
            event_seq=10, telemetry_s=1.0, now_s=clock.now_s, loop=loop,
        )  # fmt: skip
        self.keeper = PaperKeeper()
        keeper: Any = self.keeper
        self.desk.keeper = keeper

    async def scan(self, *facts: Fact, memory: Memory | None = None, asks: tuple[Ask, ...] = ()) -> None:
        after = memory if memory is not None else self.memory
        self.keeper.ticket += bool(facts or asks)
        self.desk(done_of(self.memory, after, self.clock.now_s(), *facts, asks=asks))
        self.memory = after
        await asyncio.sleep(0)

    def sent(self) -> list[Outgoing]:
        """What was put out since the last call; each message is checked against its schema."""
        out = []
        while (message := self.desk.outbox.take()) is not None:
            topic = parse_topic(message.topic)
            assert topic is not None
            if message.payload:
                PAYLOADS[topic.kind].model_validate_json(message.payload, strict=True)
                assert json.loads(message.payload)["simulated"] is True
            out.append(message)
        return out

    def events(self) -> list[tuple[int, str]]:
        found = [json.loads(one.payload) for one in self.sent() if one.topic == f"{BASE}/event"]
        return [(one["seq"], one["fact"]) for one in found]


@pytest.fixture
def rig(clock: SteppedClock) -> Rig:
    return Rig(clock)


def fact(kind: FactKind = FactKind.SET_POINT, **fields: Any) -> Fact:
    return Fact(kind, 1000.0, fields)


async def test_facts_wait_for_the_memory_that_knows_of_them(rig: Rig) -> None:
    await rig.scan(fact())
    assert rig.events() == []
    rig.keeper.kept = 1
    await rig.scan()
    assert rig.events() == [(10, "set_point")]
    rig.desk.release(0.0)


async def test_facts_are_told_all_the_same_when_the_disk_takes_too_long(rig: Rig, clock: SteppedClock) -> None:
    await rig.scan(fact())
    await clock.advance(PATIENCE_S - 0.01)
    await rig.scan()
    assert rig.events() == []
    await clock.advance(0.02)
    await rig.scan()
    assert rig.events() == [(10, "set_point")]
    assert rig.desk.counters.told_before_kept == 1


async def test_events_keep_their_order_and_number_whatever_waits(rig: Rig) -> None:
    await rig.scan(fact(), fact(FactKind.RESET))
    await rig.scan(fact(FactKind.LOCK))
    rig.keeper.kept = 2
    await rig.scan()
    assert rig.events() == [(10, "set_point"), (11, "reset"), (12, "lock")]
    assert rig.desk.event_seq == 13


async def test_the_state_is_told_when_it_changes_and_after_the_facts_that_changed_it(rig: Rig) -> None:
    rig.keeper.kept = 99
    rig.sent()
    await rig.scan()
    assert [one.topic for one in rig.sent() if one.topic.endswith("/state")] == []
    locked = replace(rig.memory, locks=(Lock("ann", "work", 1.0),), state_seq=5)
    await rig.scan(fact(FactKind.LOCK), memory=locked)
    topics = [one.topic.rpartition("/")[2] for one in rig.sent() if not one.topic.endswith("telemetry")]
    assert set(topics) == {"event", "state"}
    await rig.scan()
    assert [one.topic for one in rig.sent() if one.topic.endswith("/state")] == []


async def test_an_answer_goes_to_its_client_with_its_correlation(rig: Rig) -> None:
    rig.keeper.kept = 99
    asked = {"v": 1, "id": "00000000-0000-4000-8000-000000000001", "request": "set_point"}
    topic = f"{BASE}/request/operator/ann"
    rig.desk.inbox.message(Incoming(topic, json.dumps(asked).encode(), False, Properties(correlation=b"abc")))
    (request,) = rig.desk.inbox.take()
    answer = fact(
        FactKind.ANSWER, id=request.id, request="set_point", client="ann", status="refused", code="state", reason="not now",
        allow="later", state_seq=3, state="ISOLATED",
    )  # fmt: skip
    await rig.scan(answer)
    (response,) = [one for one in rig.sent() if one.topic == f"{BASE}/response/ann"]
    assert response.properties is not None
    assert response.properties.correlation == b"abc"
    said = json.loads(response.payload)
    assert (said["status"], said["code"], said["would_allow"], said["state_seq"]) == ("refused", "state", "later", 3)


GRANT_TOPIC = "racky/v1/demo/cdu1/loop/grant/r01"
AN_ASK = Ask("00000000-0000-4000-8000-000000000001", Act.ASK, "open", None, 0, {}, 1.0)


async def test_what_the_scan_asks_of_the_coordinator_waits_for_its_memory_and_goes_out_only_while_connected(
    clock: SteppedClock,
) -> None:
    rig, told = Rig(clock, loop="cdu1"), list[str]()
    session: Any = type("Session", (), {})()
    session.status = type("Status", (), {"state": "connected"})()
    session.tell_nowait = lambda topic, *_args, **_how: told.append(topic)
    rig.desk.session = session
    lease = "racky/v1/demo/cdu1/loop/lease/r01"
    await rig.scan(asks=(AN_ASK,))
    assert lease not in told
    rig.keeper.kept = 1
    await rig.scan()
    assert told.count(lease) == 1
    assert told.index(lease) < told.index(f"{BASE}/state")
    session.status.state = "unreachable"
    await rig.scan(asks=(AN_ASK,))
    rig.keeper.kept = 2
    await rig.scan()
    session.status.state = "connected"
    await rig.scan()
    assert told.count(lease) == 1
    assert rig.desk.event_seq == 10


async def test_nothing_is_asked_of_a_coordinator_before_there_is_a_session(clock: SteppedClock) -> None:
    rig = Rig(clock, loop="cdu1")
    rig.keeper.kept = 9
    await rig.scan(asks=(AN_ASK,))
    assert [one.topic for one in rig.sent() if "/lease/" in one.topic] == []


def test_answers_of_the_coordinator_go_one_way_and_requests_another(clock: SteppedClock) -> None:
    rig = Rig(clock, loop="cdu1")
    grant = Grant(simulated=True, ask_id=AN_ASK.ask_id, granted=True, id="a", epoch=3, ttl_s=30.0, work="open")
    rig.desk.message(Incoming(GRANT_TOPIC, dump(grant), False, Properties()))
    rig.desk.message(Incoming(GRANT_TOPIC, b"{", False, Properties()))
    body = json.dumps({"v": 1, "id": AN_ASK.ask_id, "request": "dark"}).encode()
    rig.desk.message(Incoming(f"{BASE}/request/operator/ann", body, False, Properties()))
    assert [one.id for one in rig.desk.leases.take()] == ["a"]
    assert [one.name for one in rig.desk.inbox.take()] == ["dark"]
    assert (rig.desk.leases.counters.strange, rig.desk.inbox.counters.strange) == (1, 0)


async def test_the_state_shows_the_lease_and_is_told_again_when_it_is_renewed(rig: Rig) -> None:
    rig.sent()

    async def shown(memory: Memory) -> dict[str, Any]:
        await rig.scan(memory=memory)
        states = [json.loads(one.payload) for one in rig.sent() if one.topic == f"{BASE}/state"]
        return dict(states[-1]) if states else {}

    fresh, now_s = rig.memory, rig.memory.now_s
    held = Leasing(epoch=7, work="drain", grant_id="cdu1-7-1", until_s=now_s + 20.04)
    one = replace(fresh, leasing=held, grant="cdu1-7-1")
    first = await shown(one)
    assert first["grants"] == [{"id": "cdu1-7-1", "epoch": 7, "work": "drain", "left_s": 20.0}]
    assert first["detail"]["lease"] == {"wanted": "drain", "epoch": 7, "refused": None, "waiting": None}
    assert not first["detail"]["uncoordinated"]
    renewed = replace(one, leasing=replace(held, until_s=now_s + 30.0))
    assert (await shown(renewed))["grants"][0]["left_s"] == 30.0
    assert await shown(renewed) == {}
    waits = Waiting("1", "open", "operator", "ann", {}, "", "", 3, 1.0)
    refused = Leasing(epoch=8, work="open", refusal=("busy", "wait"))
    last = await shown(replace(fresh, leasing=refused, waiting=waits, uncoordinated=True))
    assert (last["grants"], last["detail"]["uncoordinated"]) == ([], True)
    told = {"wanted": "open", "epoch": 8, "refused": "busy", "waiting": {"id": "1", "request": "open"}}
    assert last["detail"]["lease"] == told


async def test_a_client_whose_work_waits_is_told_for_what(rig: Rig) -> None:
    fields: dict[str, Any] = {"id": "id-1", "client": "anna", "request": "open"}
    fields |= {"state": State.ISOLATED, "step": Step.HOLD}
    rig.keeper.kept = 1
    await rig.scan(fact(FactKind.PROGRESS, **fields, percent=0.0, eta_s=5.0, remark=WAITS))
    (told,) = [json.loads(one.payload) for one in rig.sent() if one.topic == f"{BASE}/response/anna"]
    assert (told["status"], told["reason"]) == ("progress", "waiting for the coordinator's grant")


def test_a_malformed_request_is_answered_at_once(rig: Rig) -> None:
    rig.desk.inbox.message(Incoming(f"{BASE}/request/operator/ann", b"{", False, Properties()))
    (response,) = [one for one in rig.sent() if one.topic == f"{BASE}/response/ann"]
    assert (json.loads(response.payload)["status"], response.retain) == ("refused", False)


async def test_telemetry_goes_out_once_a_second_and_at_once_when_a_contact_or_a_quality_changes(
    rig: Rig, clock: SteppedClock
) -> None:
    session: Any = type("Session", (), {})()
    session.status = type("Status", (), {"state": "connected"})()
    told: list[str] = []
    session.tell_nowait = lambda topic, *_args, **_how: told.append(topic)
    rig.desk.session = session

    def count() -> int:
        found = told.count(f"{BASE}/telemetry")
        told.clear()
        return found

    def set_reading(tag: str, value: float, unit: Unit) -> None:
        rig.readings[tag] = Reading(tag, value, unit, Quality.GOOD, clock.now_s())

    set_reading("ZSO-101", 1.0, Unit.NONE)
    set_reading("FT-101", 198.0, Unit.L_MIN)
    for _ in range(60):
        await rig.scan()
        await clock.advance(0.05)
    assert count() == 3
    set_reading("FT-101", 150.0, Unit.L_MIN)
    await clock.advance(0.11)
    await rig.scan()
    assert count() <= 1, "a number that moves waits for its second"
    set_reading("ZSO-101", 0.0, Unit.NONE)
    await clock.advance(0.11)
    await rig.scan()
    assert count() == 1
    rig.readings["FT-101"] = bad("FT-101", Unit.L_MIN, clock.now_s(), Reason.TIMEOUT)
    await clock.advance(0.11)
    await rig.scan()
    assert count() == 1


async def test_a_newcomer_gets_everything_that_stands_and_what_has_ended_is_taken_away(rig: Rig) -> None:
    rack = flowing()
    rack.values["HS-101"] = 1.0
    rack.run(0.2)
    rig.keeper.kept = 99
    await rig.scan(*rack.facts, memory=rack.memory)
    kept = {one.topic.removeprefix(f"{BASE}/"): one for one in rig.desk.snapshot()}
    assert set(kept) >= {"meta", "state", "alarm/trip-sif-7"}
    assert all(one.retain for one in kept.values())
    rig.memory = replace(rack.memory, alarms={})
    await rig.scan()
    kept = {one.topic.removeprefix(f"{BASE}/"): one for one in rig.desk.snapshot()}
    assert kept["alarm/trip-sif-7"].payload == b""


def everything_that_happens() -> PaperRack:
    rack = flowing()
    rack.ask("isolate")
    rack.run(1.0)
    rack.values["HS-101"] = 1.0
    rack.run(2.0)
    rack.values["HS-101"] = 0.0
    rack.run(15.0)
    rack.ask("reset", sif=["SIF-7"])
    rack.ask("bypass", role="engineer", name="SIF-1", for_s=60.0)
    rack.run(12.0)
    return rack


async def test_every_fact_of_a_long_day_fits_its_schema(rig: Rig) -> None:
    rack = everything_that_happens()
    rig.keeper.kept = 10_000
    for scan in rack.scans:
        await rig.scan(*scan.facts, memory=scan.memory)
    told = {fact for _, fact in rig.events()}
    assert told >= {"transition", "trip", "answer", "alarm", "reset"}


async def test_a_client_is_told_how_far_its_work_is(rig: Rig) -> None:
    fields: dict[str, Any] = {
        "id": "id-1",
        "client": "anna",
        "request": "drain",
        "state": State.DRAINING,
        "step": Step.WATCH,
    }
    await rig.scan(fact(FactKind.PROGRESS, **fields, percent=12.5, eta_s=300.0, remark=""))
    rig.keeper.kept = 1
    await rig.scan()
    (told,) = [json.loads(one.payload) for one in rig.sent() if one.topic == f"{BASE}/response/anna"]
    assert (told["id"], told["request"], told["status"]) == ("id-1", "drain", "progress")
    assert (told["step"], told["percent"], told["eta_s"], told["reason"]) == ("watch", 12.5, 300.0, None)


async def test_the_state_says_what_has_run_and_what_the_last_work_failed_by(rig: Rig) -> None:
    rig.sent()
    running = replace(rig.memory, state=State.DRAINING, state_seq=7, work=Work(1.0, litres=12.3456), failed="blocked")
    await rig.scan(memory=running)
    details = [json.loads(one.payload)["detail"] for one in rig.sent() if one.topic == f"{BASE}/state"]
    assert (details[-1]["litres"], details[-1]["failed"]) == (12.35, "blocked")


@pytest.mark.parametrize(
    ("state", "step", "armed", "demand"),
    [
        (State.FLOWING, Step.SERVE, True, {"XS-101": True, "XV-101": True, "XV-102": True, "XV-103": False, "XV-104": False}),
        (State.ISOLATING, Step.SUPPLY, True, {"XS-101": False, "XV-101": False, "XV-102": True, "XV-103": False, "XV-104": False}),
        (State.STARTUP, Step.ADOPT, True, None),
        (State.FLOWING, Step.SERVE, False, None),
    ],
)  # fmt: skip
async def test_the_state_says_what_is_demanded_of_each_output(
    rig: Rig, state: State, step: Step, armed: bool, demand: dict[str, bool] | None
) -> None:
    rig.sent()
    await rig.scan(memory=replace(rig.memory, state=state, step=step, armed=armed, state_seq=77))
    details = [json.loads(one.payload)["detail"] for one in rig.sent() if one.topic == f"{BASE}/state"]
    assert details[-1]["demand"] == demand
