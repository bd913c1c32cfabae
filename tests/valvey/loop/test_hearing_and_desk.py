"""What the coordinator hears, and what it tells: every payload by the contract, a grant never before it is on disk."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fieldkit import envelope
from fieldkit.envelope_parts import GrantHeld, Latch, Part, PointValue
from fieldkit.errors import Refusal
from fieldkit.kept import pack, unpack
from fieldkit.letters import Sender
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Outgoing, Properties
from fieldkit.reading import Quality, Reading, Reason
from fieldkit.request import Request
from fieldkit.topics import Daemon
from fieldkit.units import Unit
from tests.fieldkit.door import NOW_S, an_inbox
from tests.valvey.core.loop.paper import PaperLoop
from tests.valvey.loop.loops import loop as loop_config
from valvey.core.chart import State
from valvey.core.leasing import Act
from valvey.core.loop import persist
from valvey.core.loop.asking import RackRequest
from valvey.core.loop.facts import LoopFactKind
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.seen import GrantSeen
from valvey.core.loop.step import LoopScan
from valvey.loop import sender
from valvey.loop.config import to_limits
from valvey.loop.desk import LoopDesk
from valvey.loop.hearing import OTHERS_S, Hearing

ME = ("boot-1", 500.0)
UUID = "6e6b7b7e-8f3c-4d56-9a3b-2f0a0d8e5c11"


class Ears:
    """A hearing with a clock that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.refused: list[tuple[str, Refusal]] = []
        self.hearing = Hearing(
            "demo",
            "cdu1",
            ("r1", "r2"),
            ME,
            an_inbox(
                Request,
                Daemon.LOOP,
                "cdu1",
                refuse=lambda client, refusal, _asked: self.refused.append((client, refusal)),
            ),
            lambda: self.now_s,
        )

    def say(self, topic: str, payload: Part | bytes, *, retain: bool = False) -> None:
        data = payload if isinstance(payload, bytes) else envelope.dump(payload)
        self.hearing.message(Incoming(f"racky/v1/demo/{topic}", data, retain, Properties()))


@pytest.fixture
def ears() -> Ears:
    return Ears()


def a_state(state: str = "FLOWING", **detail: Any) -> envelope.State:
    return envelope.State(
        simulated=True, boot_id="b", wall_s=0.0, state=state, step=None, since_wall_s=0.0, state_seq=4,
        latches=(Latch(sif="SIF-1", since_wall_s=0.0, cause="wet"),), locks=(), bypasses=(), armed=True, inventory="full",
        tested=True, grants=(GrantHeld(id="g", epoch=3, work="fill", left_s=4.0),), config_digest="d", detail=detail,
    )  # fmt: skip


def an_availability(status: str, who: tuple[str, float]) -> envelope.Availability:
    return envelope.Availability.model_validate({
        "simulated": True,
        "status": status,
        "version": "0",
        "boot_id": who[0],
        "since_wall_s": who[1],
    })


def test_a_racks_state_snapshot_and_availability_are_put_together(ears: Ears) -> None:
    bad = PointValue(value=None, unit=Unit.L_MIN, quality=Quality.BAD, reason=Reason.TIMEOUT, age_s=1.0)
    good = PointValue(value=198.0, unit=Unit.L_MIN, quality=Quality.GOOD, reason=None, age_s=0.1)
    told = envelope.Telemetry(
        simulated=True, boot_id="b", seq=1, wall_s=0.0, wall_synced=True, mono_s=0.0, points={"FT-101": good, "FT-102": bad}
    )  # fmt: skip
    ears.say("r1/valvey/telemetry", told)
    ears.say("r1/valvey/state", a_state("COOLDOWN", isolate_wanted=True), retain=True)
    ears.say("r1/valvey/availability", an_availability("online", ("x", 1.0)), retain=True)
    seen = ears.hearing.racks["r1"]
    assert (seen.state, seen.isolate_wanted, seen.emergency, seen.online) == (State.COOLDOWN, True, False, True)
    assert (dict(seen.points), seen.at_s) == ({"FT-101": 198.0}, 100.0)
    assert (seen.latches, seen.grants) == (("SIF-1",), (GrantSeen("g", 3, "fill"),))
    ears.say("r1/valvey/availability", b"", retain=True)
    assert ears.hearing.racks["r1"].online
    ears.say("r1/valvey/state", a_state("OF-TOMORROW"))
    assert ears.hearing.racks["r1"].state is None


