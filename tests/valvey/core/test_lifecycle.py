"""A request after its answer: told once, remembered by its id, and ended with proof."""

from dataclasses import replace
from typing import Any

import pytest

from fieldkit.request import Answered
from tests.attack.bench import Node, rack, request, restart, scan, standing
from tests.plant import flowing
from valvey.core.chart import State
from valvey.core.facts import FactKind
from valvey.core.lifecycle import ANSWERED_MAX, PENDING_MAX
from valvey.core.memory import Pending

RACK = rack()


class Story:
    """A rack scanned on, with everything that ended."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.ended: list[tuple[str, str, str]] = []
        self.facts: list[dict[str, Any]] = []

    def run(
        self, scans: int = 1, *asked: tuple[str, dict[str, Any]], dt_s: float = 0.3, faults: tuple[str, ...] = ()
    ) -> "Story":
        requests = tuple(request(self.node, name, **args) for name, args in asked)
        for n in range(scans):
            node = replace(self.node, faults=frozenset(faults))
            self.node, passage = scan(RACK, node, requests if n == 0 else (), dt_s)
            for fact in passage.facts(FactKind.ENDED):
                self.facts.append(dict(fact.fields))
                self.ended.append((fact.fields["request"], fact.fields["status"], fact.fields["reason"]))
        return self

    @property
    def state(self) -> State:
        return self.node.memory.state

    @property
    def awaited(self) -> list[str]:
        return [one.request for one in self.node.memory.pending]


def serving() -> Node:
    node = standing(State.FLOWING)
    return replace(node, field=replace(node.field, coils={**node.field.coils, "XS-101": True}))


def test_an_isolation_succeeds_when_both_valves_are_proven_shut() -> None:
    story = Story(standing(State.COOLDOWN)).run(1, ("isolate", {})).run(60)
    assert (story.state, story.awaited) == (State.ISOLATED, [])
    assert story.ended == [("isolate", "succeeded", "")]
    fact = story.facts[0]
    assert fact["proof"] == {
        "XI-101": 0.0,
        "ZSC-101": 1.0,
        "ZSC-102": 1.0,
        "ZSO-101": 0.0,
        "ZSO-102": 0.0,
        "FT-101": 0.0,
    }
    assert (fact["state"], fact["client"], fact["id"][:8]) == (State.ISOLATED, "desk", "isolate-")
    assert 1.0 < fact["took_s"] < 20.0


def test_an_isolation_that_nobody_unloads_for_is_told_as_given_up() -> None:
    story = Story(serving()).run(1, ("isolate", {}))
    assert (story.state, story.awaited, story.ended) == (State.UNLOADING, ["isolate"], [])
    story.run(60)
    assert (story.state, story.awaited) == (State.FLOWING, [])
    assert story.ended == [("isolate", "failed", "it was given up; the rack stays FLOWING")]


def test_a_goal_without_its_proof_is_awaited() -> None:
    story = Story(standing(State.COOLDOWN)).run(1, ("isolate", {})).run(60, faults=("shut limits lost",))
    assert story.awaited == ["isolate"]
    assert story.ended == []


@pytest.mark.parametrize("state", [State.ISOLATED, State.DRAINING, State.DRAINED, State.ESD])
def test_an_isolation_of_a_rack_that_is_proven_shut_succeeds_at_once(state: State) -> None:
    story = Story(standing(state)).run(1, ("isolate", {}))
    assert story.ended == [("isolate", "succeeded", "")]


@pytest.mark.parametrize("state", sorted(set(State) - {State.STARTUP}))
def test_a_dark_succeeds_when_the_contactor_is_proven_off(state: State) -> None:
    story = Story(serving() if state is State.FLOWING else standing(state)).run(3, ("dark", {}))
    assert story.ended == [("dark", "succeeded", "")]
    story = Story(serving() if state is State.FLOWING else standing(state))
    story.run(3, ("dark", {}), faults=("contactor on",))
    assert (story.awaited, story.ended) == (["dark"], [])


def test_a_dark_is_told_as_failed_when_the_rack_is_back_in_service_unproven() -> None:
    node = serving()
    pending = (Pending("a", "desk", "dark", node.now_s), Pending("b", "desk", "isolate", node.now_s))
    story = Story(replace(node, memory=replace(node.memory, pending=pending))).run(1)
    assert story.ended == [
        ("dark", "failed", "the rack is FLOWING"),
        ("isolate", "failed", "it was given up; the rack stays FLOWING"),
    ]


def test_an_emergency_stop_needs_valves_and_contactor_proven() -> None:
    story = Story(serving()).run(1, ("emergency_stop", {}))
    assert (story.state, story.ended) == (State.ESD, [])
    story.run(6)
    assert story.ended == [("emergency_stop", "succeeded", "")]
    stuck = Story(serving()).run(8, ("emergency_stop", {}), faults=("supply valve stuck",))
    assert stuck.awaited == ["emergency_stop"]
    dark = Story(serving()).run(8, ("emergency_stop", {}), faults=("contactor on",))
    assert dark.awaited == ["emergency_stop"]


def test_an_unproven_emergency_stop_has_failed_once_people_have_moved_on() -> None:
    node = standing(State.ISOLATING)
    pending = (Pending("a", "desk", "emergency_stop", node.now_s),)
    story = Story(replace(node, memory=replace(node.memory, pending=pending))).run(1)
    assert story.ended == [("emergency_stop", "failed", "the rack is ISOLATING")]


def test_what_is_awaited_survives_a_restart() -> None:
    story = Story(serving()).run(1, ("emergency_stop", {}), ("dark", {}))
    story.node = restart(RACK, story.node, story.node.memory)
    assert story.run(1).ended == []
    assert story.awaited == ["emergency_stop", "dark"]
    assert {status for _name, status, _why in story.run(20).ended} == {"succeeded"}


def test_an_opening_succeeds_with_the_contactor_on_and_fails_where_it_ends() -> None:
    story = Story(standing(State.ISOLATED)).run(1, ("open", {}))
    assert (story.state, story.awaited) == (State.OPENING, ["open"])
    story.run(40)
    assert (story.state, story.ended) == (State.FLOWING, [("open", "succeeded", "")])
    story = Story(standing(State.ISOLATED)).run(1, ("open", {})).run(1, faults=("drain not shut",))
    why = "the drain valve left its shut limit during opening work; the rack is ISOLATING"
    assert (story.state, story.ended) == (State.ISOLATING, [("open", "failed", why)])


def test_a_cancelled_request_is_told_as_cancelled() -> None:
    story = Story(standing(State.ISOLATED)).run(1, ("open", {})).run(1, ("cancel", {}))
    assert story.ended == [("open", "cancelled", "the rack is ISOLATING")]
    story = Story(serving()).run(1, ("isolate", {})).run(1, ("cancel", {}))
    assert story.ended == [("isolate", "cancelled", "it was given up; the rack stays FLOWING")]
    story = Story(standing(State.COOLDOWN)).run(1, ("isolate", {})).run(1, ("cancel", {}))
    assert story.ended == [("isolate", "cancelled", "it was given up; the rack stays COOLDOWN")]


def test_a_cancel_that_had_nothing_to_cancel_ends_nothing_as_cancelled() -> None:
    node = standing(State.ISOLATING)
    pending = (Pending("a", "desk", "open", node.now_s),)
    story = Story(replace(node, memory=replace(node.memory, pending=pending))).run(1, ("cancel", {}))
    assert story.ended == [("open", "failed", "the rack is ISOLATING")]


@pytest.mark.parametrize(("permit", "ended"), [(True, ["succeeded"]), (False, []), (None, [])])
def test_a_return_to_service_has_succeeded_once_the_permit_is_proven_on(permit: bool | None, ended: list[str]) -> None:
    rack = flowing()
    rack.memory = replace(rack.memory, pending=(Pending("a", "desk", "open", rack.now_s),))
    rack.values["XI-101"] = None if permit is None else float(permit)
    rack.scan()
    assert [fact.fields["status"] for fact in rack.facts if fact.kind is FactKind.ENDED] == ended


def test_a_refused_cancel_cancels_nothing() -> None:
    story = Story(serving()).run(1, ("isolate", {}))
    late = replace(request(story.node, "cancel"), expect_seq=1)
    node, _passage = scan(RACK, story.node, (late,), 0.3)
    assert (node.memory.state, [one.request for one in node.memory.pending]) == (State.UNLOADING, ["isolate"])


def test_refused_requests_and_those_without_a_goal_are_not_awaited() -> None:
    story = Story(serving()).run(
        1, ("open", {}), ("set_point", {"fcv_pct": 50.0}), ("bypass", {"name": "SIF-5", "for_s": 9})
    )
    assert (story.awaited, story.ended) == ([], [])


def test_a_disarmed_rack_awaits_nothing() -> None:
    story = Story(standing(State.ISOLATED, armed=False)).run(1, ("isolate", {}), ("emergency_stop", {}))
    assert (story.awaited, story.ended) == ([], [])


def test_a_repeated_request_is_awaited_once() -> None:
    node = standing(State.COOLDOWN)
    first, _passage = scan(RACK, node, (request(node, "isolate", id="a"),), 0.05)
    second, _passage = scan(RACK, first, (request(first, "isolate", id="a"), request(first, "isolate", id="b")), 0.05)
    assert [one.id for one in second.memory.pending] == ["a", "b"]
    both = scan(RACK, node, (request(node, "isolate", id="a"), request(node, "isolate", id="a")), 0.05)[0]
    assert [one.id for one in both.memory.pending] == ["a"]


def test_more_is_not_awaited_than_the_memory_has_room_for() -> None:
    node = standing(State.COOLDOWN, isolate_wanted=True)
    waiting = tuple(Pending(f"old-{n}", "desk", "isolate", node.now_s) for n in range(PENDING_MAX))
    node = replace(node, memory=replace(node.memory, pending=waiting))
    after, passage = scan(RACK, node, (request(node, "isolate", id="new"),), 0.05)
    assert [one.id for one in after.memory.pending][-2:] == ["old-255", "new"]
    assert (len(after.memory.pending), PENDING_MAX) == (256, 256)
    (fact,) = passage.facts(FactKind.ENDED)
    assert (fact.fields["id"], fact.fields["status"]) == ("old-0", "failed")
    assert fact.fields["reason"] == "more than 256 requests are awaited"


def test_ids_of_opening_and_note_requests_are_remembered_and_those_of_safer_and_unknown_ones_are_not() -> None:
    node = serving()
    asked = (
        request(node, "set_point", id="a", fcv_pct=50.0),
        request(node, "open", id="b"),
        request(node, "ack", id="c", alarm="none"),
        request(node, "dark", id="d", role="observer"),
        request(node, "nonsense", id="e"),
        request(node, "cancel", id="f"),
    )
    after, _passage = scan(RACK, node, asked, 0.05)
    assert [(one.id, one.status) for one in after.memory.answered] == [
        ("a", "accepted"),
        ("b", "refused"),
        ("c", "refused"),
    ]


def test_the_last_ten_thousand_ids_are_remembered() -> None:
    full = tuple(Answered(str(n), "accepted", "ok", "", "") for n in range(ANSWERED_MAX))
    node = standing(State.FLOWING, answered=full)
    after, _passage = scan(RACK, node, (request(node, "open", id="new"),), 0.05)
    assert len(after.memory.answered) == ANSWERED_MAX == 10_000
    assert [one.id for one in (after.memory.answered[0], after.memory.answered[-1])] == ["1", "new"]
    again, _passage = scan(RACK, after, (request(after, "open", id="5"),), 0.05)
    assert again.memory.answered == after.memory.answered


def test_an_answer_is_told_with_all_that_was_asked_and_where_it_leaves_the_rack() -> None:
    node = standing(State.ISOLATED)
    after, passage = scan(RACK, node, (request(node, "open", id="a", role="operator"),), 0.05)
    (fact,) = passage.facts(FactKind.ANSWER)
    assert fact.at_s == after.now_s
    assert fact.fields == {
        "id": "a", "request": "open", "client": "desk", "role": "operator", "by": "tester", "why": "a test", "status": "accepted",
        "code": "ok", "reason": "", "allow": "", "state": State.OPENING, "state_seq": 11,
    }  # fmt: skip
