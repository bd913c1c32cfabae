"""Racky's requests: who may, which class, what is refused and what would allow it."""

from dataclasses import replace
from typing import Any

import pytest

from fieldkit.alarm import Phase as AlarmPhase
from fieldkit.request import EVERYBODY, Answered, Kind, Request
from racky.core.answering import MOST_ANSWERED
from racky.core.facts import FactKind
from racky.core.memory import Cap, Phase
from racky.core.requests import REQUESTS
from tests.racky.core.paper_racky import PaperRacky, kind_of, running, switched_off

ARGS: dict[str, dict[str, Any]] = {
    "cap": {"kw": 100.0, "for_s": 60.0},
    "maintenance": {"for_s": 600.0},
    "ack": {"alarm": "maintenance"},
    "shelve": {"alarm": "maintenance", "for_s": 60.0},
    "leak_evidence": {"tray": "t7", "wet": True, "for_s": 60.0},
}
OWN = (
    "power_off",
    "power_on",
    "cap",
    "uncap",
    "reset",
    "maintenance",
    "end_maintenance",
    "ack",
    "shelve",
    "leak_evidence",
)


def request(name: str, rack: PaperRacky, **changes: Any) -> Request:
    one = Request("id-x", name, "engineer", "desk", ARGS.get(name, {}), "anna", "a test", rack.memory.state_seq)
    return replace(one, **changes)


def alarm_phase(rack: PaperRacky, name: str) -> AlarmPhase:
    return rack.memory.alarms[name].phase


def code(rack: PaperRacky, one: Request) -> str:
    return str(rack.send(one).fields["code"])


def test_every_request_that_racky_answers_itself_is_in_the_table() -> None:
    assert set(OWN) <= REQUESTS.keys()
    assert all(row.text and row.roles <= EVERYBODY for row in REQUESTS.values())


def test_an_unknown_request_is_refused_with_all_that_are_known() -> None:
    answer = running().ask("open")
    assert (answer.fields["code"], answer.fields["status"]) == ("unknown", "refused")
    assert "power_on" in answer.fields["allow"]


@pytest.mark.parametrize("name", OWN)
def test_a_role_that_may_not_is_told_who_may(name: str) -> None:
    rack = running()
    answer = rack.send(request(name, rack, role="observer"))
    assert answer.fields["code"] == "role"
    assert all(role in answer.fields["allow"] for role in REQUESTS[name].roles)


@pytest.mark.parametrize("name", [name for name in OWN if name not in {"power_off", "ack", "shelve", "leak_evidence"}])
def test_opening_requests_need_the_present_state_seq_and_their_time(name: str) -> None:
    rack = running()
    seq = rack.memory.state_seq
    wrong = rack.send(request(name, rack, expect_seq=seq - 1))
    assert (wrong.fields["code"], wrong.fields["allow"]) == (
        "expect_seq",
        f"look at the state, then ask with expect_seq {seq}",
    )
    assert code(rack, request(name, rack, id="b", expect_seq=None)) == "expect_seq"
    assert code(rack, request(name, rack, id="c", expired=True)) == "expired"
    assert code(rack, request(name, rack, id="d", expired=None)) == "clock"


@pytest.mark.parametrize("name", ["cap", "uncap", "reset", "maintenance", "end_maintenance", "shelve"])
def test_a_reason_is_asked_for(name: str) -> None:
    rack = running()
    assert code(rack, request(name, rack, why="  ")) == "why"


def test_power_off_is_never_refused_for_time_sequence_or_a_repeated_id() -> None:
    rack = running()
    late = request("power_off", rack, expect_seq=None, expired=True, why="", role="integration")
    assert code(rack, late) == "ok"
    assert code(rack, late) == "ok"
    assert len(rack.kinds(FactKind.ANSWER)) == 2


def test_the_same_id_gets_the_same_answer_and_no_second_act() -> None:
    rack = running()
    one = request("maintenance", rack)
    assert code(rack, one) == "ok"
    seq = rack.memory.state_seq
    assert code(rack, one) == "ok"
    assert rack.memory.state_seq == seq
    refused = request("power_on", rack, id="other", role="observer")
    assert code(rack, refused) == "role"
    assert code(rack, replace(refused, role="engineer")) == "role"
    assert len([one for one in rack.memory.answered if one.id == "other"]) == 1


def test_so_many_answers_are_remembered_and_no_more() -> None:
    rack = running()
    old = tuple(Answered(f"old-{number}", "accepted", "ok", "", "") for number in range(MOST_ANSWERED))
    rack.memory = replace(rack.memory, answered=old)
    rack.ask("maintenance", for_s=600.0)
    assert len(rack.memory.answered) == MOST_ANSWERED
    assert rack.memory.answered[0].id == "old-1"


@pytest.mark.parametrize(
    ("name", "args", "reason", "allow"),
    [
        ("power_off", {"fast": True}, "unknown argument 'fast'", "arguments of 'power_off': now"),
        ("power_on", {"now": True}, "unknown argument 'now'", "arguments of 'power_on': none"),
        ("cap", {}, "argument 'kw' is missing", "'cap' needs 'kw'"),
        ("cap", {"kw": "10"}, "argument 'kw' is not a number", "'kw' is a number"),
        ("cap", {"kw": True}, "argument 'kw' is not a number", "'kw' is a number"),
        ("cap", {"kw": -1.0}, "argument 'kw' is out of range", "0 to 10000"),
        ("cap", {"kw": 10.0, "for_s": 0.5}, "argument 'for_s' is out of range", "1 to 2.592e+06"),
        ("power_off", {"now": 1}, "argument 'now' is not true or false", "'now' is true or false"),
    ],
)
def test_wrong_arguments_are_named(name: str, args: dict[str, Any], reason: str, allow: str) -> None:
    rack = running()
    answer = rack.send(request(name, rack, args=args))
    assert (answer.fields["code"], answer.fields["reason"], answer.fields["allow"]) == ("args", reason, allow)