def a_snapshot(**values: float) -> envelope.Telemetry:
    points = {
        tag.replace("_", "-"): PointValue(value=value, unit=Unit.NONE, quality=Quality.GOOD, reason=None, age_s=0.1)
        for tag, value in values.items()
    }
    return envelope.Telemetry(
        simulated=True, boot_id="b", seq=1, wall_s=0.0, wall_synced=True, mono_s=0.0, points=points
    )  # fmt: skip


def test_the_air_that_a_racky_reads_stands_among_its_rack_s_points_while_it_is_fresh(ears: Ears) -> None:
    assert "racky/v1/demo/r1/racky/telemetry" in ears.hearing.filters()
    ears.say("r1/racky/telemetry", a_snapshot(TT_110=27.0, MT_110=60.0, JT_111=30.0))
    assert ears.hearing.racks["r1"].points == {}
    ears.say("r1/valvey/telemetry", a_snapshot(FT_101=198.0))
    assert ears.hearing.racks["r1"].points == {"FT-101": 198.0, "TT-110": 27.0, "MT-110": 60.0}
    ears.say("r2/valvey/telemetry", a_snapshot(FT_101=198.0))
    assert ears.hearing.racks["r2"].points == {"FT-101": 198.0}
    ears.now_s += 10.0
    ears.say("r1/valvey/telemetry", a_snapshot(FT_101=198.0, TT_110=28.0))
    assert ears.hearing.racks["r1"].points == {"FT-101": 198.0, "TT-110": 28.0, "MT-110": 60.0}
    ears.now_s += 0.1
    ears.say("r1/valvey/telemetry", a_snapshot(FT_101=198.0))
    assert ears.hearing.racks["r1"].points == {"FT-101": 198.0}
    assert ears.hearing.counters.strange == 0


@pytest.mark.parametrize(
    "topic",
    [
        "r1/racky/telemetry",
        "r1/racky/state",
        "r9/racky/telemetry",
        "r1/valvey/state",
        "r1/valvey/telemetry",
        "r1/valvey/event",
        "r9/valvey/state",
        "cdu9/loop/lease/r1",
        "x",
    ],
)
def test_what_is_strange_is_counted_and_changes_nothing(ears: Ears, topic: str) -> None:
    before = dict(ears.hearing.racks)
    ears.say(topic, b'{"v":1}')
    assert ears.hearing.racks == before
    assert ears.hearing.counters.strange == 1
    assert ears.hearing.take_asks() == ()


def test_an_ask_names_the_rack_by_its_topic_and_is_never_a_retained_one(ears: Ears) -> None:
    ask = envelope.Lease(simulated=True, ask_id=UUID, act="renew", work="fill", grant_id="g", epoch=2)
    ears.say("cdu1/loop/lease/r2", ask, retain=True)
    assert ears.hearing.take_asks() == ()
    ears.say("cdu1/loop/lease/r2", ask)
    (asked,) = ears.hearing.take_asks()
    assert (asked.rack, asked.act, asked.grant_id, asked.epoch) == ("r2", Act.RENEW, "g", 2)
    assert ears.hearing.take_asks() == ()


def test_requests_are_judged_at_the_door(ears: Ears) -> None:
    base = {"v": 1, "id": UUID, "request": "plan", "args": {"rack": "r1", "work": "open"}}
    topic = "cdu1/loop/request/operator/ann"
    ears.say(topic, json.dumps(base).encode())
    ears.say(topic, json.dumps(base | {"expires_at": NOW_S - 100.0}).encode())
    ears.say(topic, json.dumps(base | {"issued_at": NOW_S + 100.0}).encode())
    ears.say(topic, json.dumps(base | {"issued_at": NOW_S, "expires_at": NOW_S + 100.0}).encode())
    taken = ears.hearing.inbox.take()
    assert [one.expired for one in taken] == [False, True, True, False]
    assert (taken[0].role, taken[0].client, taken[0].name) == ("operator", "ann", "plan")
    ears.say(topic, json.dumps(base).encode(), retain=True)
    ears.say(topic, b"{")
    assert [(client, refusal.code) for client, refusal in ears.refused] == [("ann", "retained"), ("ann", "not_json")]
    assert ears.hearing.inbox.take() == ()
    ears.say("cdu1/loop/canary", b"{}")  # ours, and nobody's request


