"""Racky's desk with a box in front: what it hears becomes what it knows, what it decides is told in the words of contract 1."""

import json
from typing import Any

import pytest

from fieldkit import envelope
from fieldkit.kept import pack, unpack
from fieldkit.letters import Sender
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Outgoing, Properties
from fieldkit.topics import Daemon
from racky.core import persist
from racky.core.memory import Memory
from racky.core.setup import Setup, Shelf
from racky.core.sight import Sight
from racky.core.step import step
from racky.desk import Desk

VALVEY = "racky/v1/demo/r01/valvey"
RACKY = "racky/v1/demo/r01/racky"
ID = "00000000-0000-4000-8000-000000000001"
STATE: dict[str, Any] = {
    "v": 1, "simulated": False, "boot_id": "b", "wall_s": 1e9, "state": "FLOWING", "step": None, "since_wall_s": 1e9 - 60.0,
    "state_seq": 7, "latches": [], "locks": [], "bypasses": [], "armed": True, "inventory": "full", "tested": True, "grants": [],
    "config_digest": "d", "detail": {},
}  # fmt: skip
HERE: dict[str, Any] = {
    "v": 1, "simulated": False, "status": "online", "version": "1", "boot_id": "b", "since_wall_s": 1e9
}  # fmt: skip
ALARM: dict[str, Any] = {
    "v": 1, "simulated": False, "id": "flow-low", "state": "UNACK", "priority": "high", "active": True, "since_wall_s": 1e9,
    "raised_wall_s": 1e9, "count": 1, "cause": "c", "consequence": "q", "action": "a", "respond_s": 60.0, "runbook": "r",
    "trip": False, "by": None, "why": None, "until_wall_s": None,
}  # fmt: skip


class Rig:
    """A desk, the steps behind it, and what it put into its box."""

    def __init__(self) -> None:
        self.now_s, self.memory = 100.0, Memory(boot_id="boot")
        self.setup = Setup("r01", shelves=(Shelf(111),), armed=True)
        sender = Sender("demo", "r01", Daemon.RACKY, True, "1", "boot", "d", 1e9, lambda s: 1e9 + s, lambda: True)
        self.desk = Desk(
            sender, {}, {}, self.setup, {}, self.memory,
            event_seq=5, telemetry_s=1.0, now_s=lambda: self.now_s, client="racky-r01", loop="cdu1",
        )  # fmt: skip

    def hear(self, topic: str, document: object, *, retain: bool = False) -> None:
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.desk.hearing.message(Incoming(topic, body, retain, Properties()))

    def turn(self) -> list[Outgoing]:
        """One step; return what it told."""
        hearing = self.desk.hearing
        sight = Sight(self.now_s, hearing.valvey, hearing.loop, True, told=hearing.asker.take(self.now_s))
        scan = step(self.memory, sight, hearing.inbox.take(), self.setup, self.now_s)
        self.memory = scan.memory
        self.desk.tell(scan)
        out = []
        while (message := self.desk.outbox.take()) is not None:
            out.append(message)
        return out

    def request(self, name: str, **more: Any) -> None:
        body = {"v": 1, "id": ID, "request": name, **more}
        role = more.pop("role", "operator")
        self.hear(f"{RACKY}/request/{role}/ann", body)


def told(messages: list[Outgoing], end: str) -> list[dict[str, Any]]:
    return [json.loads(one.payload) for one in messages if one.topic.endswith(end)]


def test_what_valvey_tells_is_known_by_its_own_clock() -> None:
    rig = Rig()
    rig.hear(f"{VALVEY}/availability", HERE, retain=True)
    rig.hear(f"{VALVEY}/state", STATE, retain=True)
    rig.hear(f"{VALVEY}/alarm/flow-low", ALARM, retain=True)
    valvey = rig.desk.hearing.valvey
    assert (valvey.online, valvey.state, valvey.state_seq) == (True, "FLOWING", 7)
    assert valvey.since_s == pytest.approx(40.0)
    assert valvey.active("flow-low")
    rig.hear(f"{VALVEY}/alarm/flow-low", b"")
    assert not rig.desk.hearing.valvey.alarms