def test_to_lower_a_cap_is_safer_to_raise_or_end_it_is_not() -> None:
    rack = running()
    seq = rack.memory.state_seq
    lower = Request("1", "cap", "coordinator", "cdu", {"kw": 80.0}, expired=True)
    assert code(rack, lower) == "ok"
    assert rack.memory.power.cap == Cap(80.0, "cdu", "", rack.now_s)
    assert rack.memory.power.least == ("request", 80.0)
    assert rack.memory.state_seq == seq + 2, "one for the cap, one for the least of all caps"
    assert code(rack, replace(lower, id="2", args={"kw": 80.0})) == "ok"
    assert code(rack, replace(lower, id="3", args={"kw": 80.1})) == "why"
    assert code(rack, replace(lower, id="4", args={"kw": 80.1}, why="w")) == "expired"
    assert code(rack, replace(lower, id="5", args={"kw": 70.0, "for_s": 5.0}, why="w")) == "expired"
    assert kind_of(rack, "power_on") is Kind.OPENING
    assert rack.ask("uncap").fields["code"] == "ok"
    assert rack.memory.power.cap is None
    assert rack.ask("uncap").fields["code"] == "nothing"


def test_a_cap_with_a_time_ends_by_itself() -> None:
    rack = running()
    assert rack.ask("cap", kw=100.0, for_s=10.0).fields["code"] == "ok"
    assert rack.memory.power.cap is not None
    assert rack.memory.power.cap.until_s == rack.now_s + 10.0
    rack.run(9.5)
    assert rack.memory.power.least == ("request", 100.0)
    rack.run(0.5)
    assert rack.memory.power.least == ("site", 110.0)


def test_maintenance_tells_its_words_and_ends_by_itself_or_by_request() -> None:
    rack = running()
    assert rack.ask("maintenance", for_s=60.0).fields["code"] == "ok"
    rack.step()
    health = rack.scans[-1].health
    assert health.healthy
    assert set(health.classifications) == {
        "PreventAllocations",
        "SuppressExternalAlerting",
        "ExcludeFromStateMachineSla",
    }
    assert set(health.blocks) == {"allocation"}
    rack.run(58.5)
    assert rack.memory.maintenance is not None
    rack.run(1.0)
    assert rack.memory.maintenance is None
    assert [fact.fields["on"] for fact in rack.kinds(FactKind.MAINTENANCE)] == [True, False]
    assert rack.ask("end_maintenance").fields["code"] == "nothing"
    rack.ask("maintenance", for_s=60.0)
    assert rack.ask("end_maintenance").fields["code"] == "ok"
    assert rack.memory.maintenance is None


def test_power_off_of_a_rack_that_is_off_succeeds_at_once() -> None:
    rack = switched_off()
    answer = rack.ask("power_off")
    assert answer.fields["status"] == "accepted"
    assert rack.kinds(FactKind.ENDED)[-1].fields["status"] == "succeeded"


def test_power_off_of_a_tripped_rack_leaves_it_tripped() -> None:
    rack = running()
    rack.latched("SIF-13")
    rack.step()
    rack.ask("power_off")
    assert rack.phase() is Phase.TRIPPED
    assert rack.kinds(FactKind.ENDED)[-1].fields["status"] == "failed"


def test_a_pending_request_fails_with_the_reason_of_the_phase_it_ended_in() -> None:
    rack = switched_off()
    rack.ask("power_on")
    assert [one.request for one in rack.memory.pending] == ["power_on"]
    rack.valvey = replace(rack.valvey, state="ISOLATING")
    rack.step()
    ended = rack.kinds(FactKind.ENDED)[-1].fields
    assert (ended["status"], ended["reason"]) == ("failed", "Valvey is in ISOLATING: the power permit is off")
    assert rack.memory.pending == ()


def test_alarms_are_acknowledged_and_shelved_by_name() -> None:
    rack = running()
    rack.ask("maintenance", for_s=600.0)
    assert alarm_phase(rack, "maintenance") is AlarmPhase.UNACK
    assert rack.ask("ack", alarm="maintenance").fields["code"] == "ok"
    assert alarm_phase(rack, "maintenance") is AlarmPhase.ACK
    again = rack.ask("ack", alarm="maintenance")
    assert again.fields["code"] == "wrong_state"
    assert rack.ask("shelve", alarm="maintenance", for_s=60.0).fields["code"] == "ok"
    assert alarm_phase(rack, "maintenance") is AlarmPhase.SHELVED
    unknown = rack.ask("ack", alarm="leak")
    assert (unknown.fields["code"], unknown.fields["allow"]) == ("unknown", "standing: maintenance")
    assert running().ask("ack", alarm="leak").fields["allow"] == "standing: none"


def test_requests_of_one_step_are_judged_one_after_the_other() -> None:
    rack = running()
    seq = rack.memory.state_seq
    first = request("maintenance", rack, id="a")
    rack.step(first, replace(first, id="b"))
    codes = [fact.fields["code"] for fact in rack.kinds(FactKind.ANSWER)]
    assert codes == ["ok", "expect_seq"]
    assert rack.memory.state_seq == seq + 1