def test_another_coordinator_counts_while_it_lives_and_our_own_echo_never(ears: Ears) -> None:
    topic = "cdu1/loop/availability"
    ears.say(topic, an_availability("online", ME))
    ears.say(topic, an_availability("online", ("boot-2", 1.0)), retain=True)
    ears.say(topic, b"{}")
    assert (ears.hearing.others, ears.hearing.reassert) == (False, False)
    ears.say(topic, an_availability("online", ("boot-1", 501.0)))  # another process of the same machine
    assert (ears.hearing.others, ears.hearing.reassert) == (True, True)
    ears.say(topic, an_availability("offline", ("boot-1", 501.0)))
    assert not ears.hearing.others
    ears.say(topic, an_availability("online", ("boot-2", 1.0)))
    ears.now_s += OTHERS_S + 0.1
    assert not ears.hearing.others


def test_it_subscribes_to_its_racks_its_asks_its_requests_and_itself(ears: Ears) -> None:
    filters = ears.hearing.filters()
    assert "racky/v1/demo/r2/valvey/telemetry" in filters
    assert {"racky/v1/demo/cdu1/loop/lease/+", "racky/v1/demo/cdu1/loop/availability"} <= set(filters)
    assert len(filters) == 2 * 4 + 3


class Telling:
    """A desk with a paper loop behind it and a box in front."""

    def __init__(self, folder: Path) -> None:
        config = loop_config(folder)
        self.paper = PaperLoop().settled()
        self.kept = True
        self.sender = Sender(
            "demo",
            "cdu1",
            Daemon.LOOP,
            True,
            "0",
            "boot-1",
            "digest",
            500.0,
            lambda boot_s: 5000.0 + boot_s,
            lambda: True,
        )
        self.desk = LoopDesk(
            self.sender,
            ("r1", "r2", "r3", "r4"),
            self.paper.readings(),
            self.paper.limits,
            sender.metas(config, to_limits(config)),
            self.paper.memory,
            event_seq=7,
            telemetry_s=1.0,
            now_s=lambda: self.paper.now_s,
            client="loop-cdu1",
        )
        self.desk.is_kept = lambda _ticket: self.kept

    def tell(self, scan: LoopScan | None = None) -> dict[str, bytes]:
        """Tell of a scan, the last one unless given; return the last message of each topic under the loop's."""
        self.desk.tell(scan or self.paper.scans[-1], 1)
        return self.box()

    def box(self) -> dict[str, bytes]:
        out: dict[str, bytes] = {}
        while (message := self.desk.outbox.take()) is not None:
            out[message.topic.removeprefix("racky/v1/demo/cdu1/loop/")] = message.payload
        return out


@pytest.fixture
def telling(tmp_path: Path) -> Telling:
    made = Telling(tmp_path)
    made.tell()
    return made


def test_a_refusal_is_told_at_once_and_a_grant_only_once_it_is_on_disk(telling: Telling) -> None:
    telling.kept = False
    telling.paper.say("r1", "dance")
    refused = envelope.parse(envelope.Grant, telling.tell()["grant/r1"])
    assert isinstance(refused, envelope.Grant)
    assert not refused.granted
    telling.paper.say("r1", "isolate")
    assert "grant/r1" not in telling.tell()
    assert telling.desk.waits
    telling.kept = True
    telling.desk.release(telling.paper.now_s)
    granted = envelope.parse(envelope.Grant, telling.box()["grant/r1"])
    assert isinstance(granted, envelope.Grant)
    assert (granted.granted, granted.ttl_s) == (True, 30.0)
    assert not telling.desk.waits