def test_alarms_that_were_told_before_the_broker_went_are_not_believed_after_it() -> None:
    rig = Rig()
    rig.hear(f"{VALVEY}/alarm/flow-low", ALARM, retain=True)
    rig.desk.hearing.forget_alarms()
    assert not rig.desk.hearing.valvey.alarms


@pytest.mark.parametrize("payload", [b"", b"{", b"\xff", b'{"v":1}', b"[" * 500])
@pytest.mark.parametrize("kind", ["state", "telemetry", "availability", "response/racky-r01"])
def test_what_cannot_be_believed_changes_nothing(kind: str, payload: bytes) -> None:
    rig = Rig()
    before = rig.desk.hearing.valvey
    rig.hear(f"{VALVEY}/{kind}", payload)
    assert rig.desk.hearing.valvey == before
    assert rig.desk.hearing.counters.strange == 1


@pytest.mark.parametrize("topic", ["racky/v1/demo/r02/valvey/state", "racky/v1/other/r01/valvey/state", "nonsense"])
def test_another_rack_s_valvey_is_none_of_ours(topic: str) -> None:
    rig = Rig()
    rig.hear(topic, STATE)
    assert rig.desk.hearing.valvey.state is None


def test_every_message_of_a_step_is_one_of_the_contract() -> None:
    rig = Rig()
    kinds: dict[str, type[envelope.State | envelope.Event | envelope.Alarm]] = {
        "state": envelope.State,
        "event": envelope.Event,
        "alarm": envelope.Alarm,
    }
    rig.request("power_off")
    for message in (*rig.turn(), *rig.desk.snapshot()):
        model = next((kinds[kind] for kind in kinds if f"/racky/{kind}" in message.topic), None)
        if model is not None and message.payload:
            assert isinstance(envelope.parse(model, message.payload), model), message.topic


def test_health_stands_in_the_state_and_unknown_is_not_healthy() -> None:
    (state,) = told(Rig().turn(), "/racky/state")
    health = state["detail"]["health"]
    assert health["healthy"] is False
    assert any(cause["id"] == "valvey-silent" for cause in health["causes"])
    assert "power_on" in health["blocks"]


def test_a_request_is_answered_on_its_client_s_own_topic_with_what_would_allow_it() -> None:
    rig = Rig()
    rig.turn()
    rig.request("power_on", expect_seq=rig.memory.state_seq)
    (answer,) = told(rig.turn(), "/response/ann")
    assert (answer["id"], answer["status"]) == (ID, "refused")
    assert answer["would_allow"]
    rig.hear(f"{RACKY}/request/operator/ann", b"{")
    assert told(list(iter(rig.desk.outbox.take, None)), "/response/ann")[0]["status"] == "refused"


def test_a_leak_flag_is_asked_of_valvey_and_its_answer_comes_back() -> None:
    rig = Rig()
    rig.hear(f"{RACKY}/request/integration/it", {
        "v": 1, "id": ID, "request": "leak_evidence", "args": {"tray": "t3", "wet": True, "for_s": 60.0}
    })  # fmt: skip
    asked = told(rig.turn(), "/valvey/request/racky/racky-r01")
    assert (asked[0]["request"], asked[0]["args"]["tray"], asked[0]["by"]) == ("leak_evidence", "t3", "racky-r01")
    answer = {
        "v": 1,
        "simulated": False,
        "id": asked[0]["id"],
        "request": "leak_evidence",
        "status": "accepted",
        "wall_s": 1e9,
    }
    rig.hear(f"{VALVEY}/response/racky-r01", answer)
    assert [one.status for one in rig.desk.hearing.asker.take(100.0)] == ["accepted"]


def test_a_kept_memory_comes_back() -> None:
    rig = Rig()
    rig.turn()
    assert unpack(pack(persist.to_dict(rig.memory), 9), persist.from_dict) == (rig.memory, 9)
