"""What accepted requests do beside moving the chart: reset, locks, bypasses, arming, records, evidence."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.attack.bench import LIMITS, Node, rack, request, scan, standing, tell
from valvey.core.acts import LOCKS_MAX
from valvey.core.chart import State
from valvey.core.facts import Fact, FactKind
from valvey.core.flow_state import Mode
from valvey.core.memory import Bypass, Effect, Inventory, Latch, Lock, Memory
from valvey.core.policy import DEFAULT_POLICY, Action, PolicyRule
from valvey.core.requests import Request
from valvey.core.standing import expire_bypasses
from valvey.core.step import Setup, setup

RACK = rack()


def ask(node: Node, name: str, /, *, on: Setup = RACK, **args: Any) -> tuple[Node, Mapping[str, Any]]:
    after, answers = tell(on, node, request(node, name, **args))
    return after, answers[0]


def latch(sif: str, row: str = "", effect: Effect = Effect.DARK) -> Latch:
    return Latch(sif, row or sif, effect, 1.0, 1.0)


def latched(state: State, *sifs: str, faults: tuple[str, ...] = (), **changes: Any) -> Node:
    node = standing(state, latches=tuple(latch(sif) for sif in sifs), **changes)
    return replace(node, faults=frozenset(faults))


def told(node: Node, kind: FactKind, *requests: Request) -> list[Fact]:
    return scan(RACK, node, requests, 0.05)[1].facts(kind)


# --- reset


def test_a_reset_clears_the_latches_that_it_names_and_no_other() -> None:
    node, answer = ask(latched(State.COOLDOWN, "SIF-4", "SIF-5", "SIF-4"), "reset", sif=["SIF-4"])
    assert answer["status"] == "accepted"
    assert [one.sif for one in node.memory.latches] == ["SIF-5"]
    assert node.memory.state_seq == 11
    assert node.memory.state is State.COOLDOWN


def test_a_reset_is_told_with_who_and_why() -> None:
    start = latched(State.COOLDOWN, "SIF-4", "SIF-5")
    (fact,) = told(start, FactKind.RESET, request(start, "reset", sif=["SIF-4", "SIF-5"]))
    assert fact.fields == {"sif": ["SIF-4", "SIF-5"], "by": "tester", "client": "desk", "why": "a test"}


@pytest.mark.parametrize("names", [["all"], ["SIF-4", "all"], ["SIF-3"], ["sif-4"], ["SIF-4/low"]])
def test_a_reset_of_what_is_not_latched_clears_nothing(names: list[str]) -> None:
    node, answer = ask(latched(State.COOLDOWN, "SIF-4"), "reset", sif=names)
    assert answer["code"] == "not_latched"
    assert answer["allow"] == "latched now: SIF-4"
    assert [one.sif for one in node.memory.latches] == ["SIF-4"]


@pytest.mark.parametrize("names", [[1], [None], [["SIF-4"]], [{}], ["SIF-4", float("nan")]])
def test_a_reset_of_something_that_is_no_name_is_refused(names: list[Any]) -> None:
    _node, answer = ask(latched(State.COOLDOWN, "SIF-4"), "reset", sif=names)
    assert (answer["code"], answer["reason"]) == ("args", "'sif' is not a list of names")


def test_an_empty_reset_is_for_an_esd_without_latches_only() -> None:
    for state, sifs in ((State.ESD, ("SIF-4",)), (State.COOLDOWN, ()), (State.ISOLATED, ())):
        _node, answer = ask(latched(state, *sifs), "reset", sif=[])
        assert (answer["code"], answer["reason"]) == ("args", "'sif' is empty")
        assert answer["allow"] == f"latched now: {', '.join(sifs) or 'nothing'}"
    node, answer = ask(latched(State.ESD), "reset", sif=[])
    assert (answer["status"], node.memory.state) == ("accepted", State.ISOLATING)


CAUSES = {
    "SIF-1": "rope wet",
    "SIF-2": "over-pressure",
    "SIF-7": "button lost",
    "SIF-13": "power stays",
}


@pytest.mark.parametrize("sif", CAUSES)
def test_a_cause_that_stands_or_cannot_be_seen_keeps_its_latch(sif: str) -> None:
    state = State.COOLDOWN
    start = latched(state, sif, faults=(CAUSES[sif],), permit_off_since_s=1.0)
    node, answer = ask(start, "reset", sif=[sif])
    assert answer["code"] == "cause_not_clear"
    assert answer["reason"].startswith(f"the cause of {sif} is not clear: {sif}")
    assert [one.sif for one in node.memory.latches] == [sif]
    _node, answer = ask(latched(state, sif, permit_off_since_s=1.0), "reset", sif=[sif])
    assert answer["status"] == "accepted"


def test_a_cause_that_is_not_judged_in_this_state_counts_as_clear() -> None:
    _node, answer = ask(
        latched(State.COOLDOWN, "SIF-4", "PERMIT_LOST", faults=("flow low",)), "reset", sif=["SIF-4", "PERMIT_LOST"]
    )
    assert answer["status"] == "accepted"


@pytest.mark.parametrize("name", ["MEM", "ADOPTED", "RESTART_LOOP"])
def test_what_is_only_about_the_past_can_always_be_reset(name: str) -> None:
    node, answer = ask(latched(State.COOLDOWN, name, faults=("everything lost",)), "reset", sif=[name])
    assert answer["status"] == "accepted"
    assert node.memory.latches == ()


def test_a_cap_or_shadow_row_that_stands_does_not_keep_a_latch() -> None:
    shadow = PolicyRule("only-told", ("LDT-103",), Action.SHADOW, 0.5)
    rack_with = setup(replace(LIMITS, policy=(DEFAULT_POLICY[0], shadow), return_h_c=30.0))
    start = latched(State.FLOWING, "SIF-1", "SIF-3", faults=("floor wet",))
    start = replace(start, field=replace(start.field, coils={**start.field.coils, "XS-101": True}))
    for sif in ("SIF-1", "SIF-3"):
        _node, answer = ask(start, "reset", on=rack_with, sif=[sif])
        assert answer["status"] == "accepted"
    acting = setup(replace(LIMITS, policy=DEFAULT_POLICY, return_hh_c=30.0))
    for sif, row in (("SIF-1", "SIF-1/floor-rope-wet"), ("SIF-3", "SIF-3")):
        _node, answer = ask(start, "reset", on=acting, sif=[sif])
        assert answer["reason"].startswith(f"the cause of {sif} is not clear: {row} is DEMAND")


@pytest.mark.parametrize(
    ("sif", "bypassed"),
    [("SIF-1", "SIF-1"), ("SIF-1", "LDT-101"), ("SIF-1", "SIF-1/rack-detector-wet"), ("SIF-2", "SIF-2")],
)
def test_what_is_bypassed_is_not_clear(sif: str, bypassed: str) -> None:
    """A bypassed function looks at nothing; "not armed by state" is another matter."""
    start = latched(State.ISOLATED, sif, bypasses=(Bypass(bypassed, "tester", "w", 1.0, 1e9),))
    node, answer = ask(start, "reset", sif=[sif])
    assert answer["code"] == "bypassed"
    assert answer["allow"] == f"'unbypass' {bypassed} first"
    assert [one.sif for one in node.memory.latches] == [sif]


@pytest.mark.parametrize(
    ("sif", "bypassed"), [("SIF-2", "SIF-1"), ("SIF-1", "SIF-2"), ("SIF-2", "LDT-101"), ("SIF-1", "SIF-11")]
)
def test_the_bypass_of_something_else_keeps_no_latch(sif: str, bypassed: str) -> None:
    start = latched(State.ISOLATED, sif, bypasses=(Bypass(bypassed, "tester", "w", 1.0, 1e9),))
    _node, answer = ask(start, "reset", sif=[sif])
    assert answer["status"] == "accepted"


# --- locks


def test_a_lock_is_owned_by_a_person_and_remembered_with_reason_and_client() -> None:
    node, answer = ask(standing(State.ISOLATED), "lock", owner=" anna ")
    assert answer["reason"] == ""
    assert node.memory.locks == (Lock("anna", "a test", node.now_s, "desk"),)
    assert node.memory.state_seq == 11
    (fact,) = told(standing(State.ISOLATED), FactKind.LOCK, request(standing(State.ISOLATED), "lock", owner="anna"))
    assert fact.fields["owner"] == "anna"


@pytest.mark.parametrize("owner", ["", "   "])
def test_nobody_owns_no_lock(owner: str) -> None:
    node, answer = ask(standing(State.ISOLATED), "lock", owner=owner)
    assert (answer["code"], answer["reason"], node.memory.locks) == ("args", "'owner' is empty", ())


def test_a_second_lock_of_the_same_owner_is_the_first() -> None:
    one, _answer = ask(standing(State.ISOLATED), "lock", owner="anna")
    two, answer = ask(one, "lock", owner="anna")
    assert answer["reason"] == "already locked by that owner"
    assert (two.memory.locks, two.memory.state_seq) == (one.memory.locks, one.memory.state_seq)
    three, _answer = ask(two, "lock", owner="ben")
    assert [lock.owner for lock in three.memory.locks] == ["anna", "ben"]


def test_locks_are_bounded() -> None:
    locks = tuple(Lock(f"p{n}", "w", 1.0, "desk") for n in range(LOCKS_MAX - 1))
    node, answer = ask(standing(State.ISOLATED, locks=locks), "lock", owner="one more")
    assert (answer["status"], len(node.memory.locks)) == ("accepted", LOCKS_MAX)
    node, answer = ask(node, "lock", owner="one too many")
    assert (answer["code"], len(node.memory.locks)) == ("size", LOCKS_MAX)
    assert LOCKS_MAX == 64


def test_an_owner_removes_a_lock_from_where_it_was_placed_or_under_the_own_name() -> None:
    locks = (Lock("anna", "w", 1.0, "panel"), Lock("ben", "w", 1.0, "desk"))
    start = standing(State.ISOLATED, locks=locks)
    for client, role, code in (
        ("panel", "operator", "ok"),
        ("anna", "operator", "ok"),
        ("ben", "operator", "owner"),
        ("desk", "engineer", "owner"),
        ("desk", "supervisor", "ok"),
    ):
        asked = replace(request(start, "unlock", owner=" anna", role=role), client=client)
        node, (answer,) = tell(RACK, start, asked)
        assert answer["code"] == code
        assert [lock.owner for lock in node.memory.locks] == (["ben"] if code == "ok" else ["anna", "ben"])
        assert node.memory.state_seq == (11 if code == "ok" else 10)


def test_a_lock_that_nobody_placed_is_a_supervisors_to_remove() -> None:
    start = standing(State.ISOLATED, locks=(Lock("MEM", "the memory could not be read", 1.0),))
    asked = replace(request(start, "unlock", owner="MEM"), client="")
    _node, (answer,) = tell(RACK, start, asked)
    assert (answer["code"], answer["allow"]) == ("owner", "MEM, or the role 'supervisor'")
    node, (answer,) = tell(RACK, start, replace(asked, role="supervisor"))
    assert (answer["code"], node.memory.locks) == ("ok", ())
    (fact,) = told(start, FactKind.UNLOCK, replace(asked, role="supervisor"))
    assert fact.fields["owner"] == "MEM"


def test_who_holds_no_lock_is_told_who_does() -> None:
    _node, answer = ask(standing(State.ISOLATED), "unlock", owner="anna")
    assert (answer["code"], answer["allow"]) == ("not_locked", "locked by: nobody")
    _node, answer = ask(standing(State.ISOLATED, locks=(Lock("ben", "w", 1.0),)), "unlock", owner="anna")
    assert (answer["reason"], answer["allow"]) == ("'anna' holds no lock", "locked by: ben")


# --- bypasses


def test_a_bypass_is_bounded_named_and_counted_from_now() -> None:
    node, answer = ask(standing(State.FLOWING), "bypass", name="SIF-5", for_s=60)
    assert answer["status"] == "accepted"
    assert node.memory.bypasses == (Bypass("SIF-5", "tester", "a test", node.now_s, node.now_s + 60.0),)
    assert node.memory.state_seq == 11
    start = standing(State.FLOWING)
    (fact,) = told(start, FactKind.BYPASS, request(start, "bypass", name="SIF-5", for_s=60))
    assert (fact.fields["name"], fact.fields["for_s"]) == ("SIF-5", 60.0)
    nameless = replace(request(start, "bypass", name="SIF-5", for_s=60), by="")
    (node, _answers) = tell(RACK, start, nameless)
    assert node.memory.bypasses[0].by == "desk"


@pytest.mark.parametrize(
    "name",
    ["SIF-1", "SIF-2", "SIF-3", "SIF-5", "SIF-6", "SIF-9", "SIF-11", "SIF-1/blind", "SIF-3/cap", "LDT-101", "LDT-103"],
)
def test_what_may_be_bypassed(name: str) -> None:
    node, answer = ask(standing(State.FLOWING), "bypass", name=name, for_s=60)
    assert (answer["code"], [one.name for one in node.memory.bypasses]) == ("ok", [name])


@pytest.mark.parametrize(
    "name",
    [
        "SIF-4",
        "SIF-4/low",
        "SIF-7",
        "SIF-8",
        "SIF-10",
        "SIF-10/dark",
        "SIF-12",
        "SIF-13",
        "OPEN_LOST",
        "OPEN_LOST/coil",
        "PERMIT_LOST",
        "PROOF_LOST",
    ],
)
def test_what_may_never_be_bypassed(name: str) -> None:
    node, answer = ask(standing(State.FLOWING), "bypass", name=name, for_s=60)
    assert (answer["code"], node.memory.bypasses) == ("never", ())
    assert answer["allow"] == "any SIF but SIF-10, SIF-12, SIF-13, SIF-4, SIF-7, SIF-8"


@pytest.mark.parametrize("name", ["", "SIF-14", "FT-101", "all", "sif-5", "LDT-104"])
def test_what_does_not_exist_is_not_bypassed(name: str) -> None:
    _node, answer = ask(standing(State.FLOWING), "bypass", name=name, for_s=60)
    assert answer["code"] == "unknown"
    assert all(one in answer["allow"] for one in ("SIF-5", "SIF-1,", "SIF-1/blind", "LDT-101"))


def test_one_bypass_at_a_time_unless_the_site_allows_more() -> None:
    start = standing(State.FLOWING, bypasses=(Bypass("SIF-5", "ben", "w", 1.0, 2000.0),))
    node, answer = ask(start, "bypass", name="SIF-3", for_s=60)
    assert (answer["code"], answer["reason"], answer["allow"]) == (
        "one_at_a_time",
        "SIF-5 is bypassed",
        "'unbypass' SIF-5 first",
    )
    node, answer = ask(start, "bypass", name="SIF-5", for_s=60)
    assert [(one.by, one.until_s) for one in node.memory.bypasses] == [("tester", node.now_s + 60.0)]
    two = setup(replace(LIMITS, bypasses_at_once=2))
    node, answer = ask(start, "bypass", on=two, name="SIF-3", for_s=60)
    assert [one.name for one in node.memory.bypasses] == ["SIF-5", "SIF-3"]


def test_a_bypass_is_no_longer_than_the_site_allows() -> None:
    short = setup(replace(LIMITS, bypass_max_s=100.0))
    _node, answer = ask(standing(State.FLOWING), "bypass", on=short, name="SIF-3", for_s=100)
    assert answer["status"] == "accepted"
    _node, answer = ask(standing(State.FLOWING), "bypass", on=short, name="SIF-3", for_s=100.5)
    assert (answer["code"], answer["reason"], answer["allow"]) == ("args", "for_s is 100.5", "at most 100 s")


def test_a_bypass_warns_once_at_each_of_its_warnings() -> None:
    memory = replace(Memory(), now_s=5000.0, bypasses=(Bypass("SIF-5", "anna", "calibration", 5000.0, 6000.0),))
    told = []
    for now_s in range(5001, 6000):
        _, facts = expire_bypasses(memory, float(now_s))
        memory = replace(memory, now_s=float(now_s))
        told += [fact.fields["left_s"] for fact in facts]
    assert told == [900, 300, 60]


def test_a_bypass_is_ended_by_name() -> None:
    both = (Bypass("SIF-5", "ben", "w", 1.0, 2000.0), Bypass("SIF-3", "ben", "w", 1.0, 2000.0))
    start = standing(State.FLOWING, bypasses=both)
    node, answer = ask(start, "unbypass", name="SIF-5")
    assert (answer["status"], [one.name for one in node.memory.bypasses]) == ("accepted", ["SIF-3"])
    assert node.memory.state_seq == 11
    _node, answer = ask(node, "unbypass", name="SIF-5")
    assert (answer["code"], answer["reason"], answer["allow"]) == (
        "not_bypassed",
        "'SIF-5' is not bypassed",
        "bypassed: SIF-3",
    )
    _node, answer = ask(standing(State.FLOWING), "unbypass", name="SIF-5")
    assert answer["allow"] == "bypassed: nothing"
    (fact,) = told(start, FactKind.UNBYPASS, request(start, "unbypass", name="SIF-5"))
    assert fact.fields["name"] == "SIF-5"


# --- arming, records, set-point, evidence


@pytest.mark.parametrize("state", [State.ISOLATED, State.DRAINED])
def test_a_disarmed_rack_writes_nothing_from_that_scan_on(state: State) -> None:
    start = standing(state)
    node, passage = scan(RACK, start, (request(start, "disarm"),), 0.05)
    assert (node.memory.armed, node.memory.state, node.memory.state_seq) == (False, state, 11)
    assert passage.writes == {}
    assert [fact.fields["why"] for fact in passage.facts(FactKind.DISARMED)] == ["a test"]


def test_a_commissioning_records_a_full_and_tested_rack() -> None:
    start = standing(State.ISOLATED, inventory=Inventory.UNKNOWN, tested=False)
    node, answer = ask(start, "commission")
    assert answer["status"] == "accepted"
    assert (node.memory.inventory, node.memory.tested, node.memory.state_seq) == (Inventory.FULL, True, 11)
    assert [fact.fields["by"] for fact in told(start, FactKind.COMMISSIONED, request(start, "commission"))] == [
        "tester"
    ]


def test_a_commissioning_with_power_on_is_refused() -> None:
    start = replace(standing(State.ISOLATED, tested=False), faults=frozenset({"contactor on"}))
    node, answer = ask(start, "commission")
    assert (answer["code"], node.memory.tested) == ("no_power", False)


def test_a_set_point_moves_the_valve_and_nothing_else() -> None:
    start = standing(State.FLOWING)
    start = replace(start, field=replace(start.field, coils={**start.field.coils, "XS-101": True}))
    node, passage = scan(RACK, start, (request(start, "set_point", fcv_pct=42),), 0.05)
    assert passage.writes["FCV-101"] == pytest.approx(60.0)  # it goes there on a ramp
    assert node.memory.steering is not None
    assert (node.memory.steering.control.mode, node.memory.steering.control.asked) == (Mode.POSITION, 42.0)
    assert (node.memory.state, node.memory.state_seq) == (State.FLOWING, 10)
    assert [fact.fields["fcv_pct"] for fact in passage.facts(FactKind.SET_POINT)] == [42.0]


TRAYS = (*DEFAULT_POLICY, PolicyRule("trays", ("TRAY-7", "TRAY-8"), Action.ISOLATE, 0.5, count=2))
TRAY_RACK = setup(replace(LIMITS, policy=TRAYS))


def evidence(node: Node, tray: str, wet: bool, for_s: float = 10.0) -> tuple[Node, Mapping[str, Any]]:
    return ask(node, "leak_evidence", on=TRAY_RACK, role="racky", tray=tray, wet=wet, for_s=for_s)


def test_evidence_of_a_tray_stands_for_as_long_as_it_says() -> None:
    node, answer = evidence(standing(State.FLOWING), "7", True)
    assert answer["reason"] == ""
    assert node.memory.evidence_s == {"TRAY-7": node.now_s + 10.0}
    assert node.memory.state_seq == 10
    node, _answer = evidence(node, "8", True)
    assert set(node.memory.evidence_s) == {"TRAY-7", "TRAY-8"}
    node, _answer = evidence(node, "7", False)
    assert node.memory.evidence_s["TRAY-7"] == pytest.approx(0.0)


def test_evidence_that_is_over_is_forgotten_with_the_next() -> None:
    node, _answer = evidence(standing(State.FLOWING), "7", True, for_s=1.0)
    for _ in range(2):
        node, _passage = scan(TRAY_RACK, node, (), 0.5)
    node, _answer = evidence(node, "8", True)
    assert set(node.memory.evidence_s) == {"TRAY-8"}


@pytest.mark.parametrize(("left_s", "kept"), [(0.0, {"TRAY-8"}), (0.001, {"TRAY-7", "TRAY-8"})])
def test_evidence_is_over_at_its_very_end(left_s: float, kept: set[str]) -> None:
    start = standing(State.FLOWING)
    now_s = evidence(start, "8", True)[0].now_s
    start = replace(start, memory=replace(start.memory, evidence_s={"TRAY-7": now_s + left_s}))
    assert set(evidence(start, "8", True)[0].memory.evidence_s) == kept


def test_two_wet_trays_isolate_as_the_policy_says() -> None:
    node, _answer = evidence(standing(State.FLOWING), "7", True)
    node, _answer = evidence(node, "8", True)
    for _ in range(2):
        node, _passage = scan(TRAY_RACK, node, (), 0.6)
    assert (node.memory.state, node.memory.latches[0].row) == (State.ISOLATING, "SIF-1/trays")


def test_evidence_of_a_tray_that_no_rule_names_is_told_and_takes_no_room() -> None:
    start = standing(State.FLOWING)
    node, answer = ask(start, "leak_evidence", role="racky", tray="99", wet=True, for_s=60)
    assert answer["reason"] == "no rule of the leak policy names TRAY-99: it is told, and does nothing"
    assert node.memory.evidence_s == {}
    (fact,) = told(
        start, FactKind.EVIDENCE, request(start, "leak_evidence", role="racky", tray="99", wet=True, for_s=60)
    )
    assert (fact.fields["tray"], fact.fields["wet"]) == ("TRAY-99", True)