def test_a_grant_that_did_not_get_to_the_disk_in_time_is_never_told(telling: Telling) -> None:
    telling.kept = False
    telling.paper.say("r1", "isolate")
    telling.tell()
    telling.desk.release(telling.paper.now_s + 2.1)
    telling.kept = True
    telling.desk.release(telling.paper.now_s + 2.2)
    assert telling.box() == {}


def test_the_state_tells_leases_ceilings_and_events_and_is_told_again_when_they_change(telling: Telling) -> None:
    telling.paper.run(1.0)
    assert "state" not in telling.tell()
    telling.paper.say("r1", "isolate")
    told = envelope.parse(envelope.State, telling.tell()["state"])
    assert isinstance(told, envelope.State)
    assert [one.work for one in told.grants] == ["isolate"]
    assert told.detail["holding"] == ["r1"]
    memory = replace(telling.paper.memory, ceilings={"r1": 100.0, "r2": 50.0}, short=True)
    scan = replace(telling.paper.scans[-1], memory=memory, replies=(), facts=())
    told = envelope.parse(envelope.State, telling.tell(scan)["state"])
    assert isinstance(told, envelope.State)
    assert told.state == "SHARING"
    assert told.detail["ceilings"] == {
        "r1": {"flow_lpm": 100.0, "power_kw": 63.9},
        "r2": {"flow_lpm": 50.0, "power_kw": 32.0},
    }
    near = replace(scan, memory=replace(memory, ceilings={"r1": 100.5, "r2": 50.0}))
    assert "state" not in telling.tell(near)
    far = replace(scan, memory=replace(memory, ceilings={"r1": 102.0, "r2": 50.0}))
    assert "state" in telling.tell(far)


def test_events_are_numbered_alarms_come_and_go_and_answers_reach_their_client(telling: Telling) -> None:
    telling.paper.cdu["P-201-TRIP"] = 1.0
    telling.paper.scan()
    box = telling.tell()
    event = envelope.parse(envelope.Event, box["event"])
    assert isinstance(event, envelope.Event)
    assert event.fact == LoopFactKind.ALARM
    alarm = envelope.parse(envelope.Alarm, box["alarm/pump-trip"])
    assert isinstance(alarm, envelope.Alarm)
    assert alarm.active
    telling.paper.request("ack", alarm="pump-trip")
    box = telling.tell()
    seen = envelope.parse(envelope.Alarm, box["alarm/pump-trip"])
    assert isinstance(seen, envelope.Alarm)
    assert (seen.state, seen.by) == ("ACK", "Edda")
    done = envelope.parse(envelope.Response, box["response/edda"])
    assert isinstance(done, envelope.Response)
    assert (done.status, done.proof) == ("succeeded", {"alarm": "pump-trip", "state": "ACK"})
    telling.paper.request("reset", event="x")
    refused = envelope.parse(envelope.Response, telling.tell()["response/edda"])
    assert isinstance(refused, envelope.Response)
    assert (refused.status, refused.code) == ("refused", "not_clear")
    telling.paper.cdu["P-201-TRIP"] = 0.0
    for _ in range(6):
        telling.paper.scan()
        box |= telling.tell()
    assert box["alarm/pump-trip"] == b""
    assert telling.desk.event_seq > 8


def test_a_rack_is_asked_by_its_own_door_in_the_coordinators_role(telling: Telling) -> None:
    scan = replace(telling.paper.scans[-1], asked=(RackRequest("r2", "isolate", "static-lost: a\ncause"),))
    payload = telling.tell(scan)["racky/v1/demo/r2/valvey/request/coordinator/loop-cdu1"]
    told = envelope.parse_request(payload)
    assert isinstance(told, envelope.Request)
    assert (told.request, told.args, told.by, told.why) == (
        "isolate", {"trip": True}, "cdu1", "static-lost: a cause",
    )  # fmt: skip


