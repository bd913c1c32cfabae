"""What people may ask of a coordinator, its alarms, and what a restart finds on the disk."""

import json

import pytest

from fieldkit.alarm import Phase
from fieldkit.reading import Quality, Reading
from fieldkit.tag import SYS_STORE
from fieldkit.units import Unit
from tests.stored import reread
from tests.valvey.core.loop.paper import PaperLoop
from valvey.core.chart import State
from valvey.core.loop import persist
from valvey.core.loop.alarms import BY_NAME, conditions
from valvey.core.loop.events import EVENTS
from valvey.core.loop.leases import begin
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.requests import REQUESTS


@pytest.fixture
def loop() -> PaperLoop:
    return PaperLoop().settled()


def test_a_plan_may_be_asked_for_by_anybody_and_says_why_it_would_be_refused(loop: PaperLoop) -> None:
    told = loop.request("plan", role="observer", why="", seq=0, rack="r2", work="isolate").fields
    assert told["status"] == "succeeded"
    assert told["proof"]["neighbours_pct"] == pytest.approx(33.3, abs=0.1)
    assert told["proof"]["refused"] is None
    loop.put("r3", state=State.OPENING)
    told = loop.request("plan", role="observer", rack="r2", work="isolate").fields
    assert "at most 1" in told["proof"]["refused"]["reason"]
    assert json.dumps(told["proof"])
    told = PaperLoop().request("plan", rack="r2", work="isolate").fields
    assert "just started" in told["proof"]["refused"]["reason"]


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("dance", {}, "unknown"),
        ("reset", {"role": "observer", "event": "x"}, "role"),
        ("reset", {}, "args"),
        ("reset", {"event": "x", "more": 1}, "args"),
        ("reset", {"event": "x", "expired": True}, "expired"),
        ("reset", {"event": "x", "seq": 77_777}, "expect_seq"),
        ("reset", {"event": "x", "why": "  "}, "why"),
        ("reset", {"event": "x"}, "not_clear"),
        ("plan", {"rack": "r9", "work": "open"}, "args"),
        ("plan", {"rack": "r1", "work": "dance"}, "args"),
        ("plan", {"rack": "r1", "work": ["open"]}, "args"),
        ("ack", {"alarm": "cdu-leak"}, "unknown"),
        ("ack", {"alarm": ["cdu-leak"]}, "args"),
        ("sump_emptied", {"sump": {}}, "args"),
        ("reset", {"event": 1.0}, "args"),
        ("sump_emptied", {"sump": "s9"}, "args"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_would_allow_it(
    loop: PaperLoop, name: str, change: dict[str, object], code: str
) -> None:
    before = loop.memory.state_seq
    told = loop.request(name, **change).fields  # type: ignore[arg-type]
    assert (told["status"], told["code"]) == ("refused", code)
    assert told["reason"]
    assert told["allow"]
    assert loop.memory.state_seq == before


def test_an_alarm_is_acknowledged_once(loop: PaperLoop) -> None:
    loop.cdu["P-201-TRIP"] = 1.0
    loop.run(1.0)
    told = loop.request("ack", role="operator", alarm="pump-trip").fields
    assert told["proof"] == {"alarm": "pump-trip", "state": "ACK"}
    assert loop.memory.alarms["pump-trip"].phase is Phase.ACK
    assert loop.request("ack", role="operator", alarm="pump-trip").fields["code"] == "wrong_state"


def test_every_condition_has_a_row_and_every_event_an_alarm(loop: PaperLoop) -> None:
    assert {row.name for row in EVENTS} <= BY_NAME.keys()
    loop.cdu |= {"P-201-TRIP": 1.0, "LT-201": 5.0}
    loop.others = True
    store = Reading(SYS_STORE, 1.0, Unit.NONE, Quality.GOOD, loop.now_s)
    view = loop.view(readings={**loop.readings(), SYS_STORE: store}, racks={})
    found = set(conditions(view))
    assert found == {"two-coordinators", "pump-trip", "low-level", "rack-unseen", "storage-fault"}
    loop.cdu["PT-201"] = None
    assert "cdu-unknown" in set(conditions(loop.view()))


def test_an_alarm_goes_when_it_is_normal_and_seen(loop: PaperLoop) -> None:
    loop.cdu["P-201-TRIP"] = 1.0
    loop.run(1.0)
    loop.request("ack", alarm="pump-trip")
    loop.cdu["P-201-TRIP"] = 0.0
    loop.run(3.0)
    assert "pump-trip" not in loop.memory.alarms


def test_only_what_acts_needs_a_sequence_and_a_reason() -> None:
    assert {name for name, row in REQUESTS.items() if row.acts} == {"reset", "sump_emptied", "stop_pumps"}
    assert all("observer" not in row.roles for row in REQUESTS.values() if row.name != "plan")


def busy_memory() -> LoopMemory:
    loop = PaperLoop().settled()
    loop.say("r1", "drain")
    loop.put("r2", latches=("SIF-9",))
    loop.cdu["P-201-TRIP"] = 1.0
    loop.say("r3", "isolate")
    loop.run(5.0)
    return loop.memory


def test_a_restart_finds_leases_events_sumps_alarms_and_what_was_learned() -> None:
    before = busy_memory()
    after = reread(before)
    for name in ("epoch", "number", "state_seq", "leases", "latches", "sumps_l", "learned", "droop", "home", "alarms"):
        assert getattr(after, name) == getattr(before, name), name
    assert (after.hold, after.written, after.samples) == (None, None, ())
    started = begin(after, 5.0)
    assert started.epoch == before.epoch + 1
    assert all(held.replied_s == pytest.approx(5.0) for held in started.leases.values())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": 99}, "format 99"),
        ({"strange": 1}, "strange"),
        ({"epoch": "x"}, "epoch"),
        ({"alarms": 5}, "alarms"),
        ({"alarms": [{"phase": "ACK"}]}, "alarms"),
    ],
)
def test_a_memory_that_is_not_whole_is_not_believed(change: dict[str, object], told: str) -> None:
    document = persist.to_dict(busy_memory()) | change
    with pytest.raises(ValueError, match=told):
        persist.from_dict(document)


def test_a_list_is_no_memory() -> None:
    with pytest.raises(ValueError, match="list, not an object"):
        persist.from_dict([])


def test_a_missing_part_is_named() -> None:
    document = persist.to_dict(LoopMemory())
    del document["leases"]
    with pytest.raises(ValueError, match="leases"):
        persist.from_dict(document)


def test_an_alarm_that_this_version_does_not_have_is_dropped() -> None:
    document = persist.to_dict(busy_memory())
    document["alarms"].append({**document["alarms"][0], "id": "of-tomorrow"})
    assert "of-tomorrow" not in persist.from_dict(document).alarms