def test_a_stop_of_the_pumps_is_accepted_now_and_ends_later(tmp_path: Path) -> None:
    telling = Telling(tmp_path)
    telling.paper.limits = replace(telling.paper.limits, pump_stop=True, stop_most_s=3.0)
    telling.paper.request("stop_pumps", role="safety")
    accepted = envelope.parse(envelope.Response, telling.tell()["response/edda"])
    assert isinstance(accepted, envelope.Response)
    assert (accepted.status, accepted.reason, accepted.proof) == ("accepted", None, None)
    box: dict[str, bytes] = {}
    for _ in range(8):
        telling.paper.scan()
        box |= telling.tell()
    ended = envelope.parse(envelope.Response, box["response/edda"])
    assert isinstance(ended, envelope.Response)
    assert (ended.id, ended.status) == (accepted.id, "failed")
    assert "not proven dark" in str(ended.reason)


def test_a_newcomer_is_told_meta_state_and_every_standing_alarm(telling: Telling) -> None:
    telling.paper.cdu["P-201-TRIP"] = 1.0
    telling.paper.scan()
    telling.tell()
    told: list[Outgoing] = list(telling.desk.snapshot())
    kinds = [one.topic.rsplit("/", 1)[-1] for one in told]
    assert kinds[:2] == ["meta", "state"]
    assert "pump-trip" in kinds
    assert all(one.retain for one in told)
    meta = envelope.parse(envelope.Meta, told[0].payload)
    assert isinstance(meta, envelope.Meta)
    assert meta.points["PT-202"].limits == {"LL": 30.0}


def test_what_is_refused_at_the_door_is_answered(telling: Telling) -> None:
    hearing = telling.desk.hearing
    hearing.message(Incoming("racky/v1/demo/cdu1/loop/request/operator/bob", b"{", False, Properties()))
    told = envelope.parse(envelope.Response, telling.box()["response/bob"])
    assert isinstance(told, envelope.Response)
    assert (told.status, told.code) == ("refused", "not_json")


def test_an_answer_brings_back_the_correlation_of_its_request(telling: Telling) -> None:
    asked = {"v": 1, "id": UUID, "request": "plan", "args": {"rack": "r1", "work": "open"}}
    topic, body = "racky/v1/demo/cdu1/loop/request/operator/bob", json.dumps(asked).encode()
    telling.desk.hearing.message(Incoming(topic, body, False, Properties(correlation=b"mine")))
    telling.paper.scan(requests=telling.desk.hearing.inbox.take())
    telling.desk.tell(telling.paper.scans[-1], 1)
    told = []
    while (message := telling.desk.outbox.take()) is not None:
        told += [message.properties] if message.topic.endswith("/response/bob") else []
    assert told == [Properties(correlation=b"mine", content_type="application/json")]


def test_another_coordinators_message_is_answered_by_ours_but_not_in_a_storm(telling: Telling) -> None:
    other = envelope.dump(an_availability("online", ("boot-2", 1.0)))
    where = "racky/v1/demo/cdu1/loop/availability"
    telling.desk.hearing.message(Incoming(where, other, False, Properties()))
    telling.paper.scan()
    assert "availability" in telling.tell()
    assert telling.desk.others
    telling.desk.hearing.message(Incoming(where, other, False, Properties()))
    telling.paper.scan()
    assert "availability" not in telling.tell()


def test_a_snapshot_of_the_cdu_says_what_is_stale() -> None:
    readings = {
        "PT-201": Reading("PT-201", 360.0, Unit.KPA, Quality.GOOD, 100.0),
        "PT-202": Reading("PT-202", 150.0, Unit.KPA, Quality.GOOD, 90.0),
    }
    one = Sender("demo", "cdu1", Daemon.LOOP, True, "0", "b", "d", 0.0, lambda boot_s: boot_s, lambda: True)
    told = sender.telemetry(one, readings, PaperLoop().limits, 100.5, 3)
    assert told.points["PT-201"].value == pytest.approx(360.0)
    assert (told.points["PT-202"].value, told.points["PT-202"].reason) == (None, Reason.STALE)


def test_a_kept_record_comes_back() -> None:
    memory = replace(LoopMemory(), epoch=4)
    assert unpack(pack(persist.to_dict(memory), 9), persist.from_dict) == (memory, 9)
